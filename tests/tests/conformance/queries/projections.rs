//! Projections: some of an entity's fields, read by every kind of query.

use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use table_runtime::{
    Guid, Projection, TableEntity, Tables, Value,
    backend::{
        Action, Backend, BackendExt, BoxFuture, Continuation, Description, Group, IfMatch, Reach, ReadRequest,
        ReadTarget, Reader, StoreView, TableRequest, Written,
    },
};
use tests::{isolated::Isolated, stores::Store};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::fixtures::{Article, Email, Everything, Legacy, Note, Post, Settings, Standing, UserId, at};

crate::conformance! {
    rows_and_points_give_the_fields
    only_the_properties_of_the_projection_are_requested
    parts_are_requested_only_with_their_field
    fields_are_read_as_the_entity_stores_them
    fields_are_read_from_keys_or_properties
    projections_can_be_filtered_paged_and_counted
    projections_skip_other_kinds_and_pending_entities
    an_index_that_holds_the_fields_is_read_alone
    entities_are_read_if_the_index_lacks_a_field
    cross_partition_index_rows_are_returned_unchecked_on_request
    the_key_of_an_index_row_decides_and_not_a_property_that_was_added
}

#[derive(Projection, Clone, Debug, PartialEq)]
#[projection(of = Post)]
struct Headline {
    title: String,
    posted: OffsetDateTime,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Post)]
struct PostId {
    id: u32,
    author: String,
}

/// Backend that records which properties are requested.
#[derive(Debug)]
struct Recording {
    inner: Isolated,
    requested: Arc<Mutex<Vec<Option<Vec<&'static str>>>>>,
}

impl Recording {
    fn record(&self, select: Option<&[&'static str]>) {
        self.requested.lock().expect("no panic").push(select.map(<[_]>::to_vec));
    }
}

impl Backend for Recording {
    fn describe(&self) -> Description<'_> {
        Description { reach: Reach::Partition, ..self.inner.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, table_runtime::Result<Vec<String>>> {
        self.inner.tables(request)
    }

    fn read<'a>(
        &'a self,
        request: ReadRequest<'a>,
        reader: Reader<'a>,
    ) -> BoxFuture<'a, table_runtime::Result<Option<Continuation>>> {
        self.record(match request.target {
            ReadTarget::Row { select, .. } => select,
            ReadTarget::Page { scan, .. } => scan.select.as_deref(),
        });
        self.inner.read(request, reader)
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        self.inner.execute(groups)
    }

    fn view(&self, _: StoreView) -> table_runtime::Result<Option<Arc<dyn Backend>>> {
        Ok(None)
    }
}

async fn posts(store: &Store) -> Result<()> {
    store.tables.create::<Post>().await?;
    for number in 0..5 {
        store.tables.insert(&Post::numbered("Marcus", number)).await?;
    }
    Ok(())
}

fn headline(number: u32) -> Headline {
    Headline { title: format!("Post {number}"), posted: at(number) }
}

async fn rows_and_points_give_the_fields(store: &Store) -> Result<()> {
    posts(store).await?;
    let tables = &store.tables;
    let all = Post::by_key("Marcus").select::<Headline>().all(tables).await?;
    assert_eq!(all, [4, 3, 2, 1, 0].map(headline));
    let query = || Post::by_key("Marcus").range(at(1)..at(4)).select::<Headline>();
    assert_eq!(query().first(tables).await?, Some(headline(3)));
    assert_eq!(query().stream(tables).try_collect::<Vec<_>>().await?, [3, 2, 1].map(headline));
    // A projection can be narrowed further, also to a point.
    let narrowed = Post::by_key("Marcus").select::<Headline>().eq(at(2));
    assert_eq!(narrowed.clone().all(tables).await?, [headline(2)]);
    assert_eq!(narrowed.eq(2).get(tables).await?, Some(headline(2)));
    let point = |id| Post::key("Marcus", at(2), id).select::<Headline>();
    assert_eq!(point(2).get(tables).await?, Some(headline(2)));
    assert_eq!(point(3).get(tables).await?, None);
    assert!(point(2).exists(tables).await? && !point(3).exists(tables).await?);
    assert_eq!(tables.get_many([point(2), point(3)]).await?, [Some(headline(2)), None]);
    Ok(())
}

