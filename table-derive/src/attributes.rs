//! The keys of an attribute, pulled one by one.
//!
//! A reader asks for the keys that it knows; what nobody asked for is unknown. So the list of keys is written once, as
//! the code that reads them, and a misspelt key is compared with exactly that list.

use std::ops::RangeInclusive;

use proc_macro2::Span;
use syn::{
    Attribute, Expr, ExprLit, ExprPath, Ident, Lit, LitStr, Meta, MetaList, MetaNameValue, Path, Token,
    ext::IdentExt as _,
    parse::{Parse, ParseStream, discouraged::Speculative as _},
    punctuated::Punctuated,
    spanned::Spanned as _,
};

use crate::{errors::Errors, model::Text};

/// The attributes that the derives know, and where each is put.
const PLACES: [(&str, &str); 4] = [
    ("table", "on the struct"),
    ("partition_key", "on a field"),
    ("row_key", "on a field"),
    ("property", "on a field"),
];

/// All keys of the attributes of one name on one item.
pub(crate) struct Keys {
    attribute: &'static str,
    place: Option<Span>,
    given: Vec<(String, Meta)>,
    known: Vec<&'static str>,
}

impl Keys {
    /// The attributes of this name, which may be written several times: their keys are one list.
    pub(crate) fn read(attributes: &[Attribute], attribute: &'static str, errors: &mut Errors) -> Self {
        let mut keys = Self::new(attribute, None);
        for found in attributes.iter().filter(|found| found.path().is_ident(attribute)) {
            keys.place.get_or_insert(found.path().span());
            keys.read_one(found, errors);
        }
        keys
    }

    /// The attribute of this name, which may be written once.
    pub(crate) fn read_once(attributes: &[Attribute], attribute: &'static str, errors: &mut Errors) -> Option<Self> {
        let mut found = attributes.iter().filter(|found| found.path().is_ident(attribute));
        let first = found.next()?;
        for again in found {
            errors.on(again.path(), format_args!("`#[{attribute}]` stands here already; write one, with all its keys"));
        }
        let mut keys = Self::new(attribute, Some(first.path().span()));
        keys.read_one(first, errors);
        Some(keys)
    }

    /// The attributes of this name, which may be written several times, each with keys of its own.
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

    fn new(attribute: &'static str, place: Option<Span>) -> Self {
        Self { attribute, place, given: Vec::new(), known: Vec::new() }
    }

