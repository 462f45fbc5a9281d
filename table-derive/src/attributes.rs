//! The reader of attributes. Callers take the keys of an attribute one by one.
//!
//! A key that no caller takes is unknown. Therefore the code that takes the keys is the only list of the known keys, and
//! suggestions for a misspelt key come from that list.

use std::ops::RangeInclusive;

use proc_macro2::Span;
use syn::{
    Attribute, Expr, ExprLit, ExprPath, Ident, Lit, LitStr, Meta, MetaList, MetaNameValue, Path, Token,
    ext::IdentExt as _,
    parse::{Parse, ParseStream, discouraged::Speculative as _},
    punctuated::Punctuated,
    spanned::Spanned as _,
};

use crate::{
    encoding_option::EncodingOption,
    errors::Errors,
    names::{list, nearest},
    text::Text,
};

/// The attributes that can be misplaced, and the place of each.
const PLACES: [(&str, &str); 4] = [
    ("table", "on the struct"),
    ("partition_key", "on a field"),
    ("row_key", "on a field"),
    ("property", "on a field"),
];

/// Keys of the attributes of one name on one item.
pub(crate) struct Keys {
    attribute: &'static str,
    span: Option<Span>,
    /// The keys that no caller has taken yet, with their names.
    given: Vec<(String, Meta)>,
    /// The names that callers asked for.
    known: Vec<&'static str>,
}

impl Keys {
    /// Reads an attribute that may be written several times. The keys of all of them are one list.
    pub(crate) fn read(attributes: &[Attribute], attribute: &'static str, errors: &mut Errors) -> Self {
        let mut keys = Self::new(attribute, None);
        for found in attributes.iter().filter(|found| found.path().is_ident(attribute)) {
            keys.span.get_or_insert(found.path().span());
            keys.read_one(found, errors);
        }
        keys
    }

    /// Reads an attribute that may be written once.
    pub(crate) fn read_once(attributes: &[Attribute], attribute: &'static str, errors: &mut Errors) -> Option<Self> {
        let mut found = attributes.iter().filter(|found| found.path().is_ident(attribute));
        let first = found.next()?;
        for again in found {
            errors.on(again.path(), format_args!("duplicate `#[{attribute}]`; write one attribute with all keys"));
        }
        let mut keys = Self::new(attribute, Some(first.path().span()));
        keys.read_one(first, errors);
        Some(keys)
    }

    /// Reads an attribute that may be written several times, each with its own keys.
    pub(crate) fn read_each(
        attributes: &[Attribute],
        attribute: &'static str,
        errors: &mut Errors,
    ) -> impl Iterator<Item = Self> {
        let found: Vec<_> = attributes
            .iter()
            .filter(|found| found.path().is_ident(attribute))
            .filter_map(|found| {
                let mut keys = Self::new(attribute, Some(found.path().span()));
                keys.read_one(found, errors).then_some(keys)
            })
            .collect();
        found.into_iter()
    }

    fn new(attribute: &'static str, span: Option<Span>) -> Self {
        Self { attribute, span, given: Vec::new(), known: Vec::new() }
    }

