//! Functions of a remote service besides its rows, for operators.

use std::{
    fmt,
    ops::BitOr,
    time::{Duration, SystemTime},
};

use super::BoxFuture;
use crate::{Result, Ticks};

/// Functions of a remote service besides its rows. A [`Description`](super::Description) names them, so that a backend
/// placed before another one has those of the other one.
pub trait RemoteService: Send + Sync {
    /// Returns by how many milliseconds the clock of the service is ahead of that of this host, as far as the `Date` of
    /// answers shows, which has whole seconds: the value nearest to the previous one, and at first to 0, with which the
    /// answers agree. Negative if the service's clock is behind; `None` before the first answer.
    fn clock_difference(&self) -> Option<i64>;

    /// Asks the secondary region how far it has copied the primary one, with one request; `None` if the service has no
    /// secondary region whose address is known.
    fn replication(&self) -> BoxFuture<'_, Result<Option<Replication>>>;

    /// Signs a grant. Sends nothing.
    ///
    /// # Errors
    /// Returns [`Error::Configuration`](crate::Error::Configuration) if the credential cannot sign grants.
    fn sign(&self, grant: &Grant<'_>) -> Result<Sas>;
}

/// How far the secondary region of an account has copied the primary one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replication {
    /// State of the secondary region: `live`, `bootstrap` while it is being filled, or `unavailable`.
    pub status: String,
    /// Time up to which every write to the primary region can be read in the secondary one; `None` if the service does
    /// not know it.
    pub last_sync: Option<SystemTime>,
    /// Time between [`last_sync`](Self::last_sync) and the moment of the answer, by the service's clock.
    pub lag: Option<Duration>,
}

impl Replication {
    /// Returns the state of a secondary region, for the answer of a backend.
    pub fn new(status: impl Into<String>, last_sync: Option<SystemTime>, lag: Option<Duration>) -> Self {
        Self { status: status.into(), last_sync, lag }
    }
}

/// The rows and the operations that a shared access signature allows.
#[derive(Clone, Copy, Debug)]
pub struct Grant<'a> {
    /// The whole name of the table.
    pub table: &'a str,
    /// The partition; `None` for the whole table.
    pub partition_key: Option<&'a str>,
    /// The operations.
    pub permissions: SasPermissions,
    /// Time at which the grant ends.
    pub expires: Ticks,
}

/// Operations that a [`Sas`] allows. Several are joined with `|`.
///
/// ```
/// use table_runtime::backend::SasPermissions;
///
/// let permissions = SasPermissions::READ | SasPermissions::ADD;
/// assert_eq!(permissions.to_string(), "ra");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SasPermissions(u8);

impl SasPermissions {
    /// Reads rows.
    pub const READ: Self = Self(1);
    /// Inserts rows. An upsert needs [`UPDATE`](Self::UPDATE) too.
    pub const ADD: Self = Self(2);
    /// Changes rows.
    pub const UPDATE: Self = Self(4);
    /// Deletes rows.
    pub const DELETE: Self = Self(8);
    /// All of these.
    pub const ALL: Self = Self(15);
}

impl BitOr for SasPermissions {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Writes the permissions as a signature has them, in the order that the service demands: `raud`.
impl fmt::Display for SasPermissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [(Self::READ, "r"), (Self::ADD, "a"), (Self::UPDATE, "u"), (Self::DELETE, "d")];
        all.iter().filter(|(one, _)| self.0 & one.0 != 0).try_for_each(|(_, letter)| f.write_str(letter))
    }
}

/// A shared access signature: a text that allows whoever has it to use some rows for some time. It is a secret, so `Debug`
/// does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Sas {
    token: String,
    expires: Ticks,
}

impl Sas {
    /// Returns a signature with this text, `sv=…&sig=…`.
    pub fn new(token: impl Into<String>, expires: Ticks) -> Self {
        Self { token: token.into(), expires }
    }

    /// Returns the text, which is the query of an address: `sv=…&sig=…`. It is a secret.
    ///
    /// [`AzureBuilder::sas`](https://docs.rs/table-runtime/latest/table_runtime/backend/struct.AzureBuilder.html#method.sas)
    /// and the clients of other languages take it.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the time at which the signature ends.
    pub fn expires(&self) -> Ticks {
        self.expires
    }
}

/// Formats the time at which it ends, and not the secret.
impl fmt::Debug for Sas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sas").field("expires", &self.expires).finish_non_exhaustive()
    }
}
