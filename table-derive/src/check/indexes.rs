//! The rules of indexes.

use super::{is_property_name, is_table_name, legal_prefix, reserved};
use crate::{
    encoding::Encoding,
    errors::Errors,
    model::{Entity, Field, Index, Layout, Mode, Part, Scope, Storage, Text},
};

/// Every rule, in the order of the attribute.
pub(super) fn check(entity: &Entity, errors: &mut Errors) {
    names_differ(entity, errors);
    rows_cannot_meet(entity, errors);
    transaction_fits(entity, errors);
    let rules: [fn(&Entity, &Index, &mut Errors); 19] = [
        name_is_free,
        table_name,
        table_is_not_reserved,
        table_is_another,
        encoding_escapes,
        hash_is_last_in_partition,
        hash_is_not_all,
        unique_value_is_whole,
        unique_is_of_more_than_a_bucket,
        unique_is_no_copy,
        list_is_in_partition,
        list_holds_ids,
        copy_excludes_include,
        copy_is_whole,
        include_is_stored,
        fields_are_stored,
        prefix_is_legal,
        properties_differ,
        properties_fit,
    ];
    for index in &entity.indexes {
        for rule in rules {
            rule(entity, index, errors);
        }
    }
}

/// `by_NAME` is one function.
fn names_differ(entity: &Entity, errors: &mut Errors) {
    for (at, Index { name, .. }) in entity.indexes.iter().enumerate() {
        if entity.indexes[..at].iter().any(|before| before.name.value == name.value) {
            let message = format_args!("an index is called `{}` already; give this one another name", name.value);
            errors.at(name.span, message);
        }
    }
}

/// The rows of one table are told apart by what they begin with.
fn rows_cannot_meet(entity: &Entity, errors: &mut Errors) {
    let layouts: Vec<_> = entity.layouts().collect();
    let rows = |layout: &Layout<'_>| {
        layout
            .index
            .map_or_else(|| format!("`{}` itself", entity.ident), |index| format!("the index `{}`", index.name.value))
    };
    let begin = |layout: &Layout<'_>| match layout.row.prefix() {
        "" => "have no prefix".to_owned(),
        prefix => format!("begin with `{prefix}`"),
    };
    let says_nothing = |layout: &Layout<'_>| layout.row.prefix.as_ref().is_some_and(|prefix| prefix.value.is_empty());
    for (at, layout) in layouts.iter().enumerate() {
        let (Some(index), prefix) = (layout.index, layout.row.prefix()) else { continue };
        if names_own_table(entity, index) || says_nothing(layout) {
            continue;
        }
        let meets = |other: &&Layout<'_>| {
            // What another rule says first is not said here too.
            let is_refused = says_nothing(other) || other.name() == layout.name();
            // Tables are named regardless of case.
            !is_refused
                && other.table.value.eq_ignore_ascii_case(&layout.table.value)
                && (other.row.prefix().starts_with(prefix) || prefix.starts_with(other.row.prefix()))
        };
        if let Some(other) = layouts[..at].iter().find(meets) {
            let mend = match other.row.prefix() {
                "" if other.index.is_none() => "another text as `#[table(row = \"…\")]`".to_owned(),
                _ => format!("`prefix = \"…\"` in the index `{}`", index.name.value),
            };
            let message = format_args!(
                "in the table `{}` the rows of {} {} and those of {} {}, so that they could meet\n\
                 help: write {mend}; of two prefixes neither may begin with the other",
                layout.table.value,
                rows(layout),
                begin(layout),
                rows(other),
                begin(other),
            );
            errors.at(index.row.prefix.as_ref().map_or(index.name.span, |prefix| prefix.span), message);
        }
    }
}

/// An update that moves k rows takes 1 + 2k of a transaction's 100 operations.
fn transaction_fits(entity: &Entity, errors: &mut Errors) {
    let mut of_partition = entity.indexes.iter().filter(|index| !index.is_cross_partition());
    if let Some(index) = of_partition.nth(49) {
        let message = "an update moves the rows of all `same_partition` indexes in one transaction, which has room for 49 \
                       indexes; put this one elsewhere, or remove one";
        errors.at(index.name.span, message);
    }
}

