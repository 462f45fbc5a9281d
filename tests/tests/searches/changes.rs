//! Pairs of versions of a struct: the first has written rows, and the second begins beside it.
//!
//! Each pair ends in one of two ways. Either the second program is accepted: then each of the two finds the rows of the
//! other, by the key and by every index that is ready, and no unique value is taken twice. Or it is refused: then a next
//! step that the message names leads to a store in which it is accepted, finds every row, and a verification finds nothing.
//!
//! The versions use every option of every attribute that has to do with stored rows.

use std::{collections::BTreeSet, fmt, time::Duration};

use anyhow::{Context, Result, ensure};
use futures_util::{TryStreamExt, future::BoxFuture};
use rust_decimal::Decimal;
use table_runtime::{
    __private::{Layout, changed_aspects},
    Error, Property, TableEntity, Tables,
    backend::{Clock, Reach, Sleep},
    layout::{Holds, LayoutInfo, Lifecycle, Scope},
};
use tests::{depth::Depth, plain::Plain};
use time::{Date, OffsetDateTime};

type Answer<'t, T> = BoxFuture<'t, table_runtime::Result<T>>;
type Ids = BTreeSet<u32>;

/// A version of the struct.
trait Numbered: TableEntity + Clone + Send + Sync + 'static {
    /// Returns the item of this number, with the name of another number.
    fn of(number: u32, name: u32) -> Self;
    fn number(&self) -> u32;
}

/// A program with a version of the struct.
trait Program: Sync {
    fn layout(&self) -> Layout;
    fn layouts(&self) -> &'static [LayoutInfo] {
        self.layout().layouts
    }
    fn properties(&self) -> Vec<&'static str> {
        self.layout().properties().map(|property| property.name).collect()
    }
    fn lifecycle(&self) -> Lifecycle<'static> {
        self.layout().lifecycle
    }
    /// Returns the name in the catalog.
    fn entity(&self) -> &'static str {
        self.layout().entity
    }
    /// Begins; as a rollback, also without indexes and times that are recorded.
    fn create<'t>(&self, tables: &'t Tables, rolls_back: bool) -> Answer<'t, ()>;
    fn insert<'t>(&self, tables: &'t Tables, number: u32, name: u32) -> Answer<'t, ()>;
    fn all<'t>(&self, tables: &'t Tables) -> Answer<'t, Ids>;
    /// Returns the items that the index of the name finds; `None` without an index.
    fn find<'t>(&self, tables: &'t Tables, number: u32) -> Option<Answer<'t, Ids>>;
    fn backfill<'t>(&self, tables: &'t Tables) -> Answer<'t, ()>;
    fn findings<'t>(&self, tables: &'t Tables) -> Answer<'t, Vec<String>>;
    /// Moves the items away, and deletes what is left of them.
    fn leave<'t>(&self, tables: &'t Tables) -> Answer<'t, ()>;
    /// Moves the items that were moved away to the place of this version.
    fn enter<'t>(&self, tables: &'t Tables) -> Answer<'t, ()>;
}

/// A field's value in the item of a number.
trait Field {
    fn of(field: &str, number: u32, name: u32) -> Self;
}

impl Field for String {
    fn of(field: &str, _: u32, name: u32) -> Self {
        match field {
            "group" | "login" | "team" => "a".to_owned(),
            // Any text may be JSON, as earlier releases recorded it.
            "due" => "[2026,358]".to_owned(),
            _ => format!("Name{name}"),
        }
    }
}

impl Field for u32 {
    fn of(field: &str, number: u32, _: u32) -> Self {
        if field == "id" { number } else { number * 10 }
    }
}

impl Field for u64 {
    fn of(field: &str, number: u32, name: u32) -> Self {
        u32::of(field, number, name).into()
    }
}

impl Field for i64 {
    fn of(field: &str, number: u32, name: u32) -> Self {
        u32::of(field, number, name).into()
    }
}

impl Field for OffsetDateTime {
    fn of(field: &str, number: u32, _: u32) -> Self {
        // Nothing expires here.
        let days = if field == "until" { 100_000 } else { 20 * u64::from(number) };
        Self::UNIX_EPOCH + Duration::from_hours(24 * days)
    }
}

impl Field for Decimal {
    fn of(field: &str, number: u32, _: u32) -> Self {
        Self::new(number.into(), if field == "id" { 0 } else { 2 })
    }
}

impl Field for Date {
    fn of(_: &str, number: u32, _: u32) -> Self {
        Date::from_ordinal_date(2026, 1).expect("a date") + time::Duration::days(number.into())
    }
}

/// Names of which two are equal.
impl Field for Vec<String> {
    fn of(field: &str, number: u32, name: u32) -> Self {
        let name = String::of(field, number, name);
        vec![format!("{name}b"), name.clone(), name]
    }
}

impl<T: Field> Field for Option<T> {
    fn of(field: &str, number: u32, name: u32) -> Self {
        (field != "deleted").then(|| T::of(field, number, name))
    }
}

/// A number with another default than 0.
macro_rules! with_default {
    ($($name:ident $default:expr)*) => {$(
        #[derive(Property, Clone, Copy, Debug, PartialEq, table_runtime::KeyPart)]
        struct $name(u32);

        impl Default for $name {
            fn default() -> Self {
                Self($default)
            }
        }

        impl Field for $name {
            fn of(field: &str, number: u32, name: u32) -> Self {
                Self(u32::of(field, number, name))
            }
        }
    )*};
}

with_default! { Five 5 Seven 7 }

/// Structs and enums with data as fields.
mod shapes {
    use super::{Field, Property};

