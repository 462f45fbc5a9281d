//! The expansion of `#[derive(Property)]` for a type that is stored as several properties.
//!
//! The constants and functions are those of the runtime's module `nested`, which knows the parts of the fields' types.

#![allow(clippy::single_match_else, clippy::too_many_lines, reason = "the arms are two forms of one expansion")]

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Attribute, GenericArgument, PathArguments, Type, Visibility};

use super::{
    checks,
    field::{check_options, if_failed_return, or_return, property_info},
    types::strategy_type,
};
use crate::{
    hygiene::{local, no_lints},
    model::{Field, Nested, NestedContent, Property, Variant, VariantData, column_ident, hash},
    runtime::Runtime,
};

const ALIAS: &Runtime = &Runtime::Alias;

/// Returns everything that the derive generates.
pub(crate) fn nested(nested: &Nested) -> TokenStream {
    match &nested.content {
        NestedContent::Struct(fields) => of_struct(nested, fields),
        NestedContent::Enum(variants) => of_enum(nested, variants),
    }
}

/// Names of the constants about the fields of a struct, of a variant or of an enum.
struct Constants {
    fields: Ident,
    text: Ident,
    parts: Ident,
    starts: Ident,
    count: usize,
}

impl Constants {
    fn new(name: &str, count: usize) -> Self {
        let name = |what: &str| format_ident!("__{what}{name}", span = Span::call_site());
        let (fields, text, parts, starts) = (name("FIELDS"), name("TEXT"), name("PARTS"), name("STARTS"));
        Self { fields, text, parts, starts, count }
    }

    /// Returns the constants, given the descriptions of the fields.
    fn define(&self, infos: &[TokenStream]) -> TokenStream {
        let t = ALIAS.here();
        let Self { fields, text, parts, starts, count } = self;
        let ends = Literal::usize_unsuffixed(count + 1);
        quote! {
            const #fields: &[#t::PropertyInfo] = #t::nested::checked(&[#(#infos),*]);
            const #text: &[#t::u8; #t::nested::bytes(#fields)] = &#t::nested::join(#fields);
            const #parts: &[#t::PropertyInfo; #t::nested::count(#fields)] = &#t::nested::resolve(#fields, #text);
            const #starts: [#t::usize; #ends] = #t::nested::starts(#fields);
        }
    }