    /// Adds the keys of an attribute. Returns false if the attribute is malformed.
    fn read_one(&mut self, found: &Attribute, errors: &mut Errors) -> bool {
        let name = self.attribute;
        match &found.meta {
            Meta::Path(_) if name == "table" => {
                errors.on(found.path(), "`#[table]` needs a key; write `#[table(name = \"…\")]`");
                false
            }
            Meta::Path(_) if name == "index" => {
                errors.on(found.path(), "`#[index]` needs the name of the index first; write `#[index(name, …)]`");
                false
            }
            Meta::Path(_) if name == "projection" => {
                errors.on(found.path(), "`#[projection]` needs the entity; write `#[projection(of = Post)]`");
                false
            }
            Meta::Path(_) => true,
            Meta::NameValue(pair) => {
                errors.on(pair, format_args!("the keys of `#[{name}]` must be in parentheses; write `#[{name}(…)]`"));
                false
            }
            Meta::List(list) => match list.parse_args_with(|input: ParseStream<'_>| {
                Punctuated::<Meta, Token![,]>::parse_terminated_with(input, parse_key)
            }) {
                Ok(metas) if metas.is_empty() => {
                    let fix = if name == "table" { "remove it" } else { "remove the parentheses" };
                    errors.on(list, format_args!("`#[{name}()]` is empty; add a key, or {fix}"));
                    false
                }
                Ok(metas) => {
                    self.given.extend(metas.into_iter().map(|meta| (path_text(meta.path()), meta)));
                    true
                }
                Err(error) => {
                    errors.push(error);
                    false
                }
            },
        }
    }

    /// Returns the span of the attribute, if there is one.
    pub(crate) fn span(&self) -> Option<Span> {
        self.span
    }

    /// Returns true if a key is written. Does not take the key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.given.iter().any(|(name, _)| name == key)
    }

    fn take(&mut self, key: &'static str, errors: &mut Errors) -> Option<Meta> {
        self.known.push(key);
        let first = self.given.iter().position(|(name, _)| name == key)?;
        let (_, meta) = self.given.remove(first);
        self.given.retain(|(name, again)| {
            if name == key {
                errors.on(again.path(), format_args!("duplicate key `{key}`; keep one"));
            }
            name != key
        });
        Some(meta)
    }

    /// Takes the name with which the attribute begins. Reports an error if the attribute begins with something else.
    pub(crate) fn name(&mut self, errors: &mut Errors) -> Option<Text> {
        let (value, first) = self.given.first()?;
        match first {
            Meta::Path(path) if path.get_ident().is_some() => {
                let name = Text { value: value.clone(), span: path.span() };
                self.given.remove(0);
                Some(name)
            }
            other => {
                let attribute = self.attribute;
                let message =
                    format_args!("`#[{attribute}]` needs the name of the index first; write `#[{attribute}(name, …)]`");
                errors.on(other, message);
                None
            }
        }
    }

    /// Takes a key without a value.
    pub(crate) fn flag(&mut self, key: &'static str, errors: &mut Errors) -> Option<Span> {
        let meta = self.take(key, errors)?;
        if !matches!(meta, Meta::Path(_)) {
            errors.on(&meta, format_args!("`{key}` takes no value; write `{key}`"));
        }
        Some(meta.path().span())
    }

    /// Takes a key with a string.
    pub(crate) fn text(&mut self, key: &'static str, errors: &mut Errors) -> Option<Text> {
        let meta = self.take(key, errors)?;
        let literal = literal_of(&meta);
        if literal.is_none() {
            errors.on(&meta, format_args!("`{key}` takes a string; write `{key} = \"…\"`"));
        }
        literal.as_ref().map(Text::from)
    }

    /// Takes a key with or without a string. Returns the default if the key has no string.
    pub(crate) fn text_or(&mut self, key: &'static str, default: &str, errors: &mut Errors) -> Option<String> {
        let meta = self.take(key, errors)?;
        let literal = literal_of(&meta);
        if literal.is_none() && !matches!(meta, Meta::Path(_)) {
            errors.on(&meta, format_args!("`{key}` takes a string or no value; write `{key} = \"…\"` or `{key}`"));
        }
        Some(literal.map_or_else(|| default.to_owned(), |literal| literal.value()))
    }

    /// Takes a key with a whole number. After an error the returned number is one of the range.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<usize>,
        errors: &mut Errors,
    ) -> Option<(Span, usize)> {
        let meta = self.take(key, errors)?;
        let number = match value_of(&meta) {
            Some(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) => number.base10_parse().ok(),
            _ => None,
        };
        let number = number.filter(|number| range.contains(number)).unwrap_or_else(|| {
            // A number in quotes is probably the intended number.
            let quoted = literal_of(&meta).and_then(|literal| literal.value().parse().ok());
            let fix = quoted.filter(|number| range.contains(number)).unwrap_or(*range.start());
            let (low, high) = (range.start(), range.end());
            let message = format_args!("`{key}` takes a whole number from {low} to {high}; write `{key} = {fix}`");
            match value_of(&meta) {
                Some(value) => errors.on(value, message),
                None => errors.on(&meta, message),
            }
            fix
        });
        Some((meta.path().span(), number))
    }

    /// Takes a key with a path.
    pub(crate) fn path(&mut self, key: &'static str, errors: &mut Errors) -> Option<Path> {
        let meta = self.take(key, errors)?;
        if let Some(Expr::Path(path)) = value_of(&meta)
            && path.qself.is_none()
        {
            return Some(path.path.clone());
        }
        errors.on(&meta, format_args!("`{key}` takes a path; write `{key} = some::path`"));
        None
    }

    /// Takes a key with a name and a field in parentheses, such as `slice = month(posted)`.
    pub(crate) fn call(&mut self, key: &'static str, example: &str, errors: &mut Errors) -> Option<(Ident, Ident)> {
        let meta = self.take(key, errors)?;
        let ident = |expression: &Expr| match expression {
            Expr::Path(path) => path.path.get_ident().cloned(),
            _ => None,
        };
        if let Some(Expr::Call(call)) = value_of(&meta)
            && call.args.len() == 1
            && let (Some(name), Some(field)) = (ident(&call.func), call.args.first().and_then(ident))
        {
            return Some((name, field));
        }
        errors.on(&meta, format_args!("`{key}` takes a unit and a field; write `{key} = {example}`"));
        None
    }

    /// Takes a key with a list in parentheses.
    pub(crate) fn list(&mut self, key: &'static str, errors: &mut Errors) -> Option<List> {
        match self.take(key, errors)? {
            Meta::List(list) => Some(List { key, list }),
            other => {
                errors.on(other, format_args!("`{key}` takes a list; write `{key}(…)`"));
                None
            }
        }
    }

    /// Reports each key that no caller took as unknown.
    pub(crate) fn finish(self, errors: &mut Errors) {
        let Self { attribute, given, known, .. } = self;
        for (name, meta) in given {
            errors.on(meta.path(), format_args!("unknown key `{name}`; {}", advice(&name, attribute, &known)));
        }
    }
}

