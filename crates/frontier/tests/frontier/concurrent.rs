//! Workers and a validator at the same time, as in a crawl.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use seine_frontier::*;

use crate::support::*;

on_every_frontier!(crawls_everything_once);

const PAGES: u64 = 600;

fn url(page: u64) -> String {
    format!("http://h{}.example/{page}", page % 7)
}

/// A site where page n links to 2n and 2n + 1, and back to n / 2. Every third page fails at first.
fn crawls_everything_once(make: Make) {
    let frontier = make(plain());
    frontier.propose(&[page(&url(1))], 0).unwrap();
    let (events, log) = channel();
    let (clock, in_hand, over) = (AtomicU64::new(0), Mutex::new(BTreeSet::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for worker in 0..3 {
            let (events, frontier, clock, in_hand, over) = (events.clone(), &*frontier, &clock, &in_hand, &over);
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    work(worker, frontier, clock, in_hand, &events);
                }
            });
        }
        drop(events);
        let _over = Over(&over);
        validate(&*frontier, &clock, &in_hand, &log);
    });
    let counts = frontier.counts();
    assert_eq!((counts.page, counts.live, counts.work_proposed, counts.first_time), (PAGES, PAGES, 0, 0));
    assert_eq!((counts.in_flight, counts.hosts_leased, counts.hosts_with_work), (0, 0, 0));
    assert_eq!(frontier.next_due(), None);
    assert!((1..=PAGES).all(|number| frontier.page(&url(number)).unwrap().is_some()));
}

/// Ends the workers, even if the validator panics.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Leases once, and sometimes releases URLs without fetching them.
fn work(
    worker: u64,
    frontier: &dyn Model,
    clock: &AtomicU64,
    in_hand: &Mutex<BTreeSet<String>>,
    events: &Sender<Work>,
) {
    let now = clock.fetch_add(1, Ordering::SeqCst);
    for lease in frontier.lease(now, LeaseLimits::new(2, 4)).unwrap() {
        let fetched: Vec<Work> = lease.work.iter().skip((now + worker) as usize % 3).cloned().collect();
        for work in &fetched {
            assert!(in_hand.lock().unwrap().insert(work.url.clone()), "{} is in two hands", work.url);
            events.send(work.clone()).unwrap();
        }
        let fetched = fetched.into_iter().map(|work| work.url).collect();
        frontier.release(lease, Release { fetched, not_before: now + 1, ..Release::default() }).unwrap();
    }
}

fn validate(frontier: &dyn Model, clock: &AtomicU64, in_hand: &Mutex<BTreeSet<String>>, log: &Receiver<Work>) {
    let (mut cursor, mut fetches, mut done) = (0, 0, BTreeSet::new());
    while frontier.counts().page < PAGES {
        let first = log.recv().unwrap();
        let events: Vec<Work> = std::iter::once(first).chain(log.try_iter()).collect();
        let now = clock.load(Ordering::SeqCst);
        let (mut verdicts, mut links) = (Vec::new(), Vec::new());
        for Work { url: found, attempt, .. } in events {
            (cursor, fetches) = (cursor + 1, fetches + 1);
            let number: u64 = found.rsplit('/').next().unwrap().parse().unwrap();
            // Removed before the verdict, because another worker may get the URL as soon as it is applied.
            in_hand.lock().unwrap().remove(&found);
            if number.is_multiple_of(3) && attempt == 0 {
                verdicts.push(retry(&found, cursor, now + 5, 1));
            } else {
                assert!(done.insert(number), "{found} was fetched again");
                links.extend([number * 2, number * 2 + 1, (number / 2).max(1)].map(|number| page(&url(number))));
                verdicts.push(fetched(&found, cursor, None));
            }
        }
        links.retain(|link| link.url.rsplit('/').next().unwrap().parse::<u64>().unwrap() <= PAGES);
        frontier.apply(&batch(cursor, verdicts, links), now).unwrap();
    }
    assert_eq!(fetches, PAGES + PAGES / 3);
}