async fn only_the_properties_of_the_projection_are_requested(store: &Store) -> Result<()> {
    posts(store).await?;
    store.tables.create::<Everything>().await?;
    let requested = Arc::new(Mutex::new(Vec::new()));
    let tables = Tables::new(Recording { inner: store.backend.clone(), requested: requested.clone() });
    // `IndexPending`, the mark of an uncommitted insert, and the version are requested too.
    let requested = || std::mem::take(&mut *requested.lock().expect("no panic"));
    Post::by_key("Marcus").select::<Headline>().all(&tables).await?;
    assert_eq!(requested(), [Some(vec!["Title", "Posted", "IndexPending", "EntityVersion"])]);
    Post::key("Marcus", at(1), 1).select::<Headline>().get(&tables).await?;
    assert_eq!(requested(), [Some(vec!["Title", "Posted", "IndexPending", "EntityVersion"])]);
    let ids = Post::by_key("Marcus").take(1).select::<PostId>().all(&tables).await?;
    assert_eq!(ids, [PostId { id: 4, author: "Marcus".to_owned() }]);
    assert_eq!(requested(), [Some(vec!["IndexPending", "EntityVersion"])]);
    // The kind is part of a range's filter. A point requests it instead.
    let user = UserId(Uuid::nil());
    Everything::by_key(user).select::<Odds>().all(&tables).await?;
    assert_eq!(
        requested(),
        [Some(vec!["Settings", "MaybeHuge", "AddedLater", "class", "Email", "Maybe", "IndexPending", "EntityVersion"])]
    );
    Everything::key(user, Standing::Active).select::<Odds>().get(&tables).await?;
    assert_eq!(
        requested(),
        [Some(vec![
            "Settings",
            "MaybeHuge",
            "AddedLater",
            "class",
            "Email",
            "Maybe",
            "EntityType",
            "IndexPending",
            "EntityVersion"
        ])]
    );
    Ok(())
}

#[derive(TableEntity)]
#[table(name = "Novels", partition = "all")]
struct Novel {
    #[row_key]
    id: u32,
    title: String,
    #[property(large)]
    body: String,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Novel)]
struct NovelTitle {
    title: String,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Novel)]
struct NovelBody {
    body: String,
}

async fn parts_are_requested_only_with_their_field(store: &Store) -> Result<()> {
    store.tables.create::<Novel>().await?;
    let (title, body) = ("Long".to_owned(), "x".repeat(100_000));
    store.tables.insert(&Novel { id: 1, title: title.clone(), body: body.clone() }).await?;
    let requested = Arc::new(Mutex::new(Vec::new()));
    let tables = Tables::new(Recording { inner: store.backend.clone(), requested: requested.clone() });
    let requested = || std::mem::take(&mut *requested.lock().expect("no panic"));
    assert_eq!(Novel::by_key().select::<NovelTitle>().all(&tables).await?, [NovelTitle { title }]);
    assert_eq!(requested(), [Some(vec!["Title", "IndexPending", "EntityVersion"])]);
    assert_eq!(Novel::key(1).select::<NovelBody>().get(&tables).await?, Some(NovelBody { body }));
    let asked = requested().remove(0).expect("a projection");
    assert_eq!(asked[..4], ["Body", "Body_Parts", "Body_2", "Body_3"]);
    assert_eq!(asked[16..], ["Body_16", "IndexPending", "EntityVersion"]);
    Ok(())
}

