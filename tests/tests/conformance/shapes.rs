//! Structs and enums with data as fields: the properties that are stored, and typed paths to them.

#![allow(
    unreachable_pub,
    clippy::assigning_clones,
    clippy::from_iter_instead_of_collect,
    clippy::redundant_closure_for_method_calls,
    clippy::large_enum_variant,
    clippy::too_many_lines,
    reason = "a case says what is stored, and nothing of it is used often"
)]

use anyhow::Result;
use table_runtime::{
    Error, Projection, Property, Stored, TableEntity, Value,
    backend::{Action, BackendExt, Group, IfMatch, Operation},
    row::Properties,
};
use tests::stores::Store;
use time::{Date, macros::date};

crate::conformance! {
    parts_have_the_documented_names
    every_variant_has_its_own_properties
    flattened_rows_of_other_programs_are_read
    a_row_without_a_part_is_an_error_that_names_it
    filters_compare_parts
    a_patch_sets_a_part_and_keeps_its_neighbours
    an_index_finds_a_part
    an_index_on_a_variant_is_sparse
    a_predicate_takes_parts
    projections_have_parts
    a_changed_variant_leaves_nothing_behind
    unknown_variants_are_carried
    an_unknown_variant_is_an_error_of_its_row
    index_rows_include_structs
    a_struct_with_a_default_may_be_missing
    create_compares_variants_and_parts
}

#[derive(Property, Clone, Debug, Default, PartialEq)]
struct Address {
    city: String,
    #[property(rename = "Road")]
    street: String,
    geo: Option<Geo>,
    #[property(json)]
    lines: Vec<String>,
}

#[derive(Property, Clone, Debug, PartialEq)]
#[table(rename_all = "snake_case")]
struct Geo {
    lat: f64,
    lon: f64,
}

#[derive(Property, Clone, Debug, PartialEq)]
enum Payment {
    Card {
        last4: u16,
        expires: Date,
        holder: Option<String>,
    },
    Invoice(String),
    #[property(rename = "bank-transfer")]
    Transfer {
        to: Address,
    },
    Cash,
    #[property(other)]
    Other(String),
}

#[derive(Property, Clone, Debug, PartialEq)]
struct Home(Address);

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Customers")]
#[index(city, partition(tenant), row(address.city(lowercase)))]
#[index(card, same_partition, row(payment.card.last4))]
#[index(lat, same_partition, row(billing.geo.lat(reverse)), when(payment.invoice, is_long))]
#[index(name, same_partition, when(address.city, billing.city, moved))]
struct Customer {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
    name: String,
    address: Address,
    #[property(prefix = "Bill")]
    billing: Option<BillingAddress>,
    payment: Payment,
    home: Option<Home>,
    #[property(prefix = "")]
    notes: Notes,
}

#[derive(Property, Clone, Debug, Default, PartialEq)]
struct Notes {
    first_note: Option<String>,
    second_note: Option<String>,
}

/// A struct of its own, with an integer to index.
#[derive(Property, Clone, Debug, PartialEq)]
struct BillingAddress {
    city: String,
    geo: Option<Place>,
}

#[derive(Property, Clone, Debug, PartialEq)]
struct Place {
    lat: i32,
}

fn is_long(invoice: Option<&String>) -> bool {
    invoice.is_none_or(|number| number.len() > 3)
}

fn moved(city: &str, billing: Option<&str>) -> bool {
    billing.is_some_and(|billing| billing != city)
}

fn customer(id: u32) -> Customer {
    Customer {
        tenant: "acme".to_owned(),
        id,
        name: "Ada".to_owned(),
        address: Address {
            city: "Bonn".to_owned(),
            street: "Markt 1".to_owned(),
            geo: Some(Geo { lat: 50.5, lon: 7.25 }),
            lines: vec!["c/o Grace".to_owned()],
        },
        billing: None,
        payment: Payment::Card { last4: 4242, expires: date!(2027 - 08 - 31), holder: None },
        home: None,
        notes: Notes::default(),
    }
}

