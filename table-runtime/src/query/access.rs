//! How a query reaches its partitions, and what that costs.

use std::marker::PhantomData;

use super::{Lookup, Point, Rows};
use crate::{
    cost::{Cost, FanOut, Lookups, PartitionScan, Range, TableScan},
    key::{Encode, First, Kind, Lowercase, Plain, Separated, Uppercase, kind},
    query::Done,
    read::{Plan, Reached},
};

/// The partition is made of the row key's first field: it follows from that one's value, or, of `first = N`
/// characters, from its prefix.
///
/// `To` is the access once it is known.
pub struct Unopened<N, To = Range>(PhantomData<(N, To)>);
/// The partition is a hash of the row key's first field: it follows from that one's value. Until it is given, all of
/// them are read.
///
/// `To` is the access once it is known.
pub struct Spread<const N: usize, H, To = Range>(PhantomData<(H, To)>);

/// How a query reaches its partitions: what becomes of it, whatever the query is allowed to do.
///
/// It holds of every access, since a method whose returned type is missing cannot say what else it misses.
pub trait Reach {
    /// After a prefix of the next part.
    type AfterPrefix;
    /// With a filter.
    type Filtered;
}

/// A query whose partitions are known.
#[diagnostic::on_unimplemented(
    message = "the partition is not known yet",
    label = "narrow the query with `eq`, or with `starts_with`, first",
    note = "the partition of this key follows from the value of its row key: write `.eq(…)` before this call, or \
            `.starts_with(\"…\")` where it is made of the first characters"
)]
pub trait Opened: Reach {
    /// What it costs.
    type Cost: Cost;

    #[doc(hidden)]
    const REACHED: Reached;
}

/// What giving a value to the next part, of the kind `K`, makes of the access.
pub trait Access<K: Kind> {
    /// The access after it.
    type After;

    #[doc(hidden)]
    fn open(value: K::Value<'_>, plan: &mut Plan);
}

/// An access that follows from a prefix of the next part.
#[diagnostic::on_unimplemented(
    message = "the partition does not follow from a prefix",
    label = "this partition is made of the whole value",
    note = "give the value with `eq`; `#[partition_key(first = N)]` makes partitions that follow from a prefix"
)]
pub trait PrefixAccess: Reach {
    #[doc(hidden)]
    fn open_prefix(prefix: &str, plan: &mut Plan);
}

/// An access with which a whole key is a point.
#[diagnostic::on_unimplemented(
    message = "a filtered or scanning query cannot be narrowed",
    label = "narrow before `filter`",
    note = "`eq`, `starts_with` and `range` choose the rows that are read, `filter` drops some of them: it comes last"
)]
pub trait Complete {
    /// The query with its whole key given.
    type Point<E>;

    /// The query with the whole key of a unique index given.
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

            const REACHED: Reached = $reached;
        }
    )*};
}

opened! {
    Range: Self, Reached::One, [];
    Lookups: Self, Reached::One, [];
    PartitionScan: Self, Reached::One, [];
    TableScan: Self, Reached::All, [];
    FanOut<N>: Self, Reached::Buckets(N), [const N: usize];
    Spread<N, H, To>: FanOut<N>, Reached::Buckets(N), [const N: usize, H, To];
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

#[diagnostic::do_not_recommend]
impl<const N: usize> Complete for FanOut<N> {
    type Point<E> = Rows<E, Done, Self>;
    type Unique<E> = Rows<E, Done, Self>;

    fn complete<E>(plan: Plan) -> Rows<E, Done, Self> {
        Rows::new(plan)
    }

    fn complete_unique<E>(plan: Plan) -> Rows<E, Done, Self> {
        Rows::new(plan)
    }
}

macro_rules! stays {
    ($($access:ty: $filtered:ty, [$($n:tt)*];)*) => {$(
        impl<$($n)*> Reach for $access {
            type AfterPrefix = Self;
            type Filtered = $filtered;
        }

        impl<K: Kind, $($n)*> Access<K> for $access {
            type After = Self;

            fn open(_: K::Value<'_>, _: &mut Plan) {}
        }

        #[diagnostic::do_not_recommend]
        impl<$($n)*> PrefixAccess for $access {
            fn open_prefix(_: &str, _: &mut Plan) {}
        }
    )*};
}

stays! {
    Range: PartitionScan, [];
    Lookups: PartitionScan, [];
    PartitionScan: Self, [];
    TableScan: Self, [];
    FanOut<N>: Self, [const N: usize];
}

impl<N, To> Reach for Unopened<N, To> {
    type AfterPrefix = To;
    type Filtered = PartitionScan;
}

impl<const N: usize, H, To> Reach for Spread<N, H, To> {
    type AfterPrefix = FanOut<N>;
    type Filtered = FanOut<N>;
}

impl<K: Kind, N: Encode<K>, To> Access<K> for Unopened<N, To> {
    type After = To;

    fn open(value: K::Value<'_>, plan: &mut Plan) {
        plan.push_partition::<K, N>(value, true);
    }
}

impl<K: Kind, const N: usize, H: Encode<K>, To> Access<K> for Spread<N, H, To> {
    type After = To;

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
                open_first::<First<N, $of>>(prefix, N, First::<N, $of>::is_decided_by(prefix), plan);
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const N: usize, const SEPARATOR: char, To> PrefixAccess for Unopened<Separated<First<N, $of>, SEPARATOR>, To> {
            fn open_prefix(prefix: &str, plan: &mut Plan) {
                let decided = First::<N, $of>::is_decided_by(prefix);
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
            "the prefix {prefix:?} is too short to tell the partition, which is made of the first {first}"
        ));
    }
}
