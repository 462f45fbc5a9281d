//! The line of the tasks that read and change one row. It is a state machine: it waits for nothing and sends nothing.

use std::{any::TypeId, collections::BTreeMap, mem, sync::Arc, task::Waker, time::Duration};

use table_store::{ETag, Row, backend::BoxFuture, error::OutcomeUnknownError};

use crate::client::stored::LoadedEntity;

/// Greatest number of tasks in a round.
const MOST: usize = 100;

/// Time after which a round has no further tasks. The longer it takes, the more races it loses to other processes.
const LONGEST: Duration = Duration::from_millis(20);

/// The commit of a round. Each of its tasks polls it, so that it ends even if some of them are dropped.
pub type RoundCommit = BoxFuture<'static, Outcome>;

/// The tasks that share rounds: the type of their entities, and whether their handles hold a lease of it. A handle without a
/// lease does not notice a migration, so it must not commit for others.
pub type Shares = (TypeId, bool);

/// The row of a task whose turn has come.
pub enum Turn {
    /// The row is its own until it leaves the line, or passes the row on.
    Own,
    /// The task before has changed the row, and has not stored it.
    Passed(PassedRow),
}

/// A row that goes from task to task.
#[derive(Clone)]
pub struct PassedRow {
    /// The row as the task before has left it, with the version that is stored.
    pub row: Arc<Row>,
    /// The entity as it is stored.
    pub read: Arc<LoadedEntity>,
}

/// The result of a round's commit.
pub enum Outcome {
    /// The row is written. The version is unknown if the answer was lost and the row has been changed since.
    Written(Result<ETag, Box<OutcomeUnknownError>>),
    /// The answer was lost.
    Unknown(Box<OutcomeUnknownError>),
    /// Another writer was faster.
    LostRace,
    /// The row was not written for another reason, which may be the change of one of the tasks.
    Refused,
}

/// The result of a round for one of its tasks.
#[derive(Clone)]
pub enum RoundAnswer {
    /// The row is written. It has this version if the change of this task was the last one.
    Written(Option<ETag>),
    /// The answer to the commit was lost.
    Unknown(Box<OutcomeUnknownError>),
    /// Another writer was faster. The task is in its place again.
    Again,
    /// The row was not written for another reason. The task is in its place again, and needs the row for itself.
    Alone,
}

/// The state of a round for one of its tasks.
pub enum RoundState {
    Answered(RoundAnswer),
    /// The task is to poll the commit, and to give it back if it is pending.
    Commit(RoundCommit),
    Pending,
}

#[derive(Default)]
pub struct TaskLine {
    /// The tasks, in the order in which they came.
    places: BTreeMap<u64, Place>,
    /// Number of tasks that have come so far.
    arrived: u64,
    stage: Stage,
    /// Number of calls so far.
    calls: u64,
    /// Wakers for the caller to wake after it has unlocked the line: a waker may drop a task, which leaves the line.
    woken: Vec<Waker>,
}

struct Place {
    /// The tasks with which this one shares rounds; `None` if it needs the row for itself.
    shares: Option<Shares>,
    state: PlaceState,
    waker: Option<Waker>,
}

enum PlaceState {
    Waiting,
    /// It waits, and did not come when it was called. The next poll ends this.
    LeftOut,
    /// It has changed the row of a round.
    Changed,
    /// The change is being committed.
    Committing,
    Answered(RoundAnswer),
}

/// The stage of the line: whose turn it is.
#[derive(Default)]
enum Stage {
    #[default]
    Nobody,
    /// The place has the row for itself.
    One(Called),
    /// The place gets the row of a round.
    Round(Called, Round),
    /// The row of a round is being committed.
    Commit(Committed),
}

struct Committed {
    /// The place whose change was the last.
    last: u64,
    /// The commit; `None` while a task polls it.
    commit: Option<RoundCommit>,
    /// True if the commit was woken while a task polled it. That task may never be polled again.
    is_woken: bool,
}

/// A place that was called. Its task comes when it is polled.
struct Called {
    place: u64,
    has_come: bool,
}

struct Round {
    shares: Shares,
    /// Number of tasks that have changed the row.
    tasks: usize,
    began: Duration,
    passed: PassedRow,
    /// The commit of the row as it is now.
    commit: RoundCommit,
    /// The place that has changed the row last.
    last: u64,
}

impl TaskLine {
    /// Adds a task to the end of the line.
    pub fn enter(&mut self, shares: Option<Shares>) -> u64 {
        self.arrived += 1;
        self.places.insert(self.arrived, Place { shares, state: PlaceState::Waiting, waker: None });
        if matches!(self.stage, Stage::Nobody) {
            self.call_first();
        }
        self.arrived
    }

