//! Indexes: further layouts over the fields of an entity.
//!
//! To add an option of an index: `table-model/src/layout/info.rs` lists its places. One that only changes the key is an encoding of a part
//! and needs no more. The rows of any other are encoded in `table-runtime/src/write/index/schema.rs`, planned in `change.rs` there, and
//! checked in `table-runtime/src/admin/jobs/examine.rs`. If they are written in several steps, read `docs/index-protocol.md` first. Test it
//! in the explorer, in `conformance/index`, in `golden_indexes.rs`, `index_requests.rs` and `job_requests.rs`.

use proc_macro2::Span;
use syn::Ident;

use super::{
    field::{Field, FieldRef, Storage, Strategy},
    key::{Key, Part},
    layout::Layout,
    lifecycle::Lifecycle,
    refused,
};
use crate::{
    attributes::{Argument, Keys, List, ListedField},
    case::Case,
    encoding::Encoding,
    encoding_option::{EncodingOption, Form},
    errors::Errors,
    names::list,
    text::Text,
};

/// The options of an index without a value, other than encodings.
const FLAGS: [&str; 6] = ["same_partition", "same_table", "unique", "copy", "list", "each"];

/// Fields, table and primary key of an entity, to which its indexes refer.
#[derive(Clone, Copy)]
pub(super) struct Base<'a> {
    pub(super) fields: &'a [Field],
    pub(super) table: &'a Text,
    pub(super) partition: &'a Key,
    pub(super) row: &'a Key,
    pub(super) lifecycle: &'a Lifecycle,
}

/// Content of an `#[index(…)]`. The spans are those of the options.
pub(crate) struct Index {
    pub(crate) name: Text,
    pub(crate) scope: Scope,
    pub(crate) table: Text,
    pub(crate) unique: Option<Span>,
    pub(crate) copy: Option<Span>,
    pub(crate) list: Option<Span>,
    /// What `include(…)` names, and the times that hide the entity if the rows are in its partition.
    pub(crate) include: Option<Include>,
    pub(crate) when: Option<When>,
    pub(crate) partition: Key,
    pub(crate) row: Key,
    /// The parts of the primary key that the index's own keys do not contain, numbered over both keys.
    pub(crate) missing: Vec<usize>,
    /// The properties that store the fields of the missing parts.
    pub(crate) pointer: Vec<PointerProperty>,
}

/// Location of an index's rows.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Scope {
    SamePartition,
    SameTable,
    /// The table that the attribute names.
    Named,
    /// The index's own table, which has the names of the entity's table and of the index.
    Own,
}

/// Content of an index's rows.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Content {
    Pointer,
    Include,
    Copy,
    List,
}

/// Content of `include(…)`.
pub(crate) struct Include {
    pub(crate) span: Span,
    pub(crate) fields: Vec<FieldRef>,
}

/// Content of `when(…)`: a predicate over some fields. If it returns false, the entity has no row in the index.
pub(crate) struct When {
    pub(crate) fields: Vec<FieldRef>,
    pub(crate) path: syn::ExprPath,
}

/// Property of an index row that stores a field of the primary key.
pub(crate) struct PointerProperty {
    /// The field's position among the fields.
    pub(crate) field: usize,
    pub(crate) name: Text,
}

impl Include {
    /// Adds the field whose elements have rows. A query that reads the rows alone finds out from the elements which row of an
    /// entity is the first.
    fn add_elements(&mut self, base: Base<'_>, parts: &[Field], each: Option<(usize, Span)>) {
        let Some((field, span)) = each else { return };
        let part = field.checked_sub(base.fields.len()).and_then(|part| parts.get(part)?.path());
        let field = part.map_or(field, |path| path.field);
        if self.fields.iter().all(|included| included.field != field) {
            self.fields.push(FieldRef { field, span });
        }
    }
}

impl Include {
    /// Adds the times that hide the entity. A query that reads the rows alone decides by them.
    fn add_times(include: &mut Option<Self>, lifecycle: &Lifecycle) {
        for time in lifecycle.fields() {
            let Self { fields, .. } = include.get_or_insert_with(|| Self { span: time.span, fields: Vec::new() });
            if fields.iter().all(|included| included.field != time.field) {
                fields.push(time);
            }
        }
    }
}

impl<'a> Base<'a> {
    /// Returns the parts of both keys.
    fn parts(self) -> impl Iterator<Item = &'a Part> {
        self.partition.parts.iter().chain(&self.row.parts)
    }
}

