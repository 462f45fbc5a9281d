//! Key parts by their recorded kinds and encodings, for tools that do not have the entity's type.
//!
//! The functions choose one of the encodings that typed entities use, so a part is read and written here exactly as
//! there.

use table_store::{Guid, Ticks, ValueRef, error::KeyProblem};

use super::{
    DecimalParts, Decode, Encode, Escape, KeyBuffer, Kind, Plain, Raw, Reverse, ReverseTime, Unscaled,
    decimal::of_decimal,
    hash,
    integer::{self, IntegerType},
    kind, text,
};
use crate::layout::Encoding;

/// Evaluates `$result`, in which `$type` is the integer type of this name; `None` if there is none.
macro_rules! of_integer {
    ($name:expr, $type:ident => $result:expr) => {
        of_integer!(@ $name, $type => $result, u8 u16 u32 u64 u128 i8 i16 i32 i64 i128)
    };
    (@ $name:expr, $type:ident => $result:expr, $($integer:ident)*) => {
        match $name {
            $(stringify!($integer) => {
                type $type = $integer;
                Some($result)
            })*
            _ => None,
        }
    };
}

impl Encoding {
    /// Reads a part, without its delimiter, as a text that describes the value.
    ///
    /// # Errors
    /// Returns an error if the encoding never writes this text for this kind.
    pub fn decode(&self, kind: &str, part: &str, escape: Escape) -> Result<String, KeyProblem> {
        if let Some(count) = self.hash {
            let is_bucket = part.parse().is_ok_and(|bucket| bucket < count && hash::bucket(bucket, count) == part);
            let expected = || KeyProblem::malformed(format!("the number of one of {count} buckets"), part);
            return if is_bucket { Ok(part.to_owned()) } else { Err(expected()) };
        }
        match kind {
            "text" | "name" if self.is_raw => Ok(<Raw as Decode<kind::Text>>::read(part, escape)?.into_owned()),
            // A folded or cut character is a text.
            "character" if !self.is_lossy() => <Plain as Decode<kind::Character>>::read(part, escape).map(String::from),
            "text" | "name" | "character" => Ok(<Plain as Decode<kind::Text>>::read(part, escape)?.into_owned()),
            "guid" if self.is_reverse => {
                <Reverse<Plain> as Decode<kind::Id>>::read(part, escape).map(|guid| guid.to_string())
            }
            "guid" => <Plain as Decode<kind::Id>>::read(part, escape).map(|guid| guid.to_string()),
            "bool" => <Plain as Decode<kind::Bool>>::read(part, escape).map(|value| value.to_string()),
            "time" if self.is_reverse_time => {
                <ReverseTime as Decode<kind::Instant>>::read(part, escape).map(|time| time.to_string())
            }
            "time" => <Plain as Decode<kind::Instant>>::read(part, escape).map(|time| time.to_string()),
            "date" => {
                let date = if self.is_reverse {
                    <Reverse<Plain> as Decode<kind::Date>>::read(part, escape)?
                } else {
                    <Plain as Decode<kind::Date>>::read(part, escape)?
                };
                Ok(format!("{:04}-{:02}-{:02}", date.year, date.month, date.day))
            }
            "decimal" => {
                let scale = self.places().ok_or_else(|| KeyProblem::malformed("a part with `scale`", part))?;
                let Unscaled(mantissa) = self.read_number(part)?;
                Ok(DecimalParts { mantissa, scale }.to_string())
            }
            _ => {
                let read = of_integer!(kind, T => self.read_number::<T>(part).map(|number| number.to_string()));
                read.unwrap_or_else(|| Err(unknown(kind)))
            }
        }
    }

    /// Writes the part of a value that a property holds. Returns `None` if the property has another type than those
    /// that hold such values.
    pub fn encode(
        &self,
        kind: &str,
        value: ValueRef<'_>,
        escape: Escape,
        out: &mut KeyBuffer,
    ) -> Option<Result<(), KeyProblem>> {
        if let Some(count) = self.hash {
            let mut inner = KeyBuffer::new();
            let written = Self { hash: None, ..*self }.encode(kind, value, Escape::part(true), &mut inner)?;
            return Some(written.map(|()| hash::write_bucket(inner.as_str().as_bytes(), count, out)));
        }
        Some(match kind {
            "text" | "name" | "character" => {
                let value = <kind::Text as Kind>::load(value)?;
                if self.is_raw {
                    <Raw as Encode<kind::Text>>::write(&value, escape, out)
                } else {
                    text::write_recorded(&value, (self.is_lowercase, self.is_uppercase), self.first, escape, out);
                    Ok(())
                }
            }
            "guid" => {
                let guid: Guid = <kind::Id as Kind>::load(value)?;
                if self.is_reverse {
                    <Reverse<Plain> as Encode<kind::Id>>::write(guid, escape, out)
                } else {
                    <Plain as Encode<kind::Id>>::write(guid, escape, out)
                }
            }
            "bool" => <Plain as Encode<kind::Bool>>::write(<kind::Bool as Kind>::load(value)?, escape, out),
            "time" => {
                let ticks: Ticks = <kind::Instant as Kind>::load(value)?;
                let (seconds, nanoseconds) = ticks.to_unix();
                let time = super::UnixTime { seconds, nanoseconds };
                if self.is_reverse_time {
                    <ReverseTime as Encode<kind::Instant>>::write(time, escape, out)
                } else {
                    <Plain as Encode<kind::Instant>>::write(time, escape, out)
                }
            }
            "date" => {
                let date = <kind::Date as Kind>::load(value)?;
                if self.is_reverse {
                    <Reverse<Plain> as Encode<kind::Date>>::write(date, escape, out)
                } else {
                    <Plain as Encode<kind::Date>>::write(date, escape, out)
                }
            }
            "decimal" => {
                let (places, value) = (self.places()?, <kind::Decimal as Kind>::load(value)?);
                let written = value.unscaled(places).and_then(|number| self.write_number(Unscaled(number), out));
                written.map_err(|problem| of_decimal(problem, value))
            }
            _ => return of_integer!(kind, T => self.write_number(<kind::Integer<T> as Kind>::load(value)?, out)),
        })
    }

