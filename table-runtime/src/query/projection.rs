//! Projections: structs of some of an entity's fields, which a query can read alone.

use std::borrow::Cow;

use table_model::{
    Column, Free, InKey, Indexed, LayoutInfo, PropertyInfo, TableEntity,
    property::{
        Defaulted, Native, Partial, Property, Store,
        shape::{At, Place},
    },
    unstable::{
        codec::{EntityReader, PropertyWriter, check_lossy_parts},
        column, entity,
        key::{KeyReader, RowContext},
        layout::{LayoutExt, Seen, Within, has_property, is_lossy, lossy_layouts, part_name},
        property::misfit,
    },
};
use table_store::{
    Properties, Result, RowRef, ValueRef,
    unstable::{PropertyName, RowKeys},
};

use super::View;
use crate::read::{FoundRow, values, wants_keys};

/// A struct of some of the fields of the entity `E`, with `#[derive(Projection)]`, for [`select`](crate::Rows::select).
///
/// A query returns the struct itself, not a [`Stored`](crate::Stored), because a part of an entity cannot be written
/// back.
///
/// A projection with a lifetime borrows from the rows that a query reads. [`for_each`](crate::Rows::for_each) passes it
/// to its closure, and copies no text:
///
/// | field of the entity | field of the projection |
/// |---|---|
/// | `String`, `Box<str>`, `Arc<str>` | `&'a str` or `Cow<'a, str>`; `Cow<'a, str>` if only the key holds the field |
/// | `Vec<u8>` | `&'a [u8]` |
/// | `Option` of these | `Option` of these |
/// | any type | the same type |
///
/// A key holds some characters of a text as escapes. A `Cow` of such a text is owned, and it is borrowed from any other
/// key. A key part that is folded, such as `lowercase`, is also stored as a property, and is read from there.
pub trait Projection<E>: View<Entity = E> + Selectable<E, Selected = Self> {
    #[doc(hidden)]
    fn read<'r>(row: &mut EntityReader<'r>) -> Result<Self::Row<'r>>;
}

/// What [`select`](crate::Rows::select) takes: a [`Projection`].
///
/// The query is one of [`Selected`](Self::Selected), because the compiler then reports a type that is no projection once: it
/// does not know the query, and says nothing about its further uses.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a projection of `{E}`",
    label = "not a projection of `{E}`",
    note = "write `#[derive(Projection)] #[projection(of = {E})]` on a struct of some of its fields",
    note = "a group has no `select`: query one of its entities"
)]
pub trait Selectable<E> {
    /// The projection itself.
    type Selected: View<Entity = E>;
    /// Properties of the fields, in their order; the name is empty for a field that only the key holds.
    #[doc(hidden)]
    const PROPERTIES: &'static [PropertyInfo];
}

/// Type of an entity's field, which must be the type `P` of the projection's field; of a column with the mode [`Partial`],
/// without which a row may be, `P` is an `Option` of it.
#[diagnostic::on_unimplemented(
    message = "a projection's field has the type of the entity's: `{Self}`, not `{P}`",
    label = "the entity's field is a `{Self}`",
    note = "a projection with a lifetime, such as `struct Headline<'a>`, can borrow a text as `&'a str`"
)]
pub trait SameAs<P, M>: Sized {
    #[doc(hidden)]
    fn project(is_there: impl FnOnce() -> Result<bool>, load: impl FnOnce() -> Result<Self>) -> Result<P>;
}

/// Implements [`SameAs`] for the modes of columns that every row has.
macro_rules! same {
    ($($mode:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T> SameAs<T, $mode> for T {
            #[inline]
            fn project(_: impl FnOnce() -> Result<bool>, load: impl FnOnce() -> Result<Self>) -> Result<T> {
                load()
            }
        }
    )*};
}

same!(Free Indexed InKey);

impl<T, P> SameAs<P, Partial> for T
where
    Partial: Lacks<T, P>,
{
    fn project(is_there: impl FnOnce() -> Result<bool>, load: impl FnOnce() -> Result<Self>) -> Result<P> {
        Partial::read_partial(is_there, load)
    }
}