impl Index {
    /// Reads the attribute. `on` is the field on which it is written, or `None` for the struct, and `before` the field of
    /// the attribute before. Returns nothing if the name or the fields cannot be resolved.
    /// The parts of fields that the index names by their paths are added to `parts`.
    pub(super) fn read(
        base: Base<'_>,
        mut keys: Keys,
        (on, before): (Option<usize>, Option<usize>),
        parts: &mut Vec<Field>,
        errors: &mut Errors,
    ) -> Option<Self> {
        let name = keys.name(errors)?;
        if report_missing_name(base, &name, on, on.is_some() && on == before, errors) {
            return None;
        }
        if let Some(field) = on.map(|field| &base.fields[field]).filter(|field| field.name != name.value)
            && base.fields.iter().any(|other| other.name == name.value)
        {
            let message = format_args!(
                "the index `{0}` is over the field `{1}`, where it is, and another field is called `{0}`; put it there, or write \
                 `#[index({1}, …)]`",
                name.value, field.name
            );
            errors.at(name.span, message);
        }
        let (scope, table) = scope(base, &mut keys, &name, errors);
        let has_explicit_keys = keys.has("partition") || keys.has("row");
        let (partition, row) = (keys.list("partition", errors), keys.list("row", errors));
        let values = match on {
            Some(field) => {
                report_keys_on_field(partition.as_ref().or(row.as_ref()), errors);
                Some(Values::of_field(base, field, scope, &mut keys, errors))
            }
            None if has_explicit_keys => Values::explicit(base, &name, scope, (partition, row), parts, errors),
            // Listed fields are reported below.
            None if keys.lists(|name| !FLAGS.contains(&name) && base.fields.iter().any(|field| field.name == name)) => {
                None
            }
            None if keys.refuse_list("each", errors) => None,
            None if keys.has_synonym_of_list() => None,
            None => {
                let field = field_with_name_of_index(base, &name, errors);
                field.map(|field| Values::of_field(base, field, scope, &mut keys, errors))
            }
        };
        let unique = keys.flag("unique", errors);
        let copy = keys.flag("copy", errors);
        let include = keys.list("include", errors).map(|list| include(base, &list, errors));
        let list = keys.flag("list", errors);
        let prefix = keys.text("prefix", errors);
        let when = keys.list("when", errors).and_then(|list| when(base, &list, parts, errors));
        let renames = keys.list("rename", errors);
        keys.refuse_fields(
            &name.value,
            on.is_none(),
            |name| base.fields.iter().any(|field| field.name == name),
            errors,
        );
        keys.finish(errors);

        let Values { mut partition, mut row } = values?;
        make_elements((base.fields, parts), &mut partition, &mut row, errors);
        refuse_collections(base.fields, &name, &mut partition, &mut row, errors);
        refuse_floats(base.fields, partition.iter().chain(&row), errors);
        refuse_each_of_one(base.fields, &mut partition, &mut row, errors);
        let each = partition.iter().chain(&row).find_map(|part| Some((part.field, part.each?)));
        let mut include = include.map(|mut include| {
            include.add_elements(base, parts, each);
            include
        });
        if scope == Scope::SamePartition && copy.is_none() && list.is_none() {
            Include::add_times(&mut include, base.lifecycle);
        }
        let is_in_own_table = matches!(scope, Scope::SamePartition | Scope::SameTable);
        let default_prefix = || Text { value: format!("{}-", name.value), span: name.span };
        let prefix = prefix.or_else(|| is_in_own_table.then(default_prefix));
        let partition = match scope {
            Scope::SamePartition => base.partition.clone(),
            _ => Key { parts: partition, ..Key::default() },
        };
        let mut row = Key { prefix, parts: row, ..Key::default() };
        if unique.is_none() && list.is_none() {
            let in_partition = base.partition.parts.iter().filter(|_| scope != Scope::SamePartition);
            row.parts.extend(in_partition.chain(&base.row.parts).map(Part::escaped));
        }
        let missing = if list.is_some() { Vec::new() } else { missing_parts(base, scope, &partition, &row) };
        let mut pointer = pointer(base, &name, &missing);
        if let Some(renames) = renames {
            rename_pointer(base, &name, &mut pointer, list.is_some(), &renames, errors);
        }
        Some(Self { name, scope, table, unique, copy, list, include, when, partition, row, missing, pointer })
    }

