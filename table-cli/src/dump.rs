//! `tables dump` and `tables load`.

use std::{
    fs,
    io::{self, BufReader, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use table_runtime::transfer::Line;

use crate::{
    arguments::{Dump, Load},
    cursor::{CursorFile, Transfer, resumed},
    dumped::{DumpFiles, DumpedBytes, EXTENSION, Manifest},
    failure::Failure,
    progress::{self, ProgressLine},
    rows,
    store::{self, Mode, Store, StoreArguments},
};

/// Writes the rows of a store to files in a folder.
pub(crate) async fn dump(store: &Store, dump: &Dump) -> Result<(), Failure> {
    let manifest = begin(store, dump)?;
    let (before, cursor) = (manifest.rows, manifest.cursor.clone());
    let files = Mutex::new(DumpFiles::new(&dump.folder, manifest, dump.file_size));
    let line = ProgressLine::new("rows dumped");
    let job = store.tables.dump(Pages { files: &files, before });
    let job = dump.shared.apply(job.rows(rows::selection(store, dump.table.as_deref(), None, dump.events)));
    let job = line.follow(resumed(job, cursor.as_deref())?, |progress| {
        let mut files = lock(&files);
        // A file ends with a page, so that it has the rows before the cursor, and no others.
        if files.is_full() {
            files.end(before.saturating_add(progress.rows as u64), progress.cursor.clone(), false)
        } else {
            Ok(())
        }
    });
    let rows = before.saturating_add(line.watch(job).await??);
    lock(&files).end(rows, None, true)?;
    drop(line);
    progress::report(rows, "dumped");
    Ok(())
}

/// Returns the list of the files that an interrupted dump has written to the folder; an empty list for a new dump.
fn begin(store: &Store, dump: &Dump) -> Result<Manifest, Failure> {
    let folder = &dump.folder;
    let (table, read) = (dump.table.as_deref().map(str::as_bytes), dump.shared.described());
    let identity = store.identity.as_bytes();
    let arguments = [
        Some(b"dump".as_slice()),
        Some(identity),
        table,
        Some(read.as_bytes()),
        Some(EXTENSION.as_bytes()),
        dump.events.then_some(b"events"),
    ];
    let transfer = Transfer::of(&arguments);
    fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
    let refused = |problem: &str| Err(Failure::input(format!("{problem}; choose another folder")).about(folder));
    let manifest = match Manifest::read(folder)? {
        None if fs::read_dir(folder)?.next().is_some() => return refused("the folder is not empty"),
        Some(manifest) if manifest.is_complete => return refused("the folder has a complete dump"),
        Some(manifest) if manifest.transfer != transfer && !manifest.files.is_empty() => {
            return refused("the folder has an unfinished dump with other arguments or of another store");
        }
        // Without a cursor, it begins anew.
        Some(manifest) if manifest.cursor.is_some() => manifest,
        _ => Manifest::new(transfer),
    };
    for file in &manifest.files {
        file.open(folder)?;
    }
    manifest.remove_unlisted(folder)?;
    manifest.save(folder)?;
    Ok(manifest)
}

/// The writer of a dump, to which it gives whole pages.
struct Pages<'d> {
    files: &'d Mutex<DumpFiles>,
    /// Number of rows that earlier runs have written.
    before: u64,
}

impl Write for Pages<'_> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let mut last = Vec::new();
        // The last line of a dump that continues counts its own rows.
        if lines.starts_with(br#"{"@rows""#)
            && let Ok(Line::End(rows)) = String::from_utf8_lossy(lines).trim().parse()
        {
            Line::End(self.before.saturating_add(rows)).write(&mut last);
        }
        lock(self.files).write(if last.is_empty() { lines } else { &last })?;
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        lock(self.files).flush()
    }
}

fn lock(files: &Mutex<DumpFiles>) -> MutexGuard<'_, DumpFiles> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The position of a load.
#[derive(Default, Serialize, Deserialize)]
struct LoadPosition {
    cursor: Option<String>,
    rows: u64,
}

/// Writes the rows of a dump's files into a store. Checks all of them before.
pub(crate) async fn load(stores: &StoreArguments, load: &Load) -> Result<(), Failure> {
    let folder = &load.folder;
    let Some(manifest) = Manifest::read(folder)? else {
        return Err(Failure::input("the folder has no dump: there is no manifest.json").about(folder));
    };
    if !manifest.is_complete {
        return Err(Failure::input("the dump is not complete; repeat its command").about(folder));
    }
    for file in &manifest.files {
        file.check(folder)?;
    }
    let store = stores.open_for(Mode::writing(load.writing.dry_run))?;
    let (location, files) = (store::location(folder)?, serde_json::to_vec(&manifest).map_err(io::Error::from)?);
    let arguments =
        [Some(b"load".as_slice()), Some(store.identity.as_bytes()), Some(location.as_bytes()), Some(&files)];
    let cursor = CursorFile::new(load.writing.resuming.cursor.as_deref(), Transfer::of(&arguments));
    let begun: Option<LoadPosition> = cursor.read()?;
    store.check_begun(begun.is_some())?;
    let begun = begun.unwrap_or_default();
    let line = ProgressLine::new("rows loaded").of(manifest.rows.saturating_sub(begun.rows));
    let lines = BufReader::new(DumpedBytes::new(folder, manifest));
    let job = load.writing.apply(load.side_by_side.apply(store.tables.load(lines)));
    let mut job = resumed(job, begun.cursor.as_deref())?;
    // What waits is written before each report, which takes time.
    if cursor.is_given() || line.is_shown() {
        job = line.follow(job, |progress| {
            cursor.save(&LoadPosition { cursor: progress.cursor.clone(), rows: begun.rows + progress.rows as u64 })
        });
    }
    let loaded = line.watch(job).await??;
    drop(line);
    cursor.remove()?;
    progress::report(begun.rows + loaded.rows, if load.writing.dry_run { "can be loaded" } else { "loaded" });
    Ok(())
}
