//! `#[derive(Property)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use crate::wrapper::{Shape, Wrapper};

pub(crate) fn expand(wrapper: &Wrapper) -> TokenStream {
    let (ident, t) = (&wrapper.ident, wrapper.runtime.here());
    let (body, expected, to_value, from_value, arg_value) = match &wrapper.shape {
        Shape::Newtype(ty) => {
            let at = wrapper.runtime.at(ty.span());
            let property = quote_spanned!(ty.span()=> <#ty as #at::Property>);
            let types = quote! {
                type Pass<'a, T: 'a> = #property::Pass<'a, T>;
                type Arg<'a> = #property::Pass<'a, Self>;
                type Presence = #property::Presence;
                type Order = #property::Order;
            };
            (
                types,
                quote!(#property::expected()),
                quote!(#property::to_value(&self.0)),
                quote!(#property::from_value(value).map(Self)),
                quote!(#property::to_value(&arg.0)),
            )
        }
        Shape::Names(names) => {
            let (variants, texts): (Vec<_>, Vec<_>) = names.iter().map(|(variant, name)| (variant, name)).unzip();
            let expected = one_of(&texts);
            let types = quote! {
                type Pass<'a, T: 'a> = T;
                type Arg<'a> = Self;
                type Presence = #t::Always;
                type Order = #t::ByEquality;
            };
            let last = variants.len() - 1;
            let (first, others) = (0..last, &variants[last]);
            let before = &variants[..last];
            (
                types,
                quote!(::std::borrow::Cow::Borrowed(#expected)),
                quote! {
                    ::core::result::Result::Ok(::core::option::Option::Some(#t::ValueRef::String(match self {
                        #(Self::#variants => #texts,)*
                    })))
                },
                quote! {
                    #t::name_from_value(value, &[#(#texts),*]).map(|place| match place {
                        #(#first => Self::#before,)*
                        _ => Self::#others,
                    })
                },
                quote!(<Self as #t::Property>::to_value(&arg)),
            )
        }
    };
    quote! {
        const _: () = {
            #[automatically_derived]
            impl #t::Property for #ident {
                #body
                fn expected() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
                    #expected
                }
                #[inline]
                fn to_value(
                    &self,
                ) -> ::core::result::Result<::core::option::Option<#t::ValueRef<'_>>, #t::PropertyProblem> {
                    #to_value
                }
                #[inline]
                fn from_value(
                    value: ::core::option::Option<#t::ValueRef<'_>>,
                ) -> ::core::result::Result<Self, #t::PropertyProblem> {
                    #from_value
                }
                fn arg_value(
                    arg: Self::Arg<'_>,
                ) -> ::core::result::Result<::core::option::Option<#t::Value>, #t::PropertyProblem> {
                    #arg_value.map(|value| value.map(#t::ValueRef::to_value))
                }
            }
        };
    }
}

/// ``one of `A`, `B` ``
fn one_of(names: &[&String]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("one of {}", names.join(", "))
}
