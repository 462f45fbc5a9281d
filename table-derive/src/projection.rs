//! `#[derive(Projection)]`: a struct of some of an entity's fields.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{
    Attribute, Data, DeriveInput, Field, Fields, GenericParam, Ident, Lifetime, Path, PathArguments, TypeParam,
    ext::IdentExt as _, spanned::Spanned as _,
};

use crate::{
    attributes::Keys,
    errors::Errors,
    hygiene::{has_ident, local, no_lints},
    runtime::Runtime,
};

/// Struct whose fields the entity has too, with the same names.
pub(crate) struct Projection<'a> {
    input: &'a DeriveInput,
    runtime: Runtime,
    pub(crate) entity: Path,
    fields: Vec<Projected<'a>>,
}

/// Field of a projection.
struct Projected<'a> {
    field: &'a Field,
    /// The path of `path = address.city`.
    path: Option<Vec<Ident>>,
}

impl<'a> Projection<'a> {
    /// Reads the struct. Returns nothing if it has no named fields or does not name its entity.
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Option<Self> {
        let name = &input.ident;
        for lifetime in input.generics.lifetimes().skip(1) {
            let message = "all fields of a projection borrow from the same row; use the first lifetime for all of them";
            errors.on(lifetime, message);
        }
        let mut keys = Keys::read(&input.attrs, "projection", errors);
        keys.path("crate", errors);
        let elsewhere =
            (!keys.has("of")).then(|| keys.path_elsewhere("of", &["entity", "from", "for", "table"], errors));
        let has_entity = keys.has("of") || matches!(elsewhere, Some(Some(_)));
        let entity = keys.path("of", errors).or(elsewhere.flatten());
        keys.finish(errors);
        let entity = entity.filter(|entity| {
            let wrapped = wrapped(entity);
            if let Some(inner) = &wrapped {
                errors.on(entity, format_args!("a projection is of the entity itself; write `of = {inner}`"));
            }
            wrapped.is_none()
        });
        if !has_entity {
            let help = "help: put `#[projection(of = …)]` on the struct, with the name of the entity";
            errors.on(name, format_args!("`{name}` does not name the entity of the projection\n{help}"));
        }
        let fields = match &input.data {
            Data::Struct(data) => match &data.fields {
                Fields::Named(fields) if !fields.named.is_empty() => Some(fields),
                _ => None,
            },
            Data::Enum(_) | Data::Union(_) => None,
        };
        if fields.is_none() {
            let help = format_args!("help: write `struct {name} {{ … }}`, with some of the entity's fields");
            errors.on(name, format_args!("`Projection` is for structs with named fields\n{help}"));
        }
        if let Some(entity) = &entity {
            // With a bound, the parameter may be the type of a field.
            let is_free = |parameter: &&TypeParam| parameter.bounds.is_empty() && input.generics.where_clause.is_none();
            for parameter in input.generics.type_params().filter(is_free) {
                if !has_ident(entity.to_token_stream(), &|ident| *ident == parameter.ident) {
                    let message = "is no parameter of the entity; write the type of the entity's field";
                    errors.on(parameter, format_args!("`{}` {message}", parameter.ident));
                }
            }
        }
        let mut read = Vec::new();
        let attributes = fields.iter().flat_map(|fields| &fields.named).flat_map(|field| &field.attrs);
        refuse(input.attrs.iter().chain(attributes), errors);
        for field in fields.iter().flat_map(|fields| &fields.named) {
            let mut keys = Keys::read(&field.attrs, "projection", errors);
            keys.has("of").then(|| keys.path("of", errors));
            let path = keys.field_path("path", "address.city", errors);
            keys.finish(errors);
            read.push(Projected { field, path });
        }
        let runtime = Runtime::read(&input.attrs, "projection");
        entity.map(|entity| Self { input, runtime, entity, fields: read })
    }
}

/// Returns the entity inside of `Stored` or `Copied`, as text.
fn wrapped(path: &Path) -> Option<String> {
    let last = path.segments.last().filter(|last| last.ident == "Stored" || last.ident == "Copied")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    Some(arguments.args.to_token_stream().to_string())
}

/// Reports the first attribute of `TableEntity`. The entity alone determines how its fields are stored.
fn refuse<'a>(attributes: impl Iterator<Item = &'a Attribute>, errors: &mut Errors) {
    const NAMES: [&str; 5] = ["table", "partition_key", "row_key", "property", "index"];
    let is_name = |found: &Attribute| NAMES.iter().copied().find(|name| found.path().is_ident(name));
    let mut found = attributes.filter_map(|found| Some((found, is_name(found)?)));
    let Some((first, name)) = found.next() else { return };
    let message = "the entity determines how its fields are stored; remove";
    let others = if found.next().is_some() { ", and the others of `TableEntity`" } else { "" };
    let help = "help: a field has the name of the entity's field; for another name, write `#[projection(path = title)]`, with the \
                name of that field";
    let help = if name == "property" { format!("\n{help}") } else { String::new() };
    errors.on(first.path(), format_args!("{message} `#[{name}]`{others}{help}"));
}

