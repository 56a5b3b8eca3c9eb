//! Random operations on the embedded frontier and on its twin: all visible state is equal.

use std::time::Duration;

use proptest::prelude::*;
use seine_frontier::*;
use seine_parse::page::{FailureReason, PageChange};
use seine_policies::revisit::History;

use crate::support::*;

#[derive(Debug, Clone)]
enum Op {
    Propose(Vec<(u8, u8)>),
    Lease { max_hosts: usize, max_urls: usize },
    Release { which: usize, fetched: u8, wait: u64, health: Option<Health>, has_robots: bool },
    Apply { verdicts: Vec<(Target, Outcome)>, links: Vec<(u8, u8)>, is_old_cursor: bool },
    Wait(u64),
    Reopen,
}

/// The URL of a verdict.
#[derive(Debug, Clone)]
enum Target {
    /// A leased URL without a verdict.
    Leased(usize),
    Any(u8),
}

#[derive(Debug, Clone)]
enum Outcome {
    Page {
        state: PageState,
        due_in: Option<u64>,
    },
    Retry {
        due_in: u64,
        attempt: u16,
        pause: u64,
    },
    /// The last verdict again.
    Again,
}

fn links() -> impl Strategy<Value = Vec<(u8, u8)>> {
    prop::collection::vec((any::<u8>(), 0_u8..3), 0..12)
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let state =
        prop_oneof![Just(PageState::New), Just(PageState::Changed), Just(PageState::Gone), Just(PageState::Refused)];
    prop_oneof![
        4 => (state, prop::option::of(prop_oneof![3 => 0_u64..49, 1 => Just(49)])).prop_map(|(state, due_in)| Outcome::Page { state, due_in }),
        3 => (0_u64..50, 0_u16..4, 0_u64..50)
            .prop_map(|(due_in, attempt, pause)| Outcome::Retry { due_in, attempt, pause }),
        1 => Just(Outcome::Again),
    ]
}

fn health() -> impl Strategy<Value = Health> {
    let trouble = (0_u32..5, any::<bool>(), prop::bool::weighted(0.4)).prop_map(|(failures, status, given_up)| {
        let cause = if status { Cause::Status(503) } else { Cause::Failure(FailureReason::Dns) };
        Trouble { cause, given_up, ..trouble(failures) }
    });
    prop_oneof![1 => Just(Health::Well), 2 => trouble.prop_map(Health::Troubled)]
}

fn op() -> impl Strategy<Value = Op> {
    let target = prop_oneof![3 => any::<usize>().prop_map(Target::Leased), 1 => any::<u8>().prop_map(Target::Any)];
    let verdicts = prop::collection::vec((target, outcome()), 0..6);
    prop_oneof![
        4 => links().prop_map(Op::Propose),
        8 => (0_usize..4, 0_usize..5).prop_map(|(max_hosts, max_urls)| Op::Lease { max_hosts, max_urls }),
        6 => (any::<usize>(), any::<u8>(), 0_u64..30, prop::option::of(health()), any::<bool>()).prop_map(
            |(which, fetched, wait, health, has_robots)| Op::Release { which, fetched, wait, health, has_robots }
        ),
        8 => (verdicts, links(), prop::bool::weighted(0.05))
            .prop_map(|(verdicts, links, is_old_cursor)| Op::Apply { verdicts, links, is_old_cursor }),
        4 => (1_u64..40).prop_map(Op::Wait),
        1 => Just(Op::Reopen),
    ]
}

fn url(number: u8) -> String {
    format!("http://h{}.example/{}", number % 4, number / 4 % 16)
}

fn proposals(links: &[(u8, u8)]) -> Vec<Proposal> {
    let depth = |number: u8| u16::from(number / 64 % 4);
    let link =
        |(number, priority): &(u8, u8)| Proposal { priority: *priority, depth: depth(*number), ..page(&url(*number)) };
    links.iter().map(link).collect()
}