const CARD: Payment = Payment::Card { last4: 4242, expires: date!(2027 - 08 - 31), holder: None };

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// Returns the stored properties of the customer with this number.
async fn properties(store: &Store, id: u32) -> Result<Vec<(String, Value)>> {
    let row = store.backend.get("Customers", "acme", &format!("id-{id:010}"), None).await?.expect("it was inserted");
    let mut properties: Vec<_> =
        row.properties.iter().map(|(name, value)| (name.to_owned(), value.to_value())).collect();
    properties.retain(|(name, _)| name != "WriteId");
    properties.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(properties)
}

fn named(properties: &[(&str, Value)]) -> Vec<(String, Value)> {
    properties.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

async fn parts_have_the_documented_names(store: &Store) -> Result<()> {
    store.tables.create::<Customer>().await?;
    let mut ada = customer(1);
    ada.billing = Some(BillingAddress { city: "Köln".to_owned(), geo: Some(Place { lat: -5 }) });
    ada.home = Some(Home(Address { city: "Ulm".to_owned(), ..Address::default() }));
    ada.notes.second_note = Some("b".to_owned());
    store.tables.insert(&ada).await?;
    let expected = named(&[
        ("Address_City", text("Bonn")),
        ("Address_Geo_lat", Value::Double(50.5)),
        ("Address_Geo_lon", Value::Double(7.25)),
        ("Address_Lines", text(r#"["c/o Grace"]"#)),
        ("Address_Road", text("Markt 1")),
        ("Bill_City", text("Köln")),
        ("Bill_Geo_Lat", Value::Int32(-5)),
        ("Home_City", text("Ulm")),
        ("Home_Lines", text("[]")),
        ("Home_Road", text("")),
        ("Name", text("Ada")),
        ("Payment", text("Card")),
        ("Payment_Card_Expires", text("2027-08-31")),
        ("Payment_Card_Last4", Value::Int32(4242)),
        ("SecondNote", text("b")),
    ]);
    assert_eq!(properties(store, 1).await?, expected);
    assert_eq!(*Customer::key("acme", 1).get(&store.tables).await?.expect("it was inserted"), ada);
    let names: Vec<_> = Customer::layout().properties().map(|property| (property.field, property.name)).collect();
    assert!(names.contains(&("address.geo.lat", "Address_Geo_lat")), "{names:?}");
    assert!(names.contains(&("payment.transfer.to.city", "Payment_Transfer_To_City")), "{names:?}");
    Ok(())
}

async fn every_variant_has_its_own_properties(store: &Store) -> Result<()> {
    store.tables.create::<Customer>().await?;
    let to = Address { city: "Ulm".to_owned(), street: "Gasse".to_owned(), geo: None, lines: Vec::new() };
    for (id, payment, expected) in [
        (
            1,
            Payment::Card { last4: 7, expires: date!(2027 - 01 - 31), holder: Some("A".to_owned()) },
            named(&[
                ("Payment", text("Card")),
                ("Payment_Card_Expires", text("2027-01-31")),
                ("Payment_Card_Holder", text("A")),
                ("Payment_Card_Last4", Value::Int32(7)),
            ]),
        ),
        (
            2,
            Payment::Invoice("7/26".to_owned()),
            named(&[("Payment", text("Invoice")), ("Payment_Invoice", text("7/26"))]),
        ),
        (
            3,
            Payment::Transfer { to },
            named(&[
                ("Payment", text("bank-transfer")),
                ("Payment_Transfer_To_City", text("Ulm")),
                ("Payment_Transfer_To_Lines", text("[]")),
                ("Payment_Transfer_To_Road", text("Gasse")),
            ]),
        ),
        (4, Payment::Cash, named(&[("Payment", text("Cash"))])),
        (5, Payment::Other("Crypto".to_owned()), named(&[("Payment", text("Crypto"))])),
    ] {
        let ada = Customer { payment, ..customer(id) };
        store.tables.insert(&ada).await?;
        let mut stored = properties(store, id).await?;
        stored.retain(|(name, _)| name.starts_with("Payment"));
        assert_eq!(stored, expected);
        assert_eq!(*Customer::key("acme", id).get(&store.tables).await?.expect("it was inserted"), ada);
    }
    // It would be read as another variant.
    let card = Customer { payment: Payment::Other("Card".to_owned()), ..customer(6) };
    let error = store.tables.insert(&card).await.expect_err("`Card` is known");
    assert!(matches!(&error, Error::Property(problem) if problem.property == "Payment"), "{error}");
    Ok(())
}

/// Writes a property of the stored customer, past the checks of the types.
async fn merge(store: &Store, id: u32, properties: &[(&str, Value)]) -> Result<()> {
    let action = Action::Merge(Properties::from_iter(properties.iter().cloned()), IfMatch::Any);
    write(store, id, action).await
}

async fn write(store: &Store, id: u32, action: Action) -> Result<()> {
    let operations = vec![Operation { row_key: format!("id-{id:010}"), action }];
    let group = Group { table: "Customers".into(), partition_key: "acme".to_owned(), operations };
    store.backend.execute_group(&group).await?;
    Ok(())
}

/// The names of `TableEntity.Flatten` of .NET: `_` between the names of the properties.
async fn flattened_rows_of_other_programs_are_read(store: &Store) -> Result<()> {
    store.tables.create::<Customer>().await?;
    // In another order than that of the fields, with properties that the struct does not know.
    let row = Properties::from_iter([
        ("Payment_Invoice", text("7/26")),
        ("Address_Geo_lon", Value::Int32(7)),
        ("Address_Geo_Altitude", Value::Int32(60)),
        ("Address_City", text("Bonn")),
        ("Unknown", text("x")),
        ("Address_Lines", text("[]")),
        ("Address_Geo_lat", Value::Double(50.5)),
        ("Address_Road", text("Markt 1")),
        ("Name", text("Ada")),
        ("Payment", text("Invoice")),
    ]);
    write(store, 1, Action::Insert(row)).await?;
    let mut found = Customer::key("acme", 1).get(&store.tables).await?.expect("it was inserted");
    let mut expected = customer(1);
    expected.address.geo = Some(Geo { lat: 50.5, lon: 7.0 });
    expected.address.lines.clear();
    expected.payment = Payment::Invoice("7/26".to_owned());
    assert_eq!(*found, expected);
    found.name = "Grace".to_owned();
    store.tables.update(&mut found).await?;
    let stored = properties(store, 1).await?;
    for unknown in [("Unknown", text("x")), ("Address_Geo_Altitude", Value::Int32(60))] {
        assert!(stored.contains(&(unknown.0.to_owned(), unknown.1)), "{stored:?}");
    }
    Ok(())
}

async fn a_row_without_a_part_is_an_error_that_names_it(store: &Store) -> Result<()> {
    store.tables.create::<Customer>().await?;
    let valid = [
        ("Name", text("Ada")),
        ("Address_City", text("Bonn")),
        ("Address_Road", text("Markt 1")),
        ("Address_Lines", text("[]")),
        ("Payment", text("Cash")),
    ];
    for (id, missing, more) in [
        (1, "Address_City", ("Address_Geo_lat", Value::Double(1.0))),
        (2, "Address_Geo_lon", ("Address_Geo_lat", Value::Double(1.0))),
        (3, "Home_Road", ("Home_City", text("Ulm"))),
        (4, "Payment_Card_Last4", ("Payment", text("Card"))),
        (5, "Payment", ("Payment_Invoice", text("1"))),
        (6, "Home_City", ("Home_Road", text("x"))),
    ] {
        let mut row = Properties::from_iter(valid.iter().filter(|(name, _)| *name != missing).cloned());
        row.set(more.0, more.1.as_ref());
        write(store, id, Action::Insert(row)).await?;
        let error = Customer::key("acme", id).get(&store.tables).await.expect_err(missing);
        let Error::Property(problem) = &error else { panic!("{error}") };
        assert_eq!((problem.property.as_str(), problem.found.as_str()), (missing, "nothing"), "{error}");
    }
    // A field that need not be there is no address: an older program may have carried it for a newer one.
    let row = Properties::from_iter(valid.into_iter().chain([("Bill_Geo_Lat", Value::Int32(1))]));
    write(store, 7, Action::Insert(row)).await?;
    assert_eq!(Customer::key("acme", 7).get(&store.tables).await?.expect("it was inserted").billing, None);
    Ok(())
}

async fn ids(store: &Store, query: table_runtime::BoxedRows<Stored<Customer>>) -> Result<Vec<u32>> {
    Ok(query.all(&store.tables).await?.iter().map(|found| found.id).collect())
}

async fn filters_compare_parts(store: &Store) -> Result<()> {
    store.tables.create::<Customer>().await?;
    let mut customers: Vec<_> = (0..6).map(customer).collect();
    customers[1].address.city = "Ulm".to_owned();
    customers[2].address.geo = None;
    customers[3].payment = Payment::Invoice("7/26".to_owned());
    customers[4].payment = Payment::Cash;
    customers[5].payment = Payment::Card { last4: 1, expires: date!(2020 - 01 - 31), holder: Some("x".to_owned()) };
    customers[5].billing = Some(BillingAddress { city: "Köln".to_owned(), geo: None });
    store.tables.insert_all(customers).await?;
    let all = || Customer::by_key("acme");
    for (query, expected) in [
        (all().filter(|c| c.address.city.eq("Ulm")).boxed(), vec![1]),
        (all().filter(|c| c.address.geo.lat.ge(50.0)).boxed(), vec![0, 1, 3, 4, 5]),
        (all().filter(|c| c.payment.is_card()).boxed(), vec![0, 1, 2, 5]),
        (all().filter(|c| !c.payment.is_card()).boxed(), vec![3, 4]),
        (all().filter(|c| c.payment.is_card().and(c.payment.card.last4.eq(4242))).boxed(), vec![0, 1, 2]),
        (all().filter(|c| c.payment.card.expires.lt(date!(2025 - 01 - 01))).boxed(), vec![5]),
        (all().filter(|c| c.payment.card.holder.eq("x")).boxed(), vec![5]),
        (all().filter(|c| c.payment.invoice.eq("7/26").or(c.payment.is_cash())).boxed(), vec![3, 4]),
        (all().filter(|c| c.billing.city.eq("Köln")).boxed(), vec![5]),
        (all().filter(|c| c.payment.is_transfer()).boxed(), vec![]),
    ] {
        let shown = format!("{query:?}");
        assert_eq!(ids(store, query).await?, expected, "{shown}");
    }
    Ok(())
}

async fn a_patch_sets_a_part_and_keeps_its_neighbours(store: &Store) -> Result<()> {
    store.tables.create::<Customer>().await?;
    store.tables.insert(&customer(1)).await?;
    let patched =
        |c: <Customer as TableEntity>::Columns| [c.address.street.set("Gasse 2"), c.notes.first_note.set("a")];
    store.tables.patch(Customer::key("acme", 1), patched).await?;
    let mut expected = customer(1);
    expected.address.street = "Gasse 2".to_owned();
    expected.notes.first_note = Some("a".to_owned());
    assert_eq!(*Customer::key("acme", 1).get(&store.tables).await?.expect("it was inserted"), expected);
    Ok(())
}

async fn an_index_finds_a_part(store: &Store) -> Result<()> {
    store.tables.create::<Customer>().await?;
    store.tables.insert(&customer(1)).await?;
    let at = async |city: &str| ids(store, Customer::by_city("acme").eq(city).boxed()).await;
    assert_eq!(at("BONN").await?, [1]);
    let row = store.backend.get("CustomersByCity", "acme", "bonn acme 0000000001", None).await?;
    assert!(row.is_some(), "its key is that of the value");
    store.tables.modify(Customer::key("acme", 1), |ada| ada.address.city = "Bonn-Beuel".to_owned()).await?;
    assert!(at("bonn").await?.is_empty());
    assert_eq!(ids(store, Customer::by_city("acme").starts_with("bonn-").boxed()).await?, [1]);
    let verified = store.tables.verify::<Customer>().await?;
    assert!(verified.findings.is_empty(), "{verified:?}");
    // Another program changes the city and leaves the index row.
    merge(store, 1, &[("Address_City", text("Ulm"))]).await?;
    let verified = store.tables.verify::<Customer>().await?;
    assert_eq!(verified.findings.len(), 2, "{verified:?}");
    store.tables.repair::<Customer>().await?;
    assert_eq!(at("ulm").await?, [1]);
    let found = Customer::key("acme", 1).get(&store.tables).await?.expect("it was inserted");
    store.tables.delete(&found).await?;
    assert!(at("ulm").await?.is_empty());
    Ok(())
}

async fn an_index_on_a_variant_is_sparse(store: &Store) -> Result<()> {
    store.tables.create::<Customer>().await?;
    store.tables.insert(&customer(1)).await?;
    let with = async |last4: u16| ids(store, Customer::by_card("acme").eq(last4).boxed()).await;
    assert_eq!(with(4242).await?, [1]);
    store.tables.modify(Customer::key("acme", 1), |ada| ada.payment = Payment::Cash).await?;
    assert!(with(4242).await?.is_empty());
    assert_eq!(Customer::by_card("acme").count(&store.tables).await?, 0);
    store.tables.modify(Customer::key("acme", 1), |ada| ada.payment = CARD).await?;
    assert_eq!(with(4242).await?, [1]);
    Ok(())
}

async fn a_predicate_takes_parts(store: &Store) -> Result<()> {
    store.tables.create::<Customer>().await?;
    let billing = |city: &str, lat| Some(BillingAddress { city: city.to_owned(), geo: Some(Place { lat }) });
    let ada = Customer { billing: billing("Ulm", 3), ..customer(1) };
    let same = Customer { billing: billing("Bonn", 9), payment: Payment::Invoice("7/2026".to_owned()), ..customer(2) };
    let short = Customer { billing: billing("Ulm", 7), payment: Payment::Invoice("7".to_owned()), ..customer(3) };
    store.tables.insert_all([ada, same, short, customer(4)]).await?;
    assert_eq!(ids(store, Customer::by_name("acme").eq("Ada").boxed()).await?, [1, 3]);
    // The highest first, without the short number.
    assert_eq!(ids(store, Customer::by_lat("acme").boxed()).await?, [2, 1]);
    Ok(())
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Customer)]
struct Card {
    id: u32,
    #[projection(path = address.city)]
    city: String,
    address: Address,
    #[projection(path = address.geo.lat)]
    lat: Option<f64>,
    #[projection(path = payment.card.last4)]
    last4: Option<u16>,
    #[projection(path = payment.card.holder)]
    holder: Option<String>,
    payment: Payment,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Customer)]
struct Line<'a> {
    name: &'a str,
    #[projection(path = address.city)]
    city: &'a str,
    #[projection(path = payment.card.holder)]
    holder: Option<&'a str>,
    #[projection(path = payment.invoice)]
    invoice: Option<&'a str>,
}

