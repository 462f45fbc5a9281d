//! Text.

use std::borrow::Cow;

use table_store::{error::KeyProblem, unstable::limits::forbidden_in_keys};

use super::{
    Decode, Encode, Escape, First, KeyBuffer, Lowercase, Ordered, Plain, Prefixed, Raw, Uppercase,
    fold::{self, Folded},
    kind,
};

const EXPECTED: &str = "text, with `~` and two upper-case hexadecimal digits for what keys cannot hold";

impl Escape {
    /// Returns true if a byte of text may need an escape: it is an ASCII character to escape, or the lead byte of the
    /// control characters U+0080 to U+009F.
    #[inline]
    fn is_special(self, byte: u8) -> bool {
        SPECIAL[usize::from(byte)]
            || (!self.last && self.separator.is_none() && is_delimiter(byte))
            || self.separator == Some(byte)
    }

    #[inline]
    fn escapes(self, character: char) -> bool {
        match u8::try_from(character) {
            Ok(byte @ ..0x80) => self.is_special(byte),
            _ => matches!(character, '\u{80}'..='\u{9F}'),
        }
    }

    /// Writes a character, escaped if necessary.
    #[inline]
    fn write(self, character: char, out: &mut KeyBuffer) {
        if !self.escapes(character) {
            return out.push(character);
        }
        let code = u32::from(character);
        // Escaped delimiters must keep their order, which `~` would break: it is the last character of ASCII that keys
        // may hold.
        out.push_byte(if self.separator.is_none() && u8::try_from(character).is_ok_and(is_delimiter) {
            b'!'
        } else {
            b'~'
        });
        let digit = |digit| char::from_digit(digit, 16).unwrap_or('0').to_ascii_uppercase();
        out.push(digit(code >> 4));
        out.push(digit(code & 0xF));
    }
}

/// Returns true for the space, which ends text parts, and for `!`, which escapes it.
#[inline]
fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b' ' | b'!')
}

const SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        special[byte as usize] = forbidden_in_keys(byte as char) || matches!(byte, b'%' | b'~');
        byte += 1;
    }
    // The lead byte of U+0080 to U+00BF.
    special[0xC2] = true;
    special
};

/// Writes text that is neither folded nor cut. Runs of characters that need no escape are copied at once.
#[inline]
pub fn write_plain(text: &str, escape: Escape, out: &mut KeyBuffer) {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| escape.is_special(byte)) {
        // Special bytes are ASCII or lead bytes, so a character begins here.
        let (run, tail) = rest.split_at(at);
        out.push_str(run);
        let mut characters = tail.chars();
        if let Some(character) = characters.next() {
            escape.write(character, out);
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
}

/// Writes text, folded character by character. Runs of ASCII that need no escape are written at once.
#[inline]
fn write_folded<F: Fold>(text: &str, escape: Escape, out: &mut KeyBuffer) {
    let mut rest = text;
    loop {
        // Folding changes only letters, and letters are never escaped.
        let end = rest.bytes().position(|byte| !byte.is_ascii() || escape.is_special(byte)).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        out.extend_ascii(run.bytes().map(F::fold_ascii));
        let mut characters = tail.chars();
        let Some(character) = characters.next() else { return };
        match F::fold(character) {
            Folded::One(folded) => escape.write(folded, out),
            Folded::Many(folded) => folded.chars().for_each(|folded| escape.write(folded, out)),
        }
        rest = characters.as_str();
    }
}

/// Writes the first `count` characters of the folded text.
#[inline]
fn write_first<F: Fold>(text: &str, count: usize, escape: Escape, out: &mut KeyBuffer) {
    let mut left = count;
    for character in text.chars() {
        match F::fold(character) {
            _ if left == 0 => return,
            Folded::One(folded) => {
                escape.write(folded, out);
                left -= 1;
            }
            Folded::Many(folded) => {
                for folded in folded.chars().take(left) {
                    escape.write(folded, out);
                    left -= 1;
                }
            }
        }
    }
}

/// Writes text in a recorded encoding: folded to lower or to upper case, and cut after the first characters.
pub(super) fn write_recorded(
    text: &str,
    (is_lower, is_upper): (bool, bool),
    first: Option<usize>,
    escape: Escape,
    out: &mut KeyBuffer,
) {
    match (first, is_lower, is_upper) {
        (None, true, _) => write_folded::<Lowercase>(text, escape, out),
        (None, false, true) => write_folded::<Uppercase>(text, escape, out),
        (None, false, false) => write_plain(text, escape, out),
        (Some(count), true, _) => write_first::<Lowercase>(text, count, escape, out),
        (Some(count), false, true) => write_first::<Uppercase>(text, count, escape, out),
        (Some(count), false, false) => write_first::<Plain>(text, count, escape, out),
    }
}

/// Reads text that was escaped according to `escape`.
#[inline]
fn read(text: &str, escape: Escape) -> Result<Cow<'_, str>, KeyProblem> {
    if text.bytes().any(|byte| escape.is_special(byte)) {
        unescape(text, escape).map(Cow::Owned)
    } else {
        Ok(Cow::Borrowed(text))
    }
}

