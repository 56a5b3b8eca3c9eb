//! Replacements for the outside world during a simulation: network, clock, destinations, signals.
//!
//! A simulation (`tests/simulate/`, built with the feature `simulate`) runs the whole program in one process and in
//! virtual time. Code that touches the outside asks here, by type, for a replacement of the real thing. Without the
//! feature the answer is a constant `None`, which the compiler removes.

#[cfg(feature = "simulate")]
mod simulated {
    use std::any::{Any, TypeId};
    use std::cell::RefCell;
    use std::collections::HashMap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use parking_lot::Mutex;

    /// All replacements in one simulated world, by type. Cheap to clone.
    #[derive(Clone, Default)]
    pub struct Outside(Arc<Mutex<HashMap<TypeId, Box<dyn Any + Send>>>>);

    thread_local! {
        static HERE: RefCell<Option<Outside>> = const { RefCell::new(None) };
    }

    static IS_DEAD: AtomicBool = AtomicBool::new(false);

    impl Outside {
        /// Adds a replacement, instead of an earlier one of the same type.
        pub fn put<T: Clone + Send + 'static>(&self, replacement: T) {
            self.0.lock().insert(TypeId::of::<T>(), Box::new(replacement));
        }

        fn get<T: Clone + 'static>(&self) -> Option<T> {
            self.0.lock().get(&TypeId::of::<T>())?.downcast_ref::<T>().cloned()
        }
    }

    /// Moves this thread into a simulated world; none: back to the real one.
    pub fn enter(outside: Option<Outside>) {
        HERE.with(|here| *here.borrow_mut() = outside);
    }

    pub fn replacement<T: Clone + 'static>() -> Option<T> {
        HERE.try_with(|here| here.borrow().as_ref()?.get()).ok().flatten()
    }

    /// A simulated process was killed and the next one has not started. Anything that still comes from it must be
    /// ignored.
    pub fn is_dead() -> bool {
        IS_DEAD.load(Ordering::Relaxed)
    }

    pub fn die(is_dead: bool) {
        IS_DEAD.store(is_dead, Ordering::Relaxed);
    }
}

#[cfg(feature = "simulate")]
pub use simulated::{Outside, die, enter, is_dead, replacement};

/// The replacement for a `T` in this thread's world; none: use the real one.
#[cfg(not(feature = "simulate"))]
#[inline(always)]
pub fn replacement<T: Clone + 'static>() -> Option<T> {
    None
}
