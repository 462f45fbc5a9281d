//! Access to the partitions of a query, and its cost.

use std::marker::PhantomData;

use table_model::{
    cost::{Cost, FanOut, Lookups, PartitionRange, PartitionScan, Range, TableScan},
    key::{Encode, First, Kind, Lowercase, Plain, Separated, Uppercase, kind},
    unstable::key::is_decided_by,
};

use super::{Lookup, Point, Rows};
use crate::{
    client::sealed::Sealed,
    query::Done,
    read::{Plan, ReachedPartitions},
};

/// Access to a partition that is not known yet. The partition key is computed from the value of the row key's first
/// field; with `first = N`, a prefix of that value is enough.
///
/// `To` is the access once the partition is known.
pub struct Unopened<N, To = Range>(PhantomData<(N, To)>);
/// Access to hash partitions. The partition key is a hash of the value of the row key's first field; a query without
/// that value reads all partitions.
///
/// `To` is the access once the partition is known.
pub struct Spread<const N: usize, H, To = Range>(PhantomData<(H, To)>);

impl Sealed for Range {}
impl Sealed for Lookups {}
impl Sealed for PartitionScan {}
impl Sealed for PartitionRange {}
impl Sealed for TableScan {}
impl<const N: usize> Sealed for FanOut<N> {}
impl<N, To> Sealed for Unopened<N, To> {}
impl<const N: usize, H, To> Sealed for Spread<N, H, To> {}
impl<To> Sealed for InHashPartition<To> {}

/// An access to the partitions of a query, and the access that it becomes after a prefix or a filter.
///
/// Every access implements this trait, also one that allows neither. Without these types the compiler would not know
/// the type that a method returns, and would not report which other bound is missing.
pub trait AnyAccess: Sealed {
    /// Access after a value of the next part.
    type AfterValue;
    /// Access after a prefix of the next part.
    type AfterPrefix;
    /// Access with a filter.
    type Filtered;
    /// Access to one of several hash partitions.
    type OnePartition;
}

/// Access to partitions that are known, so that the query can run.
#[diagnostic::on_unimplemented(
    message = "the partition is not known yet",
    label = "narrow the query with `eq`, or with `starts_with`, first",
    note = "the partition of this key is computed from the value of its row key: write `.eq(…)` before this call, or \
            `.starts_with(\"…\")` where it is made of the first characters"
)]
pub trait Opened: AnyAccess {
    /// Cost of the query.
    type Cost: Cost;

    #[doc(hidden)]
    const REACHED: ReachedPartitions;
}

/// An access that accepts a value for the next part, which has the kind `K`.
pub trait Access<K: Kind>: AnyAccess {
    #[doc(hidden)]
    fn open(value: K::Value<'_>, plan: &mut Plan);
}

/// An access that accepts a prefix of the next part.
#[diagnostic::on_unimplemented(
    message = "a prefix does not determine the partition",
    label = "this partition is computed from the whole value",
    note = "give the value with `eq`; `#[partition_key(first = N)]` makes partitions that a prefix determines"
)]
pub trait PrefixAccess: AnyAccess {
    #[doc(hidden)]
    fn open_prefix(prefix: &str, plan: &mut Plan);
}

/// Access to one of several hash partitions, whose number the query names. The cost is at most `To`.
///
/// A full key is no point: it may belong to another partition.
pub struct InHashPartition<To>(PhantomData<To>);

/// An access to hash partitions, of which a query can name one.
#[diagnostic::on_unimplemented(
    message = "this query reads no hash partitions",
    label = "one partition, or a range of them",
    note = "hash partitions are those of `#[partition_key(hash = N)]` and of an index with `partition(id(hash = N))`, as long as \
            the query names no value of the hashed field"
)]
pub trait HashPartitioned: AnyAccess {
    #[doc(hidden)]
    const COUNT: usize;
}

#[diagnostic::do_not_recommend]
impl<const N: usize> HashPartitioned for FanOut<N> {
    const COUNT: usize = N;
}

#[diagnostic::do_not_recommend]
impl<const N: usize, H, To> HashPartitioned for Spread<N, H, To> {
    const COUNT: usize = N;
}

/// An access that accepts a full key. The key makes the query a point, or rows if it does not name one partition.
#[diagnostic::on_unimplemented(
    message = "a filtered or scanning query, or one over several partitions, cannot be narrowed",
    label = "the rows that are read are already chosen",
    note = "`eq`, `starts_with` and `range` choose the rows that are read, `filter` drops some of them: it comes last",
    note = "`by_partitions` and `scan` read whole partitions: an index whose key begins with the field narrows over all of them"
)]
pub trait Complete: Sealed {
    /// Query with its full key.
    type Point<E>;

    /// Query with the full key of a unique index.
    type Unique<E>;

    #[doc(hidden)]
    fn complete<E>(plan: Plan) -> Self::Point<E>;

    #[doc(hidden)]
    fn complete_unique<E>(plan: Plan) -> Self::Unique<E>;
}

macro_rules! opened {
    ($($access:ty: $cost:ty, $reached:expr, [$($n:tt)*];)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($n)*> Opened for $access {
            type Cost = $cost;

            const REACHED: ReachedPartitions = $reached;
        }
    )*};
}

