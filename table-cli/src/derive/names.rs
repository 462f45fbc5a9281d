//! Names of structs and fields.

use std::collections::BTreeSet;

/// Words that are no names of fields.
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Names of fields that the derive refuses, because `Stored` has these values of the row.
const TAKEN: [&str; 3] = ["e_tag", "etag", "timestamp"];

/// Names that the printed text uses, so no struct can have them.
const USED: [&str; 8] = ["Guid", "KeyPart", "Option", "Property", "String", "SystemTime", "TableEntity", "Vec"];

/// The names of a struct's fields, or of structs, so far.
#[derive(Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// Returns the name, with a number if it is used already.
    pub(super) fn unused(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{}_{number}", name.trim_end_matches('_')));
        let found = [name.to_owned()].into_iter().chain(numbered).find(|name| !self.0.contains(name));
        let found = found.unwrap_or_default();
        self.0.insert(found.clone());
        found
    }

    /// Returns the name of a struct, with a number if it is used already. The derive adds a struct for its columns.
    pub(super) fn unused_type(&mut self, name: &str) -> String {
        let both = |name: &str| [name.to_owned(), format!("{name}Columns")];
        let numbered = (2..).map(|number| format!("{name}{number}"));
        let mut names = [name.to_owned()].into_iter().chain(numbered);
        let found = names.find(|name| both(name).iter().all(|name| !self.0.contains(name))).unwrap_or_default();
        self.0.extend(both(&found));
        found
    }

    /// Returns the name of the field with a recorded name, or of a field in a nested struct with a path such as
    /// `address.city`.
    pub(super) fn of_path(&mut self, path: &str) -> String {
        let mut field = path.replace('.', "_");
        if !is_name(&field) {
            "property".clone_into(&mut field);
        } else if KEYWORDS.contains(&field.as_str()) || TAKEN.contains(&field.as_str()) {
            field.push('_');
        }
        self.unused(&field)
    }

    /// Returns the name of the field of a property, and true if the derive gives the field's property the same name.
    pub(super) fn field(&mut self, property: &str) -> (String, bool) {
        let field = self.of_path(&snake(property));
        let is_default = pascal(&field) == property;
        (field, is_default)
    }
}

/// Checks whether a struct can have the name.
pub(super) fn is_type_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name != "Self"
        && !KEYWORDS.contains(&name)
        && !USED.contains(&name)
}

/// Returns a name in Rust: `r#type` for `type`.
pub(super) fn with_raw(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("r#{name}") } else { name.to_owned() }
}

fn is_name(text: &str) -> bool {
    text.bytes().next().is_some_and(|first| first.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Converts `PostedAt`, `postedAt` and `posted_at` to `posted_at`, and `ETag` to `e_tag`.
fn snake(name: &str) -> String {
    let characters: Vec<_> = name.chars().collect();
    let mut snake = String::new();
    for (at, character) in characters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| characters.get(at));
        let begins_word = character.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || before.is_ascii_uppercase() && characters.get(at + 1).is_some_and(char::is_ascii_lowercase)
            });
        if begins_word && !snake.ends_with('_') {
            snake.push('_');
        }
        // Two of them are no Rust style.
        if *character != '_' || !snake.ends_with('_') {
            snake.push(character.to_ascii_lowercase());
        }
    }
    snake
}

/// Converts the name of a field as the derive does.
pub(super) fn pascal(field: &str) -> String {
    let word = |word: &str| match word.split_at_checked(1) {
        Some((first, rest)) => first.to_ascii_uppercase() + rest,
        None => String::new(),
    };
    field.split('_').map(word).collect()
}

/// Returns the name of the struct for a kind.
pub(super) fn type_name(kind: &str) -> String {
    let mut name: String = kind
        .split(|character: char| !character.is_ascii_alphanumeric())
        .map(pascal)
        .skip_while(|word| word.starts_with(|first: char| first.is_ascii_digit()))
        .collect();
    // Clippy reports a name of capital letters.
    if name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_uppercase()) {
        name[1..].make_ascii_lowercase();
    }
    let is_taken = KEYWORDS.contains(&name.to_ascii_lowercase().as_str()) || USED.contains(&name.as_str());
    if name.is_empty() || is_taken { format!("{name}Row") } else { name }
}

/// Returns the name of the struct for a table: `Post` for `Posts`, `Category` for `Categories`.
pub(super) fn singular(table: &str) -> String {
    let name = pascal(table);
    let singular = match name.strip_suffix("ies") {
        Some(stem) if stem.len() > 1 => format!("{stem}y"),
        _ => match name.strip_suffix('s') {
            Some(stem) if stem.len() > 1 && !stem.ends_with(['s', 'u', 'i']) => stem.to_owned(),
            _ => name,
        },
    };
    type_name(&singular)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_become_fields_that_the_derive_names_alike() {
        let mut names = Names::default();
        for (property, field, is_default) in [
            ("PostedAt", "posted_at", true),
            ("postedAt", "posted_at_2", false),
            ("posted_on", "posted_on", false),
            ("ETag", "e_tag_", true),
            ("ID", "id", false),
            ("HTTPStatus", "http_status", false),
            ("Address2", "address2", true),
            ("Type", "type_", true),
            ("Straße", "property", false),
            ("_x", "property_2", false),
        ] {
            assert_eq!(names.field(property), (field.to_owned(), is_default), "{property}");
        }
    }

    #[test]
    fn structs_are_named_after_one_row() {
        for (table, name) in [("Posts", "Post"), ("Categories", "Category"), ("Status", "Status"), ("log", "Log")] {
            assert_eq!(singular(table), name);
        }
        assert_eq!((type_name("order line"), type_name("LOG")), ("OrderLine".to_owned(), "Log".to_owned()));
        assert_eq!(type_name("7"), "Row");
    }
}
