//! Functions of `Tables`, which users expect on a backend: see [`hints`](table_store::unstable::hints).

use table_store::{hints, missing};

use crate::InMemoryBackend;

hints! {
    OfEntities: "a backend stores rows, and entities are written and read through `Tables`", "not a function of a backend",
        "write `let tables = Tables::in_memory()?;`, or `Tables::new(backend)` for a backend that there is";
}

impl InMemoryBackend {
    missing! { generic OfEntities: create<T>() -> std::future::Ready<table_store::Result<()>> }
    missing! { OfEntities: insert(_), upsert(_), update(_), insert_all(_) }
}