    macro_rules! structs {
        ($($name:ident { $($(#[$meta:meta])* $field:ident: $type:ty),* })*) => {$(
            #[derive(Property, Clone, Debug)]
            pub(super) struct $name { $($(#[$meta])* pub(super) $field: $type),* }

            impl Field for $name {
                fn of(_: &str, number: u32, name: u32) -> Self {
                    Self { $($field: Field::of(stringify!($field), number, name)),* }
                }
            }
        )*};
    }

    structs! {
        Home { town: String, floor: u32 }
        HomeWithDoor { town: String, floor: u32, door: Option<u32> }
        HomeWithRequiredDoor { town: String, floor: u32, door: u32 }
        HomeWithCity { #[property(rename = "City")] town: String, floor: u32 }
        HomeWithText { town: String, #[property(text)] floor: u32 }
        HomeWithWideFloor { town: String, floor: i64 }
        HomeWithFieldRenamed { #[property(rename = "Town")] city: String, floor: u32 }
        HomeInside { inner: Home }
        Own { name: String, size: u32 }
    }

    macro_rules! enums {
        ($($name:ident { $($variants:tt)* } |$number:ident, $text:ident| $odd:expr, $even:expr;)*) => {$(
            #[derive(Property, Clone, Debug)]
            pub(super) enum $name { $($variants)* }

            impl Field for $name {
                fn of(_: &str, $number: u32, $text: u32) -> Self {
                    if $number % 2 == 1 { $odd } else { $even }
                }
            }
        )*};
    }

    enums! {
        Pay { Card { last4: u32 }, Cash } |number, _name| Self::Card { last4: number }, Self::Cash;
        PayOrInvoice { Card { last4: u32 }, Cash, Invoice(String) }
            |number, _name| Self::Card { last4: number }, Self::Cash;
        PayRenamed { #[property(rename = "Plastic")] Card { last4: u32 }, Cash }
            |number, _name| Self::Card { last4: number }, Self::Cash;
        PayRetyped { Card { last4: String }, Cash } |number, _name| Self::Card { last4: number.to_string() }, Self::Cash;
        PayOrOther { Card { last4: u32 }, #[property(other)] Other(String) }
            |number, _name| Self::Card { last4: number }, Self::Card { last4: 0 };
    }
}

use shapes::*;

fn ids<T: Numbered>(items: impl IntoIterator<Item: std::ops::Deref<Target = T>>) -> Ids {
    items.into_iter().map(|item| item.number()).collect()
}

/// A place that is none of those of the versions.
mod refuge {
    use super::{Numbered, TableEntity};

    #[derive(TableEntity, Clone, Debug)]
    #[table(name = "Refuge", entity = "Refugee")]
    pub(super) struct Refugee {
        #[partition_key]
        #[row_key]
        pub(super) id: u32,
        pub(super) name: String,
    }

    impl Numbered for Refugee {
        fn of(number: u32, name: u32) -> Self {
            Self { id: number, name: name.to_string() }
        }

        fn number(&self) -> u32 {
            self.id
        }
    }
}

use refuge::Refugee;

/// Declares versions, and the list of them.
macro_rules! versions {
    ($(
        $name:ident: $item:ident [$($table:tt)*] $(#[$attribute:meta])*
        { $($(#[$meta:meta])* $field:ident: $type:ty),* }
        $(=> $how:ident |$n:ident| $find:expr;)?
    )*) => {
        $(
            mod $name {
                #[allow(unused_imports)]
                use super::*;

                #[derive(TableEntity, Clone, Debug)]
                #[allow(dead_code, reason = "a field that is not stored")]
                #[table(allow_scan, $($table)*)]
                $(#[$attribute])*
                pub(super) struct $item {
                    $($(#[$meta])* pub(super) $field: $type,)*
                }

                impl Numbered for $item {
                    fn of(number: u32, name: u32) -> Self {
                        Self { $($field: Field::of(stringify!($field), number, name)),* }
                    }

                    fn number(&self) -> u32 {
                        u32::try_from(self.id).expect("a small number")
                    }
                }

                pub(super) struct It;

                impl Program for It {
                    fn layout(&self) -> Layout {
                        $item::layout()
                    }

                    fn create<'t>(&self, tables: &'t Tables, rolls_back: bool) -> Answer<'t, ()> {
                        let create = tables.create::<$item>();
                        Box::pin(if rolls_back { create.demote_missing_indexes().forget_lifecycle() } else { create })
                    }

                    fn insert<'t>(&self, tables: &'t Tables, number: u32, name: u32) -> Answer<'t, ()> {
                        Box::pin(async move { tables.insert(&$item::of(number, name)).await.map(drop) })
                    }

                    fn all<'t>(&self, tables: &'t Tables) -> Answer<'t, Ids> {
                        Box::pin(async move { $item::scan().all(tables).await.map(ids) })
                    }

                    fn find<'t>(&self, tables: &'t Tables, number: u32) -> Option<Answer<'t, Ids>> {
                        let _ = (tables, number);
                        versions!(@find tables number $($how |$n| $find)?)
                    }

                    fn backfill<'t>(&self, tables: &'t Tables) -> Answer<'t, ()> {
                        Box::pin(backfill::<$item>(tables))
                    }

                    fn findings<'t>(&self, tables: &'t Tables) -> Answer<'t, Vec<String>> {
                        Box::pin(tables.verify::<$item>().map_ok(|finding| finding.to_string()).try_collect())
                    }

                    fn leave<'t>(&self, tables: &'t Tables) -> Answer<'t, ()> {
                        Box::pin(moved::<$item, Refugee>(tables))
                    }

                    fn enter<'t>(&self, tables: &'t Tables) -> Answer<'t, ()> {
                        Box::pin(moved::<Refugee, $item>(tables))
                    }
                }
            }
        )*

        const VERSIONS: &[Version] = &[$(Version { name: stringify!($name), program: &$name::It }),*];
    };
    (@find $tables:ident $number:ident) => { None };
    (@find $tables:ident $number:ident all |$n:ident| $find:expr) => {{
        let $n = String::of("name", $number, $number);
        Some(Box::pin(async move { $find.all($tables).await.map(ids) }))
    }};
    (@find $tables:ident $number:ident get |$n:ident| $find:expr) => {{
        let $n = String::of("name", $number, $number);
        Some(Box::pin(async move { $find.get($tables).await.map(ids) }))
    }};
    (@find $tables:ident $number:ident number |$n:ident| $find:expr) => {{
        let $n = u32::of("size", $number, $number);
        Some(Box::pin(async move { $find.all($tables).await.map(ids) }))
    }};
}

async fn backfill<T: Numbered>(tables: &Tables) -> table_runtime::Result<()> {
    for layout in T::layout().layouts.iter().skip(1) {
        let filled = tables.backfill::<T>(&layout.name).await?;
        assert!(filled.ready, "{filled:?}");
    }
    Ok(())
}

async fn moved<Old: Numbered, New: Numbered>(tables: &Tables) -> table_runtime::Result<()> {
    tables.migrate_with(|old: Old| New::of(old.number(), old.number())).await?;
    tables.drop_moved::<Old>().discarding_events().await.map(drop)
}

/// A version with its name.
#[derive(Clone, Copy)]
struct Version {
    name: &'static str,
    program: &'static dyn Program,
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "predicates take references")]
fn is_any(_: &u32) -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "predicates take references")]
fn is_big(size: &u32) -> bool {
    *size > 5
}

