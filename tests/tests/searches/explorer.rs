//! The search of interleavings: it finds errors, and it neither omits nor repeats a state.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    future::{pending, poll_fn},
    rc::Rc,
    task::Poll,
    time::Duration,
};

use anyhow::{Result, ensure};
use futures_util::{
    FutureExt,
    future::{join, select},
};
use proptest::{collection::vec, prelude::*};
use table_runtime::{
    Error, Stored, TableEntity, Tables,
    backend::{BackendExt, Clock},
};
use tests::{
    explore::{Crashes, Explored, Explorer, Op, Progress, Seen, explore, op, staged},
    plain::Plain,
};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Counters", write_id)]
struct Counter {
    #[partition_key]
    name: String,
    #[row_key]
    number: u32,
    count: u32,
}

fn counter(number: u32, count: u32) -> Counter {
    Counter { name: "a".into(), number, count }
}

/// Returns a store with these counters.
fn start(counters: &[Counter]) -> Plain {
    let store = Plain::default();
    let tables = store.tables();
    let write = async {
        // The layout is not recorded, because its row would appear in the expected messages.
        store.create_table("Counters").await?;
        for counter in counters {
            tables.insert(counter).await?;
        }
        Ok::<_, Error>(())
    };
    write.now_or_never().expect("a plain store does not wait").expect("new rows");
    store
}

async fn count(tables: &Tables, number: u32) -> Option<u32> {
    Counter::key("a", number).get(tables).await.expect("the store answers").map(|counter| counter.count)
}

/// Inserts these counters one after the other.
fn inserts(numbers: impl IntoIterator<Item = u32>) -> Op<()> {
    let numbers: Vec<_> = numbers.into_iter().collect();
    op(format!("insert {numbers:?}"), move |tables| {
        let numbers = numbers.clone();
        async move {
            for number in numbers {
                tables.insert(&counter(number, 0)).await.expect("a new row");
            }
        }
    })
}

fn blind_increment() -> Op<()> {
    op("increment", |tables| async move {
        let count = count(&tables, 1).await.expect("the counter");
        tables.upsert(&counter(1, count + 1)).await.expect("an upsert");
    })
}

