//! Deferred URLs are released in their order and none is lost, whatever the frontier remembers of where they begin.

use std::collections::BTreeMap;

use proptest::prelude::*;
use seine_frontier::deferred::{Drain, HostTrapsChange, Traps};
use seine_frontier::*;

use crate::support::*;

on_every_frontier!(counts_deferred_urls);

const ORIGIN: &str = "http://a.example";

/// A batch: new deferred URLs with their marks and priorities, URLs to release by mark, and the portion to release if the
/// host has nothing else.
#[derive(Debug, Clone)]
struct Step {
    deferred: Vec<(u32, u8)>,
    release: Option<(u32, usize)>,
    portion: usize,
    reopens: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let mark = || 1_u32..5;
    let deferred = prop::collection::vec((mark(), 0_u8..3), 0..12);
    let release = prop::option::weighted(0.4, (mark(), 0_usize..4));
    (deferred, release, 0_usize..9, prop::bool::weighted(0.15)).prop_map(|(deferred, release, portion, reopens)| Step {
        deferred,
        release,
        portion,
        reopens,
    })
}

/// The deferred URLs by mark, priority and number.
type Expected = BTreeMap<(u32, u8, u64), String>;

/// Removes up to `at_most` of a mark.
fn take(expected: &mut Expected, mark: u32, at_most: usize) -> Vec<String> {
    let first: Vec<_> = expected.range((mark, 0, 0)..(mark + 1, 0, 0)).take(at_most).map(|(key, _)| *key).collect();
    first.iter().filter_map(|key| expected.remove(key)).collect()
}

/// Removes up to `at_most`, equally many of each mark.
fn drain(expected: &mut Expected, at_most: usize) -> Vec<String> {
    let mut marks: Vec<u32> = expected.keys().map(|(mark, ..)| *mark).collect();
    marks.dedup();
    let mut taken = Vec::new();
    for (number, mark) in marks.iter().enumerate() {
        let portion = (at_most - taken.len()).div_ceil(marks.len() - number);
        taken.extend(take(expected, *mark, portion));
    }
    taken
}

fn batch_of(step: &Step, cursor: u64, fetched_before: &[String], new: &[(u32, u8, u64)]) -> Batch {
    let proposal = |(_, priority, number): &(u32, u8, u64)| Proposal {
        priority: *priority,
        ..page(&format!("{ORIGIN}/{number}"))
    };
    let host = HostTrapsChange {
        origin: ORIGIN.to_owned(),
        release: step.release.into_iter().collect(),
        drain: Drain { at_most: step.portion, ..Drain::default() },
        ..HostTrapsChange::default()
    };
    let deferred = new.iter().enumerate().map(|(position, (mark, ..))| (position, *mark)).collect();
    Batch {
        verdicts: fetched_before.iter().map(|url| fetched(url, cursor, None)).collect(),
        proposals: new.iter().map(proposal).collect(),
        traps: Traps { deferred, hosts: vec![host] },
        cursor: at(cursor),
        ..Batch::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn are_released_in_their_order(steps in prop::collection::vec(step(), 1..25)) {
        let mut frontier = embedded(plain());
        let (mut expected, mut fetched, mut number) = (Expected::new(), Vec::new(), 0);
        for (step, cursor) in steps.iter().zip(1..) {
            let new: Vec<(u32, u8, u64)> = step.deferred.iter().map(|(mark, priority)| {
                number += 1;
                (*mark, *priority, number)
            }).collect();
            expected.extend(new.iter().map(|key| (*key, format!("{ORIGIN}/{}", key.2))));
            let applied = frontier.apply(&batch_of(step, cursor, &fetched, &new), cursor).unwrap();
            let mut released = step.release.map_or(Vec::new(), |(mark, count)| take(&mut expected, mark, count));
            let held = expected.len() as u64;
            let drained = if released.is_empty() { drain(&mut expected, step.portion) } else { Vec::new() };
            let is_drained = released.is_empty().then_some((held, drained.len()));
            prop_assert_eq!(applied.traps.hosts[0].drained, is_drained);
            released.extend(drained);
            released.sort();
            if step.reopens {
                frontier.reopen(cursor);
            }
            fetched.clear();
            for lease in frontier.lease(cursor, LeaseLimits::new(1, 1000)).unwrap() {
                fetched.extend(urls(&lease).iter().map(|url| (*url).to_owned()));
                all_fetched(&*frontier, lease);
            }
            fetched.sort();
            prop_assert_eq!(&fetched, &released);
            prop_assert_eq!(frontier.counts().deferred, expected.len() as u64);
        }
        while frontier.release_deferred(3, 100).unwrap() > 0 {}
        prop_assert_eq!(frontier.counts().deferred, 0);
        let mut rest = due(&*frontier, 100);
        rest.sort();
        let mut expected: Vec<String> = expected.into_values().collect();
        expected.sort();
        prop_assert_eq!(rest, expected);
    }
}

fn counts_deferred_urls(make: Make) {
    let mut frontier = make(plain());
    let traps = Traps { deferred: vec![(0, 7)], ..Traps::default() };
    let links = pages(&["https://a.example/trap", "https://a.example/page"]);
    frontier.apply(&Batch { traps, ..batch(1, vec![], links) }, 0).unwrap();
    frontier.reopen(0);
    let counts = frontier.counts();
    assert_eq!((counts.work_proposed, counts.first_time, counts.deferred), (2, 2, 1));
    let lease = lease_one(&*frontier, 0, 9);
    assert_eq!(lease.work.iter().map(|work| &*work.url).collect::<Vec<_>>(), ["https://a.example/page"]);
    let fetched_urls = vec!["https://a.example/page".to_owned()];
    frontier.release(lease, Release { fetched: fetched_urls, ..Release::default() }).unwrap();
    frontier.apply(&batch(2, vec![fetched("https://a.example/page", 1, None)], vec![]), 1).unwrap();
    assert_eq!(frontier.next_due(), None);
    assert!(!frontier.has_work(1), "no run waits for deferred URLs");
    assert_eq!(frontier.counts().deferred, 1);
}
