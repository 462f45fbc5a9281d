//! Backends that break one rule each: the contract of the test kit reports the rule by the name of its case.

use std::{collections::BTreeSet, ops::Bound, sync::Arc};

use table_runtime::{
    ETag, Error, Result, Ticks,
    backend::{
        Action, Backend, BackendExt, BoxFuture, Checks, Continuation, Description, FailedGroup, Group, IfMatch,
        KeyRange, Operation, Page, Partitions, Reach, ReadRequest, ReadTarget, Reader, Scan, StoreView, TableRequest,
        Written,
    },
    row::{Properties, Row, RowId, RowRef, ValueRef},
    testing::conformance,
};
use tests::plain::Plain;

/// The rule that a backend breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    DropsTheETagCondition,
    DropsTheConditionOfDeletes,
    LosesTheContinuation,
    RepeatsTheFirstPage,
    EndsAtAnEmptyPage,
    OrdersByCharacter,
    IgnoresTheSelect,
    IgnoresTheFilter,
    ReplacesInsteadOfMerging,
    MergesInsteadOfReplacing,
    InsertsMissingRows,
    AppliesHalfAGroup,
    NamesTheFirstOperation,
    ExecutesGroupsInTurn,
    NamesTheFirstGroup,
    KeepsTheETag,
    ReturnsNoETags,
    IncludesTheLowerEnd,
    ReadsTheGivenPartitionToo,
    ListsEachTable,
    SeesMissingTablesAsEmpty,
    CreatesTablesTwice,
    TrimsTexts,
    PassesNoRows,
    SeesLaterWritesInSnapshots,
}

/// A plain store with a bug.
#[derive(Clone, Debug)]
struct Broken {
    inner: Plain,
    bug: Bug,
}

impl Broken {
    fn new(bug: Bug) -> Self {
        Self { inner: Plain::since(Ticks::now()).with_reach(Reach::Store), bug }
    }

    fn is(&self, bug: Bug) -> bool {
        self.bug == bug
    }

    /// Returns the scan with the bug in it.
    fn broken_scan(&self, scan: &Scan) -> Scan {
        let mut scan = scan.clone();
        match self.bug {
            Bug::IgnoresTheSelect => scan.select = None,
            Bug::IgnoresTheFilter => scan.filter = None,
            Bug::IncludesTheLowerEnd => {
                if let Bound::Excluded(from) = &scan.rows.from {
                    scan.rows.from = Bound::Included(from.clone());
                }
            }
            Bug::ReadsTheGivenPartitionToo => {
                if let Partitions::Range(KeyRange { from: Bound::Excluded(after), .. }) = &scan.partitions
                    && !after.is_empty()
                {
                    scan.partitions = Partitions::after(after[..after.len() - 1].to_owned());
                }
            }
            _ => {}
        }
        scan
    }

    /// Returns the operation with the bug in it.
    async fn broken_action(&self, group: &Group, operation: &Operation) -> Result<Action> {
        let row = self.inner.get(&group.table, &group.partition_key, &operation.row_key, None).await?;
        Ok(match (self.bug, operation.action.clone()) {
            (Bug::DropsTheETagCondition, Action::Replace(properties, _)) => Action::Replace(properties, IfMatch::Any),
            (Bug::DropsTheETagCondition, Action::Merge(properties, _)) => Action::Merge(properties, IfMatch::Any),
            (Bug::DropsTheETagCondition | Bug::DropsTheConditionOfDeletes, Action::Delete(_)) => {
                Action::Delete(IfMatch::Any)
            }
            (Bug::ReplacesInsteadOfMerging, Action::Merge(properties, condition)) => {
                Action::Replace(properties, condition)
            }
            (Bug::MergesInsteadOfReplacing, Action::Replace(properties, condition)) => {
                Action::Merge(properties, condition)
            }
            (Bug::InsertsMissingRows, Action::Replace(properties, _) | Action::Merge(properties, _))
                if row.is_none() =>
            {
                Action::Upsert(properties)
            }
            (Bug::TrimsTexts, Action::Insert(properties)) => Action::Insert(trimmed(&properties)),
            (_, action) => action,
        })
    }
}

impl Broken {
    /// Returns the answer with the bug in it, if the table is missing.
    fn seen<T: Default>(&self, answer: Result<T>) -> Result<T> {
        match answer {
            Err(Error::TableNotFound(_)) if self.is(Bug::SeesMissingTablesAsEmpty) => Ok(T::default()),
            answer => answer,
        }
    }

