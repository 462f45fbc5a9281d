//! A shared access signature for one table, with every subcommand, on Azurite.

use std::{fs, process::Output, time::Duration};

use table_runtime::{TableEntity, Tables, backend::SasPermissions};
use tests::azurite;

use super::{Command, Folder, printed};

#[derive(TableEntity, Clone)]
#[table(name = "Devices", allow_scan)]
struct Device {
    #[partition_key]
    site: String,
    #[row_key]
    id: u32,
    #[index(name, same_partition)]
    name: String,
}

#[tokio::test]
async fn a_signature_for_one_table_is_enough_for_every_subcommand() {
    let Some(account) = azurite::shared().unwrap() else { return };
    let prefix = format!("signed{}", std::process::id());
    let tables = Tables::connect(&account).unwrap().with_prefix(&prefix);
    tables.create::<Device>().await.unwrap();
    let device = |id| Device { site: "boiler".into(), id, name: format!("valve {id}") };
    tables.insert_all((1..=3).map(device)).await.unwrap();
    let endpoint = account.split(';').find(|setting| setting.starts_with("TableEndpoint=")).unwrap();
    let sas = Device::scan().sas(&tables, SasPermissions::ALL, Duration::from_mins(10)).unwrap();
    let store = format!("{endpoint};SharedAccessSignature={}", sas.token());

    let run = |arguments: &[String]| -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tables"));
        command.args(arguments).env("THE_SIGNATURE", &store).env_remove("AZURE_TABLES_CONNECTION_STRING");
        command.output().unwrap()
    };
    let printed_with = |arguments: &[String]| {
        let output = run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    let folder = Folder::new();
    let (file, lines) = (folder.path("a.tables"), folder.path("a.ndjson"));
    let whole = format!("{prefix}Devices");
    // With the prefix, and with the whole name.
    for (table, prefix) in [("Devices", &["--prefix", &prefix][..]), (&whole, &[])] {
        let with = |arguments: &[&str]| -> Vec<String> {
            let all = [&["--store", "env:THE_SIGNATURE"], prefix, arguments].concat();
            all.into_iter().map(str::to_owned).collect()
        };
        let not_valid = format!("{store}x");
        let wrong = [&["--store", &not_valid], prefix, &["list"]].concat();
        let listed = run(&wrong.into_iter().map(str::to_owned).collect::<Vec<_>>());
        assert!(!listed.status.success() && listed.stdout.is_empty(), "the signature is not valid");
        assert!(printed_with(&with(&["list", "--rows"])).contains(table), "{table}");
        assert_eq!(printed_with(&with(&["show", table, "--limit", "2"])).lines().count(), 3);
        let row = printed_with(&with(&["get", table, "boiler", "id-0000000002"]));
        assert!(row.contains("valve 2"), "{row}");
        assert_eq!(printed_with(&with(&["count", table])), "6\n");
        let exported = printed_with(&with(&["export", table]));
        assert_eq!(exported.lines().count(), 8, "{exported}");
        assert_eq!(printed_with(&with(&["export"])).lines().count(), 8);
        assert!(printed_with(&with(&["derive", table])).starts_with("// The credential may not read the catalog"));
        fs::write(&lines, exported).unwrap();
        printed_with(&with(&["import", &lines]));
        printed_with(&with(&["copy", "env:THE_SIGNATURE", &file, "--table", table]));
        printed_with(&with(&["copy", &file, "env:THE_SIGNATURE", "--table", table]));
        assert_eq!(printed_with(&with(&["count", table])), "6\n");
        fs::remove_file(&file).unwrap();

        // A table that does not exist, and the catalog.
        for arguments in [&["count", "Nothing"][..], &["verify"], &["sweep", "Device"], &["count", table, "--entities"]]
        {
            let output = run(&with(arguments));
            let errors = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success() && errors.lines().count() == 1, "{arguments:?}: {errors}");
            assert!(!errors.contains("sig="), "{errors}");
        }
    }
    assert!(tables.verify::<Device>().all().await.unwrap().is_empty());
    // With the account, the same entities without their index rows.
    let of_account = |arguments: &[&str]| printed(&[&["--store", &account, "--prefix", &prefix], arguments].concat());
    assert_eq!(of_account(&["count", "Device"]), "3\n");
    assert_eq!(of_account(&["count", "Devices", "--entities"]), "3\n");
}
