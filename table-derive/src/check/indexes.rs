//! The rules of indexes.

use super::names::{
    RESERVED, TABLE_NAME_RULE, is_long_property_name, is_property_name, is_table_name, prefix_is_legal,
    table_is_not_reserved,
};
use crate::{
    encoding::Encoding,
    errors::Errors,
    model::{Entity, Field, FieldRef, Index, Layout, Mode, Part, Scope},
    names::list,
    text::Text,
};

/// Checks every rule, in the order of the attribute's options.
pub(super) fn check(entity: &Entity, errors: &mut Errors) {
    names_differ(entity, errors);
    rows_cannot_collide(entity, errors);
    transaction_fits(entity, errors);
    let rules: [fn(&Entity, &Index, &mut Errors); 23] = [
        name_is_free,
        table_name_is_legal,
        table_name_is_not_reserved,
        table_is_not_the_entitys,
        encoding_escapes,
        each_is_of_one_field,
        hash_is_last_in_partition,
        hash_is_not_the_only_encoding,
        own_key_is_not_repeated,
        unique_value_is_whole,
        unique_is_not_limited_to_hash_partition,
        unique_value_can_be_taken,
        partition_key_is_not_repeated,
        cross_partition_copy_is_not_unique,
        list_is_in_partition,
        list_has_only_ids,
        copy_excludes_include,
        copy_is_complete,
        included_fields_are_properties,
        fields_are_stored,
        prefix_can_be_stored,
        properties_differ,
        properties_fit,
    ];
    for index in &entity.indexes {
        for rule in rules {
            rule(entity, index, errors);
        }
    }
}

/// Checks that no two indexes have the same name, which is the name of the function `by_NAME`.
fn names_differ(entity: &Entity, errors: &mut Errors) {
    for (at, Index { name, .. }) in entity.indexes.iter().enumerate() {
        if entity.indexes[..at].iter().any(|before| before.name.value == name.value) {
            let help = "help: for one index over several fields, write it on the struct: `#[index(name, …, row(first, second))]`";
            let message = format_args!("duplicate index `{}`; give this index another name\n{help}", name.value);
            errors.at(name.span, message);
        }
    }
}

/// Checks that prefixes distinguish the rows in a table.
fn rows_cannot_collide(entity: &Entity, errors: &mut Errors) {
    let layouts: Vec<_> = entity.layouts().collect();
    let rows = |layout: &Layout<'_>| {
        layout
            .index
            .map_or_else(|| format!("`{}` itself", entity.ident), |index| format!("the index `{}`", index.name.value))
    };
    let beginning = |layout: &Layout<'_>| match layout.row.prefix() {
        "" => "have no prefix".to_owned(),
        prefix => format!("begin with `{prefix}`"),
    };
    let is_empty = |layout: &Layout<'_>| layout.row.prefix.as_ref().is_some_and(|prefix| prefix.value.is_empty());
    for (at, layout) in layouts.iter().enumerate() {
        let (Some(index), prefix) = (layout.index, layout.row.prefix()) else { continue };
        if names_own_table(entity, index) || is_empty(layout) {
            continue;
        }
        let collides = |other: &&Layout<'_>| {
            // Other rules report an empty prefix and a duplicate name.
            let is_reported = is_empty(other) || other.name() == layout.name();
            // The service ignores the case of table names.
            !is_reported
                && other.table.value.eq_ignore_ascii_case(&layout.table.value)
                && (other.row.prefix().starts_with(prefix) || prefix.starts_with(other.row.prefix()))
        };
        if let Some(other) = layouts[..at].iter().find(collides) {
            let fix = match other.row.prefix() {
                "" if other.index.is_none() => "another text as `#[table(row = \"…\")]`".to_owned(),
                _ => format!("`prefix = \"…\"` in the index `{}`", index.name.value),
            };
            let message = format_args!(
                "in the table `{}`, rows of {} {} and rows of {} {}, so they can collide\n\
                 help: write {fix}; no prefix may begin with another one",
                layout.table.value,
                rows(layout),
                beginning(layout),
                rows(other),
                beginning(other),
            );
            errors.at(index.row.prefix.as_ref().map_or(index.name.span, |prefix| prefix.span), message);
        }
    }
}

