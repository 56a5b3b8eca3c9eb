//! The shutdown of a run: one value that all parts watch. It only moves forward. Tasks await it, threads block on it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use seine_system::blocking::Signal;
use tokio::sync::watch;

/// Cheap to clone; all clones share their state.
#[derive(Clone, Default)]
pub struct Shutdown(Arc<Shared>);

#[derive(Default)]
struct Shared {
    phase: watch::Sender<Phase>,
    /// Locked while the phase changes, for threads that wait.
    moving: Mutex<()>,
    rang: Signal,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    #[default]
    Running,
    Finishing,
    Hurrying,
}

impl Shutdown {
    /// Starts no new fetches. Accepted events are still delivered.
    pub fn finish(&self) {
        self.advance(Phase::Finishing);
    }

    /// All parts finish their present step and end, whatever is pending. A part that fails is not restarted.
    pub fn hurry(&self) {
        self.advance(Phase::Hurrying);
    }

    pub(crate) fn is_finishing(&self) -> bool {
        *self.0.phase.borrow() >= Phase::Finishing
    }

    pub(crate) fn is_hurrying(&self) -> bool {
        *self.0.phase.borrow() >= Phase::Hurrying
    }

    /// Waits until the phase is finishing or hurrying.
    pub(crate) async fn finishing(&self) {
        self.reached(Phase::Finishing).await;
    }

    /// Waits until the phase is hurrying.
    pub(crate) async fn hurrying(&self) {
        self.reached(Phase::Hurrying).await;
    }

    /// Blocks for `time`, until the phase is hurrying, or until [`Shutdown::wake`].
    pub fn rest(&self, time: Duration) {
        let mut moving = self.0.moving.lock();
        if !self.is_hurrying() {
            self.0.rang.wait_for(&mut moving, time);
        }
    }

    /// Ends all [rests](Shutdown::rest), because what they wait for may have happened.
    pub fn wake(&self) {
        self.0.rang.notify_all();
    }

    fn advance(&self, to: Phase) {
        let _moving = self.0.moving.lock();
        self.0.phase.send_if_modified(|phase| {
            let goes_on = to > *phase;
            *phase = to.max(*phase);
            goes_on
        });
        self.wake();
    }

    async fn reached(&self, phase: Phase) {
        // The sender lives as long as `self`.
        let _ = self.0.phase.subscribe().wait_for(|now| *now >= phase).await;
    }
}
