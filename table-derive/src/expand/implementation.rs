//! The implementations of the runtime's traits.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::{
    columns,
    context::Context,
    field::{check_options, if_failed_return, load, or_return, property_info, read_part, skip_part, store},
    indexes,
    types::{self, option},
};
use crate::{
    hygiene::{at, local, this},
    model::{Index, Key, Layout, Part, Slice, Source},
};

/// Returns the traits that allow operations for some entities.
pub(super) fn markers(context: &Context<'_>) -> TokenStream {
    let (t, ident, bounds) = (context.runtime.here(), &context.entity.ident, &context.bounds);
    let (parameters, arguments, _) = context.entity.generics.split_for_impl();
    let allow_scan = context.entity.allow_scan.then(|| {
        quote! {
            #[automatically_derived]
            impl #parameters #t::AllowScan for #ident #arguments #bounds {}
        }
    });
    let sliced = context.entity.slice.as_ref().map(|_| {
        quote! {
            #[automatically_derived]
            impl #parameters #t::Sliced for #ident #arguments #bounds {}
        }
    });
    let soft_delete = soft_delete(context);
    let from_stored = from_stored(context);
    let sweepable = context.entity.lifecycle.fields().next().map(|_| {
        quote! {
            #[automatically_derived]
            impl #parameters #t::Sweepable for #ident #arguments #bounds {}
        }
    });
    let has_events = context.entity.events.as_ref().map(|_| {
        quote! {
            #[automatically_derived]
            impl #parameters #t::HasEvents for #ident #arguments #bounds {}
        }
    });
    let [partition, row] = [(&context.entity.partition, quote!(())), (&context.entity.row, quote!(#t::Primary))]
        .map(|(key, end)| context.part_list(&key.parts, &end));
    quote! {
        #allow_scan
        #sliced
        #soft_delete
        #from_stored
        #sweepable
        #has_events
        #[automatically_derived]
        impl #parameters #t::Keyed<#partition, #row> for #ident #arguments #bounds {}
    }
}

/// Returns the conversion of what a query returned, which the compiler proposes where the entity alone is expected. The runtime
/// cannot have it for all entities, because `From` is of another crate.
fn from_stored(context: &Context<'_>) -> TokenStream {
    let (t, ident, bounds) = (context.runtime.here(), &context.entity.ident, &context.bounds);
    let (parameters, arguments, _) = context.entity.generics.split_for_impl();
    let stored = local("stored");
    quote! {
        #[automatically_derived]
        impl #parameters ::core::convert::From<#t::Stored<Self>> for #ident #arguments #bounds {
            #[inline]
            fn from(#stored: #t::Stored<Self>) -> Self {
                #t::Stored::into_inner(#stored)
            }
        }
    }
}

/// Returns the trait of an entity that can be put into the bin.
fn soft_delete(context: &Context<'_>) -> Option<TokenStream> {
    let deleted = context.entity.lifecycle.soft_delete?;
    let (t, ident, bounds) = (context.runtime.here(), &context.entity.ident, &context.bounds);
    let (parameters, arguments, _) = context.entity.generics.split_for_impl();
    let field = &context.entity.fields[deleted.field];
    let (name, ty, value) = (&field.ident, &field.ty, local("deleted"));
    let this = this(ty.span());
    let (scratch, before) = (local("scratch"), local("before"));
    let read = or_return(ty.span(), &quote_spanned!(ty.span()=> <#ty as #t::Property>::from_value(#value)));
    let write = quote_spanned!(ty.span()=> <#ty as #t::Property>::to_value(&#this.#name, &mut #scratch));
    let write = or_return(ty.span(), &write);
    Some(quote! {
        #[automatically_derived]
        impl #parameters #t::SoftDelete for #ident #arguments #bounds {
            fn set_deleted(&mut self, #value: #t::Option<#t::ValueRef<'_>>) -> #t::SetTime {
                let mut #scratch = ::std::string::String::new();
                let #before = #write.map(|#before| #before.to_value());
                #this.#name = #read;
                #t::Ok(#before)
            }
        }
    })
}

/// Returns the `Lifecycle`.
fn lifecycle(context: &Context<'_>) -> TokenStream {
    let (t, lifecycle) = (context.runtime.here(), &context.entity.lifecycle);
    if lifecycle.fields().next().is_none() {
        return quote!(#t::Lifecycle::NONE);
    }
    let [expires, soft_delete] = [lifecycle.expires, lifecycle.soft_delete].map(|time| {
        let property = time.and_then(|time| context.entity.property(time.field));
        option(property.map(|property| &property.name.value))
    });
    quote!(#t::Lifecycle { expires: #expires, soft_delete: #soft_delete })
}

/// Returns the constants that check that these times are times. A generic struct is checked where it is used.
pub(super) fn check_times(context: &Context<'_>) -> TokenStream {
    let entity = context.entity;
    let is_concrete = entity.generics.params.is_empty();
    let times = [("expires", entity.lifecycle.expires), ("soft_delete", entity.lifecycle.soft_delete)];
    let checks = times.into_iter().filter(|_| is_concrete).filter_map(|(key, time)| {
        let field = &entity.fields[time?.field];
        let property = entity.property(time?.field)?;
        let (span, name) = (field.ty.span(), &property.name.value);
        let (t, ident) = (context.runtime.at(span), at(&entity.ident, span));
        let types =
            "`SystemTime`, or with features `time::OffsetDateTime`, `chrono::DateTime<Utc>` or `jiff::Timestamp`";
        let (is_time, message) = if key == "expires" {
            let message =
                format!("`expires = {}` needs a time that is stored as one: {types}, or an `Option` of it", field.name);
            (quote_spanned!(span=> is_time), message)
        } else {
            let message =
                format!("`soft_delete = {}` needs an `Option` of a time that is stored as one: {types}", field.name);
            (quote_spanned!(span=> is_optional_time), message)
        };
        Some(quote_spanned!(span=> const _: () = ::core::assert!(#t::#is_time::<#ident>(#name), #message);))
    });
    checks.collect()
}

/// Returns the implementation of `TableEntity`.
pub(super) fn table_entity(context: &Context<'_>) -> TokenStream {
    let Context { entity, bounds, columns, .. } = context;
    let (t, ident) = (context.runtime.here(), &entity.ident);
    let (parameters, arguments, _) = entity.generics.split_for_impl();
    let layouts = entity.layouts().map(|layout| self::layout(context, layout));
    let properties = entity.properties().map(|(field, property)| property_info(context.runtime, field, property));
    let name = entity.name();
    let recorded = entity.kind.as_ref().unwrap_or(&name);
    let was = option(entity.was.as_ref().map(|was| &was.value));
    let write_id = entity.write_id;
    let version = Literal::usize_unsuffixed(entity.version.unwrap_or(1));
    let own = Literal::usize_unsuffixed(entity.own_properties());
    let (skip_newer, deny_unknown) = (entity.skip_newer, entity.deny_unknown);
    let columns_value = columns::value(context);
    let (keys, write, read) = (keys(context), write(context), read(context));
    let (write_index, owner_part) = (indexes::write_index(context), indexes::owner_part(context));
    let (index_value, element_keys) = (indexes::index_value(context), indexes::element_keys(context));
    let read_older = read_older(context);
    let lifecycle = lifecycle(context);
    let events = option(entity.events.as_ref().map(|events| {
        let holds = if events.copy { quote!(Copy) } else { quote!(Key) };
        quote!(#t::EventContent::#holds)
    }));
    let event_rows = option(entity.events().map(|events| {
        let layout = self::layout(context, events);
        quote!(&#layout)
    }));
    let older = option(entity.from.as_ref().map(|from| {
        let function = context.runtime.at(from.span());
        quote_spanned!(from.span()=> <#from as #function::TableEntity>::INFO)
    }));
    quote! {
        #[automatically_derived]
        impl #parameters #t::TableEntity for #ident #arguments #bounds {
            const INFO: &'static #t::EntityInfo = &#t::EntityInfo {
                layout: #t::Layout {
                    entity: #recorded,
                    layouts: &[#(#layouts),*],
                    fields: #t::nested::checked_in_row(&[#(#properties),*], #own),
                    write_id: #write_id,
                    version: #version,
                    lifecycle: #lifecycle,
                    events: #events,
                },
                struct_name: #name,
                was: #was,
                skip_newer: #skip_newer,
                deny_unknown: #deny_unknown,
                older: #older,
                event_rows: #event_rows,
                owner_part: #t::owner_part::<Self>,
            };
            type Columns = #columns #arguments;
            const COLUMNS: #columns #arguments = #columns_value;
            type Scan = #t::Rows<Self, #t::Done, #t::cost::TableScan>;
            fn scan() -> Self::Scan {
                #t::QueryBuilder::<Self>::new(0).rows()
            }
            #keys
            #write
            #write_index
            #owner_part
            #index_value
            #element_keys
            #read
            #read_older
        }
    }
}

/// Returns the function that reads a row of an older version.
fn read_older(context: &Context<'_>) -> Option<TokenStream> {
    let from = context.entity.from.as_ref()?;
    let (t, row, version) = (context.runtime.here(), local("row"), local("version"));
    let function = context.runtime.at(from.span());
    let read = quote_spanned!(from.span()=> #function::read_older::<Self, #from>);
    Some(quote! {
        #[inline]
        fn read_older(
            #row: #t::StoredRow<'_>,
            #version: #t::u32,
        ) -> #t::Result<#t::ReadEntity<Self>> {
            #read(#row, #version)
        }
    })
}

/// Returns a constant that evaluates the description of the entity, which reports names and numbers of properties that a
/// row cannot have. That of a generic struct is evaluated where it is used.
pub(super) fn check_info(context: &Context<'_>) -> Option<TokenStream> {
    let (t, ident) = (context.runtime.here(), &context.entity.ident);
    let is_concrete = context.entity.generics.params.is_empty();
    is_concrete.then(|| quote!(const _: &#t::EntityInfo = <#ident as #t::TableEntity>::INFO;))
}

/// Returns a constant that does not compile if the struct of `from` does not have the same rows. A generic struct is
/// checked where it is used.
pub(super) fn check_from(context: &Context<'_>) -> Option<TokenStream> {
    let (entity, from) = (context.entity, context.entity.from.as_ref()?);
    if !entity.generics.params.is_empty() {
        return None;
    }
    let span = from.span();
    let (t, ident) = (context.runtime.at(span), at(&entity.ident, span));
    let older = &from.segments.last()?.ident;
    let [name, older] = [&entity.ident, older].map(|ident| ident.unraw().to_string());
    Some(quote_spanned!(span=>
        const _: () = #t::check_older(<#ident as #t::TableEntity>::INFO, &[#name, #older]);
    ))
}

/// Returns the constants that check the options of the fields. A generic struct is not checked.
pub(super) fn check_options_of_fields(context: &Context<'_>) -> TokenStream {
    let is_concrete = context.entity.generics.params.is_empty();
    let fields = context.entity.properties().filter(|_| is_concrete);
    fields.map(|(field, property)| check_options(context.runtime, field, property)).collect()
}

fn layout(context: &Context<'_>, layout: Layout<'_>) -> TokenStream {
    let t = context.runtime.here();
    let (name, table) = (layout.name(), &layout.table.value);
    let key = |key: &Key| {
        let parts = key.parts.iter().map(|part| {
            let (field, encoding) = (&context.entity.fields[part.field].name, part.encoding.to_string());
            let fits = context.fits(part);
            let (ty, each) = (quote_spanned!(part.span=> #fits::PART), part.each.is_some());
            quote!(#t::PartType::of(#ty, #field, #encoding, #each))
        });
        quote!(#t::Cow::Borrowed(&[#(#parts),*]))
    };
    let (partition, row) = (key(layout.partition), key(layout.row));
    let (partition_prefix, row_prefix) = (layout.partition.prefix(), layout.row.prefix());
    let index = option(layout.index.map(|index| indexes::info(context, layout, index)));
    let slice = option(context.entity.slice.as_ref().map(|slice| self::slice(context, slice)));
    let kind = context.entity.kind.as_ref().filter(|_| layout.index.is_none());
    let kind = option(kind.map(|kind| quote!(#t::Cow::Borrowed(#kind))));
    let separator = option(types::separator(context.entity));
    quote! {
        #t::LayoutInfo {
            name: #t::Cow::Borrowed(#name),
            table: #t::Cow::Borrowed(#table),
            partition_prefix: #t::Cow::Borrowed(#partition_prefix),
            partition: #partition,
            row_prefix: #t::Cow::Borrowed(#row_prefix),
            row: #row,
            separator: #separator,
            kind: #kind,
            index: #index,
            slice: #slice,
        }
    }
}

/// Returns the conversion of a time to the name of its table.
fn slice(context: &Context<'_>, slice: &Slice) -> TokenStream {
    let field = &context.entity.fields[slice.field];
    let (name, ty, t) = (&field.name, &field.ty, context.runtime.at(field.ty.span()));
    let unit = Ident::new(&slice.unit.to_string(), Span::call_site());
    // The compiler reports a field that is not a time at the field's type.
    quote_spanned!(ty.span()=> #t::SliceInfo::of::<#ty, #t::KindOf<#ty>>(#name, #t::SliceUnit::#unit))
}

fn keys(context: &Context<'_>) -> TokenStream {
    let t = context.runtime.here();
    let (layout, keys) = (local("layout"), local("keys"));
    let entity = context.entity;
    let arms: Vec<_> = entity.layouts().map(|layout| layout_keys(context, layout)).collect();
    let is_constant = entity.partition.parts.is_empty() && entity.row.parts.is_empty();
    let numbers = (0..arms.len()).map(Literal::usize_unsuffixed);
    let arms = if !entity.indexes.is_empty() || !is_constant {
        quote! {
            match #layout {
                #(#numbers => { #arms })*
                _ => #t::Ok(false),
            }
        }
    } else {
        quote! {
            let _ = (#layout, #keys);
            #t::Ok(true)
        }
    };
    quote! {
        #[inline]
        fn encode_keys(
            &self,
            #layout: #t::usize,
            #keys: &mut #t::KeyWriter,
        ) -> #t::WrittenKeys {
            #arms
        }
    }
}

/// Returns the statements that write the keys, and the result.
fn layout_keys(context: &Context<'_>, layout: Layout<'_>) -> TokenStream {
    let t = context.runtime.here();
    let present = layout.index.map(|index| indexes::present(context, index));
    let parts = push_parts(context, layout, |_| true);
    match layout.index.and_then(Index::each) {
        None => quote!(#present #parts #t::Ok(true)),
        Some(each) => {
            let field = &context.entity.fields[indexes::field_of_elements(context, each)];
            let span = context.type_span(each);
            let (this, ident) = (this(span), at(&field.ident, span));
            let rows = indexes::for_each_element(context, each, &quote_spanned!(span=> &#this.#ident), &parts);
            quote!(#present #rows #t::Ok(false))
        }
    }
}

/// Returns the statements that write these parts of both keys.
pub(super) fn push_parts(context: &Context<'_>, layout: Layout<'_>, is_written: fn(&Part) -> bool) -> TokenStream {
    let keys = local("keys");
    let parts = |name: &str, key: &Key| -> TokenStream {
        let count = key.parts.len();
        let writes = key.parts.iter().enumerate().filter(|(_, part)| is_written(part)).map(|(position, part)| {
            let (field, is_last) = (&context.entity.fields[part.field], position + 1 == count);
            let method = Ident::new(name, part.span);
            let (fits, part_type) = (context.fits(part), context.part_type(part));
            let (ident, ty, t) = (&field.ident, &field.ty, context.runtime.at(field.ty.span()));
            let this = this(ty.span());
            let value = if part.is_index_value {
                let value = indexes::part_local(part.field);
                quote_spanned!(ty.span()=> <#part_type as #t::KeyPart>::to_value(#value))
            } else {
                quote_spanned!(ty.span()=> <#part_type as #t::KeyPart>::to_value(&#this.#ident))
            };
            if_failed_return(part.span, &quote_spanned!(part.span=> #fits::#method(#value, #keys, #is_last)))
        });
        quote!(#(#writes)*)
    };
    let partition = parts("push_partition", layout.partition);
    let row = parts("push_row", layout.row);
    quote!(#partition #row)
}

fn write(context: &Context<'_>) -> TokenStream {
    let t = context.runtime.here();
    let properties = local("properties");
    let writes: Vec<_> = context.entity.properties().map(|(field, property)| store(context, field, property)).collect();
    let unused = writes.is_empty().then(|| quote!(let _ = #properties;));
    quote! {
        #[inline]
        fn write(&self, #properties: &mut #t::PropertyWriter<'_>) -> #t::Result<()> {
            #unused
            #(#writes)*
            #t::Ok(())
        }
    }
}

fn read(context: &Context<'_>) -> TokenStream {
    let t = context.runtime.here();
    let entity = context.entity;
    let row = local("row");
    let partition_key = read_key(context, "partition_key", &entity.partition, Source::Partition);
    let row_key = read_key(context, "row_key", &entity.row, Source::Row);
    let own = entity.fields.iter().enumerate().filter(|(_, field)| field.path().is_none());
    let fields = own.map(|(at, field)| {
        let ident = &field.ident;
        match (entity.source(at), entity.property(at)) {
            (Source::Partition(_) | Source::Row(_), _) => {
                let read = key_local(at);
                quote!(#ident: #read)
            }
            (Source::Property, Some(property)) => {
                let (load, name) = (load(context, field, property), &property.name.value);
                let read = or_return(field.ty.span(), &quote_spanned!(field.ty.span()=> #load(#name, #row)));
                quote!(#ident: #read)
            }
            (Source::Property | Source::Skipped, _) => {
                let t = context.runtime.at(field.ty.span());
                quote_spanned!(field.ty.span()=> #ident: #t::skipped())
            }
        }
    });
    quote! {
        #[inline]
        fn read(#row: &mut #t::EntityReader<'_>) -> #t::Result<Self> {
            #partition_key
            #row_key
            #t::Ok(Self { #(#fields),* })
        }
    }
}

/// Returns the statements that read the parts from which fields are read, and skip the others.
fn read_key(context: &Context<'_>, name: &str, key: &Key, source: fn(usize) -> Source) -> TokenStream {
    let (row, reader) = (local("row"), local(name));
    let method = Ident::new(name, Span::call_site());
    if key.parts.is_empty() {
        // The method also checks the constant.
        let read = or_return(Span::call_site(), &quote!(#row.#method(&Self::INFO.layouts[0])));
        return quote!(let _ = #read;);
    }
    let parts = key.parts.iter().enumerate().map(|(position, part)| {
        let is_last = position + 1 == key.parts.len();
        if context.entity.source(part.field) == source(position) {
            let field = key_local(part.field);
            let read = read_part(context, part, is_last, &reader);
            quote_spanned!(context.type_span(part)=> let #field = #read;)
        } else {
            skip_part(context, part, is_last, &reader)
        }
    });
    let key = or_return(Span::call_site(), &quote!(#row.#method(&Self::INFO.layouts[0])));
    quote! {
        let mut #reader = #key;
        #(#parts)*
    }
}

/// Returns the variable for a field that is read from a key.
fn key_local(field: usize) -> Ident {
    local(&format!("field{field}"))
}
