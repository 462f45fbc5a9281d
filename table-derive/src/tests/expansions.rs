//! Snapshots of the generated code, one for each form of key.

use syn::parse_quote;

use super::pretty;

/// Asserts a snapshot. The snapshot omits the expression, which is in the test.
macro_rules! snapshot {
    ($($snapshot:tt)*) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($($snapshot)*) })
    };
}

/// Covers a composite row key, a key field that is also a property, and every way to store a property.
#[test]
fn post() {
    snapshot!(pretty(crate::table_entity(&parse_quote! {
        #[table(name = "Posts", kind, write_id, allow_scan)]
        pub struct Post {
            #[partition_key]
            author: String,
            #[row_key(reverse_time)]
            #[property]
            posted: OffsetDateTime,
            #[row_key]
            id: Uuid,
            /// The title of the post.
            pub title: String,
            pub(crate) url: Option<String>,
            #[property(json, default)]
            tags: Vec<String>,
            #[property(text, rename = "Host")]
            address: Option<IpAddr>,
            #[property(skip)]
            cached: Cell<bool>,
        }
    })));
}

/// Covers a field that makes both keys. Because both encodings are lossy, it is also a property.
#[test]
fn starts_with() {
    snapshot!(pretty(crate::table_entity(&parse_quote! {
        struct Article {
            #[partition_key(first = 1, uppercase)]
            #[row_key(uppercase)]
            title: String,
        }
    })));
}

/// Covers indexes with a row for each element: one of pointers, and one whose rows are read without their entities.
#[test]
fn elements() {
    snapshot!(pretty(crate::table_entity(&parse_quote! {
        #[index(place, partition(blog), row(each(about.places, lowercase), title), include(title))]
        struct Post {
            #[partition_key]
            blog: String,
            #[row_key]
            id: u32,
            title: String,
            #[index(tag, each, lowercase, same_partition)]
            #[property(json)]
            tags: Vec<String>,
            about: Option<About>,
        }
    })));
}

/// Covers one table for each month.
#[test]
fn slices() {
    snapshot!(pretty(crate::table_entity(&parse_quote! {
        #[table(name = "Log", slice = month(at))]
        struct Line {
            #[partition_key]
            machine: String,
            #[row_key(reverse_time)]
            at: OffsetDateTime,
        }
    })));
}

/// Covers an entity that reads rows of an older version.
#[test]
fn lifecycle() {
    snapshot!(pretty(crate::table_entity(&parse_quote! {
        #[table(name = "Sessions", expires = until, soft_delete = deleted)]
        pub struct Session {
            #[partition_key]
            user: String,
            #[row_key]
            id: u32,
            #[index(device, same_partition)]
            device: String,
            until: SystemTime,
            deleted: Option<SystemTime>,
        }
    })));
}

#[test]
fn events() {
    snapshot!(pretty(crate::table_entity(&parse_quote! {
        #[table(name = "Orders", events(copy))]
        pub struct Order {
            #[partition_key]
            shop: String,
            #[row_key]
            number: u32,
            total: i64,
        }
    })));
}

#[test]
fn versions() {
    snapshot!(pretty(crate::table_entity(&parse_quote! {
        #[table(name = "Articles", version = 3, from = old::ArticleV2, skip_newer, deny_unknown)]
        struct Article {
            #[partition_key]
            author: String,
            #[row_key]
            title: String,
        }
    })));
}

/// Covers hash partitions of the row key's field and of another field.
#[test]
fn hash() {
    snapshot!(
        "hash_of_the_row_key",
        pretty(crate::table_entity(&parse_quote! {
            struct Sensor {
                #[partition_key(hash = 16)]
                #[row_key]
                id: Uuid,
            }
        }))
    );
    snapshot!(
        "hash_of_another_field",
        pretty(crate::table_entity(&parse_quote! {
            struct Event {
                #[partition_key]
                site: String,
                #[partition_key(hash = 16)]
                id: Uuid,
                #[row_key(time)]
                at: OffsetDateTime,
            }
        }))
    );
}

