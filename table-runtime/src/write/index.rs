//! Indexes: the rows that lead from a value to its entities, and the writes that keep these rows correct.
//!
//! `#[index(…)]` declares an index, `T::by_NAME(…)` reads it, and every write of an entity maintains its rows. The rows
//! of a `same_partition` index are stored in the entity's own partition and are written in the entity's own
//! transaction: all or nothing. No transaction spans two partitions, so the rows of any other index are written in
//! steps. The order of the steps keeps these promises, even if processes crash or pause at any point:
//!
//! - an entity that readers see is found through each of its indexes;
//! - an index never returns an entity that does not have the value: index rows are pointers to entities, which are read
//!   and checked;
//! - no two entities that readers see have the same value of a unique index;
//! - a writer that comes second leaves nothing that readers see.
//!
//! These promises do not include a `copy` in another partition. Such a copy is written after the entity and may lag, as
//! its type, [`Copied`](crate::Copied), shows.
//!
//! A transaction of the embedded store spans all of its rows. There, the rows of every index, in whatever partition, are
//! written in the entity's own transaction: no step is visible, a crash leaves nothing behind, and a copy never lags. The
//! stored rows are the same. A test of an application on the store in memory therefore does not meet the states between
//! the steps. [`testing::PartitionReach`](crate::testing::PartitionReach), with the feature `testing`, limits the
//! transactions of a store to one partition, as those of the service are.
//!
//! # Requests
//!
//! On the embedded store, a write takes the requests of a `same_partition` index, whatever the kind. On the service, and
//! on every store whose transactions span one partition, the table shows the requests of each write and read if no other
//! writer interferes. An `update` or `upsert` *moves* the rows of an index if the entity's value for it changes. Rows that
//! do not move are written if the properties that they include change, or if they are copies. With *k* indexes in other
//! partitions, a write takes *k* times the requests of one such index, in addition to the entity's own requests; with
//! `each`, every row of an element that comes or goes counts as one such index. Steps of one kind run concurrently, up to
//! 30 rows at a time, so these are three round trips in all. The first `update` of a [`Stored::new`](crate::Stored::new)
//! reads the entity, which takes one more request; so does a `delete` of one, if the entity has indexes. A
//! [`merge`](crate::Tables::merge) takes as many requests as an `upsert` of an entity with indexes, and two if there are
//! none.
//!
//! In a [`transaction`](crate::Tables::transaction), the entities take each step together: one request for all pending
//! inserts, the index rows of all of them side by side, one commit. [`commit`](crate::Transaction::commit) says how many
//! requests that takes.
//!
//! While a unique `same_partition` index is being built, an entity may have no row in it, and the row of its value may
//! belong to another entity. A write that deletes or overwrites such a row therefore first reads the index's state and
//! the row, and changes the row only if it belongs to the entity. If a row blocks an insert, the insert reads that row,
//! which may be an insert that was never committed.
//!
//! An entity that can expire takes the same requests. Writes over expired entities take more: see
//! [their costs](crate::guide::lifecycle#the-cost).
//!
//! <!-- requests: begin -->
//!
//! | index | insert | update | update, included | update, moved | upsert, new | upsert, moved | patch | delete | remove | read one | read *n* |
//! |---|---|---|---|---|---|---|---|---|---|---|---|
//! | none | 1 | 1 |  | 1 | 1 | 1 | 1 | 1 | 1 | 1 |  |
//! | `same_partition` | 1 | 1 |  | 1 | 2 | 2 | 1 | 1 | 2 | 2 | ⌈*n* ÷ 1000⌉ + *n* |
//! | `same_partition, include(…)` | 1 | 1 | 1 | 1 | 2 | 2 | 1 | 1 | 2 | 2 | ⌈*n* ÷ 1000⌉ + *n* |
//! | `same_partition, unique` | 1 | 1 |  | 1 | 2 | 2 | 1 | 1 | 2 | 2 |  |
//! | `same_partition, copy` | 1 | 1 |  | 1 | 2 | 2 |  | 1 | 2 | 1 | ⌈*n* ÷ 1000⌉ |
//! | `same_partition, unique, copy` | 1 | 1 |  | 1 | 2 | 2 |  | 1 | 2 | 1 |  |
//! | `same_partition, list` | 2 | 1 |  | 3 | 3 | 4 | 1 | 2 | 3 | 2 | 1 + *n* |
//! | cross-partition | 3 | 1 |  | 4 | 4 | 5 | 1 | 3 | 4 | 2 | ⌈*n* ÷ 1000⌉ + *n* |
//! | cross-partition, `include(…)` | 3 | 1 | 3 | 4 | 4 | 5 | 1 | 3 | 4 | 2 | ⌈*n* ÷ 1000⌉ + *n* |
//! | cross-partition, `unique` | 3 | 1 |  | 4 | 4 | 5 | 1 | 3 | 4 | 2 |  |
//! | cross-partition, two of them | 4 | 1 |  | 7 | 5 | 8 | 1 | 5 | 6 | 2 |  |
//! | cross-partition, three of them | 5 | 1 |  | 10 | 6 | 11 | 1 | 7 | 8 | 2 |  |
//! | cross-partition, `copy` | 3 | 3 |  | 4 | 4 | 5 |  | 3 | 4 | 1 | ⌈*n* ÷ 1000⌉ |
//!
//! <!-- requests: end -->
//!
//! # Crashes
//!
//! If indexes are in other partitions, a process that ends after a step leaves behind what these tables show.
//! [`repair`] fixes all of it at any time. Nobody has to wait for that: readers skip the remains, and writers remove
//! those that block them. If there is more than one index in other partitions, some of a step's rows may be written and
//! some not.
//!
//! | insert | a crash after this step leaves | a reader sees | fixed by |
//! |---|---|---|---|
//! | 1. the entity, marked as pending | a pending entity | nothing | [`repair`]; a write of the same key |
//! | 2. the index rows | a pending entity, and rows that lead to it | nothing: pending entities are skipped | [`repair`]; a write of the same key; the next writer of its unique value |
//! | 3. the entity without the mark, if unchanged: **the commit** | missing copies | the entity, through each index but a `copy` in another partition | [`repair`]; the next update |
//! | 4. copies in other partitions | nothing | the entity | |
//!
//! | update | a crash after this step leaves | a reader sees | fixed by |
//! |---|---|---|---|
//! | 1. the old index rows are read | nothing | the entity as it was | |
//! | 2. the new index rows | rows of values that the entity does not have | the entity as it was; the rows are skipped | [`repair`]; the next writer of the unique value; a retry of the same update |
//! | 3. the entity, if unchanged: **the commit** | rows of values that it had; outdated copies and included properties | the entity as it is; the rows are skipped; outdated copies | [`repair`]; the next writer of the unique value; for copies, the next update; for included properties, the next update that changes them, or an upsert |
//! | 4. the old index rows are deleted, in the versions of step 1 | outdated copies and included properties | outdated copies | [`repair`]; for copies, the next update; for included properties, the next update that changes them, or an upsert |
//! | 5. copies and included properties in other partitions | nothing | the entity as it is | |
//!
//! | delete | a crash after this step leaves | a reader sees | fixed by |
//! |---|---|---|---|
//! | 1. the index rows are read | nothing | the entity | |
//! | 2. the entity is deleted, if unchanged: **the commit** | rows that lead to no entity; copies | nothing but the copies | [`repair`]; the next writer of the unique value; an insert of the same entity |
//! | 3. the index rows are deleted, in the versions of step 1 | copies | the copies | [`repair`]; an insert of the same entity |
//! | 4. the copies are deleted | nothing | nothing | |
//!
//! | takeover of a unique value | a crash after this step leaves | a reader sees | fixed by |
//! |---|---|---|---|
//! | 1. the row and its entity are read; if a committed entity has the value, and has not expired, the write fails with a violation | nothing | as before | |
//! | 2. a pending entity is deleted; an entity that has another value gets a new version, so that a concurrent write that gives it this value again fails | the unchanged row | as before; a [`Stored`](crate::Stored) of the entity is outdated | [`repair`]; the next writer of the value |
//! | 2. or an entity that has the value and has expired is deleted, as by a `delete`; its row of the value is deleted with it | what a `delete` leaves | nothing of the entity | as after a `delete` |
//! | 3. the row is replaced, if unchanged; or written anew | the same as step 2 of an insert or update | the same | the same |
//!
//! # Lists
//!
//! A `list` is one row for all entities of a value. A write that adds an entity to the list, or removes one, reads the
//! list and writes it back under its version, in the entity's transaction. Writers that collide at a list run one after
//! another: the slower one tries again after a pause.
//!
//! Sixteen writers that insert into one list of the embedded store at the same time take 22 times as long for each
//! entity as sixteen writers that share no list (2.2 ms and 0.1 ms on disk, 0.8 ms and 0.035 ms in memory). An index
//! with a row for each entity is the better choice for values that many writers use at the same time.
//!
//! [`repair`]: crate::Tables::repair

mod change;
mod claim;
mod commit;
mod entity_write;
mod event_row;
mod events;
mod execute;
mod groups;
mod leased;
mod list;
mod lost;
mod members;
mod propagate;
mod schema;
mod steps;
mod write;

pub(crate) use commit::Caller;
pub(crate) use entity_write::{BegunWrite, EntityWrite, Verb};
pub(crate) use events::announce_mark;
pub(crate) use execute::{WriteFailure, WrittenEntity, attempt, check, execute, execute_one};
pub(crate) use leased::{events_required, lifecycle_changed};
pub(crate) use list::{ListStore, operations_without};
#[doc(hidden)]
pub use schema::Schema;
pub(crate) use schema::{Encoded, EncodedRow, FoundEntity};
pub(crate) use write::{EntityState, Occupant, Write, WriteAnswer, WrittenRow, fence};
