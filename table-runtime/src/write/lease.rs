//! Leases: entities that a query finds, and that one of several workers takes.

use std::collections::BTreeMap;

use table_model::TableEntity;
use table_store::{Error, Guid, Result, backend::BoxFuture};

use crate::{
    client::{pacing, stored::Stored, tables::Tables},
    query::{Opened, OwnKey, ReturnsNothing, Rows},
    write::{bulk::is_of_entity, index::Schema},
};

/// Number of rows, for each one that a worker wants, among which it begins anywhere once others were faster.
const SPREAD: usize = 8;

impl<E: TableEntity, P, A: Opened> Rows<E, P, A> {
    /// Takes up to `count` of the entities that the query finds: changes them, so that the query does not find them any more,
    /// and returns those that were changed, as they are stored then. Several workers take different ones. The result is empty
    /// if the query finds none. The guide has [a work queue](crate::guide::work_queues).
    ///
    /// Entities of one partition are changed in one transaction, in the versions that were read; if it is too large, in several.
    /// The partitions are written side by side. If another worker has changed an entity meanwhile, its transaction changes
    /// nothing, and the others are returned. If there are none, it begins again: after a delay, and not at the first entity of
    /// the query, but anywhere among the next `8 * count`, so that workers of one partition go out of each other's way.
    /// `change` may run several times for an entity, each time with the entity as it was just read. It takes the time from the
    /// store itself, because the delays can be longer than a lease.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// use table_runtime::{Result, Stored, TableEntity, Tables};
    ///
    /// #[derive(TableEntity)]
    /// struct Job {
    ///     #[partition_key]
    ///     queue: u16,
    ///     #[row_key]
    ///     id: u32,
    ///     #[index(due, same_partition)]
    ///     due: SystemTime,
    /// }
    ///
    /// /// Takes up to 32 jobs that are due. If the worker is stopped, they are due again after half a minute.
    /// async fn take(tables: &Tables, queue: u16) -> Result<Vec<Stored<Job>>> {
    ///     let due = Job::by_due(queue).range(..=tables.now());
    ///     due.lease(tables, 32, |job| job.due = tables.now() + Duration::from_secs(30)).await
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let tables = Tables::in_memory()?;
    /// tables.create::<Job>().await?;
    /// tables.insert_all((0..40).map(|id| Job { queue: 1, id, due: tables.now() })).await?;
    /// assert_eq!(take(&tables, 1).await?.len(), 32);
    /// assert_eq!(take(&tables, 1).await?.len(), 8);
    /// assert!(take(&tables, 1).await?.is_empty());
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// Takes the requests of the query, and one for each partition; with index rows in other partitions, those of a
    /// [transaction](Tables::transaction), and workers that meet fence each other's entities: let each read its own
    /// [hash partition](Rows::hash_partition). A repetition takes them again, and up to two pages that find where it begins.
    ///
    /// # Errors
    /// Returns an error only if no entity was taken: the errors of [`all`](Rows::all) and of a
    /// [commit](crate::Transaction::commit). [`Error::ConditionNotMet`] or [`Error::NotFound`] means that other workers were faster
    /// in each of 201 attempts. After [`Error::OutcomeUnknown`], entities may have been changed: no worker has them, until the
    /// query finds them again.
    pub fn lease<'a, R: ReturnsNothing>(
        self,
        tables: &'a Tables,
        count: usize,
        mut change: impl FnMut(&mut E) -> R + Send + 'a,
    ) -> BoxFuture<'a, Result<Vec<Stored<E>>>>
    where
        P: 'a,
        A: 'a,
    {
        Box::pin(tables.observed(Schema::of::<E>(), "lease", async move {
            if count == 0 {
                return Ok(Vec::new());
            }
            let tables = tables.of_primary();
            let (mut delays, mut cursor) = (pacing::delays(), None);
            loop {
                let (mut unreadable, mut partitions) = (None, BTreeMap::<_, Vec<_>>::new());
                // An entity that cannot be read does not keep the others from being taken.
                let readable = self.clone().boxed().skip_unreadable(|error| unreadable = Some(error));
                for mut stored in readable.page(&tables, count, cursor.as_deref()).await? {
                    let key = Stored::key(&stored);
                    let partition = (key.plan().row_table()?, key.plan().row_keys()?.partition_key);
                    change(&mut stored);
                    partitions.entry(partition).or_default().push(stored);
                }
                if partitions.is_empty() {
                    match (cursor.take(), unreadable) {
                        // There may be some before it.
                        (Some(_), _) => continue,
                        (None, Some(error)) => return Err(error),
                        (None, None) => return Ok(Vec::new()),
                    }
                }
                let (mut taken, mut refused) = (Vec::new(), None);
                let written = partitions.into_values().map(|entities| take(&tables, entities));
                for (entities, error) in pacing::in_waves(written).await {
                    taken.extend(entities);
                    refused = preferred(refused, error);
                }
                match refused {
                    Some(error) if taken.is_empty() && is_race(&error) => {
                        pacing::wait(tables.backend(), &mut delays, error).await?;
                    }
                    Some(error) if taken.is_empty() => return Err(error),
                    Some(error) if !is_race(&error) => {
                        let table = Schema::of::<E>().table();
                        tracing::warn!(target: "table_runtime::lease", table, %error, "entities could not be taken");
                        return Ok(taken);
                    }
                    None if taken.is_empty() => {}
                    _ => return Ok(taken),
                }
                cursor = anywhere(&self, &tables, count).await?;
            }
        }))
    }
}

