//! The rules of indexes, each with an input that breaks it.

use syn::{DeriveInput, parse_quote};

use super::rules::{entity, refuses};

/// Asserts that an index breaks one rule, with this message.
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

/// Asserts the same about two indexes.
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
fn wrong_names_are_reported() {
    refused! {
        index => "needs the name of the index first; write `#[index(name, ";
        index() => "`#[index()]` is empty";
        index = "name" => "in parentheses; write `#[index(name)]`";
        index(prefix = "name-") => "needs the name of the index first";
        index(unique, name) => "needs the name of the index before the options";
        index(key, partition(name)) => "`by_key` is the query of the primary key";
        index(nam) => "no field is called `nam`\nhelp: put `#[index(nam, …)]` on a field, or write both keys";
        index(by_name, partition(name), row(id)) => "the query of an index is `by_` and its name, here `by_by_name`; write `name`";
        index(name, copy(email)) => "help: for some properties, write `include(email)`";
        index(name, rename = "ByName") => "the table of the index is `table = \"…\"`";
        index(name, same_partitoin) => "did you mean `same_partition`?";
        index(name, colour) => "unknown key `colour`; `#[index(…)]` takes";
    }
    both_refused! {
        index(name, same_partition), index(name, table = "Names") => "duplicate index `name`; give this index another name\nhelp: for one index over several fields";
        index(name, same_partition), index(name, lowercase, same_table) => "duplicate index `name`";
        index(name), index(name, lowercase) => "duplicate index `name`";
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
fn wrong_explicit_keys_are_reported() {
    refused! {
        index(full, partition(nam)) => "no field is called `nam`; did you mean `name`?";
        index(full, partition(colour)) => "no field is called `colour`; the fields are `user`, `id`, `name` and `email`";
        index(full, partition(name(lowercse))) => "did you mean `lowercase`?";
        index(full, partition(name(lowercase, uppercase))) => "`lowercase` and `uppercase` exclude each other";
        index(full, lowercase, partition(name)) => "`partition(field(lowercase))` or `row(field(lowercase))`";
        index(full, partition = "name") => "`partition` takes a list; write `partition(field, …)`";
        index(full, partition(name = "x")) => "`partition` takes fields; write `partition(field, …)`";
        index(full, partition()) => "write `partition(field, …)`";
        index(full, row(name)) => "the index `full` has no partition key; write `partition(…)` or `same_partition`";
        index(full, partition(name), row(id), same_partition) => "uses the entity's partition key; remove `partition(…)`";
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
        "belongs on the struct",
    );
}

#[test]
fn wrong_encodings_are_reported() {
    refused! {
        index(name, raw) => "`raw` is only for primary keys";
        index(full, partition(name), row(email(raw))) => "`raw` is only for primary keys";
        index(name, first = 0) => "a whole number from 1 to 512";
        index(full, partition(name(hash = 4), email)) => "`hash` must be the last part";
        index(full, partition(name), row(email(hash = 4))) => "remove it from the row key of the index";
        index(name, hash = 4, same_partition) => "remove it from the row key of the index";
        index(name, hash = 4) => "`#[index(name, partition(name(hash = 4)), row(name))]`";
        index(name, first = 3, unique, table = "Names") => "treats two values with the same `first = 3` as one";
        index(name, first = 3, lowercase, unique, same_partition) => "add the whole `name` to the index, or remove `unique`";
        index(full, partition(id, name(hash = 4)), row(id), unique) => "the same `hash = 4` as one";
        index(name, hash = 4, lowercase) => "`#[index(name, partition(name(hash = 4, lowercase)), row(name(lowercase)))]`";
    }
    let whole: DeriveInput = parse_quote! {
        #[index(full, partition(name(first = 1, uppercase)), row(name(uppercase)), unique)]
        struct User { #[partition_key] user: String, #[row_key] id: u32, name: String }
    };
    assert!(entity(&whole).is_empty());
}

#[test]
fn a_partition_that_is_not_derived_from_the_row_key_is_reported() {
    refused! {
        index(full, partition(name(hash = 4)), row(name(lowercase))) =>
            "rows with the same value (`lowercase`) would be in several partitions (`hash = 4`), but a query reads one of them; write `hash = 4, lowercase` for the partition";
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
        // A query reads all hash partitions, or its arguments determine the partition.
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

#[test]
fn a_unique_index_in_hash_partitions_is_reported() {
    let user = |attribute: syn::Meta| -> DeriveInput {
        parse_quote! {
            #[#attribute]
            struct User { #[partition_key] tenant: u8, #[partition_key(hash = 4)] mail: String, #[row_key] id: u32, name: String }
        }
    };
    let own = "the index `name` would be unique only within each hash partition (of `mail`)";
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
fn wrong_scopes_and_prefixes_are_reported() {
    refused! {
        index(name, same_partition, same_table) => "an index has one scope";
        index(name, same_table, table = "Names") => "an index has one scope";
        index(name, table = "ab") => "`ab` is not a valid table name";
        index(name, table = "TABLELAYOUTS") => "`TABLELAYOUTS` is reserved for the layouts that `create` records";
        index(name, table = "user") => "`User` is the entity's own table; write `same_table`";
        index(name, same_partition, prefix = "id-") => "rows of the index `name` begin with `id-` and rows of `User` itself begin with `id-`";
        index(name, same_table, prefix = "i") => "no prefix may begin with another one";
        index(name, same_table, prefix = "id-name-") => "so they can collide";
        index(id, same_partition) => "rows of the index `id` begin with `id-`";
        index(name, same_partition, prefix = "a/") => "a prefix cannot contain '/'";
        index(name, table = "Names", prefix = "") => "a prefix cannot be empty";
        index(name, same_table, prefix = "") => "a prefix cannot be empty";
    }
    both_refused! {
        index(name, table = "Names"), index(email, table = "names") => "rows of the index `email` have no prefix";
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
        "rows of `User` itself begin with `name-own`",
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
        "a prefix cannot be empty; remove it",
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

#[test]
fn more_than_49_same_partition_indexes_are_reported() {
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
fn wrong_contents_are_reported() {
    refused! {
        index(name, list) => "write `same_partition`, or remove `list`";
        index(name, list, same_table) => "a list is changed in one transaction";
        index(name, list, unique, same_partition) => "remove `unique` or `list`";
        index(name, list, copy, same_partition) => "remove `copy` or `list`";
        index(name, list, include(email), same_partition) => "remove `include` or `list`";
        index(name, copy, include(email), same_partition) => "keep `copy` or `include(…)`";
        index(name, unique, copy) => "remove `copy`, use `include`, or write `same_partition`";
        index(name, unique, copy, table = "Names") => "a cross-partition copy cannot be unique";
        index(name, include(emial)) => "no field is called `emial`; did you mean `email`?";
        index(name, include(id)) => "`id` is in the primary key, which an index row contains anyway";
        index(name, include(email, email)) => "`email` is already included";
        index(name, include) => "`include` takes a list";
        index(name, include()) => "write `include(field, …)`";
        index(name, unique = true) => "`unique` takes no value";
    }
    for (attribute, message) in [
        (parse_quote!(index(name, copy)), "`cached` is not stored (`skip`), so a copy is not the whole entity"),
        (parse_quote!(index(name, include(cached))), "`cached` is not stored (`skip`); remove it here"),
        (parse_quote!(index(cached)), "the rows of the index `cached` cannot be computed"),
        (parse_quote!(index(name, when(cached, is_old))), "the rows of the index `name` cannot be computed"),
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
fn wrong_predicates_are_reported() {
    refused! {
        index(name, when(is_old)) => "`when` needs one or more fields, and then the path of a function";
        index(name, when()) => "write `when(field, path)`";
        index(name, when = "is_old") => "`when` takes a list";
        index(name, when(nam, is_old)) => "did you mean `name`?";
        index(name, when(self::name, is_old)) => "fields, then the path of a function";
    }
}

#[test]
fn wrong_pointer_properties_are_reported() {
    refused! {
        index(name, unique, rename(idd = "X")) => "does not contain `idd`; it contains `user` and `id`";
        index(name, same_partition, unique, rename(user = "X")) => "it contains `id`";
        index(name, rename(id = "X")) => "has no pointer to rename: its keys contain the entity's whole key";
        index(name, same_partition, list, rename(id = "X")) => "a list stores only ids";
        index(name, unique, rename(id)) => "write `rename(field = \"…\")`";
        index(name, unique, rename(id = "Entity-Id")) => "`Entity-Id` is not a valid property name";
        index(name, unique, rename(id = "RowKey")) => "`RowKey` is reserved in index rows";
        index(name, unique, rename(id = "IndexPending")) => "help: write `rename(id = \"…\")` in the index `name`";
        index(name, unique, rename(id = "EntityVersion")) => "`EntityVersion` is reserved in index rows";
        index(name, unique, rename(id = "IndexedEntityUser")) => "is already another property of the index rows";
        index(name, unique, same_partition, copy, rename(id = "Email")) => "is already another property";
        index(name, unique, same_partition, include(email), rename(id = "Email")) => "is already another property";
    }
    refuses(
        &parse_quote! {
            #[index(name, same_table)]
            struct User { #[partition_key] user: String, #[row_key] id: u32, name: String, write_id: u8 }
        },
        "`WriteId` identifies the writes of index rows",
    );
    refuses(
        &parse_quote! {
            #[table(version = 2, from = Old)]
            #[index(name, unique, same_partition, copy, rename(id = "EntityVersion"))]
            struct User { #[partition_key] user: String, #[row_key] id: u32, name: String }
        },
        "`EntityVersion` is reserved in index rows",
    );
    let fields = (0..250).map(|n| quote::format_ident!("field{n}"));
    refuses(
        &parse_quote! {
            #[table(version = 2)]
            #[index(name, unique, same_partition, copy)]
            struct User { #[partition_key] user: String, #[row_key] id: u32, name: String, #(#fields: u8),* }
        },
        "a copy with its pointer would have 253",
    );
}

#[test]
fn all_errors_are_reported_at_once() {
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

#[test]
fn unique_indexes_that_refuse_nothing_are_reported() {
    refused! {
        index(names, same_partition, row(name, id), unique) => "contains the entity's own key, `id`, so no other entity can have its value";
        index(names, partition(name), row(user, id), unique) => "contains the entity's own key, `user` and `id`, so no other entity";
    }
    refuses(
        &parse_quote! {
            #[table(row = "account")]
            struct Account {
                #[partition_key]
                id: u32,
                #[index(email, unique, same_partition)]
                email: String,
            }
        },
        "a partition has one `Account`, so no other one in it can have the value of the unique index `email`",
    );
    let accepted: [syn::Attribute; 3] = [
        parse_quote!(#[index(names, partition(name), row(id), unique)]),
        parse_quote!(#[index(names, partition(id), unique)]),
        parse_quote!(#[index(names, same_partition, row(name), unique)]),
    ];
    for attribute in accepted {
        let found = entity(&parse_quote! {
            #attribute
            struct User {
                #[partition_key]
                user: String,
                #[row_key]
                id: u32,
                name: String,
            }
        });
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn an_index_on_the_partition_key_is_reported() {
    refused! {
        index(names, same_partition, row(user)) => "`user` is the partition key, by which `by_key` finds the entities; remove this index";
    }
    let accepted: [syn::Attribute; 5] = [
        parse_quote!(#[index(names, partition(user))]),
        parse_quote!(#[index(names, partition(user(lowercase)))]),
        parse_quote!(#[index(names, partition(user), unique)]),
        parse_quote!(#[index(names, partition(user), when(name, is_shown))]),
        parse_quote!(#[index(names, partition(user), row(name))]),
    ];
    for attribute in accepted {
        let found = entity(&parse_quote! {
            #attribute
            struct User {
                #[partition_key]
                user: String,
                #[row_key]
                id: u32,
                name: String,
            }
        });
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn own_keys_at_the_end_of_an_index_are_reported() {
    refused! {
        index(names, same_partition, row(name, id)) => "its row key is `name, id`, and the entity's own `id` follows\nhelp: write `row(name)`";
        index(names, partition(email), row(name, user, id)) => "its row key is `name, user, id`, and the entity's own `user, id` follows\nhelp: write `row(name)`";
        index(names, partition(name), row(user)) => "its row key is `user`, and the entity's own `user, id` follows\nhelp: remove `row(…)`";
        index(names, same_partition, row(name, id), copy) => "stores `id` twice";
    }
    let accepted: [syn::Attribute; 5] = [
        parse_quote!(#[index(names, same_partition, row(id, name))]),
        parse_quote!(#[index(names, same_partition, row(name, id(reverse)))]),
        parse_quote!(#[index(names, partition(name), row(id))]),
        parse_quote!(#[index(names, partition(user(first = 1)), row(user))]),
        parse_quote!(#[index(names, same_partition, row(id), when(name, is_shown))]),
    ];
    for attribute in accepted {
        let found = entity(&parse_quote! {
            #attribute
            struct User {
                #[partition_key]
                user: String,
                #[row_key]
                id: u32,
                name: String,
                email: Option<String>,
            }
        });
        assert!(found.is_empty(), "{found:#?}");
    }
}
