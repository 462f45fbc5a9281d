//! The decisions of `create`: what it does about each thing that it finds in the catalog.
//!
//! [`CatalogCase`] has the rows of the table in `docs/catalog.md`, under the same names. `compare.rs` finds the cases, [`decide`]
//! decides about each, and the texts of all refusals are in `refusals.rs`, under the same names.

use table_model::{
    LayoutInfo,
    unstable::{
        entity::{VERSION, version_value},
        layout::{LayoutChange, Leaf, TypeEffect},
    },
};
use table_store::{Error, Row};

use super::{
    look::{Found, Look, Looked},
    refusals as refuse,
};
use crate::{
    client::tables::{ReadRecord, State},
    write::index::Schema,
};

/// Options of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Takes ready indexes that the struct does not have back to building.
    pub demote: bool,
    /// Takes back the record of times that hide the entity, and that the struct does not have.
    pub forget_lifecycle: bool,
    /// Records the primary key as building, because a migration moves entities to it.
    pub is_target: bool,
}

/// A thing that a program finds in the catalog.
#[derive(Debug)]
pub enum CatalogCase<'a> {
    // The place: see `cases_of_place`.
    Moved(&'a ReadRecord),
    Migrating,
    /// A migration leads to a place that its entities have left, and that still has their rows.
    OldRows,
    /// The same, after the rows were deleted.
    LeftPlace,
    TableBeingDeleted(&'static LayoutInfo),
    // The entity: see `cases_of_primary`, `cases_of_new_entity`, `collisions` and `forgotten`.
    SameEntity,
    OtherName,
    NewEntity,
    /// The target of a migration, which is not recorded.
    NewPlace,
    LacksTimes(&'a ReadRecord, String),
    /// Every write has to record an event.
    LacksEvents(&'a ReadRecord),
    UnreadableKey(&'a ReadRecord),
    OtherKey(&'a ReadRecord, Vec<LayoutChange>),
    OtherType(&'a ReadRecord, LayoutChange, TypeEffect),
    NotToldApart(&'a ReadRecord, Vec<LayoutChange>),
    OtherTable(&'a ReadRecord),
    OtherKind(&'a ReadRecord),
    /// The name of the other layout is last.
    RowsCollide(&'static LayoutInfo, &'a ReadRecord, &'a str),
    RowsGone,
    /// The rows of a record that fits are gone.
    RowsGoneButFits,
    // The rows: see `cases_of_rows`. A property that rows may lack asks for the first row, whatever its version.
    RequiredInside {
        entity: &'a str,
        leaf: Leaf,
        path: String,
    },
    OtherVersion {
        entity: &'a str,
    },
    Required {
        entity: &'a str,
        leaf: Leaf,
    },
    // An index of the struct: see `cases_of_index`.
    SameIndex(&'static LayoutInfo, &'a ReadRecord),
    UnreadableIndex(&'static LayoutInfo, &'a ReadRecord),
    OtherIndex(&'static LayoutInfo, &'a ReadRecord, Vec<LayoutChange>),
    OtherDefault(&'static LayoutInfo, &'a ReadRecord, LayoutChange),
    /// Its rows have other times that hide the entity from now on. `has_waited` if no other program relies on an index that
    /// is leaving any more.
    OtherTimes {
        layout: &'static LayoutInfo,
        found: &'a ReadRecord,
        has_waited: bool,
    },
    IndexDropped(&'static LayoutInfo),
    BothTablesGone(&'static LayoutInfo, &'a ReadRecord),
    IndexTableGone(&'static LayoutInfo, &'a ReadRecord),
    EntityTableGone(&'static LayoutInfo, &'a ReadRecord),
    NewIndex(&'static LayoutInfo),
    /// Neither the index nor the entity is recorded.
    NewIndexOfNewEntity {
        layout: &'static LayoutInfo,
        is_new_table: bool,
        may_have_rows: bool,
    },
    // An index that the struct does not have: see `cases`.
    LacksReady(&'a ReadRecord),
    LacksBuilding(&'a ReadRecord),
    LacksLeaving {
        index: &'a ReadRecord,
        has_waited: bool,
    },
    LacksGone,
    /// A ready index of another entity, of which a table was deleted.
    OthersTableGone(&'a ReadRecord),
}

/// What to do about a case.
#[derive(Debug)]
pub enum Decision {
    /// The caller has to look at rows, and to decide again.
    Ask(Look),
    Accept,
    /// Records the layout in this state.
    Record(State),
    /// The same, as another beginning: the version of the record changes, so that a backfill in progress does not complete.
    Restart(State),
    /// Records that the layout is leaving, and waits until no handle relies on it.
    Leave,
    /// Waits until no handle relies on the state that is recorded, and begins again.
    Wait,
    /// Removes the record.
    Forget,
    Refuse(Error),
}

/// Decides about a case.
#[allow(clippy::match_same_arms, clippy::too_many_lines, reason = "a line for each row of the documented table")]
pub fn decide(case: &CatalogCase<'_>, schema: Schema, options: Options, looked: &Looked) -> Decision {
    use Decision::{Accept, Ask, Forget, Leave, Record, Refuse, Restart, Wait};
    use State::{Building, Leaving, Ready};

    let unless_empty = || match looked.has_no_entity {
        None => Ask(Look::ForEntities),
        Some(true) => Record(Ready),
        Some(false) => Record(Building),
    };
    match case {
        CatalogCase::Moved(record) => Refuse(refuse::moved(schema, record)),
        CatalogCase::Migrating if options.is_target => Accept,
        CatalogCase::Migrating => Refuse(refuse::migrating(schema)),
        CatalogCase::OldRows => Refuse(refuse::old_rows(schema)),
        CatalogCase::LeftPlace => Forget,
        CatalogCase::TableBeingDeleted(layout) => Refuse(refuse::table_being_deleted(layout)),

        CatalogCase::SameEntity | CatalogCase::OtherName => Accept,
        CatalogCase::NewEntity => Record(Ready),
        CatalogCase::NewPlace => match &looked.in_the_way {
            Found::NotLooked => Ask(Look::AtPlace),
            Found::Nothing => Record(Building),
            Found::One(row) => Refuse(refuse::new_place(schema, row)),
        },
        CatalogCase::LacksTimes(..) if options.forget_lifecycle => Accept,
        CatalogCase::LacksTimes(record, option) => Refuse(refuse::lacks_times(schema, record, option)),
        CatalogCase::LacksEvents(record) => Refuse(refuse::lacks_events(schema, record)),
        CatalogCase::UnreadableKey(record) => Refuse(refuse::unreadable_key(schema, record)),
        CatalogCase::OtherKey(record, changes) => Refuse(refuse::other_key(schema, record, changes)),
        CatalogCase::OtherType(record, change, effect) => match effect {
            TypeEffect::ReadsAll | TypeEffect::ReadsSome => Accept,
            TypeEffect::LosesVariants(lost) => Refuse(refuse::other_variants(schema, record, change, lost)),
            TypeEffect::ReadsNothing | TypeEffect::ReadsFirstPart | TypeEffect::IsNotRead => {
                Refuse(refuse::other_type(schema, record, change, effect))
            }
        },
        CatalogCase::NotToldApart(record, changes) => Refuse(refuse::not_told_apart(schema, record, changes)),
        CatalogCase::OtherTable(record) => Refuse(refuse::other_table(schema, record)),
        CatalogCase::OtherKind(record) => Refuse(refuse::other_kind(schema, record)),
        CatalogCase::RowsCollide(layout, record, other) => Refuse(refuse::rows_collide(layout, record, other)),
        CatalogCase::RowsGone => Forget,
        CatalogCase::RowsGoneButFits => Accept,

        CatalogCase::RequiredInside { entity, leaf, path } => match &looked.first {
            Found::NotLooked => Ask(Look::AtFirst),
            Found::Nothing => Accept,
            Found::One(_) => Refuse(refuse::required_inside(schema, entity, leaf, path)),
        },
        CatalogCase::OtherVersion { entity } => match &looked.first {
            Found::NotLooked => Ask(Look::AtFirst),
            Found::Nothing => Accept,
            Found::One(row) if has_version(row, schema) => Accept,
            // It is read as the struct of its version, and then converted.
            Found::One(row) => match schema.read(row.clone()) {
                Err(Error::Property(problem)) => Refuse(refuse::other_version(schema, entity, &problem)),
                _ => Accept,
            },
        },
        CatalogCase::Required { entity, leaf } => match &looked.first {
            Found::NotLooked => Ask(Look::AtFirst),
            Found::One(row)
                if has_version(row, schema)
                    && row.properties.get(leaf.property.name).is_none()
                    && leaf.is_around(row.properties.as_ref()) =>
            {
                Refuse(refuse::required(schema, entity, leaf, row))
            }
            Found::Nothing | Found::One(_) => Accept,
        },

        CatalogCase::SameIndex(..) => Accept,
        CatalogCase::UnreadableIndex(layout, record) => Refuse(refuse::unreadable_index(schema, layout, record)),
        CatalogCase::OtherIndex(layout, record, changes) => {
            Refuse(refuse::other_index(schema, layout, record, changes))
        }
        CatalogCase::OtherDefault(layout, record, change) => {
            Refuse(refuse::other_default(schema, layout, record, change))
        }
        // A program that hides entities reads no times in the rows that this one writes without them.
        CatalogCase::OtherTimes { found, has_waited, .. } => match (options.forget_lifecycle, found.state) {
            (true, Ready) => Leave,
            (true, Leaving) if !has_waited => Wait,
            (false, Leaving) => Restart(Leaving),
            (true, Leaving) | (_, Building | State::Gone) | (false, Ready) => Restart(Building),
        },
        CatalogCase::IndexDropped(layout) => Refuse(refuse::index_dropped(schema, layout)),
        CatalogCase::BothTablesGone(..) => Record(Ready),
        CatalogCase::IndexTableGone(..) => unless_empty(),
        // The index has rows of entities that do not exist.
        CatalogCase::EntityTableGone(..) => Record(Building),
        // A program without the index may be writing entities.
        CatalogCase::NewIndex(_) => Record(Building),
        CatalogCase::NewIndexOfNewEntity { layout, is_new_table, may_have_rows } => match &looked.filled {
            None if *may_have_rows => Ask(Look::AtIndexes),
            // They are older than all records, and may lead to entities that do not exist.
            Some(filled) if filled.contains(&&*layout.table) => Record(Building),
            None | Some(_) if *is_new_table => Record(Ready),
            None | Some(_) => unless_empty(),
        },

        CatalogCase::LacksReady(_) if options.demote => Leave,
        CatalogCase::LacksReady(index) => Refuse(refuse::lacks_ready(schema, index)),
        // A backfill in progress must not end as complete: this program writes entities without a row.
        CatalogCase::LacksBuilding(_) => Restart(Building),
        CatalogCase::LacksLeaving { has_waited: true, .. } => Restart(Building),
        CatalogCase::LacksLeaving { has_waited: false, .. } => Wait,
        CatalogCase::LacksGone => Accept,
        CatalogCase::OthersTableGone(_) => Record(Building),
    }
}

fn has_version(row: &Row, schema: Schema) -> bool {
    row.properties.get(VERSION) == version_value(schema.version)
}
