//! Names that users of other libraries type on columns, and the macros of such names. `table-runtime/src/hints.rs` says how they
//! work, and has those of all other types.

use crate::{column::Column, property::shape::NoParts};

/// Defines the traits whose messages the compiler prints.
#[doc(hidden)]
#[macro_export]
macro_rules! hints {
    ($($hint:ident: $message:literal, $label:literal $(, $note:literal)*;)*) => {$(
        #[diagnostic::on_unimplemented(message = $message, label = $label $(, note = $note)*)]
        pub trait $hint {}
    )*};
}

/// Defines names of a type.
#[doc(hidden)]
#[macro_export]
macro_rules! names {
    (@ [$($parameters:tt)*] $of:ty, $hint:ident: $($name:ident),+) => {
        #[doc(hidden)]
        #[allow(clippy::should_implement_trait, clippy::iter_not_returning_iterator, reason = "it cannot be called")]
        impl<$($parameters)*> $of
        where
            for<'never> $of: $hint,
        {
            $(pub const fn $name(&self) {})+
        }
    };
    ($parameters:tt $of:ty { $($hint:ident: $($name:ident),+;)+ }) => {
        $($crate::names! { @ $parameters $of, $hint: $($name),+ })+
    };
}

/// Defines functions of the type around it. The number of arguments counts: the compiler reports another one as well.
///
/// The visibility, the hint and the body are arguments, because the compiler then points at the line of the invocation, and not
/// into this macro.
#[doc(hidden)]
#[macro_export]
macro_rules! functions {
    // The compiler does not know the returned type, and says nothing about what follows.
    (@ $public:tt $hint:tt $body:tt $name:ident($($argument:tt),*)) => {
        $crate::functions! { @ $public $hint $body $name<Unknown>($($argument),*) -> Unknown }
    };
    (@ [$($public:tt)+] [$($hint:tt)+] [$($body:tt)+] $name:ident<$type:ident>($($argument:tt),*) -> $returned:ty) => {
        #[doc(hidden)]
        #[allow(clippy::should_implement_trait, reason = "it cannot be called")]
        $($public)+ fn $name<$type>(&mut self $(, $argument: impl Sized)*) -> $returned
        where
            Self: Sized,
            for<'never> Self: $($hint)+,
        $($body)+
    };
    // A call of a function with `<T>` may name a type: `query::<Post>()`.
    ($public:tt $body:tt $($hint:tt $($name:ident$(<$type:ident>)?($($argument:tt),*)$( -> $returned:ty)?),+;)+) => {
        $($($crate::functions! { @ $public $hint $body $name$(<$type>)?($($argument),*)$( -> $returned)? })+)+
    };
}

hints! {
    Order: "rows come in the order of their keys, and in no other", "a query cannot choose the order",
        "descending: put `reverse` on the key part, or `reverse_time` for newest first: `#[row_key(reverse_time)]`, \
         `#[index(amount, reverse, …)]`",
        "by another field: put `#[index(field, …)]` on it and query `by_field(…)`, or sort the `Vec` that `all` returns";
    TextSearch: "the service cannot search in a text or a list", "no filter looks inside of a value",
        "an element of a list: `#[index(tag, each)]` on the field, and `Post::by_tag(…).eq(\"…\")`",
        "the beginning of a text is found through a key: `#[row_key]` or `#[index(title, …)]`, and \
         `.starts_with(\"…\")` on the query",
        "for anything else, read the entities and look at each";
    Absent: "a filter cannot ask whether a property is there", "rows without the property match no comparison",
        "read the entities and look at each, or store a `bool` that says so",
        "`#[index(field, …)]` has a row only for an entity with a value";
    Compute: "a patch does not read the row, so it cannot compute a value from the old one", "not a change of a patch",
        "write `tables.modify(T::key(…), |post| post.likes += 1)`, which reads, changes and writes, and begins again if another \
         writer was faster";
    Unset: "a patch cannot remove a property", "not a change of a patch",
        "write `tables.modify(T::key(…), |post| post.url = None)`, which reads, changes and writes";
    NotAValue: "a column is not a value, and the service computes nothing from it", "no function of a column",
        "compare the column itself: `post.title.eq(\"Keys\")`, also of an `Option`; rows without the property match no comparison",
        "without regard to case: `#[index(title, lowercase, …)]`, and `Post::by_title(…).eq(\"keys\")`",
        "a range of times: `post.at.ge(from).and(post.at.lt(to))`",
        "for anything else, also a sum or a maximum, read the entities and compute it";
    Compare: "columns are compared with `eq`, `ne`, `lt`, `le`, `gt` and `ge`", "not a comparison",
        "write `post.likes.ge(1).and(post.likes.le(9))`",
        "one of several values: `post.title.eq(\"a\").or(post.title.eq(\"b\"))`",
        "a `bool`: `post.published.eq(true)`, and `eq(false)` for the opposite; filters are combined with `and`, `or` and `!`";
}

names! {
    [E, T, const I: usize, M, S, P] Column<E, T, I, M, S, P> {
        Order: asc, desc;
        TextSearch: begins_with, contains, ends_with, like, starts_with;
        Absent: exists, is_none, is_some;
        NotAValue: len, to_lowercase, to_uppercase, unwrap;
        Compare: and, any_of, between, gte, lte, not, one_of, or, range;
        Compute: add, increment, push;
        Unset: clear, delete, remove, unset;
    }
}

// A column derefs to it.
impl NoParts {
    functions! {
        [pub] [{ unreachable!() }]
        [TextSearch] any(_);
        [NotAValue] to_string(), max(), min(), sum();
    }
}
