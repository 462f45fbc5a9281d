//! The expansion of `#[derive(Property)]`.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};

use crate::{
    expand::checks,
    field_type::FieldType,
    hygiene::no_lints,
    runtime::Runtime,
    wrapper::{Shape, Wrapper},
};

pub(crate) fn expand(wrapper: &Wrapper) -> TokenStream {
    let (ident, t) = (&wrapper.ident, wrapper.runtime.here());
    let (body, checks) = match &wrapper.shape {
        Shape::Newtype(ty) => {
            let item = quote_spanned!(ty.span()=> Property>::Order);
            (newtype(ty, &wrapper.runtime), checks::of_newtype(ident, ty, &item, &wrapper.runtime))
        }
        Shape::Names(names) => (names_of(names, &wrapper.runtime), TokenStream::new()),
    };
    let no_lints = no_lints();
    quote! {
        #no_lints
        const _: () = {
            #checks
            #[automatically_derived]
            impl #t::Property for #ident {
                #body
            }
        };
    }
}

fn newtype(ty: &FieldType, runtime: &Runtime) -> TokenStream {
    let (t, span) = (runtime.at(ty.span()), ty.span());
    // All tokens have the span of the field's type, so that the compiler reports one error there.
    quote_spanned! {span=>
        type Arg = <<#ty as #t::Property>::Arg as #t::Passing>::Newtype<Self>;
        type Presence = <#ty as #t::Property>::Presence;
        type Order = <#ty as #t::Property>::Order;
        type Shape = <#ty as #t::Property>::Shape;
        const TYPE: #t::PropertyType = <#ty as #t::Property>::TYPE;
        const PARTS: &'static [#t::PropertyInfo] = <#ty as #t::Property>::PARTS;
        const INNER: &'static [#t::PropertyInfo] = <#ty as #t::Property>::INNER;
        const MOST: ::core::primitive::usize = <#ty as #t::Property>::MOST;
        const IS_OPTIONAL: ::core::primitive::bool = <#ty as #t::Property>::IS_OPTIONAL;
        fn expected() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            <#ty as #t::Property>::expected()
        }
        #[inline]
        fn to_value<'a>(
            &'a self,
            scratch: &'a mut ::std::string::String,
        ) -> ::core::result::Result<::core::option::Option<#t::ValueRef<'a>>, #t::PropertyProblem> {
            <#ty as #t::Property>::to_value(&self.0, scratch)
        }
        #[inline]
        fn from_value(
            value: ::core::option::Option<#t::ValueRef<'_>>,
        ) -> ::core::result::Result<Self, #t::PropertyProblem> {
            <#ty as #t::Property>::from_value(value).map(Self)
        }
        #[inline]
        fn store_in(
            &self,
            name: &'static ::core::primitive::str,
            parts: &'static [#t::PropertyInfo],
            properties: &mut #t::PropertyWriter<'_>,
        ) -> #t::Result<()> {
            <#ty as #t::Property>::store_in(&self.0, name, parts, properties)
        }
        #[inline]
        fn load_in(
            name: &'static ::core::primitive::str,
            parts: &'static [#t::PropertyInfo],
            row: &mut #t::EntityReader<'_>,
        ) -> #t::Result<Self> {
            <#ty as #t::Property>::load_in(name, parts, row).map(Self)
        }
        fn arg_value(
            arg: #t::Passed<'_, Self::Arg>,
        ) -> ::core::result::Result<::core::option::Option<#t::Value>, #t::PropertyProblem> {
            <#ty as #t::Property>::to_value(&arg.0, &mut ::std::string::String::new())
                .map(|value| value.map(#t::ValueRef::to_value))
        }
    }
}

/// Returns the items for an enum, which is stored as the name of its variant and compared by equality.
fn names_of(names: &[(Ident, String)], runtime: &Runtime) -> TokenStream {
    let t = runtime.here();
    let (variants, texts): (Vec<_>, Vec<_>) = names.iter().map(|(variant, name)| (variant, name)).unzip();
    let expected = one_of(&texts);
    let (before, last) = variants.split_at(variants.len() - 1);
    let positions = 0..before.len();
    quote! {
        type Arg = #t::ByValue<Self>;
        type Presence = #t::Always;
        type Order = #t::ByEquality;
        type Shape = #t::Single;
        const TYPE: #t::PropertyType = #t::PropertyType::String;
        fn expected() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(#expected)
        }
        #[inline]
        fn to_value<'a>(
            &'a self,
            _: &'a mut ::std::string::String,
        ) -> ::core::result::Result<::core::option::Option<#t::ValueRef<'a>>, #t::PropertyProblem> {
            ::core::result::Result::Ok(::core::option::Option::Some(#t::ValueRef::String(match self {
                #(Self::#variants => #texts,)*
            })))
        }
        fn from_value(
            value: ::core::option::Option<#t::ValueRef<'_>>,
        ) -> ::core::result::Result<Self, #t::PropertyProblem> {
            #t::name_from_value(value, &[#(#texts),*]).map(|place| match place {
                #(#positions => Self::#before,)*
                _ => #(Self::#last)*,
            })
        }
        fn arg_value(
            arg: #t::Passed<'_, Self::Arg>,
        ) -> ::core::result::Result<::core::option::Option<#t::Value>, #t::PropertyProblem> {
            <Self as #t::Property>::to_value(&arg, &mut ::std::string::String::new())
                .map(|value| value.map(#t::ValueRef::to_value))
        }
    }
}

/// Formats names as ``one of `A`, `B` ``.
fn one_of(names: &[&String]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("one of {}", names.join(", "))
}
