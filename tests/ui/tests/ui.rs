//! Tests of the compiler's errors. The programs that must compile are in `pass`.
//!
//! Each folder is a topic. A `.stderr` file contains the errors that users see: they must say what to write. Run with
//! `TRYBUILD=overwrite` to update these files, and read the difference.
//!
//! All cases fail to compile. Therefore `trybuild` checks them in one run of `cargo`, on all processors; beside a case that
//! passes it would run `cargo` twice for each.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    for topic in [
        "spelling",
        "attributes",
        "features",
        "fields",
        "wrappers",
        "keys",
        "properties",
        "indexes",
        "queries",
        "filters",
        "projections",
        "groups",
        "writes",
        "versions",
    ] {
        cases.compile_fail(format!("tests/ui/{topic}/*.rs"));
    }
}
