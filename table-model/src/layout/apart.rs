//! Rule that decides whether two entities can share a table: whether a row shows to which of them it belongs.

use super::{collision::KeyPattern, info::LayoutInfo, shape};

/// Checks whether no row of one entity can be read as a row of the other, if both are stored in one table. `one` and
/// `other` are their primary keys. Any of these distinguishes their rows:
///
/// - different kinds;
/// - keys that cannot be equal: different constants, or prefixes of which neither continues as the other's keys do;
/// - a constant partition key of one entity, and parts in that of the other. Such a declaration means that no part has
///   the constant as its value; if one does, the entities share that partition all the same;
/// - different numbers of parts in the row keys, if these parts can be counted.
pub fn told_apart(one: &LayoutInfo, other: &LayoutInfo) -> bool {
    let patterns = [one, other].map(KeyPattern::of);
    one.kind.is_some() && other.kind.is_some() && one.kind != other.kind
        || !patterns[0].may_equal(patterns[1])
        || patterns[0].only_one_partition_is_constant(patterns[1])
        || shape::differ(one, other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Example, PartInfo, PartType};

    fn part(kind: &&'static str) -> PartInfo {
        let example = Example::new(|_| String::new());
        PartType { kind, self_delimiting: *kind != "text", example }.of(kind, "plain", false)
    }

    /// Returns a primary key.
    fn key(partition: (&'static str, &[&'static str]), row: (&'static str, &[&'static str])) -> LayoutInfo {
        let parts = |kinds: &[&'static str]| kinds.iter().map(part).collect();
        LayoutInfo {
            partition_prefix: partition.0.into(),
            partition: parts(partition.1),
            row_prefix: row.0.into(),
            row: parts(row.1),
            ..LayoutInfo::default()
        }
    }

    #[track_caller]
    fn check(one: &LayoutInfo, other: &LayoutInfo, expected: bool) {
        assert_eq!(told_apart(one, other), expected, "{one:?} {other:?}");
        assert_eq!(told_apart(other, one), expected, "{other:?} {one:?}");
    }

    #[test]
    fn kinds_distinguish_rows() {
        let plain = key(("", &["text"]), ("", &["text"]));
        let of_kind = |kind: &'static str| LayoutInfo { kind: Some(kind.into()), ..plain.clone() };
        check(&of_kind("A"), &of_kind("B"), true);
        check(&of_kind("A"), &of_kind("A"), false);
        // The entity without a kind reads the rows of every kind.
        check(&of_kind("A"), &plain, false);
        check(&plain, &plain, false);
    }

    #[test]
    fn keys_distinguish_rows() {
        let own = |partition, row| key((partition, &["text"]), (row, &["text"]));
        check(&own("", "a-"), &own("", "b-"), true);
        check(&own("", "a-"), &own("", "a-"), false);
        check(&own("", "a-"), &own("", ""), false);
        check(&own("", "a-"), &own("", "a-b-"), false);
        check(&own("a-", ""), &own("b-", ""), true);
        check(&key(("", &["text"]), ("", &["u32"])), &own("", "number-"), true);
        check(&key(("", &["text"]), ("", &["text"])), &own("", "number-"), false);
    }

    #[test]
    fn constant_partitions_distinguish_rows() {
        let constant = |constant| key((constant, &[]), ("", &["text"]));
        check(&constant("all"), &constant("every"), true);
        check(&constant("all"), &constant("all"), false);
        check(&constant("all"), &key(("", &["text"]), ("", &["text"])), true);
        check(&constant("all"), &key(("", &["u32"]), ("", &["text"])), true);
    }

    #[test]
    fn countable_parts_distinguish_rows() {
        let row = |kinds: &[&'static str]| key(("", &["text"]), ("", kinds));
        check(&row(&["u32"]), &row(&["u32", "u32"]), true);
        check(&row(&["u32"]), &row(&["time", "text"]), true);
        check(&row(&["guid"]), &row(&["guid", "u32"]), true);
        check(&row(&["u32", "u32"]), &row(&["u64", "i8"]), false);
        check(&row(&["guid"]), &row(&["u32", "u32"]), false);
        check(&row(&["u32"]), &row(&["guid", "u32"]), false);
        check(&row(&["text"]), &row(&["u32", "u32"]), false);
        check(&row(&["u32", "text"]), &row(&["u32", "u32"]), false);
        check(&row(&["u32"]), &row(&["kind of a newer release", "u32"]), false);
        let mut separated = row(&["u32", "u32"]);
        separated.separator = Some('+');
        check(&row(&["u32"]), &separated, false);
    }
}
