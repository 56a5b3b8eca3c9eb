//! Threads of the simulated process. They are real threads, of which one runs at a time: it has the turn until it waits.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Instant;

use parking_lot::Mutex;
use seine_simulation_hooks::outside::{self, Outside};
use seine_system::blocking::Turns;
use tokio::runtime::Handle;

use super::system;

/// Who gives turns: the thread that made it.
pub struct Threads {
    seed: u64,
    outside: Outside,
    controller: Thread,
    all: Mutex<Vec<Arc<Slot>>>,
    started: AtomicU64,
    events: AtomicU64,
    is_killed: AtomicBool,
    /// By name, for who looks for what takes long.
    pub turns: Mutex<BTreeMap<String, u64>>,
}

pub struct Slot {
    name: String,
    thread: Mutex<Option<Thread>>,
    has_turn: AtomicBool,
    state: Mutex<State>,
}

enum State {
    Ready,
    Waiting { rang: Arc<AtomicU64>, seen: u64, deadline: Option<u64> },
    Ended,
}

thread_local! {
    static MINE: RefCell<Option<Arc<Slot>>> = const { RefCell::new(None) };
}

/// How a thread of a killed process ends.
struct Killed;

/// Real time in which something must happen, or the simulation hangs.
pub static SIGNS: AtomicU64 = AtomicU64::new(0);

impl Threads {
    pub fn new(seed: u64, outside: Outside) -> Threads {
        Threads {
            seed,
            outside,
            controller: thread::current(),
            all: Mutex::default(),
            started: AtomicU64::new(0),
            events: AtomicU64::new(1),
            is_killed: AtomicBool::new(false),
            turns: Mutex::default(),
        }
    }

    /// Something happened in the world.
    pub fn happened(&self) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }

    /// Who could go on now.
    pub fn runnable(&self) -> Vec<Arc<Slot>> {
        let now = system::nanos();
        let all = self.all.lock();
        all.iter().filter(|slot| slot.is_runnable(now)).cloned().collect()
    }

    /// The next time at which one goes on whatever happens.
    pub fn next_deadline(&self) -> Option<u64> {
        self.all.lock().iter().filter_map(|slot| slot.deadline()).min()
    }

    /// Lets a thread go on until it waits or ends.
    pub fn give_turn(&self, slot: &Arc<Slot>) {
        SIGNS.fetch_add(1, Ordering::Relaxed);
        if let Some(turns) = self.turns.lock().get_mut(&slot.name) {
            *turns += 1;
        }
        slot.has_turn.store(true, Ordering::Release);
        if let Some(thread) = slot.thread.lock().as_ref() {
            thread.unpark();
        }
        while slot.has_turn.load(Ordering::Acquire) {
            thread::park();
        }
        if matches!(*slot.state.lock(), State::Ended) {
            self.all.lock().retain(|other| !Arc::ptr_eq(other, slot));
        }
    }

    /// Ends them all, wherever they are.
    pub fn kill(&self) {
        self.is_killed.store(true, Ordering::Relaxed);
        while let Some(slot) = { self.all.lock().first().cloned() } {
            self.give_turn(&slot);
        }
        self.is_killed.store(false, Ordering::Relaxed);
    }

    /// For who looks at a simulation that hangs.
    pub fn names(&self) -> Vec<String> {
        self.all.lock().iter().map(|slot| slot.name.clone()).collect()
    }

    fn yield_turn(&self, slot: &Slot) {
        slot.has_turn.store(false, Ordering::Release);
        self.controller.unpark();
        while !slot.has_turn.load(Ordering::Acquire) {
            thread::park();
        }
    }
}

impl Slot {
    fn is_runnable(&self, now: u64) -> bool {
        match &*self.state.lock() {
            State::Ready => true,
            State::Ended => false,
            State::Waiting { rang, seen, deadline } => {
                rang.load(Ordering::Relaxed) != *seen || deadline.is_some_and(|deadline| deadline <= now)
            }
        }
    }

    fn deadline(&self) -> Option<u64> {
        match &*self.state.lock() {
            State::Waiting { deadline, .. } => *deadline,
            _ => None,
        }
    }
}

impl Turns for Threads {
    fn thread(&self, name: &str, run: Box<dyn FnOnce() + Send>) {
        let slot = Arc::new(Slot {
            name: name.to_owned(),
            thread: Mutex::default(),
            has_turn: AtomicBool::new(false),
            state: Mutex::new(State::Ready),
        });
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let seed = self.seed ^ (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (outside, controller) = (self.outside.clone(), self.controller.clone());
        let mine = slot.clone();
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
            while !mine.has_turn.load(Ordering::Acquire) {
                thread::park();
            }
            system::enter(seed);
            outside::enter(Some(outside));
            MINE.with(|here| *here.borrow_mut() = Some(mine.clone()));
            let handle = outside::replacement::<Handle>();
            let guard = handle.as_ref().map(Handle::enter);
            let ended = catch_unwind(AssertUnwindSafe(run));
            drop(guard);
            if let Err(panic) = ended
                && !panic.is::<Killed>()
            {
                eprintln!("thread {} ended by a panic", mine.name);
            }
            *mine.state.lock() = State::Ended;
            outside::enter(None);
            mine.has_turn.store(false, Ordering::Release);
            controller.unpark();
        });
        self.turns.lock().entry(name.to_owned()).or_default();
        *slot.thread.lock() = Some(spawned.expect("the system starts threads").thread().clone());
        self.all.lock().push(slot);
    }

    fn wait(&self, rang: &Arc<AtomicU64>, seen: u64, deadline: Option<Instant>) {
        if thread::panicking() {
            return;
        }
        let Some(slot) = MINE.with(|mine| mine.borrow().clone()) else {
            panic!("a task blocked: {:?}", std::backtrace::Backtrace::force_capture());
        };
        let now = Instant::now();
        let deadline =
            deadline.map(|deadline| system::nanos() + deadline.saturating_duration_since(now).as_nanos() as u64);
        *slot.state.lock() = State::Waiting { rang: rang.clone(), seen, deadline };
        self.yield_turn(&slot);
        if self.is_killed.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Killed));
        }
    }

    fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }
}
