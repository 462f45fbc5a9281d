//! Programs that must compile. Each module is one program. If it has a `main`, that runs.

#![allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    reason = "the programs choose their lints, as those of users do"
)]

pub mod entity;
pub mod events;
pub mod generic;
pub mod groups;
pub mod index_paths;
pub mod indexes;
pub mod jobs;
pub mod lifecycle;
pub mod lints;
pub mod names;
pub mod no_implicit_prelude;
pub mod other_derives;
pub mod own_traits;
pub mod paths_from_macros;
pub mod projections;
pub mod shapes;
pub mod slices;
pub mod versions;
pub mod wrappers;

#[test]
fn entity_runs() {
    entity::main();
}

#[test]
fn generic_runs() {
    generic::main();
}

#[test]
fn indexes_runs() {
    indexes::main();
}

#[test]
fn lints_runs() {
    lints::main();
}

#[test]
fn names_runs() {
    names::main();
}

#[test]
fn no_implicit_prelude_runs() {
    no_implicit_prelude::main();
}

#[test]
fn paths_from_macros_runs() {
    paths_from_macros::main();
}

#[test]
fn slices_runs() {
    slices::main();
}

#[test]
fn versions_runs() {
    versions::main();
}

#[test]
fn wrappers_runs() {
    wrappers::main();
}