versions! {
    // Structs and enums with data.
    home: Item [name = "Items"] { #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, home: Home }
    home_with_door: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, home: HomeWithDoor
    }
    home_with_required_door: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, home: HomeWithRequiredDoor
    }
    home_with_city: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, home: HomeWithCity
    }
    home_with_text: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, home: HomeWithText
    }
    home_with_wide_floor: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, home: HomeWithWideFloor
    }
    home_with_field_renamed: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, home: HomeWithFieldRenamed
    }
    home_inside: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, home: HomeInside
    }
    home_maybe: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, home: Option<Home>
    }
    home_flat: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, #[property(prefix = "")] home: Home
    }
    // Stored as if the fields were those of the item.
    flat: Item [name = "Items"] { #[partition_key] group: String, #[row_key] id: u32, #[property(prefix = "")] own: Own }
    by_flat: Item [name = "Items"] #[index(name, same_partition, row(own.name))] {
        #[partition_key] group: String, #[row_key] id: u32, #[property(prefix = "")] own: Own
    } => all |n| Item::by_name("a").eq(&n);
    by_flat_lowercase: Item [name = "Items"] #[index(name, same_partition, row(own.name(lowercase)))] {
        #[partition_key] group: String, #[row_key] id: u32, #[property(prefix = "")] own: Own
    } => all |n| Item::by_name("a").eq(&n);
    noted: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, note: Option<String>
    }
    noted_at_length: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32,
        #[property(large)] note: Option<String>
    }
    pay: Item [name = "Items"] { #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, pay: Pay }
    pay_or_invoice: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, pay: PayOrInvoice
    }
    pay_renamed: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, pay: PayRenamed
    }
    pay_retyped: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, pay: PayRetyped
    }
    pay_or_other: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, pay: PayOrOther
    }

    // Primary keys.
    plain: Item [name = "Items"] { #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32 }
    hash: Item [name = "Items"] {
        #[partition_key(hash = 4)] group: String, #[row_key] id: u32, name: String, size: u32
    }
    hash_more: Item [name = "Items"] {
        #[partition_key(hash = 8)] group: String, #[row_key] id: u32, name: String, size: u32
    }
    first: Item [name = "Items"] {
        #[partition_key(first = 1)] group: String, #[row_key] id: u32, name: String, size: u32
    }
    uppercase: Item [name = "Items"] {
        #[partition_key(uppercase)] group: String, #[row_key] id: u32, name: String, size: u32
    }
    lowercase: Item [name = "Items"] {
        #[partition_key(lowercase)] group: String, #[row_key] id: u32, name: String, size: u32
    }
    raw: Item [name = "Items"] { #[partition_key(raw)] group: String, #[row_key] id: u32, name: String, size: u32 }
    pad: Item [name = "Items"] { #[partition_key] group: String, #[row_key(pad = 10)] id: u32, name: String, size: u32 }
    reverse: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key(reverse)] id: u32, name: String, size: u32
    }
    prefix: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    }
    wide: Item [name = "Items"] { #[partition_key] group: String, #[row_key] id: u64, name: String, size: u32 }
    in_cents: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key(scale = 2)] id: Decimal, name: String, size: u32
    }
    in_mills: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key(scale = 3)] id: Decimal, name: String, size: u32
    }
    two_parts: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, #[row_key] name: String, size: u32
    }
    separator: Item [name = "Items", separator = "+"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32
    }
    constant_partition: Item [name = "Items", partition = "all"] {
        #[row_key] id: u32, group: String, name: String, size: u32
    }
    constant_row: Item [name = "Items", row = "row"] {
        #[partition_key] id: u32, group: String, name: String, size: u32
    }
    turned: Item [name = "Items"] { #[partition_key] id: u32, #[row_key] group: String, name: String, size: u32 }
    by_login: Item [name = "Items"] {
        #[partition_key] login: String, #[row_key] id: u32, group: String, name: String, size: u32
    }
    renamed_key: Item [name = "Items"] { #[partition_key] team: String, #[row_key] id: u32, name: String, size: u32 }
    timed: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key(time)] at: OffsetDateTime, #[row_key] id: u32, name: String, size: u32
    }
    newest: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key(reverse_time)] at: OffsetDateTime, #[row_key] id: u32, name: String,
        size: u32
    }
    by_month: Item [name = "Items", slice = month(at)] {
        #[partition_key] group: String, #[row_key(time)] at: OffsetDateTime, #[row_key] id: u32, name: String, size: u32
    }
    by_month_of_end: Item [name = "Items", slice = month(end)] {
        #[partition_key] group: String, #[row_key(time)] end: OffsetDateTime, #[row_key] id: u32, name: String, size: u32,
        at: OffsetDateTime
    }
    by_year: Item [name = "Items", slice = year(at)] {
        #[partition_key] group: String, #[row_key(time)] at: OffsetDateTime, #[row_key] id: u32, name: String, size: u32
    }

    // The table and the names.
    other_table: Item [name = "Things"] { #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32 }
    other_case: Item [name = "items"] { #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32 }
    kind: Item [name = "Items", kind] { #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32 }
    other_kind: Item [name = "Items", kind = "Other"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32
    }
    other_struct: Thing [name = "Items"] { #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32 }
    was: Thing [name = "Items", was = "Item"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32
    }
    entity: Thing [name = "Items", entity = "Item"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32
    }
    another: Item [name = "Others", entity = "Another"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32
    }

    // Properties.
    write_id: Item [name = "Items", write_id] { #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32 }
    deny_unknown: Item [name = "Items", deny_unknown] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32
    }
    version: Item [name = "Items", version = 2, from = plain::Item] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32
    }
    skip_newer: Item [name = "Items", skip_newer] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32
    }
    renamed_functions: Item [name = "Items", rename(key = "at")] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32
    }
    rename_all: Item [name = "Items", rename_all = "camelCase"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32
    }
    with_option: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, note: Option<String>
    }
    with_default: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, #[property(default)] note: String
    }
    with_required: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, note: String
    }
    without_size: Item [name = "Items"] { #[partition_key] group: String, #[row_key] id: u32, name: String }
    optional_size: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: Option<u32>
    }
    skipped: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, #[property(skip)] size: u32
    }
    renamed_field: Item [name = "Items"] { #[partition_key] group: String, #[row_key] id: u32, title: String, size: u32 }
    kept_property: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, #[property(rename = "Name")] title: String, size: u32
    }
    as_json: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, #[property(json)] size: u32
    }
    as_text: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, #[property(text)] size: u32
    }
    size_of_64_bits: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u64
    }
    with_price: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, price: Option<Decimal>
    }
    with_price_in_cents: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32,
        #[property(scale = 2)] price: Option<Decimal>
    }
    with_price_in_mills: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32,
        #[property(scale = 3)] price: Option<Decimal>
    }
    with_date: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, due: Option<Date>
    }
    with_date_as_json: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, #[property(json)] due: Option<Date>
    }
    with_date_as_text: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, due: Option<String>
    }
    wider_size: Item [name = "Items"] { #[partition_key] group: String, #[row_key] id: u32, name: String, size: i64 }
    key_as_property: Item [name = "Items"] {
        #[partition_key] #[property] group: String, #[row_key] id: u32, name: String, size: u32
    }

    // Times that hide items.
    with_times: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32,
        until: Option<OffsetDateTime>, deleted: Option<OffsetDateTime>
    }
    expires: Item [name = "Items", expires = until] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, until: Option<OffsetDateTime>
    }
    expires_at_another: Item [name = "Items", expires = until] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32,
        #[property(rename = "End")] until: Option<OffsetDateTime>
    }
    soft_delete: Item [name = "Items", soft_delete = deleted] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32, deleted: Option<OffsetDateTime>
    }
    events: Item [name = "Items", events] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32
    }
    events_with_copies: Item [name = "Items", events(copy)] {
        #[partition_key] group: String, #[row_key] id: u32, name: String, size: u32
    }
    events_of_an_index: Item [name = "Items", events(copy)] #[index(name, unique)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => get |n| Item::by_name(&n);
    index_expires: Item [name = "Items", expires = until] #[index(name, same_partition)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32,
        until: Option<OffsetDateTime>
    } => all |n| Item::by_name("a").eq(&n);
    index_unique_expires: Item [name = "Items", expires = until] #[index(name, unique, same_partition)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32,
        until: Option<OffsetDateTime>
    } => get |n| Item::by_name("a").eq(&n);
    index_copy_soft_delete: Item [name = "Items", soft_delete = deleted] #[index(name, copy, same_partition)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32,
        deleted: Option<OffsetDateTime>
    } => all |n| Item::by_name("a").eq(&n);
    index_elsewhere_expires: Item [name = "Items", expires = until] #[index(name)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32,
        until: Option<OffsetDateTime>
    } => all |n| Item::by_name(&n);
    index_each_expires: Item [name = "Items", expires = until] #[index(name, same_partition, row(each(name)))] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32,
        #[property(json, rename = "Names")] name: Vec<String>, size: u32, until: Option<OffsetDateTime>
    } => all |n| Item::by_name("a").eq(&n);

    // Indexes.
    index: Item [name = "Items"] #[index(name)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name(&n);
    index_lowercase: Item [name = "Items"] #[index(name, lowercase)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name(&n);
    index_unique: Item [name = "Items"] #[index(name, unique)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => get |n| Item::by_name(&n);
    index_unique_in_table: Item [name = "Items"] #[index(name, unique, table = "Names")] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => get |n| Item::by_name(&n);
    index_unique_here: Item [name = "Items"] #[index(name, unique, same_table)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => get |n| Item::by_name(&n);
    index_unique_beside: Item [name = "Items"] #[index(name, unique, same_partition)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => get |n| Item::by_name("a").eq(&n);
    index_in_table: Item [name = "Items"] #[index(name, table = "Names")] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name(&n);
    index_same_table: Item [name = "Items"] #[index(name, same_table)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name(&n);
    index_same_partition: Item [name = "Items"] #[index(name, same_partition)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name("a").eq(&n);
    index_copy: Item [name = "Items"] #[index(name, copy)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name(&n);
    index_copy_beside: Item [name = "Items"] #[index(name, copy, same_partition)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name("a").eq(&n);
    index_copy_with_default: Item [name = "Items"] #[index(name, copy)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32,
        #[property(default)] note: Five
    } => all |n| Item::by_name(&n);
    index_include: Item [name = "Items"] #[index(name, include(size))] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name(&n);
    index_list: Item [name = "Items"] #[index(name, list, same_partition)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name("a").eq(&n);
    index_when: Item [name = "Items"] #[index(name, when(size, self::is_big))] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name(&n);
    index_when_other: Item [name = "Items"] #[index(name, when(weight, self::is_big))] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32, weight: u32
    } => all |n| Item::by_name(&n);
    index_when_key: Item [name = "Items"] #[index(name, when(id, self::is_any))] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name(&n);
    index_keys: Item [name = "Items"] #[index(name, partition(group), row(name))] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name("a").eq(&n);
    index_prefix: Item [name = "Items"] #[index(name, same_partition, prefix = "n-")] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name("a").eq(&n);
    index_rename: Item [name = "Items"] #[index(name, unique, rename(id = "OwnId"))] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => get |n| Item::by_name(&n);
    index_order: Item [name = "Items"] #[index(name, partition(name), row(size))] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name(&n);
    elements: Item [name = "Items"] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, #[property(json, rename = "Names")] name: Vec<String>, size: u32
    }
    index_each: Item [name = "Items"] #[index(name, each)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, #[property(json, rename = "Names")] name: Vec<String>, size: u32
    } => all |n| Item::by_name(&n);
    index_each_lowercase: Item [name = "Items"] #[index(name, each, lowercase)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, #[property(json, rename = "Names")] name: Vec<String>, size: u32
    } => all |n| Item::by_name(&n);
    index_each_unique: Item [name = "Items"] #[index(name, each, unique)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, #[property(json, rename = "Names")] name: Vec<String>, size: u32
    } => get |n| Item::by_name(&n);
    index_each_include: Item [name = "Items"] #[index(name, each, include(size))] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, #[property(json, rename = "Names")] name: Vec<String>, size: u32
    } => all |n| Item::by_name(&n);
    index_each_copy: Item [name = "Items"] #[index(name, same_partition, row(each(name)), copy)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, #[property(json, rename = "Names")] name: Vec<String>, size: u32
    } => all |n| Item::by_name("a").eq(&n);
    other_index: Item [name = "Items"] #[index(size)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => number |n| Item::by_size(n);
    two_indexes: Item [name = "Items"] #[index(name)] #[index(size)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: u32
    } => all |n| Item::by_name(&n);
    index_of_optional: Item [name = "Items"] #[index(size)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, size: Option<u32>
    } => number |n| Item::by_size(n);
    index_of_five: Item [name = "Items"] #[index(size)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, #[property(default)] size: Five
    } => number |n| Item::by_size(Five(n));
    index_of_seven: Item [name = "Items"] #[index(size)] {
        #[partition_key] group: String, #[row_key(prefix = "id-")] id: u32, name: String, #[property(default)] size: Seven
    } => number |n| Item::by_size(Seven(n));
}

