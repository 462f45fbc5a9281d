//! Comparison of a program's entity with the catalog: what to record, and what to refuse.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::CatalogChange;
use crate::{
    ETag, Error, Layout, LayoutChangedError, LayoutInfo, MissingIndexError, Result, RowsCollideError, Stored,
    layout::{Fields, KeyPattern, Reads, reads, told_apart, written},
    tables::{CatalogPage, Facts, KEY, LayoutId, Record, State},
};

/// Options of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// Takes ready indexes that the struct does not have back to building.
    pub(crate) demote: bool,
    /// Records the primary key as building, because a migration moves entities to it.
    pub(crate) is_target: bool,
}

/// A record in one version. The records that one transaction writes can have one ETag.
#[derive(Debug, PartialEq)]
pub(crate) struct RecordVersion {
    table: String,
    entity_table: String,
    entity: String,
    name: String,
    etag: ETag,
}

/// A program's entity beside the records of its tables.
pub(crate) struct Comparison<'a> {
    pub(crate) entity: &'a Layout,
    pub(crate) was: Option<&'static str>,
    pub(crate) options: Options,
    pub(crate) pages: &'a [CatalogPage],
    /// Tables that did not exist before.
    pub(crate) created: &'a [&'static str],
    /// Records whose rows are gone, because their table was deleted.
    pub(crate) forgettable: &'a [RecordVersion],
    /// Records in the state [`Leaving`](State::Leaving) since before every lease has expired.
    pub(crate) waited: &'a [RecordVersion],
    /// Whether the table has no entity; `None` if that was not checked yet.
    pub(crate) has_no_entity: Option<bool>,
}

/// Result of a comparison that refuses nothing.
pub(crate) enum Decision {
    /// The caller has to check whether the table has entities, and to compare again.
    CheckForEntities,
    /// The caller writes the change.
    Change {
        change: CatalogChange,
        /// Records that the program relies on as they are, with their layouts and versions.
        ready: Vec<(LayoutId, ETag)>,
        /// Name under which the entity is recorded.
        name: String,
        /// True if another layout is leaving: after the change is written, the caller waits until every lease has
        /// expired, and compares again.
        waits: bool,
    },
}

/// Returns the version of a record.
pub(crate) fn version(record: &Stored<Record>) -> RecordVersion {
    let Record { table, entity_table, entity, name, .. } = Record::clone(record);
    RecordVersion { table, entity_table, entity, name, etag: Stored::etag(record).clone() }
}

impl<'a> Comparison<'a> {
    /// Returns a comparison without options, with tables that have existed before.
    pub(crate) fn new(entity: &'a Layout, was: Option<&'static str>, pages: &'a [CatalogPage]) -> Self {
        let options = Options::default();
        Self { entity, was, options, pages, created: &[], forgettable: &[], waited: &[], has_no_entity: None }
    }

