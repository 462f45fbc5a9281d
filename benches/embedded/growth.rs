//! The cost of works as the number of rows, indexes and hash partitions grows.

use std::{hint::black_box, path::Path, sync::Arc};

use crate::{
    checked,
    entities::{
        Index1, Indexes4, Indexes16, Indexes49, Numbered, Partition1, Partitions8, Partitions64, Plain, Reading, Tags,
        TagsOfAll, TagsOfPartition, TagsWithName,
    },
    loading, random, reading,
    report::{self, Line},
    stores::{Ours, answer, runtime},
    writing,
};

/// Number of customers of a bulk load.
const BULK: u32 = 20_000;

/// Prints a table for each of the four. The largest store has this number of thousands of rows.
pub(crate) fn print(folder: &Path, largest: u32) {
    println!("median time of an item, (its ratio to the first column), [requests of an item]\n");
    let last = format!("{largest} k rows");
    report::print(&["1 k rows", "100 k rows", &last], &mut rows(folder, [1, 100, largest]));
    println!("\nIndexes in the entity's partition:\n");
    report::print(&["none", "1", "4", "16", "49"], &mut indexes(folder));
    println!("\nThree tags, with a row for each:\n");
    report::print(&["no index", "same partition", "with the name", "other partitions"], &mut elements(folder));
    println!("\nHash partitions of 100 k rows:\n");
    report::print(&["1", "8", "64"], &mut partitions(folder));
}

fn rows(folder: &Path, sizes: [u32; 3]) -> Vec<Line> {
    let mut get = Line::new("point get", 1000, 40);
    let mut range = Line::new("range of 100, owned, a row", 100 * 20, 40);
    let mut insert = Line::new("one insert on disk", 1, 40);
    for (store, thousands) in sizes.into_iter().enumerate() {
        let file = folder.join(format!("posts-{store}"));
        let ours = Arc::new(Ours::of_authors(&file, thousands.into()));
        runtime().block_on(async {
            ours.tables.create::<Plain>().await.unwrap();
            ours.tables.insert_all((0..thousands * 1000).map(Plain::new)).await.unwrap();
        });
        let (got, ranged) = (Arc::clone(&ours), Arc::clone(&ours));
        get = get.column(reading(thousands.into(), 1000, move |author, id| got.get(author, id).unwrap()));
        range = range.column(reading(thousands.into(), 20, move |author, id| checked(ranged.range(author, id))));
        // Each insert is in another shop, so that it changes another page of the file.
        let mut next = 0_u32;
        insert = insert.column(move || {
            next += 1;
            let customer = Plain::of_shop(next * 7919 % thousands, thousands * 1000 + next);
            ours.insert(&[customer])
        });
    }
    vec![get, range, insert]
}

fn indexes(folder: &Path) -> Vec<Line> {
    let one = Line::new("one insert on disk", 1, 40);
    let bulk = Line::new("bulk load", BULK, 1);
    let lines = indexed::<Plain>(folder, "none", [one, bulk]);
    let lines = indexed::<Index1>(folder, "1", lines);
    let lines = indexed::<Indexes4>(folder, "4", lines);
    let lines = indexed::<Indexes16>(folder, "16", lines);
    indexed::<Indexes49>(folder, "49", lines).into()
}

fn elements(folder: &Path) -> Vec<Line> {
    let one = Line::new("one insert on disk", 1, 40);
    let bulk = Line::new("bulk load", BULK, 1);
    let lines = indexed::<Tags>(folder, "tags", [one, bulk]);
    let lines = indexed::<TagsOfPartition>(folder, "tags-here", lines);
    let lines = indexed::<TagsWithName>(folder, "tags-named", lines);
    indexed::<TagsOfAll>(folder, "tags-everywhere", lines).into()
}

/// Adds the column of an entity to both lines.
fn indexed<C: Numbered>(folder: &Path, count: &str, [one, bulk]: [Line; 2]) -> [Line; 2] {
    let ours = Ours::new::<C>(&folder.join(format!("one-{count}")));
    let one = one.column(writing(1, move |customers: &[C]| ours.insert(customers)));
    let bulk = bulk.column(loading::<C, _>(folder.join(format!("bulk-{count}")), BULK, Ours::new::<C>, Ours::insert));
    [one, bulk]
}

fn partitions(folder: &Path) -> Vec<Line> {
    let line = Line::new("merged range of 100, a row", 100 * 20, 40);
    let line = merged::<Partition1>(folder, "1", line);
    let line = merged::<Partitions8>(folder, "8", line);
    vec![merged::<Partitions64>(folder, "64", line)]
}

/// Adds the column of an entity.
fn merged<R: Reading>(folder: &Path, count: &str, line: Line) -> Line {
    const READINGS: u64 = 100_000;
    let ours = Ours::new::<R>(&folder.join(format!("readings-{count}")));
    runtime().block_on(ours.tables.insert_all((0..READINGS).map(R::new)).into_future()).unwrap();
    let mut next = random();
    line.column(move || {
        let froms: Vec<_> = (0..20).map(|_| next() % (READINGS - 100)).collect();
        ours.measured(|| {
            for from in froms {
                black_box(checked(answer(R::range(&ours.tables, from)).unwrap()));
            }
        })
    })
}
