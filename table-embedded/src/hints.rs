//! Functions of `Tables`, which users expect on a backend. None of them can be called: they exist for the compiler's message.

use std::future::Ready;

use table_store::Result;

use crate::InMemoryBackend;

/// A backend with functions for entities. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "a backend stores rows, and entities are written and read through `Tables`",
    label = "not a function of a backend",
    note = "write `let tables = Tables::in_memory()?;`, or `Tables::new(backend)` for a backend that there is"
)]
pub trait OfEntities {}

/// The type that does not implement the trait.
#[derive(Debug)]
pub enum Rows {}

macro_rules! missing {
    ($($name:ident$(<$type:ident>)?($($argument:ty),*)),+) => {$(
        #[doc(hidden)]
        pub fn $name$(<$type>)?(&self $(, _: $argument)*) -> Ready<Result<()>>
        where
            for<'never> Rows: OfEntities,
        {
            unreachable!("no type implements the hint")
        }
    )+};
}

impl InMemoryBackend {
    missing! { create<T>(), insert(impl Sized), upsert(impl Sized), update(impl Sized), insert_all(impl Sized) }
}
