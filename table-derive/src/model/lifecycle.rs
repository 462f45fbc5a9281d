//! When readers stop to see an entity: `#[table(expires = field, soft_delete = field)]`.

use syn::Ident;

use super::field::{Field, FieldRef};
use crate::errors::Errors;

/// The fields whose times hide an entity.
#[derive(Default)]
pub(crate) struct Lifecycle {
    /// The field with the time from which on the entity is absent.
    pub(crate) expires: Option<FieldRef>,
    /// The field with the time at which the entity was put into the bin.
    pub(crate) soft_delete: Option<FieldRef>,
}

impl Lifecycle {
    /// Resolves the fields, or reports an error.
    pub(super) fn read(fields: &[Field], [expires, soft_delete]: [Option<Vec<Ident>>; 2], errors: &mut Errors) -> Self {
        let mut field = |path: Option<Vec<Ident>>| match path?.as_slice() {
            [ident] => Field::find(fields, ident, errors).map(|field| FieldRef { field, span: ident.span() }),
            [first, ..] => {
                errors.on(first, "the time is a field of the entity itself, and not of a nested struct");
                None
            }
            [] => None,
        };
        Self { expires: field(expires), soft_delete: field(soft_delete) }
    }

    /// Returns the fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = FieldRef> + use<> {
        self.expires.into_iter().chain(self.soft_delete)
    }
}