impl From<plain::Item> for version::Item {
    fn from(plain::Item { group, id, name, size }: plain::Item) -> Self {
        Self { group, id, name, size }
    }
}

/// How a pair ends.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ending {
    /// The second program is accepted, and an index has to be built.
    Accepted { builds: bool },
    /// The second struct is another entity.
    Separate,
    /// It is refused.
    Refused(String),
}

/// A pair on a store.
struct Pair {
    old: Version,
    new: Version,
    store: Plain,
}

impl Pair {
    /// Reads with a program. An error that names what the program cannot read is an answer too: the row was written by a
    /// program that does not write a property, or that writes another version.
    async fn sees(&self, reader: Version, expected: &Ids) -> Result<()> {
        let is_missing =
            |other: Version| reader.program.properties().iter().any(|name| !other.program.properties().contains(name));
        let [old, new] = [self.old, self.new];
        match reader.program.all(&self.store.tables()).await {
            Ok(found) if reader.name == "skip_newer" => ensure!(found.is_subset(expected), "{reader:?} sees {found:?}"),
            // A scan of the whole table meets the partition of the other entity too.
            Ok(found) if !is_one_entity(old, new) && [old.name, new.name].contains(&"constant_partition") => {
                ensure!(found.is_superset(expected), "{reader:?} sees {found:?}");
            }
            Ok(found) => ensure!(found == *expected, "{reader:?} sees {found:?} and not {expected:?}"),
            Err(Error::Version(_)) if [old, new].iter().any(|version| version.name == "version") => {}
            Err(Error::UnknownProperties(_)) if reader.name == "deny_unknown" => {}
            // A scan meets the rows of another entity.
            Err(Error::Key(_)) if !is_one_entity(old, new) => {}
            // The struct of the older version requires another type.
            Err(Error::Property(_)) if reader.name == "version" && reader.name == old.name => {}
            // The new program stores less than the old one needs.
            Err(Error::Property(_)) if reader.name == old.name && is_missing(new) => {}
            Err(error) => return Err(error).with_context(|| format!("{reader:?} reads")),
        }
        Ok(())
    }

