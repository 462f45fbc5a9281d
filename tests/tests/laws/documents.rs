//! The documents: their sizes, and that every link, anchor and path in them exists.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the paths of all documents, apart from the guide, whose links rustdoc checks.
fn documents() -> io::Result<Vec<PathBuf>> {
    let mut found: Vec<_> = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name)).into();
    for entry in fs::read_dir(root().join("docs"))? {
        found.push(entry?.path());
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    Ok(found)
}

/// Returns the text without its blocks of code.
fn without_blocks(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// Returns what is between pairs of these texts.
fn between<'t>(text: &'t str, begin: &str, end: &str) -> Vec<&'t str> {
    let pieces = text.split(begin).skip(1);
    pieces.filter_map(|piece| piece.split_once(end).map(|(inside, _)| inside)).collect()
}

/// Returns the anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
    kept.map(|char| if char == ' ' { '-' } else { char }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() -> io::Result<()> {
    let (mut broken, mut links) = (Vec::new(), 0);
    for path in documents()? {
        let text = without_blocks(&fs::read_to_string(&path)?);
        let joined = text.replace('\n', " ");
        for link in between(&joined, "](", ")").into_iter().filter(|link| !link.starts_with("http")) {
            links += 1;
            let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name("").join(file) };
            let has_heading = |heading: &str| {
                fs::read_to_string(&target).is_ok_and(|text| anchors(&without_blocks(&text)).contains(heading))
            };
            if !target.exists() || heading.is_some_and(|heading| !has_heading(heading)) {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(links > 60, "{links}");
    assert_eq!(broken, [""; 0]);
    Ok(())
}

/// Returns the paths that a path with `{a,b}` stands for.
fn expanded(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let Some((choices, after)) = rest.split_once('}') else { return Vec::new() };
    choices.split(',').flat_map(|choice| expanded(&format!("{before}{}{after}", choice.trim()))).collect()
}

/// Folders to which the paths in documents are relative, besides that of the repository.
const BASES: [&str; 6] =
    ["", "table-azure/src", "table-derive/src", "table-model/src", "table-runtime/src", "tests/explorer/tests"];

#[test]
fn every_path_exists() -> io::Result<()> {
    let (mut missing, mut paths) = (Vec::new(), 0);
    for document in documents()? {
        let text = without_blocks(&fs::read_to_string(&document)?);
        let is_path = |text: &&str| {
            let is_file = [".rs", ".md", ".toml", ".txt", ".stderr"].iter().any(|end| text.ends_with(end));
            is_file && !text.contains([' ', '<', '*', ':', 'N']) && text.contains('/')
        };
        let spans = text.split('`').skip(1).step_by(2).filter(is_path);
        for path in spans.flat_map(expanded) {
            paths += 1;
            if !BASES.iter().any(|base| root().join(base).join(&path).exists()) {
                missing.push(format!("{}: {path}", document.display()));
            }
        }
    }
    assert!(paths > 30, "{paths}");
    assert_eq!(missing, [""; 0]);
    Ok(())
}

/// Who opens a document reads it to its end only if it is short. Each limit is in bytes; of the page of the guide in words.
#[test]
fn documents_are_short() -> io::Result<()> {
    for (name, most) in [("README.md", 8 << 10), ("CONTRIBUTING.md", 5 << 10), ("docs/architecture.md", 12 << 10)] {
        let length = fs::metadata(root().join(name))?.len();
        assert!(length <= most, "{name} has {length} bytes");
    }
    let messages = fs::read_to_string(root().join("table-runtime/src/guide/compiler_messages.md"))?;
    let words = messages.split_whitespace().count();
    assert!(words <= 2_500, "the page of compiler messages has {words} words");
    Ok(())
}
