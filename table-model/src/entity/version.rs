//! Versions of an entity: rows that an older struct wrote are read as that struct and converted.
//!
//! A row carries its version in the property [`VERSION`]; a row without it has version 1. The property is written first,
//! so that a reader finds it at once.

use std::{cmp::Ordering, fmt::Display, iter};

use table_store::{
    Error, Properties, PropertiesRef, Result, RowRef, ValueRef,
    error::{KeyError, PropertyError, UnknownPropertiesError, VersionError, VersionProblem},
    unstable::RowKeys,
};

use super::{
    Carried, EVENT_AT, EntityInfo, KIND, PENDING, Unknown, WRITE_ID, WriteEntity, attempt, is_own, is_pending,
    loaded_rows,
};
use crate::{
    codec::{EntityReader, damaged, seek},
    entity::{TableEntity, check_keys},
    layout::{
        Layout, LayoutInfo, Lifecycle, PropertyInfo, has_property, is_always_there, is_lossy, is_time, leaves,
        left_over, same_kind, same_primary_key, same_table, stored,
    },
    message::stop,
};

/// Property that holds the version of an entity, unless that is 1.
pub const VERSION: &str = "EntityVersion";

/// An entity that is made from rows of an older version, which are read as `O`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be made from `{O}`",
    label = "rows of an older version are read as `{O}` and converted",
    note = "implement `From<{O}>` for `{Self}`, or `TryFrom<{O}>` with an error that is `Display`"
)]
pub trait FromOlder<O>: Sized {
    #[doc(hidden)]
    fn from_older(older: O) -> Result<Self, String>;
}

#[diagnostic::do_not_recommend]
impl<O, E: TryFrom<O, Error: Display>> FromOlder<O> for E {
    fn from_older(older: O) -> Result<Self, String> {
        E::try_from(older).map_err(|error| error.to_string())
    }
}

/// A row that is read as an entity.
#[derive(Clone, Copy)]
pub struct StoredRow<'a> {
    table: &'a str,
    row: &'a RowRef<'a>,
    /// `true` for a copy of an entity in an index, whose row also has the properties of a pointer.
    is_copy: bool,
}

/// An entity that was read from its row, and the properties that its struct does not know.
pub struct ReadEntity<E> {
    /// The entity.
    pub entity: E,
    /// The properties that its struct does not know.
    pub unknown: Unknown,
    /// `true` if the row's insert is not committed. It is always `false` for a copy.
    pub is_pending: bool,
}

impl<'a> StoredRow<'a> {
    /// Returns the row of an entity in `table`.
    #[inline]
    pub const fn new(table: &'a str, row: &'a RowRef<'a>) -> Self {
        Self { table, row, is_copy: false }
    }

    /// Returns the row of a copy of an entity, with the entity's keys.
    pub fn of_copy(info: &EntityInfo, row: &'a RowRef<'a>) -> Self {
        Self { table: &info.layouts[0].table, row, is_copy: true }
    }

    /// Reads the entity, of any version that the program knows.
    pub fn read<E: TableEntity>(self) -> Result<ReadEntity<E>> {
        let mut read = None;
        self.read_with(&mut |entity, unknown, is_pending| read = Some(ReadEntity { entity, unknown, is_pending }))?;
        read.ok_or_else(|| unreachable!("without an error, the entity is given"))
    }

    /// Calls `give` with the parts of a [`ReadEntity`]. An entity is large, and a call moves it fewer times than a result
    /// that its callers take apart.
    ///
    /// Only this function is compiled for each entity, and once. What most rows do not need is in functions that are not.
    pub fn read_with<E: TableEntity>(self, give: &mut dyn FnMut(E, Unknown, bool)) -> Result<()> {
        if const { E::INFO.layout.version > 1 }
            && let Some(older) = self.older(E::INFO)?
        {
            let ReadEntity { entity, unknown, is_pending } = E::read_older(self, older)?;
            give(entity, unknown, is_pending);
            return Ok(());
        }
        let mut reader = EntityReader::new(self.table, self.row);
        let entity = match E::read(&mut reader) {
            Ok(entity) => entity,
            Err(error) => return Err(self.unreadable(E::INFO, error)),
        };
        if const { is_lossy(&E::INFO.layout.layouts[0]) }
            && let Err(error) = check_keys(&entity, 0, self.table, self.row, false)
        {
            return Err(self.unreadable(E::INFO, error));
        }
        if const { E::INFO.layout.version > 1 } {
            reader.skip(VERSION)?;
        }
        if const { E::INFO.layout.kind().is_some() } {
            reader.skip(KIND)?;
        }
        if const { E::INFO.layout.write_id } {
            reader.skip(WRITE_ID)?;
        }
        if const { E::INFO.layout.events.is_some() } {
            reader.skip(EVENT_AT)?;
        }
        let (unknown, is_pending) =
            if reader.is_read_whole() { (None, false) } else { self.rest(E::INFO, &mut reader)? };
        give(entity, unknown, is_pending);
        Ok(())
    }