/// `by_key` is the primary key's.
fn name_is_free(_: &Entity, Index { name, .. }: &Index, errors: &mut Errors) {
    if name.value == "key" {
        errors.at(name.span, "`by_key` is the query of the primary key; give the index another name");
    }
}

/// The service's rule for tables, of the named one and of the one that is made of the two names.
fn table_name(_: &Entity, Index { name, scope, table, .. }: &Index, errors: &mut Errors) {
    if matches!(scope, Scope::Named | Scope::Own) && !is_table_name(&table.value) {
        let message =
            "is no table name: it needs 3 to 63 ASCII letters and digits, a letter first, and is not `tables`";
        let help = format_args!("help: write `table = \"…\"` in the index `{}`", name.value);
        errors.at(table.span, format_args!("`{}` {message}\n{help}", table.value));
    }
}

/// An index's table is not the runtime's own either.
fn table_is_not_reserved(_: &Entity, Index { name, scope, table, .. }: &Index, errors: &mut Errors) {
    if matches!(scope, Scope::Named | Scope::Own)
        && let Some(what) = reserved(&table.value)
    {
        let help = format_args!("help: write another `table = \"…\"` in the index `{}`", name.value);
        errors.at(table.span, format_args!("`{}` is {what}\n{help}", table.value));
    }
}

/// The entity's own table has a scope of its own, under which rows get prefixes.
fn table_is_another(entity: &Entity, index: &Index, errors: &mut Errors) {
    if names_own_table(entity, index) {
        let message = format_args!("`{}` is the entity's own table; write `same_table`", entity.table.value);
        errors.at(index.table.span, message);
    }
}

fn names_own_table(entity: &Entity, Index { scope, table, .. }: &Index) -> bool {
    *scope == Scope::Named && table.value.eq_ignore_ascii_case(&entity.table.value)
}

/// `raw` is for keys that others wrote, and nobody else writes index rows.
fn encoding_escapes(_: &Entity, index: &Index, errors: &mut Errors) {
    for part in index.values().filter(|part| part.encoding == Encoding::Raw) {
        errors.at(part.span, "`raw` is for primary keys; remove it, since index rows always escape");
    }
}

/// As for the primary key: before other parts a hash would scatter what they group, in a row key shuffle the rows.
fn hash_is_last_in_partition(_: &Entity, index: &Index, errors: &mut Errors) {
    let hashes = |parts: &[Part]| -> Vec<_> {
        let hashes = parts.iter().filter(|part| part.sparse && matches!(part.encoding, Encoding::Hash(..)));
        hashes.map(|part| part.span).collect()
    };
    let partition = index.partition.parts.split_last().map_or([].as_slice(), |(_, before)| before);
    for span in hashes(partition) {
        errors.at(span, "`hash` must be the last part of the partition key; move the field behind the others");
    }
    for span in hashes(&index.row.parts) {
        errors.at(span, "`hash` spreads rows over partitions; in the row key of an index remove it");
    }
}

/// A query cannot ask for a value that is only hashed.
fn hash_is_not_all(entity: &Entity, index: &Index, errors: &mut Errors) {
    let is_hash = |encoding: &Encoding| matches!(encoding, Encoding::Hash(..));
    if let Some(part) = index.partition.parts.first()
        && index.values().all(|part| is_hash(&part.encoding))
        && index.is_cross_partition()
    {
        let (name, field) = (&index.name.value, &entity.fields[part.field].name);
        let whole = match part.encoding.fold() {
            Encoding::Plain => String::new(),
            fold => format!("({fold})"),
        };
        let message = format_args!(
            "a hash alone finds no value; on the struct, spell the keys out: `#[index({name}, partition({field}({})), \
             row({field}{whole}))]`",
            part.encoding
        );
        errors.at(part.span, message);
    }
}

