//! Entities that expire and entities with a bin, with an index of every scope and content.

use std::{
    ops::Range,
    sync::Arc,
    time::{Duration, SystemTime},
};

use anyhow::Result;
use table_runtime::{
    Projection, Stored, TableEntity, Tables, Ticks,
    backend::{
        Backend, BoxFuture, Clock, Continuation, Description, Group, ReadRequest, Reader, Sleep, StoreView,
        TableRequest, Written,
    },
    testing::{Clocked, Counting, Requests, TestTime},
};
use tests::stores::Store;

/// Entity that expires, with an index in every scope and with every content.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Sessions", expires = until, soft_delete = deleted, allow_scan)]
pub(crate) struct Session {
    #[partition_key]
    pub(crate) tenant: String,
    #[row_key]
    pub(crate) id: u32,
    #[index(name, lowercase, same_partition, unique)]
    #[index(named, same_partition, list)]
    #[index(included, same_partition, include(note))]
    #[index(copied, same_partition, copy)]
    #[index(elsewhere, include(note))]
    #[index(in_table, same_table)]
    #[index(copies, copy, table = "SessionCopies")]
    pub(crate) name: String,
    #[index(email, lowercase, unique)]
    pub(crate) email: Option<String>,
    #[index(tag, each, same_partition)]
    #[index(tagged, each, table = "SessionTags")]
    #[property(json)]
    pub(crate) tags: Vec<String>,
    pub(crate) note: String,
    pub(crate) until: Option<SystemTime>,
    pub(crate) deleted: Option<SystemTime>,
}

/// What the rows of pointers hold.
#[derive(Projection, Debug, PartialEq)]
#[projection(of = Session)]
pub(crate) struct Id {
    pub(crate) id: u32,
}

/// What the rows of `included` hold.
#[derive(Projection, Debug, PartialEq)]
#[projection(of = Session)]
pub(crate) struct Noted {
    pub(crate) id: u32,
    pub(crate) note: String,
}

/// The time at which tests begin.
pub(crate) fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_hours(500_000)
}

/// Returns a moment this many seconds after the start.
pub(crate) fn at(seconds: u64) -> SystemTime {
    start() + Duration::from_secs(seconds)
}

impl Session {
    /// Returns a session that expires so many seconds after the start.
    pub(crate) fn new(id: u32, until: Option<u64>) -> Self {
        Self {
            tenant: "t".into(),
            id,
            name: format!("Name{id}"),
            email: Some(format!("mail{id}@x.org")),
            tags: vec!["all".into(), format!("tag{id}")],
            note: format!("note {id}"),
            until: until.map(at),
            deleted: None,
        }
    }
}

/// A handle of the store with a clock of its own, and the counts of its requests.
pub(crate) fn clocked(store: &Store) -> (Tables, TestTime, Requests) {
    let (backend, time) = Clocked::new(store.backend.clone(), start());
    let (backend, requests) = Counting::new(backend);
    (Tables::new(backend), time, requests)
}

/// A store whose clock shows one time and may show an earlier one, as that of the service after an answer with another date.
#[derive(Debug)]
pub(crate) struct Doubting {
    pub(crate) inner: Arc<dyn Backend>,
    pub(crate) wall: SystemTime,
    pub(crate) earliest: SystemTime,
}

impl Backend for Doubting {
    fn describe(&self) -> Description<'_> {
        Description { clock: self, ..self.inner.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, table_runtime::Result<Vec<String>>> {
        self.inner.tables(request)
    }

    fn read<'a>(
        &'a self,
        request: ReadRequest<'a>,
        reader: Reader<'a>,
    ) -> BoxFuture<'a, table_runtime::Result<Option<Continuation>>> {
        self.inner.read(request, reader)
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        self.inner.execute(groups)
    }

    fn view(&self, _: StoreView) -> table_runtime::Result<Option<Arc<dyn Backend>>> {
        Ok(None)
    }
}

impl Clock for Doubting {
    fn monotonic(&self) -> Duration {
        self.inner.describe().clock.monotonic()
    }

    fn wall(&self) -> Ticks {
        Ticks::from_system(self.wall).expect("a time")
    }

    fn earliest(&self) -> Ticks {
        Ticks::from_system(self.earliest).expect("a time")
    }

