//! The arguments of the command.

use std::{num::NonZero, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use table_runtime::Guid;

use crate::{
    options::{self, Reading, Resuming, Shared, SideBySide, Writing},
    store::StoreArguments,
};

const AFTER: &str = "\
A STORE is the path of an embedded store's file, a connection string, or env:NAME for the environment variable NAME \
that has one of them. Other users of the machine can see a connection string on a command line, with its key: prefer \
the variable. A shared access signature for one table is enough for each command about this table; `--entities`, `sweep`, \
`events` and `verify` need the catalog too. A file is opened for \
reading, except by `open`, `import`, `load`, `sweep`, `events retry`, `events discard`, `events optional` and `compact` \
and as the target of `copy`, without `--dry-run`; no \
other process may have it open for writing. Secrets are never printed.

Exit codes:
  0  done
  1  the store or a file could not be read or written
  2  wrong arguments, or a damaged or incomplete input
  3  there is no such table, row, entity or event
  4  `verify` has found a problem, or `sweep` an entity that it could not remove";

/// Looks into tables and moves their rows.
#[derive(Parser, Debug)]
#[command(name = "tables", version, after_help = AFTER, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Lists the tables with the entities and indexes that are recorded for them, and the states of these.
    List {
        /// Counts the rows of each table of an account, which reads all of them. Those of a file are always counted.
        #[arg(long)]
        rows: bool,
    },
    /// Shows rows, with the values in their keys as the recorded layout decodes them.
    Show(Show),
    /// Prints one row as a line of JSON.
    Get {
        /// The table, or else the recorded entity of this name.
        table: String,
        /// The partition key, as stored.
        partition: String,
        /// The row key, as stored.
        row: String,
    },
    /// Counts rows, which reads their keys.
    Count(RowArguments),
    /// Writes rows to a file or to the standard output: the whole store, a table, a partition or an entity.
    Export(Export),
    /// Writes the rows of a file into the store, in place of those with the same keys.
    ///
    /// Reads what `export` writes; CSV of Storage Explorer, with or without types, and of other programs; and JSON of the
    /// service and its clients: a list of rows, the answer to a query, the output of `az storage entity query`, and a row in
    /// each line.
    Import(Import),
    /// Copies rows from one store to another: those of entities, indexes and the catalog, so that the copy can be used
    /// at once. `--store` is not used.
    Copy(Copy),
    /// Writes all rows to files in a folder: those of entities, indexes and the catalog, for `load`.
    ///
    /// The rows of an embedded store are those of one moment. The files have the lines of `export`, compressed,
    /// and `manifest.json` lists them with their lengths and checksums. A dump that was interrupted continues after the last
    /// file that is listed, if the command is repeated. Its other rows are those of another moment: run `verify` after it was
    /// loaded.
    Dump(Dump),
    /// Writes the rows of a dump's files into the store, in place of those with the same keys.
    ///
    /// Checks all files before it writes, and refuses a dump that is not complete or has a damaged file.
    Load(Load),
    /// Prints a Rust struct that reads the rows of a table or an entity: what the catalog records of it, or else what
    /// follows from the rows.
    Derive(Derive),
    /// Opens the file of an embedded store for writing, and closes it. This repairs a file whose process was killed.
    Open {
        /// The file; that of `--store` if it is missing.
        file: Option<String>,
    },
    /// Compacts the file of an embedded store, which no process has open.
    Compact,
    /// Removes the entities of `expires` that have expired, with their index rows, by the recorded layouts.
    ///
    /// `--dry-run` prints the entities.
    ///
    /// Programs may write meanwhile: an entity that they renew stays. An entity whose rows in an index cannot be computed
    /// stays too, and is reported: its field is stored as a text of a program's own. `tables.sweep` in that program removes it.
    Sweep(Sweep),
    /// Looks at the events of an entity, and decides about those that no relay could deliver.
    #[command(subcommand)]
    Events(Events),
    /// Compares entities with the rows of their indexes by the recorded layouts, and reports what does not fit.
    ///
    /// Reports rows that fit no recorded layout, pending inserts, index rows whose entity is missing or has another
    /// value, entities without a row in an index, included and copied properties that differ, values of a unique
    /// index with two owners, and events without the mark by which relays find them. Not checked: the predicate of an
    /// index with `when` is not recorded, so an entity without a row in it is not reported; neither are values that a
    /// property stores as JSON or as a text of a program's own.
    Verify(Verify),
}

