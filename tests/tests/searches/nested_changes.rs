//! Pairs of versions of a struct that is a field: as it is, in an `Option`, with a default, in a variant, and in a variant of an
//! `Option`.
//!
//! Each pair ends in one of two ways. The second program is refused, and has changed nothing. Or it is accepted: then both
//! programs write in turn, also values without the struct, and after every write each of them sees what was written last:
//! in the entity, and the same by filters, projections and indexes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use futures_util::{TryStreamExt, future::BoxFuture};
use table_runtime::{
    __private::{self, Layout},
    Error, Projection, Property, TableEntity, Tables,
    backend::{Clock, Reach, Sleep},
};
use tests::{depth::Depth, plain::Plain};

/// Numbers of a value by the names of their properties, such as `Zip`; `None` if there is no value.
type Fields = Option<BTreeMap<&'static str, u32>>;

/// What a program sees of each item, by its number.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    entities: BTreeMap<u32, Fields>,
    projections: BTreeMap<u32, BTreeMap<&'static str, u32>>,
}

/// The value that is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    /// All fields are this number.
    Full(u32),
    /// The fields that may be are `None`.
    Sparse,
    None,
}

type Answer<'t, T> = BoxFuture<'t, table_runtime::Result<T>>;

/// A program with a version of the struct.
trait Program: Sync {
    fn layout(&self) -> Layout;
    /// The fields, each with its default, and whether it is required.
    fn fields(&self) -> &'static [(&'static str, Option<u32>, bool)];
    /// The fields that have an index.
    fn indexed(&self) -> &'static [&'static str];
    fn create<'t>(&self, tables: &'t Tables) -> Answer<'t, ()>;
    fn backfill<'t>(&self, tables: &'t Tables) -> Answer<'t, ()>;
    /// Writes a value. Returns what it has stored, or `None` without the struct.
    fn write<'t>(&self, tables: &'t Tables, id: u32, value: Value) -> Answer<'t, Fields>;
    fn see<'t>(&self, tables: &'t Tables) -> Answer<'t, Seen>;
    /// Returns the items that a filter finds by a field, or by its index.
    fn find<'t>(
        &self,
        tables: &'t Tables,
        field: &'static str,
        number: u32,
        by_index: bool,
    ) -> Answer<'t, BTreeSet<u32>>;
    fn findings<'t>(&self, tables: &'t Tables) -> Answer<'t, Vec<String>>;
}

/// A number as a field.
trait Number: Sized {
    type Arg;
    /// The type of the field in a projection, if a row may lack what is around it.
    type Partly: Shown;
    const DEFAULT: Option<u32>;
    const IS_REQUIRED: bool = false;
    fn of(number: Option<u32>) -> Self;
    fn arg(number: u32) -> Self::Arg;
}

/// A field as a number.
trait Shown {
    fn number(&self) -> Option<u32>;
}

impl Shown for u32 {
    fn number(&self) -> Option<u32> {
        Some(*self)
    }
}

impl<T: Shown> Shown for Option<T> {
    fn number(&self) -> Option<u32> {
        self.as_ref()?.number()
    }
}

impl Number for Option<u32> {
    type Arg = u32;
    type Partly = Self;
    const DEFAULT: Option<u32> = None;

    fn of(number: Option<u32>) -> Self {
        number
    }

    fn arg(number: u32) -> u32 {
        number
    }
}

impl Number for u32 {
    type Arg = Self;
    type Partly = Option<Self>;
    const DEFAULT: Option<u32> = None;
    const IS_REQUIRED: bool = true;

    fn of(number: Option<u32>) -> Self {
        number.unwrap_or(1)
    }

    fn arg(number: u32) -> Self {
        number
    }
}

macro_rules! with_default {
    ($($name:ident $default:literal)*) => {$(
        #[derive(Property, Clone, Copy, Debug, PartialEq, table_runtime::KeyPart)]
        pub(crate) struct $name(u32);

        impl Default for $name {
            fn default() -> Self {
                Self($default)
            }
        }

        impl Shown for $name {
            fn number(&self) -> Option<u32> {
                Some(self.0)
            }
        }

        impl Number for $name {
            type Arg = Self;
            type Partly = Option<Self>;
            const DEFAULT: Option<u32> = Some($default);

            fn of(number: Option<u32>) -> Self {
                number.map_or_else(Self::default, Self)
            }

            fn arg(number: u32) -> Self {
                Self(number)
            }
        }
    )*};
}

with_default! { Five 5 Seven 7 }

/// A struct in the struct.
#[derive(Property, Clone, Debug)]
pub(crate) struct Geo {
    lat: u32,
}

