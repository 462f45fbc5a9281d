//! Accounts whose names are unique for each user, regardless of case.
//!
//! The index row is in the partition of the account, so both are written in one transaction. No reader sees one without
//! the other, and of two writers that want the same name exactly one gets it.
//!
//! | `PartitionKey` | `RowKey` | other properties |
//! |---|---|---|
//! | `marcus` | `id-0000000001` | `Name` `Savings`, `Cents` 1200 |
//! | `marcus` | `name-savings` | `IndexedEntityId` 1 |

use anyhow::{Context as _, Result, bail};
use table_runtime::{Error, Stored, TableEntity, Tables};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Accounts")]
struct Account {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, lowercase, same_partition, unique)]
    name: String,
    cents: i64,
}

fn account(user: &str, id: u32, name: &str, cents: i64) -> Account {
    Account { user: user.to_owned(), id, name: name.to_owned(), cents }
}

#[tokio::main]
async fn main() -> Result<()> {
    let tables = Tables::in_memory()?;
    tables.create::<Account>().await?;
    for account in [
        account("marcus", 1, "Savings", 1_200),
        account("marcus", 2, "Saved for a bicycle", 800),
        account("marcus", 3, "Groceries", 90),
        account("judit", 1, "Savings", 5_000), // another user, so another partition
    ] {
        tables.insert(&account).await?;
    }

    // A unique index with a full value is a point: it reads the index row, then the account.
    let by_name = Account::by_name("marcus").eq("SAVINGS");
    println!("{}", by_name.explain());
    let savings = by_name.get(&tables).await?.context("savings")?;
    assert_eq!(*savings, account("marcus", 1, "Savings", 1_200));

    // If the name is taken, the error holds the owner, and nothing is written.
    match tables.insert(&account("marcus", 4, "savings", 0)).await {
        Err(Error::UniqueViolation(violation)) => {
            println!("refused: {violation}");
            assert_eq!((violation.index, &*violation.value), ("name", "savings"));
            assert_eq!(violation.owner.row_key, "id-0000000001");
        }
        other => bail!("expected a violation, got {other:?}"),
    }
    assert!(!Account::key("marcus", 4).exists(&tables).await?);

    // A rename moves the index row in the account's own transaction. Changing only the case is no violation.
    let mut renamed = savings;
    renamed.name = "SAVINGS".into();
    tables.update(&mut renamed).await?;
    renamed.name = "Reserve".into();
    tables.update(&mut renamed).await?;
    assert!(!Account::by_name("marcus").eq("savings").exists(&tables).await?);

    // The old name is free.
    tables.insert(&account("marcus", 4, "Savings", 0)).await?;

    // Two accounts can swap their names in one transaction. Two single updates could not, in either order.
    let mut other = Account::key("marcus", 4).get(&tables).await?.context("the new savings")?;
    std::mem::swap(&mut renamed.name, &mut other.name);
    tables.transaction().update(&mut renamed).update(&mut other).commit().await?;
    let savings = Account::by_name("marcus").eq("savings").get(&tables).await?.context("savings")?;
    assert_eq!((savings.id, savings.cents), (1, 1_200));

    // Without a name, or with the beginning of one, the accounts come in the order of their names.
    let saved = Account::by_name("marcus").starts_with("sav");
    println!("{}", saved.explain());
    assert_eq!(names(&saved.all(&tables).await?), ["Saved for a bicycle", "Savings"]);
    let all = Account::by_name("marcus").all(&tables).await?;
    println!("{}", names(&all).join(", "));
    assert_eq!(names(&all), ["Groceries", "Reserve", "Saved for a bicycle", "Savings"]);

    // A query of the partition returns the accounts alone, without the index rows in it.
    assert_eq!(Account::by_key("marcus").count(&tables).await?, 4);
    Ok(())
}

fn names(accounts: &[Stored<Account>]) -> Vec<&str> {
    accounts.iter().map(|account| &*account.name).collect()
}
