//! A backend that counts its requests and can lose the answers of writes.

use table_runtime::{
    backend::Backend,
    testing::{Counting, Fault, Faults, Faulty, Requests},
};

/// A backend that counts its requests and loses writes.
pub type Probed<B> = Faulty<Counting<B>>;

/// The handle of a [`Probed`] backend.
#[derive(Clone, Debug)]
pub struct Probe {
    requests: Requests,
    faults: Faults,
}

impl Probe {
    /// Returns a probed backend before `inner`, with its handle.
    pub fn new<B: Backend>(inner: B) -> (Probed<B>, Self) {
        let (backend, requests) = Counting::new(inner);
        let (backend, faults) = Faulty::new(backend);
        (backend, Self { requests, faults })
    }

    /// Returns the number of requests since the last call.
    pub fn requests(&self) -> usize {
        self.requests.take().total()
    }

    /// Applies the next write and loses its answer.
    pub fn apply_and_lose(&self) {
        self.faults.arm_write(Fault::AnswerLost, 0);
    }

    /// Loses the next write on its way.
    pub fn lose(&self) {
        self.faults.arm_write(Fault::RequestLost, 0);
    }
}
