//! Structs and enums that are stored as several properties: `#[derive(Property)]`.

use proc_macro2::{Ident, Span};
use syn::{Attribute, Data, DataEnum, DeriveInput, Fields, Visibility, ext::IdentExt as _};

use super::field::{Field, Storage};
use crate::{
    attributes::{Keys, refuse},
    case::Case,
    check,
    errors::Errors,
    field_type::FieldType,
    runtime::Runtime,
    text::Text,
};

/// Struct with named fields, or enum of which a variant has data.
pub(crate) struct Nested {
    pub(crate) ident: Ident,
    pub(crate) visibility: Visibility,
    pub(crate) runtime: Runtime,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    Struct(Vec<Field>),
    Enum(Vec<Variant>),
}

/// Variant of an enum.
pub(crate) struct Variant {
    pub(crate) ident: Ident,
    pub(crate) docs: Vec<Attribute>,
    /// The stored name.
    pub(crate) name: String,
    /// The name of the variant's column and of its filter, in `snake_case`.
    pub(crate) column: String,
    pub(crate) data: VariantData,
}

/// Data of a variant.
#[allow(clippy::large_enum_variant, reason = "there are few variants, and they live as long as the derive")]
pub(crate) enum VariantData {
    Unit,
    /// A value without a name: its property has the name of the variant.
    Value(Box<Field>),
    /// Named fields, and the name of the variant in the names of their properties.
    Fields(Text, Vec<Field>),
    /// `#[property(other)]`: the name of a variant that the program does not know.
    Other(FieldType),
}

impl VariantData {
    /// Returns the fields, of which a value without a name is one.
    pub(crate) fn fields(&self) -> &[Field] {
        match self {
            Self::Value(field) => std::slice::from_ref(&**field),
            Self::Fields(_, fields) => fields,
            Self::Unit | Self::Other(_) => &[],
        }
    }
}

impl Nested {
    /// Checks whether a type is stored as several properties, or is meant to be.
    pub(crate) fn is(input: &DeriveInput) -> bool {
        match &input.data {
            Data::Struct(data) => matches!(&data.fields, Fields::Named(fields) if !fields.named.is_empty()),
            Data::Enum(data) => data.variants.iter().any(|variant| !matches!(variant.fields, Fields::Unit)),
            Data::Union(_) => false,
        }
    }

    /// Reads the type. Returns nothing if it cannot be stored.
    pub(crate) fn read(input: &DeriveInput, errors: &mut Errors) -> Option<Self> {
        for parameter in &input.generics.params {
            errors.on(parameter, "`Property` is for types without parameters; write the types of the fields");
        }
        refuse(&input.attrs, &["property", "partition_key", "row_key"], "on a type that is a property", errors);
        refuse_index(&input.attrs, "field", errors);
        let runtime = Runtime::read(&input.attrs, "table");
        let mut keys = Keys::read(&input.attrs, "table", errors);
        keys.path("crate", errors);
        let style = keys.text("rename_all", errors);
        keys.finish(errors);
        let content = match &input.data {
            Data::Struct(data) => {
                let style = style.and_then(|style| Case::of_properties(&style, errors)).unwrap_or(Case::Pascal);
                let fields = fields(&data.fields, style, errors);
                if fields.iter().all(Field::is_skipped) {
                    let message = "no field is stored; a struct without properties cannot be read back";
                    errors.on(&input.ident, message);
                }
                Content::Struct(fields)
            }
            Data::Enum(data) => {
                let style = style.and_then(|style| Case::of_variants(&style, errors)).unwrap_or(Case::Pascal);
                Content::Enum(variants(data, style, errors))
            }
            Data::Union(_) => return None,
        };
        let (ident, visibility) = (input.ident.clone(), input.vis.clone());
        let mut nested = Self { ident, visibility, runtime, content };
        nested.check_types();
        errors.is_empty().then_some(nested)
    }
}

impl Nested {
    /// Lets constants check the types of all fields.
    fn check_types(&mut self) {
        let fields: Vec<&mut Field> = match &mut self.content {
            Content::Struct(fields) => fields.iter_mut().collect(),
            Content::Enum(variants) => variants
                .iter_mut()
                .flat_map(|variant| match &mut variant.data {
                    VariantData::Value(field) => std::slice::from_mut(&mut **field),
                    VariantData::Fields(_, fields) => fields,
                    VariantData::Unit | VariantData::Other(_) => &mut [],
                })
                .collect(),
        };
        for (at, field) in fields.into_iter().enumerate() {
            field.ty.check_in(&self.ident, at);
        }
    }
}

/// Reads fields with names, and checks the names of their properties.
fn fields(declared: &Fields, style: Case, errors: &mut Errors) -> Vec<Field> {
    let mut fields = Vec::new();
    for declared in declared {
        let Some(ident) = &declared.ident else { continue };
        refuse_keys(&declared.attrs, &ident.unraw().to_string(), errors);
        let mut field = Field::read(ident, declared, style, errors);
        field.refuse_type(errors);
        fields.push(field);
    }
    let properties = || fields.iter().filter_map(|field| Some((field, field.stored()?)));
    check::properties::names_are_legal(properties(), errors);
    check::properties::names_differ(properties(), errors);
    fields
}

/// Reports attributes of entities.
fn refuse_keys(attributes: &[Attribute], name: &str, errors: &mut Errors) {
    refuse(attributes, &["table"], "on a field", errors);
    for key in ["partition_key", "row_key"] {
        for found in attributes.iter().filter(|found| found.path().is_ident(key)) {
            let message =
                "a field of a key belongs to the entity itself: a struct in it cannot be built back from its key";
            errors.on(found.path(), format_args!("{message}; move the field, or its value, into the entity"));
        }
    }
    refuse_index(attributes, name, errors);
}