    /// Returns the turn of a place if it has come. Otherwise `waker` is woken when it may have come.
    pub fn turn(&mut self, at: u64, waker: &Waker) -> Option<Turn> {
        match &mut self.stage {
            Stage::One(called) if called.place == at => {
                called.has_come = true;
                Some(Turn::Own)
            }
            Stage::Round(called, round) if called.place == at => {
                called.has_come = true;
                Some(Turn::Passed(round.passed.clone()))
            }
            _ => {
                let place = self.places.get_mut(&at)?;
                if matches!(place.state, PlaceState::LeftOut) {
                    place.state = PlaceState::Waiting;
                }
                self.woken.extend(place.wait(waker));
                None
            }
        }
    }

    /// Checks whether another task would take part in a round that this place begins.
    pub fn is_followed(&self, at: u64) -> bool {
        let shares = self.places.get(&at).and_then(|place| place.shares);
        shares.is_some_and(|shares| self.next_of(at, shares).is_some())
    }

    /// Passes the row on from the place whose turn it is: to the next one, or to the commit.
    pub fn pass(&mut self, at: u64, passed: PassedRow, commit: RoundCommit, now: Duration) {
        let Some(place) = self.places.get_mut(&at) else { return };
        let Some(shares) = place.shares else { return };
        place.state = PlaceState::Changed;
        let (tasks, began) = match &self.stage {
            Stage::Round(_, round) => (round.tasks, round.began),
            _ => (0, now),
        };
        self.hand_on(Round { shares, tasks: tasks + 1, began, passed, commit, last: at }, at, now);
    }

    /// Commits the round without the place whose turn it is. The place waits again, before those that came after it.
    pub fn decline(&mut self) {
        match mem::take(&mut self.stage) {
            Stage::Round(_, round) => self.seal(round),
            other => self.stage = other,
        }
    }

    /// Returns the state of the round of a place. If it is pending, `waker` is woken when that changes.
    pub fn answer(&mut self, at: u64, waker: &Waker) -> RoundState {
        let Some(place) = self.places.get_mut(&at) else { return RoundState::Answered(RoundAnswer::Alone) };
        match &place.state {
            PlaceState::Answered(answer) => return RoundState::Answered(answer.clone()),
            PlaceState::Waiting | PlaceState::LeftOut => {
                let answer = if place.shares.is_some() { RoundAnswer::Again } else { RoundAnswer::Alone };
                return RoundState::Answered(answer);
            }
            PlaceState::Changed | PlaceState::Committing => {}
        }
        self.woken.extend(place.wait(waker));
        // At another stage, the row is still passed on.
        let Stage::Commit(committed) = &mut self.stage else { return RoundState::Pending };
        committed.commit.take().map_or(RoundState::Pending, RoundState::Commit)
    }

    /// Takes back a commit that is pending.
    pub fn give_back(&mut self, commit: RoundCommit) {
        if let Stage::Commit(committed) = &mut self.stage {
            committed.commit = Some(commit);
            if mem::take(&mut committed.is_woken) {
                self.wake_round();
            }
        }
    }

    /// Wakes the tasks of the round that is being committed.
    pub fn wake_commit(&mut self) {
        if let Stage::Commit(committed) = &mut self.stage {
            committed.is_woken |= committed.commit.is_none();
            self.wake_round();
        }
    }

    fn wake_round(&mut self) {
        let committing = self.places.values_mut().filter(|place| matches!(place.state, PlaceState::Committing));
        self.woken.extend(committing.filter_map(|place| place.waker.take()));
    }

    /// Ends the commit of a round.
    pub fn end(&mut self, outcome: &Outcome) {
        let Stage::Commit(Committed { last, .. }) = self.stage else { return };
        self.wake_round();
        for (at, place) in &mut self.places {
            let PlaceState::Committing = place.state else { continue };
            place.state = match outcome {
                Outcome::Written(_) if *at != last => PlaceState::Answered(RoundAnswer::Written(None)),
                Outcome::Written(Ok(version)) => PlaceState::Answered(RoundAnswer::Written(Some(version.clone()))),
                Outcome::Written(Err(error)) | Outcome::Unknown(error) => {
                    PlaceState::Answered(RoundAnswer::Unknown(error.clone()))
                }
                Outcome::LostRace | Outcome::Refused => PlaceState::Waiting,
            };
            if matches!(outcome, Outcome::Refused) {
                place.shares = None;
            }
        }
        self.call_first();
    }