    /// Whether it could be read.
    fn read_one(&mut self, found: &Attribute, errors: &mut Errors) -> bool {
        let name = self.attribute;
        match &found.meta {
            Meta::Path(_) if name == "table" => {
                errors.on(found.path(), "`#[table]` needs keys: `#[table(name = \"…\")]`");
                false
            }
            Meta::Path(_) if name == "index" => {
                errors.on(found.path(), "`#[index]` begins with its name: `#[index(name, …)]`");
                false
            }
            Meta::Path(_) if name == "projection" => {
                errors.on(found.path(), "`#[projection]` says of which entity: `#[projection(of = Post)]`");
                false
            }
            Meta::Path(_) => true,
            Meta::NameValue(pair) => {
                errors.on(pair, format_args!("`#[{name}]` takes its keys in parentheses: `#[{name}(…)]`"));
                false
            }
            Meta::List(list) => match list.parse_args_with(|input: ParseStream<'_>| {
                Punctuated::<Meta, Token![,]>::parse_terminated_with(input, given)
            }) {
                Ok(metas) if metas.is_empty() => {
                    let mend = if name == "table" { "remove it" } else { "remove the parentheses" };
                    errors.on(list, format_args!("`#[{name}()]` says nothing; write a key into it, or {mend}"));
                    false
                }
                Ok(metas) => {
                    self.given.extend(metas.into_iter().map(|meta| (written(meta.path()), meta)));
                    true
                }
                Err(error) => {
                    errors.push(error);
                    false
                }
            },
        }
    }

    /// Where the attribute stands, if it does.
    pub(crate) fn place(&self) -> Option<Span> {
        self.place
    }

    /// Whether a key is written; this does not take it.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.given.iter().any(|(name, _)| name == key)
    }

    fn take(&mut self, key: &'static str, errors: &mut Errors) -> Option<Meta> {
        self.known.push(key);
        let first = self.given.iter().position(|(name, _)| name == key)?;
        let (_, meta) = self.given.remove(first);
        self.given.retain(|(name, again)| {
            if name == key {
                errors.on(again.path(), format_args!("`{key}` stands here already; keep one"));
            }
            name != key
        });
        Some(meta)
    }

    /// The name that the attribute begins with; nothing if it begins otherwise.
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
                errors.on(other, format_args!("`#[{attribute}]` begins with its name: `#[{attribute}(name, …)]`"));
                None
            }
        }
    }

    /// A key without a value.
    pub(crate) fn flag(&mut self, key: &'static str, errors: &mut Errors) -> Option<Span> {
        let meta = self.take(key, errors)?;
        if !matches!(meta, Meta::Path(_)) {
            errors.on(&meta, format_args!("`{key}` takes no value; write `{key}`"));
        }
        Some(meta.path().span())
    }

    /// A key with a text.
    pub(crate) fn text(&mut self, key: &'static str, errors: &mut Errors) -> Option<LitStr> {
        let meta = self.take(key, errors)?;
        let text = text_of(&meta);
        if text.is_none() {
            errors.on(&meta, format_args!("`{key}` takes a text; write `{key} = \"…\"`"));
        }
        text
    }

    /// A key whose text may be left out.
    pub(crate) fn flag_or_text(&mut self, key: &'static str, errors: &mut Errors) -> Option<(Span, Option<LitStr>)> {
        let meta = self.take(key, errors)?;
        let text = text_of(&meta);
        if text.is_none() && !matches!(meta, Meta::Path(_)) {
            errors.on(&meta, format_args!("`{key}` takes a text or nothing; write `{key} = \"…\"` or `{key}`"));
        }
        Some((meta.path().span(), text))
    }

    /// A key with a whole number. One that is none, or outside the range, gives a number of the range.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<usize>,
        errors: &mut Errors,
    ) -> Option<(Span, usize)> {
        let meta = self.take(key, errors)?;
        let (low, high) = range.clone().into_inner();
        let number = match value_of(&meta) {
            Some(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) => number.base10_parse().ok(),
            _ => None,
        };
        // A number in quotes is the number that was meant.
        let quoted = text_of(&meta).and_then(|text| text.value().parse().ok()).filter(|number| range.contains(number));
        let mend = quoted.unwrap_or(low);
        let number = match number {
            Some(number) if range.contains(&number) => number,
            _ => {
                let message = format_args!("`{key}` takes a whole number from {low} to {high}; write `{key} = {mend}`");
                match value_of(&meta) {
                    Some(value) => errors.on(value, message),
                    None => errors.on(&meta, message),
                }
                mend
            }
        };
        Some((meta.path().span(), number))
    }

    /// A key with a path.
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

    /// A key with a name and a field in parentheses, such as `slice = month(posted)`.
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

    /// A key with a list in parentheses.
    pub(crate) fn list(&mut self, key: &'static str, errors: &mut Errors) -> Option<List> {
        match self.take(key, errors)? {
            Meta::List(list) => Some(List { key, list }),
            other => {
                errors.on(other, format_args!("`{key}` takes a list; write `{key}(…)`"));
                None
            }
        }
    }

    /// What nobody asked for is unknown.
    pub(crate) fn finish(self, errors: &mut Errors) {
        let Self { attribute, given, known, .. } = self;
        for (name, meta) in given {
            errors.on(meta.path(), format_args!("unknown key `{name}`; {}", advice(&name, attribute, &known)));
        }
    }
}

/// What a key holds in parentheses.
pub(crate) struct List {
    key: &'static str,
    list: MetaList,
}

impl List {
    /// Where the key is written.
    pub(crate) fn span(&self) -> Span {
        self.list.path.span()
    }

    fn parse<T: Parse>(&self, what: &str, errors: &mut Errors) -> Vec<T> {
        match self.list.parse_args_with(Punctuated::<T, Token![,]>::parse_terminated) {
            Ok(items) if items.is_empty() => {
                errors.on(&self.list, format_args!("`{0}()` says nothing; write `{0}({what})`", self.key));
                Vec::new()
            }
            Ok(items) => items.into_iter().collect(),
            Err(error) => {
                errors.push(error);
                Vec::new()
            }
        }
    }

