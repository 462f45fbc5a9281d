//! The fields of an entity.

use proc_macro2::Span;
use syn::{Attribute, Ident, Type, Visibility, ext::IdentExt as _};

use crate::{attributes::Keys, case::Case, errors::Errors, field_type::FieldType, names, text::Text};

/// Field of the struct.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    /// The identifier without `r#`.
    pub(crate) name: String,
    pub(crate) visibility: Visibility,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) ty: FieldType,
    pub(crate) storage: Storage,
}

/// Content of the field's `#[property(…)]`.
pub(crate) enum Storage {
    /// `skip`, with its span.
    Skipped(Span),
    /// Nothing, after an error about its type.
    Refused,
    Property(Property),
}

/// Property that stores a field.
pub(crate) struct Property {
    /// True if the field has the attribute. A key field with the attribute is stored as a property too.
    pub(crate) has_attribute: bool,
    pub(crate) name: Text,
    pub(crate) strategy: Strategy,
    /// The span of `default`.
    pub(crate) default: Option<Span>,
}

/// Conversion between a field and its property. The spans are those of the keys of the attribute.
#[derive(Clone, Copy)]
pub(crate) enum Strategy {
    Native,
    Json(Span),
    Text(Span),
    OptionText(Span),
    /// With the number of decimal places.
    Scaled(Span, u32),
}

impl Field {
    /// Reads a field with a name. The style is that of the names of properties.
    pub(super) fn read(ident: &Ident, declared: &syn::Field, style: Case, errors: &mut Errors) -> Self {
        let name = ident.unraw().to_string();
        let property_name = Text { value: style.field(&name), span: ident.span() };
        let storage = Storage::read(declared, property_name, errors);
        let docs = declared.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect();
        let (visibility, ty) = (declared.vis.clone(), FieldType::new(&declared.ty));
        Self { ident: ident.clone(), name, visibility, docs, ty, storage }
    }

    /// Returns the position of the field that an attribute names.
    pub(super) fn find(fields: &[Self], ident: &Ident, errors: &mut Errors) -> Option<usize> {
        let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
        names::find(ident, "field", &names, errors)
    }

    /// Returns true if the field's type is known to be a part of keys, and nothing says how it is stored.
    pub(super) fn may_be_key(&self) -> bool {
        const TYPES: [&str; 13] = [
            "u8",
            "u16",
            "u32",
            "u64",
            "i8",
            "i16",
            "i32",
            "i64",
            "bool",
            "char",
            "Uuid",
            "OffsetDateTime",
            "DateTime",
        ];
        let is_plain = matches!(&self.storage, Storage::Property(property) if !property.has_attribute);
        is_plain && (self.is_text() || self.type_name().is_some_and(|name| TYPES.iter().any(|other| name == other)))
    }

    /// Returns true if the field is a `String`.
    pub(super) fn is_text(&self) -> bool {
        self.type_name().is_some_and(|name| name == "String")
    }

    fn type_name(&self) -> Option<&Ident> {
        match self.ty.declared() {
            Type::Path(path) => path.path.segments.last().map(|last| &last.ident),
            _ => None,
        }
    }

    /// Returns true if the field is not stored.
    pub(crate) fn is_skipped(&self) -> bool {
        matches!(self.storage, Storage::Skipped(_) | Storage::Refused)
    }
}

/// What to write for a default that is not `Default`.
const DEFAULT_HELP: &str = "help: a row without the property is read as `Default::default()`; for another value, write a \
                            newtype with its own `Default`";

impl Storage {
    fn read(field: &syn::Field, default_name: Text, errors: &mut Errors) -> Self {
        let mut keys = Keys::read(&field.attrs, "property", errors);
        let has_attribute = keys.span().is_some();
        let skip = keys.flag("skip", errors);
        let rename = keys.text("rename", errors);
        let json = keys.flag("json", errors);
        let text = keys.flag("text", errors);
        let scale = keys.number("scale", 0..=28, errors);
        let default = keys.flag_with("default", DEFAULT_HELP, errors);
        keys.finish(errors);

        if let (Some(_), Some(text)) = (json, text) {
            let message = "`json` and `text` exclude each other; keep `json` (any serde type) or `text` (`Display` and `FromStr`)";
            errors.at(text, message);
        }
        if let (Some((scale, _)), true) = (scale, json.is_some() || text.is_some()) {
            errors.at(scale, "`scale` stores a decimal number as an integer; remove it, or `json` and `text`");
        }
        if let Some(skip) = skip {
            let rename = rename.as_ref().map(|rename| rename.span);
            for (other, span) in [
                ("rename", rename),
                ("json", json),
                ("text", text),
                ("scale", scale.map(|(span, _)| span)),
                ("default", default),
            ] {
                if let Some(span) = span {
                    errors.at(span, format_args!("a field with `skip` is not stored; remove `{other}` or `skip`"));
                }
            }
            return Self::Skipped(skip);
        }
        let strategy = match (json, text, scale) {
            (Some(json), ..) => Strategy::Json(json),
            (None, Some(text), _) if is_option(&field.ty) => Strategy::OptionText(text),
            (None, Some(text), _) => Strategy::Text(text),
            // At most 28.
            (None, None, Some((span, places))) => Strategy::Scaled(span, u32::try_from(places).unwrap_or_default()),
            (None, None, None) => Strategy::Native,
        };
        Self::Property(Property { has_attribute, name: rename.unwrap_or(default_name), strategy, default })
    }
}

/// Returns true if the type is an `Option`. Only this function looks at the name of a type, because no trait can choose
/// the strategy: the strategy determines which trait the type must implement.
fn is_option(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Option"),
        Type::Group(group) => is_option(&group.elem),
        Type::Paren(paren) => is_option(&paren.elem),
        _ => false,
    }
}
