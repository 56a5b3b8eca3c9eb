//! The supervisor: starts every long-running part in a thread, watches it and restarts it. Nothing else retries.
//!
//! A part is a closure that runs until its work is finished (`Ok`) or something failed (`Err`, or a panic). After a
//! failure it is called again after a back-off. The back-off doubles, and is reset when the part makes progress, which
//! means acknowledged work. Every change of state is logged. Health means *progress*, not being alive: a part that
//! neither makes progress nor reports that it is idle is stuck.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use seine_system::blocking;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::shutdown::Shutdown;

/// Starts and watches parts. Cheap to clone.
#[derive(Clone, Default)]
pub struct Supervisor(Arc<Shared>);

#[derive(Default)]
struct Shared {
    parts: Mutex<Vec<Arc<Part>>>,
    /// Number of parts whose threads have not ended.
    running: watch::Sender<usize>,
    /// While it is hurrying, a part that fails is not restarted.
    shutdown: Shutdown,
}

/// The shared state of one part.
struct Part {
    name: String,
    stuck_after: Duration,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    restarts: u64,
    /// It was reported as stuck.
    is_reported_stuck: bool,
    last_sign: Instant,
    last_error: Option<String>,
    /// It failed, and has neither made progress nor been idle since.
    is_down: bool,
    /// Since when it has failed, and how often, without progress.
    failing: Option<(Instant, u32)>,
}

/// The phase of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Running,
    /// It failed, and will be restarted soon.
    BackingOff,
    /// Its work is finished.
    Finished,
}

/// A part's state, for users, programs and metrics.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PartStatus {
    pub name: String,
    pub phase: Phase,
    /// It is running, but gave no sign for too long.
    pub is_stuck: bool,
    #[serde(skip)]
    pub since_last_sign: Duration,
    pub restarts: u64,
    /// Its last error, until it makes progress.
    pub last_error: Option<String>,
    /// It failed, and has not shown since that it works. This stays true through restarts.
    #[serde(default)]
    pub is_down: bool,
}

/// Used by a part to report progress, or that it has nothing to do.
#[derive(Clone)]
pub struct Beat(Arc<Part>);

impl Beat {
    /// Work was done and acknowledged. Reading or skipping something does not count.
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

    /// The part has nothing to do.
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
    /// to its position.
    pub fn start<F>(&self, name: &str, stuck_after: Duration, mut run: F)
    where
        F: FnMut(&Beat) -> anyhow::Result<()> + Send + 'static,
    {
        let state = State {
            phase: Phase::Running,
            restarts: 0,
            is_reported_stuck: false,
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

    /// The state of all parts, in the order of their start.
    pub fn status(&self) -> Vec<PartStatus> {
        self.0.parts.lock().iter().map(|part| part.status()).collect()
    }

    /// Whether a part failed, and has not shown since that it works.
    pub fn is_down(&self, name: &str) -> bool {
        self.0.parts.lock().iter().any(|part| part.name == name && part.state.lock().is_down)
    }

    /// Logs which parts became stuck since the last call, and which recovered. Call it now and then.
    pub fn log_stuck(&self) {
        for part in self.0.parts.lock().iter() {
            let status = part.status();
            let was = std::mem::replace(&mut part.state.lock().is_reported_stuck, status.is_stuck);
            let seconds = status.since_last_sign.as_secs();
            match (was, status.is_stuck) {
                (false, true) => {
                    tracing::error!(
                        state = "stuck",
                        part = part.name,
                        seconds,
                        "stuck: it runs, and makes no \
                        progress"
                    )
                }
                (true, false) => tracing::info!(state = "not_stuck", part = part.name, "not stuck any more"),
                _ => {}
            }
        }
    }

    /// The cause of failures may be over, so parts in back-off are restarted now.
    pub fn wake(&self) {
        self.0.shutdown.wake();
    }

    /// Waits until all parts have ended.
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
        tracing::error!(part = part.name, error, again_in_ms, "failed; it will be restarted");
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

/// The message of a panic.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown cause")
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
