//! The stored form of keys and rows, the laws of keys and properties, the floors of the runtime and the names of its types, and
//! texts that must agree with them: recorded layouts, examples in the documentation, the table of requests, and the table of
//! answers.

mod assert_layout;
mod documented_keys;
mod floors;
mod golden_indexes;
mod golden_rows;
mod hints;
mod index_requests;
mod job_requests;
mod keys;
mod large;
mod late_requests;
mod prefixes;
mod properties;
mod samples;
mod shapes;
mod side_by_side;
mod type_names;
mod write_answers;