    /// Checks that the program finds the items by the index, if it has one. Returns false if it has to be built.
    async fn finds(&self, reader: Version, expected: &Ids) -> Result<bool> {
        for number in expected {
            let tables = self.store.tables();
            let Some(found) = reader.program.find(&tables, *number) else { return Ok(true) };
            match found.await {
                Err(Error::IndexBuilding { .. }) => return Ok(false),
                found => {
                    let found = found.with_context(|| format!("{reader:?} finds {number}"))?;
                    ensure!(found == [*number].into(), "{reader:?} finds {found:?} and not {number}");
                }
            }
        }
        Ok(true)
    }

    /// Checks that a verification finds nothing, but for rows that the program refuses to read.
    async fn is_clean(&self, version: Version) -> Result<()> {
        if version.name == "deny_unknown" || self.old.name == "version" {
            return Ok(());
        }
        let findings = version.program.findings(&self.store.tables()).await.context("verify")?;
        ensure!(findings.is_empty(), "{version:?} has findings: {findings:?}");
        Ok(())
    }

    async fn run(&self) -> Result<Ending> {
        let Self { old, new, store } = self;
        let (first, second) = (store.tables(), store.tables());
        old.program.create(&first, false).await.context("the old program")?;
        for number in [1, 2] {
            old.program.insert(&first, number, number).await?;
        }
        match new.program.create(&second, false).await {
            Ok(()) if !is_one_entity(*old, *new) => {
                new.program.insert(&second, 3, 3).await?;
                self.sees(*old, &[1, 2].into()).await?;
                self.sees(*new, &[3].into()).await?;
                Ok(Ending::Separate)
            }
            Ok(()) => self.accepted(&first, &second).await,
            Err(error) => self.refused(&first, &second, error).await,
        }
    }

