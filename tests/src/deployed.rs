//! Three versions of a program, which a rolling deployment runs side by side.
//!
//! Version 1 has no index. Version 2 has a unique index, and a property more. Version 3 has another property more, and one
//! fewer.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use table_runtime::{Error, Tables};

/// A version of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum Version {
    One,
    Two,
    Three,
}

/// Rows that the store should have: their properties by their ids.
pub type Rows = BTreeMap<u32, BTreeMap<&'static str, String>>;

macro_rules! versions {
    ($($version:ident $module:ident [$(($index:meta))?] [$($prefix:tt)*] { $($field:ident: $ty:ty),* })*) => {$(
        /// A version of the struct.
        pub mod $module {
            use table_runtime::TableEntity;

            /// A member.
            #[derive(TableEntity, Clone, Debug, Default, PartialEq)]
            #[table(name = "Members", entity = "Member")]
            $(#[$index])?
            pub struct Member {
                /// Always `a`.
                #[partition_key]
                pub team: String,
                /// The key.
                #[row_key $($prefix)*]
                pub id: u32,
                /// A unique value, which version 1 does not know to be unique.
                pub email: String,
                $(
                    /// A property of some versions.
                    pub $field: $ty,
                )*
            }
        }
    )*};
}

versions! {
    One one [] [] { note: Option<String> }
    Two two [(index(email, lowercase, unique))] [] { note: Option<String>, nick: Option<String> }
    Three three [(index(email, lowercase, unique))] [] { nick: Option<String>, city: Option<String> }
}

macro_rules! write {
    ($module:ident, $tables:ident, $version:ident, $n:ident, $property:ident) => {{
        use $module::Member;
        let (id, email, value) = $version.written($n);
        let team = || "a".to_owned();
        let own = Member { team: team(), id, email, $property: Some(value.clone()), ..Member::default() };
        $tables.insert(&own).await?;
        let first = Member { team: team(), email: "first@x.org".into(), ..Member::default() };
        $tables.modify_or_insert(&first, |member| member.$property = Some(value.clone())).await.map(drop)?;
        // The row exists now, whoever inserted it.
        $tables.modify(Member::key("a", 0), |member| member.$property = Some(value.clone())).await?;
        if $version == Version::One {
            $tables.modify(Member::key("a", 0), |member| member.email = format!("moved{}@x.org", $n)).await?;
        }
    }};
}

impl Version {
    /// All versions.
    pub const ALL: [Self; 3] = [Self::One, Self::Two, Self::Three];

    fn written(self, n: u32) -> (u32, String, String) {
        let id = 10 * n + self as u32 + 1;
        (id, format!("Member{id}@x.org"), format!("by {self:?} {n}"))
    }

    /// Starts the program. If it lacks an index that is ready, the operator rolls back.
    ///
    /// # Errors
    /// The program is refused for another reason.
    pub async fn start(self, tables: &Tables) -> Result<()> {
        let created = match self {
            Self::One => tables.create::<one::Member>().await,
            Self::Two => tables.create::<two::Member>().await,
            Self::Three => tables.create::<three::Member>().await,
        };
        match (self, created) {
            (Self::One, Err(Error::IndexMissing(_))) => {
                Ok(tables.create::<one::Member>().demote_missing_indexes().await?)
            }
            (_, created) => Ok(created?),
        }
    }

    /// Writes for the `n`th time: inserts a member, and changes a member that every version changes.
    ///
    /// # Errors
    /// The errors of the store.
    #[allow(clippy::needless_update, reason = "version 1 has no other property")]
    pub async fn write(self, tables: &Tables, n: u32) -> table_runtime::Result<()> {
        match self {
            Self::One => write!(one, tables, self, n, note),
            Self::Two => write!(two, tables, self, n, nick),
            Self::Three => write!(three, tables, self, n, city),
        }
        Ok(())
    }

    /// Adds to the rows what [`write`](Self::write) writes.
    pub fn note_write(self, rows: &mut Rows, n: u32) {
        let (id, email, value) = self.written(n);
        let property = match self {
            Self::One => "Note",
            Self::Two => "Nick",
            Self::Three => "City",
        };
        rows.insert(id, [("Email", email), (property, value.clone())].into());
        let first = rows.entry(0).or_insert_with(|| [("Email", "first@x.org".to_owned())].into());
        first.insert(property, value);
        if self == Self::One {
            first.insert("Email", format!("moved{n}@x.org"));
        }
    }

    /// Builds the index.
    ///
    /// # Errors
    /// The errors of the store; values that are not unique.
    pub async fn backfill(self, tables: &Tables) -> Result<()> {
        let filled = match self {
            Self::One => return Ok(()),
            Self::Two => tables.backfill::<two::Member>("email").await?,
            Self::Three => tables.backfill::<three::Member>("email").await?,
        };
        ensure!(filled.ready, "{filled:?}");
        Ok(())
    }

    /// Checks that the program finds each row by its key and, if the index is ready, by the index. Returns whether it is
    /// ready; `None` if the program does not have it.
    ///
    /// # Errors
    /// The program does not find a row, or finds one that is not there.
    pub async fn check(self, tables: &Tables, rows: &Rows) -> Result<Option<bool>> {
        macro_rules! check {
            ($module:ident) => {{
                for (id, row) in rows {
                    let found = $module::Member::key("a", *id).get(tables).await?;
                    let found = found.with_context(|| format!("{self:?} does not find {id}"))?;
                    ensure!(found.email == row["Email"], "{self:?} finds {found:?} instead of {row:?}");
                }
                ensure!($module::Member::by_key("a").count(tables).await? == rows.len(), "{self:?} counts other rows");
            }};
        }
        macro_rules! find {
            ($module:ident) => {{
                for (id, row) in rows {
                    match $module::Member::by_email(&row["Email"]).get(tables).await {
                        Err(Error::IndexBuilding { .. }) => return Ok(Some(false)),
                        found => {
                            let found = found?.map(|member| member.id);
                            ensure!(found == Some(*id), "{self:?} finds {found:?} by {row:?} instead of {id}");
                        }
                    }
                }
                Ok(Some(true))
            }};
        }
        match self {
            Self::One => check!(one),
            Self::Two => check!(two),
            Self::Three => check!(three),
        }
        match self {
            Self::One => Ok(None),
            Self::Two => find!(two),
            Self::Three => find!(three),
        }
    }
}