/// List in parentheses after a key.
pub(crate) struct List {
    key: &'static str,
    list: MetaList,
}

impl List {
    /// Returns the span of the key.
    pub(crate) fn span(&self) -> Span {
        self.list.path.span()
    }

    fn parse<T: Parse>(&self, example: &str, errors: &mut Errors) -> Vec<T> {
        match self.list.parse_args_with(Punctuated::<T, Token![,]>::parse_terminated) {
            Ok(items) if items.is_empty() => {
                errors.on(&self.list, format_args!("`{0}()` is empty; write `{0}({example})`", self.key));
                Vec::new()
            }
            Ok(items) => items.into_iter().collect(),
            Err(error) => {
                errors.push(error);
                Vec::new()
            }
        }
    }

    /// Parses `a, b`.
    pub(crate) fn idents(&self, errors: &mut Errors) -> Vec<Ident> {
        self.parse("field, …", errors)
    }

    /// Parses `a, some::path`.
    pub(crate) fn paths(&self, errors: &mut Errors) -> Vec<ExprPath> {
        self.parse("field, path", errors)
    }

    /// Parses `a = "…", b = "…"`.
    pub(crate) fn texts(&self, errors: &mut Errors) -> Vec<(Ident, Text)> {
        let metas = self.parse::<Meta>("field = \"…\"", errors);
        let text = |meta: Meta| {
            if let (Some(ident), Some(literal)) = (meta.path().get_ident(), literal_of(&meta)) {
                return Some((ident.clone(), Text::from(&literal)));
            }
            let message = format_args!("`{0}` takes a string for each field; write `{0}(field = \"…\")`", self.key);
            errors.on(&meta, message);
            None
        };
        metas.into_iter().filter_map(text).collect()
    }