/// Values that are encoded alike would count as one.
fn unique_value_is_whole(entity: &Entity, index: &Index, errors: &mut Errors) {
    let takes_all = |encoding: &Encoding| !matches!(encoding, Encoding::First(..) | Encoding::Hash(..));
    let mut refused: Vec<usize> = Vec::new();
    for part in index.values().filter(|_| index.unique.is_some()) {
        if index.values().any(|other| other.field == part.field && takes_all(&other.encoding))
            || refused.contains(&part.field)
        {
            continue;
        }
        refused.push(part.field);
        let message = format_args!(
            "to a unique index two values with the same `{}` would be one; add `{}` to it whole, or remove `unique`",
            part.encoding, entity.fields[part.field].name
        );
        errors.at(part.span, message);
    }
}

/// A bucket is nobody's: what is unique in the entity's own partition alone would not be unique to any reader.
fn unique_is_of_more_than_a_bucket(entity: &Entity, index: &Index, errors: &mut Errors) {
    if let Some(unique) = index.unique
        && let Some(part) = index.partition.parts.last()
        && matches!(part.encoding, Encoding::Hash(..))
        && index.values().all(|value| value.field != part.field)
    {
        let (name, field) = (&index.name.value, &entity.fields[part.field].name);
        let message = format_args!(
            "a hash partition (of `{field}`) is no scope for `unique`; write the index `{name}` elsewhere: remove \
             `same_partition`, or `unique`"
        );
        errors.at(unique, message);
    }
}

/// Of a unique index over hash partitions the parts of its row key that hold the hashed field: in whichever partition
/// a row would stand, its value is there once.
pub(super) fn values_beyond_buckets(layout: Layout<'_>) -> Vec<&Part> {
    let is_unique = layout.index.is_some_and(|index| index.unique.is_some());
    let last = layout.partition.parts.last().filter(|last| is_unique && matches!(last.encoding, Encoding::Hash(..)));
    let own = layout.row.parts.iter().filter(|part| part.sparse);
    own.filter(|part| last.is_some_and(|last| last.field == part.field)).collect()
}

/// Elsewhere a unique value is claimed before the entity is written, and a copy follows after it.
fn unique_is_no_copy(_: &Entity, index: &Index, errors: &mut Errors) {
    if let Some(copy) = index.copy.filter(|_| index.unique.is_some() && index.is_cross_partition()) {
        let message = "a copy in another partition cannot be unique, for it may lag; remove `copy`, use `include`, or \
                       write `same_partition`";
        errors.at(copy, message);
    }
}

/// A list is changed in the entity's transaction.
fn list_is_in_partition(_: &Entity, index: &Index, errors: &mut Errors) {
    if let Some(list) = index.list.filter(|_| index.is_cross_partition()) {
        errors
            .at(list, "a list is changed in one transaction with the entity; write `same_partition`, or remove `list`");
    }
}

/// A list is of many entities, and of each it holds the id.
fn list_holds_ids(_: &Entity, index: &Index, errors: &mut Errors) {
    if index.list.is_none() {
        return;
    }
    if let Some(unique) = index.unique {
        errors.at(unique, "a list is of many entities of one value; remove `unique` or `list`");
    }
    let include = index.include.as_ref().map(|include| include.span);
    for (what, span) in [("copy", index.copy), ("include", include)] {
        if let Some(span) = span {
            errors.at(span, format_args!("a list holds the ids of entities alone; remove `{what}` or `list`"));
        }
    }
}

/// A copy includes everything.
fn copy_excludes_include(_: &Entity, index: &Index, errors: &mut Errors) {
    if let (Some(_), Some(include)) = (index.copy, &index.include) {
        errors.at(include.span, "`copy` holds every property already; keep `copy` or `include(…)`");
    }
}

/// A copy is read as an entity, and what is not stored would be lost on the way.
fn copy_is_whole(entity: &Entity, index: &Index, errors: &mut Errors) {
    let skipped = entity.fields.iter().find(|field| matches!(field.storage, Storage::Skipped(_)));
    if let (Some(copy), Some(Field { name, .. })) = (index.copy, skipped) {
        let message = format_args!(
            "`{name}` is not stored (`skip`), so a copy is not the whole entity; write `include(…)` with what the copy \
             needs, or remove `skip`"
        );
        errors.at(copy, message);
    }
}

