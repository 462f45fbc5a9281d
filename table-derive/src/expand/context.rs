//! The model with the values that all files of the expansion need.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::WhereClause;

use super::{
    generics,
    types::{part_encoding, part_type},
};
use crate::{
    model::{Entity, Part},
    runtime::Runtime,
};

/// Entity with its bounds and the name of its columns.
pub(super) struct Context<'a> {
    pub(super) entity: &'a Entity,
    /// The alias of the runtime, because everything but the columns' struct is in one block.
    pub(super) runtime: &'static Runtime,
    pub(super) bounds: Option<WhereClause>,
    pub(super) columns: Ident,
}

impl<'a> Context<'a> {
    pub(super) fn new(entity: &'a Entity) -> Self {
        let runtime = &Runtime::Alias;
        let bounds = generics::bounds(entity, runtime);
        let columns = quote::format_ident!("{}Columns", entity.ident, span = Span::call_site());
        Self { entity, runtime, bounds, columns }
    }

    /// Returns the type that the part contains.
    pub(super) fn part_type(&self, part: &Part) -> TokenStream {
        part_type(&self.entity.fields[part.field].ty, part, self.runtime)
    }

    /// Returns the type of the part's encoding.
    pub(super) fn part_encoding(&self, part: &Part) -> TokenStream {
        part_encoding(self.entity, part, self.runtime)
    }

    /// Returns a tuple type of parts: `(Part<A, …>, (Part<B, …>, end))`.
    pub(super) fn part_list(&self, parts: &[Part], end: &TokenStream) -> TokenStream {
        let t = self.runtime.here();
        parts.iter().rev().fold(end.clone(), |rest, part| {
            let (ty, encoding) = (self.part_type(part), self.part_encoding(part));
            quote!((#t::Part<#ty, #encoding>, #rest))
        })
    }

    /// Returns the span at which the compiler reports that the part's field has a wrong type.
    pub(super) fn type_span(&self, part: &Part) -> Span {
        self.entity.fields[part.field].ty.span()
    }

    /// Returns true if the part can be read back: not an element, which is not the whole field. The value of an index is not
    /// read back if its type depends on a parameter, because that would need more bounds.
    pub(super) fn is_read(&self, part: &Part) -> bool {
        let is_generic =
            part.is_index_value && generics::depends_on_parameter(self.entity, &self.entity.fields[part.field].ty);
        !part.encoding.is_lossy() && !is_generic && part.each.is_none()
    }

    /// Returns the type that has the encoding's functions for the part. This type exists only if the encoding fits the
    /// field, so that the compiler reports a misfit at the encoding, before any other error.
    pub(super) fn fits(&self, part: &Part) -> TokenStream {
        let (ty, encoding) = (self.part_type(part), self.part_encoding(part));
        let (type_span, span) = (self.type_span(part), part.span);
        let t = self.runtime.at(type_span);
        let kind = quote_spanned!(type_span=> #t::KindOf<#ty>);
        let t = self.runtime.at(span);
        let loss = Ident::new(if self.is_read(part) { "Lossless" } else { "Lossy" }, span);
        quote_spanned!(span=> <#encoding as #t::Fits<#ty, #kind, #t::#loss>>)
    }
}
