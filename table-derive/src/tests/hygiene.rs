//! Tests that generated code contains no name to which a user's module could give another meaning.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::parse_quote;

/// Collects the names that begin a path: those in `PascalCase`, and those of crates.
fn beginnings(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let mut before = ' ';
    for token in tokens {
        match &token {
            TokenTree::Group(group) => beginnings(group.stream(), found),
            TokenTree::Ident(ident) if before != ':' => {
                let name = ident.to_string();
                let is_crate = matches!(name.as_str(), "core" | "std" | "alloc" | "table_runtime");
                // The constants of the trait are declarations.
                let is_constant =
                    name.len() > 1 && name.chars().all(|c| c == '_' || c.is_ascii_uppercase() || c.is_ascii_digit());
                if is_crate || (name.starts_with(char::is_uppercase) && !is_constant) {
                    found.insert(name);
                }
            }
            _ => {}
        }
        before = match &token {
            TokenTree::Punct(punct) if before == ':' || punct.as_char() != ':' => punct.as_char(),
            // A single colon is before a type, a double colon is in a path.
            TokenTree::Punct(punct) if punct.spacing() == proc_macro2::Spacing::Joint => ':',
            _ => ' ',
        };
    }
}

fn names(tokens: TokenStream) -> String {
    let mut found = BTreeSet::new();
    beginnings(tokens, &mut found);
    found.into_iter().collect::<Vec<_>>().join(" ")
}

#[test]
fn code_of_an_entity_names_only_its_types_and_absolute_paths() {
    let tokens = crate::table_entity(&parse_quote! {
        #[table(kind, write_id, allow_scan, separator = "_", version = 2, from = Old, skip_newer, deny_unknown)]
        #[index(g, partition(f(hash = 4)), row(f), include(b), unique)]
        struct Post<G: Bound> {
            #[partition_key(first = 1)]
            #[row_key]
            a: A,
            b: G,
            #[property(json, default)]
            c: C,
            #[property(skip)]
            d: D,
            #[index(e, first = 1, same_partition, when(b, f, judge), list)]
            e: E,
            #[index(f, same_table)]
            f: F,
        }
    });
    // `Columns` is the associated type of the trait.
    assert!(tokens.to_string().contains("fn by_g"), "{tokens}");
    assert_eq!(names(tokens), "A Bound C Columns E F G Old Post PostColumns Scan Self");
}

#[test]
fn code_of_a_nested_type_names_only_its_types_and_absolute_paths() {
    let nested: syn::DeriveInput = parse_quote!(
        struct Outer {
            inner: Inner,
        }
    );
    assert_eq!(
        names(crate::property(&nested)),
        "Arg Column Columns From Inner Optional Order Outer OuterColumns Place Presence Self Shape To Value"
    );
    let nested: syn::DeriveInput = parse_quote!(
        enum Outer {
            One(Inner),
            Two { field: Inner },
            Three,
        }
    );
    assert_eq!(
        names(crate::property(&nested)),
        "Arg Column Columns From Inner Optional Order Outer OuterColumns OuterColumnsTwo Place Presence Self Shape To Value"
    );
}

#[test]
fn code_of_a_wrapper_names_only_its_types_and_absolute_paths() {
    let wrapper: syn::DeriveInput = parse_quote!(
        struct Wrapper(Inner);
    );
    assert_eq!(names(crate::key_part(&wrapper)), "Arg Inner Kind Self Wrapper");
    assert_eq!(names(crate::property(&wrapper)), "Arg Inner Order Presence Self Shape Wrapper");
    let wrapper: syn::DeriveInput = parse_quote!(
        enum Wrapper {
            Variant,
            Other,
        }
    );
    assert_eq!(names(crate::key_part(&wrapper)), "Arg Kind Self Wrapper");
    assert_eq!(names(crate::property(&wrapper)), "Arg Order Presence Self Shape Wrapper");
}

#[test]
fn code_of_a_projection_names_only_its_types_and_absolute_paths() {
    let tokens = crate::projection(&parse_quote! {
        #[projection(of = Post)]
        struct Headline<'a, G: Bound> {
            a: A,
            b: G,
            c: C<'a>,
        }
    });
    assert_eq!(names(tokens), "A Bound Entity G Headline Item Post Row Selected Self");
    let tokens = crate::projection(&parse_quote! {
        #[projection(of = Post)]
        struct Headline<G: Bound> {
            a: A,
            b: G,
        }
    });
    assert_eq!(names(tokens), "A Bound Entity G Headline Item Post Row Selected Self");
}

#[test]
fn code_of_a_group_names_only_its_types_and_absolute_paths() {
    let tokens = crate::entity_group(&parse_quote! {
        enum Report {
            A(B),
            C(D),
        }
    });
    assert_eq!(names(tokens), "B D Entity Item P R Report Row Self");
}

#[test]
fn code_names_only_the_renamed_crate() {
    let entity: syn::DeriveInput = parse_quote! {
        #[table(crate = other)]
        #[index(full, partition(d(hash = 4)), row(d), unique)]
        struct Post {
            #[partition_key(lowercase)]
            a: A,
            #[row_key]
            b: B,
            #[property(text)]
            c: Option<C>,
            #[index(d, lowercase, include(c))]
            d: D,
        }
    };
    let wrapper: syn::DeriveInput = parse_quote!(
        #[table(crate = other)]
        struct Wrapper(Inner);
    );
    let names: syn::DeriveInput = parse_quote!(
        #[table(crate = other)]
        enum Wrapper {
            Variant,
        }
    );
    let broken: syn::DeriveInput = parse_quote!(#[table(crate = other)] union Wrapper { variant: u8 });
    let projection: syn::DeriveInput = parse_quote!(
        #[projection(of = Post, crate = other)]
        struct Headline {
            a: A,
        }
    );
    let group: syn::DeriveInput = parse_quote!(
        #[table(crate = other)]
        enum Report {
            A(B),
            C(D),
        }
    );
    let all = [
        crate::entity_group(&group),
        crate::projection(&projection),
        crate::table_entity(&entity),
        crate::table_entity(&broken),
        crate::key_part(&wrapper),
        crate::key_part(&names),
        crate::key_part(&broken),
        crate::property(&wrapper),
        crate::property(&names),
        crate::property(&broken),
    ];
    for tokens in all {
        assert!(!tokens.to_string().contains("table_runtime"), "{tokens}");
    }
}