/// Returns the implementations. They use the entity's columns, because this derive does not see the entity's fields.
pub(crate) fn expand(projection: &Projection<'_>) -> TokenStream {
    let Projection { input, runtime, entity, fields } = projection;
    let (t, ident) = (runtime.here(), &input.ident);
    let (parameters, arguments, bounds) = input.generics.split_for_impl();
    let (row, found, give) = (local("row"), local("found"), local("give"));
    let properties = fields.iter().map(|field| selected(projection, field, &quote!(<Self as #t::View>::Entity)));
    let lifetime = input.generics.lifetimes().next().map(|parameter| &parameter.lifetime);
    let values = fields.iter().map(|projected| {
        let Projected { field, .. } = projected;
        let (ident, ty, column) = (&field.ident, &field.ty, column(projection, projected));
        let t = runtime.at(ty.span());
        if lifetime.is_some_and(|lifetime| names_lifetime(ty.to_token_stream(), lifetime)) {
            let name = ident.as_ref().map(|ident| ident.unraw().to_string());
            quote_spanned!(ty.span()=> #ident: #t::borrow(#column.column(), #name, #row)?)
        } else {
            quote_spanned!(ty.span()=> #ident: #t::project::<#ty, _, _, _, _, _, _>(#column.column(), #row)?)
        }
    });
    // The struct with the lifetime of a row, and the type of what a query returns.
    let (mut of_row, mut item) = (quote!(Self), quote!(Self));
    if lifetime.is_some() {
        let others = input.generics.params.iter().filter_map(|parameter| match parameter {
            GenericParam::Lifetime(_) => None,
            GenericParam::Type(parameter) => Some(&parameter.ident),
            GenericParam::Const(parameter) => Some(&parameter.ident),
        });
        (of_row, item) = (quote!(#ident<'__row #(, #others)*>), quote!(#t::BorrowsFromRows));
    }
    let owned = lifetime.is_none().then(|| {
        quote! {
            #[automatically_derived]
            impl #parameters #t::OwnedView for #ident #arguments #bounds {
                fn own(#row: Self) -> Self {
                    #row
                }
            }
        }
    });
    // A path may lead into another field.
    let repeat = fields.iter().any(|projected| projected.path.is_some()).then(|| quote!(#row.repeat();));
    let is_borrowed = |projected: &&Projected<'_>| {
        let ty = projected.field.ty.to_token_stream();
        projected.path.is_some() && lifetime.is_some_and(|lifetime| names_lifetime(ty, lifetime))
    };
    // The entity of a generic projection may be unknown here.
    let is_concrete = input.generics.type_params().next().is_none();
    let checks = fields.iter().filter(|_| is_concrete).filter(is_borrowed).map(|projected| {
        let (span, selected) = (projected.field.ty.span(), selected(projection, projected, &quote!(#entity)));
        let t = runtime.at(span);
        quote_spanned!(span=> const _: () = #t::check_borrowed(#selected.within);)
    });
    let no_lints = no_lints();
    quote! {
        #no_lints
        const _: () = {
            #(#checks)*
            #[automatically_derived]
            impl #parameters #t::Selectable<#entity> for #ident #arguments #bounds {
                type Selected = Self;
                const PROPERTIES: &'static [#t::PropertyInfo] = &[#(#properties),*];
            }
            #[automatically_derived]
            impl #parameters #t::Projection<#entity> for #ident #arguments #bounds {
                fn read<'__row>(#row: &mut #t::EntityReader<'__row>) -> #t::Result<#of_row> {
                    #repeat
                    ::core::result::Result::Ok(#ident { #(#values),* })
                }
            }
            #[automatically_derived]
            impl #parameters #t::View for #ident #arguments #bounds {
                type Entity = #entity;
                type Row<'__row> = #of_row;
                type Item = #item;
                fn read<__Give: for<'__row> ::core::ops::FnOnce(#of_row)>(
                    #found: &#t::FoundRow<'_>,
                    #give: __Give,
                ) -> #t::Result<::core::primitive::bool> {
                    #found.project::<#entity, Self, __Give>(#give)
                }
            }
            #owned
        };
    }
}

/// Checks whether a type names the lifetime.
fn names_lifetime(ty: TokenStream, lifetime: &Lifetime) -> bool {
    let mut after_quote = false;
    ty.into_iter().any(|token| match token {
        TokenTree::Group(group) => names_lifetime(group.stream(), lifetime),
        TokenTree::Ident(ident) => std::mem::take(&mut after_quote) && ident == lifetime.ident,
        TokenTree::Punct(punct) => {
            after_quote = punct.as_char() == '\'';
            false
        }
        TokenTree::Literal(_) => false,
    })
}

/// Returns the entity's column of the same name, or at the path. If there is none, the compiler lists the columns. If the
/// column has another type, the compiler reports it at the field's type.
fn column(projection: &Projection<'_>, Projected { field, path, .. }: &Projected<'_>) -> TokenStream {
    let span = field.ty.span();
    let t = projection.runtime.at(span);
    let path = path.clone().unwrap_or_else(|| field.ident.iter().cloned().collect());
    quote_spanned!(span=> <<Self as #t::View>::Entity as #t::TableEntity>::COLUMNS #(.#path)*)
}

/// Returns the properties to ask for, in rows of this entity.
fn selected(projection: &Projection<'_>, projected: &Projected<'_>, entity: &TokenStream) -> TokenStream {
    let Some(path) = &projected.path else {
        let column = column(projection, projected);
        return quote!(#column.selected());
    };
    let (t, columns) = (projection.runtime.here(), local("columns"));
    quote! {
        #t::selected_at(
            |#columns: <#entity as #t::TableEntity>::Columns| #columns #(.#path)*.column(),
        )
    }
}