/// Returns the property of a field.
fn property_of(field: &'static str) -> &'static str {
    match field {
        "zip" => "Zip",
        "door" => "Door",
        "floor" => "Floor",
        "level" => "Level",
        other => unreachable!("{other}"),
    }
}

fn numbers<const N: usize>(fields: [(&'static str, Option<u32>); N]) -> BTreeMap<&'static str, u32> {
    fields.into_iter().filter_map(|(field, number)| Some((property_of(field), number?))).collect()
}

/// Declares an item with the struct in a wrapper, and its program. Each field is with its type, that in a projection and its
/// path, and each indexed one with the function of its index.
macro_rules! item {
    (
        $wrapper:ident [$(#[$meta:meta])* $it:ident: $type:ty] [$($field:ident: $of:ty => $shown:ty, [$($path:tt)*];)*]
        [$($by:ident $query:ident: $by_of:ty, [$($by_path:tt)*];)*] |$value:ident| $wrap:expr, |$item:ident| $held:expr
    ) => {
        pub(crate) mod $wrapper {
            use super::*;

            #[derive(TableEntity, Clone, Debug)]
            #[table(name = "Nested", entity = "Nested", allow_scan)]
            $(#[index($by, partition(tenant), row($($by_path)*))])*
            pub(crate) struct Item {
                #[partition_key]
                tenant: String,
                #[row_key(prefix = "id-")]
                id: u32,
                $(#[$meta])*
                $it: $type,
            }

            #[derive(Projection)]
            #[projection(of = Item)]
            struct Paths {
                id: u32,
                $(#[projection(path = $($path)*)] $field: $shown,)*
            }

            pub(crate) struct It;

            impl Program for It {
                fn layout(&self) -> Layout {
                    Item::layout()
                }

                fn fields(&self) -> &'static [(&'static str, Option<u32>, bool)] {
                    &[$((stringify!($field), <$of as Number>::DEFAULT, <$of as Number>::IS_REQUIRED)),*]
                }

                fn indexed(&self) -> &'static [&'static str] {
                    &[$(stringify!($by)),*]
                }

                fn create<'t>(&self, tables: &'t Tables) -> Answer<'t, ()> {
                    Box::pin(tables.create::<Item>())
                }

                fn backfill<'t>(&self, tables: &'t Tables) -> Answer<'t, ()> {
                    Box::pin(async move {
                        for layout in Item::layout().layouts.iter().skip(1) {
                            tables.backfill::<Item>(&layout.name).await?;
                        }
                        Ok(())
                    })
                }

                fn write<'t>(&self, tables: &'t Tables, id: u32, value: Value) -> Answer<'t, Fields> {
                    Box::pin(async move {
                        let $value = Inner::of(value);
                        let written = Item { tenant: "a".to_owned(), id, $it: $wrap };
                        let it = written.$it.clone();
                        tables.modify_or_insert(&written, |item| item.$it = it.clone()).await?;
                        let $item = &written.$it;
                        Ok($held.map(Inner::numbers))
                    })
                }

                fn see<'t>(&self, tables: &'t Tables) -> Answer<'t, Seen> {
                    Box::pin(async move {
                        let mut seen = Seen::default();
                        for found in Item::by_key("a").all(tables).await? {
                            let $item = &found.$it;
                            seen.entities.insert(found.id, $held.map(Inner::numbers));
                        }
                        for found in Item::by_key("a").select::<Paths>().all(tables).await? {
                            let numbers = numbers([$((stringify!($field), found.$field.number())),*]);
                            seen.projections.insert(found.id, numbers);
                        }
                        Ok(seen)
                    })
                }

                fn find<'t>(
                    &self,
                    tables: &'t Tables,
                    field: &'static str,
                    number: u32,
                    by_index: bool,
                ) -> Answer<'t, BTreeSet<u32>> {
                    Box::pin(async move {
                        let found = match (field, by_index) {
                            $((stringify!($by), true) => {
                                Item::$query("a").eq(<$by_of as Number>::arg(number)).all(tables).await?
                            })*
                            $((stringify!($field), false) => {
                                let number = <$of as Number>::arg(number);
                                Item::by_key("a").filter(|c| c.$($path)*.eq(number)).all(tables).await?
                            })*
                            _ => Vec::new(),
                        };
                        Ok(found.iter().map(|item| item.id).collect())
                    })
                }

                fn findings<'t>(&self, tables: &'t Tables) -> Answer<'t, Vec<String>> {
                    Box::pin(tables.verify::<Item>().map_ok(|finding| finding.to_string()).try_collect())
                }
            }
        }
    };
}

