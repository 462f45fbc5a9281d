//! The fields of an entity.

use proc_macro2::{Literal, Span};
use quote::{ToTokens as _, quote_spanned};
use syn::{Attribute, Ident, Type, Visibility, ext::IdentExt as _};

use super::refused;
use crate::{attributes::Keys, case::Case, errors::Errors, field_type::FieldType, names, runtime::Runtime, text::Text};

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
    /// Nothing of its own: it is a part of another field, which an index names by its path.
    Part(FieldPath),
    Property(Property),
}

/// Path to a part of a field, such as `address.city`.
pub(crate) struct FieldPath {
    /// The position of the field among the fields.
    pub(crate) field: usize,
    /// The names after it.
    pub(crate) steps: Vec<Ident>,
}

/// Property that stores a field.
pub(crate) struct Property {
    /// True if the field has the attribute. A key field with the attribute is stored as a property too.
    pub(crate) has_attribute: bool,
    pub(crate) name: Text,
    pub(crate) strategy: Strategy,
    /// The span of `default`.
    pub(crate) default: Option<Span>,
    /// The span of `large`.
    pub(crate) large: Option<Span>,
    /// The span of `prefix`, which names a field that is stored as several properties.
    pub(crate) prefix: Option<Span>,
}

impl Property {
    /// Returns true if the name is a word of OData's filters, which the service does not read as that of a property.
    pub(crate) fn is_filter_word(&self) -> bool {
        let name = self.name.value.as_str();
        matches!(name, "and" | "or" | "not" | "eq" | "ne" | "gt" | "ge" | "lt" | "le" | "true" | "false")
    }
}

/// Field that an option names.
#[derive(Clone, Copy)]
pub(crate) struct FieldRef {
    /// The field's position among the fields.
    pub(crate) field: usize,
    /// The span of the name in the option.
    pub(crate) span: Span,
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

impl Property {
    /// Returns true if the type of the field alone says how it is stored.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.strategy, Strategy::Native) && self.default.is_none() && self.large.is_none()
    }

    /// Returns the span of the option that says how the field is stored, or that of the field's type.
    pub(crate) fn place(&self, ty: Span) -> Span {
        match self.strategy {
            Strategy::Native => ty,
            Strategy::Json(span) | Strategy::Text(span) | Strategy::OptionText(span) | Strategy::Scaled(span, _) => {
                span
            }
        }
    }
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
        let fields = fields.iter().filter(|field| field.path().is_none());
        let names: Vec<_> = fields.map(|field| field.name.as_str()).collect();
        let text = ident.unraw().to_string();
        // As the property of the part is called.
        let nested = names.iter().filter(|_| !names.contains(&text.as_str()));
        let nested = nested.filter_map(|name| Some((name, text.strip_prefix(name)?.strip_prefix('_')?)));
        if let Some((name, part)) = nested.max_by_key(|(name, _)| name.len()).filter(|(_, part)| !part.is_empty()) {
            let message =
                format_args!("no field is called `{text}`; a field of a nested struct is its path, `{name}.{part}`");
            errors.on(ident, message);
            return None;
        }
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

    /// Returns the property of the field, if it is stored as one.
    pub(crate) fn stored(&self) -> Option<&Property> {
        match &self.storage {
            Storage::Property(property) => Some(property),
            Storage::Skipped(_) | Storage::Refused | Storage::Part(_) => None,
        }
    }

    /// Returns the path of a part of another field.
    pub(crate) fn path(&self) -> Option<&FieldPath> {
        match &self.storage {
            Storage::Part(path) => Some(path),
            _ => None,
        }
    }

