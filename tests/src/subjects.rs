//! Entities of random programs. They have the same fields and different indexes.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use table_runtime::{
    ETag, Point, Property, Result, Stored, TableEntity, Tables, backend::BoxFuture, row::RowId, types::Primary,
};

/// Partition and id of an entity.
pub type Key = (u8, u8);

/// Fields of an entity. The values are small numbers, so that entities collide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are those of the indexes")]
pub struct Fields {
    pub group: u8,
    pub id: u8,
    pub mail: Option<u8>,
    pub badge: u8,
    pub seat: u8,
    pub tag: u8,
    pub age: u8,
    pub city: u8,
    pub note: u8,
    /// Number of one of `RATES`.
    pub rate: u8,
    /// Number of the moment from which on the entity is absent; 0 if it never expires.
    pub until: u8,
    /// True if the entity is in the bin.
    pub in_bin: bool,
    /// Number of the write that wrote all fields.
    pub stamp: u32,
    /// Number of the write that wrote this field, which no index contains.
    pub likes: u32,
    /// Number of the write of another program that set a property which the entity does not know; 0 without it.
    pub extra: u32,
}

/// Values of a property that indexes include. The last one does not equal itself.
const RATES: [f64; 3] = [0.5, -1.5, f64::NAN];

/// Number of the last moment of a program.
pub const MOMENTS: u8 = 4;

/// Returns a moment of a program. Programs begin at the moment 0.
pub fn moment(number: u8) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + 3600 * u64::from(number))
}

/// Returns the number of a moment.
fn number_of(time: SystemTime) -> u8 {
    (0..=MOMENTS).find(|number| moment(*number) == time).unwrap_or(u8::MAX)
}

/// Number of indexed values.
pub const VALUES: u8 = 3;

impl Fields {
    /// Returns the entity's key.
    pub const fn key(&self) -> Key {
        (self.group, self.id)
    }

    /// Checks whether the entity has expired at a moment.
    pub const fn has_expired(&self, now: u8) -> bool {
        self.until > 0 && self.until <= now
    }

    /// Checks whether readers see the entity at a moment.
    pub const fn is_visible(&self, now: u8) -> bool {
        !self.in_bin && !self.has_expired(now)
    }

    /// Returns the fields that the entity knows.
    pub const fn known(self) -> Self {
        Self { extra: 0, ..self }
    }
}

/// Number of values that an index can have: those of two fields are distinct.
pub const INDEXED_VALUES: u8 = 2 * VALUES;

/// The values of an entity in an index: none, one, or those of the elements of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values(u8);

impl Values {
    /// Checks whether a value is one of them.
    pub const fn contains(self, value: u8) -> bool {
        value < INDEXED_VALUES && self.0 & (1 << value) != 0
    }

    const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl From<Option<u8>> for Values {
    fn from(value: Option<u8>) -> Self {
        Self(value.map_or(0, |value| 1 << value))
    }
}

impl From<[u8; 2]> for Values {
    fn from([one, other]: [u8; 2]) -> Self {
        Self(1 << one | 1 << other)
    }
}

/// Index of a [`Subject`].
#[derive(Clone, Copy)]
pub struct Index {
    /// Name of the index.
    pub name: &'static str,
    /// True if a value has one entity at most.
    pub unique: bool,
    /// True if the index is limited to a partition, for uniqueness and for queries.
    pub here: bool,
    /// Returns the indexed values. The entity has a row for each.
    pub values: fn(&Fields) -> Values,
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Index {
    /// Checks whether both entities would have the same row of a unique index.
    pub fn clashes(&self, one: &Fields, other: &Fields) -> bool {
        let shared = self.unique && (!self.here || one.group == other.group);
        shared && one.key() != other.key() && (self.values)(one).intersects((self.values)(other))
    }

    /// Checks whether a query of this partition and value finds the entity.
    pub fn finds(&self, fields: &Fields, group: u8, value: u8) -> bool {
        (self.values)(fields).contains(value) && (!self.here || fields.group == group)
    }
}

/// Write of a transaction.
#[derive(Debug)]
pub enum Part<E> {
    /// Inserts the entity.
    Insert(E),
    /// Upserts the entity.
    Upsert(E),
    /// Merges the entity.
    Merge(E),
    /// Updates the entity.
    Update(Stored<E>),
    /// Sets the likes.
    Patch(Key, u32),
    /// Sets the likes of this version.
    PatchIf(Key, ETag, u32),
    /// Sets the property of the other program.
    Extra(Key, u32),
    /// Deletes the entity.
    Delete(Stored<E>),
    /// Removes the entity.
    Remove(Key),
}

/// Entity of random programs.
pub trait Subject: TableEntity + Clone + fmt::Debug + 'static {
    /// Indexes of the entity.
    const INDEXES: &'static [Index];
    /// True if the entity expires and has a bin.
    const EXPIRES: bool;

