//! Tests of the compiler's errors. The programs that must compile are in `pass`.
//!
//! Each folder is a topic. A `.stderr` file contains the error that users see: it must say what to write. Run with
//! `TRYBUILD=overwrite` to update these files, and read the difference.
//!
//! No case may compile, so `trybuild` checks all of them in one run of `cargo`, on all processors. If one case passed, it
//! would run `cargo` twice for each case.
//!
//! To add a message: a user who writes what another library has must read what to write here, at that place, and nothing else.
//!
//! - An attribute in another syntax: `table-derive/src/attributes/repair.rs` reports it and reads what is meant; another name for a
//!   key: `attributes/synonyms.rs` there.
//! - A function that does not exist: a name in `table-runtime/src/hints.rs` or `table-model/src/hints.rs`, if many type it in their
//!   first week. `laws/hints.rs` keeps these few and far from the names of users.
//! - A type that does not fit: the `on_unimplemented` of the trait.
//! - The compiler speaks first, for instance about a missing `.await`: a heading with its text in
//!   `table-runtime/src/guide/compiler_messages.md`.
//!
//! Then a case here, with one mistake and one error. If only the text of a derive's message is new, it is an item of
//! `table-derive/src/tests/examples/refused.rs` instead.

use std::{fs, path::Path};

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    for topic in [
        "spelling",
        "attributes",
        "features",
        "fields",
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
        "events",
        "jobs",
        "versions",
    ] {
        cases.compile_fail(format!("tests/ui/{topic}/*.rs"));
    }
}

/// Returns the `.stderr` files, with their names.
fn recorded() -> Vec<(String, String)> {
    let topics = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui")).expect("the topics");
    let cases = topics.flat_map(|topic| fs::read_dir(topic.expect("a topic").path()).expect("its cases"));
    let files = cases.map(|case| case.expect("a case").path());
    let recorded = files.filter(|file| file.extension().is_some_and(|extension| extension == "stderr"));
    recorded.map(|file| (file.display().to_string(), fs::read_to_string(&file).expect("a text"))).collect()
}

/// A user reads the first error, and a second one of the same mistake is noise.
#[test]
fn each_case_has_one_error() {
    let recorded = recorded();
    assert!(recorded.len() <= 340, "{}", recorded.len());
    for (name, text) in recorded {
        let errors = text.lines().filter(|line| line.starts_with("error")).count();
        assert_eq!(errors, 1, "{name}");
        assert!(!text.contains("unused import"), "{name}");
    }
}

/// The guide has a page for the messages that do not say what to write. Each of its sections quotes one.
#[test]
fn the_guide_quotes_messages_of_the_compiler() {
    let messages: String = recorded().into_iter().map(|(_, text)| text).collect();
    let guide = include_str!("../../../table-runtime/src/guide/compiler_messages.md");
    let quoted: Vec<_> = guide.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert!(quoted.len() > 10, "{quoted:?}");
    for message in quoted {
        assert!(messages.contains(message), "no case has the message: {message}");
    }
}
