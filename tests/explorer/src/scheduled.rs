//! A backend whose requests wait, each until it is granted: one task's way to a store that several share.

use std::{
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_util::FutureExt;
use table_runtime::{
    ETag, Result, Row, RowRef,
    backend::{Action, Backend, BoxFuture, Continuation, Group, IfMatch, Page, Scan},
};

use crate::{
    form::{Form, Seal},
    plain::Plain,
};

/// A task's way to the store. A request waits at the task's [`Desk`] from its first poll on; granted, it is carried out
/// whole, and answered, when it is polled next.
#[derive(Debug)]
pub struct Scheduled {
    store: Plain,
    desk: Desk,
}

/// Where a task's requests wait, and what came of those that were granted.
#[derive(Clone, Debug, Default)]
pub struct Desk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    granted: Option<usize>,
    /// How many requests there were.
    requests: usize,
    past: Vec<Event>,
}

#[derive(Debug)]
struct Waiting {
    id: usize,
    request: Request,
    /// `None` once the task has dropped the request's future. It may have been sent, so it may yet arrive.
    waker: Option<Waker>,
}

/// A request that was granted, and its answer.
#[derive(Clone, Debug)]
pub struct Event {
    /// What was asked.
    pub request: Form,
    /// What the store said.
    pub answer: Form,
    /// The seals of both.
    pub seals: [Seal; 2],
}

#[derive(Clone, Debug)]
enum Request {
    CreateTable(String),
    DeleteTable(String),
    ListTables(String),
    Get { table: String, partition_key: String, row_key: String, select: Option<Vec<&'static str>> },
    Query { scan: Scan, from: Option<Continuation> },
    Write(Group),
}

impl Scheduled {
    /// A task's way to `store`.
    pub fn new(store: Plain) -> (Self, Desk) {
        let desk = Desk::default();
        (Self { store, desk: desk.clone() }, desk)
    }

    async fn ask<T: Said>(&self, request: Request, answer: impl Future<Output = Result<T>>) -> Result<T> {
        let request = Turn { desk: &self.desk, request: Some(request), id: None }.await;
        let answer = answer.await;
        let event = Event::new(&self.store, &request, &answer);
        self.desk.lock().past.push(event);
        answer
    }
}

impl Desk {
    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Whether the task waits for the answer of a request.
    pub fn is_waited_for(&self) -> bool {
        self.lock().waiting.iter().any(|waiting| waiting.waker.is_some())
    }

    /// Whether a granted request has not been carried out yet.
    pub fn is_granted(&self) -> bool {
        self.lock().granted.is_some()
    }

    /// Lets the `n`th of the waiting requests go. One that the task has dropped arrives at `store` at once.
    pub fn grant(&self, n: usize, store: &Plain) {
        let mut state = self.lock();
        let Some((id, waker)) = state.waiting.get(n).map(|waiting| (waiting.id, waiting.waker.clone())) else { return };
        if let Some(waker) = waker {
            state.granted = Some(id);
            drop(state);
            waker.wake();
            return;
        }
        let event = state.waiting.remove(n).request.carry_out(store);
        state.past.push(event);
    }

    /// What would come of the `n`th of the waiting requests, granted: it is carried out on `copy`, a copy of the store.
    /// `None` if the task has dropped it.
    pub fn try_out(&self, n: usize, copy: &Plain) -> Option<Event> {
        let state = self.lock();
        let waiting = state.waiting.get(n).filter(|waiting| waiting.waker.is_some())?;
        Some(waiting.request.carry_out(copy))
    }

    /// Forgets the requests that wait, as a task's that will not go on.
    pub fn clear(&self) {
        let mut state = self.lock();
        // What they drop may come back here.
        let waiting = mem::take(&mut state.waiting);
        drop(state);
        drop(waiting);
    }

    /// The requests that were granted, in order.
    pub fn past(&self) -> Vec<Event> {
        self.lock().past.clone()
    }

