//! The files of a dump, and their list: `manifest.json`.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    mem,
    path::{Path, PathBuf},
    vec,
};

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use crate::{
    cursor::{Transfer, replace},
    failure::Failure,
};

/// Name of the list.
const MANIFEST: &str = "manifest.json";
/// Version of the list.
const FORMAT: u32 = 1;
/// Extension of compressed files.
const COMPRESSED: &str = ".zst";
/// Extension of the files that are written.
pub(crate) const EXTENSION: &str = if cfg!(feature = "zstd") { ".ndjson.zst" } else { ".ndjson" };

/// The files of a dump, in the order of their lines.
#[derive(Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u32,
    /// The arguments of the dump.
    pub(crate) transfer: Transfer,
    pub(crate) is_complete: bool,
    /// Number of the rows in the files.
    pub(crate) rows: u64,
    pub(crate) files: Vec<DumpedFile>,
    /// The position after the files, from which a dump that is not complete continues.
    pub(crate) cursor: Option<String>,
}

/// A file of a dump.
#[derive(Serialize, Deserialize)]
pub(crate) struct DumpedFile {
    name: String,
    bytes: u64,
    /// Hash of the bytes by XXH3, 128 bits.
    checksum: String,
}

impl Manifest {
    pub(crate) fn new(transfer: Transfer) -> Self {
        Self { format: FORMAT, transfer, is_complete: false, rows: 0, files: Vec::new(), cursor: None }
    }

    /// Reads the list of a folder; `None` if it has none.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, Failure> {
        let path = folder.join(MANIFEST);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| Failure::file(&path, &error))?,
        };
        match serde_json::from_slice::<Self>(&text) {
            Ok(manifest) if manifest.format == FORMAT => Ok(Some(manifest)),
            Ok(_) => Err(Failure::input("it has a later format").about(&path)),
            Err(error) => Err(Failure::input(format!("it is no list of a dump: {error}")).about(&path)),
        }
    }

    pub(crate) fn save(&self, folder: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::from)?;
        replace(&folder.join(MANIFEST), &text)
    }

    /// Removes the files that an interrupted dump has written and not listed.
    pub(crate) fn remove_unlisted(&self, folder: &Path) -> Result<(), Failure> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let is_listed = self.files.iter().any(|file| *file.name == *name);
            if !is_listed && name.to_str().is_some_and(is_dumped) {
                fs::remove_file(entry.path()).map_err(|error| Failure::file(&entry.path(), &error))?;
            }
        }
        Ok(())
    }
}

/// Returns the name of a file of a dump.
fn name_of(number: usize) -> String {
    format!("{number:05}{EXTENSION}")
}

/// Checks whether a dump has files with this name.
fn is_dumped(name: &str) -> bool {
    name.strip_suffix(EXTENSION).and_then(|number| number.parse().ok()).is_some_and(|number| name_of(number) == name)
}

impl DumpedFile {
    /// Opens the file. Checks its length.
    pub(crate) fn open(&self, folder: &Path) -> Result<File, Failure> {
        let path = folder.join(&self.name);
        let damaged = |problem: String| Failure::input(problem).about(&path);
        // A list may come from anywhere, and concerns only files beside it.
        if path.file_name().is_none_or(|name| *name != *self.name) {
            return Err(damaged("it is not a name of a file in this folder".to_owned()));
        }
        // A link or a pipe could be read for ever.
        if fs::symlink_metadata(&path).is_ok_and(|file| !file.is_file()) {
            return Err(damaged("it is no file".to_owned()));
        }
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(damaged("the file of the dump is missing".to_owned()));
            }
            file => file.map_err(|error| Failure::file(&path, &error))?,
        };
        let bytes = file.metadata()?.len();
        if bytes != self.bytes {
            return Err(damaged(format!("the file is damaged: it has {bytes} bytes instead of {}", self.bytes)));
        }
        Ok(file)
    }

    /// Checks the content of the file.
    pub(crate) fn check(&self, folder: &Path) -> Result<(), Failure> {
        let (path, mut hashed) = (folder.join(&self.name), Hashed::new(io::sink()));
        io::copy(&mut self.open(folder)?, &mut hashed).map_err(|error| Failure::file(&path, &error))?;
        if hashed.checksum() != self.checksum {
            return Err(Failure::input("the file is damaged: it has another checksum").about(&path));
        }
        if self.name.ends_with(COMPRESSED) && !cfg!(feature = "zstd") {
            let problem = "the file is compressed by zstd, for which this command was built without support";
            return Err(Failure::input(problem).about(&path));
        }
        Ok(())
    }
}

