//! The options of jobs, and their values.

use std::{num::NonZero, ops::Bound, path::PathBuf, str::FromStr};

use bytesize::ByteSize;
use clap::Args;
use table_runtime::jobs::{Job, JobKind, OfPartitions, Rehearsable, Sharded};

/// The option of every job.
#[derive(Args, Debug)]
pub(crate) struct SideBySide {
    /// The largest number of pages that are read or written at the same time. When the service is overloaded, there are
    /// fewer.
    #[arg(long, value_name = "N")]
    side_by_side: Option<NonZero<usize>>,
}

/// The options of jobs that read partitions.
#[derive(Args, Debug)]
pub(crate) struct Reading {
    #[command(flatten)]
    side_by_side: SideBySide,
    /// Only the rows whose partition keys, as stored, are in this range: from FROM on, and before TO. Either may be
    /// missing. The rows of the catalog have a partition too.
    #[arg(long, value_name = "FROM..TO")]
    partitions: Option<KeyRange>,
}

/// The options of jobs that are divided among machines.
#[derive(Args, Debug)]
pub(crate) struct Shared {
    #[command(flatten)]
    reading: Reading,
    /// Only the share number I, from 0, of the partitions, which are divided among N runs by a hash of their keys. One of them
    /// has the catalog, which should be copied or loaded last: with it, indexes are ready.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
}

/// The option of jobs that continue.
#[derive(Args, Debug)]
pub(crate) struct Resuming {
    /// Saves the position in this file, and continues from it if the file exists. Refuses that of other stores or other
    /// rows.
    #[arg(long, value_name = "FILE")]
    pub(crate) cursor: Option<PathBuf>,
}

/// The options of jobs that write rows or remove them.
#[derive(Args, Debug)]
pub(crate) struct Writing {
    #[command(flatten)]
    pub(crate) resuming: Resuming,
    /// Writes nothing and removes nothing, and reports what there is to do.
    #[arg(long, conflicts_with = "cursor")]
    pub(crate) dry_run: bool,
}

impl SideBySide {
    pub(crate) fn apply<'a, K: JobKind>(&self, job: Job<'a, K>) -> Job<'a, K> {
        match self.side_by_side {
            None => job,
            Some(pages) => job.side_by_side(pages.get()),
        }
    }
}

impl Reading {
    pub(crate) fn apply<'a, K: OfPartitions>(&self, job: Job<'a, K>) -> Job<'a, K> {
        let job = self.side_by_side.apply(job);
        match &self.partitions {
            None => job,
            Some(KeyRange { from, to }) => {
                let from = from.as_deref().map_or(Bound::Unbounded, Bound::Included);
                job.partitions::<&str>((from, to.as_deref().map_or(Bound::Unbounded, Bound::Excluded)))
            }
        }
    }

    /// Returns the rows that are read, as a text that distinguishes transfers.
    pub(crate) fn described(&self) -> String {
        format!("{:?}", self.partitions)
    }
}

impl Shared {
    pub(crate) fn apply<'a, K: OfPartitions + Sharded>(&self, job: Job<'a, K>) -> Job<'a, K> {
        let job = self.reading.apply(job);
        match self.shard {
            None => job,
            Some(Shard { number, count }) => job.shard(number, count),
        }
    }

    /// Returns the rows that are read, as a text that distinguishes transfers.
    pub(crate) fn described(&self) -> String {
        format!("{} {:?}", self.reading.described(), self.shard)
    }
}

impl Writing {
    pub(crate) fn apply<'a, K: Rehearsable>(&self, job: Job<'a, K>) -> Job<'a, K> {
        if self.dry_run { job.dry_run() } else { job }
    }
}

/// A range of keys: from a key on, and before another one.
#[derive(Clone, Debug)]
struct KeyRange {
    from: Option<String>,
    to: Option<String>,
}

impl FromStr for KeyRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, to) = text.split_once("..").ok_or("write FROM..TO, FROM.. or ..TO")?;
        // The service orders keys by their UTF-16 units.
        if !from.is_empty() && !to.is_empty() && from.encode_utf16().ge(to.encode_utf16()) {
            return Err("it has no keys: FROM must be before TO".to_owned());
        }
        let bound = |key: &str| (!key.is_empty()).then(|| key.to_owned());
        Ok(Self { from: bound(from), to: bound(to) })
    }
}

/// A share of the partitions.
#[derive(Clone, Copy, Debug)]
struct Shard {
    number: usize,
    count: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        match numbers.ok_or("write I/N, such as 0/3")? {
            (number, count) if number < count => Ok(Self { number, count }),
            (_, count) => Err(format!("shards are counted from 0: I must be below {count}")),
        }
    }
}

/// Reads a number of bytes, such as `256MiB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let size = text.parse::<ByteSize>().map_err(|_| "write a number of bytes, such as 256MiB")?;
    Ok(size.as_u64())
}
