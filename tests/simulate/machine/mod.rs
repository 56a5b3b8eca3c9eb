//! A simulated machine for one process: virtual time, repeatable random numbers, and threads and tasks of which one runs at a time.

pub mod memory;
pub mod system;
pub mod turns;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use seine_simulation_hooks::outside::{self, Outside};
use seine_system::blocking::Turns;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::{Instant, sleep_until};

use system::Disk;
use turns::Threads;

pub struct Machine {
    pub outside: Outside,
    pub threads: Arc<Threads>,
    /// None while it is off.
    runtime: Option<Tasks>,
    chance: fastrand::Rng,
    /// Tasks may have something to do.
    are_awake: bool,
    /// Turns given since it began.
    pub turns: u64,
    /// The process is killed after this number of turns, if it still runs.
    pub kill_at: Option<u64>,
}

/// Why [`Machine::run`] returned.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time is reached.
    Time,
    /// The turn at which the process is killed has come.
    Kill,
    /// Too many turns passed without any time passing. With the names of the threads.
    Livelock(String),
}

/// Maximum number of turns without time passing.
const MOST_TURNS: u64 = 100_000;

impl Machine {
    /// Must be called in a new thread, which then runs the whole simulation.
    pub fn new(seed: u64, wall_ms: u64) -> Machine {
        system::begin(wall_ms);
        system::enter(seed);
        let outside = Outside::default();
        outside::enter(Some(outside.clone()));
        let threads = Arc::new(Threads::new(seed));
        outside.put::<Arc<dyn Turns>>(threads.clone());
        Machine {
            outside,
            threads,
            runtime: None,
            chance: fastrand::Rng::with_seed(seed),
            are_awake: false,
            turns: 0,
            kill_at: None,
        }
    }

    /// Starts the process.
    pub fn boot(&mut self, main: impl FnOnce() + Send + 'static) {
        seine_system::clock::forget();
        outside::die(false);
        let runtime = Tasks::new();
        self.outside.put(runtime.runtime.handle().clone());
        self.runtime = Some(runtime);
        self.are_awake = true;
        self.threads.thread("main", Box::new(main));
    }

    /// Kills the process at once. Written bytes stay; nothing is flushed, closed or reported.
    pub fn kill(&mut self) {
        outside::die(true);
        system::set_disk(Disk::Frozen);
        let handle = self.runtime.take().map(|tasks| tasks.runtime.handle().clone());
        let _guard = handle.as_ref().map(Handle::enter);
        self.threads.kill();
        self.kill_at = None;
        system::set_disk(Disk::Well);
    }

    /// Goes on until the clock says `until` (nanoseconds).
    pub fn run(&mut self, until: u64) -> Stop {
        let (mut still, mut since) = (0, system::nanos());
        let handle = self.tasks().runtime.handle().clone();
        let _guard = handle.enter();
        loop {
            let now = system::nanos();
            if now != since {
                (still, since) = (0, now);
            }
            still += 1;
            if still > MOST_TURNS {
                return Stop::Livelock(self.threads.names().join(", "));
            }
            if self.kill_at.is_some_and(|at| self.turns >= at) || system::is_frozen() {
                return Stop::Kill;
            }
            let runnable = self.threads.runnable();
            if self.are_awake && (runnable == 0 || self.chance.bool()) {
                self.are_awake = false;
                self.turns += 1;
                self.tasks().rest(None);
                continue;
            }
            if runnable > 0 {
                let next = self.chance.usize(..runnable);
                self.turns += 1;
                self.threads.give_turn(next);
                // Tasks that a thread wakes are in tokio's global queue.
                self.are_awake |= self.tasks().runtime.metrics().global_queue_depth() > 0;
                continue;
            }
            if now >= until {
                return Stop::Time;
            }
            let limit = self.threads.next_deadline().map_or(until, |deadline| deadline.min(until));
            self.tasks().rest(Some(limit));
        }
    }

    fn tasks(&self) -> &Tasks {
        self.runtime.as_ref().expect("the machine is on")
    }
}

/// The tasks of the process: tokio's, in one thread, with its clock paused.
struct Tasks {
    runtime: Runtime,
    parking: Arc<Parking>,
}

#[derive(Default)]
struct Parking {
    /// No task can go on now.
    is_idle: AtomicBool,
    /// How many more times the runtime may park before `is_idle` is set: once more if time must pass first.
    left: AtomicU32,
    waker: Mutex<Option<Waker>>,
}

impl Tasks {
    fn new() -> Tasks {
        let parking = Arc::new(Parking::default());
        let (at, from) = (parking.clone(), system::nanos());
        let base = Arc::new(Mutex::new(None));
        let begin = base.clone();
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .on_thread_park(move || at.park())
            .on_thread_unpark(move || {
                if let Some(base) = *base.lock() {
                    let passed: Duration = Instant::now().duration_since(base);
                    system::set_nanos(from + passed.as_nanos() as u64);
                }
            })
            .build()
            .expect("a runtime");
        let tasks = Tasks { runtime, parking };
        tasks.runtime.block_on(async { *begin.lock() = Some(Instant::now()) });
        tasks
    }

    /// Runs tasks until none can go on. With a limit, lets time pass first, until a timer ends or the limit is reached.
    fn rest(&self, limit: Option<u64>) {
        turns::SIGNS.fetch_add(1, Ordering::Relaxed);
        let parking = &self.parking;
        parking.is_idle.store(false, Ordering::Relaxed);
        parking.left.store(u32::from(limit.is_some()), Ordering::Relaxed);
        self.runtime.block_on(async {
            let limit = limit.map(|limit| Instant::now() + Duration::from_nanos(limit - system::nanos()));
            let mut limit = limit.map(|limit| Box::pin(sleep_until(limit)));
            std::future::poll_fn(|context| {
                if let Some(limit) = &mut limit {
                    let _ = limit.as_mut().poll(context);
                }
                if parking.is_idle.load(Ordering::Relaxed) {
                    return Poll::Ready(());
                }
                *parking.waker.lock() = Some(context.waker().clone());
                Poll::Pending
            })
            .await;
        });
    }
}

impl Parking {
    fn park(&self) {
        if self.left.load(Ordering::Relaxed) > 0 {
            self.left.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        self.is_idle.store(true, Ordering::Relaxed);
        if let Some(waker) = self.waker.lock().take() {
            waker.wake();
        }
    }
}
