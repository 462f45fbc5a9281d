//! The entities of a group, and their change, all or nothing.

use std::collections::BTreeMap;

use table_model::{
    TableEntity,
    unstable::{
        entity::{self, WriteEntity},
        layout::Member,
    },
};
use table_store::{Error, Result, RowId, RowRef, backend::BoxFuture, error::Refused, unstable::RowKeys};

use super::transaction;
use crate::{
    client::{
        pacing,
        stored::{self, Stored, StoredState},
        tables::Tables,
    },
    query::{EntityGroup, Opened, ReturnsNothing, Rows},
    read::FoundRow,
    write::{
        bulk::WholeEntities,
        index::{EntityWrite, Schema, Verb},
    },
};

/// Content of a variant of a group: an entity, or a [`Stored`] entity, which can be updated and deleted.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be in a group of entities",
    label = "not a table entity",
    note = "a variant holds an entity, a struct with `#[derive(TableEntity)]`, or `Stored<…>` of one"
)]
pub trait Variant: Sized {
    /// Type of the entity.
    type Entity: TableEntity;

    #[doc(hidden)]
    const MEMBER: Member = Member::new(&Self::Entity::INFO.layout, Self::Entity::INFO.skip_newer);
    #[doc(hidden)]
    const SCHEMA: Schema = Schema::of::<Self::Entity>();

    /// Reads the content from a row, and returns it with the state of the row.
    #[doc(hidden)]
    fn read(table: &str, row: RowRef<'_>) -> Result<(Self, StoredState)> {
        let stored = stored::read::<Self::Entity>(table, row)?;
        let state = stored.parts().1.clone();
        Ok((Self::of(stored), state))
    }

    #[doc(hidden)]
    fn of(stored: Stored<Self::Entity>) -> Self;

    #[doc(hidden)]
    fn entity(&self) -> &dyn WriteEntity;

