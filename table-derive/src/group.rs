//! `#[derive(EntityGroup)]`: an enum of entities that share a table and partitions.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{Data, DeriveInput, Fields, PathArguments, Type, ext::IdentExt as _, spanned::Spanned as _};

use crate::{
    attributes::Keys,
    errors::Errors,
    hygiene::{local, no_lints},
    runtime::Runtime,
    text::Text,
};

/// Enum with one entity in each variant. The first variant is the master.
pub(crate) struct Group<'a> {
    input: &'a DeriveInput,
    runtime: Runtime,
    master: Variant<'a>,
    items: Vec<Variant<'a>>,
}

struct Variant<'a> {
    ident: &'a Ident,
    ty: &'a Type,
}

impl<'a> Group<'a> {
    /// Reads the enum. Returns nothing if the type is not such an enum.
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Option<Self> {
        let name = &input.ident;
        let mut keys = Keys::read(&input.attrs, "table", errors);
        keys.path("crate", errors);
        if let Some(Text { span, .. }) = keys.text("name", errors) {
            errors.at(span, "a group has the table of its entities; remove `name`");
        }
        keys.finish(errors);
        for parameter in &input.generics.params {
            errors
                .on(parameter, "a group cannot have parameters; write concrete entities, such as `Item(Item<String>)`");
        }
        let Data::Enum(data) = &input.data else {
            let help = format_args!("help: write `enum {name} {{ Expense(Expense), Item(ExpenseItem) }}`");
            errors.on(name, format_args!("`EntityGroup` is for enums with one variant for each entity\n{help}"));
            return None;
        };
        let mut variants = Vec::new();
        for variant in &data.variants {
            let ident = &variant.ident;
            // The fields of a variant with names belong to a struct, as the other error says.
            let fields = variant.fields.iter().filter(|field| field.ident.is_none());
            let attributes = variant.attrs.iter().chain(fields.flat_map(|field| &field.attrs));
            for found in attributes.filter(|found| {
                ["table", "partition_key", "row_key", "property", "index"]
                    .iter()
                    .any(|name| found.path().is_ident(name))
            }) {
                errors.on(found.path(), "a variant of a group has no attributes; put it on the entity itself");
            }
            match &variant.fields {
                Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                    variants.extend(fields.unnamed.first().map(|field| Variant { ident, ty: &field.ty }));
                }
                Fields::Unit => errors.on(
                    variant,
                    format_args!(
                        "a variant of a group has one entity; write `{ident}({ident})` with the entity's type, or remove \
                         `{ident}`"
                    ),
                ),
                Fields::Named(_) => errors.on(
                    variant,
                    format_args!(
                        "a variant of a group has one entity; make `{ident}` a struct with `#[derive(TableEntity)]`, and write \
                         `{ident}({ident})`"
                    ),
                ),
                Fields::Unnamed(_) => errors.on(
                    variant,
                    format_args!(
                        "a variant of a group has one entity; write `{ident}(Entity)`, and a variant for each entity"
                    ),
                ),
            }
        }
        // Without the variants that hold no entity, the group is generated: a call of its functions is then no error.
        let holds_one =
            |variant: &syn::Variant| matches!(&variant.fields, Fields::Unnamed(fields) if fields.unnamed.len() == 1);
        let is_unit = |variant: &syn::Variant| matches!(variant.fields, Fields::Unit);
        let are_known = data.variants.iter().all(|variant| holds_one(variant) || is_unit(variant));
        let mut is_complete = are_known && input.generics.params.is_empty();
        for (at, Variant { ty, ident }) in variants.iter().enumerate() {
            if let Some(inner) = boxed(ty) {
                errors.on(ty, format_args!("a variant of a group has the entity itself; write `{ident}({inner})`"));
                is_complete = false;
            } else if let Some(before) = variants[..at].iter().find(|before| text(before.ty) == text(ty)) {
                let message =
                    format_args!("this entity is the variant `{}` already; write one variant for it", before.ident);
                errors.on(ty, message);
                is_complete = false;
            }
        }
        if data.variants.len() < 2 && is_complete {
            let help = "help: write the master first, then its items; a single entity already has `by_key`";
            errors.on(name, format_args!("a group has at least two variants\n{help}"));
        }
        is_complete &= variants.len() > 1;
        let runtime = Runtime::read(&input.attrs, "table");
        let mut variants = variants.into_iter();
        let master = variants.next().filter(|_| is_complete)?;
        Some(Self { input, runtime, master, items: variants.collect() })
    }

    fn variants(&self) -> impl Iterator<Item = &Variant<'a>> {
        std::iter::once(&self.master).chain(&self.items)
    }
}

fn text(ty: &Type) -> String {
    ty.to_token_stream().to_string()
}

/// Returns the type inside of a smart pointer, as text.
fn boxed(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    if !["Box", "Rc", "Arc", "Option", "Vec"].contains(&last.ident.to_string().as_str()) {
        return None;
    }
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) => Some(arguments.args.to_token_stream().to_string()),
        _ => None,
    }
}

