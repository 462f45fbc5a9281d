//! Types of properties, as a layout records them, and the rule that decides which stored values a field of another type
//! reads.

use std::{collections::BTreeSet, fmt, ops::RangeInclusive, str::FromStr};

/// Type of a property: one of the service's types, with the values that the field can hold if it is a number, and with what
/// a text consists of. `Display` and `Serialize` give the text that a layout records, such as `Edm.Int32 in 0..=255` or
/// `Edm.String of a date`.
///
/// ```
/// use table_runtime::{Property, layout::PropertyType};
///
/// assert_eq!(<u8 as Property>::TYPE, PropertyType::Int32 { min: 0, max: 255 });
/// assert_eq!(<Option<u8> as Property>::TYPE.to_string(), "Edm.Int32 in 0..=255");
/// assert_eq!(<i64 as Property>::TYPE.to_string(), "Edm.Int64");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyType {
    /// `Edm.Boolean`.
    Boolean,
    /// `Edm.Int32`, of which the field holds these values.
    Int32 {
        /// The least value.
        min: i32,
        /// The greatest value.
        max: i32,
    },
    /// `Edm.Int64`, of which the field holds these values.
    Int64 {
        /// The least value.
        min: i64,
        /// The greatest value.
        max: i64,
    },
    /// `Edm.Double`.
    Double,
    /// `Edm.Double`, of which the field holds the values of an `f32`.
    Single,
    /// `Edm.String`.
    String,
    /// `Edm.String` of a date, such as `2026-12-24`.
    Date,
    /// `Edm.String` of an integer of the type `u64`, padded with zeros.
    UInt64,
    /// `Edm.String` of an integer of the type `u128`, padded with zeros.
    UInt128,
    /// `Edm.String` of an integer of the type `i128`, padded with zeros.
    Int128,
    /// `Edm.String` of a decimal number, such as `1.50`.
    Decimal,
    /// `Edm.String` of an IP address.
    Address,
    /// `Edm.String` of JSON.
    Json,
    /// `Edm.String` of the name of a variant.
    Variants {
        /// The variants that the program knows.
        names: &'static [&'static str],
        /// `true` if it also reads others.
        is_open: bool,
    },
    /// `Edm.Int64` of a duration in ticks of 100 ns.
    Ticks,
    /// `Edm.Int64` of a decimal number without its point, which is before so many places: 150 is `1.50` with two of them.
    Scaled {
        /// Number of places after the point.
        places: u32,
    },
    /// `Edm.Binary`.
    Binary,
    /// `Edm.String` that continues in other properties if it is longer than one of them.
    LargeString,
    /// `Edm.String` of JSON that continues in other properties in the same way.
    LargeJson,
    /// `Edm.Binary` that continues in other properties in the same way.
    LargeBinary,
    /// `Edm.Guid`.
    Guid,
    /// `Edm.DateTime`.
    DateTime,
}

impl PropertyType {
    /// `Edm.Int32`, all values.
    pub(crate) const INT32: Self = Self::Int32 { min: i32::MIN, max: i32::MAX };
    /// `Edm.Int64`, all values.
    pub(crate) const INT64: Self = Self::Int64 { min: i64::MIN, max: i64::MAX };