fn refuse_index(attributes: &[Attribute], field: &str, errors: &mut Errors) {
    for found in attributes.iter().filter(|found| found.path().is_ident("index")) {
        let message = "an index belongs to an entity";
        errors.on(
            found.path(),
            format_args!("{message}; write `#[index({field}, partition(…), row(path.{field}))]` on the entity, with the path to the field"),
        );
    }
}

fn variants(data: &DataEnum, style: Case, errors: &mut Errors) -> Vec<Variant> {
    let mut variants: Vec<Variant> = Vec::new();
    for declared in &data.variants {
        let mut keys = Keys::read(&declared.attrs, "property", errors);
        refuse_keys(&declared.attrs, &declared.ident.unraw().to_string(), errors);
        let rename = keys.text("rename", errors);
        let other = keys.flag("other", errors);
        keys.finish(errors);
        let ident = declared.ident.unraw().to_string();
        let name = rename.as_ref().map_or_else(|| style.variant(&ident), |rename| rename.value.clone());
        let span = rename.as_ref().map_or_else(|| declared.ident.span(), |rename| rename.span);
        if name.contains(',') {
            errors.at(
                span,
                "the name of a variant cannot contain `,`, which is between the names in the record of the enum",
            );
        }
        let column = column_ident(&snake(&ident), declared.ident.span()).unraw().to_string();
        let data = variant_data(declared, Text { value: piece(&name, &ident), span }, &column, other, errors);
        if let Some(before) = variants.iter().find(|before| before.name == name && !is_other(&before.data)) {
            let help = "help: write `#[property(rename = \"…\")]` on one of them";
            errors.at(span, format_args!("`{}` already has the name `{name}`\n{help}", before.ident));
        }
        if let (VariantData::Other(_), Some(before)) = (&data, variants.iter().find(|before| is_other(&before.data))) {
            let message = format_args!("`{}` already takes unknown variants; keep one `other`", before.ident);
            errors.on(&declared.ident, message);
        }
        let docs = declared.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect();
        variants.push(Variant { ident: declared.ident.clone(), docs, name, column, data });
    }
    if let [Variant { ident, data: VariantData::Other(_), .. }] = variants.as_slice() {
        errors.on(ident, "`other` takes the variants that the program does not know; add one that it knows");
    }
    variants
}

/// Returns a variant's name as the name of a function: `HTTPServer` is `http_server`.
fn snake(ident: &str) -> String {
    let letters: Vec<_> = ident.chars().collect();
    let mut name = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let next_is_lower = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| before != '_' && (!before.is_uppercase() || next_is_lower));
        name.push_str(if begins { "_" } else { "" });
        name.extend(letter.to_lowercase());
    }
    name
}

const fn is_other(data: &VariantData) -> bool {
    matches!(data, VariantData::Other(_))
}

/// Returns a variant's name in the names of its properties: its stored name, or the identifier if a property cannot have the
/// stored name, such as `credit-card`.
fn piece(name: &str, ident: &str) -> String {
    if check::names::is_property_name(name) { name } else { ident }.to_owned()
}

fn variant_data(
    declared: &syn::Variant,
    piece: Text,
    column: &str,
    other: Option<Span>,
    errors: &mut Errors,
) -> VariantData {
    let mut values = declared.fields.iter();
    let data = match (&declared.fields, values.next(), values.next()) {
        (Fields::Unnamed(_), Some(value), None) if other.is_some() => {
            refuse(&value.attrs, &["property", "table"], "on the name of an unknown variant", errors);
            return VariantData::Other(FieldType::new(&value.ty));
        }
        (Fields::Unit, ..) | (_, None, _) => VariantData::Unit,
        (Fields::Unnamed(_), Some(value), None) => {
            refuse_keys(&value.attrs, column, errors);
            let mut field = Field::read(&column_ident(column, declared.ident.span()), value, Case::Pascal, errors);
            field.refuse_type(errors);
            // The field has read its name already, which the variant's replaces.
            let has_own_name = Keys::read(&value.attrs, "property", &mut Errors::default()).has("rename");
            match &mut field.storage {
                Storage::Property(property) if property.prefix.is_none() && !has_own_name => property.name = piece,
                Storage::Property(_) => errors.on(
                    value,
                    "the value is stored under the variant's name; write `#[property(rename = \"…\")]` on the variant",
                ),
                Storage::Skipped(span) => errors.at(*span, "the value of a variant is stored; remove `skip`"),
                Storage::Refused | Storage::Part(_) => {}
            }
            VariantData::Value(Box::new(field))
        }
        (Fields::Unnamed(values), ..) => {
            let message = "values of a variant need names, because their properties have names";
            errors.on(values, format_args!("{message}; write `{} {{ … }}`", declared.ident));
            VariantData::Unit
        }
        (Fields::Named(_), ..) => VariantData::Fields(piece, fields(&declared.fields, Case::Pascal, errors)),
    };
    if let Some(other) = other {
        let message = "a variant with `other` holds the name of an unknown one";
        errors.at(other, format_args!("{message}; write `#[property(other)] {}(String)`", declared.ident));
    }
    data
}

/// Returns the name of a column as an identifier, which may be a keyword.
pub(crate) fn column_ident(name: &str, span: Span) -> Ident {
    match syn::parse_str::<Ident>(name) {
        Ok(_) => Ident::new(name, span),
        Err(_) if matches!(name, "self" | "super" | "crate") => Ident::new(&format!("{name}_"), span),
        Err(_) => Ident::new_raw(name, span),
    }
}
