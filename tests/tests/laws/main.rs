//! The stored form of keys and rows, the laws of keys, and what other texts say of them: layouts, documentation, counts
//! of requests.

mod assert_layout;
mod documented_keys;
mod golden_indexes;
mod golden_rows;
mod index_requests;
mod keys;
