//! Tests of the compiler's errors. The programs that must compile are in `pass`.
//!
//! Each folder is a topic. A `.stderr` file contains the errors that users see: they must say what to write. Run with
//! `TRYBUILD=overwrite` to update these files, and read the difference.
//!
//! No case may compile, so `trybuild` checks all of them in one run of `cargo`, on all processors. If one case passed, it
//! would run `cargo` twice for each case.

use std::{fs, path::Path};

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

/// The guide has a page for the messages that do not say what to write. Each of its sections quotes one.
#[test]
fn the_guide_quotes_messages_of_the_compiler() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut messages = String::new();
    for topic in fs::read_dir(root.join("tests/ui")).expect("the topics") {
        for case in fs::read_dir(topic.expect("a topic").path()).expect("its cases") {
            let case = case.expect("a case").path();
            if case.extension().is_some_and(|extension| extension == "stderr") {
                messages += &fs::read_to_string(case).expect("a text");
            }
        }
    }
    let guide = root.join("../../table-runtime/src/guide/compiler_messages.md");
    let guide = fs::read_to_string(guide).expect("the page");
    let quoted: Vec<_> = guide.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert!(quoted.len() > 10, "{quoted:?}");
    for message in quoted {
        assert!(messages.contains(message), "no case has the message: {message}");
    }
}
