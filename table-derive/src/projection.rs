//! `#[derive(Projection)]`: a struct of some of an entity's fields.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Attribute, Data, DeriveInput, Field, Fields, Path, spanned::Spanned as _};

use crate::{attributes::Keys, errors::Errors, hygiene::local, runtime::Runtime};

/// Struct whose fields the entity has too, with the same names.
pub(crate) struct Projection<'a> {
    input: &'a DeriveInput,
    runtime: Runtime,
    entity: Path,
    fields: Vec<&'a Field>,
}

impl<'a> Projection<'a> {
    /// Reads the struct. Returns nothing if it has no named fields or does not name its entity.
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Option<Self> {
        let name = &input.ident;
        for lifetime in input.generics.lifetimes() {
            let message = "a projection must own its data; write `String` instead of `&str`, and remove the lifetime";
            errors.on(lifetime, message);
        }
        refuse(&input.attrs, errors);
        let mut keys = Keys::read(&input.attrs, "projection", errors);
        keys.path("crate", errors);
        let has_entity = keys.has("of");
        let entity = keys.path("of", errors);
        keys.finish(errors);
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
        let Some(fields) = fields else {
            let help = format_args!("help: write `struct {name} {{ … }}`, with some of the entity's fields");
            errors.on(name, format_args!("`Projection` is for structs with named fields\n{help}"));
            return None;
        };
        for field in &fields.named {
            refuse(&field.attrs, errors);
            let mut keys = Keys::read(&field.attrs, "projection", errors);
            keys.has("of").then(|| keys.path("of", errors));
            keys.finish(errors);
        }
        let owns = input.generics.lifetimes().next().is_none();
        let (runtime, fields) = (Runtime::read(&input.attrs, "projection"), fields.named.iter().collect());
        entity.filter(|_| owns).map(|entity| Self { input, runtime, entity, fields })
    }
}

/// Reports attributes of `TableEntity`. The entity alone determines how its fields are stored.
fn refuse(attributes: &[Attribute], errors: &mut Errors) {
    for name in ["table", "partition_key", "row_key", "property", "index"] {
        for found in attributes.iter().filter(|found| found.path().is_ident(name)) {
            errors
                .on(found.path(), format_args!("the entity determines how its fields are stored; remove `#[{name}]`"));
        }
    }
}

/// Returns the implementations. They use the entity's columns, because this derive does not see the entity's fields.
pub(crate) fn expand(projection: &Projection<'_>) -> TokenStream {
    let Projection { input, runtime, entity, fields } = projection;
    let (t, ident) = (runtime.here(), &input.ident);
    let (parameters, arguments, bounds) = input.generics.split_for_impl();
    let row = local("row");
    let names = fields.iter().map(|field| column(projection, field)).map(|column| quote!(#column.name()));
    let values = fields.iter().map(|field| {
        let (ident, ty, column) = (&field.ident, &field.ty, column(projection, field));
        let t = runtime.at(ty.span());
        quote_spanned!(ty.span()=> #ident: #t::project::<#ty, _, _, _, _>(#column, #row)?)
    });
    quote! {
        const _: () = {
            #[automatically_derived]
            #[allow(deprecated)]
            impl #parameters #t::Projection<#entity> for #ident #arguments #bounds {
                const PROPERTIES: &'static [&'static ::core::primitive::str] = &[#(#names),*];
                fn read(#row: &mut #t::RowReader<'_>) -> #t::Result<Self> {
                    ::core::result::Result::Ok(Self { #(#values),* })
                }
            }
            #[automatically_derived]
            impl #parameters #t::View for #ident #arguments #bounds {
                type Entity = #entity;
                type Item = Self;
                fn read(found: #t::FoundRow<'_>) -> #t::Result<::core::option::Option<Self>> {
                    found.projected::<#entity, Self>()
                }
            }
        };
    }
}

/// Returns the entity's column of the same name. If there is none, the compiler lists the columns. If the column has
/// another type, the compiler reports it at the field's type.
fn column(projection: &Projection<'_>, field: &Field) -> TokenStream {
    let (span, ident) = (field.ty.span(), &field.ident);
    let t = projection.runtime.at(span);
    quote_spanned!(span=> <<Self as #t::View>::Entity as #t::TableEntity>::COLUMNS.#ident)
}