/// Mode of a column without which a row may be: a projection has a field of the type `T` as a `P`. The mode is the type of
/// the condition, because the compiler would otherwise print the message of [`SameAs`].
#[diagnostic::on_unimplemented(
    message = "a row may be without this field, so a projection has it as an `Option`",
    label = "inside of an `Option` or of a variant of the entity",
    note = "write `Option<{T}>`"
)]
pub trait Lacks<T, P> {
    #[doc(hidden)]
    fn read_partial(is_there: impl FnOnce() -> Result<bool>, load: impl FnOnce() -> Result<T>) -> Result<P>;
}

#[diagnostic::do_not_recommend]
impl<T> Lacks<T, Option<T>> for Partial {
    fn read_partial(is_there: impl FnOnce() -> Result<bool>, load: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        if is_there()? { load().map(Some) } else { Ok(None) }
    }
}

#[diagnostic::do_not_recommend]
impl<T> Lacks<Option<T>, Option<T>> for Partial {
    fn read_partial(
        is_there: impl FnOnce() -> Result<bool>,
        load: impl FnOnce() -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        if is_there()? { load() } else { Ok(None) }
    }
}

/// Reads a field of a projection as the entity's column defines it.
#[inline]
pub fn project<P, E: TableEntity, T: SameAs<P, M>, const I: usize, M, S, Q>(
    column: Column<E, T, I, M, S, Q>,
    row: &mut EntityReader<'_>,
) -> Result<P> {
    let Some(within) = column::within(column) else {
        return T::project(|| Ok(true), || column::load(column, row));
    };
    let seen = row.seen(column.selected(), within);
    T::project(
        || Ok(seen.is_some()),
        || match &seen {
            Some(Seen::OfDefault(default)) => {
                EntityReader::of_properties(default.as_ref(), |row| column::load(column, row))
            }
            _ => column::load(column, row),
        },
    )
}

/// Returns the properties that have to be read for the column to which a path leads. Only the type of the column counts,
/// because a constant cannot follow the path.
pub const fn selected_at<C, A: AnyColumn>(_: fn(C) -> A) -> PropertyInfo {
    A::SELECTED
}

/// A column of a part of a field.
#[diagnostic::on_unimplemented(
    message = "the path does not lead to a field of a struct or of an enum",
    label = "a path such as `address.city`"
)]
pub trait AnyColumn {
    #[doc(hidden)]
    const SELECTED: PropertyInfo;
}

#[diagnostic::do_not_recommend]
impl<E, T, const I: usize, M, S: Store<T>, P> AnyColumn for Column<E, T, I, M, S, P>
where
    At<E, P, I>: Place,
{
    const SELECTED: PropertyInfo = PropertyInfo {
        parts: <At<E, P, I> as Place>::PARTS,
        within: <At<E, P, I> as Place>::WITHIN,
        ..PropertyInfo::named("", <At<E, P, I> as Place>::NAME)
    };
}

/// A field of a projection that borrows from the row: of the type `T` in the entity, with the mode `M` and the strategy
/// `S` of its column.
#[diagnostic::on_unimplemented(
    message = "a projection cannot borrow the entity's field, a `{T}`, as `{Self}`",
    label = "the entity's field is a `{T}`",
    note = "a property that is a text is borrowed as `&'a str` or `Cow<'a, str>`, one that is a `Vec<u8>` as `&'a [u8]`, \
            and an `Option` of these as an `Option`",
    note = "a text that only the key holds is borrowed as `Cow<'a, str>`, because a key may hold escapes",
    note = "any other field has the type that it has in the entity"
)]
pub trait Borrowed<'r, T, M, S>: Sized {
    #[doc(hidden)]
    fn read<E: TableEntity>(name: PropertyName<'static>, field: &str, row: &mut EntityReader<'r>) -> Result<Self>;

    /// Returns the field of a row that lacks what is around it.
    #[doc(hidden)]
    fn nothing() -> Option<Self> {
        None
    }
}

/// A type of fields that can be borrowed as `Of`.
pub trait Lends: Property {
    /// Type behind the reference.
    type Of: ?Sized;
}

/// The mode of a column that is stored as a property, at least in some rows.
pub trait InSomeRows {}
impl<M: InRow> InSomeRows for M {}
impl InSomeRows for Partial {}

/// The mode of a column that is stored as a property.
pub trait InRow {}
impl InRow for Free {}
impl InRow for Indexed {}

/// A strategy that stores texts and bytes unchanged.
pub trait Unchanged {
    /// True if the field has its default value if there is no property.
    const DEFAULTED: bool;
}

impl Unchanged for Native {
    const DEFAULTED: bool = false;
}