/// Changes entities of one partition as they are. Returns those that were changed, and an error if others were not.
async fn take<E: TableEntity>(tables: &Tables, entities: Vec<Stored<E>>) -> (Vec<Stored<E>>, Option<Error>) {
    let (mut parts, mut taken, mut refused) = (vec![entities], Vec::new(), None);
    while let Some(mut part) = parts.pop() {
        match tables.transaction().update_all(&mut part).commit().await {
            // After a lost answer, the version of a row may be unknown. Nobody has its entity, until the query finds it again.
            Ok(versions) => {
                let known = part.into_iter().zip(versions).filter_map(|(entity, version)| version.and(Some(entity)));
                taken.extend(known);
            }
            // It is too large, or one of the entities cannot be written.
            Err(error) if part.len() > 1 && concerns_some(&error) => {
                let half = part.split_off(part.len() / 2);
                parts.extend([half, part]);
            }
            Err(error) => refused = preferred(refused, Some(error)),
        }
    }
    (taken, refused)
}

/// Returns the first error that is no lost race, or else the first one.
fn preferred(first: Option<Error>, second: Option<Error>) -> Option<Error> {
    match (first, second) {
        (Some(first), Some(second)) if is_race(&first) => Some(second),
        (first, second) => first.or(second),
    }
}

/// Checks whether an error may concern some of the entities alone.
fn concerns_some(error: &Error) -> bool {
    is_of_entity(error) && !is_race(error) && !matches!(error, Error::OutcomeUnknown(_))
}

/// Checks whether another worker has taken the entity, or finished it.
fn is_race(error: &Error) -> bool {
    matches!(error, Error::ConditionNotMet(_) | Error::NotFound(_))
}

/// Returns the cursor of a random position in the query, after which there are `count` rows if there are as many.
async fn anywhere<E: TableEntity, P, A: Opened>(
    query: &Rows<E, P, A>,
    tables: &Tables,
    count: usize,
) -> Result<Option<String>> {
    let rows = query.positions();
    let there = rows.clone().page(tables, count.saturating_mul(SPREAD), None).await?.len();
    let [first, ..] = Guid::random()?.as_bytes().map(usize::from);
    let before = first * (there.saturating_sub(count) + 1) / 256;
    if before == 0 { Ok(None) } else { Ok(rows.page(tables, before, None).await?.next) }
}