/// Projection of fields with their own encodings and names, and of both keys.
#[derive(Projection, Debug, PartialEq)]
#[projection(of = Everything)]
struct Odds {
    settings: Settings,
    maybe_huge: Option<u64>,
    added_later: u32,
    r#type: String,
    email: Email,
    standing: Standing,
    user: UserId,
    maybe: Option<i64>,
}

fn everything(user: u128) -> Everything {
    Everything {
        user: UserId(Uuid::from_u128(user)),
        standing: Standing::LockedOut,
        flag: true,
        tiny: 1,
        small: 2,
        int: 3,
        long: 4,
        byte: 5,
        word: 6,
        dword: 7,
        single: 8.0,
        double: 9.0,
        text: "text".to_owned(),
        bytes: vec![1, 2],
        guid: table_runtime::Guid::from_bytes([1; 16]),
        uuid: Uuid::nil(),
        time: at(1),
        chrono: chrono::DateTime::UNIX_EPOCH,
        jiff: jiff::Timestamp::UNIX_EPOCH,
        system: std::time::SystemTime::UNIX_EPOCH,
        email: Email("a@b.c".to_owned()),
        other: Standing::Active,
        maybe: None,
        maybe_time: None,
        settings: Settings { theme: "dark".to_owned(), ..Settings::default() },
        maybe_settings: None,
        huge: 10,
        maybe_huge: Some(u64::MAX),
        added_later: 11,
        r#type: "class".to_owned(),
        forgotten: 12,
    }
}

async fn fields_are_read_as_the_entity_stores_them(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Everything>().await?;
    tables.insert(&everything(1)).await?;
    let expected = Odds {
        settings: everything(1).settings,
        maybe_huge: Some(u64::MAX),
        added_later: 11,
        r#type: "class".to_owned(),
        email: Email("a@b.c".to_owned()),
        standing: Standing::LockedOut,
        user: UserId(Uuid::from_u128(1)),
        maybe: None,
    };
    let found = Everything::by_key(expected.user).select::<Odds>().all(tables).await?;
    assert_eq!(found, [expected]);
    Ok(())
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Legacy)]
struct Middle {
    number: u16,
    name: String,
    area: String,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Article)]
struct Title {
    title: String,
}

async fn fields_are_read_from_keys_or_properties(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Legacy>().await?;
    let legacy = Legacy { area: "a".into(), name: "n_/ 1".into(), number: 7, note: "x_y".into() };
    tables.insert(&legacy).await?;
    let middle = Legacy::by_key("a").select::<Middle>().first(tables).await?;
    assert_eq!(middle, Some(Middle { number: 7, name: "n_/ 1".into(), area: "a".into() }));
    // A lossy key does not hold the whole value, so the property is read.
    tables.create::<Article>().await?;
    tables.insert(&Article { title: "Metabolise".into(), words: 1 }).await?;
    let titles = Article::by_key().starts_with("meta").select::<Title>().all(tables).await?;
    assert_eq!(titles, [Title { title: "Metabolise".into() }]);
    let scanned = Article::scan().select::<Title>().all(tables).await?;
    assert_eq!(scanned, titles);
    Ok(())
}

async fn projections_can_be_filtered_paged_and_counted(store: &Store) -> Result<()> {
    posts(store).await?;
    let tables = &store.tables;
    let before = || Post::by_key("Marcus").filter(|post| post.likes.ge(2)).select::<Headline>();
    assert_eq!(before().all(tables).await?, [4, 3, 2].map(headline));
    let after = || Post::by_key("Marcus").select::<Headline>().filter(|post| post.likes.ge(2)).take(2);
    assert_eq!(after().all(tables).await?, [4, 3].map(headline));
    assert_eq!((before().count(tables).await?, after().count(tables).await?), (3, 2));
    let page = before().page(tables, 2, None).await?;
    assert_eq!(page.entities, [4, 3].map(headline));
    let page = before().page(tables, 2, page.next.as_deref()).await?;
    assert_eq!((page.entities, page.next), (vec![headline(2)], None));
    Ok(())
}

