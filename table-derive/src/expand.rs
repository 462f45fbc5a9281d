//! From the model to code. Nothing here looks at an attribute.

mod columns;
mod docs;
mod implementation;
mod indexes;
mod queries;

use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Path, Type, WhereClause, spanned::Spanned as _};

use crate::{
    encoding::Encoding,
    generics,
    model::{Entity, Part, Strategy},
};

/// Everything that `#[derive(TableEntity)]` writes.
pub(crate) fn entity(entity: &Entity) -> TokenStream {
    let context = Context::new(entity);
    let columns = columns::definition(&context);
    let queries = queries::queries(&context);
    let columns_impls = columns::implementations(&context);
    let implementation = implementation::table_entity(&context);
    let markers = implementation::markers(&context);
    quote! {
        #columns
        #queries
        const _: () = {
            #columns_impls
            #markers
            #implementation
        };
    }
}

/// The model and what every file here needs of it.
struct Context<'a> {
    entity: &'a Entity,
    runtime: Runtime,
    bounds: Option<WhereClause>,
    columns: Ident,
}

impl<'a> Context<'a> {
    fn new(entity: &'a Entity) -> Self {
        let runtime = Runtime::new(entity.runtime.clone());
        let bounds = generics::bounds(entity, &runtime);
        let columns = quote::format_ident!("{}Columns", entity.ident, span = Span::call_site());
        Self { entity, runtime, bounds, columns }
    }

    /// A key's part as the runtime's types name it.
    fn part(&self, part: &Part) -> (TokenStream, TokenStream) {
        let encoding = part_encoding(self.entity, part, &self.runtime);
        (part_type(&self.entity.fields[part.field].ty, part, &self.runtime), encoding)
    }

    /// Where the compiler points if the part's field does not fit.
    fn place(&self, part: &Part) -> Span {
        self.entity.fields[part.field].ty.span()
    }

    /// Whether the part can be read back. Of an index's own part of a parameter's type it is not asked.
    fn is_read(&self, part: &Part) -> bool {
        let depends = part.sparse && generics::depends(self.entity, &self.entity.fields[part.field].ty);
        !part.encoding.is_lossy() && !depends
    }

    /// The encoding of a key's part as code calls it: an encoding that does not fit its field is so said at once.
    fn fits(&self, part: &Part) -> TokenStream {
        let (ty, encoding) = self.part(part);
        let (field, place) = (self.place(part), part.span);
        let t = self.runtime.at(field);
        let kind = quote_spanned!(field=> #t::KindOf<#ty>);
        let t = self.runtime.at(place);
        let lossy = !self.is_read(part);
        let loses = Ident::new(if lossy { "Lossy" } else { "Lossless" }, place);
        quote_spanned!(place=> <#encoding as #t::Fits<#ty, #kind, #t::#loses>>)
    }
}

/// The path to what the runtime keeps for generated code.
pub(crate) struct Runtime(Path);

impl Runtime {
    pub(crate) fn new(path: Path) -> Self {
        Self(path)
    }

    /// The path, as the derive's own.
    pub(crate) fn here(&self) -> TokenStream {
        let path = &self.0;
        quote!(#path::__private)
    }

    /// The path, as if written at this place, so that the compiler points there.
    pub(crate) fn at(&self, place: Span) -> TokenStream {
        respan(self.here(), place)
    }
}

/// Absolute paths, as if written at this place: the compiler points there only if all of a call is.
fn respan(tokens: TokenStream, place: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            if let TokenTree::Group(group) = &token {
                token = proc_macro2::Group::new(group.delimiter(), respan(group.stream(), place)).into();
            }
            token.set_span(place);
            token
        })
        .collect()
}

/// The type that stands in a key.
pub(crate) fn part_type(ty: &Type, part: &Part, runtime: &Runtime) -> TokenStream {
    if part.sparse {
        let t = runtime.at(ty.span());
        quote_spanned!(ty.span()=> #t::PartOf<#ty>)
    } else {
        ty.to_token_stream()
    }
}

/// The runtime's type for an encoding.
pub(crate) fn part_encoding(entity: &Entity, part: &Part, runtime: &Runtime) -> TokenStream {
    let encoding = encoding_type(&part.encoding, part.span, runtime);
    match entity.separator.as_ref().and_then(|separator| separator.value.chars().next()) {
        Some(separator) => {
            let t = runtime.at(part.span);
            quote_spanned!(part.span=> #t::Separated<#encoding, #separator>)
        }
        None => encoding,
    }
}

fn encoding_type(encoding: &Encoding, place: Span, runtime: &Runtime) -> TokenStream {
    let t = runtime.at(place);
    let of = |of: &Encoding| encoding_type(of, place, runtime);
    let tokens = match encoding {
        Encoding::Plain => quote!(Plain),
        Encoding::Lowercase => quote!(Lowercase),
        Encoding::Uppercase => quote!(Uppercase),
        Encoding::First(count, inner) => {
            let (count, inner) = (Literal::usize_unsuffixed(*count), of(inner));
            quote!(First<#count, #inner>)
        }
        Encoding::Pad(digits) => {
            let digits = Literal::usize_unsuffixed(*digits);
            quote!(Pad<#digits>)
        }
        Encoding::Reverse(inner) => {
            let inner = of(inner);
            quote!(Reverse<#inner>)
        }
        Encoding::Time => quote!(Time),
        Encoding::ReverseTime => quote!(ReverseTime),
        Encoding::Hash(buckets, inner) => {
            let (buckets, inner) = (Literal::usize_unsuffixed(*buckets), of(inner));
            quote!(Hash<#buckets, #inner>)
        }
        Encoding::Raw => quote!(Raw),
    };
    respan(quote!(#t::#tokens), place)
}

/// The runtime's type for how a property is stored.
pub(crate) fn strategy_type(strategy: Strategy, default: bool, ty: &Type, runtime: &Runtime) -> TokenStream {
    let (name, place) = match strategy {
        Strategy::Native => (quote!(Native), ty.span()),
        Strategy::Json(place) => (quote!(Json), place),
        Strategy::Text(place) => (quote!(Text), place),
        Strategy::OptionText(place) => (quote!(OptionText), place),
    };
    let t = runtime.at(place);
    let strategy = if default { quote!(Defaulted<#t::#name>) } else { name };
    respan(quote!(#t::#strategy), place)
}

/// A name that no field's name can meet.
pub(crate) fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The same name, as if written at this place: a call is where all of its tokens are.
fn at(name: &Ident, place: Span) -> Ident {
    let mut name = name.clone();
    name.set_span(name.span().located_at(place));
    name
}

/// `self`, as if written at this place: a field may come from another macro, which has no `self`.
fn this(place: Span) -> Ident {
    Ident::new("self", Span::call_site().located_at(place))
}

/// A constant that is there or not.
fn option(value: Option<impl ToTokens>) -> TokenStream {
    value.map_or_else(|| quote!(::core::option::Option::None), |value| quote!(::core::option::Option::Some(#value)))
}
