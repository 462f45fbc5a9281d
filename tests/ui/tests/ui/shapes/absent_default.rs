//! Defaults of types that are read from no property at all.

use table_runtime::{Property, TableEntity};

#[derive(Property, Clone)]
struct Prefs {
    theme: Option<String>,
    size: Option<u32>,
}

impl Default for Prefs {
    fn default() -> Self {
        Self { theme: Some("dark".into()), size: None }
    }
}

#[derive(Property)]
struct Nick(Option<String>);

impl Default for Nick {
    fn default() -> Self {
        Self(Some("nobody".into()))
    }
}

#[derive(Property)]
struct Inside {
    name: String,
    #[property(default)]
    prefs: Prefs,
}

#[derive(TableEntity)]
struct User {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(default)]
    prefs: Prefs,
    #[property(default)]
    nick: Nick,
    #[property(default)]
    allowed: Option<String>,
    inside: Inside,
}

fn main() {}
