//! The bounds of a generic entity. Each field whose type contains a parameter needs what the use of the field needs.

use quote::{ToTokens, quote};
use syn::{Generics, Ident, Type, WhereClause, parse_quote};

use super::types::{part_encoding, part_type, strategy_type};
use crate::{
    encoding::Encoding,
    hygiene::has_ident,
    model::{Entity, Storage},
    runtime::Runtime,
};

/// Returns the entity's own bounds and the inferred ones.
pub(super) fn bounds(entity: &Entity, runtime: &Runtime) -> Option<WhereClause> {
    let mut generics = entity.generics.clone();
    if generics.params.is_empty() {
        return generics.where_clause;
    }
    let parameters: Vec<_> = parameters(&generics).cloned().collect();
    let t = runtime.here();
    let clause = generics.make_where_clause();
    for parameter in entity.generics.type_params() {
        let ident = &parameter.ident;
        clause.predicates.push(parse_quote!(#ident: ::core::marker::Send + ::core::marker::Sync + 'static));
    }
    for (at, field) in entity.fields.iter().enumerate().filter(|(_, field)| mentions(&field.ty, &parameters)) {
        let ty = &field.ty;
        if matches!(field.storage, Storage::Skipped(_)) {
            clause.predicates.push(parse_quote!(#ty: ::core::default::Default));
        }
        let mut known: Vec<(bool, &Encoding)> = Vec::new();
        let parts = entity.layouts().flat_map(|layout| layout.partition.parts.iter().chain(&layout.row.parts));
        for part in parts.filter(|part| part.field == at) {
            if known.contains(&(part.is_index_value, &part.encoding)) {
                continue;
            }
            known.push((part.is_index_value, &part.encoding));
            let (encoding, part_type) = (part_encoding(entity, part, runtime), part_type(ty, part, runtime));
            let kind = quote!(<#part_type as #t::KeyPart>::Kind);
            let bound = match part.each {
                Some(_) => quote!(Each<Element: #t::KeyPart>),
                None if part.is_index_value => quote!(Indexable),
                None => quote!(KeyPart),
            };
            clause.predicates.push(parse_quote!(#ty: #t::#bound));
            clause.predicates.push(parse_quote!(#encoding: #t::Encode<#kind>));
            if !part.is_index_value && !part.encoding.is_lossy() {
                clause.predicates.push(parse_quote!(#encoding: #t::Decode<#kind>));
            }
        }
    }
    for (field, property) in entity.properties().filter(|(field, _)| mentions(&field.ty, &parameters)) {
        let ty = &field.ty;
        let strategy = strategy_type(property, ty, runtime);
        clause.predicates.push(parse_quote!(#strategy: #t::Store<#ty>));
    }
    generics.where_clause
}

/// Returns true if the type depends on a parameter of the entity.
pub(super) fn depends_on_parameter(entity: &Entity, ty: &Type) -> bool {
    mentions(ty, &parameters(&entity.generics).cloned().collect::<Vec<_>>())
}

fn parameters(generics: &Generics) -> impl Iterator<Item = &Ident> {
    let types = generics.type_params().map(|parameter| &parameter.ident);
    types.chain(generics.const_params().map(|parameter| &parameter.ident))
}

/// Returns true if the name of a parameter occurs anywhere in the type. The name may mean something else there, but a
/// bound that is true for a concrete type does no harm.
fn mentions(ty: &Type, parameters: &[Ident]) -> bool {
    has_ident(ty.to_token_stream(), &|ident| parameters.contains(ident))
}
