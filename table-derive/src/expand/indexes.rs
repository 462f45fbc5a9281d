//! What indexes add to the implementation: which entities have a row, what it holds, and the way back.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::{
    Context, at,
    implementation::{read_part, store},
    local, strategy_type, this,
};
use crate::model::{Field, Holds, Index, Layout, Part, Scope, Strategy, Text};

/// The `IndexInfo`.
pub(super) fn info(context: &Context<'_>, layout: Layout<'_>, index: &Index) -> TokenStream {
    let t = context.runtime.here();
    let scope = match index.scope {
        Scope::SamePartition => quote!(SamePartition),
        Scope::SameTable | Scope::Named | Scope::Own => quote!(CrossPartition),
    };
    let holds = match index.holds() {
        Holds::Pointer => quote!(Pointer),
        Holds::Include => quote!(Include),
        Holds::Copy => quote!(Copy),
        Holds::List => quote!(List),
    };
    let (unique, when) = (index.unique.is_some(), index.when.is_some());
    let pointer = index.pointer.iter().map(|(field, name)| {
        let (field, name) = (&context.entity.fields[*field].name, &name.value);
        quote!(#t::PropertyInfo { field: #field, name: #name })
    });
    let included = included(context, index).map(|(field, name, ..)| {
        let (field, name) = (&field.name, &name.value);
        quote!(#t::PropertyInfo { field: #field, name: #name })
    });
    let values = values(context, layout).map(|Value { number, name, .. }| {
        let (number, name) = (Literal::usize_unsuffixed(number), &name.value);
        quote!((#number, #name))
    });
    quote! {
        #t::IndexInfo {
            scope: #t::Scope::#scope,
            unique: #unique,
            when: #when,
            holds: #t::Holds::#holds,
            pointer: &[#(#pointer),*],
            included: &[#(#included),*],
            values: &[#(#values),*],
        }
    }
}

/// Leaves where the entity has no row in the index, with the values of the index's own parts otherwise.
pub(super) fn present(context: &Context<'_>, index: &Index) -> TokenStream {
    let entity = context.entity;
    let absent = quote!(return ::core::result::Result::Ok(false));
    let when = index.when.as_ref().map(|when| {
        let path = &when.path;
        let fields = when.fields.iter().map(|(field, place)| {
            let (ident, this) = (at(&entity.fields[*field].ident, *place), this(*place));
            quote_spanned!(*place=> &#this.#ident)
        });
        let call = quote_spanned!(path.span()=> #path(#(#fields),*));
        quote!(if !#call { #absent; })
    });
    let mut fields: Vec<usize> = Vec::new();
    for part in index.values() {
        if !fields.contains(&part.field) {
            fields.push(part.field);
        }
    }
    let values = fields.into_iter().map(|field| {
        let (ident, ty) = (&entity.fields[field].ident, &entity.fields[field].ty);
        let (value, t) = (part_local(field), context.runtime.at(ty.span()));
        let this = this(ty.span());
        let part = quote_spanned!(ty.span()=> <#ty as #t::Indexable>::part(&#this.#ident));
        quote!(let ::core::option::Option::Some(#value) = #part else { #absent };)
    });
    quote!(#when #(#values)*)
}

/// What holds the value of a field that an index has a part of.
pub(super) fn part_local(field: usize) -> Ident {
    local(&format!("part{field}"))
}

/// `write_index`, if any index's row holds something of its own.
pub(super) fn write_index(context: &Context<'_>) -> Option<TokenStream> {
    let entity = context.entity;
    let (t, layout, properties) = (context.runtime.here(), local("layout"), local("properties"));
    let arms: Vec<_> = entity
        .layouts()
        .filter_map(|layout| {
            let index = layout.index?;
            let pointer = index.pointer.iter().map(|(field, name)| {
                let (ident, ty, name) = (&entity.fields[*field].ident, &entity.fields[*field].ty, &name.value);
                let (t, this) = (context.runtime.at(ty.span()), this(ty.span()));
                quote_spanned!(ty.span()=> #t::point::<#ty>(&#this.#ident, #name, #properties)?;)
            });
            let included = included(context, index)
                .map(|(field, name, strategy, default)| store(context, field, name, strategy, default));
            let writes: Vec<_> = pointer.chain(included).collect();
            let number = Literal::usize_unsuffixed(layout.number);
            (!writes.is_empty()).then(|| quote!(#number => { #(#writes)* }))
        })
        .collect();
    (!arms.is_empty()).then(|| {
        quote! {
            #[inline]
            fn write_index(
                &self,
                #layout: ::core::primitive::usize,
                #properties: &mut #t::PropertyWriter<'_>,
            ) -> #t::Result<()> {
                match #layout {
                    #(#arms)*
                    _ => {}
                }
                ::core::result::Result::Ok(())
            }
        }
    })
}

/// The properties of `include(…)`.
fn included<'a>(
    context: &Context<'a>,
    index: &'a Index,
) -> impl Iterator<Item = (&'a Field, &'a Text, Strategy, bool)> + use<'a> {
    let entity = context.entity;
    index.include.iter().flat_map(|include| &include.fields).filter_map(|(field, _)| {
        let name = &entity.fields[*field].name;
        entity.stored().find(|(stored, ..)| stored.name == *name)
    })
}

/// A property that a part of an index's key holds whole.
struct Value<'a> {
    /// The part's number, counted over both keys.
    number: usize,
    part: &'a Part,
    last: bool,
    name: &'a Text,
    strategy: Strategy,
    default: bool,
}

fn values<'a>(context: &'a Context<'a>, layout: Layout<'a>) -> impl Iterator<Item = Value<'a>> {
    let (entity, partition, row) = (context.entity, layout.partition.parts.len(), layout.row.parts.len());
    let parts = layout.partition.parts.iter().chain(&layout.row.parts).enumerate();
    parts.filter(|(_, part)| part.sparse && context.is_read(part)).filter_map(move |(number, part)| {
        let field = &entity.fields[part.field].name;
        let (_, name, strategy, default) = entity.stored().find(|(stored, ..)| stored.name == *field)?;
        let last = number + 1 == partition || number + 1 == partition + row;
        Some(Value { number, part, last, name, strategy, default })
    })
}

/// `index_value`, if any index's key holds a property whole.
pub(super) fn index_value(context: &Context<'_>) -> Option<TokenStream> {
    let entity = context.entity;
    let (t, layout, part) = (context.runtime.here(), local("layout"), local("part"));
    let (key, properties) = (local("key"), local("properties"));
    let arms: Vec<_> = entity
        .layouts()
        .flat_map(|layout| values(context, layout).map(move |value| (layout.number, value)))
        .map(|(layout, Value { number, part, last, name, strategy, default })| {
            let (ty, name) = (&entity.fields[part.field].ty, &name.value);
            let strategy = strategy_type(strategy, default, ty, &context.runtime);
            let (read, t) = (read_part(context, part, last, &key), context.runtime.at(ty.span()));
            let whole = quote_spanned!(ty.span()=> &<#ty as #t::Indexable>::whole(#read));
            let store = quote_spanned!(ty.span()=> <#strategy as #t::Store<#ty>>::store(#whole, #name, #properties));
            let (layout, number) = (Literal::usize_unsuffixed(layout), Literal::usize_unsuffixed(number));
            quote!((#layout, #number) => #store)
        })
        .collect();
    (!arms.is_empty()).then(|| {
        quote! {
            fn index_value(
                #layout: ::core::primitive::usize,
                #part: ::core::primitive::usize,
                mut #key: #t::KeyReader<'_>,
                #properties: &mut #t::PropertyWriter<'_>,
            ) -> #t::Result<()> {
                match (#layout, #part) {
                    #(#arms,)*
                    _ => ::core::result::Result::Ok(()),
                }
            }
        }
    })
}

/// `owner_part`, if any index's keys do not tell the whole primary key.
pub(super) fn owner_part(context: &Context<'_>) -> Option<TokenStream> {
    let entity = context.entity;
    let (t, part, owner) = (context.runtime.here(), local("part"), local("owner"));
    let (value, written) = (local("value"), local("written"));
    let (partition, row) = (entity.partition.parts.len(), entity.row.parts.len());
    let missing =
        (0..partition + row).filter(|number| entity.indexes.iter().any(|index| index.missing.contains(number)));
    let arms: Vec<_> = missing
        .map(|number| {
            let key_part = entity.key_part(number);
            let (field, fits) = (&entity.fields[key_part.field], context.fits(key_part));
            let (method, last) = if number < partition {
                ("write_partition", number + 1 == partition)
            } else {
                ("write_row", number + 1 == partition + row)
            };
            let (name, ty, method) = (&field.name, &field.ty, Ident::new(method, key_part.span));
            let t = context.runtime.at(ty.span());
            let read = quote_spanned!(ty.span()=> #owner.value::<#ty>(#name)?);
            let to_value = quote_spanned!(ty.span()=> <#ty as #t::KeyPart>::to_value(&#value));
            let write = quote_spanned!(key_part.span=> #fits::#method::<#last>(#to_value, #owner.keys()));
            let number = Literal::usize_unsuffixed(number);
            quote! {
                #number => {
                    let #value = #read;
                    let #written = #write;
                    #owner.written(#name, #written)
                }
            }
        })
        .collect();
    (!arms.is_empty()).then(|| {
        quote! {
            #[inline]
            fn owner_part(#part: ::core::primitive::usize, #owner: &mut #t::OwnerReader<'_>) -> #t::Result<()> {
                match #part {
                    #(#arms)*
                    _ => ::core::result::Result::Ok(()),
                }
            }
        }
    })
}
