//! What a derive generates for an input that it refuses. Uses of the type cause no further errors: the generated types are
//! unknown, and the compiler reports nothing about what has an unknown type.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote};
use syn::{Attribute, Data, DeriveInput, GenericParam, Generics, Ident, Lifetime, Path, ext::IdentExt as _};

use crate::{errors::Errors, hygiene::no_lints, model::Entity, runtime::Runtime};

/// Input that a derive has refused.
struct Refused<'a> {
    input: &'a DeriveInput,
    /// The module for generated code.
    t: TokenStream,
    /// The errors, in a constant.
    errors: TokenStream,
    /// The type that is unknown because of them.
    unknown: TokenStream,
}

impl<'a> Refused<'a> {
    fn new(input: &'a DeriveInput, attribute: &'static str, derive: &str, errors: Errors) -> Self {
        let t = Runtime::read(&input.attrs, attribute).here();
        let constant = format_ident!("__REFUSED_{derive}_{}", input.ident.unraw(), span = Span::call_site());
        let (errors, no_lints) = (errors.into_tokens(), no_lints());
        let errors = quote! {
            #no_lints
            #[doc(hidden)]
            const #constant: ::core::primitive::bool = { #errors };
        };
        let unknown = quote!(#t::Valid<(), { #constant }>);
        Self { input, t, errors, unknown }
    }

    /// Returns constants with an unknown type in place of functions: a call of them has any number of arguments.
    fn functions(&self, names: impl IntoIterator<Item = String>) -> TokenStream {
        let Self { input, unknown, .. } = self;
        let (ident, no_lints) = (&input.ident, no_lints());
        let mut names: Vec<_> = names.into_iter().filter_map(|name| syn::parse_str::<Ident>(&name).ok()).collect();
        names.sort();
        names.dedup();
        let (parameters, arguments, clause) = input.generics.split_for_impl();
        quote! {
            #no_lints
            impl #parameters #ident #arguments #clause {
                #(pub const #names: #unknown = ::core::unreachable!();)*
            }
        }
    }
}

/// Returns the implementations of an entity. Its model has the names of functions that are not the usual ones.
pub(crate) fn table_entity(input: &DeriveInput, entity: Option<&Entity>, errors: Errors) -> TokenStream {
    let refused = Refused::new(input, "table", "ENTITY", errors);
    let Refused { t, errors, unknown, .. } = &refused;
    let (ident, visibility, no_lints) = (&input.ident, &input.vis, no_lints());
    let columns = format_ident!("{ident}Columns", span = Span::call_site());
    let usual = ["key", "by_key", "by_partitions"].map(|name| match entity {
        Some(entity) => entity.functions.name(name),
        None => name.to_owned(),
    });
    let functions = refused.functions(usual.into_iter().chain(by_indexes(input)));
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
    let shared = shared(&generics);
    quote! {
        #errors
        #no_lints
        #visibility type #columns = #unknown;
        #functions
        #no_lints
        const _: () = {
            impl #parameters #t::AllowScan for #ident #arguments #clause {}
            impl #parameters #t::Sliced for #ident #arguments #shared {}
            impl #parameters #t::Sweepable for #ident #arguments #shared {}
            impl #parameters #t::HasEvents for #ident #arguments #shared {}
            impl #parameters #t::SoftDelete for #ident #arguments #shared {
                fn set_deleted(&mut self, _: #t::Option<#t::ValueRef<'_>>) -> #t::SetTime {
                    ::core::unreachable!()
                }
            }
            impl #parameters #t::Keyed<#unknown, #unknown> for #ident #arguments #clause {}
            impl #parameters #t::TableEntity for #ident #arguments #shared {
                const INFO: &'static #t::EntityInfo = &#t::EntityInfo::fallback(#name);
                type Columns = #unknown;
                const COLUMNS: #unknown = ::core::unreachable!();
                type Scan = #unknown;
                fn scan() -> #unknown {
                    ::core::unreachable!()
                }
                fn encode_keys(&self, _: #t::usize, _: &mut #t::KeyWriter) -> #t::WrittenKeys {
                    ::core::unreachable!()
                }
                fn write(&self, _: &mut #t::PropertyWriter<'_>) -> #t::Result<()> {
                    ::core::unreachable!()
                }
                fn read(_: &mut #t::EntityReader<'_>) -> #t::Result<Self> {
                    ::core::unreachable!()
                }
            }
        };
    }
}

