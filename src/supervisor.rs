//! The supervisor: every long-running part is a thread it starts, watches and starts again. Only it retries.
//!
//! A part is a closure that runs until its work is over (`Ok`) or something failed (`Err`, or a panic). After a failure
//! it is called again, after a back-off that doubles and is forgotten once the part made progress: got something done that
//! whoever it works for has acknowledged. Every change of its state is told. Health is *progress*,
//! not being alive: a part that neither progresses nor says that it is idle is stuck, and shown so.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::blocking;
use crate::shutdown::Shutdown;

/// Starts and watches parts. Cheap to clone.
#[derive(Clone, Default)]
pub struct Supervisor(Arc<Shared>);

#[derive(Default)]
struct Shared {
    parts: Mutex<Vec<Arc<Part>>>,
    /// How many parts' threads have not ended.
    running: watch::Sender<usize>,
    /// Hurrying, a part that fails is not started again.
    shutdown: Shutdown,
}

/// One part, as others see it.
struct Part {
    name: String,
    stuck_after: Duration,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    restarts: u64,
    /// It was told that it is stuck.
    is_told_stuck: bool,
    last_sign: Instant,
    last_error: Option<String>,
    /// It failed, and has neither got anything done nor found nothing to do since.
    is_down: bool,
    /// Since when it has failed, and how often, without progress in between.
    failing: Option<(Instant, u32)>,
}

/// Where a part is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Running,
    /// Failed, to be started again soon.
    BackingOff,
    /// Its work is over.
    Finished,
}

/// A part's state, for people, programs and metrics.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PartStatus {
    pub name: String,
    pub phase: Phase,
    /// Running, but without a sign for longer than it should be.
    pub is_stuck: bool,
    #[serde(skip)]
    pub since_last_sign: Duration,
    pub restarts: u64,
    /// What it failed of, until something got done again.
    pub last_error: Option<String>,
    /// It failed, and has not shown since that it works. Stays true while the part is started again and again.
    #[serde(default)]
    pub is_down: bool,
}

/// A part's way of saying that it lives.
#[derive(Clone)]
pub struct Beat(Arc<Part>);

impl Beat {
    /// Something got done, and is acknowledged: what was only taken, or passed over, is none.
    pub fn progress(&self) {
        let failing = {
            let mut state = self.0.state.lock();
            state.last_sign = Instant::now();
            state.last_error = None;
            state.is_down = false;
            state.failing.take()
        };
        if let Some((since, failures)) = failing {
            tracing::info!(
                state = "well",
                part = self.0.name,
                failures,
                seconds = since.elapsed().as_secs(),
                "well again"
            );
        }
    }

    /// There is nothing to do, or nothing that counts, and that is fine.
    pub fn idle(&self) {
        let mut state = self.0.state.lock();
        state.last_sign = Instant::now();
        state.is_down = false;
    }
}

const FIRST_BACK_OFF: Duration = Duration::from_millis(100);
const LAST_BACK_OFF: Duration = Duration::from_secs(30);

impl Supervisor {
    pub fn new(shutdown: Shutdown) -> Supervisor {
        Supervisor(Arc::new(Shared { shutdown, ..Shared::default() }))
    }

    /// Starts a part in a thread of its own. `run` is called again after every failure, and must find its own way back
    /// to where it was.
    pub fn start<F>(&self, name: &str, stuck_after: Duration, mut run: F)
    where
        F: FnMut(&Beat) -> anyhow::Result<()> + Send + 'static,
    {
        let state = State {
            phase: Phase::Running,
            restarts: 0,
            is_told_stuck: false,
            last_sign: Instant::now(),
            last_error: None,
            is_down: false,
            failing: None,
        };
        let part = Arc::new(Part { name: name.to_owned(), stuck_after, state: Mutex::new(state) });
        tracing::info!(state = "started", part = part.name, "started");
        self.0.parts.lock().push(part.clone());
        self.0.running.send_modify(|running| *running += 1);
        let shared = self.0.clone();
        blocking::thread(name, move || {
            supervise(&shared, &part, &mut run);
            drop(run); // what it holds (files, locks) is given up before the part counts as ended
            shared.running.send_modify(|running| *running -= 1);
        });
    }

