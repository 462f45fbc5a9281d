//! Fields with raw names, and with names that generated code uses for its variables.

use serde::{Deserialize, Serialize};
use table_runtime::{KeyPart, Property, TableEntity};

#[derive(TableEntity)]
struct r#Struct {
    #[partition_key]
    row: String,
    #[partition_key]
    keys: u32,
    #[row_key]
    key: String,
    #[row_key]
    r#type: u32,
    #[row_key]
    partition_key: u32,
    #[property(rename = "Row")]
    row_key: u32,
    properties: String,
    layout: u32,
    field0: u32,
    field1: u32,
    by_key: u32,
    scan: u32,
    r#match: Option<u32>,
}

#[derive(KeyPart, Property)]
enum r#Enum {
    r#Fn,
    Other,
}

/// Defines an entity in a macro.
macro_rules! entity {
    ($name:ident, $table:literal, $width:literal, $field:ident: $ty:ty) => {
        #[derive(TableEntity)]
        #[table(name = $table)]
        struct $name {
            #[partition_key]
            $field: $ty,
            #[row_key(pad = $width)]
            row: u32,
            #[property(text)]
            text: $ty,
        }
    };
}

entity!(Written, "WrittenByMacro", 8, id: String);

/// Has fields with the names of options, and the ETag of something else.
#[derive(TableEntity)]
#[table(name = "Page")]
#[index(title, same_partition, copy)]
struct Page {
    #[partition_key]
    site: String,
    #[row_key]
    id: u32,
    title: String,
    copy: u32,
    #[property(text)]
    etag_of_image: table_runtime::ETag,
    #[property(text, rename = "ImageVersion")]
    etag: table_runtime::ETag,
}

/// Has itself as a field.
#[derive(Property, Serialize, Deserialize)]
struct Branch {
    name: String,
    #[property(json)]
    parts: Vec<Self>,
}

#[derive(TableEntity, Serialize, Deserialize)]
struct Tree {
    #[partition_key]
    forest: String,
    #[row_key]
    id: u32,
    #[property(json)]
    saplings: Vec<Self>,
    #[property(skip)]
    parent: Option<Box<Self>>,
}

pub(crate) fn main() {
    let _ = Page::by_title("a").eq("Keys");

    assert_eq!(Struct::INFO.layouts[0].row[1].field, "type");
    assert_eq!(Struct::INFO.properties().last().map(|property| property.name), Some("Match"));
    assert_eq!(Written::key("a", 1).explain().row_key(), Some("00000001"));
    assert_eq!(KeyPart::to_value(&Enum::r#Fn), "Fn");
    let _ = Enum::Other;
}
