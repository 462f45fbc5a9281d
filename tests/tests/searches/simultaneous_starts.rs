//! Every interleaving of programs that begin at once: of programs whose structs do not fit, `create` accepts one.

use std::cell::Cell;

use anyhow::{Context, Result, ensure};
use futures_util::FutureExt;
use table_runtime::{Error, TableEntity, Tables, backend::BackendExt};
use tests::{
    explore::{Crashes, Explored, Op, Progress, explore, op},
    plain::Plain,
};

macro_rules! structs {
    ($($(#[$attribute:meta])* $name:ident { $(#[$key:meta])* $id:ident: $kind:ty $(, $(#[$index:meta])* $more:ident)* })+) => {$(
        #[derive(TableEntity)]
        #[table(name = "Parts")]
        $(#[$attribute])*
        struct $name {
            #[partition_key]
            shelf: String,
            $(#[$key])*
            $id: $kind,
            $($(#[$index])* $more: u32,)*
        }
    )+};
}

structs! {
    Nut { #[row_key] id: u32 }
    // Its rows cannot be told apart from those of `Nut`.
    Bolt { #[row_key] id: u32 }
    // It is `Nut` with another key.
    #[table(entity = "Nut")]
    ReversedNut { #[row_key(reverse)] id: u32 }
    // It is `Nut` with an index in a table of its own.
    #[table(entity = "Nut")]
    IndexedNut { #[row_key] id: u32, #[index(size)] size }
    // It fits beside `Nut`.
    Washer { #[row_key(prefix = "washer-")] number: u32 }
}

/// Returns the start of a program with this struct. Its result is true if the program is accepted.
fn start<E: TableEntity + 'static>() -> Op<bool> {
    op(std::any::type_name::<E>(), |tables: Tables| async move {
        match tables.create::<E>().await {
            Ok(()) => true,
            Err(Error::LayoutChanged(_) | Error::RowsCollide(_)) => false,
            Err(error) => panic!("{error}"),
        }
    })
}

/// Returns a store in which `E` was recorded, and its table deleted since.
fn deleted<E: TableEntity>() -> Result<Plain> {
    let store = Plain::default();
    let deleted = async {
        store.tables().create::<E>().await?;
        store.delete_table("Parts").await
    };
    deleted.now_or_never().context("a plain store does not wait")??;
    Ok(store)
}

/// Explores programs that begin at once. At most `count` of them are accepted, and so many at the end.
fn accepted(store: &Plain, programs: &[Op<bool>], count: usize) -> Result<()> {
    let is_accepted = |progress: &Progress<'_, bool>| matches!(progress, Progress::Ended(true));
    let Explored { states, .. } = explore(store, programs, Crashes::None, async |seen| {
        let accepted = seen.ops.iter().filter(|progress| is_accepted(progress)).count();
        ensure!(accepted <= count, "{accepted} programs were accepted");
        ensure!(!seen.is_at_rest() || accepted == count, "only {accepted} programs were accepted");
        Ok(())
    })?;
    println!("{states} states");
    Ok(())
}

#[test]
fn one_of_two_structs_that_cannot_be_told_apart_is_accepted() -> Result<()> {
    accepted(&Plain::default(), &[start::<Nut>(), start::<Bolt>()], 1)
}

#[test]
fn one_of_two_layouts_of_an_entity_is_accepted() -> Result<()> {
    accepted(&Plain::default(), &[start::<Nut>(), start::<ReversedNut>()], 1)
}

#[test]
fn one_of_three_structs_that_do_not_fit_is_accepted() -> Result<()> {
    accepted(&Plain::default(), &[start::<Nut>(), start::<Bolt>(), start::<ReversedNut>()], 1)
}

#[test]
fn structs_that_fit_are_all_accepted() -> Result<()> {
    accepted(&Plain::default(), &[start::<Nut>(), start::<Washer>()], 2)?;
    accepted(&Plain::default(), &[start::<Nut>(), start::<Nut>(), start::<Washer>()], 3)
}

#[test]
fn one_of_several_structs_is_accepted_if_the_table_was_deleted() -> Result<()> {
    for store in [deleted::<ReversedNut>()?, deleted::<Nut>()?] {
        accepted(&store, &[start::<Nut>(), start::<Bolt>()], 1)?;
        accepted(&store, &[start::<Nut>(), start::<ReversedNut>()], 1)?;
        accepted(&store, &[start::<Nut>(), start::<Nut>()], 2)?;
    }
    Ok(())
}

#[test]
fn an_index_whose_table_was_deleted_is_never_ready_and_empty() -> Result<()> {
    let store = Plain::default();
    let deleted = async {
        let tables = store.tables();
        tables.create::<IndexedNut>().await?;
        tables.insert(&IndexedNut { shelf: "a".into(), id: 1, size: 1 }).await?;
        store.delete_table("PartsBySize").await
    };
    deleted.now_or_never().context("a plain store does not wait")??;
    let refused = Cell::new(0);
    explore(&store, &[start::<IndexedNut>(), start::<IndexedNut>()], Crashes::Any, async |seen| {
        match IndexedNut::by_size(1).all(&seen.tables).await {
            Ok(found) => ensure!(found.len() == 1, "the index is ready, and has no row of the entity"),
            Err(Error::IndexBuilding { .. }) => refused.set(refused.get() + 1),
            Err(Error::TableNotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    })?;
    ensure!(refused.get() > 0, "the index was never building");
    Ok(())
}

#[test]
fn a_program_without_the_index_is_refused_once_the_index_is_ready() -> Result<()> {
    let is_accepted = |progress: &Progress<'_, bool>| matches!(progress, Progress::Ended(true));
    let start_nut = || {
        op("Nut", |tables: Tables| async move {
            match tables.create::<Nut>().await {
                Ok(()) => true,
                Err(Error::IndexMissing(_)) => false,
                Err(error) => panic!("{error}"),
            }
        })
    };
    for store in [Plain::default(), deleted::<Nut>()?, deleted::<IndexedNut>()?] {
        explore(&store, &[start_nut(), start::<IndexedNut>()], Crashes::None, async |seen| {
            if seen.ops.iter().all(is_accepted) {
                let found = IndexedNut::by_size(1).all(&seen.tables).await;
                ensure!(
                    matches!(found, Err(Error::IndexBuilding { .. })),
                    "a program without the ready index was accepted"
                );
            }
            Ok(())
        })?;
    }
    Ok(())
}