    async fn accepted(&self, first: &Tables, second: &Tables) -> Result<Ending> {
        let Self { old, new, store } = self;
        new.program.insert(second, 3, 3).await.context("the new program writes")?;
        old.program.insert(first, 4, 4).await.context("the old program writes on")?;
        let all = [1, 2, 3, 4].into();
        self.sees(*new, &all).await?;
        self.sees(*old, &all).await?;
        self.finds(*old, &all).await?;
        let names = |version: &Version| -> BTreeSet<_> {
            version.program.layouts().iter().map(|layout| &*layout.name).collect()
        };
        let is_retimed = is_retimed(*old, *new);
        let is_ready = names(new).is_subset(&names(old)) && !is_retimed;
        ensure!(self.finds(*new, &all).await? || !is_ready, "the index is ready");
        let is_unique = |version: &Version| {
            version.program.layouts().iter().any(|layout| layout.index.as_ref().is_some_and(|index| index.unique))
        };
        if is_ready {
            for (version, tables) in [(old, first), (new, second)].into_iter().filter(|(version, _)| is_unique(version))
            {
                let taken = version.program.insert(tables, 5, 1).await;
                ensure!(matches!(taken, Err(Error::UniqueViolation(_))), "{version:?} takes a name twice: {taken:?}");
            }
            self.is_clean(*new).await?;
            if lacks_times(*old, *new) {
                let again = old.program.create(&store.tables(), false).await;
                ensure!(is_missing(&again), "the old program begins, and shows what others hide: {again:?}");
            }
            return Ok(Ending::Accepted { builds: false });
        }
        new.program.backfill(second).await.context("backfill")?;
        ensure!(self.finds(*new, &all).await?, "the index is built");
        self.is_clean(*new).await?;
        // The old program runs on, and does not know the index, or the times in its rows.
        store.sleep(Duration::from_mins(2), Sleep::Whole).await;
        let late = old.program.insert(first, 6, 6).await;
        ensure!(is_missing(&late), "the old program writes without the index: {late:?}");
        let again = old.program.create(&store.tables(), false).await;
        ensure!(is_missing(&again), "the old program begins without the index: {again:?}");
        Ok(Ending::Accepted { builds: true })
    }

    async fn refused(&self, first: &Tables, second: &Tables, error: Error) -> Result<Ending> {
        let Self { old, new, store } = self;
        old.program.insert(first, 3, 3).await.context("the old program writes on")?;
        let all = [1, 2, 3].into();
        self.sees(*old, &all).await?;
        let (mut ending, mut error) = (None, error);
        if matches!(&error, Error::LayoutChanged(changed) if changed.layout == "lifecycle") {
            let before = catalog(store);
            match new.program.create(second, true).await {
                Ok(()) => return self.rolled_back(second, "`LayoutChanged` of `lifecycle`").await,
                // The structs differ in other things too.
                Err(other) => {
                    ensure!(catalog(store) == before, "a program that is refused changes the catalog: {other}");
                    ending = Some("`LayoutChanged` of `lifecycle`".to_owned());
                    error = other;
                }
            }
        }
        let other = match &error {
            Error::LayoutChanged(error) => format!("`LayoutChanged` of `{}`", error.layout),
            Error::IndexMissing(_) => "`IndexMissing`".to_owned(),
            Error::RowsCollide(_) => "`RowsCollide`".to_owned(),
            other => anyhow::bail!("{other}"),
        };
        let ending = ending.unwrap_or(other);
        if matches!(error, Error::IndexMissing(_)) {
            new.program.create(second, true).await.context("the rollback")?;
            return self.rolled_back(second, &ending).await;
        }
        let text = error.to_string();
        ensure!(
            ["migrate", "another name", "was", "rename", "prefix"].iter().any(|word| text.contains(word)),
            "no next step in: {text}"
        );
        // Whatever has changed, the rows can be moved away and to the place of the new struct, which may be the same.
        old.program.leave(&store.tables()).await.context("moving away")?;
        new.program.enter(&store.tables()).await.with_context(|| format!("moving back, after: {text}"))?;
        let second = store.tables();
        new.program.create(&second, false).await.context("the new program, after the move")?;
        new.program.insert(&second, 4, 4).await?;
        let all = [1, 2, 3, 4].into();
        self.sees(*new, &all).await?;
        ensure!(self.finds(*new, &all).await?, "the index is ready after the move");
        self.is_clean(*new).await?;
        store.sleep(Duration::from_mins(2), Sleep::Whole).await;
        let late = old.program.insert(first, 6, 6).await;
        ensure!(late.is_err(), "the old program writes to the place that was left");
        // It may fit what is there now.
        if old.program.create(&store.tables(), false).await.is_ok() {
            self.sees(*old, &all).await?;
        }
        Ok(Ending::Refused(ending))
    }
}

impl Pair {
    /// The second program has begun as a rollback; then the first one comes back.
    async fn rolled_back(&self, second: &Tables, ending: &str) -> Result<Ending> {
        let Self { old, new, store } = self;
        new.program.insert(second, 4, 4).await.context("the rolled back program writes")?;
        let all = [1, 2, 3, 4].into();
        self.sees(*new, &all).await?;
        ensure!(
            !self.finds(*old, &all).await? || new.program.layouts().len() > 1 || old.program.layouts().len() == 1,
            "the index is not ready"
        );
        if is_retimed(*new, *old) {
            ensure!(!self.finds(*new, &all).await?, "its rows have to be written again");
            new.program.backfill(second).await.context("backfill of the rolled back program")?;
            ensure!(self.finds(*new, &all).await?, "the index is built");
            self.is_clean(*new).await?;
        }
        let again = store.tables();
        // It may lack what the second program has, in its turn.
        old.program.create(&again, lacks_times(*old, *new)).await.context("the old program comes back")?;
        let has_all = old.program.properties().iter().all(|name| new.program.properties().contains(name));
        if has_all && new.name != "version" {
            old.program.backfill(&again).await.context("backfill")?;
            ensure!(self.finds(*old, &all).await?, "the index is built again");
            self.is_clean(*old).await?;
        }
        Ok(Ending::Refused(ending.to_owned()))
    }
}

/// Returns what the catalog of a store records.
fn catalog(store: &Plain) -> Vec<String> {
    let rows = store.rows().into_iter().filter(|(table, _)| table == "TableLayouts");
    rows.map(|(_, row)| format!("{} {:?}", row.row_key, row.properties)).collect()
}

