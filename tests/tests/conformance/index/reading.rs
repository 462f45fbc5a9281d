//! Reading through indexes of every scope and content: order, rows that crashed writes left, pages, and the number of
//! requests.

use std::sync::Mutex;

use anyhow::Result;
use futures_util::StreamExt as _;
use table_runtime::{
    Copied, Error, Guid, Query, TableEntity, Tables, Value,
    cost::{AtMost, Lookups},
};
use tests::stores::Store;

use super::planted::{
    Employee, Meddling, copies, employee, group, ids, index_row, plant, plant_stale, pointers, put, put_entity,
    put_indexes, put_list, unique, upsert,
};

crate::conformance! {
    every_index_finds_its_entities
    a_full_key_of_a_unique_index_is_a_point
    rows_come_in_the_order_of_the_index
    eq_does_not_match_longer_values
    stale_index_rows_match_nothing
    no_read_returns_pending_entities
    take_reads_more_rows_in_place_of_stale_ones
    pages_continue_after_their_cursor
    a_unique_value_is_found_while_it_moves
    filters_apply_to_pointers_and_copies
    fetch_reads_the_entity_of_a_copy
    reads_take_the_documented_number_of_requests
    a_stream_reads_a_few_entities_ahead
    explain_names_the_tables_of_index_and_entity
    a_damaged_index_row_is_an_error
}

async fn every_index_finds_its_entities(store: &Store) -> Result<()> {
    plant(store, [13, 11, 12]).await?;
    let tables = &store.tables;
    macro_rules! check {
        ($name:literal, $query:expr) => {
            let found = $query.all(tables).await?;
            assert_eq!(ids(&found), [11, 12, 13], $name);
            assert!(found.iter().all(|found| **found == employee(found.id)), $name);
            let first = $query.first(tables).await?;
            assert_eq!(first.map(|first| first.id), Some(11), $name);
            let streamed: Vec<_> = $query.stream(tables).try_collect().await?;
            assert_eq!(ids(&streamed), [11, 12, 13], $name);
            assert_eq!($query.count(tables).await?, 3, $name);
            assert_eq!(ids(&$query.take(2).all(tables).await?), [11, 12], $name);
            assert_eq!($query.take(2).count(tables).await?, 2, $name);
            assert_eq!($query.take(0).all(tables).await?.len(), 0, $name);
        };
    }
    pointers!(check);
    copies!(check);
    Ok(())
}

async fn a_full_key_of_a_unique_index_is_a_point(store: &Store) -> Result<()> {
    plant(store, [11, 12]).await?;
    let tables = &store.tables;
    macro_rules! check {
        ($name:literal, $requests:literal, $query:expr) => {
            assert_eq!($query(11).get(tables).await?.as_deref(), Some(&employee(11)), $name);
            assert!($query(12).exists(tables).await?, $name);
            assert_eq!($query(13).get(tables).await?.as_deref(), None, $name);
            assert!(!$query(13).exists(tables).await?, $name);
            let many = tables.get_many([12, 13, 11].map($query)).await?;
            let many: Vec<_> = many.iter().map(|found| found.as_ref().map(|found| found.id)).collect();
            assert_eq!(many, [Some(12), None, Some(11)], $name);
        };
    }
    unique!(check);
    check!("locker", 1, |id: u32| Employee::by_locker("Sales").eq(id));
    Ok(())
}

async fn rows_come_in_the_order_of_the_index(store: &Store) -> Result<()> {
    plant(store, []).await?;
    let tables = &store.tables;
    for (id, last_name, joined) in [(1, "Young", 2012), (2, "Adams", 2011), (3, "Brown", 2010), (4, "Adams", 2013)] {
        let employee = Employee { last_name: last_name.to_owned(), joined, ..employee(id) };
        put_entity(store, &employee, None).await?;
        put_indexes(store, &employee, |_| true).await?;
    }
    for (name, ids) in [("young", vec![1]), ("adams", vec![2, 4]), ("brown", vec![3])] {
        put_list(store, &format!("book-{name}"), &ids, None).await?;
    }
    assert_eq!(ids(&Employee::by_last_name("Sales").all(tables).await?), [2, 4, 3, 1]);
    assert_eq!(ids(&Employee::by_book("Sales").all(tables).await?), [2, 4, 3, 1]);
    assert_eq!(ids(&Employee::by_joined("Sales").all(tables).await?), [3, 2, 1, 4]);
    assert_eq!(ids(&Employee::by_last_name("Sales").range("B"..).all(tables).await?), [3, 1]);
    assert_eq!(ids(&Employee::by_joined("Sales").range(2011..=2012).all(tables).await?), [2, 1]);
    assert_eq!(ids(&Employee::by_book("Sales").starts_with("A").all(tables).await?), [2, 4]);
    assert_eq!(ids(&Employee::by_book("Sales").range("b".."z").all(tables).await?), [3, 1]);
    Ok(())
}