    /// Returns the number of decimal places.
    fn places(&self) -> Option<u32> {
        self.scale.and_then(|places| places.try_into().ok())
    }

    fn read_number<T: IntegerType>(&self, text: &str) -> Result<T, KeyProblem> {
        let read = if self.is_reverse { integer::read_mirrored } else { integer::read };
        read(text, self.pad.unwrap_or(T::DIGITS))
    }

    fn write_number<T: IntegerType>(&self, number: T, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        let write = if self.is_reverse { integer::write_mirrored } else { integer::write };
        write(number, self.pad.unwrap_or(T::DIGITS), out)
    }
}

fn unknown(kind: &str) -> KeyProblem {
    KeyProblem::malformed("a kind of key parts that this release knows".to_owned(), kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_encodings_read_what_they_write() {
        let text = |text| ValueRef::String(text);
        let time = ValueRef::DateTime(Ticks::UNIX_EPOCH);
        let mut bucket = KeyBuffer::new();
        <super::super::Hash<16> as Encode<kind::Text>>::write("ab", Escape::part(false), &mut bucket).expect("a part");
        for (kind, encoding, value, part, read) in [
            ("text", "plain", text("a b/"), "a!20b~2F", "a b/"),
            ("text", "raw", text("ab%"), "ab%", "ab%"),
            ("text", "lowercase", text("Ab"), "ab", "ab"),
            ("text", "first = 1, uppercase", text("ab"), "A", "A"),
            ("text", "hash = 16", text("ab"), bucket.as_str(), bucket.as_str()),
            ("character", "plain", text("x"), "x", "x"),
            ("u32", "plain", ValueRef::Int64(7), "0000000007", "7"),
            ("u32", "pad = 3", ValueRef::Int64(7), "007", "7"),
            ("u32", "reverse, pad = 3", ValueRef::Int64(7), "992", "7"),
            ("i32", "plain", ValueRef::Int32(-1), "-9999999999", "-1"),
            (
                "i128",
                "plain",
                text("-999999999999999999999999999999999999998"),
                "-999999999999999999999999999999999999998",
                "-2",
            ),
            ("decimal", "scale = 2", text("1.5"), "00000000000000000000000000150", "1.50"),
            ("decimal", "scale = 2, pad = 5", text("-0.010"), "-99999", "-0.01"),
            ("decimal", "scale = 0, reverse, pad = 3", ValueRef::Int64(7), "-992", "7"),
            ("date", "plain", text("[2026,358]"), "2026-12-24", "2026-12-24"),
            ("u128", "plain", text("9"), "000000000000000000000000000000000000009", "9"),
            ("bool", "plain", ValueRef::Boolean(true), "1", "true"),
            ("time", "time", time, "0621355968000000000", "1970-01-01T00:00:00.0000000Z"),
            ("time", "reverse_time", time, "2534023007999999999", "1970-01-01T00:00:00.0000000Z"),
            ("date", "reverse", text("2010-05-28"), "7989-94-71", "2010-05-28"),
            ("guid", "plain", ValueRef::Guid(Guid::default()), "00000000-0000-0000-0000-000000000000", ""),
            (
                "guid",
                "reverse",
                ValueRef::Guid(Guid::from_bytes(0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF_u128.to_be_bytes())),
                "ffeeddcc-bbaa-9988-7766-554433221100",
                "00112233-4455-6677-8899-aabbccddeeff",
            ),
        ] {
            let recorded = Encoding::parse(encoding);
            let mut written = KeyBuffer::new();
            recorded.encode(kind, value, Escape::part(false), &mut written).expect("a value").expect("a part");
            let found = recorded.decode(kind, part, Escape::part(false)).expect("a value");
            let read = if read.is_empty() { part } else { read };
            assert_eq!((written.as_str(), found.as_str()), (part, read), "{kind} {encoding}");
        }
        for (kind, encoding, part) in [
            ("u32", "plain", "7"),
            ("u32", "pad = 3", "0007"),
            ("text", "plain", "a~zz"),
            ("guid", "plain", "x"),
            ("guid", "reverse", "FFFFFFFF-ffff-ffff-ffff-ffffffffffff"),
            ("guid", "reverse", "ffffffffffffffffffffffffffffffff"),
            ("text", "hash = 16", "16"),
            ("text", "hash = 16", "5"),
            ("time", "time", "9999999999999999999"),
            ("decimal", "scale = 2", "150"),
            ("decimal", "plain", "00000000000000000000000000150"),
            ("complex", "plain", "1"),
        ] {
            let recorded = Encoding::parse(encoding);
            assert!(recorded.decode(kind, part, Escape::part(true)).is_err(), "{kind} {encoding} {part}");
        }
    }
}
