//! Entities that share a table: `create` refuses an entity whose rows could have the keys of another's.

use anyhow::{Result, ensure};
use table_runtime::{Error, TableEntity, Tables};
use tests::stores::Store;
use time::OffsetDateTime;

crate::conformance! {
    entities_in_one_table_have_separate_layouts
    indexes_in_one_table_need_different_prefixes
    an_index_whose_rows_collide_with_an_entity_is_refused
    an_index_whose_rows_collide_with_those_of_another_kind_is_refused
    a_query_of_one_kind_says_that_it_reads_the_others
    index_rows_and_entities_have_different_keys
    an_index_with_empty_row_keys_may_share_the_table_of_an_entity_without
}

/// Entities of one table, distinguished by prefixes, by kinds, and by the parts of their keys.
mod shop {
    use super::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Shop")]
    pub(super) struct User {
        #[partition_key]
        pub shop: String,
        #[row_key(prefix = "user-")]
        pub id: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Shop")]
    pub(super) struct Order {
        #[partition_key]
        pub shop: String,
        #[row_key(prefix = "order-")]
        pub id: u64,
    }

    #[derive(TableEntity)]
    #[table(name = "Shop")]
    pub(super) struct Item {
        #[partition_key]
        pub shop: String,
        #[row_key(prefix = "order-")]
        pub id: u64,
        #[row_key]
        pub line: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Shop", partition = "settings")]
    pub(super) struct Setting {
        #[row_key]
        pub name: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Things", kind)]
    pub(super) struct Lamp {
        #[partition_key]
        pub hall: String,
        #[row_key(prefix = "n-")]
        pub number: u32,
        #[index(name, lowercase, same_partition, prefix = "lamp-")]
        pub name: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Things", kind)]
    pub(super) struct Bulb {
        #[partition_key]
        pub hall: String,
        #[row_key(prefix = "n-")]
        pub number: u64,
        #[index(name, same_partition, unique, prefix = "bulb-")]
        pub name: String,
    }
}

async fn entities_in_one_table_have_separate_layouts(store: &Store) -> Result<()> {
    use shop::{Bulb, Item, Lamp, Order, Setting, User};
    for tables in [store.tables.clone(), store.again()] {
        tables.create::<User>().await?;
        tables.create::<Order>().await?;
        tables.create::<Item>().await?;
        tables.create::<Setting>().await?;
        tables.create::<Lamp>().await?;
        tables.create::<Bulb>().await?;
    }
    // Each kind has its own rows and its own index.
    store.tables.insert(&Lamp { hall: "a".into(), number: 1, name: "X".into() }).await?;
    store.tables.insert(&Bulb { hall: "a".into(), number: 2, name: "x".into() }).await?;
    assert_eq!(Lamp::by_name("a").eq("x").count(&store.again()).await?, 1);
    assert!(Bulb::by_name("a").eq("x").exists(&store.again()).await?);
    Ok(())
}

macro_rules! owners {
    ($($name:ident, $table:literal, [$($option:tt)*];)*) => {$(
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = $table)]
        struct $name {
            #[partition_key]
            id: u32,
            #[row_key]
            name: String,
            #[index(email, lowercase, table = "Logins", unique $($option)*)]
            email: String,
        }
    )*};
}

owners! {
    User, "Users", [];
    Admin, "Admins", [];
    Guest, "Guests", [, prefix = "guest-"];
    Robot, "Robots", [, prefix = "robot-"];
    Rival, "Rivals", [, prefix = "robot-"];
}

async fn check_collision<E: TableEntity>(tables: &Tables, entity: &str, layout: &str) {
    let Err(Error::RowsCollide(error)) = tables.create::<E>().await else { panic!("their rows do not collide") };
    assert_eq!((&*error.table, error.layout), ("Logins", layout), "{error}");
    assert_eq!(error.entity, entity, "{error}");
    assert!(error.to_string().contains("prefix"), "{error}");
}

async fn indexes_in_one_table_need_different_prefixes(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Guest>().await?;
    tables.create::<Robot>().await?;
    check_collision::<Rival>(tables, "Robot", "email").await;
    let email = || "a@b.c".to_owned();
    tables.insert(&Guest { id: 1, name: "g".into(), email: email() }).await?;
    tables.insert(&Robot { id: 1, name: "r".into(), email: email() }).await?;
    let guest = Guest::by_email("A@b.c").get(tables).await?.map(|guest| guest.name.clone());
    let robot = Robot::by_email("A@b.c").get(tables).await?.map(|robot| robot.name.clone());
    assert_eq!((guest.as_deref(), robot.as_deref()), (Some("g"), Some("r")));

    // Without a prefix, the key of an index row is the value alone.
    tables.create::<User>().await?;
    check_collision::<Admin>(&store.again(), "User", "email").await;
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Logins")]
struct Login {
    #[partition_key(lowercase)]
    email: String,
    #[row_key]
    kind: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Logins")]
struct Attempt {
    #[partition_key(lowercase)]
    email: String,
    #[row_key]
    at: OffsetDateTime,
}

async fn an_index_whose_rows_collide_with_an_entity_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<Login>().await?;
    // The kind of a login may be any text, so it may begin with the prefix of the index.
    check_collision::<Guest>(&store.tables, "Login", "email").await;
    let again = store.again();
    store.clean().await?;
    again.create::<Guest>().await?;
    check_collision::<Login>(&again, "Guest", "key").await;
    // A time never begins with the prefix.
    again.create::<Attempt>().await?;
    Ok(())
}

/// Kinds whose indexes have the same name and keys.
mod kinds {
    use super::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Parts", kind = "Bulb")]
    pub(super) struct PlainBulb {
        #[partition_key]
        pub hall: String,
        #[row_key(prefix = "b-")]
        pub number: u32,
        pub name: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Parts", kind)]
    pub(super) struct Bulb {
        #[partition_key]
        pub hall: String,
        #[row_key(prefix = "b-")]
        pub number: u32,
        #[index(name)]
        pub name: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Parts", kind)]
    pub(super) struct Lamp {
        #[partition_key]
        pub hall: String,
        #[row_key(prefix = "l-")]
        pub number: u32,
        #[index(name)]
        pub name: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Parts", kind)]
    pub(super) struct Wire {
        #[partition_key]
        pub hall: String,
        #[row_key(prefix = "w-")]
        pub number: u64,
        #[index(name)]
        pub name: String,
    }
}

async fn an_index_whose_rows_collide_with_those_of_another_kind_is_refused(store: &Store) -> Result<()> {
    use kinds::{Bulb, Lamp, PlainBulb, Wire};
    let tables = &store.tables;
    tables.create::<PlainBulb>().await?;
    tables.insert(&PlainBulb { hall: "a".into(), number: 1, name: "x".into() }).await?;
    tables.create::<Lamp>().await?;
    // Its index rows would collide with those of lamps. That is no change of a layout.
    for refused in [tables.create::<Bulb>().await, store.again().create::<Wire>().await] {
        let Err(Error::RowsCollide(error)) = refused else { panic!("their rows do not collide: {refused:?}") };
        assert_eq!((&*error.table, error.layout, &*error.entity), ("PartsByName", "name", "Lamp"), "{error}");
    }
    Ok(())
}

mod keys {
    use super::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Streets")]
    pub(super) struct Street {
        #[partition_key]
        pub city: String,
        #[row_key]
        pub number: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Shops", partition = "all")]
    pub(super) struct Shop {
        #[row_key]
        pub id: u32,
        #[index(city, table = "Streets")]
        pub city: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Shops", partition = "all")]
    pub(super) struct PrefixedShop {
        #[row_key]
        pub id: u32,
        #[index(city, table = "Streets", prefix = "shop-")]
        pub city: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Sites", kind)]
    pub(super) struct Page {
        #[partition_key]
        pub site: String,
        #[row_key]
        pub slug: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Sites", kind)]
    pub(super) struct Author {
        #[partition_key]
        pub site: String,
        #[row_key]
        pub id: u32,
        #[index(name, same_partition)]
        pub name: String,
    }
}

async fn index_rows_and_entities_have_different_keys(store: &Store) -> Result<()> {
    use keys::{Author, Page, PrefixedShop, Shop, Street};
    let check_collision =
        |result: table_runtime::Result<()>| assert!(matches!(result, Err(Error::RowsCollide(_))), "{result:?}");
    store.tables.create::<Street>().await?;
    check_collision(store.tables.create::<Shop>().await);
    // Nothing of the refused struct was recorded, so a fixed one is accepted.
    store.tables.create::<PrefixedShop>().await?;
    store.tables.create::<Author>().await?;
    check_collision(store.tables.create::<Page>().await);
    Ok(())
}

/// Login, and a user whose index is in the table of logins.
mod logins {
    use super::TableEntity;
    use table_runtime::{KeyPart, Property};

    #[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq)]
    pub(super) enum Kind {
        Password,
        Token,
    }

    #[derive(TableEntity, Debug, PartialEq)]
    #[table(name = "Logins")]
    pub(super) struct Login {
        #[partition_key(lowercase)]
        pub email: String,
        #[row_key]
        pub kind: Kind,
        pub user: u32,
    }

    #[derive(TableEntity, Debug, PartialEq)]
    pub(super) struct User {
        #[partition_key]
        pub land: String,
        #[row_key]
        pub id: u32,
        #[index(email, lowercase, table = "Logins", unique)]
        pub email: String,
    }
}

async fn an_index_with_empty_row_keys_may_share_the_table_of_an_entity_without(store: &Store) -> Result<()> {
    use logins::{Kind, Login, User};
    let tables = &store.tables;
    tables.create::<User>().await?;
    tables.create::<Login>().await?;
    let user = User { land: "de".into(), id: 1, email: "A@x.org".into() };
    tables.insert(&user).await?;
    let logins = [Kind::Password, Kind::Token].map(|kind| Login { email: "a@x.org".into(), kind, user: 1 });
    for login in &logins {
        tables.insert(login).await?;
    }
    let keys: Vec<_> = store.rows("Logins").await?.into_iter().map(|row| (row.partition_key, row.row_key)).collect();
    let expected = ["", "Password", "Token"].map(|row_key| ("a@x.org".to_owned(), row_key.to_owned()));
    assert_eq!(keys, expected);
    // Neither is read as the other.
    assert_eq!(Login::by_key("a@X.org").all(tables).await?, logins);
    assert_eq!(Login::by_key("a@X.org").count(tables).await?, 2);
    assert_eq!(User::by_email("a@x.ORG").get(tables).await?.as_deref(), Some(&user));
    ensure!(tables.verify::<User>().all().await?.is_empty());
    Ok(())
}

mod orders {
    use super::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Orders", kind)]
    #[index(all, partition(shop), row(number), copy)]
    pub(super) struct Order {
        #[partition_key]
        pub shop: String,
        #[row_key]
        pub number: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Orders", kind)]
    pub(super) struct OrderLine {
        #[partition_key]
        pub shop: String,
        #[row_key]
        pub order: u32,
        #[row_key]
        pub line: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Orders", kind)]
    pub(super) struct Customer {
        #[partition_key]
        pub shop: String,
        #[row_key(prefix = "customer-")]
        pub number: u32,
    }
}

async fn a_query_of_one_kind_says_that_it_reads_the_others(store: &Store) -> Result<()> {
    use orders::{Customer, Order, OrderLine};
    let tables = &store.tables;
    tables.create::<Order>().await?;
    tables.create::<OrderLine>().await?;
    tables.create::<Customer>().await?;
    tables.insert(&Order { shop: "a".into(), number: 1 }).await?;
    tables.insert_all((0..10).map(|line| OrderLine { shop: "a".into(), order: 1, line })).await?;
    assert_eq!(Order::by_key("a").count(tables).await?, 1);
    // Another kind may have the same prefix.
    for explain in [
        Order::by_key("a").explain(),
        Order::by_key("a").range(1..).explain(),
        OrderLine::by_key("a").explain(),
        Customer::by_key("a").explain(),
    ] {
        assert!(explain.reads_more_than_it_returns(), "{explain}");
        assert!(explain.to_string().contains("also for rows of other kinds between them"), "{explain}");
    }
    // Nothing lies between the rows of an index, or of a point.
    for explain in [Order::by_all("a").explain(), Order::key("a", 1).explain()] {
        assert!(!explain.reads_more_than_it_returns(), "{explain}");
        assert!(!explain.to_string().contains("kinds"), "{explain}");
    }
    Ok(())
}
