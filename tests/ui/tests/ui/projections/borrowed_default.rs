//! A projection that borrows from a struct of which a row may have nothing.

use table_runtime::{Projection, Property, TableEntity};

#[derive(Property)]
struct Prefs {
    theme: String,
}

impl Default for Prefs {
    fn default() -> Self {
        Self { theme: "dark".into() }
    }
}

#[derive(TableEntity)]
struct User {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(default)]
    prefs: Prefs,
}

#[derive(Projection)]
#[projection(of = User)]
struct Theme<'r> {
    #[projection(path = prefs.theme)]
    theme: Option<&'r str>,
}

fn main() {}