async fn projections_have_parts(store: &Store) -> Result<()> {
    store.tables.create::<Customer>().await?;
    let mut paid = Customer { payment: Payment::Invoice("7/26".to_owned()), ..customer(2) };
    paid.address.geo = None;
    store.tables.insert_all([customer(1), paid.clone()]).await?;
    let cards: Vec<Card> = Customer::by_key("acme").select::<Card>().all(&store.tables).await?;
    let card = |of: Customer, lat, last4| Card {
        id: of.id,
        city: of.address.city.clone(),
        address: of.address,
        lat,
        last4,
        holder: None,
        payment: of.payment,
    };
    assert_eq!(cards, [card(customer(1), Some(50.5), Some(4242)), card(paid, None, None)]);
    let mut lines = Vec::new();
    let each = |line: Line<'_>| lines.push(format!("{line:?}"));
    Customer::by_key("acme").select::<Line<'_>>().for_each(&store.tables, each).await?;
    assert_eq!(
        lines,
        [
            r#"Line { name: "Ada", city: "Bonn", holder: None, invoice: None }"#,
            r#"Line { name: "Ada", city: "Bonn", holder: None, invoice: Some("7/26") }"#,
        ]
    );
    Ok(())
}

async fn a_changed_variant_leaves_nothing_behind(store: &Store) -> Result<()> {
    store.tables.create::<Customer>().await?;
    let paid = Payment::Invoice("7/26".to_owned());
    let changed = |id| Customer { payment: paid.clone(), ..customer(id) };
    store.tables.insert_all((1..=5).map(customer)).await?;
    let mut first = Customer::key("acme", 1).get(&store.tables).await?.expect("it was inserted");
    first.payment = paid.clone();
    store.tables.update(&mut first).await?;
    store.tables.modify(Customer::key("acme", 2), |ada| ada.payment = paid.clone()).await?;
    store.tables.upsert(&changed(3)).await?;
    store.tables.upsert_all([changed(4)]).await?;
    store.tables.merge(&changed(5)).await?;
    for id in 1..=5 {
        let mut stored = properties(store, id).await?;
        stored.retain(|(name, _)| name.starts_with("Payment"));
        assert_eq!(stored, named(&[("Payment", text("Invoice")), ("Payment_Invoice", text("7/26"))]), "{id}");
    }
    Ok(())
}

