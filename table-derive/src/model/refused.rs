//! Types of fields that can be no property and are recognized by their syntax, and what to write instead.

use syn::{GenericArgument, PathArguments, Type, TypePath};

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

fn of_name(path: &TypePath) -> Option<String> {
    let last = path.path.segments.last()?;
    if last.ident == "Option"
        && let PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(GenericArgument::Type(inner)) = arguments.args.first()
    {
        return advice(inner);
    }
    // Only types of the language: any other name may be a type of the user.
    let ident = path.path.get_ident()?.to_string();
    Some(match ident.as_str() {
        "usize" | "isize" => format!("the size of `{ident}` depends on the machine; write `u32` or `i64`"),
        "u64" | "u128" | "i128" => format!(
            "the service has no `{ident}`: its greatest integer is `i64`\nhelp: write `i64`, or put `#[property(text)]` on the \
             field to store it as text, which has no order in filters"
        ),
        "char" => "the service has no characters; put `#[property(text)]` on the field".to_owned(),
        _ => return None,
    })
}

fn is_named(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident(name))
}
