//! What an `#[index(…)]` says: one more layout over the entity's fields.

use proc_macro2::Span;
use syn::{Ident, spanned::Spanned as _};

use super::{Entity, Key, Part, Text};
use crate::{
    attributes::{Keys, List, find, list},
    case::Case,
    encoding::Encoding,
    errors::Errors,
};

/// An index.
pub(crate) struct Index {
    pub(crate) name: Text,
    pub(crate) scope: Scope,
    pub(crate) table: Text,
    pub(crate) unique: Option<Span>,
    pub(crate) copy: Option<Span>,
    pub(crate) list: Option<Span>,
    pub(crate) include: Option<Include>,
    pub(crate) when: Option<When>,
    pub(crate) partition: Key,
    pub(crate) row: Key,
    /// The parts of the primary key, counted over both keys, that its own keys do not imply.
    pub(crate) missing: Vec<usize>,
    /// Their fields, and the property that holds each.
    pub(crate) pointer: Vec<(usize, Text)>,
}

/// Where an index's rows stand.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Scope {
    SamePartition,
    SameTable,
    /// A table that the attribute names.
    Named,
    /// A table of its own, named after it.
    Own,
}

/// What an index's rows hold.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Holds {
    Pointer,
    Include,
    Copy,
    List,
}

/// The fields of `include(…)`, and where each is written.
pub(crate) struct Include {
    pub(crate) span: Span,
    pub(crate) fields: Vec<(usize, Span)>,
}

/// A predicate on some fields: where it says no, the entity has no row.
pub(crate) struct When {
    pub(crate) fields: Vec<(usize, Span)>,
    pub(crate) path: syn::ExprPath,
}

impl Index {
    /// The attribute, which stands on a field or on the struct; nothing if its name or its fields cannot be told.
    pub(super) fn read(entity: &Entity, mut keys: Keys, on: Option<usize>, errors: &mut Errors) -> Option<Self> {
        let name = keys.name(errors)?;
        if is_option(entity, &name, on, errors) {
            return None;
        }
        let (scope, table) = scope(entity, &mut keys, &name, errors);
        let spelled = keys.has("partition") || keys.has("row");
        let (partition, row) = (keys.list("partition", errors), keys.list("row", errors));
        let values = match on {
            Some(field) => {
                refuse_spelled_on_field(partition.as_ref().or(row.as_ref()), errors);
                Some(Values::of_field(entity, field, scope, &mut keys, errors))
            }
            None if spelled => Values::spelled(entity, &name, scope, partition, row, errors),
            None => {
                let field = named(entity, &name, errors);
                field.map(|field| Values::of_field(entity, field, scope, &mut keys, errors))
            }
        };
        let unique = keys.flag("unique", errors);
        let copy = keys.flag("copy", errors);
        let include = keys.list("include", errors).map(|list| include(entity, &list, errors));
        let list = keys.flag("list", errors);
        let prefix = keys.text("prefix", errors).as_ref().map(Text::from);
        let when = keys.list("when", errors).and_then(|list| when(entity, &list, errors));
        let renames = keys.list("rename", errors);
        keys.finish(errors);

        let Values { partition, row } = values?;
        let in_table = matches!(scope, Scope::SamePartition | Scope::SameTable);
        let prefix = prefix.or_else(|| in_table.then(|| Text { value: format!("{}-", name.value), span: name.span }));
        let partition = match scope {
            Scope::SamePartition => entity.partition.clone(),
            _ => Key { parts: partition, ..Key::default() },
        };
        let mut row = Key { prefix, parts: row, ..Key::default() };
        if unique.is_none() && list.is_none() {
            let of_partition = entity.partition.parts.iter().filter(|_| scope != Scope::SamePartition);
            row.parts.extend(of_partition.chain(&entity.row.parts).map(Part::escaped));
        }
        let missing = if list.is_some() { Vec::new() } else { missing(entity, scope, &partition, &row) };
        let pointer = pointer(entity, &name, &missing, list.is_some(), renames, errors);
        Some(Self { name, scope, table, unique, copy, list, include, when, partition, row, missing, pointer })
    }

    /// Whether its rows stand in other partitions than the entities.
    pub(crate) fn is_cross_partition(&self) -> bool {
        self.scope != Scope::SamePartition
    }

    /// Whether its rows stand in the entity's own table.
    pub(crate) fn is_in_own_table(&self) -> bool {
        matches!(self.scope, Scope::SamePartition | Scope::SameTable)
    }

    /// What its rows hold.
    pub(crate) fn holds(&self) -> Holds {
        match (self.list, self.copy, &self.include) {
            (Some(_), ..) => Holds::List,
            (None, Some(_), _) => Holds::Copy,
            (None, None, Some(_)) => Holds::Include,
            (None, None, None) => Holds::Pointer,
        }
    }

