//! The results of closures that return nothing. They are traits for the sake of their messages.

/// The type that the closure of `for_each` returns: nothing.
#[diagnostic::on_unimplemented(
    message = "the closure of `for_each` returns nothing",
    label = "the closure must return `()`",
    note = "it is not `async`, has no `.await` and cannot fail: it is called for each row while the page is there",
    note = "to wait or to fail for each row, read a stream: `let mut posts = query.stream(&tables)`, then \
            `while let Some(post) = posts.try_next().await?`"
)]
pub trait ReturnsNothingOfRow {}

#[diagnostic::do_not_recommend]
impl ReturnsNothingOfRow for () {}

/// For a closure that only panics.
#[diagnostic::do_not_recommend]
impl ReturnsNothingOfRow for Never {}

/// The type that a closure returns which changes an entity: nothing.
#[diagnostic::on_unimplemented(
    message = "the closure of `modify` changes the entity and returns nothing",
    label = "the closure must return `()`",
    note = "it is not `async`, has no `.await` and cannot fail, because it may run several times: write \
            `tables.modify(T::key(…), |post| post.likes += 1)`, and end a block with a semicolon",
    note = "`modify` returns the entity as it was written: `.await?.map(|post| post.likes)`; an old value goes into a variable, \
            `|post| old = post.url.take()`",
    note = "another entity with the same key: `|post| *post = changed.clone()`",
    note = "a change that may fail or waits: `let mut stored = T::key(…).get(&tables).await?`, then change it, and \
            `tables.update(&mut stored).await?`"
)]
pub trait ReturnsNothing {}

#[diagnostic::do_not_recommend]
impl ReturnsNothing for () {}

/// For a closure that only panics.
#[diagnostic::do_not_recommend]
impl ReturnsNothing for Never {}

/// The type `!`, which stable Rust names only as what a function returns.
type Never = <fn() -> ! as Returns>::Returned;

/// A function with what it returns.
pub trait Returns {
    /// The type that it returns.
    type Returned;
}

impl<T> Returns for fn() -> T {
    type Returned = T;
}