/// Returns the bounds of a type that threads share, beside its own.
fn shared(generics: &Generics) -> TokenStream {
    let predicates = generics.where_clause.as_ref().map(|clause| &clause.predicates);
    quote!(where Self: ::core::marker::Send + ::core::marker::Sync + 'static, #predicates)
}

/// Returns the names of functions that an attribute of an index may mean, also if it is not understood: `by_` and each
/// name in it, and the name of its field.
fn by_indexes(input: &DeriveInput) -> Vec<String> {
    let of_struct = input.attrs.iter().map(|attribute| (attribute, None));
    let fields = match &input.data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(_) | Data::Union(_) => Vec::new(),
    };
    let of_fields =
        fields.into_iter().flat_map(|field| field.attrs.iter().map(|attribute| (attribute, field.ident.as_ref())));
    let is_index = |(attribute, _): &(&Attribute, Option<&Ident>)| attribute.path().is_ident("index");
    let mut names = Vec::new();
    for (attribute, field) in of_struct.chain(of_fields).filter(is_index) {
        names.extend(field.map(|field| field.unraw().to_string()));
        let inside = attribute.meta.require_list().map(|list| list.tokens.clone()).unwrap_or_default();
        names.extend(inside.into_iter().filter_map(|token| match token {
            TokenTree::Ident(ident) => Some(ident.unraw().to_string()),
            TokenTree::Literal(text) => {
                syn::parse2::<syn::LitStr>(text.into_token_stream()).ok().map(|text| text.value())
            }
            TokenTree::Group(_) | TokenTree::Punct(_) => None,
        }));
    }
    names.into_iter().map(|name| format!("by_{name}")).collect()
}

pub(crate) fn key_part(input: &DeriveInput, errors: Errors) -> TokenStream {
    let Refused { t, errors, unknown, .. } = Refused::new(input, "table", "KEY_PART", errors);
    let ident = &input.ident;
    let (parameters, arguments, clause) = input.generics.split_for_impl();
    quote! {
        #errors
        const _: () = {
            #[automatically_derived]
            impl #parameters #t::KeyPart for #ident #arguments #clause {
                type Kind = #unknown;
                type Arg<'__arg> = #unknown;
                fn to_value(&self) -> #unknown {
                    ::core::unreachable!()
                }
                fn arg_value<'__arg>(_: Self::Arg<'__arg>) -> <Self::Kind as #t::Kind>::Value<'__arg> {
                    ::core::unreachable!()
                }
                fn from_key(_: #unknown) -> ::core::result::Result<Self, #t::KeyProblem> {
                    ::core::unreachable!()
                }
            }
        };
    }
}

pub(crate) fn property(input: &DeriveInput, errors: Errors) -> TokenStream {
    let Refused { t, errors, unknown, .. } = Refused::new(input, "table", "PROPERTY", errors);
    let ident = &input.ident;
    let (parameters, arguments, clause) = input.generics.split_for_impl();
    quote! {
        #errors
        const _: () = {
            #[automatically_derived]
            impl #parameters #t::Property for #ident #arguments #clause {
                type Arg = #t::ByValue<#unknown>;
                type Presence = #unknown;
                type Order = #unknown;
                type Shape = #unknown;
                const TYPE: #t::PropertyType = #t::PropertyType::String;
                fn to_value<'__value>(
                    &'__value self,
                    _: &'__value mut ::std::string::String,
                ) -> ::core::result::Result<::core::option::Option<#t::ValueRef<'__value>>, #t::PropertyProblem> {
                    ::core::unreachable!()
                }
                fn from_value(
                    _: ::core::option::Option<#t::ValueRef<'_>>,
                ) -> ::core::result::Result<Self, #t::PropertyProblem> {
                    ::core::unreachable!()
                }
                fn arg_value(
                    _: #unknown,
                ) -> ::core::result::Result<::core::option::Option<#t::Value>, #t::PropertyProblem> {
                    ::core::unreachable!()
                }
            }
        };
    }
}

