//! The parts of the implementation that indexes need: which entities have a row, the content of the row, and the
//! entity's key.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{ext::IdentExt as _, spanned::Spanned as _};

use super::{
    context::Context,
    field::{if_failed_return, load, or_return, read_part, store},
    implementation::push_parts,
    types::{option, strategy_type},
};
use crate::{
    hygiene::{at, local, located, this},
    model::{Content, Field, FieldPath, Index, Layout, Part, Property, Scope, When, hash},
};

/// Returns the `IndexInfo`.
pub(super) fn info(context: &Context<'_>, layout: Layout<'_>, index: &Index) -> TokenStream {
    let t = context.runtime.here();
    let scope = match index.scope {
        Scope::SamePartition => quote!(SamePartition),
        Scope::SameTable | Scope::Named | Scope::Own => quote!(CrossPartition),
    };
    let holds = match index.content() {
        Content::Pointer => quote!(Pointer),
        Content::Include => quote!(Include),
        Content::Copy => quote!(Copy),
        Content::List => quote!(List),
    };
    let unique = index.unique.is_some();
    let when = option(index.when.as_ref().map(|when| when_info(context, when)));
    let pointer = index.pointer.iter().map(|pointer| {
        let (field, name) = (&context.entity.fields[pointer.field].name, &pointer.name.value);
        quote!(#t::StoredField::new(#field, #name, &[]))
    });
    let included = included(context, index).map(|(field, property)| {
        let (ty, strategy) = (&field.ty, strategy_type(property, &field.ty, context.runtime));
        let (t, field, name) = (context.runtime.at(ty.span()), &field.name, &property.name.value);
        quote_spanned! {ty.span()=>
            #t::StoredField::new(#field, #name, <#strategy as #t::Store<#ty>>::PARTS)
        }
    });
    let values = values(context, layout).map(|Value { number, property, .. }| {
        let (number, name) = (Literal::usize_unsuffixed(number), &property.name.value);
        quote!((#number, #name))
    });
    quote! {
        #t::IndexInfo {
            scope: #t::Scope::#scope,
            unique: #unique,
            when: #when,
            holds: #t::Holds::#holds,
            pointer: #t::Cow::Borrowed(&[#(#pointer),*]),
            included: #t::Cow::Borrowed(&[#(#included),*]),
            values: &[#(#values),*],
        }
    }
}

/// Returns the `WhenInfo`.
fn when_info(context: &Context<'_>, when: &When) -> TokenStream {
    let t = context.runtime.here();
    let fields = when.fields.iter().map(|condition| &context.entity.fields[condition.field].name);
    let path = dense(&when.path.to_token_stream().to_string());
    let fields = quote!(#t::Cow::Borrowed(&[#(#t::WhenField::new(#fields)),*]));
    quote!(#t::WhenInfo { fields: #fields, path: #t::Cow::Borrowed(#path) })
}

/// Returns source code with no other spaces than those between two words. The compiler decides where it writes spaces
/// between tokens, and its releases differ.
fn dense(code: &str) -> String {
    let is_word = |character: char| character == '_' || character.is_alphanumeric();
    let mut dense = String::with_capacity(code.len());
    for word in code.split_whitespace() {
        if dense.ends_with(is_word) && word.starts_with(is_word) {
            dense.push(' ');
        }
        dense.push_str(word);
    }
    dense
}

/// Returns a variable that only the derive sees, at a place in the user's code.
fn variable(name: &str, place: Span) -> Ident {
    Ident::new(name, place.resolved_at(Span::mixed_site()))
}

/// Returns the statements that return early if the entity has no row in the index, and otherwise assign the values of
/// the index to variables.
pub(super) fn present(context: &Context<'_>, index: &Index) -> TokenStream {
    let (entity, here) = (context.entity, context.runtime.here());
    let absent = quote!(return #here::Ok(false));
    let when = index.when.as_ref().map(|when| {
        let path = &when.path;
        let mut reached = TokenStream::new();
        let fields: Vec<_> = when
            .fields
            .iter()
            .map(|condition| {
                // A misfit is reported at the path, because the function may be wrong, and never the field.
                let span = path.span();
                let field = &entity.fields[condition.field];
                let (ident, this, t) = (at(&field.ident, span), this(span), context.runtime.at(span));
                let argument = variable(&format!("when{}", condition.field), span);
                reached.extend(match field.path() {
                    None => quote_spanned!(span=> let #argument = &#this.#ident;),
                    Some(steps) => {
                        let value = reach(context, steps, span);
                        quote!(let #here::Some(#argument) = #t::reached(#value) else { #absent };)
                    }
                });
                quote!(#argument)
            })
            .collect();
        let holds = variable("holds", path.span());
        let t = context.runtime.at(path.span());
        // In a call, the compiler would propose a method of a field for an unknown function. In a block, the path is a value.
        let call = quote_spanned!(path.span()=> let #holds: #t::bool = { #path }(#(#fields),*););
        quote!(#reached #call if !#holds { #absent; })
    });
    let mut fields: Vec<usize> = Vec::new();
    for part in index.values().filter(|part| part.each.is_none()) {
        if !fields.contains(&part.field) {
            fields.push(part.field);
        }
    }
    let values = fields.into_iter().map(|field| {
        let of = &entity.fields[field];
        let (ident, ty) = (&of.ident, &of.ty);
        let (value, t) = (part_local(field), context.runtime.at(ty.span()));
        let this = this(ty.span());
        let part = if let Some(steps) = of.path() {
            let reached = reach(context, steps, ty.span());
            quote_spanned!(ty.span()=> #t::Option::and_then(#reached, <#ty as #t::Indexable>::part))
        } else {
            quote_spanned!(ty.span()=> <#ty as #t::Indexable>::part(&#this.#ident))
        };
        quote!(let #here::Some(#value) = #part else { #absent };)
    });
    quote!(#when #(#values)*)
}

/// Returns the loop that writes a row of an index for each element of a field. `parts` writes the keys of one row.
pub(super) fn for_each_element(
    context: &Context<'_>,
    each: &Part,
    field: &TokenStream,
    parts: &TokenStream,
) -> TokenStream {
    let (keys, here) = (local("keys"), context.runtime.here());
    let of = &context.entity.fields[each.field];
    let (ty, span, element) = (&of.ty, of.ty.span(), part_local(each.field));
    let t = context.runtime.at(span);
    let rows = |collection: &TokenStream| {
        let elements = quote_spanned!(span=> <#ty as #t::Each>::elements(#collection));
        quote!(for #element in #elements { #parts #keys.end_row(); })
    };
    match of.path() {
        None => rows(field),
        Some(path) => {
            let (collection, whole) = (local("collection"), quote_spanned!(span=> #t::Some(#field)));
            let (reached, rows) = (reach_from(context, path, whole, span), rows(&collection.to_token_stream()));
            quote!(if let #here::Some(#collection) = #reached { #rows })
        }
    }
}

/// Returns the value to which a path leads, as an `Option` of a reference.
fn reach(context: &Context<'_>, path: &FieldPath, span: Span) -> TokenStream {
    let field = &context.entity.fields[path.field];
    let (t, ident, this) = (context.runtime.at(span), at(&field.ident, span), this(span));
    reach_from(context, path, quote_spanned!(span=> #t::Some(&#this.#ident)), span)
}

/// Returns the value to which the steps of a path lead from its field, both as an `Option` of a reference.
fn reach_from(context: &Context<'_>, path: &FieldPath, mut value: TokenStream, span: Span) -> TokenStream {
    let t = context.runtime.at(span);
    let mut from = located(context.entity.fields[path.field].ty.declared().to_token_stream(), span);
    for step in &path.steps {
        let hash = hash(&step.unraw().to_string());
        value = quote_spanned!(span=> #t::Option::and_then(#value, <#from as #t::Step<#hash>>::get));
        from = quote_spanned!(span=> <#from as #t::Step<#hash>>::To);
    }
    value
}

/// Returns the constants that check the paths of indexes: if there is no such part, the compiler lists those that there are.
pub(super) fn check_paths(context: &Context<'_>) -> TokenStream {
    let entity = context.entity;
    let is_concrete = entity.generics.params.is_empty();
    let paths = entity.fields.iter().filter_map(Field::path).filter(|_| is_concrete);
    paths
        .filter_map(|path| {
            let property = entity.property(path.field)?;
            let (ident, ty) = (&entity.ident, &entity.fields[path.field].ty);
            let strategy = strategy_type(property, ty, context.runtime);
            let (t, number) = (context.runtime.here(), Literal::usize_unsuffixed(entity.number(path.field)));
            let (column, steps) = (local("column"), &path.steps);
            Some(quote! {
                const _: () = #t::large::check_path(#t::selected_at(
                    |#column: #t::Column<#ident, #ty, #number, #t::Free, #strategy>| #column #(.#steps)*.column(),
                ));
            })
        })
        .collect()
}

/// Returns the position of the field that has the elements of an index, or of the field in which they are.
pub(super) fn field_of_elements(context: &Context<'_>, each: &Part) -> usize {
    context.entity.fields[each.field].path().map_or(each.field, |path| path.field)
}

/// Returns `element_keys`, if any index with `each` has rows that are read without their entities.
pub(super) fn element_keys(context: &Context<'_>) -> Option<TokenStream> {
    let entity = context.entity;
    let (t, layout, row, keys) = (context.runtime.here(), local("layout"), local("row"), local("keys"));
    let arms: Vec<_> = entity
        .layouts()
        .filter_map(|layout| {
            let index = layout.index.filter(|index| matches!(index.content(), Content::Include | Content::Copy))?;
            let each = index.each()?;
            let at = field_of_elements(context, each);
            let (field, property, whole) = (&entity.fields[at], entity.property(at)?, local("field"));
            let (load, name) = (load(context, field, property), &property.name.value);
            let read = or_return(field.ty.span(), &quote_spanned!(field.ty.span()=> #load(#name, #row)));
            let parts = push_parts(context, layout, |part| part.each.is_some());
            let rows = for_each_element(context, each, &quote!(&#whole), &parts);
            let number = Literal::usize_unsuffixed(layout.number);
            // The errors of keys have another type.
            Some(quote! {
                #number => {
                    let #whole = #read;
                    #t::Ok((move || -> #t::WrittenKeys {
                        #rows
                        #t::Ok(false)
                    })())
                }
            })
        })
        .collect();
    (!arms.is_empty()).then(|| {
        quote! {
            fn element_keys(
                #layout: #t::usize,
                #row: &mut #t::EntityReader<'_>,
                #keys: &mut #t::ElementKeys<'_>,
            ) -> #t::Result<#t::WrittenKeys> {
                match #layout {
                    #(#arms)*
                    _ => #t::Ok(#t::Ok(false)),
                }
            }
        }
    })
}

/// Returns the variable for the value of a field in an index.
pub(super) fn part_local(field: usize) -> Ident {
    local(&format!("part{field}"))
}

/// Returns `write_index`, if any index row has properties other than those of a copy.
pub(super) fn write_index(context: &Context<'_>) -> Option<TokenStream> {
    let entity = context.entity;
    let (t, layout, properties) = (context.runtime.here(), local("layout"), local("properties"));
    let arms: Vec<_> = entity
        .pointers()
        .filter_map(|layout| {
            let index = layout.index?;
            let pointer = index.pointer.iter().map(|pointer| {
                let Field { ident, ty, .. } = &entity.fields[pointer.field];
                let name = &pointer.name.value;
                let (t, this) = (context.runtime.at(ty.span()), this(ty.span()));
                if_failed_return(
                    ty.span(),
                    &quote_spanned!(ty.span()=> #t::point::<#ty>(&#this.#ident, #name, #properties)),
                )
            });
            let included = included(context, index).map(|(field, property)| store(context, field, property));
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
                #layout: #t::usize,
                #properties: &mut #t::PropertyWriter<'_>,
            ) -> #t::Result<()> {
                match #layout {
                    #(#arms)*
                    _ => {}
                }
                #t::Ok(())
            }
        }
    })
}

/// Returns the fields of `include(…)` with their properties.
fn included<'a>(context: &Context<'a>, index: &'a Index) -> impl Iterator<Item = (&'a Field, &'a Property)> + use<'a> {
    let entity = context.entity;
    let fields = index.included().iter().map(|included| included.field);
    fields.filter_map(|field| Some((&entity.fields[field], entity.property(field)?)))
}

/// Part of an index's key that contains the whole value of a property.
struct Value<'a> {
    /// The part's number over both keys.
    number: usize,
    part: &'a Part,
    is_last: bool,
    property: &'a Property,
}

fn values<'a>(context: &'a Context<'a>, layout: Layout<'a>) -> impl Iterator<Item = Value<'a>> {
    let (entity, partition, row) = (context.entity, layout.partition.parts.len(), layout.row.parts.len());
    let parts = layout.partition.parts.iter().chain(&layout.row.parts).enumerate();
    parts.filter(|(_, part)| part.is_index_value && context.is_read(part)).filter_map(move |(number, part)| {
        let is_last = number + 1 == partition || number + 1 == partition + row;
        Some(Value { number, part, is_last, property: entity.property(part.field)? })
    })
}

/// Returns `index_value`, if any index's key contains the whole value of a property.
pub(super) fn index_value(context: &Context<'_>) -> Option<TokenStream> {
    let entity = context.entity;
    let (t, layout, part) = (context.runtime.here(), local("layout"), local("part"));
    let (key, properties) = (local("key"), local("properties"));
    let arms: Vec<_> = entity
        .layouts()
        .flat_map(|layout| values(context, layout).map(move |value| (layout.number, value)))
        .map(|(layout, Value { number, part, is_last, property })| {
            let (ty, name) = (&entity.fields[part.field].ty, &property.name.value);
            let strategy = strategy_type(property, ty, context.runtime);
            let (read, t) = (read_part(context, part, is_last, &key), context.runtime.at(ty.span()));
            let whole = quote_spanned!(ty.span()=> &<#ty as #t::Indexable>::whole(#read));
            let store = quote_spanned!(ty.span()=> <#strategy as #t::Store<#ty>>::store(#whole, #name, #properties));
            let (layout, number) = (Literal::usize_unsuffixed(layout), Literal::usize_unsuffixed(number));
            quote!((#layout, #number) => #store)
        })
        .collect();
    (!arms.is_empty()).then(|| {
        quote! {
            #[inline]
            fn index_value(
                #layout: #t::usize,
                #part: #t::usize,
                mut #key: #t::KeyReader<'_>,
                #properties: &mut #t::PropertyWriter<'_>,
            ) -> #t::Result<()> {
                match (#layout, #part) {
                    #(#arms,)*
                    _ => #t::Ok(()),
                }
            }
        }
    })
}

/// Returns `owner_part`, if any index's keys do not contain the whole primary key.
pub(super) fn owner_part(context: &Context<'_>) -> Option<TokenStream> {
    let entity = context.entity;
    let (t, part, owner) = (context.runtime.here(), local("part"), local("owner"));
    let (value, written) = (local("value"), local("written"));
    let (partition, row) = (entity.partition.parts.len(), entity.row.parts.len());
    let missing = (0..partition + row).filter(|number| {
        entity.pointers().filter_map(|layout| layout.index).any(|index| index.missing.contains(number))
    });
    let arms: Vec<_> = missing
        .map(|number| {
            let key_part = entity.key_part(number);
            let (field, fits) = (&entity.fields[key_part.field], context.fits(key_part));
            let (method, is_last) = if number < partition {
                ("push_partition", number + 1 == partition)
            } else {
                ("push_row", number + 1 == partition + row)
            };
            let (name, ty, method) = (&field.name, &field.ty, Ident::new(method, key_part.span));
            let t = context.runtime.at(ty.span());
            let read = or_return(ty.span(), &quote_spanned!(ty.span()=> #owner.value::<#ty>(#name)));
            let to_value = quote_spanned!(ty.span()=> <#ty as #t::KeyPart>::to_value(&#value));
            let write = quote_spanned!(key_part.span=> #fits::#method(#to_value, #owner.keys(), #is_last));
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
            fn owner_part(#part: #t::usize, #owner: &mut #t::OwnerReader<'_>) -> #t::Result<()> {
                match #part {
                    #(#arms)*
                    _ => #t::Ok(()),
                }
            }
        }
    })
}
