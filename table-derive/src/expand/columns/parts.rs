//! Structs of the columns of a field of which an index depends on a part: that part cannot be set, and its neighbours can.

#![allow(clippy::single_match_else, clippy::struct_field_names, reason = "the arms are two forms of one expansion")]

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;

use crate::{
    case::Case,
    expand::{context::Context, types::strategy_type},
    hygiene::no_lints,
    model::hash,
    runtime::Runtime,
};

/// The columns of a field, or of a part of it, of which some are those of indexed parts.
pub(super) struct Parts<'a> {
    /// The position of the field.
    field: usize,
    /// The path from the field.
    steps: Vec<&'a Ident>,
    parts: Vec<Part<'a>>,
}

struct Part<'a> {
    ident: &'a Ident,
    /// The columns of the part's own parts; `None` if the index depends on the part itself.
    inner: Option<Parts<'a>>,
}

/// Returns the columns of a field if an index depends on a part of it. Of a generic entity, all
/// parts of the field count as indexed.
pub(super) fn of_field<'a>(context: &Context<'a>, field: usize) -> Option<Parts<'a>> {
    let paths = context.entity.indexed_parts(field);
    let paths: Vec<_> = paths.iter().map(|path| path.steps.as_slice()).collect();
    let is_concrete = context.entity.generics.params.is_empty();
    (is_concrete && !paths.is_empty()).then(|| Parts::new(field, Vec::new(), &paths))
}