    /// Returns the version of a row that an older struct reads.
    ///
    /// # Errors
    /// The row has a newer version.
    fn older(self, info: &EntityInfo) -> Result<Option<u32>> {
        let found = self.version()?;
        match found.cmp(&info.version) {
            Ordering::Less => Ok(Some(found)),
            Ordering::Equal => Ok(None),
            Ordering::Greater => Err(self.misversioned(info, found, VersionProblem::Newer)),
        }
    }

    /// Returns the error of a row that the struct cannot read.
    #[cold]
    fn unreadable(self, info: &EntityInfo, error: Error) -> Error {
        // A newer version may have removed what this one reads.
        self.is_newer(info, self.row.properties).unwrap_or(error)
    }

    /// Reads the properties that were not read. Returns those that the struct does not know, and `true` if the row's
    /// insert is not committed.
    ///
    /// # Errors
    /// The row has a newer version, or properties that the struct denies.
    fn rest(self, info: &EntityInfo, reader: &mut EntityReader<'_>) -> Result<(Unknown, bool)> {
        if self.is_copy {
            match self.is_newer(info, reader.unread()) {
                Some(error) => Err(error),
                None => reader.finish().map(|()| (None, false)),
            }
        } else {
            self.unknown(info, reader)
        }
    }

    /// Returns the properties that the struct does not know, and `true` if the row's insert is not committed.
    ///
    /// # Errors
    /// The row has such properties, and the struct denies them; or the row has a newer version.
    #[cold]
    fn unknown(self, info: &EntityInfo, reader: &EntityReader<'_>) -> Result<(Unknown, bool)> {
        let mut is_pending = false;
        let left_over = left_over(info.fields, self.row.properties);
        let unknown = reader.unknown(&mut |name, value| {
            is_pending |= name == PENDING && attempt(value).is_some();
            is_own(info, name, value) && !left_over.contains(name)
        })?;
        if let Some(newer) = self.is_newer(info, unknown.as_ref()) {
            return Err(newer);
        }
        // Programs without events go on beside those that record them.
        let is_denied = |(name, value): &(&str, ValueRef<'_>)| !is_own(info, name, *value) && *name != EVENT_AT;
        let denied = || unknown.iter().filter(is_denied);
        if info.deny_unknown && denied().next().is_some() {
            let properties = denied().map(|(name, _)| name.to_owned()).collect();
            return Err(Box::new(UnknownPropertiesError::new(self.row.id(self.table), properties)).into());
        }
        Ok((Carried::new(unknown, info, self.row.properties), is_pending))
    }

    /// Returns the error of a newer version if one of these properties holds it, for a struct of version 1. The version
    /// is then a property like others, which rows without unknown properties do not have.
    #[cold]
    fn is_newer(self, info: &EntityInfo, properties: PropertiesRef<'_>) -> Option<Error> {
        if info.version > 1 || has_property(info.fields, VERSION) {
            return None;
        }
        // Another program may use the name for something else.
        let found = properties.get(VERSION).and_then(number).filter(|found| *found > 1)?;
        Some(self.misversioned(info, found, VersionProblem::Newer))
    }

    /// Checks that the row has a version that the program reads.
    fn check_version(self, info: &'static EntityInfo) -> Result<()> {
        if info.version == 1 {
            return self.is_newer(info, self.row.properties).map_or(Ok(()), Err);
        }
        match self.older(info)? {
            Some(found) if !info.all_versions().any(|older| older.version == found) => {
                Err(self.misversioned(info, found, VersionProblem::Older))
            }
            _ => Ok(()),
        }
    }

    /// Returns the version of the row.
    fn version(self) -> Result<u32> {
        let Some(value) = seek(self.table, *self.row, VERSION)? else { return Ok(1) };
        number(value).ok_or_else(|| {
            let (expected, found) = ("Edm.Int32, the version of the entity".to_owned(), value.edm_type().to_owned());
            let row = self.row.id(self.table);
            Box::new(PropertyError::new(row, VERSION.to_owned(), expected, found, true)).into()
        })
    }

    #[cold]
    fn misversioned(self, info: &EntityInfo, found: u32, problem: VersionProblem) -> Error {
        Box::new(VersionError::new(self.row.id(self.table), found, info.version, problem)).into()
    }
}

impl EntityInfo {
    /// Returns the struct and those of the older versions that it reads, the newest first.
    fn all_versions(&'static self) -> impl Iterator<Item = &'static Self> {
        iter::successors(Some(self), |info| info.older)
    }

    /// Checks that rows of every version store the property with this name in the same way. Then the store can read, compare
    /// and set it in rows of any version.
    ///
    /// # Errors
    /// Returns a text that says which version differs.
    pub fn check_versions(&'static self, name: &str) -> Result<(), String> {
        // Parts in which a value continues have no default of their own.
        let property_of = |info: &'static Self| stored(info.fields).find(|property| property.name == name);
        let absences_of = |info: &'static Self| {
            let leaf = leaves(info.fields).into_iter().find(|leaf| leaf.property.name == name);
            leaf.map(|leaf| leaf.absences().into_iter().filter_map(|absence| absence.value).collect::<Vec<_>>())
        };
        let mut olders = self.all_versions().skip(1).peekable();
        let own = olders.peek().and_then(|_| property_of(self));
        let Some(own) = own else { return Ok(()) };
        for older in olders {
            let Some(other) = property_of(older) else {
                return Err(format!("rows of version {} have no property `{name}`", older.version));
            };
            let (was, now, of) = (form(&other), form(&own), (older.version, self.version));
            if was != now {
                return Err(format!(
                    "rows of version {} store `{name}` as {was}, unlike those of version {}, which store it as {now}",
                    of.0, of.1
                ));
            }
            if absences_of(older) != absences_of(self) {
                return Err(format!(
                    "rows of version {} without `{name}` have another default than those of version {}",
                    of.0, of.1
                ));
            }
        }
        Ok(())
    }
}

/// Describes all that decides how a property is stored, except its default.
fn form(property: &PropertyInfo) -> String {
    let edm = property.edm.map_or_else(String::new, |edm| edm.to_string());
    // Two types of the program may have texts of different forms.
    let ty = if property.is_native { String::new() } else { format!(" of a `{}`", property.ty.get()) };
    let optional = if property.is_always { "" } else { "an optional " };
    format!("{optional}{edm}{ty}")
}

/// Checks that a row, of which a query reads some properties, has a version that the program reads.
///
/// # Errors
/// The row has another version.
pub fn check_version<E: TableEntity>(table: &str, row: &RowRef<'_>) -> Result<()> {
    StoredRow::new(table, row).check_version(E::INFO)
}

/// Checks the properties of a row that a query did not read. Returns false if the row's insert is not committed. Reads all
/// of them, so that damage is found here.
///
/// # Errors
/// The row is damaged. Or it has a newer version, and the struct has version 1; for another struct,
/// [`check_version`] has compared the version.
#[inline]
pub fn check_unread<E: TableEntity>(table: &str, row: &RowRef<'_>, unread: PropertiesRef<'_>) -> Result<bool> {
    // A struct of another version has compared the version before.
    let names: &[&str] = if E::INFO.version == 1 { &[PENDING, VERSION] } else { &[PENDING] };
    let has_any = unread.has_any(names).map_err(|damage| damaged(table, *row, damage))?;
    if has_any { check_found::<E>(table, row, unread) } else { Ok(true) }
}

/// Checks properties of which one marks a row that is not committed, or holds the row's version.
#[cold]
fn check_found<E: TableEntity>(table: &str, row: &RowRef<'_>, unread: PropertiesRef<'_>) -> Result<bool> {
    if is_pending(table, RowRef { properties: unread, ..*row })? {
        return Ok(false);
    }
    check_version::<E>(table, row).map(|()| true)
}

/// Returns the version of a row if it is greater than `known`. A row whose version is no number is not newer.
pub fn newer_version(table: &str, row: RowRef<'_>, known: u32) -> Result<Option<u32>> {
    Ok(seek(table, row, VERSION)?.and_then(number).filter(|found| *found > known))
}

fn number(value: ValueRef<'_>) -> Option<u32> {
    match value {
        ValueRef::Int32(number) => u32::try_from(number).ok(),
        ValueRef::Int64(number) => u32::try_from(number).ok(),
        _ => None,
    }
    .filter(|number| *number > 0)
}

/// Returns the value of the property for this version; `None` if rows of the version do not have the property.
pub fn version_value(version: u32) -> Option<ValueRef<'static>> {
    // The derive allows no greater version.
    (version > 1).then(|| ValueRef::Int32(version.try_into().unwrap_or(i32::MAX)))
}

