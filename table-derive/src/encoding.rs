//! The encodings of key parts.

use std::fmt;

use proc_macro2::Span;

use crate::{
    attributes::Keys,
    encoding_option::{EncodingOption, Form},
    errors::Errors,
};

/// Encoding of a key part, composed of the options of its attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Encoding {
    Plain,
    Lowercase,
    Uppercase,
    First(usize, Box<Self>),
    /// A decimal with this number of places, as the integer that the inner encoding writes.
    Scale(usize, Box<Self>),
    Pad(usize),
    Reverse(Box<Self>),
    Time,
    ReverseTime,
    Hash(usize, Box<Self>),
    Raw,
}

/// Outermost option of an encoding.
pub(crate) struct Step<'a> {
    pub(crate) option: EncodingOption,
    pub(crate) number: Option<usize>,
    /// The encoding to whose result the option applies.
    pub(crate) inner: Option<&'a Encoding>,
}

/// Writes the options in a fixed order, because the text is part of the layout that tables record.
impl fmt::Display for Encoding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Step { option, number, inner }) = self.outermost() else { return formatter.write_str("plain") };
        formatter.write_str(option.name())?;
        if let Some(number) = number {
            write!(formatter, " = {number}")?;
        }
        match inner {
            Some(inner) if *inner != Self::Plain => write!(formatter, ", {inner}"),
            _ => Ok(()),
        }
    }
}

impl Encoding {
    /// Returns the outermost option, or `None` for the plain encoding.
    pub(crate) fn outermost(&self) -> Option<Step<'_>> {
        let (option, number, inner) = match self {
            Self::Plain => return None,
            Self::Lowercase => (EncodingOption::Lowercase, None, None),
            Self::Uppercase => (EncodingOption::Uppercase, None, None),
            Self::First(count, inner) => (EncodingOption::First, Some(*count), Some(&**inner)),
            Self::Scale(places, inner) => (EncodingOption::Scale, Some(*places), Some(&**inner)),
            Self::Pad(digits) => (EncodingOption::Pad, Some(*digits), None),
            Self::Reverse(inner) => (EncodingOption::Reverse, None, Some(&**inner)),
            Self::Time => (EncodingOption::Time, None, None),
            Self::ReverseTime => (EncodingOption::ReverseTime, None, None),
            Self::Hash(buckets, inner) => (EncodingOption::Hash, Some(*buckets), Some(&**inner)),
            Self::Raw => (EncodingOption::Raw, None, None),
        };
        Some(Step { option, number, inner })
    }

    /// Returns true if the value cannot be read back from the key.
    pub(crate) fn is_lossy(&self) -> bool {
        // A new encoding has to decide.
        match self {
            Self::Lowercase | Self::Uppercase | Self::First(..) | Self::Hash(..) => true,
            Self::Plain
            | Self::Scale(..)
            | Self::Pad(_)
            | Self::Reverse(_)
            | Self::Time
            | Self::ReverseTime
            | Self::Raw => false,
        }
    }

    /// Returns the case folding of a text: `lowercase`, `uppercase` or plain.
    pub(crate) fn fold(&self) -> &Self {
        match self {
            Self::First(_, inner) | Self::Hash(_, inner) => inner.fold(),
            Self::Lowercase | Self::Uppercase => self,
            _ => &Self::Plain,
        }
    }

    /// Returns this encoding of a partition key, restricted to what can be computed from `row`, the encoding of the same
    /// value in the row key. Values that are equal in the row key then have the same partition: a folded text determines
    /// only the same folding, and the first characters determine only as many characters.
    pub(crate) fn derived_from(&self, row: &Self) -> Self {
        if !row.is_lossy() {
            return self.clone();
        }
        let most = if let Self::First(count, _) = row { Some(*count) } else { None };
        let fold = if *row.fold() == Self::Plain { self.fold() } else { row.fold() };
        let first = |count| Self::First(count, Box::new(fold.clone()));
        match self {
            Self::Hash(buckets, inner) => Self::Hash(*buckets, Box::new(inner.derived_from(row))),
            Self::First(count, _) => first(most.map_or(*count, |most| most.min(*count))),
            Self::Plain | Self::Lowercase | Self::Uppercase | Self::Raw => most.map_or_else(|| fold.clone(), first),
            // Only text has lossy encodings.
            Self::Scale(..) | Self::Pad(_) | Self::Reverse(_) | Self::Time | Self::ReverseTime => self.clone(),
        }
    }

    /// Takes the options of an encoding. The returned span is that of the outermost option.
    pub(crate) fn read(keys: &mut Keys, errors: &mut Errors) -> (Self, Option<Span>) {
        let options = EncodingOption::ALL.into_iter();
        let mut given: Vec<_> = options.filter_map(|option| Given::take(option, keys, errors)).collect();
        given.sort_by_key(|given| given.option);
        let span = given.first().map(|given| given.span);
        report_conflicts(&given, errors);
        (given.iter().rev().fold(Self::Plain, |inner, given| given.apply(inner)), span)
    }
}

