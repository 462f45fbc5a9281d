//! The rules of indexes, each with an input that breaks it.

use syn::{DeriveInput, parse_quote};

use super::rules::{entity, refuses};

/// An index of a user that breaks one rule brings this message and no other.
macro_rules! refused {
    ($($attribute:meta => $message:literal;)*) => {$(
        refuses(
            &parse_quote! {
                #[$attribute]
                struct User {
                    #[partition_key]
                    user: String,
                    #[row_key]
                    id: u32,
                    name: String,
                    email: Option<String>,
                }
            },
            $message,
        );
    )*};
}

/// The same with two.
macro_rules! both_refused {
    ($($one:meta, $other:meta => $message:literal;)*) => {$(
        refuses(
            &parse_quote! {
                #[$one]
                #[$other]
                struct User {
                    #[partition_key]
                    user: String,
                    #[row_key]
                    id: u32,
                    name: String,
                    email: Option<String>,
                }
            },
            $message,
        );
    )*};
}

#[test]
fn of_names() {
    refused! {
        index => "begins with its name: `#[index(name, …)]`";
        index() => "says nothing";
        index = "name" => "in parentheses: `#[index(…)]`";
        index(prefix = "name-") => "begins with its name";
        index(unique, name) => "an index begins with its name, before its options";
        index(key, partition(name)) => "`by_key` is the query of the primary key";
        index(nam) => "no field is called `nam`\nhelp: put `#[index(nam, …)]` on the field, or spell the keys out";
        index(name, same_partitoin) => "did you mean `same_partition`?";
        index(name, colour) => "unknown key `colour`; `#[index(…)]` knows";
    }
    both_refused! {
        index(name, same_partition), index(name, table = "Names") => "an index is called `name` already";
        index(name, same_partition), index(name, lowercase, same_table) => "an index is called `name` already";
        index(name), index(name, lowercase) => "an index is called `name` already";
    }
    refuses(
        &parse_quote!(
            struct User {
                #[partition_key]
                user: String,
                #[row_key]
                id: u32,
                #[index(unique)]
                name: String,
            }
        ),
        "`#[index(name, unique)]`",
    );
}

#[test]
fn of_spelled_keys() {
    refused! {
        index(full, partition(nam)) => "no field is called `nam`; did you mean `name`?";
        index(full, partition(colour)) => "no field is called `colour`; there are `user`, `id`, `name` and `email`";
        index(full, partition(name(lowercse))) => "did you mean `lowercase`?";
        index(full, partition(name(lowercase, uppercase))) => "a text is folded one way";
        index(full, lowercase, partition(name)) => "`partition(field(lowercase))` or `row(field(lowercase))`";
        index(full, partition = "name") => "`partition` takes a list; write `partition(…)`";
        index(full, partition(name = "x")) => "`partition` takes fields; write `partition(field, …)`";
        index(full, partition()) => "write `partition(field, …)`";
        index(full, row(name)) => "write `partition(…)` beside `row(…)`, or `same_partition`";
        index(full, partition(name), row(id), same_partition) => "the partition is the entity's own";
    }
    refuses(
        &parse_quote!(
            struct User {
                #[partition_key]
                user: String,
                #[row_key]
                id: u32,
                #[index(name, partition(name))]
                name: String,
            }
        ),
        "stands on the struct",
    );
}