    /// Returns the description of the variant with these fields.
    fn variant(&self, column: &str, piece: &str, tag: &str) -> TokenStream {
        let (t, Self { fields, parts, .. }) = (ALIAS.here(), self);
        quote!(#t::nested::variant(#column, #piece, #tag, #fields, #parts))
    }

    /// Returns the parts of a field among all parts of the type, which are in a variable. `from` is the position at which those
    /// of these constants begin, with a `+` after it.
    fn sub(&self, at: usize, from: &TokenStream) -> TokenStream {
        let (t, starts, parts) = (ALIAS.here(), &self.starts, local("parts"));
        let (at, next) = (Literal::usize_unsuffixed(at), Literal::usize_unsuffixed(at + 1));
        quote!(#t::nested::sub(#parts, #from #starts[#at], #from #starts[#next]))
    }
}

/// Returns the fields that are stored.
fn stored(fields: &[Field]) -> impl Iterator<Item = (&Field, &Property)> {
    fields.iter().filter_map(|field| Some((field, field.stored()?)))
}

fn infos(fields: &[Field]) -> Vec<TokenStream> {
    stored(fields).map(|(field, property)| property_info(ALIAS, field, property)).collect()
}

/// Returns the constants that check the options of the fields.
fn checked_options(fields: &[Field]) -> TokenStream {
    stored(fields).map(|(field, property)| check_options(ALIAS, field, property)).collect()
}

/// Returns the statement that writes a field, whose value is a reference.
fn store(field: &Field, property: &Property, value: &TokenStream, parts: &TokenStream) -> TokenStream {
    let (ty, span) = (&field.ty, field.ty.span());
    let (strategy, t) = (strategy_type(property, ty, ALIAS), ALIAS.at(span));
    let (name, properties) = (local("name"), local("properties"));
    let call = quote_spanned!(span=> <#strategy as #t::Store<#ty>>::store_in(#value, #name, #parts, #properties));
    if_failed_return(span, &call)
}

/// Returns the value of a field.
fn load(field: &Field, parts: Option<(&Property, TokenStream)>) -> TokenStream {
    let (ty, span) = (&field.ty, field.ty.span());
    let t = ALIAS.at(span);
    let Some((property, parts)) = parts else {
        return quote_spanned!(span=> #t::skipped());
    };
    let (strategy, name, row) = (strategy_type(property, ty, ALIAS), local("name"), local("row"));
    or_return(span, &quote_spanned!(span=> <#strategy as #t::Store<#ty>>::load_in(#name, #parts, #row)))
}

/// Returns `field: value` for each field.
fn loads(fields: &[Field], constants: &Constants, from: &TokenStream) -> Vec<TokenStream> {
    let mut next = 0;
    let load = |field: &Field| {
        let parts = field.stored().map(|property| {
            next += 1;
            (property, constants.sub(next - 1, from))
        });
        let (ident, value) = (&field.ident, load(field, parts));
        quote!(#ident: #value)
    };
    fields.iter().map(load).collect()
}

/// Column of a field.
struct Column<'a> {
    visibility: &'a Visibility,
    /// What it is a column of.
    fact: String,
    docs: &'a [Attribute],
    ident: &'a Ident,
    ty: TokenStream,
}

/// Returns the columns of fields inside of the type `within`.
fn columns<'a>(fields: &'a [Field], mode: &TokenStream, within: &TokenStream, runtime: &Runtime) -> Vec<Column<'a>> {
    let column = |(at, (field, property)): (usize, (&'a Field, &Property))| {
        let ty = column_type(field, property, at, mode, within, runtime);
        Column {
            visibility: &field.visibility,
            fact: super::docs::part_column(&property.name.value),
            docs: &field.docs,
            ident: &field.ident,
            ty,
        }
    };
    stored(fields).enumerate().map(column).collect()
}

fn column_type(
    field: &Field,
    property: &Property,
    at: usize,
    mode: &TokenStream,
    within: &TokenStream,
    runtime: &Runtime,
) -> TokenStream {
    let (span, at) = (field.ty.span(), Literal::usize_unsuffixed(at));
    let (ty, strategy) = (field.ty.at_place(runtime), strategy_type(property, &field.ty, runtime));
    let (t, here) = (runtime.at(span), runtime.here());
    quote_spanned!(span=> #t::Column<__E, #ty, #at, #mode, #strategy, #here::In<__P, #within>>)
}

/// Returns the struct of columns, and its implementations inside of the block.
fn columns_struct(
    visibility: &Visibility,
    ident: &Ident,
    documentation: &str,
    columns: &[Column<'_>],
    values: &[TokenStream],
    has_mode: bool,
) -> (TokenStream, TokenStream) {
    let (t, no_lints) = (ALIAS.here(), no_lints());
    let fields = columns.iter().map(|Column { visibility, fact, docs, ident, ty }| {
        let gap = (!docs.is_empty()).then(|| quote!(#[doc = ""]));
        quote!(#[doc = #fact] #gap #(#docs)* #visibility #ident: #ty)
    });
    let idents = columns.iter().map(|column| column.ident);
    let mode = if has_mode { quote!(__M,) } else { TokenStream::new() };
    let bound = if has_mode { quote!(__M: 'static,) } else { TokenStream::new() };
    let definition = quote! {
        #[doc = #documentation]
        #no_lints
        #visibility struct #ident<__E, #mode __P> {
            #(#fields,)*
            #[doc(hidden)]
            __types: ::core::marker::PhantomData<fn() -> (__E, #mode __P)>,
        }
    };
    let implementations = quote! {
        #[automatically_derived]
        impl<__E, #mode __P> ::core::clone::Clone for #ident<__E, #mode __P> {
            #[inline]
            fn clone(&self) -> Self {
                *self
            }
        }
        #[automatically_derived]
        impl<__E, #mode __P> ::core::marker::Copy for #ident<__E, #mode __P> {}
        #[automatically_derived]
        impl<__E: 'static, #bound __P: #t::Place> #t::Fresh for #ident<__E, #mode __P> {
            const NEW: &'static Self = &Self {
                #(#idents: #values,)*
                __types: ::core::marker::PhantomData,
            };
        }
    };
    (definition, implementations)
}

/// Returns the step of a path in an index: `address.city`.
fn step(name: &str, within: &TokenStream, from: &TokenStream, to: &Step<'_>, at: usize) -> TokenStream {
    let (t, hash, at) = (ALIAS.here(), hash(name), Literal::usize_unsuffixed(at));
    let Step { ty, value, column, is_partial, get } = to;
    // A row may lack a variant, and a struct with a default.
    let inner = if *is_partial { quote!(#t::Partial) } else { quote!(__M) };
    quote! {
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl #t::Step<#hash> for #within {
            type From = #from;
            type To = #ty;
            type Value = #value;
            type Column<__E: 'static, __M: 'static, __P: #t::Place> = #column;
            type Inner<__M: 'static> = #inner;
            type Place<__E: 'static, __P: #t::Place> = #t::At<__E, #t::In<__P, #within>, #at>;
            #[inline]
            fn get(from: &#from) -> #t::Option<&#value> {
                #get
            }
        }
    }
}

/// Where a step leads.
struct Step<'a> {
    ty: &'a TokenStream,
    value: &'a TokenStream,
    /// The type of the column.
    column: TokenStream,
    /// True if a row may lack what is inside.
    is_partial: bool,
    get: TokenStream,
}

/// What differs between the implementations of `Property` for structs and enums.
struct Body {
    most: TokenStream,
    store: TokenStream,
    load: TokenStream,
}

fn property(ident: &Ident, columns: &Ident, constants: &Constants, body: Body) -> TokenStream {
    let t = ALIAS.here();
    let Constants { fields, parts: all, starts, .. } = constants;
    let Body { most, store, load } = body;
    let (name, parts, row, properties) = (local("name"), local("parts"), local("row"), local("properties"));
    quote! {
        #[automatically_derived]
        impl #t::Shape for #ident {
            type Columns<__E: 'static, __M: 'static, __P: #t::Place> = #columns<__E, __M, __P>;
            type Optional = #t::OptionOf<Self>;
        }
        #[automatically_derived]
        impl #t::Fields for #ident {
            const INNER: &'static [#t::PropertyInfo] = #fields;
            const STARTS: &'static [#t::usize] = &#starts;
        }
        #[automatically_derived]
        impl #t::Property for #ident {
            type Pass<'a, T: 'a> = T;
            type Arg<'a> = #t::NoValue;
            type Presence = <#t::IsAlways<{ #t::nested::is_always(#all) }> as #t::HasPresence>::Presence;
            type Order = #t::Opaque;
            type Shape = Self;
            const TYPE: #t::PropertyType = #t::PropertyType::String;
            const PARTS: &'static [#t::PropertyInfo] = #all;
            const INNER: &'static [#t::PropertyInfo] = #fields;
            const MOST: #t::usize = #most;
            fn to_value<'a>(
                &'a self,
                _: &'a mut ::std::string::String,
            ) -> #t::Result<#t::Option<#t::ValueRef<'a>>, #t::PropertyProblem> {
                #t::nested::several()
            }
            fn from_value(_: #t::Option<#t::ValueRef<'_>>) -> #t::Result<Self, #t::PropertyProblem> {
                #t::nested::several()
            }
            fn arg_value(arg: Self::Arg<'_>) -> #t::Result<#t::Option<#t::Value>, #t::PropertyProblem> {
                arg.arg_value()
            }
            #[inline]
            fn store_in(
                &self,
                #name: &'static #t::str,
                #parts: &'static [#t::PropertyInfo],
                #properties: &mut #t::PropertyWriter<'_>,
            ) -> #t::Result<()> {
                #store
                #t::Ok(())
            }
            #[inline]
            fn load_in(
                #name: &'static #t::str,
                #parts: &'static [#t::PropertyInfo],
                #row: &mut #t::EntityReader<'_>,
            ) -> #t::Result<Self> {
                #load
            }
            fn load_option(
                #name: &'static #t::str,
                #parts: &'static [#t::PropertyInfo],
                #row: &mut #t::EntityReader<'_>,
            ) -> #t::Result<#t::Option<Self>> {
                #t::nested::load_option(#name, #parts, #row)
            }
        }
    }
}

fn of_struct(nested: &Nested, fields: &[Field]) -> TokenStream {
    let Nested { ident, visibility, runtime, .. } = nested;
    let (t, alias) = (ALIAS.here(), runtime.alias());
    let columns_ident = format_ident!("{ident}Columns", span = Span::call_site());
    let constants = Constants::new("", stored(fields).count());
    let defined = constants.define(&infos(fields));
    let columns = columns(fields, &quote!(__M), &quote!(#ident), runtime);
    let values = vec![quote!(#t::part_column()); columns.len()];
    let documentation = format!("The columns of [`{ident}`] in a field of an entity, for filters and patches.");
    let (definition, implementations) =
        columns_struct(visibility, &columns_ident, &documentation, &columns, &values, true);
    let none = TokenStream::new();
    let stores = stored(fields).enumerate().map(|(at, (field, property))| {
        let (name, this) = (&field.ident, crate::hygiene::this(field.ty.span()));
        store(field, property, &quote_spanned!(field.ty.span()=> &#this.#name), &constants.sub(at, &none))
    });
    let (stores, loads) = (stores.collect(), loads(fields, &constants, &none));
    let has_step = |field: &Field| !is_private(&field.visibility) || is_private(visibility) || is_known(&field.ty);
    let reachable = stored(fields).enumerate().filter(|(_, (field, _))| has_step(field));
    let steps = reachable.map(|(at, (field, property))| {
        let (name, ty) = (&field.ident, &field.ty);
        let to = quote!(#ty);
        let column = column_type(field, property, at, &quote!(__M), &quote!(#ident), ALIAS);
        let is_partial = property.default.is_some();
        let to = Step { ty: &to, value: &to, column, is_partial, get: quote!(#t::Some(&from.#name)) };
        step(&field.name, &quote!(#ident), &quote!(#ident), &to, at)
    });
    let steps: TokenStream = steps.collect();
    let all = &constants.fields;
    let body = Body { most: quote!(#t::nested::most(#all)), store: stores, load: quote!(#t::Ok(Self { #(#loads),* })) };
    let property = property(ident, &columns_ident, &constants, body);
    let (options, no_lints) = (checked_options(fields), no_lints());
    let checks = checks::of_fields(ident, fields, ALIAS);
    quote! {
        #definition
        #no_lints
        const _: () = {
            #alias
            #checks
            #defined
            #options
            #implementations
            #property
            #steps
        };
    }
}

const fn is_private(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Inherited)
}

/// Checks whether a type is certainly public: the associated types of a `pub` struct cannot be private.
fn is_known(ty: &Type) -> bool {
    const KNOWN: [&str; 21] = [
        "String", "Option", "Vec", "Box", "Arc", "str", "bool", "char", "u8", "u16", "u32", "u64", "u128", "i8", "i16",
        "i32", "i64", "i128", "f32", "f64", "Uuid",
    ];
    let Type::Path(path) = ty else { return false };
    let (Some(first), Some(last)) = (path.path.segments.first(), path.path.segments.last()) else { return false };
    let is_of_crate = path.path.segments.len() > 1 && ["self", "super", "crate"].iter().all(|own| first.ident != own);
    let inner = match &last.arguments {
        PathArguments::AngleBracketed(inner) => inner.args.iter().all(|inner| match inner {
            GenericArgument::Type(inner) => is_known(inner),
            _ => false,
        }),
        _ => true,
    };
    (is_of_crate || KNOWN.iter().any(|known| last.ident == known)) && inner
}

fn of_enum(nested: &Nested, variants: &[Variant]) -> TokenStream {
    let Nested { ident, visibility, runtime, .. } = nested;
    let (t, alias, outside) = (ALIAS.here(), runtime.alias(), runtime.here());
    let columns_ident = format_ident!("{ident}Columns", span = Span::call_site());
    let known: Vec<_> = variants.iter().filter(|variant| !matches!(variant.data, VariantData::Other(_))).collect();
    let names: Vec<_> = known.iter().map(|variant| &variant.name).collect();
    let is_open = known.len() < variants.len();

    // The tag, and then the variants that have properties.
    let with_data = |variant: &&Variant| matches!(variant.data, VariantData::Value(_) | VariantData::Fields(..));
    let data: Vec<_> = variants.iter().filter(with_data).collect();
    let constants = Constants::new("", data.len() + 1);
    let public: Visibility = syn::parse_quote!(pub);
    let idents: Vec<_> = data.iter().map(|variant| column_ident(&variant.column, variant.ident.span())).collect();

    let mut infos = vec![quote!(#t::nested::tag(__NAMES, #is_open))];
    let (mut outer, mut inner) = (TokenStream::new(), TokenStream::new());
    let (mut columns, mut values, mut steps) = (Vec::new(), Vec::new(), TokenStream::new());
    for (at, (variant, column)) in data.iter().zip(&idents).enumerate() {
        let at = at + 1;
        let (name, number) = (&variant.column, Literal::usize_unsuffixed(at));
        let Variant { ident: of, docs, name: tag, .. } = variant;
        match &variant.data {
            VariantData::Value(field) => {
                let Some(property) = field.stored() else { continue };
                inner.extend(check_options(ALIAS, field, property));
                let piece = &property.name.value;
                let info = property_info(ALIAS, field, property);
                let own = Constants::new(&at.to_string(), 1);
                inner.extend(own.define(&[quote!(#t::nested::variant_value(#info))]));
                infos.push(own.variant(name, piece, tag));
                let mode = quote!(#outside::Partial);
                let ty = column_type(field, property, at, &mode, &quote!(#ident), runtime);
                columns.push(Column {
                    visibility: &public,
                    fact: super::docs::variant_column(ident, of),
                    docs,
                    ident: column,
                    ty,
                });
                values.push(quote!(#t::part_column()));
                let column = column_type(field, property, at, &quote!(#t::Partial), &quote!(#ident), ALIAS);
                let ty = &field.ty;
                let to = quote!(#ty);
                let get = quote!(match from {
                    #ident::#of(value) => #t::Some(value),
                    _ => #t::None,
                });
                let to = Step { ty: &to, value: &to, column, is_partial: true, get };
                steps.extend(step(name, &quote!(#ident), &quote!(#ident), &to, at));
            }
            VariantData::Fields(piece, fields) => {
                let own = Constants::new(&at.to_string(), stored(fields).count());
                let (own_fields, own_starts) = (&own.fields, &own.starts);
                inner.extend(own.define(&self::infos(fields)));
                inner.extend(checked_options(fields));
                infos.push(own.variant(name, &piece.value, tag));
                let own_columns = format_ident!("{ident}Columns{of}", span = Span::call_site());
                // A variant is no type, so the struct of its columns takes its place.
                let marker = quote!(#own_columns<(), ()>);
                let of_fields = self::columns(fields, &quote!(#outside::Partial), &marker, runtime);
                let of_fields: Vec<_> =
                    of_fields.into_iter().map(|column| Column { visibility: &public, ..column }).collect();
                let documentation = format!("The columns of [`{ident}::{of}`] in a field of an entity, for filters.");
                let fresh = vec![quote!(#t::part_column()); of_fields.len()];
                let (definition, implementations) =
                    columns_struct(visibility, &own_columns, &documentation, &of_fields, &fresh, false);
                outer.extend(definition);
                inner.extend(implementations);
                inner.extend(quote! {
                    #[automatically_derived]
                    impl #t::Fields for #marker {
                        const INNER: &'static [#t::PropertyInfo] = #own_fields;
                        const STARTS: &'static [#t::usize] = &#own_starts;
                    }
                });
                let ty = quote!(#own_columns<__E, #outside::At<__E, #outside::In<__P, #ident>, #number>>);
                columns.push(Column {
                    visibility: &public,
                    fact: super::docs::variant_column(ident, of),
                    docs,
                    ident: column,
                    ty,
                });
                values.push(quote!(*#t::Fresh::NEW));
                let get = quote!(match from {
                    #ident::#of { .. } => #t::Some(from),
                    _ => #t::None,
                });
                let column = quote!(#own_columns<__E, #t::At<__E, #t::In<__P, #ident>, #number>>);
                let to = Step { ty: &marker, value: &quote!(#ident), column, is_partial: true, get };
                steps.extend(step(name, &quote!(#ident), &quote!(#ident), &to, at));
                for (field_at, (field, property)) in stored(fields).enumerate() {
                    let (name, ty) = (&field.ident, &field.ty);
                    let column = column_type(field, property, field_at, &quote!(#t::Partial), &marker, ALIAS);
                    let to = quote!(#ty);
                    let get = quote!(match from {
                        #ident::#of { #name, .. } => #t::Some(#name),
                        _ => #t::None,
                    });
                    let to = Step { ty: &to, value: &to, column, is_partial: true, get };
                    steps.extend(step(&field.name, &marker, &quote!(#ident), &to, field_at));
                }
            }
            VariantData::Unit | VariantData::Other(_) => {}
        }
    }
    let documentation = format!("The columns of [`{ident}`] in a field of an entity, for filters.");
    let (definition, implementations) =
        columns_struct(visibility, &columns_ident, &documentation, &columns, &values, true);
    let defined = constants.define(&infos);
    let filters = known.iter().map(|variant| {
        let (of, name) = (&variant.ident, &variant.name);
        let function = format_ident!("is_{}", variant.column, span = variant.ident.span());
        let documentation = format!("Matches rows that have [`{ident}::{of}`].");
        quote! {
            #[doc = #documentation]
            pub fn #function(self) -> #t::Filter<__E> {
                #t::Filter::of_variant::<__P>(#name)
            }
        }
    });
    let filters: TokenStream = filters.collect();

    let (store, load) = (enum_store(variants, &constants), enum_load(variants, &constants, is_open));
    let all = &constants.fields;
    let body = Body { most: quote!(#t::nested::most_of_enum(#all)), store, load };
    let property = property(ident, &columns_ident, &constants, body);
    let no_lints = no_lints();
    let fields = variants.iter().flat_map(|variant| match &variant.data {
        VariantData::Value(field) => std::slice::from_ref(&**field),
        VariantData::Fields(_, fields) => fields,
        VariantData::Unit | VariantData::Other(_) => &[],
    });
    let checks = checks::of_fields(ident, fields, ALIAS);
    quote! {
        #definition
        #outer
        #no_lints
        const _: () = {
            #alias
            #checks
            const __NAMES: &'static [&'static #t::str] = &[#(#names),*];
            #inner
            #defined
            #implementations
            #[automatically_derived]
            impl<__E, __M, __P: #t::Place> #columns_ident<__E, __M, __P> {
                #filters
            }
            #property
            #steps
        };
    }
}

/// Returns the number of the first part of each variant with data, and the constants of its fields.
fn numbers(variants: &[Variant]) -> impl Iterator<Item = (&Variant, usize)> {
    let mut next = 1;
    variants.iter().map(move |variant| {
        let number = next;
        next += usize::from(matches!(variant.data, VariantData::Value(_) | VariantData::Fields(..)));
        (variant, number)
    })
}

/// Returns the position of a variant's first part, to be added to those of its fields.
fn beginning(constants: &Constants, number: usize) -> TokenStream {
    let (starts, number) = (&constants.starts, Literal::usize_unsuffixed(number));
    quote!(#starts[#number] +)
}

fn enum_store(variants: &[Variant], constants: &Constants) -> TokenStream {
    let t = ALIAS.here();
    let (name, parts, properties) = (local("name"), local("parts"), local("properties"));
    let none = TokenStream::new();
    let arms = numbers(variants).map(|(variant, number)| {
        let Variant { ident, name: tag, data, .. } = variant;
        let write = quote!(#t::nested::store_tag(#tag, #name, #parts, #properties));
        let tag = if_failed_return(Span::call_site(), &write);
        match data {
            VariantData::Unit => quote!(Self::#ident { .. } => { #tag }),
            VariantData::Value(field) => {
                let value = local("value");
                let parts = constants.sub(number, &none);
                let store = field.stored().map(|property| store(field, property, &quote!(#value), &parts));
                quote!(Self::#ident(#value) => { #tag #store })
            }
            VariantData::Fields(_, fields) => {
                let own = Constants::new(&number.to_string(), 0);
                let from = beginning(constants, number);
                let stores = stored(fields).enumerate().map(|(at, (field, property))| {
                    let name = &field.ident;
                    store(field, property, &quote!(#name), &own.sub(at, &from))
                });
                let names = stored(fields).map(|(field, _)| &field.ident);
                let stores: TokenStream = stores.collect();
                quote!(Self::#ident { #(#names,)* .. } => { #tag #stores })
            }
            VariantData::Other(_) => {
                let text = local("text");
                let write = quote!(#t::nested::store_other_tag(#text, __NAMES, #name, #parts, #properties));
                let write = if_failed_return(Span::call_site(), &write);
                quote!(Self::#ident(#text) => { #write })
            }
        }
    });
    quote!(match self { #(#arms)* })
}

fn enum_load(variants: &[Variant], constants: &Constants, is_open: bool) -> TokenStream {
    let t = ALIAS.here();
    let (name, parts, row) = (local("name"), local("parts"), local("row"));
    let none = TokenStream::new();
    let function = if is_open { quote!(load_open_tag) } else { quote!(load_tag) };
    let tag = or_return(Span::call_site(), &quote!(#t::nested::#function(__NAMES, #name, #parts, #row)));
    let (mut known, mut other) = (Vec::new(), None);
    for (variant, number) in numbers(variants) {
        let ident = &variant.ident;
        known.push(match &variant.data {
            VariantData::Unit => quote!(Self::#ident {}),
            VariantData::Value(field) => {
                let parts = constants.sub(number, &none);
                let value = load(field, field.stored().map(|property| (property, parts)));
                quote!(Self::#ident(#value))
            }
            VariantData::Fields(_, fields) => {
                let own = Constants::new(&number.to_string(), 0);
                let loads = loads(fields, &own, &beginning(constants, number));
                quote!(Self::#ident { #(#loads),* })
            }
            VariantData::Other(ty) => {
                let text = local("text");
                other = Some(quote_spanned!(ty.span()=> Self::#ident(#text)));
                continue;
            }
        });
    }
    let last = known.pop();
    let positions = (0..known.len()).map(Literal::usize_unsuffixed);
    match other {
        Some(other) => {
            let text = local("text");
            quote! {
                #t::Ok(match #tag {
                    #(#t::Ok(#positions) => #known,)*
                    #t::Ok(_) => #last,
                    #t::Err(#text) => #other,
                })
            }
        }
        None => quote! {
            #t::Ok(match #tag {
                #(#positions => #known,)*
                _ => #last,
            })
        },
    }
}
