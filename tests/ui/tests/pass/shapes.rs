//! Structs and enums with data as fields: private types, names of generated code, keywords, and strict lints.

#![deny(missing_docs, unused_qualifications)]

use table_runtime::{Property, TableEntity};

/// Two structs beside types whose names the derives might choose.
pub mod names {
    use super::{Property, TableEntity};

    /// Has the name of a variable.
    #[derive(Property, Clone)]
    #[allow(dead_code)]
    pub struct Part {
        /// Raw.
        pub r#type: String,
        /// A variable of the generated code.
        pub name: u32,
        /// Another one.
        pub row: u32,
        /// Another one.
        pub parts: u32,
        /// Another one.
        pub properties: u32,
        /// Of the module alone.
        value: Private,
        /// Of the module alone, of a type that is public.
        secret: Option<String>,
    }

    #[derive(Property, Clone)]
    struct Private {
        text: String,
    }

    /// Variants with the names of keywords, and of types.
    #[derive(Property, Clone)]
    #[allow(dead_code, clippy::upper_case_acronyms)]
    pub enum Kind {
        /// A keyword in lower case.
        Type(u32),
        /// A keyword that cannot be raw.
        Crate {
            /// The number.
            number: u32,
        },
        /// A type.
        Some(u32),
        /// An acronym.
        HTTP,
        /// The name of a variable.
        Name(String),
    }

    /// Beside `Kind::Crate`.
    pub struct KindCrate;
    /// Beside the columns of `Entity` with an index on a part.
    pub struct EntityPartColumns;

    /// An entity with indexes on parts.
    #[derive(TableEntity)]
    #[index(of_type, same_partition, row(part.r#type))]
    #[index(of_number, same_partition, row(kind.crate_.number))]
    #[index(of_kind, same_partition, row(kind.r#type))]
    #[index(text, same_partition, row(part.secret), when(part.secret, kind.name, is_shown))]
    pub struct Entity {
        /// The partition.
        #[partition_key]
        pub name: String,
        /// The row.
        #[row_key]
        pub row: u32,
        /// A struct.
        pub part: Part,
        /// An enum.
        pub kind: Kind,
    }

    fn is_shown(_: Option<&Option<String>>, name: Option<&str>) -> bool {
        name.is_none()
    }

    /// Uses all columns.
    pub fn queries() {
        let _ = Entity::by_key("x").filter(|c| c.part.r#type.eq("x").and(c.part.name.eq(1)));
        let _ = Entity::by_key("x").filter(|c| c.kind.is_http().and(c.kind.r#type.eq(1)).or(c.kind.some.eq(2)));
        let _ = Entity::by_key("x").filter(|c| c.kind.crate_.number.eq(1).and(c.part.value.text.eq("x")));
        let _ = Entity::by_of_type("x").eq("y");
        let _ = Entity::by_of_number("x").eq(5);
        let _ = Entity::by_of_kind("x").eq(5);
    }
}

/// A generic entity, whose parameter may be a struct.
pub mod generic {
    use super::{Property, TableEntity};

    /// A struct.
    #[derive(Property)]
    pub struct Place {
        /// A number.
        pub floor: u32,
    }

    /// An entity with a parameter.
    #[derive(TableEntity)]
    #[index(floor, same_partition, row(place.floor))]
    pub struct Entity<T: Property<Presence = table_runtime::property::Always>> {
        /// The key.
        #[partition_key]
        pub name: String,
        /// The row.
        #[row_key]
        pub row: u32,
        /// A struct.
        pub place: Place,
        /// Any property.
        pub value: T,
        /// Or none.
        pub other: Option<T>,
    }

    /// Uses its columns.
    pub fn queries() {
        let _ = Entity::<Place>::by_key("x").filter(|c| c.value.floor.eq(1).and(c.other.floor.eq(2)));
        let _ = Entity::<u32>::by_key("x").filter(|c| c.value.eq(1).and(c.place.floor.eq(2)));
        let _ = Entity::<u32>::by_floor("x").eq(1);
    }
}

/// Shadowed names of the prelude.
pub mod prelude {
    #![allow(dead_code)]

    use super::{Property, TableEntity};

    struct Option;
    struct Result;
    struct String;
    struct Ok;
    struct Err;

    /// A struct.
    #[derive(Property)]
    pub struct Place {
        floor: u32,
    }

    /// An enum.
    #[derive(Property)]
    pub enum Kind {
        /// With data.
        One(u32),
        /// With fields.
        Two {
            /// A number.
            floor: u32,
        },
        /// Open.
        #[property(other)]
        Other(std::string::String),
    }

    /// An entity.
    #[derive(TableEntity)]
    #[index(floor, same_partition, row(place.floor))]
    pub struct Entity {
        /// The key.
        #[partition_key]
        pub name: u32,
        /// The row.
        #[row_key]
        pub row: u32,
        /// A struct.
        pub place: Place,
        /// An enum.
        pub kind: Kind,
    }
}
