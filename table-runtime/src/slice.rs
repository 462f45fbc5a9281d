//! Slices: tables that each hold the rows of one year, month or day.

use std::{borrow::Cow, fmt, ops::RangeTo};

use crate::{
    ETag, Error, LayoutInfo, Result, RowId, TableEntity, Tables, Ticks,
    backend::{Action, Backend, BoxFuture, Group},
    key::{KeyPart, KeyProblem, kind},
    layout::segments,
    limits,
    ticks::{civil_from_days, days_from_civil},
};

/// An entity whose rows stand in slices: `#[table(slice = month(field))]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no slices",
    label = "its rows stand in one table",
    note = "put `#[table(slice = month(field))]` on `{Self}`, with a time that is a part of its key"
)]
pub trait Sliced: TableEntity {}

/// How the tables of an entity follow from a time in its key.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub struct SliceInfo {
    /// The field.
    pub field: &'static str,
    /// What a slice holds.
    pub unit: SliceUnit,
    /// The one joint of the key, for data that others wrote.
    #[serde(skip)]
    pub(crate) separator: Option<char>,
}

/// What a slice holds, by UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SliceUnit {
    /// A year: `Log2010`.
    Year,
    /// A month: `Log201006`.
    Month,
    /// A day: `Log20100603`.
    Day,
}

/// A table that holds the rows of a year, a month or a day.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slice {
    /// Its first moment.
    pub start: Ticks,
    /// The first moment after it; `None` of the last one of the year 9999.
    pub end: Option<Ticks>,
    /// The table.
    pub table: String,
}

/// A time, of a type by which tables can be sliced.
pub trait SliceTime: KeyPart<Kind = kind::Instant> {}

#[diagnostic::do_not_recommend]
impl<T: KeyPart<Kind = kind::Instant>> SliceTime for T {}

/// The kind of fields of the type `T` that tables can be sliced by.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a table cannot be sliced by `{T}`",
    label = "not a time",
    note = "slices are made of a time that is a part of the key: `std::time::SystemTime`, or one of `time`, `chrono` or \
            `jiff`, behind features of `table-runtime`"
)]
pub trait SliceBy<T> {}

#[diagnostic::do_not_recommend]
impl<T> SliceBy<T> for kind::Instant {}

impl SliceInfo {
    /// Slices by a field of the type `T`, whose kind is `K`.
    #[doc(hidden)]
    pub const fn of<T, K: SliceBy<T>>(field: &'static str, unit: SliceUnit, separator: Option<char>) -> Self {
        Self { field, unit, separator }
    }

    /// The slice of a moment.
    pub(crate) fn at(&self, table: &str, time: Ticks) -> Slice {
        let (year, month, day) = civil_from_days(time.days());
        let (start, digits) = match self.unit {
            SliceUnit::Year => ((year, 1, 1), format!("{year:04}")),
            SliceUnit::Month => ((year, month, 1), format!("{year:04}{month:02}")),
            SliceUnit::Day => ((year, month, day), format!("{year:04}{month:02}{day:02}")),
        };
        let (year, month, day) = start;
        let next = match self.unit {
            SliceUnit::Year => days_from_civil(year + 1, 1, 1),
            SliceUnit::Month if month == 12 => days_from_civil(year + 1, 1, 1),
            SliceUnit::Month => days_from_civil(year, month + 1, 1),
            SliceUnit::Day => days_from_civil(year, month, day) + 1,
        };
        let start = Ticks::of_days(days_from_civil(year, month, day)).unwrap_or(time);
        Slice { start, end: Ticks::of_days(next), table: format!("{table}{digits}") }
    }

    /// The slice whose table has this name; `None` if it is none of these.
    pub(crate) fn named(&self, table: &str, name: &str) -> Option<Slice> {
        let digits = name.strip_prefix(table).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        let number = |at: std::ops::Range<usize>| digits.get(at)?.parse::<u64>().ok();
        let (year, month, day) = match self.unit {
            SliceUnit::Year => (number(0..4)?, 1, 1),
            SliceUnit::Month => (number(0..4)?, number(4..6)?, 1),
            SliceUnit::Day => (number(0..4)?, number(4..6)?, number(6..8)?),
        };
        if year == 0 || !(1..=12).contains(&month) || day == 0 {
            return None;
        }
        let slice = self.at(table, Ticks::of_days(days_from_civil(year, month, day))?);
        // No more digits than these, and no day that its month does not have.
        (slice.table == name).then_some(slice)
    }

