//! Indexes: the rows that lead from a value to its entities, and how writes keep them true.
//!
//! `#[index(…)]` declares one, `T::by_NAME(…)` reads it, and every write of an entity keeps its rows. An index whose
//! rows stand in the entity's own partition (`same_partition`) is written in the entity's own transaction: all or
//! nothing. No transaction spans two partitions, so the rows of any other index are written by steps, in an order that
//! keeps these promises, whatever crashes or pauses where:
//!
//! - an entity that readers see is found through each of its indexes;
//! - an index never gives an entity that does not have the value: rows lead to entities, which are read and checked;
//! - no two entities that readers see have one value of a unique index;
//! - who comes second leaves nothing that readers see.
//!
//! A `copy` in another partition is outside of them: it is written after the entity and may lag, which its type,
//! [`Copied`], says.
//!
//! # Requests
//!
//! What each write and read asks of the store, where no other writer is in the way. An `update` or `upsert` *moves* the
//! rows of an index if the entity's value for it changes, and writes those that stay if what they include changes, or
//! they are copies; *k* indexes elsewhere cost a write what is said of one of them *k* times, beside the entity's own
//! requests, three round trips in all, since steps of one kind run side by side. The first `update` or `delete` of a
//! [`Stored::new`](crate::Stored::new) reads the entity, which is a request more.
//!
//! While a unique `same_partition` index is built, an entity may have no row in it, and the row of its value may belong
//! to another entity. A write that deletes such a row or writes over it then reads the index's state and the row first,
//! and changes the row only if it belongs to the entity. An insert that finds a row in its way reads that row, which may
//! be an insert that was never committed.
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
//! What a process that ends after a step leaves behind, where indexes are in other partitions. [`repair`] mends all of
//! it at any time; nobody has to wait for that, since readers pass over what is left, and writers clear what is in their
//! way. Where there is more than one index elsewhere, some of a step's rows may be written and some not.
//!
//! | insert | a crash after it leaves | a reader sees | who mends it |
//! |---|---|---|---|
//! | 1. the entity, marked as pending | a pending entity | nothing | [`repair`]; a write of the same key |
//! | 2. the index rows | that, and rows that lead to it | nothing: pending entities are passed over | [`repair`]; a write of the same key; who wants its unique value |
//! | 3. the entity without the mark, if unchanged: **the commit** | copies that are missing | the entity, through each index but a `copy` elsewhere | [`repair`]; the next update |
//! | 4. copies elsewhere | nothing | the entity | |
//!
//! | update | a crash after it leaves | a reader sees | who mends it |
//! |---|---|---|---|
//! | 1. the old index rows are read | nothing | the entity as it was | |
//! | 2. the new index rows | rows of values that the entity does not have | the entity as it was; the rows are passed over | [`repair`]; who wants the unique value; the same update, again |
//! | 3. the entity, if unchanged: **the commit** | rows of values that it had; copies, and what rows include, as they were | the entity as it is; the rows are passed over; copies as they were | [`repair`]; who wants the unique value; of copies, the next update; of what rows include, the next that changes it, or an upsert |
//! | 4. the old index rows are deleted, in the versions of step 1 | copies, and what rows include, as they were | copies as they were | [`repair`]; of copies, the next update; of what rows include, the next that changes it, or an upsert |
//! | 5. copies and included properties elsewhere | nothing | the entity as it is | |
//!
//! | delete | a crash after it leaves | a reader sees | who mends it |
//! |---|---|---|---|
//! | 1. the index rows are read | nothing | the entity | |
//! | 2. the entity is deleted, if unchanged: **the commit** | rows that lead nowhere; copies | nothing but the copies | [`repair`]; who wants the unique value; an insert of the same entity |
//! | 3. the index rows are deleted, in the versions of step 1 | copies | the copies | [`repair`]; an insert of the same entity |
//! | 4. the copies are deleted | nothing | nothing | |
//!
//! | a unique value is taken over | a crash after it leaves | a reader sees | who mends it |
//! |---|---|---|---|
//! | 1. the row and its entity are read; a committed entity that has the value is a violation | nothing | as before | |
//! | 2. a pending entity is deleted; one that has another value gets a new version, so that its writers cannot have it back unnoticed | the row, as it was | as before; a [`Stored`](crate::Stored) of the entity is out of date | [`repair`]; who wants the value |
//! | 3. the row is replaced, if unchanged | as step 2 of an insert or update | as there | as there |
//!
//! # Lists
//!
//! A `list` is one row for all entities of a value. Whoever adds an entity to it, or takes one out, reads it and writes
//! it back under its version, in the entity's transaction: writers who meet at one list go one after the other, and who
//! was slower tries again after a pause.
//!
//! Sixteen writers that insert into one list of the embedded store at once take 22 times as long for each entity as
//! sixteen who meet at none (2.2 ms and 0.1 ms on disk, 0.8 ms and 0.035 ms in memory): an index with a row for each
//! entity is the better one for values that many write at once.
//!
//! [`repair`]: crate::Tables::repair

mod change;
mod claim;
mod commit;
pub(crate) mod indexable;
mod list;
mod propagate;
mod schema;
mod write;
mod writer;

pub(crate) use change::{Change, Planned};
pub(crate) use claim::{IndexRows, Precondition};
pub(crate) use commit::{check, commit};
pub(crate) use list::Lists;
pub(crate) use propagate::Propagation;
pub(crate) use schema::{Encoded, EncodedRow, FoundEntity, Schema, same_properties};
pub(crate) use write::{MAX_ATTEMPTS, Occupant, Write, WrittenRow};
pub(crate) use writer::EntityWriter;
