//! What a newtype or a unit enum says that derives `KeyPart` or `Property`.

use syn::{Data, DataEnum, DeriveInput, Fields, Ident, Type, ext::IdentExt as _};

use crate::{
    attributes::{Keys, refuse},
    case::Case,
    errors::Errors,
    expand::Runtime,
    model,
};

/// A type that stands for another one, or for a name.
pub(crate) struct Wrapper {
    pub(crate) ident: Ident,
    pub(crate) runtime: Runtime,
    pub(crate) shape: Shape,
}

pub(crate) enum Shape {
    /// The type of the one field.
    Newtype(Box<Type>),
    /// The variants and their names.
    Names(Vec<(Ident, String)>),
}

impl Wrapper {
    /// Nothing if the item is neither a newtype nor a unit enum.
    pub(crate) fn read(input: &DeriveInput, derive: &str, errors: &mut Errors) -> Option<Self> {
        let generic = refuse_generics(input, derive, errors);
        refuse(&input.attrs, &["property"], "on the type", errors);
        let runtime = Runtime::new(model::runtime(&input.attrs));
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
        let shape = shape.filter(|_| !generic)?;
        Some(Self { ident: input.ident.clone(), runtime, shape })
    }
}

/// A newtype passes as its field's kind says, which the compiler can only look up for one type.
fn refuse_generics(input: &DeriveInput, derive: &str, errors: &mut Errors) -> bool {
    for parameter in &input.generics.params {
        errors.on(parameter, format_args!("`{derive}` is for types without parameters; write the newtype of one type"));
    }
    !input.generics.params.is_empty()
}

fn newtype(input: &DeriveInput, fields: &Fields, derive: &str, errors: &mut Errors) -> Option<Shape> {
    for field in fields {
        refuse(&field.attrs, &["table", "property"], "in a newtype", errors);
    }
    let name = &input.ident;
    let mut inner = fields.iter();
    match (fields, inner.next(), inner.next()) {
        (Fields::Unnamed(_), Some(field), None) => return Some(Shape::Newtype(Box::new(field.ty.clone()))),
        (Fields::Named(named), Some(_), None) => {
            let help = format_args!("help: write `struct {name}(…);`");
            errors.on(named, format_args!("`{derive}` is for newtypes: a struct of one field without a name\n{help}"));
        }
        (fields, ..) => {
            let count = fields.len();
            let help = if derive == "KeyPart" {
                "help: put each field into the key of the entity, with `#[partition_key]` or `#[row_key]`"
            } else {
                "help: put `#[property(json)]` on the entity's field to store a whole struct"
            };
            let message =
                format_args!("`{derive}` is for newtypes: a struct of one field, and this one has {count}\n{help}");
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
        keys.finish(errors);
        if !matches!(variant.fields, Fields::Unit) {
            let help = if derive == "KeyPart" {
                "help: a key holds the name alone; put the value into a field of the entity"
            } else {
                "help: put `#[property(json)]` on the entity's field to store the whole enum"
            };
            let message = format_args!("`{derive}` is for enums whose variants hold nothing\n{help}");
            errors.on(&variant.fields, message);
            all_units = false;
        }
        let name = rename.as_ref().map_or_else(|| case.variant(&variant.ident.unraw().to_string()), syn::LitStr::value);
        if let Some((before, _)) = names.iter().find(|(_, other)| *other == name) {
            let message = format_args!(
                "`{before}` has the name `{name}` too\nhelp: write `#[property(rename = \"…\")]` on one of them"
            );
            match &rename {
                Some(rename) => errors.on(rename, message),
                None => errors.on(&variant.ident, message),
            }
            continue;
        }
        names.push((variant.ident.clone(), name));
    }
    if data.variants.is_empty() {
        errors.on(&input.ident, format_args!("`{derive}` needs a variant: an empty enum has no value to store"));
        return None;
    }
    (all_units && names.len() == data.variants.len()).then_some(Shape::Names(names))
}