    /// Returns the layout of the rows, which has this number among those of the entity.
    pub(super) const fn layout(&self, number: usize) -> Layout<'_> {
        let Self { table, partition, row, .. } = self;
        Layout { number, table, partition, row, index: Some(self) }
    }

    /// Returns rows in the entity's partition whose keys contain no part of its row key.
    pub(super) fn of_prefix(base: Base<'_>, name: &Text, prefix: Text) -> Self {
        let (partition, row) = (base.partition.clone(), Key { prefix: Some(prefix), ..Key::default() });
        let missing = missing_parts(base, Scope::SamePartition, &partition, &row);
        Self {
            name: name.clone(),
            scope: Scope::SamePartition,
            table: base.table.clone(),
            unique: None,
            copy: None,
            list: None,
            include: None,
            when: None,
            pointer: pointer(base, name, &missing),
            partition,
            row,
            missing,
        }
    }

    /// Returns true if the rows are in other partitions than the entity.
    pub(crate) fn is_cross_partition(&self) -> bool {
        self.scope != Scope::SamePartition
    }

    /// Returns true if the rows are in the entity's own table.
    pub(crate) fn is_in_own_table(&self) -> bool {
        matches!(self.scope, Scope::SamePartition | Scope::SameTable)
    }

    /// Returns the content of the rows.
    pub(crate) fn content(&self) -> Content {
        match (self.list, self.copy, &self.include) {
            (Some(_), ..) => Content::List,
            (None, Some(_), _) => Content::Copy,
            (None, None, Some(_)) => Content::Include,
            (None, None, None) => Content::Pointer,
        }
    }

    /// Returns the parts that the attribute names, without the parts of the primary key.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Part> {
        self.partition.parts.iter().chain(&self.row.parts).filter(|part| part.is_index_value)
    }

    /// Returns the part that holds an element of a field, if the index has a row for each element.
    pub(crate) fn each(&self) -> Option<&Part> {
        self.values().find(|part| part.each.is_some())
    }

    /// Returns the fields of `include(…)`.
    pub(crate) fn included(&self) -> &[FieldRef] {
        self.include.as_ref().map_or(&[], |include| &include.fields)
    }

    /// Returns the fields of `when(…)`.
    pub(crate) fn conditions(&self) -> &[FieldRef] {
        self.when.as_ref().map_or(&[], |when| &when.fields)
    }

    /// Returns true if a change of the field, which is stored, changes the index's rows.
    pub(crate) fn depends_on(&self, field: usize) -> bool {
        self.copy.is_some()
            || self.values().any(|part| part.field == field)
            || self.included().iter().chain(self.conditions()).any(|other| other.field == field)
    }
}

/// Parts that the attribute names.
struct Values {
    partition: Vec<Part>,
    row: Vec<Part>,
}

impl Values {
    /// Returns the keys of an index over one field. In the entity's own partition the field begins the row key. In other
    /// partitions it is the partition key.
    fn of_field(base: Base<'_>, field: usize, scope: Scope, keys: &mut Keys, errors: &mut Errors) -> Self {
        let each = keys.flag("each", errors);
        let part = vec![Part { each, ..value(&base.fields[field], field, keys, errors) }];
        match scope {
            Scope::SamePartition => Self { partition: Vec::new(), row: part },
            _ => Self { partition: part, row: Vec::new() },
        }
    }

    /// Returns the keys of `partition(…)` and `row(…)`.
    fn explicit(
        base: Base<'_>,
        name: &Text,
        scope: Scope,
        (partition, row): (Option<List>, Option<List>),
        fields: &mut Vec<Field>,
        errors: &mut Errors,
    ) -> Option<Self> {
        match (scope, &partition) {
            (Scope::SamePartition, Some(list)) => errors.at(
                list.span(),
                "an index with `same_partition` uses the entity's partition key; remove `partition(…)`, or \
                 `same_partition`",
            ),
            (Scope::SamePartition, None) | (_, Some(_)) => {}
            (_, None) if row.is_none() => return None,
            (_, None) => {
                let message = "has no partition key; write `partition(…)` or `same_partition`";
                errors.at(name.span, format_args!("the index `{}` {message}", name.value));
                return None;
            }
        }
        let mut parts = |list: Option<List>| list.map_or_else(Vec::new, |list| values(base, &list, fields, errors));
        let (partition, row) = (parts(partition), parts(row));
        let needed = if scope == Scope::SamePartition { &row } else { &partition };
        (!needed.is_empty()).then_some(Self { partition, row })
    }
}

