//! What a struct with `#[derive(TableEntity)]` says, as the rest of the derive sees it.

mod index;
mod slice;

use proc_macro2::Span;
use quote::ToTokens as _;
use syn::{
    Attribute, Data, DeriveInput, Fields, Generics, Ident, LitStr, Path, Type, Visibility, ext::IdentExt as _,
    spanned::Spanned as _,
};

use crate::{
    attributes::{Keys, refuse},
    case::Case,
    encoding::Encoding,
    errors::Errors,
};

pub(crate) use index::{Holds, Index, Scope};
pub(crate) use slice::Slice;

/// A struct whose values are rows.
pub(crate) struct Entity {
    pub(crate) ident: Ident,
    pub(crate) visibility: Visibility,
    pub(crate) generics: Generics,
    pub(crate) runtime: Path,
    pub(crate) table: Text,
    pub(crate) kind: Option<String>,
    pub(crate) write_id: bool,
    pub(crate) allow_scan: bool,
    pub(crate) separator: Option<Text>,
    pub(crate) slice: Option<Slice>,
    pub(crate) partition: Key,
    pub(crate) row: Key,
    pub(crate) fields: Vec<Field>,
    /// Those on the struct, then those on the fields, in order.
    pub(crate) indexes: Vec<Index>,
}

/// A layout: where a row of the entity stands.
#[derive(Clone, Copy)]
pub(crate) struct Layout<'a> {
    /// Its place among the layouts: 0 is the primary key.
    pub(crate) number: usize,
    pub(crate) table: &'a Text,
    pub(crate) partition: &'a Key,
    pub(crate) row: &'a Key,
    /// Of which index it is; nothing for the primary key.
    pub(crate) index: Option<&'a Index>,
}

/// A text and where it was written.
#[derive(Clone)]
pub(crate) struct Text {
    pub(crate) value: String,
    pub(crate) span: Span,
}

/// A partition key or a row key: a constant, or parts.
#[derive(Clone, Default)]
pub(crate) struct Key {
    pub(crate) constant: Option<Text>,
    /// What the parts begin with.
    pub(crate) prefix: Option<Text>,
    /// The prefixes of parts that do not begin it.
    pub(crate) misplaced: Vec<Text>,
    pub(crate) parts: Vec<Part>,
}

/// A field in a key.
#[derive(Clone)]
pub(crate) struct Part {
    /// The field's place among the fields.
    pub(crate) field: usize,
    pub(crate) encoding: Encoding,
    /// Whether it is an index's own part, whose field may be an `Option`: `None` writes no row.
    pub(crate) sparse: bool,
    /// The encoding's option, or else the field's type.
    pub(crate) span: Span,
}

/// A field of the struct.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) visibility: Visibility,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) ty: Type,
    pub(crate) storage: Storage,
}

/// What the field's `#[property]` says.
pub(crate) enum Storage {
    Skipped(Span),
    Property {
        /// Whether the attribute is there, so that a key field is stored too.
        asked: bool,
        name: Text,
        strategy: Strategy,
        default: Option<Span>,
    },
}

/// How a property holds the field.
#[derive(Clone, Copy)]
pub(crate) enum Strategy {
    Native,
    Json(Span),
    Text(Span),
    OptionText(Span),
}

/// Where a field is written.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    Free,
    InKey,
    Indexed,
    Skipped,
}

/// Where a field is read from.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Source {
    /// This part of the partition key.
    Partition(usize),
    /// This part of the row key.
    Row(usize),
    Property,
    Nothing,
}