impl<'a> Parts<'a> {
    fn new(field: usize, steps: Vec<&'a Ident>, paths: &[&'a [Ident]]) -> Self {
        let mut parts: Vec<Part<'a>> = Vec::new();
        for path in paths {
            let [ident, ..] = path else { continue };
            if parts.iter().any(|part| part.ident == ident) {
                continue;
            }
            let inner: Vec<_> =
                paths.iter().filter(|other| other.first() == Some(ident)).map(|other| &other[1..]).collect();
            let inner = inner.iter().all(|rest| !rest.is_empty()).then(|| {
                let steps = steps.iter().copied().chain([ident]).collect();
                Self::new(field, steps, &inner)
            });
            parts.push(Part { ident, inner });
        }
        Self { field, steps, parts }
    }

    /// Returns the name of the struct.
    pub(super) fn name(&self, context: &Context<'_>) -> Ident {
        let Context { entity, .. } = context;
        let path: String = [&entity.fields[self.field].ident]
            .into_iter()
            .chain(self.steps.iter().copied())
            .map(|ident| Case::Pascal.field(&ident.unraw().to_string()))
            .collect();
        format_ident!("{}Columns{path}", entity.ident, span = proc_macro2::Span::call_site())
    }

    /// Returns the type whose columns these are, and the place of its value.
    fn place(&self, context: &Context<'_>, runtime: &Runtime) -> (TokenStream, TokenStream) {
        let Context { entity, .. } = context;
        let (t, ident, ty) = (runtime.here(), &entity.ident, entity.fields[self.field].ty.at_place(runtime));
        let number = Literal::usize_unsuffixed(entity.number(self.field));
        let root = (ty, quote!(#t::At<#ident, #t::Root, #number>));
        self.steps.iter().fold(root, |(from, place), step| {
            let step = step_type(&from, step, runtime);
            (quote!(#step::To), quote!(#step::Place<#ident, #place>))
        })
    }

    /// Returns the mode of the columns.
    fn mode(&self, context: &Context<'_>, runtime: &Runtime) -> TokenStream {
        let (t, property) = (runtime.here(), context.entity.property(self.field));
        let is_partial = property.is_some_and(|property| property.default.is_some());
        let root = if is_partial { quote!(#t::Partial) } else { quote!(#t::Indexed) };
        let mut from = context.entity.fields[self.field].ty.at_place(runtime);
        self.steps.iter().fold(root, |mode, step| {
            let step = step_type(&from, step, runtime);
            from = quote!(#step::To);
            quote!(#step::Inner<#mode>)
        })
    }

    /// Returns the type of the column to which the struct derefs.
    fn column(&self, context: &Context<'_>, runtime: &Runtime) -> TokenStream {
        let Context { entity, .. } = context;
        let (t, ident, ty) = (runtime.here(), &entity.ident, &entity.fields[self.field].ty);
        match self.steps.split_last() {
            Some((last, before)) => {
                let outer = Self { field: self.field, steps: before.to_vec(), parts: Vec::new() };
                let (from, place) = outer.place(context, runtime);
                let step = step_type(&from, last, runtime);
                quote!(#step::Column<#ident, #t::Free, #place>)
            }
            None => {
                let number = Literal::usize_unsuffixed(entity.number(self.field));
                let strategy = entity.property(self.field).map(|property| strategy_type(property, ty, runtime));
                let ty = ty.at_place(runtime);
                quote!(#t::Column<#ident, #ty, #number, #t::Free, #strategy>)
            }
        }
    }

    /// Returns the structs. They are beside the entity's columns, which have them.
    pub(super) fn definition(&self, context: &Context<'_>) -> TokenStream {
        let Context { entity, .. } = context;
        let (runtime, visibility, ident) = (&entity.runtime, &entity.visibility, &entity.ident);
        let (t, name, no_lints) = (runtime.here(), self.name(context), no_lints());
        let ((from, place), mode) = (self.place(context, runtime), self.mode(context, runtime));
        let fields = self.parts.iter().map(|part| {
            let (of, hash) = (part.ident, hash(&part.ident.unraw().to_string()));
            let documentation = format!("The column of `{of}`, on which an index depends, or of which a part does.");
            match &part.inner {
                Some(inner) => {
                    let inner = inner.name(context);
                    quote!(#[doc = #documentation] #visibility #of: #inner)
                }
                None => quote!(#[doc = #documentation] #visibility #of: #t::IndexedPart<#ident, #from, #hash, #place, #mode>),
            }
        });
        let inner = self.parts.iter().filter_map(|part| part.inner.as_ref()).map(|inner| inner.definition(context));
        let documentation = format!("The columns of a field of [`{ident}`] on a part of which an index depends.");
        quote! {
            #[doc = #documentation]
            #no_lints
            #visibility struct #name { #(#fields),* }
            #(#inner)*
        }
    }

    /// Returns the implementations.
    pub(super) fn implementations(&self, context: &Context<'_>) -> TokenStream {
        let (t, name) = (context.runtime.here(), self.name(context));
        let (column, idents) = (self.column(context, context.runtime), self.parts.iter().map(|part| part.ident));
        let inner =
            self.parts.iter().filter_map(|part| part.inner.as_ref()).map(|inner| inner.implementations(context));
        // A constant cannot call the function of the column.
        let selected = self.steps.is_empty().then(|| {
            quote! {
                impl #name {
                    #[doc(hidden)]
                    pub const fn selected(self) -> #t::PropertyInfo {
                        <#column as #t::Fresh>::NEW.selected()
                    }
                }
            }
        });
        quote! {
            #[automatically_derived]
            impl ::core::clone::Clone for #name {
                #[inline]
                fn clone(&self) -> Self {
                    *self
                }
            }
            #[automatically_derived]
            impl ::core::marker::Copy for #name {}
            #[automatically_derived]
            impl #t::Fresh for #name {
                const NEW: &'static Self = &Self { #(#idents: *#t::Fresh::NEW),* };
            }
            #selected
            #[automatically_derived]
            impl ::core::ops::Deref for #name {
                type Target = #column;
                #[inline]
                fn deref(&self) -> &Self::Target {
                    #t::Fresh::NEW
                }
            }
            #(#inner)*
        }
    }
}

fn step_type(from: &TokenStream, step: &Ident, runtime: &Runtime) -> TokenStream {
    let (t, hash) = (runtime.here(), hash(&step.unraw().to_string()));
    quote!(<#from as #t::Step<#hash>>)
}
