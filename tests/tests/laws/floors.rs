//! The floors of `table-runtime`: a folder of its sources uses only folders below it, as `docs/architecture.md` lists them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Returns the floors that `docs/architecture.md` lists, from the bottom up.
fn floors() -> Vec<String> {
    let text = include_str!("../../../docs/architecture.md");
    let (_, section) = text.split_once("## The floors of `table-runtime`").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("the next section");
    let names = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("/` |"));
    names.map(|(floor, _)| floor.to_owned()).collect()
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../table-runtime/src")
}

/// Returns the source files in a folder.
pub(crate) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.append(&mut files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
    Ok(found)
}

/// Finds the names that follow `crate::`, and those that follow `super::` if it leads to the crate's root.
struct Uses {
    /// Number of modules around the tokens.
    depth: usize,
    found: Vec<String>,
}

impl Uses {
    /// Returns what a file uses, which is a module of this depth.
    fn of(source: &str, depth: usize) -> Vec<String> {
        let mut uses = Self { depth, found: Vec::new() };
        uses.read(source.parse().expect("Rust"));
        uses.found
    }

    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                // Unit tests may use everything.
                TokenTree::Ident(name) if name == "mod" && is_test(&tokens[..at]) => at += 2,
                TokenTree::Ident(name) if name == "mod" && matches!(tokens.get(at + 2), Some(TokenTree::Group(_))) => {
                    at += 2;
                    if let TokenTree::Group(module) = &tokens[at] {
                        self.depth += 1;
                        self.read(module.stream());
                        self.depth -= 1;
                    }
                }
                TokenTree::Ident(name) if name == "crate" => self.follow(&tokens[at + 1..]),
                TokenTree::Ident(name) if name == "super" => {
                    let supers = tokens[at..].chunks(3).take_while(|names| is_super(names)).count().max(1);
                    // After the last `super`, whose colons follow the name.
                    let end = at + 3 * (supers - 1);
                    if supers >= self.depth {
                        self.follow(&tokens[end + 1..]);
                    }
                    at = end;
                    if let Some(TokenTree::Group(names)) = tokens.get(end + 3) {
                        self.depth -= supers.min(self.depth);
                        self.read(names.stream());
                        self.depth += supers;
                        at = end + 3;
                    }
                }
                TokenTree::Group(group) => self.read(group.stream()),
                _ => {}
            }
            at += 1;
        }
    }

    /// Reads the names after `crate` or `super`: one, or a group of them.
    fn follow(&mut self, after: &[TokenTree]) {
        match after {
            // Also the whole root: `crate as root`, and `crate::*`.
            [TokenTree::Ident(name), ..] | [TokenTree::Punct(_), TokenTree::Punct(_), TokenTree::Ident(name), ..] => {
                self.found.push(name.to_string());
            }
            [TokenTree::Punct(_), TokenTree::Punct(_), TokenTree::Punct(star), ..] => self.found.push(star.to_string()),
            [TokenTree::Punct(_), TokenTree::Punct(_), TokenTree::Group(group), ..]
                if group.delimiter() == Delimiter::Brace =>
            {
                let mut is_first = true;
                for token in group.stream() {
                    match token {
                        TokenTree::Ident(name) if is_first => {
                            self.found.push(name.to_string());
                            is_first = false;
                        }
                        TokenTree::Punct(comma) if comma.as_char() == ',' => is_first = true,
                        TokenTree::Punct(star) if is_first => self.found.push(star.to_string()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns true if these tokens end in `#[cfg(test)]` or `#[cfg(all(test, …))]`.
pub(crate) fn is_test(before: &[TokenTree]) -> bool {
    let [.., TokenTree::Punct(hash), TokenTree::Group(attribute)] = before else { return false };
    let attribute: String = attribute.to_string().split_whitespace().collect();
    hash.as_char() == '#' && (attribute == "[cfg(test)]" || attribute.starts_with("[cfg(all(test,"))
}

/// Returns true for `super` with the colons after it.
fn is_super(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Punct(_)] if name == "super")
}

/// Returns the uses of a file that are not allowed: of a higher floor, or of a name of the crate's root.
fn upward<'a>(floors: &'a [String], floor: &str, uses: &'a [String]) -> impl Iterator<Item = &'a String> {
    let allowed = floors.iter().position(|name| name == floor).map_or(0, |at| at + 1);
    uses.iter().filter(move |used| !floors[..allowed].contains(used))
}

#[test]
fn a_floor_uses_only_floors_below_it() -> io::Result<()> {
    let (floors, sources) = (floors(), sources());
    assert!(floors.len() > 5, "{floors:?}");
    let mut wrong = Vec::new();
    for floor in &floors {
        let folder = sources.join(floor);
        for path in files(&folder)? {
            let place = path.strip_prefix(&sources).expect("a file of the sources");
            // `mod.rs` is the module of its folder.
            let depth = place.components().count() - usize::from(path.ends_with("mod.rs"));
            let uses = Uses::of(&fs::read_to_string(&path)?, depth);
            // The exported macro is a part of the program that calls it.
            let is_exported =
                |used: &str| path.ends_with("assert_layout.rs") && ["__private", "TableEntity"].contains(&used);
            let upward = upward(&floors, floor, &uses).filter(|used| !is_exported(used));
            wrong.extend(upward.map(|used| format!("{} uses crate::{used}", place.display())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn the_documentation_lists_all_folders() -> io::Result<()> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(sources())? {
        let entry = entry?;
        if entry.path().is_dir() {
            folders.push(entry.file_name().into_string().expect("a name"));
        }
    }
    let mut listed = floors();
    // The pages of the guide are documentation alone.
    listed.push("guide".to_owned());
    folders.sort();
    listed.sort();
    assert_eq!(folders, listed);
    Ok(())
}

#[test]
fn an_upward_use_is_found() {
    let floors = ["client", "read", "query"].map(str::to_owned);
    for (source, depth, expected) in [
        ("use crate::{client::tables::Tables, read::{Plan, query}};", 2, vec!["read"]),
        ("fn f() { crate::read::point(); }", 2, vec!["read"]),
        ("use super::super::read::Plan;", 2, vec!["read"]),
        ("mod inner { use super::super::super::read::Plan; }", 2, vec!["read"]),
        ("use super::{super::read, tables};", 2, vec!["read"]),
        ("use super::read::Plan;", 2, vec![]),
        ("use crate::Tables;", 2, vec!["Tables"]),
        ("use crate::*;", 2, vec!["*"]),
        ("use crate::{*, client::pace};", 2, vec!["*"]),
        ("use super::super::*;", 2, vec!["*"]),
        ("use crate as root;", 2, vec!["as"]),
        ("macro_rules! m { () => { $crate::read::f() }; }", 2, vec!["read"]),
        ("#[cfg(test)] mod tests { use crate::read::Plan; }", 2, vec![]),
        ("#[cfg(all(test, unix))] mod tests { use crate::read::Plan; }", 2, vec![]),
        ("#[cfg(feature = \"testing\")] mod kit { use crate::read::Plan; }", 2, vec!["read"]),
        ("#[cfg(not(test))] mod product { use crate::read::Plan; }", 2, vec!["read"]),
        ("/// [`Plan`](crate::read::Plan)\nuse crate::client::pace;", 2, vec![]),
    ] {
        let uses = Uses::of(source, depth);
        assert_eq!(upward(&floors, "client", &uses).collect::<Vec<_>>(), expected, "{source}");
    }
}
