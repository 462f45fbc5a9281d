//! How a field is written into a key.

use std::fmt;

use proc_macro2::Span;

use crate::{attributes::Keys, errors::Errors};

/// An encoding, as the attribute's options compose it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Encoding {
    Plain,
    Lowercase,
    Uppercase,
    First(usize, Box<Self>),
    Pad(usize),
    Reverse(Box<Self>),
    Time,
    ReverseTime,
    Hash(usize, Box<Self>),
    Raw,
}

/// The attribute's text, always in the same order: it is part of the layout that tables record.
impl fmt::Display for Encoding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |of: &Self| if *of == Self::Plain { String::new() } else { format!(", {of}") };
        match self {
            Self::Plain => formatter.write_str("plain"),
            Self::Lowercase => formatter.write_str("lowercase"),
            Self::Uppercase => formatter.write_str("uppercase"),
            Self::First(count, inner) => write!(formatter, "first = {count}{}", of(inner)),
            Self::Pad(digits) => write!(formatter, "pad = {digits}"),
            Self::Reverse(inner) => write!(formatter, "reverse{}", of(inner)),
            Self::Time => formatter.write_str("time"),
            Self::ReverseTime => formatter.write_str("reverse_time"),
            Self::Hash(buckets, inner) => write!(formatter, "hash = {buckets}{}", of(inner)),
            Self::Raw => formatter.write_str("raw"),
        }
    }
}

impl Encoding {
    /// Whether the value cannot be read back from the key.
    pub(crate) fn is_lossy(&self) -> bool {
        matches!(self, Self::Lowercase | Self::Uppercase | Self::First(..) | Self::Hash(..))
    }

    /// How it folds a text: `lowercase`, `uppercase` or plain.
    pub(crate) fn fold(&self) -> &Self {
        match self {
            Self::First(_, of) | Self::Hash(_, of) => of.fold(),
            Self::Lowercase | Self::Uppercase => self,
            _ => &Self::Plain,
        }
    }

    /// This encoding of a partition, as far as it follows from what `row` writes of the same value, so that values that
    /// are one in the row key have one partition: a folded text tells that fold alone, its first characters no more of
    /// them.
    pub(crate) fn following(&self, row: &Self) -> Self {
        if !row.is_lossy() {
            return self.clone();
        }
        let most = if let Self::First(count, _) = row { Some(*count) } else { None };
        let fold = if *row.fold() == Self::Plain { self.fold() } else { row.fold() };
        let first = |count| Self::First(count, Box::new(fold.clone()));
        match self {
            Self::Hash(buckets, of) => Self::Hash(*buckets, Box::new(of.following(row))),
            Self::First(count, _) => first(most.map_or(*count, |most| most.min(*count))),
            Self::Plain | Self::Lowercase | Self::Uppercase | Self::Raw => most.map_or_else(|| fold.clone(), first),
            // Of other types than text, whose encodings lose nothing.
            Self::Pad(_) | Self::Reverse(_) | Self::Time | Self::ReverseTime => self.clone(),
        }
    }

    /// Pulls the encoding's options; the span is the first one's.
    pub(crate) fn read(keys: &mut Keys, errors: &mut Errors) -> (Self, Option<Span>) {
        let lowercase = keys.flag("lowercase", errors);
        let uppercase = keys.flag("uppercase", errors);
        let first = keys.number("first", 1..=512, errors);
        let pad = keys.number("pad", 1..=39, errors);
        let reverse = keys.flag("reverse", errors);
        let time = keys.flag("time", errors);
        let reverse_time = keys.flag("reverse_time", errors);
        let hash = keys.number("hash", 2..=65_536, errors);
        let raw = keys.flag("raw", errors);

        let span = |number: Option<(Span, usize)>| number.map(|(span, _)| span);
        let given: Vec<(&str, Span)> = [
            ("raw", raw),
            ("hash", span(hash)),
            ("first", span(first)),
            ("lowercase", lowercase),
            ("uppercase", uppercase),
            ("pad", span(pad)),
            ("reverse", reverse),
            ("time", time),
            ("reverse_time", reverse_time),
        ]
        .into_iter()
        .filter_map(|(name, span)| Some((name, span?)))
        .collect();
        let place = given.first().map(|(_, span)| *span);
        if refuse_conflicts(&given, errors) {
            // Every type has this one, so that the compiler does not add to the message.
            return (Self::Plain, place);
        }

        let fold = match (lowercase, uppercase) {
            (Some(_), _) => Self::Lowercase,
            (None, Some(_)) => Self::Uppercase,
            (None, None) => Self::Plain,
        };
        let text = match first {
            Some((_, count)) => Self::First(count, Box::new(fold)),
            None => fold,
        };
        let number = pad.map_or(Self::Plain, |(_, digits)| Self::Pad(digits));
        let encoding = if raw.is_some() {
            Self::Raw
        } else if let Some((_, buckets)) = hash {
            Self::Hash(buckets, Box::new(text))
        } else if text != Self::Plain {
            text
        } else if reverse_time.is_some() {
            Self::ReverseTime
        } else if time.is_some() {
            Self::Time
        } else if reverse.is_some() {
            Self::Reverse(Box::new(number))
        } else {
            number
        };
        (encoding, place)
    }
}

/// Each option is compared with those before it, and says its first conflict. Whether there was one.
fn refuse_conflicts(given: &[(&str, Span)], errors: &mut Errors) -> bool {
    let mut refused = false;
    for (at, (name, span)) in given.iter().enumerate() {
        if let Some(message) = given[..at].iter().find_map(|(before, _)| conflict(before, name)) {
            errors.at(*span, message);
            refused = true;
        }
    }
    refused
}

