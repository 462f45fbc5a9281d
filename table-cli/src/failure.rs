//! Failures: one line, and an exit code.

use std::{env, fmt, io, path::Path, process::ExitCode};

use table_runtime::{Error, transfer::TransferError};

use crate::store::is_secret;

/// A failure of the command.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// The store or a file failed.
    pub(crate) fn store(message: impl fmt::Display) -> Self {
        Self { code: 1, message: message.to_string() }
    }

    /// The arguments or the input are wrong.
    pub(crate) fn input(message: impl fmt::Display) -> Self {
        Self { code: 2, message: message.to_string() }
    }

    /// What was asked for does not exist.
    pub(crate) fn missing(message: impl fmt::Display) -> Self {
        Self { code: 3, message: message.to_string() }
    }

    /// A check has found problems.
    pub(crate) fn found(message: impl fmt::Display) -> Self {
        Self { code: 4, message: message.to_string() }
    }

    /// The reader of the standard output has closed it, as `head` does. There is nothing to report.
    fn closed() -> Self {
        Self { code: 0, message: String::new() }
    }

    /// A file could not be read or written.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        Self::store(format!("{}: {error}", path.display()))
    }

    /// Adds the file's name to the message.
    pub(crate) fn about(self, file: &Path) -> Self {
        Self { message: format!("{}: {}", file.display(), self.message), ..self }
    }

    /// Writes the message as one line, and returns the code. Leaves out arguments, and values of the variables that they
    /// name, that are secrets. A message quotes them if they are given in the place of a table or a key.
    pub(crate) fn report(&self) -> ExitCode {
        if self.code == 0 {
            return ExitCode::SUCCESS;
        }
        let mut message = self.message.clone();
        for argument in env::args_os().filter_map(|argument| argument.into_string().ok()) {
            let value = argument.strip_prefix("env:").and_then(|name| env::var(name).ok());
            for secret in [Some(argument), value].into_iter().flatten().filter(|text| is_secret(text)) {
                message = message.replace(&secret, "(a secret)");
            }
        }
        let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
        eprintln!("tables: {}", printable(&line));
        ExitCode::from(self.code)
    }
}

/// Returns a text of a file or a store as a terminal can show it: without control characters.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { '\u{FFFD}' } else { character }).collect()
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::TableNotFound(_) => Self::missing(error),
            Error::Configuration(_) | Error::Limit(_) | Error::Key(_) | Error::Cursor(_) => Self::input(error),
            error => Self::store(error),
        }
    }
}

impl From<TransferError> for Failure {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Store(error) => error.into(),
            TransferError::Io(error) => error.into(),
            error @ (TransferError::Line { .. }
            | TransferError::Incomplete { .. }
            | TransferError::Cursor
            | TransferError::CatalogDiffers { .. }) => Self::input(error),
            error => Self::store(error),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::closed();
        }
        Self::store(error)
    }
}