/// The indexes of a program that hides entities are ready. A program without the times takes its place, and builds them again.
#[tokio::test]
async fn a_program_without_times_takes_the_place_of_one_with_them() -> Result<()> {
    let named = |name: &str| *VERSIONS.iter().find(|version| version.name == name).expect("a version");
    for [old, new] in [
        ["index_expires", "index_same_partition"],
        ["index_unique_expires", "index_unique_beside"],
        ["index_copy_soft_delete", "index_copy_beside"],
        ["index_elsewhere_expires", "index"],
        ["expires", "plain"],
    ] {
        let ([old, new], store) = ([old, new].map(named), Plain::default());
        let tables = [store.tables(), store.tables()];
        let run = async {
            old.program.create(&tables[0], false).await?;
            old.program.insert(&tables[0], 1, 1).await?;
            new.program.create(&tables[1], true).await?;
            new.program.insert(&tables[1], 2, 2).await?;
            new.program.backfill(&tables[1]).await?;
            let pair = Pair { old, new, store: store.clone() };
            ensure!(pair.finds(new, &[1, 2].into()).await?, "the index is built");
            pair.is_clean(new).await
        };
        run.await.with_context(|| format!("{old:?}, then {new:?}"))?;
    }
    Ok(())
}

/// A program that hides entities has begun. One without the times cannot build its indexes.
#[tokio::test]
async fn a_program_without_times_builds_no_index_of_one_with_them() -> Result<()> {
    let named = |name: &str| *VERSIONS.iter().find(|version| version.name == name).expect("a version");
    for [old, new] in [["index_copy_beside", "index_copy_soft_delete"], ["index_same_partition", "index_expires"]] {
        let ([old, new], store) = ([old, new].map(named), Plain::default());
        let tables = [store.tables(), store.tables()];
        old.program.create(&tables[0], false).await?;
        old.program.insert(&tables[0], 1, 1).await?;
        new.program.create(&tables[1], false).await?;
        let refused = old.program.backfill(&tables[0]).await;
        ensure!(matches!(refused, Err(Error::LayoutChanged(_))), "{old:?}, then {new:?}: {refused:?}");
        ensure!(!Pair { old, new, store }.finds(new, &[1].into()).await?, "the index is not ready");
    }
    Ok(())
}

/// Checks whether a program was refused because it lacks an index, or times that hide entities.
fn is_missing(answer: &table_runtime::Result<()>) -> bool {
    match answer {
        Err(Error::IndexMissing(_)) => true,
        Err(Error::LayoutChanged(changed)) => changed.layout == "lifecycle",
        _ => false,
    }
}

/// Checks whether the second struct hides entities that the first one shows.
fn lacks_times(old: Version, new: Version) -> bool {
    let [old, new] = [old, new].map(|version| version.program.lifecycle());
    new.expires.is_some() && old.expires != new.expires
        || new.soft_delete.is_some() && old.soft_delete != new.soft_delete
}

/// Checks whether the rows of an index that both structs have get other times.
fn is_retimed(old: Version, new: Version) -> bool {
    let is_shared = |layout: &&LayoutInfo| old.program.layouts().iter().any(|other| other.name == layout.name);
    let has_times = |layout: &LayoutInfo| {
        layout.index.as_ref().is_some_and(|index| index.scope == Scope::SamePartition && index.holds != Holds::List)
    };
    lacks_times(old, new) && new.program.layouts().iter().filter(is_shared).any(has_times)
}

/// Checks whether the second struct is the entity of the first one, by its names.
fn is_one_entity(old: Version, new: Version) -> bool {
    old.program.entity() == new.program.entity() || new.name == "was" && old.program.entity() == "Item"
}

async fn check(old: Version, new: Version, reach: Reach) -> Result<Ending> {
    let store = Plain::default().with_reach(reach);
    let pair = Pair { old, new, store };
    pair.run().await.with_context(|| format!("{old:?}, then {new:?}, {reach:?}"))
}

/// Runs all pairs whose first version is one of these.
async fn all_of(part: usize, parts: usize) -> Result<()> {
    let mut problems = Vec::new();
    for (at, old) in VERSIONS.iter().enumerate().filter(|(at, _)| at % parts == part) {
        for (other, new) in VERSIONS.iter().enumerate() {
            // A quick search has each version beside the first, and a part of the other pairs.
            if old.name != "plain" && new.name != "plain" && (at + other) % Depth::choose(3, 1, 1) != 0 {
                continue;
            }
            for reach in [Reach::Partition, Reach::Store] {
                if let Err(problem) = check(*old, *new, reach).await {
                    problems.push(format!("{problem:#}"));
                }
            }
        }
    }
    ensure!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    Ok(())
}

macro_rules! parts {
    ($($name:ident $part:literal)*) => {$(
        #[tokio::test]
        async fn $name() -> Result<()> {
            all_of($part, 4).await
        }
    )*};
}

mod pairs {
    use super::*;

    parts! { a 0 b 1 c 2 d 3 }
}

