//! `tables copy`.

use table_runtime::transfer::{ReadPart, RowReader, RowWriter};

use crate::{
    arguments::Copy,
    cursor::{CursorFile, Transfer},
    export::selection,
    failure::Failure,
    progress::{self, ProgressLine},
    store::StoreArguments,
};

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
    let mut reader = match cursor.read::<String>()? {
        Some(position) => RowReader::resume(&source.tables, &position)?,
        None => RowReader::new(&source.tables, selection(copy.table.as_deref(), copy.partition.as_deref())).await?,
    };
    // A file is created only once the source can be read.
    let target = stores.open_other(&copy.target, false)?;
    let mut writer = RowWriter::new(&target.tables);
    let progress = ProgressLine::new("copied");
    while let Some(part) = reader.next().await? {
        writer.write_part(&part).await?;
        if let ReadPart::Rows { table, .. } = &part {
            progress.rows(reader.rows(), table);
        }
        if cursor.is_given() {
            writer.flush().await?;
            cursor.save(&reader.cursor())?;
        }
    }
    writer.flush().await?;
    drop(progress);
    cursor.remove()?;
    progress::report(reader.rows(), "copied");
    Ok(())
}