impl Entity {
    /// Nothing if the item is not a struct with named fields that owns its data.
    pub(crate) fn read(input: &DeriveInput, errors: &mut Errors) -> Option<Self> {
        refuse_lifetimes(input, errors);
        refuse(&input.attrs, &["partition_key", "row_key", "property"], "on a struct", errors);
        let runtime = runtime(&input.attrs);
        let mut keys = Keys::read(&input.attrs, "table", errors);
        let name = input.ident.unraw();
        keys.path("crate", errors);
        let table = keys
            .text("name", errors)
            .map_or_else(|| Text { value: name.to_string(), span: input.ident.span() }, |text| Text::from(&text));
        let partition = keys.text("partition", errors).as_ref().map(Text::from);
        let row = keys.text("row", errors).as_ref().map(Text::from);
        let style = keys.text("rename_all", errors);
        let case = style.and_then(|style| Case::of_properties(&style, errors)).unwrap_or(Case::Pascal);
        let kind = keys.flag_or_text("kind", errors);
        let kind = kind.map(|(_, text)| text.map_or_else(|| name.to_string(), |text| text.value()));
        let separator = keys.text("separator", errors).as_ref().map(Text::from);
        let slice = keys.call("slice", "month(field)", errors);
        let write_id = keys.flag("write_id", errors).is_some();
        let allow_scan = keys.flag("allow_scan", errors).is_some();
        keys.finish(errors);

        let mut entity = Self {
            ident: input.ident.clone(),
            visibility: input.vis.clone(),
            generics: input.generics.clone(),
            runtime,
            table,
            kind,
            write_id,
            allow_scan,
            separator,
            slice: None,
            partition: Key { constant: partition, ..Key::default() },
            row: Key { constant: row, ..Key::default() },
            fields: Vec::new(),
            indexes: Vec::new(),
        };
        let mut indexes: Vec<_> = Keys::read_each(&input.attrs, "index", errors).map(|keys| (keys, None)).collect();
        for (at, field) in named_fields(input, errors)?.enumerate() {
            entity.read_field(at, field, case, errors);
            indexes.extend(Keys::read_each(&field.attrs, "index", errors).map(|keys| (keys, Some(at))));
        }
        // Now that there are the fields and keys that they are over.
        entity.slice = slice.and_then(|(unit, field)| Slice::read(&entity.fields, &unit, &field, errors));
        for (keys, field) in indexes {
            let index = Index::read(&entity, keys, field, errors);
            entity.indexes.extend(index);
        }
        entity.prefix_own_rows();
        (input.generics.lifetimes().next().is_none()).then_some(entity)
    }

    fn read_field(&mut self, at: usize, field: &syn::Field, case: Case, errors: &mut Errors) {
        let Some(ident) = field.ident.clone() else { return };
        refuse(&field.attrs, &["table"], "on a field", errors);
        if let Some(mut keys) = Keys::read_once(&field.attrs, "partition_key", errors) {
            refuse_prefix_of_partition(&mut keys, errors);
            self.partition.parts.push(Part::read(at, keys, field, errors));
        }
        if let Some(mut keys) = Keys::read_once(&field.attrs, "row_key", errors) {
            let prefix = keys.text("prefix", errors).as_ref().map(Text::from);
            if self.row.parts.is_empty() {
                self.row.prefix = prefix;
            } else {
                self.row.misplaced.extend(prefix);
            }
            self.row.parts.push(Part::read(at, keys, field, errors));
        }
        let name = ident.unraw().to_string();
        let storage = Storage::read(field, Text { value: case.field(&name), span: ident.span() }, errors);
        let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect();
        let (visibility, ty) = (field.vis.clone(), field.ty.clone());
        self.fields.push(Field { ident, name, visibility, docs, ty, storage });
    }

    /// Where index rows stand among them, the entity's own rows say what they are.
    fn prefix_own_rows(&mut self) {
        if let (None, Some(first)) = (&self.row.prefix, self.row.parts.first())
            && self.indexes.iter().any(Index::is_in_own_table)
        {
            let Field { name, ident, .. } = &self.fields[first.field];
            self.row.prefix = Some(Text { value: format!("{name}-"), span: ident.span() });
        }
    }