    /// Returns a page of a scan with the bug in it.
    async fn page(&self, scan: &Scan, from: Option<&Continuation>) -> Result<(Vec<Row>, Option<Continuation>)> {
        let scan = self.broken_scan(scan);
        if self.is(Bug::EndsAtAnEmptyPage)
            && let Some(filter) = &scan.filter
        {
            // The filter applies to each page after it was read, so a page may be empty.
            let page = self.inner.query(&Scan { filter: None, ..scan.clone() }, from).await?;
            let rows: Vec<_> =
                page.rows.iter().filter(|row| filter.holds(row.properties)).map(RowRef::to_row).collect();
            let next = if rows.is_empty() { None } else { page.next };
            return Ok((rows, next));
        }
        let from = from.filter(|_| !self.is(Bug::RepeatsTheFirstPage));
        let Page { rows, next } = self.seen(self.inner.query(&scan, from).await)?;
        let mut rows: Vec<_> = rows.iter().map(RowRef::to_row).collect();
        if self.is(Bug::OrdersByCharacter) {
            rows.sort_by(|left, right| {
                (&left.partition_key, &left.row_key).cmp(&(&right.partition_key, &right.row_key))
            });
        }
        Ok((rows, next.filter(|_| !self.is(Bug::LosesTheContinuation))))
    }

    /// Executes one group with the bug in it.
    async fn execute_one(&self, group: &Group) -> Result<Vec<Option<ETag>>> {
        let mut broken = group.clone();
        for operation in &mut broken.operations {
            operation.action = self.broken_action(group, operation).await?;
        }
        if self.is(Bug::AppliesHalfAGroup) {
            let mut etags = Vec::new();
            for operation in broken.operations {
                let half = Group { operations: vec![operation], ..group.clone() };
                etags.extend(self.inner.execute_group(&half).await?);
            }
            return Ok(etags);
        }
        match self.inner.execute_group(&broken).await {
            Ok(etags) if self.is(Bug::ReturnsNoETags) => Ok(vec![None; etags.len()]),
            Ok(etags) if self.is(Bug::KeepsTheETag) => {
                Ok(etags.into_iter().map(|etag| etag.map(|_| Ticks::MAX.into())).collect())
            }
            Err(Error::AlreadyExists(row)) if self.is(Bug::NamesTheFirstOperation) => {
                let row_key = group.operations[0].row_key.clone();
                Err(Error::AlreadyExists(RowId { row_key, ..row.into_inner() }.into()))
            }
            answer => answer,
        }
    }
}

/// Returns the properties with texts that have no space at their ends.
fn trimmed(properties: &Properties) -> Properties {
    let mut trimmed = Properties::default();
    for (name, value) in properties {
        match value {
            ValueRef::String(text) => trimmed.push(name, ValueRef::String(text.trim())),
            value => trimmed.push(name, value),
        }
    }
    trimmed
}

impl Backend for Broken {
    fn describe(&self) -> Description<'_> {
        self.inner.describe()
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            match request {
                TableRequest::Create(table) if self.is(Bug::CreatesTablesTwice) => {
                    self.inner.delete_table(table).await?;
                    Backend::tables(&self.inner, request).await
                }
                TableRequest::List(_) if self.is(Bug::ListsEachTable) => self.inner.list_tables("").await,
                request => Backend::tables(&self.inner, request).await,
            }
        })
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        Box::pin(async move {
            let (rows, next) = match request.target {
                ReadTarget::Row { table, partition_key, row_key, select } => {
                    let select = if self.is(Bug::IgnoresTheSelect) { None } else { select };
                    let mut row = self.seen(self.inner.get(table, partition_key, row_key, select).await)?;
                    if let Some(row) = row.as_mut().filter(|_| self.is(Bug::KeepsTheETag)) {
                        row.etag = Ticks::MAX.into();
                    }
                    (row.into_iter().collect(), None)
                }
                ReadTarget::Page { scan, from } => self.page(scan, from).await?,
            };
            if request.checks == Checks::Store || !self.is(Bug::PassesNoRows) {
                rows.iter().map(Row::as_ref).try_for_each(reader)?;
            }
            Ok(next)
        })
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(async move {
            if let [group] = groups {
                return Ok(self.execute_one(group).await?);
            }
            if self.is(Bug::ExecutesGroupsInTurn) {
                let mut etags = Vec::new();
                for (group, operations) in groups.iter().enumerate() {
                    let executed = self.inner.execute_group(operations).await;
                    etags.extend(executed.map_err(|error| FailedGroup { group, error })?);
                }
                return Ok(etags);
            }
            self.inner.execute(groups).await.map_err(|failed| match self.bug {
                Bug::NamesTheFirstGroup => FailedGroup { group: 0, ..failed },
                _ => failed,
            })
        })
    }

    fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        let shows_later_writes = view == StoreView::Snapshot && self.is(Bug::SeesLaterWritesInSnapshots);
        Ok(shows_later_writes.then(|| Arc::new(self.clone()) as _))
    }
}

/// Returns the names of the cases that fail.
async fn failing(bug: Bug) -> BTreeSet<String> {
    match conformance::check(async || Broken::new(bug)).await {
        Ok(()) => BTreeSet::new(),
        Err(failures) => failures.iter().map(|(name, _)| name.to_owned()).collect(),
    }
}

#[tokio::test]
async fn a_backend_without_a_bug_keeps_the_contract() {
    conformance::check(async || Broken::new(Bug::None)).await.expect("no case fails");
}