/// Entity with a kind and with indexes, so that it may be pending.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Employees", kind)]
#[index(street, partition(street(lowercase)), row(number, name), include(salary))]
struct Employee {
    #[partition_key]
    department: String,
    #[row_key]
    id: u32,
    #[index(name, same_partition, include(salary, joined))]
    #[index(names, same_partition)]
    #[index(folded, lowercase, same_partition, include(salary))]
    name: String,
    #[index(badge, same_partition, unique, include(salary))]
    badge: Option<u32>,
    #[index(room, same_partition, copy)]
    room: String,
    #[index(city, include(salary))]
    city: Option<String>,
    #[index(country, copy)]
    country: String,
    #[index(email, table = "Emails", unique)]
    email: Email,
    street: String,
    number: Option<u16>,
    #[property(text, rename = "Pay")]
    salary: u128,
    joined: i64,
    likes: u32,
}

fn employee(id: u32) -> Employee {
    Employee {
        department: "Sales".to_owned(),
        id,
        name: format!("S mith!_{id}"),
        badge: Some(id + 100),
        room: "r1".to_owned(),
        city: Some("Bern".to_owned()),
        country: "CH".to_owned(),
        email: Email(format!("{id}@x.y")),
        street: "Aare".to_owned(),
        number: Some(7),
        salary: u128::from(id) << 70,
        joined: 2010 + i64::from(id),
        likes: id,
    }
}

macro_rules! projections {
    ($($name:ident { $($field:ident: $ty:ty),* })*) => {$(
        #[derive(Projection, Debug, PartialEq)]
        #[projection(of = Employee)]
        struct $name { $($field: $ty),* }

        impl From<Employee> for $name {
            fn from(employee: Employee) -> Self {
                Self { $($field: employee.$field),* }
            }
        }
    )*};
}

projections! {
    Pay { salary: u128 }
    Named { salary: u128, name: String, id: u32, department: String }
    Badge { badge: Option<u32>, salary: u128 }
    Dated { salary: u128, joined: i64 }
    Lived { city: Option<String>, id: u32, salary: u128 }
    Address { number: Option<u16>, name: String, salary: u128 }
    Mail { email: Email, id: u32 }
    Keys { id: u32, department: String }
    Liked { likes: u32, id: u32, name: String }
}

async fn employees(store: &Store) -> Result<()> {
    store.tables.create::<Employee>().await?;
    for id in 1..=3 {
        store.tables.insert(&employee(id)).await?;
    }
    store.probe.requests();
    Ok(())
}

async fn projections_skip_other_kinds_and_pending_entities(store: &Store) -> Result<()> {
    employees(store).await?;
    let tables = &store.tables;
    let patch = |id: u32, name: &'static str, value: table_runtime::Value| {
        use table_runtime::backend::{Action, IfMatch, Operation};
        let action = Action::Merge([(name, value)].into_iter().collect(), IfMatch::Any);
        let operations = vec![Operation { row_key: format!("id-{id:010}"), action }];
        Group { table: "Employees".into(), partition_key: "Sales".to_owned(), operations }
    };
    store.backend.execute_group(&patch(1, "IndexPending", Value::Guid(Guid::from_bytes([7; 16])))).await?;
    store.backend.execute_group(&patch(2, "EntityType", table_runtime::Value::String("Other".into()))).await?;
    let query = || Employee::by_key("Sales").select::<Pay>();
    assert_eq!(query().all(tables).await?, [employee(3).into()]);
    assert_eq!((query().count(tables).await?, query().take(1).count(tables).await?), (1, 1));
    for id in [1, 2] {
        assert_eq!(Employee::key("Sales", id).select::<Pay>().get(tables).await?, None);
        assert_eq!(Employee::by_email(&Email(format!("{id}@x.y"))).select::<Pay>().get(tables).await?, None);
    }
    assert_eq!(Employee::by_city("Bern").select::<Lived>().all(tables).await?, [employee(3).into()]);
    tables.create::<Everything>().await?;
    let user = UserId(Uuid::nil());
    tables.insert(&Note { user, number: 1, text: "record".into() }).await?;
    assert_eq!(Everything::by_key(user).select::<Odds>().all(tables).await?, []);
    Ok(())
}

