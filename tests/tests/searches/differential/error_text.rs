//! Errors as text, without what differs from store to store: the names of tables, and ETags.

use table_runtime::{Error, row::RowId};

fn row(row: &RowId) -> String {
    format!("({:?}, {:?})", row.partition_key, row.row_key)
}

/// Returns the kind of the error and what it names.
pub(crate) fn describe(error: &Error) -> String {
    match error {
        Error::AlreadyExists(id) => format!("AlreadyExists {}", row(id)),
        Error::NotFound(id) => format!("NotFound {}", row(id)),
        Error::ConditionNotMet(id) => format!("ConditionNotMet {}", row(id)),
        Error::Aborted(id) => format!("Aborted {}", row(id)),
        Error::UniqueViolation(it) => {
            format!("UniqueViolation {} {:?} {} {}", it.index, it.value, row(&it.row), row(&it.owner))
        }
        Error::Limit(it) => {
            format!("Limit {:?} {} {} {}", it.row.as_ref().map(row), it.what, it.found, it.limit)
        }
        Error::Property(it) => format!("Property {} {} {} {}", row(&it.row), it.property, it.expected, it.found),
        Error::Key(it) => format!("Key {} {} {:?}", it.layout, it.field, it.problem),
        Error::Query(it) => format!("Query {} {}", it.layout, it.problem),
        Error::Cursor(it) => format!("Cursor {it:?}"),
        Error::KeyChanged(it) => format!("KeyChanged {} {:?}", row(&it.was), (&it.partition_key, &it.row_key)),
        Error::Bulk(it) => {
            let mut failures: Vec<_> = it.failures.iter().map(|it| (it.position, self::describe(&it.error))).collect();
            failures.sort_unstable();
            format!("Bulk {:?} {failures:?} {} {}", it.progress, it.resume_from, it.ended_early)
        }
        // No program should give another error. Its text shows the difference.
        other => format!("{other:?}"),
    }
}
