//! Tests of the compiler's errors. The programs that must compile are in `pass`.
//!
//! Each folder is a topic. A `.stderr` file contains the errors that users see: they must say what to write. Run with
//! `TRYBUILD=overwrite` to update these files, and read the difference.
//!
//! No case may compile, so `trybuild` checks all of them in one run of `cargo`, on all processors. If one case passed, it
//! would run `cargo` twice for each case.

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
        "shapes",
        "indexes",
        "queries",
        "filters",
        "projections",
        "groups",
        "writes",
        "lifecycle",
        "versions",
    ] {
        cases.compile_fail(format!("tests/ui/{topic}/*.rs"));
    }
}
