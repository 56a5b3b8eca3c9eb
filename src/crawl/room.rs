//! Room on the disk. What can wait for it waits; here it is looked at, said once, and acted upon when it is back.
//!
//! Fetching pauses while the log's disk has less free than its reserve (`page_log.disk_reserve`), and while the frontier
//! is not well. What goes on meanwhile (delivering, validating) makes room by itself, as a rule. The reserve keeps the
//! frontier's store from ever meeting a full disk; if it does all the same, it is closed and opened again from here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::blocking;
use crate::frontier::{Frontier, Standing};
use crate::page_log::PageLog;
use crate::supervisor::Supervisor;

const LOOK: Duration = Duration::from_secs(1);
/// An opening that fails although there is room is tried again after so long, then after twice that, and so on.
const FIRST_BACK_OFF: Duration = Duration::from_secs(1);
const LAST_BACK_OFF: Duration = Duration::from_secs(30);

pub(crate) struct Room {
    frontier: Arc<dyn Frontier>,
    log: PageLog,
    supervisor: Supervisor,
    state: Mutex<State>,
    /// The frontier is being looked after.
    busy: AtomicBool,
}

#[derive(Default)]
struct State {
    last_look: Option<Instant>,
    /// What is said of it at present.
    said: Option<String>,
    back_off: Duration,
    not_before: Option<Instant>,
}

impl Room {
    pub fn new(frontier: Arc<dyn Frontier>, log: PageLog, supervisor: Supervisor) -> Room {
        Room { frontier, log, supervisor, state: Mutex::default(), busy: AtomicBool::new(false) }
    }

    /// What waits for room on a disk, and why; none when there is enough.
    pub fn lacks(&self) -> Option<String> {
        self.lack(self.is_said_to_lack())
    }

    /// Once it waits, it waits for a little more than the reserve: not for what goes with the next page.
    fn lack(&self, waits: bool) -> Option<String> {
        if let Standing::Away(why) | Standing::NoRoom(why) = self.frontier.standing() {
            return Some(why);
        }
        let log = self.log.status();
        let reserve = log.reserve_bytes;
        let enough = if waits { reserve.saturating_add(reserve / 8) } else { reserve };
        let free = log.free_bytes.filter(|free| *free < enough)?;
        Some(format!(
            "page log: only {} MiB are free on its disk, less than page_log.disk_reserve; free some space, \
             fetching waits for it and goes on by itself",
            free >> 20
        ))
    }

    /// Whether something waits for room, as far as it was said.
    pub fn is_said_to_lack(&self) -> bool {
        self.state.lock().said.is_some()
    }

    /// Says what there is to say, and once a second looks after the frontier. Never blocks.
    pub fn look(self: &Arc<Self>) {
        let now = Instant::now();
        {
            let mut state = self.state.lock();
            let lack = self.lack(state.said.is_some());
            self.say(&mut state, lack);
            if state.last_look.is_some_and(|last| now.duration_since(last) < LOOK) {
                return;
            }
            state.last_look = Some(now);
            if state.not_before.is_some_and(|at| now < at) {
                return;
            }
        }
        if !self.busy.swap(true, Ordering::Relaxed) {
            let at = self.clone();
            blocking::beside(move || {
                at.look_after_frontier();
                at.busy.store(false, Ordering::Relaxed);
            });
        }
    }

    fn look_after_frontier(&self) {
        let was_away = matches!(self.frontier.standing(), Standing::Away(_));
        let result = self.frontier.restore();
        let mut state = self.state.lock();
        match result {
            Ok(()) => {
                (state.back_off, state.not_before) = (Duration::ZERO, None);
                let lack = self.lack(state.said.is_some());
                self.say(&mut state, lack);
                if was_away {
                    self.supervisor.wake();
                }
            }
            // A look costs nothing, an opening does.
            Err(error) if was_away && self.log.status().has_free_bytes() => {
                state.back_off = (state.back_off * 2).clamp(FIRST_BACK_OFF, LAST_BACK_OFF);
                state.not_before = Some(Instant::now() + state.back_off);
                tracing::debug!(%error, "the frontier is not back yet");
            }
            Err(error) => tracing::debug!(%error, "the frontier waits"),
        }
    }

    /// Says it when something begins to wait, and when nothing does any more: not at every look.
    fn say(&self, state: &mut State, lack: Option<String>) {
        match (&state.said, &lack) {
            (None, Some(why)) => tracing::warn!(state = "disk_full", why, "no room on the disk: fetching pauses"),
            (Some(_), None) => {
                tracing::info!(state = "disk_room", "there is room on the disk again: fetching goes on");
                self.supervisor.wake();
            }
            _ => {}
        }
        state.said = lack;
    }
}
