//! Partition keys and row keys.

use proc_macro2::Span;
use syn::spanned::Spanned as _;

use crate::{attributes::Keys, encoding::Encoding, errors::Errors, text::Text};

/// Partition key or row key: a constant, or parts.
#[derive(Clone, Default)]
pub(crate) struct Key {
    pub(crate) constant: Option<Text>,
    /// The text before the first part.
    pub(crate) prefix: Option<Text>,
    /// The prefixes that are written on parts after the first one, which is an error.
    pub(crate) misplaced_prefixes: Vec<Text>,
    pub(crate) parts: Vec<Part>,
}

/// Field in a key.
#[derive(Clone)]
pub(crate) struct Part {
    /// The field's position among the fields.
    pub(crate) field: usize,
    pub(crate) encoding: Encoding,
    /// True if an index names the field, false for the parts of the primary key in any layout. The field of such a part
    /// may be an `Option`. An entity with `None` has no row in the index.
    pub(crate) is_index_value: bool,
    /// The span of `each`, if the part holds one element of the field and the index has a row for each element.
    pub(crate) each: Option<Span>,
    /// The span of the encoding's option, or else that of the field's type.
    pub(crate) span: Span,
    /// The span of the field's name where the key lists it, or else that of the field.
    pub(crate) place: Span,
}

impl Key {
    /// Returns the constant text at the beginning of the key. Without parts it is the whole key.
    pub(crate) fn prefix(&self) -> &str {
        self.constant.as_ref().or(self.prefix.as_ref()).map_or("", |text| &text.value)
    }
}

impl Part {
    /// Reads `#[partition_key(…)]` or `#[row_key(…)]` on a field.
    pub(super) fn read(field: usize, mut keys: Keys, declared: &syn::Field, errors: &mut Errors) -> Self {
        let (encoding, span) = Encoding::read(&mut keys, errors);
        keys.finish(errors);
        let span = span.unwrap_or_else(|| declared.ty.span());
        Self { field, encoding, is_index_value: false, each: None, span, place: span }
    }

    /// Returns a part in its plain encoding.
    pub(super) fn plain(field: usize, span: Span) -> Self {
        Self { field, encoding: Encoding::Plain, is_index_value: false, each: None, span, place: span }
    }

    /// Returns this part of the primary key as index rows contain it: they always escape text.
    pub(super) fn escaped(&self) -> Self {
        let mut part = self.clone();
        if part.encoding == Encoding::Raw {
            part.encoding = Encoding::Plain;
        }
        part
    }
}
