//! Decimal numbers in keys: they are stored as integers, so that equal numbers have one key and rows are in their order.

use anyhow::{Result, anyhow};
use rust_decimal::Decimal;
use table_runtime::{Error, KeyPart, Property, TableEntity};
use tests::stores::Store;

use crate::fixtures::findings;

crate::conformance! {
    keys_hold_decimals_as_integers
    equal_numbers_have_one_key
    keys_are_in_the_order_of_numbers
    an_index_finds_decimals
    another_number_of_places_is_another_layout
    the_inventory_reads_decimals
}

#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq)]
struct Kilograms(Decimal);

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Offers")]
struct Offer {
    #[partition_key(scale = 0, pad = 4)]
    group: Decimal,
    #[row_key(scale = 2, reverse, pad = 6)]
    discount: Decimal,
    #[row_key(scale = 3)]
    weight: Kilograms,
    #[index(code, unique)]
    code: String,
    #[index(price, scale = 2)]
    price: Option<Decimal>,
}

fn number(text: &str) -> Decimal {
    Decimal::from_str_exact(text).expect(text)
}

fn offer(group: &str, discount: &str, weight: &str) -> Offer {
    let (group, discount, weight) = (number(group), number(discount), Kilograms(number(weight)));
    Offer { group, discount, weight, code: format!("{discount}/{}", weight.0), price: None }
}

/// Returns the keys of a table's rows, and the properties that begin like this.
async fn rows(store: &Store, table: &str, begin: &str) -> Result<Vec<(String, String, String)>> {
    let rows = store.rows(table).await?.into_iter().map(|row| {
        let properties = row.properties.iter().filter(|(name, _)| name.starts_with(begin));
        let mut properties: Vec<_> = properties.map(|(name, value)| format!("{name}={value}")).collect();
        properties.sort();
        (row.partition_key, row.row_key, properties.join(" "))
    });
    Ok(rows.collect())
}

async fn keys_hold_decimals_as_integers(store: &Store) -> Result<()> {
    store.tables.create::<Offer>().await?;
    let offer = Offer { price: Some(number("1.5")), ..offer("7", "12.5", "-0.001") };
    store.tables.insert(&offer).await?;
    store.tables.insert(&self::offer("-8.0", "-3", "79228162514264.337")).await?;

    let cents = "00000000000000000000000000150";
    // As signed integers, negative ones with what is missing to -1, which has nines: -1 gram, -8; and reversed 1250 cents,
    // -300 cents.
    let (first, second) = ("-998749_-99999999999999999999999999999", "000299_00000000000079228162514264337");
    let expected = |keys: &[(&str, &str, &str)]| -> Vec<(String, String, String)> {
        keys.iter().map(|(partition, row, rest)| (partition.to_string(), row.to_string(), rest.to_string())).collect()
    };
    assert_eq!(
        rows(store, "Offers", "Price").await?,
        expected(&[("-9992", second, ""), ("0007", first, "Price='1.5'")])
    );
    let row_key = format!("0007_{first}");
    assert_eq!(rows(store, "OffersByPrice", "").await?, expected(&[(cents, &row_key, "")]));
    // Pointers hold texts without zeros at their ends.
    let pointer = |group: &str, discount: &str, weight: &str| {
        format!("IndexedEntityDiscount='{discount}' IndexedEntityGroup='{group}' IndexedEntityWeight='{weight}'")
    };
    assert_eq!(
        rows(store, "OffersByCode", "Indexed").await?,
        expected(&[
            ("-3~2F79228162514264.337", "", &pointer("-8", "-3", "79228162514264.337")),
            ("12.5~2F-0.001", "", &pointer("7", "12.5", "-0.001")),
        ])
    );

    for found in [
        Offer::key(offer.group, offer.discount, offer.weight).get(&store.tables).await?,
        Offer::by_code("12.5/-0.001").get(&store.tables).await?,
        Offer::by_price(number("1.500")).first(&store.tables).await?,
    ] {
        let found = found.ok_or_else(|| anyhow!("no offer"))?;
        assert_eq!(*found, offer);
        // Numbers that only the key holds are read with its places.
        assert_eq!((found.discount.scale(), found.weight.0.scale(), found.group.scale()), (2, 3, 0));
    }
    assert_eq!(findings::<Offer>(store).await?, []);
    Ok(())
}

