//! The keys that the derive writes into the documentation as examples are those that the encodings write.

#![allow(dead_code, reason = "only the layouts of the structs are used")]

use std::fmt::Write as _;

use table_runtime::{Layout, TableEntity};

include!("../../../table-derive/src/tests/examples/structs.rs");

/// Writes the two keys of each example of a layout, in the order of the layouts.
fn write_examples(keys: &mut String, name: &str, layout: &Layout) -> std::fmt::Result {
    for line in layout.to_string().lines() {
        if let Some(example) = line.trim().strip_prefix("such as ") {
            writeln!(keys, "{name}: {example}")?;
        }
    }
    Ok(())
}

macro_rules! examples {
    ($($name:ident)*) => {{
        let mut keys = String::new();
        $(write_examples(&mut keys, stringify!($name), &$name::layout())?;)*
        keys
    }};
}

#[test]
fn documented_keys_are_those_of_the_encodings() -> std::fmt::Result {
    let written = examples!(Texts Unsigned Signed Decimals Reversed Others Joined Indexed);
    assert_eq!(written, include_str!("../../../table-derive/src/tests/examples/keys.txt"));
    Ok(())
}