    /// Returns the wakers that the caller has to wake after it has unlocked the line.
    #[must_use]
    pub fn woken(&mut self) -> Vec<Waker> {
        mem::take(&mut self.woken)
    }

    /// Removes a place. The caller drops what this returns after it has unlocked the line: a commit that is dropped may run the
    /// code of others.
    #[must_use]
    pub fn leave(&mut self, at: u64, now: Duration) -> impl Sized + use<> {
        let (place, mut ended) = (self.places.remove(&at), None);
        match mem::take(&mut self.stage) {
            Stage::One(called) if called.place == at => self.call_first(),
            Stage::Round(called, round) if called.place == at => self.hand_on(round, at, now),
            // Nobody polls the commit any more.
            Stage::Commit(committed) if !self.has(|state| matches!(state, PlaceState::Committing)) => {
                ended = Some(committed);
                self.call_first();
            }
            other => self.stage = other,
        }
        (place, ended)
    }

    /// Checks whether no task is in the line.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Checks whether a round that begins at the place whose turn it is, or was the last, could reach this one.
    pub fn is_near(&self, at: u64) -> bool {
        let from = match &self.stage {
            Stage::Nobody => return true,
            Stage::One(called) | Stage::Round(called, _) => called.place,
            Stage::Commit(committed) => committed.last,
        };
        at.saturating_sub(from) <= MOST as u64
    }

    /// Returns the number of calls so far.
    pub const fn calls(&self) -> u64 {
        self.calls
    }

    /// Leaves out the place that was called, if that was the call of this number and its task has not come.
    pub fn leave_out(&mut self, call: u64, now: Duration) {
        let (Stage::One(called) | Stage::Round(called, _)) = &self.stage else { return };
        if called.has_come || self.calls != call {
            return;
        }
        let at = called.place;
        if let Some(place) = self.places.get_mut(&at) {
            place.state = PlaceState::LeftOut;
        }
        match mem::take(&mut self.stage) {
            Stage::Round(_, round) => self.hand_on(round, at, now),
            _ => self.call_first(),
        }
    }

    /// Passes the row of a round to the first task after a place, or commits it if there is none.
    fn hand_on(&mut self, round: Round, after: u64, now: Duration) {
        let is_open = round.tasks < MOST && now.saturating_sub(round.began) < LONGEST;
        match self.next_of(after, round.shares).filter(|_| is_open) {
            Some(next) => self.stage = Stage::Round(self.call(next), round),
            None => self.seal(round),
        }
    }

    /// Returns the first place that waits after this one, if it takes part in such a round.
    fn next_of(&self, after: u64, shares: Shares) -> Option<u64> {
        let is_waiting = |place: &Place| matches!(place.state, PlaceState::Waiting);
        let (next, place) = self.places.range(after + 1..).find(|(_, place)| is_waiting(place))?;
        (place.shares == Some(shares)).then_some(*next)
    }

    /// Lets the tasks of a round commit its row.
    fn seal(&mut self, round: Round) {
        if !self.has(|state| matches!(state, PlaceState::Changed)) {
            // They were all dropped.
            return self.call_first();
        }
        for place in self.places.values_mut().filter(|place| matches!(place.state, PlaceState::Changed)) {
            place.state = PlaceState::Committing;
            self.woken.extend(place.waker.take());
        }
        self.stage = Stage::Commit(Committed { last: round.last, commit: Some(round.commit), is_woken: false });
    }

    /// Gives the row to the first task that waits. One that was left out is the last choice.
    fn call_first(&mut self) {
        let first = |waits: fn(&PlaceState) -> bool| self.places.iter().find(|(_, place)| waits(&place.state));
        let first = first(|state| matches!(state, PlaceState::Waiting))
            .or_else(|| first(|state| matches!(state, PlaceState::LeftOut)))
            .map(|(at, _)| *at);
        self.stage = first.map_or(Stage::Nobody, |at| Stage::One(self.call(at)));
    }

    fn call(&mut self, at: u64) -> Called {
        self.calls += 1;
        self.woken.extend(self.places.get_mut(&at).and_then(|place| place.waker.take()));
        Called { place: at, has_come: false }
    }

    fn has(&self, is: impl Fn(&PlaceState) -> bool) -> bool {
        self.places.values().any(|place| is(&place.state))
    }
}

impl Place {
    /// Notes the waker of the task. Returns the one before, if it is that of another task.
    fn wait(&mut self, waker: &Waker) -> Option<Waker> {
        self.waker.replace(waker.clone()).filter(|old| !old.will_wake(waker))
    }
}
