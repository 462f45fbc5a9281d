//! The constants that check the types of fields. A type whose constant does not compile is unknown to the compiler, which then
//! reports nothing more about it: see `Valid` in the runtime.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use super::{
    context::Context,
    types::{part_of, strategy_type},
};
use crate::{
    field_type::FieldType,
    model::{Field, Part, Property},
    runtime::Runtime,
};

/// Returns the constants of an entity's fields: the type is a part of a key, if a key has it, and a property, if it is stored as
/// one.
pub(super) fn of_entity(context: &Context<'_>) -> TokenStream {
    let entity = context.entity;
    let parts = || entity.layouts().flat_map(|layout| layout.partition.parts.iter().chain(&layout.row.parts));
    let check = |at: usize| {
        let mut uses = Vec::new();
        let mut known = Vec::new();
        for part in parts().filter(|part| part.field == at) {
            let role = (part.is_index_value, part.each.is_some());
            if !known.contains(&role) {
                known.push(role);
                uses.push(Use::Part(part));
            }
        }
        uses.extend(entity.property(at).map(Use::Property));
        check(&entity.fields[at].ty, &uses, context.runtime)
    };
    let checks = (0..entity.fields.len()).filter_map(check).collect();
    of_type(&entity.ident, checks)
}

/// Returns the constants of the fields of a nested type.
pub(super) fn of_fields<'a>(
    ident: &Ident,
    fields: impl IntoIterator<Item = &'a Field>,
    runtime: &Runtime,
) -> TokenStream {
    let check = |field: &Field| {
        let uses: Vec<_> = field.stored().map(Use::Property).into_iter().collect();
        check(&field.ty, &uses, runtime)
    };
    of_type(ident, fields.into_iter().filter_map(check).collect())
}

/// Returns the constant of the type in a newtype, given an item of the trait that it has to implement.
pub(crate) fn of_newtype(ident: &Ident, ty: &FieldType, item: &TokenStream, runtime: &Runtime) -> TokenStream {
    of_type(ident, check(ty, &[Use::Item(item)], runtime).into_iter().collect())
}

/// Returns the constants as hidden ones of the type, and the aliases.
fn of_type(ident: &Ident, checks: Vec<(TokenStream, TokenStream)>) -> TokenStream {
    if checks.is_empty() {
        return TokenStream::new();
    }
    let (constants, aliases): (Vec<_>, Vec<_>) = checks.into_iter().unzip();
    quote! {
        impl #ident { #(#constants)* }
        #(#aliases)*
    }
}

/// What a type is used for.
enum Use<'a> {
    Part(&'a Part),
    Property(&'a Property),
    /// An associated item of a trait that the type implements, such as `KeyPart>::Kind`.
    Item(&'a TokenStream),
}

/// Returns the constant of one type, and the alias. After the first error, the others are not reported.
fn check(checked: &FieldType, uses: &[Use<'_>], runtime: &Runtime) -> Option<(TokenStream, TokenStream)> {
    let (constant, declared) = checked.check()?;
    let span = checked.span();
    let t = runtime.at(span);
    let bool = quote_spanned!(span=> ::core::primitive::bool);
    let (mut ty, mut last, mut steps) = (declared.clone(), quote!(true), Vec::new());
    for (at, used) in uses.iter().enumerate() {
        let (place, item) = match used {
            Use::Part(part) => {
                let part = part_of(&ty, span, part, runtime);
                (span, quote_spanned!(span=> #t::KindOf<#part>))
            }
            Use::Property(property) => {
                let (place, strategy) = (property.place(span), strategy_type(property, checked, runtime));
                let t = runtime.at(place);
                (place, quote_spanned!(place=> #t::OrderOf<#strategy, #ty>))
            }
            Use::Item(item) => (span, quote_spanned!(span=> <#ty as #t::#item)),
        };
        let t = runtime.at(place);
        last = quote_spanned!(place=> #t::exists::<#item>());
        if at + 1 < uses.len() {
            let (step, t) = (format_ident!("STEP_{at}"), runtime.at(span));
            steps.push(quote_spanned!(place=> const #step: #bool = #last;));
            ty = quote_spanned!(span=> #t::Valid<#ty, { #step }>);
        }
    }
    let constant = quote! {
        #[doc(hidden)]
        const #constant: #bool = {
            #(#steps)*
            #last
        };
    };
    Some((constant, checked.alias(runtime)?))
}
