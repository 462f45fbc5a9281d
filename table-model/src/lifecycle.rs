//! Entities that readers do not see, although their rows are stored: those that have expired, and those in the bin.

use std::time::Duration;

use table_store::{Condition, Operator, Result, RowRef, Ticks, Value, ValueRef, error::PropertyProblem};

use crate::{
    codec::{misfit, seek},
    entity::TableEntity,
    layout::{self, Lifecycle},
    property,
};

/// How readers see an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Readers find it.
    Visible,
    /// It was put into the bin.
    InBin,
    /// Its time has passed. Readers see no entity.
    Expired,
}

impl Standing {
    /// Returns how readers see the entity in a row of `table` at a moment.
    pub fn of(lifecycle: Lifecycle<'_>, table: &str, row: RowRef<'_>, now: Ticks) -> Result<Self> {
        let time = |name: Option<&str>| name.map_or(Ok(None), |name| time(table, row, name));
        Ok(if time(lifecycle.expires)?.is_some_and(|expires| expires <= now) {
            Self::Expired
        } else if time(lifecycle.soft_delete)?.is_some() {
            Self::InBin
        } else {
            Self::Visible
        })
    }
}

/// The entities that a sweep removes: those that have expired, and those that were put into the bin so long ago.
#[derive(Clone, Copy, Debug)]
pub struct Sweepings<'a> {
    /// The times that hide the entity.
    pub lifecycle: Lifecycle<'a>,
    /// The least time in the bin; `None` if the bin stays as it is.
    pub in_bin: Option<Duration>,
    /// The moment of the sweep.
    pub now: Ticks,
}

impl Sweepings<'_> {
    /// Checks whether the sweep removes the entity in a row of `table`.
    pub fn include(self, table: &str, row: RowRef<'_>) -> Result<bool> {
        Ok(match (Standing::of(self.lifecycle, table, row, self.now)?, self.lifecycle.soft_delete.zip(self.in_bin)) {
            (Standing::Expired, _) => true,
            (Standing::InBin, Some((deleted, age))) => {
                time(table, row, deleted)?.is_some_and(|deleted| deleted <= before(self.now, age))
            }
            _ => false,
        })
    }

    /// Returns the condition on rows of the entity that the sweep removes; `None` if there are no such rows.
    pub fn condition(self) -> Option<Condition> {
        let until = |property: &str, time| Condition::Compare {
            property: property.to_owned().into(),
            operator: Operator::Le,
            value: Value::DateTime(time),
        };
        let expired = self.lifecycle.expires.map(|expires| until(expires, self.now));
        let deleted = self.lifecycle.soft_delete.zip(self.in_bin);
        let deleted = deleted.map(|(deleted, age)| until(deleted, before(self.now, age)));
        expired.into_iter().chain(deleted).reduce(|left, right| Condition::Or(left.into(), right.into()))
    }
}

/// Returns the moment that was this long ago; the first one that a property can hold, if that was later.
fn before(now: Ticks, age: Duration) -> Ticks {
    let ticks = u64::try_from(age.as_nanos() / 100).unwrap_or(u64::MAX);
    let then = now.get().saturating_sub(ticks).max(Ticks::FIRST_PROPERTY.get());
    Ticks::new(then).unwrap_or(now)
}

/// Reads the property of a time that hides an entity; `None` if the row has none.
fn time(table: &str, row: RowRef<'_>, name: &str) -> Result<Option<Ticks>> {
    match seek(table, row, name)? {
        None => Ok(None),
        Some(ValueRef::DateTime(time)) => Ok(Some(time)),
        found => {
            let problem = PropertyProblem { expected: "Edm.DateTime".into(), found: property::problem::found(found) };
            Err(misfit(row.id(table), name, problem))
        }
    }
}

/// Checks whether a property of the entity is one time.
pub const fn is_time<E: TableEntity>(name: &str) -> bool {
    layout::is_time(&E::INFO.layout, name)
}

/// Checks whether a property of the entity is one time, which a row may be without.
pub const fn is_optional_time<E: TableEntity>(name: &str) -> bool {
    layout::is_optional_time(&E::INFO.layout, name)
}

/// Checks the times of an entity. The derive checks those of a struct without type parameters in their place.
///
/// # Panics
/// It stops the build if a field is no time.
pub const fn check_times<E: TableEntity>() {
    let Lifecycle { expires, soft_delete } = E::INFO.layout.lifecycle;
    if let Some(name) = expires {
        assert!(is_time::<E>(name), "`expires` needs a field that is a time, or an `Option` of one");
    }
    if let Some(name) = soft_delete {
        assert!(is_optional_time::<E>(name), "`soft_delete` needs a field that is an `Option` of a time");
    }
}

/// The result of setting a time: the time before.
pub type SetTime = Result<Option<Value>, property::PropertyProblem>;

/// An entity that can be put into the bin: `#[table(soft_delete = field)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bin",
    label = "no `soft_delete`",
    note = "add a field `deleted: Option<SystemTime>` to the struct, and `#[table(soft_delete = deleted)]`",
    note = "`delete` and `remove` delete an entity for good"
)]
pub trait SoftDelete: TableEntity {
    /// Sets the time at which the entity was put into the bin, and returns the time before.
    #[doc(hidden)]
    fn set_deleted(&mut self, at: Option<ValueRef<'_>>) -> SetTime;
}

/// An entity, or a group of entities, of which some may be in the bin.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bin",
    label = "no `soft_delete`",
    note = "add a field `deleted: Option<SystemTime>` to the struct, and `#[table(soft_delete = deleted)]`"
)]
pub trait HasBin {}

#[diagnostic::do_not_recommend]
impl<E: SoftDelete> HasBin for E {}

/// An entity of which `Tables::sweep` can remove something.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has nothing to sweep",
    label = "neither `expires` nor `soft_delete`",
    note = "`#[table(expires = field)]` names a field with the time from which on an entity is absent"
)]
pub trait Sweepable: TableEntity {}
