//! Free space on disk. Watches it, reports a lack once, and continues when there is space again.
//!
//! Fetching pauses while the disk of the log has less free space than the reserve (`page_log.disk_reserve`), or while
//! the frontier's store has failed. Delivery and validation continue and usually free space. The reserve keeps the
//! store from meeting a full disk. If that happens anyway, this module closes the store and opens it again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use seine_frontier::{DiskState, EmbeddedFrontier};
use seine_page_log::PageLog;
use seine_system::blocking;

use crate::supervisor::Supervisor;

const CHECK_EVERY: Duration = Duration::from_secs(1);
/// Back-off if the store cannot be opened although there is space. It doubles each time.
const FIRST_BACK_OFF: Duration = Duration::from_secs(1);
const LAST_BACK_OFF: Duration = Duration::from_secs(30);

pub(crate) struct DiskSpace {
    frontier: Arc<EmbeddedFrontier>,
    log: PageLog,
    supervisor: Supervisor,
    state: Mutex<State>,
    /// The store is being opened.
    busy: AtomicBool,
}

#[derive(Default)]
struct State {
    last_check: Option<Instant>,
    /// What was last reported.
    reported: Option<String>,
    back_off: Duration,
    not_before: Option<Instant>,
}

impl DiskSpace {
    pub(super) fn new(frontier: Arc<EmbeddedFrontier>, log: PageLog, supervisor: Supervisor) -> DiskSpace {
        DiskSpace { frontier, log, supervisor, state: Mutex::default(), busy: AtomicBool::new(false) }
    }

    /// The parts that wait for free space, and why; none if there is enough.
    pub(super) fn lacks(&self) -> Option<String> {
        self.lack(self.is_reported_short())
    }

    /// Fetching resumes only with a little more than the reserve, so that the next page does not pause it again.
    fn lack(&self, waits: bool) -> Option<String> {
        if let DiskState::Failed(why) | DiskState::Full(why) = self.frontier.disk_state() {
            return Some(why);
        }
        let log = self.log.status();
        let reserve = log.reserve_bytes;
        let enough = if waits { reserve.saturating_add(reserve / 8) } else { reserve };
        let free = log.free_bytes.filter(|free| *free < enough)?;
        Some(format!(
            "page log: only {} MiB are free on its disk, less than page_log.disk_reserve; free some space; fetching \
            waits, and continues by itself",
            free >> 20
        ))
    }

    /// Whether the last report said that space is missing.
    pub(super) fn is_reported_short(&self) -> bool {
        self.state.lock().reported.is_some()
    }

    /// Reports changes, and checks the store once a second. Never blocks.
    pub(super) fn check(self: &Arc<Self>) {
        let now = Instant::now();
        {
            let mut state = self.state.lock();
            let lack = self.lack(state.reported.is_some());
            self.say(&mut state, lack);
            if state.last_check.is_some_and(|last| now.duration_since(last) < CHECK_EVERY) {
                return;
            }
            state.last_check = Some(now);
            if state.not_before.is_some_and(|at| now < at) {
                return;
            }
        }
        if !self.busy.swap(true, Ordering::Relaxed) {
            let at = self.clone();
            blocking::run_detached(move || {
                at.check_frontier();
                at.busy.store(false, Ordering::Relaxed);
            });
        }
    }

    fn check_frontier(&self) {
        self.log.measure_free_space(); // the writer may have failed
        let was_away = matches!(self.frontier.disk_state(), DiskState::Failed(_));
        let result = self.frontier.restore();
        let mut state = self.state.lock();
        match result {
            Ok(()) => {
                (state.back_off, state.not_before) = (Duration::ZERO, None);
                let lack = self.lack(state.reported.is_some());
                self.say(&mut state, lack);
                if was_away {
                    self.supervisor.wake();
                }
            }
            // Checking is cheap, but opening the store is not.
            Err(error) if was_away && self.log.status().has_free_bytes() => {
                state.back_off = (state.back_off * 2).clamp(FIRST_BACK_OFF, LAST_BACK_OFF);
                state.not_before = Some(Instant::now() + state.back_off);
                tracing::debug!(%error, "the frontier's store is still closed");
            }
            Err(error) => tracing::debug!(%error, "the frontier waits"),
        }
    }

    /// Reports only changes: when waiting begins and when it ends.
    fn say(&self, state: &mut State, lack: Option<String>) {
        match (&state.reported, &lack) {
            (None, Some(why)) => tracing::warn!(state = "disk_full", why, "the disk is full: fetching pauses"),
            (Some(_), None) => {
                tracing::info!(state = "disk_room", "the disk has room again: fetching continues");
                self.supervisor.wake();
            }
            _ => {}
        }
        state.reported = lack;
    }
}
