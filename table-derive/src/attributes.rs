//! The reader of attributes. Callers take the keys of an attribute one by one.
//!
//! A key that no caller takes is unknown. Therefore the code that takes the keys is the only list of the known keys, and
//! suggestions for a misspelt key come from that list.

mod repair;
mod synonyms;

use std::ops::RangeInclusive;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Attribute, Expr, ExprLit, ExprPath, Ident, Lit, LitStr, MacroDelimiter, Member, Meta, MetaList, MetaNameValue,
    Path, Token,
    ext::IdentExt as _,
    parse::{Parse, ParseStream, discouraged::Speculative as _},
    punctuated::Punctuated,
    spanned::Spanned as _,
    token,
};

use self::repair::{AloneText, Items, Place, repaired, written};
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
    /// True after an error about the syntax of a key. An unknown key is then a part of the same mistake.
    is_repaired: bool,
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
    ///
    /// `field` is the one that it is on.
    pub(crate) fn read_each(
        attributes: &[Attribute],
        attribute: &'static str,
        field: Option<&str>,
        errors: &mut Errors,
    ) -> impl Iterator<Item = Self> {
        let found: Vec<_> = attributes
            .iter()
            .filter(|found| found.path().is_ident(attribute))
            .filter_map(|found| {
                if let (Meta::Path(_), Some(field)) = (&found.meta, field) {
                    let fix = format!(
                        "write `#[index({field}, same_partition)]` to search in one partition, or `#[index({field})]` in all of them"
                    );
                    errors.on(found.path(), format_args!("`#[index]` needs the name of the index first; {fix}"));
                    return None;
                }
                let mut keys = Self::new(attribute, Some(found.path().span()));
                keys.read_one(found, errors).then_some(keys)
            })
            .collect();
        found.into_iter()
    }

    /// Adds keys that no caller has taken yet.
    fn give(&mut self, keys: impl IntoIterator<Item = Meta>) {
        self.given.extend(keys.into_iter().map(|meta| (path_text(meta.path()), meta)));
    }

    fn new(attribute: &'static str, span: Option<Span>) -> Self {
        Self { attribute, span, given: Vec::new(), known: Vec::new(), is_repaired: false }
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
                let meant = place(name).meant(&pair.value.to_token_stream());
                let fix = written(&meant);
                let message = "the keys of an attribute must be in parentheses";
                errors.on(pair, format_args!("{message}; write `#[{name}({fix})]`"));
                self.is_repaired = true;
                let delimiter = MacroDelimiter::Paren(token::Paren(pair.span()));
                self.read_keys(&MetaList { path: pair.path.clone(), delimiter, tokens: meant }, errors)
            }
            Meta::List(list)
                if name == "index"
                    && let Some(path) = path_as_name(&list.tokens) =>
            {
                let name = path.rsplit('.').next().unwrap_or_default();
                let message =
                    format_args!("an index has a name; write `#[index({name}, …, row({path}))]` on the struct");
                errors.on(&list.tokens, message);
                false
            }
            Meta::List(list) => {
                let (tokens, is_repaired) = repaired(&list.tokens, &place(name), errors);
                self.is_repaired |= is_repaired;
                // Nothing is left of a list of a number.
                is_repaired && tokens.is_empty() || self.read_keys(&MetaList { tokens, ..list.clone() }, errors)
            }
        }
    }

    fn read_keys(&mut self, list: &MetaList, errors: &mut Errors) -> bool {
        let name = self.attribute;
        match list.parse_args_with(|input: ParseStream<'_>| {
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
                let message = format_args!(
                    "{error}; write the keys of `#[{name}(…)]` as `key` or `key = value`, with commas between"
                );
                errors.at(error.span(), message);
                false
            }
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

    /// Returns true if a key is another library's word for `partition(…)` or `row(…)`, which [`finish`](Self::finish) reports.
    pub(crate) fn has_synonym_of_list(&self) -> bool {
        self.given.iter().any(|(name, _)| synonyms::is_list_of_index(name))
    }

    fn take(&mut self, key: &'static str, errors: &mut Errors) -> Option<Meta> {
        self.known.push(key);
        let first = self.given.iter().position(|(name, _)| name == key)?;
        let (_, meta) = self.given.remove(first);
        self.given.retain(|(name, again)| {
            if name == key {
                let help = if key == "from" {
                    ": `from` takes one struct, whose own `from` may lead to an older one"
                } else {
                    ""
                };
                errors.on(again.path(), format_args!("duplicate key `{key}`; keep one{help}"));
            }
            name != key
        });
        Some(meta)
    }

    /// Takes the name of an index. Reports an error if the attribute begins with something else, or with the name of the
    /// query.
    pub(crate) fn name(&mut self, errors: &mut Errors) -> Option<Text> {
        self.first_name(errors).map(|name| repair::index_name(name, errors))
    }

    /// Takes the name with which the attribute begins, or which contains all other keys: `#[index(name(…))]`.
    fn first_name(&mut self, errors: &mut Errors) -> Option<Text> {
        let (value, first) = self.given.first()?;
        match first {
            Meta::List(list) if self.given.len() == 1 && list.path.get_ident().is_some() => {
                let (name, list) = (Text { value: value.clone(), span: list.path.span() }, list.clone());
                self.given.clear();
                let place = Place {
                    open: format!("#[{}({}(", self.attribute, name.value),
                    close: "))]",
                    items: Items::Keys,
                    text: AloneText::Name,
                };
                let (tokens, is_repaired) = repaired(&list.tokens, &place, errors);
                self.is_repaired |= is_repaired;
                self.read_keys(&MetaList { tokens, ..list }, errors);
                Some(name)
            }
            Meta::Path(path) if path.get_ident().is_some() => {
                let name = Text { value: value.clone(), span: path.span() };
                self.given.remove(0);
                Some(name)
            }
            other => {
                let attribute = self.attribute;
                // The query of the index `title` is `by_title`.
                let given = literal_of(other).filter(|_| other.path().is_ident("name")).map(|name| Text::from(&name));
                let name = given.as_ref().map_or("name", |given| given.value.trim_start_matches("by_"));
                let message = format_args!(
                    "`#[{attribute}]` needs the name of the index first; write `#[{attribute}({name}, …)]`"
                );
                errors.on(other, message);
                if let Some(Text { span, .. }) = given
                    && syn::parse_str::<Ident>(name).is_ok()
                {
                    self.given.remove(0);
                    return Some(Text { value: name.to_owned(), span });
                }
                None
            }
        }
    }

    /// Takes a key without a value.
    pub(crate) fn flag(&mut self, key: &'static str, errors: &mut Errors) -> Option<Span> {
        self.flag_with(key, "", errors)
    }

    /// Takes a key without a value. The error about a value has more help.
    pub(crate) fn flag_with(&mut self, key: &'static str, help: &str, errors: &mut Errors) -> Option<Span> {
        let meta = self.take(key, errors)?;
        if !matches!(meta, Meta::Path(_)) {
            let help = match (key, &meta) {
                ("copy", Meta::List(list)) => format!("help: for some properties, write `include({})`", list.tokens),
                ("unique", Meta::List(list)) => format!(
                    "help: for a value that is unique for each `{0}`: `same_partition, unique` if `{0}` is the partition key, or \
                     `partition({0}), row(field), unique` on the struct",
                    list.tokens
                ),
                ("each", Meta::List(list)) => {
                    format!("help: the encoding of the elements is an option of its own: `each, {}`", list.tokens)
                }
                _ => help.to_owned(),
            };
            let gap = if help.is_empty() { "" } else { "\n" };
            errors.on(&meta, format_args!("`{key}` takes no value; write `{key}`{gap}{help}"));
        }
        Some(meta.path().span())
    }

    /// Takes a key with a string.
    pub(crate) fn text(&mut self, key: &'static str, errors: &mut Errors) -> Option<Text> {
        let meta = self.take(key, errors)?;
        let literal = literal_of(&meta);
        if let (Some(Expr::Call(call)), "partition" | "row") = (value_of(&meta), key)
            && let Expr::Path(function) = &*call.func
            && function.path.get_ident().is_some_and(|name| EncodingOption::named(&name.to_string()).is_some())
        {
            let field = call.args.first().map_or_else(|| "field".to_owned(), |field| written(&field.to_token_stream()));
            let encoding = written(&function.path.to_token_stream());
            let encoding = if encoding == "hash" { "hash = 16" } else { &encoding };
            let message =
                format_args!("`{key}` is a constant text; write `#[{key}_key({encoding})]` on the field `{field}`");
            errors.on(&meta, message);
        } else if literal.is_none() && value_of(&meta).is_some_and(is_computed) {
            let message = "takes the text itself, because an attribute cannot read a constant or call a macro";
            let help = "help: write it in quotes; for the tables of an environment or a tenant, use \
                        `tables.with_prefix(…)`";
            errors.on(&meta, format_args!("`{key}` {message}\n{help}"));
        } else if literal.is_none() {
            let inner = inner(&meta).unwrap_or_default();
            let text = match (inner.split('"').collect::<Vec<_>>().as_slice(), key) {
                // `rename_all(serialize = "camelCase")`.
                ([_, quoted, _], _) => (*quoted).to_owned(),
                ([names], "partition" | "row") if names.starts_with(|letter: char| letter.is_alphabetic()) => {
                    let message = format_args!(
                        "`{key}` is a constant text; of fields, put `#[{key}_key]` on each of `{names}`, in the order of the \
                         parts"
                    );
                    errors.on(&meta, message);
                    return None;
                }
                ([plain], _) if !plain.is_empty() => plain.trim_matches('\'').to_owned(),
                _ => "…".to_owned(),
            };
            errors.on(&meta, format_args!("`{key}` takes a string; write `{key} = \"{text}\"`"));
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
            // A number in quotes or in parentheses is probably the intended number.
            let intended = inner(&meta).and_then(|inner| inner.trim_matches('"').parse::<usize>().ok());
            // A usual number, or else the least.
            let usual = match key {
                "hash" => 16,
                "pad" => 10,
                "scale" => 2,
                _ => *range.start(),
            };
            let (low, high) = (*range.start(), *range.end());
            let fix = match intended {
                Some(number) if number >= low => number.min(high),
                _ => usual,
            };
            let fix_text = match intended {
                Some(1) if key == "version" => "remove it: a struct without it has version 1".to_owned(),
                None if key == "version" => {
                    "write `version = 2` for the second version of the struct; concurrent changes need no \
                                             field, because `update` compares the ETag of what was read"
                        .to_owned()
                }
                _ => format!("write `{key} = {fix}`"),
            };
            let message = format_args!("`{key}` takes a whole number from {low} to {high}; {fix_text}");
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
        let path = inner(&meta).map(|inner| inner.trim_matches('"').to_owned());
        let path = path.filter(|path| syn::parse_str::<Path>(path).is_ok());
        if let Some(Expr::Tuple(entities)) = value_of(&meta)
            && let (Some(Expr::Path(first)), "of") = (entities.elems.first(), key)
        {
            let help = "help: rows of several entities are read by a group, `#[derive(EntityGroup)]`";
            let first = &first.path;
            let fix = written(&first.to_token_stream());
            errors.on(&meta, format_args!("a projection is of one entity; write `of = {fix}`\n{help}"));
            return Some(first.clone());
        }
        let path = path.as_deref().unwrap_or("some::path");
        errors.on(&meta, format_args!("`{key}` takes a path; write `{key} = {path}`"));
        None
    }

    /// Takes a path of fields, such as `address.city`. If it is malformed, the message shows the one that was probably
    /// meant, or else `example`.
    pub(crate) fn field_path(&mut self, key: &'static str, example: &str, errors: &mut Errors) -> Option<Vec<Ident>> {
        let meta = self.take(key, errors)?;
        let path = value_of(&meta).and_then(field_path);
        if path.is_none() {
            let quoted = inner(&meta).map(|inner| inner.trim_matches('"').to_owned());
            let quoted = quoted.filter(|text| syn::parse_str(text).is_ok_and(|path| field_path(&path).is_some()));
            let example = quoted.as_deref().unwrap_or(example);
            errors.on(&meta, format_args!("`{key}` takes a field; write `{key} = {example}`"));
        }
        path
    }

    /// Takes a path that is written without its key, or with another one, and reports what to write.
    pub(crate) fn path_elsewhere(&mut self, key: &'static str, synonyms: &[&str], errors: &mut Errors) -> Option<Path> {
        let path_in = |name: &str, meta: &Meta| match (meta, value_of(meta)) {
            (Meta::Path(path), _) if name.starts_with(char::is_uppercase) => Some(path.clone()),
            (_, Some(Expr::Path(path))) if synonyms.contains(&name) => Some(path.path.clone()),
            _ => literal_of(meta).filter(|_| synonyms.contains(&name)).and_then(|text| text.parse().ok()),
        };
        let mut given = self.given.iter().enumerate();
        let (at, path) = given.find_map(|(at, (name, meta))| Some((at, path_in(name, meta)?)))?;
        let (_, meta) = self.given.remove(at);
        let fix = format!("#[{}({key} = {})]", self.attribute, written(&path.to_token_stream()));
        errors.on(meta, format_args!("the key is `{key}`; write `{fix}`"));
        Some(path)
    }

    /// Removes a key of a constant whose value is a field, and reports that the field needs `attribute` instead.
    pub(crate) fn refuse_field_as_constant(
        &mut self,
        key: &str,
        attribute: &str,
        is_field: impl Fn(&Ident) -> bool,
        errors: &mut Errors,
    ) {
        self.given.retain(|(name, meta)| {
            let field = match value_of(meta) {
                Some(Expr::Path(path)) if name == key => path.path.get_ident().filter(|ident| is_field(ident)),
                _ => None,
            };
            if let Some(field) = field {
                errors
                    .on(meta, format_args!("`{field}` is a field, not a constant; put `#[{attribute}]` on the field"));
            }
            field.is_none()
        });
    }

    /// Returns the only key, if it has no value.
    pub(crate) fn only_name(&self) -> Option<&str> {
        match self.given.as_slice() {
            [(name, Meta::Path(_))] => Some(name),
            _ => None,
        }
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

    /// Takes `events` or `events(copy)`. Returns its place, and true if the events have a copy of the entity.
    pub(crate) fn events(&mut self, errors: &mut Errors) -> Option<(Span, bool)> {
        let meta = self.take("events", errors)?;
        let copy = inner(&meta);
        if !matches!(meta, Meta::Path(_)) && copy.as_deref() != Some("copy") {
            errors.on(&meta, "write `events`, or `events(copy)` for events that have the entity as it was written");
        }
        Some((meta.path().span(), copy.is_some()))
    }

    /// Takes a key with a list in parentheses.
    pub(crate) fn list(&mut self, key: &'static str, errors: &mut Errors) -> Option<List> {
        match self.take(key, errors)? {
            Meta::List(list) => Some(List { key, list }),
            other => {
                let fix = match (self.attribute, key) {
                    ("table", _) => "the name of the table is `name = \"…\"`; to rename functions, write `rename(key = \"…\")`; for \
                                     the style of properties, `rename_all = \"…\"`"
                        .to_owned(),
                    (_, "when") => "write `when(field, path)`, with the path of a function that takes a reference to the \
                                    field and returns `bool`"
                        .to_owned(),
                    (_, "partition") if matches!(other, Meta::Path(_)) => {
                        "write `same_partition` for an index in the entity's partition, or `partition(field, …)`".to_owned()
                    }
                    ("index", "rename") if literal_of(&other).is_some() => "write `rename(field = \"…\")` for a property of the \
                         pointer; the table of the index is `table = \"…\"`, and its query has the name of the index, `by_…`"
                        .to_owned(),
                    (_, "rename") => "write `rename(field = \"…\")`".to_owned(),
                    _ => format!("write `{key}(field, …)`"),
                };
                errors.on(other, format_args!("`{key}` takes a list; {fix}"));
                None
            }
        }
    }

    /// Returns true if a key is no option of an encoding, and one of these names.
    pub(crate) fn lists(&self, is_name: impl Fn(&str) -> bool) -> bool {
        let is_known = |name: &str| EncodingOption::named(name).is_some();
        self.given.iter().any(|(name, meta)| matches!(meta, Meta::Path(_)) && is_name(name) && !is_known(name))
    }

    /// Takes a flag that is written with a list in parentheses, which belongs into `row(…)`, and reports it. Returns true if
    /// there is one.
    pub(crate) fn refuse_list(&mut self, flag: &str, errors: &mut Errors) -> bool {
        let listed = self.given.extract_if(.., |(name, meta)| name == flag && matches!(meta, Meta::List(_))).next();
        let Some((_, Meta::List(list))) = listed else { return false };
        errors.on(&list, format_args!("a key names its fields; write `row({flag}({}))`", list.tokens));
        true
    }

    /// Reports the keys that are names of fields, and that no caller took. On a field, another attribute is needed.
    pub(crate) fn refuse_fields(
        &mut self,
        index: &str,
        is_on_struct: bool,
        is_field: impl Fn(&str) -> bool,
        errors: &mut Errors,
    ) {
        let Self { given, known, .. } = self;
        let is_refused = |(name, meta): &mut (String, Meta)| {
            matches!(meta, Meta::Path(_)) && is_field(name) && !known.contains(&name.as_str())
        };
        let refused: Vec<_> = given.extract_if(.., is_refused).collect();
        let Some((first, meta)) = refused.first() else { return };
        let names: Vec<_> =
            is_field(index).then_some(index).into_iter().chain(refused.iter().map(|(name, _)| name.as_str())).collect();
        let name = if is_field(index) { format!("{index}_{first}") } else { index.to_owned() };
        let place = if is_on_struct { "" } else { "on the struct, " };
        let fix = format!("{place}write `#[index({name}, same_partition, row({}))]`", names.join(", "));
        let message = "the fields of an index are in `row(…)` and `partition(…)`, after its name";
        errors.on(meta, format_args!("`{first}` is a field; {message}; {fix}"));
    }

    /// Reports each key that no caller took as unknown. Returns true if there is one.
    pub(crate) fn finish(self, errors: &mut Errors) -> bool {
        let Self { attribute, given, known, is_repaired, .. } = self;
        let has_unknown = !given.is_empty();
        for (name, meta) in given.into_iter().filter(|_| !is_repaired) {
            errors.on(meta.path(), format_args!("unknown key `{name}`; {}", advice(&name, attribute, &known)));
        }
        has_unknown
    }
}

/// What to write for an index in one partition, or in no named one.
const ONE_ORDER: &str = "help: one order over all entities is `partition(id(hash = 16))`, with a field of the key, whose \
                         partitions are merged";

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
        let place = Place { open: format!("{}(", self.key), close: ")", items: Items::Names, text: AloneText::Name };
        let list = MetaList { tokens: repaired(&self.list.tokens, &place, errors).0, ..self.list.clone() };
        match list.parse_args_with(Punctuated::<T, Token![,]>::parse_terminated) {
            Ok(items) if items.is_empty() => {
                let help = if self.key == "partition" { format!("\n{ONE_ORDER}") } else { String::new() };
                errors.on(&self.list, format_args!("`{0}()` is empty; write `{0}({example})`{help}", self.key));
                Vec::new()
            }
            Ok(items) => items.into_iter().collect(),
            Err(error) => {
                errors.at(error.span(), format_args!("{error}; write `{}({example})`", self.key));
                Vec::new()
            }
        }
    }

    /// Parses `a, b`.
    pub(crate) fn idents(&self, errors: &mut Errors) -> Vec<Ident> {
        let items = self.list.parse_args_with(Punctuated::<Expr, Token![,]>::parse_terminated).ok();
        let mut paths = items.iter().flatten().filter(|item| matches!(item, Expr::Field(_))).filter_map(field_path);
        if let Some(path) = paths.next()
            && let Some(field) = path.first()
        {
            let message = format_args!("`{0}` takes fields of the entity; write `{0}({field})`", self.key);
            errors.on(&self.list.tokens, message);
            return vec![field.clone()];
        }
        self.parse("field, …", errors)
    }

    /// Parses `a, b.c, some::path`.
    pub(crate) fn arguments(&self, errors: &mut Errors) -> Vec<Argument> {
        let items = self.list.parse_args_with(Punctuated::<Expr, Token![,]>::parse_terminated).ok();
        let items: Vec<_> = items.into_iter().flatten().collect();
        if let Some(closure) = items.iter().find(|item| matches!(item, Expr::Closure(_))) {
            let message =
                "takes the path of a function, not a closure; write `fn is_shown(…) -> bool` beside the struct";
            errors.on(closure, format_args!("`{0}` {message}, and `{0}(field, is_shown)` here", self.key));
            return Vec::new();
        }
        if let Some(computed) =
            items.iter().find(|item| matches!(item, Expr::Unary(_) | Expr::Binary(_) | Expr::Call(_)))
        {
            let message = "takes fields, and the path of a function, not an expression; write `fn is_shown(value: &…) -> bool` \
                           beside the struct";
            errors.on(computed, format_args!("`{0}` {message}, and `{0}(field, is_shown)` here", self.key));
            return Vec::new();
        }
        let argument = |item: &Expr| match item {
            Expr::Field(_) => field_path(item).map(Argument::Field),
            Expr::Path(path) => Some(Argument::Function(path.clone())),
            _ => None,
        };
        let arguments: Vec<_> = items.iter().filter_map(argument).collect();
        if arguments.is_empty() || arguments.len() < items.len() {
            // Reports what is wrong.
            return self.parse("field, path", errors).into_iter().map(Argument::Function).collect();
        }
        arguments
    }

    /// Parses `a = "…", b = "…"`. `noun` is what the names are, such as "field".
    pub(crate) fn texts(&self, noun: &str, errors: &mut Errors) -> Vec<(Ident, Text)> {
        let metas = self.parse::<Meta>(&format!("{noun} = \"…\""), errors);
        let text = |meta: Meta| {
            if let (Some(ident), Some(literal)) = (meta.path().get_ident(), literal_of(&meta)) {
                return Some((ident.clone(), Text::from(&literal)));
            }
            let message = format_args!("`{0}` takes a string for each {noun}; write `{0}({noun} = \"…\")`", self.key);
            errors.on(&meta, message);
            None
        };
        metas.into_iter().filter_map(text).collect()
    }

    /// Parses `a, b(keys), c.d(keys), each(e, keys)`: fields, or paths to their parts, and the keys of each. Errors name the
    /// keys as those of `attribute`.
    pub(crate) fn fields(
        &self,
        attribute: &'static str,
        is_field: impl Fn(&str) -> bool,
        errors: &mut Errors,
    ) -> Vec<ListedField> {
        if let Some(text) = self.constant(&is_field) {
            let message = format_args!(
                "`{0}(…)` takes fields, and `{1}` is none: an index has no constant key\n{ONE_ORDER}; or store the \
                 constant in a field",
                self.key,
                text.value()
            );
            errors.on(&text, message);
            return Vec::new();
        }
        let items = self.parse::<FieldItem>("field, …", errors);
        let has_each = is_field("each");
        items.into_iter().filter_map(|item| self.field(attribute, has_each, item, errors)).collect()
    }

    /// Returns a text in the list that names no field.
    fn constant(&self, is_field: impl Fn(&str) -> bool) -> Option<LitStr> {
        let items = self.list.parse_args_with(Punctuated::<Expr, Token![,]>::parse_terminated).ok()?;
        items.into_iter().find_map(|item| match item {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                let value = text.value();
                let names: Vec<_> = value.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
                names.iter().all(|name| !is_field(name)).then_some(text)
            }
            _ => None,
        })
    }

    fn field(
        &self,
        attribute: &'static str,
        has_each: bool,
        item: FieldItem,
        errors: &mut Errors,
    ) -> Option<ListedField> {
        let FieldItem { mut path, meta } = item;
        let mut keys = Keys::new(attribute, Some(meta.span()));
        let ident = meta.path().get_ident().cloned();
        match (&meta, ident) {
            (Meta::Path(_), Some(ident)) => path.push(ident),
            (Meta::List(list), Some(ident)) => {
                if path.is_empty()
                    && ident == "each"
                    && let Some((path, options)) = each(list, has_each)
                {
                    keys.give(options);
                    return Some(ListedField { path, each: Some(ident.span()), keys });
                }
                let place = Place {
                    open: format!("{}({}(", self.key, path_text(&list.path)),
                    close: "))",
                    items: Items::Keys,
                    text: AloneText::Name,
                };
                let (tokens, is_repaired) = repaired(&list.tokens, &place, errors);
                keys.is_repaired = is_repaired;
                let list = MetaList { tokens, ..list.clone() };
                match list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) {
                    Ok(given) => keys.give(given),
                    Err(error) => errors.push(error),
                }
                path.push(ident);
            }
            _ => {
                let fix = match meta.path().get_ident().and_then(|ident| EncodingOption::named(&ident.to_string())) {
                    Some(_) => format!(
                        "an encoding is that of a field; write `{}(field({}))`",
                        self.key,
                        written(&meta.to_token_stream())
                    ),
                    None => format!("write `{}(field, …)`", self.key),
                };
                errors.on(&meta, format_args!("`{}` takes fields; {fix}", self.key));
                return None;
            }
        }
        Some(ListedField { path, each: None, keys })
    }
}