/// Both frontiers, and the state of their caller.
struct Pair {
    stores: [Store; 2],
    now: u64,
    cursor: u64,
    event: u64,
    leases: Vec<[Lease; 2]>,
    leased: Vec<String>,
    last: Option<Verdict>,
}

impl Pair {
    fn new(lowers_depths: bool) -> Pair {
        let default_delay = Duration::from_millis(10);
        let options = FrontierOptions { max_pages_per_host: Some(12), default_delay, lowers_depths, ..plain() };
        let stores = [on_disk(options.clone()), memory(options)];
        Pair { stores, now: 100, cursor: 0, event: 0, leases: vec![], leased: vec![], last: None }
    }

    /// Asks both the same question; the answers must be equal.
    fn both<T: PartialEq + std::fmt::Debug>(&self, ask: impl Fn(&dyn Model) -> T) -> T {
        let answers = self.stores.each_ref().map(|store| ask(&**store));
        assert_eq!(answers[0], answers[1], "embedded, memory");
        let [answer, _] = answers;
        answer
    }

    fn run(&mut self, op: &Op) {
        match op {
            Op::Propose(links) => {
                self.both(|frontier| frontier.propose(&proposals(links), self.now).unwrap());
            }
            Op::Lease { max_hosts, max_urls } => self.lease(*max_hosts, *max_urls),
            Op::Release { which, fetched, wait, health, has_robots } => {
                if !self.leases.is_empty() {
                    let leases = self.leases.swap_remove(which % self.leases.len());
                    self.release(leases, *fetched, *wait, *health, *has_robots);
                }
            }
            Op::Apply { verdicts, links, is_old_cursor } => self.apply(verdicts, links, *is_old_cursor),
            Op::Wait(time) => self.now += time,
            Op::Reopen => {
                self.leases.clear();
                self.stores.iter_mut().for_each(|store| store.reopen(self.now));
            }
        }
    }

    fn lease(&mut self, max_hosts: usize, max_urls: usize) {
        let [first, second] =
            self.stores.each_ref().map(|store| store.lease(self.now, LeaseLimits::new(max_hosts, max_urls)).unwrap());
        let plain = |leases: &[Lease]| -> Vec<_> {
            leases.iter().map(|lease| (lease.host.clone(), lease.work.clone())).collect()
        };
        assert_eq!(plain(&first), plain(&second), "embedded, memory");
        // A lease that found less than it wanted has looked at every due host.
        if max_urls > 0 && first.len() < max_hosts {
            self.both(|frontier| (self.next_due(frontier) <= self.now, frontier.has_work(self.now)));
        }
        self.leased.extend(first.iter().flat_map(|lease| &lease.work).map(|work| work.url.clone()));
        self.leases.extend(first.into_iter().zip(second).map(|(first, second)| [first, second]));
    }

    fn release(&self, leases: [Lease; 2], fetched: u8, wait: u64, health: Option<Health>, has_robots: bool) {
        let work = leases[0].work.iter().enumerate();
        let fetched = work.filter(|(bit, _)| fetched >> (bit % 8) & 1 == 1).map(|(_, work)| work.url.clone()).collect();
        let access = RobotsAccess::Rules(format!("until {}", self.now));
        let robots = has_robots.then_some(Robots { fetched_ms: self.now, expires_ms: self.now + 1, access, tdm: None });
        let not_before = self.now + wait;
        let delay = Duration::from_millis(wait);
        let release = Release { fetched, not_before, robots, health, delay, ..Release::default() };
        for (store, lease) in self.stores.iter().zip(leases) {
            store.release(lease, release.clone()).unwrap();
        }
    }

