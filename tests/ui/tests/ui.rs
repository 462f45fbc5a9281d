//! Tests of the compiler's errors, and of programs that must compile.
//!
//! Each folder is a topic. A `.stderr` file contains the errors that users see: they must say what to write. Run with
//! `TRYBUILD=overwrite` to update these files, and read the difference.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
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
