//! Tasks that a random program polls in any order, and the answers to their requests: late, refused or lost.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use anyhow::{Result, ensure};
use table_runtime::{
    backend::Backend,
    testing::{Fault, Faults, Faulty, Request, Schedule, Scheduled},
};

use crate::{plain::Plain, random::Random};

/// Notes that a task was woken.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A task of a random program.
pub struct RandomTask<T> {
    running: Option<Pin<Box<dyn Future<Output = T>>>>,
    woken: Arc<Woken>,
    /// How seldom it is polled: it may be woken and not be polled for so many steps, on average.
    slowness: usize,
    /// `None` while it runs, and after it was dropped or has panicked.
    pub result: Option<T>,
    /// True after a panic.
    pub panicked: bool,
}

impl<T> RandomTask<T> {
    /// Returns a task that is polled often or seldom.
    pub fn new(random: &mut Random, running: impl Future<Output = T> + 'static) -> Self {
        Self {
            running: Some(Box::pin(running)),
            woken: Arc::new(Woken(AtomicBool::new(true))),
            slowness: *random.pick(&[1, 1, 1, 4, 50]),
            result: None,
            panicked: false,
        }
    }

    /// Returns true until the task has ended.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Drops the task.
    pub fn stop(&mut self) {
        self.running = None;
    }

    fn poll(&mut self) {
        let Some(running) = &mut self.running else { return };
        self.woken.0.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(&self.woken));
        let polled = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(&mut Context::from_waker(&waker))));
        match polled {
            Ok(Poll::Pending) => return,
            Ok(Poll::Ready(result)) => self.result = Some(result),
            Err(_) => self.panicked = true,
        }
        self.running = None;
    }
}

/// The requests of the tasks of a random program, on a plain store.
pub struct Answers {
    /// The requests that wait.
    pub schedule: Schedule,
    faults: Faults,
    plain: Plain,
    /// The chance, in percent, that a request is lost, and that a fault begins.
    pub faulty: usize,
}

impl Answers {
    /// Returns the requests to a backend over a plain store, and the backend whose requests wait.
    pub fn new(plain: &Plain, backend: impl Backend) -> (Self, Arc<dyn Backend>) {
        let (failing, faults) = Faulty::new(backend);
        let (waiting, schedule) = Scheduled::new(failing);
        (Self { schedule, faults, plain: plain.clone(), faulty: 0 }, Arc::new(waiting))
    }

    /// Polls a task that was woken, or answers a request.
    ///
    /// # Errors
    /// No task can go on.
    pub async fn step<'t, T: 't>(
        &mut self,
        tasks: impl Iterator<Item = &'t mut RandomTask<T>>,
        random: &mut Random,
    ) -> Result<()> {
        let is_woken = |task: &&mut RandomTask<T>| task.is_running() && task.woken.0.load(Ordering::Relaxed);
        let mut woken: Vec<_> = tasks.filter(is_woken).collect();
        if woken.is_empty() || !self.schedule.waiting().is_empty() && !random.chance(60) {
            return self.answer(random).await;
        }
        let at = random.below(woken.len());
        if random.below(woken[at].slowness) == 0 {
            woken[at].poll();
        }
        Ok(())
    }

    /// Answers a request, lets time pass, or loses a request.
    async fn answer(&mut self, random: &mut Random) -> Result<()> {
        let waiting = self.schedule.waiting();
        ensure!(!waiting.is_empty(), "no task was woken, and none waits for an answer");
        // Each task that waits may also wait for time to pass, so these are many.
        let is_request = |at: &usize| !matches!(*waiting[*at].request, Request::Sleep(_));
        let requests: Vec<_> = (0..waiting.len()).filter(is_request).collect();
        let at = if requests.is_empty() || random.chance(10) {
            random.below(waiting.len())
        } else {
            *random.pick(&requests)
        };
        if random.chance(self.faulty) {
            self.schedule.lose(at);
            return Ok(());
        }
        if random.chance(self.faulty) {
            self.faults.arm(*random.pick(&[Fault::Refused, Fault::AnswerLost, Fault::RequestLost]), random.below(3));
        }
        self.grant(at, random).await;
        Ok(())
    }

    /// Answers a request. One whose task is gone may arrive late.
    async fn grant(&self, at: usize, random: &mut Random) {
        if let Some(late) = self.schedule.grant(at)
            && random.chance(50)
        {
            late.send(&self.plain, &()).await;
        }
    }

    /// Answers what is left of tasks that have ended.
    pub async fn end(&self, random: &mut Random) {
        while !self.schedule.waiting().is_empty() {
            self.grant(0, random).await;
        }
    }
}
