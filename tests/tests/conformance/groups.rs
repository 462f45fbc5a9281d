//! Groups: a master and its items, read by one query.

use anyhow::Result;
use table_runtime::{
    EntityGroup, Error, Guid, KeyPart, Property, Stored, TableEntity, Value, backend, backend::BackendExt,
};
use tests::stores::Store;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::fixtures::at;

crate::conformance! {
    items_are_narrowed_by_their_own_key_part
    a_group_is_read_by_one_query
    a_query_of_a_master_returns_its_row_and_its_items
    ranges_include_all_items_of_a_master
    a_group_with_kinds_skips_other_kinds
    variants_without_kinds_are_distinguished_by_key_shape
    ranges_over_signed_and_descending_masters_include_their_items
    a_group_may_have_a_constant_master_and_a_composite_partition
    stored_variants_can_be_written
    pending_members_are_not_returned
    a_group_is_read_in_pages_and_as_a_stream
    a_row_that_fits_no_variant_is_an_error
    a_groups_partition_key_may_have_six_parts
    a_group_may_have_more_kinds_than_a_filter_compares
}

#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq)]
struct ExpenseId(Uuid);

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Expenses")]
struct Expense {
    #[partition_key]
    user: String,
    #[row_key(reverse_time)]
    filed: OffsetDateTime,
    #[row_key]
    id: ExpenseId,
    title: String,
}

/// Item in the table of its expense.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Expenses")]
struct Item {
    #[partition_key]
    owner: String,
    #[row_key(reverse_time)]
    expense_filed: OffsetDateTime,
    #[row_key]
    expense: Uuid,
    #[row_key(pad = 4)]
    number: u16,
    cents: i64,
}

#[derive(EntityGroup, Clone, Debug, PartialEq)]
enum Report {
    Expense(Expense),
    Item(Item),
}

fn expense(user: &str, number: u32) -> Expense {
    let id = ExpenseId(Uuid::from_u128(number.into()));
    Expense { user: user.into(), filed: at(number), id, title: format!("expense {number}") }
}

fn item(user: &str, expense: u32, number: u16) -> Item {
    let id = Uuid::from_u128(expense.into());
    Item { owner: user.into(), expense_filed: at(expense), expense: id, number, cents: number.into() }
}

/// Inserts expenses 1 to `count` of two users; the n-th expense has n items.
async fn expenses(store: &Store, count: u32) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Expense>().await?;
    tables.create::<Item>().await?;
    for user in ["u", "u2"] {
        for number in 1..=count {
            let mut transaction = tables.transaction().insert(&expense(user, number));
            for at in 1..=number {
                transaction = transaction.insert(&item(user, number, at.try_into()?));
            }
            transaction.commit().await?;
        }
    }
    store.probe.requests();
    Ok(())
}

fn report(user: &str, number: u32) -> Vec<Report> {
    let items = (1..=u16::try_from(number).expect("few")).map(|at| Report::Item(item(user, number, at)));
    std::iter::once(Report::Expense(expense(user, number))).chain(items).collect()
}

async fn items_are_narrowed_by_their_own_key_part(store: &Store) -> Result<()> {
    expenses(store, 5).await?;
    let items = || Item::by_key("u").eq(at(5)).eq(Uuid::from_u128(5));
    let numbers = |found: Vec<Stored<Item>>| found.iter().map(|item| item.number).collect::<Vec<_>>();
    assert_eq!(numbers(items().all(&store.tables).await?), [1, 2, 3, 4, 5]);
    assert_eq!(numbers(items().range(2..4).all(&store.tables).await?), [2, 3]);
    assert_eq!(numbers(items().range(..=2).all(&store.tables).await?), [1, 2]);
    Ok(())
}