/// Checks that an update fits into a transaction of 100 operations. An update that moves k rows takes 1 + 2k, and up to two
/// more for events.
fn transaction_fits(entity: &Entity, errors: &mut Errors) {
    let mut in_partition = entity.indexes.iter().filter(|index| !index.is_cross_partition());
    let (room, beside) = if entity.events.is_some() { (48, " beside `events`") } else { (49, "") };
    if let Some(index) = in_partition.nth(room) {
        let message = format_args!(
            "an update moves the rows of all `same_partition` indexes in one transaction, which has room for {room} \
             indexes{beside}; write `same_table` for this one, or remove one"
        );
        errors.at(index.name.span, message);
    }
}

fn name_is_free(_: &Entity, Index { name, .. }: &Index, errors: &mut Errors) {
    if name.value == "key" {
        errors.at(name.span, "`by_key` is the query of the primary key; give the index another name");
    }
}

/// Checks the name of a table that the attribute names or that is composed of the names of entity and index.
fn table_name_is_legal(_: &Entity, Index { name, scope, table, .. }: &Index, errors: &mut Errors) {
    if matches!(scope, Scope::Named | Scope::Own) && !is_table_name(&table.value) {
        let help = format_args!("help: write `table = \"…\"` in the index `{}`", name.value);
        errors.at(table.span, format_args!("`{}` {TABLE_NAME_RULE}\n{help}", table.value));
    }
}

fn table_name_is_not_reserved(_: &Entity, Index { name, scope, table, .. }: &Index, errors: &mut Errors) {
    if matches!(scope, Scope::Named | Scope::Own) {
        let help = format!("write another `table = \"…\"` in the index `{}`", name.value);
        table_is_not_reserved(table, &help, errors);
    }
}

/// Checks that `table = "…"` is not the entity's own table, for which rows need the prefixes that `same_table` sets.
fn table_is_not_the_entitys(entity: &Entity, index: &Index, errors: &mut Errors) {
    if names_own_table(entity, index) {
        let message = format_args!("`{}` is the entity's own table; write `same_table`", entity.table.value);
        errors.at(index.table.span, message);
    }
}

fn names_own_table(entity: &Entity, Index { scope, table, .. }: &Index) -> bool {
    *scope == Scope::Named && table.value.eq_ignore_ascii_case(&entity.table.value)
}

/// Checks that no part is raw. `raw` is for keys that other programs wrote, and no other program writes index rows.
fn encoding_escapes(_: &Entity, index: &Index, errors: &mut Errors) {
    for part in index.values().filter(|part| part.encoding == Encoding::Raw) {
        errors.at(part.span, "`raw` is only for primary keys, because index rows always escape text; remove it");
    }
}

/// Checks that an index has rows for the elements of one field. Rows for each pair of the elements of two fields would be
/// too many.
fn each_is_of_one_field(entity: &Entity, index: &Index, errors: &mut Errors) {
    let Some(first) = index.each() else { return };
    let name = |part: &Part| &entity.fields[part.field].name;
    for (part, span) in index.values().filter_map(|part| Some((part, part.each?))) {
        if part.field != first.field {
            let message = format_args!(
                "an index has rows for the elements of one field, which is `{}`; write an index of its own for `{}`",
                name(first),
                name(part)
            );
            errors.at(span, message);
        }
    }
}

/// Checks that a hash is the last part of the partition key, for the same reason as in the primary key.
fn hash_is_last_in_partition(_: &Entity, index: &Index, errors: &mut Errors) {
    let hashes = |parts: &[Part]| -> Vec<_> {
        let hashes = parts.iter().filter(|part| part.is_index_value && is_hash(part));
        hashes.map(|part| part.span).collect()
    };
    let before_last = index.partition.parts.split_last().map_or([].as_slice(), |(_, before)| before);
    for span in hashes(before_last) {
        errors.at(span, "`hash` must be the last part of the partition key; move the field after the others");
    }
    for span in hashes(&index.row.parts) {
        errors.at(span, "`hash` is only for partition keys; remove it from the row key of the index");
    }
}

fn is_hash(part: &Part) -> bool {
    matches!(part.encoding, Encoding::Hash(..))
}

