//! Hash buckets.

use table_store::error::KeyProblem;
use twox_hash::XxHash3_64;

use super::{Encode, Escape, Hash, KeyBuffer, Kind, integer::write_digits};

impl<K: Kind, const N: usize, Of: Encode<K>> Encode<K> for Hash<N, Of> {
    const SELF_DELIMITING: bool = true;
    const LOSSY: bool = true;

    fn write(value: K::Value<'_>, _: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        let begin = out.len();
        // The bucket does not depend on the position of the part in its key.
        Of::write(value, Escape::part(true), out)?;
        let hash = XxHash3_64::oneshot(out.after(begin));
        out.truncate(begin);
        write_digits((hash % N as u64).into(), width(N), false, out);
        Ok(())
    }

    fn writes(value: K::Value<'_>, _: Escape, text: &str) -> bool {
        let bucket = KeyBuffer::with_scratch(|out| {
            Of::write(value, Escape::part(true), out).ok().map(|()| XxHash3_64::oneshot(out.after(0)) % N as u64)
        });
        let digit = |number: u64, digit: u8| {
            Some(number * 10 + u64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?))
        };
        text.len() == width(N) && bucket.is_some() && text.bytes().try_fold(0, digit) == bucket
    }
}

/// Writes the number of the bucket of a text.
pub(super) fn write_bucket(text: &[u8], count: usize, out: &mut KeyBuffer) {
    write_digits((XxHash3_64::oneshot(text) % count as u64).into(), width(count), false, out);
}

/// Returns the number of digits of a bucket's number if there are `count` buckets.
const fn width(count: usize) -> usize {
    match (count - 1).checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    }
}

/// Formats the number of one of `count` buckets as keys hold it.
pub fn bucket(number: usize, count: usize) -> String {
    format!("{number:0width$}", width = width(count))
}