    /// Returns the record of a layout of the entity.
    pub(crate) fn recorded(&self, layout: &LayoutInfo) -> Option<&'a Stored<Record>> {
        let page = self.page(&self.entity.layouts[0].table.to_ascii_lowercase())?;
        let name = page.primary(&self.own_id()).map_or(self.entity.entity, |record| &record.entity);
        self.record(layout.table, name, layout.name)
    }

    /// Returns the recorded indexes of the entity, in quotation marks.
    pub(crate) fn recorded_indexes(&self) -> Vec<String> {
        let page = self.page(&self.entity.layouts[0].table.to_ascii_lowercase());
        let facts = page.and_then(|page| page.primary(&self.own_id())).map(|primary| primary.facts());
        facts.unwrap_or_default().indexes.into_keys().map(|index| format!("`{index}`")).collect()
    }

    /// Returns the record of an index of the entity.
    pub(crate) fn recorded_index(&self, index: &str) -> Option<&'a Stored<Record>> {
        let page = self.page(&self.entity.layouts[0].table.to_ascii_lowercase())?;
        let primary = page.primary(&self.own_id())?;
        self.record(primary.facts().indexes.get(index)?, &primary.entity, index)
    }

    /// Checks that the entity is not recorded as moved. The caller creates tables only after this check.
    ///
    /// # Errors
    /// Returns an error if the entity was moved, or is the target of a migration.
    pub(crate) fn check_place(&self) -> Result<()> {
        let page = self.page(&self.entity.layouts[0].table.to_ascii_lowercase());
        page.and_then(|page| page.primary(&self.own_id())).map_or(Ok(()), |record| self.check_state(record))
    }

    /// Compares the entity with the records.
    ///
    /// # Errors
    /// Returns an error if the program would not find stored rows, if its rows could be taken for those of another
    /// entity, if it would write entities without rows in a ready index, and if the entity was moved.
    pub(crate) fn decide(&self) -> Result<Decision> {
        let forgotten = self.forgotten();
        let kept = |record: &&Stored<Record>| !forgotten.contains(&version(record));
        let own_table = self.id(&self.entity.layouts[0]).entity_table.to_ascii_lowercase();
        let primary = self.page(&own_table).and_then(|page| page.primary(&self.own_id())).filter(|record| kept(record));
        let name = primary.map_or(self.entity.entity, |record| &record.entity).to_owned();
        match primary {
            Some(primary) => self.check_primary(primary)?,
            None => self.check_told_apart(&own_table, kept)?,
        }
        for layout in self.entity.layouts {
            let records = self.page(&layout.table.to_ascii_lowercase()).map(|page| page.records.as_slice());
            for record in records.unwrap_or_default().iter().filter(kept).filter(|record| !self.is_own(record, &name)) {
                self.check_collision(layout, record)?;
            }
        }

        let (mut change, mut ready) = (CatalogChange::default(), Vec::new());
        for layout in self.entity.layouts.iter().skip(1) {
            let id = self.id(layout);
            if let Some(record) = self.record(layout.table, &name, layout.name).filter(|record| kept(record)) {
                self.check_index(layout, record)?;
                match record.state {
                    State::Ready => ready.push((id, Stored::etag(record).clone())),
                    // There are no entities left to index.
                    State::Building if self.created.contains(&self.entity.layouts[0].table) => {
                        change.updated.push(with_state(record, State::Ready));
                    }
                    State::Building | State::Leaving => {}
                    State::Gone => {
                        let (table, index) = (id.entity_table.to_owned(), id.name.to_owned());
                        return Err(Error::IndexDropped { table, index });
                    }
                }
            } else {
                let state = match (primary, self.has_no_entity) {
                    // A program without the index may be writing entities.
                    (Some(_), _) => State::Building,
                    _ if self.created.contains(&self.entity.layouts[0].table) => State::Ready,
                    (None, Some(true)) => State::Ready,
                    (None, Some(false)) => State::Building,
                    (None, None) => return Ok(Decision::CheckForEntities),
                };
                change.inserted.push(self.new_record(layout, &name, state));
            }
        }
        let waits = self.add_missing_indexes(primary, &name, kept, &mut change)?;

        let facts = self.facts(primary, &forgotten);
        match primary {
            Some(primary) if primary.facts() == facts => {
                if primary.state == State::Ready {
                    ready.push((self.own_id(), Stored::etag(primary).clone()));
                }
            }
            Some(primary) => {
                let mut primary = primary.clone();
                primary.set_facts(&facts);
                change.updated.push(primary);
            }
            None => {
                let state = if self.options.is_target { State::Building } else { State::Ready };
                let mut record = self.new_record(&self.entity.layouts[0], &name, state);
                record.set_facts(&facts);
                change.inserted.push(record);
            }
        }
        for record in self.pages.iter().flat_map(|page| &page.records).filter(|record| !kept(record)) {
            // A record that is written again under its keys needs no removal.
            let is_same = |new: &Record| {
                (&new.table, &new.entity_table, &new.entity, &new.name)
                    == (&record.table, &record.entity_table, &record.entity, &record.name)
            };
            match change.inserted.iter().position(is_same) {
                None => change.removed.push(record.clone()),
                Some(at) => {
                    let mut record = record.clone();
                    *record = change.inserted.remove(at);
                    change.updated.push(record);
                }
            }
        }
        Ok(Decision::Change { change, ready, name, waits })
    }

    fn id(&self, layout: &'static LayoutInfo) -> LayoutId {
        LayoutId::of(self.entity, self.was, layout)
    }

    fn own_id(&self) -> LayoutId {
        self.id(&self.entity.layouts[0])
    }

    fn page(&self, table: &str) -> Option<&'a CatalogPage> {
        self.pages.iter().find(|page| page.table == table)
    }

    /// Checks whether a record belongs to the entity that is recorded under this name.
    fn is_own(&self, record: &Record, name: &str) -> bool {
        record.entity_table.eq_ignore_ascii_case(self.entity.layouts[0].table) && record.entity == name
    }

    /// Returns the record of a layout of the entity, which is recorded under this name.
    fn record(&self, table: &str, entity: &str, layout: &str) -> Option<&'a Stored<Record>> {
        let page = self.page(&table.to_ascii_lowercase())?;
        page.records.iter().find(|record| self.is_own(record, entity) && record.name == layout)
    }

    /// Returns the records that do not fit the entity and whose rows are gone.
    fn forgotten(&self) -> Vec<RecordVersion> {
        let own = self.page(&self.entity.layouts[0].table.to_ascii_lowercase());
        let primary = own.and_then(|page| page.primary(&self.own_id()));
        let name = primary.map_or(self.entity.entity, |record| &record.entity);
        let fits = |record: &Stored<Record>| {
            if self.is_own(record, name) {
                // A program with the old struct of a moved entity stays refused.
                if record.is_primary() && record.state == State::Gone {
                    return true;
                }
                let layout = self.entity.layouts.iter().find(|layout| layout.name == record.name);
                return layout.is_some_and(|layout| self.changes(layout, record).is_empty())
                    && !matches!(record.state, State::Leaving | State::Gone);
            }
            let mut layouts = self.entity.layouts.iter();
            layouts.all(|layout| {
                !layout.table.eq_ignore_ascii_case(&record.table) || self.check_collision(layout, record).is_ok()
            }) && (primary.is_some() || !record.is_primary() || self.is_told_apart(record))
        };
        let records = self.pages.iter().flat_map(|page| &page.records);
        let gone = records.filter(|record| self.forgettable.contains(&version(record)) && !fits(record));
        gone.map(version).collect()
    }

    /// Returns the differences between a recorded layout and the program's.
    fn changes(&self, layout: &LayoutInfo, record: &Record) -> Vec<String> {
        Fields::of(self.entity).changes(&record.layout(), &written(self.entity, layout))
    }

    fn changed(&self, layout: &'static str, entity: &str, changes: String, advice: String) -> Error {
        let (table, entity) = (self.entity.layouts[0].table.to_owned(), entity.to_owned());
        Box::new(LayoutChangedError { table, entity, layout, changes, advice }).into()
    }

    /// Checks the state of the entity's primary key.
    fn check_state(&self, record: &Record) -> Result<()> {
        let id = self.own_id();
        let (table, entity) = (id.entity_table.to_owned(), id.entity.to_owned());
        match record.state {
            State::Ready => Ok(()),
            State::Building if self.options.is_target => Ok(()),
            State::Building => Err(Error::EntityMigrating { table, entity }),
            State::Leaving | State::Gone => {
                let moved = record.facts().moved;
                let to = moved.map(|place| place.to_string()).unwrap_or_default();
                Err(Error::EntityMoved { table, entity, to })
            }
        }
    }

    /// Checks the record of the entity's primary key: its state, its layout, and the types of the properties.
    fn check_primary(&self, record: &Stored<Record>) -> Result<()> {
        let facts = record.facts();
        self.check_state(record)?;
        let changes = self.changes(&self.entity.layouts[0], record);
        if !changes.is_empty() {
            let advice = "keep the layout (`#[row_key(prefix = \"…\")]` keeps the beginning of its row keys), or give the \
                          changed struct another table or name and move the rows with `tables.migrate::<Old, New>()`; an \
                          entity of another kind in the same table needs a kind or a prefix of its own";
            return Err(self.changed(KEY, &record.entity, changes.join("; "), advice.to_owned()));
        }
        let recorded = facts.properties.get(&self.entity.version);
        for property in self.entity.properties {
            let Some(edm) = property.edm else { continue };
            let Some(was) = recorded.and_then(|recorded| recorded.get(property.name)) else { continue };
            if reads(&edm.to_string(), was) == Reads::Nothing {
                let change =
                    format!("the property `{}` was {was} and is {edm}, which no stored row has", property.name);
                let advice = "keep the type; or store the field as another property (`#[property(rename = \"…\")]`); or \
                              give the rows a version, with `#[table(version = …, from = …)]`";
                return Err(self.changed("properties", &record.entity, change, advice.to_owned()));
            }
        }
        Ok(())
    }

    /// Checks that no recorded entity of the table has rows that could be taken for those of this new one.
    fn check_told_apart(&self, table: &str, kept: impl Fn(&&Stored<Record>) -> bool) -> Result<()> {
        let records = self.page(table).map(|page| page.records.as_slice()).unwrap_or_default();
        let of_table =
            |record: &&Stored<Record>| record.is_primary() && record.entity_table == table && !record.facts().dropped;
        let mut primaries = records.iter().filter(kept).filter(of_table);
        let Some(record) = primaries.find(|record| !self.is_told_apart(record)) else { return Ok(()) };
        let (other, entity) = (&record.entity, self.entity.entity);
        let mut changes =
            vec![format!("`{entity}` is not recorded, and its rows could not be told apart from those of `{other}`")];
        changes.extend(self.changes(&self.entity.layouts[0], record));
        let advice = format!(
            "if `{entity}` is the entity that was called `{other}`, write `#[table(was = \"{other}\")]`; if both are \
                 in the table, give each of them a kind, with `#[table(kind)]`, or a prefix of its own, with \
                 `#[row_key(prefix = \"…\")]`"
        );
        Err(self.changed(KEY, other, changes.join("; "), advice))
    }

    /// Checks whether a row shows to which of this entity and a recorded one it belongs.
    ///
    /// The prefix that an index in the own table gives to the row keys does not count: the struct may be the recorded one
    /// with another name and its first index.
    fn is_told_apart(&self, record: &Record) -> bool {
        let (now, was) = (written(self.entity, &self.entity.layouts[0]), record.layout());
        told_apart(&now, &was) && !differ_in_implied_prefix(&now, &was)
    }

    /// Checks that rows of the layout cannot have the keys of another entity's rows in the same table.
    fn check_collision(&self, layout: &'static LayoutInfo, record: &Record) -> Result<()> {
        let stored = record.layout();
        if record.facts().dropped
            || !KeyPattern::recorded(&stored).may_collide(KeyPattern::recorded(&written(self.entity, layout)))
        {
            return Ok(());
        }
        let (table, layout) = (layout.table.to_owned(), layout.name);
        let (entity, other_layout) = (record.entity.clone(), record.name.clone());
        Err(Box::new(RowsCollideError { table, layout, entity, other_layout }).into())
    }

    /// Checks the layout of a recorded index.
    pub(crate) fn check_index(&self, layout: &'static LayoutInfo, record: &Record) -> Result<()> {
        let changes = self.changes(layout, record);
        if changes.is_empty() {
            return Ok(());
        }
        let advice = "keep the layout (`rename(…)` keeps the names of a pointer's properties), or give the changed index \
                      another name, `backfill` it, and drop this one with `drop_index` when no program has it";
        Err(self.changed(layout.name, &record.entity, changes.join("; "), advice.to_owned()))
    }

    /// Decides about recorded indexes that the struct does not have. Returns true if one of them is leaving.
    fn add_missing_indexes(
        &self,
        primary: Option<&Stored<Record>>,
        name: &str,
        kept: impl Fn(&&Stored<Record>) -> bool,
        change: &mut CatalogChange,
    ) -> Result<bool> {
        let mut waits = false;
        let Some(primary) = primary else { return Ok(false) };
        for (index, table) in primary.facts().indexes {
            if self.entity.layouts.iter().any(|layout| layout.name == index) {
                continue;
            }
            let Some(record) = self.record(&table, name, &index).filter(|record| kept(record)) else { continue };
            let next = match record.state {
                State::Ready if self.options.demote => {
                    waits = true;
                    with_state(record, State::Leaving)
                }
                State::Ready => {
                    let (table, entity) = (self.entity.layouts[0].table.to_owned(), name.to_owned());
                    return Err(Box::new(MissingIndexError { table, entity, index }).into());
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
                    let mut record = record.clone();
                    record.starts = record.starts.saturating_add(1);
                    record
                }
                State::Gone => continue,
            };
            change.updated.push(next);
        }
        Ok(waits)
    }

    /// Returns the facts about the entity that have to be recorded.
    fn facts(&self, primary: Option<&Stored<Record>>, forgotten: &[RecordVersion]) -> Facts {
        let mut facts = primary.map(|primary| primary.facts()).unwrap_or_default();
        if !facts.names.iter().any(|name| name == self.entity.entity) {
            facts.names.push(self.entity.entity.to_owned());
        }
        let entity = primary.map_or(self.entity.entity, |record| &record.entity).to_owned();
        facts.indexes.retain(|index, table| {
            let is_forgotten =
                |version: &RecordVersion| (&version.table, &version.entity, &version.name) == (table, &entity, index);
            !forgotten.iter().any(is_forgotten)
        });
        for layout in self.entity.layouts.iter().skip(1) {
            facts.indexes.insert(layout.name.to_owned(), layout.table.to_ascii_lowercase());
        }
        let types: &mut BTreeMap<String, String> = facts.properties.entry(self.entity.version).or_default();
        for property in self.entity.properties {
            if let Some(edm) = property.edm {
                types.entry(property.name.to_owned()).or_insert_with(|| edm.to_string());
            }
        }
        facts
    }

    fn new_record(&self, layout: &LayoutInfo, entity: &str, state: State) -> Record {
        // The service ignores case in the names of tables.
        let [table, entity_table] = [layout.table, self.entity.layouts[0].table].map(str::to_ascii_lowercase);
        let (entity, name) = (entity.to_owned(), layout.name.to_owned());
        let layout = written(self.entity, layout).to_string();
        Record { table, entity_table, entity, name, layout, state, starts: 0, facts: None }
    }
}