    fn sleep(&self, time: Duration, purpose: Sleep) -> BoxFuture<'_, ()> {
        self.inner.describe().clock.sleep(time, purpose)
    }
}

/// Returns the numbers of the sessions that each way to read the table finds.
pub(crate) async fn found(tables: &Tables, ids: Range<u32>) -> Result<Vec<(&'static str, Vec<u32>)>> {
    let stored = |found: Vec<Stored<Session>>| found.iter().map(|session| session.id).collect::<Vec<_>>();
    let projected = |found: Vec<Id>| found.iter().map(|session| session.id).collect::<Vec<_>>();
    let mut found = vec![
        ("by_key", stored(Session::by_key("t").all(tables).await?)),
        ("scan", stored(Session::scan().all(tables).await?)),
        ("select", projected(Session::by_key("t").select::<Id>().all(tables).await?)),
        ("filter", stored(Session::by_key("t").filter(|session| session.note.ge("a")).all(tables).await?)),
        ("tag", stored(Session::by_tag("t").eq("all").all(tables).await?)),
        ("tag, covered", projected(Session::by_tag("t").eq("all").select::<Id>().all(tables).await?)),
        ("tagged", stored(Session::by_tagged("all").all(tables).await?)),
    ];
    let mut pages = (Vec::new(), None);
    loop {
        let page = Session::by_key("t").page(tables, 2, pages.1.as_deref()).await?;
        pages.0.extend(page.iter().map(|session| session.id));
        pages.1 = page.next;
        if pages.1.is_none() {
            break;
        }
    }
    found.push(("pages", pages.0));
    for id in ids {
        for (way, is_found) in ways_to_one(tables, id).await? {
            match found.iter_mut().find(|(other, _)| *other == way) {
                Some((_, ids)) => ids.extend(is_found.then_some(id)),
                None => found.push((way, is_found.then_some(id).into_iter().collect())),
            }
        }
    }
    Ok(found)
}

/// Returns which of the ways to one session find it.
async fn ways_to_one(tables: &Tables, id: u32) -> Result<Vec<(&'static str, bool)>> {
    let (name, lower) = (format!("Name{id}"), format!("name{id}"));
    let key = || Session::key("t", id);
    Ok(vec![
        ("get", key().get(tables).await?.is_some()),
        ("exists", key().exists(tables).await?),
        ("point, select", key().select::<Id>().get(tables).await?.is_some()),
        ("get_many", tables.get_many([key()]).await?[0].is_some()),
        ("name", Session::by_name("t").eq(&name).get(tables).await?.is_some()),
        ("name, exists", Session::by_name("t").eq(&name).exists(tables).await?),
        ("name, covered", Session::by_name("t").eq(&lower).select::<Id>().get(tables).await?.is_some()),
        ("email", Session::by_email(&format!("Mail{id}@x.org")).get(tables).await?.is_some()),
        ("named", Session::by_named("t").eq(&name).all(tables).await?.len() == 1),
        ("included", Session::by_included("t").eq(&name).all(tables).await?.len() == 1),
        ("included, covered", Session::by_included("t").eq(&name).select::<Noted>().all(tables).await?.len() == 1),
        ("included, count", Session::by_included("t").eq(&name).select::<Noted>().count(tables).await? == 1),
        ("copied", Session::by_copied("t").eq(&name).all(tables).await?.len() == 1),
        ("copied, count", Session::by_copied("t").eq(&name).count(tables).await? == 1),
        ("elsewhere", Session::by_elsewhere(&name).all(tables).await?.len() == 1),
        ("in_table", Session::by_in_table(&name).all(tables).await?.len() == 1),
        ("copies", Session::by_copies(&name).all(tables).await?.len() == 1),
    ])
}

/// Checks that each way to read the table finds exactly these sessions.
pub(crate) async fn check_found(tables: &Tables, ids: Range<u32>, expected: &[u32]) -> Result<()> {
    for (way, found) in found(tables, ids).await? {
        assert_eq!(found, expected, "{way}");
    }
    assert_eq!(Session::by_key("t").count(tables).await?, expected.len());
    assert_eq!(Session::by_tag("t").eq("all").count(tables).await?, expected.len());
    Ok(())
}
