//! The expansion of `#[derive(KeyPart)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::{
    expand::checks,
    hygiene::no_lints,
    wrapper::{Shape, Wrapper},
};

pub(crate) fn expand(wrapper: &Wrapper) -> TokenStream {
    let (ident, t) = (&wrapper.ident, wrapper.runtime.here());
    let mut checks = TokenStream::new();
    let body = match &wrapper.shape {
        Shape::Newtype(ty) => {
            let (t, span) = (wrapper.runtime.at(ty.span()), ty.span());
            checks = checks::of_newtype(ident, ty, &quote_spanned!(span=> KeyPart>::Kind), &wrapper.runtime);
            // All tokens have the span of the field's type, so that the compiler reports one error there.
            quote_spanned! {span=>
                type Kind = <#ty as #t::KeyPart>::Kind;
                type Arg<'a> = <<#ty as #t::KeyPart>::Kind as #t::Kind>::Pass<'a, Self>;
                #[inline]
                fn to_value(&self) -> <Self::Kind as #t::Kind>::Value<'_> {
                    <#ty as #t::KeyPart>::to_value(&self.0)
                }
                #[inline]
                fn arg_value<'a>(arg: Self::Arg<'a>) -> <Self::Kind as #t::Kind>::Value<'a> {
                    <#ty as #t::KeyPart>::to_value(&arg.0)
                }
                #[inline]
                fn from_key(
                    key: <Self::Kind as #t::Kind>::Owned<'_>,
                ) -> ::core::result::Result<Self, #t::KeyProblem> {
                    <#ty as #t::KeyPart>::from_key(key).map(Self)
                }
            }
        }
        Shape::Names(names) => {
            let (variants, texts): (Vec<_>, Vec<_>) = names.iter().map(|(variant, name)| (variant, name)).unzip();
            quote! {
                type Kind = #t::kind::Name;
                type Arg<'a> = Self;
                #[inline]
                fn to_value(&self) -> &'static ::core::primitive::str {
                    match self {
                        #(Self::#variants => #texts,)*
                    }
                }
                #[inline]
                fn arg_value<'a>(arg: Self::Arg<'a>) -> <Self::Kind as #t::Kind>::Value<'a> {
                    <Self as #t::KeyPart>::to_value(&arg)
                }
                fn from_key(
                    key: ::std::borrow::Cow<'_, ::core::primitive::str>,
                ) -> ::core::result::Result<Self, #t::KeyProblem> {
                    match &*key {
                        #(#texts => ::core::result::Result::Ok(Self::#variants),)*
                        _ => ::core::result::Result::Err(#t::unknown_name(&key, &[#(#texts),*])),
                    }
                }
            }
        }
    };
    let no_lints = no_lints();
    quote! {
        #no_lints
        const _: () = {
            #checks
            #[automatically_derived]
            impl #t::KeyPart for #ident {
                #body
            }
        };
    }
}
