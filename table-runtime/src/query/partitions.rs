//! Queries of several partitions, by the order of their keys.

use std::ops::Bound;

use table_model::{
    TableEntity,
    cost::{Cost as _, PartitionRange},
    key::{KeyPart, Ordered, Ranged},
};
use table_store::Result;

use super::{
    Bounds, Done, Entities, Part, QueryBuilder, Rows,
    boxed::give,
    pages::{StepRows, StreamStep},
};
use crate::{
    client::{sealed::Sealed, stored::Stored, tables::Tables},
    read::{FoundRow, Plan, ReachedPartitions, Source},
};

/// Parts of a partition key, of which the first has an order: `by_partitions` takes a range of its values.
#[diagnostic::on_unimplemented(
    message = "these partition keys have no order",
    label = "`by_partitions` needs a partition key whose first part is in the order of its values",
    note = "open one partition with `by_key(…)`"
)]
pub trait PartitionOrder: Sealed {
    /// Field type of the first part.
    type Value: KeyPart;

    #[doc(hidden)]
    fn narrow<'a>(
        bounds: (Bound<<Self::Value as KeyPart>::Arg<'a>>, Bound<<Self::Value as KeyPart>::Arg<'a>>),
        plan: &mut Plan,
    );
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart, N: Ordered<T::Kind>> PartitionOrder for (Part<T, N>, ()) {
    type Value = T;

    fn narrow<'a>((from, to): (Bound<T::Arg<'a>>, Bound<T::Arg<'a>>), plan: &mut Plan) {
        let bounds = (from.map(T::arg_value), to.map(T::arg_value));
        plan.push_partition_range::<T::Kind, N>(bounds, true, N::DESCENDING);
    }
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart, N: Ranged<T::Kind>, T2, N2, R> PartitionOrder for (Part<T, N>, (Part<T2, N2>, R)) {
    type Value = T;

    fn narrow<'a>((from, to): (Bound<T::Arg<'a>>, Bound<T::Arg<'a>>), plan: &mut Plan) {
        let bounds = (from.map(T::arg_value), to.map(T::arg_value));
        plan.push_partition_range::<T::Kind, N>(bounds, false, N::DESCENDING);
    }
}

impl<E: TableEntity> QueryBuilder<E> {
    /// Returns the query for the rows of the partitions in a range. `P` are the parts of their keys.
    pub fn partitions<'a, P: PartitionOrder>(
        mut self,
        range: impl Bounds<<P::Value as KeyPart>::Arg<'a>>,
    ) -> Rows<E, Done, PartitionRange> {
        P::narrow(range.bounds(), &mut self.plan);
        self.rows()
    }
}

impl Tables {
    /// Lists the partitions of an entity, in the order of their keys: returns a stream of the first entity of each. It
    /// skips from one partition to the next, with one request for each partition and one more, whatever the number of
    /// their rows. If other entities share the table, it also reads their rows that come before the first entity of a
    /// partition, or are in partitions without one, up to 1000 with a request. For partitions of few rows, a scan
    /// (`T::scan()`, or `T::by_partitions(…)`) takes fewer requests.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// use futures::TryStreamExt;
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32 }
    /// # futures::executor::block_on(async {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create::<Post>().await?;
    /// # for (author, number) in [("Marcus", 1), ("Ada", 1), ("Ada", 2)] {
    /// #     tables.insert(&Post { author: author.into(), number }).await?;
    /// # }
    /// let authors = tables.partitions::<Post>().map_ok(|post| post.author.clone());
    /// assert_eq!(authors.try_collect::<Vec<_>>().await?, ["Ada", "Marcus"]);
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The stream returns [`Error::Query`](crate::Error::Query) for an entity with slices, whose partitions are in many
    /// tables, and otherwise the errors of [`Rows::all`]. After the error of a row it goes on with the next row of the
    /// partition; it ends after every other error.
    pub fn partitions<E: TableEntity>(&self) -> Entities<Stored<E>> {
        let mut plan = Plan::new::<E>(0);
        plan.take = Some(1);
        if plan.layout().slice.is_some() {
            plan.refuse(
                "its slices are tables of their own, and have partitions of their own: list the slices".to_owned(),
            );
        }
        let tables = self.clone();
        let running = self.begin_operation(|| plan.operation("partitions", PartitionRange::name()));
        Entities::in_steps(plan.table(), running, plan, move |mut plan| {
            let tables = tables.clone();
            async move {
                let mut step = StreamStep::default();
                let next = async {
                    let mut partition = None;
                    let give = |found: &FoundRow<'_>, items: &mut Vec<_>| -> Result<bool> {
                        let is_match = give::<E>(found, items)?;
                        if is_match {
                            partition = Some(found.row.partition_key.to_owned());
                        }
                        Ok(is_match)
                    };
                    let mut visit = StepRows { step: &mut step, give };
                    Source::new(&plan, &tables, ReachedPartitions::Range)?.next(&mut visit).await?;
                    Ok(partition.map(|partition| {
                        plan.after_partition(partition);
                        plan
                    }))
                };
                let next = next.await;
                (step, next)
            }
        })
    }
}
