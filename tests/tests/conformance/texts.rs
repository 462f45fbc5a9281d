//! Values that the service has no type for, and that are stored as texts: dates, wide integers, addresses; and durations.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use anyhow::Result;
use chrono::NaiveDate;
use rust_decimal::Decimal;
use table_runtime::{
    Error, TableEntity, Value,
    backend::{Action, BackendExt, Group, Operation},
    row::{Properties, ValueRef},
};
use tests::stores::Store;
use time::{Date, macros::date};

crate::conformance! {
    values_have_the_documented_texts
    the_extremes_of_texts_round_trip
    filters_compare_texts_as_values
    an_index_finds_a_date
    older_forms_of_texts_are_read
    a_text_that_is_no_value_is_an_error_of_its_row
    a_date_that_no_text_holds_is_refused
    dates_as_json_and_as_texts_do_not_meet
    a_date_takes_the_place_of_any_text
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Invoices")]
struct Invoice {
    #[partition_key]
    customer: String,
    #[row_key]
    number: u32,
    #[index(due, same_partition)]
    due: Date,
    paid: Option<NaiveDate>,
    sent: jiff::civil::Date,
    serial: u64,
    checksum: u128,
    balance: i128,
    took: Duration,
    from: IpAddr,
    rate: Decimal,
    #[property(scale = 2)]
    total: Decimal,
    #[property(scale = 0, default)]
    discount: Option<Decimal>,
}

fn invoice(number: u32) -> Invoice {
    Invoice {
        customer: "acme".to_owned(),
        number,
        due: date!(2026 - 12 - 24),
        paid: NaiveDate::from_ymd_opt(2027, 1, 2),
        sent: jiff::civil::date(2026, 11, 30),
        serial: 42,
        checksum: 7,
        balance: -5,
        took: Duration::new(90, 500),
        from: Ipv4Addr::new(192, 0, 2, 1).into(),
        rate: Decimal::new(150, 2),
        total: Decimal::new(-1234, 2),
        discount: None,
    }
}

async fn values_have_the_documented_texts(store: &Store) -> Result<()> {
    store.tables.create::<Invoice>().await?;
    store.tables.insert(&invoice(1)).await?;
    let row = store.backend.get("Invoices", "acme", "number-0000000001", None).await?.expect("it was inserted");
    let text = |text: &str| Some(Value::String(text.to_owned()));
    for (name, expected) in [
        ("Due", text("2026-12-24")),
        ("Paid", text("2027-01-02")),
        ("Sent", text("2026-11-30")),
        ("Serial", text("00000000000000000042")),
        ("Checksum", text("000000000000000000000000000000000000007")),
        // As in a key: what is missing to -1, which has nines.
        ("Balance", text("-999999999999999999999999999999999999995")),
        ("Took", Some(Value::Int64(900_000_005))),
        ("From", text("192.0.2.1")),
        ("Rate", text("1.50")),
        ("Total", Some(Value::Int64(-1234))),
        ("Discount", None),
    ] {
        assert_eq!(row.properties.get(name).map(ValueRef::to_value), expected, "{name}");
    }
    Ok(())
}

async fn the_extremes_of_texts_round_trip(store: &Store) -> Result<()> {
    store.tables.create::<Invoice>().await?;
    let least = Invoice {
        due: date!(0001 - 01 - 01),
        paid: None,
        sent: jiff::civil::date(1, 1, 1),
        serial: 0,
        checksum: 0,
        balance: i128::MIN,
        took: Duration::ZERO,
        from: Ipv6Addr::UNSPECIFIED.into(),
        rate: Decimal::MIN,
        total: Decimal::new(i64::MIN, 2),
        ..invoice(1)
    };
    let greatest = Invoice {
        due: date!(9999 - 12 - 31),
        paid: NaiveDate::from_ymd_opt(9999, 12, 31),
        sent: jiff::civil::date(9999, 12, 31),
        serial: u64::MAX,
        checksum: u128::MAX,
        balance: i128::MAX,
        // The greatest number of ticks that the service holds.
        took: Duration::new(922_337_203_685, 477_580_700),
        from: Ipv6Addr::from([0xFFFF; 8]).into(),
        rate: Decimal::MAX,
        total: Decimal::new(i64::MAX, 2),
        discount: Some(Decimal::new(i64::MAX, 0)),
        ..invoice(2)
    };
    for row in [least, greatest, Invoice { balance: -1, ..invoice(3) }, Invoice { balance: 0, ..invoice(4) }] {
        store.tables.upsert(&row).await?;
        let found = Invoice::key("acme", row.number).get(&store.tables).await?.expect("it was written");
        // A part of a tick is lost.
        let took = Duration::new(row.took.as_secs(), row.took.subsec_nanos() / 100 * 100);
        assert_eq!(*found, Invoice { took, ..row });
    }
    for (total, name) in [(Decimal::new(1, 3), "Total"), (Decimal::from(i64::MAX), "Total")] {
        let error = store.tables.insert(&Invoice { total, ..invoice(5) }).await.expect_err("not as hundredths");
        assert!(matches!(&error, Error::Property(error) if error.property == name), "{error}");
    }
    // More zeros are no more places.
    store.tables.insert(&Invoice { total: Decimal::new(1000, 4), ..invoice(6) }).await?;
    let found = Invoice::key("acme", 6).get(&store.tables).await?.expect("it was written");
    assert_eq!(found.total, Decimal::new(10, 2));
    let too_long = Invoice { took: Duration::MAX, ..invoice(5) };
    let error = store.tables.insert(&too_long).await.expect_err("more ticks than the service holds");
    assert!(matches!(&error, Error::Property(error) if error.property == "Took"), "{error}");
    Ok(())
}

async fn filters_compare_texts_as_values(store: &Store) -> Result<()> {
    store.tables.create::<Invoice>().await?;
    let balances = [i128::MIN, -1_000, -5, -1, 0, 1, 99, i128::MAX];
    let invoices: Vec<_> = (0_u32..)
        .zip(balances)
        .map(|(number, balance)| Invoice {
            due: date!(2026 - 12 - 24) + time::Duration::days(i64::from(number) * 9),
            serial: 10_u64.pow(number * 2),
            balance,
            took: Duration::from_secs(u64::from(number)),
            from: Ipv4Addr::from(0xC000_0200 + number).into(),
            rate: Decimal::new(i64::from(number), 1),
            total: Decimal::new(i64::from(number) * 7 - 20, 1),
            ..invoice(number)
        })
        .collect();
    store.tables.insert_all(invoices.clone()).await?;
    let all = || Invoice::by_key("acme");
    let numbers = async |query: table_runtime::BoxedRows<table_runtime::Stored<Invoice>>| -> Result<Vec<u32>> {
        Ok(query.all(&store.tables).await?.iter().map(|invoice| invoice.number).collect())
    };
    let expected = |is_match: &dyn Fn(&Invoice) -> bool| -> Vec<u32> {
        invoices.iter().filter(|invoice| is_match(invoice)).map(|invoice| invoice.number).collect()
    };
    for limit in &invoices {
        let Invoice { due, serial, balance, took, from, rate, total, .. } = limit.clone();
        let found = numbers(all().filter(|invoice| invoice.rate.eq(rate)).boxed()).await?;
        assert_eq!(found, expected(&|invoice| invoice.rate == rate), "rate {rate}");
        let found = numbers(all().filter(|invoice| invoice.total.ge(total)).boxed()).await?;
        assert_eq!(found, expected(&|invoice| invoice.total >= total), "total {total}");
        let found = numbers(all().filter(|invoice| invoice.due.ge(due)).boxed()).await?;
        assert_eq!(found, expected(&|invoice| invoice.due >= due), "due {due}");
        let found = numbers(all().filter(|invoice| invoice.serial.lt(serial)).boxed()).await?;
        assert_eq!(found, expected(&|invoice| invoice.serial < serial), "serial {serial}");
        let found = numbers(all().filter(|invoice| invoice.balance.le(balance)).boxed()).await?;
        assert_eq!(found, expected(&|invoice| invoice.balance <= balance), "balance {balance}");
        let found = numbers(all().filter(|invoice| invoice.took.gt(took)).boxed()).await?;
        assert_eq!(found, expected(&|invoice| invoice.took > took), "took {took:?}");
        let found = numbers(all().filter(|invoice| invoice.from.eq(from)).boxed()).await?;
        assert_eq!(found, expected(&|invoice| invoice.from == from), "from {from}");
    }
    store.tables.patch(Invoice::key("acme", 0), |invoice| [invoice.serial.set(u64::MAX)]).await?;
    assert_eq!(numbers(all().filter(|invoice| invoice.serial.eq(u64::MAX)).boxed()).await?, [0]);
    // The text is compared, which has all places.
    let of_two_places = all().filter(|invoice| invoice.rate.eq(Decimal::new(10, 2)));
    assert!(numbers(of_two_places.boxed()).await?.is_empty());
    let more_places = all().filter(|invoice| invoice.total.eq(Decimal::new(1, 3)));
    assert!(matches!(more_places.all(&store.tables).await, Err(Error::Property(_) | Error::Query(_))));
    Ok(())
}

async fn an_index_finds_a_date(store: &Store) -> Result<()> {
    store.tables.create::<Invoice>().await?;
    store.tables.insert(&invoice(1)).await?;
    store.tables.modify(Invoice::key("acme", 1), |invoice| invoice.due = date!(2027 - 02 - 01)).await?;
    assert_eq!(Invoice::by_due("acme").range(..date!(2027 - 01 - 01)).count(&store.tables).await?, 0);
    let found = Invoice::by_due("acme").eq(date!(2027 - 02 - 01)).all(&store.tables).await?;
    assert_eq!(found.iter().map(|invoice| invoice.number).collect::<Vec<_>>(), [1]);
    Ok(())
}

/// Replaces one property of the stored invoice of this number, past the checks of the types.
async fn replace(store: &Store, number: u32, name: &'static str, value: Value) -> Result<()> {
    let properties = Properties::from_iter([(name, value)]);
    let row = Operation {
        row_key: format!("number-{number:010}"),
        action: Action::Merge(properties, table_runtime::backend::IfMatch::Any),
    };
    let group = Group { table: "Invoices".into(), partition_key: "acme".to_owned(), operations: vec![row] };
    store.backend.execute_group(&group).await?;
    Ok(())
}

async fn older_forms_of_texts_are_read(store: &Store) -> Result<()> {
    store.tables.create::<Invoice>().await?;
    store.tables.insert(&invoice(1)).await?;
    for (name, value) in [
        ("Due", Value::String("\"2026-12-24\"".to_owned())),
        ("Due", Value::String("[2026,358]".to_owned())),
        ("Paid", Value::String("\"2027-01-02\"".to_owned())),
        ("Sent", Value::String("\"2026-11-30\"".to_owned())),
        ("Serial", Value::String("42".to_owned())),
        ("Serial", Value::Int32(42)),
        ("Checksum", Value::String("7".to_owned())),
        ("Checksum", Value::Int64(7)),
        ("Balance", Value::Double(-5.0)),
        ("Balance", Value::String("-5".to_owned())),
        ("Balance", Value::Int64(-5)),
        ("Took", Value::Int64(900_000_005)),
        ("Rate", Value::String("1.5".to_owned())),
        ("Total", Value::Int32(-1234)),
    ] {
        replace(store, 1, name, value.clone()).await?;
        let found = Invoice::key("acme", 1).get(&store.tables).await?.expect("it is stored");
        assert_eq!(*found, invoice(1), "{name} {value:?}");
    }
    replace(store, 1, "Due", Value::String("[2024,366]".to_owned())).await?;
    let found = Invoice::key("acme", 1).get(&store.tables).await?.expect("it is stored");
    assert_eq!(found.due, date!(2024 - 12 - 31));
    Ok(())
}

async fn a_text_that_is_no_value_is_an_error_of_its_row(store: &Store) -> Result<()> {
    store.tables.create::<Invoice>().await?;
    let wrong = [
        ("Due", "2026-02-30"),
        ("Due", "[2026,366]"),
        ("Due", "[0,1]"),
        ("Sent", "tomorrow"),
        ("Serial", "-1"),
        ("Serial", "18446744073709551616"),
        ("Balance", "1.5"),
        ("From", "192.0.2"),
        ("Rate", "1,50"),
        ("Rate", "79228162514264337593543950336"),
    ];
    // Other texts may be private.
    let shown = |text: &str| {
        let is_private = text.contains(char::is_alphabetic);
        if is_private { "Edm.String".to_owned() } else { format!("`{text}`") }
    };
    for (number, (name, text)) in (0..).zip(wrong) {
        store.tables.insert(&invoice(number)).await?;
        replace(store, number, name, Value::String(text.to_owned())).await?;
        let error = Invoice::key("acme", number).get(&store.tables).await.expect_err(text);
        let Error::Property(problem) = &error else { panic!("{error}") };
        assert_eq!((problem.property.as_str(), &problem.found), (name, &shown(text)), "{error}");
        assert_eq!(problem.row.row_key, format!("number-{number:010}"));
    }
    Ok(())
}

async fn a_date_that_no_text_holds_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<Invoice>().await?;
    let far = Invoice { paid: NaiveDate::from_ymd_opt(10_000, 1, 1), ..invoice(1) };
    let error = store.tables.insert(&far).await.expect_err("the year has five digits");
    assert!(matches!(&error, Error::Property(error) if error.property == "Paid"), "{error}");
    assert!(!Invoice::key("acme", 1).exists(&store.tables).await?);
    let filtered = Invoice::by_key("acme").filter(|invoice| invoice.sent.eq(jiff::civil::date(-1, 1, 1)));
    assert!(filtered.all(&store.tables).await.is_err());
    Ok(())
}

