//! Comparison of a program's entity with the catalog: the [cases](CatalogCase) that it finds, and what to record.

use std::collections::{BTreeMap, BTreeSet};

use table_model::{
    Layout, LayoutInfo, Lifecycle,
    unstable::{
        event::may_be_key,
        layout::{
            Aspect, Baseline, ComparedFields, KeyPattern, LayoutChange, LayoutExt, defaults, diff,
            fields_of_properties, has_property, is_table_of, leaves, recorded, recorded_wholes, told_apart,
        },
    },
};
use table_store::{ETag, Result, unstable::replaces};

use super::{
    CatalogChange,
    decide::{CatalogCase, Decision, Options, decide},
    look::{AbsentTables, Look, Looked},
    refusals,
};
use crate::{
    client::{
        stored::Stored,
        tables::{Catalog, EVENTS_REQUIRED, Facts, KEY, LayoutId, ReadRecord, Record, State},
    },
    write::index::Schema,
};

/// Name of the rows of events in an error, beside those of layouts.
const EVENTS: &str = "events";

/// What is recorded of the entity that a program has.
struct Known<'a> {
    /// Records whose rows are gone, and that do not fit the entity.
    forgotten: Vec<RecordVersion>,
    /// The record of the primary key.
    primary: Option<&'a ReadRecord>,
    /// Name under which the entity is recorded.
    name: String,
    facts: Facts,
}

impl Known<'_> {
    fn keeps(&self, record: &ReadRecord) -> bool {
        !self.forgotten.contains(&version(record))
    }
}

/// A record in one version. The records that one transaction writes can have one ETag.
#[derive(Debug, PartialEq)]
pub struct RecordVersion {
    table: String,
    entity_table: String,
    entity: String,
    name: String,
    etag: ETag,
}

/// A program's entity beside the catalog.
#[derive(Clone, Copy)]
pub struct Comparison<'a> {
    pub schema: Schema,
    pub options: Options,
    pub catalog: &'a Catalog,
    /// The tables of the entity that the program has not found.
    pub absent: &'a AbsentTables,
    /// Records whose rows are gone, because their table was deleted.
    pub forgettable: &'a [RecordVersion],
    /// Records in the state [`Leaving`](State::Leaving) since before every lease has expired.
    pub waited: &'a [RecordVersion],
    /// What was looked up in the entity's tables.
    pub looked: &'a Looked,
}

/// A record on which the program relies, in the version that it has or will have.
#[derive(Debug)]
pub struct Relied {
    pub id: LayoutId,
    pub record: Stored<Record>,
}

/// Result of a comparison that refuses nothing.
pub enum ComparedEntity {
    /// The caller has to look, and to compare again.
    Look(Look),
    /// The caller writes the change.
    Change(Decided),
}

/// What a program records, and on which records it relies.
#[derive(Default)]
pub struct Decided {
    pub change: CatalogChange,
    /// Records that the program relies on as they are.
    pub ready: Vec<Relied>,
    /// Name under which the entity is recorded.
    pub name: String,
    /// True if another layout is leaving: after the change is written, the caller waits until every lease has expired, and
    /// compares again.
    pub waits: bool,
}

/// Returns the version of a record.
pub fn version(record: &Stored<Record>) -> RecordVersion {
    let Record { table, entity_table, entity, name, .. } = Record::clone(record);
    RecordVersion { table, entity_table, entity, name, etag: Stored::etag(record).clone() }
}

impl<'a> Comparison<'a> {
    /// Returns a comparison without options.
    pub fn new(schema: Schema, catalog: &'a Catalog) -> Self {
        let (options, absent) = (Options::default(), AbsentTables::NONE);
        Self { schema, options, catalog, absent, forgettable: &[], waited: &[], looked: Looked::NOTHING }
    }

