//! Filters of a scan: comparisons of each type, and how they are combined.

use std::ops::Bound;

use table_store::{
    Condition, Guid, Operator, Properties, Ticks, Value,
    backend::{Action, KeyRange, Partitions, Scan},
};

use super::{
    contract,
    expect::{Checked, contents, expect},
    table::{PARTITION, Table, both, number, owned, text},
};

contract! { "filters":
    strings_are_compared
    strings_are_compared_by_utf16_unit
    strings_of_all_kinds_are_equal_to_themselves
    booleans_are_compared
    integers_of_32_bits_are_compared
    integers_of_64_bits_are_compared
    doubles_are_compared
    guids_are_compared
    dates_are_compared
    dates_are_compared_by_the_tick
    binaries_are_equal_to_themselves
    binaries_are_compared
    a_missing_property_fails_each_comparison
    a_value_of_another_type_fails_each_comparison
    numbers_of_different_types_are_compared_by_value
    both_sides_of_an_and_hold
    one_side_of_an_or_holds
    a_not_holds_where_its_condition_does_not
    conditions_nest
    a_filter_and_a_range_both_hold
    a_filter_may_use_a_property_that_is_not_selected
    a_filter_may_have_fifteen_comparisons
    names_of_properties_have_case
}

const OPERATORS: [Operator; 6] = [Operator::Eq, Operator::Ne, Operator::Lt, Operator::Le, Operator::Gt, Operator::Ge];

fn compare(property: &'static str, operator: Operator, value: Value) -> Condition {
    Condition::Compare { property: property.into(), operator, value }
}

fn equal(property: &'static str, value: impl Into<i32>) -> Condition {
    compare(property, Operator::Eq, Value::Int32(value.into()))
}

fn value(value: &Value) -> Properties {
    [("Value", value.clone())].into_iter().collect()
}

/// Checks the row keys for which a filter holds.
async fn holds_for(table: &Table<'_>, filter: Condition, expected: &[&str]) -> Checked {
    let what = format!("the rows for which `{filter}` holds");
    let scan = Scan { filter: Some(filter), ..table.scan() };
    expect(what, table.row_keys(&scan).await?, owned(expected))
}

/// Checks all operators on three values in ascending order, beside a row without the property.
async fn are_ordered(table: &Table<'_>, values: [Value; 3]) -> Checked {
    const KEYS: [&str; 3] = ["0", "1", "2"];
    for (row_key, it) in KEYS.iter().zip(&values) {
        table.write(row_key, Action::Insert(value(it))).await?;
    }
    table.write("none", Action::Insert(number(0))).await?;
    for operator in OPERATORS {
        let expected: &[&str] = match operator {
            Operator::Eq => &["1"],
            Operator::Ne => &["0", "2"],
            Operator::Lt => &["0"],
            Operator::Le => &["0", "1"],
            Operator::Gt => &["2"],
            Operator::Ge => &["1", "2"],
        };
        holds_for(table, compare("Value", operator, values[1].clone()), expected).await?;
    }
    Ok(())
}

/// Checks that each value is equal to itself and to no other one.
async fn are_distinguished(table: &Table<'_>, values: &[Value]) -> Checked {
    let keys: Vec<_> = (0..values.len()).map(|n| format!("{n:02}")).collect();
    for (row_key, it) in keys.iter().zip(values) {
        table.write(row_key, Action::Insert(value(it))).await?;
    }
    for (row_key, it) in keys.iter().zip(values) {
        holds_for(table, compare("Value", Operator::Eq, it.clone()), &[row_key]).await?;
    }
    Ok(())
}

