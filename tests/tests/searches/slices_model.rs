//! Table slices: random programs of reads and writes, compared with a sorted model.

use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime},
};

use anyhow::Result;
use proptest::prelude::*;
use table_runtime::{Result as TableResult, Stored, TableEntity, Tables, Ticks, backend::BoxFuture};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Newest", slice = month(at))]
struct Newest {
    #[partition_key]
    of: u8,
    #[row_key(reverse_time)]
    at: SystemTime,
    #[row_key]
    number: u8,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Spread", slice = day(at))]
struct Spread {
    #[partition_key(hash = 4)]
    of: u8,
    #[row_key(time)]
    at: SystemTime,
}

/// Entity whose row key ends with the time.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Last", slice = month(at))]
struct Last {
    #[partition_key]
    of: u8,
    #[row_key]
    number: u8,
    #[row_key(reverse_time)]
    at: SystemTime,
}

/// Returns the time this many tenths of a day after the beginning of March 2012.
fn moment(tenths: i64) -> SystemTime {
    // 2012-03-01 in a leap year.
    let first = SystemTime::UNIX_EPOCH + Duration::from_hours(369_600);
    let distance = Duration::from_secs(8_640 * tenths.unsigned_abs());
    if tenths < 0 { first - distance } else { first + distance }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u8, i64),
    Remove(u8, i64),
    Range(Option<i64>, Option<i64>, Option<usize>),
    Page(usize),
    Drop(i64),
}

/// Returns tenths of a day, often at the beginning of a day or month.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![
        2 => -700..700_i64,
        1 => prop::sample::select(vec![-600_i64, -310, -290, -10, -1, 0, 1, 10, 310, 309, 610]),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3_u8, time()).prop_map(|(number, at)| Step::Insert(number, at)),
        1 => (0..3_u8, time()).prop_map(|(number, at)| Step::Remove(number, at)),
        4 => (prop::option::of(time()), prop::option::of(time()), prop::option::of(0..5_usize))
            .prop_map(|(from, to, take)| Step::Range(from, to, take)),
        4 => (1..6_usize).prop_map(Step::Page),
        1 => time().prop_map(Step::Drop),
    ]
}

/// Operations of the tested entities.
struct Shape<E: TableEntity, K> {
    new: fn(u8, i64) -> E,
    remove: fn(u8, i64) -> table_runtime::Point<E>,
    key: fn(&E) -> K,
    /// Returns the time of a key.
    tenths: fn(&K) -> i64,
    end: fn(i64) -> i64,
    all: for<'t> fn(&'t Tables, Wanted) -> BoxFuture<'t, TableResult<Vec<Stored<E>>>>,
    page: for<'t> fn(&'t Tables, usize, Option<String>) -> BoxFuture<'t, TableResult<table_runtime::PageOf<Stored<E>>>>,
}

#[derive(Clone, Copy)]
struct Wanted {
    from: Option<i64>,
    to: Option<i64>,
    take: Option<usize>,
}

impl Wanted {
    fn bounds(self) -> (std::ops::Bound<SystemTime>, std::ops::Bound<SystemTime>) {
        use std::ops::Bound;
        let bound = |tenths: Option<i64>, of: fn(SystemTime) -> Bound<SystemTime>| {
            tenths.map_or(Bound::Unbounded, |tenths| of(moment(tenths)))
        };
        // The range includes its end, or excludes it.
        let to = if self.take.is_some() { Bound::Included } else { Bound::Excluded };
        (bound(self.from, Bound::Included), bound(self.to, to))
    }

    fn has(self, tenths: i64) -> bool {
        let to = |to| if self.take.is_some() { tenths <= to } else { tenths < to };
        self.from.is_none_or(|from| from <= tenths) && self.to.is_none_or(to)
    }
}

fn ticks(tenths: i64) -> Ticks {
    Ticks::from_system(moment(tenths)).unwrap()
}

/// Returns the first tenth of the next month.
fn end_of_month(tenths: i64) -> i64 {
    (tenths + 1..tenths + 400)
        .find(|next| *next % 10 == 0 && ticks(*next).to_string().contains("-01T00:00:00.0"))
        .unwrap()
}

fn end_of_day(tenths: i64) -> i64 {
    (tenths.div_euclid(10) + 1) * 10
}