    /// Returns the record of a layout of the entity.
    pub fn recorded(&self, layout: &LayoutInfo) -> Option<&'a ReadRecord> {
        let primary = self.primary();
        if layout.index.is_none() {
            return primary;
        }
        self.index(primary.map_or(self.schema.entity, |primary| &primary.entity), &layout.name)
    }

    /// Returns the recorded indexes of the entity, in quotation marks.
    pub fn recorded_indexes(&self) -> Vec<String> {
        let indexes = self.primary().into_iter().flat_map(|primary| self.catalog.indexes(primary));
        indexes.map(|record| format!("`{}`", record.name)).collect()
    }

    /// Checks that the program may have the place of the entity. The caller creates tables only after this check.
    ///
    /// # Errors
    /// Returns an error if the entity was moved, if it is the target of a migration, or if one of its tables is being
    /// deleted.
    pub fn check_place(&self) -> Result<()> {
        self.cases_of_place().iter().try_for_each(|case| match self.decide(case) {
            Decision::Refuse(refused) => Err(refused),
            _ => Ok(()),
        })
    }

    fn cases_of_place(&self) -> Vec<CatalogCase<'a>> {
        let primary = self.primary().map(|record| match record.state {
            State::Ready => CatalogCase::SameEntity,
            State::Building => CatalogCase::Migrating,
            State::Gone if self.is_left(record) => CatalogCase::LeftPlace,
            State::Gone if self.options.is_target => CatalogCase::OldRows,
            State::Leaving | State::Gone => CatalogCase::Moved(record),
        });
        let is_dropped = |layout: &&LayoutInfo| {
            let is_own = |table: &String| is_table_of(table, &layout.table, layout.is_sliced());
            self.catalog.records.iter().any(|record| record.facts.dropping.iter().any(is_own))
        };
        let dropped = self.schema.layouts.iter().filter(is_dropped).map(CatalogCase::TableBeingDeleted);
        primary.into_iter().chain(dropped).collect()
    }

    /// Returns the records of entities of this name in other tables, with those of their indexes.
    pub fn elsewhere(&self) -> Vec<&'a ReadRecord> {
        if self.primary().is_some() || self.options.is_target {
            return Vec::new();
        }
        let primaries: Vec<_> = self.catalog.records.iter().filter(|record| self.is_elsewhere(record)).collect();
        let indexes = primaries.iter().flat_map(|primary| self.catalog.indexes(primary));
        primaries.iter().copied().chain(indexes).collect()
    }

    /// Checks whether the record of the entity's primary key is that of another layout.
    pub fn has_other_key(&self) -> bool {
        self.primary().is_some_and(|primary| !self.changes_of(&self.schema.layouts[0], primary).is_empty())
    }

    /// Compares the entity with the records.
    ///
    /// # Errors
    /// Returns an error if the program would not find stored rows, if its rows could be taken for those of another
    /// entity, if it would write entities without rows in a ready index, and if the entity was moved.
    pub fn compare(&self) -> Result<ComparedEntity> {
        let known = self.known();
        let mut decided = Decided { name: known.name.clone(), ..Decided::default() };
        let (mut own_state, mut without) = (State::Ready, BTreeSet::new());
        for case in self.cases(&known) {
            let (state, restarts) = match self.decide(&case) {
                Decision::Ask(look) => return Ok(ComparedEntity::Look(look)),
                Decision::Refuse(refused) => return Err(refused),
                Decision::Wait => {
                    decided.waits = true;
                    continue;
                }
                // The record is removed with the record of the primary key.
                Decision::Forget => continue,
                Decision::Accept => {
                    if let CatalogCase::SameIndex(layout, record) = case
                        && record.state == State::Ready
                    {
                        decided.ready.push(Relied { id: self.schema.id(layout), record: record.to_stored() });
                    }
                    continue;
                }
                Decision::Leave => {
                    decided.waits = true;
                    (State::Leaving, false)
                }
                Decision::Record(state) => (state, false),
                Decision::Restart(state) => (state, true),
            };
            match case {
                CatalogCase::NewEntity | CatalogCase::NewPlace => own_state = state,
                CatalogCase::NewIndex(layout) | CatalogCase::NewIndexOfNewEntity { layout, .. } => {
                    decided.change.inserted.push(self.new_record(layout, &known.name, state));
                }
                CatalogCase::OtherTimes { layout, found, .. } => {
                    let mut record = with_state(found, state, restarts);
                    if restarts {
                        record.layout = self.recorded_text(layout);
                    }
                    decided.change.updated.push(record);
                }
                CatalogCase::BothTablesGone(layout, found)
                | CatalogCase::IndexTableGone(layout, found)
                | CatalogCase::EntityTableGone(layout, found) => {
                    if found.state != state {
                        decided.change.updated.push(with_state(found, state, restarts));
                    } else if state == State::Ready {
                        decided.ready.push(Relied { id: self.schema.id(layout), record: found.to_stored() });
                    }
                }
                CatalogCase::LacksReady(found)
                | CatalogCase::LacksBuilding(found)
                | CatalogCase::LacksLeaving { index: found, .. } => {
                    if restarts {
                        without.insert(found.name.clone());
                    }
                    decided.change.updated.push(with_state(found, state, restarts));
                }
                CatalogCase::OthersTableGone(found) => decided.change.updated.push(with_state(found, state, restarts)),
                other => unreachable!("nothing is recorded for {other:?}"),
            }
        }
        let Decided { change, waits, .. } = &mut decided;
        let relied = self.add_primary(known, (own_state, *waits), &without, change);
        decided.ready.extend(relied);
        Ok(ComparedEntity::Change(decided))
    }

    fn decide(&self, case: &CatalogCase<'a>) -> Decision {
        let decision = decide(case, self.schema, self.options, self.looked);
        #[cfg(all(test, feature = "embedded"))]
        super::tests::note(case, &decision);
        decision
    }

    /// Returns what there is to decide, in this order: the first refusal is the answer.
    fn cases(&self, known: &Known<'a>) -> Vec<CatalogCase<'a>> {
        let baseline = self.baseline(known);
        let changes = diff(&baseline, &self.schema);
        let mut cases = Vec::new();
        match known.primary {
            Some(primary) => cases.extend(self.cases_of_primary(primary, &changes)),
            None => cases.extend(self.cases_of_new_entity(known)),
        }
        cases.extend(self.collisions(known));
        match known.primary {
            // A run of the migration may have written to a place that is recorded.
            Some(_) if self.options.is_target => {}
            None if self.options.is_target => cases.push(CatalogCase::NewPlace),
            _ => cases.extend(self.cases_of_rows(known, &changes)),
        }
        for layout in self.schema.layouts.iter().skip(1) {
            let changes: Vec<_> = changes.iter().filter(|change| change.layout == layout.name).collect();
            cases.extend(self.cases_of_index(known, layout, &changes));
        }
        for record in known.primary.into_iter().flat_map(|primary| self.catalog.indexes(primary)) {
            if known.keeps(record) && self.schema.layouts.iter().all(|layout| layout.name != record.name) {
                cases.push(match record.state {
                    State::Ready => CatalogCase::LacksReady(record),
                    State::Building => CatalogCase::LacksBuilding(record),
                    State::Leaving => CatalogCase::LacksLeaving { index: record, has_waited: self.has_waited(record) },
                    State::Gone => CatalogCase::LacksGone,
                });
            }
        }
        let lost = self.lost_indexes().into_iter();
        let lost = lost.filter(|record| known.keeps(record) && !self.is_own(record, &known.name));
        cases.extend(lost.map(CatalogCase::OthersTableGone));
        cases
    }

    /// Returns what is recorded of the entity, to be compared with the struct.
    fn baseline(&self, known: &Known<'a>) -> Baseline {
        let is_own_index =
            |record: &&ReadRecord| !record.is_primary() && self.is_own(record, &known.name) && known.keeps(record);
        let indexes = self.catalog.records.iter().filter(is_own_index);
        let layout = |record: &ReadRecord| (record.name.clone(), record.is_known.then(|| record.layout.clone()));
        let (facts, version) = (&known.facts, self.schema.version);
        Baseline {
            layouts: known.primary.into_iter().chain(indexes).map(layout).collect(),
            fields: self.primary().map(|primary| primary.facts.fields.clone()).unwrap_or_default(),
            types: facts.properties.get(&version).cloned(),
            optional: facts.optional.get(&version).cloned().unwrap_or_default(),
            wholes: facts.wholes.get(&version).cloned().unwrap_or_default(),
            defaults: facts.defaults.clone(),
            options: facts.lifecycle().options().collect(),
            write_id: None,
        }
    }

    fn cases_of_primary(&self, primary: &'a ReadRecord, changes: &[LayoutChange]) -> Vec<CatalogCase<'a>> {
        let mut cases = self.cases_of_place();
        let gone =
            changes.iter().filter(|change| change.what == Aspect::Lifecycle).filter_map(|change| change.was.clone());
        cases.extend(gone.map(|option| CatalogCase::LacksTimes(primary, option)));
        if primary.facts.required.contains(EVENTS_REQUIRED) && self.schema.events.is_none() {
            cases.push(CatalogCase::LacksEvents(primary));
        }
        let of_key: Vec<_> = changes.iter().filter(|change| change.layout == KEY).cloned().collect();
        cases.extend(match of_key.as_slice() {
            [] => None,
            _ if !primary.is_known => Some(CatalogCase::UnreadableKey(primary)),
            _ => Some(CatalogCase::OtherKey(primary, of_key)),
        });
        let of_type = changes.iter().filter_map(|change| match &change.what {
            Aspect::Type(_, effect) => Some(CatalogCase::OtherType(primary, change.clone(), effect.clone())),
            _ => None,
        });
        cases.extend(of_type);
        if !primary.facts.names.iter().any(|name| name == self.schema.entity) {
            cases.push(CatalogCase::OtherName);
        }
        cases
    }

    /// Returns the cases of an entity that is not recorded: it may be a recorded one whose struct was changed.
    fn cases_of_new_entity(&self, known: &Known<'a>) -> Vec<CatalogCase<'a>> {
        let table = self.schema.table();
        let is_alike = |record: &&ReadRecord| {
            let of_table = record.is_primary() && record.is_of_table(table) && !record.facts.dropped;
            of_table && !self.is_told_apart(record)
        };
        let alike = self.kept(known).find(is_alike);
        let mut cases: Vec<_> = alike
            .map(|record| CatalogCase::NotToldApart(record, self.changes_of(&self.schema.layouts[0], record)))
            .into_iter()
            .collect();
        if self.options.is_target {
            return cases;
        }
        cases.extend(self.kept(known).find(|record| self.is_elsewhere(record)).map(CatalogCase::OtherTable));
        let name = self.schema.struct_name;
        let has_struct = |record: &&ReadRecord| {
            let is_here = record.is_primary() && record.is_of_table(table) && record.state != State::Gone;
            let facts = &record.facts;
            is_here && (facts.structs.contains(name) || facts.names.iter().any(|other| other == name))
        };
        cases.extend(self.kept(known).find(has_struct).map(CatalogCase::OtherKind));
        cases.push(CatalogCase::NewEntity);
        cases
    }

    /// Returns the records of others whose rows could have the keys of the entity's rows.
    fn collisions(&self, known: &Known<'a>) -> Vec<CatalogCase<'a>> {
        let others = || self.kept(known).filter(|record| !self.is_own(record, &known.name));
        let of_layout = |layout: &'static LayoutInfo| {
            let others = others().filter(|record| may_collide(layout, record));
            others.map(move |record| CatalogCase::RowsCollide(layout, record, &record.name))
        };
        let mut cases: Vec<_> = self.schema.layouts.iter().flat_map(of_layout).collect();
        let others = || others().filter(|record| !record.facts.dropped);
        let in_table = || others().filter(|record| record.table.eq_ignore_ascii_case(self.schema.table()));
        if let Some(events) = self.schema.event_rows {
            let like_events = in_table().filter(|record| may_be_event(&record.layout));
            cases.extend(like_events.map(|record| CatalogCase::RowsCollide(events, record, &record.name)));
        }
        if let Some(like_events) = self.schema.layouts.iter().find(|layout| may_be_event(layout)) {
            let with_events =
                others().filter(|record| record.facts.events.is_some() && record.is_of_table(&like_events.table));
            cases.extend(with_events.map(|record| CatalogCase::RowsCollide(like_events, record, EVENTS)));
        }
        cases
    }

    /// Returns the cases that the first row of the table decides: whether the program can read the rows that are there.
    fn cases_of_rows(&self, known: &Known<'a>, changes: &[LayoutChange]) -> Vec<CatalogCase<'a>> {
        // An entity that was never recorded has no slice, unless another program made it.
        let is_new = match self.schema.layouts[0].slice {
            None => self.absent.is_new(self.schema.table()),
            Some(_) => known.primary.is_none(),
        };
        if is_new {
            return Vec::new();
        }
        let entity = known.primary.map_or(self.schema.entity, |primary| &primary.entity);
        let leaf = |name: &str| leaves(self.schema.fields).into_iter().find(|leaf| leaf.property.name == name);
        let (mut cases, mut required, mut is_first_of_version) = (Vec::new(), Vec::new(), false);
        for change in changes {
            match &change.what {
                Aspect::RequiredInside(name, path) => {
                    cases.extend(leaf(name).map(|leaf| CatalogCase::RequiredInside {
                        entity,
                        leaf,
                        path: path.clone(),
                    }));
                }
                Aspect::Required(name) => {
                    required.extend(leaf(name).map(|leaf| CatalogCase::Required { entity, leaf }));
                }
                Aspect::Version => is_first_of_version = known.primary.is_some(),
                _ => {}
            }
        }
        if is_first_of_version || !required.is_empty() {
            cases.push(CatalogCase::OtherVersion { entity });
        }
        cases.extend(required);
        cases
    }

    fn cases_of_index(
        &self,
        known: &Known<'a>,
        layout: &'static LayoutInfo,
        changes: &[&LayoutChange],
    ) -> Vec<CatalogCase<'a>> {
        let found = self.index(&known.name, &layout.name).filter(|record| known.keeps(record));
        let Some(found) = found else {
            return vec![match known.primary {
                Some(_) => CatalogCase::NewIndex(layout),
                None => CatalogCase::NewIndexOfNewEntity {
                    layout,
                    is_new_table: self.absent.is_new(self.schema.table()),
                    may_have_rows: self.absent.may_have_rows(self.schema, self.catalog, layout),
                },
            }];
        };
        let (defaults, others): (Vec<&LayoutChange>, Vec<&LayoutChange>) =
            changes.iter().partition(|change| matches!(change.what, Aspect::Default(_)));
        let is_retimed = self.is_retimed(layout, &others, &known.facts);
        let mut cases = Vec::new();
        if !found.is_known {
            cases.push(CatalogCase::UnreadableIndex(layout, found));
        } else if !is_retimed && !others.is_empty() {
            cases.push(CatalogCase::OtherIndex(layout, found, others.into_iter().cloned().collect()));
        }
        cases.extend(defaults.into_iter().map(|change| CatalogCase::OtherDefault(layout, found, change.clone())));
        let is_gone = |table: &str| self.absent.is_missing(table);
        cases.push(match (found.state, is_gone(self.schema.table()), is_gone(&layout.table)) {
            (State::Gone, ..) => CatalogCase::IndexDropped(layout),
            _ if is_retimed => CatalogCase::OtherTimes { layout, found, has_waited: self.has_waited(found) },
            (State::Ready | State::Building, true, true) => CatalogCase::BothTablesGone(layout, found),
            (State::Ready, false, true) => CatalogCase::IndexTableGone(layout, found),
            (State::Ready, true, false) => CatalogCase::EntityTableGone(layout, found),
            _ => CatalogCase::SameIndex(layout, found),
        });
        cases
    }

    /// Checks whether an index is recorded with other times that hide the entity in its rows, and with no other difference.
    fn is_retimed(&self, layout: &LayoutInfo, changes: &[&LayoutChange], facts: &Facts) -> bool {
        // A copy has the times as it has every property. A program that does not know them writes copies without them.
        if layout.is_copy() && layout.is_same_partition() && facts.lifecycle() != self.schema.lifecycle {
            return changes.is_empty();
        }
        let times: Vec<_> = facts.lifecycle().properties().chain(self.schema.lifecycle.properties()).collect();
        !changes.is_empty() && layout.is_same_partition() && changes.iter().all(|change| change.is_of_times(&times))
    }

    /// Checks whether every lease of a record that is leaving has expired.
    fn has_waited(&self, record: &ReadRecord) -> bool {
        self.waited.contains(&version(record))
    }

    /// Checks that a program that builds an index has the recorded layout of it, and hides the entities that others hide.
    ///
    /// # Errors
    /// Returns the refusal of `create`.
    pub fn check_index(&self, layout: &'static LayoutInfo, record: &'a ReadRecord) -> Result<()> {
        let changes = self.changes_of(layout, record);
        if !record.is_known {
            return Err(refusals::unreadable_index(self.schema, layout, record));
        }
        if !changes.is_empty() {
            return Err(refusals::other_index(self.schema, layout, record, &changes));
        }
        let Some(primary) = self.primary() else { return Ok(()) };
        let own: Vec<_> = self.schema.lifecycle.options().collect();
        let lacking = primary.facts.lifecycle().options().find(|option| !own.contains(option));
        lacking.map_or(Ok(()), |option| Err(refusals::lacks_times(self.schema, primary, &option)))
    }

    /// Returns what is recorded of the entity.
    fn known(&self) -> Known<'a> {
        let forgotten = self.forgotten();
        let (left, primary) = self.primary().into_iter().partition::<Vec<_>, _>(|record| self.is_left(record));
        let primary = primary.into_iter().find(|record| !forgotten.contains(&version(record)));
        // A place that was left keeps its record, under its name.
        let replaced = left.into_iter().find(|left| self.is_replaced(left));
        let name = primary.or(replaced).map_or(self.schema.entity, |record| &record.entity).to_owned();
        let facts = match (primary, replaced) {
            (Some(primary), _) => primary.facts.clone(),
            // The names stay, so that programs with any of them find the record.
            (None, Some(left)) => {
                let Facts { names, structs, came, .. } = left.facts.clone();
                Facts { names, structs, came: came.saturating_add(1), ..Facts::default() }
            }
            (None, None) => Facts::default(),
        };
        Known { forgotten, primary, name, facts }
    }

    /// Adds the record of the primary key to the change, and the removal of what is forgotten. Returns the record if the
    /// program relies on it as it is.
    fn add_primary(
        &self,
        known: Known<'a>,
        (state, waits): (State, bool),
        without: &BTreeSet<String>,
        change: &mut CatalogChange,
    ) -> Option<Relied> {
        let Known { forgotten, primary, name, facts } = known;
        let facts = self.facts(facts, &forgotten, without, waits, change);
        let mut relied = None;
        match primary {
            Some(primary) if primary.facts == facts => {
                let is_ready = primary.state == State::Ready;
                relied = is_ready.then(|| Relied { id: self.schema.own_id(), record: primary.to_stored() });
            }
            Some(primary) => {
                let mut primary = primary.to_stored();
                primary.set_facts(&facts);
                change.updated.push(primary);
            }
            None => {
                let mut record = self.new_record(&self.schema.layouts[0], &name, state);
                record.set_facts(&facts);
                change.inserted.push(record);
            }
        }
        for record in self.catalog.records.iter().filter(|record| forgotten.contains(&version(record))) {
            // A record that is written again under its keys needs no removal.
            let is_same =
                |new: &Record| (&new.table, &new.name) == (&record.table, &record.name) && new.is_of_entity(record);
            match change.inserted.iter().position(is_same) {
                None => change.removed.push(record.to_stored()),
                Some(at) => {
                    let mut record = record.to_stored();
                    *record = change.inserted.remove(at);
                    change.updated.push(record);
                }
            }
        }
        relied
    }

    /// Returns the records that are not forgotten.
    fn kept<'k>(&self, known: &'k Known<'_>) -> impl Iterator<Item = &'a ReadRecord> + use<'a, 'k> {
        self.catalog.records.iter().filter(|record| known.keeps(record))
    }

    fn primary(&self) -> Option<&'a ReadRecord> {
        self.catalog.primary(&self.schema.own_id())
    }

    /// Checks whether a record belongs to the entity that is recorded under this name.
    fn is_own(&self, record: &Record, name: &str) -> bool {
        record.is_of_table(self.schema.table()) && record.entity == name
    }

    /// Returns the record of an index of the entity, which is recorded under this name. The index may have been moved to
    /// another table.
    fn index(&self, entity: &str, index: &str) -> Option<&'a ReadRecord> {
        let is_index =
            |record: &&ReadRecord| !record.is_primary() && self.is_own(record, entity) && record.name == index;
        self.catalog.records.iter().find(is_index)
    }

    /// Checks whether the record is that of an entity of this name in another table.
    fn is_elsewhere(&self, record: &ReadRecord) -> bool {
        record.is_primary()
            && !record.is_of_table(self.schema.table())
            // Where its entities were moved to, there is another record.
            && record.state != State::Gone
            && record.facts.names.iter().any(|name| name == self.schema.entity || Some(&**name) == self.schema.was)
    }

    /// Checks whether a migration moves entities back to a place that they have left, and from which they are deleted.
    fn is_left(&self, record: &ReadRecord) -> bool {
        self.options.is_target && record.state == State::Gone && record.facts.dropped
    }

    /// Checks whether the record of a place that was left is replaced by that of the entity which comes there: it has the
    /// same name. A record of another name stays, and refuses the programs that have that name.
    fn is_replaced(&self, left: &ReadRecord) -> bool {
        left.facts.names.iter().any(|name| name == self.schema.entity)
    }

    /// Returns the records that are removed: those that do not fit the entity and whose rows are gone, and that of a place to
    /// which a migration returns.
    fn forgotten(&self) -> Vec<RecordVersion> {
        let primary = self.primary();
        let name = primary.map_or(self.schema.entity, |record| &record.entity);
        let fits = |record: &ReadRecord| {
            if self.is_own(record, name) {
                // A program with the old struct of a moved entity stays refused.
                if record.is_primary() && record.state == State::Gone {
                    return true;
                }
                let layout = self.schema.layouts.iter().find(|layout| layout.name == record.name);
                return layout.is_some_and(|layout| self.changes_of(layout, record).is_empty())
                    && !matches!(record.state, State::Leaving | State::Gone);
            }
            // The record of a place that was left refuses old programs.
            record.facts.dropped
                || !self.schema.layouts.iter().any(|layout| may_collide(layout, record))
                    && (primary.is_some() || !record.is_primary() || self.is_told_apart(record))
        };
        let elsewhere: Vec<_> = self.elsewhere().into_iter().map(|record| version(record)).collect();
        let gone = self.catalog.records.iter().filter(|record| self.forgettable.contains(&version(record)));
        let gone = gone.map(|record| {
            let is_forgotten = elsewhere.contains(&version(record)) || !fits(record);
            (record, if is_forgotten { CatalogCase::RowsGone } else { CatalogCase::RowsGoneButFits })
        });
        let left = primary.filter(|primary| self.is_left(primary) && self.is_replaced(primary));
        let cases = gone.chain(left.map(|record| (record, CatalogCase::LeftPlace)));
        let forgotten = cases.filter(|(_, case)| matches!(self.decide(case), Decision::Forget));
        forgotten.map(|(record, _)| version(record)).collect()
    }

    /// Returns the differences between a recorded layout and the program's.
    fn changes_of(&self, layout: &LayoutInfo, record: &ReadRecord) -> Vec<LayoutChange> {
        if !record.is_known {
            return vec![LayoutChange::unreadable(&record.name)];
        }
        let none = BTreeSet::new();
        let stored = self.primary().map_or(&none, |primary| &primary.facts.fields);
        ComparedFields { present: &self.schema, stored }.changes(&record.layout, layout)
    }

    /// Checks whether a row shows to which of this entity and a recorded one it belongs.
    ///
    /// The prefix that an index in the own table gives to the row keys does not count: the struct may be the recorded one
    /// with another name and its first index.
    fn is_told_apart(&self, record: &ReadRecord) -> bool {
        let (own, was) = (&self.schema.layouts[0], &record.layout);
        told_apart(own, was) && !differ_in_implied_prefix(own, was)
    }

    /// Returns the ready indexes, of any entity, of which one table was deleted: their own, or that of their entities. This
    /// program makes it anew.
    fn lost_indexes(&self) -> Vec<&'a ReadRecord> {
        let is_lost = |record: &&ReadRecord| {
            let is_ready = !record.is_primary() && record.state == State::Ready;
            is_ready && self.absent.is_missing(&record.table) != self.absent.is_missing(&record.entity_table)
        };
        self.catalog.records.iter().filter(is_lost).collect()
    }

    /// Returns the facts about the entity that have to be recorded, which add to those that are.
    fn facts(
        &self,
        mut facts: Facts,
        forgotten: &[RecordVersion],
        without: &BTreeSet<String>,
        waits: bool,
        change: &CatalogChange,
    ) -> Facts {
        let Layout { entity, layouts, fields, version, .. } = self.schema.layout;
        if !facts.names.iter().any(|name| name == entity) {
            facts.names.push(entity.to_owned());
        }
        if self.schema.kind().is_some() {
            facts.structs.insert(self.schema.struct_name.to_owned());
        }
        let is_forgotten = |index: &str| {
            forgotten.iter().any(|old| old.name == index && self.is_own_version(old, facts.names.as_slice()))
        };
        let lost: Vec<_> = facts.indexes.keys().filter(|index| is_forgotten(index)).cloned().collect();
        for index in &lost {
            facts.indexes.remove(index);
            facts.defaults.remove(index);
            facts.required.remove(index);
        }
        facts.required.retain(|index| !without.contains(index));
        // While the caller waits, the indexes are still those of the recorded options.
        if !(waits && self.options.forget_lifecycle) {
            if self.options.forget_lifecycle {
                let own: Vec<_> = self.schema.lifecycle.options().collect();
                facts.required.retain(|required| !required.contains(" = ") || own.contains(required));
            }
            let Lifecycle { expires, soft_delete } = self.schema.lifecycle;
            (facts.expires, facts.soft_delete) = (expires.map(str::to_owned), soft_delete.map(str::to_owned));
        }
        facts.events = facts.events.max(self.schema.events);
        for layout in layouts.iter().skip(1) {
            facts.indexes.insert(layout.name.to_string(), layout.table.to_ascii_lowercase());
            if change.inserted.iter().any(|record| record.name == layout.name) {
                facts.defaults.remove(&*layout.name);
            }
            let defaults = defaults(&self.schema, layout);
            if !defaults.is_empty() {
                let recorded = facts.defaults.entry(layout.name.to_string()).or_default();
                for (property, value) in defaults {
                    recorded.entry(property).or_insert(value);
                }
            }
        }
        let is_first = !facts.properties.contains_key(&version);
        let types: &mut BTreeMap<String, String> = facts.properties.entry(version).or_default();
        let mut optional = facts.optional.remove(&version).unwrap_or_default();
        // This program writes rows without the properties that its struct does not have.
        let is_known = |name: &str| has_property(fields, name);
        optional.extend(types.keys().filter(|name| !is_known(name)).cloned());
        for leaf in leaves(fields) {
            let property = leaf.property;
            let Some(edm) = property.edm else { continue };
            let is_new = !types.contains_key(property.name);
            let edm = edm.to_string();
            if types.get(property.name).is_none_or(|was| replaces(&edm, was)) {
                types.insert(property.name.to_owned(), edm);
            }
            if is_new && !is_first || !leaf.is_required() {
                optional.insert(property.name.to_owned());
            }
        }
        if !optional.is_empty() {
            facts.optional.insert(version, optional);
        }
        let wholes = recorded_wholes(fields);
        if !wholes.is_empty() {
            let recorded = facts.wholes.entry(version).or_default();
            for (path, whole) in wholes {
                recorded.entry(path).and_modify(|was| was.join(&whole)).or_insert(whole);
            }
        }
        facts.fields.extend(fields_of_properties(&self.schema));
        facts
    }

    fn is_own_version(&self, version: &RecordVersion, names: &[String]) -> bool {
        version.entity_table.eq_ignore_ascii_case(self.schema.table()) && names.contains(&version.entity)
    }

    /// Returns what is recorded of a layout, as JSON.
    fn recorded_text(&self, layout: &LayoutInfo) -> String {
        // Cannot fail: a layout holds only text, numbers and bools. A value writes the names in order, whatever their order
        // in the struct.
        serde_json::to_value(recorded(&self.schema, layout)).unwrap_or_default().to_string()
    }

    fn new_record(&self, layout: &LayoutInfo, entity: &str, state: State) -> Record {
        // The service ignores case in the names of tables.
        let [table, entity_table] = [&*layout.table, self.schema.table()].map(str::to_ascii_lowercase);
        let (entity, name) = (entity.to_owned(), layout.name.to_string());
        let layout = self.recorded_text(layout);
        Record { table, entity_table, entity, name, layout, state, starts: 0, facts: None }
    }
}

