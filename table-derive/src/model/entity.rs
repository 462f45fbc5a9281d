//! The struct with `#[derive(TableEntity)]`.
//!
//! To add an attribute: read it here or in `field.rs`, where the code that reads names is the only list of them. Check what excludes it in
//! a function of `check`, whose message says what to write instead, with a case in `tests/ui/tests/ui`. Generate as little code as
//! possible in `expand`: logic belongs to the runtime. Add it to the tables in `lib.rs`.

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::{Data, DeriveInput, Fields, Generics, Ident, Path, Visibility, ext::IdentExt as _};

use super::{
    events::Events,
    field::{Field, FieldPath, Property, Storage},
    functions::Functions,
    index::{Base, Index},
    key::{Key, Part},
    layout::Layout,
    lifecycle::Lifecycle,
    refused,
    slice::Slice,
};
use crate::{
    attributes::{Keys, refuse, refuse_primary_key},
    case::Case,
    errors::Errors,
    runtime::Runtime,
    text::Text,
};

/// Greatest version of an entity: the greatest `Edm.Int32`.
const MAX_VERSION: usize = 0x7FFF_FFFF;

/// Struct whose values are stored as rows.
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Entity {
    pub(crate) ident: Ident,
    pub(crate) visibility: Visibility,
    pub(crate) generics: Generics,
    pub(crate) runtime: Runtime,
    pub(crate) table: Text,
    pub(crate) kind: Option<String>,
    /// The entity's name in the catalog, if the attribute sets it.
    pub(crate) pinned_name: Option<Text>,
    /// The entity's earlier name in the catalog.
    pub(crate) was: Option<Text>,
    pub(crate) write_id: bool,
    pub(crate) allow_scan: bool,
    pub(crate) deny_unknown: bool,
    pub(crate) version: Option<usize>,
    /// Struct that reads rows of older versions.
    pub(crate) from: Option<Path>,
    pub(crate) skip_newer: bool,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) events: Option<Events>,
    pub(crate) functions: Functions,
    pub(crate) separator: Option<Text>,
    pub(crate) slice: Option<Slice>,
    pub(crate) partition: Key,
    pub(crate) row: Key,
    pub(crate) fields: Vec<Field>,
    /// The indexes on the struct, then those on the fields, in order.
    pub(crate) indexes: Vec<Index>,
}

/// Way in which a field is stored.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    /// As a property on which no key and no index depends.
    Free,
    /// In the primary key alone.
    InKey,
    /// As a property on which a key or an index depends.
    Indexed,
    Skipped,
}

/// Source from which a field is read.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Source {
    /// The part of the partition key with this position.
    Partition(usize),
    /// The part of the row key with this position.
    Row(usize),
    Property,
    Skipped,
}

