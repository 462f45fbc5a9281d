//! Hash buckets.

use twox_hash::XxHash3_64;

use super::{Encode, Escape, Hash, KeyBuffer, KeyProblem, Kind};

impl<K: Kind, const N: usize, Of: Encode<K>> Encode<K> for Hash<N, Of> {
    const SELF_DELIMITING: bool = true;

    fn write(value: K::Value<'_>, _: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        // The bucket does not depend on where in its key the part stands.
        let mut plain = KeyBuffer::new();
        Of::write(value, Escape::part(true), &mut plain)?;
        out.push_str(&bucket(XxHash3_64::oneshot(plain.as_str().as_bytes()) % N as u64, N));
        Ok(())
    }
}

/// The partition of the `n`th bucket of `buckets`.
fn bucket(n: u64, buckets: usize) -> String {
    let width = (buckets - 1).to_string().len();
    format!("{n:0width$}")
}