/// Returns the path and the options of `each(tags, lowercase)`; `None` for a field called `each` with an encoding,
/// `each(lowercase)`.
fn each(list: &MetaList, has_each: bool) -> Option<(Vec<Ident>, Vec<Meta>)> {
    let items = list.parse_args_with(Punctuated::<FieldItem, Token![,]>::parse_terminated).ok()?;
    let mut items = items.into_iter();
    let FieldItem { mut path, meta } = items.next().filter(|first| matches!(first.meta, Meta::Path(_)))?;
    let ident = meta.path().get_ident()?;
    if has_each && path.is_empty() && EncodingOption::named(&ident.to_string()).is_some() {
        return None;
    }
    path.push(ident.clone());
    Some((path, items.map(|option| option.meta).collect()))
}

/// Field that a list names.
pub(crate) struct ListedField {
    /// The names of the field and of its parts.
    pub(crate) path: Vec<Ident>,
    /// The span of `each`, around the field.
    pub(crate) each: Option<Span>,
    /// The options of the field.
    pub(crate) keys: Keys,
}

/// Field in a list, with its keys in parentheses: `city`, `address.city(lowercase)`.
struct FieldItem {
    /// The names before the last one.
    path: Vec<Ident>,
    meta: Meta,
}

impl Parse for FieldItem {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut path = Vec::new();
        while input.peek2(Token![.]) {
            path.push(input.call(Ident::parse_any)?);
            input.parse::<Token![.]>()?;
        }
        Ok(Self { path, meta: input.parse()? })
    }
}