    /// The parts that the attribute names, beside those of the primary key.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Part> {
        self.partition.parts.iter().chain(&self.row.parts).filter(|part| part.sparse)
    }

    /// Whether a change of the field, which is stored, changes the index's rows.
    pub(crate) fn depends_on(&self, field: usize) -> bool {
        let included = self.include.iter().flat_map(|include| &include.fields);
        let judged = self.when.iter().flat_map(|when| &when.fields);
        self.copy.is_some()
            || self.values().any(|part| part.field == field)
            || included.chain(judged).any(|(other, _)| *other == field)
    }
}

/// The parts that an attribute names.
struct Values {
    partition: Vec<Part>,
    row: Vec<Part>,
}

impl Values {
    /// One field: elsewhere it is the partition, in the entity's own partition it begins the row.
    fn of_field(entity: &Entity, field: usize, scope: Scope, keys: &mut Keys, errors: &mut Errors) -> Self {
        let part = vec![value(entity, field, keys, errors)];
        match scope {
            Scope::SamePartition => Self { partition: Vec::new(), row: part },
            _ => Self { partition: part, row: Vec::new() },
        }
    }

    /// Both keys field by field.
    fn spelled(
        entity: &Entity,
        name: &Text,
        scope: Scope,
        partition: Option<List>,
        row: Option<List>,
        errors: &mut Errors,
    ) -> Option<Self> {
        match (scope, &partition) {
            (Scope::SamePartition, Some(list)) => errors.at(
                list.span(),
                "with `same_partition` the partition is the entity's own; remove `partition(…)`, or `same_partition`",
            ),
            (Scope::SamePartition, None) | (_, Some(_)) => {}
            (_, None) if row.is_none() => return None,
            (_, None) => {
                let message = "has a partition of its own; write `partition(…)` beside `row(…)`, or `same_partition`";
                errors.at(name.span, format_args!("the index `{}` {message}", name.value));
                return None;
            }
        }
        let mut parts = |list: Option<List>| list.map_or_else(Vec::new, |list| values(entity, &list, errors));
        let (partition, row) = (parts(partition), parts(row));
        let needed = if scope == Scope::SamePartition { &row } else { &partition };
        (!needed.is_empty()).then_some(Self { partition, row })
    }
}

/// `f, g(lowercase)`
fn values(entity: &Entity, list: &List, errors: &mut Errors) -> Vec<Part> {
    let mut parts = Vec::new();
    for (ident, mut keys) in list.fields("index", errors) {
        if let Some(field) = field(entity, &ident, errors) {
            parts.push(value(entity, field, &mut keys, errors));
            keys.finish(errors);
        }
    }
    parts
}

/// A field of the index, with the encoding that the keys say.
fn value(entity: &Entity, field: usize, keys: &mut Keys, errors: &mut Errors) -> Part {
    let (encoding, span) = Encoding::read(keys, errors);
    Part { field, encoding, sparse: true, span: span.unwrap_or_else(|| entity.fields[field].ty.span()) }
}

/// A name that was forgotten leaves an option in its place. Whether it is so.
fn is_option(entity: &Entity, Text { value, span }: &Text, on: Option<usize>, errors: &mut Errors) -> bool {
    let options = ["same_partition", "same_table", "unique", "copy", "list", "lowercase", "uppercase", "reverse"];
    let more = ["time", "reverse_time", "raw"];
    let forgotten = options.iter().chain(&more).any(|option| option == value)
        && entity.fields.iter().all(|field| field.name != *value);
    if forgotten {
        let name = on.map_or("name", |field| &entity.fields[field].name);
        let message = format_args!("an index begins with its name, before its options: `#[index({name}, {value})]`");
        errors.at(*span, message);
    }
    forgotten
}

/// An index has one place. It gives the first one.
fn scope(entity: &Entity, keys: &mut Keys, name: &Text, errors: &mut Errors) -> (Scope, Text) {
    let same_partition = keys.flag("same_partition", errors);
    let same_table = keys.flag("same_table", errors);
    let table = keys.text("table", errors);
    let named = table.as_ref().map(|table| (Scope::Named, table.span()));
    let given = [
        same_partition.map(|span| (Scope::SamePartition, span)),
        same_table.map(|span| (Scope::SameTable, span)),
        named,
    ];
    let mut given = given.into_iter().flatten();
    let scope = given.next().map_or(Scope::Own, |(scope, _)| scope);
    for (_, span) in given {
        errors.at(span, "an index stands in one place: keep `same_partition`, `same_table` or `table = \"…\"`");
    }
    let table = match (scope, &table) {
        (Scope::Named, Some(table)) => Text::from(table),
        (Scope::SamePartition | Scope::SameTable, _) => entity.table.clone(),
        _ => Text { value: format!("{}By{}", entity.table.value, Case::Pascal.field(&name.value)), span: name.span },
    };
    (scope, table)
}