impl Entity {
    /// Reads the struct. Returns nothing if it is not a struct with named fields that owns its data.
    pub(crate) fn read(input: &DeriveInput, errors: &mut Errors) -> Option<Self> {
        refuse_lifetimes(input, errors);
        refuse(&input.attrs, &["partition_key", "row_key", "property"], "on a struct", errors);
        refuse_primary_key(&input.attrs, errors);
        let runtime = Runtime::read(&input.attrs, "table");
        let mut keys = Keys::read(&input.attrs, "table", errors);
        let name = input.ident.unraw().to_string();
        keys.path("crate", errors);
        let table = keys.text("name", errors);
        let table = table.unwrap_or_else(|| Text { value: name.clone(), span: input.ident.span() });
        for (key, attribute) in [("partition", "partition_key"), ("row", "row_key")] {
            keys.refuse_field_as_constant(key, attribute, |ident| has_field(input, ident), errors);
        }
        let partition = keys.text("partition", errors);
        let row = keys.text("row", errors);
        let style = keys.text("rename_all", errors);
        let style = style.and_then(|style| Case::of_properties(&style, errors)).unwrap_or(Case::Pascal);
        let kind = keys.text_or("kind", &name, errors);
        let pinned_name = keys.text("entity", errors);
        let was = keys.text("was", errors);
        let separator = keys.text("separator", errors);
        let slice = keys.call("slice", "month(field)", errors);
        let write_id = keys.flag("write_id", errors).is_some();
        let allow_scan = keys.flag("allow_scan", errors).is_some();
        let deny_unknown = keys.flag("deny_unknown", errors).is_some();
        // A struct without the key has version 1.
        let version = keys.number("version", 2..=MAX_VERSION, errors).map(|(_, version)| version);
        let from = keys.path("from", errors);
        if let Some(from) = &from {
            check_older(from, &input.ident, version, errors);
        }
        let skip_newer = keys.flag("skip_newer", errors).is_some();
        let times = [("expires", "until"), ("soft_delete", "deleted")]
            .map(|(key, example)| keys.field_path(key, example, errors));
        let events = keys.events(errors);
        let functions = Functions::read(&mut keys, |ident| has_field(input, ident), errors);
        functions.check_scan(allow_scan, errors);
        keys.finish(errors);

        let mut entity = Self {
            ident: input.ident.clone(),
            visibility: input.vis.clone(),
            generics: input.generics.clone(),
            runtime,
            table,
            kind,
            pinned_name,
            was,
            write_id,
            allow_scan,
            deny_unknown,
            version,
            from,
            skip_newer,
            lifecycle: Lifecycle::default(),
            events: None,
            functions,
            separator,
            slice: None,
            partition: Key { constant: partition, ..Key::default() },
            row: Key { constant: row, ..Key::default() },
            fields: Vec::new(),
            indexes: Vec::new(),
        };
        let mut indexes: Vec<_> =
            Keys::read_each(&input.attrs, "index", None, errors).map(|keys| (keys, None)).collect();
        for (at, field) in named_fields(input, errors)?.enumerate() {
            entity.read_field(at, field, style, errors);
            entity.refuse_etag(errors);
            refuse_primary_key(&field.attrs, errors);
            let name = field.ident.as_ref().map(|ident| ident.unraw().to_string());
            let on_field = Keys::read_each(&field.attrs, "index", name.as_deref(), errors);
            indexes.extend(on_field.map(|keys| (keys, Some(at))));
        }
        entity.refuse_placeholders(errors);
        let owns_data = input.generics.lifetimes().next().is_none();
        if owns_data {
            entity.refuse_key_types(errors);
        }
        // Times, slices and indexes refer to fields, so all fields are read before them.
        entity.lifecycle = Lifecycle::read(&entity.fields, times, errors);
        entity.slice = slice.and_then(|(unit, field)| Slice::read(&entity.fields, &unit, &field, errors));
        let mut parts = Vec::new();
        let mut before = None;
        for (keys, field) in indexes {
            let index = Index::read(entity.base(), keys, (field, before), &mut parts, errors);
            entity.indexes.extend(index);
            before = field;
        }
        entity.fields.extend(parts);
        entity.prefix_own_rows();
        entity.events = events.map(|(span, copy)| Events::new(entity.base(), span, copy));
        if owns_data {
            entity.refuse_types(errors);
        }
        owns_data.then_some(entity)
    }

    fn read_field(&mut self, at: usize, declared: &syn::Field, style: Case, errors: &mut Errors) {
        let Some(ident) = &declared.ident else { return };
        refuse(&declared.attrs, &["table"], "on a field", errors);
        if let Some(mut keys) = Keys::read_once(&declared.attrs, "partition_key", errors) {
            refuse_prefix_of_partition(&mut keys, errors);
            self.partition.parts.push(Part::read(at, keys, declared, errors));
        }
        if let Some(mut keys) = Keys::read_once(&declared.attrs, "row_key", errors) {
            let prefix = keys.text("prefix", errors);
            if self.row.parts.is_empty() {
                self.row.prefix = prefix;
            } else {
                self.row.misplaced_prefixes.extend(prefix);
            }
            self.row.parts.push(Part::read(at, keys, declared, errors));
        }
        let mut field = Field::read(ident, declared, style, errors);
        // A constant cannot have the parameters of the entity.
        if self.generics.params.is_empty() {
            field.ty.check_in(&self.ident, at);
        }
        self.fields.push(field);
    }