/// What is included is a property of the entity, once.
fn include_is_stored(entity: &Entity, index: &Index, errors: &mut Errors) {
    let included = index.include.as_ref().map_or([].as_slice(), |include| &include.fields);
    for (at, (field, span)) in included.iter().enumerate() {
        let name = &entity.fields[*field].name;
        if included[..at].iter().any(|(before, _)| before == field) {
            errors.at(*span, format_args!("`{name}` is included already; remove it"));
        }
        match entity.mode(*field) {
            Mode::Skipped => {
                errors.at(*span, format_args!("`{name}` is not stored (`skip`); remove it here, or `skip`"));
            }
            Mode::InKey => {
                errors
                    .at(*span, format_args!("`{name}` is in the key, which an index's row leads to anyway; remove it"));
            }
            Mode::Free | Mode::Indexed => {}
        }
    }
}

/// An index's rows are told from the entity as it is read, and a skipped field is then another.
fn fields_are_stored(entity: &Entity, index: &Index, errors: &mut Errors) {
    let judged = index.when.iter().flat_map(|when| &when.fields).copied();
    let mut refused: Vec<usize> = Vec::new();
    for (field, span) in index.values().map(|part| (part.field, part.span)).chain(judged) {
        if matches!(entity.fields[field].storage, Storage::Skipped(_)) && !refused.contains(&field) {
            refused.push(field);
            let name = &entity.fields[field].name;
            let message = format_args!(
                "`{name}` is not stored (`skip`), so the index `{}` could not be kept by what is read; remove `skip`",
                index.name.value
            );
            errors.at(span, message);
        }
    }
}

/// A prefix is written as it is.
fn prefix_is_legal(_: &Entity, index: &Index, errors: &mut Errors) {
    if let Some(prefix) = &index.row.prefix {
        legal_prefix(prefix, errors);
    }
}

/// Two values in one property would lose one of them.
fn properties_differ(entity: &Entity, index: &Index, errors: &mut Errors) {
    let included = index.include.iter().flat_map(|include| &include.fields);
    let included: Vec<_> = included.map(|(field, _)| &entity.fields[*field].name).collect();
    let stored: Vec<_> = entity
        .stored()
        .filter(|(field, ..)| index.copy.is_some() || included.contains(&&field.name))
        .map(|(_, name, ..)| name.value.as_str())
        .collect();
    for (at, (field, Text { value, span })) in index.pointer.iter().enumerate() {
        let reserved = ["PartitionKey", "RowKey", "Timestamp", "IndexPending", "EntityType", "WriteId"];
        let pointed = || index.pointer[..at].iter().map(|(_, name)| name.value.as_str());
        let problem = if !is_property_name(value) || value.encode_utf16().count() > 255 {
            "is no property name: it needs a letter or `_`, then letters, digits and `_`, at most 255 in all"
        } else if reserved.contains(&value.as_str()) {
            "has a meaning of its own in index rows"
        } else if stored.contains(&value.as_str()) || pointed().any(|before| before == value) {
            "is another property of the index's rows too"
        } else {
            continue;
        };
        let field = &entity.fields[*field].name;
        let help = format_args!("help: write `rename({field} = \"…\")` in the index `{}`", index.name.value);
        errors.at(*span, format_args!("`{value}` {problem}\n{help}"));
    }
}

/// The service's limit of a row.
fn properties_fit(entity: &Entity, index: &Index, errors: &mut Errors) {
    let own = usize::from(entity.kind.is_some()) + usize::from(entity.write_id || index.is_cross_partition());
    let count = entity.stored().count() + own + index.pointer.len();
    if let Some(copy) = index.copy.filter(|_| count > 252) {
        let message = format_args!(
            "a row has at most 252 properties, and a copy with its pointer would have {count}; write `include(…)` instead"
        );
        errors.at(copy, message);
    }
}
