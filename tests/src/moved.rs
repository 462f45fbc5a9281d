//! Accounts that are moved to another key while writers change them, for the `mover` and its tests.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use table_runtime::{Error, Result, Stored, TableEntity, Tables, jobs::Job, migrate::Migrate};
use tokio::task::JoinSet;

use crate::random::Random;

/// Number of accounts in a partition.
const GROUP: u32 = 1000;
/// Length of the leases of all programs.
pub const LEASE: Duration = Duration::from_millis(200);

/// An account in the old place.
#[derive(TableEntity, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[table(name = "Accounts")]
pub struct Account {
    /// Group of a thousand numbers.
    #[partition_key]
    pub group: u32,
    /// Number of the account.
    #[row_key]
    pub number: u32,
    /// Unique name.
    pub name: String,
    /// Number of changes.
    pub changes: u32,
}

/// An account in the new place.
#[derive(TableEntity, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[table(name = "NewestAccounts")]
pub struct NewestAccount {
    /// Group of a thousand numbers.
    #[partition_key]
    pub group: u32,
    /// Number of the account.
    #[row_key(reverse)]
    pub number: u32,
    /// Unique name.
    #[index(name, lowercase, same_partition, unique)]
    pub name: String,
    /// Number of changes.
    #[index(changes, same_partition)]
    pub changes: u32,
}

impl From<Account> for NewestAccount {
    fn from(Account { group, number, name, changes }: Account) -> Self {
        Self { group, number, name, changes }
    }
}

impl Account {
    /// Returns the account of a number.
    pub fn new(number: u32) -> Self {
        Self { group: number / GROUP, number, name: format!("Account {number}"), changes: 0 }
    }
}

/// Writes `count` accounts to the old place.
///
/// # Errors
/// The errors of the store.
pub async fn load(tables: &Tables, count: u32) -> Result<()> {
    tables.create::<Account>().await?;
    tables.insert_all((0..count).map(Account::new)).await.map(drop)
}

/// Returns the migration of the accounts.
pub fn migration(tables: &Tables) -> Job<'static, Migrate> {
    tables.migrate::<Account, NewestAccount>()
}

/// Writers of the old place.
pub struct Writers {
    tasks: JoinSet<Result<usize>>,
    stop: Arc<AtomicBool>,
}

impl Writers {
    /// Starts four writers, each a program with a handle of its own, that insert, change and remove accounts of a store
    /// with `count` accounts until the place is closed.
    pub fn start(program: impl Fn() -> Tables, count: u32, seed: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        for writer in 0..4 {
            tasks.spawn(write(program(), count, seed * 4 + writer, Arc::clone(&stop)));
        }
        Self { tasks, stop }
    }

    /// Stops the writers. Returns the number of their writes.
    ///
    /// # Errors
    /// An error other than those of writers that interfere with each other.
    pub async fn stop(self) -> Result<usize> {
        self.stop.store(true, Ordering::Relaxed);
        self.tasks.join_all().await.into_iter().sum()
    }
}

async fn write(tables: Tables, count: u32, seed: u64, stop: Arc<AtomicBool>) -> Result<usize> {
    tables.create::<Account>().await?;
    let mut random = Random::new(seed);
    let mut written = 0;
    while !stop.load(Ordering::Relaxed) {
        let number = random.below(count as usize + 1000).try_into().unwrap_or(0);
        let done = match random.below(4) {
            0 => tables.insert(&Account::new(number)).await.map(drop),
            1 => tables.remove(Account::key(number / GROUP, number)).await.map(drop),
            _ => tables
                .modify(Account::key(number / GROUP, number), |account| {
                    account.changes += 1;
                    account.name = format!("Changed {number} {}", account.changes);
                })
                .await
                .map(drop),
        };
        match done {
            Ok(()) => written += 1,
            // Azurite may reset a connection under load, and both places must then agree all the same.
            Err(
                Error::AlreadyExists(_) | Error::ConditionNotMet(_) | Error::NotFound(_) | Error::OutcomeUnknown(_),
            ) => {}
            Err(Error::EntityMoved { .. }) => break,
            Err(error) => return Err(error),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(written)
}

/// Checks that the new place has the accounts of the old one, and that its indexes find them. Returns their number.
///
/// # Errors
/// The first difference.
pub async fn check(tables: &Tables, count: u32) -> anyhow::Result<usize> {
    tables.create::<NewestAccount>().await?;
    let mut total = 0;
    for group in 0..=(count + 1000) / GROUP {
        let old = Account::by_key(group).all(tables).await?;
        let mut new = NewestAccount::by_key(group).all(tables).await?;
        new.reverse();
        let expected: Vec<_> = old.into_iter().map(|old| NewestAccount::from(Stored::into_inner(old))).collect();
        let new: Vec<_> = new.into_iter().map(Stored::into_inner).collect();
        anyhow::ensure!(new == expected, "group {group} differs");
        anyhow::ensure!(NewestAccount::by_name(group).count_unchecked(tables).await? == expected.len(), "{group}");
        anyhow::ensure!(NewestAccount::by_changes(group).count_unchecked(tables).await? == expected.len(), "{group}");
        for account in expected.iter().step_by(250) {
            let found = NewestAccount::by_name(group).eq(&account.name).get(tables).await?;
            anyhow::ensure!(found.as_deref() == Some(account), "{found:?} instead of {account:?}");
        }
        total += expected.len();
    }
    Ok(total)
}
