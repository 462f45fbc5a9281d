//! The stored form of keys and rows, the laws of keys, and texts that must agree with them: recorded layouts, examples in
//! the documentation, and the table of requests.

mod assert_layout;
mod documented_keys;
mod golden_indexes;
mod golden_rows;
mod index_requests;
mod keys;
mod prefixes;