/// Argument of `when`.
pub(crate) enum Argument {
    Field(Vec<Ident>),
    Function(ExprPath),
}

/// Reports `#[primary_key]`, which is the key of most other stores.
pub(crate) fn refuse_primary_key(attributes: &[Attribute], errors: &mut Errors) {
    for found in attributes.iter().filter(|found| found.path().is_ident("primary_key")) {
        errors.on(
            found.path(),
            "the key has two parts; write `#[partition_key]` on the field that entities are read together by, and `#[row_key]` \
             on the one that is different for each of them",
        );
    }
}

/// Reports attributes that are on the wrong item. `here` describes that item.
pub(crate) fn refuse(attributes: &[Attribute], names: &[&str], here: &str, errors: &mut Errors) {
    for (name, place) in PLACES.iter().filter(|(name, _)| names.contains(name)) {
        for found in attributes.iter().filter(|found| found.path().is_ident(name)) {
            // `#[table(row_key)]` on a field.
            let inside = inner(&found.meta).unwrap_or_default();
            let meant = PLACES.iter().find(|(other, place)| *place == "on a field" && inside.starts_with(other));
            let fix = match meant {
                Some(_) => format!("write `#[{inside}]`"),
                None if *name == "property" && inside.starts_with("rename_all") => {
                    format!("write `#[table({inside})]`")
                }
                None if *name == "property"
                    && let Some(advice) = synonyms::advice_on_type(&inside) =>
                {
                    advice
                }
                None if here == "in a newtype" => {
                    "put it on the field of the entity whose type is the newtype".to_owned()
                }
                None if here == "on a variant" && inside.starts_with("rename") => {
                    format!("write `#[property({inside})]`")
                }
                None if here == "on a variant" => "put it on the enum, or on the entity".to_owned(),
                None => format!("put it {place}"),
            };
            errors.on(found.path(), format_args!("`#[{name}]` cannot be used {here}; {fix}"));
        }
    }
}