    /// Returns the part of a field to which a path in an index leads.
    pub(super) fn part(field: usize, of: &Self, path: &[Ident]) -> Self {
        let steps = path[1..].to_vec();
        let texts: Vec<_> = path.iter().map(|ident| ident.unraw().to_string()).collect();
        let span = path.last().map_or_else(Span::call_site, Ident::span);
        let t = Runtime::Alias.at(span);
        let declared = of.ty.declared().to_token_stream();
        let ty = steps.iter().fold(declared, |from, step| {
            let hash = hash(&step.unraw().to_string());
            quote_spanned!(span=> <#from as #t::Step<#hash>>::To)
        });
        Self {
            // A function's argument may have the value.
            ident: Ident::new(&texts.join("_"), span),
            name: texts.join("."),
            visibility: Visibility::Inherited,
            docs: Vec::new(),
            ty: FieldType::at(Type::Verbatim(ty), span),
            storage: Storage::Part(FieldPath { field, steps }),
        }
    }

    /// Reports a type that can be no property.
    pub(super) fn refuse_type(&mut self, errors: &mut Errors) {
        let Storage::Property(property) = &self.storage else { return };
        let advice = match property {
            Property { strategy: Strategy::Native, default: None, .. } => refused::advice(&self.ty),
            Property { strategy: Strategy::Scaled(..), .. } => refused::scaled_advice(&self.ty),
            Property { .. } => None,
        };
        if let Some(advice) = advice {
            errors.on(self.ty.declared(), advice);
            self.storage = Storage::Refused;
        }
    }

    /// Reports a type that can be no property, of a field that is one because the encoding of its key is lossy.
    pub(super) fn refuse_type_of_lossy_key(&mut self, encoding: &str, errors: &mut Errors) {
        if let Storage::Property(Property { strategy: Strategy::Native, has_attribute: false, .. }) = &self.storage
            && let Some(advice) = refused::advice(&self.ty)
        {
            let message = "is lossy: the key does not give back the value, so the field is stored as a property too";
            let help = "help: or add a key part with the whole value, such as `#[row_key]`";
            errors.on(self.ty.declared(), format_args!("`{encoding}` {message}, but {advice}\n{help}"));
            self.storage = Storage::Refused;
        }
    }

    /// Returns true if the field is not stored.
    pub(crate) fn is_skipped(&self) -> bool {
        matches!(self.storage, Storage::Skipped(_) | Storage::Refused)
    }
}

/// Returns the number of a step of a path: FNV-1a of the name of the field or the variant.
pub(crate) fn hash(name: &str) -> Literal {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    Literal::u64_unsuffixed(name.bytes().fold(0xcbf2_9ce4_8422_2325, step))
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
        let prefix = keys.text("prefix", errors);
        let json = keys.flag("json", errors);
        let text = keys.flag("text", errors);
        let scale = keys.number("scale", 0..=28, errors);
        let default = keys.flag_with("default", DEFAULT_HELP, errors);
        let large = keys.flag("large", errors);
        keys.finish(errors);

        if let (Some(_), Some(text)) = (json, text) {
            let message = "`json` and `text` exclude each other; keep `json` (any serde type) or `text` (`Display` and `FromStr`)";
            errors.at(text, message);
        }
        if let Some(prefix) = &prefix {
            let message = "`prefix` begins the names of several properties";
            if rename.is_some() {
                errors.at(prefix.span, format_args!("{message}, and `rename` does the same; remove one"));
            } else if json.is_some() || text.is_some() || scale.is_some() || large.is_some() {
                errors.at(prefix.span, format_args!("{message}, and this field has one; write `rename`"));
            }
        }
        if let (Some((scale, _)), true) = (scale, json.is_some() || text.is_some()) {
            errors.at(scale, "`scale` stores a decimal number as an integer; remove it, or `json` and `text`");
        }
        if let (Some(span), true) = (large, text.is_some() || scale.is_some()) {
            let message = match scale {
                Some(_) => "`scale` stores a number, which always fits into a property; remove `large`",
                None => {
                    "`large` is for a `String`, a `Vec<u8>` or `json`; remove it, or write `json` instead of `text`"
                }
            };
            errors.at(span, message);
        }
        if let Some(skip) = skip {
            let rename = rename.as_ref().map(|rename| rename.span);
            for (other, span) in [
                ("rename", rename),
                ("prefix", prefix.map(|prefix| prefix.span)),
                ("json", json),
                ("text", text),
                ("scale", scale.map(|(span, _)| span)),
                ("default", default),
                ("large", large),
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
        let prefix_span = prefix.as_ref().map(|prefix| prefix.span);
        let name = rename.or(prefix).unwrap_or(default_name);
        Self::Property(Property { has_attribute, name, strategy, default, large, prefix: prefix_span })
    }
}

/// Returns true if the type is an `Option`. Only this function looks at the name of a type: no trait can choose the strategy,
/// because the strategy determines which trait the type must implement. Nor does a trait tell an `Option`, whose default is
/// `None`, from a newtype of one, which may have another default.
pub(crate) fn is_option(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Option"),
        Type::Group(group) => is_option(&group.elem),
        Type::Paren(paren) => is_option(&paren.elem),
        _ => false,
    }
}
