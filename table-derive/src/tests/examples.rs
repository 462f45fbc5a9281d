//! The examples of keys in the documentation are those that the encodings write.

use syn::{DeriveInput, parse_quote};
use table_runtime::TableEntity;

/// Returns the examples that the generated documentation has, and those of `layout()`, of a struct.
macro_rules! examples {
    ($name:ident: $($tokens:tt)*) => {{
        #[derive(TableEntity)]
        #[allow(dead_code)]
        $($tokens)*
        let input: DeriveInput = parse_quote!($($tokens)*);
        (documented(&input), written(&$name::layout().to_string()))
    }};
}

/// Returns the two keys of each example, once.
fn documented(input: &DeriveInput) -> Vec<(String, String)> {
    let code = crate::table_entity(input).to_string();
    let mut examples = Vec::new();
    for example in code.split("for example ").skip(1) {
        let (partition, rest) = example.split_once(" and ").expect("it has two keys");
        let row = rest.split_once(".\"").map_or(rest, |(row, _)| row).split(".\\n").next().unwrap_or_default();
        let key = |text: &str| if text.starts_with('`') { text.trim_matches('`').to_owned() } else { String::new() };
        let example = (key(partition), key(row));
        if !examples.contains(&example) {
            examples.push(example);
        }
    }
    examples
}

/// Returns the two keys of each example, in the order of the layouts.
fn written(layout: &str) -> Vec<(String, String)> {
    let lines = layout.lines().filter_map(|line| line.trim().strip_prefix("such as PartitionKey='"));
    let keys = lines
        .map(|line| line.strip_suffix('\'').and_then(|line| line.split_once("' RowKey='")).expect("it has two keys"));
    keys.map(|(partition, row)| (partition.to_owned(), row.to_owned())).collect()
}

#[test]
fn examples_in_documentation_are_those_of_the_encodings() {
    let cases = [
        examples!(Texts: struct Texts {
            #[partition_key] plain: String,
            #[partition_key(first = 2, uppercase)] upper: Box<str>,
            #[row_key(lowercase)] lower: std::sync::Arc<str>,
            #[row_key] letter: char,
            #[row_key] last: std::borrow::Cow<'static, str>,
        }),
        examples!(Unsigned: struct Unsigned {
            #[partition_key] a: u8,
            #[partition_key] b: u16,
            #[partition_key] c: u32,
            #[row_key] d: u64,
            #[row_key] e: u128,
            #[row_key(pad = 4)] f: u32,
        }),
        examples!(Signed: struct Signed {
            #[partition_key] a: i8,
            #[partition_key] b: i16,
            #[partition_key] c: i32,
            #[row_key] d: i64,
            #[row_key] e: i128,
            #[row_key(pad = 6)] f: i64,
        }),
        examples!(Reversed: struct Reversed {
            #[partition_key(reverse)] a: u8,
            #[partition_key(reverse)] b: u64,
            #[partition_key(reverse, pad = 5)] c: u64,
            #[row_key(reverse)] d: i32,
            #[row_key(reverse, pad = 5)] e: i32,
            #[row_key(reverse)] f: i128,
        }),
        examples!(Others: struct Others {
            #[partition_key] is_public: bool,
            #[partition_key] id: uuid::Uuid,
            #[partition_key] day: chrono::NaiveDate,
            #[row_key(reverse)] date: time::Date,
            #[row_key(time)] at: std::time::SystemTime,
            #[row_key(reverse_time)] posted: time::OffsetDateTime,
        }),
        examples!(Joined:
            #[table(separator = "_", row = "details")]
            struct Joined {
                #[partition_key] tenant: String,
                #[partition_key(reverse_time)] posted: chrono::DateTime<chrono::Utc>,
                #[partition_key] number: u16,
            }
        ),
        examples!(Indexed: struct Indexed {
            #[partition_key] tenant: String,
            #[row_key] id: u32,
            #[index(email, lowercase, unique)] email: Option<String>,
            #[index(title, first = 1, same_partition)] title: String,
        }),
    ];
    for (documented, written) in cases {
        assert!(!documented.is_empty());
        assert_eq!(documented, written);
    }
}
