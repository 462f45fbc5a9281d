//! The names of the generated functions.

use proc_macro2::Span;
use syn::Ident;

use crate::{attributes::Keys, errors::Errors, names};

/// Names of the functions that every entity has, each if the attribute sets it: `#[table(rename(key = "point"))]`.
#[derive(Default)]
pub(crate) struct Functions(Vec<(&'static str, Ident)>);

impl Functions {
    /// The functions that can have another name. A `by_NAME` has the name of its index.
    const ALL: [&'static str; 4] = ["key", "by_key", "by_partitions", "scan"];

    pub(super) fn read(keys: &mut Keys, is_field: impl Fn(&Ident) -> bool, errors: &mut Errors) -> Self {
        let Some(list) = keys.list("rename", errors) else { return Self::default() };
        let mut functions: Vec<(&'static str, Ident)> = Vec::new();
        for (function, name) in list.texts("function", errors) {
            if is_field(&function) {
                let message = format_args!(
                    "`rename` on the struct is for functions; the name of a property is on its field: \
                     `#[property(rename = \"{}\")]`",
                    name.value
                );
                errors.on(&function, message);
                continue;
            }
            let Some(position) = names::find(&function, "function", &Self::ALL, errors) else { continue };
            if functions.iter().any(|(before, _)| *before == Self::ALL[position]) {
                errors.on(&function, format_args!("duplicate function `{function}`; keep one"));
            }
            match syn::parse_str::<Ident>(&name.value) {
                Ok(mut ident) if !name.value.starts_with("r#") => {
                    ident.set_span(name.span.resolved_at(Span::call_site()));
                    functions.push((Self::ALL[position], ident));
                }
                _ => errors.at(name.span, format_args!("`{}` is not a name of a function", name.value)),
            }
        }
        Self(functions)
    }

    /// Reports a name of `scan`, if the entity has no such function.
    pub(super) fn check_scan(&self, allow_scan: bool, errors: &mut Errors) {
        if let (false, Some((_, name))) = (allow_scan, self.0.iter().find(|(function, _)| *function == "scan")) {
            errors.on(name, "`scan` is generated with `allow_scan`; add it, or remove this name");
        }
    }

    /// Returns the name of a function.
    pub(crate) fn name(&self, function: &str) -> String {
        let renamed = self.0.iter().find(|(renamed, _)| *renamed == function);
        renamed.map_or_else(|| function.to_owned(), |(_, name)| name.to_string())
    }
}
