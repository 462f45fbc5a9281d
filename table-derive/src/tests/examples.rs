//! The keys that the generated documentation has as examples.
//!
//! `examples/keys.txt` has them for each struct of `examples/structs.rs`. The package `tests` compiles the structs and
//! checks that the encodings write these keys. If they were compiled here, cargo would build the runtime once more.

use std::fmt::Write as _;

use syn::DeriveInput;

/// Returns the two keys of each example in the documentation of a struct, once.
fn documented(input: &DeriveInput) -> Vec<(String, String)> {
    let code = crate::table_entity(input).to_string();
    let mut examples = Vec::new();
    for example in code.split("for example ").skip(1) {
        let (partition, rest) = example.split_once(" and ").expect("it has two keys");
        let row = rest.split_once(".\"").map_or(rest, |(row, _)| row).split(".\\n").next().unwrap_or_default();
        let key = |text: &str| if text.starts_with('`') { text.trim_matches('`').to_owned() } else { String::new() };
        let example = (key(partition), key(row));
        if !examples.contains(&example) {
            examples.push(example);
        }
    }
    examples
}

#[test]
fn examples_in_documentation_are_those_of_the_encodings() {
    let structs = syn::parse_file(include_str!("examples/structs.rs")).expect("the structs");
    let mut keys = String::new();
    for item in structs.items {
        let syn::Item::Struct(item) = item else { panic!("only structs are expected") };
        let input = DeriveInput::from(item);
        let documented = documented(&input);
        assert!(!documented.is_empty(), "{} has no example", input.ident);
        for (partition, row) in documented {
            writeln!(keys, "{}: PartitionKey='{partition}' RowKey='{row}'", input.ident).expect("a text");
        }
    }
    assert_eq!(keys, include_str!("examples/keys.txt"));
}
