//! The model of a newtype or a unit enum with `#[derive(KeyPart)]` or `#[derive(Property)]`.

use syn::{Data, DataEnum, DeriveInput, Fields, Ident, ext::IdentExt as _};

use crate::{
    attributes::{Keys, refuse},
    case::Case,
    errors::Errors,
    field_type::FieldType,
    runtime::Runtime,
};

/// Newtype or unit enum.
pub(crate) struct Wrapper {
    pub(crate) ident: Ident,
    pub(crate) runtime: Runtime,
    pub(crate) shape: Shape,
}

pub(crate) enum Shape {
    /// The type of the only field.
    Newtype(Box<FieldType>),
    /// The variants and their names.
    Names(Vec<(Ident, String)>),
}

impl Wrapper {
    /// Reads the type. Returns nothing if it is neither a newtype nor a unit enum.
    pub(crate) fn read(input: &DeriveInput, derive: &str, errors: &mut Errors) -> Option<Self> {
        refuse_generics(input, derive, errors);
        refuse(&input.attrs, &["property"], "on the type", errors);
        let runtime = Runtime::read(&input.attrs, "table");
        let mut keys = Keys::read(&input.attrs, "table", errors);
        keys.path("crate", errors);
        let shape = match &input.data {
            Data::Struct(data) => {
                keys.finish(errors);
                newtype(input, &data.fields, derive, errors)
            }
            Data::Enum(data) => {
                let style = keys.text("rename_all", errors);
                let case = style.and_then(|style| Case::of_variants(&style, errors)).unwrap_or(Case::Pascal);
                keys.finish(errors);
                names(input, data, case, derive, errors)
            }
            Data::Union(data) => {
                errors.on(data.union_token, format_args!("`{derive}` is for newtypes and enums of unit variants"));
                None
            }
        };
        let shape = shape.filter(|_| input.generics.params.is_empty())?;
        Some(Self { ident: input.ident.clone(), runtime, shape })
    }
}

/// Reports parameters. The way in which an argument is passed depends on the field's kind, which the compiler can look
/// up only for a concrete type.
fn refuse_generics(input: &DeriveInput, derive: &str, errors: &mut Errors) {
    for parameter in &input.generics.params {
        let message =
            "is for types without parameters; write a newtype of a concrete type, such as `struct UserId(Uuid);`";
        errors.on(parameter, format_args!("`{derive}` {message}"));
    }
}

fn newtype(input: &DeriveInput, fields: &Fields, derive: &str, errors: &mut Errors) -> Option<Shape> {
    for field in fields {
        refuse(&field.attrs, &["table", "property", "partition_key", "row_key", "index"], "in a newtype", errors);
    }
    let name = &input.ident;
    let mut inner = fields.iter();
    match (fields, inner.next(), inner.next()) {
        (Fields::Unnamed(_), Some(field), None) => {
            let mut ty = FieldType::new(&field.ty);
            // One newtype may have both derives.
            ty.check_in(name, derive);
            return Some(Shape::Newtype(Box::new(ty)));
        }
        (Fields::Named(named), Some(_), None) => {
            let help = format_args!("help: write `struct {name}(…);`");
            errors.on(named, format_args!("`{derive}` is for newtypes: structs with one field without a name\n{help}"));
        }
        // A parameter is reported, and often has a field of its own.
        _ if !input.generics.params.is_empty() => {}
        (fields, ..) => {
            let count = fields.len();
            let help = if derive == "KeyPart" {
                "help: put each field into the key of the entity, with `#[partition_key]` or `#[row_key]`"
            } else {
                "help: put `#[property(json)]` on the entity's field to store a whole struct"
            };
            let message =
                format_args!("`{derive}` is for newtypes: structs with one field, but this one has {count}\n{help}");
            if count == 0 { errors.on(name, message) } else { errors.on(fields, message) }
        }
    }
    None
}

fn names(input: &DeriveInput, data: &DataEnum, case: Case, derive: &str, errors: &mut Errors) -> Option<Shape> {
    let mut names: Vec<(Ident, String)> = Vec::new();
    let mut all_units = true;
    for variant in &data.variants {
        let mut keys = Keys::read(&variant.attrs, "property", errors);
        refuse(&variant.attrs, &["table"], "on a variant", errors);
        let rename = keys.text("rename", errors);
        if derive == "Property"
            && let Some(other) = keys.flag("other", errors)
        {
            let message = "a variant with `other` holds the name of an unknown one";
            errors.at(other, format_args!("{message}; write `#[property(other)] {}(String)`", variant.ident));
        }
        keys.finish(errors);
        if !matches!(variant.fields, Fields::Unit) {
            let help = if derive == "KeyPart" {
                "help: a key contains only the name; move the value into a field of the entity"
            } else {
                "help: put `#[property(json)]` on the entity's field to store the whole enum"
            };
            let message = format_args!("`{derive}` is for enums whose variants have no fields\n{help}");
            errors.on(&variant.fields, message);
            all_units = false;
        }
        let renamed = rename.as_ref().map(|rename| rename.value.clone());
        let name = renamed.unwrap_or_else(|| case.variant(&variant.ident.unraw().to_string()));
        if let Some((before, _)) = names.iter().find(|(_, other)| *other == name) {
            let help = "help: write `#[property(rename = \"…\")]` on one of them";
            let message = format_args!("`{before}` already has the name `{name}`\n{help}");
            match &rename {
                Some(rename) => errors.at(rename.span, message),
                None => errors.on(&variant.ident, message),
            }
            continue;
        }
        names.push((variant.ident.clone(), name));
    }
    if data.variants.is_empty() {
        errors.on(&input.ident, format_args!("`{derive}` needs at least one variant: an empty enum has no value"));
        return None;
    }
    (all_units && names.len() == data.variants.len()).then_some(Shape::Names(names))
}