/// A table or an entity, or a partition of it.
#[derive(Args, Debug)]
pub(crate) struct RowArguments {
    /// The table. If there is no such table, the recorded entity of this name, without the rows of its indexes.
    pub(crate) table: String,
    /// Only entities: no rows of indexes, and no inserts that are not committed.
    #[arg(long)]
    pub(crate) entities: bool,
    /// Only the rows of this partition.
    #[arg(long, value_name = "KEY")]
    pub(crate) partition: Option<String>,
    /// Only the rows from this row key on.
    #[arg(long, value_name = "KEY", requires = "partition")]
    pub(crate) from: Option<String>,
    /// Only the rows up to this row key, itself included.
    #[arg(long, value_name = "KEY", requires = "partition")]
    pub(crate) to: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) rows: RowArguments,
    /// The largest number of rows.
    #[arg(long, alias = "take", value_name = "N", default_value_t = 20, value_parser = value_parser!(u64).range(1..))]
    pub(crate) limit: u64,
    /// Whole values, which are cut after 40 characters otherwise.
    #[arg(long)]
    pub(crate) whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A line of JSON for each row, with the types of its properties. `import` reads other JSON too.
    #[value(alias = "json")]
    Ndjson,
    /// A line for each row of one table, with a column `Name:Type` for each property and type. An absent property is an
    /// empty cell; a text that is empty or begins with `\` has one more `\` before it.
    Csv,
}