    /// Returns the name of the service's type, such as `Edm.Int32`.
    pub const fn edm(self) -> &'static str {
        match self {
            Self::Boolean => "Edm.Boolean",
            Self::Int32 { .. } => "Edm.Int32",
            Self::Int64 { .. } | Self::Scaled { .. } | Self::Ticks => "Edm.Int64",
            Self::Double | Self::Single => "Edm.Double",
            Self::String
            | Self::Date
            | Self::UInt64
            | Self::UInt128
            | Self::Int128
            | Self::Decimal
            | Self::Address
            | Self::Json
            | Self::LargeString
            | Self::LargeJson
            | Self::Variants { .. } => "Edm.String",
            Self::Binary | Self::LargeBinary => "Edm.Binary",
            Self::Guid => "Edm.Guid",
            Self::DateTime => "Edm.DateTime",
        }
    }

    /// Returns the integers that a field of this type holds; `None` if it is not an integer.
    fn integers(self) -> Option<RangeInclusive<i64>> {
        match self {
            Self::Int32 { min, max } => Some(min.into()..=max.into()),
            Self::Int64 { min, max } => Some(min..=max),
            Self::Scaled { .. } => Some(i64::MIN..=i64::MAX),
            _ => None,
        }
    }

    /// Returns what the values of a field of this type mean, as the end of its text; `None` if its values are all of the
    /// service's type, or a range of them.
    const fn content(self) -> Option<&'static str> {
        match self {
            Self::Date => Some(" of a date"),
            Self::UInt64 => Some(" of a `u64`"),
            Self::UInt128 => Some(" of a `u128`"),
            Self::Int128 => Some(" of an `i128`"),
            Self::Decimal => Some(" of a decimal"),
            Self::Address => Some(" of an IP address"),
            Self::Json => Some(" of JSON"),
            Self::Ticks => Some(" of ticks"),
            Self::LargeString | Self::LargeBinary => Some(" in parts"),
            Self::LargeJson => Some(" of JSON in parts"),
            _ => None,
        }
    }

    /// Returns the stored values that a field of the type reads, of those that were written as another type of texts, or as
    /// an integer that the field stores as text.
    #[allow(clippy::match_same_arms, reason = "each pair has its own reason")]
    fn reads_text(self, was: Self) -> Option<Reads> {
        // The sign and the digits of an integer. Filters compare only texts of the same number of digits.
        let wide = |integer: Self| match integer {
            Self::UInt64 => Some((false, 20)),
            Self::UInt128 => Some((false, 39)),
            Self::Int128 => Some((true, 39)),
            _ => None,
        };
        Some(match (self, was) {
            // Every text, whatever it consists of.
            (Self::String, was) if was.edm() == self.edm() => Reads::All,
            // Releases before those that record JSON recorded it as any text.
            (Self::Json, Self::String) => Reads::All,
            // The same integer is another number, or another time.
            (Self::Scaled { .. }, Self::Scaled { .. }) | (Self::Ticks, _) | (_, Self::Ticks) => Reads::Nothing,
            (Self::Decimal, Self::Int32 { .. } | Self::Int64 { .. }) => Reads::All,
            (Self::Decimal | Self::Address, Self::String) => Reads::Some,
            // JSON has dates and numbers as other texts.
            (Self::Date, Self::String | Self::Json) => Reads::Some,
            (now, Self::String | Self::Json) if wide(now).is_some() => Reads::Some,
            (now, was) => {
                let (is_signed, digits) = wide(now)?;
                match (wide(was), was.integers()) {
                    (Some((_, of_digits)), _) if of_digits != digits => Reads::Nothing,
                    (Some((was_signed, _)), _) if was_signed != is_signed => Reads::Some,
                    (Some(_), _) => Reads::All,
                    (None, Some(was)) if is_signed || *was.start() >= 0 => Reads::All,
                    (None, Some(was)) if *was.end() < 0 => Reads::Nothing,
                    (None, Some(_)) => Reads::Some,
                    (None, None) if was.significand().is_some() => Reads::Some,
                    (None, None) => return None,
                }
            }
        })
    }

    /// Returns the bits of the significand of a field of this type: it holds every integer up to the power of two with
    /// this exponent. Returns `None` if the type is not a floating-point number.
    const fn significand(self) -> Option<u32> {
        match self {
            Self::Double => Some(f64::MANTISSA_DIGITS),
            Self::Single => Some(f32::MANTISSA_DIGITS),
            _ => None,
        }
    }
}

impl fmt::Display for PropertyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.edm())?;
        if let Some(content) = self.content() {
            return f.write_str(content);
        }
        match *self {
            Self::Single => f.write_str(SINGLE),
            // The service's type already states this range.
            whole if whole == Self::INT32 || whole == Self::INT64 => Ok(()),
            Self::Int32 { min, max } => write!(f, "{IN}{min}{TO}{max}"),
            Self::Int64 { min, max } => write!(f, "{IN}{min}{TO}{max}"),
            Self::Scaled { places } => write!(f, "{OF}{places}{PLACES}"),
            Self::Variants { names, is_open: false } => write!(f, "{VARIANTS}{}", names.join(BETWEEN)),
            Self::Variants { names, is_open: true } => write!(f, "{ANY_VARIANT}{}", names.join(BETWEEN)),
            _ => Ok(()),
        }
    }
}

const SINGLE: &str = " in the range of `f32`";
const IN: &str = " in ";
const TO: &str = "..=";
const OF: &str = " of ";
const PLACES: &str = " decimal places";
const VARIANTS: &str = " of a variant: ";
const ANY_VARIANT: &str = " of any variant, such as ";
const BETWEEN: &str = ", ";