    /// Lends them.
    pub fn for_each_past(&self, read: impl FnMut(&Event)) {
        self.lock().past.iter().for_each(read);
    }

    /// How many there are.
    pub fn passed(&self) -> usize {
        self.lock().past.len()
    }

    /// The requests that wait; with `left`, only those that the task has dropped.
    pub fn requests(&self, store: &Plain, left: bool) -> Vec<Form> {
        let waiting = |waiting: &&Waiting| !left || waiting.waker.is_none();
        self.lock().waiting.iter().filter(waiting).map(|waiting| waiting.request.form(store)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a request's turn, and gives it back.
struct Turn<'a> {
    desk: &'a Desk,
    /// Before it waits at the desk.
    request: Option<Request>,
    /// While it waits there.
    id: Option<usize>,
}

impl Future for Turn<'_> {
    type Output = Request;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Request> {
        let this = self.get_mut();
        let mut state = this.desk.lock();
        if let Some(request) = this.request.take() {
            let id = state.requests;
            state.requests += 1;
            state.waiting.push(Waiting { id, request, waker: Some(context.waker().clone()) });
            this.id = Some(id);
            return Poll::Pending;
        }
        let Some(at) = state.waiting.iter().position(|waiting| Some(waiting.id) == this.id) else {
            return Poll::Pending;
        };
        if state.granted != this.id {
            state.waiting[at].waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        state.granted = None;
        this.id = None;
        Poll::Ready(state.waiting.remove(at).request)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut state = self.desk.lock();
        if state.granted == Some(id) {
            state.granted = None;
        }
        // A dropped read is nobody's affair.
        state.waiting.retain_mut(|waiting| {
            let is_this = waiting.id == id;
            if is_this {
                waiting.waker = None;
            }
            !is_this || matches!(waiting.request, Request::Write(_))
        });
    }
}

impl Event {
    fn new<T: Said>(store: &Plain, request: &Request, answer: &Result<T>) -> Self {
        let mut form = Form::default();
        match answer {
            Ok(answer) => answer.say(store, &mut form),
            Err(error) => drop(form.word("error:").text(error)),
        }
        Self::of(request.form(store), form)
    }

    fn of(request: Form, answer: Form) -> Self {
        let seals = [request.seal(), answer.seal()];
        Self { request, answer, seals }
    }
}

impl Request {
    /// Carries it out for nobody.
    fn carry_out(&self, store: &Plain) -> Event {
        /// The answer, which a plain store gives at once.
        fn event<T: Said>(store: &Plain, request: &Request, answer: impl Future<Output = Result<T>>) -> Event {
            match answer.now_or_never() {
                Some(answer) => Event::new(store, request, &answer),
                None => Event::of(request.form(store), Form::default()),
            }
        }
        match self {
            Self::CreateTable(table) => event(store, self, store.create_table(table)),
            Self::DeleteTable(table) => event(store, self, store.delete_table(table)),
            Self::ListTables(prefix) => event(store, self, store.list_tables(prefix)),
            Self::Get { table, partition_key, row_key, select } => {
                event(store, self, store.get(table, partition_key, row_key, select.as_deref()))
            }
            Self::Query { scan, from } => event(store, self, store.query(scan, from.as_ref())),
            Self::Write(group) => event(store, self, store.execute(group)),
        }
    }

    fn form(&self, store: &Plain) -> Form {
        let mut form = Form::default();
        match self {
            Self::CreateTable(table) => drop(form.word("create table").text(table)),
            Self::DeleteTable(table) => drop(form.word("delete table").text(table)),
            Self::ListTables(prefix) => drop(form.word("list tables").text(prefix)),
            Self::Get { table, partition_key, row_key, select } => {
                form.word("get").text(format_args!("{table}('{partition_key}','{row_key}')"));
                if let Some(select) = select {
                    form.text(format_args!("{select:?}"));
                }
            }
            Self::Query { scan, from } => {
                form.word("query").text(&scan.table).text(scan.odata()).text(format_args!("by {}", scan.page));
                if let Some(select) = &scan.select {
                    form.text(format_args!("{select:?}"));
                }
                if let Some(from) = from {
                    let row_key = from.row_key.as_deref().unwrap_or_default();
                    form.text(format_args!("after ('{}','{row_key}')", from.partition_key));
                }
            }
            Self::Write(group) => {
                for operation in &group.operations {
                    let (action, row_key) = (&operation.action, &operation.row_key);
                    form.word(action.name());
                    form.text(format_args!("{}('{}','{row_key}')", group.table, group.partition_key));
                    if let Some(properties) = action.properties() {
                        form.properties(properties.as_ref());
                    }
                    if let Action::Replace(_, IfMatch::ETag(etag))
                    | Action::Merge(_, IfMatch::ETag(etag))
                    | Action::Delete(IfMatch::ETag(etag)) = action
                    {
                        put_etag(form.word("if"), store, etag);
                    }
                }
            }
        }
        form
    }
}

fn put_etag(form: &mut Form, store: &Plain, etag: &ETag) {
    match store.version(etag) {
        Some(version) => form.version(version),
        None => form.text(etag),
    };
}

fn put_row(form: &mut Form, store: &Plain, row: RowRef<'_>) {
    form.text(format_args!("('{}','{}')", row.partition_key, row.row_key));
    put_etag(form, store, row.etag);
    form.properties(row.properties);
}

/// A good answer.
trait Said {
    fn say(&self, store: &Plain, form: &mut Form);
}

impl Said for bool {
    fn say(&self, _: &Plain, form: &mut Form) {
        form.word(if *self { "yes" } else { "no" });
    }
}

impl Said for Vec<String> {
    fn say(&self, _: &Plain, form: &mut Form) {
        form.text(self.join(" "));
    }
}

impl Said for Option<Row> {
    fn say(&self, store: &Plain, form: &mut Form) {
        match self {
            Some(row) => put_row(form, store, row.as_ref()),
            None => drop(form.word("none")),
        }
    }
}

impl Said for Page {
    fn say(&self, store: &Plain, form: &mut Form) {
        form.text(format_args!("{} rows", self.rows.len()));
        for row in self.rows.iter() {
            put_row(form, store, row);
        }
        if self.next.is_some() {
            form.word("…");
        }
    }
}

impl Said for Vec<Option<ETag>> {
    fn say(&self, store: &Plain, form: &mut Form) {
        for etag in self {
            match etag {
                Some(etag) => put_etag(form, store, etag),
                None => drop(form.word("gone")),
            }
        }
    }
}

impl Backend for Scheduled {
    fn create_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.ask(Request::CreateTable(table.to_owned()), self.store.create_table(table)))
    }

    fn delete_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.ask(Request::DeleteTable(table.to_owned()), self.store.delete_table(table)))
    }

    fn list_tables<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(self.ask(Request::ListTables(prefix.to_owned()), self.store.list_tables(prefix)))
    }

    fn get<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
    ) -> BoxFuture<'a, Result<Option<Row>>> {
        let request = Request::Get {
            table: table.to_owned(),
            partition_key: partition_key.to_owned(),
            row_key: row_key.to_owned(),
            select: select.map(<[_]>::to_vec),
        };
        Box::pin(self.ask(request, self.store.get(table, partition_key, row_key, select)))
    }

    fn query<'a>(&'a self, scan: &'a Scan, from: Option<&'a Continuation>) -> BoxFuture<'a, Result<Page>> {
        let request = Request::Query { scan: scan.clone(), from: from.cloned() };
        Box::pin(self.ask(request, self.store.query(scan, from)))
    }

    fn execute<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Vec<Option<ETag>>>> {
        Box::pin(self.ask(Request::Write(group.clone()), self.store.execute(group)))
    }

    /// Takes no time: the request that follows waits for its turn, for as long as others run.
    fn pause(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