/// Checks that a cross-partition index contains a value that is not hashed, because a query cannot find a value by its
/// hash alone.
fn hash_is_not_the_only_encoding(entity: &Entity, index: &Index, errors: &mut Errors) {
    if let Some(part) = index.partition.parts.first()
        && index.values().all(is_hash)
        && index.is_cross_partition()
    {
        let (name, field) = (&index.name.value, &entity.fields[part.field].name);
        let whole = match part.encoding.fold() {
            Encoding::Plain => String::new(),
            fold => format!("({fold})"),
        };
        let keys = if part.each.is_some() {
            let whole = whole.replace('(', ", ").replace(')', "");
            format!("partition(each({field}, {})), row(each({field}{whole}))", part.encoding)
        } else {
            format!("partition({field}({})), row({field}{whole})", part.encoding)
        };
        let message = format_args!(
            "a query cannot find a value by its hash alone; write both keys on the struct: `#[index({name}, {keys})]`"
        );
        errors.at(part.span, message);
    }
}

/// Checks that the attribute does not end with the parts that begin the entity's own key. They follow in each row key anyway,
/// so that rows with one value are in the entity's own order. The other rows and their order are the same without them.
fn own_key_is_not_repeated(entity: &Entity, index: &Index, errors: &mut Errors) {
    let parts = &index.row.parts;
    let (named, own) = parts.split_at(parts.iter().take_while(|part| part.is_index_value).count());
    let is_same =
        |(one, other): (&Part, &Part)| one.field == other.field && one.encoding == other.encoding && one.each.is_none();
    // A row key in the entity's partition begins with a value, and so does one from which the partition key is derived.
    let layout = entity.layouts().find(|layout| layout.index.is_some_and(|other| std::ptr::eq(other, index)));
    let is_needed = !index.is_cross_partition() || layout.is_some_and(|layout| layout.derivation().is_some());
    let repeats = |kept: &usize| {
        let repeated = &named[*kept..];
        repeated.len() <= own.len() && repeated.iter().zip(own).all(is_same)
    };
    let Some(kept) = (usize::from(is_needed)..named.len()).find(repeats) else { return };
    let text = |parts: &[Part]| {
        let part = |part: &Part| match (&entity.fields[part.field].name, &part.encoding) {
            (field, Encoding::Plain) => field.clone(),
            (field, encoding) => format!("{field}({encoding})"),
        };
        parts.iter().map(part).collect::<Vec<_>>().join(", ")
    };
    let help = match kept {
        0 => "remove `row(…)`".to_owned(),
        _ => format!("write `row({})`", text(&named[..kept])),
    };
    let message = format_args!(
        "the index `{}` stores `{repeated}` twice: its row key is `{}`, and the entity's own `{}` follows\n\
         help: {help}; rows with one value are in the entity's own order anyway, and queries narrow by `{repeated}` as before",
        index.name.value,
        text(named),
        text(own),
        repeated = text(&named[kept..]),
    );
    errors.at(named[kept].place, message);
}

/// Checks that a unique index contains each value whole. Otherwise different values with the same encoding would
/// collide.
fn unique_value_is_whole(entity: &Entity, index: &Index, errors: &mut Errors) {
    let is_whole = |part: &Part| !matches!(part.encoding, Encoding::First(..) | Encoding::Hash(..));
    let mut reported: Vec<usize> = Vec::new();
    for part in index.values().filter(|_| index.unique.is_some()) {
        if index.values().any(|other| other.field == part.field && is_whole(other)) || reported.contains(&part.field) {
            continue;
        }
        reported.push(part.field);
        let message = format_args!(
            "a unique index treats two values with the same `{}` as one; add the whole `{}` to the index, or remove \
             `unique`",
            part.encoding, entity.fields[part.field].name
        );
        errors.at(part.span, message);
    }
}

/// Checks that a unique index is not limited to one hash partition of the entity. Hash partitions are not visible to
/// readers, so a reader could still find several entities with the value.
fn unique_is_not_limited_to_hash_partition(entity: &Entity, index: &Index, errors: &mut Errors) {
    if let Some(unique) = index.unique
        && let Some(part) = index.partition.parts.last()
        && is_hash(part)
        && index.values().all(|value| value.field != part.field)
    {
        let (name, field) = (&index.name.value, &entity.fields[part.field].name);
        let message = format_args!(
            "the index `{name}` would be unique only within each hash partition (of `{field}`); remove \
             `same_partition` or `unique`"
        );
        errors.at(unique, message);
    }
}