impl<S: Unchanged> Unchanged for Defaulted<S> {
    const DEFAULTED: bool = true;
}

macro_rules! lends {
    ($($type:ty: $of:ty;)*) => {$(
        impl Lends for $type {
            type Of = $of;
        }
    )*};
}

lends! {
    String: str;
    Box<str>: str;
    std::sync::Arc<str>: str;
    Vec<u8>: [u8];
}

/// Implements [`Borrowed`] for a type that borrows from a property, and for its `Option`.
macro_rules! borrowed {
    ($($type:ty: $of:ty, $variant:ident, $empty:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<'r, T: Lends<Of = $of>, M: InRow, S: Unchanged> Borrowed<'r, T, M, S> for $type {
            #[inline]
            fn read<E: TableEntity>(name: PropertyName<'static>, _: &str, row: &mut EntityReader<'r>) -> Result<Self> {
                row.property(name, T::TYPE, |value| match value {
                    Some(ValueRef::$variant(value)) => Ok(value.into()),
                    None if S::DEFAULTED => Ok($empty.into()),
                    other => Err(misfit::<T>(other)),
                })
            }
        }

        #[diagnostic::do_not_recommend]
        impl<'r, T: Lends<Of = $of>, S: Unchanged> Borrowed<'r, T, Partial, S> for Option<$type>
        where
            Option<T>: Property,
        {
            #[inline]
            fn read<E: TableEntity>(name: PropertyName<'static>, field: &str, row: &mut EntityReader<'r>) -> Result<Self> {
                <Self as Borrowed<'r, Option<T>, Free, S>>::read::<E>(name, field, row)
            }

            fn nothing() -> Option<Self> {
                Some(None)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<'r, T: Lends<Of = $of>, M: InSomeRows, S: Unchanged> Borrowed<'r, Option<T>, M, S> for Option<$type>
        where
            Option<T>: Property,
        {
            #[inline]
            fn read<E: TableEntity>(name: PropertyName<'static>, _: &str, row: &mut EntityReader<'r>) -> Result<Self> {
                row.property(name, T::TYPE, |value| match value {
                    Some(ValueRef::$variant(value)) => Ok(Some(value.into())),
                    None => Ok(None),
                    other => Err(misfit::<Option<T>>(other)),
                })
            }

            fn nothing() -> Option<Self> {
                Some(None)
            }
        }
    )*};
}

borrowed! {
    &'r str: str, String, "";
    Cow<'r, str>: str, String, "";
    &'r [u8]: [u8], Binary, [].as_slice();
}

#[diagnostic::do_not_recommend]
impl<'r, T: Lends<Of = str>, S> Borrowed<'r, T, InKey, S> for Cow<'r, str> {
    fn read<E: TableEntity>(_: PropertyName<'static>, field: &str, row: &mut EntityReader<'r>) -> Result<Self> {
        row.key_text(&E::INFO.layouts[0], field)
    }
}

/// Stops the build of a program that borrows a field of a struct with a default, of which a row may have nothing.
///
/// # Panics
/// Panics in the program's constants, which stops the build.
pub const fn check_borrowed(within: Option<&Within>) {
    let has_default = match within {
        Some(within) => within.has_default(),
        None => false,
    };
    assert!(
        !has_default,
        "a projection cannot borrow from a struct with `#[property(default)]`, because the row may lack it; write the field's \
         own type, such as `Option<String>`"
    );
}

/// Reads a field of a projection that borrows from the row. The build of a program stops that borrows from a default.
#[inline]
pub fn borrow<'r, P: Borrowed<'r, T, M, S>, E: TableEntity, T, const I: usize, M, S, Q>(
    column: Column<E, T, I, M, S, Q>,
    field: &'static str,
    row: &mut EntityReader<'r>,
) -> Result<P>
where
    At<E, Q, I>: Place,
{
    const { check_borrowed(<At<E, Q, I> as Place>::WITHIN) };
    let PropertyInfo { name, parts, .. } = column.selected();
    if let Some(within) = column::within(column)
        && row.seen(column.selected(), within).is_none()
        && let Some(nothing) = P::nothing()
    {
        return Ok(nothing);
    }
    P::read::<E>(part_name(name, parts), field, row)
}

impl FoundRow<'_> {
    /// Calls `give` with the fields of a projection. Returns false without a call if the row is not committed, or its
    /// entity does not have the value by which it was found, or no longer has it.
    #[doc(hidden)]
    pub fn project<E, P, F>(&self, give: F) -> Result<bool>
    where
        E: TableEntity,
        P: Projection<E>,
        F: FnOnce(P::Row<'_>),
    {
        if const { E::INFO.layout.layouts.len() > 1 } {
            if self.layout > 0 {
                return of_index::<E, P, F>(self, give);
            }
            if self.pointer.is_some() && !self.entity::<E>(drop)? {
                return Ok(false);
            }
        }
        let mut reader = EntityReader::new(self.table, self.row);
        let read = match E::INFO.version {
            1 => <P as Projection<E>>::read(&mut reader),
            _ => {
                entity::check_version::<E>(self.table, self.row).and_then(|()| <P as Projection<E>>::read(&mut reader))
            }
        };
        let projected = match read {
            Ok(projected) => projected,
            // A row of a newer version may lack a property, and a row that no reader sees may have any.
            Err(error) => {
                let is_committed = entity::check_unread::<E>(self.table, self.row, self.row.properties)?;
                return if is_committed { Err(error) } else { Ok(false) };
            }
        };
        let is_committed = entity::check_unread::<E>(self.table, self.row, reader.unread())?;
        if is_committed {
            if const { is_lossy(&E::INFO.layout.layouts[0]) } {
                check_lossy_parts(&E::INFO.layouts[0], E::INFO.layout.fields, (self.table, self.row), false)?;
            }
            give(projected);
        }
        Ok(is_committed)
    }
}

/// Calls `give` with the fields that an index row holds: as properties, in its own keys, or in the keys that it points
/// to. Returns false without a call if the query returns the entity by another row.
fn of_index<E: TableEntity, P: Projection<E>, F: FnOnce(P::Row<'_>)>(found: &FoundRow<'_>, give: F) -> Result<bool> {
    let (layout, row) = (found.layout, *found.row);
    let info = &E::INFO.layouts[layout];
    if info.is_copy() || const { lossy_layouts(E::INFO.layout.layouts) } >> layout & 1 == 1 {
        check_lossy_parts(info, E::INFO.layout.fields, (&info.table, &row), info.is_copy())?;
    }
    if info.is_copy() {
        entity::check_version::<E>(&info.table, &row)?;
    }
    if !found.is_first_of_elements::<E>()? {
        return Ok(false);
    }
    let keys = if wants_keys(P::PROPERTIES) {
        let RowKeys { partition_key, row_key } = E::INFO.owner(layout, row)?;
        (Cow::Owned(partition_key), Cow::Owned(row_key))
    } else {
        (Cow::Borrowed(row.partition_key), Cow::Borrowed(row.row_key))
    };
    let mut values = values(info).filter(|(_, name)| has_property(P::PROPERTIES, name)).peekable();
    let mut with_values = None;
    if values.peek().is_some() {
        let row_keys = row.keys();
        let properties = with_values.insert(row.properties.to_properties());
        for (part, name) in values {
            let key = part_of(info, part, &row)?;
            // Another program may have added the property, which some stores return although it was not asked for. The key
            // decides which row it is.
            if properties.get(name).is_some() {
                *properties = properties.without(name);
            }
            E::index_value(layout, part, key, &mut PropertyWriter::new(&info.table, &row_keys, properties))?;
        }
    }
    let properties = with_values.as_ref().map_or(row.properties, Properties::as_ref);
    let row = RowRef { partition_key: &keys.0, row_key: &keys.1, properties, ..row };
    let mut reader = EntityReader::new(&E::INFO.layouts[0].table, &row).of_index(info);
    let projected = <P as Projection<E>>::read(&mut reader)?;
    reader.finish()?;
    give(projected);
    Ok(true)
}

/// Returns a reader of an index row's key, positioned at a part. `part` counts the parts of both keys.
fn part_of<'a>(layout: &'static LayoutInfo, part: usize, row: &'a RowRef<'a>) -> Result<KeyReader<'a>> {
    let (prefix, parts, key, before) = match part.checked_sub(layout.partition.len()) {
        None => (&*layout.partition_prefix, &*layout.partition, row.partition_key, part),
        Some(before) => (&*layout.row_prefix, &*layout.row, row.row_key, before),
    };
    let mut reader = KeyReader::new(layout, prefix, parts, key, RowContext { table: &layout.table, row })?;
    reader.skip_to(before)?;
    Ok(reader)
}
