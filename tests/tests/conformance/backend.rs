//! The contract of `Backend`: the cases of the public test kit, on each kind of store.

use anyhow::Result;
use libtest_mimic::Trial;
use table_runtime::testing::conformance::{self, Case};
use tests::stores::Kind;

/// The cases that fail on Azurite, each with the reason. They are counted as ignored there.
const NOT_ON_AZURITE: &[(&str, &str)] = &[
    ("tables::a_table_name_has_no_case", "it distinguishes names by case"),
    ("writes::a_merge_that_would_leave_too_many_properties_changes_nothing", "it has no limit of properties"),
    ("filters::dates_are_compared_by_the_tick", "it compares dates by the millisecond"),
    ("filters::a_value_of_another_type_fails_each_comparison", "`ne` holds for a value of another type"),
    ("filters::numbers_of_different_types_are_compared_by_value", "it answers 500 to `5L` if a value is an Int32"),
    ("values::a_negative_zero_is_read_as_it_was_written", "it answers 0.0"),
];

/// Returns a test for each case and kind of store.
pub(crate) fn trials(kinds: &[Kind]) -> impl Iterator<Item = Trial> {
    conformance::cases().flat_map(|case| kinds.iter().map(move |kind| trial(case, *kind)))
}

fn trial(case: &'static Case, kind: Kind) -> Trial {
    let is_off = kind.is_azurite() && NOT_ON_AZURITE.iter().any(|(name, _)| *name == case.name());
    let name = format!("backend::{}::{kind:?}", case.name()).to_lowercase();
    let test = move || run(case, kind).map_err(|error| format!("{error:#}").into());
    Trial::test(name, test).with_ignored_flag(kind.off().is_some() || is_off)
}

#[tokio::main]
async fn run(case: &Case, kind: Kind) -> Result<()> {
    let store = kind.open()?;
    Ok(case.run(&*store.shared).await?)
}
