//! The table that a case runs on.

use std::sync::atomic::{AtomicU32, Ordering};

use table_store::{
    ETag, Properties, Result, Row, RowId, RowRef, ValueRef,
    backend::{Action, Backend, BackendExt, Group, IfMatch, Operation, Scan},
};

use super::expect::{Checked, Contents, Failure, Outcome, contents, some};

/// The partition that a case writes if it needs only one.
pub(super) const PARTITION: &str = "p";

/// A new table of a backend.
#[derive(Debug)]
pub(super) struct Table<'a> {
    pub(super) backend: &'a dyn Backend,
    pub(super) name: String,
}

impl<'a> Table<'a> {
    /// Creates a table with a random name.
    pub(super) async fn create(backend: &'a dyn Backend) -> Result<Self, Failure> {
        let table = Self::missing(backend)?;
        table.backend.create_table(&table.name).await?;
        Ok(table)
    }

    /// Returns a table with a random name that does not exist.
    pub(super) fn missing(backend: &'a dyn Backend) -> Result<Self, Failure> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(table_store::Error::from)?;
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        // Letters alone, so that it is the name of a table after a prefix too. No name begins with another one.
        let bytes = random.into_iter().chain(next.to_be_bytes());
        let letters = bytes.flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(b'a' + digit));
        Ok(Self { backend, name: ["Kit", &letters.collect::<String>()].concat() })
    }

    /// Deletes the table, if it exists.
    pub(super) async fn delete(&self) -> Checked {
        self.backend.delete_table(&self.name).await?;
        Ok(())
    }

    /// Returns the text with which errors name a row.
    pub(super) fn id(&self, partition_key: &str, row_key: &str) -> String {
        let (partition_key, row_key) = (partition_key.to_owned(), row_key.to_owned());
        RowId { table: self.name.clone(), partition_key, row_key }.to_string()
    }

    /// Returns a group of operations on rows of one partition.
    pub(super) fn group<K: Into<String>>(
        &self,
        partition_key: &str,
        operations: impl IntoIterator<Item = (K, Action)>,
    ) -> Group {
        let operation = |(row_key, action): (K, _)| Operation { row_key: row_key.into(), action };
        Group {
            table: self.name.clone().into(),
            partition_key: partition_key.to_owned(),
            operations: operations.into_iter().map(operation).collect(),
        }
    }

    /// Executes operations on rows of the partition [`PARTITION`].
    pub(super) async fn execute<K: Into<String>>(
        &self,
        operations: impl IntoIterator<Item = (K, Action)>,
    ) -> Result<Vec<Option<ETag>>> {
        let group = self.group(PARTITION, operations);
        self.backend.execute_group(&group).await
    }

    /// Executes one operation. Returns the new ETag.
    pub(super) async fn write(&self, row_key: &str, action: Action) -> Result<Option<ETag>> {
        Ok(self.execute([(row_key, action)]).await?.into_iter().next().flatten())
    }

    /// Executes one operation that leaves a row. Returns the row's ETag.
    pub(super) async fn put(&self, row_key: &str, action: Action) -> Result<ETag, Failure> {
        some("the ETag of a row that was written", self.write(row_key, action).await?)
    }

    /// Executes one operation. Returns its outcome.
    pub(super) async fn outcome(&self, row_key: &str, action: Action) -> Outcome {
        Outcome::of(self.write(row_key, action).await)
    }

    /// Inserts rows of any partitions, each with its position as `Number`.
    pub(super) async fn fill<P: AsRef<str>, K: AsRef<str>>(&self, keys: &[(P, K)]) -> Checked {
        let mut numbered: Vec<_> = (0..).zip(keys).collect();
        numbered.sort_by(|(_, left), (_, right)| left.0.as_ref().cmp(right.0.as_ref()));
        for rows in numbered.chunk_by(|(_, left), (_, right)| left.0.as_ref() == right.0.as_ref()) {
            let partition_key = rows[0].1.0.as_ref();
            for rows in rows.chunks(100) {
                let insert = |(n, keys): &(i32, &(P, K))| (keys.1.as_ref().to_owned(), Action::Insert(number(*n)));
                self.backend.execute_group(&self.group(partition_key, rows.iter().map(insert))).await?;
            }
        }
        Ok(())
    }

    /// Reads a row of the partition [`PARTITION`].
    pub(super) async fn get(&self, row_key: &str) -> Result<Option<Row>> {
        self.backend.get(&self.name, PARTITION, row_key, None).await
    }

    /// Reads a row that is expected to exist.
    pub(super) async fn row(&self, row_key: &str) -> Result<Row, Failure> {
        some(format!("the row `{row_key}`"), self.get(row_key).await?)
    }

    /// Reads the properties of a row; `None` if there is no row.
    pub(super) async fn contents(&self, row_key: &str) -> Result<Option<Contents>> {
        Ok(self.get(row_key).await?.map(|row| contents(row.properties.as_ref())))
    }

    /// Returns a scan of all rows.
    pub(super) fn scan(&self) -> Scan {
        Scan::all(self.name.clone())
    }

    /// Reads all pages of a scan.
    pub(super) async fn rows(&self, scan: &Scan) -> Result<Vec<Row>, Failure> {
        /// No case has as many pages.
        const MOST: usize = 5000;
        let (mut rows, mut from) = (Vec::new(), None);
        for _ in 0..MOST {
            let page = self.backend.query(scan, from.as_ref()).await?;
            if page.rows.len() > usize::try_from(scan.page).unwrap_or(usize::MAX) {
                let found = page.rows.len();
                return Err(Failure::new(format!("a page: expected at most {} rows, found {found}", scan.page)));
            }
            rows.extend(page.rows.iter().map(RowRef::to_row));
            from = page.next;
            if from.is_none() {
                return Ok(rows);
            }
        }
        Err(Failure::new(format!("the pages of a scan: expected an end, found none after {MOST} pages")))
    }

    /// Reads the partition key and the row key of each row of a scan.
    pub(super) async fn keys(&self, scan: &Scan) -> Result<Vec<(String, String)>, Failure> {
        Ok(self.rows(scan).await?.into_iter().map(|row| (row.partition_key, row.row_key)).collect())
    }

    /// Reads the row key of each row of a scan.
    pub(super) async fn row_keys(&self, scan: &Scan) -> Result<Vec<String>, Failure> {
        Ok(self.rows(scan).await?.into_iter().map(|row| row.row_key).collect())
    }
}

/// Returns properties with one number.
pub(super) fn number(number: i32) -> Properties {
    let mut properties = Properties::default();
    properties.push("Number", ValueRef::Int32(number));
    properties
}

/// Returns properties with one text.
pub(super) fn text(text: &str) -> Properties {
    let mut properties = Properties::default();
    properties.push("Text", ValueRef::String(text));
    properties
}

/// Returns properties with a number and a text.
pub(super) fn both(number: i32, text: &str) -> Properties {
    let mut properties = self::number(number);
    properties.push("Text", ValueRef::String(text));
    properties
}

/// Returns owned copies of texts, for comparisons.
pub(super) fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Returns the writes to an existing row, with a condition.
pub(super) fn conditional(condition: &IfMatch) -> [Action; 3] {
    [
        Action::Replace(number(9), condition.clone()),
        Action::Merge(number(9), condition.clone()),
        Action::Delete(condition.clone()),
    ]
}
