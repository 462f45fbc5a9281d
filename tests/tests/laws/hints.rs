//! The names of the two files `hints.rs`, which the compiler answers with a message: few of them, so that a typing error is
//! not taken for one, and new functions find their names free.

use std::{collections::BTreeSet, fs, io, path::Path};

use proc_macro2::{TokenStream, TokenTree};

use super::{floors::files, type_names::CRATES};

/// The names on columns, and those on all other types.
const HINTS: [&str; 2] =
    [include_str!("../../../table-model/src/hints.rs"), include_str!("../../../table-runtime/src/hints.rs")];

/// Appends the identifiers outside of groups in the uses of a macro, or in the last group of each.
fn identifiers(source: TokenStream, of: &str, in_group: bool, found: &mut Vec<String>) {
    let mut tokens = source.into_iter();
    let mut before = [String::new(), String::new()];
    while let Some(token) = tokens.next() {
        let group = match &token {
            TokenTree::Group(group) => group.stream(),
            _ => TokenStream::new(),
        };
        if before == [of, "!"] {
            let last = group.clone().into_iter().last();
            let listed = match last {
                Some(TokenTree::Group(last)) if in_group => last.stream(),
                _ => group,
            };
            found.extend(listed.into_iter().filter_map(|token| match token {
                TokenTree::Ident(name) => Some(name.to_string()),
                _ => None,
            }));
        } else if before == ["macro_rules", "!"] {
            // Its name is followed by its definition.
            tokens.next();
        } else {
            identifiers(group, of, in_group, found);
        }
        let [_, last] = before;
        before = [last, token.to_string()];
    }
}

fn listed(of: &str, in_group: bool) -> Vec<String> {
    let mut found = Vec::new();
    for source in HINTS {
        identifiers(source.parse().expect("Rust"), of, in_group, &mut found);
    }
    assert!(!found.is_empty(), "{of}");
    found
}

#[test]
fn hints_are_few_and_far_from_the_names_of_users() {
    let messages: BTreeSet<_> = listed("hints", false).into_iter().collect();
    assert!(messages.len() <= 40, "{}", messages.len());
    let (of_types, functions) = (listed("names", true), listed("functions", false));
    let is_name = |name: &String| name.starts_with(char::is_lowercase);
    let names: BTreeSet<_> = of_types.iter().chain(&functions).filter(|name| is_name(name)).collect();
    assert!(names.len() <= 150, "{}", names.len());
    // An enum has filters such as `is_open`, an index has `by_title`, and options are `with_slow_after`.
    let near = |name: &&&String| ["is_", "by_", "with_"].iter().any(|start| name.starts_with(start));
    assert_eq!(names.iter().filter(near).collect::<Vec<_>>(), [&"is_none", &"is_some"]);
}

#[test]
fn each_message_has_a_name() {
    let lists = HINTS.map(|source| source.split_once("\nnames! {").expect("the lists of names").1).concat();
    for message in listed("hints", false) {
        let is_used = lists.split(|c: char| !c.is_alphanumeric()).any(|word| word == message);
        assert!(is_used, "{message}");
    }
}

#[test]
fn no_other_file_has_hints() -> io::Result<()> {
    for name in CRATES {
        for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"))? {
            let is_hint = fs::read_to_string(&path)?.contains("for<'never>");
            assert_eq!(is_hint, path.ends_with("src/hints.rs"), "{}", path.display());
        }
    }
    Ok(())
}

/// A reader takes the first notes for the answer.
#[test]
fn a_message_has_at_most_four_notes() -> io::Result<()> {
    for hints in HINTS {
        let (_, hints) = hints.split_once("\nhints! {").expect("the messages");
        let (hints, _) = hints.split_once("\n}\n").expect("the end of the messages");
        let tokens = hints.parse::<TokenStream>().expect("literals").into_iter().collect::<Vec<_>>();
        for hint in tokens.split(|token| token.to_string() == ";") {
            let texts = hint.iter().filter(|token| matches!(token, TokenTree::Literal(_))).count();
            // A message, a label and the notes.
            assert!(texts <= 6, "{:?}", hint.first());
        }
    }
    for name in CRATES {
        for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"))? {
            let source = fs::read_to_string(&path)?;
            for message in source.split("on_unimplemented(").skip(1) {
                let (message, _) = message.split_once(")]\n").unwrap_or((message, ""));
                assert!(message.matches("note = ").count() <= 4, "{}: {message}", path.display());
            }
        }
    }
    Ok(())
}