    /// Sets the state of the row, if the content has one.
    #[doc(hidden)]
    fn set_state(&mut self, state: StoredState);
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Variant for E {
    type Entity = E;

    fn of(stored: Stored<E>) -> E {
        Stored::into_inner(stored)
    }

    fn entity(&self) -> &dyn WriteEntity {
        self
    }

    fn set_state(&mut self, _: StoredState) {}
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Variant for Stored<E> {
    type Entity = E;

    fn of(stored: Self) -> Self {
        stored
    }

    fn entity(&self) -> &dyn WriteEntity {
        self.parts().0
    }

    fn set_state(&mut self, state: StoredState) {
        *self.parts_mut().1 = state;
    }
}

/// A member that was read.
struct ReadMember {
    variant: usize,
    keys: RowKeys,
    state: StoredState,
    /// The deletion of the member, for a group that does not have it any more.
    deletion: EntityWrite,
}

impl<G, P, A> Rows<G, P, A> {
    /// Reads the members of a group that the query finds, changes them, and writes them back in one transaction, so that
    /// either all changes are applied or none. Returns the members as they were stored; none if the query finds none, to which
    /// no change is made.
    ///
    /// `change` may change members, push new ones, which are inserted, and remove some, which are deleted. A member with
    /// another key is inserted anew, without the properties that its struct does not know. Every member that
    /// was read is written, even if `change` leaves it as it is. So two calls that read one master never lose a change of
    /// each other: the later one fails, and is repeated with what was written, as with [`Tables::modify`]. `change`
    /// therefore may run several times.
    ///
    /// A transaction has at most 100 rows, those of indexes in the partition included, and 4 MiB; for larger groups, write
    /// the members that change with [`transaction`](Tables::transaction).
    ///
    /// ```
    /// use table_runtime::{EntityGroup, Result, TableEntity, Tables};
    ///
    /// #[derive(TableEntity)]
    /// #[table(name = "Orders")]
    /// struct Order {
    ///     #[partition_key]
    ///     shop: String,
    ///     #[row_key]
    ///     id: u32,
    ///     total: i64,
    /// }
    ///
    /// #[derive(TableEntity)]
    /// #[table(name = "Orders")]
    /// struct Line {
    ///     #[partition_key]
    ///     shop: String,
    ///     #[row_key]
    ///     order: u32,
    ///     #[row_key]
    ///     number: u16,
    ///     cents: i64,
    /// }
    ///
    /// #[derive(EntityGroup)]
    /// enum Sale {
    ///     Order(Order),
    ///     Line(Line),
    /// }
    ///
    /// /// Adds a line, and its cents to the total of the order.
    /// async fn add(tables: &Tables, shop: &str, order: u32, cents: i64) -> Result<()> {
    ///     let sale = Sale::by_key(shop).eq(order);
    ///     let add = |members: &mut Vec<Sale>| {
    ///         let mut last = 0;
    ///         for member in members.iter_mut() {
    ///             match member {
    ///                 Sale::Order(order) => order.total += cents,
    ///                 Sale::Line(line) => last = line.number,
    ///             }
    ///         }
    ///         members.push(Sale::Line(Line { shop: shop.to_owned(), order, number: last + 1, cents }));
    ///     };
    ///     sale.modify(tables, add).await?;
    ///     Ok(())
    /// }
    /// # futures::executor::block_on(async {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create::<Order>().and::<Line>().await?;
    /// # tables.insert(&Order { shop: "s".into(), id: 1, total: 0 }).await?;
    /// # add(&tables, "s", 1, 250).await?;
    /// # add(&tables, "s", 1, 100).await?;
    /// # assert_eq!(Order::key("s", 1).get(&tables).await?.map(|order| order.total), Some(350));
    /// # assert_eq!(Line::by_key("s").count(&tables).await?, 2);
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// Takes the requests of the query and those of the [transaction](crate::Transaction::commit): one, if no member has an
    /// index in other partitions. Takes the same again for each repetition. A unique value of other partitions cannot pass
    /// from one member to another.
    ///
    /// # Errors
    /// Returns the errors of [`all`](Self::all) and of [`Transaction::commit`](crate::Transaction::commit).
    /// [`Error::ConditionNotMet`] and [`Error::NotFound`] are returned only if other writers were faster in each of 201
    /// attempts, and [`Error::AlreadyExists`] if a row that the query does not find is in the way of a new member.
    pub fn modify<'a, C, R>(self, tables: &Tables, mut change: C) -> BoxFuture<'a, Result<Vec<G>>>
    where
        C: FnMut(&mut Vec<G>) -> R + Send + 'a,
        R: ReturnsNothing,
        G: EntityGroup + WholeEntities,
        A: Opened,
        Self: Send + 'a,
    {
        let (schemas, tables) = (G::schemas(), tables.of_primary());
        let master = schemas[0];
        Box::pin(tables.clone().observed(master, "modify", async move {
            let _turn = tables.turn(master.table(), &self.beginning()).await;
            let (mut delays, mut refused) = (pacing::delays(), None::<Refused<RowId>>);
            loop {
                let (mut members, read) = self.read_members(&tables).await?;
                if let Some(row) = refused.take()
                    && !read.iter().any(|read| read.keys.row_key == row.row_key)
                {
                    // The row that is in the way is not that of a member.
                    return Err(Error::AlreadyExists(row));
                }
                if members.is_empty() {
                    return Ok(members);
                }
                change(&mut members);
                match write_members(&tables, &schemas, &mut members, read).await {
                    Ok(()) => return Ok(members),
                    Err(error @ (Error::ConditionNotMet(_) | Error::NotFound(_))) => {
                        pacing::wait(tables.backend(), &mut delays, error).await?;
                    }
                    Err(Error::AlreadyExists(row)) => {
                        pacing::wait(tables.backend(), &mut delays, Error::AlreadyExists(row.clone())).await?;
                        refused = Some(row);
                    }
                    Err(error) => return Err(error),
                }
            }
        }))
    }

    /// Reads the members, and what a write needs of each.
    async fn read_members(&self, tables: &Tables) -> Result<(Vec<G>, Vec<ReadMember>)>
    where
        G: EntityGroup,
        A: Opened,
    {
        let mut rows = self.part_stream(tables, |found: &FoundRow<'_>, rows: &mut Vec<(G, StoredState)>| {
            let row = found.stored_member::<G>()?;
            let is_match = row.is_some();
            rows.extend(row);
            Ok(is_match)
        });
        let (mut members, mut read) = (Vec::new(), Vec::new());
        while let Some((member, mut state)) = rows.try_next().await? {
            let (variant, entity) = member.member();
            state.save(entity);
            let (keys, deletion) = (state.loaded_key(entity)?, EntityWrite::delete(entity, &state)?);
            read.push(ReadMember { variant, keys, state, deletion });
            members.push(member);
        }
        Ok((members, read))
    }
}

/// Writes the members, deletes those that are no member any more, and sets the state of each.
async fn write_members<G: EntityGroup>(
    tables: &Tables,
    schemas: &[Schema],
    members: &mut [G],
    read: Vec<ReadMember>,
) -> Result<()> {
    let mut read: BTreeMap<_, _> = read.into_iter().map(|read| (read.keys.clone(), read)).collect();
    let (mut writes, mut inserts, mut states) = (Vec::new(), Vec::new(), Vec::new());
    for (at, member) in members.iter().enumerate() {
        let (variant, entity) = member.member();
        let keys = entity::keys(entity)?;
        match read.remove(&keys) {
            Some(ReadMember { variant: was, state, .. }) if was == variant => {
                let update = EntityWrite::update(entity, &state)?;
                writes.push(tables.begin_write(schemas[variant], Ok(update))?);
                states.push(Some((at, Some(state))));
            }
            other => {
                // Another variant under the same key is another entity, which takes the place of the old one.
                read.extend(other.map(|other| (keys, other)));
                let insert = EntityWrite::put(Verb::Insert, entity);
                inserts.push((at, tables.begin_write(schemas[variant], insert)?));
            }
        }
    }
    // The updates come first: the error of a member that was changed meanwhile says more than that of a new one. A deletion
    // comes before the insert under the same key.
    for ReadMember { variant, deletion, .. } in read.into_values() {
        writes.push(tables.begin_write(schemas[variant], Ok(deletion))?);
        states.push(None);
    }
    for (at, insert) in inserts {
        writes.push(insert);
        states.push(Some((at, None)));
    }
    let written = transaction::execute(&mut writes).await?;
    for ((write, written), state) in writes.iter().zip(written).zip(states) {
        let Some((at, state)) = state else { continue };
        // After a lost answer, the version is read.
        let etag = write.version(written.etag).await?;
        members[at].set_state(match state {
            Some(mut state) => {
                state.written(etag, written.unknown);
                state
            }
            None => StoredState::of_new(etag),
        });
    }
    Ok(())
}
