//! Tables and rows in documents, which tests write.

use std::{env, fs, path::Path};

use anyhow::{Context, Result, ensure};

/// Checks that a document has this text between the comments `<!-- name: begin -->` and `<!-- name: end -->`, or writes it if
/// the environment variable is `overwrite`. The path begins at the root of the project.
///
/// # Errors
/// The document cannot be read, or has another text.
pub fn shows(document: &str, name: &str, variable: &str, shown: &str) -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(document);
    let found = fs::read_to_string(&path).with_context(|| document.to_owned())?;
    let [begin, end] = ["begin", "end"].map(|edge| format!("<!-- {name}: {edge} -->"));
    let (before, rest) = found.split_once(&begin).with_context(|| format!("{document} has no {begin}"))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("{document} has no {end}"))?;
    let right = format!("{before}{begin}\n\n{}\n\n{end}{after}", shown.trim());
    if env::var(variable).is_ok_and(|value| value == "overwrite") {
        fs::write(&path, right)?;
        return Ok(());
    }
    ensure!(found == right, "{document} has another text; {variable}=overwrite writes it again:\n{shown}");
    Ok(())
}
