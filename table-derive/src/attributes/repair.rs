//! Attributes in another syntax: names in quotes, `name: value`, `same-partition`, keywords, an encoding in another place.
//!
//! Each is reported with what to write, and is read as that, so that one mistake causes one error.

use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Lit, LitStr, Meta, Token, ext::IdentExt as _, parse::Parser as _, punctuated::Punctuated};

use super::{ListedField, synonyms};
use crate::{case::Case, encoding_option::EncodingOption, errors::Errors, text::Text};

/// Place of a list of items, such as `#[row_key(` and `)]`.
pub(super) struct Place<'a> {
    pub(super) open: String,
    pub(super) close: &'a str,
    pub(super) items: Items,
    pub(super) text: AloneText<'a>,
}

/// What the items of a list are.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Items {
    Keys,
    /// The name of an index, then keys.
    NameAndKeys,
    /// Names of fields.
    Names,
}

/// What an item means that is only a text.
#[derive(Clone, Copy)]
pub(super) enum AloneText<'a> {
    /// The name in it.
    Name,
    /// The value of this key, such as `name` for `#[table("Posts")]`, unless it is one of the names.
    ValueOf(&'a str, &'a [&'a str]),
    /// The value of this key as a path, such as `of` for `#[projection("Post")]`.
    PathOf(&'a str),
}

impl Place<'_> {
    /// Returns what is meant by an item that may be only a text.
    pub(super) fn meant(&self, item: &TokenStream) -> TokenStream {
        let item: Vec<_> = item.clone().into_iter().collect();
        match item.as_slice() {
            [TokenTree::Literal(literal)] => text(literal).and_then(|text| self.meant_by_text(&text)),
            _ => None,
        }
        .unwrap_or_else(|| item.into_iter().collect())
    }

    /// Returns what a text means; `None` if it holds neither names nor keys.
    fn meant_by_text(&self, literal: &LitStr) -> Option<TokenStream> {
        let (text, span) = (literal.value(), literal.span());
        let inside = || {
            let items =
                Punctuated::<Meta, Token![,]>::parse_terminated.parse_str(&text).map(ToTokens::into_token_stream);
            let path = || Punctuated::<Ident, Token![.]>::parse_separated_nonempty.parse_str(&text);
            let items = items.or_else(|_| path().map(ToTokens::into_token_stream)).ok()?;
            Some(respanned(items, span))
        };
        let key = |key: &str| Ident::new(key, span);
        match self.text {
            AloneText::ValueOf(name, names) if !names.contains(&text.as_str()) => {
                let key = key(name);
                Some(quote_spanned!(span=> #key = #literal))
            }
            AloneText::PathOf(name) => {
                let (key, inside) = (key(name), inside()?);
                Some(quote_spanned!(span=> #key = #inside))
            }
            AloneText::ValueOf(..) | AloneText::Name => inside(),
        }
    }

    /// Reports a literal alone that is no part of a key.
    fn refuse_alone(&self, item: &[TokenTree], errors: &mut Errors) -> Option<Repair> {
        let [TokenTree::Literal(literal)] = item else { return None };
        let text = text(literal);
        let is_encoding = text.as_ref().is_some_and(|text| EncodingOption::named(&text.value()).is_some());
        if !self.has_ordered_parts() || is_encoding {
            return None;
        }
        let problem = match text {
            None => "takes no position; remove the number: the parts of a key are in the order of the fields",
            Some(_) => {
                "takes no text; a constant key is on the struct: `#[table(partition = \"all\")]` or `#[table(row = \"details\")]`"
            }
        };
        errors.on(literal, format_args!("`{}…{}` {problem}", self.open, self.close));
        Some(Repair { meant: TokenStream::new(), is_reported: true })
    }

    /// Reports an item in another syntax, and returns what is meant.
    fn repair(&self, item: &[TokenTree], (is_first, is_last): (bool, bool), errors: &mut Errors) -> Option<Repair> {
        let rest = |from: usize| item[from..].iter().cloned().collect::<TokenStream>();
        if let Some(refused) = self.refuse_alone(item, errors) {
            return Some(refused);
        }
        let (problem, meant) = match item {
            [TokenTree::Literal(literal)] => {
                let meant = self.meant_by_text(&text(literal)?)?;
                let problem = if meant.to_string().contains('=') {
                    "takes keys, not a text alone"
                } else {
                    "takes names, not text"
                };
                (format!("`{}…{}` {problem}", self.open, self.close), meant)
            }
            [TokenTree::Literal(literal), TokenTree::Punct(equals), ..] if equals.as_char() == '=' => {
                let literal = text(literal)?;
                let (name, rest) = (literal.parse_with(Ident::parse_any).ok()?, rest(1));
                (format!("the key `{name}` must not be in quotes"), quote_spanned!(literal.span()=> #name #rest))
            }
            [TokenTree::Ident(name), TokenTree::Punct(colon), ..] if is_alone(colon, ':') && !self.has_key_parts() => {
                let (mut equals, rest) = (Punct::new('=', Spacing::Alone), rest(2));
                equals.set_span(colon.span());
                (
                    format!("the key `{name}` needs `=` before its value"),
                    quote_spanned!(name.span()=> #name #equals #rest),
                )
            }
            [TokenTree::Ident(name), TokenTree::Punct(equals), TokenTree::Group(list)]
                if equals.as_char() == '=' && list.delimiter() == Delimiter::Bracket =>
            {
                let inside = list.stream();
                if name == "from" {
                    let newest = last_path(inside);
                    let problem = "takes the struct of the version before, whose own `from` leads to an older one";
                    errors.on(name, format_args!("`from` {problem}; write `from = {}`", written(&newest)));
                    return Some(Repair { meant: quote_spanned!(name.span()=> #name = #newest), is_reported: true });
                }
                (format!("`{name}` takes its list in parentheses"), quote_spanned!(name.span()=> #name(#inside)))
            }
            [TokenTree::Punct(minus), TokenTree::Ident(name)] if self.has_key_parts() && is_alone(minus, '-') => (
                "a descending field has an encoding, `reverse` or, of a time, `reverse_time`".to_owned(),
                quote_spanned!(name.span()=> #name(reverse)),
            ),
            [TokenTree::Ident(name), TokenTree::Punct(colon), TokenTree::Ident(encoding)]
                if self.has_key_parts() && matches!(colon.as_char(), ':' | '=') =>
            {
                ("the encoding of a field is in parentheses".to_owned(), quote_spanned!(name.span()=> #name(#encoding)))
            }
            [TokenTree::Ident(name), TokenTree::Ident(order)] if self.has_key_parts() && is_order(order) => {
                let order = order.to_string();
                let is_descending = order.to_lowercase().starts_with('d') || order.starts_with("re");
                let fix = if is_descending {
                    format!("`{name}(reverse)`, or of a time `{name}(reverse_time)`")
                } else {
                    format!("`{name}`")
                };
                errors.on(name, format_args!("the order of a field is its encoding; write {fix}"));
                return Some(Repair { meant: quote!(#name), is_reported: true });
            }
            [TokenTree::Ident(_), TokenTree::Punct(colon), TokenTree::Punct(_), TokenTree::Ident(_), ..]
                if self.has_key_parts() && colon.as_char() == ':' =>
            {
                let (mut meant, mut colons) = (TokenStream::new(), 0);
                for token in item {
                    match token {
                        TokenTree::Punct(punct) if punct.as_char() == ':' => {
                            colons += 1;
                            if colons % 2 == 0 {
                                let mut point = Punct::new('.', Spacing::Alone);
                                point.set_span(punct.span());
                                meant.extend([TokenTree::from(point)]);
                            }
                        }
                        other => meant.extend([other.clone()]),
                    }
                }
                ("a path of fields has points".to_owned(), meant)
            }
            [TokenTree::Ident(first), TokenTree::Punct(hyphen), TokenTree::Ident(_), ..] if is_alone(hyphen, '-') => {
                let (name, end) = hyphenated(item)?;
                let (name, rest) = (Ident::new(&name, first.span()), rest(end));
                ("a name has no hyphens".to_owned(), quote_spanned!(first.span()=> #name #rest))
            }
            [TokenTree::Ident(keyword), ..] if is_keyword(keyword) => {
                let (name, rest) = (Ident::new_raw(&keyword.to_string(), keyword.span()), rest(1));
                let meant = quote_spanned!(keyword.span()=> #name #rest);
                if !self.is_name(is_first) {
                    // It is no key, and the message about an unknown key says what is.
                    return Some(Repair { meant, is_reported: false });
                }
                (format!("`{keyword}` is a keyword of Rust"), meant)
            }
            _ => return None,
        };
        let (before, after) = (if is_first { "" } else { "…, " }, if is_last { "" } else { ", …" });
        let fix = format!("{}{before}{}{after}{}", self.open, written(&meant), self.close);
        let shown: TokenStream = item.iter().cloned().collect();
        errors.on(shown, format_args!("{problem}; write `{fix}`"));
        Some(Repair { meant, is_reported: true })
    }

    /// Returns true for the lists of the parts of an index's keys.
    fn has_key_parts(&self) -> bool {
        matches!(self.open.as_str(), "row(" | "partition(")
    }

    /// Returns true for the attributes of key parts.
    fn has_ordered_parts(&self) -> bool {
        matches!(self.open.as_str(), "#[partition_key(" | "#[row_key(")
    }

    /// Returns true if an item is the name of a field or of an index, and not a key.
    fn is_name(&self, is_first: bool) -> bool {
        match self.items {
            Items::Keys => false,
            Items::NameAndKeys => is_first,
            Items::Names => true,
        }
    }
}

/// Item in the syntax of attributes.
struct Repair {
    meant: TokenStream,
    /// True if the item was reported.
    is_reported: bool,
}

/// Returns the tokens of a list with every item in the syntax of attributes, and whether any item was not. Reports each of
/// these.
pub(super) fn repaired(tokens: &TokenStream, place: &Place<'_>, errors: &mut Errors) -> (TokenStream, bool) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    let count = tokens.split(is_comma).filter(|item| !item.is_empty()).count();
    let mut commas = tokens.iter().filter(|token| is_comma(token));
    let (mut result, mut is_repaired) = (TokenStream::new(), false);
    for (position, item) in tokens.split(is_comma).enumerate() {
        let meant = if let Some(Repair { meant, is_reported }) =
            place.repair(item, (position == 0, position + 1 >= count), errors)
        {
            is_repaired |= is_reported;
            meant
        } else {
            item.iter().cloned().collect()
        };
        // An item that means nothing is removed with its comma.
        let comma = commas.next().filter(|_| !meant.is_empty() || item.is_empty());
        result.extend(meant);
        result.extend(comma.cloned());
    }
    (result, is_repaired)
}

/// Returns the name of an index. Reports the name of its query, which begins with `by_`.
pub(super) fn index_name(name: Text, errors: &mut Errors) -> Text {
    let in_camel_case = || {
        let rest = name.value.strip_prefix("by").or_else(|| name.value.strip_prefix("By"))?;
        rest.starts_with(char::is_uppercase).then(|| Case::Snake.variant(rest))
    };
    let rest = name.value.strip_prefix("by_").filter(|rest| !rest.is_empty()).map(str::to_owned);
    let Some(value) = rest.or_else(in_camel_case) else { return name };
    errors.at(
        name.span,
        format_args!("the query of an index is `by_` and its name, here `by_{}`; write `{value}`", name.value),
    );
    Text { value, ..name }
}

impl ListedField {
    /// Reports an encoding or `each` in the wrong place of an index's key, and returns the field as it is meant. `None` if the
    /// item names no field. `before` is the last field before it.
    pub(crate) fn repaired(
        mut self,
        before: Option<&str>,
        is_field: impl Fn(&str) -> bool,
        has_no_parts: impl Fn(&str) -> bool,
        errors: &mut Errors,
    ) -> Option<Self> {
        if let [field, encoding] = self.path.as_slice()
            && EncodingOption::named(&encoding.to_string()).is_some()
            && has_no_parts(&field.to_string())
        {
            errors.on(encoding, format_args!("the encoding of a field is in parentheses; write `{field}({encoding})`"));
            self.path.pop();
        }
        let [ident] = self.path.as_slice() else { return Some(self) };
        let name = ident.unraw().to_string();
        if is_field(&name) {
            if let Some(inside) = self.keys.flag("each", errors) {
                errors.at(inside, format_args!("`each` is written around the field; write `each({ident})`"));
                self.each.get_or_insert(inside);
            }
            return Some(self);
        }
        let inside = self.keys.only_name().filter(|inside| is_field(inside));
        let problem = match (inside, synonyms::encoding(&name), before) {
            // `reverse(likes)` for `likes(reverse)`.
            (Some(inside), Some(encoding), _) => {
                format!("the encoding of a field follows it; write `{inside}({encoding})`")
            }
            (Some(inside), None, _) if synonyms::is_part_of_time(&name) => format!(
                "a key has the values of fields, and computes nothing; store the {name} of `{inside}` in a field of its own"
            ),
            (_, Some(encoding), Some(before)) if encoding == name => {
                format!("the encoding of a field is in parentheses; write `{before}({encoding})`")
            }
            _ if name == "each" => "`each` is written around a field; write `each(field)`".to_owned(),
            _ => return Some(self),
        };
        errors.on(ident, problem);
        None
    }
}

fn text(literal: &proc_macro2::Literal) -> Option<LitStr> {
    match Lit::new(literal.clone()) {
        Lit::Str(text) => Some(text),
        _ => None,
    }
}

/// Returns true for the order of a field in other languages.
fn is_order(ident: &Ident) -> bool {
    let order = ident.to_string().to_lowercase();
    matches!(order.as_str(), "asc" | "ascending" | "desc" | "descending" | "reverse" | "reversed")
}

/// Returns the last of several paths.
fn last_path(list: TokenStream) -> TokenStream {
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    let paths: Vec<_> = list.into_iter().collect();
    paths.split(is_comma).rfind(|path| !path.is_empty()).unwrap_or_default().iter().cloned().collect()
}

fn is_alone(punct: &Punct, character: char) -> bool {
    punct.as_char() == character && punct.spacing() == Spacing::Alone
}

/// Joins the names at the beginning of an item that hyphens separate. Returns the number of their tokens too.
fn hyphenated(item: &[TokenTree]) -> Option<(String, usize)> {
    let mut names = Vec::new();
    let mut end = 0;
    while let Some(TokenTree::Ident(name)) = item.get(end) {
        names.push(name.unraw().to_string());
        end += 1;
        match item.get(end) {
            Some(TokenTree::Punct(hyphen)) if hyphen.as_char() == '-' => end += 1,
            _ => break,
        }
    }
    let name = names.join("_");
    syn::parse_str::<Ident>(&name).is_ok().then_some((name, end))
}

/// Returns true for a keyword that can be a field as `r#name`.
fn is_keyword(ident: &Ident) -> bool {
    let text = ident.to_string();
    let is_path = matches!(text.as_str(), "crate" | "self" | "super" | "Self" | "_" | "move");
    // The name of the crate of a `macro_rules` is an identifier too.
    let is_raw = text.starts_with("r#") || text.starts_with('$');
    !is_path && !is_raw && syn::parse_str::<Ident>(&text).is_err()
}

fn respanned(tokens: TokenStream, span: Span) -> TokenStream {
    let respan = |mut token: TokenTree| {
        if let TokenTree::Group(group) = token {
            token = Group::new(group.delimiter(), respanned(group.stream(), span)).into();
        }
        token.set_span(span);
        token
    };
    tokens.into_iter().map(respan).collect()
}

/// Returns the tokens as a user writes them.
pub(super) fn written(tokens: &TokenStream) -> String {
    let (mut text, mut after_name) = (String::new(), false);
    for token in tokens.clone() {
        let is_name = matches!(token, TokenTree::Ident(_));
        if is_name && after_name {
            text.push(' ');
        }
        after_name = is_name;
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                text.extend(["(", &written(&group.stream()), ")"]);
            }
            TokenTree::Punct(punct) if punct.as_char() == ',' => text.push_str(", "),
            TokenTree::Punct(punct) if punct.as_char() == '=' => text.push_str(" = "),
            other => text.push_str(&other.to_string()),
        }
    }
    text
}