async fn an_index_that_holds_the_fields_is_read_alone(store: &Store) -> Result<()> {
    employees(store).await?;
    let (tables, probe) = (&store.tables, &store.probe);
    macro_rules! alone {
        ($projection:ident, $query:expr) => {
            let query = || $query.select::<$projection>();
            let expected: Vec<$projection> = (1..=3).map(|id| employee(id).into()).collect();
            assert_eq!(query().all(tables).await?, expected, stringify!($projection of $query));
            assert_eq!(query().explain().cost(), "range");
            assert_eq!(query().count(tables).await?, 3);
            assert_eq!(query().count_unchecked(tables).await?, 3);
            let page = query().page(tables, 2, None).await?;
            let rest = query().page(tables, 2, page.next.as_deref()).await?;
            assert_eq!((page.entities.len(), rest.entities, rest.next), (2, vec![employee(3).into()], None));
            assert_eq!(probe.requests(), 5, "{}", stringify!($projection of $query));
        };
    }
    alone!(Pay, Employee::by_name("Sales"));
    alone!(Named, Employee::by_name("Sales"));
    alone!(Dated, Employee::by_name("Sales"));
    alone!(Keys, Employee::by_names("Sales"));
    alone!(Pay, Employee::by_folded("Sales"));
    alone!(Badge, Employee::by_badge("Sales"));
    // A filter over an included property needs no entity.
    let filtered = Employee::by_name("Sales").filter(|employee| employee.joined.ge(2012)).select::<Pay>();
    assert_eq!(filtered.explain().tables().collect::<Vec<_>>(), ["Employees"]);
    assert_eq!(filtered.all(tables).await?, [employee(2).into(), employee(3).into()]);
    assert_eq!(probe.requests(), 1);
    let point = Employee::by_badge("Sales").eq(102).select::<Badge>();
    assert_eq!(point.explain().requests(), 1);
    assert_eq!(point.clone().get(tables).await?, Some(employee(2).into()));
    assert!(point.exists(tables).await?);
    assert_eq!(probe.requests(), 2);
    // Copies hold every property.
    assert_eq!(Employee::by_room("Sales").select::<Named>().first(tables).await?, Some(employee(1).into()));
    assert_eq!(Employee::by_country("CH").select::<Lived>().take(1).all(tables).await?, [employee(1).into()]);
    let liked = Employee::by_country("CH").filter(|employee| employee.likes.ge(3)).select::<Liked>();
    assert_eq!(liked.all(tables).await?, [employee(3).into()]);
    assert_eq!(probe.requests(), 3);
    Ok(())
}

async fn entities_are_read_if_the_index_lacks_a_field(store: &Store) -> Result<()> {
    employees(store).await?;
    let (tables, probe) = (&store.tables, &store.probe);
    macro_rules! entities_read {
        ($projection:ident, $query:expr) => {
            let expected: Vec<$projection> = (1..=3).map(|id| employee(id).into()).collect();
            assert_eq!($query.select::<$projection>().all(tables).await?, expected, stringify!($projection of $query));
            assert_eq!(probe.requests(), 1 + 3, "{}", stringify!($projection of $query));
        };
    }
    // The index does not hold all fields, or folds one, or is cross-partition.
    entities_read!(Liked, Employee::by_name("Sales"));
    entities_read!(Named, Employee::by_names("Sales"));
    entities_read!(Named, Employee::by_folded("Sales"));
    entities_read!(Pay, Employee::by_city("Bern"));
    let filtered = Employee::by_name("Sales").select::<Pay>().filter(|employee| employee.likes.ge(3));
    assert_eq!(filtered.all(tables).await?, [employee(3).into()]);
    assert_eq!(probe.requests(), 1 + 3);
    let mail = Email("2@x.y".to_owned());
    assert_eq!(Employee::by_email(&mail).select::<Mail>().get(tables).await?, Some(employee(2).into()));
    assert_eq!(probe.requests(), 2);
    Ok(())
}