impl Format {
    /// Returns the name, by which a cursor distinguishes the formats.
    pub(crate) fn name(self) -> &'static [u8] {
        match self {
            Self::Ndjson => b"ndjson",
            Self::Csv => b"csv",
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Export {
    /// The table, or else the recorded entity of this name; the whole store if it is missing.
    pub(crate) table: Option<String>,
    /// Only entities: no rows of indexes, no inserts that are not committed, and no catalog. `repair` writes the rows of
    /// the indexes again.
    #[arg(long)]
    pub(crate) entities: bool,
    /// Only the rows of this partition.
    #[arg(long, value_name = "KEY", requires = "table")]
    pub(crate) partition: Option<String>,
    /// Also events that no relay has delivered, and the marks by which relays find them.
    #[arg(long, conflicts_with = "entities")]
    pub(crate) events: bool,
    /// The file; the standard output if it is missing, or `-`.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The format; that of the output's extension if it is missing, or else NDJSON.
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Saves the position in this file, and continues from it if the file exists. Refuses that of other arguments.
    #[arg(long, value_name = "FILE", requires = "output")]
    pub(crate) cursor: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Import {
    /// The file; `-` for the standard input.
    pub(crate) input: PathBuf,
    /// The table that is written, for rows that do not have it; for CSV, the name of the file if it is missing. Of rows
    /// that have it, only those of this table.
    #[arg(long)]
    pub(crate) table: Option<String>,
    /// Only the rows of this partition.
    #[arg(long, value_name = "KEY")]
    pub(crate) partition: Option<String>,
    /// The format; recognized if it is missing.
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Accepts the output of `export` without the last line that has the number of rows, and an answer that has only the
    /// first rows of a table.
    #[arg(long)]
    pub(crate) partial: bool,
    /// Leaves out rows that exceed a limit of the service, and reports them at the end.
    #[arg(long)]
    pub(crate) skip: bool,
    /// Saves the position in this file, and continues from it if the file exists. Refuses that of other arguments
    /// than `--skip`.
    #[arg(long, value_name = "FILE")]
    pub(crate) cursor: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Copy {
    /// The store to read.
    #[arg(value_name = "FROM")]
    pub(crate) source: String,
    /// The store to write. A file is created if it does not exist.
    #[arg(value_name = "TO")]
    pub(crate) target: String,
    /// Only this table, without the catalog.
    #[arg(long)]
    pub(crate) table: Option<String>,
    /// Also events that no relay has delivered, and the marks by which relays find them: relays of both stores deliver them.
    #[arg(long)]
    pub(crate) events: bool,
    /// Leaves out rows that exceed a limit of the service, and reports them at the end.
    #[arg(long)]
    pub(crate) skip: bool,
    /// Only the rows of this partition.
    #[arg(long, value_name = "KEY", requires = "table", conflicts_with_all = ["partitions", "shard"])]
    pub(crate) partition: Option<String>,
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

#[derive(Args, Debug)]
pub(crate) struct Dump {
    /// The folder, which is new or empty, or has an unfinished dump of the same store with the same arguments.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Only this table, without the catalog.
    #[arg(long)]
    pub(crate) table: Option<String>,
    /// Also events that no relay has delivered, and the marks by which relays find them.
    #[arg(long)]
    pub(crate) events: bool,
    /// The number of bytes, compressed, at which the next file begins. A file ends with a page of up to 1000 rows, so it
    /// may be larger.
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = options::bytes)]
    pub(crate) file_size: u64,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Args, Debug)]
pub(crate) struct Load {
    /// The folder that `dump` has written.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) side_by_side: SideBySide,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// The recorded name of one entity; all of them if it is missing.
    pub(crate) entity: Option<String>,
    /// The memory for the hashes of rows; 64 MiB if it is missing. With less than the rows need, they are read several times.
    #[arg(long, value_name = "SIZE", value_parser = options::bytes)]
    pub(crate) memory: Option<u64>,
    /// Reads only so many random ranges, each a page of up to 100 entities or rows of one index, and what belongs to each of
    /// their rows. Prints what that proves.
    #[arg(long, value_name = "RANGES", conflicts_with_all = ["memory", "cursor"])]
    pub(crate) sample: Option<NonZero<usize>>,
    /// Draws the ranges of an earlier sample again. It has printed its seed.
    #[arg(long, value_name = "SEED", requires = "sample")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) resuming: Resuming,
}

#[derive(Args, Debug)]
pub(crate) struct Sweep {
    /// The recorded name of the entity.
    pub(crate) entity: String,
    /// Removes also the entities of `soft_delete` that were put into the bin so long ago, such as `30d`.
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    pub(crate) deleted_before: Option<Duration>,
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Events {
    /// Prints the number of events that wait for a relay, and those that were put aside because their delivery has failed too
    /// often.
    List {
        /// The recorded name of the entity.
        entity: String,
    },
    /// Lets relays deliver an event again that was put aside.
    Retry(OneEvent),
    /// Deletes an event that was put aside.
    Discard(OneEvent),
    /// Takes back `require_events`: programs without events in their struct may write again, and their writes record none.
    Optional {
        /// The recorded name of the entity.
        entity: String,
    },
}

#[derive(Args, Debug)]
pub(crate) struct OneEvent {
    /// The recorded name of the entity.
    pub(crate) entity: String,
    /// The id of the event.
    pub(crate) id: Guid,
}

#[derive(Args, Debug)]
pub(crate) struct Derive {
    /// The table, or else the recorded entity of this name.
    pub(crate) table: String,
    /// The largest number of rows to look at.
    #[arg(long, alias = "take", value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u64).range(1..))]
    pub(crate) limit: u64,
    /// The name of the struct; the recorded one, or that of the table in the singular, if it is missing.
    #[arg(long)]
    pub(crate) name: Option<String>,
}
