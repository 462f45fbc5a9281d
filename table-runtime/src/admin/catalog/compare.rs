//! Comparison of a program's entity with the catalog: what to record, and what to refuse.

use std::collections::{BTreeMap, BTreeSet};

use table_store::{
    ETag, Error, Result,
    error::{LayoutChangedError, MissingIndexError, QueryError, RowsCollideError},
    unstable::{Reads, cannot_read, lost_variants, reads, reads_first_part, replaces},
};

use super::{
    CatalogChange,
    defaults::{defaults, depends_on},
    look::{AbsentTables, Found, Look, Looked},
};
use crate::{
    client::tables::{Catalog, Facts, KEY, LayoutId, ReadRecord, Record, State},
    model::{
        entity::{Stored, VERSION, version_value},
        layout::{
            ComparedFields, KeyPattern, Layout, LayoutChange, LayoutInfo, Leaf, Lifecycle, PropertyInfo, PropertyType,
            has_property, is_table_of, leaves, recorded_wholes, told_apart,
        },
    },
    write::index::{Schema, lifecycle_changed},
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
pub enum Decision {
    /// The caller has to look, and to compare again.
    Look(Look),
    /// The caller writes the change.
    Change(Decided),
}

/// What a program records, and on which records it relies.
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

    /// Checks that the entity is not recorded as moved. The caller creates tables only after this check.
    ///
    /// # Errors
    /// Returns an error if the entity was moved, if it is the target of a migration, or if one of its tables is being
    /// deleted.
    pub fn check_place(&self) -> Result<()> {
        if let Some(primary) = self.primary().filter(|primary| !self.is_left(primary)) {
            self.check_state(primary)?;
        }
        for layout in self.schema.layouts {
            let is_own = |table: &String| is_table_of(table, &layout.table, layout.slice.is_some());
            let is_deleted = |record: &ReadRecord| record.facts.dropping.iter().any(is_own);
            if self.catalog.records.iter().any(is_deleted) {
                return Err(Error::TableBeingDeleted(layout.table.to_string().into()));
            }
        }
        Ok(())
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
        self.primary().is_some_and(|primary| !self.changes(&self.schema.layouts[0], primary).is_empty())
    }

    /// Compares the entity with the records.
    ///
    /// # Errors
    /// Returns an error if the program would not find stored rows, if its rows could be taken for those of another
    /// entity, if it would write entities without rows in a ready index, and if the entity was moved.
    pub fn decide(&self) -> Result<Decision> {
        let known = self.known();
        self.check_entity(&known)?;
        let look = if self.options.is_target { Self::check_target } else { Self::check_rows };
        if let Some(look) = look(self, known.primary)? {
            return Ok(Decision::Look(look));
        }
        let (name, mut change, mut ready) = (known.name.clone(), CatalogChange::default(), Vec::new());
        let mut waits = false;
        for layout in self.schema.layouts.iter().skip(1) {
            let found = self.index(&name, &layout.name).filter(|record| known.keeps(record));
            if let Some(record) = found {
                let is_retimed = self.is_retimed(layout, record, &known.facts);
                if !is_retimed {
                    self.check_index(layout, record)?;
                }
                self.check_defaults(layout, &known.facts, &name)?;
                if is_retimed && record.state != State::Gone {
                    let (retimed, must_wait) = self.retimed(layout, record);
                    waits |= must_wait;
                    change.updated.extend(retimed);
                    continue;
                }
            }
            let is_unknown = found.is_none() && known.primary.is_none();
            if is_unknown && self.looked.filled.is_none() && self.may_be_left(layout) {
                return Ok(Decision::Look(Look::AtIndexes));
            }
            let Some(state) = self.state(layout, known.primary, found)? else {
                return Ok(Decision::Look(Look::ForEntities));
            };
            match found {
                None => change.inserted.push(self.new_record(layout, &name, state)),
                Some(record) if record.state != state => change.updated.push(with_state(record, state)),
                Some(record) if state == State::Ready => {
                    ready.push(Relied { id: self.schema.id(layout), record: record.to_stored() });
                }
                Some(_) => {}
            }
        }
        let (missing_wait, without) = self.add_missing_indexes(&known, &mut change)?;
        waits |= missing_wait;
        let lost = self.lost_indexes().into_iter().filter(|record| known.keeps(record) && !self.is_own(record, &name));
        change.updated.extend(lost.map(|record| with_state(record, State::Building)));
        ready.extend(self.add_primary(known, &without, waits, &mut change));
        Ok(Decision::Change(Decided { change, ready, name, waits }))
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

    /// Checks that the entity is the recorded one, or a new one that can be distinguished from those that are recorded.
    fn check_entity(&self, known: &Known<'a>) -> Result<()> {
        if let Some(primary) = known.primary {
            self.check_primary(primary)?;
        } else {
            self.check_told_apart(known)?;
            self.check_names(known)?;
        }
        for layout in self.schema.layouts {
            let is_other = |record: &&ReadRecord| {
                record.table.eq_ignore_ascii_case(&layout.table) && !self.is_own(record, &known.name)
            };
            for record in self.kept(known).filter(is_other) {
                check_collision(layout, record)?;
            }
        }
        Ok(())
    }

    /// Adds the record of the primary key to the change, and the removal of what is forgotten. Returns the record if the
    /// program relies on it as it is.
    fn add_primary(
        &self,
        known: Known<'a>,
        without: &BTreeSet<String>,
        waits: bool,
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
                let state = if self.options.is_target { State::Building } else { State::Ready };
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

    /// Returns the records that do not fit the entity and whose rows are gone.
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
                return layout.is_some_and(|layout| self.changes(layout, record).is_empty())
                    && !matches!(record.state, State::Leaving | State::Gone);
            }
            let mut layouts = self.schema.layouts.iter();
            // The record of a place that was left refuses old programs.
            record.facts.dropped
                || layouts.all(|layout| {
                    !layout.table.eq_ignore_ascii_case(&record.table) || check_collision(layout, record).is_ok()
                }) && (primary.is_some() || !record.is_primary() || self.is_told_apart(record))
        };
        let elsewhere: Vec<_> = self.elsewhere().into_iter().map(|record| version(record)).collect();
        let is_gone = |record: &&ReadRecord| {
            let version = version(record);
            self.forgettable.contains(&version) && (elsewhere.contains(&version) || !fits(record))
        };
        let left = primary.filter(|primary| self.is_left(primary) && self.is_replaced(primary));
        self.catalog.records.iter().filter(is_gone).chain(left).map(|record| version(record)).collect()
    }

    /// Returns the differences between a recorded layout and the program's.
    fn changes(&self, layout: &LayoutInfo, record: &ReadRecord) -> Vec<LayoutChange> {
        if !record.is_readable {
            return vec![LayoutChange::UNKNOWN];
        }
        let none = BTreeSet::new();
        let stored = self.primary().map_or(&none, |primary| &primary.facts.fields);
        ComparedFields { present: &self.schema, stored }.changes(&record.layout, layout)
    }

    fn changed(&self, layout: &'static str, entity: &str, changes: String, advice: String) -> Error {
        let (table, entity) = (self.schema.table().to_owned(), entity.to_owned());
        Box::new(LayoutChangedError::new(table, entity, layout, changes, advice)).into()
    }

    /// Checks the state of the entity's primary key.
    fn check_state(&self, record: &ReadRecord) -> Result<()> {
        let id = self.schema.own_id();
        let (table, entity) = (id.entity_table.to_owned(), id.entity.to_owned());
        match record.state {
            State::Ready => Ok(()),
            State::Building if self.options.is_target => Ok(()),
            State::Building => Err(Error::EntityMigrating { table, entity }),
            State::Gone if self.options.is_target => {
                let problem = format!(
                    "`{entity}` was moved away from this place, and its old rows are still there; delete them with \
                     `drop_moved` before entities are moved back"
                );
                Err(Box::new(QueryError::new(table, KEY, problem)).into())
            }
            State::Leaving | State::Gone => {
                let moved = record.facts.moved.as_ref();
                let to = moved.map(ToString::to_string).unwrap_or_default();
                Err(Error::EntityMoved { table, entity, to })
            }
        }
    }

    /// Checks the record of the entity's primary key: its state, its layout, and the types of the properties.
    fn check_primary(&self, record: &ReadRecord) -> Result<()> {
        let facts = &record.facts;
        self.check_state(record)?;
        self.check_lifecycle(record)?;
        let changes = self.changes(&self.schema.layouts[0], record);
        if !changes.is_empty() {
            let advice = "keep the layout (`#[row_key(prefix = \"…\")]` keeps the beginning of its row keys), or give the \
                          changed struct another table or name and move the rows with `tables.migrate::<Old, New>()`; an \
                          entity of another kind in the same table needs a kind or a prefix of its own";
            return Err(self.changed(KEY, &record.entity, joined(&changes), advice.to_owned()));
        }
        let recorded = facts.properties.get(&self.schema.version);
        for property in self.schema.properties() {
            let Some(edm) = property.edm else { continue };
            let Some(was) = recorded.and_then(|recorded| recorded.get(property.name)) else { continue };
            let now = edm.to_string();
            let lost = lost_variants(&now, was).join("`, `");
            let unread = if !lost.is_empty() {
                let advice = "keep the variants; or write `#[property(other)]` on one that takes those that are not known; or \
                              store the enum as another property (`#[property(rename = \"…\")]`); or give the rows a \
                              version, with `#[table(version = …, from = …)]`";
                let change = format!("the enum of the property `{}` has no variant `{lost}` any more", property.name);
                return Err(self.changed(PROPERTIES, &record.entity, change, advice.to_owned()));
            } else if reads_first_part(&now, was) {
                Some("which would read the first part of a longer value as the whole")
            } else if reads(&now, was) == Reads::Nothing {
                Some("which no stored row has")
            } else if cannot_read(was, &now) {
                Some("which programs with the recorded type cannot read")
            } else {
                None
            };
            if let Some(unread) = unread {
                let change = format!("the property `{}` was {was} and is {now}, {unread}", property.name);
                let advice = "keep the type; or store the field as another property (`#[property(rename = \"…\")]`); or \
                              give the rows a version, with `#[table(version = …, from = …)]`";
                return Err(self.changed(PROPERTIES, &record.entity, change, advice.to_owned()));
            }
        }
        Ok(())
    }

    /// Checks that no recorded entity of the table has rows that could be taken for those of this new one.
    fn check_told_apart(&self, known: &Known<'a>) -> Result<()> {
        let of_table = |record: &&ReadRecord| {
            record.is_primary() && record.is_of_table(self.schema.table()) && !record.facts.dropped
        };
        let mut primaries = self.kept(known).filter(of_table);
        let Some(record) = primaries.find(|record| !self.is_told_apart(record)) else { return Ok(()) };
        let (other, entity) = (&record.entity, self.schema.entity);
        let mut changes =
            vec![format!("`{entity}` is not recorded, and its rows could not be told apart from those of `{other}`")];
        changes.extend(self.changes(&self.schema.layouts[0], record).iter().map(ToString::to_string));
        let advice = format!(
            "if `{entity}` is the entity that was called `{other}`, write `#[table(was = \"{other}\")]`; if both are \
                 in the table, give each of them a kind, with `#[table(kind)]`, or a prefix of its own, with \
                 `#[row_key(prefix = \"…\")]`"
        );
        Err(self.changed(KEY, other, changes.join("; "), advice))
    }

    /// Checks that this new entity is not a recorded one whose table or kind was changed in the struct: none of its rows
    /// would be found.
    fn check_names(&self, known: &Known<'a>) -> Result<()> {
        if self.options.is_target {
            return Ok(());
        }
        let (entity, table) = (self.schema.entity, self.schema.table());
        if let Some(record) = self.kept(known).find(|record| self.is_elsewhere(record)) {
            let Record { entity: other, entity_table: from, .. } = &***record;
            let changes = format!("`{other}` is recorded in the table `{from}`, and this struct is in `{table}`");
            let advice = format!(
                "keep the table, with `#[table(name = \"…\")]`; or move the rows with `tables.migrate::<Old, New>()`; if \
                 `{entity}` is another entity than `{other}` in `{from}`, give it a name of its own with \
                 `#[table(entity = \"…\")]`, or with `kind = \"…\"` if it has a kind"
            );
            return Err(self.changed(KEY, other, changes, advice));
        }
        let name = self.schema.struct_name;
        let has_struct = |record: &&ReadRecord| {
            let is_here = record.is_primary() && record.is_of_table(table) && record.state != State::Gone;
            let facts = &record.facts;
            is_here && (facts.structs.contains(name) || facts.names.iter().any(|other| other == name))
        };
        if let Some(record) = self.kept(known).find(has_struct) {
            let other = &record.entity;
            let changes = format!("the struct `{name}` is recorded as `{other}`, and its kind is now `{entity}`");
            let advice = format!(
                "keep the kind, or that it has none; or move the rows with `tables.migrate::<Old, New>()`; if `{other}` is \
                 another entity, give this struct another name"
            );
            return Err(self.changed(KEY, other, changes, advice));
        }
        Ok(())
    }

    /// Checks whether a row shows to which of this entity and a recorded one it belongs.
    ///
    /// The prefix that an index in the own table gives to the row keys does not count: the struct may be the recorded one
    /// with another name and its first index.
    fn is_told_apart(&self, record: &ReadRecord) -> bool {
        let (own, was) = (&self.schema.layouts[0], &record.layout);
        told_apart(own, was) && !differ_in_implied_prefix(own, was)
    }

    /// Checks that no rows are at the place to which a migration moves entities. Returns what has to be looked up for it.
    fn check_target(&self, primary: Option<&ReadRecord>) -> Result<Option<Look>> {
        match (primary, &self.looked.in_the_way) {
            // A run of the migration may have written to a place that is recorded.
            (Some(_), _) | (None, Found::Nothing) => Ok(None),
            (None, Found::NotLooked) => Ok(Some(Look::AtPlace)),
            (None, Found::One(row)) => {
                let problem = format!(
                    "the new place is not empty: it has {row}; delete the rows there, or give the new struct another table"
                );
                let table = self.schema.table().to_owned();
                Err(Box::new(QueryError::new(table, KEY, problem)).into())
            }
        }
    }

    /// Checks that the program can read the rows that are there, as far as one of them shows it. Returns what has to be
    /// looked up for it.
    fn check_rows(&self, primary: Option<&ReadRecord>) -> Result<Option<Look>> {
        let facts = primary.map(|primary| primary.facts.clone()).unwrap_or_default();
        let version = self.schema.version;
        let (recorded, optional) = (facts.properties.get(&version), facts.optional.get(&version));
        // Programs that always write the property were recorded, and none that does not.
        let is_always = |name: &str| {
            recorded.is_some_and(|recorded| recorded.contains_key(name))
                && !optional.is_some_and(|optional| optional.contains(name))
        };
        // A field of the key is read from the key.
        let is_in_key = |property: &PropertyInfo| {
            self.schema.layouts[0].parts().any(|part| part.field == property.field && !part.is_lossy())
        };
        let leaves = leaves(self.schema.fields);
        let new_part =
            leaves.iter().find(|leaf| recorded.is_some_and(|recorded| lacks_part(leaf, recorded, &facts, version)));
        let is_doubtful = |leaf: &&Leaf| {
            let name = leaf.property.name;
            // In an `Option` or a variant, the property is required in the rows that have the others.
            let is_unrecorded_part = leaf.required_in().is_some() && recorded.is_none();
            (leaf.is_required() && !is_always(name) || is_unrecorded_part) && !is_in_key(&leaf.property)
        };
        let mut doubtful = leaves.iter().filter(is_doubtful).peekable();
        let is_first_of_version = primary.is_some() && recorded.is_none();
        // An entity that was never recorded has no slice, unless another program made it.
        let is_new = match self.schema.layouts[0].slice {
            None => self.is_new(self.schema.table()),
            Some(_) => primary.is_none(),
        };
        if is_new || new_part.is_none() && doubtful.peek().is_none() && !is_first_of_version {
            return Ok(None);
        }
        let row = match &self.looked.first {
            Found::NotLooked => return Ok(Some(Look::AtFirst)),
            Found::Nothing => return Ok(None),
            Found::One(row) => row,
        };
        let entity = primary.map_or(self.schema.entity, |primary| &primary.entity);
        if let Some((property, whole)) = new_part.and_then(|leaf| Some((&leaf.property, leaf.required_in()?))) {
            let change = format!(
                "the property `{}` is required in `{}`, and programs are recorded that write it without the property",
                property.name, whole.path
            );
            return Err(self.changed(PROPERTIES, entity, change, advice_for(property.field)));
        }
        if row.properties.get(VERSION) != version_value(version) {
            // It is read as the struct of its version, and then converted.
            return match self.schema.read(row.clone()) {
                Err(Error::Property(problem)) => {
                    let advice = "give the struct of that version, which `#[table(from = …)]` names, the properties that \
                                  stored rows have, or move the rows with `tables.migrate::<Old, New>()`";
                    Err(self.changed(PROPERTIES, entity, problem.to_string(), advice.to_owned()))
                }
                _ => Ok(None),
            };
        }
        let is_missing =
            |leaf: &&Leaf| row.properties.get(leaf.property.name).is_none() && leaf.is_around(row.properties.as_ref());
        match doubtful.find(is_missing) {
            None => Ok(None),
            Some(leaf) => {
                let change = format!(
                    "the property `{}` is required, and the row (PartitionKey='{}',RowKey='{}') has none",
                    leaf.property.name, row.partition_key, row.row_key
                );
                Err(self.changed(PROPERTIES, entity, change, advice_for(leaf.property.field)))
            }
        }
    }

    /// Checks whether the table did not exist before.
    fn is_new(&self, table: &str) -> bool {
        self.absent.is_made(table) || self.absent.is_missing(table)
    }

    /// Checks whether the table of an index was there before this program, although no record names it: it may have rows
    /// that are older than all records.
    pub fn may_be_left(&self, layout: &LayoutInfo) -> bool {
        let is_recorded = |record: &ReadRecord| record.table.eq_ignore_ascii_case(&layout.table);
        !layout.table.eq_ignore_ascii_case(self.schema.table())
            && !self.is_new(&layout.table)
            && !self.catalog.records.iter().any(is_recorded)
    }

    /// Returns the state in which an index of the struct is recorded; `None` if it depends on whether there are entities.
    fn state(
        &self,
        layout: &'static LayoutInfo,
        primary: Option<&ReadRecord>,
        found: Option<&ReadRecord>,
    ) -> Result<Option<State>> {
        let own_table = self.schema.table();
        let unless_entities = |state| match self.looked.has_no_entity {
            None => None,
            Some(true) => Some(State::Ready),
            Some(false) => Some(state),
        };
        let Some(record) = found else {
            let has_rows = self.looked.filled.as_ref().is_some_and(|filled| filled.contains(&&*layout.table));
            return Ok(match primary {
                // A program without the index may be writing entities.
                Some(_) => Some(State::Building),
                // They are older than all records, and may lead to entities that do not exist.
                None if has_rows => Some(State::Building),
                None if self.is_new(own_table) => Some(State::Ready),
                None => unless_entities(State::Building),
            });
        };
        Ok(match (record.state, self.absent.is_missing(own_table), self.absent.is_missing(&layout.table)) {
            (State::Gone, ..) => {
                let (table, index) = (own_table.to_owned(), layout.name.to_string());
                return Err(Error::IndexDropped { table, index });
            }
            // Neither has rows.
            (State::Ready | State::Building, true, true) => Some(State::Ready),
            // The table of the index was deleted.
            (State::Ready, false, true) => unless_entities(State::Building),
            // The table of the entities was deleted, and the index has rows of entities that do not exist.
            (State::Ready, true, false) => Some(State::Building),
            (state, ..) => Some(state),
        })
    }

    /// Checks that the program hides the entities that others hide.
    pub fn check_lifecycle(&self, record: &ReadRecord) -> Result<()> {
        if self.options.forget_lifecycle {
            return Ok(());
        }
        let own: Vec<_> = self.schema.lifecycle.options().collect();
        let Some(option) = record.facts.lifecycle().options().find(|option| !own.contains(option)) else {
            return Ok(());
        };
        Err(lifecycle_changed(self.schema.table().to_owned(), record.entity.clone(), &option))
    }

    /// Checks whether an index is recorded with other times that hide the entity in its rows, and with no other difference.
    fn is_retimed(&self, layout: &LayoutInfo, record: &ReadRecord, facts: &Facts) -> bool {
        let is_same = facts.lifecycle() == self.schema.lifecycle;
        // A copy has the times as it has every property. A program that does not know them writes copies without them.
        if layout.is_copy() && layout.is_same_partition() && !is_same {
            return self.changes(layout, record).is_empty();
        }
        if self.changes(layout, record).is_empty() || !layout.is_same_partition() {
            return false;
        }
        let times: Vec<_> = facts.lifecycle().properties().chain(self.schema.lifecycle.properties()).collect();
        self.changes(layout, record).iter().all(|change| change.is_of_times(&times))
    }

    /// Returns the record of an index that has other times in its rows from now on, and whether the caller has to wait: the
    /// index has to be built again.
    fn retimed(&self, layout: &LayoutInfo, record: &ReadRecord) -> (Option<Stored<Record>>, bool) {
        // A program that hides entities reads no times in the rows that this one writes without them.
        let lacks_times = self.options.forget_lifecycle;
        match record.state {
            State::Ready if lacks_times => (Some(with_state(record, State::Leaving)), true),
            State::Leaving if lacks_times && !self.waited.contains(&version(record)) => (None, true),
            state => {
                let state = if state == State::Leaving && !lacks_times { state } else { State::Building };
                let mut record = with_state(record, state);
                record.starts = record.starts.saturating_add(1);
                record.layout = self.recorded_text(layout);
                (Some(record), false)
            }
        }
    }

    /// Checks the layout of a recorded index.
    pub fn check_index(&self, layout: &'static LayoutInfo, record: &ReadRecord) -> Result<()> {
        let changes = self.changes(layout, record);
        if changes.is_empty() {
            return Ok(());
        }
        let advice = "keep the layout (`rename(…)` keeps the names of a pointer's properties), or give the changed index \
                      another name, `backfill` it, and drop this one with `drop_index` when no program has it";
        Err(self.changed(&layout.name, &record.entity, joined(&changes), advice.to_owned()))
    }

    /// Checks that rows without a property are read as before, as far as the index depends on it.
    fn check_defaults(&self, layout: &'static LayoutInfo, facts: &Facts, entity: &str) -> Result<()> {
        let Some(recorded) = facts.defaults.get(&*layout.name) else { return Ok(()) };
        let depends = |default: &str| {
            let property = default.split_once(' ').map_or(default, |(property, _)| property);
            depends_on(&self.schema, layout, property)
        };
        for (property, value) in defaults(&self.schema, layout) {
            let Some(was) = recorded.get(&property).filter(|was| **was != value) else { continue };
            // Index rows without the property are read with the new value, as the entities are.
            if was.is_empty() && !depends(&property) {
                continue;
            }
            let shown = |value: &str| if value.is_empty() { "nothing".to_owned() } else { format!("{value:?}") };
            let change = format!(
                "a row without the property `{property}` was read as {} and is read as {}",
                shown(was),
                shown(&value)
            );
            let advice = "keep the default; or, when no program has the index, drop it with `drop_index`, and `backfill` it \
                          again";
            return Err(self.changed(&layout.name, entity, change, advice.to_owned()));
        }
        Ok(())
    }

    /// Decides about recorded indexes that the struct does not have. Returns true if one of them is leaving, and the
    /// indexes without which this program writes entities from now on.
    fn add_missing_indexes(&self, known: &Known<'_>, change: &mut CatalogChange) -> Result<(bool, BTreeSet<String>)> {
        let (mut waits, mut without) = (false, BTreeSet::new());
        let Some(primary) = known.primary else { return Ok((false, without)) };
        for record in self.catalog.indexes(primary).filter(|record| known.keeps(record)) {
            if self.schema.layouts.iter().any(|layout| layout.name == record.name) {
                continue;
            }
            let next = match record.state {
                State::Ready if self.options.demote => {
                    waits = true;
                    with_state(record, State::Leaving)
                }
                State::Ready => {
                    let (table, entity) = (self.schema.table().to_owned(), primary.entity.clone());
                    let index = record.name.clone();
                    return Err(Box::new(MissingIndexError::new(table, entity, index)).into());
                }
                State::Leaving if self.waited.contains(&version(record)) => {
                    let mut record = with_state(record, State::Building);
                    record.starts = record.starts.saturating_add(1);
                    record
                }
                State::Leaving => {
                    waits = true;
                    continue;
                }
                // A backfill in progress must not end as complete: this program writes entities without a row.
                State::Building => {
                    let mut record = record.to_stored();
                    record.starts = record.starts.saturating_add(1);
                    record
                }
                State::Gone => continue,
            };
            if next.state == State::Building {
                without.insert(next.name.clone());
            }
            change.updated.push(next);
        }
        Ok((waits, without))
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
        facts.fields.extend(self.schema.fields_of_properties());
        facts
    }

    fn is_own_version(&self, version: &RecordVersion, names: &[String]) -> bool {
        version.entity_table.eq_ignore_ascii_case(self.schema.table()) && names.contains(&version.entity)
    }

    /// Returns what is recorded of a layout, as JSON.
    fn recorded_text(&self, layout: &LayoutInfo) -> String {
        // Cannot fail: a layout holds only text, numbers and bools.
        serde_json::to_string(&self.schema.recorded(layout)).unwrap_or_default()
    }

    fn new_record(&self, layout: &LayoutInfo, entity: &str, state: State) -> Record {
        // The service ignores case in the names of tables.
        let [table, entity_table] = [&*layout.table, self.schema.table()].map(str::to_ascii_lowercase);
        let (entity, name) = (entity.to_owned(), layout.name.to_string());
        let layout = self.recorded_text(layout);
        Record { table, entity_table, entity, name, layout, state, starts: 0, facts: None }
    }
}