#[test]
fn of_encodings() {
    refused! {
        index(name, raw) => "`raw` is for primary keys";
        index(full, partition(name), row(email(raw))) => "`raw` is for primary keys";
        index(name, first = 0) => "a whole number from 1 to 512";
        index(full, partition(name(hash = 4), email)) => "`hash` must be the last part";
        index(full, partition(name), row(email(hash = 4))) => "in the row key of an index remove it";
        index(name, hash = 4, same_partition) => "in the row key of an index remove it";
        index(name, hash = 4) => "`#[index(name, partition(name(hash = 4)), row(name))]`";
        index(name, first = 3, unique, table = "Names") => "two values with the same `first = 3` would be one";
        index(name, first = 3, lowercase, unique, same_partition) => "add `name` to it whole, or remove `unique`";
        index(full, partition(id, name(hash = 4)), row(id), unique) => "the same `hash = 4` would be one";
        index(name, hash = 4, lowercase) => "`#[index(name, partition(name(hash = 4, lowercase)), row(name(lowercase)))]`";
    }
    let whole: DeriveInput = parse_quote! {
        #[index(full, partition(name(first = 1, uppercase)), row(name(uppercase)), unique)]
        struct User { #[partition_key] user: String, #[row_key] id: u32, name: String }
    };
    assert!(entity(&whole).is_empty());
}

/// Rows of one value stand in one partition.
#[test]
fn of_partitions_that_follow_from_rows() {
    refused! {
        index(full, partition(name(hash = 4)), row(name(lowercase))) =>
            "rows of one value (`lowercase`) would stand in several partitions (`hash = 4`), of which a query reads one; write `hash = 4, lowercase` for the partition";
        index(full, partition(name(hash = 4)), row(name(lowercase)), unique) => "write `hash = 4, lowercase`";
        index(full, partition(name(hash = 4, uppercase)), row(name(lowercase))) => "write `hash = 4, lowercase`";
        index(full, partition(id, name(hash = 4)), row(name(lowercase), email)) => "write `hash = 4, lowercase`";
        index(full, partition(id, name(hash = 4)), row(email, name(lowercase)), unique) => "write `hash = 4, lowercase`";
        index(full, partition(name), row(name(first = 2))) => "write `first = 2` for the partition";
        index(full, partition(name(first = 3)), row(name(first = 2, lowercase))) => "write `first = 2, lowercase`";
    }
    for attribute in [
        parse_quote!(index(full, partition(name(hash = 4)), row(name), unique)),
        parse_quote!(index(full, partition(name(hash = 4, lowercase)), row(name), unique)),
        parse_quote!(index(full, partition(name(hash = 4, lowercase)), row(name(lowercase)), unique)),
        parse_quote!(index(full, partition(name(hash = 4, first = 2)), row(name(first = 3)))),
        parse_quote!(index(full, partition(name(first = 1, uppercase)), row(name), unique)),
        parse_quote!(index(full, partition(id, name(hash = 4)), row(email, name(lowercase), name), unique)),
        // The partition is read whole, or named by the query.
        parse_quote!(index(full, partition(name(hash = 4)), row(email, name(lowercase)))),
        parse_quote!(index(full, partition(name(first = 1), id), row(name(lowercase)))),
    ] as [syn::Meta; 8]
    {
        let user: DeriveInput = parse_quote! {
            #[#attribute]
            struct User { #[partition_key] user: String, #[row_key] id: u32, name: String, email: String }
        };
        assert!(entity(&user).is_empty(), "{:?}", entity(&user));
    }
}

/// A hash partition of the entity is no scope that a reader names.
#[test]
fn of_unique_in_buckets() {
    let user = |attribute: syn::Meta| -> DeriveInput {
        parse_quote! {
            #[#attribute]
            struct User { #[partition_key] tenant: u8, #[partition_key(hash = 4)] mail: String, #[row_key] id: u32, name: String }
        }
    };
    let own = "a hash partition (of `mail`) is no scope for `unique`; write the index `name` elsewhere";
    refuses(&user(parse_quote!(index(name, same_partition, unique))), own);
    refuses(&user(parse_quote!(index(name, lowercase, same_partition, unique, copy))), own);
    refuses(
        &user(parse_quote!(index(mail, lowercase, same_partition, unique))),
        "write `hash = 4, lowercase` for the partition",
    );
    refuses(
        &user(parse_quote!(index(full, row(name, mail(lowercase)), same_partition, unique))),
        "write `hash = 4, lowercase` for the partition",
    );
    for attribute in [
        parse_quote!(index(name, same_partition)),
        parse_quote!(index(name, same_table, unique)),
        parse_quote!(index(mail, same_partition, unique)),
        parse_quote!(index(full, row(name, mail), same_partition, unique)),
    ] as [syn::Meta; 4]
    {
        assert!(entity(&user(attribute)).is_empty());
    }
}

#[test]
fn of_places() {
    refused! {
        index(name, same_partition, same_table) => "an index stands in one place";
        index(name, same_table, table = "Names") => "an index stands in one place";
        index(name, table = "ab") => "`ab` is no table name";
        index(name, table = "TABLELAYOUTS") => "`TABLELAYOUTS` is the table in which `create` records layouts";
        index(name, table = "user") => "`User` is the entity's own table; write `same_table`";
        index(name, same_partition, prefix = "id-") => "rows of the index `name` begin with `id-` and those of `User` itself begin with `id-`";
        index(name, same_table, prefix = "i") => "of two prefixes neither may begin with the other";
        index(name, same_table, prefix = "id-name-") => "so that they could meet";
        index(id, same_partition) => "rows of the index `id` begin with `id-`";
        index(name, same_partition, prefix = "a/") => "a prefix cannot hold '/'";
        index(name, table = "Names", prefix = "") => "an empty prefix says nothing";
        index(name, same_table, prefix = "") => "an empty prefix says nothing";
    }
    both_refused! {
        index(name, table = "Names"), index(email, table = "names") => "the rows of the index `email` have no prefix";
        index(name, table = "Names", prefix = "a-"), index(email, table = "Names", prefix = "a-b") => "begin with `a-b`";
        index(na_me, partition(name)), index(name, table = "UserByNaMe") => "have no prefix";
    }
    let apart: DeriveInput = parse_quote! {
        #[index(name, table = "Names", prefix = "a-")]
        #[index(email, table = "Names", prefix = "b-")]
        struct User { #[partition_key] user: String, #[row_key] id: u32, name: String, email: String }
    };
    assert!(entity(&apart).is_empty());
    refuses(
        &parse_quote! {
            #[table(row = "name-own")]
            #[index(name, same_table)]
            struct User { #[partition_key] user: String, name: String }
        },
        "those of `User` itself begin with `name-own`",
    );
    refuses(
        &parse_quote! {
            #[table(row = "")]
            #[index(name, same_table)]
            struct User { #[partition_key] user: String, name: String }
        },
        "help: write another text as `#[table(row = \"…\")]`",
    );
    refuses(
        &parse_quote! {
            #[index(name, same_table)]
            struct User { #[partition_key] user: String, #[row_key(prefix = "")] id: u32, name: String }
        },
        "an empty prefix says nothing; remove it",
    );
    let long = "A".repeat(60);
    refuses(
        &parse_quote! {
            #[table(name = #long)]
            #[index(name)]
            struct User { #[partition_key] user: String, #[row_key] id: u32, name: String }
        },
        "help: write `table = \"…\"` in the index `name`",
    );
}

/// Fifty indexes in one partition are one too many, elsewhere they are not.
#[test]
fn of_numbers() {
    let user = |count: usize, scope: &str| -> DeriveInput {
        let scope = quote::format_ident!("{scope}");
        let fields: Vec<_> = (0..count).map(|n| quote::format_ident!("field{n}")).collect();
        parse_quote! {
            #(#[index(#fields, #scope)])*
            struct User { #[partition_key] user: String, #[row_key] id: u32, #(#fields: u8),* }
        }
    };
    assert!(entity(&user(49, "same_partition")).is_empty());
    assert!(entity(&user(60, "same_table")).is_empty());
    refuses(&user(50, "same_partition"), "has room for 49 indexes");
}

#[test]
fn of_contents() {
    refused! {
        index(name, list) => "write `same_partition`, or remove `list`";
        index(name, list, same_table) => "a list is changed in one transaction";
        index(name, list, unique, same_partition) => "remove `unique` or `list`";
        index(name, list, copy, same_partition) => "remove `copy` or `list`";
        index(name, list, include(email), same_partition) => "remove `include` or `list`";
        index(name, copy, include(email), same_partition) => "keep `copy` or `include(…)`";
        index(name, unique, copy) => "remove `copy`, use `include`, or write `same_partition`";
        index(name, unique, copy, table = "Names") => "a copy in another partition cannot be unique";
        index(name, include(emial)) => "no field is called `emial`; did you mean `email`?";
        index(name, include(id)) => "`id` is in the key, which an index's row leads to anyway";
        index(name, include(email, email)) => "`email` is included already";
        index(name, include) => "`include` takes a list";
        index(name, include()) => "write `include(field, …)`";
        index(name, unique = true) => "`unique` takes no value";
    }
    for (attribute, message) in [
        (parse_quote!(index(name, copy)), "`cached` is not stored (`skip`), so a copy is not the whole entity"),
        (parse_quote!(index(name, include(cached))), "`cached` is not stored (`skip`); remove it here"),
        (parse_quote!(index(cached)), "the index `cached` could not be kept"),
        (parse_quote!(index(name, when(cached, is_old))), "the index `name` could not be kept"),
    ] as [(syn::Meta, &str); 4]
    {
        let user: DeriveInput = parse_quote! {
            #[#attribute]
            struct User { #[partition_key] user: String, #[row_key] id: u32, name: String, #[property(skip)] cached: u8 }
        };
        refuses(&user, message);
    }
}

#[test]
fn of_predicates() {
    refused! {
        index(name, when(is_old)) => "`when` takes fields, and a function of them";
        index(name, when()) => "write `when(field, path)`";
        index(name, when = "is_old") => "`when` takes a list";
        index(name, when(nam, is_old)) => "did you mean `name`?";
        index(name, when(self::name, is_old)) => "one path at the end";
    }
}

#[test]
fn of_pointers() {
    refused! {
        index(name, unique, rename(idd = "X")) => "does not hold `idd`; it holds `user` and `id`";
        index(name, same_partition, unique, rename(user = "X")) => "it holds `id`";
        index(name, rename(id = "X")) => "has no pointer to rename: its keys tell the entity's";
        index(name, same_partition, list, rename(id = "X")) => "a list holds the ids alone";
        index(name, unique, rename(id)) => "write `rename(field = \"…\")`";
        index(name, unique, rename(id = "Entity-Id")) => "`Entity-Id` is no property name";
        index(name, unique, rename(id = "RowKey")) => "`RowKey` has a meaning of its own";
        index(name, unique, rename(id = "IndexPending")) => "help: write `rename(id = \"…\")` in the index `name`";
        index(name, unique, rename(id = "IndexedEntityUser")) => "is another property of the index's rows too";
        index(name, unique, same_partition, copy, rename(id = "Email")) => "is another property";
        index(name, unique, same_partition, include(email), rename(id = "Email")) => "is another property";
    }
    refuses(
        &parse_quote! {
            #[index(name, same_table)]
            struct User { #[partition_key] user: String, #[row_key] id: u32, name: String, write_id: u8 }
        },
        "`WriteId` tells the writes of index rows apart",
    );
    let fields = (0..250).map(|n| quote::format_ident!("field{n}"));
    refuses(
        &parse_quote! {
            #[table(kind)]
            #[index(name, unique, same_partition, copy)]
            struct User { #[partition_key] user: String, #[row_key] id: u32, name: String, #(#fields: u8),* }
        },
        "a copy with its pointer would have 253",
    );
}

/// Mistakes do not hide each other.
#[test]
fn all_at_once() {
    let found = entity(&parse_quote! {
        #[index(full, partition(nam, emial), colour)]
        struct User {
            #[partition_key]
            user: String,
            #[row_key]
            id: u32,
            #[index(name, lowercase, uppercase, same_table, same_partition)]
            name: String,
            #[index(email, rename(user = "X"))]
            email: Option<String>,
        }
    });
    assert_eq!(found.len(), 6, "{found:#?}");
}
