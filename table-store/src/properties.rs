//! A row's properties, in the form in which the embedded store stores them.

mod encoded;
mod name;

use std::{fmt, mem, sync::Arc};

pub use encoded::text;
pub use name::PropertyName;

use crate::{PropertyType, Value, ValueRef};

/// The properties of a row, in order. Every name occurs once.
///
/// The properties are kept in encoded form, one after the other. An entity is written to this form and read from it
/// without a map in between, and the embedded store stores the bytes unchanged.
///
/// ```
/// use table_runtime::row::{Properties, ValueRef};
/// let mut properties = Properties::default();
/// properties.push("Likes", ValueRef::Int32(5));
/// assert_eq!(properties.get("Likes"), Some(ValueRef::Int32(5)));
/// ```
#[derive(Clone)]
pub struct Properties(Bytes);

/// The encoded bytes.
#[derive(Clone)]
enum Bytes {
    Own(Vec<u8>),
    /// Bytes that do not change, so that clones need not copy them.
    Shared(Arc<Vec<u8>>),
}

/// Properties, borrowed from their row.
#[derive(Clone, Copy, Default)]
pub struct PropertiesRef<'a>(&'a [u8]);

/// The error of bytes that are not the properties of a row, because the store's file is damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the bytes of a row's properties are damaged")]
pub struct DamagedProperties;

impl Properties {
    /// Creates an empty set of properties, with room for `bytes` encoded bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self(Bytes::Own(Vec::with_capacity(bytes)))
    }

    /// Returns a copy with room for `bytes` more encoded bytes.
    #[doc(hidden)]
    pub fn clone_with_room(&self, bytes: usize) -> Self {
        let mut copy = Vec::with_capacity(self.as_bytes().len() + bytes);
        copy.extend_from_slice(self.as_bytes());
        Self(Bytes::Own(copy))
    }

    /// Lets the clones of these properties share their bytes. A later change of one of them copies the bytes first.
    #[doc(hidden)]
    #[must_use]
    pub fn shared(self) -> Self {
        match self.0 {
            Bytes::Own(bytes) => Self(Bytes::Shared(Arc::new(bytes))),
            shared @ Bytes::Shared(_) => Self(shared),
        }
    }

    /// Returns the bytes, to add to them.
    #[inline]
    fn own(&mut self) -> &mut Vec<u8> {
        if let Bytes::Shared(shared) = &mut self.0 {
            self.0 = Bytes::Own(mem::take(Arc::make_mut(shared)));
        }
        match &mut self.0 {
            Bytes::Own(bytes) => bytes,
            Bytes::Shared(_) => unreachable!("the bytes are its own since"),
        }
    }

    /// Adds a property after the others. No property may have the name yet (see [`set`](Self::set)): a row with two
    /// properties of the same name is refused when it is written.
    pub fn push(&mut self, name: &str, value: ValueRef<'_>) {
        encoded::push(self.own(), name.into(), value);
    }

    /// Does the same with a name in two pieces.
    #[doc(hidden)]
    #[inline]
    pub fn push_named(&mut self, name: PropertyName<'_>, value: ValueRef<'_>) {
        encoded::push(self.own(), name, value);
    }

    /// Returns the properties without the one of this name.
    pub fn without(&self, name: &str) -> Self {
        let mut properties = Self::with_capacity(self.as_bytes().len());
        for (other, value) in self.iter().filter(|(other, _)| *other != name) {
            properties.push(other, value);
        }
        properties
    }

    /// Sets the value of a property, and replaces the value that it had.
    pub fn set(&mut self, name: &str, value: ValueRef<'_>) {
        if self.get(name).is_some() {
            let mut properties = Self::with_capacity(self.as_bytes().len());
            for (other, old) in self.as_ref() {
                properties.push(other, if other == name { value } else { old });
            }
            *self = properties;
        } else {
            self.push(name, value);
        }
    }

    /// Borrows the properties.
    #[inline]
    pub fn as_ref(&self) -> PropertiesRef<'_> {
        PropertiesRef(self.as_bytes())
    }

    /// Returns the value of the property `name`.
    pub fn get(&self, name: &str) -> Option<ValueRef<'_>> {
        self.as_ref().get(name)
    }

    /// Returns an iterator of the names and values, in order.
    pub fn iter(&self) -> PropertiesRef<'_> {
        self.as_ref()
    }

    /// Returns true if there is no property.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// Returns the encoded bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Own(bytes) => bytes,
            Bytes::Shared(bytes) => bytes,
        }
    }
}