/// Returns the texts of changes.
fn joined(changes: &[LayoutChange]) -> String {
    changes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Checks whether a property is required in an `Option`, a variant or a struct with a default, and recorded programs write that
/// without the property.
fn lacks_part(leaf: &Leaf, types: &BTreeMap<String, String>, facts: &Facts, version: u32) -> bool {
    let Some(whole) = leaf.required_in() else { return false };
    let (own, name) = (whole.recorded(), leaf.property.name);
    let may_be_stored = match &own.variant {
        Some((tag, variant)) => types.get(tag).is_some_and(|tag| may_be_variant(tag, variant)),
        None => own.properties().any(|property| types.contains_key(property)),
    };
    let recorded = facts.wholes.get(&version).map(|recorded| own.find(&whole.path, recorded)).unwrap_or_default();
    let is_written = if recorded.is_empty() {
        // A single property may have become an `Option` of an enum, which a row has by its tag.
        let is_optional = facts.optional.get(&version).is_some_and(|optional| optional.contains(name));
        types.contains_key(name) && (!is_optional || own.variant.is_none() && own.always.len() == 1)
    } else {
        recorded.iter().all(|was| was.always.contains(name))
    };
    may_be_stored && !is_written
}

/// Checks whether rows may have the name of a variant, given the recorded type of the tag.
fn may_be_variant(tag: &str, variant: &str) -> bool {
    let none = PropertyType::Variants { names: &[], is_open: false }.to_string();
    let known = lost_variants(&none, tag);
    known.is_empty() || known.contains(&variant)
}

/// Returns what to do about a required property that rows lack.
fn advice_for(field: &str) -> String {
    format!(
        "make the field `{field}` an `Option`, or give it `#[property(default)]`; if it was renamed, keep its property with \
         `#[property(rename = \"…\")]`; or give the rows a version, with `#[table(version = …, from = …)]`"
    )
}

/// Name of the properties in an error, beside those of layouts.
const PROPERTIES: &str = "properties";

/// Checks that rows of the layout cannot have the keys of another entity's rows in the same table.
fn check_collision(layout: &'static LayoutInfo, record: &ReadRecord) -> Result<()> {
    if record.facts.dropped || !KeyPattern::of(&record.layout).may_collide(KeyPattern::of(layout)) {
        return Ok(());
    }
    let (table, layout) = (layout.table.to_string(), &*layout.name);
    let (entity, other_layout) = (record.entity.clone(), record.name.clone());
    Err(Box::new(RowsCollideError::new(table, layout, entity, other_layout)).into())
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

fn with_state(record: &ReadRecord, state: State) -> Stored<Record> {
    let mut record = record.to_stored();
    record.state = state;
    record
}
