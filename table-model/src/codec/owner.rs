//! Keys of the entity to which a row of an index belongs.

use std::borrow::Cow;

use table_store::{
    Result, RowRef,
    error::{KeyProblem, PropertyProblem},
    unstable::RowKeys,
};

use super::{PropertyWriter, misfit, seek};
use crate::{
    key::{Decode, KeyPart, KeyWriter, Kind, Plain, copy_part, escape, kind},
    layout::{Encoding, LayoutExt, LayoutInfo, PartInfo, of_row, segments},
};

/// Builder of an entity's keys, which reads a row of one of its indexes.
pub struct OwnerReader<'a> {
    index: &'static LayoutInfo,
    row: RowRef<'a>,
    keys: KeyWriter<'static>,
}

/// Returns the two keys of the entity to which a row of the index belongs. `owner_part` writes a part of the primary key, counted
/// over both keys, from the property of a pointer.
pub fn owner_keys(
    primary: &'static LayoutInfo,
    index: &'static LayoutInfo,
    owner_part: fn(usize, &mut OwnerReader<'_>) -> Result<()>,
    row: RowRef<'_>,
) -> Result<RowKeys> {
    let mut reader = OwnerReader { index, row, keys: KeyWriter::new(primary) };
    let same_partition = index.is_same_partition();
    if same_partition {
        reader.keys.set_partition(row.partition_key);
    }
    let split = split(index, row.partition_key, row.row_key);
    let segments = split.map_err(|(field, problem)| reader.error(field, problem))?;
    let partition_parts = primary.partition.len();
    let parts = primary.parts().enumerate();
    for (at, part) in parts.skip(if same_partition { partition_parts } else { 0 }) {
        let last = at + 1 == partition_parts || at + 1 == partition_parts + primary.row.len();
        // Index rows escape text even if the primary key is `raw`.
        let written = if part.is_raw() { "plain" } else { &part.encoding };
        let same = |segment: &&Segment<'_>| segment.part.field == part.field && segment.part.encoding == written;
        match segments.iter().find(same) {
            Some(segment) => {
                let key = if at < partition_parts { &mut reader.keys.partition } else { &mut reader.keys.row };
                let copied = copy_part(primary, (segment.text, segment.last), (part, last), key);
                copied.map_err(|problem| reader.error(&part.field, problem))?;
            }
            None => owner_part(at, &mut reader)?,
        }
    }
    let OwnerReader { keys, .. } = reader;
    Ok(RowKeys { partition_key: keys.partition.into_string(), row_key: keys.row.into_string() })
}

/// A part of a stored key, as text.
pub(super) struct Segment<'a> {
    pub(super) part: &'static PartInfo,
    pub(super) text: &'a str,
    /// `true` if no part follows, so that delimiters in the text are not escaped.
    pub(super) last: bool,
}

impl<'a> Segment<'a> {
    /// Checks whether the part holds the whole field, which may be folded.
    fn is_whole(&self) -> bool {
        Encoding::of(self.part).is_whole()
    }

    /// Returns the text that the part encodes; a part that is no text is returned as it is stored in the key.
    fn value(&self, index: &LayoutInfo) -> Cow<'a, str> {
        let text = || <Plain as Decode<kind::Text>>::read(self.text, escape(index, self.last)).ok();
        if self.part.self_delimiting { self.text.into() } else { text().unwrap_or(self.text.into()) }
    }
}

/// Splits the keys of an index row into parts, except for a partition key that is the entity's own. An error names the
/// field.
pub(super) fn split<'a>(
    index: &'static LayoutInfo,
    partition_key: &'a str,
    row_key: &'a str,
) -> Result<Vec<Segment<'a>>, (&'static str, KeyProblem)> {
    let mut segments = Vec::with_capacity(index.partition.len() + index.row.len());
    let keys = index.keys().into_iter().zip([partition_key, row_key]);
    for ((prefix, parts), key) in keys.skip(usize::from(index.is_same_partition())) {
        let malformed = |expected| KeyProblem::malformed(expected, key);
        let begun = key.strip_prefix(prefix);
        let begun = begun.ok_or_else(|| ("", malformed(format!("a key that begins with `{prefix}`"))))?;
        for (part, text, last) in segments::texts(index, parts, begun) {
            let delimiter = || format!("a part that ends with {:?}", segments::delimiter(index, part));
            let text = text.map_err(|_| (&*part.field, malformed(delimiter())))?;
            segments.push(Segment { part, text, last });
        }
    }
    Ok(segments)
}

/// Returns the value that the keys of a unique index's row hold, for a message. They hold every field whole.
pub fn index_value(index: &'static LayoutInfo, keys: &RowKeys) -> String {
    let Ok(segments) = split(index, &keys.partition_key, &keys.row_key) else {
        return format!("{} {}", keys.partition_key, keys.row_key);
    };
    let whole = segments.iter().filter(|segment| segment.is_whole());
    whole.map(|segment| segment.value(index)).collect::<Vec<_>>().join(" ")
}

impl<'a> OwnerReader<'a> {
    #[cold]
    fn error(&self, field: &'static str, problem: KeyProblem) -> table_store::Error {
        of_row(self.index.key_error(field, problem), &self.index.table, &self.row)
    }

    /// Reads the value of a field from the property of the pointer that holds it.
    pub fn value<T: KeyPart>(&self, field: &'static str) -> Result<T> {
        let (table, row) = (&*self.index.table, self.row);
        let pointer = self.index.index.as_ref().map_or([].as_slice(), |index| &index.pointer);
        let name = pointer.iter().find(|pointer| pointer.field == field).map_or(field, |pointer| &pointer.name);
        let value = seek(table, row, name)?;
        if let Some(value) = value.and_then(<T::Kind as Kind>::load) {
            return T::from_key(value).map_err(|problem| self.error(field, problem));
        }
        let found = value.map_or("nothing", |value| value.edm_type()).to_owned();
        let expected = format!("the key field `{field}` of the entity").into();
        Err(misfit(row.id(table), name, PropertyProblem { expected, found }))
    }

    /// Returns the keys, to which the next part is written.
    pub fn keys(&mut self) -> &mut KeyWriter<'static> {
        &mut self.keys
    }

    /// Converts the result of writing a part into one whose error names the row.
    pub fn written(&self, field: &'static str, written: Result<(), KeyProblem>) -> Result<()> {
        written.map_err(|problem| self.error(field, problem))
    }
}

/// Writes a field of the primary key as the property of a pointer, from which [`OwnerReader::value`] reads it.
pub fn point<T: KeyPart>(value: &T, name: &'static str, properties: &mut PropertyWriter<'_>) -> Result<()> {
    properties.write(name.into(), |properties| <T::Kind as Kind>::store(value.to_value(), name, properties))
}