/// Writes the text of `Display`.
impl serde::Serialize for PropertyType {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl PropertyType {
    /// Reads the text of `Display`. Returns `None` if it is not the text of a type that this release knows.
    fn parse(text: &str) -> Option<Self> {
        fn range<T: FromStr + PartialOrd>(range: &str) -> Option<(T, T)> {
            let (min, max) = range.strip_prefix(IN)?.split_once(TO)?;
            let (min, max) = (min.parse().ok()?, max.parse().ok()?);
            (min <= max).then_some((min, max))
        }
        let service = [
            Self::Boolean,
            Self::INT32,
            Self::INT64,
            Self::Double,
            Self::String,
            Self::Binary,
            Self::Guid,
            Self::DateTime,
        ];
        let (whole, rest) = service.into_iter().find_map(|whole| Some((whole, text.strip_prefix(whole.edm())?)))?;
        match (whole, rest) {
            (whole, "") => Some(whole),
            (Self::Double, SINGLE) => Some(Self::Single),
            (Self::String, rest) => {
                let texts = [
                    Self::Date,
                    Self::UInt64,
                    Self::UInt128,
                    Self::Int128,
                    Self::Decimal,
                    Self::Address,
                    Self::Json,
                    Self::LargeString,
                    Self::LargeJson,
                ];
                texts.into_iter().find(|text| text.content() == Some(rest))
            }
            (Self::Binary, rest) => (Self::LargeBinary.content() == Some(rest)).then_some(Self::LargeBinary),
            (Self::Int32 { .. }, rest) => range(rest).map(|(min, max)| Self::Int32 { min, max }),
            (Self::Int64 { .. }, rest) if Self::Ticks.content() == Some(rest) => Some(Self::Ticks),
            (Self::Int64 { .. }, rest) if rest.ends_with(PLACES) => {
                let places = rest.strip_prefix(OF)?.strip_suffix(PLACES)?.parse().ok()?;
                Some(Self::Scaled { places })
            }
            (Self::Int64 { .. }, rest) => range(rest).map(|(min, max)| Self::Int64 { min, max }),
            _ => None,
        }
    }
}

/// Stored values that a field reads, if its type was another one when they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Every value, exactly as it was written.
    All,
    /// Some values. Others are errors; a field of the type `f32` rounds others.
    Some,
    /// No value.
    Nothing,
}

/// Returns true if a field of the recorded type `was` cannot read what a program with the type `now` writes. JSON counts as
/// unable to read any text, although a text may happen to be JSON. Parts count as the whole value, because a field of stored
/// data can become one in parts. Both are texts of [`PropertyType`]'s `Display`.
pub fn cannot_read(was: &str, now: &str) -> bool {
    let [was, now] = [was, now].map(|text| of_parts(text).unwrap_or(text));
    let is_json = PropertyType::parse(was) == Some(PropertyType::Json);
    reads(was, now) == Reads::Nothing || is_json && now == PropertyType::String.edm()
}

/// Returns the text of the type that a value has as a whole, if the text is that of a type in parts.
fn of_parts(text: &str) -> Option<&'static str> {
    match text {
        "Edm.String in parts" => Some("Edm.String"),
        "Edm.String of JSON in parts" => Some("Edm.String of JSON"),
        "Edm.Binary in parts" => Some("Edm.Binary"),
        _ => None,
    }
}

/// Returns true if a field of the type `now` would take the first part of a value of the type `was` for the whole. Both are
/// texts of [`PropertyType`]'s `Display`.
pub fn reads_first_part(now: &str, was: &str) -> bool {
    of_parts(was).is_some_and(|was| reads(now, was) != Reads::Nothing) && of_parts(now).is_none()
}

/// The variants that a field reads.
struct Variants<'a> {
    names: BTreeSet<&'a str>,
    is_open: bool,
}

impl<'a> Variants<'a> {
    /// Reads the text of [`PropertyType::Variants`]. Returns `None` if it is the text of another type.
    fn parse(text: &'a str) -> Option<Self> {
        let text = text.strip_prefix(PropertyType::String.edm())?;
        let closed = text.strip_prefix(VARIANTS).map(|names| (names, false));
        let (names, is_open) = closed.or_else(|| Some((text.strip_prefix(ANY_VARIANT)?, true)))?;
        Some(Self { names: names.split(BETWEEN).collect(), is_open })
    }
}

/// Returns the recorded variants that the type `now` does not read. Both are texts of [`PropertyType`]'s `Display`.
pub fn lost_variants<'a>(now: &'a str, was: &'a str) -> Vec<&'a str> {
    match (Variants::parse(now), Variants::parse(was)) {
        (Some(now), Some(was)) if !now.is_open => was.names.difference(&now.names).copied().collect(),
        _ => Vec::new(),
    }
}