    /// Where the entity's own row stands.
    pub(crate) fn primary(&self) -> Layout<'_> {
        let (table, partition, row) = (&self.table, &self.partition, &self.row);
        Layout { number: 0, table, partition, row, index: None }
    }

    /// The primary key, then every index.
    pub(crate) fn layouts(&self) -> impl Iterator<Item = Layout<'_>> {
        let indexes = self.indexes.iter().enumerate().map(|(at, index)| {
            let Index { table, partition, row, .. } = index;
            Layout { number: at + 1, table, partition, row, index: Some(index) }
        });
        std::iter::once(self.primary()).chain(indexes)
    }

    /// A part of the primary key, counted over both keys.
    pub(crate) fn key_part(&self, number: usize) -> &Part {
        match number.checked_sub(self.partition.parts.len()) {
            Some(row) => &self.row.parts[row],
            None => &self.partition.parts[number],
        }
    }

    /// The parts of both keys that the field makes.
    pub(crate) fn parts_of(&self, field: usize) -> impl Iterator<Item = &Part> {
        self.partition.parts.iter().chain(&self.row.parts).filter(move |part| part.field == field)
    }

    /// Where the field is read from: the first part that loses nothing, or its property.
    pub(crate) fn source(&self, field: usize) -> Source {
        let whole = |part: &Part| part.field == field && !part.encoding.is_lossy();
        if matches!(self.fields[field].storage, Storage::Skipped(_)) {
            Source::Nothing
        } else if let Some(part) = self.partition.parts.iter().position(whole) {
            Source::Partition(part)
        } else if let Some(part) = self.row.parts.iter().position(whole) {
            Source::Row(part)
        } else {
            Source::Property
        }
    }

    /// Where the field is written.
    pub(crate) fn mode(&self, field: usize) -> Mode {
        let in_key = self.parts_of(field).next().is_some();
        match &self.fields[field].storage {
            Storage::Skipped(_) => Mode::Skipped,
            Storage::Property { asked, .. } if in_key && !asked && self.source(field) != Source::Property => {
                Mode::InKey
            }
            Storage::Property { .. } if in_key || self.indexes.iter().any(|index| index.depends_on(field)) => {
                Mode::Indexed
            }
            Storage::Property { .. } => Mode::Free,
        }
    }

    /// The fields that are properties, in order.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (&Field, &Text, Strategy, bool)> {
        self.fields.iter().enumerate().filter_map(|(at, field)| {
            let stored = matches!(self.mode(at), Mode::Free | Mode::Indexed);
            match &field.storage {
                Storage::Property { name, strategy, default, .. } if stored => {
                    Some((field, name, *strategy, default.is_some()))
                }
                _ => None,
            }
        })
    }
}

impl<'a> Layout<'a> {
    /// The name by which errors and queries call it.
    pub(crate) fn name(self) -> &'a str {
        self.index.map_or("key", |index| &index.name.value)
    }

    /// The first part of the row key, where the last one of the partition key is of the same field: its value leads to
    /// the partition.
    pub(crate) fn leading(self) -> Option<&'a Part> {
        let last = self.partition.parts.last()?;
        // In an index the parts of the primary key only tell rows apart.
        let leads = |first: &&Part| first.field == last.field && (first.sparse || self.index.is_none());
        self.row.parts.first().filter(leads)
    }
}

impl Key {
    /// The constant text that it begins with; the whole of it where there are no parts.
    pub(crate) fn prefix(&self) -> &str {
        self.constant.as_ref().or(self.prefix.as_ref()).map_or("", |text| &text.value)
    }
}

impl Part {
    fn read(field: usize, mut keys: Keys, declared: &syn::Field, errors: &mut Errors) -> Self {
        let (encoding, span) = Encoding::read(&mut keys, errors);
        keys.finish(errors);
        Self { field, encoding, sparse: false, span: span.unwrap_or_else(|| declared.ty.span()) }
    }

    /// The part of the primary key as an index has it: index rows always escape.
    fn escaped(&self) -> Self {
        let mut part = self.clone();
        if part.encoding == Encoding::Raw {
            part.encoding = Encoding::Plain;
        }
        part
    }
}