/// Reads `f, g(lowercase)`.
fn values(base: Base<'_>, list: &List, fields: &mut Vec<Field>, errors: &mut Errors) -> Vec<Part> {
    let is_field = |name: &str| base.fields.iter().any(|field| field.name == name);
    // A field of a struct may be called `time` or `first` too.
    let has_no_parts = |name: &str| base.fields.iter().any(|field| field.name == name && field.may_be_key());
    let mut parts: Vec<Part> = Vec::new();
    for listed in list.fields("index", is_field, errors) {
        let before = parts.last().and_then(|before| base.fields.get(before.field)).map(|field| field.name.as_str());
        let Some(listed) = listed.repaired(before, is_field, has_no_parts, errors) else { continue };
        let ListedField { path, each, mut keys } = listed;
        let field = match path.as_slice() {
            [ident] => Field::find(base.fields, ident, errors),
            path => part_at(base, path, fields, errors),
        };
        let Some(field) = field else { continue };
        let declared = base.fields.get(field).unwrap_or_else(|| &fields[field - base.fields.len()]);
        let part = value(declared, field, &mut keys, errors);
        keys.finish(errors);
        parts.push(Part { each, place: path.last().map_or(part.place, Ident::span), ..part });
    }
    parts
}

/// Makes elements of all parts of a field of which one is an element, and reports the others.
fn make_elements((fields, parts): (&[Field], &[Field]), partition: &mut [Part], row: &mut [Part], errors: &mut Errors) {
    let Some((field, each)) = partition.iter().chain(row.iter()).find_map(|part| Some((part.field, part.each?))) else {
        return;
    };
    for part in partition.iter_mut().chain(row).filter(|part| part.field == field && part.each.is_none()) {
        part.each = Some(each);
        if let Some(Field { name, .. }) = fields.iter().chain(parts).nth(field) {
            errors.at(
                part.span,
                format_args!("other parts of this index are elements of `{name}`; write `each({name})`"),
            );
        }
    }
}

/// Reports collections without `each`, and reads them as if it was written.
fn refuse_collections(fields: &[Field], name: &Text, partition: &mut [Part], row: &mut [Part], errors: &mut Errors) {
    for part in partition.iter_mut().chain(row).filter(|part| part.each.is_none()) {
        let Some(field) = fields.get(part.field).filter(|field| refused::is_collection(field.ty.declared())) else {
            continue;
        };
        let message = format_args!(
            "a key holds one value, and `{0}` may hold many; for a row for each element, write `each`: `#[index({1}, each, \
             …)]` on the field, or `each({0})` in `row(…)` or `partition(…)`",
            field.name, name.value
        );
        errors.at(part.place, message);
        part.each = Some(part.place);
    }
}

/// Reports floating-point numbers, of which no encoding has the order.
fn refuse_floats<'p>(fields: &[Field], parts: impl Iterator<Item = &'p Part>, errors: &mut Errors) {
    for part in parts {
        let ty = fields.get(part.field).map(|field| field.ty.declared());
        if let Some(advice) = ty.and_then(refused::float_advice) {
            errors.at(part.place, advice);
        }
    }
}

/// Reports `each` on a field of one value, and reads the index without it.
fn refuse_each_of_one(fields: &[Field], partition: &mut [Part], row: &mut [Part], errors: &mut Errors) {
    for part in partition.iter_mut().chain(row) {
        if let Some(each) = part.each
            && let Some(field) = fields.get(part.field).filter(|field| field.may_be_key())
        {
            let message = format_args!(
                "`each` needs a collection, and `{}` has one value; write the type of the field as `Vec<…>`, with \
                 `#[property(json)]`, or remove `each`",
                field.name
            );
            errors.at(each, message);
            part.each = None;
        }
    }
}

