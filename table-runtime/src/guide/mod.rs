// To write a page:
//
// 1. Write `NAME.md`: the problem, the declaration, the stored rows, the cost, the pitfalls. Its program asserts all that the page
//    shows. No attribute of a crate in a program: all programs are compiled as one.
// 2. Declare it here, and name it in the tables here and in `lib.rs`; a pattern also in `README.md`, which has at most 8 KB. A link to another page is `[text](other_page)`.
// 3. If it shows rows, end the program with the hidden line `# tests::guide::shows("NAME", &tables).await;`, write
//    `<!-- rows: begin -->` and `<!-- rows: end -->` where the table belongs, and put the picture `NAME.svg` before the page.
//    `TABLE_GUIDE=overwrite cargo test --doc -- guide` writes both.
// 4. Look at it in a light and in a dark theme.

//! The guide: a page for each pattern and each task.
//!
//! Each program in it runs on the store in memory, and asserts what the page shows. Besides this crate, the programs use
//! `tokio`, and some of them `time` (with the feature `time` of this crate), `futures`, `serde` or `serde_json`. Programs
//! with backends for tests need the feature `testing`. The pictures are drawn from the rows that the programs store: a box
//! for each table, in it a box for each partition, and the rows in the order of their keys. Rows of indexes are blue, with
//! an arrow to their entity. The module exists only in the documentation.
//!
//! What to read first, in this order:
//!
//! | for | read |
//! |---|---|
//! | **a new service** | [choosing a partition key](partition_key), [queries], [writes](writing), [indexes]; then [pages of a web API](paging) and [tests](testing) |
//! | **existing tables** | [coming from …](coming_from), [the command `tables`](command), [changing a struct](changing_a_struct), [versions] |
//! | **operations** | [going to production](production), [repair], [the command `tables`](command), [changing a struct](changing_a_struct) |
//!
//! | first | |
//! |---|---|
//! | [choosing a partition key](partition_key) | what is fast, what is atomic, and what can grow |
//! | [queries] | ranges, projections, filters, and their cost as a type |
//! | [writes](writing) | which verb, conflicts, transactions, lost answers |
//!
//! | pattern | |
//! |---|---|
//! | [starts with](starts_with) | search by the beginning of a text |
//! | [newest first](newest_first) | a partition in the opposite order of time |
//! | [master and items](master_and_items) | composition: an expense and its items, an order and its lines |
//! | [secondary indexes](indexes) | which scope and which content of an index to choose |
//! | [unique values](unique_values) | names, addresses and numbers that belong to one entity |
//! | [tags] | a row for each element of a list: tags, labels, several addresses of a user |
//! | [counters] | one row that many tasks change |
//! | [hash partitions](hash_partitions) | more writes than one partition takes |
//! | [slices] | a table for each month, which is deleted as a whole |
//! | [expiry and the bin](lifecycle) | sessions, tokens and invitations that expire, a bin for what was deleted, and the sweep |
//! | [events] | a row for each committed write, in its transaction: mails, search indexes, caches |
//! | [work queues](work_queues) | jobs that several workers take: leases, retries, dead letters |
//! | [nested structs and enums](shapes) | an address, a way to pay: structs and enums with data as fields |
//! | [large values and attachments](large_values) | texts and files of more than 64 KiB: in parts, in a table of their own, or in Blob storage |
//!
//! | task | |
//! |---|---|
//! | [pages of a web API](paging) | pages, ETags and errors |
//! | [bulk loads](bulk_loads) | loading and deleting many entities |
//! | [changing a struct](changing_a_struct), [versions] | structs that have stored rows |
//! | [repair] | verification and repair in production |
//! | [tests](testing) | tests without an account, with faults and counted requests |
//! | [going to production](production) | signing in, outages, overload, tracing, backups, tenants |
//! | [the command `tables`](command) | looking into a store, and moving its rows, without Rust types |
//! | [coming from …](coming_from) | from .NET, from Python, or from keys written by hand |
//! | [compiler messages](compiler_messages) | messages that do not say what to write, and what to write |

/// Choosing a partition key: what is fast, what is atomic, and what can grow.
///
#[doc = include_str!("partition_key.svg")]
///
#[doc = include_str!("partition_key.md")]
pub mod partition_key {}

