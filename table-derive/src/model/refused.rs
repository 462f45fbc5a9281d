//! Types of fields that can be no property, or no part of a key, and are recognized by their syntax, and what to write
//! instead.

use syn::{GenericArgument, Ident, PathArguments, Type, TypePath};

/// Returns what to write instead of a type; `None` if it may be a property.
pub(super) fn advice(ty: &Type) -> Option<String> {
    match ty {
        Type::Group(group) => advice(&group.elem),
        Type::Paren(paren) => advice(&paren.elem),
        Type::Reference(reference) => {
            let owned = match &*reference.elem {
                Type::Slice(slice) if is_named(&slice.elem, "u8") => "`Vec<u8>`",
                ty if is_named(ty, "str") => "`String`",
                _ => "the type without `&`",
            };
            Some(format!("a field owns its value; write {owned}"))
        }
        Type::Array(array) if is_named(&array.elem, "u8") => {
            Some("bytes are a property of any length; write `Vec<u8>`".to_owned())
        }
        Type::Array(_) | Type::Tuple(_) | Type::Slice(_) => Some(
            "a property holds one value; put `#[property(json)]` on the field, or write a field for each value"
                .to_owned(),
        ),
        Type::Path(path) => of_name(path),
        _ => None,
    }
}

/// Returns what to write instead of a type, with `{field}` for the name of the field; `None` if it may be a part of a key.
pub(super) fn key_advice(ty: &Type) -> Option<String> {
    const ONE_VALUE: &str = "a part of a key is one value; put the attribute on a field for each value";
    const BYTES: &str = "bytes are no part of a key; write text, such as hex, or a `Uuid` for 16 bytes";
    let path = match ty {
        Type::Group(group) => return key_advice(&group.elem),
        Type::Paren(paren) => return key_advice(&paren.elem),
        Type::Array(array) if is_named(&array.elem, "u8") => return Some(BYTES.to_owned()),
        Type::Array(_) | Type::Tuple(_) | Type::Slice(_) => return Some(ONE_VALUE.to_owned()),
        Type::Reference(_) => return advice(ty),
        Type::Path(path) => path,
        _ => return None,
    };
    match generic(path) {
        Some((name, _)) if name == "Option" => {
            return Some("every entity has its key; remove `Option`, or, for a value that may be missing, make it an index: `#[index({field}, \
                         same_partition)]` in place of this attribute"
                .to_owned());
        }
        Some((name, inner)) if name == "Vec" && is_named(inner, "u8") => return Some(BYTES.to_owned()),
        Some((name, _)) if name == "Vec" => return Some(ONE_VALUE.to_owned()),
        _ => {}
    }
    match path.path.get_ident()?.to_string().as_str() {
        "f32" | "f64" => float_advice(ty),
        "usize" | "isize" => of_name(path),
        _ => None,
    }
}

/// Returns what to write instead of a floating-point number, or an `Option` of one, in a key.
pub(super) fn float_advice(ty: &Type) -> Option<String> {
    let ty = optional(ty).unwrap_or(ty);
    let name = ["f32", "f64"].into_iter().find(|name| is_named(ty, name))?;
    Some(format!("the text of an `{name}` has no order; write an integer, such as cents for an amount"))
}

/// Returns the type in an `Option`.
fn optional(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    generic(path).filter(|(name, _)| *name == "Option").map(|(_, inner)| inner)
}

/// Returns what to write instead of a type with `scale`; `None` if it may be a decimal number.
pub(super) fn scaled_advice(ty: &Type) -> Option<String> {
    const NUMBERS: [&str; 12] = ["f32", "f64", "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128"];
    let ty = optional(ty).unwrap_or(ty);
    NUMBERS.iter().any(|name| is_named(ty, name)).then(|| {
        "`scale` is for a `rust_decimal::Decimal`, with the feature `decimal`; remove it, or write `i64` for a number of cents"
            .to_owned()
    })
}

/// Returns true for a collection whose elements can have rows in an index: not for bytes.
pub(super) fn is_collection(ty: &Type) -> bool {
    match ty {
        Type::Group(group) => is_collection(&group.elem),
        Type::Paren(paren) => is_collection(&paren.elem),
        Type::Path(path) => match generic(path) {
            Some((name, inner)) if name == "Option" => is_collection(inner),
            Some((name, inner)) => {
                ["Vec", "VecDeque", "BTreeSet", "HashSet"].iter().any(|other| name == other) && !is_named(inner, "u8")
            }
            None => false,
        },
        _ => false,
    }
}

/// Returns the last name of a path, and its type argument.
fn generic(path: &TypePath) -> Option<(&Ident, &Type)> {
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(inner) => Some((&last.ident, inner)),
        _ => None,
    }
}

/// Returns what to write instead of a type with a type argument. The names are those of the standard library.
fn of_generic(name: &str, inner: &Type) -> Option<String> {
    match name {
        "Option" => advice(inner),
        "Box" | "Rc" | "Arc" if !is_named(inner, "str") => Some(format!(
            "a property is the value itself; write the type without `{name}`\n\
             help: an entity that refers to another one stores the key of that, such as `parent: Option<u32>`; a value that \
             contains itself is stored with `#[property(json)]` on the field"
        )),
        "HashMap" | "BTreeMap" | "HashSet" | "BTreeSet" | "VecDeque" => Some(
            "a property holds one value; put `#[property(json)]` on the field\n\
             help: elements that queries look for have rows in an index: `#[index(tag, each)]` beside `#[property(json)]`"
                .to_owned(),
        ),
        _ => None,
    }
}

fn of_name(path: &TypePath) -> Option<String> {
    if let Some((name, inner)) = generic(path) {
        return of_generic(&name.to_string(), inner);
    }
    // Only types of the language: any other name may be a type of the user.
    let ident = path.path.get_ident()?.to_string();
    Some(match ident.as_str() {
        "usize" => format!("the size of `{ident}` depends on the machine; write `u32` or `u64`"),
        "isize" => format!("the size of `{ident}` depends on the machine; write `i32` or `i64`"),
        "char" => "the service has no characters; put `#[property(text)]` on the field".to_owned(),
        _ => return None,
    })
}

fn is_named(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident(name))
}