mod as_json {
    #[derive(table_runtime::TableEntity, Clone, Debug, PartialEq)]
    #[table(name = "Bills")]
    pub(super) struct Bill {
        #[partition_key]
        #[row_key]
        pub(super) customer: String,
        #[property(json)]
        pub(super) due: time::Date,
    }
}

mod as_any_text {
    #[derive(table_runtime::TableEntity, Clone, Debug, PartialEq)]
    #[table(name = "Bills")]
    pub(super) struct Bill {
        #[partition_key]
        #[row_key]
        pub(super) customer: String,
        pub(super) due: String,
    }
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Bills")]
struct Bill {
    #[partition_key]
    #[row_key]
    customer: String,
    due: Date,
}

/// Programs of the two structs would not read what the other one writes.
async fn dates_as_json_and_as_texts_do_not_meet(store: &Store) -> Result<()> {
    store.tables.create::<as_json::Bill>().await?;
    let error = store.tables.create::<Bill>().await.expect_err("programs with JSON may be running");
    let Error::LayoutChanged(changed) = &error else { panic!("{error}") };
    let change =
        "`Due` was Edm.String of JSON and is Edm.String of a date, which programs with the recorded type cannot read";
    assert!(changed.changes.contains(change), "{error}");
    Ok(())
}

/// A record of any text is what earlier releases wrote for JSON.
async fn a_date_takes_the_place_of_any_text(store: &Store) -> Result<()> {
    store.tables.create::<as_any_text::Bill>().await?;
    let due = date!(2026 - 12 - 24);
    let json = as_any_text::Bill { customer: "acme".to_owned(), due: serde_json::to_string(&due)? };
    store.tables.insert(&json).await?;

    store.tables.create::<Bill>().await?;
    let old = Bill::key("acme").get(&store.tables).await?.expect("it was inserted");
    assert_eq!(old.due, due);
    store.tables.update(&mut old.clone()).await?;
    let written = as_any_text::Bill::key("acme").get(&store.tables).await?.expect("it was updated");
    assert_eq!(written.due, "2026-12-24");

    // From now on a program that reads JSON is refused, and one that reads any text is not.
    let error = store.tables.create::<as_json::Bill>().await.expect_err("it would read no new date");
    let Error::LayoutChanged(changed) = &error else { panic!("{error}") };
    assert!(changed.changes.contains("`Due` was Edm.String of a date and is Edm.String of JSON"), "{error}");
    store.tables.create::<as_any_text::Bill>().await?;
    store.tables.create::<Bill>().await?;
    Ok(())
}