async fn eq_does_not_match_longer_values(store: &Store) -> Result<()> {
    plant(store, [1]).await?;
    let tables = &store.tables;
    let other = Employee { last_name: "Smithson".to_owned(), ..employee(2) };
    put_entity(store, &other, None).await?;
    put_indexes(store, &other, |_| true).await?;
    put_list(store, "book-smithson", &[2], None).await?;
    assert_eq!(ids(&Employee::by_last_name("Sales").eq("Smith").all(tables).await?), [1]);
    assert_eq!(ids(&Employee::by_book("Sales").eq("Smith").all(tables).await?), [1]);
    assert_eq!(ids(&Employee::by_book("Sales").starts_with("Smith").all(tables).await?), [1, 2]);
    Ok(())
}

async fn stale_index_rows_match_nothing(store: &Store) -> Result<()> {
    plant_stale(store, [11, 12, 13]).await?;
    let tables = &store.tables;
    macro_rules! check {
        ($name:literal, $query:expr) => {
            assert_eq!(ids(&$query.all(tables).await?), [11, 12, 13], $name);
            assert_eq!($query.first(tables).await?.map(|first| first.id), Some(11), $name);
            assert_eq!($query.count(tables).await?, 3, $name);
            assert_eq!(ids(&$query.stream(tables).try_collect::<Vec<_>>().await?), [11, 12, 13], $name);
            let page = $query.page(tables, 10, None).await?;
            assert_eq!((ids(&page.entities), page.next), (vec![11, 12, 13], None), $name);
        };
    }
    pointers!(check);
    macro_rules! check_count {
        ($name:literal, $query:expr) => {
            assert_eq!($query.count_unchecked(tables).await?, 7, $name);
            assert_eq!($query.take(5).count_unchecked(tables).await?, 5, $name);
        };
    }
    pointers!(check_count);
    macro_rules! check_point {
        ($name:literal, $requests:literal, $query:expr) => {
            for id in 1..=4 {
                assert_eq!($query(id).get(tables).await?, None, "{} of {id}", $name);
                assert!(!$query(id).exists(tables).await?, "{} of {id}", $name);
            }
            assert_eq!($query(11).get(tables).await?.as_deref(), Some(&employee(11)), $name);
        };
    }
    unique!(check_point);
    Ok(())
}

async fn no_read_returns_pending_entities(store: &Store) -> Result<()> {
    plant(store, 11..=13).await?;
    let tables = &store.tables;
    let pending = || Some(("IndexPending", Value::Guid(Guid::from_bytes([7; 16]))));
    for id in [1, 2, 12, 20] {
        put_entity(store, &employee(id), pending()).await?;
    }
    let query = || Employee::by_key("Sales");
    assert_eq!(ids(&query().all(tables).await?), [11, 13]);
    assert_eq!(ids(&Employee::scan().all(tables).await?), [11, 13]);
    assert_eq!(query().count(tables).await?, 2);
    assert_eq!(query().take(1).count(tables).await?, 1);
    assert_eq!(query().first(tables).await?.map(|first| first.id), Some(11));
    assert_eq!(ids(&query().take(2).all(tables).await?), [11, 13]);
    assert_eq!(ids(&query().filter(|employee| employee.likes.ge(12)).all(tables).await?), [13]);
    assert_eq!(ids(&query().stream(tables).try_collect::<Vec<_>>().await?), [11, 13]);
    let page = query().page(tables, 1, None).await?;
    assert_eq!(ids(&page.entities), [11]);
    let page = query().page(tables, 1, page.next.as_deref()).await?;
    assert_eq!(ids(&page.entities), [13]);
    assert_eq!(Employee::key("Sales", 12).get(tables).await?, None);
    assert!(!Employee::key("Sales", 12).exists(tables).await?);
    assert!(Employee::key("Sales", 13).exists(tables).await?);
    Ok(())
}