    /// Returns the entity with these fields.
    fn new(fields: &Fields) -> Self;

    /// Returns its fields.
    fn fields(&self) -> Fields;

    /// Returns the query of this key.
    fn point(key: Key) -> Point<Self, Primary>;

    /// Sets the likes.
    fn patch(tables: &Tables, key: Key, likes: u32) -> BoxFuture<'static, Result<ETag>>;

    /// Sets the likes of this version.
    fn patch_if(tables: &Tables, key: Key, etag: &ETag, likes: u32) -> BoxFuture<'static, Result<ETag>>;

    /// Sets the property of the other program.
    fn set_extra(tables: &Tables, key: Key, extra: u32) -> BoxFuture<'static, Result<ETag>>;

    /// Puts the entity into the bin. Returns whether there was one; false without a bin.
    fn soft_delete(tables: &Tables, key: Key) -> impl Future<Output = Result<bool>>;

    /// Takes the entity out of the bin. Returns whether there was one; false without a bin.
    fn restore(tables: &Tables, key: Key) -> impl Future<Output = Result<bool>>;

    /// Removes what has expired, and returns the number of these entities; 0 if entities do not expire.
    fn sweep(tables: &Tables) -> impl Future<Output = Result<usize>>;

    /// Reads the entities in the bin of a partition; none without a bin.
    fn in_bin(tables: &Tables, group: u8) -> impl Future<Output = Result<Vec<Fields>>>;

    /// Reads the entities of a partition as the other program does, to which no time hides one.
    fn with_extra(tables: &Tables, group: u8) -> impl Future<Output = Result<Vec<Fields>>>;

    /// Reads the entities of a partition.
    fn all(tables: &Tables, group: u8) -> impl Future<Output = Result<Vec<Fields>>>;

    /// Reads the entities of a partition page by page.
    fn pages(tables: &Tables, group: u8, size: usize) -> impl Future<Output = Result<Vec<Fields>>>;

    /// Reads through the index of this number.
    fn find(tables: &Tables, index: usize, group: u8, value: u8) -> impl Future<Output = Result<Vec<Fields>>>;

    /// Reads ids and notes from the rows of a covering index of the partition.
    fn covered(tables: &Tables, group: u8) -> impl Future<Output = Result<Vec<(u8, u8)>>>;

    /// Executes these writes in one transaction.
    fn transact(tables: &Tables, parts: &mut [Part<Self>]) -> impl Future<Output = Result<usize>>;
}

/// Returns the key of an entity's row.
pub fn key_of(row: &RowId) -> Option<Key> {
    let id = row.row_key.rsplit('-').next()?;
    Some((row.partition_key.parse().ok()?, id.parse().ok()?))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "a condition receives its fields by reference")]
const fn is_adult(age: &u8) -> bool {
    *age > 0
}

macro_rules! found {
    (one, $query:expr, $tables:ident) => {
        $query.get($tables).await?.into_iter()
    };
    (all, $query:expr, $tables:ident) => {
        $query.all($tables).await?.into_iter()
    };
}