    /// Reports constants that are meant as fields, `{author}` in one of them or a field's name in both, and makes the keys of
    /// these fields.
    fn refuse_placeholders(&mut self, errors: &mut Errors) {
        let Self { fields, partition, row, .. } = self;
        let of_field =
            |key: &Key| key.constant.as_ref().and_then(|text| fields.iter().position(|field| field.name == text.value));
        // One constant may be called as a field is. Two are a mistake.
        if let (Some(first), Some(second)) = (of_field(partition), of_field(row)) {
            for (key, attribute, field) in [(partition, "partition_key", first), (row, "row_key", second)] {
                if let Some(Text { span, .. }) = key.constant.take() {
                    let name = &fields[field].name;
                    let message =
                        format_args!("`{name}` is a field, not a constant; put `#[{attribute}]` on the field");
                    errors.at(span, message);
                }
                key.parts.push(Part::plain(field, fields[field].ident.span()));
            }
            return;
        }
        for (key, attribute) in [(partition, "partition_key"), (row, "row_key")] {
            let Some(Text { value, span }) = &key.constant else { continue };
            let inside = value.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
            let named: Vec<_> =
                inside.filter_map(|(name, _)| fields.iter().position(|field| field.name == name)).collect();
            let Some(first) = named.first() else { continue };
            let message = format_args!(
                "the constant `{value}` is no template; put `#[{attribute}]` on `{}`, and on each other field of the key, in \
                 the order of the parts",
                fields[*first].name
            );
            errors.at(*span, message);
            key.constant = None;
            key.parts.extend(named.into_iter().map(|at| Part::plain(at, fields[at].ident.span())));
        }
    }

    /// Reports the last field if it is for the ETag of the row, whose type is no property. With an attribute, the field may be
    /// for another ETag, such as `#[property(text)]`.
    fn refuse_etag(&mut self, errors: &mut Errors) {
        let Some(field) = self.fields.last_mut() else { return };
        let is_plain = matches!(&field.storage, Storage::Property(property) if !property.has_attribute);
        let last = field.ty.declared().to_token_stream().into_iter().last();
        if is_plain && field.name == "etag" && last.is_some_and(|last| last.to_string() == "ETag") {
            let message = "the `Stored` that a query returns has the ETag, and `update` compares it; remove the field";
            errors.on(&field.ident, message);
            field.storage = Storage::Refused;
        }
    }

    /// Reports fields whose types can be no part of a key, and removes them from the keys.
    fn refuse_key_types(&mut self, errors: &mut Errors) {
        let Self { fields, partition, row, .. } = self;
        let advice: Vec<_> =
            fields.iter().map(|field| Some(refused::key_advice(&field.ty)?.replace("{field}", &field.name))).collect();
        let mut reported = Vec::new();
        for key in [partition, row] {
            let parts = std::mem::take(&mut key.parts);
            for part in parts {
                let Some(advice) = &advice[part.field] else {
                    key.parts.push(part);
                    continue;
                };
                if !reported.contains(&part.field) {
                    errors.on(fields[part.field].ty.declared(), advice);
                    reported.push(part.field);
                }
                fields[part.field].storage = Storage::Refused;
            }
        }
    }

    /// Reports fields whose types can be no property.
    fn refuse_types(&mut self, errors: &mut Errors) {
        for at in 0..self.fields.len() {
            if self.mode(at) == Mode::Free {
                self.fields[at].refuse_type(errors);
                continue;
            }
            let lossy = self.primary_parts().find(|part| part.field == at).map(|part| part.encoding.to_string());
            if let Some(encoding) = lossy.filter(|_| self.source(at) == Source::Property) {
                self.fields[at].refuse_type_of_lossy_key(&encoding, errors);
            }
        }
    }

