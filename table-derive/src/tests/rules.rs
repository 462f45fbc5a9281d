//! The rules, each with an input that breaks it, and the message that says what to write.

use syn::{DeriveInput, parse_quote};

use super::messages;
use crate::model::Nested;

/// Returns the messages for an entity.
pub(super) fn entity(input: &DeriveInput) -> Vec<String> {
    messages(crate::table_entity, input)
}

/// Asserts that the entity has one error, with this message.
#[track_caller]
pub(super) fn refuses(input: &DeriveInput, message: &str) {
    let found = entity(input);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains(message), "{}", found[0]);
}

/// Asserts the same as [`refuses`] about attributes on the struct.
macro_rules! on_struct {
    ($($attribute:meta => $message:literal;)*) => {$(
        refuses(
            &parse_quote!(#[$attribute] struct Post { #[partition_key] author: String, #[row_key] id: u32 }),
            $message,
        );
    )*};
}

/// Asserts the same as [`refuses`] about the fields.
macro_rules! on_fields {
    ($({ $($fields:tt)* } => $message:literal;)*) => {$(
        refuses(&parse_quote!(struct Post { $($fields)* }), $message);
    )*};
}

#[test]
fn wrong_table_attributes_are_reported() {
    on_struct! {
        table(ttl = 3600) => "write `expires = field`";
        table(deleted_at = "x") => "write `soft_delete = field`";
        table(events = "copy") => "write `events`, or `events(copy)`";
        table(outbox) => "write `events`: each committed write records an event";
        table(separator = '_') => "write `separator = \"_\"`";
        table(nam = "Posts") => "unknown key `nam`; did you mean `name`?";
        table(alow_scan) => "did you mean `allow_scan`?";
        table(pk = a) => "keys are marked on the fields";
        table(gsi(a)) => "put `#[index(name, …)]` on the field";
        table(deny_unknown_fields) => "write `deny_unknown`";
        table(name = TABLE) => "`name` takes the text itself, because an attribute cannot read a constant or call a macro";
        table(name = concat!("a", "b")) => "`name` takes the text itself";
        table(rename(id = "Number")) => "the name of a property is on its field: `#[property(rename = \"Number\")]`";
        table(colour = "red") => "`#[table(…)]` takes `crate`, `name`,";
        table(lowercase) => "an encoding belongs to a key part; write `#[row_key(lowercase)]`";
        table(name = "Posts", name = "Others") => "duplicate key `name`; keep one";
        table(name) => "`name` takes a string; write `name = \"…\"`";
        table(name = 5) => "`name` takes a string";
        table(allow_scan = true) => "`allow_scan` takes no value; write `allow_scan`";
        table(version = 1) => "remove it: a struct without it has version 1";
        table(version = "7") => "write `version = 7`";
        table(from = "PostV1", version = 2) => "`from` takes a path; write `from = PostV1`";
        table(from = PostV1) => "so this struct needs a version; write `version = 2` before it";
        table(skip_newer = true) => "`skip_newer` takes no value";
        table(deny_unknown = "x") => "`deny_unknown` takes no value";
        table(kind = 5) => "`kind` takes a string or no value";
        table(kind = "") => "a kind cannot be empty";
        table(entity) => "`entity` takes a string; write `entity = \"…\"`";
        table(entity = "") => "the entity's name cannot be empty; write `entity = \"Post\"`";
        table(entity = "Post", kind) => "an entity with a kind is recorded by it, and rows contain it; remove `entity`";
        table(was = "") => "the entity's earlier name cannot be empty";
        table(was = "Post") => "`Post` is the entity's present name";
        table(was = "Article", entity = "Article") => "`Article` is the entity's present name";
        table(was = "Article", kind = "Article") => "`Article` is the entity's present name";
        table(crate = "path") => "`crate` takes a path; write `crate = path`";
        table() => "`#[table()]` is empty; add a key, or remove it";
        table => "`#[table]` needs a key";
        table(name = "ab") => "`ab` is not a valid table name: a table name has 3 to 63";
        table(name = "blog_posts") => "is not a valid table name";
        table(name = "1posts") => "is not a valid table name";
        table(name = "tables") => "is not a valid table name";
        table(name = "tableevents") => "`tableevents` is reserved for the marks of events";
        table(name = "TableLayouts") => "`TableLayouts` is reserved for the layouts that `create` records";
        table(name = "tablelayouts") => "help: write another `#[table(name = \"…\")]` on the struct";
        table(rename_all = "kebab-case") => "write `rename_all = \"snake_case\"`";
        table(rename_all = "snake") => "unknown style `snake`; the styles are `lowercase`";
        table(separator = "-") => "`-` occurs in GUIDs";
        table(separator = "~") => "begins the escapes";
        table(separator = "'") => "write `separator = \"_\"`";
        table(separator = "%") => "a key cannot contain `%`";
        table(separator = "__") => "one ASCII punctuation character";
        table(separator = "a") => "one ASCII punctuation character";
        table(partition = "all") => "remove `partition = \"…\"` or `#[partition_key]`";
        table(row = "details") => "remove `row = \"…\"` or `#[row_key]`";
        row_key => "`#[row_key]` cannot be used on a struct; put it on a field";
        property(rename_all = "camelCase") => "write `#[table(rename_all = \"camelCase\")]`";
    }
    refuses(
        &parse_quote!(
            struct Ab {
                #[partition_key]
                #[row_key]
                a: u8,
            }
        ),
        "`#[table(name = \"…\")]`",
    );
}

#[test]
fn a_time_of_readers_is_not_stored_under_a_word_of_filters() {
    refuses(
        &parse_quote!(
            #[table(expires = until)]
            struct Session {
                #[partition_key]
                user: String,
                #[row_key]
                id: u32,
                #[property(rename = "not")]
                until: SystemTime,
            }
        ),
        "readers filter by `expires = until`, and the service reads the name `not` as a word of its filters",
    );
}

#[test]
fn wrong_slices_are_reported() {
    on_struct! {
        table(slice) => "`slice` takes a unit and a field; write `slice = month(field)`";
        table(slice = "month") => "write `slice = month(field)`";
        table(slice = month) => "write `slice = month(field)`";
        table(slice = month(id, author)) => "write `slice = month(field)`";
        table(slice = week(id)) => "no unit is called `week`; the units are `year`, `month` and `day`";
        table(slice = month(idd)) => "no field is called `idd`; did you mean `id`?";
        table(slice = month(id), name = "Log20") => "`Log20` and 6 digits; end the name with a letter";
        table(slice = month(id), name = "TableLayouts") => "`TableLayouts` is reserved for the layouts that `create` records";
        table(slice = month(id), name = "1Ev") => "`1Ev` is not a valid beginning of table names";
        table(slice = month(id), name = "Ev-") => "begins with a letter\nhelp: write `#[table(name = \"…\")]` on the struct";
        table(slice = year(id), name = "Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa") =>
            "a slice adds 4 digits, so the name has at most 59 letters";
        table(slice = year(id), name = "Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa") =>
            "a slice adds 4 digits, so the name has at most 59 letters";
    }
    let longest = "A".repeat(59);
    let entity = entity(&parse_quote!(
        #[table(slice = year(id), name = #longest)]
        struct Post {
            #[partition_key]
            author: String,
            #[row_key]
            id: u32,
        }
    ));
    assert!(entity.is_empty(), "{entity:?}");
    for short in ["E", "Ev", "Tables"] {
        let entity = self::entity(&parse_quote!(
            #[table(slice = month(at), name = #short)]
            struct Event {
                #[partition_key]
                author: String,
                #[row_key(time)]
                at: SystemTime,
            }
        ));
        assert!(entity.is_empty(), "{entity:?}");
    }
    refuses(
        &parse_quote!(
            #[table(slice = month(at))]
            struct Post {
                #[partition_key(hash = 4)]
                at: u32,
                #[row_key]
                id: u32,
            }
        ),
        "no key contains the whole `at`, so a key does not determine its slice\nhelp: put `#[row_key(time)]`",
    );
    refuses(
        &parse_quote!(
            #[table(slice = month(at))]
            struct Post {
                #[partition_key]
                id: u32,
                #[row_key]
                at: u32,
                #[index(title, same_partition)]
                title: String,
            }
        ),
        "a sliced table cannot have indexes, because their rows would outlive its slices",
    );
}

#[test]
fn wrong_keys_are_reported() {
    on_fields! {
        { #[partition_key] a: u8, b: u8, id: u32, c: Vec<u8> } => "`Post` has no row key";
        { a: String, #[row_key] b: u8 } => "`Post` has no partition key";
        { #[table(row_key)] a: u8, #[partition_key] b: u8 } => "cannot be used on a field; write `#[row_key]`";
        { #[partition_key] a: u8 } => "help: put `#[row_key]` on a field, or `#[table(row = \"…\")]` on the struct";
        { #[row_key] a: u8 } => "help: put `#[partition_key]` on a field";
        { #[partition_key] #[row_key] #[row_key(lowercase)] a: u8 } => "duplicate `#[row_key]`";
        { #[partition_key] #[row_key = "a"] a: u8 } => "in parentheses; write `#[row_key(a)]`";
        { #[partition_key] #[row_key(reverse_tim)] a: u8 } => "did you mean `reverse_time`?";
        { #[partition_key] #[row_key(order = "desc")] a: u8 } => "for descending values, write `reverse`";
        { #[partition_key] #[row_key(0, reverse)] a: u8 } => "remove the number";
        { #[partition_key] #[row_key(0)] a: u8 } => "remove the number: the parts of a key are in the order of the fields";
        { #[partition_key] #[row_key(lowercase, uppercase)] a: u8 } => "`lowercase` and `uppercase` exclude each other";
        { #[partition_key] #[row_key(time, reverse_time)] a: u8 } => "`time` and `reverse_time` exclude each other";
        { #[partition_key] #[row_key(reverse, time)] a: u8 } => "write `reverse_time` instead of";
        { #[partition_key] #[row_key(raw, lowercase)] a: u8 } => "`raw` writes the text unchanged";
        { #[partition_key] #[row_key(lowercase, pad = 3)] a: u8 } => "`lowercase` is for text and `pad` is for integers";
        { #[partition_key(hash = 4, pad = 3)] #[row_key] a: u8 } => "`hash` cannot be combined with `pad`";
        { #[partition_key] #[row_key(first = 0)] a: u8 } => "a whole number from 1 to 512; write `first = 1`";
        { #[partition_key] #[row_key(pad = 40)] a: u8 } => "a whole number from 1 to 39";
        { #[partition_key] #[row_key(pad = "8")] a: u8 } => "a whole number from 1 to 39; write `pad = 8`";
        { #[partition_key] #[row_key(pad)] a: u8 } => "write `pad = 10`";
        { #[partition_key(format = "x")] #[row_key] a: u8 } => "a key of several parts is several fields";
        { #[partition_key(separator = "|")] #[row_key] a: u8 } => "write `#[table(separator = \"…\")]` on the struct";
        { #[partition_key] a: u8, #[row_key(prefix = "post-{}")] b: u8 } => "a prefix is the same text in every key, and `{…}` is not replaced";
        { #[partition_key] #[row_key] a: u8, #[property(flatten)] b: u8 } => "stored as properties of its own";
        { #[partition_key(hash = 1)] #[row_key] a: u8 } => "a whole number from 2 to 65536";
        { #[partition_key(hash = 4)] #[row_key(lowercase)] a: String } => "several partitions (`hash = 4`), but a query reads one of them; write `hash = 4, lowercase` for the partition";
        { #[partition_key(first = 1)] #[row_key(uppercase)] a: String } => "write `first = 1, uppercase` for the partition";
        { #[partition_key] t: u8, #[partition_key(hash = 4)] #[row_key(first = 2)] a: String, #[row_key] b: u8 } => "write `hash = 4, first = 2`";
        { #[partition_key] t: u8, #[row_key(first = 3)] a: String } => "help: write `#[row_key]` for the whole `a`, or put `#[row_key]` on one more field";
        { #[partition_key] t: u8, #[row_key(first = 3, lowercase)] a: String } => "help: write `#[row_key(lowercase)]` for the whole `a`";
        { #[partition_key(hash = 4)] b: char, #[row_key] a: u8 } => "`hash = 4` is lossy";
        { #[partition_key(hash = 4)] b: u8, #[row_key(first = 3)] a: String } => "entities whose `a` has the same `first = 3` would be one row";
        { #[partition_key] a: u8, #[row_key(hash = 4)] b: u8 } => "`hash` is only for partition keys";
        { #[partition_key(hash = 4)] a: u8, #[partition_key] #[row_key] b: u8 } => "`hash` must be the last part";
        { #[partition_key] a: u8, #[row_key(raw)] b: String, #[row_key] c: u8 } => "so `c` cannot come after it";
        { #[partition_key(prefix = "a-")] #[row_key] a: u8 } => "a partition key cannot have a prefix";
        { #[partition_key] #[row_key] a: u8, #[row_key(prefix = "b-")] b: u8 } => "write it in the `#[row_key]` of `a`";
        { #[partition_key] #[row_key(prefix = "a/")] a: u8 } => "a prefix cannot contain '/'";
        { #[partition_key] #[row_key(prefix = "a~")] a: u8 } => "a prefix cannot contain '~'";
        { #[partition_key] #[row_key(prefix = "")] a: u8 } => "a prefix cannot be empty";
        { #[partition_key] #[row_key] #[property(skip)] a: u8 } => "remove `skip`";
        { #[partition_key] #[row_key] #[property(default)] a: u8 } => "is read from its key";
        { #[partition_key] #[row_key] #[table(name = "Posts")] a: u8 } => "`#[table]` cannot be used on a field";
    }
    refuses(
        &parse_quote!(
            #[table(partition = "a#b")]
            struct Post {
                #[row_key]
                a: u8,
            }
        ),
        "a key cannot contain '#'",
    );
}

#[test]
fn wrong_properties_are_reported() {
    on_fields! {
        { #[partition_key] #[row_key] a: u8, #[property(renam = "c")] b: u8 } => "did you mean `rename`?";
        { #[partition_key] #[row_key] a: u8, #[property()] b: u8 } => "`#[property()]` is empty; add a key, or remove the parentheses";
        { #[partition_key] #[row_key] a: u8, #[property(json, text)] b: u8 } => "keep `json`";
        { #[partition_key] #[row_key] a: u8, #[property(skip, default)] b: u8 } => "remove `default` or `skip`";
        { #[partition_key] #[row_key] a: u8, #[property(skip_serializing_if = "Option::is_none")] b: u8 } => "an `Option` with `None` is not stored";
        { #[partition_key] #[row_key] a: u8, row_key: u8 } => "`RowKey` is the row's own key\nhelp: write `#[row_key]` on `row_key`";
        { #[partition_key] #[row_key] a: u8, partition_key: u8 } => "help: write `#[partition_key]` on `partition_key`";
        { #[partition_key] #[row_key] a: u8, timestamp: u8 } => "help: remove `timestamp`, and read the time with `Stored::timestamp`";
        { #[partition_key] #[row_key] a: u8, index_pending: u8 } => "marks index rows";
        { #[partition_key] #[row_key] a: u8, b: u8, #[property(rename = "B")] c: u8 } => "already stored as the property `B`";
        { #[partition_key] #[row_key] a: u8, #[property(rename = "a b")] b: u8 } => "`a b` is not a valid property name";
    }
    refuses(
        &parse_quote!(
            #[table(kind)]
            struct Post {
                #[partition_key]
                #[row_key]
                a: u8,
                entity_type: u8,
            }
        ),
        "`EntityType` stores the `kind`",
    );
    refuses(
        &parse_quote!(
            #[table(write_id)]
            struct Post {
                #[partition_key]
                #[row_key]
                a: u8,
                write_id: u8,
            }
        ),
        "`WriteId` stores the `write_id`",
    );
    refuses(
        &parse_quote!(
            #[table(events)]
            struct Post {
                #[partition_key]
                #[row_key]
                a: u8,
                event_at: u8,
            }
        ),
        "`EventAt` is the time of the last event",
    );
    refuses(
        &parse_quote!(
            #[table(events, separator = "_")]
            struct Post {
                #[partition_key]
                a: u8,
                #[row_key]
                b: String,
            }
        ),
        "remove `separator`, or `events`",
    );
    refuses(
        &parse_quote!(
            #[table(events(copy))]
            struct Post {
                #[partition_key]
                a: u8,
                #[row_key]
                b: String,
                indexed_entity_b: String,
            }
        ),
        "`IndexedEntityB` is the key field `b` in an event with a copy",
    );
    refuses(
        &parse_quote!(
            #[table(version = 2)]
            struct Post {
                #[partition_key]
                #[row_key]
                a: u8,
                entity_version: u8,
            }
        ),
        "`EntityVersion` stores the `version`",
    );
    let fields = (0..251).map(|n| quote::format_ident!("field{n}"));
    let fits: DeriveInput =
        parse_quote!(#[table(kind)] struct Post { #[partition_key] #[row_key] a: u8, #(#fields: u8),* });
    assert!(entity(&fits).is_empty());
    let fields = (0..252).map(|n| quote::format_ident!("field{n}"));
    refuses(
        &parse_quote!(#[table(kind)] struct Post { #[partition_key] #[row_key] a: u8, #(#fields: u8),* }),
        "at most 252 properties, but this one has 253",
    );
}

#[test]
fn types_without_named_fields_are_reported() {
    refuses(
        &parse_quote!(
            enum Post {
                A,
            }
        ),
        "`TableEntity` is for structs",
    );
    refuses(&parse_quote!(union Post { a: u8 }), "write `struct` instead of `union`");
    refuses(
        &parse_quote!(
            struct Post(u8);
        ),
        "`TableEntity` needs named fields",
    );
    refuses(
        &parse_quote!(
            struct Post;
        ),
        "`TableEntity` needs fields",
    );
    refuses(
        &parse_quote!(
            struct Post<'a> {
                #[partition_key]
                #[row_key]
                a: &'a str,
            }
        ),
        "write `String` instead of `&str`",
    );
}

#[test]
fn wrong_newtypes_and_enums_are_reported() {
    let cases: [(DeriveInput, &str); 9] = [
        (
            parse_quote!(
                struct Id;
            ),
            "this one has 0",
        ),
        (
            parse_quote!(
                struct Id(u8, u8);
            ),
            "this one has 2",
        ),
        (
            parse_quote!(
                struct Id {
                    id: u8,
                }
            ),
            "write `struct Id(…);`",
        ),
        (
            parse_quote!(
                struct Id<T>(T);
            ),
            "types without parameters",
        ),
        (
            parse_quote!(
                enum Kind {}
            ),
            "needs at least one variant",
        ),
        (
            parse_quote!(
                enum Kind {
                    A(u8),
                }
            ),
            "whose variants have no fields",
        ),
        (
            parse_quote!(
                enum Kind {
                    A,
                    #[property(rename = "A")]
                    B,
                }
            ),
            "`A` already has the name `A`",
        ),
        (
            parse_quote!(
                #[table(rename = "snake_case")]
                enum Kind {
                    A,
                }
            ),
            "did you mean `rename_all`?",
        ),
        (
            parse_quote!(
                struct Id(#[property(json)] u8);
            ),
            "cannot be used in a newtype",
        ),
    ];
    for (input, message) in &cases {
        // A struct with several fields is no part of a key, and is stored as several properties.
        let of_property = (!Nested::is(input)).then_some(crate::property as fn(&syn::DeriveInput) -> _);
        for expand in [crate::key_part as fn(&syn::DeriveInput) -> _].into_iter().chain(of_property) {
            let found = messages(expand, input);
            assert_eq!(found.len(), 1, "{found:#?}");
            assert!(found[0].contains(message), "{}", found[0]);
        }
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let found = entity(&parse_quote! {
        #[table(nam = "Posts", separator)]
        struct Post {
            #[partition_key(lowercas)]
            author: String,
            #[row_key(pad = 0)]
            id: u32,
            #[property(json, text)]
            title: String,
        }
    });
    assert_eq!(found.len(), 5, "{found:#?}");
}

/// The generated items prevent further errors at uses of the entity.
#[test]
fn an_error_does_not_prevent_generated_code() {
    let code = crate::table_entity(&parse_quote! {
        #[table(nam = "Posts")]
        struct Post { #[partition_key] #[row_key] id: u32 }
    });
    let code = code.to_string();
    assert!(code.contains("const by_key") && code.contains("TableEntity for Post"), "{code}");
}
