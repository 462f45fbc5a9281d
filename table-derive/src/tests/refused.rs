//! What the derives refuse, and what they say. The snapshot has the messages in the order of the items.

use std::fmt::Write as _;

use proc_macro2::TokenStream;
use syn::{DeriveInput, Item};

use super::messages;

type Derive = fn(&DeriveInput) -> TokenStream;

const DERIVES: [(&str, Derive); 5] = [
    ("TableEntity", crate::table_entity),
    ("KeyPart", crate::key_part),
    ("Property", crate::property),
    ("Projection", crate::projection),
    ("EntityGroup", crate::entity_group),
];

/// Returns the derives of an item.
fn derives(input: &DeriveInput) -> Vec<(&'static str, Derive)> {
    let mut found = Vec::new();
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        let read = attribute.parse_nested_meta(|derive| {
            found.extend(DERIVES.iter().filter(|(name, _)| derive.path.is_ident(name)));
            Ok(())
        });
        read.expect("a list of derives");
    }
    found
}

#[test]
fn each_item_has_its_messages() {
    let items = syn::parse_file(include_str!("examples/refused.rs")).expect("the items").items;
    let mut all = String::new();
    for item in items {
        let input = match item {
            Item::Struct(item) => DeriveInput::from(item),
            Item::Enum(item) => DeriveInput::from(item),
            Item::Union(item) => DeriveInput::from(item),
            _ => panic!("only items with derives are expected"),
        };
        let mut is_refused = false;
        for (name, derive) in derives(&input) {
            for message in messages(derive, &input) {
                is_refused = true;
                writeln!(all, "{}, {name}: {}", input.ident, message.replace('\n', "\n    ")).expect("a text");
            }
        }
        assert!(is_refused, "{} has no message", input.ident);
    }
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(all) });
}
