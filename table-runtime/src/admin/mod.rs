//! Setup and jobs: what is recorded of entities, and all of an entity's rows.

pub mod assert_layout;
pub mod catalog;
pub mod create;
pub mod events;
pub mod health;
pub mod jobs;
pub mod migrate;
pub mod scan;
pub mod sets;
pub mod slices;