/// Checks whether rows of the layout can have the keys of another entity's rows in the same table.
fn may_collide(layout: &LayoutInfo, record: &ReadRecord) -> bool {
    record.table.eq_ignore_ascii_case(&layout.table)
        && !record.facts.dropped
        && KeyPattern::of(&record.layout).may_collide(KeyPattern::of(layout))
}

/// Checks whether rows of the layout could have the keys of events in their table.
const fn may_be_event(layout: &LayoutInfo) -> bool {
    may_be_key(layout) || layout.separator.is_some()
}

/// Checks whether two primary keys without kinds have the same parts, and differ in the prefix `{field}-` of one of them.
fn differ_in_implied_prefix(one: &LayoutInfo, other: &LayoutInfo) -> bool {
    let implied = |key: &LayoutInfo| key.row.first().map(|part| format!("{}-", part.field)).unwrap_or_default();
    let is_implied =
        |with: &LayoutInfo, without: &LayoutInfo| with.row_prefix == implied(with) && without.row_prefix.is_empty();
    one.kind.is_none()
        && other.kind.is_none()
        && one.partition_prefix == other.partition_prefix
        && one.parts().map(|part| &part.kind).eq(other.parts().map(|part| &part.kind))
        && (is_implied(one, other) || is_implied(other, one))
}

fn with_state(record: &ReadRecord, state: State, restarts: bool) -> Stored<Record> {
    let mut record = record.to_stored();
    record.state = state;
    record.starts = record.starts.saturating_add(i32::from(restarts));
    record
}