impl Storage {
    fn read(field: &syn::Field, name: Text, errors: &mut Errors) -> Self {
        let mut keys = Keys::read(&field.attrs, "property", errors);
        let asked = keys.place().is_some();
        let skip = keys.flag("skip", errors);
        let rename = keys.text("rename", errors);
        let json = keys.flag("json", errors);
        let text = keys.flag("text", errors);
        let default = keys.flag("default", errors);
        keys.finish(errors);

        if let (Some(_), Some(text)) = (json, text) {
            errors.at(text, "a property is one text: keep `json` (any serde type) or `text` (`Display` and `FromStr`)");
        }
        if let Some(skip) = skip {
            let rename = rename.as_ref().map(LitStr::span);
            for (other, span) in [("rename", rename), ("json", json), ("text", text), ("default", default)] {
                if let Some(span) = span {
                    errors.at(span, format_args!("`skip` stores nothing; remove `{other}` or `skip`"));
                }
            }
            return Self::Skipped(skip);
        }
        let strategy = match (json, text) {
            (Some(json), _) => Strategy::Json(json),
            (None, Some(text)) if is_option(&field.ty) => Strategy::OptionText(text),
            (None, Some(text)) => Strategy::Text(text),
            (None, None) => Strategy::Native,
        };
        let name = rename.as_ref().map_or(name, Text::from);
        Self::Property { asked, name, strategy, default }
    }
}

impl From<&LitStr> for Text {
    fn from(text: &LitStr) -> Self {
        Self { value: text.value(), span: text.span() }
    }
}

/// Where the runtime is found. It is read apart from the other keys, since a stub needs it when they are wrong.
pub(crate) fn runtime(attributes: &[Attribute]) -> Path {
    let mut ignored = Errors::default();
    let mut keys = Keys::read(attributes, "table", &mut ignored);
    keys.path("crate", &mut ignored).unwrap_or_else(|| syn::parse_quote!(::table_runtime))
}

/// Entities own their data: `TableEntity` is `'static`, as a row is read into a new value.
fn refuse_lifetimes(input: &DeriveInput, errors: &mut Errors) {
    for lifetime in input.generics.lifetimes() {
        let message = "an entity owns its data; write `String` instead of `&str`, and remove the lifetime";
        errors.on(lifetime, message);
    }
}

/// A row is one set of named properties.
fn named_fields<'a>(
    input: &'a DeriveInput,
    errors: &mut Errors,
) -> Option<impl Iterator<Item = &'a syn::Field> + use<'a>> {
    let name = &input.ident;
    let (place, problem, help) = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => return Some(fields.named.iter()),
            fields @ Fields::Unnamed(_) => (
                fields.to_token_stream(),
                "needs named fields, whose names are the properties'",
                format!("write `struct {name} {{ … }}`; for a newtype, derive `KeyPart` or `Property`"),
            ),
            Fields::Unit => (name.to_token_stream(), "needs fields", format!("write `struct {name} {{ … }}`")),
        },
        Data::Enum(data) => (
            data.enum_token.to_token_stream(),
            "is for structs: a row is one set of properties",
            "for an enum of names in a key or a property, derive `KeyPart` or `Property` on it".to_owned(),
        ),
        Data::Union(data) => (
            data.union_token.to_token_stream(),
            "is for structs: a row is one set of properties",
            "write `struct` instead of `union`".to_owned(),
        ),
    };
    errors.on(place, format_args!("`TableEntity` {problem}\nhelp: {help}"));
    None
}

/// Rows of several entities are told apart in the row key.
fn refuse_prefix_of_partition(keys: &mut Keys, errors: &mut Errors) {
    if keys.has("prefix")
        && let Some(prefix) = keys.text("prefix", errors)
    {
        errors.on(prefix, "a partition key has no prefix; write `prefix` in the first `#[row_key(…)]`");
    }
}

/// The only place that looks at a type's name: there is no trait to ask before the trait is chosen.
fn is_option(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Option"),
        Type::Group(group) => is_option(&group.elem),
        Type::Paren(paren) => is_option(&paren.elem),
        _ => false,
    }
}