pub(crate) fn entity_group(input: &DeriveInput, errors: Errors) -> TokenStream {
    let refused = Refused::new(input, "table", "GROUP", errors);
    let Refused { t, errors, .. } = &refused;
    let functions = refused.functions(["by_key".to_owned()]);
    let view = view(&refused, &quote!(Self));
    let (ident, shared) = (&input.ident, shared(&input.generics));
    let (parameters, arguments, clause) = input.generics.split_for_impl();
    quote! {
        #errors
        #functions
        const _: () = {
            #view
            impl #parameters #t::EntityGroup for #ident #arguments #shared {
                const MEMBERS: &'static [#t::Member] = &[];
                fn read(
                    _: ::core::primitive::usize,
                    _: &::core::primitive::str,
                    _: #t::RowRef<'_>,
                ) -> #t::Result<(Self, #t::StoredState)> {
                    ::core::unreachable!()
                }
                fn member(&self) -> (::core::primitive::usize, &dyn #t::WriteEntity) {
                    ::core::unreachable!()
                }
                fn set_state(&mut self, _: #t::StoredState) {
                    ::core::unreachable!()
                }
            }
            impl #parameters #t::HasBin for #ident #arguments #clause {}
            impl #parameters #t::WholeEntities for #ident #arguments #clause {
                fn schemas() -> ::std::vec::Vec<#t::Schema> {
                    ::core::unreachable!()
                }
                fn deletion(
                    _: &#t::FoundRow<'_>,
                    _: ::core::primitive::bool,
                ) -> #t::Result<#t::Option<#t::Deletion>> {
                    ::core::unreachable!()
                }
            }
        };
    }
}

/// Returns the implementations of a projection of an entity, if one is named.
pub(crate) fn projection(input: &DeriveInput, entity: Option<&Path>, errors: Errors) -> TokenStream {
    let refused = Refused::new(input, "projection", "PROJECTION", errors);
    let Refused { t, errors, unknown, .. } = &refused;
    let entity = entity.map_or_else(|| unknown.clone(), quote::ToTokens::to_token_stream);
    let view = view(&refused, &entity);
    let ident = &input.ident;
    let (parameters, arguments, clause) = input.generics.split_for_impl();
    quote! {
        #errors
        const _: () = {
            #view
            impl #parameters #t::Selectable<#entity> for #ident #arguments #clause {
                type Selected = Self;
                const PROPERTIES: &'static [#t::PropertyInfo] = &[];
            }
            impl #parameters #t::Projection<#entity> for #ident #arguments #clause {
                fn read<'__row>(_: &mut #t::EntityReader<'__row>) -> #t::Result<#unknown> {
                    ::core::unreachable!()
                }
            }
        };
    }
}

/// Returns the implementations of what a query of an entity returns.
fn view(Refused { input, t, unknown, .. }: &Refused<'_>, entity: &TokenStream) -> TokenStream {
    let ident = &input.ident;
    let (parameters, arguments, clause) = input.generics.split_for_impl();
    // What borrows is no owned result, which is the same error.
    let owned = input.generics.lifetimes().next().is_none().then(|| {
        let shared = shared(&input.generics);
        quote! {
            impl #parameters #t::OwnedView for #ident #arguments #shared {
                fn own(_: #unknown) -> #unknown {
                    ::core::unreachable!()
                }
            }
        }
    });
    quote! {
        impl #parameters #t::View for #ident #arguments #clause {
            type Entity = #entity;
            type Row<'__row> = #unknown;
            type Item = #unknown;
            fn read<__Give: ::core::ops::FnOnce(#unknown)>(
                _: &#t::FoundRow<'_>,
                _: __Give,
            ) -> #t::Result<::core::primitive::bool> {
                ::core::unreachable!()
            }
        }
        #owned
    }
}
