//! Transactions that are carried out together, because no two of them concern the same row.
//!
//! The outcome is that of carrying them out one after the other. Their rows are searched and written in the order of
//! their keys, which takes a fraction of the time: the next row is often in the page of the one before it.

use std::ops::Bound;

use hashbrown::{HashMap, HashSet};
use redb::WriteTransaction;
use table_store::Ticks;

use super::{
    failure::{StoreFailure, StoreRefusal},
    prepared::{Existing, Prepared, WriteRows},
    snapshot::{Names, rows},
};

/// The tables of a transaction of `redb` that were opened so far, by name.
pub(super) type OpenTables<'t> = HashMap<String, WriteRows<'t>>;

/// Returns how many transactions at the beginning may be carried out together. A transaction has its operations by table.
pub(super) fn count<'p>(transactions: impl Iterator<Item = &'p [Prepared]>) -> usize {
    let mut rows = HashSet::new();
    let mut transactions = transactions.peekable();
    let mut count = 0;
    while let Some(transaction) = transactions.next() {
        // The rows of a single transaction need no hash.
        if count > 0 || transactions.peek().is_some() {
            let hashes: Vec<_> = transaction.iter().flat_map(Prepared::row_hashes).collect();
            if hashes.iter().any(|hash| rows.contains(hash)) {
                break;
            }
            rows.extend(hashes);
        }
        count += 1;
    }
    count
}

/// Transactions that are carried out together.
pub(super) struct Disjoint<'p> {
    transactions: Vec<&'p mut [Prepared]>,
    /// Operations of all transactions by the name of their table, in the order of their keys.
    tables: HashMap<String, Vec<OperationAt>>,
    /// The outcome of each transaction so far.
    outcomes: Vec<Result<(), StoreFailure>>,
}

/// An operation of one of the transactions: the positions of the transaction, of the table in it, and of the operation.
#[derive(Clone, Copy)]
struct OperationAt {
    transaction: usize,
    table: usize,
    operation: usize,
}

impl<'p> Disjoint<'p> {
    /// Joins the transactions, of which [no two concern the same row](count).
    pub(super) fn new(transactions: Vec<&'p mut [Prepared]>, names: &Names) -> Self {
        let mut tables: HashMap<String, Vec<OperationAt>> = HashMap::new();
        let mut outcomes = Vec::with_capacity(transactions.len());
        for (transaction, prepared) in transactions.iter().enumerate() {
            let missing = prepared.iter().find(|table| names.get(&table.table).is_none());
            outcomes.push(missing.map_or(Ok(()), |table| Err(StoreFailure::NoTable { at: table.first() })));
            if missing.is_some() {
                continue;
            }
            for (table, prepared) in prepared.iter().enumerate() {
                let name = names.get(&prepared.table).unwrap_or(&prepared.table);
                let operations = (0..prepared.len()).map(|operation| OperationAt { transaction, table, operation });
                tables.entry_ref(name).or_default().extend(operations);
            }
        }
        for operations in tables.values_mut() {
            // Those of each transaction are sorted already, which this sort finds and merges.
            operations.sort_by(|left, right| left.key(&transactions).cmp(right.key(&transactions)));
        }
        Self { transactions, tables, outcomes }
    }

    /// Searches all existing rows, and refuses the transactions that cannot be done. Writes nothing.
    pub(super) fn validate<'t>(
        &mut self,
        database: &'t WriteTransaction,
        opened: &mut OpenTables<'t>,
    ) -> Result<(), redb::Error> {
        let mut refused: HashMap<usize, (usize, StoreRefusal)> = HashMap::new();
        for (name, operations) in &self.tables {
            if !opened.contains_key(name) {
                opened.insert(name.clone(), database.open_table(rows(name))?);
            }
            let Some(stored) = opened.get(name) else { continue };
            let mut existing = Existing::new(stored);
            for OperationAt { transaction, table, operation } in operations {
                let prepared = &mut self.transactions[*transaction][*table];
                let Some(why) = prepared.validate(*operation, &mut existing)? else { continue };
                let at = prepared.position(*operation);
                if refused.get(transaction).is_none_or(|(first, _)| at < *first) {
                    refused.insert(*transaction, (at, why));
                }
            }
        }
        for (transaction, (at, why)) in refused {
            self.outcomes[transaction] = Err(StoreFailure::Refused { at, why });
        }
        Ok(())
    }

    /// Writes the transactions that were not refused, each with the next time stamp. Returns the outcome of each.
    pub(super) fn apply(
        mut self,
        opened: &mut OpenTables<'_>,
        mut next: impl FnMut() -> Result<Ticks, StoreFailure>,
    ) -> Result<Vec<Result<Ticks, StoreFailure>>, redb::Error> {
        let outcomes: Vec<_> = self.outcomes.drain(..).map(|outcome| outcome.and_then(|()| next())).collect();
        for (name, mut operations) in self.tables {
            let Some(stored) = opened.get_mut(&name) else { continue };
            operations.retain(|operation| outcomes[operation.transaction].is_ok());
            for OperationAt { transaction, table, operation } in &operations {
                if let Ok(timestamp) = outcomes[*transaction] {
                    self.transactions[*transaction][*table].stamp(*operation, timestamp);
                }
            }
            write(stored, &self.transactions, &operations)?;
        }
        Ok(outcomes)
    }
}

impl OperationAt {
    fn key<'p>(self, transactions: &'p [&mut [Prepared]]) -> &'p [u8] {
        transactions[self.transaction][self.table].key(self.operation)
    }

    fn value<'p>(self, transactions: &'p [&mut [Prepared]]) -> Option<&'p [u8]> {
        transactions[self.transaction][self.table].value(self.operation)
    }

    fn gap(self, transactions: &[&mut [Prepared]]) -> Option<u32> {
        transactions[self.transaction][self.table].gap(self.operation)
    }
}

/// Writes the rows of a table.
fn write(
    rows: &mut WriteRows<'_>,
    transactions: &[&mut [Prepared]],
    operations: &[OperationAt],
) -> Result<(), redb::Error> {
    // Several rows of one gap take half the time if they are written in one run, and the run fills the pages. For a
    // single row a run takes longer than an insert.
    let in_one_gap = |left: &OperationAt, right: &OperationAt| {
        let gap = left.gap(transactions);
        gap.is_some() && gap == right.gap(transactions)
    };
    for run in operations.chunk_by(in_one_gap) {
        match run {
            [only] => match only.value(transactions) {
                Some(value) => drop(rows.insert(only.key(transactions), value)?),
                None => drop(rows.remove(only.key(transactions))?),
            },
            [first, ..] => {
                let mut gap = rows.lower_bound_mut(Bound::Included(first.key(transactions)))?;
                // An absent row cannot be removed, so each of these operations has a value.
                for (operation, value) in
                    run.iter().filter_map(|operation| Some((operation, operation.value(transactions)?)))
                {
                    gap.insert_before(operation.key(transactions), value)?;
                }
                gap.close()?;
            }
            [] => {}
        }
    }
    Ok(())
}
