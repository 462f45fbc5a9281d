//! `tables copy`.

use serde::{Deserialize, Serialize};
use table_runtime::transfer::{ReadPart, RowWriter, TableRow};

use crate::{
    arguments::Copy,
    cursor::{CursorFile, Transfer},
    failure::Failure,
    progress::{self, ProgressLine, Skipped},
    rows::{Choice, Of, Rows},
    store::StoreArguments,
};

/// The position of a copy.
#[derive(Serialize, Deserialize)]
struct CopyPosition {
    reader: String,
    rows: u64,
    skipped: Skipped,
}

/// Copies rows from one store to another.
pub(crate) async fn copy(stores: &StoreArguments, copy: &Copy) -> Result<(), Failure> {
    if copy.source == copy.target {
        return Err(Failure::input("FROM and TO are the same store"));
    }
    let source = stores.open_other(&copy.source, true)?;
    let (from, to) = (stores.identity(&copy.source)?, stores.identity(&copy.target)?);
    let (table, partition) = (copy.table.as_deref().map(str::as_bytes), copy.partition.as_deref().map(str::as_bytes));
    let transfer = Transfer::of(&[Some(b"copy"), Some(from.as_bytes()), Some(to.as_bytes()), table, partition]);
    let cursor = CursorFile::new(copy.cursor.as_deref(), transfer);
    let (name, partition) = (copy.table.as_deref(), copy.partition.as_deref());
    let choice = Choice { name, of: Of::Table, partition, as_stored: copy.skip, ..Choice::default() };
    let mut reader = Rows::open(&source, choice).await?;
    let (mut rows, mut skipped, mut is_begun) = (0, Skipped::default(), false);
    if let Some(position) = cursor.read::<CopyPosition>()? {
        reader.resume(&source, &position.reader, copy.skip)?;
        (rows, skipped, is_begun) = (position.rows, position.skipped, true);
    }
    // A file is created only once the source can be read.
    let target = stores.open_other(&copy.target, false)?;
    target.check_begun(is_begun)?;
    let mut writer = RowWriter::new(&target.tables);
    let progress = ProgressLine::new("copied");
    while let Some(part) = reader.next().await? {
        match part {
            ReadPart::Rows { table, rows: page } if copy.skip => {
                for row in page.iter() {
                    let row = TableRow::of(&table, row);
                    match row.check() {
                        Ok(()) => {
                            rows += 1;
                            writer.write(row).await?;
                        }
                        Err(error) => skipped.add(error.to_string()),
                    }
                }
                progress.rows(rows, &table);
            }
            part => {
                writer.write_part(&part).await?;
                if let ReadPart::Rows { table, rows: page } = &part {
                    rows += page.len() as u64;
                    progress.rows(rows, table);
                }
            }
        }
        if cursor.is_given() {
            writer.flush().await?;
            cursor.save(&CopyPosition { reader: reader.cursor(), rows, skipped: skipped.clone() })?;
        }
    }
    writer.flush().await?;
    drop(progress);
    cursor.remove()?;
    progress::report(rows, "copied");
    skipped.report();
    Ok(())
}