fn careful_increment() -> Op<()> {
    op("increment", |tables| async move {
        loop {
            let mut stored = Counter::key("a", 1).get(&tables).await.expect("an answer").expect("the counter");
            stored.count += 1;
            match tables.update(&mut stored).await {
                Ok(_) => return,
                Err(Error::ConditionNotMet(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    })
}

/// Checks that every increment is counted.
async fn counted<T>(seen: &Seen<'_, T>) -> Result<()> {
    let count = count(&seen.tables, 1).await;
    ensure!(!seen.is_at_rest() || count == u32::try_from(seen.ops.len()).ok(), "{count:?}");
    Ok(())
}

#[test]
fn a_lost_update_is_found() {
    let ops = [blind_increment(), blind_increment()];
    let error = explore(&start(&[counter(1, 0)]), &ops, Crashes::None, counted).expect_err("a lost increment");
    let text = error.to_string();
    let lines: Vec<_> = text.lines().map(|line| line.split(" WriteId=").next().unwrap_or_default()).collect();
    let expected = [
        "Some(1)",
        "after these steps:",
        "   1. increment: get Counters('a','0000000001') → ('a','0000000001') v1 {\"Count\": Int64(0)}",
        "   2. increment: get Counters('a','0000000001') → ('a','0000000001') v1 {\"Count\": Int64(0)}",
        "   3. increment: upsert Counters('a','0000000001') {\"Count\": Int64(1)}",
        "   4. increment: upsert Counters('a','0000000001') {\"Count\": Int64(1)}",
        "increment gave ()",
        "increment gave ()",
        "the store:",
    ];
    assert_eq!(lines[..expected.len()], expected, "{text}");
    assert!(lines[expected.len()].starts_with("Counters('a','0000000001') v3"), "{text}");
}

#[test]
fn no_conditional_update_is_lost() -> Result<()> {
    let ops = [careful_increment(), careful_increment(), careful_increment()];
    let memoised = explore(&start(&[counter(1, 0)]), &ops, Crashes::None, counted)?;
    let every = Explorer { memoise: false, ..Explorer::default() };
    let every = every.explore(&start(&[counter(1, 0)]), &ops, counted)?;
    // An attempt is a read and a write. The last operation needs up to three attempts, the one before up to two.
    assert_eq!(every.longest, 2 * (1 + 2 + 3));
    assert!(memoised.states < every.states, "{memoised:?} {every:?}");
    assert_eq!(memoised.ends, 1);
    Ok(())
}

#[test]
fn all_interleavings_of_independent_operations_are_explored() -> Result<()> {
    let every = Explorer { memoise: false, ..Explorer::default() };
    let anything = async |_: &Seen<'_, ()>| Ok(());
    let two = || [inserts(0..3), inserts(3..7)];
    // The binomial coefficient of 7 and 3.
    assert_eq!(every.explore(&start(&[]), &two(), anything)?.ends, 35);
    // 6! / (2! 2! 2!)
    let three = [inserts(0..2), inserts(2..4), inserts(4..6)];
    assert_eq!(every.explore(&start(&[]), &three, anything)?.ends, 90);
    // The states form a grid of 4 by 5, although versions and write ids always differ.
    let memoised = explore(&start(&[]), &two(), Crashes::None, anything)?;
    assert_eq!(memoised, Explored { states: 20, edges: 31, ends: 1, longest: 7 });
    Ok(())
}

#[test]
fn the_state_after_every_step_is_checked() -> Result<()> {
    let visited = RefCell::new(BTreeSet::new());
    explore(&start(&[]), &[inserts(0..2), inserts(2..4)], Crashes::None, async |seen| {
        let rows = Counter::by_key("a").all(&seen.tables).await?;
        visited.borrow_mut().insert(rows.iter().map(|row| row.number).collect());
        // A check writes to a copy of the store.
        seen.tables.insert(&counter(9, 0)).await?;
        Ok(())
    })?;
    let expected: [&[u32]; 9] = [&[], &[0], &[0, 1], &[0, 1, 2], &[0, 1, 2, 3], &[0, 2], &[0, 2, 3], &[2], &[2, 3]];
    assert_eq!(*visited.borrow(), expected.map(<[u32]>::to_vec).into());
    Ok(())
}

#[test]
fn an_empty_table_is_part_of_the_state() -> Result<()> {
    let create = op("create", |tables: Tables| async move {
        Counter::key("a", 1).get(&tables).await.expect_err("no table");
        tables.create::<Counter>().await.expect("a new table");
        Counter::key("a", 1).get(&tables).await.expect("no row");
    });
    let left = RefCell::new(BTreeSet::new());
    explore(&Plain::default(), &[create], Crashes::Any, async |seen| {
        if matches!(seen.ops[..], [Progress::Crashed]) {
            left.borrow_mut().insert(seen.store.names());
        }
        Ok(())
    })?;
    let created: [&[&str]; 3] = [&[], &["TableLayouts"], &["Counters", "TableLayouts"]];
    assert_eq!(*left.borrow(), created.map(|names| names.iter().map(|name| (*name).to_owned()).collect()).into());
    Ok(())
}

#[test]
fn an_operation_can_crash_between_any_two_requests() -> Result<()> {
    let ends = |crashes| {
        let ends = RefCell::new(BTreeSet::new());
        explore(&start(&[]), &[inserts(0..2), inserts(2..4)], crashes, async |seen| {
            if seen.is_at_rest() {
                let died: Vec<_> = seen.ops.iter().map(|op| matches!(op, Progress::Crashed)).collect();
                let rows = Counter::by_key("a").all(&seen.tables).await?.iter().map(|it| it.number).collect::<Vec<_>>();
                ends.borrow_mut().insert((died, rows));
            }
            Ok(())
        })?;
        Ok::<_, anyhow::Error>(ends.into_inner())
    };
    assert_eq!(ends(Crashes::None)?.len(), 1);
    let expected = [
        (vec![false, false], vec![0, 1, 2, 3]),
        (vec![true, false], vec![0, 2, 3]),
        (vec![false, true], vec![0, 1, 2]),
        (vec![true, true], vec![0, 2]),
    ];
    assert_eq!(ends(Crashes::Any)?, expected.into());
    Ok(())
}

#[test]
fn concurrent_requests_of_one_operation_arrive_in_every_order() -> Result<()> {
    let both = || {
        op("two inserts", |tables: Tables| async move {
            let (one, two) = join(tables.insert(&counter(1, 0)), tables.insert(&counter(2, 0))).await;
            one.and(two).expect("new rows");
        })
    };
    let visited = RefCell::new(BTreeSet::new());
    let every = Explorer { memoise: false, ..Explorer::default() };
    let explored = every.explore(&start(&[]), &[both()], async |seen| {
        let counts = (count(&seen.tables, 1).await, count(&seen.tables, 2).await);
        visited.borrow_mut().insert(counts);
        Ok(())
    })?;
    assert_eq!(explored, Explored { states: 5, edges: 4, ends: 2, longest: 2 });
    assert_eq!(*visited.borrow(), [(None, None), (Some(0), None), (None, Some(0)), (Some(0), Some(0))].into());
    Ok(())
}

#[test]
fn a_dropped_write_arrives_later_or_never() -> Result<()> {
    let hasty = op("hasty", |tables: Tables| async move {
        select(tables.insert(&counter(1, 0)), tables.insert(&counter(2, 0))).await;
        tables.upsert(&counter(1, 5)).await.expect("an upsert");
    });
    let visited = RefCell::new(BTreeSet::new());
    explore(&start(&[]), &[hasty], Crashes::None, async |seen| {
        if seen.is_at_rest() {
            let counts = (count(&seen.tables, 1).await, count(&seen.tables, 2).await);
            visited.borrow_mut().insert(counts);
        }
        Ok(())
    })?;
    // The first insert never replaces the upserted row. The second insert arrives at some time, or never.
    assert_eq!(*visited.borrow(), [(Some(5), None), (Some(5), Some(0))].into());
    Ok(())
}

#[test]
fn time_passes_only_in_the_steps_of_sleeps() -> Result<()> {
    let [short, long] = [1, 3].map(Duration::from_secs);
    let clock = || {
        staged("clock", |stage| async move {
            stage.wait(Duration::ZERO).await;
            let first = stage.now();
            stage.wait(Duration::ZERO).await;
            (first.as_secs(), stage.now().as_secs())
        })
    };
    let sleeps = staged("sleeps", move |stage| async move {
        stage.wait(short).await;
        stage.wait(long).await;
        (0, 0)
    });
    let visited = RefCell::new(BTreeSet::new());
    let explored = explore(&Plain::default(), &[clock(), sleeps], Crashes::None, async |seen| {
        if let Progress::Ended(times) = seen.ops[0] {
            visited.borrow_mut().insert((*times, seen.store.monotonic().as_secs()));
        }
        Ok(())
    })?;
    let times = [((0, 0), 0), ((0, 0), 1), ((0, 0), 4), ((0, 1), 1), ((0, 1), 4), ((0, 4), 4)];
    let late_times = [((1, 1), 1), ((1, 1), 4), ((1, 4), 4), ((4, 4), 4)];
    assert_eq!(*visited.borrow(), times.into_iter().chain(late_times).collect());
    // Before its first reading, between both readings for each time of the first one, and at the end for each result.
    assert_eq!((explored.states, explored.ends), (3 + 3 + 2 + 1 + visited.borrow().len(), 6));

    // Operations that read the clock while no time passes have the states of others.
    let explored = explore(&Plain::default(), &[clock(), clock()], Crashes::None, async |_| Ok(()))?;
    assert_eq!(explored.states, 9);
    Ok(())
}

#[test]
fn a_sleep_ends_at_its_own_time() -> Result<()> {
    let sleeps = |seconds| {
        staged(format!("{seconds} s"), move |stage| async move {
            stage.wait(Duration::from_secs(seconds)).await;
            stage.now().as_secs()
        })
    };
    let ends = RefCell::new(BTreeSet::new());
    explore(&Plain::default(), &[sleeps(2), sleeps(5)], Crashes::None, async |seen| {
        if let [Progress::Ended(one), Progress::Ended(other)] = seen.ops[..] {
            ends.borrow_mut().insert((*one, *other));
        }
        Ok(())
    })?;
    // Both begin at once. An operation may go on later than its sleep ends, and never earlier.
    assert_eq!(*ends.borrow(), [(2, 5), (5, 5)].into());
    Ok(())
}

#[test]
fn preparations_are_no_steps() -> Result<()> {
    let counts = op("count", |tables: Tables| async move { count(&tables, 1).await });
    let counts = counts.prepared(|stage| async move {
        stage.tables.insert(&counter(1, 3)).await.expect("a new row");
        stage.wait(Duration::from_secs(1)).await;
    });
    let explored = explore(&start(&[]), &[counts], Crashes::Any, async |seen| {
        assert_eq!(seen.store.monotonic(), Duration::from_secs(1));
        assert!(!matches!(seen.ops[0], Progress::Ended(count) if *count != Some(3)));
        Ok(())
    })?;
    assert_eq!(explored, Explored { states: 2, edges: 1, ends: 1, longest: 1 });
    Ok(())
}

#[test]
fn a_look_at_the_store_is_an_input() -> Result<()> {
    // The counter returns to its first count, so only the looks differ at the end.
    let looks = || {
        staged("looks", |stage| async move {
            let rows = stage.look(|store| store.rows().len());
            stage.wait(Duration::ZERO).await;
            rows + 10 * stage.look(|store| store.rows().len())
        })
    };
    let turns = op("insert and remove", |tables: Tables| async move {
        tables.insert(&counter(1, 0)).await.expect("a new row");
        tables.remove(Counter::key("a", 1)).await.expect("the row");
        0
    });
    let ends = RefCell::new(BTreeSet::new());
    explore(&start(&[]), &[looks(), turns], Crashes::None, async |seen| {
        if let Progress::Ended(rows) = seen.ops[0] {
            ends.borrow_mut().insert((*rows, seen.is_at_rest()));
        }
        Ok(())
    })?;
    assert_eq!(*ends.borrow(), [(0, false), (0, true), (10, false), (10, true)].into());
    Ok(())
}

#[test]
fn an_operation_that_is_not_deterministic_is_reported() {
    let shared = Rc::new(Cell::new(0));
    let fickle = op("fickle", move |tables| {
        let shared = Rc::clone(&shared);
        async move {
            for _ in 0..2 {
                shared.set(shared.get() + 1);
                tables.insert(&counter(shared.get(), 0)).await.expect("a new row");
            }
        }
    });
    let ops = [fickle, inserts(1000..1002)];
    let error =
        explore(&start(&[]), &ops, Crashes::None, async |_| Ok(())).expect_err("the operation is not deterministic");
    assert!(error.to_string().starts_with("the operations did not repeat what they did before\n"), "{error}");
}

#[test]
fn an_operation_that_does_not_end_is_reported() {
    let endless = op("endless", |tables| async move {
        loop {
            tables.upsert(&counter(1, 0)).await.expect("an upsert");
        }
    });
    let explorer = Explorer { steps: 20, ..Explorer::default() };
    // The store returns to an earlier state, but the operation has received more answers.
    let error =
        explorer.explore::<()>(&start(&[]), &[endless], async |_| Ok(())).expect_err("the operation does not end");
    assert!(error.to_string().starts_with("not at an end after 20 steps\n"), "{error}");
    assert_eq!(error.to_string().matches(". endless: upsert").count(), 20, "{error}");

    let stuck = op("stuck", |_| pending::<()>());
    let explorer = Explorer { patience: Duration::from_millis(10), ..Explorer::default() };
    let error = explorer.explore(&start(&[]), &[stuck], async |_| Ok(())).expect_err("the operation waits for ever");
    assert_eq!(format!("{error:#}"), "stuck: an operation waits for something other than the store");

    let explorer = Explorer { states: 3, ..Explorer::default() };
    let error = explorer.explore(&start(&[]), &[inserts(0..3)], async |_| Ok(())).expect_err("four states");
    assert!(error.to_string().starts_with("more than 3 states\n"), "{error}");
}

#[test]
fn an_operation_that_waits_for_something_else_is_polled_again() -> Result<()> {
    let patient = op("patient", |tables: Tables| async move {
        let mut polls = 0;
        poll_fn(|_| {
            polls += 1;
            if polls < 5 { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        tables.insert(&counter(1, 0)).await.expect("a new row");
    });
    let explored = explore(&start(&[]), &[patient], Crashes::None, async |_| Ok(()))?;
    assert_eq!(explored.states, 2);
    Ok(())
}

#[test]
fn a_panic_is_reported_with_its_steps() {
    // Both insert the same row, so the second one panics.
    let ops = [inserts([1]), inserts([1])];
    let error = explore(&start(&[]), &ops, Crashes::None, async |_| Ok(())).expect_err("one panics").to_string();
    assert!(error.starts_with("panicked: a new row: AlreadyExists"), "{error}");
    assert!(error.contains("   2. insert [1]: insert Counters('a','0000000001')"), "{error}");

    let check = async |seen: &Seen<'_, ()>| {
        assert_eq!(count(&seen.tables, 1).await, None);
        Ok(())
    };
    let error = explore(&start(&[]), &ops[..1], Crashes::None, check).expect_err("the check panics").to_string();
    assert!(error.starts_with("panicked: assertion `left == right` failed"), "{error}");
    assert!(error.contains("   1. insert [1]: insert Counters('a','0000000001')"), "{error}");
}

/// Step of a random operation.
#[derive(Clone, Debug)]
enum Act {
    Insert(u32),
    Upsert(u32),
    Read(u32),
    Update,
    Delete,
    Remove(u32),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (0..2u32).prop_map(Act::Insert),
        (0..2u32).prop_map(Act::Upsert),
        (0..2u32).prop_map(Act::Read),
        (0..2u32).prop_map(Act::Read),
        Just(Act::Update),
        Just(Act::Delete),
        (0..2u32).prop_map(Act::Remove),
    ]
}

/// Returns an operation of these steps, which use the row read last. Its result has the outcome of each step.
fn acts(name: u32, acts: Vec<Act>) -> Op<String> {
    op(format!("{name}: {acts:?}"), move |tables| {
        let acts = acts.clone();
        async move {
            let (mut held, mut gave): (Option<Stored<Counter>>, _) = (None, String::new());
            for act in acts {
                let result = match (act, held.as_mut()) {
                    (Act::Insert(number), _) => tables.insert(&counter(number, name)).await.map(drop),
                    (Act::Upsert(number), _) => tables.upsert(&counter(number, name)).await.map(drop),
                    (Act::Read(number), _) => {
                        held = Counter::key("a", number).get(&tables).await.expect("the store answers");
                        gave += held.as_ref().map_or_else(|| "none".to_owned(), |held| held.count.to_string()).as_str();
                        Ok(())
                    }
                    (Act::Update, Some(held)) => {
                        held.count += 10;
                        tables.update(held).await.map(drop)
                    }
                    (Act::Delete, Some(held)) => tables.delete(held).await,
                    (Act::Remove(number), _) => tables.remove(Counter::key("a", number)).await.map(drop),
                    (Act::Update | Act::Delete, None) => Ok(()),
                };
                gave.push(if result.is_ok() { '+' } else { '-' });
            }
            gave
        }
    })
}

tests::depth::laws! {
    64;

    /// Checks that leaving out known states loses no outcome.
    fn the_memoised_search_visits_the_same_states_as_the_full_search(programs in vec(vec(act(), 1..4), 2..=3)) {
        let ops: Vec<_> = (1..).zip(programs).map(|(name, program)| acts(name, program)).collect();
        let visited = |memoise| {
            let visited = RefCell::new(BTreeSet::new());
            let explorer = Explorer { memoise, ..Explorer::default() };
            let explored = explorer.explore(&start(&[counter(0, 0)]), &ops, async |seen| {
                let rows = Counter::by_key("a").all(&seen.tables).await?;
                let rows: Vec<_> = rows.iter().map(|row| (row.number, row.count)).collect();
                visited.borrow_mut().insert((rows, format!("{:?}", seen.ops)));
                Ok(())
            });
            (visited.into_inner(), explored.expect("nothing is wrong").states)
        };
        let (memoised, every) = (visited(true), visited(false));
        prop_assert_eq!(memoised.0, every.0);
        prop_assert!(memoised.1 <= every.1);
    }
}
