//! Opening and creation of the store's file.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use redb::{
    Builder, Database, DatabaseError, ReadOnlyDatabase, ReadableDatabase, StorageError, TableError,
    backends::FileBackend,
};
use table_store::{Error, Guid, Result};

use super::{
    committer::{FORMAT, STORE},
    failure::StoreError,
};

/// Version of the file's format: the tables, the keys and the values in it.
const VERSION: u64 = 3;

/// Number of bytes of the file that are kept in memory. The rest is mostly in the operating system's own cache, which
/// shrinks when other programs need the memory. The default of `redb` is 1 GiB.
const CACHE_BYTES: usize = 64 * 1024 * 1024;

/// Opens the database at `path`, and creates it first if there is no file.
pub(super) fn open(path: &Path) -> Result<Database> {
    let database = match builder().open(path) {
        Err(error) if is_missing(&error) => {
            create(path)?;
            builder().open(path)
        }
        opened => opened,
    };
    let database = database.map_err(|error| refused(path, error))?;
    check(path, &database)?;
    Ok(database)
}

/// Opens the database at `path` for reading.
pub(super) fn open_read_only(path: &Path) -> Result<ReadOnlyDatabase> {
    let database = builder().open_read_only(path).map_err(|error| match error {
        DatabaseError::RepairAborted => StoreError::Unclosed(path.to_owned()).into(),
        error if is_missing(&error) => StoreError::Missing(path.to_owned()).into(),
        error => refused(path, error),
    })?;
    check(path, &database)?;
    Ok(database)
}

/// Compacts the file at `path`, which no process has open. Returns by how many bytes it became smaller.
pub(super) fn compact(path: &Path) -> Result<u64> {
    let size = || fs::metadata(path).map(|file| file.len());
    let unreadable = |source| -> Error { StoreError::File { path: path.to_owned(), source }.into() };
    let mut database = builder().open(path).map_err(|error| {
        if is_missing(&error) { StoreError::Missing(path.to_owned()).into() } else { refused(path, error) }
    })?;
    check(path, &database)?;
    let before = size().map_err(unreadable)?;
    let compacted = database.compact();
    compacted.map_err(|source| StoreError::Database { path: path.to_owned(), source: source.into() })?;
    // The file has its size when it is closed.
    drop(database);
    Ok(before.saturating_sub(size().map_err(unreadable)?))
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Turns a new database into a store.
pub(super) fn initialize(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    transaction.open_table(STORE)?.insert(FORMAT, VERSION)?;
    transaction.commit()?;
    Ok(())
}

/// Checks that the database is a store in the format that this version reads.
fn check(path: &Path, database: &impl ReadableDatabase) -> Result<()> {
    let found = || -> Result<_, redb::Error> {
        let table = match database.begin_read()?.open_table(STORE) {
            Err(TableError::Storage(error)) => return Err(error.into()),
            Err(_) => return Ok(None),
            Ok(table) => table,
        };
        Ok(table.get(FORMAT)?.map(|format| format.value()))
    };
    match found().map_err(|source| StoreError::Database { path: path.to_owned(), source })? {
        Some(VERSION) => Ok(()),
        Some(found) => Err(StoreError::Format { path: path.to_owned(), found, known: VERSION }.into()),
        None => Err(StoreError::Foreign(path.to_owned()).into()),
    }
}

/// Creates the file under another name in the same folder, commits, and only then gives it its final name. There is
/// therefore never an incomplete file at `path`, even if the program or the machine stops.
fn create(path: &Path) -> Result<()> {
    let Some(name) = path.file_name() else { return Err(StoreError::NoFile(path.to_owned()).into()) };
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return Err(StoreError::NoFile(path.to_owned()).into()),
    };
    let mut temporary = name.to_owned();
    temporary.push(format!(".{}.new", Guid::random()?));
    let temporary = Temporary(folder.join(temporary));
    let file = fs::File::options().read(true).write(true).create_new(true).open(&temporary.0);
    let file = file.map_err(|source| StoreError::File { path: folder.to_owned(), source })?;
    let created = FileBackend::new(file).and_then(|file| Builder::new().create_with_backend(file));
    let database = created.map_err(|error| refused(path, error))?;
    initialize(&database).map_err(|source| StoreError::Database { path: path.to_owned(), source })?;
    // Some systems require that a file is closed before it is renamed.
    drop(database);
    let named = name_and_sync(&temporary.0, path, folder);
    named.map_err(|source| StoreError::File { path: path.to_owned(), source }.into())
}

fn name_and_sync(temporary: &Path, path: &Path, folder: &Path) -> io::Result<()> {
    // A link, unlike a rename, does not replace a file that another process has just created and opened.
    match fs::hard_link(temporary, path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        // Some file systems have no links. There, a file that another process creates after this check is lost.
        Err(_) if path.try_exists()? => return Ok(()),
        Err(_) => fs::rename(temporary, path)?,
    }
    sync(folder)
}

/// Ensures that a name in the folder survives a loss of power.
#[cfg(unix)]
fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// Does nothing, because folders cannot be opened on other systems, and need not be.
#[cfg(not(unix))]
fn sync(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// The temporary name of a file. Dropping it removes the name.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename, the name does not exist any more.
        let _ = fs::remove_file(&self.0);
    }
}

fn is_missing(error: &DatabaseError) -> bool {
    matches!(error, DatabaseError::Storage(StorageError::Io(error)) if error.kind() == io::ErrorKind::NotFound)
}

