//! The stored form of keys and rows, the laws of keys and properties, the floors of the runtime and the names of its types, and
//! texts that must agree with them: recorded layouts, examples in the documentation, the table of requests, and the table of
//! answers.

mod assert_layout; // `assert_layout!`: it compares a struct with the layout in a file
mod documented_keys; // the keys that the derive writes into the documentation as examples are those that the encodings write
mod documents; // the documents: their sizes, and that every link, anchor and path in them exists
mod floors; // the floors of `table-runtime`
mod golden_indexes; // exact form of stored index rows
mod golden_rows; // exact form of stored rows
mod hints; // the names in the two files `hints.rs`: few, and far from those of users
mod index_requests; // numbers of requests of each write and read for each kind of index
mod job_requests; // numbers of requests of backfills and repairs for each kind of index
mod keys; // laws of keys: of each encoding alone, of composite keys, and of ranges on a store
mod large; // values in parts: whatever their length, they are read as they were written
mod late_requests; // what a request does that got no answer and is carried out later
mod prefixes; // the tables of tenants: whatever the prefixes and the names, no two tenants have one table
mod properties; // which stored values a field reads
mod samples; // samples of a verification
mod shapes; // structs and enums with data
mod side_by_side; // jobs that read several pages at the same time
mod type_names; // a name means one type, for users and for readers of a folder
mod write_answers; // what the caller of a write is told after each answer to its commit