fn unescape(text: &str, escape: Escape) -> Result<String, KeyProblem> {
    let malformed = || KeyProblem::malformed(EXPECTED, text);
    let mut read = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if !escape.escapes(character) {
            read.push(character);
            continue;
        }
        let (digits, tail) = rest.as_str().split_at_checked(2).ok_or_else(malformed)?;
        rest = tail.chars();
        let upper = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F'));
        let code = u8::from_str_radix(digits, 16).ok().filter(|_| upper).ok_or_else(malformed)?;
        let escaped = char::from(code);
        // Only escapes that `Escape::write` produces are accepted, so that no two keys mean the same value.
        let mut written = KeyBuffer::default();
        escape.write(escaped, &mut written);
        if !escape.escapes(escaped) || !written.as_str().starts_with(character) {
            return Err(malformed());
        }
        read.push(escaped);
    }
    Ok(read)
}

impl Encode<kind::Text> for Plain {
    const SELF_DELIMITING: bool = false;

    #[inline]
    fn write(value: &str, escape: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        write_plain(value, escape, out);
        Ok(())
    }
}

impl Decode<kind::Text> for Plain {
    #[inline]
    fn read(text: &str, escape: Escape) -> Result<Cow<'_, str>, KeyProblem> {
        read(text, escape)
    }
}

impl Ordered<kind::Text> for Plain {}
impl Prefixed for Plain {}

/// An encoding that folds a text before it is cut and escaped.
pub(super) trait Fold {
    fn fold(character: char) -> Folded;

    /// Folds an ASCII character as [`fold`](Self::fold) does.
    fn fold_ascii(byte: u8) -> u8;
}

impl Fold for Plain {
    #[inline]
    fn fold(character: char) -> Folded {
        Folded::One(character)
    }

    #[inline]
    fn fold_ascii(byte: u8) -> u8 {
        byte
    }
}

impl Fold for Lowercase {
    #[inline]
    fn fold(character: char) -> Folded {
        fold::lower(character)
    }

    #[inline]
    fn fold_ascii(byte: u8) -> u8 {
        byte.to_ascii_lowercase()
    }
}

impl Fold for Uppercase {
    #[inline]
    fn fold(character: char) -> Folded {
        fold::upper(character)
    }

    #[inline]
    fn fold_ascii(byte: u8) -> u8 {
        byte.to_ascii_uppercase()
    }
}