    /// Every part's state, in the order they were started.
    pub fn status(&self) -> Vec<PartStatus> {
        self.0.parts.lock().iter().map(|part| part.status()).collect()
    }

    /// Says which parts are stuck since it was asked last, and which are not any more. To be called now and then.
    pub fn tell_stuck(&self) {
        for part in self.0.parts.lock().iter() {
            let status = part.status();
            let was = std::mem::replace(&mut part.state.lock().is_told_stuck, status.is_stuck);
            let seconds = status.since_last_sign.as_secs();
            match (was, status.is_stuck) {
                (false, true) => {
                    tracing::error!(state = "stuck", part = part.name, seconds, "stuck: runs, and makes no progress")
                }
                (true, false) => tracing::info!(state = "not_stuck", part = part.name, "not stuck any more"),
                _ => {}
            }
        }
    }

    /// What parts failed for may be over: those that wait to be started again are started now.
    pub fn wake(&self) {
        self.0.shutdown.wake();
    }

    /// Waits until every part has ended.
    pub async fn all_ended(&self) {
        // The sender lives as long as `self`.
        let _ = self.0.running.subscribe().wait_for(|running| *running == 0).await;
    }

    /// Waits until this part has ended.
    pub async fn ended(&self, name: &str) {
        let runs = |part: &PartStatus| part.name == name && part.phase != Phase::Finished;
        let _ = self.0.running.subscribe().wait_for(|_| !self.status().iter().any(runs)).await;
    }
}

fn supervise(shared: &Shared, part: &Arc<Part>, run: &mut dyn FnMut(&Beat) -> anyhow::Result<()>) {
    loop {
        let beat = Beat(part.clone());
        part.state.lock().last_sign = Instant::now();
        let error = match catch_unwind(AssertUnwindSafe(|| run(&beat))) {
            Ok(Ok(())) => {
                part.state.lock().phase = Phase::Finished;
                tracing::debug!(part = part.name, "ended");
                return;
            }
            Ok(Err(error)) => format!("{error:#}"),
            Err(panic) => format!("panic: {}", panic_message(&*panic)),
        };
        let is_ending = shared.shutdown.is_hurrying();
        let failures = {
            let mut state = part.state.lock();
            state.last_error = Some(error.clone());
            state.is_down = true;
            state.phase = if is_ending { Phase::Finished } else { Phase::BackingOff };
            let (_, failures) = state.failing.get_or_insert((Instant::now(), 0));
            *failures += 1;
            *failures
        };
        if is_ending {
            tracing::error!(part = part.name, %error, "failed while ending");
            return;
        }
        let back_off = FIRST_BACK_OFF.saturating_mul(2u32.saturating_pow(failures - 1)).min(LAST_BACK_OFF);
        let again_in_ms = back_off.as_millis() as u64;
        tracing::error!(part = part.name, error, again_in_ms, "failed, will be started again");
        shared.shutdown.rest(back_off);
        if shared.shutdown.is_hurrying() {
            part.state.lock().phase = Phase::Finished;
            return;
        }
        let mut state = part.state.lock();
        state.restarts += 1;
        state.phase = Phase::Running;
    }
}

/// What a panic says of itself.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("of unknown cause")
}

impl Part {
    fn status(&self) -> PartStatus {
        let state = self.state.lock();
        let since_last_sign = state.last_sign.elapsed();
        PartStatus {
            name: self.name.clone(),
            phase: state.phase,
            is_stuck: state.phase == Phase::Running && since_last_sign > self.stuck_after,
            since_last_sign,
            restarts: state.restarts,
            last_error: state.last_error.clone(),
            is_down: state.is_down,
        }
    }
}
