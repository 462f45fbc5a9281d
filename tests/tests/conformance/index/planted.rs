//! Employees with an index of every scope and content. The rows are written with the backend, so that a case can store
//! rows that no completed write leaves.

use std::sync::{Arc, Mutex};

use anyhow::Result;
use table_runtime::{
    TableEntity, Value,
    backend::{
        Action, Backend, BackendExt, BoxFuture, Continuation, Description, Group, Operation, Reach, ReadRequest,
        ReadTarget, Reader, StoreView, TableRequest, Written,
    },
    layout::{Holds, LayoutInfo, PartInfo},
};
use tests::{isolated::Isolated, stores::Store};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Employees", kind, allow_scan)]
#[index(letter, partition(last_name(first = 1, uppercase)), row(last_name(uppercase)))]
pub(crate) struct Employee {
    #[partition_key]
    pub(crate) department: String,
    #[row_key(pad = 8)]
    pub(crate) id: u32,
    #[index(last_name, same_partition)]
    #[index(book, lowercase, same_partition, list)]
    pub(crate) last_name: String,
    #[index(badge, same_partition, unique)]
    #[index(locker, same_partition, unique, copy)]
    #[index(nick, same_table, unique)]
    pub(crate) badge: u32,
    #[index(joined, same_partition, include(last_name))]
    pub(crate) joined: u32,
    #[index(room, same_partition, copy)]
    #[index(team, same_table)]
    #[index(desk, same_table, copy)]
    #[index(site, same_table, include(last_name))]
    pub(crate) room: String,
    #[index(email, lowercase, table = "Logins", unique)]
    pub(crate) email: Option<String>,
    #[index(city)]
    #[index(office, include(last_name))]
    #[index(country, copy)]
    pub(crate) city: String,
    pub(crate) likes: u32,
}

pub(crate) fn employee(id: u32) -> Employee {
    Employee {
        department: "Sales".to_owned(),
        id,
        last_name: "Smith".to_owned(),
        badge: id,
        joined: 2010,
        room: "r1".to_owned(),
        email: Some(format!("Mail{id}@x.y")),
        city: "Bern".to_owned(),
        likes: id,
    }
}

impl Employee {
    pub(crate) fn own_properties(&self) -> Vec<(&'static str, Value)> {
        let number = |number: u32| Value::Int64(number.into());
        let mut properties = vec![
            ("LastName", Value::String(self.last_name.clone())),
            ("Badge", number(self.badge)),
            ("Joined", number(self.joined)),
            ("Room", Value::String(self.room.clone())),
            ("City", Value::String(self.city.clone())),
            ("Likes", number(self.likes)),
        ];
        properties.extend(self.email.clone().map(|email| ("Email", Value::String(email))));
        properties
    }

    pub(crate) fn row_key(&self) -> String {
        format!("id-{:08}", self.id)
    }

