//! What an operation has learned so far: the requests that the store has answered, as forms, and the times that it read.

use std::{
    cell::Cell,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::FutureExt;
use table_runtime::{
    ETag, Error,
    backend::{Action, Group, IfMatch},
    row::RowRef,
    testing::{Answer, Observer, Request},
};

use crate::{
    form::{Form, Seal},
    plain::Plain,
};

/// What an operation has learned so far, in order. Its clones share it.
///
/// Of the times that it read from the clock, it has those that differ from the one before. The first reading is compared
/// with the start of a plain store's clock. So an operation that never sees time pass has none.
#[derive(Clone, Debug, Default)]
pub struct Past(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    learned: Vec<Learned>,
    /// The time that was read last.
    clock: Duration,
}

/// Input of an operation.
#[derive(Clone, Debug)]
pub enum Learned {
    /// The answer of a request.
    Event(Event),
    /// The answer of a request for which the operation does not wait: it has not learned it.
    Missed(Event),
    /// The time that the clock showed.
    Time(Duration),
    /// The seal of something that the operation saw of the store without a request.
    Sight(Seal),
}

/// A request and its answer.
#[derive(Clone, Debug)]
pub struct Event {
    /// The request.
    pub request: Form,
    /// The answer.
    pub answer: Form,
    /// The seals of both.
    pub seals: [Seal; 2],
}

impl Past {
    /// Returns the requests with their answers.
    pub fn events(&self) -> Vec<Event> {
        let event = |learned: &Learned| match learned {
            Learned::Event(event) | Learned::Missed(event) => Some(event.clone()),
            Learned::Time(_) | Learned::Sight(_) => None,
        };
        self.lock().learned.iter().filter_map(event).collect()
    }

    /// Calls `read` for each input of the operation.
    pub fn for_each(&self, read: impl FnMut(&Learned)) {
        self.lock().learned.iter().for_each(read);
    }

    /// Checks whether the store has answered no request.
    pub fn is_empty(&self) -> bool {
        !self.lock().learned.iter().any(|learned| matches!(learned, Learned::Event(_)))
    }

    /// Records something that the operation saw of the store without a request.
    pub fn saw(&self, sight: impl fmt::Display) {
        let mut form = Form::default();
        self.lock().learned.push(Learned::Sight(form.text(sight).seal()));
    }

    /// Records the answer of a request for which the operation does not wait.
    pub fn missed(&self, event: Event) {
        self.lock().learned.push(Learned::Missed(event));
    }

    /// Forgets what was learned, but not the last time.
    pub fn forget(&self) {
        self.lock().learned.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer<Plain> for Past {
    fn answered(&self, store: &Plain, request: &Request, answer: Result<Answer<'_>, &Error>) {
        let event = Event::new(store, request, answer);
        self.lock().learned.push(Learned::Event(event));
    }

    fn read_clock(&self, now: Duration) {
        let mut state = self.lock();
        if state.clock != now {
            state.clock = now;
            state.learned.push(Learned::Time(now));
        }
    }
}

/// The answer of one request.
#[derive(Default)]
struct Once(Cell<Option<Event>>);

impl Observer<Plain> for Once {
    fn answered(&self, store: &Plain, request: &Request, answer: Result<Answer<'_>, &Error>) {
        self.0.set(Some(Event::new(store, request, answer)));
    }
}

impl Event {
    /// Sends a request to a plain store, which answers at once. Returns the request with its answer.
    pub fn of(store: &Plain, request: &Request) -> Option<Self> {
        let once = Once::default();
        request.send(store, &once).now_or_never()?;
        once.0.into_inner()
    }

    fn new(store: &Plain, request: &Request, answer: Result<Answer<'_>, &Error>) -> Self {
        let (request, answer) = (request_form(store, request), answer_form(store, answer));
        let seals = [request.seal(), answer.seal()];
        Self { request, answer, seals }
    }
}

/// Returns the form of a request.
pub fn request_form(store: &Plain, request: &Request) -> Form {
    let mut form = Form::default();
    match request {
        Request::CreateTable(table) => drop(form.word("create table").text(table)),
        Request::DeleteTable(table) => drop(form.word("delete table").text(table)),
        Request::ListTables(prefix) => drop(form.word("list tables").text(prefix)),
        Request::Get { table, partition_key, row_key, select } => {
            form.word("get").text(format_args!("{table}('{partition_key}','{row_key}')"));
            if let Some(select) = select {
                form.text(format_args!("{select:?}"));
            }
        }
        Request::Query { scan, from } => {
            form.word("query").text(&scan.table).text(scan.odata()).text(format_args!("by {}", scan.page));
            if let Some(select) = &scan.select {
                form.text(format_args!("{select:?}"));
            }
            if let Some(from) = from {
                let row_key = from.row_key.as_deref().unwrap_or_default();
                form.text(format_args!("after ('{}','{row_key}')", from.partition_key));
            }
        }
        Request::Sleep(until) => drop(form.word("sleep until").text(format_args!("{until:?}"))),
        Request::Execute(groups) => groups.iter().for_each(|group| put_group(&mut form, store, group)),
    }
    form
}

fn put_group(form: &mut Form, store: &Plain, group: &Group) {
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

fn answer_form(store: &Plain, answer: Result<Answer<'_>, &Error>) -> Form {
    let mut form = Form::default();
    match answer {
        Ok(Answer::Tables(names)) => drop(form.text(names.join(" "))),
        Ok(Answer::Row(Some(row))) => put_row(&mut form, store, row.as_ref()),
        Ok(Answer::Row(None)) => drop(form.word("none")),
        Ok(Answer::Page(page)) => {
            form.text(format_args!("{} rows", page.rows.len()));
            for row in page.rows.iter() {
                put_row(&mut form, store, row);
            }
            if page.next.is_some() {
                form.word("…");
            }
        }
        Ok(Answer::ETags(etags)) => {
            for etag in etags {
                match etag {
                    Some(etag) => put_etag(&mut form, store, etag),
                    None => drop(form.word("gone")),
                }
            }
        }
        Ok(Answer::Awake) => drop(form.word("awake")),
        Err(error) => drop(form.word("error:").text(error)),
    }
    form
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
