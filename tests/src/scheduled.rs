//! A backend whose requests wait, each until it is granted: one task's way to a store that several share.

use std::{
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use futures_util::FutureExt;
use table_runtime::{
    ETag, Result, Row, RowRef,
    backend::{Action, Backend, BoxFuture, Continuation, Group, IfMatch, Page, Scan},
};

use crate::{form::Form, plain::Plain};

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
}

#[derive(Clone, Debug)]
enum Request {
    Table { operation: &'static str, name: String },
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
        self.desk.saw(&self.store, &request, &answer);
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
        let request = state.waiting.remove(n).request;
        drop(state);
        // Only writes are left behind.
        if let Request::Write(group) = &request
            && let Some(answer) = store.execute(group).now_or_never()
        {
            self.saw(store, &request, &answer);
        }
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

    fn saw<T: Said>(&self, store: &Plain, request: &Request, answer: &Result<T>) {
        let mut form = Form::default();
        match answer {
            Ok(answer) => answer.say(store, &mut form),
            Err(error) => drop(form.word("error:").text(error)),
        }
        let event = Event { request: request.form(store), answer: form };
        self.lock().past.push(event);
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

impl Request {
    fn form(&self, store: &Plain) -> Form {
        let mut form = Form::default();
        match self {
            Self::Table { operation, name } => drop(form.word(operation).text(name)),
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
        let request = Request::Table { operation: "create table", name: table.to_owned() };
        Box::pin(self.ask(request, self.store.create_table(table)))
    }

    fn delete_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        let request = Request::Table { operation: "delete table", name: table.to_owned() };
        Box::pin(self.ask(request, self.store.delete_table(table)))
    }

    fn list_tables<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        let request = Request::Table { operation: "list tables", name: prefix.to_owned() };
        Box::pin(self.ask(request, self.store.list_tables(prefix)))
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
}