/// Declares the versions of the struct, each in every wrapper, and the list of them.
macro_rules! versions {
    ($(
        $version:ident $(#[$text_meta:meta])* $text:ident { $($(#[$meta:meta])* $field:ident: $type:ty),* }
        by [$($by:ident $query:ident: $by_of:ty),*]
    )*) => {
        $(
            mod $version {
                use super::*;

                #[derive(Property, Clone, Debug)]
                pub(crate) struct Inner {
                    $(#[$text_meta])* $text: String,
                    geo: Geo,
                    $($(#[$meta])* pub(crate) $field: $type),*
                }

                impl Inner {
                    fn of(value: Value) -> Option<Self> {
                        let number = match value {
                            Value::Full(number) => Some(number),
                            Value::Sparse => None,
                            Value::None => return None,
                        };
                        Some(Self { $text: "x".to_owned(), geo: Geo { lat: 1 }, $($field: <$type as Number>::of(number)),* })
                    }

                    fn numbers(&self) -> BTreeMap<&'static str, u32> {
                        numbers([$((stringify!($field), self.$field.number())),*])
                    }
                }

                impl Default for Inner {
                    fn default() -> Self {
                        Self { $text: "x".to_owned(), geo: Geo { lat: 1 }, $($field: <$type as Number>::of(Some(3))),* }
                    }
                }

                #[derive(Property, Clone, Debug)]
                pub(crate) enum Choice {
                    Held(Inner),
                    Nothing,
                }

                impl Choice {
                    fn held(&self) -> Option<&Inner> {
                        if let Self::Held(inner) = self { Some(inner) } else { None }
                    }
                }

                item! { plain [it: Inner] [$($field: $type => $type, [it.$field];)*] [$($by $query: $by_of, [it.$by];)*]
                    |value| value.unwrap_or_default(), |it| Some(it) }
                item! { optional [it: Option<Inner>] [$($field: $type => <$type as Number>::Partly, [it.$field];)*]
                    [$($by $query: $by_of, [it.$by];)*] |value| value, |it| it.as_ref() }
                item! { defaulted [#[property(default)] it: Inner]
                    [$($field: $type => <$type as Number>::Partly, [it.$field];)*]
                    [$($by $query: $by_of, [it.$by];)*] |value| value.unwrap_or_default(), |it| Some(it) }
                item! { variant [it: Choice] [$($field: $type => <$type as Number>::Partly, [it.held.$field];)*]
                    [$($by $query: $by_of, [it.held.$by];)*]
                    |value| value.map_or(Choice::Nothing, Choice::Held), |it| it.held() }
                item! { optional_variant [it: Option<Choice>]
                    [$($field: $type => <$type as Number>::Partly, [it.held.$field];)*]
                    [$($by $query: $by_of, [it.held.$by];)*]
                    |value| value.map(Choice::Held), |it| it.as_ref().and_then(Choice::held) }
            }
        )*

        const VERSIONS: &[Version] = &[$(
            Version { name: stringify!($version), wrapper: "plain", program: &$version::plain::It },
            Version { name: stringify!($version), wrapper: "optional", program: &$version::optional::It },
            Version { name: stringify!($version), wrapper: "defaulted", program: &$version::defaulted::It },
            Version { name: stringify!($version), wrapper: "variant", program: &$version::variant::It },
            Version { name: stringify!($version), wrapper: "optional_variant", program: &$version::optional_variant::It },
        )*];
    };
}

versions! {
    base city { zip: Option<u32> } by [zip by_zip: Option<u32>]
    more city { zip: Option<u32>, door: Option<u32> } by [zip by_zip: Option<u32>]
    five city { zip: Option<u32>, #[property(default)] floor: Five } by [zip by_zip: Option<u32>, floor by_floor: Five]
    seven city { zip: Option<u32>, #[property(default)] floor: Seven } by [zip by_zip: Option<u32>, floor by_floor: Seven]
    required city { zip: u32 } by [zip by_zip: u32]
    required_more city { zip: Option<u32>, door: u32 } by [zip by_zip: Option<u32>]
    renamed town { zip: Option<u32> } by [zip by_zip: Option<u32>]
    kept #[property(rename = "City")] town { zip: Option<u32> } by [zip by_zip: Option<u32>]
}

/// A version in a wrapper.
#[derive(Clone, Copy)]
struct Version {
    name: &'static str,
    wrapper: &'static str,
    program: &'static dyn Program,
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.wrapper)
    }
}

impl Version {
    /// Returns what the program should see of a value that was stored; `None` if it cannot read the row, because another program
    /// stores less than it requires.
    fn sees(self, stored: &Fields) -> Option<Fields> {
        let fields =
            self.program.fields().iter().map(|(field, default, required)| (property_of(field), *default, *required));
        let Some(stored) = stored else {
            return match self.wrapper {
                "plain" => None,
                "defaulted" => Some(Some(fields.map(|(name, ..)| (name, 3)).collect())),
                _ => Some(None),
            };
        };
        if fields.clone().any(|(name, _, is_required)| is_required && !stored.contains_key(name)) {
            return None;
        }
        Some(Some(
            fields.filter_map(|(name, default, _)| Some((name, stored.get(name).copied().or(default)?))).collect(),
        ))
    }

    /// Returns what is stored after the program has written a value over another one.
    fn stored(self, before: Option<&Fields>, written: Fields) -> Fields {
        let mut written = written?;
        // Fields that the program does not know stay in a value that was there and still is.
        let known: Vec<_> = self.program.fields().iter().map(|(field, ..)| property_of(field)).collect();
        for (name, number) in before.into_iter().flatten().flatten().filter(|(name, _)| !known.contains(name)) {
            written.insert(name, *number);
        }
        Some(written)
    }
}

/// A pair on a store.
struct Pair {
    programs: [(Version, Tables); 2],
    store: Plain,
    stored: BTreeMap<u32, Fields>,
}

impl Pair {
    async fn write(&mut self, program: usize, id: u32, value: Value) -> Result<()> {
        let (version, tables) = &self.programs[program];
        if self.stored.get(&id).is_some_and(|stored| version.sees(stored).is_none()) {
            return Ok(());
        }
        let written = version.program.write(tables, id, value).await;
        let written = written.with_context(|| format!("{version:?} writes {id} as {value:?}"))?;
        let stored = version.stored(self.stored.get(&id), written);
        self.stored.insert(id, stored);
        Ok(())
    }

    /// Checks what a program sees.
    async fn check(&self, program: usize) -> Result<()> {
        let version = self.programs[program].0;
        let tables = self.store.tables();
        let seen = version.program.see(&tables).await;
        let expected: Option<BTreeMap<_, _>> =
            self.stored.iter().map(|(id, stored)| Some((*id, version.sees(stored)?))).collect();
        let Some(expected) = expected else {
            ensure!(
                matches!(seen, Err(Error::Property(_))),
                "{version:?} reads rows without what it requires: {seen:?}"
            );
            return Ok(());
        };
        let seen = seen.context("reading")?;
        ensure!(seen.entities == expected, "{version:?} sees {:?} and not {expected:?}", seen.entities);
        for (id, entity) in &seen.entities {
            let projection = &seen.projections[id];
            ensure!(
                *projection == entity.clone().unwrap_or_default(),
                "{id}: {entity:?} as a projection: {projection:?}"
            );
        }
        for (field, ..) in version.program.fields() {
            let name = property_of(field);
            for number in 1..9 {
                let has = |fields: &Fields| fields.as_ref().and_then(|fields| fields.get(name)) == Some(&number);
                let with = |all: &BTreeMap<u32, Fields>| -> BTreeSet<u32> {
                    all.iter().filter(|(_, fields)| has(fields)).map(|(id, _)| *id).collect()
                };
                let found = version.program.find(&tables, field, number, false).await?;
                // A row without the property is not found by its default.
                let expected_by_filter: BTreeSet<_> =
                    with(&self.stored).intersection(&with(&expected)).copied().collect();
                ensure!(
                    found == expected_by_filter,
                    "{version:?} filters {field} {number}: {found:?}, not {expected_by_filter:?}"
                );
                if !version.program.indexed().contains(field) {
                    continue;
                }
                match version.program.find(&tables, field, number, true).await {
                    Err(Error::IndexBuilding { .. }) => {}
                    found => {
                        let (found, all) = (found?, with(&expected));
                        ensure!(found == all, "{version:?} finds {field} {number}: {found:?}, not {all:?}");
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns the names of what differs between the versions.
pub(crate) fn changed_aspects() -> BTreeSet<String> {
    let pairs = VERSIONS.iter().flat_map(|old| VERSIONS.iter().map(move |new| (old, new)));
    pairs.flat_map(|(old, new)| __private::changed_aspects(&old.program.layout(), &new.program.layout())).collect()
}

/// Runs a pair. Returns whether the second program was accepted.
async fn run(old: Version, new: Version, reach: Reach) -> Result<bool> {
    let store = Plain::default().with_reach(reach);
    let programs = [(old, store.tables()), (new, store.tables())];
    let mut pair = Pair { programs, store, stored: BTreeMap::new() };
    let is_oldest = |version: &&Version| version.name == "base" && version.wrapper == old.wrapper;
    if let Some(oldest) = VERSIONS.iter().find(is_oldest).filter(|_| ["five", "seven"].contains(&old.name)) {
        // This row is older than the field with a default.
        oldest.program.create(&pair.programs[0].1).await.context("the oldest program")?;
        pair.programs[0].0 = *oldest;
        pair.write(0, 6, Value::Full(2)).await?;
        pair.programs[0].0 = old;
    }
    old.program.create(&pair.programs[0].1).await.context("the old program")?;
    old.program.backfill(&pair.programs[0].1).await.context("backfill of the old program")?;
    // The first row shows nothing.
    for (id, value) in (1..).zip([Value::None, Value::Full(2), Value::Sparse]) {
        pair.write(0, id, value).await?;
    }
    pair.check(0).await?;
    match new.program.create(&pair.programs[1].1).await {
        Ok(()) => {}
        Err(Error::LayoutChanged(_) | Error::IndexMissing(_)) => {
            pair.write(0, 4, Value::Full(3)).await?;
            pair.check(0).await?;
            return Ok(false);
        }
        Err(error) => bail!("{error}"),
    }
    pair.check(1).await.context("the new program begins")?;
    let is_read = |stored: &Fields| new.sees(stored).is_some();
    // Of a field of the entity, only the first row shows that rows lack it.
    ensure!(new.wrapper == "plain" || pair.stored.values().all(is_read), "the new program requires what rows lack");
    if !pair.stored.values().all(is_read) {
        return Ok(true);
    }
    // The old one learns what the new one has recorded with its next lease.
    pair.store.sleep(Duration::from_mins(2), Sleep::Whole).await;
    new.program.backfill(&pair.programs[1].1).await.context("backfill")?;
    let lacks_index = new.program.indexed().iter().any(|field| !old.program.indexed().contains(field));
    for (id, value) in
        [(5, Value::Full(4)), (1, Value::Full(2)), (2, Value::None), (3, Value::Full(6)), (2, Value::Full(1))]
    {
        pair.write(1, id, value).await?;
        pair.check(1).await?;
        pair.check(0).await.context("beside the new program")?;
    }
    // A program that lacks an index of the other one may not write.
    if !lacks_index {
        for (id, value) in [
            (5, Value::Sparse),
            (5, Value::None),
            (5, Value::Full(8)),
            (3, Value::None),
            (3, Value::Sparse),
            (1, Value::Full(7)),
        ] {
            pair.write(0, id, value).await?;
            pair.check(0).await?;
            pair.check(1).await.context("beside the old program")?;
        }
    }
    if !pair.stored.values().all(is_read) {
        return Ok(true);
    }
    let findings = new.program.findings(&pair.store.tables()).await.context("verify")?;
    ensure!(findings.is_empty(), "{new:?} has findings: {findings:?}");
    Ok(true)
}

/// Runs the pairs within one wrapper, and each wrapper with the plain form; a quick search leaves out the pairs of which neither
/// is the first version, but for a changed default.
async fn all_of(wrapper: &str) -> Result<()> {
    let (mut problems, mut accepted, mut refused) = (Vec::new(), 0, 0);
    for old in VERSIONS {
        for new in VERSIONS {
            let is_own = old.wrapper == wrapper && new.wrapper == wrapper;
            let is_with_plain = [old, new].iter().all(|version| [wrapper, "plain"].contains(&version.wrapper));
            let is_quick = old.name == "base" || new.name == "base" || [old.name, new.name] == ["five", "seven"];
            if !(is_own || is_with_plain && old.wrapper != new.wrapper)
                || !is_quick && Depth::choose(true, false, false)
            {
                continue;
            }
            for reach in [Reach::Partition, Reach::Store] {
                match run(*old, *new, reach).await {
                    Ok(true) => accepted += 1,
                    Ok(false) => refused += 1,
                    Err(problem) => problems.push(format!("{old:?}, then {new:?}, {reach:?}: {problem:#}")),
                }
            }
        }
    }
    eprintln!("{wrapper}: {accepted} accepted, {refused} refused");
    ensure!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    ensure!(accepted > 9 && refused > 3, "{accepted} and {refused}");
    Ok(())
}

macro_rules! wrappers {
    ($($wrapper:ident)*) => {$(
        #[tokio::test]
        async fn $wrapper() -> Result<()> {
            all_of(stringify!($wrapper)).await
        }
    )*};
}

mod pairs {
    use super::*;

    wrappers! { plain optional defaulted variant optional_variant }
}
