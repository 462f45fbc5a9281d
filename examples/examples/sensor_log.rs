//! A log of sensors with many readings, which is read by time and deleted by month.
//!
//! Two limits shape such a table. A partition takes about 2,000 rows a second, so the readings are spread over hash
//! partitions. A query by time reads all of them side by side and merges the rows. And deleting single rows is slow,
//! but deleting a table is fast, so each month has a table of its own.
//!
//! | table | `PartitionKey` | `RowKey` | Celsius |
//! |---|---|---|---|
//! | `Readings201006` | `0` | `2521267343999999999_cellar` | 7.0 |
//! | `Readings201006` | `7` | `2521267343999999999_kitchen` | 10.0 |
//! | `Readings201007` | `7` | `2521241423999999999_kitchen` | 10.0 |

use anyhow::Result;
use table_runtime::{Stored, TableEntity, Tables};
use time::{Duration, OffsetDateTime, macros::datetime};

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Readings", slice = month(at))]
struct Reading {
    #[row_key(reverse_time)]
    at: OffsetDateTime,
    #[partition_key(hash = 8)]
    #[row_key]
    sensor: String,
    celsius: f64,
}

const SENSORS: [&str; 5] = ["attic", "cellar", "garage", "hall", "kitchen"];

#[tokio::main]
async fn main() -> Result<()> {
    let tables = Tables::in_memory()?;
    tables.create::<Reading>().await?;

    // The readings are six hours apart, from the end of April to the beginning of August. Each is stored in the table
    // of its month, which the first one creates.
    let (first, last) = (datetime!(2010-04-28 00:00 UTC), datetime!(2010-08-02 00:00 UTC));
    let times = (0..).map(|step| first + Duration::hours(6 * step)).take_while(|at| *at < last);
    let readings = times.flat_map(|at| {
        (0_u8..).zip(SENSORS).map(move |(number, sensor)| {
            let celsius = f64::from(number) + f64::from(at.hour()) / 2.0;
            Reading { at, sensor: sensor.to_owned(), celsius }
        })
    });
    let written = tables.insert_all(readings).await?.written;
    let slices = tables.slices::<Reading>().await?;
    let names: Vec<_> = slices.iter().map(|slice| slice.table.as_str()).collect();
    println!("{written} readings in {}", names.join(", "));

    // The key of a reading determines its table and its partition.
    let one = Reading::key("kitchen", datetime!(2010-06-03 12:00 UTC));
    println!("one: {}", one.explain());
    println!("kitchen: {:?}", one.get(&tables).await?.map(|reading| reading.celsius));

    // The newest readings: each partition of the newest table is asked for five rows and no more.
    let tail = Reading::by_key().take(5);
    println!("tail: {}", tail.explain());
    print(&tail.all(&tables).await?);

    // A range across the end of a month reads the two tables that it needs, the newer one first.
    let window = Reading::by_key().range(datetime!(2010-05-31 18:00 UTC)..datetime!(2010-06-01 06:00 UTC));
    println!("window: {}", window.explain());
    print(&window.all(&tables).await?);

    // A stream reads further pages on demand, back through the months.
    let mut stream = Reading::by_key().range(..datetime!(2010-06-02 00:00 UTC)).stream(&tables);
    let mut warmest: Option<Stored<Reading>> = None;
    while let Some(reading) = stream.try_next().await? {
        if warmest.as_ref().is_none_or(|warmest| reading.celsius > warmest.celsius) {
            warmest = Some(reading);
        }
    }
    println!("warmest: {:?}", warmest.map(|reading| (reading.at.date().to_string(), reading.celsius)));

    // Pages for a web service: the cursor does not grow with the number of partitions.
    let page = Reading::by_key().page(&tables, 7, None).await?;
    let next = Reading::by_key().page(&tables, 3, page.next.as_deref()).await?;
    println!("second page:");
    print(&next.entities);

    // Tables whose month ended more than 60 days ago are deleted.
    let dropped = tables.drop_slices::<Reading>(..last - Duration::days(60)).await?;
    let names: Vec<_> = dropped.iter().map(|slice| slice.table.as_str()).collect();
    println!("dropped {}", names.join(", "));
    println!("{} readings are left", Reading::by_key().count(&tables).await?);

    // A late reading creates its table again.
    let late = Reading { at: datetime!(2010-05-01 00:00 UTC), sensor: "attic".to_owned(), celsius: 9.5 };
    tables.insert(&late).await?;
    println!("oldest table: {}", tables.slices::<Reading>().await?[0].table);
    Ok(())
}

fn print(readings: &[Stored<Reading>]) {
    for Reading { at, sensor, celsius } in readings.iter().map(|reading| &**reading) {
        println!("  {} {:02}:00 {sensor} {celsius}", at.date(), at.hour());
    }
}