/// Checks that two entities can have the same key in a unique index. Otherwise it refuses nothing. An index of the own key
/// alone says that it is unique, which is true.
fn unique_value_can_be_taken(entity: &Entity, index: &Index, errors: &mut Errors) {
    let Some(unique) = index.unique else { return };
    let (Index { name, .. }, row) = (index, &entity.row.parts);
    if !index.is_cross_partition() && row.is_empty() && entity.row.constant.is_some() {
        let message = format_args!(
            "a partition has one `{}`, so no other one in it can have the value of the unique index `{}`\n\
             help: remove `same_partition`: the value is then unique in all partitions",
            entity.ident, name.value
        );
        errors.at(unique, message);
        return;
    }
    let known = if index.is_cross_partition() { 0 } else { entity.partition.parts.len() };
    let own = || entity.partition.parts.iter().chain(row).skip(known);
    let is_contained =
        |part: &Part| index.values().any(|value| value.field == part.field && !value.encoding.is_lossy());
    let has_other = index.values().any(|value| !entity.is_in_key(value.field));
    if has_other && own().next().is_some() && own().all(is_contained) {
        let own: Vec<_> = own().map(|part| entity.fields[part.field].name.as_str()).collect();
        let message = format_args!(
            "the unique index `{}` contains the entity's own key, {}, so no other entity can have its value; remove the own \
             key from it, or `unique`",
            name.value,
            list(&own)
        );
        errors.at(unique, message);
    }
}

/// Checks that an index in the partition finds more than `by_key` does.
fn partition_key_is_not_repeated(entity: &Entity, index: &Index, errors: &mut Errors) {
    let [own] = entity.partition.parts.as_slice() else { return };
    let mut values = index.values();
    if let (Some(value), None) = (values.next(), values.next())
        && value.field == own.field
        && value.encoding == own.encoding
        && !is_hash(value)
        && value.each.is_none()
        && !index.is_cross_partition()
        && index.unique.is_none()
        && index.list.is_none()
        && index.when.is_none()
    {
        let message = format_args!(
            "`{}` is the partition key, by which `{}` finds the entities; remove this index",
            entity.fields[own.field].name,
            entity.functions.name("by_key")
        );
        errors.at(value.place, message);
    }
}

/// Checks that a cross-partition copy is not unique. A unique value is claimed before the entity is written, but a copy
/// is written after the entity.
fn cross_partition_copy_is_not_unique(_: &Entity, index: &Index, errors: &mut Errors) {
    if let Some(copy) = index.copy.filter(|_| index.unique.is_some() && index.is_cross_partition()) {
        let message = "a cross-partition copy cannot be unique, because it may be out of date; remove `copy`, use \
                       `include`, or write `same_partition`";
        errors.at(copy, message);
    }
}

/// Checks that a list is in the entity's partition, because it is changed in the entity's transaction.
fn list_is_in_partition(_: &Entity, index: &Index, errors: &mut Errors) {
    if let Some(list) = index.list.filter(|_| index.is_cross_partition()) {
        let message = "a list is changed in one transaction with the entity; write `same_partition`, or remove `list`";
        errors.at(list, message);
    }
}

/// Checks that a list has no options for rows of a single entity.
fn list_has_only_ids(_: &Entity, index: &Index, errors: &mut Errors) {
    if index.list.is_none() {
        return;
    }
    if let Some(unique) = index.unique {
        errors.at(unique, "a list is for values of several entities; remove `unique` or `list`");
    }
    if let Some(each) = index.each().and_then(|part| part.each) {
        let message = "an index with `each` has a row for each element and entity, and a list has one row for all entities; \
                       remove `list`";
        errors.at(each, message);
    }
    let include = index.include.as_ref().map(|include| include.span);
    for (option, span) in [("copy", index.copy), ("include", include)] {
        if let Some(span) = span {
            errors.at(span, format_args!("a list stores only the ids of entities; remove `{option}` or `list`"));
        }
    }
}

fn copy_excludes_include(_: &Entity, index: &Index, errors: &mut Errors) {
    if let (Some(_), Some(include)) = (index.copy, &index.include) {
        errors.at(include.span, "`copy` already stores every property; keep `copy` or `include(…)`");
    }
}

