//! Turns: the tasks of a process that read and change one row do so one after another.
//!
//! A store decides races by ETags, and the writers that lose begin again. With many writers of one row, most attempts are
//! lost, and a slow writer may lose them all. Writers that take turns lose no race to each other.
//!
//! If several of them wait, they take their turns in a round, between one read and one commit: the first one reads the row,
//! each changes it when it is polled and passes it on, and all of them poll the commit of the last one.

mod line;

use std::{
    collections::HashMap,
    future::poll_fn,
    panic::AssertUnwindSafe,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use futures_util::future::{Either, FutureExt, select};
use table_store::{
    RowId,
    error::OutcomeUnknownError,
    unstable::{RowKeys, client::Client},
};

pub use self::line::{Outcome, PassedRow, RoundAnswer, Shares, Turn};
use self::line::{RoundState, TaskLine};
use super::lease::lock;

/// Time after which a task goes on without its turn. The task that has the turn may be waiting for this one, or may not be
/// polled.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time within which a task has to be polled after it was called. A task that waits notices after this time that another one
/// was not. As long as nobody is called, it looks less and less often.
const COMES_WITHIN: Duration = Duration::from_millis(5);

/// Longest time after which a task that waits looks.
const LOOKS_WITHIN: Duration = Duration::from_millis(80);

/// Time after which a task looks that many others are before.
const LOOKS_FROM_FAR: Duration = Duration::from_secs(1);

/// A row by the whole name of its entity's table, and its keys.
type TurnRow = (String, RowKeys);

/// The rows that tasks read and change at this moment.
#[derive(Default)]
pub struct Turns(Mutex<HashMap<TurnRow, Arc<SharedLine>>>);

/// A place in the line for a row. The turn ends when it is dropped.
pub struct InLine<'a> {
    turns: &'a Turns,
    backend: &'a Client,
    row: TurnRow,
    line: Arc<SharedLine>,
    /// `None` after the task has gone on without its turn.
    place: Option<u64>,
}

/// A line that its tasks share. As a waker, it wakes the tasks of the round whose commit can go on: each of them may be the only
/// one that is polled.
#[derive(Default)]
struct SharedLine(Mutex<TaskLine>);

impl Turns {
    /// Returns a place at the end of the line for a row. `shares` are the tasks with which this one shares rounds; `None` if it
    /// takes its turns alone.
    pub fn enter<'a>(&'a self, backend: &'a Client, row: TurnRow, shares: Option<Shares>) -> InLine<'a> {
        let mut rows = lock(&self.0);
        let line = Arc::clone(rows.entry(row.clone()).or_default());
        // Under the mutex of the map, so that the line is not removed meanwhile.
        let place = Some(line.step(|line| line.enter(shares)));
        InLine { turns: self, backend, row, line, place }
    }
}

impl SharedLine {
    /// Runs a step of the line. Wakes the tasks whose places have changed when the line is unlocked again.
    fn step<T>(&self, step: impl FnOnce(&mut TaskLine) -> T) -> T {
        let mut line = lock(&self.0);
        let (result, woken) = (step(&mut line), line.woken());
        drop(line);
        woken.into_iter().for_each(Waker::wake);
        result
    }

    /// Returns the result of the round of a place, if it has ended. Polls the commit if no other task does.
    fn answer(self: &Arc<Self>, place: u64, context: &mut Context<'_>) -> Option<RoundAnswer> {
        loop {
            let mut commit = match self.step(|line| line.answer(place, context.waker())) {
                RoundState::Answered(answer) => return Some(answer),
                RoundState::Pending => return None,
                RoundState::Commit(commit) => commit,
            };
            match commit.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(self)))) {
                Poll::Ready(outcome) => self.step(|line| line.end(&outcome)),
                Poll::Pending => {
                    self.step(|line| line.give_back(commit));
                    return None;
                }
            }
        }
    }
}

impl Wake for SharedLine {
    fn wake(self: Arc<Self>) {
        self.step(TaskLine::wake_commit);
    }
}

