//! The rules of projections and groups, each with an input that breaks it.

use syn::{DeriveInput, parse_quote};

use super::messages;

#[test]
#[allow(clippy::too_many_lines, reason = "one case for each rule")]
fn wrong_projections_are_reported() {
    let cases: [(DeriveInput, &str); 13] = [
        (
            parse_quote!(
                #[projection(entity = "Post")]
                struct Headline {
                    title: String,
                }
            ),
            "the key is `of`; write `#[projection(of = Post)]`",
        ),
        (
            parse_quote!(
                struct Headline {
                    title: String,
                }
            ),
            "help: put `#[projection(of = …)]` on the struct",
        ),
        (
            parse_quote!(
                #[projection]
                struct Headline {
                    title: String,
                }
            ),
            "`#[projection(of = Post)]`",
        ),
        (
            parse_quote!(
                #[projection(off = Post)]
                struct Headline {
                    title: String,
                }
            ),
            "did you mean `of`?",
        ),
        (
            parse_quote!(
                #[projection(of)]
                struct Headline {
                    title: String,
                }
            ),
            "write `of = some::path`",
        ),
        (
            parse_quote!(
                #[projection(of = "Post")]
                struct Headline {
                    title: String,
                }
            ),
            "`of` takes a path",
        ),
        (
            parse_quote!(
                #[projection(of = Post)]
                struct Headline<'a, 'b> {
                    title: &'a str,
                    text: &'b str,
                }
            ),
            "use the first lifetime",
        ),
        (
            parse_quote!(
                #[projection(of = Post)]
                struct Headline(String);
            ),
            "is for structs with named fields",
        ),
        (
            parse_quote!(
                #[projection(of = Post)]
                struct Headline {}
            ),
            "with some of the entity's fields",
        ),
        (
            parse_quote!(
                #[projection(of = Post)]
                enum Headline {
                    A,
                }
            ),
            "is for structs with named fields",
        ),
        (
            parse_quote!(
                #[projection(of = Post)]
                #[table(name = "Posts")]
                struct Headline {
                    title: String,
                }
            ),
            "the entity determines how its fields are stored; remove `#[table]`",
        ),
        (
            parse_quote!(
                #[projection(of = Post)]
                struct Headline {
                    #[property(rename = "T")]
                    title: String,
                }
            ),
            "remove `#[property]`",
        ),
        (
            parse_quote!(
                #[projection(of = Post)]
                struct Headline {
                    #[projection(rename = "T")]
                    title: String,
                }
            ),
            "unknown key `rename`",
        ),
    ];
    for (input, message) in &cases {
        let found = messages(crate::projection, input);
        assert!(found.iter().any(|found| found.contains(message)), "{message}: {found:#?}");
        assert!(found.len() <= 2, "{found:#?}");
    }
}

#[test]
fn wrong_groups_are_reported() {
    let cases: [(DeriveInput, &str); 7] = [
        (
            parse_quote!(
                struct Report {
                    expense: Expense,
                }
            ),
            "`EntityGroup` is for enums",
        ),
        (
            parse_quote!(
                enum Report {
                    Expense(Expense),
                }
            ),
            "a group has at least two variants",
        ),
        (
            parse_quote!(
                enum Report {
                    Expense(Expense),
                    Two(A, B),
                }
            ),
            "write `Two(Entity)`",
        ),
        (
            parse_quote!(
                enum Report {
                    Expense(Expense),
                    None,
                }
            ),
            "write `None(None)` with the entity's type, or remove `None`",
        ),
        (
            parse_quote!(
                enum Report {
                    Expense(Expense),
                    Item { item: Item },
                }
            ),
            "write `Item(Item)`",
        ),
        (
            parse_quote!(
                enum Report<T> {
                    Expense(Expense),
                    Item(T),
                }
            ),
            "a group cannot have parameters",
        ),
        (
            parse_quote!(
                #[table(kind)]
                enum Report {
                    Expense(Expense),
                    Item(Item),
                }
            ),
            "unknown key `kind`",
        ),
    ];
    for (input, message) in &cases {
        let found = messages(crate::entity_group, input);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(found[0].contains(message), "{}", found[0]);
    }
}