/// Checks that a copy contains every field, because it is read as an entity.
fn copy_is_complete(entity: &Entity, index: &Index, errors: &mut Errors) {
    let skipped = entity.fields.iter().find(|field| field.is_skipped());
    if let (Some(copy), Some(Field { name, .. })) = (index.copy, skipped) {
        let message = format_args!(
            "`{name}` is not stored (`skip`), so a copy is not the whole entity; write `include(…)` with the needed \
             fields, or remove `skip`"
        );
        errors.at(copy, message);
    }
}

/// Checks that each included field is a property of the entity, and is included once.
fn included_fields_are_properties(entity: &Entity, index: &Index, errors: &mut Errors) {
    let included = index.included();
    for (at, FieldRef { field, span }) in included.iter().enumerate() {
        let name = &entity.fields[*field].name;
        if included[..at].iter().any(|before| before.field == *field) {
            errors.at(*span, format_args!("`{name}` is already included; remove it"));
        }
        match entity.mode(*field) {
            Mode::Skipped => {
                errors.at(*span, format_args!("`{name}` is not stored (`skip`); remove it here, or remove `skip`"));
            }
            Mode::InKey => {
                let message = "is in the primary key, which an index row contains anyway; remove it";
                errors.at(*span, format_args!("`{name}` {message}"));
            }
            Mode::Free | Mode::Indexed => {}
        }
    }
}

/// Checks that the fields of keys and of the predicate are stored. Index maintenance computes the rows from the entity
/// that it reads, in which a skipped field has another value.
fn fields_are_stored(entity: &Entity, index: &Index, errors: &mut Errors) {
    let values = index.values().map(|part| FieldRef { field: part.field, span: part.span });
    let mut reported: Vec<usize> = Vec::new();
    for FieldRef { field, span } in values.chain(index.conditions().iter().copied()) {
        let field = entity.fields[field].path().map_or(field, |part| part.field);
        if entity.fields[field].is_skipped() && !reported.contains(&field) {
            reported.push(field);
            let name = &entity.fields[field].name;
            let message = format_args!(
                "`{name}` is not stored (`skip`), so the rows of the index `{}` cannot be computed from a stored entity; \
                 remove `skip`",
                index.name.value
            );
            errors.at(span, message);
        }
    }
}

fn prefix_can_be_stored(_: &Entity, index: &Index, errors: &mut Errors) {
    if let Some(prefix) = &index.row.prefix {
        prefix_is_legal(prefix, errors);
    }
}

/// Checks the names of the pointer's properties: each is legal and is no other property of the index rows. Names that only
/// the rows of some entities use are refused too: if the entity gets such an option later, its index rows remain.
fn properties_differ(entity: &Entity, index: &Index, errors: &mut Errors) {
    let included: Vec<_> = index.included().iter().map(|included| &entity.fields[included.field].name).collect();
    let stored: Vec<_> = entity
        .properties()
        .filter(|(field, _)| index.copy.is_some() || included.contains(&&field.name))
        .map(|(_, property)| property.name.value.as_str())
        .collect();
    for (at, pointer) in index.pointer.iter().enumerate() {
        let Text { value, span } = &pointer.name;
        let mut before = index.pointer[..at].iter().map(|before| &before.name.value);
        let problem = if !is_property_name(value) || is_long_property_name(value) {
            "is not a valid property name: it begins with a letter or `_`, then has letters, digits and `_`, at most 255 \
             in all"
        } else if RESERVED.iter().any(|(name, ..)| name == value) {
            "is reserved in index rows"
        } else if stored.contains(&value.as_str()) || before.any(|before| before == value) {
            "is already another property of the index rows"
        } else {
            continue;
        };
        let field = &entity.fields[pointer.field].name;
        let help = format_args!("help: write `rename({field} = \"…\")` in the index `{}`", index.name.value);
        errors.at(*span, format_args!("`{value}` {problem}\n{help}"));
    }
}

/// Checks the service's limit of properties in a row.
fn properties_fit(entity: &Entity, index: &Index, errors: &mut Errors) {
    // A copy has no kind.
    let own = usize::from(entity.version.is_some()) + usize::from(entity.write_id || index.is_cross_partition());
    let count = entity.properties().count() + own + index.pointer.len();
    if let Some(copy) = index.copy.filter(|_| count > 252) {
        let message = format_args!(
            "a row has at most 252 properties, but a copy with its pointer would have {count}; write `include(…)` instead"
        );
        errors.at(copy, message);
    }
}