opened! {
    Range: Self, ReachedPartitions::One, [];
    Lookups: Self, ReachedPartitions::One, [];
    PartitionScan: Self, ReachedPartitions::One, [];
    PartitionRange: Self, ReachedPartitions::Range, [];
    TableScan: Self, ReachedPartitions::All, [];
    FanOut<N>: Self, ReachedPartitions::Buckets(N), [const N: usize];
    Spread<N, H, To>: FanOut<N>, ReachedPartitions::Buckets(N), [const N: usize, H, To];
    InHashPartition<To>: To, ReachedPartitions::One, [To: Cost];
}

macro_rules! points {
    ($($access:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Complete for $access {
            type Point<E> = Point<E>;
            type Unique<E> = Point<E, Lookup>;

            fn complete<E>(plan: Plan) -> Point<E> {
                Point::new(plan)
            }

            fn complete_unique<E>(plan: Plan) -> Point<E, Lookup> {
                Point::new(plan)
            }
        }
    )*};
}

points!(Range Lookups);

macro_rules! rows {
    ($($access:ty, [$($n:tt)*];)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($n)*> Complete for $access {
            type Point<E> = Rows<E, Done, Self>;
            type Unique<E> = Rows<E, Done, Self>;

            fn complete<E>(plan: Plan) -> Rows<E, Done, Self> {
                Rows::new(plan)
            }

            fn complete_unique<E>(plan: Plan) -> Rows<E, Done, Self> {
                Rows::new(plan)
            }
        }
    )*};
}

rows! {
    FanOut<N>, [const N: usize];
    InHashPartition<To>, [To];
}

macro_rules! stays {
    ($($access:ty: $filtered:ty, $one:ty, [$($n:tt)*];)*) => {$(
        impl<$($n)*> AnyAccess for $access {
            type AfterValue = Self;
            type AfterPrefix = Self;
            type Filtered = $filtered;
            type OnePartition = $one;
        }

        impl<K: Kind, $($n)*> Access<K> for $access {
            fn open(_: K::Value<'_>, _: &mut Plan) {}
        }

        #[diagnostic::do_not_recommend]
        impl<$($n)*> PrefixAccess for $access {
            fn open_prefix(_: &str, _: &mut Plan) {}
        }
    )*};
}

stays! {
    Range: PartitionScan, Self, [];
    Lookups: PartitionScan, Self, [];
    PartitionScan: Self, Self, [];
    PartitionRange: Self, Self, [];
    TableScan: Self, Self, [];
    // The query may have a filter.
    FanOut<N>: Self, InHashPartition<PartitionScan>, [const N: usize];
    InHashPartition<To>: PartitionScan, Self, [To];
}

impl<N, To> AnyAccess for Unopened<N, To> {
    type AfterValue = To;
    type AfterPrefix = To;
    type Filtered = PartitionScan;
    type OnePartition = Self;
}

impl<const N: usize, H, To> AnyAccess for Spread<N, H, To> {
    type AfterValue = To;
    type AfterPrefix = FanOut<N>;
    type Filtered = FanOut<N>;
    type OnePartition = InHashPartition<To>;
}

impl<K: Kind, N: Encode<K>, To> Access<K> for Unopened<N, To> {
    fn open(value: K::Value<'_>, plan: &mut Plan) {
        plan.push_partition::<K, N>(value, true);
    }
}

impl<K: Kind, const N: usize, H: Encode<K>, To> Access<K> for Spread<N, H, To> {
    fn open(value: K::Value<'_>, plan: &mut Plan) {
        plan.push_partition::<K, H>(value, true);
    }
}

#[diagnostic::do_not_recommend]
impl<const N: usize, H, To> PrefixAccess for Spread<N, H, To> {
    fn open_prefix(_: &str, _: &mut Plan) {}
}

macro_rules! first {
    ($($of:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<const N: usize, To> PrefixAccess for Unopened<First<N, $of>, To> {
            fn open_prefix(prefix: &str, plan: &mut Plan) {
                open_first::<First<N, $of>>(prefix, N, is_decided_by::<N, $of>(prefix), plan);
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const N: usize, const SEPARATOR: char, To> PrefixAccess for Unopened<Separated<First<N, $of>, SEPARATOR>, To> {
            fn open_prefix(prefix: &str, plan: &mut Plan) {
                let decided = is_decided_by::<N, $of>(prefix);
                open_first::<Separated<First<N, $of>, SEPARATOR>>(prefix, N, decided, plan);
            }
        }
    )*};
}

first!(Plain Lowercase Uppercase);

fn open_first<N: Encode<kind::Text>>(prefix: &str, characters: usize, decided: bool, plan: &mut Plan) {
    if decided {
        plan.push_partition::<kind::Text, N>(prefix, true);
    } else {
        let first = match characters {
            1 => "character".to_owned(),
            more => format!("{more} characters"),
        };
        plan.refuse(format!(
            "the prefix {prefix:?} is too short to determine the partition, which is made of the first {first}"
        ));
    }
}