/// Returns the position of a part of a field among the fields and the parts, to which it is added.
fn part_at(base: Base<'_>, path: &[Ident], parts: &mut Vec<Field>, errors: &mut Errors) -> Option<usize> {
    let field = Field::find(base.fields, path.first()?, errors)?;
    let Field { name, ty, storage, .. } = &base.fields[field];
    let message = if refused::is_collection(ty.declared()) {
        let text = path.iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
        Some(format!(
            "the elements of `{name}` have no parts that an index can name, such as `{text}`\n\
             help: store the values in a field of their own, such as `cities: Vec<String>`, and write `each(cities)`"
        ))
    } else if let Storage::Property(property) = storage
        && !matches!(property.strategy, Strategy::Native)
    {
        Some(format!(
            "`{name}` is stored as one property, in which a path leads nowhere; derive `Property` on its type, and remove \
             `json`, `text` or `scale`"
        ))
    } else {
        None
    };
    if let Some(message) = message {
        errors.at(path.last().map_or_else(Span::call_site, Ident::span), message);
        return None;
    }
    let part = Field::part(field, &base.fields[field], path);
    let known = parts.iter().position(|known| known.name == part.name);
    let at = known.unwrap_or_else(|| {
        parts.push(part);
        parts.len() - 1
    });
    Some(base.fields.len() + at)
}

/// Returns a field as a part of the index, with the encoding that the keys set. `field` is its position.
fn value(declared: &Field, field: usize, keys: &mut Keys, errors: &mut Errors) -> Part {
    let (encoding, span) = Encoding::read(keys, errors);
    let span = span.unwrap_or_else(|| declared.ty.span());
    Part { field, encoding, is_index_value: true, each: None, span, place: span }
}

/// Reports a missing name: the first key is then an option, and no field has this name. Returns true if it is missing.
fn report_missing_name(base: Base<'_>, first: &Text, on: Option<usize>, is_second: bool, errors: &mut Errors) -> bool {
    let Text { value, span } = first;
    let is_encoding_flag = EncodingOption::named(value).is_some_and(|option| matches!(option.form(), Form::Flag));
    let is_option = is_encoding_flag || FLAGS.contains(&value.as_str());
    let is_missing = is_option && base.fields.iter().all(|field| field.name != *value);
    if is_missing {
        let name = on.map_or("name", |field| &base.fields[field].name);
        let fix = if is_second {
            format!("all options of an index are in one attribute: `#[index({name}, …, {value})]`")
        } else {
            format!("write `#[index({name}, {value})]`")
        };
        errors.at(*span, format_args!("`#[index]` needs the name of the index before the options; {fix}"));
    }
    is_missing
}

/// Reads the scope and returns it with the table. If there are several, the first one counts.
fn scope(base: Base<'_>, keys: &mut Keys, name: &Text, errors: &mut Errors) -> (Scope, Text) {
    let same_partition = keys.flag("same_partition", errors);
    let same_table = keys.flag("same_table", errors);
    let table = keys.text("table", errors);
    let named = table.as_ref().map(|table| (Scope::Named, table.span));
    let given = [
        same_partition.map(|span| (Scope::SamePartition, span)),
        same_table.map(|span| (Scope::SameTable, span)),
        named,
    ];
    let mut given = given.into_iter().flatten();
    let scope = given.next().map_or(Scope::Own, |(scope, _)| scope);
    for (_, span) in given {
        errors.at(span, "an index has one scope; keep `same_partition`, `same_table` or `table = \"…\"`");
    }
    let table = match (scope, table) {
        (Scope::Named, Some(table)) => table,
        (Scope::SamePartition | Scope::SameTable, _) => base.table.clone(),
        _ => Text { value: format!("{}By{}", base.table.value, Case::Pascal.field(&name.value)), span: name.span },
    };
    (scope, table)
}

/// Reports `partition(…)` or `row(…)` on a field, where the field itself is the index's value.
fn report_keys_on_field(list: Option<&List>, errors: &mut Errors) {
    if let Some(list) = list {
        let message = "an index with `partition(…)` or `row(…)` belongs on the struct; move the attribute there";
        errors.at(list.span(), message);
    }
}

/// Returns the field with the name of the index, for an attribute on the struct without `partition(…)` and `row(…)`.
fn field_with_name_of_index(base: Base<'_>, name: &Text, errors: &mut Errors) -> Option<usize> {
    let field = base.fields.iter().position(|field| field.name == name.value);
    if field.is_none() {
        let message = format_args!(
            "no field is called `{0}`\nhelp: put `#[index({0}, …)]` on a field, or write both keys: `#[index({0}, \
             partition(…), row(…))]`",
            name.value
        );
        errors.at(name.span, message);
    }
    field
}

/// Reads `f, g`.
fn include(base: Base<'_>, list: &List, errors: &mut Errors) -> Include {
    let span = list.span();
    let idents = list.idents(errors);
    let fields = idents.iter().filter_map(|ident| field_ref(base, ident, errors)).collect();
    Include { span, fields }
}