/// Returns the tables of an entity's layouts, in lower case.
pub(crate) fn tables_of(entity: &Layout) -> Vec<String> {
    let tables: BTreeSet<_> = entity.layouts.iter().map(|layout| layout.table.to_ascii_lowercase()).collect();
    tables.into_iter().collect()
}

/// Returns the tables of indexes that are recorded for the entity, as far as their records were not read.
pub(crate) fn further_tables(pages: &[CatalogPage], id: &LayoutId) -> Vec<String> {
    let table = id.entity_table.to_ascii_lowercase();
    let own = pages.iter().find(|page| page.table == table).and_then(|page| page.primary(id));
    let tables: BTreeSet<_> = own.map(|primary| primary.facts().indexes).unwrap_or_default().into_values().collect();
    tables.into_iter().filter(|table| !pages.iter().any(|page| page.table == *table)).collect()
}

/// Checks whether two primary keys without kinds have the same parts, and differ in the prefix `{field}-` of one of them.
fn differ_in_implied_prefix(one: &Value, other: &Value) -> bool {
    let implied = |key: &Value| key["row"][0]["field"].as_str().map(|field| format!("{field}-")).unwrap_or_default();
    let kinds = |key: &Value| -> Vec<Value> {
        let parts = ["partition", "row"].into_iter().flat_map(|name| key[name].as_array().into_iter().flatten());
        parts.map(|part| part["kind"].clone()).collect()
    };
    let is_implied = |with: &Value, without: &Value| with["row_prefix"] == implied(with) && without["row_prefix"] == "";
    one["kind"].is_null()
        && other["kind"].is_null()
        && one["partition_prefix"] == other["partition_prefix"]
        && kinds(one) == kinds(other)
        && (is_implied(one, other) || is_implied(other, one))
}

fn with_state(record: &Stored<Record>, state: State) -> Stored<Record> {
    let mut record = record.clone();
    record.state = state;
    record
}