/// Returns the error of a row of an older version, for an entity that reads only its own.
#[cold]
pub(super) fn refuse_older<E: TableEntity>(row: StoredRow<'_>, found: u32) -> Result<ReadEntity<E>> {
    Err(row.misversioned(E::INFO, found, VersionProblem::Older))
}

/// Reads a row of an older version as `O`, and converts the entity.
///
/// # Errors
/// No struct reads this version; the row does not fit its struct; the conversion fails, or changes a key.
pub fn read_older<E: TableEntity + FromOlder<O>, O: TableEntity>(
    row: StoredRow<'_>,
    found: u32,
) -> Result<ReadEntity<E>> {
    // The derive checks a struct that is not generic.
    const { check_older(E::INFO, &[E::INFO.struct_name, O::INFO.struct_name]) };
    if found > O::INFO.version {
        return refuse_older(row, found);
    }
    let ReadEntity { entity: older, unknown, is_pending } = row.read::<O>()?;
    let was = shared_rows(&older, E::INFO.layouts)?;
    let entity = match E::from_older(older) {
        Ok(entity) => entity,
        Err(reason) => return Err(row.misversioned(E::INFO, found, VersionProblem::Failed(reason))),
    };
    row.check_converted(&entity, found, O::INFO.layouts, &was)?;
    let unknown = unknown.and_then(|unknown| unknown.beside(&entity));
    Ok(ReadEntity { entity, unknown, is_pending })
}