fn string(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn ticks(ticks: u64) -> Value {
    Value::DateTime(Ticks::new(ticks).unwrap_or(Ticks::MAX))
}

async fn strings_are_compared(table: &Table<'_>) -> Checked {
    are_ordered(table, ["A", "a", "aa"].map(string)).await
}

async fn strings_are_compared_by_utf16_unit(table: &Table<'_>) -> Checked {
    are_ordered(table, ["\u{D7FF}", "\u{10000}", "\u{E000}"].map(string)).await
}

async fn strings_of_all_kinds_are_equal_to_themselves(table: &Table<'_>) -> Checked {
    let texts =
        ["", " ", "it's", "''", "100% a+b & c #1", "100% a b & c #1", "%41", "A", "a/b\\c?d", "ä€𝄞", "5", "true"];
    are_distinguished(table, &texts.map(string)).await
}

async fn booleans_are_compared(table: &Table<'_>) -> Checked {
    for (row_key, flag) in [("no", false), ("yes", true)] {
        table.write(row_key, Action::Insert(value(&Value::Boolean(flag)))).await?;
    }
    table.write("none", Action::Insert(number(0))).await?;
    for (operator, flag, expected) in [
        (Operator::Eq, true, "yes"),
        (Operator::Eq, false, "no"),
        (Operator::Ne, true, "no"),
        (Operator::Ne, false, "yes"),
    ] {
        holds_for(table, compare("Value", operator, Value::Boolean(flag)), &[expected]).await?;
    }
    Ok(())
}

async fn integers_of_32_bits_are_compared(table: &Table<'_>) -> Checked {
    are_ordered(table, [i32::MIN, -1, 0].map(Value::Int32)).await
}

async fn integers_of_64_bits_are_compared(table: &Table<'_>) -> Checked {
    // Neighbours that are one double.
    are_ordered(table, [i64::MAX - 2, i64::MAX - 1, i64::MAX].map(Value::Int64)).await
}

async fn doubles_are_compared(table: &Table<'_>) -> Checked {
    are_ordered(table, [-1e300, 0.25, 1e300].map(Value::Double)).await
}

async fn guids_are_compared(table: &Table<'_>) -> Checked {
    are_ordered(table, [0x11, 0x7F, 0xAB].map(|byte| Value::Guid(Guid::from_bytes([byte; 16])))).await
}

async fn dates_are_compared(table: &Table<'_>) -> Checked {
    const SECOND: u64 = 10_000_000;
    const NOON: u64 = 634_106_016_000_000_000;
    are_ordered(table, [NOON - SECOND, NOON, NOON + SECOND].map(ticks)).await
}

async fn dates_are_compared_by_the_tick(table: &Table<'_>) -> Checked {
    const NOON: u64 = 634_106_016_000_000_000;
    are_ordered(table, [NOON, NOON + 1, NOON + 2].map(ticks)).await
}

async fn binaries_are_equal_to_themselves(table: &Table<'_>) -> Checked {
    let bytes: [&[u8]; 4] = [&[0], &[0, 0], &[0x0A, 0xF0], &[0xFF]];
    are_distinguished(table, &bytes.map(|bytes| Value::Binary(bytes.to_owned()))).await
}

async fn binaries_are_compared(table: &Table<'_>) -> Checked {
    let bytes: [&[u8]; 3] = [&[0x01, 0xFF], &[0x02], &[0x80]];
    are_ordered(table, bytes.map(|bytes| Value::Binary(bytes.to_owned()))).await
}

async fn a_missing_property_fails_each_comparison(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(text("x"))).await?;
    for operator in OPERATORS {
        holds_for(table, compare("Missing", operator, Value::Int32(0)), &[]).await?;
    }
    Ok(())
}

async fn a_value_of_another_type_fails_each_comparison(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(both(5, "5"))).await?;
    for operator in [Operator::Eq, Operator::Ne, Operator::Lt, Operator::Gt] {
        holds_for(table, compare("Number", operator, string("5")), &[]).await?;
        holds_for(table, compare("Text", operator, Value::Int32(5)), &[]).await?;
    }
    Ok(())
}

async fn numbers_of_different_types_are_compared_by_value(table: &Table<'_>) -> Checked {
    table.write("a", Action::Insert(value(&Value::Int32(5)))).await?;
    table.write("b", Action::Insert(value(&Value::Int64(6)))).await?;
    table.write("c", Action::Insert(value(&Value::Double(5.5)))).await?;
    for five in [Value::Int32(5), Value::Int64(5), Value::Double(5.0)] {
        holds_for(table, compare("Value", Operator::Eq, five.clone()), &["a"]).await?;
        holds_for(table, compare("Value", Operator::Gt, five), &["b", "c"]).await?;
    }
    Ok(())
}

/// Inserts the rows `xy` with the properties `Number` = x and `Other` = y.
async fn fill_square(table: &Table<'_>) -> Checked {
    let rows = (0..3).flat_map(|x| (0..3).map(move |y| (x, y)));
    let row = |(x, y): (i32, i32)| {
        let properties = [("Number", Value::Int32(x)), ("Other", Value::Int32(y))].into_iter().collect();
        (format!("{x}{y}"), Action::Insert(properties))
    };
    table.execute(rows.map(row)).await?;
    Ok(())
}

