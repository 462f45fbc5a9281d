//! Groups: entities of several kinds in one partition, a master and its items, which one query reads.

use table_model::{
    TableEntity,
    key::{Encode, KeyPart, PartSink},
    unstable::{entity::WriteEntity, layout::Member},
};
use table_store::{Result, RowRef};

use super::{Done, OwnedView, Part, Primary, QueryBuilder, Rows};
use crate::{
    client::{sealed::Sealed, stored::StoredState},
    read::{FoundRow, Plan, Rules, Visible, member_of},
};

/// An enum of entities that share a table and a partition: `#[derive(EntityGroup)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no group of entities",
    label = "not a group: an enum with `#[derive(EntityGroup)]`",
    note = "only the query of a group has `modify`; one entity: `tables.modify(T::key(…), |entity| entity.field = value)`",
    note = "many entities: read them, and write `tables.modify(Stored::key(&stored), |entity| …)` for each"
)]
pub trait EntityGroup: OwnedView<Item = Self> + Send {
    /// Members for the variants, the master first.
    #[doc(hidden)]
    const MEMBERS: &'static [Member];

    /// Reads the row as the variant with this number.
    #[doc(hidden)]
    fn read(variant: usize, table: &str, row: RowRef<'_>) -> Result<(Self, StoredState)>;

    /// Returns the number of the variant, and the entity in it.
    #[doc(hidden)]
    fn member(&self) -> (usize, &dyn WriteEntity);

    /// Sets the state of the entity's row, as far as the variant holds it.
    #[doc(hidden)]
    fn set_state(&mut self, state: StoredState);
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
        Ok(self.stored_member()?.map(|(member, _)| member))
    }

    /// Reads the row as a variant of the group, and returns it with the state of the row.
    pub(crate) fn stored_member<G: EntityGroup>(&self) -> Result<Option<(G, StoredState)>> {
        if !self.is_committed()? {
            return Ok(None);
        }
        let variant = member_of(G::MEMBERS, self.table, self.row)?;
        variant.map(|variant| <G as EntityGroup>::read(variant, self.table, *self.row)).transpose()
    }
}
