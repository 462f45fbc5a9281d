//! The bounds of a generic entity: for each field whose type mentions a parameter, what the field's use needs.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Generics, Ident, Type, WhereClause, parse_quote};

use crate::{
    encoding::Encoding,
    expand::{Runtime, part_encoding, part_type, strategy_type},
    model::{Entity, Storage},
};

/// The entity's own bounds and the inferred ones.
pub(crate) fn bounds(entity: &Entity, runtime: &Runtime) -> Option<WhereClause> {
    let mut generics = entity.generics.clone();
    if generics.params.is_empty() {
        return generics.where_clause;
    }
    let parameters: Vec<_> = parameters(&generics).cloned().collect();
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
        let t = runtime.here();
        let mut known: Vec<(bool, &Encoding)> = Vec::new();
        let parts = entity.layouts().flat_map(|layout| layout.partition.parts.iter().chain(&layout.row.parts));
        for part in parts.filter(|part| part.field == at) {
            if known.contains(&(part.sparse, &part.encoding)) {
                continue;
            }
            known.push((part.sparse, &part.encoding));
            let (encoding, stands) = (part_encoding(entity, part, runtime), part_type(ty, part, runtime));
            let kind = quote!(<#stands as #t::KeyPart>::Kind);
            let of = if part.sparse { quote!(Indexable) } else { quote!(KeyPart) };
            clause.predicates.push(parse_quote!(#ty: #t::#of));
            clause.predicates.push(parse_quote!(#encoding: #t::Encode<#kind>));
            if !part.sparse && !part.encoding.is_lossy() {
                clause.predicates.push(parse_quote!(#encoding: #t::Decode<#kind>));
            }
        }
    }
    for (field, _, strategy, default) in entity.stored().filter(|(field, ..)| mentions(&field.ty, &parameters)) {
        let (ty, t) = (&field.ty, runtime.here());
        let strategy = strategy_type(strategy, default, ty, runtime);
        clause.predicates.push(parse_quote!(#strategy: #t::Store<#ty>));
    }
    generics.where_clause
}

/// Whether the type depends on a parameter of the entity.
pub(crate) fn depends(entity: &Entity, ty: &Type) -> bool {
    mentions(ty, &parameters(&entity.generics).cloned().collect::<Vec<_>>())
}

fn parameters(generics: &Generics) -> impl Iterator<Item = &Ident> {
    let types = generics.type_params().map(|parameter| &parameter.ident);
    types.chain(generics.const_params().map(|parameter| &parameter.ident))
}

/// Whether a parameter's name is anywhere in the type. A bound that a concrete type has anyway does no harm.
fn mentions(ty: &Type, parameters: &[Ident]) -> bool {
    fn in_tokens(tokens: TokenStream, parameters: &[Ident]) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => parameters.contains(&ident),
            TokenTree::Group(group) => in_tokens(group.stream(), parameters),
            _ => false,
        })
    }
    in_tokens(ty.to_token_stream(), parameters)
}