async fn cross_partition_index_rows_are_returned_unchecked_on_request(store: &Store) -> Result<()> {
    employees(store).await?;
    let (tables, probe) = (&store.tables, &store.probe);
    macro_rules! unchecked {
        ($projection:ident, $query:expr) => {
            let expected: Vec<$projection> = (1..=3).map(|id| employee(id).into()).collect();
            let query = $query.select_unchecked::<$projection>();
            assert_eq!(query.explain().tables().count(), 1);
            assert_eq!(query.all(tables).await?, expected, stringify!($projection of $query));
            assert_eq!(probe.requests(), 1, "{}", stringify!($projection of $query));
        };
    }
    unchecked!(Pay, Employee::by_city("Bern"));
    unchecked!(Lived, Employee::by_city("Bern"));
    unchecked!(Address, Employee::by_street("AARE"));
    let mail = Email("2@x.y".to_owned());
    assert_eq!(Employee::by_email(&mail).select_unchecked::<Mail>().get(tables).await?, Some(employee(2).into()));
    assert_eq!(probe.requests(), 1);
    // Fields that the index rows do not hold are still read from the entities.
    assert_eq!(Employee::by_city("Bern").select_unchecked::<Liked>().all(tables).await?.len(), 3);
    assert_eq!(probe.requests(), 1 + 3);
    // A crash left the index row of a deleted entity.
    let removed = Group {
        table: "Employees".into(),
        partition_key: "Sales".to_owned(),
        operations: vec![table_runtime::backend::Operation {
            row_key: "id-0000000002".to_owned(),
            action: table_runtime::backend::Action::Delete(table_runtime::backend::IfMatch::Any),
        }],
    };
    store.backend.execute_group(&removed).await?;
    assert_eq!(Employee::by_city("Bern").select::<Pay>().all(tables).await?.len(), 2);
    assert_eq!(Employee::by_city("Bern").select_unchecked::<Pay>().all(tables).await?.len(), 3);
    Ok(())
}

/// Another program has added a property to the rows of an index. The key of the row says what it is.
async fn the_key_of_an_index_row_decides_and_not_a_property_that_was_added(store: &Store) -> Result<()> {
    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(name = "Tags")]
    struct Tag {
        #[partition_key]
        group: String,
        #[row_key]
        id: u32,
        #[index(here, same_partition)]
        #[index(elsewhere)]
        name: String,
    }

    #[derive(Projection, Debug, PartialEq)]
    #[projection(of = Tag)]
    struct Name {
        name: String,
    }

    let tables = &store.tables;
    tables.create::<Tag>().await?;
    tables.insert(&Tag { group: "a".into(), id: 1, name: "one".into() }).await?;
    for added in ["one", "other"] {
        for table in ["Tags", "TagsByElsewhere"] {
            for row in store.rows(table).await?.into_iter().filter(|row| !row.row_key.starts_with("id-")) {
                let properties = [("Name", Value::String(added.to_owned()))].into_iter().collect();
                let keys = (&*row.partition_key, &*row.row_key);
                store.write(table, keys, Action::Merge(properties, IfMatch::Any)).await?;
            }
        }
        let here = Tag::by_here("a").select::<Name>().all(tables).await;
        let elsewhere = Tag::by_elsewhere("one").select_unchecked::<Name>().all(tables).await;
        for (index, found) in [("here", here), ("elsewhere", elsewhere)] {
            ensure!(found.as_deref().ok() == Some(&[Name { name: "one".into() }]), "{index}: {found:?}");
        }
    }
    Ok(())
}
