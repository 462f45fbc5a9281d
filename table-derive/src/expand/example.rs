//! Examples of keys, and the types of arguments as a user reads them, for the documentation of generated functions.
//!
//! Both are known only for the types that have their own names here. The examples have the values of `layout()`, whose
//! text the encodings themselves write; a test of the runtime compares the two.

use quote::ToTokens as _;
use syn::{GenericArgument, Ident, PathArguments, Type};

use crate::{
    encoding::Encoding,
    field_type::FieldType,
    model::{Entity, Key, Part},
};

/// Noon of 2010-05-28 as .NET ticks, and the greatest ticks.
const NOON: u64 = 634_106_448_000_000_000;
const MAX_TICKS: u64 = 3_155_378_975_999_999_999;
/// Number of digits of a decimal without `pad`.
const DECIMAL_DIGITS: usize = 29;

/// Kind of a key part, as far as its type is known.
enum Kind {
    Text,
    Character,
    /// Digits of the greatest value, the greatest value, and whether there are negative values.
    Integer(usize, u128, bool),
    Decimal,
    Bool,
    Id,
    Instant,
    Date,
}

/// Returns the type of an argument for a part: `&str` for text, and other types as they are declared.
pub(super) fn argument_type(entity: &Entity, part: &Part) -> String {
    let field = &entity.fields[part.field];
    let declared = inner(&field.ty, part);
    match kind(declared) {
        // The derive does not know the types of parts.
        _ if field.path().is_some() => format!("of `{}`", field.name),
        Some(Kind::Text) => "&str".to_owned(),
        _ => declared.to_token_stream().to_string().replace(' ', ""),
    }
}

/// Returns an example of a key; `None` if the type of a part is not known.
pub(super) fn key(entity: &Entity, key: &Key) -> Option<String> {
    let mut example = key.prefix().to_owned();
    for (position, part) in key.parts.iter().enumerate() {
        let (text, self_delimiting) = self::part(&kind(inner(&entity.fields[part.field].ty, part))?, &part.encoding)?;
        example.push_str(&text);
        if position + 1 < key.parts.len() {
            match &entity.separator {
                Some(separator) => example.push_str(&separator.value),
                None => example.push(if self_delimiting { '_' } else { ' ' }),
            }
        }
    }
    Some(example)
}

/// Returns the type of the value in the key, which for an index may be inside of an `Option`, or be an element.
fn inner<'a>(ty: &'a FieldType, part: &Part) -> &'a Type {
    let declared = ty.declared();
    match argument(declared, |name| name == "Option").filter(|_| part.is_index_value) {
        Some(inner) if part.each.is_some() => element(inner),
        None if part.each.is_some() => element(declared),
        inner => inner.unwrap_or(declared),
    }
}

/// Returns the type of the elements of a collection, if it is known.
fn element(collection: &Type) -> &Type {
    match collection {
        Type::Array(array) => &array.elem,
        Type::Slice(slice) => &slice.elem,
        other => match argument(other, |_| true) {
            Some(Type::Slice(slice)) => &slice.elem,
            inner => inner.unwrap_or(other),
        },
    }
}

/// Returns the first type argument of a type with such a name.
fn argument(ty: &Type, is_named: impl Fn(&Ident) -> bool) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let PathArguments::AngleBracketed(arguments) =
        &path.path.segments.last().filter(|last| is_named(&last.ident))?.arguments
    else {
        return None;
    };
    match arguments.args.first()? {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    }
}

