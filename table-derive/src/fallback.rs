//! The implementations that a derive generates if its input has no model. With them, uses of the type cause no further
//! errors.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{DeriveInput, GenericParam, Lifetime, ext::IdentExt as _};

use crate::runtime::Runtime;

pub(crate) fn table_entity(input: &DeriveInput) -> TokenStream {
    let t = Runtime::read(&input.attrs, "table").here();
    let ident = &input.ident;
    let name = ident.unraw().to_string();
    // `TableEntity` requires `'static`, so a lifetime is that one here.
    let lasting = Lifetime::new("'static", Span::call_site());
    let arguments = input.generics.params.iter().map(|parameter| match parameter {
        GenericParam::Lifetime(_) => lasting.to_token_stream(),
        GenericParam::Type(parameter) => parameter.ident.to_token_stream(),
        GenericParam::Const(parameter) => parameter.ident.to_token_stream(),
    });
    let arguments = quote!(<#(#arguments),*>);
    let mut generics = input.generics.clone();
    generics.params =
        generics.params.into_iter().filter(|parameter| !matches!(parameter, GenericParam::Lifetime(_))).collect();
    let (parameters, _, clause) = generics.split_for_impl();
    let predicates = clause.map(|clause| &clause.predicates);
    quote! {
        const _: () = {
            #[automatically_derived]
            impl #parameters #t::TableEntity for #ident #arguments
            where
                Self: ::core::marker::Send + ::core::marker::Sync + 'static,
                #predicates
            {
                const INFO: &'static #t::EntityInfo = &#t::EntityInfo::fallback(#name);
                type Columns = ();
                const COLUMNS: () = ();
                type Scan = ();
                fn scan() {}
                fn encode_keys(
                    &self,
                    _: ::core::primitive::usize,
                    _: &mut #t::KeyWriter,
                ) -> ::core::result::Result<::core::primitive::bool, #t::KeyProblem> {
                    ::core::unreachable!()
                }
                fn write(&self, _: &mut #t::PropertyWriter<'_>) -> #t::Result<()> {
                    ::core::unreachable!()
                }
                fn read(_: &mut #t::RowReader<'_>) -> #t::Result<Self> {
                    ::core::unreachable!()
                }
            }
        };
    }
}

pub(crate) fn key_part(input: &DeriveInput) -> TokenStream {
    let t = Runtime::read(&input.attrs, "table").here();
    let ident = &input.ident;
    let (parameters, arguments, clause) = input.generics.split_for_impl();
    quote! {
        const _: () = {
            #[automatically_derived]
            impl #parameters #t::KeyPart for #ident #arguments #clause {
                type Kind = #t::kind::Name;
                type Arg<'a> = Self;
                fn to_value(&self) -> &'static ::core::primitive::str {
                    ::core::unreachable!()
                }
                fn arg_value<'a>(_: Self::Arg<'a>) -> <Self::Kind as #t::Kind>::Value<'a> {
                    ::core::unreachable!()
                }
                fn from_key(
                    _: ::std::borrow::Cow<'_, ::core::primitive::str>,
                ) -> ::core::result::Result<Self, #t::KeyProblem> {
                    ::core::unreachable!()
                }
            }
        };
    }
}

pub(crate) fn property(input: &DeriveInput) -> TokenStream {
    let t = Runtime::read(&input.attrs, "table").here();
    let ident = &input.ident;
    let (parameters, arguments, clause) = input.generics.split_for_impl();
    quote! {
        const _: () = {
            #[automatically_derived]
            impl #parameters #t::Property for #ident #arguments #clause {
                type Pass<'a, __Pass: 'a> = __Pass;
                type Arg<'a> = Self;
                type Presence = #t::Always;
                type Order = #t::ByEquality;
                type Shape = #t::Single;
                const TYPE: #t::PropertyType = #t::PropertyType::String;
                fn to_value<'a>(
                    &'a self,
                    _: &'a mut ::std::string::String,
                ) -> ::core::result::Result<::core::option::Option<#t::ValueRef<'a>>, #t::PropertyProblem> {
                    ::core::unreachable!()
                }
                fn from_value(
                    _: ::core::option::Option<#t::ValueRef<'_>>,
                ) -> ::core::result::Result<Self, #t::PropertyProblem> {
                    ::core::unreachable!()
                }
                fn arg_value(
                    _: Self::Arg<'_>,
                ) -> ::core::result::Result<::core::option::Option<#t::Value>, #t::PropertyProblem> {
                    ::core::unreachable!()
                }
            }
        };
    }
}