/// Reads `f, g.h, path`.
fn when(base: Base<'_>, list: &List, parts: &mut Vec<Field>, errors: &mut Errors) -> Option<When> {
    let span = list.span();
    let mut arguments = list.arguments(errors);
    let path = match arguments.pop()? {
        Argument::Function(path) => path,
        Argument::Field(path) => {
            let message = "`when` takes fields, then the path of a function; write `when(field, path)`";
            errors.at(path.last().map_or(span, Ident::span), message);
            return None;
        }
    };
    if let ([Argument::Function(first)], Some(field)) = (arguments.as_slice(), path.path.get_ident())
        && let Some(function) = first.path.get_ident()
        && base.fields.iter().any(|other| *field == other.name)
        && base.fields.iter().all(|other| *function != other.name)
    {
        errors.at(span, format_args!("the field comes first; write `when({field}, {function})`"));
        return None;
    }
    let mut fields = Vec::new();
    for given in &arguments {
        match given {
            Argument::Field(path) => {
                let span = path.last().map_or(span, Ident::span);
                fields.extend(part_at(base, path, parts, errors).map(|field| FieldRef { field, span }));
            }
            Argument::Function(given) => match given.path.get_ident().filter(|_| given.qself.is_none()) {
                Some(ident) => fields.extend(field_ref(base, ident, errors)),
                None => errors.on(given, "`when` takes fields, then the path of a function; write `when(field, path)`"),
            },
        }
    }
    if arguments.is_empty() {
        let path = "the path of a function that takes a reference to each of them and returns `bool`";
        errors.at(span, format_args!("`when` needs one or more fields, and then {path}; write `when(field, path)`"));
        return None;
    }
    Some(When { fields, path })
}

fn field_ref(base: Base<'_>, ident: &Ident, errors: &mut Errors) -> Option<FieldRef> {
    Field::find(base.fields, ident, errors).map(|field| FieldRef { field, span: ident.span() })
}

/// Returns the numbers of the primary key's parts that the index's keys do not contain. In the entity's own partition
/// the partition key is known, and the row key of the index must contain the rest.
fn missing_parts(base: Base<'_>, scope: Scope, partition: &Key, row: &Key) -> Vec<usize> {
    let in_partition = scope == Scope::SamePartition;
    let partition: &[Part] = if in_partition { &[] } else { &partition.parts };
    let is_contained = |part: &Part| {
        let part = part.escaped();
        partition.iter().chain(&row.parts).any(|other| other.field == part.field && other.encoding == part.encoding)
    };
    let known = if in_partition { base.partition.parts.len() } else { 0 };
    let parts = base.parts().enumerate().skip(known);
    parts.filter(|(_, part)| !is_contained(part)).map(|(number, _)| number).collect()
}

/// Returns one property for each field of the missing parts.
fn pointer(base: Base<'_>, name: &Text, missing: &[usize]) -> Vec<PointerProperty> {
    let mut pointer: Vec<PointerProperty> = Vec::new();
    for (_, part) in base.parts().enumerate().filter(|(number, _)| missing.contains(number)) {
        let field = part.field;
        if pointer.iter().all(|other| other.field != field) {
            let value = format!("IndexedEntity{}", Case::Pascal.field(&base.fields[field].name));
            pointer.push(PointerProperty { field, name: Text { value, span: name.span } });
        }
    }
    pointer
}

/// Applies `rename(f = "…")`.
fn rename_pointer(
    base: Base<'_>,
    name: &Text,
    pointer: &mut [PointerProperty],
    is_list: bool,
    renames: &List,
    errors: &mut Errors,
) {
    let fields: Vec<_> = pointer.iter().map(|property| base.fields[property.field].name.as_str()).collect();
    for (ident, text) in renames.texts("field", errors) {
        if fields.is_empty() {
            let why = if is_list { "a list stores only ids" } else { "its keys contain the entity's whole key" };
            errors.on(&ident, format_args!("the index `{}` has no pointer to rename: {why}; remove it", name.value));
        } else if let Some(at) = fields.iter().position(|field| ident == field) {
            pointer[at].name = text;
        } else {
            let message = format_args!(
                "the pointer of the index `{}` does not contain `{ident}`; it contains {}",
                name.value,
                list(&fields)
            );
            errors.on(&ident, message);
        }
    }
}