    /// `a, b`
    pub(crate) fn idents(&self, errors: &mut Errors) -> Vec<Ident> {
        self.parse("field, …", errors)
    }

    /// `a, some::path`
    pub(crate) fn paths(&self, errors: &mut Errors) -> Vec<ExprPath> {
        self.parse("field, path", errors)
    }

    /// `a = "…", b = "…"`
    pub(crate) fn texts(&self, errors: &mut Errors) -> Vec<(Ident, LitStr)> {
        let metas = self.parse::<Meta>("field = \"…\"", errors);
        let text = |meta: Meta| {
            if let (Some(ident), Some(text)) = (meta.path().get_ident(), text_of(&meta)) {
                return Some((ident.clone(), text));
            }
            errors.on(&meta, format_args!("`{0}` takes texts by field; write `{0}(field = \"…\")`", self.key));
            None
        };
        metas.into_iter().filter_map(text).collect()
    }

    /// `a, b(keys)`: each field and its keys, which are those of an `attribute`.
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
                        Ok(given) => keys.given.extend(given.into_iter().map(|meta| (written(meta.path()), meta))),
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

/// The place of the name that is meant among those that there are, each of which is a `what`.
pub(crate) fn find(ident: &Ident, what: &str, names: &[&str], errors: &mut Errors) -> Option<usize> {
    let name = ident.unraw().to_string();
    let found = names.iter().position(|other| *other == name);
    if found.is_none() {
        let meant = match nearest(&name, names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("there are {}", list(names)),
        };
        errors.on(ident, format_args!("no {what} is called `{name}`; {meant}"));
    }
    found
}

/// The key meant, the attribute meant, or all keys that there are.
fn advice(name: &str, attribute: &str, known: &[&str]) -> String {
    if let Some(meant) = nearest(name, known) {
        return format!("did you mean `{meant}`?");
    }
    let encodings = ["lowercase", "uppercase", "first", "pad", "reverse", "time", "reverse_time", "hash", "raw"];
    if encodings.contains(&name) && attribute == "index" {
        return format!(
            "an encoding belongs to a field of the index: `partition(field({name}))` or `row(field({name}))`"
        );
    }
    if encodings.contains(&name) {
        return format!("an encoding belongs to a key part: `#[row_key({name})]` or `#[partition_key({name})]`");
    }
    match known {
        [] => format!("`#[{attribute}]` has none here"),
        _ => format!("`#[{attribute}(…)]` knows {}", list(known)),
    }
}

/// The known name that is at most a third of its letters away, or goes on from this one.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |other: &str| strsim::damerau_levenshtein(name, other);
    let best = known.iter().copied().min_by_key(|other| distance(other))?;
    let near = distance(best) <= name.len().max(best.len()).div_ceil(3);
    let longer = || known.iter().copied().find(|other| name.len() > 2 && other.starts_with(name));
    near.then_some(best).or_else(longer)
}

/// `` `a`, `b` and `c` ``
pub(crate) fn list(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Attributes that belong elsewhere.
pub(crate) fn refuse(attributes: &[Attribute], names: &[&str], here: &str, errors: &mut Errors) {
    for (name, place) in PLACES.iter().filter(|(name, _)| names.contains(name)) {
        for found in attributes.iter().filter(|found| found.path().is_ident(name)) {
            errors.on(found.path(), format_args!("`#[{name}]` has no meaning {here}; put it {place}"));
        }
    }
}

/// A key of an attribute. Its value may be a path as it stands in types, `of = Item<String>`, which no expression is.
fn given(input: ParseStream<'_>) -> syn::Result<Meta> {
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
    // A `macro_rules` fragment comes in an invisible group.
    while let Expr::Group(group) = value {
        value = &group.expr;
    }
    Some(value)
}

fn text_of(meta: &Meta) -> Option<LitStr> {
    match value_of(meta) {
        Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => Some(text.clone()),
        _ => None,
    }
}

fn written(path: &Path) -> String {
    let segments: Vec<_> = path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect();
    segments.join("::")
}