macro_rules! transact {
    ($tables:ident $parts:ident) => {{
        let mut transaction = $tables.transaction();
        for part in $parts {
            transaction = match part {
                Part::Insert(entity) => transaction.insert(entity),
                Part::Upsert(entity) => transaction.upsert(entity),
                Part::Merge(entity) => transaction.merge(entity),
                Part::Update(stored) => transaction.update(stored),
                Part::Patch(key, likes) => transaction.patch(Entity::point(*key), |row| [row.likes.set(*likes)]),
                Part::PatchIf(key, etag, likes) => {
                    transaction.patch_if(Entity::point(*key), etag, |row| [row.likes.set(*likes)])
                }
                Part::Extra((group, id), extra) => {
                    transaction.patch(Other::key(*group, *id), |row| [row.extra.set(*extra)])
                }
                Part::Delete(stored) => transaction.delete(stored),
                Part::Remove(key) => transaction.remove(Entity::point(*key)),
            };
        }
        transaction.commit().await.map(|etags| etags.len())
    }};
}

macro_rules! bin {
    (lasts ($($argument:ident),*) $found:expr) => {{
        let _ = ($($argument),*);
        Ok(Default::default())
    }};
    (expires ($($argument:ident),*) $found:expr) => {
        $found
    };
}

macro_rules! expires {
    (lasts) => {
        false
    };
    (expires) => {
        true
    };
}

/// A struct in a field.
#[derive(Property, Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "as of `Fields`")]
pub struct Home {
    pub city: u8,
}

/// An enum with data in a field.
#[derive(Property, Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "as of `Fields`")]
pub enum Contact {
    Mail(u8),
    Nothing,
}

