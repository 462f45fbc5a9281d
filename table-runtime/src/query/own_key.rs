//! The full keys under which entities are written.

use super::{Point, Primary};
use crate::read::Plan;

/// An entity's own key, under which it can be written: the [`Point`] that `T::key(…)` returns.
#[diagnostic::on_unimplemented(
    message = "`patch`, `modify` and `remove` take the full key of an entity",
    label = "not a full key",
    note = "write `T::key(…)`, with every field of the key, such as `Post::key(&post.author, post.id)`",
    note = "what was read as `stored` has `update(&mut stored)` and `delete(&stored)`, and its key is `Stored::key(&stored)`",
    note = "all rows of a query: `query.delete_all(&tables)`; through an index, read the entity first"
)]
pub trait OwnKey {
    /// Entity that has the key.
    type Entity;

    #[doc(hidden)]
    fn plan(&self) -> &Plan;
}

#[diagnostic::do_not_recommend]
impl<E> OwnKey for Point<E, Primary> {
    type Entity = E;

    fn plan(&self) -> &Plan {
        self.plan()
    }
}