async fn a_group_is_read_by_one_query(store: &Store) -> Result<()> {
    expenses(store, 3).await?;
    let (tables, probe) = (&store.tables, &store.probe);
    let all = Report::by_key("u").all(tables).await?;
    assert_eq!(all, [3, 2, 1].into_iter().flat_map(|number| report("u", number)).collect::<Vec<_>>());
    assert_eq!(Report::by_key("u").first(tables).await?, Some(Report::Expense(expense("u", 3))));
    assert_eq!(Report::by_key("u").count(tables).await?, 9);
    let two = Report::by_key("u").eq(at(2)).eq(ExpenseId(Uuid::from_u128(2)));
    assert_eq!(two.clone().all(tables).await?, report("u", 2));
    assert_eq!(two.clone().take(2).all(tables).await?, report("u", 2)[..2]);
    assert_eq!(two.count(tables).await?, 3);
    assert_eq!(probe.requests(), 6);
    let none = Report::by_key("nobody").all(tables).await?;
    assert_eq!(none, []);
    // `eq` may narrow by the first of two key parts alone.
    assert_eq!(Report::by_key(&String::from("u2")).eq(at(1)).all(tables).await?, report("u2", 1));
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Folders", kind)]
struct Folder {
    #[partition_key]
    user: String,
    #[row_key]
    id: u8,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Folders", kind)]
struct File {
    #[partition_key]
    user: String,
    #[row_key]
    folder: u8,
    #[row_key]
    name: String,
}

/// Item with the same key shape as a file; only its kind differs.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Folders", kind)]
struct Link {
    #[partition_key]
    user: String,
    #[row_key]
    folder: u8,
    #[row_key]
    target: String,
}

/// Entity in the same partition that belongs to no group.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Folders", kind)]
struct Stray {
    #[partition_key]
    user: String,
    #[row_key]
    key: String,
}

#[derive(EntityGroup, Clone, Debug, PartialEq)]
enum Tree {
    Folder(Folder),
    File(File),
    Link(Link),
}

fn names(found: &[Tree]) -> Vec<String> {
    let name = |tree: &Tree| match tree {
        Tree::Folder(folder) => folder.id.to_string(),
        Tree::File(file) => format!("{}/{}", file.folder, file.name),
        Tree::Link(link) => format!("{}>{}", link.folder, link.target),
    };
    found.iter().map(name).collect()
}

async fn tree(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Folder>().await?;
    for id in [1, 10, 11, 100, 101] {
        tables.insert(&Folder { user: "u".into(), id }).await?;
        for name in ["", " ", "_", "1_2", "z"] {
            tables.insert(&File { user: "u".into(), folder: id, name: name.into() }).await?;
        }
        tables.insert(&Link { user: "u".into(), folder: id, target: "t".into() }).await?;
    }
    Ok(())
}

fn folder(id: u8) -> Vec<String> {
    let files = ["/", "/ ", "/1_2", "/_", ">t", "/z"].map(|name| format!("{id}{name}"));
    std::iter::once(id.to_string()).chain(files).collect()
}

async fn a_query_of_a_master_returns_its_row_and_its_items(store: &Store) -> Result<()> {
    tree(store).await?;
    for id in [1, 10, 11, 100, 101] {
        assert_eq!(names(&Tree::by_key("u").eq(id).all(&store.tables).await?), folder(id));
    }
    assert_eq!(Tree::by_key("u").eq(2).all(&store.tables).await?, []);
    Ok(())
}

async fn ranges_include_all_items_of_a_master(store: &Store) -> Result<()> {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    tree(store).await?;
    for (bounds, expected) in [
        ((Included(10), Excluded(100)), vec![10, 11]),
        ((Included(10), Included(100)), vec![10, 11, 100]),
        ((Excluded(10), Included(100)), vec![11, 100]),
        ((Excluded(10), Unbounded), vec![11, 100, 101]),
        ((Unbounded, Included(10)), vec![1, 10]),
        ((Unbounded, Excluded(10)), vec![1]),
        ((Unbounded, Unbounded), vec![1, 10, 11, 100, 101]),
    ] {
        let found = Tree::by_key("u").range(bounds).all(&store.tables).await?;
        let expected: Vec<_> = expected.into_iter().flat_map(folder).collect();
        assert_eq!(names(&found), expected, "{bounds:?}");
    }
    Ok(())
}

async fn a_group_with_kinds_skips_other_kinds(store: &Store) -> Result<()> {
    tree(store).await?;
    let tables = &store.tables;
    for key in ["001", "001_x", "0010", "001 ", "001`", "zzz"] {
        tables.upsert(&Stray { user: "u".into(), key: key.into() }).await?;
    }
    // One of them replaced the folder's own row.
    assert_eq!(names(&Tree::by_key("u").eq(1).all(tables).await?), folder(1)[1..]);
    assert_eq!(Tree::by_key("u").count(tables).await?, 5 * 7 - 1);
    assert_eq!(names(&Tree::by_key("u").take(2).all(tables).await?), folder(1)[1..3]);
    assert_eq!(Tree::by_key("u").eq(1).explain().cost(), "range");
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Levels")]
struct Level1 {
    #[partition_key]
    user: String,
    #[row_key]
    a: i16,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Levels")]
struct Level2 {
    #[partition_key]
    user: String,
    #[row_key]
    a: i16,
    #[row_key]
    b: bool,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Levels")]
struct Level3 {
    #[partition_key]
    user: String,
    #[row_key]
    a: i16,
    #[row_key]
    b: bool,
    #[row_key]
    c: String,
}

#[derive(EntityGroup, Clone, Debug, PartialEq)]
enum Levels {
    One(Level1),
    Three(Level3),
    Two(Level2),
}

async fn variants_without_kinds_are_distinguished_by_key_shape(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Level1>().await?;
    let mut expected = Vec::new();
    let user = || String::from("u");
    for a in [-300, -1, 0, 1, 300] {
        let one = Level1 { user: user(), a };
        tables.insert(&one).await?;
        expected.push(Levels::One(one));
        for b in [false, true] {
            let two = Level2 { user: user(), a, b };
            tables.insert(&two).await?;
            expected.push(Levels::Two(two));
            for c in ["", " x", "1", "1_2", "_"] {
                let three = Level3 { user: user(), a, b, c: c.into() };
                tables.insert(&three).await?;
                expected.push(Levels::Three(three));
            }
        }
    }
    assert_eq!(Levels::by_key("u").all(tables).await?, expected);
    Ok(())
}

async fn ranges_over_signed_and_descending_masters_include_their_items(store: &Store) -> Result<()> {
    variants_without_kinds_are_distinguished_by_key_shape(store).await?;
    let tables = &store.tables;
    for (found, expected) in [
        (Levels::by_key("u").eq(-1).all(tables).await?, 13),
        (Levels::by_key("u").range(..0).all(tables).await?, 26),
        (Levels::by_key("u").range(-1..=0).all(tables).await?, 26),
    ] {
        assert_eq!(found.len(), expected, "{found:?}");
        assert!(matches!(found[0], Levels::One(_)));
    }
    expenses(store, 4).await?;
    let window = Report::by_key("u").range(at(2)..at(4)).all(tables).await?;
    assert_eq!(window, [report("u", 3), report("u", 2)].concat());
    let after = Report::by_key("u").range((std::ops::Bound::Excluded(at(2)), std::ops::Bound::Unbounded));
    assert_eq!(after.all(tables).await?, [report("u", 4), report("u", 3)].concat());
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Accounts", row = "details")]
struct Details {
    #[partition_key]
    tenant: u32,
    #[partition_key(lowercase)]
    user: String,
    name: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Accounts")]
struct Login {
    #[partition_key]
    company: u32,
    #[partition_key(lowercase)]
    email: String,
    #[row_key(prefix = "login-")]
    number: u32,
    /// Index whose rows are in another table, so not among those of the group.
    #[index(handle)]
    handle: String,
}

#[derive(EntityGroup, Debug, PartialEq)]
enum Account {
    Details(Details),
    Login(Login),
}

async fn a_group_may_have_a_constant_master_and_a_composite_partition(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Details>().await?;
    tables.create::<Login>().await?;
    let details = Details { tenant: 1, user: "Ann".into(), name: "Ann A.".into() };
    let login = Login { company: 1, email: "ANN".into(), number: 5, handle: "ann".into() };
    tables.insert(&details).await?;
    tables.insert(&login).await?;
    tables.insert(&Login { company: 2, ..login.clone() }).await?;
    let found = Account::by_key((1, "aNN")).all(tables).await?;
    assert_eq!(found, [Account::Details(details), Account::Login(login)]);
    Ok(())
}

#[derive(EntityGroup)]
enum Editable {
    Expense(Stored<Expense>),
    Item(Stored<Item>),
}

async fn stored_variants_can_be_written(store: &Store) -> Result<()> {
    expenses(store, 2).await?;
    let tables = &store.tables;
    for member in Editable::by_key("u").eq(at(2)).all(tables).await? {
        match member {
            Editable::Expense(mut expense) => {
                expense.title = "changed".into();
                tables.update(&mut expense).await?;
            }
            Editable::Item(item) => tables.delete(&item).await?,
        }
    }
    let rest = Report::by_key("u").eq(at(2)).all(tables).await?;
    assert_eq!(rest, [Report::Expense(Expense { title: "changed".into(), ..expense("u", 2) })]);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Owners", kind)]
struct Owner {
    #[partition_key]
    city: String,
    #[row_key(prefix = "id-")]
    id: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Owners", kind)]
struct Dog {
    #[partition_key]
    city: String,
    #[row_key(prefix = "id-")]
    owner: u32,
    #[row_key]
    id: u32,
    #[index(name, same_partition)]
    name: String,
    #[index(chip, table = "Chips", unique)]
    chip: u32,
}

#[derive(EntityGroup, Clone, Debug, PartialEq)]
enum Household {
    Owner(Owner),
    Dog(Dog),
}

async fn pending_members_are_not_returned(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Owner>().await?;
    tables.create::<Dog>().await?;
    let owner = Owner { city: "Bern".into(), id: 1 };
    let dog = |id: u32| Dog { city: "Bern".into(), owner: 1, id, name: format!("dog {id}"), chip: id };
    tables.insert(&owner).await?;
    for id in 1..=3 {
        tables.insert(&dog(id)).await?;
    }
    let mark = backend::Action::Merge(
        [("IndexPending", Value::Guid(Guid::from_bytes([7; 16])))].into_iter().collect(),
        backend::IfMatch::Any,
    );
    let operations = vec![backend::Operation { row_key: "id-0000000001_0000000002".into(), action: mark }];
    let group = backend::Group { table: "Owners".into(), partition_key: "Bern".into(), operations };
    store.backend.execute_group(&group).await?;
    let expected = [Household::Owner(owner), Household::Dog(dog(1)), Household::Dog(dog(3))];
    // The rows of the index are not among them either.
    assert_eq!(Household::by_key("Bern").all(tables).await?, expected);
    assert_eq!(Household::by_key("Bern").eq(1).all(tables).await?, expected);
    assert_eq!(Household::by_key("Bern").eq(1).count(tables).await?, 3);
    assert_eq!(Household::by_key("Bern").take(3).all(tables).await?, expected);
    Ok(())
}

async fn a_group_is_read_in_pages_and_as_a_stream(store: &Store) -> Result<()> {
    expenses(store, 4).await?;
    let tables = &store.tables;
    let query = || Report::by_key("u").range(at(2)..);
    let expected: Vec<_> = [4, 3, 2].into_iter().flat_map(|number| report("u", number)).collect();
    for size in [1, 2, 5, 12, 20] {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = query().page(tables, size, cursor.as_deref()).await?;
            found.extend(page.entities);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "pages of {size}");
    }
    assert_eq!(query().stream(tables).try_collect::<Vec<_>>().await?, expected);
    Ok(())
}

async fn a_row_that_fits_no_variant_is_an_error(store: &Store) -> Result<()> {
    expenses(store, 1).await?;
    let action = backend::Action::Insert(table_runtime::row::Properties::default());
    let operations = vec![backend::Operation { row_key: "9".into(), action }];
    let group = backend::Group { table: "Expenses".into(), partition_key: "u".into(), operations };
    store.backend.execute_group(&group).await?;
    let error = Report::by_key("u").all(&store.tables).await.expect_err("no key of the group");
    assert!(matches!(error, Error::Key(_)) && error.to_string().contains("Expenses"), "{error}");
    Ok(())
}

macro_rules! in_site {
    ($($name:ident { $($fields:tt)* })*) => {$(
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = "Sites")]
        struct $name {
            #[partition_key]
            country: String,
            #[partition_key(lowercase)]
            city: String,
            #[partition_key(pad = 2)]
            floor: u8,
            #[partition_key]
            offset: i8,
            #[partition_key]
            open: bool,
            #[partition_key(uppercase)]
            wing: String,
            $($fields)*
        }
    )*};
}

in_site! {
    Room { #[row_key] number: u16 }
    Desk { #[row_key] room: u16, #[row_key] number: u16 }
}

#[derive(EntityGroup, Debug, PartialEq)]
enum Site {
    Room(Room),
    Desk(Desk),
}

async fn a_groups_partition_key_may_have_six_parts(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Room>().await?;
    let (country, city, wing) = (String::from("ch"), String::from("Bern"), String::from("a b"));
    let room = Room { country, city, floor: 3, offset: -1, open: true, wing, number: 7 };
    let Room { country, city, wing, .. } = room.clone();
    let desk = Desk { country, city, floor: 3, offset: -1, open: true, wing, room: 7, number: 1 };
    tables.transaction().insert(&room).insert(&desk).commit().await?;
    tables.insert(&Room { wing: "A".into(), ..room.clone() }).await?;
    let found = Site::by_key(("ch", "BERN", 3, -1, true, "A b")).eq(7).all(tables).await?;
    assert_eq!(found, [Site::Room(room), Site::Desk(desk)]);
    assert_eq!(Site::by_key(("ch", "BERN", 3, -1, false, "A b")).count(tables).await?, 0);
    Ok(())
}

macro_rules! many_kinds {
    ($($kind:ident)*) => {
        $(
            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table(name = "Kinds", kind)]
            struct $kind {
                #[partition_key]
                user: String,
                #[row_key]
                id: u32,
            }
        )*

        /// Group with more kinds than a filter can compare.
        #[derive(EntityGroup, Clone, Debug, PartialEq)]
        enum Kinds {
            $($kind($kind)),*
        }

        fn kinds(user: &str) -> Vec<Kinds> {
            let mut ids = 0..;
            let mut id = || ids.next().unwrap_or_default();
            vec![$(Kinds::$kind($kind { user: user.into(), id: id() })),*]
        }

        async fn insert_kinds(store: &Store) -> Result<()> {
            for kind in kinds("u") {
                match kind {
                    $(Kinds::$kind(entity) => store.tables.insert(&entity).await?,)*
                };
            }
            Ok(())
        }
    };
}

many_kinds!(One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve Thirteen Fourteen);

/// Entity in the same partition that belongs to no group.
#[derive(TableEntity)]
#[table(name = "Kinds", kind)]
struct Other {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

async fn a_group_may_have_more_kinds_than_a_filter_compares(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<One>().await?;
    insert_kinds(store).await?;
    for id in [100, 101, 102] {
        tables.insert(&Other { user: "u".into(), id }).await?;
    }
    assert_eq!(Kinds::by_key("u").all(tables).await?, kinds("u"));
    assert_eq!(Kinds::by_key("u").range(3..).take(5).all(tables).await?, kinds("u")[3..8]);
    assert_eq!(Kinds::by_key("u").eq(13).all(tables).await?, kinds("u")[13..]);
    assert_eq!(Kinds::by_key("u").eq(100).all(tables).await?, []);
    assert_eq!(Kinds::by_key("u").count(tables).await?, 14);
    assert_eq!(Kinds::by_key("u").range(12..).count(tables).await?, 2);
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = Kinds::by_key("u").page(tables, 4, cursor.as_deref()).await?;
        found.extend(page.entities);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, kinds("u"));
    Ok(())
}
