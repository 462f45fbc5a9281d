//! Values of each type, which are read as they were written.

use table_store::{
    Guid, Properties, Ticks, Value, ValueRef,
    backend::{Action, IfMatch},
};

use super::{
    contract,
    expect::{Checked, contents, expect},
    table::Table,
};

contract! { "values":
    texts_are_read_as_they_were_written
    texts_of_the_most_units_are_read_as_they_were_written
    binaries_are_read_as_they_were_written
    booleans_are_read_as_they_were_written
    integers_are_read_as_they_were_written
    doubles_are_read_as_they_were_written
    a_negative_zero_is_read_as_it_was_written
    guids_are_read_as_they_were_written
    dates_are_read_as_they_were_written
    a_row_may_have_252_properties
    names_of_all_kinds_are_read_as_they_were_written
}

/// Checks that values are the same after each kind of write, by get and by scan.
async fn are_kept(table: &Table<'_>, values: impl IntoIterator<Item = Value>) -> Checked {
    let mut properties = Properties::default();
    for (n, value) in values.into_iter().enumerate() {
        properties.push(&format!("P{n}"), value.as_ref());
    }
    is_kept(table, &properties).await
}

/// Checks that properties are the same after each kind of write, by get and by scan.
async fn is_kept(table: &Table<'_>, properties: &Properties) -> Checked {
    let expected = contents(properties);
    for row_key in ["merged", "replaced"] {
        table.write(row_key, Action::Insert(Properties::default())).await?;
    }
    table.write("inserted", Action::Insert(properties.clone())).await?;
    table.write("upserted", Action::Upsert(properties.clone())).await?;
    table.write("replaced", Action::Replace(properties.clone(), IfMatch::Any)).await?;
    table.write("merged", Action::Merge(properties.clone(), IfMatch::Any)).await?;
    // One operation alone may be sent in another form.
    let group = ["in_a_group", "in_the_group"].map(|row_key| (row_key, Action::Insert(properties.clone())));
    table.execute(group).await?;
    let rows = table.rows(&table.scan()).await?;
    expect("the number of rows", rows.len(), 6)?;
    for row in rows {
        expect(format!("the row `{}` of a scan", row.row_key), contents(&row.properties), expected.clone())?;
        let found = table.contents(&row.row_key).await?;
        expect(format!("the row `{}`", row.row_key), found, Some(expected.clone()))?;
    }
    Ok(())
}

async fn texts_are_read_as_they_were_written(table: &Table<'_>) -> Checked {
    let texts = [
        "",
        " ",
        " x ",
        "it's \"50%\"\r\n\t\\ ä€𝄞",
        "5",
        "true",
        "null",
        "2010-05-28T00:00:00Z",
        "00112233-4455-6677-8899-aabbccddeeff",
        "\u{0}\u{1}\u{1F}\u{7F}\u{85}\u{2028}\u{FEFF}\u{FFFF}\u{10FFFF}",
    ];
    are_kept(table, texts.map(|text| Value::String(text.to_owned()))).await
}

async fn texts_of_the_most_units_are_read_as_they_were_written(table: &Table<'_>) -> Checked {
    // The two texts have their borders of bytes at different places.
    let texts = ["ä".repeat(32 * 1024), "x".to_owned() + &"ä".repeat(32 * 1024 - 1)];
    are_kept(table, texts.map(Value::String)).await
}

async fn binaries_are_read_as_they_were_written(table: &Table<'_>) -> Checked {
    let bytes = [Vec::new(), vec![0], (0..=255).collect(), vec![0xFF; 64 * 1024]];
    are_kept(table, bytes.map(Value::Binary)).await
}

async fn booleans_are_read_as_they_were_written(table: &Table<'_>) -> Checked {
    are_kept(table, [true, false].map(Value::Boolean)).await
}

async fn integers_are_read_as_they_were_written(table: &Table<'_>) -> Checked {
    let small = [0, 5, -1, i32::MIN, i32::MAX].map(Value::Int32);
    // The third one is no double.
    let large = [0, 5, (1 << 53) + 1, i64::MIN, i64::MAX].map(Value::Int64);
    are_kept(table, small.into_iter().chain(large)).await
}

async fn doubles_are_read_as_they_were_written(table: &Table<'_>) -> Checked {
    let doubles = [
        0.0,
        5.0,
        -1.0,
        0.1 + 0.2,
        9_007_199_254_740_992.0,
        1e15,
        1e21,
        1e300,
        1e-7,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        5e-324,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    are_kept(table, doubles.map(Value::Double)).await
}

async fn a_negative_zero_is_read_as_it_was_written(table: &Table<'_>) -> Checked {
    are_kept(table, [Value::Double(-0.0)]).await
}

async fn guids_are_read_as_they_were_written(table: &Table<'_>) -> Checked {
    let ascending = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    are_kept(table, [[0; 16], [0xFF; 16], ascending].map(|bytes| Value::Guid(Guid::from_bytes(bytes)))).await
}

async fn dates_are_read_as_they_were_written(table: &Table<'_>) -> Checked {
    const NOON: u64 = 634_106_016_000_000_000;
    let ticks =
        [NOON, NOON + 1, NOON + 1_234_567, NOON + 1_200_000].map(|ticks| Ticks::new(ticks).unwrap_or(Ticks::MAX));
    let limits = [Ticks::FIRST_PROPERTY, Ticks::UNIX_EPOCH, Ticks::MAX];
    are_kept(table, ticks.into_iter().chain(limits).map(Value::DateTime)).await
}

async fn a_row_may_have_252_properties(table: &Table<'_>) -> Checked {
    are_kept(table, (0..252).map(Value::Int32)).await
}

async fn names_of_all_kinds_are_read_as_they_were_written(table: &Table<'_>) -> Checked {
    let longest = "n".repeat(255);
    let names = ["a", "A", "_", "_a1", "Größe", "名前", "odata", "Timestamp1", "ETag", &longest];
    let mut properties = Properties::default();
    for (n, name) in (0..).zip(names) {
        properties.push(name, ValueRef::Int32(n));
    }
    is_kept(table, &properties).await
}