/// Changes that the guide lists, each with two versions that differ in it.
const CHANGES: &[(&str, &str, &str)] = &[
    ("another encoding of the key", "plain", "pad"),
    ("another type of a key field", "plain", "wide"),
    ("another order or number of key parts", "plain", "two_parts"),
    ("a renamed key field", "plain", "renamed_key"),
    ("a property that becomes the key", "by_login", "plain"),
    ("`hash = N`", "hash", "hash_more"),
    ("`separator`", "plain", "separator"),
    ("a prefix of row keys", "plain", "prefix"),
    ("`slice` added or removed", "timed", "by_month"),
    ("another unit of `slice`", "by_month", "by_year"),
    ("another table", "plain", "other_table"),
    ("the table in other case", "plain", "other_case"),
    ("`kind` added", "plain", "kind"),
    ("another `kind`", "kind", "other_kind"),
    ("a renamed struct", "plain", "other_struct"),
    ("a renamed struct with `was`", "plain", "was"),
    ("another entity, with `entity`", "plain", "another"),
    ("a new `Option`, or `#[property(default)]`", "plain", "with_option"),
    ("a new required property", "plain", "with_required"),
    ("a removed property", "plain", "without_size"),
    ("a renamed field", "plain", "renamed_field"),
    ("a renamed field that keeps its property", "plain", "kept_property"),
    ("a property as text or JSON", "plain", "as_json"),
    ("a wider number", "plain", "wider_size"),
    ("a number of more than 63 bits, which is stored as text", "plain", "size_of_64_bits"),
    ("a date as JSON that becomes a date", "with_date_as_json", "with_date"),
    ("another `scale`", "with_price_in_cents", "with_price_in_mills"),
    ("a date as any text that becomes a date", "with_date_as_text", "with_date"),
    ("`version = 2, from = …`", "plain", "version"),
    ("`write_id`, `deny_unknown`, `skip_newer`", "plain", "write_id"),
    ("a new index", "prefix", "index"),
    ("the first index with `same_partition` or `same_table`", "plain", "index_same_partition"),
    ("a removed index", "index", "prefix"),
    ("an index with another encoding, content, `when`, table or scope", "index", "index_same_table"),
    ("`unique` added to an index", "index", "index_unique"),
    ("`each` added to an index, or removed", "index", "index_each"),
    ("an index with `each` for a field that was there", "elements", "index_each"),
    ("another default of an indexed property", "index_of_five", "index_of_seven"),
    ("`expires` or `soft_delete` added", "with_times", "expires"),
    ("the same, with an index in the entity's partition", "index_same_partition", "index_expires"),
    ("`expires` or `soft_delete` removed, or another field", "expires", "with_times"),
    ("`events` added, or `copy` in it", "plain", "events_with_copies"),
    ("`events` removed", "events", "plain"),
];

#[tokio::test]
async fn the_guide_shows_what_create_answers() -> Result<()> {
    let named = |name: &str| *VERSIONS.iter().find(|version| version.name == name).expect("a version");
    let mut rows =
        vec!["| change | `create` of the second program | a way on that the tests run |\n|---|---|---|".to_owned()];
    for (change, old, new) in CHANGES {
        let (answer, next) = match check(named(old), named(new), Reach::Partition).await? {
            Ending::Accepted { builds: false } => ("accepts".to_owned(), ""),
            Ending::Accepted { builds: true } => ("accepts; the index is building".to_owned(), "`backfill`"),
            Ending::Separate => ("accepts another entity".to_owned(), ""),
            Ending::Refused(error) if error.contains("IndexMissing") => {
                (format!("refuses: {error}"), "`demote_missing_indexes`, or `drop_index`")
            }
            Ending::Refused(error) if error.contains("lifecycle") => {
                (format!("refuses: {error}"), "`forget_lifecycle`")
            }
            Ending::Refused(error) => (format!("refuses: {error}"), "`migrate`"),
        };
        rows.push(format!("| {change} | {answer} | {next} |"));
    }
    tests::guide::has("changing_a_struct", "answers", &rows.join("\n"));
    Ok(())
}

/// Each difference that `create` and `assert_layout!` know is that of a pair of versions, so that a new one is not forgotten.
#[test]
fn every_difference_is_that_of_a_pair() {
    let mut of_pairs = super::nested_changes::changed_aspects();
    for old in VERSIONS {
        of_pairs.extend(VERSIONS.iter().flat_map(|new| changed_aspects(&old.program.layout(), &new.program.layout())));
    }
    let source = include_str!("../../../table-model/src/layout/change.rs");
    let variants = ["Aspect", "TypeEffect"].map(|name| variants_of(source, name)).concat();
    assert!(variants.len() > 30, "{variants:?}");
    let missing: Vec<_> = variants.into_iter().filter(|variant| !of_pairs.contains(variant)).collect();
    // No program of this version writes a record that it cannot read, and every program records its version.
    assert_eq!(missing, ["Record", "Version"], "no pair differs in these");
}

/// Returns the names of the variants of an enum in a file.
fn variants_of(source: &str, name: &str) -> Vec<String> {
    let (_, body) = source.split_once(&format!("pub enum {name} {{\n")).expect("the enum");
    let (body, _) = body.split_once("\n}\n").expect("its end");
    let lines = body.lines().map(str::trim).filter(|line| line.starts_with(|letter: char| letter.is_ascii_uppercase()));
    lines.map(|line| line.split([',', '(']).next().unwrap_or_default().to_owned()).collect()
}

/// The options of attributes that no version uses, because they concern no stored row, or rows that others test.
const WITHOUT_ROWS: &[&str] = &["crate", "allow_scan", "of", "tag", "for", "rename_all_fields"];

/// Each option that the derive knows is used by a version, so that a new one is not forgotten.
#[test]
fn every_option_is_part_of_a_version() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../table-derive/src");
    let read = |file: &str| std::fs::read_to_string(format!("{folder}/{file}")).expect("the derive's source");
    let own = include_str!("changes.rs");
    let (_, versions) = own.split_once("\nversions! {").expect("the versions");
    let (versions, _) = versions.split_once("\n}\n").expect("their end");
    let mut options = BTreeSet::new();
    for file in ["model/entity.rs", "model/index.rs", "model/field.rs", "model/functions.rs", "encoding_option.rs"] {
        let source = read(file);
        // `keys.flag("unique", errors)`, and the names of encodings.
        for (before, quoted) in source.split('"').collect::<Vec<_>>().windows(2).map(|pair| (pair[0], pair[1])) {
            let is_read = before.trim_end().ends_with('(') && before.contains("keys.") || before.ends_with("=> ");
            if is_read
                && quoted.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
                && !quoted.is_empty()
            {
                options.insert(quoted.to_owned());
            }
        }
    }
    assert!(options.len() > 25, "{options:?}");
    let is_used = |option: &&String| {
        let is_word = |(at, _): (usize, &str)| {
            let around = [versions[..at].chars().next_back(), versions[at + option.len()..].chars().next()];
            around.iter().flatten().all(|letter| !letter.is_alphanumeric() && *letter != '_')
        };
        WITHOUT_ROWS.contains(&option.as_str()) || versions.match_indices(option.as_str()).any(is_word)
    };
    let forgotten: Vec<_> = options.iter().filter(|option| !is_used(option)).collect();
    assert!(forgotten.is_empty(), "no version uses {forgotten:?} of {options:?}");
}
