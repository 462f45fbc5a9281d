//! Files with the position of a transfer.
//!
//! A position is of use only to the transfer that saved it: another one would skip the rows before it. So the file has a
//! hash of that transfer's arguments beside the position.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use table_runtime::jobs::{Job, Resumable};
use twox_hash::XxHash3_128;

use crate::failure::Failure;

/// The arguments that make a transfer what it is, as a hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Transfer(String);

impl Transfer {
    /// Hashes the name of the command, its stores and files, and what it selects. None of them may have a secret.
    pub(crate) fn of(arguments: &[Option<&[u8]>]) -> Self {
        let mut bytes = Vec::new();
        for argument in arguments {
            // The lengths keep `ab`, `c` apart from `a`, `bc`.
            let length = argument.map_or(u64::MAX, |argument| argument.len() as u64);
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(argument.unwrap_or_default());
        }
        Self(format!("{:032x}", XxHash3_128::oneshot(&bytes)))
    }
}

/// The file in which a transfer saves its position, if it has one.
pub(crate) struct CursorFile {
    path: Option<PathBuf>,
    transfer: Transfer,
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct Saved<T> {
    transfer: Transfer,
    position: T,
}

impl CursorFile {
    pub(crate) fn new(path: Option<&Path>, transfer: Transfer) -> Self {
        Self { path: path.map(Path::to_owned), transfer }
    }

    /// Reads the position that was saved; `None` if there is none. Refuses that of another transfer.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<Option<T>, Failure> {
        let Some(path) = &self.path else { return Ok(None) };
        let text = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| Failure::file(path, &error))?,
        };
        let Ok(Saved { transfer, position }) = serde_json::from_slice(&text) else {
            let path = path.display();
            return Err(Failure::input(format!("{path} is no cursor of this command; delete it to begin anew")));
        };
        if transfer != self.transfer {
            return Err(Failure::input(format!(
                "{} is the cursor of a transfer with other arguments or another input; repeat them, or give another file",
                path.display()
            )));
        }
        Ok(Some(position))
    }

    /// Saves the position. The file never holds half of one.
    pub(crate) fn save(&self, position: &impl Serialize) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        let saved = Saved { transfer: self.transfer.clone(), position };
        replace(path, &serde_json::to_vec(&saved).map_err(io::Error::from)?)
    }

    /// Removes the file, because the transfer is complete.
    pub(crate) fn remove(&self) -> Result<(), Failure> {
        match &self.path {
            Some(path) if path.exists() => Ok(fs::remove_file(path)?),
            _ => Ok(()),
        }
    }

    /// Checks whether positions are saved.
    pub(crate) fn is_given(&self) -> bool {
        self.path.is_some()
    }
}

/// Returns the job, which continues at its cursor if it has one.
pub(crate) fn resumed<'a, K: Resumable>(job: Job<'a, K>, cursor: Option<&str>) -> Result<Job<'a, K>, Failure> {
    match cursor {
        None => Ok(job),
        Some(cursor) => Ok(job.resume_from(cursor)?),
    }
}

/// Writes the content of a file. After a crash, the file has the old content or the new one.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let mut new = path.to_owned().into_os_string();
    new.push(".new");
    let write = || {
        let mut file = File::create(&new)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(|error| Failure::file(path, &error))
}
