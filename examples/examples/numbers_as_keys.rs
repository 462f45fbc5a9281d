//! Numbers in keys, in the order of the numbers.
//!
//! Keys are text, and as text `10` comes before `9`. So numbers are padded to a fixed width, negative numbers are
//! encoded in ascending order, and `reverse` gives descending order.
//!
//! | entity | `PartitionKey` | `RowKey` |
//! |---|---|---|
//! | `Employee` | `Sales` | `00000123` |
//! | `Sounding` | `Marianas` | `-9999999999`, `0000000000`, `0000000001` |
//! | `Score` | `Chess 0000000007` | `4294964495_Judit` (most points first) |

use anyhow::Result;
use table_runtime::{Error, TableEntity, Tables};

/// Entity whose number has a given width.
#[derive(TableEntity, Debug)]
#[table(name = "Employees")]
struct Employee {
    #[partition_key]
    department: String,
    #[row_key(pad = 8)]
    number: u32,
    name: String,
}

/// Entity whose number has the width that an `i32` needs, with negative values.
#[derive(TableEntity, Debug)]
#[table(name = "Soundings")]
struct Sounding {
    #[partition_key]
    place: String,
    #[row_key]
    metres: i32,
    degrees: f64,
}

/// Entity with keys of several fields: game and season make the partition key, points and player the row key.
#[derive(TableEntity, Debug)]
#[table(name = "Scores")]
struct Score {
    #[partition_key]
    game: String,
    #[partition_key]
    season: u32,
    #[row_key(reverse)]
    points: u32,
    #[row_key]
    player: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let tables = Tables::in_memory()?;
    padded(&tables).await?;
    signed(&tables).await?;
    reversed(&tables).await
}

async fn padded(tables: &Tables) -> Result<()> {
    tables.create::<Employee>().await?;
    for (number, name) in [(1000, "Kurt"), (123, "Ada"), (9, "Alan")] {
        let (department, name) = ("Sales".to_owned(), name.to_owned());
        tables.insert(&Employee { department, number, name }).await?;
    }
    let key = Employee::key("Sales", 123).explain();
    println!("employee 123 is the row {}", key.row_key().unwrap_or_default());
    assert_eq!(key.row_key(), Some("00000123"));

    let below = Employee::by_key("Sales").range(..1000).all(tables).await?;
    assert_eq!(below.iter().map(|employee| employee.number).collect::<Vec<_>>(), [9, 123]);

    // A number that does not fit is an error before anything is sent, never a row in the wrong order.
    let (department, name) = ("Sales".to_owned(), "Grace".to_owned());
    match tables.insert(&Employee { department, number: 123_456_789, name }).await {
        Err(Error::Key(error)) => println!("refused: {error}"),
        other => anyhow::bail!("expected an error, got {other:?}"),
    }
    Ok(())
}

async fn signed(tables: &Tables) -> Result<()> {
    tables.create::<Sounding>().await?;
    for (metres, degrees) in [(1, 28.5), (-10_935, 2.5), (0, 28.0), (-1, 27.9), (i32::MIN, f64::NAN)] {
        tables.insert(&Sounding { place: "Marianas".to_owned(), metres, degrees }).await?;
    }
    let soundings = Sounding::by_key("Marianas").all(tables).await?;
    assert_eq!(soundings.iter().map(|at| at.metres).collect::<Vec<_>>(), [i32::MIN, -10_935, -1, 0, 1]);
    for at in Sounding::by_key("Marianas").range(-20_000..=0).all(tables).await? {
        println!("{:>7} m: {:.1} °C", at.metres, at.degrees);
    }
    Ok(())
}

async fn reversed(tables: &Tables) -> Result<()> {
    tables.create::<Score>().await?;
    for (points, player) in [(2700, "Viswanathan"), (2800, "Judit"), (2800, "Bobby"), (900, "Marcus")] {
        let (game, player) = ("Chess".to_owned(), player.to_owned());
        tables.insert(&Score { game, season: 7, points, player }).await?;
    }
    // The highest scores come first, and equal scores in the order of names.
    let best = Score::by_key("Chess", 7).take(3).all(tables).await?;
    for score in &best {
        println!("{} {}", score.points, score.player);
    }
    assert_eq!(best.iter().map(|score| &*score.player).collect::<Vec<_>>(), ["Bobby", "Judit", "Viswanathan"]);

    // Bounds are values, so the lower one comes first here too.
    let good = Score::by_key("Chess", 7).range(2000..2800).all(tables).await?;
    assert_eq!(good.iter().map(|score| score.points).collect::<Vec<_>>(), [2700]);

    // A composite key is narrowed part by part. With every part given, it is one row.
    assert!(Score::by_key("Chess", 7).eq(2800).eq("Judit").exists(tables).await?);
    Ok(())
}
