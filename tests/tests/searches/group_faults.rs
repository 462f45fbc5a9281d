//! Writes of a group with a fault at every request: a group is changed or deleted as a whole, and an answer is true.

use anyhow::{Result, ensure};
use table_runtime::{EntityGroup, Error, TableEntity, Tables, backend::Reach};
use tests::{
    faulty::{Run, for_each_fault},
    plain::Plain,
};

/// Declares the tests of orders and their lines with these indexes. `$is_whole` is true if a transaction spans all rows.
macro_rules! groups {
    ($($name:ident [$(#[$of_order:meta])*] [$(#[$of_line:meta])*] $is_whole:literal;)+) => {$(
        mod $name {
            use super::*;

            const IS_WHOLE: bool = $is_whole;

            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table(name = "Orders", write_id)]
            struct Order {
                #[partition_key]
                shop: String,
                #[row_key(prefix = "n-")]
                number: u32,
                $(#[$of_order])*
                total: i64,
            }

            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table(name = "Orders", write_id)]
            struct Line {
                #[partition_key]
                shop: String,
                #[row_key(prefix = "n-")]
                order: u32,
                #[row_key]
                number: u32,
                $(#[$of_line])*
                cents: i64,
            }

            #[derive(EntityGroup, Clone, Debug, PartialEq)]
            enum Sale {
                Order(Order),
                Line(Line),
            }

            fn line(number: u32) -> Line {
                Line { shop: "s".into(), order: 1, number, cents: 10 }
            }

            /// Returns a store with an order of two lines.
            async fn start() -> Result<Plain> {
                let store = Plain::default().with_reach(Reach::Partition);
                let tables = Tables::new(store.clone());
                tables.create::<Order>().and::<Line>().await?;
                let order = Order { shop: "s".into(), number: 1, total: 20 };
                tables.transaction().insert(&order).insert(&line(1)).insert(&line(2)).commit().await?;
                Ok(store)
            }

            /// Adds a line, in place of the first one if `replaces`.
            async fn add(tables: &Tables, replaces: bool) -> table_runtime::Result<Vec<Sale>> {
                let change = |members: &mut Vec<Sale>| {
                    let last =
                        members.iter().filter_map(|member| if let Sale::Line(line) = member { Some(line.number) } else { None });
                    let next = line(1 + last.max().unwrap_or(0));
                    if replaces {
                        members.remove(1);
                    } else if let Some(Sale::Order(order)) = members.first_mut() {
                        order.total += next.cents;
                    }
                    members.push(Sale::Line(next));
                };
                Sale::by_key("s").eq(1).modify(tables, change).await
            }

            /// Checks the indexes, after a repair of what a crash has left.
            async fn is_sound(tables: &Tables) -> Result<()> {
                if !IS_WHOLE {
                    tables.repair::<Order>().await?;
                    tables.repair::<Line>().await?;
                }
                ensure!(tables.verify::<Order>().await?.findings.is_empty(), "the index of orders disagrees");
                ensure!(tables.verify::<Line>().await?.findings.is_empty(), "the index of lines disagrees");
                Ok(())
            }

            /// Returns the numbers of the lines, after a check that the order agrees with them.
            async fn lines(tables: &Tables) -> Result<Vec<u32>> {
                let members = Sale::by_key("s").eq(1).all(tables).await?;
                let (mut numbers, mut total, mut cents) = (Vec::new(), 0, 0);
                for member in members {
                    match member {
                        Sale::Order(order) => total = order.total,
                        Sale::Line(line) => {
                            numbers.push(line.number);
                            cents += line.cents;
                        }
                    }
                }
                ensure!(total == cents, "a total of {total} for {cents}");
                is_sound(tables).await?;
                Ok(numbers)
            }

            #[tokio::test]
            async fn a_change_of_a_group_is_whole_and_its_answer_is_true() -> Result<()> {
                for replaces in [false, true] {
                    let after: &[u32] = if replaces { &[2, 3] } else { &[1, 2, 3] };
                    let check = async |Run { tables, result, .. }: Run<Plain, table_runtime::Result<Vec<Sale>>>| {
                        let lines = lines(&tables).await?;
                        match result {
                            Ok(members) => {
                                ensure!(lines == after, "{lines:?} after {members:?}");
                                ensure!(Sale::by_key("s").eq(1).all(&tables).await?.len() == members.len(), "{members:?}");
                            }
                            Err(Error::OutcomeUnknown(_)) => ensure!(lines == after || lines == [1, 2], "{lines:?}"),
                            Err(error) => ensure!(lines == [1, 2], "{lines:?} after {error}"),
                        }
                        Ok(())
                    };
                    let failed = for_each_fault(start, async |tables: Tables| add(&tables, replaces).await, check).await?;
                    ensure!(failed > 0, "no request failed");
                }
                Ok(())
            }

            #[tokio::test]
            async fn a_group_is_deleted_as_a_whole() -> Result<()> {
                let check = async |Run { tables, result, .. }: Run<Plain, table_runtime::Result<usize>>| {
                    let left = Sale::by_key("s").eq(1).count(&tables).await?;
                    match result {
                        Ok(written) => ensure!(written <= 3 && left == 0, "{left} left after {written}"),
                        Err(error) => ensure!(left == 0 || left == 3, "{left} left after {error}"),
                    }
                    is_sound(&tables).await?;
                    // It can be repeated.
                    Sale::by_key("s").eq(1).delete_all(&tables).await?;
                    ensure!(Sale::by_key("s").count(&tables).await? == 0, "members are left");
                    Ok(())
                };
                let delete =
                    async |tables: Tables| Sale::by_key("s").eq(1).delete_all(&tables).await.map(|deleted| deleted.written);
                let failed = for_each_fault(start, delete, check).await?;
                ensure!(failed > 0, "no request failed");
                Ok(())
            }
        }
    )+};
}

groups! {
    in_one_partition [#[index(total, same_partition)]] [] true;
    in_several_partitions [#[index(total)]] [#[index(cents)]] false;
}
