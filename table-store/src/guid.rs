//! `Edm.Guid`.

use std::{fmt, str::FromStr};

/// A GUID, as the property type `Edm.Guid` holds it. Fields can have this type.
///
/// With the feature `uuid`, a GUID converts from and to `uuid::Uuid`, and fields can have that type too.
///
/// ```
/// use table_runtime::Guid;
/// let guid: Guid = "00112233-4455-6677-8899-AABBCCDDEEFF".parse()?;
/// assert_eq!(guid.to_string(), "00112233-4455-6677-8899-aabbccddeeff");
/// # Ok::<(), table_runtime::error::ParseGuidError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct Guid([u8; 16]);

/// The error of a text that is not a GUID: 32 hexadecimal digits, hyphenated as `8-4-4-4-12`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a GUID: expected 32 hexadecimal digits, hyphenated as 8-4-4-4-12")]
pub struct ParseGuidError;

/// Positions of the first of the two digits of each byte in the text.
const PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
/// Positions of the hyphens in the text.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl Guid {
    /// Length of the hyphenated text.
    #[doc(hidden)]
    pub const TEXT: usize = 36;

    /// Creates a GUID from its bytes, the first digits first (the order of RFC 9562).
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, the first digits first.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Generates a random GUID (version 4) with the operating system's source of random bytes.
    ///
    /// # Errors
    /// Returns an error if the operating system's source of random bytes fails.
    #[doc(hidden)]
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self::version_4(bytes))
    }

    /// Returns the GUID with these random bytes, marked as version 4.
    const fn version_4(mut bytes: [u8; 16]) -> Self {
        bytes[6] = bytes[6] & 0x0F | 0x40;
        bytes[8] = bytes[8] & 0x3F | 0x80;
        Self(bytes)
    }

    /// Returns the hyphenated text, in lower case.
    #[doc(hidden)]
    pub fn encode(self) -> [u8; Self::TEXT] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'-'; Self::TEXT];
        for (byte, at) in self.0.into_iter().zip(PLACES) {
            text[at] = HEX[usize::from(byte >> 4)];
            text[at + 1] = HEX[usize::from(byte & 0x0F)];
        }
        text
    }
}

/// A source of many [random](Guid::random) GUIDs. It asks the operating system once for many of them.
#[derive(Default)]
pub struct RandomGuids(Vec<[u8; 16]>);

impl RandomGuids {
    /// Number of GUIDs for which the operating system is asked.
    const COUNT: usize = 64;

    /// Returns the next GUID.
    pub fn draw(&mut self) -> Result<Guid, getrandom::Error> {
        if self.0.is_empty() {
            let mut bytes = vec![[0; 16]; Self::COUNT];
            getrandom::fill(bytes.as_flattened_mut())?;
            self.0 = bytes;
        }
        Ok(Guid::version_4(self.0.pop().unwrap_or_default()))
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.encode().iter().try_for_each(|digit| fmt::Write::write_char(f, char::from(*digit)))
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Guid {
    type Err = ParseGuidError;

    fn from_str(text: &str) -> Result<Self, ParseGuidError> {
        let text: &[u8; Self::TEXT] = text.as_bytes().try_into().map_err(|_| ParseGuidError)?;
        let digit = |at: usize| char::from(text[at]).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        if HYPHENS.into_iter().any(|at| text[at] != b'-') {
            return Err(ParseGuidError);
        }
        let mut bytes = [0; 16];
        for (byte, at) in bytes.iter_mut().zip(PLACES) {
            *byte = digit(at).ok_or(ParseGuidError)? << 4 | digit(at + 1).ok_or(ParseGuidError)?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(feature = "uuid")]
impl From<uuid::Uuid> for Guid {
    fn from(uuid: uuid::Uuid) -> Self {
        Self(uuid.into_bytes())
    }
}

#[cfg(feature = "uuid")]
impl From<Guid> for uuid::Uuid {
    fn from(guid: Guid) -> Self {
        Self::from_bytes(guid.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn random_guids_differ_and_are_of_version_4() {
        let mut source = RandomGuids::default();
        let guids: HashSet<_> = (0..1000).map(|_| source.draw().expect("random bytes")).collect();
        assert_eq!(guids.len(), 1000);
        for guid in guids.into_iter().chain([Guid::random().expect("random bytes")]) {
            let text = guid.to_string();
            assert!(text[14..].starts_with('4') && text[19..].starts_with(['8', '9', 'a', 'b']), "{text}");
        }
    }
}
