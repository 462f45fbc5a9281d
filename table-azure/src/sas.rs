//! Shared access signatures for a table or for one of its partitions.

use reqwest::Url;
use table_store::{
    Error, Result, Ticks,
    backend::{Grant, Sas},
};

use super::own::SharedKey;

/// Version of the service by whose rules the signature is read. It is the one with which Microsoft's clients sign.
const VERSION: &str = "2019-02-02";

/// Signs a grant with an account's key. `protocols` are those over which the signature may be used.
///
/// # Errors
/// Returns an error for the empty partition key: without a text, the signature would be one for all partitions.
pub(super) fn sign(key: &SharedKey, protocols: &str, grant: &Grant<'_>) -> Result<Sas> {
    let Grant { table, partition_key, permissions, expires } = *grant;
    if partition_key == Some("") {
        let reason = "a shared access signature cannot be limited to the empty partition key";
        return Err(Error::Configuration(reason.to_owned()));
    }
    let (expires, end) = whole_seconds(expires);
    let (permissions, partition) = (permissions.to_string(), partition_key.unwrap_or_default());
    let resource = format!("/table/{}/{}", key.account(), table.to_ascii_lowercase());
    // Each value is on a line of its own, also one that is absent: the start, the policy, the addresses, and the row keys.
    // A partition without row keys is a whole partition.
    let signed =
        format!("{permissions}\n\n{end}\n{resource}\n\n\n{protocols}\n{VERSION}\n{partition}\n\n{partition}\n");
    let signature = key.sign(&signed);
    let mut parameters = vec![("sv", VERSION), ("tn", table), ("sp", &permissions), ("se", &end), ("spr", protocols)];
    if let Some(partition) = partition_key {
        parameters.extend([("spk", partition), ("epk", partition)]);
    }
    parameters.push(("sig", &signature));
    let url =
        Url::parse_with_params("https://sas/", parameters).map_err(|error| Error::Configuration(error.to_string()))?;
    Ok(Sas::new(url.query().unwrap_or_default(), expires))
}

/// Returns a time in whole seconds, rounded up, and its text.
fn whole_seconds(time: Ticks) -> (Ticks, String) {
    const SECOND: u64 = 10_000_000;
    let rounded = Ticks::new(time.get().div_ceil(SECOND) * SECOND).unwrap_or(time);
    let text = rounded.to_string();
    (rounded, format!("{}Z", text.get(..19).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use table_store::backend::SasPermissions;

    use super::*;
    use crate::own::Scheme;

    /// 64 bytes, 0 to 63.
    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";

    /// Signatures that the Python package `azure-data-tables` 12.7.0 computes.
    #[test]
    fn signatures_are_those_of_microsofts_client() -> Result<(), Box<dyn std::error::Error>> {
        let (read, add) = (SasPermissions::READ, SasPermissions::ADD);
        let expires: Ticks = "2026-05-28T09:29:59.1Z".parse()?;
        for (permissions, partition_key, protocols, signature) in [
            (read, None, "https", "bNJkwKdFFQyIncLMsyK/7P05hWRS4AA2FCVW0PPjzIM="),
            (SasPermissions::ALL, Some("acme's/ü"), "https", "O0ginQvnNvsML42Z5JFhRjPgxF/ndROoRU+/c3qeJC4="),
            (read | add, Some("p"), "https,http", "+JF4jW7XvyFVlz6Lh0Y3ig5iVuwF6Ky1u0Qb6DY9s00="),
        ] {
            let key = SharedKey::new("acc", KEY, Scheme::SharedKey)?;
            let sas = sign(&key, protocols, &Grant { table: "LogPosts", partition_key, permissions, expires })?;
            assert_eq!(sas.expires().to_string(), "2026-05-28T09:30:00.0000000Z");
            let url = Url::parse(&format!("https://sas/?{}", sas.token()))?;
            let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
            let value = |name: &str| pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
            assert_eq!(value("sig"), Some(signature));
            assert_eq!((value("se"), value("sv")), (Some("2026-05-28T09:30:00Z"), Some("2019-02-02")));
            assert_eq!((value("tn"), value("spr")), (Some("LogPosts"), Some(protocols)));
            assert_eq!((value("spk"), value("epk")), (partition_key, partition_key));
            assert_eq!((value("srk"), value("erk"), value("st")), (None, None, None));
            assert!(!format!("{sas:?}").contains(signature));
        }
        Ok(())
    }

    #[test]
    fn the_empty_partition_is_refused() -> Result<()> {
        let key = SharedKey::new("acc", KEY, Scheme::SharedKey)?;
        let (permissions, expires) = (SasPermissions::READ, Ticks::UNIX_EPOCH);
        let grant = Grant { table: "Posts", partition_key: Some(""), permissions, expires };
        assert!(matches!(sign(&key, "https", &grant), Err(Error::Configuration(_))));
        Ok(())
    }
}