/// Covers constant keys. With a constant row key, `by_key` returns a point query.
#[test]
fn constants() {
    snapshot!(pretty(crate::table_entity(&parse_quote! {
        #[table(partition = "all", row = "details", crate = renamed::runtime)]
        struct Settings<T> {
            r#type: T,
        }
    })));
}

/// Covers keys that other programs wrote, a prefix, and the bounds of a parameter.
#[test]
fn generic_with_separator() {
    snapshot!(pretty(crate::table_entity(&parse_quote! {
        #[table(separator = "_", rename_all = "snake_case")]
        pub struct Item<K: Clone, const N: usize>
        where
            K: Ord,
        {
            #[partition_key(raw)]
            owner: String,
            #[row_key(prefix = "item-", pad = 8, reverse)]
            number: u32,
            #[row_key]
            key: K,
            #[property(json)]
            data: [u8; N],
        }
    })));
}

/// Covers same-partition and cross-partition indexes, unique indexes, an `Option`, a predicate, explicit keys, and each
/// content of index rows.
#[test]
fn indexes() {
    snapshot!(pretty(crate::table_entity(&parse_quote! {
        #[table(name = "Users")]
        #[index(place, partition(city, street(lowercase)), row(number), table = "Places", prefix = "at-")]
        pub struct User {
            #[partition_key]
            tenant: String,
            #[row_key(raw)]
            id: String,
            #[index(name, lowercase, same_partition, unique)]
            #[index(names, first = 3, uppercase, same_partition, list)]
            pub name: String,
            #[index(email, lowercase, same_table, unique, rename(id = "UserId"))]
            email: Option<Email>,
            #[index(newest, reverse_time, same_partition, copy, when(name, left, is_shown))]
            joined: OffsetDateTime,
            #[index(city, include(name, email))]
            city: String,
            street: String,
            number: Option<u16>,
            #[property]
            left: bool,
        }
    })));
}

/// Covers the bounds of indexed parameters, and an index in hash partitions.
#[test]
fn generic_indexes() {
    snapshot!(pretty(crate::table_entity(&parse_quote! {
        #[table(separator = "_")]
        #[index(spread, partition(value(hash = 16)), row(value, more))]
        struct Item<K, V> {
            #[partition_key]
            key: K,
            #[row_key]
            id: u32,
            value: V,
            more: Option<V>,
        }
    })));
}

/// Covers fields that are read by the entity's columns.
#[test]
fn projection() {
    snapshot!(pretty(crate::projection(&parse_quote! {
        #[projection(of = Item<T>)]
        struct Headline<T: Property + Send> {
            title: T,
            r#type: u32,
        }
    })));
}

/// Covers fields that borrow from a row.
#[test]
fn borrowed_projection() {
    snapshot!(pretty(crate::projection(&parse_quote! {
        #[projection(of = Item)]
        struct Headline<'a> {
            title: &'a str,
            r#type: Option<Cow<'a, str>>,
            likes: u32,
        }
    })));
}

/// Covers a master, and items as `Stored`.
#[test]
fn group() {
    snapshot!(pretty(crate::entity_group(&parse_quote! {
        pub enum Report {
            Expense(Expense),
            Item(Stored<Item<u8>>),
        }
    })));
}

#[test]
fn key_parts() {
    snapshot!(
        "key_part_newtype",
        pretty(crate::key_part(&parse_quote!(
            struct ExpenseId(Uuid);
        )))
    );
    snapshot!(
        "key_part_names",
        pretty(crate::key_part(&parse_quote! {
            #[table(rename_all = "kebab-case")]
            enum Kind {
                EmailAddress,
                #[property(rename = "tel")]
                Phone,
            }
        }))
    );
}

#[test]
fn properties() {
    snapshot!(
        "property_newtype",
        pretty(crate::property(&parse_quote!(
            struct Email(String);
        )))
    );
    snapshot!(
        "property_names",
        pretty(crate::property(&parse_quote!(
            enum Kind {
                Email,
                Phone,
            }
        )))
    );
}
