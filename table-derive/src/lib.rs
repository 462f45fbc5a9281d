//! The derives of `table-runtime`, which re-exports them.