    fn part(&self, part: &PartInfo) -> String {
        match (&*part.field, &*part.encoding) {
            ("department", _) => self.department.clone(),
            ("id", _) => format!("{:08}", self.id),
            ("last_name", "plain") => self.last_name.clone(),
            ("last_name", "lowercase") => self.last_name.to_lowercase(),
            ("last_name", "uppercase") => self.last_name.to_uppercase(),
            ("last_name", _) => self.last_name[..1].to_uppercase(),
            ("badge", _) => format!("{:010}", self.badge),
            ("joined", _) => format!("{:010}", self.joined),
            ("room", _) => self.room.clone(),
            ("email", _) => self.email.clone().unwrap_or_default().to_lowercase(),
            ("city", _) => self.city.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn encoded(&self, prefix: &str, parts: &[PartInfo]) -> String {
        let mut key = prefix.to_owned();
        for (at, part) in parts.iter().enumerate() {
            key += &self.part(part);
            if at + 1 < parts.len() {
                key.push(if part.self_delimiting { '_' } else { ' ' });
            }
        }
        key
    }
}

pub(crate) async fn put(
    backend: &impl Backend,
    table: &'static str,
    (partition_key, row_key): (&str, &str),
    properties: Vec<(&'static str, Value)>,
) -> Result<()> {
    let action = Action::Upsert(properties.into_iter().collect());
    Ok(backend.execute_group(&group(table, (partition_key, row_key), action)).await.map(drop)?)
}

pub(crate) fn group(table: &'static str, (partition_key, row_key): (&str, &str), action: Action) -> Group {
    let operations = vec![Operation { row_key: row_key.to_owned(), action }];
    Group { table: table.into(), partition_key: partition_key.to_owned(), operations }
}

/// Writes the entity's own row alone.
pub(crate) async fn put_entity(store: &Store, entity: &Employee, more: Option<(&'static str, Value)>) -> Result<()> {
    let mut properties = entity.own_properties();
    if more.as_ref().is_none_or(|(name, _)| *name != "EntityType") {
        properties.push(("EntityType", Value::String("Employee".to_owned())));
    }
    properties.extend(more);
    put(&store.backend, "Employees", (&entity.department, &entity.row_key()), properties).await
}

/// Returns the properties of the entity's row in this index.
pub(crate) fn index_row(entity: &Employee, layout: &'static LayoutInfo) -> Vec<(&'static str, Value)> {
    let index = layout.index.as_ref().expect("an index");
    let mut properties = match index.holds {
        Holds::Copy => entity.own_properties(),
        Holds::Include => vec![("LastName", Value::String(entity.last_name.clone()))],
        Holds::Pointer | Holds::List => Vec::new(),
    };
    properties.extend(index.pointer.iter().map(|pointer| match &*pointer.field {
        "department" => (&*pointer.name, Value::String(entity.department.clone())),
        "id" => (&*pointer.name, Value::Int64(entity.id.into())),
        other => panic!("{other}"),
    }));
    properties
}

/// Writes the entity's rows in its indexes, except lists.
pub(crate) async fn put_indexes(store: &Store, entity: &Employee, which: impl Fn(Holds) -> bool) -> Result<()> {
    for layout in Employee::layout().layouts {
        let Some(index) = &layout.index else { continue };
        if index.holds != Holds::List && which(index.holds) {
            let partition_key = entity.encoded(&layout.partition_prefix, &layout.partition);
            let row_key = entity.encoded(&layout.row_prefix, &layout.row);
            put(&store.backend, &layout.table, (&partition_key, &row_key), index_row(entity, layout)).await?;
        }
    }
    Ok(())
}

pub(crate) async fn put_list(store: &Store, row_key: &str, ids: &[u32], rows: Option<i32>) -> Result<()> {
    put(&store.backend, "Employees", ("Sales", row_key), list(ids, rows)).await
}

pub(crate) fn list(ids: &[u32], rows: Option<i32>) -> Vec<(&'static str, Value)> {
    let ids: Vec<_> = ids.iter().map(|id| employee(*id).row_key()).collect();
    let text = serde_json::to_string(&ids).unwrap_or_default();
    let mut properties = vec![("IndexedEntities", Value::String(text))];
    properties.extend(rows.map(|rows| ("IndexedRows", Value::Int32(rows))));
    properties
}

/// Writes complete employees with all of their index rows.
pub(crate) async fn plant(store: &Store, ids: impl IntoIterator<Item = u32>) -> Result<()> {
    store.tables.create::<Employee>().await?;
    let mut ids: Vec<_> = ids.into_iter().collect();
    for id in &ids {
        put_entity(store, &employee(*id), None).await?;
        put_indexes(store, &employee(*id), |_| true).await?;
    }
    ids.sort_unstable();
    put_list(store, "book-smith", &ids, None).await
}

/// Writes index rows of employees 1 to 4 that match nothing: the entity is missing, has another value, is pending, or
/// is of another kind. The other employees are complete.
pub(crate) async fn plant_stale(store: &Store, more: impl IntoIterator<Item = u32>) -> Result<()> {
    let more: Vec<_> = more.into_iter().collect();
    plant(store, more.iter().copied()).await?;
    for id in 1..=4 {
        put_indexes(store, &employee(id), |holds| holds != Holds::Copy).await?;
    }
    let (last_name, room, city) = ("Jones".to_owned(), "r2".to_owned(), "Basel".to_owned());
    let other = Employee { last_name, room, city, badge: 77, joined: 1999, email: None, ..employee(2) };
    put_entity(store, &other, None).await?;
    put_entity(store, &employee(3), Some(("IndexPending", Value::Guid(table_runtime::Guid::from_bytes([1; 16])))))
        .await?;
    put_entity(store, &employee(4), Some(("EntityType", Value::String("Other".to_owned())))).await?;
    let ids: Vec<_> = (1..=4).chain(more).collect();
    put_list(store, "book-smith", &ids, None).await
}

pub(crate) fn ids<T: std::ops::Deref<Target = Employee>>(found: &[T]) -> Vec<u32> {
    found.iter().map(|employee| employee.id).collect()
}

/// Calls `$check!` with a name and a query for each index with pointers that is not unique.
macro_rules! pointers {
    ($check:ident) => {
        $check!("last_name", Employee::by_last_name("Sales").eq("Smith"));
        $check!("joined", Employee::by_joined("Sales").eq(2010));
        $check!("book", Employee::by_book("Sales").eq("SMITH"));
        $check!("team", Employee::by_team("r1"));
        $check!("site", Employee::by_site("r1"));
        $check!("letter", Employee::by_letter().starts_with("S"));
        $check!("city", Employee::by_city("Bern"));
        $check!("office", Employee::by_office("Bern"));
    };
}

/// Calls `$check!` with a name and a query for each index with copies.
macro_rules! copies {
    ($check:ident) => {
        $check!("room", Employee::by_room("Sales").eq("r1"));
        $check!("desk", Employee::by_desk("r1"));
        $check!("country", Employee::by_country("Bern"));
    };
}

/// Calls `$check!` with a name, a number of requests and a query of an id for each unique index.
macro_rules! unique {
    ($check:ident) => {
        $check!("badge", 2, |id: u32| Employee::by_badge("Sales").eq(id));
        $check!("nick", 2, |id: u32| Employee::by_nick(id));
        $check!("email", 2, |id: u32| Employee::by_email(&format!("mAIL{id}@x.y")));
    };
}

pub(crate) use {copies, pointers, unique};

pub(crate) fn upsert(properties: Vec<(&'static str, Value)>) -> Action {
    Action::Upsert(properties.into_iter().collect())
}

/// Backend that executes writes of another program once, before a certain row is read.
#[derive(Debug)]
pub(crate) struct Meddling {
    pub(crate) inner: Isolated,
    pub(crate) row_key: &'static str,
    /// Writes still to be executed.
    pub(crate) writes: Mutex<Vec<Group>>,
}

impl Backend for Meddling {
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
        Box::pin(async move {
            if matches!(request.target, ReadTarget::Row { row_key, .. } if row_key == self.row_key) {
                let writes = self.writes.lock().map(|mut writes| std::mem::take(&mut *writes)).unwrap_or_default();
                for write in writes {
                    self.inner.execute_group(&write).await?;
                }
            }
            self.inner.read(request, reader).await
        })
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        self.inner.execute(groups)
    }

    fn view(&self, _: StoreView) -> table_runtime::Result<Option<Arc<dyn Backend>>> {
        Ok(None)
    }
}