async fn agrees_with_the_model<E, K>(shape: Shape<E, K>, steps: Vec<Step>) -> Result<()>
where
    E: table_runtime::slices::Sliced + PartialEq + std::fmt::Debug,
    K: Ord + Clone + std::fmt::Debug,
{
    let tables = Tables::in_memory()?;
    let mut model: BTreeSet<K> = BTreeSet::new();
    let (mut cursor, mut last): (Option<String>, Option<K>) = (None, None);
    for step in steps {
        match step {
            Step::Insert(number, at) => {
                let entity = (shape.new)(number, at);
                tables.upsert(&entity).await?;
                model.insert((shape.key)(&entity));
            }
            Step::Remove(number, at) => {
                let existed = model.remove(&(shape.key)(&(shape.new)(number, at)));
                assert_eq!(tables.remove((shape.remove)(number, at)).await?, existed);
            }
            Step::Range(from, to, take) => {
                let wanted = Wanted { from, to, take };
                let found = (shape.all)(&tables, wanted).await?;
                let found: Vec<_> = found.iter().map(|stored| (shape.key)(stored)).collect();
                let expected = model.iter().filter(|key| wanted.has((shape.tenths)(key)));
                assert_eq!(found, expected.take(take.unwrap_or(usize::MAX)).cloned().collect::<Vec<_>>());
            }
            Step::Page(size) => {
                let page = (shape.page)(&tables, size, cursor.take()).await?;
                let found: Vec<_> = page.entities.iter().map(|stored| (shape.key)(stored)).collect();
                let after = |key: &&K| last.as_ref().is_none_or(|last| *key > last);
                assert_eq!(found, model.iter().filter(after).take(size).cloned().collect::<Vec<_>>());
                if page.next.is_none() {
                    assert_eq!(model.iter().filter(after).count(), found.len(), "nothing is left out");
                }
                last = page.next.as_ref().and(found.last().cloned().or(last));
                cursor = page.next;
            }
            Step::Drop(before) => {
                tables.drop_slices::<E>(..moment(before)).await?;
                model.retain(|key| (shape.end)((shape.tenths)(key)) > before);
            }
        }
    }
    Ok(())
}

fn tenths(at: SystemTime) -> i64 {
    match at.duration_since(moment(0)) {
        Ok(after) => i64::try_from(after.as_secs() / 8_640).unwrap(),
        Err(before) => -i64::try_from(before.duration().as_secs() / 8_640).unwrap(),
    }
}

fn bucket(of: u8) -> String {
    Spread::key(of, moment(0)).explain().partition_key().unwrap().to_owned()
}

fn run(test: impl Future<Output = Result<()>>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test).unwrap();
}

tests::depth::laws! {
    60;

    fn slices_agree_with_a_sorted_model(steps in prop::collection::vec(step(), 1..60)) {
        run(agrees_with_the_model(
            Shape {
                new: |number, at| Newest { of: 1, at: moment(at), number },
                remove: |number, at| Newest::key(1, moment(at), number),
                key: |newest| (-tenths(newest.at), newest.number),
                tenths: |(at, _)| -at,
                end: end_of_month,
                all: |tables, wanted| {
                    let rows = Newest::by_key(1).range(wanted.bounds());
                    match wanted.take { Some(take) => rows.take(take), None => rows }.all(tables)
                },
                page: |tables, size, cursor| Box::pin(async move {
                    Newest::by_key(1).page(tables, size, cursor.as_deref()).await
                }),
            },
            steps,
        ));
    }

    fn hash_partitions_of_slices_agree_with_a_sorted_model(steps in prop::collection::vec(step(), 1..60)) {
        run(agrees_with_the_model(
            Shape {
                new: |of, at| Spread { of, at: moment(at) },
                remove: |of, at| Spread::key(of, moment(at)),
                key: |spread| (tenths(spread.at), bucket(spread.of)),
                tenths: |(at, _)| *at,
                end: end_of_day,
                all: |tables, wanted| {
                    let rows = Spread::by_key().range(wanted.bounds());
                    match wanted.take { Some(take) => rows.take(take), None => rows }.all(tables)
                },
                page: |tables, size, cursor| Box::pin(async move {
                    Spread::by_key().page(tables, size, cursor.as_deref()).await
                }),
            },
            steps,
        ));
    }

    fn merged_slices_agree_with_a_sorted_model(steps in prop::collection::vec(step(), 1..60)) {
        run(agrees_with_the_model(
            Shape {
                new: |number, at| Last { of: 1, number, at: moment(at) },
                remove: |number, at| Last::key(1, number, moment(at)),
                key: |newest| (newest.number, -tenths(newest.at)),
                tenths: |(_, at)| -at,
                end: end_of_month,
                all: |tables, wanted| Box::pin(async move {
                    // The time can be narrowed only after the number.
                    let mut all = Vec::new();
                    for number in 0..3 {
                        all.extend(Last::by_key(1).eq(number).range(wanted.bounds()).all(tables).await?);
                    }
                    all.truncate(wanted.take.unwrap_or(usize::MAX));
                    Ok(all)
                }),
                page: |tables, size, cursor| Box::pin(async move {
                    Last::by_key(1).page(tables, size, cursor.as_deref()).await
                }),
            },
            steps,
        ));
    }
}
