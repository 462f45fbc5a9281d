//! What a query finds, to be deleted.

use futures_util::{StreamExt, stream};
use table_model::{TableEntity, unstable::entity::WriteEntity};
use table_store::Result;

use super::{Bulk, TypedWrite};
use crate::{
    client::{
        stored::{Stored, StoredState},
        tables::Tables,
    },
    query::{Entities, EntityGroup, Opened, Rows, View},
    read::FoundRow,
    write::index::{EntityWrite, Schema},
};

/// Entities that [`delete_all`](Rows::delete_all) deletes: those of one type, or a group of several.
#[diagnostic::on_unimplemented(
    message = "`delete_all` deletes entities, not `{Self}`",
    label = "a query of copies or of a projection",
    note = "run it on the query without `select`; of an index with `copy`, delete by the primary key: `T::by_key(…)`"
)]
pub trait WholeEntities: View {
    /// Returns the types of the entities; of a group, in the order of its variants.
    #[doc(hidden)]
    fn schemas() -> Vec<Schema>;

    /// Returns the deletion of the entity in a row; `None` if the row is no match. If `in_version`, the row must not change
    /// meanwhile.
    #[doc(hidden)]
    fn deletion(found: &FoundRow<'_>, in_version: bool) -> Result<Option<Deletion>>;
}

/// The deletion of an entity that was found.
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "no user has one")]
pub struct Deletion(TypedWrite);

impl Deletion {
    fn new(schema: Schema, entity: &dyn WriteEntity, state: &StoredState, in_version: bool) -> Result<Self> {
        let delete = if in_version { EntityWrite::delete } else { EntityWrite::remove_read };
        Ok(Self((schema, delete(entity, state)?)))
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> WholeEntities for E {
    fn schemas() -> Vec<Schema> {
        vec![Schema::of::<E>()]
    }

    fn deletion(found: &FoundRow<'_>, in_version: bool) -> Result<Option<Deletion>> {
        let mut deletion = None;
        found.entity(|stored: Stored<E>| {
            let (entity, state) = stored.parts();
            deletion = Some(Deletion::new(Schema::of::<E>(), entity, state, in_version));
        })?;
        deletion.transpose()
    }
}

/// Returns the deletion of a member of a group.
pub fn member_deletion<G: EntityGroup + WholeEntities>(
    found: &FoundRow<'_>,
    in_version: bool,
) -> Result<Option<Deletion>> {
    let Some((member, state)) = found.stored_member::<G>()? else { return Ok(None) };
    let (variant, entity) = member.member();
    Deletion::new(G::schemas()[variant], entity, &state, in_version).map(Some)
}

/// One query, or a tuple of up to eight queries, whose entities [`Tables::delete_all`] deletes.
#[diagnostic::on_unimplemented(
    message = "`delete_all` deletes what queries find, and `{Self}` is no query of entities",
    label = "neither a query nor a tuple of queries",
    note = "write `tables.delete_all((Post::by_key(author), Comment::by_key(author)))`, or `query.delete_all(&tables)`",
    note = "keys, or entities that were read: `tables.remove_all(keys)`"
)]
pub trait Deletions {
    #[doc(hidden)]
    fn add_schemas(&self, schemas: &mut Vec<Schema>);

    #[doc(hidden)]
    fn add_deletions(self, tables: &Tables, deletions: &mut Vec<Entities<Deletion>>);
}

#[diagnostic::do_not_recommend]
impl<V: WholeEntities, P, A: Opened> Deletions for Rows<V, P, A> {
    fn add_schemas(&self, schemas: &mut Vec<Schema>) {
        schemas.extend(V::schemas());
    }

    fn add_deletions(self, tables: &Tables, deletions: &mut Vec<Entities<Deletion>>) {
        let in_version = self.finds_by_value();
        deletions.push(self.part_stream(tables, move |found, deletions| {
            let deletion = V::deletion(found, in_version)?;
            let is_match = deletion.is_some();
            deletions.extend(deletion);
            Ok(is_match)
        }));
    }
}

macro_rules! tuples {
    ($(($($query:ident)+))+) => {$(
        #[diagnostic::do_not_recommend]
        #[allow(non_snake_case, reason = "each query has the name of its type")]
        impl<$($query: Deletions),+> Deletions for ($($query,)+) {
            fn add_schemas(&self, schemas: &mut Vec<Schema>) {
                let ($($query,)+) = self;
                $($query.add_schemas(schemas);)+
            }

            fn add_deletions(self, tables: &Tables, deletions: &mut Vec<Entities<Deletion>>) {
                let ($($query,)+) = self;
                $($query.add_deletions(tables, deletions);)+
            }
        }
    )+};
}

tuples! {
    (A B)
    (A B C)
    (A B C D)
    (A B C D E)
    (A B C D E F)
    (A B C D E F G)
    (A B C D E F G H)
}

impl Tables {
    /// Returns the deletion of what these queries find.
    pub(crate) fn deletion(&self, queries: impl Deletions) -> Bulk<'static> {
        let (mut schemas, mut deletions) = (Vec::new(), Vec::new());
        queries.add_schemas(&mut schemas);
        queries.add_deletions(&self.of_primary(), &mut deletions);
        let deletions = stream::iter(deletions).flatten().map(|deletion| deletion.map(|Deletion(write)| write));
        self.write_found(schemas, "delete_all", deletions)
    }
}
