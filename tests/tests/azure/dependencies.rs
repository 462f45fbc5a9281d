//! The packages that the features of the Azure backend bring.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

/// Packages that are not maintained any more, or have advisories, and that only the Azure SDK needs.
const OF_THE_SDK: [&str; 8] =
    ["azure_data_tables", "azure_storage", "http-types", "infer", "instant", "paste", "quick-xml", "rand_chacha"];

/// Returns the names and versions of the packages that a program with these features of the crate is built from.
fn packages(features: &str) -> Result<BTreeSet<(String, String)>> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--package", "table-runtime", "--no-default-features", "--features", features])
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}", "--offline"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stdin(Stdio::null())
        .output()?;
    ensure!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let package = |line: &str| {
        let (name, version) = line.split_once(" v")?;
        Some((name.to_owned(), version.split(' ').next()?.to_owned()))
    };
    Ok(String::from_utf8(tree.stdout)?.lines().filter_map(package).collect())
}

/// Returns the names of packages with an ignored advisory: the first word of each reason in `deny.toml`.
fn ignored() -> Result<Vec<String>> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../deny.toml"))?;
    let reasons = text.split("reason = \"").skip(1);
    let names = reasons.filter_map(|reason| reason.split([' ', ',', '"']).next()).map(str::to_owned);
    Ok(names.collect())
}

#[test]
fn the_client_needs_no_package_of_the_sdk() -> Result<()> {
    let (client, sdk) = (packages("azure,metrics")?, packages("azure_data_tables")?);
    let has = |all: &BTreeSet<(String, String)>, name: &str| all.iter().any(|(other, _)| other == name);
    // The lists are read: the client is there, and so is the SDK with its feature.
    for name in ["reqwest", "rustls", "ring", "hmac", "sha2", "azure_core"] {
        ensure!(has(&client, name), "{name} is not in {client:?}");
    }
    for name in ["azure_data_tables", "azure_storage", "http-types", "quick-xml", "paste"] {
        ensure!(has(&sdk, name), "{name} is not in {sdk:?}");
    }
    for name in OF_THE_SDK.into_iter().chain(["aws-lc-rs", "aws-lc-sys", "native-tls", "openssl"]) {
        ensure!(!has(&client, name), "{name} is in {client:?}");
    }
    for (name, version) in &client {
        let is_old = match name.as_str() {
            "azure_core" => version.starts_with("0."),
            "rand" => version.starts_with("0.7.") || version.starts_with("0.8."),
            "reqwest" => !version.starts_with("0.13."),
            _ => false,
        };
        ensure!(!is_old, "{name} {version}");
    }
    let ignored = ignored()?;
    ensure!(ignored.iter().any(|name| has(&sdk, name)), "no advisory of the SDK is in {ignored:?}");
    for name in &ignored {
        let mut found = client.iter().filter(|(other, _)| other == name);
        // `rand` 0.7 has the advisory; the client has a later one.
        let found = found.find(|(name, version)| name != "rand" || version.starts_with("0.7."));
        ensure!(found.is_none(), "{found:?} has an ignored advisory");
    }
    Ok(())
}

#[test]
fn a_program_without_the_client_has_no_http() -> Result<()> {
    let embedded = packages("embedded")?;
    let http =
        embedded.iter().map(|(name, _)| name).find(|name| ["hyper", "reqwest", "rustls"].contains(&name.as_str()));
    ensure!(http.is_none(), "{http:?}");
    embedded.iter().find(|(name, _)| name == "redb").context("the embedded store")?;
    Ok(())
}