macro_rules! subjects {
    ($($doc:literal $module:ident $table:literal [$($table_option:tt)*] $life:ident covered by $covered:ident {
        $([$name:ident $($option:tt)*] $unique:literal $here:literal |$row:ident| $value:expr, $how:ident $query:expr;)+
    })+) => {$(
        #[doc = $doc]
        pub mod $module {
            use std::{collections::BTreeSet, time::SystemTime};

            use table_runtime::{
                ETag, Point, Projection, Result, Stored, TableEntity, Tables, backend::BoxFuture, types::Primary,
            };

            use super::{
                Contact, Fields, Home, Index, Key, Part, RATES, Subject, VALUES, Values, is_adult, moment, number_of,
            };

            #[doc = $doc]
            #[derive(TableEntity, Clone, Debug)]
            #[table(name = $table, $($table_option)*)]
            $(#[index($name $($option)*)])+
            #[allow(missing_docs, reason = "they are those of `Fields`")]
            pub struct Entity {
                #[partition_key]
                pub group: u8,
                #[row_key]
                pub id: u8,
                pub contact: Contact,
                pub badge: u8,
                pub seat: u8,
                pub tag: u8,
                pub age: u8,
                pub home: Home,
                pub note: u8,
                pub rate: f64,
                pub until: Option<SystemTime>,
                pub deleted: Option<SystemTime>,
                pub stamp: u32,
                pub likes: u32,
                /// The tag and the city, one of them twice.
                #[property(json)]
                pub marks: Vec<u8>,
                /// The seat, and the badge as another number.
                #[property(json)]
                pub names: BTreeSet<u8>,
            }

            /// The entity as another program knows it, which has no write id.
            #[derive(TableEntity, Clone, Debug)]
            #[table(name = $table)]
            $(#[index($name $($option)*)])+
            struct Other {
                #[partition_key]
                group: u8,
                #[row_key]
                id: u8,
                contact: Contact,
                badge: u8,
                seat: u8,
                tag: u8,
                age: u8,
                home: Home,
                note: u8,
                rate: f64,
                until: Option<SystemTime>,
                deleted: Option<SystemTime>,
                stamp: u32,
                likes: u32,
                #[property(json)]
                marks: Vec<u8>,
                #[property(json)]
                names: BTreeSet<u8>,
                #[property(default)]
                extra: u32,
            }

            #[derive(Projection)]
            #[projection(of = Entity)]
            struct Noted {
                id: u8,
                note: u8,
            }

            impl Subject for Entity {
                const INDEXES: &'static [Index] = &[$(
                    Index { name: stringify!($name), unique: $unique, here: $here, values: |$row| Values::from($value) },
                )+];
                const EXPIRES: bool = expires!($life);

                fn new(fields: &Fields) -> Self {
                    let Fields { group, id, mail, badge, seat, tag, age, city, note, rate, stamp, likes, .. } = *fields;
                    let until = (fields.until > 0).then(|| moment(fields.until));
                    let deleted = fields.in_bin.then(|| moment(0));
                    let (rate, home) = (RATES[usize::from(rate)], Home { city });
                    let contact = mail.map_or(Contact::Nothing, Contact::Mail);
                    let (marks, names) = (vec![tag, city, tag], BTreeSet::from([seat, VALUES + badge]));
                    Self {
                        group, id, contact, badge, seat, tag, age, home, note, rate, until, deleted, stamp, likes, marks, names,
                    }
                }

                fn fields(&self) -> Fields {
                    let Self { group, id, contact, badge, seat, tag, age, home, note, rate, stamp, likes, .. } = *self;
                    let (until, in_bin) = (self.until.map_or(0, number_of), self.deleted.is_some());
                    let Home { city } = home;
                    assert!(self.marks == [tag, city, tag] && self.names == BTreeSet::from([seat, VALUES + badge]));
                    let mail = if let Contact::Mail(mail) = contact { Some(mail) } else { None };
                    let is_same = |other: &f64| rate.to_bits() == other.to_bits() || rate.is_nan() && other.is_nan();
                    let rate = RATES.iter().position(is_same).and_then(|rate| rate.try_into().ok()).unwrap_or(u8::MAX);
                    Fields { group, id, mail, badge, seat, tag, age, city, note, rate, until, in_bin, stamp, likes, extra: 0 }
                }

                fn point((group, id): Key) -> Point<Self, Primary> {
                    Self::key(group, id)
                }

                fn patch(tables: &Tables, key: Key, likes: u32) -> BoxFuture<'static, Result<ETag>> {
                    tables.patch(Self::point(key), |row| [row.likes.set(likes)])
                }

                fn patch_if(tables: &Tables, key: Key, etag: &ETag, likes: u32) -> BoxFuture<'static, Result<ETag>> {
                    tables.patch_if(Self::point(key), etag, |row| [row.likes.set(likes)])
                }

                fn set_extra(tables: &Tables, (group, id): Key, extra: u32) -> BoxFuture<'static, Result<ETag>> {
                    tables.patch(Other::key(group, id), |row| [row.extra.set(extra)])
                }

                async fn soft_delete(tables: &Tables, key: Key) -> Result<bool> {
                    bin!($life (tables, key) tables.soft_delete(Self::point(key)).await)
                }

                async fn restore(tables: &Tables, key: Key) -> Result<bool> {
                    bin!($life (tables, key) Ok(tables.restore(Self::point(key)).await?.is_some()))
                }

                async fn sweep(tables: &Tables) -> Result<usize> {
                    bin!($life (tables) Ok(tables.sweep::<Self>().await?.removed))
                }

                async fn in_bin(tables: &Tables, group: u8) -> Result<Vec<Fields>> {
                    bin!($life (tables, group) {
                        let found = Self::by_key(group).only_deleted().all(tables).await?;
                        Ok(found.iter().map(|entity| entity.fields()).collect())
                    })
                }

                async fn with_extra(tables: &Tables, group: u8) -> Result<Vec<Fields>> {
                    let all = Other::by_key(group).all(tables).await?;
                    let fields = all.into_iter().map(|other| {
                        let Other {
                            group, id, contact, badge, seat, tag, age, home, note, rate, until, deleted, stamp, likes, marks,
                            names, extra,
                        } = Stored::into_inner(other);
                        let known = Self {
                            group, id, contact, badge, seat, tag, age, home, note, rate, until, deleted, stamp, likes, marks,
                            names,
                        };
                        Fields { extra, ..known.fields() }
                    });
                    Ok(fields.collect())
                }

                async fn all(tables: &Tables, group: u8) -> Result<Vec<Fields>> {
                    Ok(Self::by_key(group).all(tables).await?.iter().map(|entity| entity.fields()).collect())
                }

                async fn pages(tables: &Tables, group: u8, size: usize) -> Result<Vec<Fields>> {
                    let (mut found, mut next) = (Vec::new(), None::<String>);
                    loop {
                        let page = Self::by_key(group).page(tables, size, next.as_deref()).await?;
                        found.extend(page.entities.iter().map(|entity| entity.fields()));
                        next = page.next;
                        if next.is_none() {
                            return Ok(found);
                        }
                    }
                }

                async fn find(tables: &Tables, index: usize, group: u8, value: u8) -> Result<Vec<Fields>> {
                    let mut found = Vec::new();
                    let name = Self::INDEXES[index].name;
                    $(if name == stringify!($name) {
                        let query: fn(u8, u8) -> _ = $query;
                        found.extend(found!($how, query(group, value), tables).map(|entity| entity.fields()));
                    })+
                    Ok(found)
                }

                async fn covered(tables: &Tables, group: u8) -> Result<Vec<(u8, u8)>> {
                    let mut found = Vec::new();
                    let query = Self::$covered(group).select::<Noted>();
                    query.for_each(tables, |noted| found.push((noted.id, noted.note))).await?;
                    Ok(found)
                }

                async fn transact(tables: &Tables, parts: &mut [Part<Self>]) -> Result<usize> {
                    transact!(tables parts)
                }
            }
        }
    )+};
}

