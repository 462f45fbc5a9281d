//! Employees by e-mail address, last name and joining date, with pointers, copies and a list, and the costs of each.
//!
//! | index | table | `PartitionKey` | `RowKey` | other properties |
//! |---|---|---|---|---|
//! | the employee | `Employees` | `Sales` | `number-00000123` | the employee's |
//! | `email` | `EmployeesByEmail` | the address, lower case | | `IndexedEntityDepartment`, `IndexedEntityNumber` |
//! | `last_name` | `Employees` | `Sales` | `last_name-smith 00000123` | |
//! | `phone_book` | `Employees` | `Sales` | `phone_book-smith 00000123` | the employee's |
//! | `namesakes` | `Employees` | `Sales` | `namesakes-smith` | `IndexedEntities`, the row keys of all |
//! | `joined` | `Employees` | `Sales` | `joined-{ticks}_00000123` | |
//! | `newest` | `EmployeesByNewest` | the city | `{ticks, newest first}_Sales 00000123` | the employee's |
//!
//! A pointer is the smallest row, but takes one more request for each employee that is read through it. A copy needs no
//! such request, but is rewritten at every change of the employee. A list takes one row for a name, however many
//! employees have it. All writers of a name change that row, so a list suits names with few employees and few writes.

use std::{
    fmt::{self, Debug},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::{Context as _, Result};
use table_runtime::{
    Copied, Explain, Stored, TableEntity, Tables,
    backend::{
        Backend, BoxFuture, Continuation, Description, Group, InMemoryBackend, Reach, ReadRequest, Reader, StoreView,
        TableRequest, Written,
    },
};
use time::{Duration, OffsetDateTime, macros::datetime};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Employees")]
// The newest employees of a city, in any department.
#[index(newest, partition(city), row(joined(reverse_time)), copy)]
struct Employee {
    #[partition_key]
    department: String,
    #[row_key(pad = 8)]
    number: u32,
    // The address is unique across departments, so its rows are in other partitions. The other indexes, except
    // `newest`, are within a department.
    #[index(email, lowercase, unique)]
    email: String,
    first_name: String,
    #[index(last_name, lowercase, same_partition)]
    #[index(phone_book, lowercase, same_partition, copy)]
    #[index(namesakes, lowercase, same_partition, list)]
    last_name: String,
    city: String,
    #[index(joined, time, same_partition)]
    joined: OffsetDateTime,
    salary: u32,
}

const EMPLOYEES: [(&str, u32, &str, &str, &str, i64); 7] = [
    ("Sales", 9, "Ada", "Smith", "Bonn", 0),
    ("Sales", 45, "Alan", "Smithson", "Ulm", 400),
    ("Sales", 123, "Grace", "Smith", "Ulm", 40),
    ("Sales", 124, "Edsger", "Smith-Jones", "Bonn", 800),
    ("Sales", 130, "Barbara", "SMITH", "Bonn", 20),
    ("Sales", 131, "Donald", "Taylor", "Bonn", 900),
    ("Research", 7, "Judit", "Smith", "Bonn", 1000),
];

#[tokio::main]
async fn main() -> Result<()> {
    let requests = Requests::default();
    let tables = Tables::new(Counting { inner: InMemoryBackend::new()?, requests: requests.clone() });
    tables.create::<Employee>().await?;
    println!("{}", Employee::layout());
    let start = datetime!(2010-05-24 09:00 UTC);
    for (department, number, first_name, last_name, city, day) in EMPLOYEES {
        let employee = Employee {
            department: department.to_owned(),
            number,
            email: format!("{first_name}@Example.com"),
            first_name: first_name.to_owned(),
            last_name: last_name.to_owned(),
            city: city.to_owned(),
            joined: start + Duration::days(day),
            salary: 4_000,
        };
        tables.insert(&employee).await?;
    }
    look_up(&tables, start).await?;
    costs(&tables, &requests).await
}

async fn look_up(tables: &Tables, start: OffsetDateTime) -> Result<()> {
    let grace = Employee::by_email("GRACE@example.com").get(tables).await?.context("Grace")?;
    println!("{} has the number {}", grace.email, grace.number);

    // The delimiter between two key parts sorts before any letter, so names are ordered as in a phone book.
    let smiths = Employee::by_last_name("Sales").starts_with("smith").all(tables).await?;
    let names: Vec<_> = smiths.iter().map(|found| format!("{} {}", found.last_name, found.first_name)).collect();
    println!("{}", names.join(", "));
    assert_eq!(names, ["Smith Ada", "Smith Grace", "SMITH Barbara", "Smith-Jones Edsger", "Smithson Alan"]);

    let first_year = Employee::by_joined("Sales").range(start..start + Duration::days(365));
    let joined: Vec<_> = first_year.all(tables).await?.iter().map(|found| found.number).collect();
    assert_eq!(joined, [9, 130, 123]);

    // A copy in another partition is written after its employee, so it may be outdated, which its type shows. A copy
    // cannot be updated; `fetch` reads the employee, which can.
    let newest: Vec<Copied<Employee>> = Employee::by_newest("Bonn").take(2).all(tables).await?;
    assert_eq!(newest.iter().map(|found| found.number).collect::<Vec<_>>(), [7, 131]);
    let judit: Stored<Employee> = newest[0].fetch(tables).await?.context("Judit")?;
    println!("{} was the last to join in Bonn", judit.first_name);
    Ok(())
}

/// Prints what the same query costs with each kind of index, and what the kinds cost a writer.
async fn costs(tables: &Tables, requests: &Requests) -> Result<()> {
    requests.take();
    let wrote = |what| {
        let count = requests.take();
        println!("{what}: {count} request{}", if count == 1 { "" } else { "s" });
    };
    let read = |what, explain: Explain| {
        wrote(what);
        println!("    {explain}");
    };

    let pointers = Employee::by_last_name("Sales").eq("smith");
    let explain = pointers.explain();
    assert_eq!(pointers.all(tables).await?.len(), 3);
    read("three Smiths, by pointers", explain);

    let list = Employee::by_namesakes("Sales").eq("smith");
    let explain = list.explain();
    assert_eq!(list.all(tables).await?.len(), 3);
    read("three Smiths, by a list", explain);

    let copies = Employee::by_phone_book("Sales").eq("smith");
    let explain = copies.explain();
    assert_eq!(copies.all(tables).await?.len(), 3);
    read("three Smiths, by copies", explain);

    let email = Employee::by_email("grace@example.com");
    let explain = email.explain();
    let mut grace = email.get(tables).await?.context("Grace")?;
    read("an e-mail address", explain);

    let newest = Employee::by_newest("Bonn").take(2);
    let explain = newest.explain();
    newest.all(tables).await?;
    read("the newest of a city", explain);

    // No index is over the salary, but copies hold all properties. The copy in the same partition is written in the
    // employee's own transaction, the one in another partition afterwards.
    grace.salary += 500;
    tables.update(&mut grace).await?;
    wrote("a raise");
    // The index rows in the same partition move in the transaction, after the lists were read.
    grace.last_name = "Hopper".into();
    tables.update(&mut grace).await?;
    wrote("another name");
    // The new address is claimed before the update, and the old one is released after it.
    grace.email = "hopper@example.com".into();
    tables.update(&mut grace).await?;
    wrote("another address");

    assert_eq!(tables.verify::<Employee>().all().await?, []);
    Ok(())
}

/// Number of requests.
#[derive(Clone, Default)]
struct Requests(Arc<AtomicUsize>);

impl Requests {
    /// Returns the number of requests since the last call.
    fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// Backend that counts its requests.
struct Counting {
    inner: InMemoryBackend,
    requests: Requests,
}

impl Counting {
    fn inner(&self) -> &InMemoryBackend {
        self.requests.0.fetch_add(1, Ordering::Relaxed);
        &self.inner
    }
}

impl Debug for Counting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Backend for Counting {
    fn describe(&self) -> Description<'_> {
        Description { reach: Reach::Partition, ..self.inner.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, table_runtime::Result<Vec<String>>> {
        self.inner().tables(request)
    }

    fn read<'a>(
        &'a self,
        request: ReadRequest<'a>,
        reader: Reader<'a>,
    ) -> BoxFuture<'a, table_runtime::Result<Option<Continuation>>> {
        self.inner().read(request, reader)
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        self.inner().execute(groups)
    }

    fn view(&self, _: StoreView) -> table_runtime::Result<Option<Arc<dyn Backend>>> {
        Ok(None)
    }
}