/// Search by the beginning of a text, in any case.
///
#[doc = include_str!("starts_with.svg")]
///
#[doc = include_str!("starts_with.md")]
pub mod starts_with {}

/// A partition in the opposite order of time, so that its first rows are the newest.
///
#[doc = include_str!("newest_first.svg")]
///
#[doc = include_str!("newest_first.md")]
pub mod newest_first {}

/// Composition: a master and its items in one partition, read by one query and written by one transaction.
///
#[doc = include_str!("master_and_items.svg")]
///
#[doc = include_str!("master_and_items.md")]
pub mod master_and_items {}

/// Values that belong to one entity: names, addresses, numbers.
///
#[doc = include_str!("unique_values.svg")]
///
#[doc = include_str!("unique_values.md")]
pub mod unique_values {}

/// Tags: a row for each element of a list, and entities that are returned once.
///
#[doc = include_str!("tags.svg")]
///
#[doc = include_str!("tags.md")]
pub mod tags {}

/// Secondary indexes: which scope and which content to choose, and what each promises and costs.
///
#[doc = include_str!("indexes.svg")]
///
#[doc = include_str!("indexes.md")]
pub mod indexes {}

/// Counters: one row that many tasks change, and several rows with a sum.
///
#[doc = include_str!("counters.svg")]
///
#[doc = include_str!("counters.md")]
pub mod counters {}

/// Rows spread over several partitions, and read in one order.
///
#[doc = include_str!("hash_partitions.svg")]
///
#[doc = include_str!("hash_partitions.md")]
pub mod hash_partitions {}

/// A table for each year, month or day, which is deleted as a whole.
///
#[doc = include_str!("slices.svg")]
///
#[doc = include_str!("slices.md")]
pub mod slices {}

/// Expiry and the bin: entities that are absent from a time on, entities that can be restored, and the sweep.
///
#[doc = include_str!("lifecycle.md")]
pub mod lifecycle {}

/// Events: a row for each committed write of an entity, in the transaction of the write.
///
#[doc = include_str!("events.md")]
pub mod events {}

/// Work queues: jobs that several workers take, with leases, retries and dead letters.
///
#[doc = include_str!("work_queues.svg")]
///
#[doc = include_str!("work_queues.md")]
pub mod work_queues {}

/// Nested structs and enums: an address or a way to pay as fields, with typed paths in filters, patches and indexes.
///
#[doc = include_str!("shapes.md")]
pub mod shapes {}

/// Large values and attachments: in parts, in a table of their own, or in Blob storage, and what each costs.
///
#[doc = include_str!("large_values.md")]
pub mod large_values {}

/// Queries: ranges, projections, filters, and their cost as a type.
///
#[doc = include_str!("queries.md")]
pub mod queries {}

/// Pages, ETags and errors of a web API.
///
#[doc = include_str!("paging.md")]
pub mod paging {}

/// Writes: which verb, conflicts, transactions, and lost answers.
///
#[doc = include_str!("writing.md")]
pub mod writing {}

/// Loading and deleting many entities.
///
#[doc = include_str!("bulk_loads.md")]
pub mod bulk_loads {}

/// Changes of a struct that has stored rows: what is refused, new indexes, migrations.
///
#[doc = include_str!("changing_a_struct.md")]
pub mod changing_a_struct {}

/// Versions of an entity: rows of an older struct, converted when they are read.
///
#[doc = include_str!("versions.svg")]
///
#[doc = include_str!("versions.md")]
pub mod versions {}

/// Verification and repair in production, and what they cost.
///
#[doc = include_str!("repair.md")]
pub mod repair {}

/// Tests without an account, with faults and counted requests.
///
#[doc = include_str!("testing.md")]
pub mod testing {}

/// Going to production: signing in, outages, overload, tracing, backups, tenants.
///
#[doc = include_str!("production.md")]
pub mod production {}

/// The command `tables`: looking into a store, and moving its rows, without Rust types.
///
#[doc = include_str!("command.md")]
pub mod command {}

/// Coming from .NET, from Python, or from keys written by hand.
///
#[doc = include_str!("coming_from.svg")]
///
#[doc = include_str!("coming_from.md")]
pub mod coming_from {}

/// Messages of the compiler that do not say what to write, and what to write.
///
#[doc = include_str!("compiler_messages.md")]
pub mod compiler_messages {}
