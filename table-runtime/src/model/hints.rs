//! The conditions of functions that users of other libraries expect: see
//! [`table_store::unstable::hints`](table_store::unstable::hints).

pub use table_store::unstable::hints::TableStorage;
pub(crate) use table_store::{hints, missing};

hints! {
    // Queries of rows.
    Limit: "the number of rows is limited with `take`", "write `.take(10)`";
    Skip: "a query cannot skip a number of rows", "the service has no offset",
        "`page(&tables, size, cursor)` continues after the last row of the page before",
        "`range(value..)` begins at a value";
    Order: "rows come in the order of their keys, and in no other", "a query cannot choose the order",
        "descending: put `reverse` on the key part, or `reverse_time` for newest first: `#[row_key(reverse_time)]`, \
         `#[index(amount, reverse, …)]`",
        "by another field: put `#[index(field, …)]` on it and query `by_field(…)`, or sort the `Vec` that `all` returns";
    OneRow: "this query finds many rows, and `get` reads one", "parts of the key are still open",
        "to read all of them, also those of a group, use `all(&tables)`",
        "give every part of the key: `T::key(…)`, or `.eq(…)` for each open part",
        "with `same_partition`, the argument of `by_NAME` is the partition, and the value comes after it: \
         `User::by_email(team).eq(\"…\")`",
        "to read the first row, use `first(&tables)`; an index whose values belong to one entity each has `unique`";
    Exists: "this query finds many rows, and `exists` checks one", "parts of the key are still open",
        "write `.first(&tables).await?.is_some()`, or `T::key(…).exists(&tables)`",
        "with `same_partition`, the argument of `by_NAME` is the partition, and the value comes after it: \
         `User::by_email(team).eq(\"…\")`";
    Run: "a query is run with `all`, `first`, `count`, `stream`, `for_each` or `page`", "not a way to run a query",
        "write `.all(&tables).await?` for a `Vec`, `.first(&tables).await?` for an `Option`";
    Await: "a query is run with `all`, `first`, `count`, `stream`, `for_each` or `page`", "not yet run",
        "write `.all(&tables).await?` for a `Vec`, `.first(&tables).await?` for an `Option`";
    Iterate: "a query is not an iterator", "nothing was read yet",
        "write `.all(&tables).await?` for a `Vec`, or `.stream(&tables)` for a stream",
        "conditions on properties are `filter(|post| post.likes.ge(1))`, and single fields are `select::<Projection>()`",
        "what a query finds is deleted by `.delete_all(&tables)`";
    OneOf: "a query has one value or one range for each part of a key", "not a method of queries",
        "run a query for each value; full keys: `tables.get_many(keys)`, with `Post::key(…)` or of a unique index `User::by_email(…)`",
        "the service answers an `or` over keys with a scan of the table";
    Deleted: "the bin is read with `only_deleted()`, and with the rest with `with_deleted()`",
        "write `.only_deleted()` or `.with_deleted()`";
    Total: "a page does not know the number of all rows", "not a function of pages",
        "`query.clone().count(&tables)` reads all of them to count them";
    Combine: "each query is run by itself", "not a method of queries",
        "run each of them, and combine the `Vec`s: `posts.extend(query.all(&tables).await?)`",
        "several partitions: `T::by_partitions(..)` reads all of them, or those of a range";
    SliceOf: "the slices that a query reads follow from its range of the time", "not a method of queries",
        "write `.range(from..to)` for the time";
    After: "a query continues at the cursor of a page", "not a method of queries",
        "write `.page(&tables, 20, cursor)`, with `None` for the first page and `page.next.as_deref()` of the page before for the next";
    Last: "rows are read in one direction", "not a way to run a query",
        "put `reverse` on the key part, or `reverse_time` on a time, and write `.first(&tables).await?`",
        "of a short range: the last of the `Vec` that `.all(&tables).await?` returns";
    Narrow: "a key is narrowed with `eq`, `starts_with` and `range`", "not a method of queries",
        "write `.range(a..b)`, `.range(a..=b)`, `.range(a..)` or `.range(..b)`",
        "a condition on a property is `.filter(|post| post.likes.ge(1))`";
    Where: "conditions on properties are given to `filter`", "write `.filter(|post| post.likes.ge(1))`",
        "the rows are chosen by `eq`, `starts_with` and `range`, and then filtered";
    OrFilter: "conditions are combined in one filter", "not a method of queries",
        "write `.filter(|post| post.likes.ge(5).or(post.title.eq(\"Keys\")))`; a second `.filter(…)` is one more condition",
        "of two queries, run each, and combine the `Vec`s: `posts.extend(query.all(&tables).await?)`";
    Shown: "a query is shown by `explain`", "write `query.explain()`",
        "it names the tables, the ranges of keys and the cost";
    SkipOne: "a query of one row has no other rows", "not a method of a full key",
        "the row that cannot be read is the error of `get`: match it";
    GetOfMany: "`get` reads the row of a full key", "write `.first(&tables).await?`";
    WriteRows: "a query does not change rows", "not a method of queries",
        "for each of the entities that `.all(&tables).await?` returns: `tables.patch(Stored::key(&stored), |post| \
         [post.likes.set(1)])`, or change it and write `tables.update(&mut stored)`",
        "a group: `query.modify(&tables, |rows| …)`";
    DeleteRows: "the rows of a query are deleted with `delete_all`", "write `.delete_all(&tables).await?`";
    DeleteEach: "entities are soft-deleted and restored one by one", "not a method of queries",
        "read them, and write `tables.soft_delete(T::key(…))` or `tables.restore(T::key(…))` for each";
    Fields: "single fields are those of a projection", "not a method of queries",
        "write `.select::<Title>()`, with `#[derive(Projection)] #[projection(of = Post)]` on a struct of the fields",
        "whole entities: `posts.into_iter().map(|post| post.likes)`, of the `Vec` that `.all(&tables).await?` returns";
    Len: "the rows of a query are counted with `count`", "write `.count(&tables).await?`",
        "every row is read for it: the service cannot count";
    Join: "the service cannot join rows", "not a method of queries",
        "read the entities of both types, and combine them",
        "entities that are read together can share a partition: `#[derive(EntityGroup)]`";
    Aggregate: "the service cannot group or aggregate rows", "not a method of queries",
        "read the rows with `for_each` or `all`, and compute the result from them";
    BoxSkipping: "a query that skips rows cannot be boxed, because its closure borrows", "not a method after `skip_unreadable`",
        "return the query boxed, and let the caller write `.skip_unreadable(|error| …)`";
    GenericKey: "a `PointKey` is a key of any point, and is made a query first", "write `key.into_point().get(&tables)`";
    NoETags: "a copy in an index has no ETag", "the page is serialized without: remove this call",
        "`copied.fetch(&tables)` reads the entity with its ETag";
    PageFromClient: "a page is serialized, and not deserialized", "a client has a struct of its own",
        "such as `struct Page<T>` with the fields `entities: Vec<T>` and `next: Option<String>`";
    HasMore: "the last page has no cursor", "write `page.next.is_some()`";
    NextPage: "the next page is read by the query", "not a method of a page",
        "write `query.page(&tables, 20, page.next.as_deref())`; `page.next` is `None` on the last page";
    DryRun: "`repair` writes, and `verify` finds the same problems and writes nothing", "not an option of `repair`",
        "write `tables.verify::<Post>().await?`, and look at its `findings`";
    OneEntityJob: "a job is over the rows of one entity", "not a method of jobs",
        "run it for each entity: `tables.verify::<Post>().await?`, then `tables.verify::<Comment>().await?`";
    RunJob: "a job is run by `.await`", "remove this call", "write `tables.create::<Post>().await?`";
    HasFindings: "the problems that `verify` found are in `findings`", "not an iterator",
        "write `for finding in &verified.findings`";
    IsEmpty: "the problems that `verify` found are in `findings`", "write `verified.findings.is_empty()`";
    UpdateIf: "`update` and `delete` write if the row has the version that a `Stored` has", "not a verb of `Tables`",
        "with the ETag of a client: `tables.update(&mut Stored::new(post, etag))`, or `tables.delete(&Stored::new(post, etag))`",
        "some of the properties: `tables.patch_if(T::key(…), &etag, |post| [post.likes.set(1)])`";
    Restore: "an entity in the bin is restored with `restore`", "write `tables.restore(T::key(…)).await?`",
        "`query.with_deleted()` and `.only_deleted()` find entities in the bin";
    EmptyBin: "what was put into the bin long ago is removed with `sweep`", "write `tables.sweep::<Note>().deleted_before(age).await?`";
    UseIndex: "each index has a query of its own", "not a method of queries", "write `Post::by_title(…)` for the index `title`";
    WithExpired: "entities that have expired are absent, and no query finds them", "not a method of queries",
        "`with_deleted` and `only_deleted` are for the bin of `#[table(soft_delete = …)]`";
    NoDefault: "a `Stored` is what a query returned, and has no default", "take the entity first",
        "write `.map(Stored::into_inner).unwrap_or_default()`";
    CreateIndex: "indexes are declared by attributes", "not a verb of `Tables`",
        "`tables.create::<Post>()` makes those of a new table",
        "an index that is added to a table with rows is built by `tables.backfill::<Post>(\"title\")`";
    BeforeBoxed: "a boxed query only runs: it has lost the types of its keys and properties", "not a method of `BoxedRows`",
        "narrow, filter, select or delete the query before `.boxed()`";
    NarrowQuery: "the trait `Query` has what every query has: it is run", "not a method of `Query`",
        "narrow, filter and select a query where it is made, and pass it to the function then";
    RunBoxed: "the trait `Query` has `all`, `first`, `count` and `stream`", "not a method of `Query`",
        "write `.boxed()` before it: a `BoxedRows` has it";
    WriteByItself: "an entity is written by the verbs of `Tables`", "not a method of an entity",
        "write `tables.insert(&post).await?`, or `upsert`; many: `tables.insert_all(&posts)`",
        "what a query returned: `tables.update(&mut stored).await?` and `tables.delete(stored).await?`";
    // Points.
    AwaitPoint: "a query of one row is run with `get` or `exists`", "not yet run",
        "write `.get(&tables).await?`, which returns an `Option`";
    AllOfPoint: "a full key is one row: `get` reads it", "write `.get(&tables).await?`, which returns an `Option`",
        "`exists` checks whether there is the row; `.boxed()` makes a query of at most one row";
    RowsOfPoint: "a full key is one row, so it has no filter, order or limit", "not a method of a full key",
        "`T::by_key(…)` opens a partition, of which there can be many rows",
        "write `.get(&tables).await?` and look at the entity";
    WritePoint: "writes are methods of `Tables`", "not a method of a key",
        "write `tables.remove(T::key(…))`, `tables.patch(T::key(…), |post| [post.likes.set(1)])` or \
         `tables.modify(T::key(…), |post| post.likes += 1)`";
    // Verbs.
    Put: "an entity is written with `insert`, `upsert`, `merge` or `update`", "no such verb",
        "`insert` refuses a row that is there, `upsert` replaces it, `merge` keeps its unknown properties",
        "`update` writes back what was read";
    Read: "entities are read by the queries of their type", "not a verb of `Tables`",
        "one entity: `Post::key(…).get(&tables).await?`",
        "a partition: `Post::by_key(…).all(&tables).await?`; the whole table: `Post::scan()`, with `#[table(allow_scan)]`";
    ReadExists: "whether there is an entity is asked by its key", "not a verb of `Tables`",
        "write `Post::key(…).exists(&tables).await?`";
    ReadMany: "entities whose keys are known are read with `get_many`", "write `tables.get_many(keys).await?`",
        "`keys` are those of `Post::key(…)`, or of a unique index, `User::by_email(…)`",
        "a partition: `Post::by_key(…).all(&tables).await?`";
    ModifyOne: "an entity is read, changed and written with `modify`", "not a verb of `Tables`",
        "write `tables.modify(T::key(…), |post| post.likes += 1).await?`, which returns the entity as it was written",
        "without a read, and without the old values: `tables.patch(T::key(…), |post| [post.likes.set(1)])`",
        "what was read is changed and written by `tables.update(&mut stored)`";
    NoHandle: "an entity names its table, and there is no handle of one table", "remove this call",
        "writes are verbs of `Tables`: `tables.insert(&post)`",
        "reads are queries of the entity: `Post::key(…).get(&tables)`, `Post::by_key(…).all(&tables)`";
    ListTables: "the tables of a store are listed by `inventory`", "write `tables.inventory().await?`",
        "`tables.create::<Post>()` creates what is missing, and needs no check before it";
    Healthy: "a store is checked by `health`", "write `tables.health().await.is_healthy()`";
    DumpAll: "the rows of a store are written by `dump`", "write `tables.dump(&mut file).await?`",
        "into another store: `other.load(BufReader::new(file)).await?`; into another struct: `migrate`";
    LoadAll: "the rows of a dump are written by `load`", "write `tables.load(BufReader::new(file)).await?`";
    Watch: "the service reports no changes", "not a verb of `Tables`",
        "ask again from time to time: with a key by time, `Post::by_key(…).range(since..)` finds what is new";
    SweepExpired: "what has expired is deleted with `sweep`", "write `tables.sweep::<Session>().await?`",
        "`#[table(expires = …)]` names the field with the time, and queries do not return what has expired";
    CreateTable: "tables are created with `create::<T>()`", "write `tables.create::<Post>().await?`",
        "it creates what is missing, and is called whenever a program begins";
    UpdateMany: "each entity is updated by itself", "not a verb of `Tables`",
        "the service has no `UPDATE … WHERE`: read what a query finds, and write `patch` or `update` for each",
        "`tables.upsert_all(&entities)` writes many, whatever their rows are now",
        "`update(&mut stored)` for each writes back what was read";
    DeleteByKey: "an entity is deleted by its key with `remove`", "write `tables.remove(T::key(…)).await?`",
        "what was read is deleted with `tables.delete(stored)`, unless another writer changed it";
    DeleteMany: "what a query finds is deleted with `delete_all`", "not a verb of `Tables`",
        "write `Post::by_key(…).delete_all(&tables).await?`, or `tables.delete_all((query, other))`",
        "entities whose keys are known: `tables.remove_all(keys)`";
    FromClient: "a `Stored` is what a query returned, and cannot be deserialized", "deserialize the entity",
        "with the version that a client sent back: `Stored::new(post, if_match.parse()?)`",
        "without a version: `tables.upsert(&post)`";
    Tracked: "no changes are tracked: each write is a verb of its own", "not a verb of `Tables`",
        "of what a query returned: change it, and write `tables.update(&mut stored).await?`",
        "several writes of one partition at once: `tables.transaction().update(&mut one).update(&mut other).commit().await?`";
    InsertMany: "many entities are written with `insert_all` and `upsert_all`", "not a verb of `Tables`";
    TryInsertMany: "results are written with `try_insert_all_from`, which takes a stream of them", "not a verb of `Tables`",
        "write `tables.try_insert_all_from(futures_util::stream::iter(results))`, or `try_upsert_all_from`; the errors are among the \
         failures";
    OnConflict: "`insert_all` reports each entity that exists, and writes the others", "not an option of bulk writes",
        "to replace the rows that exist, write `tables.upsert_all(&posts)`",
        "`failures` of the error has `Error::AlreadyExists` for each of the others";
    FindOrInsert: "`insert` refuses a row that exists, with `Error::AlreadyExists`", "no such verb",
        "to keep a row that exists, accept the error: `Err(Error::AlreadyExists(_)) => …`, and read it with `T::key(…).get(&tables)`",
        "to insert or change: `tables.modify_or_insert(&first, |visits| visits.count += 1)`, which returns the entity";
    Begin: "a transaction begins with `transaction`", "not a verb of `Tables`",
        "write `tables.transaction().insert(&post).remove(key).commit().await?`";
    DeleteSkips: "`delete_all` deletes what can be read, and reports the other rows", "remove `skip_unreadable`",
        "write `query.delete_all(&tables).await?`; rows that cannot be read stay";
    BeforeSkip: "`skip_unreadable` comes last, right before the function that runs the query", "narrow and filter before it",
        "write `.filter(|post| post.likes.ge(1)).skip_unreadable(|error| errors.push(error)).all(&tables)`";
    Close: "a store is closed when its last handle is dropped", "remove this call",
        "the embedded store then writes what is queued; each write that was awaited is on the disk already";
    DropTable: "no verb deletes a table", "not a verb of `Tables`",
        "the entities of a type: `tables.delete_all(Post::scan())`, which needs `#[table(allow_scan)]`, or \
         `Post::by_key(…).delete_all(&tables)` for a partition",
        "old slices of a table by time: `tables.drop_slices::<Line>(..time)`",
        "a whole table is deleted by the backend: `use backend::BackendExt;`, `backend.delete_table(\"Posts\").await?`";
    SweepAge: "`sweep` deletes what has expired, whenever that was", "remove this call",
        "the age of what it deletes from the bin is `.deleted_before(age)`, of an entity with `#[table(soft_delete = …)]`";
    BulkSize: "bulk writes choose the size of their transactions", "not an option of bulk writes",
        "`.side_by_side(16)` says how many transactions are sent at once";
    SideBySide: "the number of transactions that are sent at once is set with `side_by_side`", "write `.side_by_side(16)`";
    SendBulk: "bulk writes are sent by `.await`", "remove this call",
        "write `tables.insert_all(&posts).await?`";
    Layered: "a store has no layers", "not an option of `Tables`",
        "limits and attempts are those of `AzureBackend::builder(account)`, such as `.timeout(limit)`; `.http_client(client)` takes \
         a client of your own",
        "in tests, `testing::Faulty` and `testing::Counting` are placed before a store";
    Measured: "requests are counted by the feature `metrics`, and in tests by `testing::Counting`", "not a function of `Tables`";
    GrantPartition: "a shared access signature is for a partition or a range", "a full key has none",
        "write `Post::by_key(…).sas(&tables, SasPermissions::READ, lifetime)`";
    AndEntity: "one creation is of several entities with `and`", "write `.and::<Comment>()`";
    AwaitJob: "a job returns its result when it is awaited", "await it first", "write `tables.create::<Post>().await?`";
    RunAgain: "a job runs once", "not an option of jobs",
        "call it in a loop, with `tokio::time::interval`";
    OfVerify: "`verify` finds problems, and writes nothing", "remove this call", "`repair` corrects them";
    OfBackend: "retries and time limits are those of the backend", "not an option here",
        "write `AzureBackend::builder(account).access_key(key).max_attempts(5).timeout(limit).build()?`, and give it to `Tables::new`",
        "`connect` has the defaults, and retries what the service refused because of its load";
    Connect: "tables are opened with `connect`, `open` or `in_memory`", "no such constructor",
        "Azure and Azurite: `Tables::connect(connection_string)`, such as `UseDevelopmentStorage=true` for Azurite",
        "the embedded store: `Tables::open(path)`, or `Tables::in_memory()` for tests";
    Commit: "a transaction is sent with `commit`", "nothing was sent yet", "write `.commit().await?` after the last verb",
        "a transaction begins without a request, so without `.await` and `?`: `let transaction = tables.transaction();`";
    ReadFirst: "a transaction does not read", "not a verb of a transaction",
        "read the entity before: `let mut post = Post::key(…).get(&tables).await?`; change it, and add `.update(&mut post)`";
    InsertEach: "a transaction has a verb for each entity", "not a verb of a transaction",
        "in a loop over the entities: `transaction = transaction.insert(post);`",
        "up to 100 rows of one partition; many entities of any partition: `tables.insert_all(&posts)`";
    Rollback: "a transaction that is not committed writes nothing", "nothing was sent yet",
        "drop it; after `commit`, it was applied as a whole or not at all";
    FeatureAzure: "`connect` needs the feature `azure` of `table-runtime`", "the feature `azure` is not enabled",
        "add it in `Cargo.toml` to the features of `table-runtime`: `features = [\"azure\"]`";
    FeatureEmbedded: "an embedded store needs the feature `embedded` of `table-runtime`", "the feature `embedded` is not enabled",
        "in `Cargo.toml`, remove `default-features = false`, or add it to the features of `table-runtime`: \
         `features = [\"embedded\"]`";
    // Columns.
    TextSearch: "the service cannot search in a text or a list", "no filter looks inside of a value",
        "an element of a list: `#[index(tag, each)]` on the field, and `Post::by_tag(…).eq(\"…\")`",
        "the beginning of a text is found through a key: `#[row_key]` or `#[index(title, …)]`, and \
         `.starts_with(\"…\")` on the query",
        "for anything else, read the entities and look at each";
    Absent: "a filter cannot ask whether a property is there", "rows without the property match no comparison",
        "read the entities and look at each, or store a `bool` that says so",
        "`#[index(field, …)]` has rows for the entities with a value alone";
    ColumnOfOption: "a column is not a value: an `Option` is compared as the value in it", "remove this call",
        "write `post.url.eq(\"x\")`; rows without the property match no comparison";
    ColumnOfText: "a column is not a value, and the service computes nothing from it", "remove this call",
        "compare the column itself: `post.title.eq(\"Keys\")`",
        "comparisons without regard to case: `#[index(title, lowercase, …)]`, and `Post::by_title(…).eq(\"keys\")`",
        "for anything else, read the entities and look at each";
    NotCondition: "a column is not a condition", "compare it before",
        "a `bool`: `post.published.eq(true).and(post.likes.ge(1))`";
    ComputedByService: "the service computes nothing from a column", "remove this call",
        "read the rows with `for_each` or `all`, and compute the result from them";
    EmptyText: "a column is not a value", "compare it with an empty text",
        "write `post.title.eq(\"\")`; an `Option` with `None` is no property, which no filter can ask for";
    NewFilter: "a filter begins with a comparison", "no such constructor",
        "write `post.likes.ge(1)`, and `.and(…)` for more; of a list, `filters.into_iter().reduce(|all, one| all.and(one))`",
        "a filter that may be missing is an `Option` of one, which `filter` takes";
    ColumnOfTime: "a column is not a value, and the service computes nothing from it", "remove this call",
        "write a range of times: `post.at.ge(from).and(post.at.lt(to))`, or `.range(from..to)` on a query by a key with the time";
    Compare: "columns are compared with `eq`, `ne`, `lt`, `le`, `gt` and `ge`", "not a comparison",
        "write `post.likes.ge(1).and(post.likes.le(9))`",
        "one of several values: `post.title.eq(\"a\").or(post.title.eq(\"b\"))`",
        "a `bool`: `post.published.eq(true)`";
    Compute: "a patch does not read the row, so it cannot compute a value from the old one", "not a change of a patch",
        "write `tables.modify(T::key(…), |post| post.likes += 1)`, which reads, changes and writes, and begins again if another \
         writer was faster";
    Unset: "a patch cannot remove a property", "not a change of a patch",
        "write `tables.modify(T::key(…), |post| post.url = None)`, which reads, changes and writes";
}