/// Option that an attribute contains.
struct Given {
    option: EncodingOption,
    /// The option's number; 0 for a flag.
    number: usize,
    span: Span,
}

impl Given {
    fn take(option: EncodingOption, keys: &mut Keys, errors: &mut Errors) -> Option<Self> {
        let (span, number) = match option.form() {
            Form::Flag => (keys.flag(option.name(), errors)?, 0),
            Form::Number(range) => keys.number(option.name(), range, errors)?,
        };
        Some(Self { option, number, span })
    }

    /// Returns the encoding that applies this option to the result of `inner`.
    fn apply(&self, inner: Encoding) -> Encoding {
        match (self.option, inner) {
            (EncodingOption::Raw, _) => Encoding::Raw,
            (EncodingOption::Hash, inner) => Encoding::Hash(self.number, Box::new(inner)),
            (EncodingOption::First, inner) => Encoding::First(self.number, Box::new(inner)),
            (EncodingOption::Scale, inner) => Encoding::Scale(self.number, Box::new(inner)),
            (EncodingOption::Lowercase, _) => Encoding::Lowercase,
            (EncodingOption::Uppercase, _) => Encoding::Uppercase,
            // `reverse` applies to the padded number.
            (EncodingOption::Pad, Encoding::Reverse(_)) => Encoding::Reverse(Box::new(Encoding::Pad(self.number))),
            (EncodingOption::Pad, _) => Encoding::Pad(self.number),
            (EncodingOption::Reverse, inner) => Encoding::Reverse(Box::new(inner)),
            (EncodingOption::Time, _) => Encoding::Time,
            (EncodingOption::ReverseTime, _) => Encoding::ReverseTime,
        }
    }
}

/// Reports for each option its first conflict with an option before it.
fn report_conflicts(given: &[Given], errors: &mut Errors) {
    for (at, Given { option, span, .. }) in given.iter().enumerate() {
        if let Some(message) = given[..at].iter().find_map(|before| conflict(before.option, *option)) {
            errors.at(*span, message);
        }
    }
}

