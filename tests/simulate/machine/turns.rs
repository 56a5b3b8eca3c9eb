//! Threads of the simulated process. They are coroutines of the one real thread that runs a world. One has the turn until it waits.
//! Handing over a turn between real threads took a third of the time of a world.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use parking_lot::Mutex;
use seine_system::blocking::Turns;

use super::system::{self, Chance};

/// Stack size of each thread in bytes, as in the standard library.
const STACK: usize = 2 << 20;

/// The threads of a world. All calls come from the thread that runs the world.
pub struct Threads {
    seed: u64,
    started: AtomicU64,
    events: AtomicU64,
    is_killed: AtomicBool,
    /// Turns of ended threads, by name, to find out which threads take long.
    pub turns: Mutex<BTreeMap<String, u64>>,
}

pub struct Slot {
    name: String,
    coroutine: RefCell<Coroutine<(), (), ()>>,
    /// Valid from its first turn to its end.
    yielder: Cell<*const Yielder<(), ()>>,
    state: RefCell<State>,
    chance: Cell<Chance>,
    turns: Cell<u64>,
}

enum State {
    Ready,
    Waiting { rang: Arc<AtomicU64>, seen: u64, deadline: Option<u64> },
}

thread_local! {
    static ALL: RefCell<Vec<Rc<Slot>>> = const { RefCell::new(Vec::new()) };
    /// The thread that has the turn; none: a task, or the world itself.
    static CURRENT: RefCell<Option<Rc<Slot>>> = const { RefCell::new(None) };
}

/// The payload of the panic that ends a thread of a killed process.
struct Killed;

/// Counts turns. If the counter stands still for some real time, the simulation hangs.
pub static SIGNS: AtomicU64 = AtomicU64::new(0);

impl Threads {
    pub fn new(seed: u64) -> Threads {
        Threads {
            seed,
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

    /// Number of threads that could go on now.
    pub fn runnable(&self) -> usize {
        let now = system::nanos();
        ALL.with_borrow(|all| all.iter().filter(|slot| slot.is_runnable(now)).count())
    }

    /// The next time at which the wait of a thread ends.
    pub fn next_deadline(&self) -> Option<u64> {
        ALL.with_borrow(|all| all.iter().filter_map(|slot| slot.deadline()).min())
    }

    /// Runs one of the threads that could go on now, until it waits or ends.
    pub fn give_turn(&self, number: usize) {
        let now = system::nanos();
        let next = ALL.with_borrow(|all| all.iter().filter(|slot| slot.is_runnable(now)).nth(number).cloned());
        if let Some(slot) = next {
            self.resume(slot);
        }
    }

    fn resume(&self, slot: Rc<Slot>) {
        SIGNS.fetch_add(1, Ordering::Relaxed);
        slot.turns.set(slot.turns.get() + 1);
        CURRENT.set(Some(slot.clone()));
        let others = system::swap_chance(slot.chance.get());
        let has_ended = slot.coroutine.borrow_mut().resume(()).as_return().is_some();
        slot.chance.set(system::swap_chance(others));
        CURRENT.set(None);
        if has_ended {
            ALL.with_borrow_mut(|all| all.retain(|other| !Rc::ptr_eq(other, &slot)));
            *self.turns.lock().entry(slot.name.clone()).or_default() += slot.turns.get();
        }
    }

    /// Ends all threads.
    pub fn kill(&self) {
        self.is_killed.store(true, Ordering::Relaxed);
        while let Some(slot) = ALL.with_borrow(|all| all.first().cloned()) {
            self.resume(slot);
        }
        self.is_killed.store(false, Ordering::Relaxed);
    }

    /// The names of all threads, to examine a simulation that hangs.
    pub fn names(&self) -> Vec<String> {
        ALL.with_borrow(|all| all.iter().map(|slot| slot.name.clone()).collect())
    }
}

impl Slot {
    fn is_runnable(&self, now: u64) -> bool {
        match &*self.state.borrow() {
            State::Ready => true,
            State::Waiting { rang, seen, deadline } => {
                rang.load(Ordering::Relaxed) != *seen || deadline.is_some_and(|deadline| deadline <= now)
            }
        }
    }

    fn deadline(&self) -> Option<u64> {
        match &*self.state.borrow() {
            State::Waiting { deadline, .. } => *deadline,
            State::Ready => None,
        }
    }
}

impl Turns for Threads {
    fn thread(&self, name: &str, run: Box<dyn FnOnce() + Send>) {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let seed = self.seed ^ (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let stack = DefaultStack::new(STACK).expect("the system has memory for a stack");
        let named = name.to_owned();
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            CURRENT.with_borrow(|mine| mine.as_ref().expect("it has the turn").yielder.set(yielder));
            if let Err(panic) = catch_unwind(AssertUnwindSafe(run))
                && !panic.is::<Killed>()
            {
                eprintln!("thread {named} ended by a panic");
            }
        });
        let slot = Slot {
            name: name.to_owned(),
            coroutine: RefCell::new(coroutine),
            yielder: Cell::new(null()),
            state: RefCell::new(State::Ready),
            chance: Cell::new(Chance::of(seed)),
            turns: Cell::new(0),
        };
        ALL.with_borrow_mut(|all| all.push(Rc::new(slot)));
    }

    fn wait(&self, rang: &Arc<AtomicU64>, seen: u64, deadline: Option<Instant>) {
        if thread::panicking() {
            return;
        }
        let Some(slot) = CURRENT.with_borrow(Clone::clone) else {
            panic!("a task blocked: {:?}", std::backtrace::Backtrace::force_capture());
        };
        let now = Instant::now();
        let deadline =
            deadline.map(|deadline| system::nanos() + deadline.saturating_duration_since(now).as_nanos() as u64);
        *slot.state.borrow_mut() = State::Waiting { rang: rang.clone(), seen, deadline };
        let yielder = slot.yielder.get();
        drop(slot);
        // SAFETY: it belongs to the coroutine that runs here, which lives until it returns.
        unsafe { &*yielder }.suspend(());
        if self.is_killed.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Killed));
        }
    }

    fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }
}
