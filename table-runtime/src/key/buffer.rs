//! The buffer into which keys are written.

use std::cell::RefCell;

use crate::properties::text;

thread_local! {
    /// Memory for texts that are only compared.
    static SCRATCH: RefCell<KeyBuffer> = const { RefCell::new(KeyBuffer(Vec::new())) };
}

/// A key that is being written.
///
/// The buffer holds bytes, so that digits are added without a UTF-8 check. Its contents are always text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyBuffer(Vec<u8>);

impl KeyBuffer {
    /// Creates an empty key with room for most keys.
    pub fn new() -> Self {
        Self(Vec::with_capacity(64))
    }

    /// Calls `use_it` with an empty buffer, whose memory is used again. `use_it` must not call this function.
    pub(super) fn with_scratch<T>(use_it: impl FnOnce(&mut Self) -> T) -> T {
        SCRATCH.with(|scratch| match scratch.try_borrow_mut() {
            Ok(mut scratch) => {
                scratch.clear();
                use_it(&mut scratch)
            }
            Err(_) => use_it(&mut Self::new()),
        })
    }

    /// Empties the key and keeps its memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns true if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds text.
    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Adds a character.
    #[inline]
    pub fn push(&mut self, character: char) {
        match u8::try_from(character) {
            Ok(ascii) if ascii.is_ascii() => self.0.push(ascii),
            _ => self.push_str(character.encode_utf8(&mut [0; 4])),
        }
    }

    /// Adds ASCII text.
    #[inline]
    pub(super) fn push_ascii(&mut self, ascii: &[u8]) {
        debug_assert!(ascii.is_ascii());
        self.0.extend_from_slice(ascii);
    }

    /// Adds ASCII text.
    #[inline]
    pub(super) fn extend_ascii(&mut self, ascii: impl Iterator<Item = u8>) {
        self.0.extend(ascii.inspect(|byte| debug_assert!(byte.is_ascii())));
    }

    /// Adds an ASCII character.
    #[inline]
    pub(super) fn push_byte(&mut self, ascii: u8) {
        debug_assert!(ascii.is_ascii());
        self.0.push(ascii);
    }

    /// Removes everything after the first `len` bytes, which must end at a character boundary.
    #[inline]
    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Returns the bytes after the first `len` bytes.
    #[inline]
    pub(super) fn after(&self, len: usize) -> &[u8] {
        &self.0[len..]
    }

    /// Returns the key so far.
    pub fn as_str(&self) -> &str {
        text(&self.0).unwrap_or_else(|| unreachable!("only text is pushed"))
    }

    /// Returns the key.
    pub fn into_string(self) -> String {
        String::from_utf8(self.0).unwrap_or_else(|_| unreachable!("only text is pushed"))
    }
}