/// Returns what to write instead of an unknown key: a similar key, the right attribute, or any of the known keys.
fn advice(name: &str, attribute: &str, known: &[&str]) -> String {
    if let Some(advice) = synonyms::advice(name, attribute) {
        return advice;
    }
    if let Some(nearest) = nearest(name, known) {
        return format!("did you mean `{nearest}`?");
    }
    if let Some((other, place)) = synonyms::elsewhere(name, attribute) {
        return format!("`{name}` is a key of `#[{other}(…)]`, {place}");
    }
    match known {
        [] => format!("`#[{attribute}]` takes no keys here"),
        _ if matches!(attribute, "partition_key" | "row_key") => {
            format!(
                "`#[{attribute}(…)]` takes {}; a further part of the key has `#[{attribute}]` on its own field",
                list(known)
            )
        }
        _ => format!("`#[{attribute}(…)]` takes {}", list(known)),
    }
}

/// Returns the place of the keys of an attribute.
fn place(attribute: &'static str) -> Place<'static> {
    let text = match attribute {
        "table" => AloneText::ValueOf("name", &["allow_scan", "kind", "write_id"]),
        "property" => AloneText::ValueOf("rename", &["json", "text", "default", "skip"]),
        "projection" => AloneText::PathOf("of"),
        _ => AloneText::Name,
    };
    let items = if attribute == "index" { Items::NameAndKeys } else { Items::Keys };
    Place { open: format!("#[{attribute}("), close: ")]", items, text }
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

/// Returns the path with which a list begins where the name of an index is expected.
fn path_as_name(tokens: &TokenStream) -> Option<String> {
    let first = tokens
        .clone()
        .into_iter()
        .take_while(|token| !matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','));
    let first = syn::parse2::<Expr>(first.collect()).ok()?;
    let path = field_path(&first).filter(|path| path.len() > 1)?;
    Some(path.iter().map(ToString::to_string).collect::<Vec<_>>().join("."))
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

/// Returns the fields of an expression such as `address.city`.
fn field_path(expression: &Expr) -> Option<Vec<Ident>> {
    match expression {
        Expr::Path(path) => path.path.get_ident().map(|ident| vec![ident.clone()]),
        Expr::Field(access) => {
            let Member::Named(field) = &access.member else { return None };
            let mut path = field_path(&access.base)?;
            path.push(field.clone());
            Some(path)
        }
        Expr::Group(group) => field_path(&group.expr),
        _ => None,
    }
}

/// Returns what follows the key: the value, or the content of the parentheses.
fn inner(meta: &Meta) -> Option<String> {
    match meta {
        Meta::Path(_) => None,
        Meta::List(list) => Some(list.tokens.to_string()),
        Meta::NameValue(_) => value_of(meta).map(|value| value.to_token_stream().to_string()),
    }
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

/// Returns true for an expression that is no text in quotes and no bare word: a macro, a call, or a constant.
fn is_computed(value: &Expr) -> bool {
    match value {
        Expr::Macro(_) | Expr::Call(_) | Expr::MethodCall(_) | Expr::Binary(_) => true,
        Expr::Path(path) => path.path.get_ident().is_none_or(|ident| {
            let name = ident.to_string();
            name.len() > 1
                && name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_' || letter.is_ascii_digit())
        }),
        _ => false,
    }
}
