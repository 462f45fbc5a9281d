//! Rule that decides whether rows may lack a property that a program requires.

use table_store::{PropertyType, unstable::lost_variants};

use super::{baseline::Baseline, whole::Leaf};

/// Checks whether every recorded program writes the property.
pub fn is_always_written(property: &str, recorded: &Baseline) -> bool {
    let is_known = recorded.types.as_ref().is_some_and(|types| types.contains_key(property));
    is_known && !recorded.optional.contains(property)
}

/// Returns the path of the `Option`, variant or struct with a default that requires the property, if recorded programs write
/// it without the property.
pub fn lacks_part(leaf: &Leaf, recorded: &Baseline) -> Option<String> {
    let (whole, types) = leaf.required_in().zip(recorded.types.as_ref())?;
    let (own, name) = (whole.recorded(), leaf.property.name);
    let may_be_stored = match &own.variant {
        Some((tag, variant)) => types.get(tag).is_some_and(|tag| may_be_variant(tag, variant)),
        None => own.properties().any(|property| types.contains_key(property)),
    };
    let found = own.find(&whole.path, &recorded.wholes);
    let is_written = if found.is_empty() {
        // A single property may have become an `Option` of an enum, which a row has by its tag.
        let is_single = own.variant.is_none() && own.always.len() == 1;
        types.contains_key(name) && (!recorded.optional.contains(name) || is_single)
    } else {
        found.iter().all(|was| was.always.contains(name))
    };
    (may_be_stored && !is_written).then(|| whole.path.clone())
}

/// Checks whether rows may have the name of a variant, given the recorded type of the tag.
fn may_be_variant(tag: &str, variant: &str) -> bool {
    let none = PropertyType::Variants { names: &[], is_open: false }.to_string();
    let known = lost_variants(&none, tag);
    known.is_empty() || known.contains(&variant)
}
