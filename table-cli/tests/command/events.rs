//! `tables events`, and what other commands do with events.

use table_runtime::{TableEntity, Tables};

use super::{Folder, failed, printed};

#[derive(TableEntity, Clone)]
#[table(name = "Orders", events(copy))]
struct Order {
    #[partition_key]
    shop: String,
    #[row_key]
    number: u32,
    note: String,
}

fn order(number: u32) -> Order {
    Order { shop: "books".into(), number, note: format!("note {number}") }
}

/// Writes an order whose event was put aside, and one whose event waits. Returns the id of the first event.
async fn fill(file: &str) -> String {
    let tables = Tables::open(file).unwrap();
    tables.create::<Order>().await.unwrap();
    tables.insert(&order(1)).await.unwrap();
    let relay = tables.relay::<Order>().attempts(1);
    assert_eq!(relay.deliver_once(async |_| Err::<(), _>("broken")).await.unwrap().failed, 1);
    tables.insert(&order(2)).await.unwrap();
    let failed = tables.relay::<Order>().failed().await.unwrap();
    failed[0].id().to_string()
}

async fn delivered(file: &str) -> usize {
    let tables = Tables::open(file).unwrap();
    let relay = tables.relay::<Order>();
    relay.deliver_once(async |_| Ok::<_, std::io::Error>(())).await.unwrap().delivered
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_listed_retried_and_discarded() {
    let folder = Folder::new();
    let file = folder.path("a.tables");
    let id = fill(&file).await;
    let with = |arguments: &[&str]| printed(&[&["--store", &file], arguments].concat());

    let listed = with(&["events", "list", "Order"]);
    let lines: Vec<_> = listed.lines().collect();
    assert_eq!(lines[..2], ["waiting for a relay: 1", "put aside: 1"], "{listed}");
    assert!(lines[2].starts_with("id ") && lines[2].contains("attempts"), "{listed}");
    let cells: Vec<_> = lines[3].split_whitespace().collect();
    assert_eq!((cells[0], cells[2], cells[3], cells[4]), (&*id, "Inserted", "1", "books"), "{listed}");
    assert!(lines[3].contains("Note=note 1") && !lines[3].contains("EventChange"), "{listed}");

    assert_eq!(with(&["events", "retry", "Order", &id]), format!("relays deliver the event {id} again\n"));
    assert!(with(&["events", "list", "Order"]).starts_with("waiting for a relay: 2\nput aside: 0\n"));
    let (code, line) = failed(&["--store", &file, "events", "discard", "Order", &id]);
    assert!(code == 3 && line.contains("no such event that was put aside"), "{code} {line}");
    assert_eq!(delivered(&file).await, 2);

    let other = folder.path("b.tables");
    let id = fill(&other).await;
    let discarded = printed(&["--store", &other, "events", "discard", "Order", &id]);
    assert_eq!(discarded, format!("the event {id} was deleted\n"));
    assert_eq!(delivered(&other).await, 1);

    assert_eq!(with(&["events", "optional", "Order"]), "events of Order are not required\n");
    let tables = Tables::open(&file).unwrap().with_lease(std::time::Duration::from_millis(10));
    tables.require_events::<Order>().await.unwrap();
    drop(tables);
    assert_eq!(with(&["events", "optional", "Order"]), "events of Order are not required any more\n");

    for arguments in [["events", "list", "Nobody"], ["events", "optional", "Nobody"]] {
        assert_eq!(failed(&[&["--store", &*file], &arguments[..]].concat()).0, 3);
    }
    assert_eq!(failed(&["--store", &file, "events", "retry", "Order", "7"]).0, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_leave_out_events_unless_asked() {
    let folder = Folder::new();
    let file = folder.path("a.tables");
    fill(&file).await;
    let with = |arguments: &[&str]| printed(&[&["--store", &file], arguments].concat());
    let events = |lines: &str| (lines.matches("~~event-").count(), lines.matches("~~failed-").count());

    assert_eq!(events(&with(&["export"])), (0, 0));
    assert_eq!(events(&with(&["export", "--events"])), (1, 1));
    // What a table has is shown and counted.
    assert_eq!((with(&["count", "Orders"]), with(&["count", "Order"])), ("4\n".into(), "2\n".into()));
    assert!(with(&["show", "Orders"]).lines().any(|line| line.starts_with("event ")));
    assert!(with(&["list"]).contains("(the marks of events)"));
    // The struct has no fields of events.
    assert!(!with(&["derive", "Orders"]).contains("event_change"));

    for (name, arguments, expected) in [("b", &[][..], 0), ("c", &["--events"][..], 1)] {
        let copy = folder.path(&format!("{name}.tables"));
        printed(&[&["copy", &file, &copy], arguments].concat());
        let (dump, loaded) = (folder.path(name), folder.path(&format!("{name}2.tables")));
        printed(&[&["--store", &*file, "dump", &dump], arguments].concat());
        printed(&["--store", &loaded, "load", &dump]);
        for copy in [copy, loaded] {
            assert!(printed(&["--store", &copy, "verify"]).contains("2 entities"));
            let failed = format!("put aside: {expected}\n");
            assert!(printed(&["--store", &copy, "events", "list", "Order"]).contains(&failed));
            assert_eq!(delivered(&copy).await, expected);
        }
    }
}