async fn take_reads_more_rows_in_place_of_stale_ones(store: &Store) -> Result<()> {
    plant_stale(store, 11..=15).await?;
    let tables = &store.tables;
    macro_rules! check {
        ($name:literal, $query:expr) => {
            for count in 0..=6 {
                let expected: Vec<_> = (11..=15).take(count).collect();
                assert_eq!(ids(&$query.take(count).all(tables).await?), expected, "{} take({count})", $name);
                let page = $query.page(tables, count.max(1), None).await?;
                assert_eq!(page.entities.len(), count.clamp(1, 5), "{} page({count})", $name);
            }
        };
    }
    pointers!(check);
    Ok(())
}

async fn pages_continue_after_their_cursor(store: &Store) -> Result<()> {
    plant_stale(store, 11..=17).await?;
    let tables = &store.tables;
    macro_rules! check {
        ($name:literal, $query:expr) => {
            for size in 1..=8 {
                for take in [8, 6] {
                    let (mut found, mut cursor) = (Vec::new(), None);
                    loop {
                        let page = $query.take(take).page(tables, size, cursor.as_deref()).await?;
                        assert!(page.entities.len() <= size, $name);
                        found.extend(ids(&page.entities));
                        cursor = page.next;
                        if cursor.is_none() {
                            break;
                        }
                    }
                    let expected: Vec<_> = (11..=17).take(take).collect();
                    assert_eq!(found, expected, "{} in pages of {size}", $name);
                }
            }
        };
    }
    pointers!(check);
    copies!(check);
    // A cursor depends also on the filter of the entities, which the backend does not get.
    let page = Employee::by_city("Bern").page(tables, 2, None).await?;
    let other = Employee::by_city("Bern").filter(|employee| employee.likes.ge(1));
    let refused = other.page(tables, 2, page.next.as_deref()).await;
    assert!(matches!(refused, Err(Error::Cursor(_))), "{refused:?}");
    // The next page has entities inserted after the cursor, but none inserted before it.
    for id in [10, 30] {
        put_entity(store, &employee(id), None).await?;
        put_indexes(store, &employee(id), |_| true).await?;
    }
    let rest = Employee::by_city("Bern").page(tables, 100, page.next.as_deref()).await?;
    assert_eq!(ids(&rest.entities), [13, 14, 15, 16, 17, 30]);
    Ok(())
}

async fn a_unique_value_is_found_while_it_moves(store: &Store) -> Result<()> {
    plant(store, [11, 12]).await?;
    // The address moves from employee 11 to employee 12 after the pointer to 11 was read.
    let (from, to) = (Employee { email: None, ..employee(11) }, Employee { email: employee(11).email, ..employee(12) });
    let kind = || ("EntityType", Value::String("Employee".to_owned()));
    let entity = |entity: &Employee| {
        let properties = entity.own_properties().into_iter().chain([kind()]).collect();
        group("Employees", ("Sales", &entity.row_key()), upsert(properties))
    };
    let layout = Employee::layout().layouts.iter().find(|layout| layout.name == "email").expect("an index");
    let pointer = group("Logins", ("mail11@x.y", ""), upsert(index_row(&to, layout)));
    let writes = vec![entity(&from), entity(&to), pointer];
    let meddling = Meddling { inner: store.backend.clone(), row_key: "id-00000011", writes: Mutex::new(writes) };
    let found = Employee::by_email("Mail11@x.y").get(&Tables::new(meddling)).await?;
    assert_eq!(found.as_deref(), Some(&to));
    Ok(())
}

