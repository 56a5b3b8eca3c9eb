//! Blocking calls of threads: waiting for each other, for time, or for a future.
//!
//! In production these are the plain calls of the standard library, parking_lot and tokio. A simulation runs one thread
//! at a time, in virtual time, and a waiting thread gives up its turn ([`Turns`]). So everything that may block for
//! longer than a lock is held must use this module.

use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

#[cfg(not(feature = "shuttle"))]
use parking_lot::{Condvar, MutexGuard};
use tokio::runtime::{EnterGuard, Handle};
use tokio::sync::Semaphore;
use tokio::task::JoinError;

use seine_simulation_hooks::outside::replacement;

/// The scheduler of simulated threads; one runs at a time.
pub trait Turns: Send + Sync {
    /// Starts a thread that is scheduled until it ends.
    fn thread(&self, name: &str, run: Box<dyn FnOnce() + Send>);
    /// Suspends the thread until `rang` differs from `seen`, or until `deadline`.
    fn wait(&self, rang: &Arc<AtomicU64>, seen: u64, deadline: Option<Instant>);
    /// Counts events in the simulated world. Polling is useless while this stays the same.
    fn events(&self) -> u64;
}

fn turns() -> Option<Arc<dyn Turns>> {
    replacement::<Arc<dyn Turns>>()
}

#[cfg(feature = "shuttle")]
pub use crate::shuttled::Signal;

/// A condition variable: wakes threads that wait while holding a lock's guard.
#[cfg(not(feature = "shuttle"))]
#[derive(Debug, Default)]
pub struct Signal {
    condvar: Condvar,
    rang: Arc<AtomicU64>,
}

#[cfg(not(feature = "shuttle"))]
impl Signal {
    pub fn notify_all(&self) {
        self.rang.fetch_add(1, Ordering::Relaxed);
        self.condvar.notify_all();
    }

    /// Unlocks, waits, and locks again. Returns true if the deadline passed first.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, deadline: Instant) -> bool {
        let Some(turns) = turns() else { return self.condvar.wait_until(guard, deadline).timed_out() };
        let seen = self.rang.load(Ordering::Relaxed);
        MutexGuard::unlocked(guard, || turns.wait(&self.rang, seen, Some(deadline)));
        self.rang.load(Ordering::Relaxed) == seen
    }

    /// Like [`wait_until`](Signal::wait_until), with a duration.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, time: Duration) -> bool {
        self.wait_until(guard, Instant::now() + time)
    }
}

/// Another thread may run here, in tests that shuttle runs: it knows locks and signals, and nothing of tokio's channels.
#[inline(always)]
pub fn may_switch() {
    #[cfg(feature = "shuttle")]
    shuttle::thread::yield_now();
}

/// Waits for a time.
pub fn sleep(time: Duration) {
    match turns() {
        None => std::thread::sleep(time),
        Some(turns) => turns.wait(&Arc::default(), 0, Some(Instant::now() + time)),
    }
}

/// Starts a detached thread.
///
/// # Panics
/// If the system cannot start more threads.
pub fn thread(name: &str, run: impl FnOnce() + Send + 'static) {
    match turns() {
        None => _ = std::thread::Builder::new().name(name.to_owned()).spawn(run).expect("the system starts threads"),
        Some(turns) => turns.thread(name, Box::new(run)),
    }
}

/// Runs a future to completion on this thread.
pub fn block_on<F: Future>(handle: &Handle, future: F) -> F::Output {
    let Some(turns) = turns() else { return handle.block_on(future) };
    let mut future = pin!(future);
    let bell = Arc::new(Bell(Arc::default()));
    let waker = Waker::from(bell.clone());
    loop {
        let seen = bell.0.load(Ordering::Relaxed);
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        turns.wait(&bell.0, seen, None);
    }
}

struct Bell(Arc<AtomicU64>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs blocking or long work within a task, without delaying other tasks.
pub fn block_in_place<T>(run: impl FnOnce() -> T) -> T {
    match turns() {
        None => tokio::task::block_in_place(run),
        Some(_) => run(),
    }
}

/// So many at a time may run [run_blocking], so that others find a thread.
///
/// [run_blocking]: run_blocking()
static ASIDE: Semaphore = Semaphore::const_new(256);

/// Runs what may wait for a disk on a thread that no task needs. Runs to its end, even if nobody waits for it any more.
pub async fn run_blocking<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    if turns().is_some() {
        return run();
    }
    let _place = ASIDE.acquire().await; // never closed
    match tokio::task::spawn_blocking(run).await.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => std::future::pending().await, // the runtime ends, and this task with it
    }
}

/// Runs blocking or long work on another thread, detached.
pub fn run_detached(run: impl FnOnce() + Send + 'static) {
    match turns() {
        None => drop(tokio::task::spawn_blocking(run)),
        Some(_) => run(),
    }
}

/// The interval for waking without a signal. In a simulation the interval grows while nothing happens.
#[derive(Debug)]
pub struct Idle {
    base: Duration,
    time: Duration,
    events: u64,
    is_woken: bool,
}

/// In a simulation the first interval is this many times longer, and each further one again …
const GROWTH: u32 = 16;
/// … and its longest value.
const LONGEST_IDLE: Duration = Duration::from_secs(600);
/// In a simulation, parts may be silent for this many times longer.
const PATIENCE: u32 = 30;

impl Idle {
    /// For a part that polls a state for which there is no notification.
    pub fn new(base: Duration) -> Idle {
        Idle { base, time: base, events: 0, is_woken: false }
    }

    /// For a part that is notified of all its work. It wakes without a notification only to report that it is alive. A simulation takes the longest
    /// wait: a wake-up that is missing costs minutes there, and the oracle sees it.
    pub fn woken(base: Duration) -> Idle {
        Idle { is_woken: true, ..Idle::new(base) }
    }

    pub fn time(&mut self) -> Duration {
        let Some(turns) = turns() else { return self.base };
        if self.is_woken {
            return LONGEST_IDLE;
        }
        let events = turns.events();
        let last = if events == self.events { self.time } else { self.base };
        self.time = (last * GROWTH).min(LONGEST_IDLE);
        self.events = events;
        self.time
    }
}

/// The time without a sign of life after which a part counts as stuck.
pub fn stuck_after(time: Duration) -> Duration {
    if turns().is_some() { time * PATIENCE } else { time }
}

/// The runtime of a crawl's tasks.
pub enum Runtime {
    Own(tokio::runtime::Runtime),
    /// That of a simulation.
    Simulated(Handle),
}

impl Runtime {
    pub fn new() -> std::io::Result<Runtime> {
        match replacement::<Handle>() {
            Some(handle) => Ok(Runtime::Simulated(handle)),
            None => Ok(Runtime::Own(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)),
        }
    }

    pub fn handle(&self) -> &Handle {
        match self {
            Runtime::Own(runtime) => runtime.handle(),
            Runtime::Simulated(handle) => handle,
        }
    }

    /// Enters it; none: all threads of a simulation are in its runtime.
    pub fn enter(&self) -> Option<EnterGuard<'_>> {
        match self {
            Runtime::Own(runtime) => Some(runtime.enter()),
            Runtime::Simulated(_) => None,
        }
    }

    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match self {
            Runtime::Own(runtime) => runtime.block_on(future),
            Runtime::Simulated(handle) => block_on(handle, future),
        }
    }

    /// Stops without waiting for tasks.
    pub fn shutdown_background(self) {
        if let Runtime::Own(runtime) = self {
            runtime.shutdown_background();
        }
    }
}
