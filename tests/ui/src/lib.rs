//! The tests of the compiler's messages: `tests/ui.rs`.
