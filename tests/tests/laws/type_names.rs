//! A name means one type: for users, and for who reads a folder of the sources.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};

use super::floors::{files, is_test};

/// The crates with types of users. `table-derive` exports its derives alone.
pub(crate) const CRATES: [&str; 7] =
    ["table-azure", "table-cli", "table-embedded", "table-model", "table-runtime", "table-store", "table-testing"];

/// Public names that two types have. The cost of a point query is `cost::Point`, a name of its own module, as is `axum::IfMatch`,
/// the header of a request to a web service. Two crates have a seal, because a crate can seal types of others, such as ranges,
/// only by a trait of its own.
const SHARED: [&str; 3] = ["IfMatch", "Point", "Sealed"];

/// Appends the types of a file, also those in its modules, and whether each is public.
fn types(source: TokenStream, found: &mut Vec<(String, bool)>) {
    let tokens: Vec<_> = source.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        // Each hint is a public trait.
        if let [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Group(hints)] =
            &tokens[at..tokens.len().min(at + 3)]
            && name == "hints"
        {
            let hints = hints.stream().into_iter().filter(|token| matches!(token, TokenTree::Ident(_)));
            found.extend(hints.map(|hint| (hint.to_string(), true)));
        }
        let (TokenTree::Ident(keyword), Some(TokenTree::Ident(name))) = (token, tokens.get(at + 1)) else { continue };
        match keyword.to_string().as_str() {
            "struct" | "enum" | "trait" | "union" | "type" => {
                let is_public = at > 0 && matches!(&tokens[at - 1], TokenTree::Ident(before) if before == "pub");
                found.push((name.to_string(), is_public));
            }
            "mod" if !is_test(&tokens[..at]) => {
                if let Some(TokenTree::Group(module)) = tokens.get(at + 2) {
                    types(module.stream(), found);
                }
            }
            _ => {}
        }
    }
}

/// The files of the types of one name.
type Places = BTreeMap<String, Vec<PathBuf>>;

fn shared(places: Places) -> Vec<(String, Vec<PathBuf>)> {
    places.into_iter().filter(|(_, files)| files.len() > 1).collect()
}

#[test]
fn no_two_public_types_and_no_two_of_a_folder_share_a_name() -> io::Result<()> {
    let (mut public, mut folders) = (Places::new(), BTreeMap::<PathBuf, Places>::new());
    for name in CRATES {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        for path in files(&sources)? {
            let mut found = Vec::new();
            types(fs::read_to_string(&path)?.parse().expect("Rust"), &mut found);
            // The module of a folder beside it is a neighbour of the files in the folder too.
            let own = path.with_extension("");
            let rooms = [path.parent().map(Path::to_path_buf), own.is_dir().then_some(own)];
            for (name, is_public) in found {
                for room in rooms.iter().flatten() {
                    folders.entry(room.clone()).or_default().entry(name.clone()).or_default().push(path.clone());
                }
                if is_public {
                    public.entry(name).or_default().push(path.clone());
                }
            }
        }
    }
    assert!(public.len() > 200, "{}", public.len());
    public.retain(|name, _| !SHARED.contains(&name.as_str()));
    assert_eq!(shared(public), []);
    let neighbours: Vec<_> = folders.into_values().flat_map(shared).collect();
    assert_eq!(neighbours, []);
    Ok(())
}
