//! The runtime's types for the parts of keys and for properties.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

use crate::{
    case::Case,
    encoding::{Encoding, Step},
    field_type::FieldType,
    model::{Entity, Part, Property, Strategy},
    runtime::Runtime,
};

/// Returns the type that a key part contains. For the value of an index it is the type inside of an `Option`, or that of the
/// elements.
pub(super) fn part_type(ty: &FieldType, part: &Part, runtime: &Runtime) -> TokenStream {
    part_of(&ty.to_token_stream(), ty.span(), part, runtime)
}

/// Returns the type that a key part of a field of the type `ty` contains.
pub(super) fn part_of(ty: &TokenStream, span: Span, part: &Part, runtime: &Runtime) -> TokenStream {
    let t = runtime.at(span);
    if part.each.is_some() {
        quote_spanned!(span=> #t::ElementOf<#ty>)
    } else if part.is_index_value {
        quote_spanned!(span=> #t::PartOf<#ty>)
    } else {
        ty.clone()
    }
}

/// Returns the runtime's type for the encoding of a key part.
pub(super) fn part_encoding(entity: &Entity, part: &Part, runtime: &Runtime) -> TokenStream {
    let encoding = encoding_type(&part.encoding, part.span, runtime);
    match separator(entity) {
        Some(separator) => {
            let t = runtime.at(part.span);
            quote_spanned!(part.span=> #t::Separated<#encoding, #separator>)
        }
        None => encoding,
    }
}

/// Returns the entity's separator as a character.
pub(super) fn separator(entity: &Entity) -> Option<char> {
    entity.separator.as_ref().and_then(|separator| separator.value.chars().next())
}

fn encoding_type(encoding: &Encoding, span: Span, runtime: &Runtime) -> TokenStream {
    let t = runtime.at(span);
    match encoding.outermost() {
        None => quote_spanned!(span=> #t::Plain),
        Some(Step { option, number, inner }) => {
            let name = Ident::new(&Case::Pascal.field(option.name()), span);
            let number = number.map(|number| {
                let mut number = Literal::usize_unsuffixed(number);
                number.set_span(span);
                number.into_token_stream()
            });
            let inner = inner.map(|inner| encoding_type(inner, span, runtime));
            let arguments: Vec<_> = number.into_iter().chain(inner).collect();
            if arguments.is_empty() {
                quote_spanned!(span=> #t::#name)
            } else {
                quote_spanned!(span=> #t::#name<#(#arguments),*>)
            }
        }
    }
}

/// Returns the runtime's type for the conversion between a field and its property.
pub(super) fn strategy_type(property: &Property, ty: &FieldType, runtime: &Runtime) -> TokenStream {
    let span = property.place(ty.span());
    let name = match property.strategy {
        Strategy::Native => "Native",
        Strategy::Json(_) => "Json",
        Strategy::Text(_) => "DisplayText",
        Strategy::OptionText(_) => "OptionText",
        Strategy::Scaled(..) => "Scaled",
    };
    let name = Ident::new(name, span);
    let t = runtime.at(span);
    let name = match property.strategy {
        Strategy::Scaled(span, places) => quote_spanned!(span=> #name<#places>),
        _ => name.into_token_stream(),
    };
    let name = quote_spanned!(span=> #t::#name);
    let name = if property.large.is_some() { quote_spanned!(span=> #t::Large<#name>) } else { name };
    if property.default.is_some() { quote_spanned!(span=> #t::Defaulted<#name>) } else { name }
}

/// Returns an `Option` as an expression in the block with the alias.
pub(super) fn option(value: Option<impl ToTokens>) -> TokenStream {
    let t = Runtime::Alias.here();
    value.map_or_else(|| quote!(#t::None), |value| quote!(#t::Some(#value)))
}