/// Returns the query function and the implementations.
pub(crate) fn expand(group: &Group<'_>) -> TokenStream {
    let Group { input, runtime, master, .. } = group;
    let (t, ident) = (runtime.here(), &input.ident);
    let (variant, table, row, content) = (local("variant"), local("table"), local("row"), local("content"));
    let members = group.variants().map(|variant| of_variant(group, variant, &quote!(MEMBER)));
    let reads = group.variants().enumerate().skip(1).map(|(number, other)| {
        let (number, read) = (Literal::usize_unsuffixed(number), read(group, other));
        quote!(#number => #read)
    });
    let first = read(group, master);
    let (state, in_version) = (local("state"), local("in_version"));
    let members_of = group.variants().enumerate().map(|(number, variant)| {
        let (number, ident) = (Literal::usize_unsuffixed(number), variant.ident);
        let entity = of_variant(group, variant, &quote!(entity));
        quote!(Self::#ident(#content) => (#number, #entity(#content)))
    });
    let set_states = group.variants().map(|variant| {
        let (ident, set_state) = (variant.ident, of_variant(group, variant, &quote!(set_state)));
        quote!(Self::#ident(#content) => #set_state(#content, #state))
    });
    let schemas = group.variants().map(|variant| of_variant(group, variant, &quote!(SCHEMA)));
    let checks = group.items.iter().enumerate().map(|(before, item)| check(group, before + 1, item));
    let (found, give) = (local("found"), local("give"));
    let (function, no_lints) = (by_key(group), no_lints());
    quote! {
        #no_lints
        impl #ident {
            #function
        }
        #no_lints
        const _: () = {
            #[automatically_derived]
            impl #t::EntityGroup for #ident {
                const MEMBERS: &'static [#t::Member] = &[#(#members),*];
                fn read(
                    #variant: ::core::primitive::usize,
                    #table: &::core::primitive::str,
                    #row: #t::RowRef<'_>,
                ) -> #t::Result<(Self, #t::StoredState)> {
                    match #variant {
                        #(#reads,)*
                        _ => #first,
                    }
                }
                fn member(&self) -> (::core::primitive::usize, &dyn #t::WriteEntity) {
                    match self {
                        #(#members_of,)*
                    }
                }
                fn set_state(&mut self, #state: #t::StoredState) {
                    match self {
                        #(#set_states,)*
                    }
                }
            }
            #[automatically_derived]
            impl #t::WholeEntities for #ident {
                fn schemas() -> ::std::vec::Vec<#t::Schema> {
                    ::std::vec![#(#schemas),*]
                }
                fn deletion(
                    #found: &#t::FoundRow<'_>,
                    #in_version: ::core::primitive::bool,
                ) -> #t::Result<#t::Option<#t::Deletion>> {
                    #t::member_deletion::<Self>(#found, #in_version)
                }
            }
            // The message about a query of a group is that of `OneEntity` alone.
            #[automatically_derived]
            impl #t::HasBin for #ident {}
            #[automatically_derived]
            impl #t::View for #ident {
                type Entity = Self;
                type Row<'__row> = Self;
                type Item = Self;
                fn read<__Give: ::core::ops::FnOnce(Self)>(
                    #found: &#t::FoundRow<'_>,
                    #give: __Give,
                ) -> #t::Result<::core::primitive::bool> {
                    ::core::result::Result::Ok(#found.member::<Self>()?.map(#give).is_some())
                }
            }
            #[automatically_derived]
            impl #t::OwnedView for #ident {
                fn own(#row: Self) -> Self {
                    #row
                }
            }
            #(#checks)*
        };
    }
}

/// Returns an item of the trait `Variant` for a variant. The errors about a type that does not implement it are then equal, and
/// the compiler reports one.
fn of_variant(group: &Group<'_>, Variant { ty, .. }: &Variant<'_>, item: &TokenStream) -> TokenStream {
    let t = group.runtime.at(ty.span());
    let of = quote_spanned!(ty.span()=> <#ty as #t::Variant>::);
    quote!(#of #item)
}

fn read(group: &Group<'_>, variant: &Variant<'_>) -> TokenStream {
    let (ident, read) = (variant.ident, of_variant(group, variant, &quote!(read)));
    let [table, row, content, state] = ["table", "row", "content", "state"].map(local);
    quote!(#read(#table, #row).map(|(#content, #state)| (Self::#ident(#content), #state)))
}

/// Returns `by_key`, which opens the partition with the values of the master's partition key.
fn by_key(group: &Group<'_>) -> TokenStream {
    let Group { input, runtime, master, items, .. } = group;
    let (ty, t) = (master.ty, runtime.at(master.ty.span()));
    let visibility = &input.vis;
    let master = quote_spanned!(ty.span()=> <#ty as #t::Variant>::Entity);
    let t = runtime.here();
    let names: Vec<_> = items.iter().map(|item| format!("[`{}`](Self::{0})", item.ident.unraw())).collect();
    let fact = format!(
        "Opens a partition of [`{0}`](Self::{0}) and {1}, in the order of their keys.",
        group.master.ident.unraw(),
        names.join(", ")
    );
    let more = "Narrowing applies to the row key of the first variant. The query then reads its rows with the narrowed key, \
                and the rows of the other variants whose keys begin with that key.";
    let span = input.ident.span().resolved_at(Span::call_site());
    let name = Ident::new("by_key", span);
    quote! {
        #[doc = #fact]
        #[doc = ""]
        #[doc = #more]
        #[inline]
        #visibility fn #name<P, R>(partition: P::Args<'_>) -> #t::Rows<Self, R::Open>
        where
            #master: #t::Keyed<P, R>,
            P: #t::PartitionParts,
            R: #t::SharedParts,
        {
            #t::group_rows::<Self, #master, P, R>(partition)
        }
    }
}

/// Returns a constant that does not compile if a variant does not fit the group, which only the compiler can determine.
fn check(group: &Group<'_>, number: usize, item: &Variant<'_>) -> TokenStream {
    let (ident, span) = (&group.input.ident, item.ty.span());
    let (t, number) = (group.runtime.at(span), Literal::usize_unsuffixed(number));
    let members = quote_spanned!(span=> <#ident as #t::EntityGroup>::MEMBERS);
    let names = group.variants().map(|variant| variant.ident.unraw().to_string());
    quote_spanned!(span=> const _: () = #t::check_member(#members, #number, &[#(#names),*]);)
}
