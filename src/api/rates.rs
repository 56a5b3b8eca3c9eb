//! Rate limits per client, by `governor`. The owner's socket has no limit.

use std::convert::Infallible;
use std::num::NonZeroU32;

use governor::clock::MonotonicClock;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::state::keyed::{HashMapStateStore, ShrinkableKeyedStateStore};
use governor::{Quota, RateLimiter};

use super::problem::Refusal;

/// The limits of a server.
pub(super) struct Rates {
    /// For reading and operating.
    pub asking: Limit,
    /// For a remote worker that sends its pages one by one.
    pub working: Limit,
    /// For refused requests, so that nobody can guess tokens.
    pub refused: Limit,
}

impl Rates {
    pub(super) fn new() -> Rates {
        Rates { asking: Limit::new(200, 400), working: Limit::new(2000, 4000), refused: Limit::new(5, 50) }
    }
}

/// At this number of clients, those that used nothing lately are forgotten.
const MOST: usize = 4096;

/// A limit that each client has for itself.
pub(super) struct Limit {
    per_second: u32,
    limiter: RateLimiter<Request, Requests, MonotonicClock>,
}

impl Limit {
    /// `at_once`: maximum burst.
    fn new(per_second: u32, at_once: u32) -> Limit {
        let number = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(number(per_second)).allow_burst(number(at_once));
        Limit { per_second, limiter: RateLimiter::new(quota, Requests::default(), MonotonicClock) }
    }

    /// Refuses what [`Limit::take`] would refuse now, and counts nothing.
    pub(super) fn check(&self, who: &str) -> Result<(), Refusal> {
        self.ask(Request { who: who.to_owned(), counts: false })
    }

    /// Counts a request of `who`, or refuses it.
    pub(super) fn take(&self, who: &str) -> Result<(), Refusal> {
        if self.limiter.len() >= MOST {
            self.limiter.retain_recent();
        }
        self.ask(Request { who: who.to_owned(), counts: true })
    }

    fn ask(&self, request: Request) -> Result<(), Refusal> {
        let refusal = |_| format!("more than {} requests a second: ask less often", self.per_second);
        self.limiter.check_key(&request).map_err(refusal).map_err(Refusal::TooOften)
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Request {
    who: String,
    counts: bool,
}

/// The rate that each client has used. `governor` itself has no question that counts nothing.
#[derive(Default)]
struct Requests(HashMapStateStore<String>);

impl StateStore for Requests {
    type Key = Request;

    fn measure_and_replace<T, F, E>(&self, request: &Request, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        if request.counts {
            return self.0.measure_and_replace(&request.who, measure);
        }
        // The state stays as it is after an error.
        let measured = self.0.measure_and_replace(&request.who, |used| Err::<(Infallible, Nanos), _>(measure(used)));
        let Err(measured) = measured;
        measured.map(|(answer, _)| answer)
    }
}

impl ShrinkableKeyedStateStore<Request> for Requests {
    fn retain_recent(&self, before: Nanos) {
        self.0.retain_recent(before);
    }

    fn len(&self) -> usize {
        ShrinkableKeyedStateStore::len(&self.0)
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