fn and(left: Condition, right: Condition) -> Condition {
    Condition::And(left.into(), right.into())
}

fn or(left: Condition, right: Condition) -> Condition {
    Condition::Or(left.into(), right.into())
}

fn not(condition: Condition) -> Condition {
    Condition::Not(condition.into())
}

async fn both_sides_of_an_and_hold(table: &Table<'_>) -> Checked {
    fill_square(table).await?;
    holds_for(table, and(equal("Number", 1), equal("Other", 2)), &["12"]).await?;
    holds_for(table, and(equal("Number", 1), equal("Number", 2)), &[]).await
}

async fn one_side_of_an_or_holds(table: &Table<'_>) -> Checked {
    fill_square(table).await?;
    holds_for(table, or(equal("Number", 1), equal("Other", 2)), &["02", "10", "11", "12", "22"]).await
}

async fn a_not_holds_where_its_condition_does_not(table: &Table<'_>) -> Checked {
    fill_square(table).await?;
    holds_for(table, not(equal("Number", 1)), &["00", "01", "02", "20", "21", "22"]).await?;
    holds_for(table, not(or(equal("Number", 1), equal("Other", 2))), &["00", "01", "20", "21"]).await
}

async fn conditions_nest(table: &Table<'_>) -> Checked {
    fill_square(table).await?;
    let (x, y) = (|x: i32| equal("Number", x), |y: i32| equal("Other", y));
    // Without parentheses, `and` binds more closely than `or`.
    holds_for(table, and(or(x(0), x(1)), y(2)), &["02", "12"]).await?;
    holds_for(table, or(x(0), and(x(1), y(2))), &["00", "01", "02", "12"]).await?;
    holds_for(table, and(x(1), not(or(y(0), y(1)))), &["12"]).await?;
    holds_for(table, or(and(x(0), y(0)), and(x(2), not(y(2)))), &["00", "20", "21"]).await
}

async fn a_filter_and_a_range_both_hold(table: &Table<'_>) -> Checked {
    fill_square(table).await?;
    table.fill(&[("q", "12")]).await?;
    let rows = KeyRange { from: Bound::Included("10".to_owned()), to: Bound::Unbounded };
    // The filter has an `or`, so that it needs parentheses beside the keys.
    let filter = Some(or(equal("Other", 0), equal("Other", 2)));
    let scan = Scan { partitions: Partitions::One(PARTITION.to_owned()), rows, filter, ..table.scan() };
    expect("the rows", table.row_keys(&scan).await?, owned(&["10", "12", "20", "22"]))
}

async fn a_filter_may_use_a_property_that_is_not_selected(table: &Table<'_>) -> Checked {
    table.write("a", Action::Insert(both(1, "x"))).await?;
    table.write("b", Action::Insert(both(2, "y"))).await?;
    let scan = Scan { filter: Some(equal("Number", 2)), select: Some((&["Text"]).into()), ..table.scan() };
    let rows = table.rows(&scan).await?;
    let found: Vec<_> = rows.iter().map(|row| contents(&row.properties)).collect();
    expect("the properties of the rows", found, vec![contents(&text("y"))])
}

async fn a_filter_may_have_fifteen_comparisons(table: &Table<'_>) -> Checked {
    let keys: Vec<_> = (0..20).map(|n| (PARTITION, format!("{n:02}"))).collect();
    table.fill(&keys).await?;
    let filter = (1..15).fold(equal("Number", 0), |filter, n| or(filter, equal("Number", n)));
    let expected: Vec<_> = keys[..15].iter().map(|(_, key)| key.as_str()).collect();
    holds_for(table, filter, &expected).await
}

async fn names_of_properties_have_case(table: &Table<'_>) -> Checked {
    let properties = [("Name", Value::Int32(1)), ("name", Value::Int32(2))].into_iter().collect();
    table.write("r", Action::Insert(properties)).await?;
    holds_for(table, equal("Name", 1), &["r"]).await?;
    holds_for(table, equal("name", 2), &["r"]).await?;
    holds_for(table, equal("name", 1), &[]).await?;
    holds_for(table, equal("NAME", 1), &[]).await
}