    /// Gives the entity's own rows a prefix if index rows are in the same table, so that the rows cannot collide.
    fn prefix_own_rows(&mut self) {
        if let (None, Some(first)) = (&self.row.prefix, self.row.parts.first())
            && self.indexes.iter().any(Index::is_in_own_table)
        {
            let Field { name, ident, .. } = &self.fields[first.field];
            self.row.prefix = Some(Text { value: format!("{name}-"), span: ident.span() });
        }
    }

    fn base(&self) -> Base<'_> {
        Base {
            fields: &self.fields,
            table: &self.table,
            partition: &self.partition,
            row: &self.row,
            lifecycle: &self.lifecycle,
        }
    }

    /// Returns the entity's name without regard to a kind: that of the attribute, or else the struct's.
    pub(crate) fn name(&self) -> String {
        self.pinned_name.as_ref().map_or_else(|| self.ident.unraw().to_string(), |name| name.value.clone())
    }

    /// Returns the layout of the entity's own rows.
    pub(crate) fn primary(&self) -> Layout<'_> {
        let (table, partition, row) = (&self.table, &self.partition, &self.row);
        Layout { number: 0, table, partition, row, index: None }
    }

    /// Returns the primary key, then every index.
    pub(crate) fn layouts(&self) -> impl Iterator<Item = Layout<'_>> {
        let indexes = self.indexes.iter().enumerate().map(|(at, index)| index.layout(at + 1));
        std::iter::once(self.primary()).chain(indexes)
    }

    /// Returns the layouts whose rows lead to the entity: every index, then the events.
    pub(crate) fn pointers(&self) -> impl Iterator<Item = Layout<'_>> {
        self.layouts().skip(1).chain(self.events())
    }

    /// Returns the layout of the entity's events.
    pub(crate) fn events(&self) -> Option<Layout<'_>> {
        self.events.as_ref().map(|events| events.rows.layout(self.indexes.len() + 1))
    }

    /// Returns a part of the primary key by its number over both keys.
    pub(crate) fn key_part(&self, number: usize) -> &Part {
        match number.checked_sub(self.partition.parts.len()) {
            Some(row) => &self.row.parts[row],
            None => &self.partition.parts[number],
        }
    }

    /// Returns true if the field has a part in the primary key.
    pub(crate) fn is_in_key(&self, field: usize) -> bool {
        self.primary_parts().any(|part| part.field == field)
    }

    /// Returns the parts of both keys.
    fn primary_parts(&self) -> impl Iterator<Item = &Part> {
        self.partition.parts.iter().chain(&self.row.parts)
    }

    /// Returns the source of a field: the first key part with a lossless encoding, or else its property.
    pub(crate) fn source(&self, field: usize) -> Source {
        let is_source = |part: &Part| part.field == field && !part.encoding.is_lossy();
        if self.fields[field].stored().is_none() {
            Source::Skipped
        } else if let Some(part) = self.partition.parts.iter().position(is_source) {
            Source::Partition(part)
        } else if let Some(part) = self.row.parts.iter().position(is_source) {
            Source::Row(part)
        } else {
            Source::Property
        }
    }

    /// Returns the way in which a field is stored.
    pub(crate) fn mode(&self, field: usize) -> Mode {
        let Storage::Property(property) = &self.fields[field].storage else { return Mode::Skipped };
        let is_in_key = self.is_in_key(field);
        if is_in_key && !property.has_attribute && self.source(field) != Source::Property {
            Mode::InKey
        } else if is_in_key || self.has_index_on(field) || self.lifecycle.fields().any(|time| time.field == field) {
            Mode::Indexed
        } else {
            Mode::Free
        }
    }

    fn has_index_on(&self, field: usize) -> bool {
        self.indexes.iter().any(|index| index.depends_on(field))
    }

    /// Returns the paths to the parts of a field on which indexes depend, if `patch` may set the others.
    pub(crate) fn indexed_parts(&self, field: usize) -> Vec<&FieldPath> {
        let paths = self.fields.iter().filter_map(Field::path);
        paths.filter(|path| path.field == field && self.mode(field) == Mode::Free).collect()
    }

    /// Returns the property of a field, if the field is stored as one.
    pub(crate) fn property(&self, field: usize) -> Option<&Property> {
        match (&self.fields[field].storage, self.mode(field)) {
            (Storage::Property(property), Mode::Free | Mode::Indexed) => Some(property),
            _ => None,
        }
    }

    /// Returns the number of a field among those that are stored as properties.
    pub(crate) fn number(&self, field: usize) -> usize {
        (0..field).filter(|before| self.property(*before).is_some()).count()
    }

    /// Returns the number of properties that are not those of fields.
    pub(crate) fn own_properties(&self) -> usize {
        let has = [self.kind.is_some(), self.write_id, self.version.is_some(), self.events.is_some()];
        has.into_iter().map(usize::from).sum()
    }

    /// Returns the fields that are stored as properties, in order.
    pub(crate) fn properties(&self) -> impl Iterator<Item = (&Field, &Property)> {
        self.fields.iter().enumerate().filter_map(|(at, field)| Some((field, self.property(at)?)))
    }
}

