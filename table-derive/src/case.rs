//! The styles of names that serde's `rename_all` has.
//!
//! The conversions are written here, because the names are part of stored data and must not change with a dependency.

use crate::{errors::Errors, names::list, text::Text};

const STYLES: [(&str, Case); 6] = [
    ("lowercase", Case::Lower),
    ("UPPERCASE", Case::Upper),
    ("PascalCase", Case::Pascal),
    ("camelCase", Case::Camel),
    ("snake_case", Case::Snake),
    ("SCREAMING_SNAKE_CASE", Case::ScreamingSnake),
];
const KEBAB_STYLES: [(&str, Case); 2] = [("kebab-case", Case::Kebab), ("SCREAMING-KEBAB-CASE", Case::ScreamingKebab)];

/// Style of names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Case {
    /// Reads a style for property names, which cannot contain `-`.
    pub(crate) fn of_properties(style: &Text, errors: &mut Errors) -> Option<Self> {
        let name = &style.value;
        if KEBAB_STYLES.iter().any(|(kebab, _)| kebab == name) {
            let instead = if name == "kebab-case" { "snake_case" } else { "SCREAMING_SNAKE_CASE" };
            let message = format_args!("a property name cannot contain `-`; write `rename_all = \"{instead}\"`");
            errors.at(style.span, message);
            return None;
        }
        Self::find(style, &STYLES, errors)
    }

    /// Reads a style for the names of variants, which are values and can contain any character.
    pub(crate) fn of_variants(style: &Text, errors: &mut Errors) -> Option<Self> {
        let all: Vec<_> = STYLES.into_iter().chain(KEBAB_STYLES).collect();
        Self::find(style, &all, errors)
    }

    fn find(style: &Text, styles: &[(&str, Self)], errors: &mut Errors) -> Option<Self> {
        let name = &style.value;
        let found = styles.iter().find(|(known, _)| known == name);
        if found.is_none() {
            let known: Vec<_> = styles.iter().map(|(known, _)| *known).collect();
            errors.at(style.span, format_args!("unknown style `{name}`; the styles are {}", list(&known)));
        }
        found.map(|(_, case)| *case)
    }

    /// Converts the name of a field, which is in `snake_case`.
    pub(crate) fn field(self, field: &str) -> String {
        match self {
            Self::Lower | Self::Snake => field.to_owned(),
            Self::Upper | Self::ScreamingSnake => field.to_ascii_uppercase(),
            Self::Pascal => pascal(field),
            Self::Camel => lower_first(&pascal(field)),
            Self::Kebab => field.replace('_', "-"),
            Self::ScreamingKebab => field.to_ascii_uppercase().replace('_', "-"),
        }
    }

    /// Converts the name of a variant, which is in `PascalCase`.
    pub(crate) fn variant(self, variant: &str) -> String {
        match self {
            Self::Pascal => variant.to_owned(),
            Self::Lower => variant.to_ascii_lowercase(),
            Self::Upper => variant.to_ascii_uppercase(),
            Self::Camel => lower_first(variant),
            Self::Snake => snake(variant),
            Self::ScreamingSnake => snake(variant).to_ascii_uppercase(),
            Self::Kebab => snake(variant).replace('_', "-"),
            Self::ScreamingKebab => snake(variant).to_ascii_uppercase().replace('_', "-"),
        }
    }
}

fn pascal(field: &str) -> String {
    let mut capitalise = true;
    let mut name = String::new();
    for character in field.chars() {
        if character == '_' {
            capitalise = true;
        } else if capitalise {
            name.push(character.to_ascii_uppercase());
            capitalise = false;
        } else {
            name.push(character);
        }
    }
    name
}

fn lower_first(name: &str) -> String {
    let mut characters = name.chars();
    match characters.next() {
        Some(first) => first.to_ascii_lowercase().to_string() + characters.as_str(),
        None => String::new(),
    }
}

fn snake(variant: &str) -> String {
    let mut name = String::new();
    for (at, character) in variant.char_indices() {
        if at > 0 && character.is_uppercase() {
            name.push('_');
        }
        name.push(character.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_renamed_as_serde_renames_them() {
        let named = |case: Case| case.field("last_login_2");
        assert_eq!(named(Case::Lower), "last_login_2");
        assert_eq!(named(Case::Upper), "LAST_LOGIN_2");
        assert_eq!(named(Case::Pascal), "LastLogin2");
        assert_eq!(named(Case::Camel), "lastLogin2");
        assert_eq!(named(Case::Snake), "last_login_2");
        assert_eq!(named(Case::ScreamingSnake), "LAST_LOGIN_2");
        assert_eq!(Case::Pascal.field("_id"), "Id");
        assert_eq!(Case::Pascal.field("été"), "été");
    }

    #[test]
    fn variants_are_renamed_as_serde_renames_them() {
        let named = |case: Case| case.variant("VeryTasty");
        assert_eq!(named(Case::Lower), "verytasty");
        assert_eq!(named(Case::Upper), "VERYTASTY");
        assert_eq!(named(Case::Pascal), "VeryTasty");
        assert_eq!(named(Case::Camel), "veryTasty");
        assert_eq!(named(Case::Snake), "very_tasty");
        assert_eq!(named(Case::ScreamingSnake), "VERY_TASTY");
        assert_eq!(named(Case::Kebab), "very-tasty");
        assert_eq!(named(Case::ScreamingKebab), "VERY-TASTY");
    }
}