    /// The slices that there are, the oldest first.
    pub(crate) async fn list(&self, backend: &dyn Backend, table: &str) -> Result<Vec<Slice>> {
        let names = backend.list_tables(table).await?;
        let mut slices: Vec<_> = names.iter().filter_map(|name| self.named(table, name)).collect();
        slices.sort_by_key(|slice| slice.start);
        Ok(slices)
    }

    /// The slices' names as they are told: `LogYYYYMM`.
    pub(crate) fn pattern(&self, table: &str) -> String {
        let digits = match self.unit {
            SliceUnit::Year => "YYYY",
            SliceUnit::Month => "YYYYMM",
            SliceUnit::Day => "YYYYMMDD",
        };
        format!("{table}{digits}")
    }

    /// What follows the time in its key, if something does.
    pub(crate) fn joint(&self) -> char {
        self.separator.unwrap_or('_')
    }

    /// Where the time stands in the key.
    pub(crate) fn place(&self, layout: &LayoutInfo) -> Option<TimePart> {
        let of = |parts: &[crate::PartInfo]| {
            let is_time = |encoding: &str| matches!(encoding, "plain" | "time" | "reverse_time");
            let number = parts.iter().position(|part| part.field == self.field && is_time(part.encoding))?;
            Some((number, parts[number].encoding == "reverse_time"))
        };
        let part = |in_partition| move |(number, descending)| TimePart { in_partition, number, descending };
        of(layout.partition).map(part(true)).or_else(|| of(layout.row).map(part(false)))
    }

    /// Of a key, what begins with this part of it; `None` if the parts before it are not whole.
    pub(crate) fn begun_by<'k>(&self, layout: &LayoutInfo, part: TimePart, key: &'k str) -> Option<&'k str> {
        let (prefix, parts) = if part.in_partition {
            (layout.partition_prefix, layout.partition)
        } else {
            (layout.row_prefix, layout.row)
        };
        // No part holds the joint that ends it.
        segments::skip(key.strip_prefix(prefix)?, &parts[..part.number], self.separator).ok()
    }

    fn time(&self, layout: &LayoutInfo, partition_key: &str, row_key: &str) -> Option<Ticks> {
        let part = self.place(layout)?;
        let key = if part.in_partition { partition_key } else { row_key };
        let (digits, _) = part.digits(self.begun_by(layout, part, key)?)?;
        part.time(digits)
    }
}

/// The part of a key that holds the time of its slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimePart {
    pub(crate) in_partition: bool,
    /// Its place among the parts of its key.
    pub(crate) number: usize,
    pub(crate) descending: bool,
}

impl TimePart {
    /// The digits with which a text begins, and what follows them.
    #[allow(clippy::unused_self, reason = "as its neighbour")]
    pub(crate) fn digits(self, text: &str) -> Option<(u64, &str)> {
        const DIGITS: usize = 19;
        let (digits, rest) = text.split_at_checked(DIGITS)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some((digits.parse().ok()?, rest))
    }

    /// The time of these digits.
    pub(crate) fn time(self, digits: u64) -> Option<Ticks> {
        let digits = Ticks::new(digits)?;
        if self.descending { Ticks::new(Ticks::MAX.get() - digits.get()) } else { Some(digits) }
    }
}

impl LayoutInfo {
    /// The table of the row with these keys.
    pub(crate) fn table_of(&self, partition_key: &str, row_key: &str) -> Result<Cow<'static, str>> {
        let Some(slice) = &self.slice else { return Ok(self.table.into()) };
        match slice.time(self, partition_key, row_key) {
            Some(time) => Ok(slice.at(self.table, time).table.into()),
            None => Err(self.key_error(slice.field, KeyProblem::malformed("a time", row_key)).into()),
        }
    }
}

