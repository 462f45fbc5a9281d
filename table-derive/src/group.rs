//! `#[derive(EntityGroup)]`: an enum of entities that share a table and a partition.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Data, DeriveInput, Fields, Type, ext::IdentExt as _, spanned::Spanned as _};

use crate::{
    attributes::Keys,
    errors::Errors,
    expand::{Runtime, local},
    model,
};

/// An enum whose variants hold an entity each, the master first.
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
    /// Nothing if the item is not such an enum.
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Option<Self> {
        let name = &input.ident;
        let mut keys = Keys::read(&input.attrs, "table", errors);
        keys.path("crate", errors);
        keys.finish(errors);
        for parameter in &input.generics.params {
            errors.on(parameter, "a group has no parameters; write those of its entities: `Item(Item<String>)`");
        }
        let Data::Enum(data) = &input.data else {
            let help = format_args!("help: write `enum {name} {{ Expense(Expense), Item(ExpenseItem) }}`");
            errors.on(name, format_args!("`EntityGroup` is for enums, with a variant for each entity\n{help}"));
            return None;
        };
        let mut variants = Vec::new();
        for variant in &data.variants {
            let ident = &variant.ident;
            match &variant.fields {
                Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                    variants.extend(fields.unnamed.first().map(|field| Variant { ident, ty: &field.ty }));
                }
                _ => errors.on(variant, format_args!("a variant of a group holds one entity; write `{ident}(…)`")),
            }
        }
        if data.variants.len() < 2 {
            let help = "help: write the master first, then its items; one entity alone has its own `by_key`";
            errors.on(name, format_args!("a group has two variants at least\n{help}"));
        }
        let whole = variants.len() == data.variants.len() && variants.len() > 1 && input.generics.params.is_empty();
        let runtime = Runtime::new(model::runtime(&input.attrs));
        let mut variants = variants.into_iter();
        let master = variants.next().filter(|_| whole)?;
        Some(Self { input, runtime, master, items: variants.collect() })
    }

    fn variants(&self) -> impl Iterator<Item = &Variant<'a>> {
        std::iter::once(&self.master).chain(&self.items)
    }
}

/// The query and the implementations.
pub(crate) fn expand(group: &Group<'_>) -> TokenStream {
    let Group { input, runtime, master, .. } = group;
    let (t, ident) = (runtime.here(), &input.ident);
    let (variant, table, row) = (local("variant"), local("table"), local("row"));
    let members = group.variants().map(|Variant { ty, .. }| {
        let t = runtime.at(ty.span());
        quote_spanned!(ty.span()=> #t::Member::of::<#ty>())
    });
    let reads = group.variants().enumerate().skip(1).map(|(number, other)| {
        let (number, read) = (Literal::usize_unsuffixed(number), read(group, other));
        quote!(#number => #read)
    });
    let first = read(group, master);
    let checks = group.items.iter().enumerate().map(|(before, item)| check(group, before + 1, item));
    let function = by_key(group);
    quote! {
        #[allow(dead_code, clippy::type_complexity)]
        impl #ident {
            #function
        }
        const _: () = {
            #[automatically_derived]
            impl #t::EntityGroup for #ident {
                const MEMBERS: &'static [#t::Member] = &[#(#members),*];
                fn read(
                    #variant: ::core::primitive::usize,
                    #table: &::core::primitive::str,
                    #row: #t::RowRef<'_>,
                ) -> #t::Result<Self> {
                    match #variant {
                        #(#reads,)*
                        _ => #first,
                    }
                }
            }
            #[automatically_derived]
            impl #t::View for #ident {
                type Entity = Self;
                type Item = Self;
                fn read(found: #t::Found<'_>) -> #t::Result<::core::option::Option<Self>> {
                    found.member()
                }
            }
            #(#checks)*
        };
    }
}

fn read(group: &Group<'_>, Variant { ident, ty }: &Variant<'_>) -> TokenStream {
    let (table, row, t) = (local("table"), local("row"), group.runtime.at(ty.span()));
    let variant = quote_spanned!(ty.span()=> #t::variant::<#ty>(#table, #row));
    quote!(#variant.map(Self::#ident))
}

/// The partition, opened by the values that the master's partition key is made of.
fn by_key(group: &Group<'_>) -> TokenStream {
    let Group { input, runtime, master, items } = group;
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
    let more = "Narrowing follows the row key of the first variant: its rows and those that go on after it.";
    let place = input.ident.span().resolved_at(Span::call_site());
    let name = Ident::new("by_key", place);
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

/// Whether a variant can be in the group, which only the compiler knows.
fn check(group: &Group<'_>, number: usize, item: &Variant<'_>) -> TokenStream {
    let (name, master) = (item.ident.unraw(), group.master.ident.unraw());
    let ident = &group.input.ident;
    let place = item.ty.span();
    let t = group.runtime.at(place);
    let number = Literal::usize_unsuffixed(number);
    let messages = [
        (
            "Table",
            format!("`{name}` stands in another table than `{master}`; write `#[table(name = …)]`, the same on both"),
        ),
        (
            "Slice",
            format!(
                "`{master}` or `{name}` stands in table slices, where a group is not read by one query; remove `slice`"
            ),
        ),
        (
            "Partition",
            format!(
                "the partition key of `{name}` is not made as that of `{master}`; give both the same parts, of the same \
                 types and encodings"
            ),
        ),
        (
            "Hash",
            format!(
                "the partition key of `{master}` has a `hash`, and a group is read from one partition, where only some of \
                 its rows stand; remove `hash`, or query `{master}` and `{name}` each by itself"
            ),
        ),
        (
            "Row",
            format!(
                "the row key of `{name}` does not begin as that of `{master}`; let it begin with the same prefix and the \
                 same parts, of the same types and encodings"
            ),
        ),
        (
            "Open",
            format!(
                "the row key of `{master}` has a text, which does not tell its end: what begins with it would be taken \
                 for its items; put it into the partition key"
            ),
        ),
        (
            "Indexes",
            format!(
                "the row key of `{master}` is a constant, so index rows would stand among those of the group; give it a \
                 key field, or move the indexes of both into other tables"
            ),
        ),
        (
            "Kinds",
            format!("one of `{master}` and `{name}` has a kind and the other has none; write `#[table(kind)]` on both"),
        ),
        (
            "SameKind",
            format!("`{name}` has the kind of another variant; write `#[table(kind = …)]` with a name of its own"),
        ),
        (
            "Alike",
            format!(
                "rows of `{name}` can be taken for those of another variant, as their keys have parts alike; write \
                 `#[table(kind)]` on all of them, and give no two of them one key, for they would be one row"
            ),
        ),
    ];
    let arms = messages.map(|(misfit, message)| {
        let misfit = Ident::new(misfit, place);
        quote_spanned!(place=> #t::Misfit::#misfit => ::core::panic!(#message))
    });
    let (members, meeting) = (quote_spanned!(place=> <#ident as #t::EntityGroup>::MEMBERS), local("meeting"));
    let names = group.variants().map(|variant| variant.ident.unraw().to_string());
    quote_spanned! {place=>
        const _: () = match #t::member_misfit(#members, #number) {
            #t::Misfit::No => {}
            #(#arms,)*
            #t::Misfit::Meeting(#meeting) => {
                ::core::panic!("{}", #meeting.message(#members, &[#(#names),*]).as_str())
            }
        };
    }
}
