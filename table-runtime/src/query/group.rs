//! Entities of several kinds in one partition, read by one query: a master and its items.

use super::{Done, Part, Primary, QueryBuilder, Rows, View};
use crate::{
    Result, RowRef, Stored, TableEntity, ValueRef, entity,
    key::{Encode, KeyPart, PartSink},
    layout::Member,
    read::{FoundRow, Plan, Visible},
};

/// An enum of entities that share a table and a partition: `#[derive(EntityGroup)]`.
pub trait EntityGroup: View<Item = Self> + Send {
    /// The variants, the master first.
    #[doc(hidden)]
    const MEMBERS: &'static [Member];

    /// Reads the row of a variant, by its number.
    #[doc(hidden)]
    fn read(variant: usize, table: &str, row: RowRef<'_>) -> Result<Self>;
}

/// What a variant of a group holds: an entity, or it as [`Stored`], to be updated or deleted.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be in a group of entities",
    label = "not a table entity",
    note = "a variant holds an entity, a struct with `#[derive(TableEntity)]`, or `Stored<…>` of one"
)]
pub trait Variant {
    /// The entity.
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

/// Reads a variant.
pub fn variant<V: Variant>(table: &str, row: RowRef<'_>) -> Result<V> {
    entity::read(table, row).map(V::of)
}

/// The parts of an entity's two keys, as types: of a trait's own types, private ones of a public entity could not be.
pub trait Keyed<P, R>: TableEntity {}

/// The parts of a partition key, whose values a query is opened with: one by itself, several as a tuple.
pub trait PartitionParts {
    /// The values.
    type Args<'a>;

    #[doc(hidden)]
    fn open<E>(args: Self::Args<'_>, opening: QueryBuilder<E>) -> QueryBuilder<E>;
}

macro_rules! partition_parts {
    ($parts:ty, $args:ty; $($t:ident $n:ident $value:ident $last:literal),*) => {
        impl<$($t: KeyPart, $n: Encode<$t::Kind>),*> PartitionParts for $parts {
            type Args<'a> = $args;

            #[allow(unused_parens, unused_mut, reason = "of one value, or of none")]
            fn open<E>(($($value),*): Self::Args<'_>, mut opening: QueryBuilder<E>) -> QueryBuilder<E> {
                $(opening.push_partition::<$t::Kind, $n, $last>($t::arg_value($value));)*
                opening
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

/// The parts of the master's row key, with which its items' begin.
pub trait SharedParts {
    /// The same, after which no query is a point.
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
        Self::new(
            <V::Entity as TableEntity>::LAYOUTS,
            <V::Entity as TableEntity>::KIND,
            <V::Entity as TableEntity>::SEPARATOR,
        )
    }
}

/// The rows of a group's partition.
pub fn group_rows<G, E, P, R>(partition: P::Args<'_>) -> Rows<G, R::Open>
where
    G: EntityGroup,
    E: Keyed<P, R>,
    P: PartitionParts,
    R: SharedParts,
{
    let opening = QueryBuilder::<E>::group(const { Visible::of_group(G::MEMBERS) });
    P::open(partition, opening).rows()
}

impl<E: TableEntity> QueryBuilder<E> {
    /// The rows of a group of which `E` is the master.
    fn group(visible: Visible) -> Self {
        Self::of_plan(Plan::of_group::<E>(visible))
    }
}

impl FoundRow<'_> {
    /// The variant of the group that the row is; `None` if it is none.
    #[doc(hidden)]
    pub fn member<G: EntityGroup>(self) -> Result<Option<G>> {
        let members = G::MEMBERS;
        let variant = if members.iter().any(|member| member.kind.is_some()) {
            let mut properties = self.row.properties;
            let found =
                properties.seek(entity::KIND).map_err(|damage| crate::codec::damaged(self.table, self.row, damage))?;
            members.iter().position(|member| found == member.kind.map(ValueRef::String))
        } else {
            let shapes = members.iter().enumerate().filter(|(_, member)| member.has_shape(self.row.row_key));
            // One with more parts can be taken for one with fewer, whose last part then holds a delimiter; not the other
            // way round. The master says what is wrong with a row that is none of them.
            let most = shapes.max_by_key(|(_, member)| member.key().row.len());
            Some(most.map_or(0, |(variant, _)| variant))
        };
        variant.map(|variant| <G as EntityGroup>::read(variant, self.table, self.row)).transpose()
    }
}