impl InLine<'_> {
    /// Waits for the turn of this task. Returns at once if it has the turn.
    pub async fn turn(&mut self) -> Turn {
        let turn = |line: &Arc<SharedLine>, place, context: &mut Context<'_>| {
            line.step(|line| line.turn(place, context.waker()))
        };
        let turn = self.until(turn, Some(PATIENCE)).await;
        turn.unwrap_or_else(|| {
            self.leave();
            Turn::Own
        })
    }

    /// Checks whether other tasks take part if this one, whose turn it is, begins a round.
    pub fn is_followed(&self) -> bool {
        self.with(|line, place| line.is_followed(place)).unwrap_or(false)
    }

    /// Passes the row on, which this task has changed. If it is not passed further, the tasks of the round run this `commit`.
    pub fn pass(&self, passed: PassedRow, commit: impl Future<Output = Outcome> + Send + 'static) {
        let (now, (table, keys)) = (self.backend.clock(), self.row.clone());
        let commit = AssertUnwindSafe(commit).catch_unwind().map(move |outcome| {
            // The other tasks of the round did nothing to cause a panic, so it must not be theirs.
            outcome.unwrap_or_else(|_| {
                let lost = OutcomeUnknownError::new("update", RowId::of(&table, &keys), "it panicked");
                Outcome::Unknown(Box::new(lost))
            })
        });
        self.with(|line, place| line.pass(place, passed, commit.boxed(), now));
    }

    /// Leaves the round whose row was passed to this task. The task keeps its place.
    pub fn decline(&self) {
        self.with(|line, _| line.decline());
    }

    /// Waits until the round has ended to which this task has passed its change.
    pub async fn answer(&self) -> RoundAnswer {
        // A place that is gone has passed nothing.
        self.until(SharedLine::answer, None).await.unwrap_or(RoundAnswer::Alone)
    }

    /// Waits until `poll` returns something; `None` if that takes longer than `patience`, or if there is no place.
    ///
    /// Meanwhile, a task that was called and does not come is left out.
    async fn until<T>(
        &self,
        mut poll: impl FnMut(&Arc<SharedLine>, u64, &mut Context<'_>) -> Option<T>,
        patience: Option<Duration>,
    ) -> Option<T> {
        let (line, place) = (&self.line, self.place?);
        let mut polled = pin!(poll_fn(|context| poll(line, place, context).map_or(Poll::Pending, Poll::Ready)));
        if let Some(ready) = polled.as_mut().now_or_never() {
            return Some(ready);
        }
        let (mut delay, mut waited) = (COMES_WITHIN, Duration::ZERO);
        while patience.is_none_or(|patience| waited < patience) {
            let (call, is_near) = line.step(|line| (line.calls(), line.is_near(place)));
            delay = if is_near { delay } else { LOOKS_FROM_FAR };
            match select(polled.as_mut(), self.backend.sleep(delay)).await {
                Either::Left((ready, _)) => return Some(ready),
                Either::Right(_) => line.step(|line| line.leave_out(call, self.backend.clock())),
            }
            waited += delay;
            let is_idle = line.step(|line| line.calls() == call);
            delay = if is_idle { (delay * 2).min(LOOKS_WITHIN) } else { COMES_WITHIN };
        }
        polled.now_or_never()
    }

    fn with<T>(&self, step: impl FnOnce(&mut TaskLine, u64) -> T) -> Option<T> {
        let place = self.place?;
        Some(self.line.step(|line| step(line, place)))
    }

    fn leave(&mut self) {
        let now = self.backend.clock();
        let left = self.with(|line, place| line.leave(place, now));
        self.place = None;
        drop(left);
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.leave();
        let mut rows = lock(&self.turns.0);
        if rows.get(&self.row).is_some_and(|line| line.step(|line| line.is_empty())) {
            rows.remove(&self.row);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{TableEntity, Tables};

    use super::*;

    #[derive(TableEntity)]
    #[table(crate = crate)]
    struct Visits {
        #[partition_key]
        #[row_key]
        page: String,
        count: u32,
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn threads_lose_no_change_and_leave_no_line() -> table_store::Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        for tables in [Tables::in_memory()?, Tables::open(folder.path().join("visits.tables"))?] {
            modify_by_threads(tables).await?;
        }
        Ok(())
    }

    async fn modify_by_threads(tables: Tables) -> table_store::Result<()> {
        const TASKS: u32 = 64;
        const CHANGES: u32 = 100;
        tables.create::<Visits>().await?;
        tables.insert(&Visits { page: "/".to_owned(), count: 0 }).await?;
        let mut tasks = Vec::new();
        for task in 0..TASKS {
            let tables = tables.clone();
            tasks.push(tokio::spawn(async move {
                for change in 0..CHANGES {
                    let add = tables.modify(Visits::key("/"), |visits| visits.count += 1);
                    if task % 2 == 0 {
                        // It is dropped at any step.
                        drop(select(add, Box::pin(yields(change))).await);
                    } else {
                        assert!(add.await.is_ok_and(|visits| visits.is_some()));
                    }
                }
            }));
        }
        for task in tasks {
            assert!(task.await.is_ok());
        }
        assert!(lock(&tables.0.turns.0).is_empty());
        let count = Visits::key("/").get(&tables).await?.map_or(0, |visits| visits.count);
        assert!((TASKS * CHANGES / 2..=TASKS * CHANGES).contains(&count), "{count}");
        Ok(())
    }

    async fn yields(times: u32) {
        for _ in 0..times {
            tokio::task::yield_now().await;
        }
    }
}