fn refused(path: &Path, error: DatabaseError) -> Error {
    match error {
        DatabaseError::DatabaseAlreadyOpen => Error::InUse(path.to_owned()),
        // `redb` reports an error of the disk for a file that is none of its own.
        _ if let Some(other) = other_file(path) => other.into(),
        error => StoreError::Database { path: path.to_owned(), source: error.into() }.into(),
    }
}

/// Returns the error for a file that is empty, or is no database of `redb`; `None` for any other.
fn other_file(path: &Path) -> Option<StoreError> {
    let mut begin = Vec::new();
    fs::File::open(path).ok()?.take(MAGIC.len() as u64).read_to_end(&mut begin).ok()?;
    match begin.as_slice() {
        [] => Some(StoreError::Empty(path.to_owned())),
        MAGIC => None,
        _ => Some(StoreError::Foreign(path.to_owned())),
    }
}

/// The bytes with which a file of `redb` begins.
const MAGIC: &[u8] = b"redb\x1A\n\xA9\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("the folder");
        entries.map(|entry| entry.expect("its entries").file_name().into_string().expect("UTF-8")).collect()
    }

    #[test]
    fn creation_leaves_the_file_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("blog.tables");
        drop(open(&path).expect("a new file"));
        assert_eq!(names(folder.path()), ["blog.tables"]);
        drop(open(&path).expect("the file again"));
        assert_eq!(names(folder.path()), ["blog.tables"]);
    }

    #[test]
    fn the_error_names_a_missing_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = open(&folder.path().join("missing/blog.tables")).expect_err("no folder");
        assert!(error.to_string().contains("missing"), "{error}");
        assert!(matches!(error, Error::Store(_)));
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn a_file_that_cannot_be_read_as_it_is_is_refused_and_not_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("blog.tables");
        let refusal = |path: &Path| open_read_only(path).map(drop).expect_err("a refusal");
        assert!(refusal(&path).to_string().contains("there is no file"), "{}", refusal(&path));
        assert_eq!(names(folder.path()), [""; 0]);

        let opened = open(&path).expect("a new file");
        assert!(matches!(refusal(&path), Error::InUse(_)));
        // The copy is the file of a killed process.
        let killed = folder.path().join("killed.tables");
        fs::copy(&path, &killed).expect("a copy");
        let before = fs::read(&killed).expect("the copy");
        assert!(refusal(&killed).to_string().contains("was not closed"), "{}", refusal(&killed));
        assert_eq!(fs::read(&killed).expect("the copy"), before);
        drop(open(&killed).expect("a repaired file"));
        drop(open_read_only(&killed).expect("the repaired file"));

        drop(opened);
        let before = fs::read(&path).expect("the file");
        let readers = [open_read_only(&path), open_read_only(&path)].map(|opened| opened.expect("a reader"));
        assert!(matches!(open(&path).map(drop), Err(Error::InUse(_))), "readers have it open");
        drop(readers);
        assert_eq!(fs::read(&path).expect("the file"), before);

        for content in [&b""[..], b"some notes", &[0; 10_000]] {
            fs::write(&path, content).expect("a file");
            let expected = if content.is_empty() { "is no store: it is empty" } else { "written by another program" };
            assert!(refusal(&path).to_string().contains(expected), "{}", refusal(&path));
            assert_eq!(fs::read(&path).expect("the file"), content);
        }
    }

    #[test]
    fn a_path_without_a_file_name_is_refused() {
        for path in ["/", "..", ""] {
            assert!(matches!(open(Path::new(path)), Err(Error::Store(_))), "{path}");
        }
    }

    #[test]
    fn other_files_are_refused_and_not_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notes.txt");
        for content in [&b""[..], b"some notes", &[0; 10_000]] {
            fs::write(&path, content).expect("a file");
            let error = open(&path).expect_err("no database");
            let expected = if content.is_empty() { "is no store: it is empty" } else { "written by another program" };
            assert!(matches!(error, Error::Store(_)) && error.to_string().contains(expected), "{error}");
            assert_eq!(fs::read(&path).expect("the file"), content);
        }
        assert_eq!(names(folder.path()), ["notes.txt"]);
    }

    #[test]
    fn databases_of_other_programs_and_later_formats_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("other.redb");
        let database = Database::create(&path).expect("a database");
        drop(database);
        let error = open(&path).expect_err("another program's");
        assert!(error.to_string().contains("another program"), "{error}");

        let database = Database::create(&path).expect("the database");
        let transaction = database.begin_write().expect("a transaction");
        transaction.open_table(STORE).expect("the table").insert(FORMAT, VERSION + 1).expect("a row");
        transaction.commit().expect("a commit");
        drop(database);
        let error = open(&path).expect_err("a later format");
        assert!(error.to_string().contains("the format 4; this version reads the format 3"), "{error}");
    }

    #[test]
    fn processes_that_create_the_file_at_once_get_one_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("blog.tables");
        let opened = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| open(&path))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        });
        let won = opened.iter().filter(|opened| opened.is_ok()).count();
        assert_eq!(won, 1, "one of them has it open, all this time");
        assert!(opened.iter().all(|opened| matches!(opened, Ok(_) | Err(Error::InUse(_)))), "{opened:?}");
        assert_eq!(names(folder.path()), ["blog.tables"]);
    }
}
