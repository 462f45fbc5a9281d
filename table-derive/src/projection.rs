//! `#[derive(Projection)]`: a struct of some of an entity's fields.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Attribute, Data, DeriveInput, Field, Fields, Path, spanned::Spanned as _};

use crate::{
    attributes::Keys,
    errors::Errors,
    expand::{Runtime, local},
};

/// A struct of fields that the entity has too, by name.
pub(crate) struct Projection<'a> {
    input: &'a DeriveInput,
    runtime: Runtime,
    entity: Path,
    fields: Vec<&'a Field>,
}

impl<'a> Projection<'a> {
    /// Nothing if the item is not a struct with named fields, or does not say of which entity.
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Option<Self> {
        let name = &input.ident;
        for lifetime in input.generics.lifetimes() {
            errors
                .on(lifetime, "a projection owns its data; write `String` instead of `&str`, and remove the lifetime");
        }
        refuse(&input.attrs, errors);
        let mut keys = Keys::read(&input.attrs, "projection", errors);
        keys.path("crate", errors);
        let is_there = keys.has("of");
        let entity = keys.path("of", errors);
        keys.finish(errors);
        if !is_there {
            let help = "help: put `#[projection(of = …)]` on the struct, with the entity's name";
            errors.on(name, format_args!("`{name}` does not say of which entity it is a projection\n{help}"));
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
        let (runtime, fields) = (Runtime::new(runtime(input)), fields.named.iter().collect());
        entity.filter(|_| owns).map(|entity| Self { input, runtime, entity, fields })
    }
}

/// How a field is stored is the entity's to say.
fn refuse(attributes: &[Attribute], errors: &mut Errors) {
    for name in ["table", "partition_key", "row_key", "property", "index"] {
        for found in attributes.iter().filter(|found| found.path().is_ident(name)) {
            errors.on(found.path(), format_args!("the entity says how it is stored; remove `#[{name}]`"));
        }
    }
}

/// Where the runtime is found.
fn runtime(input: &DeriveInput) -> Path {
    let mut ignored = Errors::default();
    let mut keys = Keys::read(&input.attrs, "projection", &mut ignored);
    keys.path("crate", &mut ignored).unwrap_or_else(|| syn::parse_quote!(::table_runtime))
}

/// The implementations. What the entity's fields are, and how they are stored, only its columns know.
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
                fn read(found: #t::Found<'_>) -> #t::Result<::core::option::Option<Self>> {
                    found.projected::<#entity, Self>()
                }
            }
        };
    }
}

/// The entity's column of that name: where there is none, the compiler says which there are. Where its type is another
/// one, it points at the field's.
fn column(projection: &Projection<'_>, field: &Field) -> TokenStream {
    let (place, ident) = (field.ty.span(), &field.ident);
    let t = projection.runtime.at(place);
    quote_spanned!(place=> <<Self as #t::View>::Entity as #t::TableEntity>::COLUMNS.#ident)
}
