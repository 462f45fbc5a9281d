//! The path of the runtime crate.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{Attribute, Path};

use crate::{attributes::Keys, errors::Errors};

/// Path of the runtime crate: `::table_runtime`, or the path that the key `crate` sets.
pub(crate) enum Runtime {
    Crate(Path),
    /// The alias of the crate's module for generated code, in the block that [`alias`](Self::alias) begins.
    Alias,
}

/// Name of the alias. A path of one name is shorter for the compiler in each of its passes.
const ALIAS: &str = "__table";

impl Runtime {
    /// Reads the key `crate` of an attribute. Errors in the attribute are ignored here, because a stub needs the path
    /// even if other keys are wrong; the reader of the other keys reports them.
    pub(crate) fn read(attributes: &[Attribute], attribute: &'static str) -> Self {
        let mut ignored = Errors::default();
        let mut keys = Keys::read(attributes, attribute, &mut ignored);
        Self::Crate(keys.path("crate", &mut ignored).unwrap_or_else(|| syn::parse_quote!(::table_runtime)))
    }

    /// Returns true if the derive is used inside of the runtime itself.
    pub(crate) fn is_own_crate(&self) -> bool {
        matches!(self, Self::Crate(path) if path.is_ident("crate"))
    }

    /// Returns the path of the module for generated code.
    pub(crate) fn here(&self) -> TokenStream {
        self.at(Span::call_site())
    }

    /// Returns the declaration of the alias.
    pub(crate) fn alias(&self) -> TokenStream {
        let (path, alias) = (self.here(), Ident::new(ALIAS, Span::call_site()));
        quote!(use #path as #alias;)
    }

    /// Returns the path of the module for generated code with a span, so that the compiler reports errors there.
    pub(crate) fn at(&self, span: Span) -> TokenStream {
        let mut path = match self {
            Self::Crate(path) => path.clone(),
            Self::Alias => return Ident::new(ALIAS, span).into_token_stream(),
        };
        if let Some(colons) = &mut path.leading_colon {
            colons.spans = [span; 2];
        }
        for pair in path.segments.pairs_mut() {
            let (segment, colons) = pair.into_tuple();
            segment.ident.set_span(span);
            if let Some(colons) = colons {
                colons.spans = [span; 2];
            }
        }
        // A token at a time: to give a stream of tokens another span takes the compiler much longer.
        quote_spanned!(span=> #path::__private)
    }
}