fn kind(ty: &Type) -> Option<Kind> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let of_text = || last.arguments.to_token_stream().to_string().contains("str");
    Some(match last.ident.to_string().as_str() {
        "String" => Kind::Text,
        "Box" | "Arc" | "Cow" if of_text() => Kind::Text,
        "char" => Kind::Character,
        "u8" => Kind::Integer(3, u8::MAX.into(), false),
        "u16" => Kind::Integer(5, u16::MAX.into(), false),
        "u32" => Kind::Integer(10, u32::MAX.into(), false),
        "u64" => Kind::Integer(20, u64::MAX.into(), false),
        "u128" => Kind::Integer(39, u128::MAX, false),
        "i8" => Kind::Integer(3, 0, true),
        "i16" => Kind::Integer(5, 0, true),
        "i32" => Kind::Integer(10, 0, true),
        "i64" => Kind::Integer(19, 0, true),
        "i128" => Kind::Integer(39, 0, true),
        "Decimal" => Kind::Decimal,
        "bool" => Kind::Bool,
        "Uuid" | "Guid" => Kind::Id,
        "OffsetDateTime" | "SystemTime" | "DateTime" | "Timestamp" => Kind::Instant,
        "NaiveDate" | "Date" => Kind::Date,
        _ => return None,
    })
}

/// Returns the text of a part, and whether the text marks its own end.
fn part(kind: &Kind, encoding: &Encoding) -> Option<(String, bool)> {
    Some(match (kind, encoding) {
        (Kind::Text, encoding) => (text(encoding)?, false),
        (Kind::Character, Encoding::Plain) => ("a".to_owned(), false),
        (Kind::Integer(digits, ..), Encoding::Plain) | (Kind::Integer(..), Encoding::Pad(digits)) => {
            (format!("{:0digits$}", 7), true)
        }
        (Kind::Integer(type_digits, max, signed), Encoding::Reverse(inner)) => {
            let digits = if let Encoding::Pad(digits) = **inner { digits } else { *type_digits };
            let greatest =
                if digits < *type_digits { 10_u128.checked_pow(u32::try_from(digits).ok()?)? - 1 } else { *max };
            // A signed value is mirrored to `!v`, which is negative: the nine's complement of its digits.
            if *signed {
                let nines = "9".repeat(digits.checked_sub(1)?);
                (format!("-{nines}2"), true)
            } else {
                (format!("{:0digits$}", greatest - 7), true)
            }
        }
        (Kind::Decimal, Encoding::Scale(places, inner)) => decimal(*places, inner)?,
        (Kind::Bool, Encoding::Plain) => ("1".to_owned(), true),
        (Kind::Id, Encoding::Plain) => ("3f2504e0-4f89-41d3-9a0c-0305e82c3301".to_owned(), true),
        (Kind::Id, Encoding::Reverse(_)) => ("c0dafb1f-b076-be2c-65f3-fcfa17d3ccfe".to_owned(), true),
        (Kind::Instant, Encoding::Time) => (format!("{NOON:019}"), true),
        (Kind::Instant, Encoding::ReverseTime) => (format!("{:019}", MAX_TICKS - NOON), true),
        (Kind::Date, Encoding::Plain) => ("2010-05-28".to_owned(), true),
        (Kind::Date, Encoding::Reverse(_)) => ("7989-94-71".to_owned(), true),
        // The derive has no hash function.
        _ => return None,
    })
}

/// Returns the part of a 7 without its point, which is before so many places; `None` if it has too many digits.
fn decimal(places: usize, encoding: &Encoding) -> Option<(String, bool)> {
    let (is_reversed, encoding) = match encoding {
        Encoding::Reverse(inner) => (true, &**inner),
        encoding => (false, encoding),
    };
    let digits = if let Encoding::Pad(digits) = encoding { *digits } else { DECIMAL_DIGITS };
    let leading = digits.checked_sub(places + 1)?;
    let number = |zero: &str, seven: &str| zero.repeat(leading) + seven + &zero.repeat(places);
    // A reversed value is mirrored to `!v`, which is negative: the nine's complement of its digits.
    Some((if is_reversed { format!("-{}", number("9", "2")) } else { number("0", "7") }, true))
}

fn text(encoding: &Encoding) -> Option<String> {
    Some(match encoding {
        Encoding::Plain | Encoding::Raw => "Ada".to_owned(),
        Encoding::Lowercase => "ada".to_owned(),
        Encoding::Uppercase => "ADA".to_owned(),
        Encoding::First(count, inner) => text(inner)?.chars().take(*count).collect(),
        _ => return None,
    })
}