async fn filters_apply_to_pointers_and_copies(store: &Store) -> Result<()> {
    plant_stale(store, 11..=20).await?;
    let tables = &store.tables;
    macro_rules! check {
        ($name:literal, $query:expr) => {
            let filtered = || $query.filter(|employee| employee.likes.ge(14).and(employee.likes.ne(16)));
            assert_eq!(ids(&filtered().all(tables).await?), [14, 15, 17, 18, 19, 20], $name);
            assert_eq!(filtered().count(tables).await?, 6, $name);
            assert_eq!(ids(&filtered().take(3).all(tables).await?), [14, 15, 17], $name);
            let page = filtered().page(tables, 2, None).await?;
            assert_eq!(ids(&page.entities), [14, 15], $name);
            let page = filtered().page(tables, 2, page.next.as_deref()).await?;
            assert_eq!(ids(&page.entities), [17, 18], $name);
        };
    }
    pointers!(check);
    copies!(check);
    let explain = Employee::by_city("Bern").filter(|employee| employee.likes.ge(14)).explain();
    assert_eq!(explain.filter(), "PartitionKey eq 'Bern'");
    assert_eq!(explain.entity_filter(), "Likes ge 14L");
    assert_eq!(
        explain.to_string(),
        "partition scan of EmployeesByCity, Employees, 1 request at least, and one for each entity, also for entities that \
         the filter drops: PartitionKey eq 'Bern'; of the entities: Likes ge 14L",
    );
    assert!(explain.looks_up_entities() && explain.reads_more_than_it_returns());
    assert_eq!(explain.partitions(), Some(1));
    let plain = Employee::by_city("Bern").explain();
    assert!(plain.looks_up_entities() && !plain.reads_more_than_it_returns());
    let explain = Employee::by_country("Bern").filter(|employee| employee.likes.ge(14)).explain();
    assert_eq!((explain.filter(), explain.entity_filter()), ("PartitionKey eq 'Bern' and (Likes ge 14L)", ""));
    Ok(())
}

async fn fetch_reads_the_entity_of_a_copy(store: &Store) -> Result<()> {
    plant(store, [11]).await?;
    let tables = &store.tables;
    let changed = Employee { likes: 99, ..employee(11) };
    put_entity(store, &changed, None).await?;
    macro_rules! check {
        ($name:literal, $query:expr) => {
            let copied: Option<Copied<Employee>> = $query.first(tables).await?;
            let copied = copied.expect($name);
            assert_eq!(copied, employee(11), $name);
            assert_eq!(copied.fetch(tables).await?.as_deref(), Some(&changed), $name);
        };
    }
    copies!(check);
    let copied = Employee::by_locker("Sales").eq(11).get(tables).await?.expect("a copy");
    assert_eq!(copied.fetch(tables).await?.as_deref(), Some(&changed));
    Ok(())
}

async fn reads_take_the_documented_number_of_requests(store: &Store) -> Result<()> {
    plant(store, 11..=15).await?;
    let (tables, probe) = (&store.tables, &store.probe);
    probe.requests();
    macro_rules! check {
        ($name:literal, $query:expr) => {
            $query.all(tables).await?;
            assert_eq!(probe.requests(), 1 + 5, "all of {}", $name);
            $query.first(tables).await?;
            assert_eq!(probe.requests(), 2, "first of {}", $name);
            $query.page(tables, 3, None).await?;
            // A list has all ids in one row, so one page of the index suffices for it too.
            assert_eq!(probe.requests(), 1 + 3, "page of {}", $name);
            $query.count(tables).await?;
            assert_eq!(probe.requests(), 1 + 5, "count of {}", $name);
            $query.count_unchecked(tables).await?;
            assert_eq!(probe.requests(), 1, "unchecked count of {}", $name);
        };
    }
    pointers!(check);
    macro_rules! check_copy {
        ($name:literal, $query:expr) => {
            $query.all(tables).await?;
            $query.page(tables, 3, None).await?;
            $query.count(tables).await?;
            assert_eq!(probe.requests(), 3, $name);
        };
    }
    copies!(check_copy);
    macro_rules! check_point {
        ($name:literal, $requests:literal, $query:expr) => {
            assert_eq!($query(11).explain().requests(), $requests, $name);
            $query(11).get(tables).await?;
            assert_eq!(probe.requests(), $requests, "get of {}", $name);
            $query(11).exists(tables).await?;
            assert_eq!(probe.requests(), $requests, "exists of {}", $name);
            tables.get_many([11, 12, 13].map($query)).await?;
            assert_eq!(probe.requests(), 3 * $requests, "get_many of {}", $name);
            $query(9).get(tables).await?;
            assert_eq!(probe.requests(), 1, "get of none of {}", $name);
        };
    }
    unique!(check_point);
    check_point!("locker", 1, |id: u32| Employee::by_locker("Sales").eq(id));
    Ok(())
}

