//! Groups: entities of several kinds in one partition, a master and its items, which one query reads.

use table_store::{Result, RowRef};

use super::{Done, OwnedView, Part, Primary, QueryBuilder, Rows};
use crate::{
    model::{
        entity::{self, Stored, TableEntity},
        key::{Encode, KeyPart, PartSink},
        layout::Member,
        sealed::Sealed,
    },
    read::{FoundRow, Plan, Rules, Visible, member_of},
};

/// An enum of entities that share a table and a partition: `#[derive(EntityGroup)]`.
pub trait EntityGroup: OwnedView<Item = Self> + Send {
    /// Members for the variants, the master first.
    #[doc(hidden)]
    const MEMBERS: &'static [Member];

    /// Reads the row as the variant with this number.
    #[doc(hidden)]
    fn read(variant: usize, table: &str, row: RowRef<'_>) -> Result<Self>;
}

/// Content of a variant of a group: an entity, or a [`Stored`] entity, which can be updated and deleted.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be in a group of entities",
    label = "not a table entity",
    note = "a variant holds an entity, a struct with `#[derive(TableEntity)]`, or `Stored<…>` of one"
)]
pub trait Variant {
    /// Type of the entity.
    type Entity: TableEntity;

    #[doc(hidden)]
    fn of(stored: Stored<Self::Entity>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Variant for E {
    type Entity = E;

    fn of(stored: Stored<E>) -> E {
        Stored::into_inner(stored)
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Variant for Stored<E> {
    type Entity = E;

    fn of(stored: Self) -> Self {
        stored
    }
}

/// Reads the content of a variant from a row.
pub fn variant<V: Variant>(table: &str, row: RowRef<'_>) -> Result<V> {
    entity::read(table, row).map(V::of)
}

/// An entity whose keys have the parts `P` and `R`. The parts are parameters because associated types of a public
/// entity could not name private types.
pub trait Keyed<P, R> {}

/// Parts of a partition key. A query starts with their values: one value alone, or several as a tuple.
pub trait PartitionParts: Sealed {
    /// Values of the parts.
    type Args<'a>;

    #[doc(hidden)]
    fn open<E>(args: Self::Args<'_>, builder: QueryBuilder<E>) -> QueryBuilder<E>;
}

macro_rules! partition_parts {
    ($parts:ty, $args:ty; $($t:ident $n:ident $value:ident $last:literal),*) => {
        impl<$($t: KeyPart, $n: Encode<$t::Kind>),*> PartitionParts for $parts {
            type Args<'a> = $args;

            #[allow(unused_parens, unused_mut, reason = "needless with one value or none")]
            fn open<E>(($($value),*): Self::Args<'_>, mut builder: QueryBuilder<E>) -> QueryBuilder<E> {
                $(builder.push_partition::<$t::Kind, $n>($t::arg_value($value), $last);)*
                builder
            }
        }
    };
}

partition_parts!((), (););
partition_parts!((Part<A, M>, ()), A::Arg<'a>; A M a true);
partition_parts!((Part<A, M>, (Part<B, N>, ())), (A::Arg<'a>, B::Arg<'a>); A M a false, B N b true);
partition_parts!(
    (Part<A, M>, (Part<B, N>, (Part<C, O>, ()))), (A::Arg<'a>, B::Arg<'a>, C::Arg<'a>);
    A M a false, B N b false, C O c true
);
partition_parts!(
    (Part<A, M>, (Part<B, N>, (Part<C, O>, (Part<D, P>, ())))),
    (A::Arg<'a>, B::Arg<'a>, C::Arg<'a>, D::Arg<'a>);
    A M a false, B N b false, C O c false, D P d true
);
partition_parts!(
    (Part<A, M>, (Part<B, N>, (Part<C, O>, (Part<D, P>, (Part<F, Q>, ()))))),
    (A::Arg<'a>, B::Arg<'a>, C::Arg<'a>, D::Arg<'a>, F::Arg<'a>);
    A M a false, B N b false, C O c false, D P d false, F Q f true
);
partition_parts!(
    (Part<A, M>, (Part<B, N>, (Part<C, O>, (Part<D, P>, (Part<F, Q>, (Part<G, R>, ())))))),
    (A::Arg<'a>, B::Arg<'a>, C::Arg<'a>, D::Arg<'a>, F::Arg<'a>, G::Arg<'a>);
    A M a false, B N b false, C O c false, D P d false, F Q f false, G R g true
);

/// Parts of the master's row key, with which the row keys of its items begin.
pub trait SharedParts: Sealed {
    /// The same parts with an end that never makes a query a point.
    type Open;
}

impl SharedParts for Primary {
    type Open = Done;
}

impl<T, N, R: SharedParts> SharedParts for (Part<T, N>, R) {
    type Open = (Part<T, N>, R::Open);
}

impl Member {
    /// Returns the member for the entity of a variant.
    pub const fn of<V: Variant>() -> Self {
        Self::new(&<V::Entity as TableEntity>::INFO.layout, <V::Entity as TableEntity>::INFO.skip_newer)
    }
}

/// Returns the query for the rows of a group's partition.
pub fn group_rows<G, E, P, R>(partition: P::Args<'_>) -> Rows<G, R::Open>
where
    G: EntityGroup,
    E: TableEntity + Keyed<P, R>,
    P: PartitionParts,
    R: SharedParts,
{
    let builder = QueryBuilder::<E>::group(Visible::new(const { &Rules::of_group(G::MEMBERS) }));
    P::open(partition, builder).rows()
}

impl<E: TableEntity> QueryBuilder<E> {
    /// Returns a query for a group of which `E` is the master.
    fn group(visible: Visible) -> Self {
        Self::of_plan(Plan::of_group::<E>(visible))
    }
}

impl FoundRow<'_> {
    /// Reads the row as a variant of the group; `None` if it is a row of no variant, or is not committed.
    #[doc(hidden)]
    pub fn member<G: EntityGroup>(&self) -> Result<Option<G>> {
        if !self.is_committed()? {
            return Ok(None);
        }
        let variant = member_of(G::MEMBERS, self.table, self.row)?;
        variant.map(|variant| <G as EntityGroup>::read(variant, self.table, *self.row)).transpose()
    }
}
