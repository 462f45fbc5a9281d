//! The expansion of `#[derive(Property)]` for a type that is stored as several properties.
//!
//! The constants and functions are those of the runtime's module `nested`, which knows the parts of the fields' types.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
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

/// Column of a field or of a variant.
struct Column<'a> {
    visibility: TokenStream,
    /// What it is a column of.
    fact: String,
    docs: &'a [Attribute],
    ident: Ident,
    ty: TokenStream,
    value: TokenStream,
}

/// Returns the value of the column of a field.
fn part_column() -> TokenStream {
    let t = ALIAS.here();
    quote!(#t::part_column())
}

/// Returns the columns of fields inside of the type `within`.
fn columns<'a>(fields: &'a [Field], mode: &TokenStream, within: &TokenStream, runtime: &Runtime) -> Vec<Column<'a>> {
    let column = |(at, (field, property)): (usize, (&'a Field, &Property))| {
        let ty = column_type(field, property, at, mode, within, runtime);
        Column {
            visibility: field.visibility.to_token_stream(),
            fact: super::docs::part_column(&property.name.value),
            docs: &field.docs,
            ident: field.ident.clone(),
            ty,
            value: part_column(),
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
    has_mode: bool,
) -> (TokenStream, TokenStream) {
    let (t, no_lints) = (ALIAS.here(), no_lints());
    let fields = columns.iter().map(|Column { visibility, fact, docs, ident, ty, .. }| {
        let gap = (!docs.is_empty()).then(|| quote!(#[doc = ""]));
        quote!(#[doc = #fact] #gap #(#docs)* #visibility #ident: #ty)
    });
    let values = columns.iter().map(|Column { ident, value, .. }| quote!(#ident: #value));
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
                #(#values,)*
                __types: ::core::marker::PhantomData,
            };
        }
    };
    (definition, implementations)
}

/// Step of a path in an index: `address.city`.
struct Step<'a> {
    name: &'a str,
    /// The type or the variant in which the step begins.
    within: &'a TokenStream,
    /// The type of the value from which it leads.
    from: &'a Ident,
    /// The number of the parts to which it leads.
    at: usize,
    ty: TokenStream,
    value: TokenStream,
    /// The type of the column.
    column: TokenStream,
    /// True if a row may lack what is inside.
    is_partial: bool,
    get: TokenStream,
}

impl<'a> Step<'a> {
    /// Returns the step to a field.
    fn to_field(
        (from, within): (&'a Ident, &'a TokenStream),
        (at, field, property): (usize, &'a Field, &'a Property),
        is_in_variant: bool,
        get: TokenStream,
    ) -> Self {
        let (t, name, ty) = (ALIAS.here(), &field.name, &field.ty);
        let mode = if is_in_variant { quote!(#t::Partial) } else { quote!(__M) };
        let column = column_type(field, property, at, &mode, within, ALIAS);
        let is_partial = is_in_variant || property.default.is_some();
        Self { name, within, from, at, ty: quote!(#ty), value: quote!(#ty), column, is_partial, get }
    }

    fn define(&self) -> TokenStream {
        let Self { name, within, from, at, ty, value, column, is_partial, get } = self;
        let (t, hash, at) = (ALIAS.here(), hash(name), Literal::usize_unsuffixed(*at));
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
}

/// Returns the value that a step gets of one variant.
fn get_if(pattern: &TokenStream, value: &TokenStream) -> TokenStream {
    let t = ALIAS.here();
    quote!(match from {
        #pattern => #t::Some(#value),
        _ => #t::None,
    })
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
            type Arg = #t::ByValue<#t::NoValue>;
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
            fn arg_value(arg: #t::NoValue) -> #t::Result<#t::Option<#t::Value>, #t::PropertyProblem> {
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
        }
    }
}

fn of_struct(nested: &Nested, fields: &[Field]) -> TokenStream {
    let Nested { ident, visibility, runtime, .. } = nested;
    let (t, alias, within, mode) = (ALIAS.here(), runtime.alias(), quote!(#ident), quote!(__M));
    let columns_ident = format_ident!("{ident}Columns", span = Span::call_site());
    let constants = Constants::new("", stored(fields).count());
    let defined = constants.define(&infos(fields));
    let documentation = format!("The columns of [`{ident}`] in a field of an entity, for filters and patches.");
    let columns = columns(fields, &mode, &within, runtime);
    let (definition, implementations) = columns_struct(visibility, &columns_ident, &documentation, &columns, true);
    let none = TokenStream::new();
    let stores = stored(fields).enumerate().map(|(at, (field, property))| {
        let (name, this) = (&field.ident, crate::hygiene::this(field.ty.span()));
        store(field, property, &quote_spanned!(field.ty.span()=> &#this.#name), &constants.sub(at, &none))
    });
    let (stores, loads) = (stores.collect(), loads(fields, &constants, &none));
    let has_step = |field: &Field| !is_private(&field.visibility) || is_private(visibility) || is_known(&field.ty);
    let reachable = stored(fields).enumerate().filter(|(_, (field, _))| has_step(field));
    let steps = reachable.map(|(at, (field, property))| {
        let name = &field.ident;
        let get = quote!(#t::Some(&from.#name));
        Step::to_field((ident, &within), (at, field, property), false, get).define()
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

/// Variant of which code is generated.
struct VariantOf<'a> {
    nested: &'a Nested,
    variant: &'a Variant,
    /// The number of the variant's first part.
    at: usize,
}

/// Code for a variant with data.
struct VariantCode<'a> {
    /// Description of the variant.
    info: TokenStream,
    column: Column<'a>,
    /// Struct of the columns of the variant's fields.
    definition: TokenStream,
    /// Constants and implementations.
    items: TokenStream,
    steps: TokenStream,
}

impl<'a> VariantOf<'a> {
    /// Returns the code; `None` if the variant has no data.
    fn code(&self) -> Option<VariantCode<'a>> {
        match &self.variant.data {
            VariantData::Value(field) => Some(self.with_value(field, field.stored()?)),
            VariantData::Fields(piece, fields) => Some(self.with_fields(&piece.value, fields)),
            VariantData::Unit | VariantData::Other(_) => None,
        }
    }

    /// Returns the code for a variant that holds a value without a name.
    fn with_value(&self, field: &Field, property: &Property) -> VariantCode<'a> {
        let Self { nested: Nested { ident, runtime, .. }, variant, at } = *self;
        let (t, outside, of, name) = (ALIAS.here(), runtime.here(), quote!(#ident), &variant.ident);
        let constants = Constants::new(&at.to_string(), 1);
        let info = property_info(ALIAS, field, property);
        let options = check_options(ALIAS, field, property);
        let defined = constants.define(&[quote!(#t::nested::variant_value(#info))]);
        let column = column_type(field, property, at, &quote!(#outside::Partial), &of, runtime);
        let get = get_if(&quote!(#ident::#name(value)), &quote!(value));
        VariantCode {
            info: constants.variant(&variant.column, &property.name.value, &variant.name),
            column: self.column(column, part_column()),
            definition: TokenStream::new(),
            items: quote!(#options #defined),
            steps: Step::to_field((ident, &of), (at, field, property), true, get).define(),
        }
    }

    /// Returns the code for a variant with fields. `piece` is its name in the names of their properties.
    fn with_fields(&self, piece: &str, fields: &[Field]) -> VariantCode<'a> {
        let Self { nested: Nested { ident, visibility, runtime, .. }, variant, at } = *self;
        let (t, outside, of, name) = (ALIAS.here(), runtime.here(), quote!(#ident), &variant.ident);
        let constants = Constants::new(&at.to_string(), stored(fields).count());
        let columns_ident = format_ident!("{ident}Columns{name}", span = Span::call_site());
        // A variant is no type, so the struct of its columns takes its place.
        let marker = quote!(#columns_ident<(), ()>);
        let mut columns = columns(fields, &quote!(#outside::Partial), &marker, runtime);
        for column in &mut columns {
            column.visibility = quote!(pub);
        }
        let documentation = format!("The columns of [`{ident}::{name}`] in a field of an entity, for filters.");
        let (definition, implementations) = columns_struct(visibility, &columns_ident, &documentation, &columns, false);
        let (defined, options) = (constants.define(&infos(fields)), checked_options(fields));
        let Constants { fields: inner, starts, .. } = &constants;
        let number = Literal::usize_unsuffixed(at);
        let column = |t: &TokenStream| quote!(#columns_ident<__E, #t::At<__E, #t::In<__P, #of>, #number>>);
        let step = Step {
            name: &variant.column,
            within: &of,
            from: ident,
            at,
            ty: marker.clone(),
            value: quote!(#ident),
            column: column(&t),
            is_partial: true,
            get: get_if(&quote!(#ident::#name { .. }), &quote!(from)),
        };
        let (step, field_steps) = (step.define(), self.field_steps(fields, &marker));
        VariantCode {
            info: constants.variant(&variant.column, piece, &variant.name),
            column: self.column(column(&outside), quote!(*#t::Fresh::NEW)),
            definition,
            items: quote! {
                #defined
                #options
                #implementations
                #[automatically_derived]
                impl #t::Fields for #marker {
                    const INNER: &'static [#t::PropertyInfo] = #inner;
                    const STARTS: &'static [#t::usize] = &#starts;
                }
            },
            steps: quote!(#step #field_steps),
        }
    }

    /// Returns the column of the variant.
    fn column(&self, ty: TokenStream, value: TokenStream) -> Column<'a> {
        let Variant { ident, docs, column, .. } = self.variant;
        Column {
            visibility: quote!(pub),
            fact: super::docs::variant_column(&self.nested.ident, ident),
            docs,
            ident: column_ident(column, ident.span()),
            ty,
            value,
        }
    }

    /// Returns the steps from the variant to its fields.
    fn field_steps(&self, fields: &[Field], marker: &TokenStream) -> TokenStream {
        let (ident, variant) = (&self.nested.ident, &self.variant.ident);
        let steps = stored(fields).enumerate().map(|(at, (field, property))| {
            let name = &field.ident;
            let get = get_if(&quote!(#ident::#variant { #name, .. }), &quote!(#name));
            Step::to_field((ident, marker), (at, field, property), true, get).define()
        });
        steps.collect()
    }
}

fn of_enum(nested: &Nested, variants: &[Variant]) -> TokenStream {
    let Nested { ident, visibility, runtime, .. } = nested;
    let (t, alias, no_lints) = (ALIAS.here(), runtime.alias(), no_lints());
    let known: Vec<_> = variants.iter().filter(|variant| !matches!(variant.data, VariantData::Other(_))).collect();
    let names = known.iter().map(|variant| &variant.name);
    let filters = known.iter().map(|variant| variant_filter(ident, variant));
    let is_open = known.len() < variants.len();

    // The tag, and then the variants that have properties.
    let mut infos = vec![quote!(#t::nested::tag(__NAMES, #is_open))];
    let (mut columns, mut definitions) = (Vec::new(), TokenStream::new());
    let (mut items, mut steps) = (TokenStream::new(), TokenStream::new());
    for code in numbers(variants).filter_map(|(variant, at)| VariantOf { nested, variant, at }.code()) {
        infos.push(code.info);
        columns.push(code.column);
        definitions.extend(code.definition);
        items.extend(code.items);
        steps.extend(code.steps);
    }
    let constants = Constants::new("", infos.len());
    let defined = constants.define(&infos);
    let columns_ident = format_ident!("{ident}Columns", span = Span::call_site());
    let documentation = format!("The columns of [`{ident}`] in a field of an entity, for filters.");
    let (definition, implementations) = columns_struct(visibility, &columns_ident, &documentation, &columns, true);
    let (store, load) = (enum_store(variants, &constants), enum_load(variants, &constants, is_open));
    let all = &constants.fields;
    let body = Body { most: quote!(#t::nested::most_of_enum(#all)), store, load };
    let property = property(ident, &columns_ident, &constants, body);
    let checks = checks::of_fields(ident, variants.iter().flat_map(|variant| variant.data.fields()), ALIAS);
    quote! {
        #definition
        #definitions
        #no_lints
        const _: () = {
            #alias
            #checks
            const __NAMES: &'static [&'static #t::str] = &[#(#names),*];
            #items
            #defined
            #implementations
            #[automatically_derived]
            impl<__E, __M, __P: #t::Place> #columns_ident<__E, __M, __P> {
                #(#filters)*
            }
            #property
            #steps
        };
    }
}

/// Returns the function that matches the rows of a variant.
fn variant_filter(of: &Ident, variant: &Variant) -> TokenStream {
    let Variant { ident, name, column, .. } = variant;
    let t = ALIAS.here();
    let function = format_ident!("is_{column}", span = ident.span());
    let documentation = format!("Matches rows that have [`{of}::{ident}`].");
    quote! {
        #[doc = #documentation]
        pub fn #function(self) -> #t::Filter<__E> {
            #t::Filter::of_variant::<__P>(#name)
        }
    }
}

/// Returns the variants, with the number of the first part of each that has data.
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
    if let Some(other) = other {
        let text = local("text");
        quote! {
            #t::Ok(match #tag {
                #(#t::Ok(#positions) => #known,)*
                #t::Ok(_) => #last,
                #t::Err(#text) => #other,
            })
        }
    } else {
        quote! {
            #t::Ok(match #tag {
                #(#positions => #known,)*
                _ => #last,
            })
        }
    }
}