async fn unknown_variants_are_carried(store: &Store) -> Result<()> {
    store.tables.create::<Customer>().await?;
    store.tables.insert(&Customer { payment: Payment::Cash, ..customer(1) }).await?;
    let wire = [("Payment", text("Wire")), ("Payment_Wire_Iban", text("DE02"))];
    merge(store, 1, &wire).await?;
    let mut found = Customer::key("acme", 1).get(&store.tables).await?.expect("it was inserted");
    assert_eq!(found.payment, Payment::Other("Wire".to_owned()));
    found.name = "Grace".to_owned();
    store.tables.update(&mut found).await?;
    let payment = async || -> Result<_> {
        let mut stored = properties(store, 1).await?;
        stored.retain(|(name, _)| name.starts_with("Payment"));
        Ok(stored)
    };
    assert_eq!(payment().await?, named(&wire));
    // They may be those of anything, so another variant keeps them.
    found.payment = Payment::Cash;
    store.tables.update(&mut found).await?;
    assert_eq!(payment().await?, named(&[("Payment", text("Cash")), ("Payment_Wire_Iban", text("DE02"))]));
    Ok(())
}

#[derive(Property, Clone, Debug, Default, PartialEq)]
enum Level {
    #[default]
    Basic,
    Paid {
        until: u32,
    },
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Customers")]
struct Member {
    #[partition_key]
    tenant: String,
    #[row_key(prefix = "id-")]
    id: u32,
    level: Option<Level>,
}

async fn an_unknown_variant_is_an_error_of_its_row(store: &Store) -> Result<()> {
    store.tables.create::<Member>().await?;
    for (id, level) in [(1, None), (2, Some(Level::Basic)), (3, Some(Level::Paid { until: 9 }))] {
        let member = Member { tenant: "acme".to_owned(), id, level };
        store.tables.insert(&member).await?;
        assert_eq!(*Member::key("acme", id).get(&store.tables).await?.expect("it was inserted"), member);
    }
    merge(store, 2, &[("Level", text("Gold"))]).await?;
    let error = Member::key("acme", 2).get(&store.tables).await.expect_err("`Gold` is unknown");
    let Error::Property(problem) = &error else { panic!("{error}") };
    assert_eq!((problem.property.as_str(), problem.found.as_str()), ("Level", "`Gold`"), "{error}");
    assert_eq!(problem.expected, "one of `Basic`, `Paid`", "{error}");
    assert_eq!(problem.row.row_key, "id-0000000002");
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Sites")]
#[index(city, same_table, partition(address.city), include(address, payment))]
#[index(copies, same_partition, row(address.city), copy)]
struct Site {
    #[partition_key]
    #[row_key]
    id: u32,
    address: Address,
    payment: Payment,
}

async fn index_rows_include_structs(store: &Store) -> Result<()> {
    store.tables.create::<Site>().await?;
    let Customer { address, payment, .. } = customer(1);
    let site = Site { id: 1, address, payment };
    store.tables.insert(&site).await?;
    let row =
        store.backend.get("Sites", "Bonn", "city-0000000001_0000000001", None).await?.expect("the index has a row");
    for (name, value) in [("Address_Geo_lat", Value::Double(50.5)), ("Payment_Card_Last4", Value::Int32(4242))] {
        assert_eq!(row.properties.get(name).map(|value| value.to_value()), Some(value));
    }
    let found = Site::by_copies(1).eq("Bonn").all(&store.tables).await?;
    assert_eq!(found.iter().map(|found| (**found).clone()).collect::<Vec<_>>(), [site]);
    store.tables.modify(Site::key(1), |site| site.payment = Payment::Cash).await?;
    let row =
        store.backend.get("Sites", "Bonn", "city-0000000001_0000000001", None).await?.expect("the index has a row");
    assert_eq!(row.properties.get("Payment_Card_Last4"), None);
    let verified = store.tables.verify::<Site>().await?;
    assert!(verified.findings.is_empty(), "{verified:?}");
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Customers")]
struct Defaults {
    #[partition_key]
    tenant: String,
    #[row_key(prefix = "id-")]
    id: u32,
    #[property(default)]
    address: Address,
    /// None of its fields is always there.
    notes: Notes,
    #[property(default, large)]
    body: Option<String>,
    #[property(default)]
    level: Level,
}

async fn a_struct_with_a_default_may_be_missing(store: &Store) -> Result<()> {
    store.tables.create::<Defaults>().await?;
    write(store, 1, Action::Insert(Properties::from_iter([("Name", text("Ada"))]))).await?;
    let found = Defaults::key("acme", 1).get(&store.tables).await?.expect("it was inserted");
    assert_eq!(found.address, Address::default());
    merge(store, 1, &[("Address_City", text("Bonn"))]).await?;
    let error = Defaults::key("acme", 1).get(&store.tables).await.expect_err("a part of the struct is there");
    assert!(matches!(&error, Error::Property(problem) if problem.property == "Address_Road"), "{error}");
    let whole = Defaults {
        tenant: "acme".to_owned(),
        id: 2,
        address: customer(1).address,
        notes: Notes { first_note: None, second_note: Some("b".to_owned()) },
        body: Some("x".repeat(40_000)),
        level: Level::Paid { until: 3 },
    };
    store.tables.insert(&whole).await?;
    assert_eq!(*Defaults::key("acme", 2).get(&store.tables).await?.expect("it was inserted"), whole);
    Ok(())
}

/// Programs of several versions.
mod releases {
    use table_runtime::{Property, TableEntity};

    macro_rules! release {
        ($release:ident $table:literal, $($variants:tt)*) => {
            pub(super) mod $release {
                use super::{Property, TableEntity};

                #[derive(Property, Clone, Debug, PartialEq)]
                pub enum Plan { $($variants)* }

                #[derive(TableEntity, Clone, Debug, PartialEq)]
                #[table(name = $table, entity = $table)]
                pub struct Account {
                    #[partition_key]
                    #[row_key]
                    pub id: u32,
                    pub plan: Plan,
                }
            }
        };
    }

    release!(first "Accounts", Free, Paid { until: u32 });
    release!(more "Accounts", Free, Paid { until: u32 }, Trial(u16));
    release!(renamed "Accounts", Free, Premium { until: u32 });
    release!(required "Accounts", Free, Paid { until: u32, since: u32 }, Trial(u16));
    release!(retyped "Accounts", Free, Paid { until: String }, Trial(u16));
    release!(open "Accounts",
        Free,
        Paid { until: u32 },
        #[property(other)]
        Other(String)
    );
    release!(open_plan "Plans", Free, Paid { until: u32 }, #[property(other)] Other(String));
    release!(closed_plan "Plans", Free, Trial(u16));
}

async fn create_compares_variants_and_parts(store: &Store) -> Result<()> {
    let changes = |result: table_runtime::Result<()>| match result {
        Err(Error::LayoutChanged(changed)) => changed.changes.clone(),
        other => panic!("{other:?}"),
    };
    store.tables.create::<releases::first::Account>().await?;
    store.tables.create::<releases::first::Account>().await?;
    let renamed = changes(store.tables.create::<releases::renamed::Account>().await);
    assert!(renamed.contains("`Plan` has no variant `Paid` any more"), "{renamed}");
    store.tables.create::<releases::more::Account>().await?;
    // Whatever the variant of the first row is, programs are recorded that write the variant without the field.
    let account = |plan| releases::more::Account { id: 1, plan };
    store.tables.insert(&account(releases::more::Plan::Paid { until: 5 })).await?;
    let required = changes(store.tables.create::<releases::required::Account>().await);
    assert!(required.contains("`Plan_Paid_Since` is required in `plan.paid`"), "{required}");
    // The older program would not read the new variant.
    let older = changes(store.tables.create::<releases::first::Account>().await);
    assert!(older.contains("`Plan` has no variant `Trial` any more"), "{older}");
    let retyped = changes(store.tables.create::<releases::retyped::Account>().await);
    assert!(retyped.contains("`Plan_Paid_Until` was Edm.Int64 in 0..=4294967295 and is Edm.String"), "{retyped}");
    store.tables.create::<releases::open::Account>().await?;
    // An open enum that was recorded first keeps its variants.
    store.tables.create::<releases::open_plan::Account>().await?;
    let lost = changes(store.tables.create::<releases::closed_plan::Account>().await);
    assert!(lost.contains("`Plan` has no variant `Paid` any more"), "{lost}");
    Ok(())
}
