//! What a row without a property means, inside of `Option`s, variants and defaults: every reader has the same answer.

#![allow(
    unreachable_pub,
    clippy::too_many_lines,
    clippy::assigning_clones,
    clippy::duplicated_attributes,
    reason = "a case says what is stored, and nothing of it is used often"
)]

use std::collections::{HashMap, HashSet};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use table_runtime::{
    Error, Projection, Property, Stored, TableEntity, Value,
    backend::{Action, IfMatch},
    row::{Properties, ValueRef},
    testing::Clocked,
};
use tests::stores::Store;

crate::conformance! {
    a_projection_asks_what_is_around_its_field
    a_filter_asks_what_is_around_its_field
    a_default_that_is_json_refuses_null
    another_variant_takes_the_parts_that_newer_programs_have_recorded
    parts_are_told_apart_by_the_record_and_not_by_their_names
    a_none_that_was_read_is_written_back_as_it_was
    a_default_in_an_option_is_recorded
    a_required_field_that_programs_do_not_write_is_refused
    a_field_that_programs_write_may_become_part_of_an_option
    copies_are_compared_as_they_are_read
    the_catalog_shows_the_rows_of_an_index_with_defaults
    sets_in_json_are_written_in_one_order
    a_program_begins_again
    a_long_value_without_its_beginning_is_an_error
    an_expired_entity_makes_room_for_the_elements_of_another
    a_variant_may_have_the_name_of_a_hint
    two_fields_may_share_a_prefix
    a_long_text_that_is_not_ascii_is_stored_or_names_its_property
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn named(properties: &[(&str, Value)]) -> Properties {
    properties.iter().map(|(name, value)| (*name, value.clone())).collect()
}

async fn property(store: &Store, table: &str, name: &str) -> Result<Option<Value>> {
    let rows = store.rows(table).await?;
    Ok(rows[0].properties.get(name).map(ValueRef::to_value))
}

#[derive(Property, Clone, Debug, PartialEq)]
struct Place {
    city: String,
    #[property(default)]
    floor: u32,
    zip: Option<String>,
    inner: Option<Geo>,
}

#[derive(Property, Clone, Debug, PartialEq)]
struct Geo {
    lat: i32,
    note: Option<String>,
}

/// A struct that is read as "dark" and 3 from a row without it.
#[derive(Property, Clone, Debug, PartialEq)]
struct Prefs {
    level: u32,
    theme: Option<String>,
}

impl Default for Prefs {
    fn default() -> Self {
        Self { level: 3, theme: Some("dark".to_owned()) }
    }
}

#[derive(Property, Clone, Debug, PartialEq)]
enum Pay {
    Card {
        last4: u32,
        holder: Option<String>,
        #[property(default)]
        limit: u32,
    },
    Sent(Option<Place>),
    Code(Option<u32>),
    Cash,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Clients")]
struct Client {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
    bill: Option<Place>,
    #[property(default)]
    prefs: Prefs,
    pay: Pay,
    #[property(default)]
    other: Option<Place>,
}

/// What a client has, by its paths.
#[derive(Projection, Clone, Debug, PartialEq)]
#[projection(of = Client)]
struct Paths {
    #[projection(path = bill.city)]
    city: Option<String>,
    #[projection(path = bill.floor)]
    floor: Option<u32>,
    #[projection(path = bill.zip)]
    zip: Option<String>,
    #[projection(path = bill.inner)]
    inner: Option<Geo>,
    #[projection(path = bill.inner.note)]
    note: Option<String>,
    #[projection(path = prefs.level)]
    level: Option<u32>,
    #[projection(path = prefs.theme)]
    theme: Option<String>,
    #[projection(path = pay.card.holder)]
    holder: Option<String>,
    #[projection(path = pay.card.limit)]
    limit: Option<u32>,
    #[projection(path = pay.sent.floor)]
    sent_floor: Option<u32>,
    #[projection(path = pay.code)]
    code: Option<u32>,
    #[projection(path = other.city)]
    other: Option<String>,
}

/// Some of them, which a text can be borrowed for.
#[derive(Projection, Clone, Debug, PartialEq)]
#[projection(of = Client)]
struct Borrowed<'r> {
    #[projection(path = bill.zip)]
    zip: Option<&'r str>,
    #[projection(path = pay.card.holder)]
    holder: Option<&'r str>,
}

impl From<&Client> for Paths {
    fn from(client: &Client) -> Self {
        let bill = client.bill.as_ref();
        let (holder, limit) = match &client.pay {
            Pay::Card { holder, limit, .. } => (holder.clone(), Some(*limit)),
            _ => (None, None),
        };
        let sent = if let Pay::Sent(Some(place)) = &client.pay { Some(place.floor) } else { None };
        let code = if let Pay::Code(code) = &client.pay { *code } else { None };
        Self {
            city: bill.map(|bill| bill.city.clone()),
            floor: bill.map(|bill| bill.floor),
            zip: bill.and_then(|bill| bill.zip.clone()),
            inner: bill.and_then(|bill| bill.inner.clone()),
            note: bill.and_then(|bill| bill.inner.as_ref()?.note.clone()),
            level: Some(client.prefs.level),
            theme: client.prefs.theme.clone(),
            holder,
            limit,
            sent_floor: sent,
            code,
            other: client.other.as_ref().map(|other| other.city.clone()),
        }
    }
}

/// Rows with parts of wholes that they lack, and without parts of wholes that they have.
fn rows() -> Vec<Properties> {
    let cash = ("Pay", text("Cash"));
    let left_over = [
        ("Bill_Zip", text("z")),
        ("Bill_Floor", Value::Int64(7)),
        ("Bill_Inner_Lat", Value::Int32(1)),
        ("Bill_Inner_Note", text("n")),
        ("Prefs_Theme", text("light")),
        ("Pay_Card_Last4", Value::Int64(1)),
        ("Pay_Card_Holder", text("Ada")),
        ("Pay_Card_Limit", Value::Int64(9)),
        ("Pay_Sent_City", text("Ulm")),
        ("Pay_Sent_Floor", Value::Int64(8)),
        ("Pay_Code", Value::Int64(4)),
    ];
    let with = |own: &[(&'static str, Value)]| {
        let others = left_over.iter().filter(|(name, _)| own.iter().all(|(own, _)| own != name));
        [named(own), named(&own.iter().chain(others).cloned().collect::<Vec<_>>())]
    };
    [
        with(std::slice::from_ref(&cash)),
        with(&[cash.clone(), ("Bill_City", text("Bonn"))]),
        with(&[cash.clone(), ("Bill_City", text("Bonn")), ("Prefs_Level", Value::Int64(1))]),
        with(&[cash, ("Prefs_Level", Value::Int64(1)), ("Prefs_Theme", text("blue"))]),
        with(&[("Pay", text("Card")), ("Pay_Card_Last4", Value::Int64(42))]),
        with(&[("Pay", text("Sent"))]),
        with(&[("Pay", text("Sent")), ("Pay_Sent_City", text("Bonn"))]),
        with(&[("Pay", text("Code"))]),
    ]
    .concat()
}

async fn written(store: &Store) -> Result<Vec<Stored<Client>>> {
    store.tables.create::<Client>().await?;
    for (id, row) in (1_u32..).zip(rows()) {
        store.write("Clients", ("a", &format!("{id:010}")), Action::Insert(row)).await?;
    }
    Ok(Client::by_key("a").all(&store.tables).await?)
}

async fn a_projection_asks_what_is_around_its_field(store: &Store) -> Result<()> {
    let clients = written(store).await?;
    assert_eq!(clients[0].prefs, Prefs::default());
    let expected: Vec<_> = clients.iter().map(|client| Paths::from(&**client)).collect();
    assert_eq!(expected[2].floor, Some(0), "a row without it has the default");
    let found: Vec<Paths> = Client::by_key("a").select::<Paths>().all(&store.tables).await?;
    for (row, (found, expected)) in rows().iter().zip(found.iter().zip(&expected)) {
        assert_eq!(found, expected, "{row:?}");
    }
    let mut borrowed = Vec::new();
    let query = Client::by_key("a").select::<Borrowed<'_>>();
    query
        .for_each(&store.tables, |row| borrowed.push((row.zip.map(str::to_owned), row.holder.map(str::to_owned))))
        .await?;
    assert_eq!(borrowed, expected.iter().map(|row| (row.zip.clone(), row.holder.clone())).collect::<Vec<_>>());
    Ok(())
}

async fn a_filter_asks_what_is_around_its_field(store: &Store) -> Result<()> {
    let clients = written(store).await?;
    let (all, rows) = (clients.iter().map(|client| Paths::from(&**client)).collect::<Vec<_>>(), rows());
    // A row matches if it has the property, and the entity has the value.
    macro_rules! agree {
        ($($filter:expr, $property:literal, $has:expr;)*) => {$(
            let (filter, has): (fn(<Client as TableEntity>::Columns) -> table_runtime::Filter<Client>, fn(&Paths) -> bool) =
                ($filter, $has);
            for is_negated in [false, true] {
                let query = Client::by_key("a").filter(|c| if is_negated { !filter(c) } else { filter(c) });
                let found: Vec<_> = query.all(&store.tables).await?.iter().map(|client| client.id).collect();
                let expected = (1_u32..).zip(rows.iter().zip(&all)).filter(|(_, (row, paths))| {
                    row.get($property).is_some() && has(paths) && !is_negated
                });
                assert_eq!(found, expected.map(|(id, _)| id).collect::<Vec<_>>(), "{} {is_negated}", stringify!($filter));
            }
        )*};
    }
    agree! {
        |c| c.bill.zip.eq("z"), "Bill_Zip", |paths| paths.zip.as_deref() == Some("z");
        |c| c.bill.floor.ge(0), "Bill_Floor", |paths| paths.floor.is_some();
        |c| c.bill.inner.note.eq("n"), "Bill_Inner_Note", |paths| paths.note.is_some();
        |c| c.pay.card.holder.eq("Ada"), "Pay_Card_Holder", |paths| paths.holder.is_some();
        |c| c.pay.card.limit.le(9), "Pay_Card_Limit", |paths| paths.limit.is_some();
        |c| c.pay.sent.floor.eq(8), "Pay_Sent_Floor", |paths| paths.sent_floor == Some(8);
        |c| c.pay.code.eq(4), "Pay_Code", |paths| paths.code == Some(4);
    }
    let themes = Client::by_key("a").filter(|c| c.prefs.theme.eq("light")).all(&store.tables).await?;
    assert!(!themes.is_empty() && themes.iter().all(|client| client.prefs.theme.as_deref() == Some("light")));
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Tagged")]
struct Tagged {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(json, default)]
    tags: Vec<String>,
    #[property(json, default)]
    maybe: Option<u32>,
    #[property(json, default)]
    choice: Choice,
}

/// A value of which one is `null` in JSON, and which is another one by default.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Choice(Option<u32>);

impl Default for Choice {
    fn default() -> Self {
        Self(Some(1))
    }
}

async fn a_default_that_is_json_refuses_null(store: &Store) -> Result<()> {
    store.tables.create::<Tagged>().await?;
    let tagged = |choice| Tagged { id: 1, tags: Vec::new(), maybe: None, choice: Choice(choice) };
    let refused = store.tables.insert(&tagged(None)).await.expect_err("it would be read as the default");
    assert!(matches!(&refused, Error::Property(problem) if problem.property == "Choice"), "{refused}");
    assert!(store.rows("Tagged").await?.is_empty());
    store.tables.insert(&tagged(Some(7))).await?;
    let found = Tagged::key(1).get(&store.tables).await?.expect("it was inserted");
    assert_eq!(*found, tagged(Some(7)));
    Ok(())
}

/// Declares programs with versions of one struct, in modules.
macro_rules! programs {
    ($table:literal $attributes:tt $($program:ident { $($types:item)* } $fields:tt)*) => {$(
        pub(super) mod $program {
            #[allow(unused_imports)]
            use super::{Five, Property, Seven, TableEntity};

            $($types)*

            programs! { @entity $table $attributes $fields }
        }
    )*};
    (@entity $table:literal [$($attribute:tt)*] { $($(#[$meta:meta])* $field:ident: $type:ty),* }) => {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = $table, entity = $table)]
        $($attribute)*
        pub struct Item {
            #[partition_key]
            pub tenant: String,
            #[row_key(prefix = "id-")]
            pub id: u32,
            $($(#[$meta])* pub $field: $type),*
        }
    };
}

mod sides {
    use super::{Five, Property, Seven, TableEntity};

    programs! { "Sides" []
        older {
            #[derive(Property, Clone, Debug, PartialEq)]
            pub enum Pay { Card { last4: u32 }, Cash }
            #[derive(Property, Clone, Debug, PartialEq)]
            pub struct Home { pub city: String }
            #[derive(Property, Clone, Debug, PartialEq)]
            pub enum Sent { To(Home), Nothing }
        } { pay: Pay, home: Option<Home>, sent: Sent }
        newer {
            #[derive(Property, Clone, Debug, PartialEq)]
            pub enum Pay { Card { last4: u32, holder: Option<String> }, Cash }
            #[derive(Property, Clone, Debug, PartialEq)]
            pub struct Home { pub city: String, pub zip: Option<String> }
            #[derive(Property, Clone, Debug, PartialEq)]
            pub enum Sent { To(Home), Nothing }
        } { pay: Pay, home: Option<Home>, sent: Sent }
    }
}

async fn another_variant_takes_the_parts_that_newer_programs_have_recorded(store: &Store) -> Result<()> {
    use sides::{newer, older};

    let (first, second) = (store.again(), store.again());
    // Both programs run before the newer one writes. The older one knows what is recorded when it begins its lease.
    second.create::<newer::Item>().await?;
    first.create::<older::Item>().await?;
    let holder = Some("Ada".to_owned());
    let home = Some(newer::Home { city: "Bonn".to_owned(), zip: Some("53111".to_owned()) });
    let pay = newer::Pay::Card { last4: 1, holder };
    let sent = newer::Sent::To(home.clone().expect("a home"));
    second.insert(&newer::Item { tenant: "a".to_owned(), id: 1, pay, home, sent }).await?;

    let steps: [fn(&mut older::Item); 3] = [
        |item| (item.pay, item.sent) = (older::Pay::Cash, older::Sent::Nothing),
        |item| (item.pay, item.home) = (older::Pay::Card { last4: 2 }, None),
        |item| {
            item.home = Some(older::Home { city: "Ulm".to_owned() });
            item.sent = older::Sent::To(older::Home { city: "Ulm".to_owned() });
        },
    ];
    // What stays the same is carried.
    first.modify(older::Item::key("a", 1), |item| item.home.as_mut().expect("a home").city = "Köln".to_owned()).await?;
    let found = newer::Item::key("a", 1).get(&second).await?.expect("it was inserted");
    assert!(found.home.as_ref().is_some_and(|home| home.zip.is_some()), "{found:?}");
    for step in steps {
        first.modify(older::Item::key("a", 1), step).await?;
    }
    let found = newer::Item::key("a", 1).get(&second).await?.expect("it was inserted");
    assert_eq!(found.pay, newer::Pay::Card { last4: 2, holder: None }, "another card has another holder");
    let ulm = newer::Home { city: "Ulm".to_owned(), zip: None };
    assert_eq!((found.home.as_ref(), &found.sent), (Some(&ulm), &newer::Sent::To(ulm.clone())));
    for name in ["Pay_Card_Holder", "Home_Zip", "Sent_To_Zip"] {
        assert_eq!(property(store, "Sides", name).await?, None, "{name}");
    }
    Ok(())
}

async fn parts_are_told_apart_by_the_record_and_not_by_their_names(store: &Store) -> Result<()> {
    use sides::older::{Home, Item, Pay, Sent};

    store.tables.create::<Item>().await?;
    let home = Some(Home { city: "Bonn".to_owned() });
    let (pay, sent) = (Pay::Card { last4: 1 }, Sent::Nothing);
    store.tables.insert(&Item { tenant: "a".to_owned(), id: 1, pay, home, sent }).await?;
    // Another program has properties of its own, whose names begin like those of the parts.
    let others = [("Home_Owner", text("Grace")), ("Pay_Card_Note", text("n"))];
    store.write("Sides", ("a", "id-0000000001"), Action::Merge(named(&others), IfMatch::Any)).await?;
    store.tables.modify(Item::key("a", 1), |item| (item.pay, item.home) = (Pay::Cash, None)).await?;
    for (name, value) in others {
        assert_eq!(property(store, "Sides", name).await?, Some(value), "{name}");
    }
    Ok(())
}

async fn a_none_that_was_read_is_written_back_as_it_was(store: &Store) -> Result<()> {
    use sides::newer::{Home, Item, Pay};

    store.tables.create::<Item>().await?;
    let left_over = [("Home_Zip", text("53111")), ("Pay_Card_Holder", text("Ada")), ("Sent_To_City", text("Ulm"))];
    let row = [&[("Pay", text("Cash")), ("Sent", text("Nothing"))], left_over.as_slice()].concat();
    store.write("Sides", ("a", "id-0000000001"), Action::Insert(named(&row))).await?;
    let mut item = Item::key("a", 1).get(&store.tables).await?.expect("it was inserted");
    assert_eq!((&item.home, &item.pay), (&None, &Pay::Cash));
    store.tables.update(&mut item).await?;
    store.tables.modify(Item::key("a", 1), |_| ()).await?;
    for (name, value) in row {
        assert_eq!(property(store, "Sides", name).await?, Some(value), "{name}");
    }
    // A value takes the place of all of it.
    let mut item = Item::key("a", 1).get(&store.tables).await?.expect("it was inserted");
    item.home = Some(Home { city: "Bonn".to_owned(), zip: None });
    store.tables.update(&mut item).await?;
    item.pay = Pay::Card { last4: 1, holder: None };
    store.tables.update(&mut item).await?;
    assert_eq!(*Item::key("a", 1).get(&store.tables).await?.expect("it was inserted"), *item);
    assert_eq!(property(store, "Sides", "Home_Zip").await?, None);
    // Also what is inside of a part.
    written(store).await?;
    for id in (1..).take(rows().len()) {
        store.tables.modify(Client::key("a", id), |_| ()).await?;
    }
    for (before, after) in rows().iter().zip(store.rows("Clients").await?) {
        for (name, value) in before.iter().filter(|(name, _)| !name.starts_with("Prefs")) {
            assert_eq!(after.properties.get(name), Some(value), "{name} of {before:?}");
        }
    }
    Ok(())
}

macro_rules! with_default {
    ($($name:ident $default:literal)*) => {$(
        #[derive(Property, Clone, Copy, Debug, PartialEq, table_runtime::KeyPart)]
        pub struct $name(pub u32);

        impl Default for $name {
            fn default() -> Self {
                Self($default)
            }
        }
    )*};
}

with_default! { Five 5 Seven 7 }

mod floors {
    use super::{Five, Property, Seven, TableEntity};

    programs! { "Floors" [#[index(floor, unique, partition(tenant), row(home.floor))]]
        five {
            #[derive(Property, Clone, Debug, PartialEq)]
            pub struct Home { pub city: String, #[property(default)] pub floor: Five }
        } { home: Option<Home> }
        seven {
            #[derive(Property, Clone, Debug, PartialEq)]
            pub struct Home { pub city: String, #[property(default)] pub floor: Seven }
        } { home: Option<Home> }
    }
}

/// Returns the changes for which `create` refused a program.
fn refused(created: table_runtime::Result<()>) -> String {
    match created {
        Err(Error::LayoutChanged(changed)) => changed.changes.clone(),
        other => panic!("{other:?}"),
    }
}

async fn a_default_in_an_option_is_recorded(store: &Store) -> Result<()> {
    store.tables.create::<floors::five::Item>().await?;
    store.tables.create::<floors::five::Item>().await?;
    let changes = refused(store.tables.create::<floors::seven::Item>().await);
    assert!(changes.contains("without the property `Home_Floor` was read as \"Edm.Int64 5\""), "{changes}");
    Ok(())
}

mod homes {
    use super::{Five, Property, Seven, TableEntity};

    programs! { "Homes" []
        city {
            #[derive(Property, Clone, Debug, PartialEq)]
            pub struct Home { pub city: String, pub zip: Option<String>, pub size: Option<u32> }
            #[derive(Property, Clone, Debug, PartialEq)]
            pub enum Pay { Card { last4: u32 }, Check(u16), Cash }
        } { home: Option<Home>, pay: Pay, text: Option<String> }
        renamed {
            #[derive(Property, Clone, Debug, PartialEq)]
            pub struct Home { pub town: String, pub zip: Option<String>, pub size: Option<u32> }
            pub use super::city::Pay;
        } { home: Option<Home>, pay: Pay, text: Option<String> }
        required {
            #[derive(Property, Clone, Debug, PartialEq)]
            pub struct Home { pub city: String, pub zip: Option<String>, pub size: u32 }
            pub use super::city::Pay;
        } { home: Option<Home>, pay: Pay, text: Option<String> }
        renamed_in_variant {
            pub use super::city::Home;
            #[derive(Property, Clone, Debug, PartialEq)]
            pub enum Pay { Card { digits: u32 }, Check(u16), Cash }
        } { home: Option<Home>, pay: Pay, text: Option<String> }
        one_value {
            pub use super::city::Home;
            #[derive(Property, Clone, Debug, PartialEq)]
            pub enum Pay { Card(u16), Check(u16), Cash }
        } { home: Option<Home>, pay: Pay, text: Option<String> }
        unit_with_data {
            pub use super::city::Home;
            #[derive(Property, Clone, Debug, PartialEq)]
            pub enum Pay { Card { last4: u32 }, Check(u16), Cash { amount: u32 } }
        } { home: Option<Home>, pay: Pay, text: Option<String> }
        text_as_enum {
            pub use super::city::{Home, Pay};
            #[derive(Property, Clone, Debug, PartialEq)]
            pub enum Text { A { size: u32 }, B }
        } { home: Option<Home>, pay: Pay, text: Option<Text> }
        more {
            #[derive(Property, Clone, Debug, PartialEq)]
            pub struct Home { pub city: String, pub zip: Option<String>, pub size: Option<u32>, pub door: Option<u32> }
            #[derive(Property, Clone, Debug, PartialEq)]
            pub enum Pay { Card { last4: u32, holder: Option<String> }, Check(u16), Cash, Coin { amount: u32 } }
        } { home: Option<Home>, pay: Pay, text: Option<String> }
        plain {
            #[derive(Property, Clone, Debug, PartialEq)]
            pub struct Home { pub city: String, pub zip: Option<String>, pub size: u32 }
            pub use super::city::Pay;
        } { home: Home, pay: Pay, text: Option<String> }
        wrapped {
            pub use super::plain::{Home, Pay};
        } { home: Option<Home>, pay: Pay, text: Option<String> }
    }
}

async fn a_required_field_that_programs_do_not_write_is_refused(store: &Store) -> Result<()> {
    use homes::{city, more, one_value, renamed, renamed_in_variant, required, text_as_enum, unit_with_data};

    store.tables.create::<city::Item>().await?;
    let item = |id, home| city::Item { tenant: "a".to_owned(), id, home, pay: city::Pay::Cash, text: None };
    // The first row has neither the home nor the variants.
    store.tables.insert(&item(1, None)).await?;
    let home = city::Home { city: "Bonn".to_owned(), zip: Some("53111".to_owned()), size: None };
    store.tables.insert(&item(2, Some(home))).await?;
    for (created, property) in [
        (store.tables.create::<renamed::Item>().await, "Home_Town` is required in `home`"),
        (store.tables.create::<required::Item>().await, "Home_Size` is required in `home`"),
        (store.tables.create::<renamed_in_variant::Item>().await, "Pay_Card_Digits` is required in `pay.card`"),
        (store.tables.create::<one_value::Item>().await, "Pay_Card` is required in `pay.card`"),
        (store.tables.create::<unit_with_data::Item>().await, "Pay_Cash_Amount` is required in `pay.cash`"),
        (store.tables.create::<text_as_enum::Item>().await, "Text_A_Size` is required in `text.a`"),
    ] {
        let changes = refused(created);
        assert!(changes.contains(property), "{property}: {changes}");
    }
    // Optional fields, and a variant that no row can have.
    store.tables.create::<more::Item>().await?;
    assert_eq!(more::Item::by_key("a").count(&store.tables).await?, 2);
    Ok(())
}

async fn a_field_that_programs_write_may_become_part_of_an_option(store: &Store) -> Result<()> {
    use homes::{plain, required, wrapped};

    store.tables.create::<plain::Item>().await?;
    let home = plain::Home { city: "Bonn".to_owned(), zip: None, size: 1 };
    let item = plain::Item { tenant: "a".to_owned(), id: 1, home: home.clone(), pay: plain::Pay::Cash, text: None };
    store.tables.insert(&item).await?;
    store.tables.create::<wrapped::Item>().await?;
    assert_eq!(wrapped::Item::key("a", 1).get(&store.tables).await?.expect("it was inserted").home, Some(home));
    store.tables.create::<required::Item>().await?;
    Ok(())
}

mod copies {
    use super::{Five, Property, Seven, TableEntity};

    programs! { "Copied" [
        #[index(name, copy, same_partition)]
        #[index(named, partition(tenant), row(name), copy)]
    ]
        older {
            #[derive(Property, Clone, Debug, PartialEq)]
            pub struct Home { pub city: String }
            #[derive(Property, Clone, Debug, PartialEq)]
            pub enum Pay { Card { last4: u32 }, Cash }
        } { name: String, home: Option<Home>, pay: Pay }
        newer {
            #[derive(Property, Clone, Debug, PartialEq)]
            pub struct Home { pub city: String, #[property(default)] pub floor: Five }
            #[derive(Property, Clone, Debug, PartialEq)]
            pub enum Pay { Card { last4: u32, #[property(default)] limit: Seven }, Cash }
        } { name: String, home: Option<Home>, pay: Pay }
    }
}

async fn copies_are_compared_as_they_are_read(store: &Store) -> Result<()> {
    use copies::{newer, older};

    store.tables.create::<older::Item>().await?;
    for (id, pay, home) in [(1, older::Pay::Card { last4: 1 }, Some("Bonn")), (2, older::Pay::Cash, None)] {
        let home = home.map(|city| older::Home { city: city.to_owned() });
        let (tenant, name) = ("a".to_owned(), format!("n{id}"));
        store.tables.insert(&older::Item { tenant, id, name, home, pay }).await?;
    }
    store.tables.create::<newer::Item>().await?;
    let verified = store.tables.verify::<newer::Item>().await?;
    assert!(verified.findings.is_empty(), "{verified:?}");
    let inventory = store.tables.inventory().await?;
    let found = inventory.verify(&store.tables, None).await?.findings;
    assert!(found.is_empty(), "{found:?}");
    // A difference is still one.
    let rows = store.rows("Copied").await?;
    let copy = rows.iter().find(|row| row.row_key.contains("n1")).expect("a copy");
    let stale = Action::Merge(named(&[("Home_Floor", Value::Int64(9))]), IfMatch::Any);
    store.write("Copied", ("a", &copy.row_key), stale).await?;
    assert_eq!(store.tables.verify::<newer::Item>().await?.findings.len(), 1);
    assert_eq!(store.tables.repair::<newer::Item>().await?.fixed.len(), 1);
    assert!(store.tables.verify::<newer::Item>().await?.findings.is_empty());
    Ok(())
}

#[derive(Property, Clone, Debug, PartialEq)]
struct Door {
    width: u32,
    #[property(default)]
    color: Five,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Houses", allow_scan)]
#[index(level, partition(tenant), row(prefs.level))]
#[index(theme, same_partition, row(prefs.theme))]
#[index(color, partition(tenant), row(door.color))]
struct House {
    #[partition_key]
    tenant: String,
    #[row_key(prefix = "id-")]
    id: u32,
    #[index(size)]
    #[property(default)]
    size: Seven,
    #[property(default)]
    prefs: Prefs,
    door: Option<Door>,
}

async fn the_catalog_shows_the_rows_of_an_index_with_defaults(store: &Store) -> Result<()> {
    store.tables.create::<House>().await?;
    let house = |id, door| House { tenant: "a".to_owned(), id, size: Seven(7), prefs: Prefs::default(), door };
    for (id, door) in [(1, None), (2, Some(Door { width: 1, color: Five(5) }))] {
        store.tables.insert(&house(id, door)).await?;
        // The row is older than the fields with defaults.
        let keys = format!("id-{id:010}");
        let row = store.rows("Houses").await?.into_iter().find(|row| row.row_key == keys).expect("it was inserted");
        let is_old = |name: &str| !["Size", "Prefs_Level", "Prefs_Theme", "Door_Color"].contains(&name);
        let old = row.properties.iter().filter(|(name, _)| is_old(name)).map(|(name, value)| (name, value.to_value()));
        store.write("Houses", ("a", &keys), Action::Replace(old.collect(), IfMatch::Any)).await?;
        assert_eq!(*House::key("a", id).get(&store.tables).await?.expect("it was inserted"), house(id, row_door(&row)));
    }
    let verified = store.tables.verify::<House>().await?;
    assert!(verified.findings.is_empty(), "{verified:?}");
    let inventory = store.tables.inventory().await?;
    let verified = inventory.verify(&store.tables, None).await?;
    assert!(verified.findings.is_empty(), "{verified:?}");
    assert_eq!((verified.entities, verified.index_rows, verified.partly.len()), (2, 7, 0), "{verified:?}");
    Ok(())
}

fn row_door(row: &table_runtime::row::Row) -> Option<Door> {
    row.properties.get("Door_Width").map(|_| Door { width: 1, color: Five(5) })
}

/// Sets and maps at every depth.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Sets {
    top: HashSet<String>,
    #[allow(clippy::box_collection, reason = "a type of a user")]
    boxed: Box<HashSet<u32>>,
    listed: Vec<HashSet<u32>>,
    mapped: HashMap<String, HashSet<u32>>,
    wrapped: Wrapped,
    #[serde(flatten)]
    others: HashMap<String, u32>,
    list: Vec<u32>,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(transparent)]
struct Wrapped(HashSet<u32>);

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Sets")]
struct WithSets {
    #[partition_key]
    tenant: String,
    #[row_key(prefix = "id-")]
    id: u32,
    #[index(name, copy, same_partition)]
    #[index(named, include(sets))]
    name: String,
    #[property(json)]
    sets: Sets,
}

fn sets(count: u32) -> Sets {
    let numbers = || (0..count).collect::<HashSet<u32>>();
    let names = || (0..count).map(|number| format!("n{number}"));
    Sets {
        top: names().collect(),
        boxed: Box::new(numbers()),
        listed: vec![numbers(), numbers()],
        mapped: names().map(|name| (name, numbers())).collect(),
        wrapped: Wrapped(numbers()),
        others: names().zip(0..).collect(),
        list: (0..count).rev().collect(),
    }
}

async fn sets_in_json_are_written_in_one_order(store: &Store) -> Result<()> {
    store.tables.create::<WithSets>().await?;
    let of = |id| WithSets { tenant: "a".to_owned(), id, name: format!("n{id}"), sets: sets(20) };
    store.tables.insert_all([of(1), of(2)]).await?;
    let texts: Vec<_> =
        store.rows("Sets").await?.iter().filter_map(|row| row.properties.get("Sets").map(ValueRef::to_value)).collect();
    assert!(texts.len() >= 4 && texts.iter().all(|text| *text == texts[0]), "equal values have one text");
    assert_eq!(*WithSets::key("a", 1).get(&store.tables).await?.expect("it was inserted"), of(1));
    assert!(store.tables.verify::<WithSets>().await?.findings.is_empty());
    // A copy that a crash left with the list in another order.
    let rows = store.rows("Sets").await?;
    let copy = rows.iter().find(|row| row.row_key.contains("n1")).expect("a copy");
    let Some(Value::String(whole)) = copy.properties.get("Sets").map(ValueRef::to_value) else { panic!("{copy:?}") };
    let stale = whole.replace("19,18,17", "17,18,19");
    assert_ne!(stale, whole);
    store.write("Sets", ("a", &copy.row_key), Action::Merge(named(&[("Sets", text(&stale))]), IfMatch::Any)).await?;
    assert_eq!(store.tables.verify::<WithSets>().await?.findings.len(), 1);
    assert_eq!(store.tables.repair::<WithSets>().await?.fixed.len(), 1);
    assert!(store.tables.verify::<WithSets>().await?.findings.is_empty());
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Bodies")]
struct WithBody {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(large, default)]
    body: String,
}

/// A struct inside of an `Option`, and of a default.
#[derive(Property, Clone, Debug, Default, PartialEq)]
struct Outer {
    name: String,
    inner: Inner,
}

#[derive(Property, Clone, Debug, Default, PartialEq)]
struct Inner {
    size: u32,
    #[property(large, default)]
    text: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Bodies", entity = "WithBody")]
struct WithMore {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(large, default)]
    body: String,
    #[property(large, default)]
    more: String,
    outer: Option<Outer>,
    #[property(default)]
    beside: Outer,
}

async fn a_program_begins_again(store: &Store) -> Result<()> {
    store.tables.create::<WithBody>().await?;
    store.tables.insert(&WithBody { id: 1, body: "x".to_owned() }).await?;
    // Fields with defaults, and structs that rows may lack, need nothing of the rows that are there.
    for _ in 0..2 {
        store.again().create::<WithMore>().await?;
    }
    let found = WithMore::key(1).get(&store.tables).await?.expect("it was inserted");
    assert_eq!((&*found.more, &found.outer, &found.beside), ("", &None, &Outer::default()));
    Ok(())
}

async fn a_long_value_without_its_beginning_is_an_error(store: &Store) -> Result<()> {
    store.tables.create::<WithBody>().await?;
    let keys = ("0000000001", "0000000001");
    store.write("Bodies", keys, Action::Insert(named(&[]))).await?;
    store.again().create::<WithBody>().await?;
    assert_eq!(WithBody::key(1).get(&store.tables).await?.expect("it was inserted").body, "");
    let parts = named(&[("Body_2", text("rest")), ("Body_Parts", Value::Int32(2))]);
    store.write("Bodies", keys, Action::Merge(parts, IfMatch::Any)).await?;
    let error = WithBody::key(1).get(&store.tables).await.expect_err("its beginning is missing");
    assert!(matches!(&error, Error::Property(problem) if problem.property == "Body"), "{error}");
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Elements", expires = until)]
struct Elements {
    #[partition_key]
    tenant: String,
    #[row_key(prefix = "id-")]
    id: u32,
    #[index(tag, each, same_partition)]
    #[property(json)]
    tags: Vec<String>,
    until: std::time::SystemTime,
}

async fn an_expired_entity_makes_room_for_the_elements_of_another(store: &Store) -> Result<()> {
    let at = |hours: u64| std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_hours(500_000 + hours);
    let (backend, time) = Clocked::new(store.backend.clone(), at(0));
    let tables = table_runtime::Tables::new(backend);
    tables.create::<Elements>().await?;
    let of = |from: u32, count: u32, until| Elements {
        tenant: "a".to_owned(),
        id: 1,
        tags: (from..from + count).map(|number| format!("t{number}")).collect(),
        until: at(until),
    };
    tables.insert(&of(0, 60, 1)).await?;
    time.set(at(2));
    // What has no room at all is refused before anything is removed.
    let refused = tables.insert(&of(0, 120, 9)).await.expect_err("121 operations");
    assert!(matches!(refused, Error::Limit(_)), "{refused}");
    assert_eq!(store.rows("Elements").await?.len(), 61);
    tables.insert(&of(100, 60, 9)).await?;
    assert_eq!(*Elements::key("a", 1).get(&tables).await?.expect("it was inserted"), of(100, 60, 9));
    assert_eq!(store.rows("Elements").await?.len(), 61);
    assert!(tables.verify::<Elements>().await?.findings.is_empty());
    let late = tables.insert(&of(200, 60, 9)).await.expect_err("it has not expired");
    assert!(matches!(late, Error::AlreadyExists(_)), "{late}");
    time.set(at(10));
    tables.upsert(&of(300, 60, 20)).await?;
    assert_eq!(store.rows("Elements").await?.len(), 61);
    time.set(at(30));
    tables.insert_all([of(400, 60, 40)]).await?;
    assert_eq!(*Elements::key("a", 1).get(&tables).await?.expect("it was inserted"), of(400, 60, 40));
    assert!(tables.verify::<Elements>().await?.findings.is_empty());
    Ok(())
}

#[derive(Property, Clone, Debug, PartialEq)]
enum Word {
    Empty,
    Null,
    True,
    Some(u32),
    None,
    In { what: String },
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Words")]
struct WithWord {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
    word: Word,
}

async fn a_variant_may_have_the_name_of_a_hint(store: &Store) -> Result<()> {
    store.tables.create::<WithWord>().await?;
    let words = [Word::Empty, Word::Null, Word::True, Word::Some(5), Word::None, Word::In { what: "x".to_owned() }];
    let words = (1_u32..).zip(words).map(|(id, word)| WithWord { tenant: "a".to_owned(), id, word });
    store.tables.insert_all(words).await?;
    let filters: [fn(<WithWord as TableEntity>::Columns) -> table_runtime::Filter<WithWord>; 8] = [
        |c| c.word.is_empty(),
        |c| c.word.is_null(),
        |c| c.word.is_true(),
        |c| c.word.is_some(),
        |c| c.word.is_none(),
        |c| c.word.is_in(),
        |c| c.word.some.eq(5),
        |c| c.word.r#in.what.eq("x"),
    ];
    for (filter, id) in filters.into_iter().zip([1, 2, 3, 4, 5, 6, 4, 6]) {
        let found = WithWord::by_key("a").filter(filter).all(&store.tables).await?;
        assert_eq!(found.iter().map(|found| found.id).collect::<Vec<_>>(), [id]);
    }
    Ok(())
}

#[derive(Property, Clone, Debug, PartialEq)]
struct Left {
    one: u32,
}

#[derive(Property, Clone, Debug, PartialEq)]
struct Right {
    two: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Prefixed")]
struct Prefixed {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(prefix = "Side")]
    left: Left,
    #[property(prefix = "Side")]
    right: Option<Right>,
}

async fn two_fields_may_share_a_prefix(store: &Store) -> Result<()> {
    store.tables.create::<Prefixed>().await?;
    let prefixed = Prefixed { id: 1, left: Left { one: 1 }, right: Some(Right { two: 2 }) };
    store.tables.insert(&prefixed).await?;
    assert_eq!(*Prefixed::key(1).get(&store.tables).await?.expect("it was inserted"), prefixed);
    for (name, value) in [("Side_One", 1), ("Side_Two", 2)] {
        assert_eq!(property(store, "Prefixed", name).await?, Some(Value::Int64(value)), "{name}");
    }
    Ok(())
}

async fn a_long_text_that_is_not_ascii_is_stored_or_names_its_property(store: &Store) -> Result<()> {
    store.tables.create::<WithBody>().await?;
    let body = WithBody { id: 1, body: "ä".repeat(300_000) };
    let inserted = store.tables.insert(&body).await;
    if store.kind.is_azurite() {
        let error = inserted.expect_err("it is too long for Azurite");
        assert!(matches!(&error, Error::Limit(limit) if limit.what.contains("`Body")), "{error}");
        assert!(store.rows("Bodies").await?.is_empty());
    } else {
        inserted?;
        assert_eq!(*WithBody::key(1).get(&store.tables).await?.expect("it was inserted"), body);
    }
    let shorter = WithBody { id: 2, body: "ä".repeat(150_000) };
    store.tables.insert(&shorter).await?;
    assert_eq!(*WithBody::key(2).get(&store.tables).await?.expect("it was inserted"), shorter);
    Ok(())
}