/// Returns the message for two options that cannot be combined. `one` is before `other` in the order of the options.
fn conflict(one: EncodingOption, other: EncodingOption) -> Option<String> {
    use EncodingOption::{Hash, Lowercase, Pad, Raw, Reverse, ReverseTime, Scale, Time, Uppercase};

    let (name, other_name) = (one.name(), other.name());
    Some(match (one, other) {
        (Raw, _) => format!("`raw` writes the text unchanged; remove `{other_name}` or `raw`"),
        (Lowercase, Uppercase) => "`lowercase` and `uppercase` exclude each other; keep one of them".to_owned(),
        (Time, ReverseTime) => "`time` and `reverse_time` exclude each other; keep `time` (oldest first) or \
                                `reverse_time` (newest first)"
            .to_owned(),
        (Reverse, Time) => "for newest first, write `reverse_time` instead of `reverse` and `time`".to_owned(),
        (Reverse, ReverseTime) => "`reverse_time` is already reversed; remove `reverse`".to_owned(),
        (Scale, Time | ReverseTime) => {
            format!(
                "`scale` is for decimals and `{other_name}` is for times; keep the one that fits the type of the field"
            )
        }
        (Pad, Time | ReverseTime) => format!("`{other_name}` has a fixed width; remove `pad`"),
        (Hash, other) if !other.is_for_text() && other != Scale => {
            format!("`hash` cannot be combined with `{other_name}`; remove `{other_name}`")
        }
        (one, other) if one.is_for_text() && !other.is_for_text() => {
            let types = match other {
                Time | ReverseTime => "times",
                Scale => "decimals",
                Reverse => "integers, decimals, dates and GUIDs",
                _ => "integers and decimals",
            };
            format!(
                "`{name}` is for text and `{other_name}` is for {types}; keep the one that fits the type of the field"
            )
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
    fn options_are_written_in_a_fixed_order() {
        let text = |attribute: syn::Attribute| read(&attribute).unwrap();
        assert_eq!(text(syn::parse_quote!(#[row_key])), "plain");
        assert_eq!(text(syn::parse_quote!(#[row_key(uppercase, first = 1)])), "first = 1, uppercase");
        assert_eq!(text(syn::parse_quote!(#[row_key(first = 2)])), "first = 2");
        assert_eq!(text(syn::parse_quote!(#[row_key(pad = 8, reverse)])), "reverse, pad = 8");
        assert_eq!(text(syn::parse_quote!(#[row_key(pad = 8, scale = 2)])), "scale = 2, pad = 8");
        assert_eq!(text(syn::parse_quote!(#[row_key(reverse, pad = 8, scale = 0)])), "scale = 0, reverse, pad = 8");
        assert_eq!(text(syn::parse_quote!(#[row_key(scale = 2, hash = 16)])), "hash = 16, scale = 2");
        assert_eq!(text(syn::parse_quote!(#[row_key(lowercase, hash = 16)])), "hash = 16, lowercase");
        assert_eq!(text(syn::parse_quote!(#[row_key(raw)])), "raw");
    }

    #[test]
    fn a_partition_is_derived_from_the_row_key() {
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
        for (partition, row, derived) in [
            // A row key that contains the whole value allows any partition.
            ("hash = 16", "plain", "hash = 16"),
            ("hash = 16, lowercase", "plain", "hash = 16, lowercase"),
            ("first = 1, uppercase", "plain", "first = 1, uppercase"),
            ("first = 1", "raw", "first = 1"),
            ("hash = 16", "reverse, pad = 4", "hash = 16"),
            ("hash = 16, scale = 2", "scale = 2, reverse", "hash = 16, scale = 2"),
            ("hash = 16", "time", "hash = 16"),
            ("pad = 4", "reverse", "pad = 4"),
            ("time", "reverse_time", "time"),
            // A folded text determines only the same folding.
            ("plain", "lowercase", "lowercase"),
            ("raw", "uppercase", "uppercase"),
            ("uppercase", "lowercase", "lowercase"),
            ("hash = 16", "lowercase", "hash = 16, lowercase"),
            ("hash = 16, lowercase", "lowercase", "hash = 16, lowercase"),
            ("hash = 16, uppercase", "lowercase", "hash = 16, lowercase"),
            ("hash = 16, first = 2", "uppercase", "hash = 16, first = 2, uppercase"),
            ("first = 1", "uppercase", "first = 1, uppercase"),
            ("first = 1, uppercase", "uppercase", "first = 1, uppercase"),
            // The first characters determine only as many characters.
            ("plain", "first = 2", "first = 2"),
            ("first = 3", "first = 2", "first = 2"),
            ("first = 2", "first = 2", "first = 2"),
            ("first = 1, uppercase", "first = 2", "first = 1, uppercase"),
            ("first = 3", "first = 2, lowercase", "first = 2, lowercase"),
            ("hash = 16", "first = 2, lowercase", "hash = 16, first = 2, lowercase"),
            ("hash = 16, lowercase", "first = 2", "hash = 16, first = 2, lowercase"),
        ] {
            assert_eq!(parse(partition).derived_from(&parse(row)).to_string(), derived, "{partition} with {row}");
        }
    }

    #[test]
    fn each_conflict_is_reported_once() {
        let messages = |attribute: syn::Attribute| read(&attribute).unwrap_err().matches("compile_error").count();
        assert_eq!(messages(syn::parse_quote!(#[row_key(lowercase, uppercase)])), 1);
        assert_eq!(messages(syn::parse_quote!(#[row_key(time, reverse)])), 1);
        assert_eq!(messages(syn::parse_quote!(#[row_key(scale = 2, lowercase)])), 1);
        assert_eq!(messages(syn::parse_quote!(#[row_key(scale = 2, time)])), 1);
        assert_eq!(messages(syn::parse_quote!(#[row_key(hash = 16, scale = 2, pad = 8)])), 1);
        assert_eq!(messages(syn::parse_quote!(#[row_key(raw, lowercase, first = 1)])), 2);
        assert_eq!(messages(syn::parse_quote!(#[row_key(pad = 0, first = 600)])), 3);
        assert_eq!(messages(syn::parse_quote!(#[row_key(pad = "1")])), 1);
    }
}
