//! Laws of keys: of each encoding alone, of composite keys, and of ranges on a store. The expected keys are computed
//! here from the description of stored rows, not with the encoders.

mod composites;
mod encodings;
mod expected;
mod queries;
mod values;
