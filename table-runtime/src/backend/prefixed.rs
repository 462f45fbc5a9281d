//! Backend whose tables are those of another backend whose names begin with a prefix.
//!
//! A prefix is letters and then digits, once or several times, and the name of a table begins with a letter. The table of a
//! prefix must not itself begin with letters, digits and a letter: it would be the table of a longer prefix. So a whole
//! name is divided into a prefix and a name in one way only.

use std::{fmt, sync::Arc};

use super::{Backend, BoxFuture, Continuation, FailedGroup, Group, Page, Reach, Reader, Scan, forward_requests};
use crate::{ETag, Result, Row, limits};

/// The tables of a backend whose names begin with a prefix, by the rest of their names.
pub(crate) struct Prefixed {
    inner: Arc<dyn Backend>,
    prefix: Box<str>,
    /// The part of the prefix that is none.
    wrong: Option<Box<str>>,
}

impl Prefixed {
    pub(crate) fn new(inner: Arc<dyn Backend>, prefix: &str) -> Self {
        let wrong = limits::check_prefix(prefix).is_err().then(|| prefix.into());
        Self { inner, prefix: prefix.into(), wrong }
    }

    /// Returns the tables of the same backend whose names begin with this prefix and then `prefix`.
    pub(crate) fn longer(&self, prefix: &str) -> Self {
        let more = Self::new(Arc::clone(&self.inner), prefix);
        let wrong = self.wrong.clone().or(more.wrong);
        Self { inner: more.inner, prefix: [&*self.prefix, prefix].concat().into(), wrong }
    }

    /// Returns the tables of another backend with this prefix.
    fn of(&self, inner: Arc<dyn Backend>) -> Arc<dyn Backend> {
        Arc::new(Self { inner, prefix: self.prefix.clone(), wrong: self.wrong.clone() })
    }

    fn check(&self) -> Result<()> {
        self.wrong.as_deref().map_or(Ok(()), limits::check_prefix)
    }

    /// Returns the whole name of a table, which it has in the inner backend.
    ///
    /// # Errors
    /// Returns [`Error::Limit`](crate::Error::Limit) if the prefix is none, if no table can have the whole name, or if a
    /// longer prefix could have it. Earlier checks are limited to the name without the prefix.
    pub(crate) fn name(&self, table: &str) -> Result<String> {
        self.check()?;
        let name = [&*self.prefix, table].concat();
        limits::check_prefixed_name(table, &name)?;
        Ok(name)
    }

    fn scan(&self, scan: &Scan) -> Result<Scan> {
        let Scan { table, partitions, rows, filter, select, page } = scan;
        Ok(Scan {
            table: self.name(table)?.into(),
            partitions: partitions.clone(),
            rows: rows.clone(),
            filter: filter.clone(),
            select: select.clone(),
            page: *page,
        })
    }

    fn group(&self, group: &Group) -> Result<Group> {
        let Group { table, partition_key, operations } = group;
        let table = self.name(table)?.into();
        Ok(Group { table, partition_key: partition_key.clone(), operations: operations.clone() })
    }
}

impl fmt::Debug for Prefixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prefixed").field("prefix", &self.prefix).field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Backend for Prefixed {
    fn create_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { self.inner.create_table(&self.name(table)?).await })
    }

    fn delete_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { self.inner.delete_table(&self.name(table)?).await })
    }

    fn list_tables<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            self.check()?;
            let names = self.inner.list_tables(&[&*self.prefix, prefix].concat()).await?;
            // A store that ignores case also lists tables whose prefix was written in another case.
            let names = names.iter().filter_map(|name| name.get(self.prefix.len()..));
            Ok(names.filter(|name| limits::is_own_name(name)).map(str::to_owned).collect())
        })
    }

    fn get<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
    ) -> BoxFuture<'a, Result<Option<Row>>> {
        Box::pin(async move { self.inner.get(&self.name(table)?, partition_key, row_key, select).await })
    }

    fn query<'a>(&'a self, scan: &'a Scan, from: Option<&'a Continuation>) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move { self.inner.query(&self.scan(scan)?, from).await })
    }

    fn get_with<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
        read: Reader<'a>,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { self.inner.get_with(&self.name(table)?, partition_key, row_key, select, read).await })
    }

    fn query_with<'a>(
        &'a self,
        scan: &'a Scan,
        from: Option<&'a Continuation>,
        read: Reader<'a>,
    ) -> BoxFuture<'a, Result<Option<Continuation>>> {
        Box::pin(async move { self.inner.query_with(&self.scan(scan)?, from, read).await })
    }

    fn execute<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Vec<Option<ETag>>>> {
        Box::pin(async move { self.inner.execute(&self.group(group)?).await })
    }

    fn reach(&self) -> Reach {
        self.inner.reach()
    }

    fn execute_all<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Result<Vec<Option<ETag>>, FailedGroup>> {
        Box::pin(async move {
            let named = |(at, group)| self.group(group).map_err(|error| FailedGroup { group: at, error });
            let groups = groups.iter().enumerate().map(named).collect::<Result<Vec<_>, _>>()?;
            self.inner.execute_all(&groups).await
        })
    }

    fn secondary_reads(&self) -> Option<Arc<dyn Backend>> {
        Some(self.of(self.inner.secondary_reads()?))
    }

    fn side_by_side(&self) -> usize {
        self.inner.side_by_side()
    }

    fn snapshot(&self) -> Result<Option<Arc<dyn Backend>>> {
        Ok(self.inner.snapshot()?.map(|inner| self.of(inner)))
    }

    forward_requests!(this => this.inner; time);
}

#[cfg(all(test, feature = "embedded", feature = "testing"))]
mod tests {
    use super::*;
    use crate::{backend::InMemoryBackend, testing::conformance};

    const PREFIX: &str = "tenant7";

    #[tokio::test]
    async fn a_prefix_changes_nothing_but_the_names_in_errors() -> Result<()> {
        let store: Arc<dyn Backend> = Arc::new(InMemoryBackend::new()?);
        let checked = conformance::check(async || Prefixed::new(Arc::clone(&store), PREFIX)).await;
        let failures = checked.expect_err("errors have the whole names of tables");
        for (name, failure) in failures.iter() {
            let text = failure.to_string().replace(PREFIX, "");
            let values = text.split_once(": expected ").and_then(|(_, values)| values.split_once(", found "));
            assert!(values.is_some_and(|(expected, found)| expected == found), "{name}: {failure}");
        }
        Ok(())
    }
}