    /// Parses `a, b(keys)`: fields and the keys of each. Errors name the keys as those of `attribute`.
    pub(crate) fn fields(&self, attribute: &'static str, errors: &mut Errors) -> Vec<(Ident, Keys)> {
        let metas = self.parse::<Meta>("field, …", errors);
        let field = |meta: Meta| {
            let mut keys = Keys::new(attribute, Some(meta.span()));
            let ident = meta.path().get_ident().cloned();
            match (&meta, ident) {
                (Meta::Path(_), Some(ident)) => return Some((ident, keys)),
                (Meta::List(list), Some(ident)) => {
                    let given = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
                    match given {
                        Ok(given) => keys.given.extend(given.into_iter().map(|meta| (path_text(meta.path()), meta))),
                        Err(error) => errors.push(error),
                    }
                    return Some((ident, keys));
                }
                _ => errors.on(&meta, format_args!("`{0}` takes fields; write `{0}(field, …)`", self.key)),
            }
            None
        };
        metas.into_iter().filter_map(field).collect()
    }
}

/// Reports attributes that are on the wrong item. `here` describes that item.
pub(crate) fn refuse(attributes: &[Attribute], names: &[&str], here: &str, errors: &mut Errors) {
    for (name, place) in PLACES.iter().filter(|(name, _)| names.contains(name)) {
        for found in attributes.iter().filter(|found| found.path().is_ident(name)) {
            errors.on(found.path(), format_args!("`#[{name}]` cannot be used {here}; put it {place}"));
        }
    }
}

/// Returns what to write instead of an unknown key: a similar key, the right attribute, or any of the known keys.
fn advice(name: &str, attribute: &str, known: &[&str]) -> String {
    if let Some(nearest) = nearest(name, known) {
        return format!("did you mean `{nearest}`?");
    }
    if EncodingOption::named(name).is_some() {
        return if attribute == "index" {
            format!(
                "an encoding belongs to a field of the index; write `partition(field({name}))` or `row(field({name}))`"
            )
        } else {
            format!("an encoding belongs to a key part; write `#[row_key({name})]` or `#[partition_key({name})]`")
        };
    }
    match known {
        [] => format!("`#[{attribute}]` takes no keys here"),
        _ => format!("`#[{attribute}(…)]` takes {}", list(known)),
    }
}

/// Parses a key of an attribute. The value may be a path in the syntax of types, such as `of = Item<String>`, which is
/// not an expression.
fn parse_key(input: ParseStream<'_>) -> syn::Result<Meta> {
    let pair = |input: ParseStream<'_>| -> syn::Result<Meta> {
        let (path, eq_token) = (input.call(Path::parse_mod_style)?, input.parse()?);
        let value = ExprPath { attrs: Vec::new(), qself: None, path: input.parse()? };
        Ok(Meta::NameValue(MetaNameValue { path, eq_token, value: Expr::Path(value) }))
    };
    let ahead = input.fork();
    match pair(&ahead) {
        Ok(pair) if ahead.is_empty() || ahead.peek(Token![,]) => {
            input.advance_to(&ahead);
            Ok(pair)
        }
        _ => input.parse(),
    }
}

fn value_of(meta: &Meta) -> Option<&Expr> {
    let Meta::NameValue(pair) = meta else { return None };
    let mut value = &pair.value;
    // A fragment of `macro_rules` is in an invisible group.
    while let Expr::Group(group) = value {
        value = &group.expr;
    }
    Some(value)
}

fn literal_of(meta: &Meta) -> Option<LitStr> {
    match value_of(meta) {
        Some(Expr::Lit(ExprLit { lit: Lit::Str(literal), .. })) => Some(literal.clone()),
        _ => None,
    }
}

fn path_text(path: &Path) -> String {
    let segments: Vec<_> = path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect();
    segments.join("::")
}
