//! The options of attributes that set the encoding of a key part.

use std::ops::RangeInclusive;

/// An option that sets an encoding.
///
/// The variants are in the order in which conflicts are checked. An option applies to the result of the options after it,
/// but `scale` makes the integer to which `pad` applies, and `reverse` applies to the padded number.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum EncodingOption {
    Raw,
    Hash,
    First,
    Lowercase,
    Uppercase,
    Scale,
    Pad,
    Reverse,
    Time,
    ReverseTime,
}

/// The form in which an option is written.
#[derive(Clone)]
pub(crate) enum Form {
    /// `option`
    Flag,
    /// `option = N`, where the range contains `N`.
    Number(RangeInclusive<usize>),
}

impl EncodingOption {
    /// All options, in the order of the documentation.
    pub(crate) const ALL: [Self; 10] = [
        Self::Lowercase,
        Self::Uppercase,
        Self::First,
        Self::Scale,
        Self::Pad,
        Self::Reverse,
        Self::Time,
        Self::ReverseTime,
        Self::Hash,
        Self::Raw,
    ];

    /// Returns the option with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|option| option.name() == name)
    }

    /// Returns the name in attributes and in recorded layouts. The runtime's type has the same name in `PascalCase`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Hash => "hash",
            Self::First => "first",
            Self::Lowercase => "lowercase",
            Self::Uppercase => "uppercase",
            Self::Scale => "scale",
            Self::Pad => "pad",
            Self::Reverse => "reverse",
            Self::Time => "time",
            Self::ReverseTime => "reverse_time",
        }
    }

    /// Returns the form in which the option is written.
    pub(crate) fn form(self) -> Form {
        match self {
            Self::Hash => Form::Number(2..=65_536),
            Self::First => Form::Number(1..=512),
            Self::Scale => Form::Number(0..=28),
            Self::Pad => Form::Number(1..=39),
            _ => Form::Flag,
        }
    }

    /// Returns true if the option applies to text alone.
    pub(crate) fn is_for_text(self) -> bool {
        matches!(self, Self::First | Self::Lowercase | Self::Uppercase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_listed_and_documented() {
        let documentation = include_str!("lib.rs");
        for option in EncodingOption::ALL {
            assert_eq!(EncodingOption::named(option.name()), Some(option));
            let row = match option.form() {
                Form::Flag => format!("`{}`", option.name()),
                Form::Number(_) => format!("| `{} = N` |", option.name()),
            };
            assert!(documentation.contains(&row), "{row}");
        }
    }
}