/// Why two options do not combine; the pair comes in the order of `given`.
fn conflict(one: &str, other: &str) -> Option<String> {
    let text = |name| matches!(name, "first" | "lowercase" | "uppercase");
    Some(match (one, other) {
        ("raw", _) => format!("`raw` is the text as it is; remove `{other}` or `raw`"),
        ("lowercase", "uppercase") => "a text is folded one way: keep `lowercase` or `uppercase`".to_owned(),
        ("time", "reverse_time") => {
            "a time runs one way: keep `time` (oldest first) or `reverse_time` (newest first)".to_owned()
        }
        ("reverse", "time") => "for newest first, write `reverse_time` instead of `reverse` and `time`".to_owned(),
        ("reverse", "reverse_time") => "`reverse_time` is reversed already; remove `reverse`".to_owned(),
        ("pad", "time" | "reverse_time") => format!("`{other}` is as wide as it needs; remove `pad`"),
        ("hash", _) if !text(other) => format!("`hash` takes the value's plain encoding; remove `{other}`"),
        (one, other) if text(one) && !text(other) => {
            let of = if matches!(other, "time" | "reverse_time") { "times" } else { "integers" };
            let only = if other == "reverse" { "integers and dates" } else { of };
            format!("`{one}` is for text and `{other}` for {only}; keep the one for this field's type")
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;

    use super::*;

    fn read(attribute: &syn::Attribute) -> Result<String, String> {
        let mut errors = Errors::default();
        let mut keys = Keys::read(std::slice::from_ref(attribute), "row_key", &mut errors);
        let (encoding, _) = Encoding::read(&mut keys, &mut errors);
        keys.finish(&mut errors);
        if errors.is_empty() { Ok(encoding.to_string()) } else { Err(errors.into_tokens().to_string()) }
    }

    #[test]
    fn options_compose_in_one_order() {
        let text = |attribute: syn::Attribute| read(&attribute).unwrap();
        assert_eq!(text(syn::parse_quote!(#[row_key])), "plain");
        assert_eq!(text(syn::parse_quote!(#[row_key(uppercase, first = 1)])), "first = 1, uppercase");
        assert_eq!(text(syn::parse_quote!(#[row_key(first = 2)])), "first = 2");
        assert_eq!(text(syn::parse_quote!(#[row_key(pad = 8, reverse)])), "reverse, pad = 8");
        assert_eq!(text(syn::parse_quote!(#[row_key(lowercase, hash = 16)])), "hash = 16, lowercase");
        assert_eq!(text(syn::parse_quote!(#[row_key(raw)])), "raw");
    }

    /// Each encoding of a row key beside one of the partition, and what of that one follows from it.
    #[test]
    fn a_partition_follows_from_what_the_row_tells() {
        let parse = |text: &str| {
            let options: TokenStream = text.parse().unwrap();
            let attribute: syn::Attribute = match text {
                "plain" => syn::parse_quote!(#[row_key]),
                _ => syn::parse_quote!(#[row_key(#options)]),
            };
            let mut errors = Errors::default();
            let mut keys = Keys::read(std::slice::from_ref(&attribute), "row_key", &mut errors);
            Encoding::read(&mut keys, &mut errors).0
        };
        for (partition, row, follows) in [
            // What the row holds whole tells everything.
            ("hash = 16", "plain", "hash = 16"),
            ("hash = 16, lowercase", "plain", "hash = 16, lowercase"),
            ("first = 1, uppercase", "plain", "first = 1, uppercase"),
            ("first = 1", "raw", "first = 1"),
            ("hash = 16", "reverse, pad = 4", "hash = 16"),
            ("hash = 16", "time", "hash = 16"),
            ("pad = 4", "reverse", "pad = 4"),
            ("time", "reverse_time", "time"),
            // A folded text tells no other one.
            ("plain", "lowercase", "lowercase"),
            ("raw", "uppercase", "uppercase"),
            ("uppercase", "lowercase", "lowercase"),
            ("hash = 16", "lowercase", "hash = 16, lowercase"),
            ("hash = 16, lowercase", "lowercase", "hash = 16, lowercase"),
            ("hash = 16, uppercase", "lowercase", "hash = 16, lowercase"),
            ("hash = 16, first = 2", "uppercase", "hash = 16, first = 2, uppercase"),
            ("first = 1", "uppercase", "first = 1, uppercase"),
            ("first = 1, uppercase", "uppercase", "first = 1, uppercase"),
            // Nor the first characters more of them.
            ("plain", "first = 2", "first = 2"),
            ("first = 3", "first = 2", "first = 2"),
            ("first = 2", "first = 2", "first = 2"),
            ("first = 1, uppercase", "first = 2", "first = 1, uppercase"),
            ("first = 3", "first = 2, lowercase", "first = 2, lowercase"),
            ("hash = 16", "first = 2, lowercase", "hash = 16, first = 2, lowercase"),
            ("hash = 16, lowercase", "first = 2", "hash = 16, first = 2, lowercase"),
        ] {
            assert_eq!(parse(partition).following(&parse(row)).to_string(), follows, "{partition} beside {row}");
        }
    }

    #[test]
    fn conflicts_are_refused_once_each() {
        let messages = |attribute: syn::Attribute| read(&attribute).unwrap_err().matches("compile_error").count();
        assert_eq!(messages(syn::parse_quote!(#[row_key(lowercase, uppercase)])), 1);
        assert_eq!(messages(syn::parse_quote!(#[row_key(time, reverse)])), 1);
        assert_eq!(messages(syn::parse_quote!(#[row_key(raw, lowercase, first = 1)])), 2);
        assert_eq!(messages(syn::parse_quote!(#[row_key(pad = 0, first = 600)])), 3);
        assert_eq!(messages(syn::parse_quote!(#[row_key(pad = "1")])), 1);
    }
}
