//! [`Signal`] for tests that shuttle runs, with one order of all threads after the other.

use std::time::{Duration, Instant};

use locks::MutexGuard;
use shuttle::sync::{Condvar, Mutex};

/// As the one of production, with one difference: a wait whose deadline is in the future lasts until the notification.
/// So a notification that is missing ends as a deadlock, and shuttle reports it, instead of a delay that nobody sees.
#[derive(Debug, Default)]
pub struct Signal {
    rang: Mutex<u64>,
    condvar: Condvar,
}

impl Signal {
    pub fn notify_all(&self) {
        *self.rang() += 1;
        self.condvar.notify_all();
    }

    /// Unlocks, waits, and locks again. Returns true if the deadline had passed before.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, deadline: Instant) -> bool {
        if deadline <= Instant::now() {
            return true;
        }
        let mut rang = self.rang();
        let seen = *rang;
        MutexGuard::unlocked(guard, || {
            while *rang == seen {
                rang = self.condvar.wait(rang).unwrap_or_else(|poisoned| poisoned.into_inner());
            }
            drop(rang);
        });
        false
    }

    /// Like [`wait_until`](Signal::wait_until), with a duration.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, time: Duration) -> bool {
        self.wait_until(guard, Instant::now() + time)
    }

    fn rang(&self) -> shuttle::sync::MutexGuard<'_, u64> {
        self.rang.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