async fn a_stream_reads_a_few_entities_ahead(store: &Store) -> Result<()> {
    plant(store, 1..=100).await?;
    let probe = &store.probe;
    probe.requests();
    macro_rules! check {
        ($name:literal, $query:expr) => {
            let mut stream = $query.stream(&store.tables);
            assert_eq!(probe.requests(), 0, $name);
            let first = stream.next().await.transpose()?;
            assert_eq!(first.map(|first| first.id), Some(1), $name);
            let requests = probe.requests();
            assert!((2..=17).contains(&requests), "{}: {requests}", $name);
            drop(stream);
        };
    }
    pointers!(check);
    assert_eq!(Employee::by_city("Bern").stream(&store.tables).count().await, 100);
    Ok(())
}

/// Takes only queries that cost at most as much as a range of pointers.
fn cheap(query: &impl Query<Cost: AtMost<Lookups>>) -> table_runtime::Explain {
    query.explain()
}

async fn explain_names_the_tables_of_index_and_entity(store: &Store) -> Result<()> {
    plant(store, []).await?;
    let explain = cheap(&Employee::by_city("Bern").take(3));
    assert_eq!((explain.cost(), explain.requests()), ("lookups", 1));
    assert_eq!(explain.tables().collect::<Vec<_>>(), ["EmployeesByCity", "Employees"]);
    let explain = cheap(&Employee::by_last_name("Sales").eq("Smith"));
    assert_eq!(explain.tables().collect::<Vec<_>>(), ["Employees"]);
    assert_eq!(
        explain.filter(),
        "PartitionKey eq 'Sales' and RowKey ge 'last_name-Smith ' and RowKey lt 'last_name-Smith!'"
    );
    let explain = cheap(&Employee::by_country("Bern"));
    assert_eq!((explain.cost(), explain.tables().collect::<Vec<_>>()), ("range", vec!["EmployeesByCountry"]));
    let explain = cheap(&Employee::by_email("A@b.c"));
    assert_eq!((explain.cost(), explain.requests()), ("point", 2));
    assert_eq!(explain.tables().collect::<Vec<_>>(), ["Logins", "Employees"]);
    assert_eq!((explain.partition_key(), explain.row_key()), (Some("a@b.c"), Some("")));
    assert_eq!(explain.to_string(), "point of Logins, Employees, 2 requests: PartitionKey eq 'a@b.c' and RowKey eq ''");
    assert_eq!(Employee::by_locker("Sales").eq(1).explain().requests(), 1);
    Ok(())
}

async fn a_damaged_index_row_is_an_error(store: &Store) -> Result<()> {
    plant(store, [11]).await?;
    let tables = &store.tables;
    put(&store.backend, "Logins", ("mail1@x.y", ""), Vec::new()).await?;
    let error = Employee::by_email("mail1@x.y").get(tables).await.expect_err("the row has no pointer");
    assert!(matches!(error, Error::Property(_)) && error.to_string().contains("IndexedEntityDepartment"), "{error}");
    put(&store.backend, "EmployeesByCity", ("Bern", "x"), Vec::new()).await?;
    let error = Employee::by_city("Bern").all(tables).await.expect_err("the key is not an employee's");
    assert!(matches!(error, Error::Key(_)) && error.to_string().contains("EmployeesByCity"), "{error}");
    put(&store.backend, "Employees", ("Sales", "book-smith"), vec![("IndexedEntities", Value::Int32(1))]).await?;
    let error = Employee::by_book("Sales").all(tables).await.expect_err("the row has no list");
    assert!(error.to_string().contains("expected a JSON array of row keys"), "{error}");
    Ok(())
}
