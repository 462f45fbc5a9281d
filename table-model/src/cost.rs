//! The cost of queries, as types, so that a function can limit the cost of the queries that it accepts.
//!
//! ```
//! use table_runtime::{Query, cost::{AtMost, Range}};
//!
//! /// Runs for a web page, where a scan would be too slow.
//! fn cheap(query: impl Query<Cost: AtMost<Range>>) {
//!     println!("{}", query.explain());
//! }
//! ```

use std::borrow::Cow;

use crate::sealed::{Sealed, sealed};

/// One row by its full key.
pub enum Point {}
/// Rows of one partition, between two row keys.
pub enum Range {}
/// A range of pointers, and a point read for each of them.
pub enum Lookups {}
/// Rows of one partition, some of which a filter drops: the query reads more rows than it returns.
pub enum PartitionScan {}
/// A range in each of `N` hash partitions.
pub enum FanOut<const N: usize> {}
/// Every row of the partitions between two partition keys.
pub enum PartitionRange {}
/// Every row of a table.
pub enum TableScan {}

sealed! {
    [] Point Range Lookups PartitionScan PartitionRange TableScan;
    [const N: usize] FanOut<N>;
}

/// A cost class.
pub trait Cost: Sealed {
    /// Returns the name of the class, such as `range`.
    fn name() -> Cow<'static, str>;
}

macro_rules! names {
    ($($cost:ident $name:literal)*) => {$(
        impl Cost for $cost {
            fn name() -> Cow<'static, str> {
                $name.into()
            }
        }
    )*};
}

names!(Point "point" Range "range" Lookups "lookups" PartitionScan "partition scan" PartitionRange "partition range"
    TableScan "table scan");

impl<const N: usize> Cost for FanOut<N> {
    fn name() -> Cow<'static, str> {
        format!("fan-out over {N}").into()
    }
}

/// A cost class that is at most `Max`.
#[diagnostic::on_unimplemented(
    message = "this query is a `{Self}`, dearer than the `{Max}` allowed here",
    label = "costs more than `{Max}`",
    note = "the bound is on the cost of a query: `impl Query<Cost: cost::AtMost<cost::Lookups>>`",
    note = "in order of cost: Point, Range, Lookups, PartitionScan, FanOut<N>, PartitionRange, TableScan"
)]
pub trait AtMost<Max>: Cost {}

macro_rules! at_most {
    ($($cost:ty: $($max:ty)*;)*) => {$(
        $(
            #[diagnostic::do_not_recommend]
            impl AtMost<$max> for $cost {}
        )*
    )*};
}

at_most! {
    Point: Point Range Lookups PartitionScan PartitionRange TableScan;
    Range: Range Lookups PartitionScan PartitionRange TableScan;
    Lookups: Lookups PartitionScan PartitionRange TableScan;
    PartitionScan: PartitionScan PartitionRange TableScan;
    PartitionRange: PartitionRange TableScan;
    TableScan: TableScan;
}

macro_rules! within_fan_out {
    ($($cost:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<const N: usize> AtMost<FanOut<N>> for $cost {}
    )*};
}

within_fan_out!(Point Range Lookups PartitionScan);

// Stable Rust cannot state the bound `N <= M`. It can state equality, and the powers of two are listed.
#[diagnostic::do_not_recommend]
impl<const N: usize> AtMost<Self> for FanOut<N> {}

#[diagnostic::do_not_recommend]
impl<const N: usize> AtMost<PartitionRange> for FanOut<N> {}

#[diagnostic::do_not_recommend]
impl<const N: usize> AtMost<TableScan> for FanOut<N> {}

macro_rules! powers_of_two {
    ($n:literal $($more:literal)*) => {
        $(
            #[diagnostic::do_not_recommend]
            impl AtMost<FanOut<$more>> for FanOut<$n> {}
        )*
        powers_of_two!($($more)*);
    };
    () => {};
}

powers_of_two!(2 4 8 16 32 64 128 256);
