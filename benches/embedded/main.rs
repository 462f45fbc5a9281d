//! The time and the requests of the embedded store's works, beside bare `redb`, `native_db` and `SQLite` with the same
//! entities.
//!
//! - `cargo bench -p benches --bench embedded` compares the stores.
//! - `-- compare` prints besides what is slower, in relation to the references, than `docs/performance.md` says.
//! - `-- record` writes the table to `docs/performance.md`.
//! - `cargo bench -p benches --bench embedded -- growth` shows how the cost grows with rows, indexes and hash
//!   partitions. The largest store has 1,000 thousand rows, or as many thousands as `-- growth 10000` says.
//!
//! All print tables in Markdown. `docs/performance.md` explains the figures. The files are in the target folder. The
//! time of a durable write depends mostly on the disk of that folder.

mod entities;
mod growth;
mod recorded;
mod report;
mod sqlite;
mod stores;

use std::{
    env, fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, atomic::AtomicU32},
};

use entities::{Numbered, POSTS, Plain, ThreeIndexes, TwoIndexes};
use report::{Line, Sample, timed};
use sqlite::Sqlite;
use stores::{Bare, NativeDb, Ours, TASKS, WRITES, insert_in_threads, runtime};

fn main() -> ExitCode {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the files");
    // `cargo bench` adds `--bench`.
    let arguments: Vec<_> = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let thousands = arguments.get(1).map_or(Ok(1000), |thousands| thousands.parse());
    match (arguments.first().map(String::as_str), thousands) {
        (None, _) => drop(compare(folder.path())),
        (Some("compare"), _) => {
            let (_, lines) = compare(folder.path());
            recorded::compare(&STORES, &lines).expect("the recorded table");
        }
        (Some("record"), _) => recorded::record(&compare(folder.path()).0).expect("the document"),
        (Some("growth"), Ok(thousands)) => growth::print(folder.path(), thousands),
        _ => {
            eprintln!(
                "expected no argument, `compare`, `record`, `growth`, or `growth` and the largest store's thousands of rows"
            );
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

const STORES: [&str; 4] = ["table-runtime", "bare redb", "native_db", "SQLite"];

/// Prints the times of the stores. Returns the table and its lines.
fn compare(folder: &Path) -> (String, Vec<Line>) {
    println!("median time of an item, (its ratio to table-runtime), [requests of an item]\n");
    let mut lines = reads(folder);
    lines.push(inserts(folder, "one insert on disk, no index", 1, 40));
    lines.push(inserts_one_after_another(folder));
    lines.extend(indexed_inserts(folder));
    lines.push(inserts(folder, "100 inserts of one partition", 100, 20));
    lines.push(tasks(folder));
    let first_bulk = lines.len();
    lines.extend(bulk(folder));
    lines.push(verify(folder));
    let table = report::print(&STORES, &mut lines);

    let against_plain = |line: usize| Some(lines[first_bulk + line].median(0)? / lines[first_bulk].median(0)?);
    if let (Some(indexed), Some(in_steps)) = (against_plain(1), against_plain(2)) {
        println!("\nThe time of a bulk load without indexes × {indexed:.2} = with two; × {in_steps:.2} = in steps.");
    }
    (table, lines)
}

/// Returns a generator of pseudo-random numbers, the same in each run.
fn random() -> impl FnMut() -> u64 {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// Returns a work of this number of reads. Each begins at another post, which has at least 99 after it.
fn reading<T>(authors: u64, count: u32, read: impl Fn(&str, u64) -> T) -> impl FnMut() -> Sample {
    let mut next = random();
    let mut some_key = move || {
        let number = next();
        (format!("author{:04}", number % authors), (number >> 32) % (POSTS - 100))
    };
    move || {
        let keys: Vec<_> = (0..count).map(|_| some_key()).collect();
        timed(|| {
            for (author, id) in &keys {
                black_box(read(author, *id));
            }
        })
    }
}

/// Returns a work that writes this number of new customers to a store.
fn writing<C: Numbered>(count: u32, insert: impl Fn(&[C]) -> Sample) -> impl FnMut() -> Sample {
    let mut next = 0;
    move || {
        let customers: Vec<_> = (next..next + count).map(C::new).collect();
        next += count;
        insert(&customers)
    }
}

/// Returns a work that writes this number of customers to a new store.
fn loading<C: Numbered, S>(
    file: PathBuf,
    count: u32,
    open: fn(&Path) -> S,
    insert: fn(&S, &[C]) -> Sample,
) -> impl FnMut() -> Sample {
    move || {
        let _ = fs::remove_file(&file);
        let store = open(&file);
        let customers: Vec<_> = (0..count).map(C::new).collect();
        insert(&store, &customers)
    }
}

fn checked<T>(posts: Vec<T>) -> Vec<T> {
    assert_eq!(posts.len(), 100);
    posts
}

fn reads(folder: &Path) -> Vec<Line> {
    const AUTHORS: u64 = 100;
    let ours = Arc::new(Ours::of_authors(&folder.join("read-ours"), AUTHORS));
    let bare = Arc::new(Bare::of_authors(&folder.join("read-bare"), AUTHORS));
    let native = Arc::new(NativeDb::of_authors(&folder.join("read-native"), AUTHORS));
    let sqlite = Arc::new(Sqlite::of_authors(&folder.join("read-sqlite"), AUTHORS));
    let (again, native_again) = (Arc::clone(&ours), Arc::clone(&native));
    let borrowed = Line::new("range of 100, three borrowed fields; native_db: owned", 100 * 20, 100)
        .column(reading(AUTHORS, 20, move |author, id| {
            let (rows, sum) = again.borrowed_range(author, id);
            assert_eq!(rows, 100);
            sum
        }))
        .skip()
        .column(reading(AUTHORS, 20, move |author, id| checked(native_again.range(author, id))));
    let (ours_range, bare_range) = (Arc::clone(&ours), Arc::clone(&bare));
    let (native_range, sqlite_range) = (Arc::clone(&native), Arc::clone(&sqlite));
    let range = Line::new("range of 100, owned, a row", 100 * 20, 100)
        .column(reading(AUTHORS, 20, move |author, id| checked(ours_range.range(author, id))))
        .column(reading(AUTHORS, 20, move |author, id| checked(bare_range.range(author, id))))
        .column(reading(AUTHORS, 20, move |author, id| checked(native_range.range(author, id))))
        .column(reading(AUTHORS, 20, move |author, id| checked(sqlite_range.range(author, id))));
    let get = Line::new("point get", 1000, 100)
        .column(reading(AUTHORS, 1000, move |author, id| ours.get(author, id).unwrap()))
        .column(reading(AUTHORS, 1000, move |author, id| bare.get(author, id).unwrap()))
        .column(reading(AUTHORS, 1000, move |author, id| native.get(author, id).unwrap()))
        .column(reading(AUTHORS, 1000, move |author, id| sqlite.get(author, id).unwrap()));
    vec![get, range, borrowed]
}

fn inserts(folder: &Path, title: &str, count: u32, samples: u32) -> Line {
    let ours = Ours::new::<Plain>(&folder.join(format!("plain-{count}-ours")));
    let bare = Bare::new(&folder.join(format!("plain-{count}-bare")));
    let native = NativeDb::new(&folder.join(format!("plain-{count}-native")));
    let sqlite = Sqlite::new(&folder.join(format!("plain-{count}-sqlite")));
    Line::new(title, count, samples)
        .column(writing(count, move |customers: &[Plain]| ours.insert(customers)))
        .column(writing(count, move |customers| bare.insert(customers)))
        .column(writing(count, move |customers: &[Plain]| native.insert(customers)))
        .column(writing(count, move |customers: &[Plain]| sqlite.insert(customers)))
}

/// Each store does ten before the next one goes on, so that its threads and memory are as warm as in a program.
fn inserts_one_after_another(folder: &Path) -> Line {
    const COUNT: u32 = 10;
    fn each(customers: &[Plain], insert: impl Fn(&[Plain]) -> Sample) -> Sample {
        timed(|| customers.chunks(1).map(&insert).for_each(drop))
    }
    let ours = Ours::new::<Plain>(&folder.join("each-ours"));
    let bare = Bare::new(&folder.join("each-bare"));
    let native = NativeDb::new(&folder.join("each-native"));
    let sqlite = Sqlite::new(&folder.join("each-sqlite"));
    Line::new("10 inserts on disk, one after another, each", COUNT, 20)
        .column(writing(COUNT, move |customers| each(customers, |one| ours.insert(one))))
        .column(writing(COUNT, move |customers| each(customers, |one| bare.insert(one))))
        .column(writing(COUNT, move |customers| each(customers, |one| native.insert(one))))
        .column(writing(COUNT, move |customers| each(customers, |one| sqlite.insert(one))))
}

fn indexed_inserts(folder: &Path) -> [Line; 2] {
    let ours = Ours::new::<TwoIndexes>(&folder.join("two-ours"));
    let bare = Bare::new(&folder.join("two-bare"));
    let native = NativeDb::new(&folder.join("two-native"));
    let sqlite = Sqlite::indexed(&folder.join("two-sqlite"));
    let in_steps = Ours::in_steps::<TwoIndexes>(&folder.join("two-steps"));
    let in_one = Bare::new(&folder.join("two-one"));
    [
        Line::new("one insert on disk, two cross-partition indexes", 1, 40)
            .column(writing(1, move |customers: &[TwoIndexes]| ours.insert(customers)))
            .column(writing(1, move |customers| bare.insert_indexed(customers)))
            .column(writing(1, move |customers: &[TwoIndexes]| native.insert(customers)))
            .column(writing(1, move |customers: &[TwoIndexes]| sqlite.insert(customers))),
        Line::new("the same in steps; bare redb: in one", 1, 40)
            .column(writing(1, move |customers: &[TwoIndexes]| in_steps.insert(customers)))
            .column(writing(1, move |customers| in_one.insert_indexed(customers))),
    ]
}

fn tasks(folder: &Path) -> Line {
    let ours = Ours::new::<Plain>(&folder.join("tasks-ours"));
    let bare = Bare::new(&folder.join("tasks-bare"));
    let native = NativeDb::new(&folder.join("tasks-native"));
    let sqlite = Sqlite::new(&folder.join("tasks-sqlite"));
    let [our_next, bare_next, native_next, sqlite_next]: [Arc<AtomicU32>; 4] = Default::default();
    Line::new("16 tasks of single inserts", TASKS * WRITES, 3)
        .column(move || ours.measured(|| ours.insert_in_tasks(&our_next)))
        .column(move || timed(|| insert_in_threads(&bare_next, |customers| bare.insert(customers))))
        .column(move || timed(|| insert_in_threads(&native_next, |customers| native.insert(customers))))
        .column(move || timed(|| insert_in_threads(&sqlite_next, |customers| sqlite.insert(customers))))
}

/// Loads into a new store. The references load all in one transaction.
fn bulk(folder: &Path) -> [Line; 3] {
    const ROWS: u32 = 100_000;
    const IN_STEPS: u32 = 10_000;
    let file = |name: &str| folder.join(format!("bulk-{name}"));
    [
        Line::new("bulk load, no index", ROWS, 1)
            .column(loading::<Plain, _>(file("plain-ours"), ROWS, Ours::new::<Plain>, Ours::insert))
            .column(loading(file("plain-bare"), ROWS, Bare::new, Bare::insert))
            .column(loading::<Plain, _>(file("plain-native"), ROWS, NativeDb::new, NativeDb::insert))
            .column(loading::<Plain, _>(file("plain-sqlite"), ROWS, Sqlite::new, Sqlite::insert)),
        Line::new("bulk load, two cross-partition indexes", ROWS, 1)
            .column(loading::<TwoIndexes, _>(file("two-ours"), ROWS, Ours::new::<TwoIndexes>, Ours::insert))
            .column(loading(file("two-bare"), ROWS, Bare::new, Bare::insert_indexed))
            .column(loading::<TwoIndexes, _>(file("two-native"), ROWS, NativeDb::new, NativeDb::insert))
            .column(loading::<TwoIndexes, _>(file("two-sqlite"), ROWS, Sqlite::indexed, Sqlite::insert)),
        Line::new("bulk load in steps; bare redb: in one", IN_STEPS, 1)
            .column(loading::<TwoIndexes, _>(file("steps"), IN_STEPS, Ours::in_steps::<TwoIndexes>, Ours::insert))
            .column(loading(file("one"), IN_STEPS, Bare::new, Bare::insert_indexed)),
    ]
}

fn verify(folder: &Path) -> Line {
    const CUSTOMERS: u32 = 50_000;
    let ours = Ours::new::<ThreeIndexes>(&folder.join("verify-ours"));
    ours.insert(&(0..CUSTOMERS).map(ThreeIndexes::new).collect::<Vec<_>>());
    let bare = Bare::new(&folder.join("verify-bare"));
    bare.insert_indexed(&(0..CUSTOMERS).map(TwoIndexes::new).collect::<Vec<_>>());
    Line::new("verify, three cross-partition indexes; bare redb: a read of two", CUSTOMERS, 1)
        .column(move || {
            let findings = || runtime().block_on(ours.tables.verify::<ThreeIndexes>().all()).unwrap();
            ours.measured(|| assert_eq!(findings(), []))
        })
        .column(move || timed(|| assert_eq!(bare.count_indexed(), 3 * CUSTOMERS as usize)))
}