/// On a field the attribute is about that field.
fn refuse_spelled_on_field(list: Option<&List>, errors: &mut Errors) {
    if let Some(list) = list {
        errors.at(list.span(), "an index whose keys are spelled out stands on the struct; move the attribute there");
    }
}

/// The field of that name, on the struct where no keys are spelled out.
fn named(entity: &Entity, name: &Text, errors: &mut Errors) -> Option<usize> {
    let field = entity.fields.iter().position(|field| field.name == name.value);
    if field.is_none() {
        let message = format_args!(
            "no field is called `{0}`\nhelp: put `#[index({0}, …)]` on the field, or spell the keys out: \
             `#[index({0}, partition(…), row(…))]`",
            name.value
        );
        errors.at(name.span, message);
    }
    field
}

/// The field that an attribute means.
fn field(entity: &Entity, ident: &Ident, errors: &mut Errors) -> Option<usize> {
    let names: Vec<_> = entity.fields.iter().map(|field| field.name.as_str()).collect();
    find(ident, "field", &names, errors)
}

fn include(entity: &Entity, list: &List, errors: &mut Errors) -> Include {
    let span = list.span();
    let idents = list.idents(errors);
    let fields = idents.iter().filter_map(|ident| Some((field(entity, ident, errors)?, ident.span()))).collect();
    Include { span, fields }
}

/// `f, g, path`
fn when(entity: &Entity, list: &List, errors: &mut Errors) -> Option<When> {
    let span = list.span();
    let mut paths = list.paths(errors);
    let path = paths.pop()?;
    let mut fields = Vec::new();
    for given in &paths {
        match given.path.get_ident().filter(|_| given.qself.is_none()) {
            Some(ident) => fields.extend(field(entity, ident, errors).map(|field| (field, ident.span()))),
            None => errors.on(given, "`when` takes fields, and one path at the end: `when(field, path)`"),
        }
    }
    if paths.is_empty() {
        errors.at(span, "`when` takes fields, and a function of them: `when(field, path)`");
        return None;
    }
    Some(When { fields, path })
}

/// What the index's keys do not hold of the primary key: in the entity's own partition the row alone is asked.
fn missing(entity: &Entity, scope: Scope, partition: &Key, row: &Key) -> Vec<usize> {
    let in_partition = scope == Scope::SamePartition;
    let held: &[Part] = if in_partition { &[] } else { &partition.parts };
    let holds = |part: &Part| {
        let part = part.escaped();
        held.iter().chain(&row.parts).any(|other| other.field == part.field && other.encoding == part.encoding)
    };
    let skipped = if in_partition { entity.partition.parts.len() } else { 0 };
    let parts = entity.partition.parts.iter().chain(&entity.row.parts).enumerate().skip(skipped);
    parts.filter(|(_, part)| !holds(part)).map(|(number, _)| number).collect()
}

/// The fields of the missing parts, and their properties.
fn pointer(
    entity: &Entity,
    name: &Text,
    missing: &[usize],
    is_list: bool,
    renames: Option<List>,
    errors: &mut Errors,
) -> Vec<(usize, Text)> {
    let mut pointer: Vec<(usize, Text)> = Vec::new();
    for number in missing {
        let field = entity.key_part(*number).field;
        if pointer.iter().all(|(other, _)| *other != field) {
            let value = format!("IndexedEntity{}", Case::Pascal.field(&entity.fields[field].name));
            pointer.push((field, Text { value, span: name.span }));
        }
    }
    for (ident, text) in renames.map_or_else(Vec::new, |list| list.texts(errors)) {
        let names: Vec<_> = pointer.iter().map(|(field, _)| entity.fields[*field].name.as_str()).collect();
        if names.is_empty() {
            let why = if is_list { "a list holds the ids alone" } else { "its keys tell the entity's" };
            errors.on(&ident, format_args!("the index `{}` has no pointer to rename: {why}; remove it", name.value));
        } else if let Some(at) = names.iter().position(|name| ident == name) {
            pointer[at].1 = Text::from(&text);
        } else {
            let message = format_args!(
                "the pointer of the index `{}` does not hold `{ident}`; it holds {}",
                name.value,
                list(&names)
            );
            errors.on(&ident, message);
        }
    }
    pointer
}