/// Carries out a write of entities of this layout: if they are new, it makes the slice that is missing.
pub(crate) async fn execute(backend: &dyn Backend, layout: &LayoutInfo, group: &Group) -> Result<Vec<Option<ETag>>> {
    let executed = backend.execute(group).await;
    if layout.slice.is_none() || !matches!(executed, Err(Error::TableNotFound(_))) {
        return executed;
    }
    let is_new = |action: &Action| matches!(action, Action::Insert(_) | Action::Upsert(_));
    if let Some(operation) = group.operations.iter().find(|operation| !is_new(&operation.action)) {
        let (table, partition_key) = (group.table.to_string(), group.partition_key.clone());
        return Err(Error::NotFound(Box::new(RowId { table, partition_key, row_key: operation.row_key.clone() })));
    }
    backend.create_table(&group.table).await?;
    backend.execute(group).await
}

impl Tables {
    /// The slices of an entity that there are, the oldest first.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// use table_runtime::{TableEntity, Tables};
    ///
    /// #[derive(TableEntity)]
    /// #[table(slice = month(at))]
    /// struct Log {
    ///     #[partition_key]
    ///     machine: String,
    ///     #[row_key(reverse_time)]
    ///     at: SystemTime,
    ///     text: String,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let tables = Tables::in_memory()?;
    /// let day = |number: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * number);
    /// for at in [day(0), day(40)] {
    ///     tables.insert(&Log { machine: "a".into(), at, text: "started".into() }).await?;
    /// }
    /// let names: Vec<_> = tables.slices::<Log>().await?.into_iter().map(|slice| slice.table).collect();
    /// assert_eq!(names, ["Log197001", "Log197002"]);
    ///
    /// tables.drop_slices::<Log>(..day(35)).await?;
    /// assert_eq!(Log::by_key("a").count(&tables).await?, 1);
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// What the store says.
    pub fn slices<E: Sliced>(&self) -> BoxFuture<'_, Result<Vec<Slice>>> {
        Box::pin(self.slices_of(&E::LAYOUTS[0]))
    }

    async fn slices_of(&self, layout: &'static LayoutInfo) -> Result<Vec<Slice>> {
        match &layout.slice {
            Some(slice) => slice.list(&**self.backend(), layout.table).await,
            None => Ok(Vec::new()),
        }
    }

    /// Deletes the slices of an entity that end before a time, or with it, as whole tables with all that is in them,
    /// the oldest first, and gives those that were there.
    ///
    /// An entity that is written later makes its slice anew; the service needs up to a minute before it can.
    ///
    /// # Errors
    /// [`Error::Key`] for a time of no year from 0001 to 9999, and what the store says: the slices after the one that
    /// could not be deleted stay then.
    #[allow(clippy::needless_pass_by_value, reason = "as ranges are taken")]
    pub fn drop_slices<E: Sliced>(&self, before: RangeTo<impl SliceTime>) -> BoxFuture<'_, Result<Vec<Slice>>> {
        let layout = &E::LAYOUTS[0];
        let field = layout.slice.as_ref().map_or("", |slice| slice.field);
        let before = before.end.to_value().ticks().map_err(|problem| layout.key_error(field, problem));
        Box::pin(async move { self.drop_slices_of(layout, before?).await })
    }

    async fn drop_slices_of(&self, layout: &'static LayoutInfo, before: Ticks) -> Result<Vec<Slice>> {
        let mut dropped = Vec::new();
        for slice in self.slices_of(layout).await? {
            if slice.end.is_none_or(|end| end > before) {
                break;
            }
            match self.backend().delete_table(&slice.table).await {
                Ok(true) => dropped.push(slice),
                // Somebody else deleted it, or is about to.
                Ok(false) | Err(Error::TableBeingDeleted(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(dropped)
    }
}

/// Checks that a program may have this table, or tables of this name with the digits of a slice.
pub(crate) fn check_name(layout: &LayoutInfo) -> Result<()> {
    limits::check_not_reserved(layout.table)?;
    let name = layout.slice.as_ref().map(|slice| slice.at(layout.table, Ticks::UNIX_EPOCH).table);
    limits::check_table_name(name.as_deref().unwrap_or(layout.table))
}

impl fmt::Display for SliceUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
        })
    }
}
