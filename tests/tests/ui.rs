//! What the compiler says about mistakes, and what it takes.
//!
//! Each folder is a topic. A `.stderr` is kept as it is because it tells a user what to write; run with
//! `TRYBUILD=overwrite` to write them anew, and read them.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    for topic in
        ["attributes", "wrappers", "keys", "properties", "indexes", "queries", "projections", "groups", "writes"]
    {
        cases.compile_fail(format!("tests/ui/{topic}/*.rs"));
    }
}