impl<'a> PropertiesRef<'a> {
    /// Creates properties from their encoded bytes, and checks all of them.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, DamagedProperties> {
        if encoded::check(bytes) { Ok(Self(bytes)) } else { Err(DamagedProperties) }
    }

    /// Creates properties from bytes that were checked before, or that `Properties` has written.
    #[doc(hidden)]
    #[inline]
    pub const fn trusted(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the encoded bytes.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns the value of the property `name`.
    pub fn get(mut self, name: &str) -> Option<ValueRef<'a>> {
        self.seek(name).ok().flatten()
    }

    /// Returns the value of the property with a name in two pieces.
    #[doc(hidden)]
    pub fn get_named(mut self, name: PropertyName<'_>) -> Option<ValueRef<'a>> {
        self.seek_and_count(name, &mut 0).ok().flatten()
    }

    /// Returns a copy that owns its bytes.
    pub fn to_properties(self) -> Properties {
        Properties(Bytes::Own(self.0.to_owned()))
    }

    /// Returns these properties with those of `changes` set, as a merge stores them.
    pub fn merge(self, changes: PropertiesRef<'_>) -> Properties {
        let mut merged = Properties::with_capacity(self.0.len() + changes.0.len());
        for (name, value) in self {
            merged.push(name, changes.get(name).unwrap_or(value));
        }
        for (name, value) in changes {
            if self.get(name).is_none() {
                merged.push(name, value);
            }
        }
        merged
    }
}

impl<'a> PropertiesRef<'a> {
    /// Returns the next property, or `None` after the last one.
    #[inline]
    #[doc(hidden)]
    pub fn try_next(&mut self) -> Result<Option<(&'a str, ValueRef<'a>)>, DamagedProperties> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let (property, rest) = encoded::take(self.0).ok_or(DamagedProperties)?;
        self.0 = rest;
        Ok(Some(property))
    }

    /// Returns the value of the property `name`, and removes it and all properties before it from these. If there is no
    /// such property, removes nothing.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "a value is returned through memory, and copied from there")]
    #[doc(hidden)]
    pub fn seek(&mut self, name: &str) -> Result<Option<ValueRef<'a>>, DamagedProperties> {
        self.seek_and_count(name.into(), &mut 0)
    }

    /// Does the same as [`seek`](Self::seek), and adds the number of encoded bytes of the property to `found`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "as of `seek`")]
    #[doc(hidden)]
    pub fn seek_and_count(
        &mut self,
        name: PropertyName<'_>,
        found: &mut usize,
    ) -> Result<Option<ValueRef<'a>>, DamagedProperties> {
        encoded::find(&mut self.0, name, found).ok_or(DamagedProperties)
    }

    /// Removes and returns the value of the next property if the property has this name and this type.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(
        clippy::inline_always,
        reason = "then the name and the type are constants, and the value stays in registers"
    )]
    #[doc(hidden)]
    pub fn next_if(&mut self, name: PropertyName<'_>, ty: PropertyType) -> Option<ValueRef<'a>> {
        encoded::next_if(&mut self.0, name, ty)
    }

    /// Checks whether there is a property with one of these names. Reads all properties up to it, so that damage is found.
    #[inline]
    #[doc(hidden)]
    pub fn has_any(self, names: &[&str]) -> Result<bool, DamagedProperties> {
        encoded::has_any(self.0, names).ok_or(DamagedProperties)
    }

    /// Skips all remaining properties.
    #[inline]
    #[doc(hidden)]
    pub fn skip_all(self) -> Result<(), DamagedProperties> {
        encoded::skip_all(self.0).ok_or(DamagedProperties)
    }

    /// Returns the properties before `rest`, which is the remainder of these.
    #[doc(hidden)]
    #[inline]
    pub fn before(self, rest: Self) -> Self {
        Self(&self.0[..self.0.len().saturating_sub(rest.0.len())])
    }
}

#[allow(clippy::copy_iterator, reason = "a copy is a second look at the same row")]
impl<'a> Iterator for PropertiesRef<'a> {
    type Item = (&'a str, ValueRef<'a>);

    /// Returns the next property. Damaged bytes end the iteration; [`from_bytes`](PropertiesRef::from_bytes) reports
    /// them.
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.try_next().ok().flatten()
    }
}

impl Default for Properties {
    fn default() -> Self {
        Self(Bytes::Own(Vec::new()))
    }
}

impl PartialEq for Properties {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl<'a> IntoIterator for &'a Properties {
    type Item = (&'a str, ValueRef<'a>);
    type IntoIter = PropertiesRef<'a>;

    fn into_iter(self) -> PropertiesRef<'a> {
        self.as_ref()
    }
}

impl<'a> FromIterator<(&'a str, Value)> for Properties {
    fn from_iter<I: IntoIterator<Item = (&'a str, Value)>>(properties: I) -> Self {
        let mut all = Self::default();
        for (name, value) in properties {
            all.set(name, value.as_ref());
        }
        all
    }
}

impl fmt::Debug for PropertiesRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(*self).finish()
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}
