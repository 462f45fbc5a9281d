//! The rules, one function each. They run on a model that was read without errors.

mod events;
mod indexes;
mod keys;
mod large;
mod lifecycle;
pub(crate) mod names;
pub(crate) mod properties;
mod slice;
mod table;

use crate::{errors::Errors, model::Entity};

/// Checks every rule, in the order of the attributes.
pub(crate) fn check(entity: &Entity, errors: &mut Errors) {
    table::check(entity, errors);
    keys::check(entity, errors);
    properties::check(entity, errors);
    large::check(entity, errors);
    indexes::check(entity, errors);
    slice::check(entity, errors);
    lifecycle::check(entity, errors);
    events::check(entity, errors);
}