/// Checks what reads rows of older versions.
fn check_older(from: &Path, own: &Ident, version: Option<usize>, errors: &mut Errors) {
    if from.is_ident(own) {
        let message = "is the struct itself; keep the older struct under another name, such as";
        errors.on(from, format_args!("`{own}` {message} `{own}V1`, and write `from = {own}V1`"));
    } else if version.is_none() {
        let message =
            "`from` reads rows of older versions, so this struct needs a version; write `version = 2` before it";
        errors.on(from, message);
    }
}

/// Reports lifetime parameters: `TableEntity` requires `'static`, because a row is read into a new value.
fn refuse_lifetimes(input: &DeriveInput, errors: &mut Errors) {
    for lifetime in input.generics.lifetimes() {
        let message = "an entity must own its data; write `String` instead of `&str`, and remove the lifetime";
        errors.on(lifetime, message);
    }
}

fn has_field(input: &DeriveInput, name: &Ident) -> bool {
    match &input.data {
        Data::Struct(data) => data.fields.iter().any(|field| field.ident.as_ref() == Some(name)),
        Data::Enum(_) | Data::Union(_) => false,
    }
}

/// Returns the fields, or reports an error if they have no names.
fn named_fields<'a>(
    input: &'a DeriveInput,
    errors: &mut Errors,
) -> Option<impl Iterator<Item = &'a syn::Field> + use<'a>> {
    let name = &input.ident;
    let mut report = |tokens: TokenStream, problem: &str, help: String| {
        errors.on(tokens, format_args!("`TableEntity` {problem}\nhelp: {help}"));
        None
    };
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Some(fields.named.iter()),
            fields @ Fields::Unnamed(_) => report(
                fields.to_token_stream(),
                "needs named fields, because properties have the names of fields",
                format!("write `struct {name} {{ … }}`; for a newtype, derive `KeyPart` or `Property`"),
            ),
            Fields::Unit => report(name.to_token_stream(), "needs fields", format!("write `struct {name} {{ … }}`")),
        },
        Data::Enum(data) => report(
            data.enum_token.to_token_stream(),
            "is for structs, because a row is one set of properties",
            "for an enum of entities, derive `EntityGroup`; for an enum of names in a key or a property, derive `KeyPart` or \
             `Property`"
                .to_owned(),
        ),
        Data::Union(data) => report(
            data.union_token.to_token_stream(),
            "is for structs, because a row is one set of properties",
            "write `struct` instead of `union`".to_owned(),
        ),
    }
}

/// Reports a prefix of a partition key. Prefixes keep the rows of a partition apart, so they belong to the row key.
fn refuse_prefix_of_partition(keys: &mut Keys, errors: &mut Errors) {
    if keys.has("prefix")
        && let Some(prefix) = keys.text("prefix", errors)
    {
        let message = "a partition key cannot have a prefix; write `prefix` in the first `#[row_key(…)]`";
        errors.at(prefix.span, message);
    }
}