async fn equal_numbers_have_one_key(store: &Store) -> Result<()> {
    store.tables.create::<Offer>().await?;
    store.tables.insert(&offer("7", "12.5", "1")).await?;
    let again = store.tables.insert(&Offer { code: "other".into(), ..offer("7.0", "12.500", "1.000") }).await;
    assert!(matches!(again, Err(Error::AlreadyExists(_))), "{again:?}");

    let point = || Offer::key(number("7.00"), number("12.50"), Kilograms(number("1.0")));
    let mut stored = point().get(&store.tables).await?.ok_or_else(|| anyhow!("no offer"))?;
    // No other key, so the pointers stay as they are.
    stored.discount = number("12.5000");
    stored.price = Some(number("3"));
    store.tables.update(&mut stored).await?;
    store.tables.modify(point(), |offer| offer.price = Some(number("3.00"))).await?;
    assert_eq!(Offer::by_price(number("3.0")).count(&store.tables).await?, 1);
    assert_eq!(findings::<Offer>(store).await?, []);
    assert!(store.tables.remove(point()).await?);
    assert_eq!(rows(store, "OffersByCode", "").await?, []);
    assert_eq!(rows(store, "OffersByPrice", "").await?, []);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Bills")]
#[index(rated, same_partition, row(rate(scale = 1, reverse, pad = 3)))]
struct Bill {
    #[partition_key]
    customer: String,
    #[row_key(scale = 2)]
    total: Decimal,
    #[index(tax, scale = 2, pad = 12, same_partition)]
    #[property(scale = 2)]
    tax: Decimal,
    rate: Option<Decimal>,
}

const TOTALS: [&str; 7] = ["-100.5", "-2", "-0.01", "0", "0.10", "9.99", "10"];

fn bill(total: &str) -> Bill {
    let total = number(total);
    Bill { customer: "acme".into(), total, tax: -total, rate: None }
}

async fn fill(store: &Store) -> Result<()> {
    store.tables.create::<Bill>().await?;
    store.tables.insert_all(TOTALS.map(bill)).await?;
    Ok(())
}

async fn keys_are_in_the_order_of_numbers(store: &Store) -> Result<()> {
    fill(store).await?;
    let tables = &store.tables;
    let expected = |totals: &[&str]| -> Vec<Bill> { totals.iter().map(|total| bill(total)).collect() };
    assert_eq!(Bill::by_key("acme").all(tables).await?, expected(&TOTALS));
    let range = |from: &str, to: &str| Bill::by_key("acme").range(number(from)..number(to));
    assert_eq!(range("-2.00", "9.99").all(tables).await?, expected(&TOTALS[1..5]));
    // More digits than any key has.
    assert_eq!(Bill::by_key("acme").range(Decimal::MIN..).count(tables).await?, TOTALS.len());
    assert_eq!(Bill::by_key("acme").range(Decimal::MAX..).count(tables).await?, 0);
    let finer = range("-2.001", "9.99").all(tables).await;
    let Err(Error::Key(error)) = finer else { return Err(anyhow!("{finer:?}")) };
    assert_eq!(error.to_string(), "Bills, layout `key`, key part `total`: -2.001 has more than 2 decimal places");

    for (number_of_group, discount) in (1..).zip(["1", "30", "-2", "0.01"]) {
        tables.create::<Offer>().await?;
        tables.insert(&Offer { code: format!("{number_of_group}"), ..offer("1", discount, "1") }).await?;
    }
    let discounts = Offer::by_key(number("1")).range(number("-2")..=number("1")).all(tables).await?;
    let discounts: Vec<_> = discounts.iter().map(|offer| offer.discount.to_string()).collect();
    assert_eq!(discounts, ["1.00", "0.01", "-2.00"]);
    assert_eq!(Offer::by_partitions(number("-1")..number("2")).count(tables).await?, 4);
    Ok(())
}

async fn an_index_finds_decimals(store: &Store) -> Result<()> {
    fill(store).await?;
    let tables = &store.tables;
    let totals = |bills: Vec<table_runtime::Stored<Bill>>| -> Vec<String> {
        bills.iter().map(|bill| bill.total.normalize().to_string()).collect()
    };
    let found = Bill::by_tax("acme").range(number("-9.99")..=number("0.01")).all(tables).await?;
    assert_eq!(totals(found), ["9.99", "0.1", "0", "-0.01"]);
    assert_eq!(totals(Bill::by_tax("acme").eq(number("2.0")).all(tables).await?), ["-2"]);

    for (total, rate) in [("0", "19"), ("10", "7.5"), ("-2", "-1")] {
        tables.modify(Bill::key("acme", number(total)), |bill| bill.rate = Some(number(rate))).await?;
    }
    assert_eq!(totals(Bill::by_rated("acme").all(tables).await?), ["0", "10", "-2"]);
    let keys = rows(store, "Bills", "").await?;
    let keys: Vec<_> = keys.iter().map(|(_, row, _)| row.as_str()).filter(|row| row.starts_with("rated-")).collect();
    let total = |number: &str| format!("{number:0>29}");
    let expected = [
        format!("rated--809_{}", total("0")),
        format!("rated--924_{}", total("1000")),
        format!("rated-009_-{}", "9".repeat(26) + "800"),
    ];
    assert_eq!(keys, expected);

    tables.modify(Bill::key("acme", number("0")), |bill| bill.rate = Some(number("0.1"))).await?;
    assert_eq!(totals(Bill::by_rated("acme").range(number("0")..).all(tables).await?), ["10", "0"]);
    let finer = Bill { rate: Some(number("0.15")), ..bill("5") };
    let error = tables.insert(&finer).await.err().map(|error| error.to_string());
    let problem = "Bills, layout `rated`, key part `rate`: 0.15 has more than 1 decimal places";
    assert_eq!(error.as_deref(), Some(problem));
    assert_eq!(findings::<Bill>(store).await?, []);
    Ok(())
}

mod finer {
    #[derive(table_runtime::TableEntity)]
    #[table(name = "Bills", entity = "Bill")]
    pub(super) struct Bill {
        #[partition_key]
        pub(super) customer: String,
        #[row_key(scale = 3)]
        pub(super) total: rust_decimal::Decimal,
    }
}

async fn another_number_of_places_is_another_layout(store: &Store) -> Result<()> {
    fill(store).await?;
    let refused = store.again().create::<finer::Bill>().await.err();
    assert!(matches!(&refused, Some(Error::LayoutChanged(_))), "{refused:?}");
    Ok(())
}

async fn the_inventory_reads_decimals(store: &Store) -> Result<()> {
    store.tables.create::<Offer>().await?;
    store.tables.insert(&Offer { price: Some(number("1.5")), ..offer("7", "12.5", "-0.001") }).await?;
    let inventory = store.tables.inventory().await?;
    let mut found = Vec::new();
    for table in ["Offers", "OffersByCode", "OffersByPrice"] {
        for row in store.rows(table).await? {
            let row = inventory.identify(table, row.as_ref()).ok_or_else(|| anyhow!("{row:?}"))?;
            found.push(format!("{}: {row}", row.layout.name));
        }
    }
    let expected = [
        "key: group=7 discount=12.50 weight=-0.001",
        "code: code=12.5/-0.001",
        "price: price=1.50 group=7 discount=12.50 weight=-0.001",
    ];
    assert_eq!(found, expected);
    let verified = inventory.verify(&store.tables, None).await?;
    assert!(verified.findings.is_empty() && verified.partly.is_empty(), "{verified:?}");
    assert_eq!((verified.entities, verified.index_rows), (1, 2));
    Ok(())
}