/// The bytes of all files, one after the other.
pub(crate) struct DumpedBytes {
    folder: PathBuf,
    files: vec::IntoIter<DumpedFile>,
    file: Box<dyn Read + Send>,
}

impl DumpedBytes {
    pub(crate) fn new(folder: &Path, manifest: Manifest) -> Self {
        Self { folder: folder.to_owned(), files: manifest.files.into_iter(), file: Box::new(io::empty()) }
    }
}

impl Read for DumpedBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.file.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            let Some(next) = self.files.next() else { return Ok(0) };
            let file = File::open(self.folder.join(&next.name))?;
            self.file = if next.name.ends_with(COMPRESSED) { decompressed(file)? } else { Box::new(file) };
        }
    }
}

#[cfg(feature = "zstd")]
fn decompressed(file: File) -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(zstd::Decoder::new(file)?))
}

#[cfg(not(feature = "zstd"))]
fn decompressed(_: File) -> io::Result<Box<dyn Read + Send>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The files of a dump while they are written.
pub(crate) struct DumpFiles {
    folder: PathBuf,
    pub(crate) manifest: Manifest,
    /// Number of bytes at which a file ends.
    size: u64,
    file: Option<Compressed>,
}

#[cfg(not(feature = "zstd"))]
use PlainFile as Compressed;
type PlainFile = Hashed<File>;
#[cfg(feature = "zstd")]
type Compressed = zstd::Encoder<'static, PlainFile>;

impl DumpFiles {
    pub(crate) fn new(folder: &Path, manifest: Manifest, size: u64) -> Self {
        Self { folder: folder.to_owned(), manifest, size, file: None }
    }

    /// Writes lines, those of a page or the last one.
    pub(crate) fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            let path = self.folder.join(name_of(self.manifest.files.len()));
            let file = Hashed::new(File::create(path)?);
            #[cfg(feature = "zstd")]
            let file = zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)?;
            self.file = Some(file);
        }
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(lines))
    }

    /// Writes what is in memory, so that the length of the file is known.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }

    /// Checks whether the file that is written is large enough.
    pub(crate) fn is_full(&self) -> bool {
        #[cfg(feature = "zstd")]
        let file = self.file.as_ref().map(zstd::Encoder::get_ref);
        #[cfg(not(feature = "zstd"))]
        let file = self.file.as_ref();
        file.is_some_and(|file| file.bytes >= self.size)
    }

    /// Ends the file, and saves the list with it. The rows are those of all files.
    pub(crate) fn end(&mut self, rows: u64, cursor: Option<String>, is_complete: bool) -> Result<(), Failure> {
        if let Some(file) = mem::take(&mut self.file) {
            #[cfg(feature = "zstd")]
            let file = file.finish()?;
            file.inner.sync_all()?;
            let (name, checksum) = (name_of(self.manifest.files.len()), file.checksum());
            self.manifest.files.push(DumpedFile { name, bytes: file.bytes, checksum });
        }
        let manifest = &mut self.manifest;
        (manifest.rows, manifest.cursor, manifest.is_complete) = (rows, cursor, is_complete);
        manifest.save(&self.folder)
    }
}

/// A writer that counts and hashes the bytes.
struct Hashed<W> {
    inner: W,
    bytes: u64,
    hasher: XxHash3_128,
}

impl<W> Hashed<W> {
    fn new(inner: W) -> Self {
        Self { inner, bytes: 0, hasher: XxHash3_128::new() }
    }

    fn checksum(&self) -> String {
        format!("{:032x}", self.hasher.finish_128())
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        self.hasher.write(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