/// Returns true if a record of the type `now` takes the place of one of the type `was`: `was` is any text, and `now` says of
/// what the text consists, or `now` has more variants. A program that would not read such texts is then refused. Both are
/// texts of [`PropertyType`]'s `Display`.
///
/// A type in parts takes the place of every type that it reads, so that programs that do not know the parts are refused.
pub fn replaces(now: &str, was: &str) -> bool {
    if let Some(now) = of_parts(now) {
        return of_parts(was).is_none_or(|was| replaces(now, was));
    }
    if let Some(now) = Variants::parse(now) {
        let has_more = |was: Variants<'_>| was.names.is_subset(&now.names);
        return was == PropertyType::String.edm() || Variants::parse(was).is_some_and(has_more);
    }
    let consists = |now: PropertyType| now.edm() == was && now.content().is_some();
    was == PropertyType::String.edm() && PropertyType::parse(now).is_some_and(consists)
}

/// Returns what a field of the type `now` reads of properties that were recorded with the type `was`. Both are texts of
/// [`PropertyType`]'s `Display`. Returns [`Reads::All`] if one of them is unknown, because a newer release may have
/// recorded it: an unreadable row is then an error when it is read.
///
/// A number is read from a property of another numeric type if the field holds it exactly, and an integer that is stored as
/// text also from integers. A text is read from every `Edm.String`. A value in parts is read from what it is as a whole, and
/// not the other way around. Every other type is read only from itself, and from the texts that it accepts.
pub fn reads(now: &str, was: &str) -> Reads {
    if now == was {
        return Reads::All;
    }
    match (of_parts(now), of_parts(was)) {
        (Some(now), was_whole) => return reads(now, was_whole.unwrap_or(was)),
        (None, Some(_)) => return Reads::Nothing,
        (None, None) => {}
    }
    match (Variants::parse(now), Variants::parse(was)) {
        // Any text is a variant.
        (Some(now), None) if now.is_open => return reads(PropertyType::String.edm(), was),
        (Some(now), Some(_)) if now.is_open => return Reads::All,
        (Some(_), Some(was)) if was.is_open => return Reads::Some,
        (Some(now), Some(was)) if was.names.is_subset(&now.names) => return Reads::All,
        (Some(now), Some(was)) if was.names.is_disjoint(&now.names) => return Reads::Nothing,
        (Some(_), Some(_)) => return Reads::Some,
        (Some(_), None) if was == PropertyType::String.edm() => return Reads::Some,
        (Some(_), None) => return Reads::Nothing,
        (None, Some(_)) => return reads(now, PropertyType::String.edm()),
        (None, None) => {}
    }
    let (Some(now), Some(was)) = (PropertyType::parse(now), PropertyType::parse(was)) else { return Reads::All };
    if let Some(reads) = now.reads_text(was) {
        return reads;
    }
    let whole = |bits: u32| -(1 << bits)..=1 << bits;
    // The integers that the field reads, and those of them of which it holds each exactly.
    let read = now.integers().or_else(|| now.significand().map(|_| whole(f64::MANTISSA_DIGITS)));
    let exact = now.integers().or_else(|| now.significand().map(whole));
    match (read.zip(exact), was.integers()) {
        (Some((read, exact)), Some(written)) => {
            if exact.contains(written.start()) && exact.contains(written.end()) {
                Reads::All
            } else if read.end() < written.start() || written.end() < read.start() {
                Reads::Nothing
            } else {
                Reads::Some
            }
        }
        // Of a floating-point number, an integer reads the whole numbers in its range, and an `f32` those in its own.
        (Some(_), None) if was.significand().is_some() => {
            if now.significand() >= was.significand() {
                Reads::All
            } else {
                Reads::Some
            }
        }
        (None, None) if now == was => Reads::All,
        _ => Reads::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disjoint_ranges_read_nothing() {
        assert_eq!(reads("Edm.Int32 in 0..=9", "Edm.Int64 in 10..=19"), Reads::Nothing);
        assert_eq!(reads("Edm.Int32 in 10..=19", "Edm.Int32 in 0..=9"), Reads::Nothing);
        assert_eq!(reads("Edm.Int32 in 0..=9", "Edm.Int64 in 9..=19"), Reads::Some);
        assert_eq!(reads("Edm.Double", "Edm.Int64 in 9007199254740994..=9007199254740996"), Reads::Nothing);
        assert_eq!(reads("Edm.Double in the range of `f32`", "Edm.Int32 in 16777217..=16777218"), Reads::Some);
    }

    #[test]
    fn variants_are_compared_by_their_names() {
        const TYPES: [(&str, PropertyType); 4] = [
            ("card", PropertyType::Variants { names: &["Card"], is_open: false }),
            ("both", PropertyType::Variants { names: &["Card", "Cash"], is_open: false }),
            ("cash", PropertyType::Variants { names: &["Cash"], is_open: false }),
            ("open", PropertyType::Variants { names: &["Card"], is_open: true }),
        ];
        let of = |wanted: &str| {
            let found = TYPES.iter().find(|(name, _)| *name == wanted);
            found.map_or_else(|| wanted.to_owned(), |(_, ty)| ty.to_string())
        };
        assert_eq!(of("both"), "Edm.String of a variant: Card, Cash");
        assert_eq!(of("open"), "Edm.String of any variant, such as Card");
        for (now, was, read, lost, replaced) in [
            ("card", "card", Reads::All, "", true),
            ("both", "card", Reads::All, "", true),
            ("card", "both", Reads::Some, "Cash", false),
            ("card", "cash", Reads::Nothing, "Cash", false),
            ("open", "both", Reads::All, "", false),
            ("open", "card", Reads::All, "", true),
            ("card", "open", Reads::Some, "", true),
            ("cash", "open", Reads::Some, "Card", false),
            ("open", "Edm.String", Reads::All, "", true),
            ("card", "Edm.String", Reads::Some, "", true),
            ("card", "Edm.Int32", Reads::Nothing, "", false),
            ("Edm.String", "card", Reads::All, "", false),
        ] {
            let (now_text, was_text) = (of(now), of(was));
            assert_eq!(reads(&now_text, &was_text), read, "{now} reads {was}");
            assert_eq!(lost_variants(&now_text, &was_text).join(","), lost, "{now} after {was}");
            assert_eq!(replaces(&now_text, &was_text), replaced, "{now} in place of {was}");
        }
    }

    #[test]
    fn types_are_parsed_from_their_texts() {
        use PropertyType::{
            Address, Binary, Boolean, Date, DateTime, Decimal, Double, Guid, Int32, Int64, Int128, Json, LargeBinary,
            LargeJson, LargeString, Scaled, Single, String, Ticks, UInt64, UInt128,
        };
        let integers = [
            Int32 { min: -128, max: 127 },
            Int64 { min: 0, max: u32::MAX.into() },
            PropertyType::INT32,
            PropertyType::INT64,
        ];
        let texts = [
            String,
            Date,
            UInt64,
            UInt128,
            Int128,
            Decimal,
            Address,
            Json,
            LargeString,
            LargeJson,
            LargeBinary,
            Ticks,
            Scaled { places: 0 },
            Scaled { places: 28 },
        ];
        for property in [Boolean, Double, Single, Binary, Guid, DateTime].into_iter().chain(texts).chain(integers) {
            assert_eq!(PropertyType::parse(&property.to_string()), Some(property));
        }
    }

    #[test]
    fn values_in_parts_are_read_and_replaced_in_one_direction() {
        let types = ["Edm.String", "Edm.String of JSON", "Edm.Binary"];
        for whole in types {
            let large = format!("{whole} in parts");
            assert_eq!(of_parts(&large), Some(whole));
            assert_eq!((reads(&large, whole), reads(whole, &large)), (Reads::All, Reads::Nothing));
            assert!(!cannot_read(whole, &large) && replaces(&large, whole) && !replaces(whole, &large));
            assert!(reads_first_part(whole, &large) && !reads_first_part(&large, whole));
        }
        let [text, json, bytes] = types.map(|whole| format!("{whole} in parts"));
        assert_eq!((reads(&json, &text), reads(&text, &json)), (Reads::All, Reads::All));
        assert_eq!((reads(&bytes, &text), reads("Edm.String of a date", &text)), (Reads::Nothing, Reads::Nothing));
        assert!(cannot_read(&json, &text) && cannot_read("Edm.String of JSON", &text) && !cannot_read(&text, &json));
        assert!(replaces(&json, &text) && !replaces(&text, &json));
    }

    #[test]
    fn unknown_types_are_left_to_the_reader_of_rows() {
        for unknown in [
            "",
            "Edm",
            "Edm.Int128",
            "Edm.Int32 in 0",
            "Edm.Int32 in 9..=0",
            "Edm.Int32 in 0..=9999999999",
            "Edm.Double in 0..=1",
            "Edm.String of a dater",
        ] {
            assert_eq!(reads("Edm.String", unknown), Reads::All, "{unknown}");
            assert_eq!(reads(unknown, "Edm.String"), Reads::All, "{unknown}");
        }
    }
}