impl StoredRow<'_> {
    /// Checks that a conversion has left the rows of the entity as they were written by the older struct.
    fn check_converted(
        self,
        entity: &dyn WriteEntity,
        found: u32,
        older: &[LayoutInfo],
        was: &[SharedRows],
    ) -> Result<()> {
        let now = shared_rows(entity, older)?;
        for (layout, rows) in &now {
            if was.iter().any(|(other, was)| other == layout && was != rows) {
                return Err(self.misversioned(entity.info(), found, VersionProblem::KeyChanged(layout)));
            }
        }
        Ok(())
    }
}

/// Name of a layout with the keys of an entity's rows in it and the properties that the rows include.
type SharedRows = (&'static str, Vec<(RowKeys, Properties)>);

/// Returns the rows of an entity in the layouts that another struct has too.
fn shared_rows(entity: &dyn WriteEntity, others: &[LayoutInfo]) -> Result<Vec<SharedRows>, Box<KeyError>> {
    let rows = loaded_rows(entity)?;
    let layouts = entity.info().layouts.iter().enumerate();
    let shared = layouts.filter(|(_, layout)| others.iter().any(|other| other.name == layout.name));
    let shared = shared.map(|(at, layout)| {
        let of_layout = rows.iter().filter(|row| row.layout == at);
        (&*layout.name, of_layout.map(|row| (row.keys.clone(), row.included.clone().unwrap_or_default())).collect())
    });
    Ok(shared.collect())
}

/// Stops the build if rows of the struct of `from` cannot be read as older versions of the entity. `names` are the names
/// of the entity and of that struct.
#[track_caller]
pub const fn check_older(entity: &'static EntityInfo, names: &[&str; 2]) {
    let Some(older) = entity.older else { return };
    let (entity, older) = (&entity.layout, &older.layout);
    if older.version >= entity.version {
        stop(
            "`{1}` does not have a lower version than `{0}`; a struct without `version` has version 1, and each later \
             struct a greater number",
            names,
        );
    }
    if !same_kind(entity.kind(), older.kind()) {
        stop(
            "`{1}` has another kind than `{0}`; a kind defaults to the struct's name, so write the same \
             `#[table(kind = \"…\")]` on both, or on neither",
            names,
        );
    }
    if !same_table(&entity.layouts[0], &older.layouts[0]) {
        stop(
            "`{1}` is in another table than `{0}`; a table defaults to the struct's name, so write the same \
             `#[table(name = \"…\")]` on both, and the same `slice`",
            names,
        );
    }
    if !same_primary_key(entity, older) {
        stop(
            "the primary keys of `{1}` and `{0}` differ; give both the same parts in the same order, with the same types, \
             encodings, constants, `prefix` and `separator` (an index in the entity's own table gives its row keys a \
             prefix: keep it on both, or write the prefix with `#[row_key(prefix = \"…\")]`)",
            names,
        );
    }
    if !stores_times(entity, older) {
        stop(
            "`{0}` expires or is put into the bin by a time that `{1}` does not store; add the field to `{1}` too, as an \
             `Option`, under the same property name: a time that a conversion computes cannot hide a row",
            names,
        );
    }
    if has_property(older.fields, VERSION) {
        stop(
            "`{1}` has a property `EntityVersion`, which holds the versions of rows; rows of `{1}` can have no later \
             version, unless they are moved into another table without that property",
            names,
        );
    }
}

/// Checks whether older rows have the times that hide the entity. Readers decide by the stored property, so a time that a
/// conversion computes would not count.
const fn stores_times(entity: &Layout, older: &Layout) -> bool {
    let Lifecycle { expires, soft_delete } = entity.lifecycle;
    (match expires {
        Some(name) => is_time(older, name) && (is_always_there(older, name) || !is_always_there(entity, name)),
        None => true,
    }) && (match soft_delete {
        Some(name) => is_time(older, name),
        None => true,
    })
}