macro_rules! folded {
    ($($encoding:ident)*) => {$(
        impl Encode<kind::Text> for $encoding {
            const SELF_DELIMITING: bool = false;
            const LOSSY: bool = true;

            #[inline]
            fn write(value: &str, escape: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
                write_folded::<Self>(value, escape, out);
                Ok(())
            }

            #[inline]
            fn writes(value: &str, escape: Escape, text: &str) -> bool {
                // Most texts are ASCII without escapes.
                let is_written = |(byte, written): (u8, u8)| {
                    byte.is_ascii() && !escape.is_special(byte) && <Self as Fold>::fold_ascii(byte) == written
                };
                value.len() == text.len() && value.bytes().zip(text.bytes()).all(is_written)
                    || KeyBuffer::with_scratch(|out| {
                        write_folded::<Self>(value, escape, out);
                        out.as_str() == text
                    })
            }
        }

        impl Encode<kind::Character> for $encoding {
            const SELF_DELIMITING: bool = false;
            const LOSSY: bool = true;

            #[inline]
            fn write(value: char, escape: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
                write_folded::<Self>(value.encode_utf8(&mut [0; 4]), escape, out);
                Ok(())
            }
        }

        impl Ordered<kind::Text> for $encoding {}
        impl Prefixed for $encoding {}
    )*};
}

folded!(Lowercase Uppercase);

#[allow(private_bounds, reason = "what can be cut is this crate's to say")]
impl<const N: usize, Of: Fold> Encode<kind::Text> for First<N, Of> {
    const SELF_DELIMITING: bool = false;
    const LOSSY: bool = true;

    #[inline]
    fn write(value: &str, escape: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        write_first::<Of>(value, N, escape, out);
        Ok(())
    }
}

/// Checks whether `First<N, Of>` writes every text that begins with `prefix` in the same way.
#[allow(private_bounds, reason = "what can be cut is this crate's to say")]
pub fn is_decided_by<const N: usize, Of: Fold>(prefix: &str) -> bool {
    let folded = |character| match Of::fold(character) {
        Folded::One(_) => 1,
        Folded::Many(folded) => folded.chars().count(),
    };
    prefix.chars().map(folded).sum::<usize>() >= N
}

impl Encode<kind::Text> for Raw {
    const SELF_DELIMITING: bool = false;

    #[inline]
    fn write(value: &str, escape: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        let delimiter = escape.separator.unwrap_or(<Self as Encode<kind::Text>>::DELIMITER);
        let ends = |character| !escape.last && character == char::from(delimiter);
        let refused = value.chars().find(|character| forbidden_in_keys(*character) || ends(*character));
        if let Some(character) = refused {
            return Err(KeyProblem::Character { value: value.to_owned(), character });
        }
        out.push_str(value);
        Ok(())
    }
}

impl Decode<kind::Text> for Raw {
    fn read(text: &str, _: Escape) -> Result<Cow<'_, str>, KeyProblem> {
        Ok(Cow::Borrowed(text))
    }
}

impl Ordered<kind::Text> for Raw {}
impl Prefixed for Raw {}

impl Encode<kind::Character> for Plain {
    const SELF_DELIMITING: bool = false;

    #[inline]
    fn write(value: char, escape: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        escape.write(value, out);
        Ok(())
    }
}

impl Decode<kind::Character> for Plain {
    fn read(text: &str, escape: Escape) -> Result<char, KeyProblem> {
        let read = read(text, escape)?;
        let mut characters = read.chars();
        match (characters.next(), characters.next()) {
            (Some(character), None) => Ok(character),
            _ => Err(KeyProblem::malformed("one character", text)),
        }
    }
}

impl Ordered<kind::Character> for Plain {}

impl Encode<kind::Name> for Plain {
    const SELF_DELIMITING: bool = false;

    #[inline]
    fn write(value: &'static str, escape: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        write_plain(value, escape, out);
        Ok(())
    }
}

impl Decode<kind::Name> for Plain {
    fn read(text: &str, escape: Escape) -> Result<Cow<'_, str>, KeyProblem> {
        read(text, escape)
    }
}