#[tokio::test]
async fn each_bug_is_reported_by_the_cases_of_its_rule() {
    let bugs: [(Bug, &[&str]); 25] = [
        (
            Bug::DropsTheETagCondition,
            &[
                "writes::a_replace_with_an_old_etag_changes_nothing",
                "writes::a_merge_with_an_old_etag_changes_nothing",
                "writes::a_delete_with_an_old_etag_changes_nothing",
                "groups::a_failed_condition_in_a_group_writes_nothing",
            ],
        ),
        (Bug::DropsTheConditionOfDeletes, &["writes::a_delete_with_an_old_etag_changes_nothing"]),
        (Bug::LosesTheContinuation, &["pages::pages_have_each_row_once", "pages::pages_cross_partitions"]),
        (Bug::RepeatsTheFirstPage, &["pages::pages_have_each_row_once", "pages::a_continuation_can_be_used_again"]),
        (Bug::EndsAtAnEmptyPage, &["pages::a_scan_whose_filter_drops_nearly_all_rows_goes_on"]),
        (
            Bug::OrdersByCharacter,
            &["order::row_keys_are_compared_by_utf16_unit", "order::partition_keys_are_compared_by_utf16_unit"],
        ),
        (
            Bug::IgnoresTheSelect,
            &["reads::a_select_gives_only_these_properties", "reads::a_scan_gives_only_the_selected_properties"],
        ),
        (Bug::IgnoresTheFilter, &["filters::strings_are_compared", "filters::both_sides_of_an_and_hold"]),
        (Bug::ReplacesInsteadOfMerging, &["writes::a_merge_keeps_the_other_properties"]),
        (Bug::MergesInsteadOfReplacing, &["writes::a_replace_leaves_no_old_property"]),
        (
            Bug::InsertsMissingRows,
            &["writes::a_replace_of_a_missing_row_writes_nothing", "groups::a_missing_row_in_a_group_is_not_inserted"],
        ),
        (Bug::AppliesHalfAGroup, &["groups::a_failed_group_writes_nothing"]),
        (Bug::NamesTheFirstOperation, &["groups::a_failed_group_names_the_operation_that_failed"]),
        (
            Bug::ExecutesGroupsInTurn,
            &[
                "spanning::a_spanning_transaction_that_fails_writes_nothing",
                "spanning::a_spanning_transaction_on_a_missing_table_writes_nothing",
            ],
        ),
        (Bug::NamesTheFirstGroup, &["spanning::a_spanning_transaction_names_the_group_that_failed"]),
        (Bug::KeepsTheETag, &["etags::each_write_changes_the_etag"]),
        (Bug::ReturnsNoETags, &["etags::each_write_returns_the_etag_of_the_row"]),
        (Bug::IncludesTheLowerEnd, &["ranges::ends_are_included_or_excluded"]),
        (Bug::ReadsTheGivenPartitionToo, &["ranges::a_scan_may_read_the_partitions_after_a_key"]),
        (Bug::ListsEachTable, &["tables::tables_are_listed_by_prefix_in_order"]),
        (Bug::SeesMissingTablesAsEmpty, &["tables::a_read_of_a_missing_table_names_it"]),
        (Bug::CreatesTablesTwice, &["tables::a_table_is_created_once"]),
        (Bug::TrimsTexts, &["values::texts_are_read_as_they_were_written"]),
        (Bug::PassesNoRows, &["reads::query_with_passes_the_rows_that_query_returns"]),
        (Bug::SeesLaterWritesInSnapshots, &["reads::a_snapshot_sees_no_later_write"]),
    ];
    for (bug, expected) in bugs {
        let cases = conformance::cases().filter(|case| expected.contains(&case.name()));
        let mut failed = 0;
        for case in cases {
            case.run(&Broken::new(bug)).await.expect_err(&format!("{bug:?} is not reported by {}", case.name()));
            failed += 1;
        }
        assert_eq!(failed, expected.len(), "{bug:?}: a case that there is not");
    }
}

#[tokio::test]
async fn a_narrow_bug_fails_its_cases_only() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(
        failing(Bug::DropsTheConditionOfDeletes).await,
        names(&[
            "etags::a_refused_write_keeps_the_etag",
            "etags::the_etag_of_another_row_does_not_match",
            "groups::a_failed_condition_in_a_group_writes_nothing",
            "writes::a_delete_with_an_old_etag_changes_nothing",
            "writes::a_row_may_be_inserted_again_after_its_deletion",
        ])
    );
    assert_eq!(
        failing(Bug::ListsEachTable).await,
        names(&[
            "tables::no_table_is_listed_for_a_prefix_that_none_has",
            "tables::tables_are_listed_by_prefix_in_order",
        ])
    );
}

#[tokio::test]
async fn a_failure_says_what_was_expected_and_found() {
    let failures = conformance::check(async || Broken::new(Bug::ListsEachTable)).await.expect_err("the bug is found");
    let text = failures.to_string();
    assert!(text.starts_with(&format!("2 of {} cases failed\ntables::", conformance::cases().count())), "{text}");
    let line =
        "\ntables::no_table_is_listed_for_a_prefix_that_none_has: the tables of a prefix that none has: expected []";
    assert!(text.contains(line), "{text}");
}