/// An entity with an index of every kind but copies.
macro_rules! mixed {
    ($($header:tt)*) => {
        subjects! {
            $($header)* covered by by_here {
                [mail, partition(contact.mail), unique] true false |row| row.mail, one |_, value| Entity::by_mail(value);
                [badge, same_table, unique, include(note, rate)] true false |row| Some(row.badge),
                    one |_, value| Entity::by_badge(value);
                [seat, same_partition, unique] true true |row| Some(row.seat),
                    one |group, value| Entity::by_seat(group).eq(value);
                [tag, same_partition, list] false true |row| Some(row.tag),
                    all |group, value| Entity::by_tag(group).eq(value);
                [adult, partition(age), when(age, is_adult)] false false |row| (row.age > 0).then_some(row.age),
                    all |_, value| Entity::by_adult(value);
                [city, partition(home.city), include(note, rate)] false false |row| Some(row.city), all |_, value| Entity::by_city(value);
                [here, row(home.city), same_partition, include(note, rate)] false true |row| Some(row.city),
                    all |group, value| Entity::by_here(group).eq(value);
                [mark, partition(each(marks)), include(note, rate)] false false |row| [row.tag, row.city],
                    all |_, value| Entity::by_mark(value);
                [name, partition(each(names)), unique] true false |row| [row.seat, VALUES + row.badge],
                    one |_, value| Entity::by_name(value);
            }
        }
    };
}

/// An entity whose indexes are in its partition, so that transactions can write it.
macro_rules! local {
    ($($header:tt)*) => {
        subjects! {
            $($header)* covered by by_mark {
                [seat, same_partition, unique] true true |row| Some(row.seat),
                    one |group, value| Entity::by_seat(group).eq(value);
                [badge, same_partition, unique, include(note, rate)] true true |row| Some(row.badge),
                    one |group, value| Entity::by_badge(group).eq(value);
                [tag, same_partition, list] false true |row| Some(row.tag),
                    all |group, value| Entity::by_tag(group).eq(value);
                [city, row(home.city), same_partition] false true |row| Some(row.city),
                    all |group, value| Entity::by_city(group).eq(value);
                [adult, row(age), same_partition, when(age, is_adult)] false true |row| (row.age > 0).then_some(row.age),
                    all |group, value| Entity::by_adult(group).eq(value);
                [mark, row(each(marks)), same_partition, include(note, rate)] false true |row| [row.tag, row.city],
                    all |group, value| Entity::by_mark(group).eq(value);
                [name, row(each(names)), same_partition, unique] true true |row| [row.seat, VALUES + row.badge],
                    one |group, value| Entity::by_name(group).eq(value);
            }
        }
    };
}

mixed! { "An entity with an index of every kind but copies." mixed "Mixed" [] lasts }
mixed! {
    "The same, which expires and has a bin." fleeting "Fleeting" [expires = until, soft_delete = deleted] expires
}
local! {
    "An entity whose indexes are in its partition, so that transactions can write it." local "Local" [write_id] lasts
}
local! {
    "The same, which expires and has a bin." brief "Brief" [write_id, expires = until, soft_delete = deleted] expires
}
mixed! {
    "The same as `mixed`, whose writes record events." logged "Logged" [events(copy)] lasts
}
local! {
    "The same as `brief`, whose writes record events."
    told "Told" [write_id, events(copy), expires = until, soft_delete = deleted] expires
}
