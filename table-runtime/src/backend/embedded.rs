//! The embedded store, on `redb`.
/// A file.
#[derive(Debug)]
pub struct EmbeddedBackend;
/// Memory.
#[derive(Debug)]
pub struct InMemoryBackend;