    fn apply(&mut self, verdicts: &[(Target, Outcome)], links: &[(u8, u8)], is_old_cursor: bool) {
        let verdicts: Vec<Verdict> = verdicts.iter().map(|(target, outcome)| self.verdict(target, outcome)).collect();
        self.cursor += u64::from(!is_old_cursor);
        // Proposals with a priority also get a hint, before or after the last fetch.
        let hint = |(number, priority): &(u8, u8)| Hint {
            url: url(*number),
            changed_ms: record("", self.event + u64::from(*priority)).fetched_ms - 1,
            due: self.now + u64::from(*priority),
        };
        let hints = links.iter().filter(|(_, priority)| *priority > 0).map(hint).collect();
        let batch = Batch { hints, ..batch(self.cursor, verdicts, proposals(links)) };
        self.both(|frontier| frontier.apply(&batch, self.now).unwrap());
    }

    fn verdict(&mut self, target: &Target, outcome: &Outcome) -> Verdict {
        let url = match target {
            Target::Leased(which) if !self.leased.is_empty() => self.leased.swap_remove(which % self.leased.len()),
            Target::Leased(which) => url(*which as u8),
            Target::Any(number) => url(*number),
        };
        self.event += 1;
        let verdict = match outcome {
            Outcome::Page { state, due_in } => {
                let record = record(&url, self.event);
                let before = self.stores[0].page(&url).unwrap().and_then(|page| page.history);
                let history = match (state, before) {
                    (PageState::Changed, Some(before)) => before.seen(record.fetched_ms, PageChange::Changed, None),
                    _ => History::new(record.fetched_ms),
                };
                let record = PageRecord { state: *state, history: Some(history), ..record };
                // The longest wait means that the host was given up.
                let due = |due_in| if due_in == 49 { WHEN_LINKED_AGAIN } else { self.now + due_in };
                let change = Change::Page { record, due_again: due_in.map(due) };
                verdict(&url, self.event, change)
            }
            Outcome::Retry { due_in, attempt, pause } => {
                let host = HostPause { not_before: self.now + pause, trouble: Some(trouble((*attempt).into())) };
                let put_off = pause % 2 == 0;
                let change = Change::Retry { at: self.now + due_in, attempt: *attempt, put_off, cause: None, host };
                verdict(&url, self.event, change)
            }
            Outcome::Again => match &self.last {
                Some(last) => last.clone(),
                None => fetched(&url, self.event, None),
            },
        };
        self.last = Some(verdict.clone());
        verdict
    }

    /// How long a due host has waited does not matter.
    fn next_due(&self, frontier: &dyn Model) -> u64 {
        frontier.next_due().map_or(u64::MAX, |due| due.max(self.now))
    }

    fn compare(&self) {
        self.both(|frontier| frontier.counts());
        // The embedded frontier may take a host for due too early, never too late; a lease corrects it (`lease`).
        let [embedded, twin] = self.stores.each_ref().map(|store| (self.next_due(&**store), store.has_work(self.now)));
        assert!(embedded.0 <= twin.0 && embedded.1 >= twin.1, "embedded {embedded:?}, memory {twin:?}");
        self.both(|frontier| Waiting { next: Vec::new(), ..frontier.waiting(self.now, 0) });
        let [embedded, twin] = self.stores.each_ref().map(|store| store.waiting(self.now, 99).next);
        for (one, other) in embedded.iter().flat_map(|one| twin.iter().map(move |other| (one, other))) {
            let is_same = one.until <= other.until && (one.urls, &one.trouble) == (other.urls, &other.trouble);
            assert!(one.origin != other.origin || is_same, "embedded {one:?}, memory {other:?}");
        }
        self.both(|frontier| frontier.cursor().unwrap());
    }
}

/// Each case makes a store on disk. `SEINE_MODEL_CASES=1000` runs more.
fn cases() -> u32 {
    std::env::var("SEINE_MODEL_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn embedded_and_memory_are_the_same(ops in prop::collection::vec(op(), 1..120), lowers_depths in any::<bool>()) {
        let mut pair = Pair::new(lowers_depths);
        for op in &ops {
            pair.run(op);
            pair.compare();
        }
        pair.stores[0].check_counters();
        for number in 0..64 {
            pair.both(|frontier| frontier.page(&url(number)).unwrap());
            pair.both(|frontier| frontier.trust(&url(number)).unwrap());
        }
    }
}
