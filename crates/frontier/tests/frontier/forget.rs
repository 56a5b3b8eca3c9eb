//! Forgotten URLs leave the counters and records consistent, whatever happens to other URLs. URLs in flight are not
//! forgotten.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use proptest::prelude::*;
use seine_frontier::*;
use seine_parse::page::EpochMs;

use crate::support::*;

const ORIGIN: &str = "http://a.example";

fn opened() -> (tempfile::TempDir, EmbeddedFrontier) {
    let dir = tempfile::tempdir().unwrap();
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    (dir, frontier)
}

/// Forgets all URLs of a host, in batches of two.
fn forget_host(frontier: &EmbeddedFrontier, origin: &str, now: EpochMs) -> Forgotten {
    let (mut sum, mut after) = (Forgotten::default(), None);
    loop {
        let (some, last) = frontier.forget_host(origin, after, 2, now).unwrap();
        sum.urls += some.urls;
        sum.busy += some.busy;
        match last {
            Some(_) => after = last,
            None => return sum,
        }
    }
}

#[test]
fn what_is_leased_is_left_until_its_verdict_and_a_recalled_host_is_not_leased() {
    let (_dir, frontier) = opened();
    frontier.propose(&pages(&["http://a.example/1", "http://a.example/2", "http://b.example/1"]), 0).unwrap();
    let lease = lease_one(&frontier, 0, 1);
    assert_eq!(urls(&lease), ["http://a.example/1"]);
    frontier.recall(ORIGIN, true);
    let turn = frontier.take_politeness_slot(
        &lease,
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        AddressLimit::one_with(Duration::ZERO),
        1,
    );
    assert!(matches!(turn, PolitenessSlot::Recalled), "{turn:?}");
    assert_eq!(forget_host(&frontier, ORIGIN, 1), Forgotten { urls: 0, busy: 2, unknown: 0 });
    all_fetched(&frontier, lease);
    assert_eq!(
        forget_host(&frontier, ORIGIN, 1),
        Forgotten { urls: 1, busy: 1, unknown: 0 },
        "one waits for its verdict"
    );
    let links = vec![page("http://a.example/3")];
    frontier.apply(&batch(1, vec![fetched("http://a.example/1", 1, Some(9))], links), 1).unwrap();
    assert!(matches!(frontier.lease_host(ORIGIN, 1), Ok(LeaseAnswer::Taken)));
    assert_eq!(lease_one(&frontier, 1, 9).host.origin, "http://b.example");
    assert_eq!(forget_host(&frontier, ORIGIN, 1).urls, 2);
    check_counters(&frontier);
    frontier.recall(ORIGIN, false);
    assert!(frontier.lease(99, LeaseLimits::new(9, 9)).unwrap().is_empty(), "nothing is left of it");
    assert_eq!(frontier.propose(&pages(&["http://a.example/1", "http://a.example/2"]), 99).unwrap().added, 2);
    assert_eq!(lease_one(&frontier, 99, 9).work.len(), 2);
    check_counters(&frontier);
}

fn url(number: u8) -> String {
    format!("http://h{}.example/{}", number % 3, number / 3 % 8)
}

#[derive(Debug, Clone)]
enum Op {
    Propose(Vec<u8>),
    /// Leases, and releases with the first URLs fetched.
    Visit(u8),
    /// A verdict on a fetched URL: a page, one that redirects, or one to retry.
    Judge(u8, u8),
    TryAgain(u8),
    Forget(Vec<u8>),
    ForgetHost(u8),
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..8).prop_map(Op::Propose),
        6 => (0_u8..5).prop_map(Op::Visit),
        6 => (any::<u8>(), any::<u8>()).prop_map(|(which, outcome)| Op::Judge(which, outcome)),
        2 => any::<u8>().prop_map(Op::TryAgain),
        3 => prop::collection::vec(any::<u8>(), 0..8).prop_map(Op::Forget),
        2 => (0_u8..3).prop_map(Op::ForgetHost),
        1 => Just(Op::Reopen),
    ]
}

/// An owner of a target, its alias, a removed page, or a page with a later recheck.
fn verdict(address: &str, event: u64, outcome: u8, now: EpochMs) -> Verdict {
    let target = Some(url(outcome));
    let with = |record: PageRecord, due_again| Verdict {
        change: Change::Page { record, due_again },
        reached: None,
        ..fetched(address, event, None)
    };
    match outcome % 5 {
        0 => with(PageRecord { target, ..record(address, event) }, None),
        1 => with(PageRecord { target, state: PageState::Alias, ..record(address, event) }, None),
        2 => in_state(address, event, PageState::Gone),
        3 => retry(address, event, now + 5, event as u16),
        _ => fetched(address, event, Some(now + 3)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn counters_are_what_the_records_add_up_to(ops in prop::collection::vec(op(), 1..60)) {
        let (dir, mut frontier) = opened();
        let (mut now, mut event, mut waiting) = (1, 0, Vec::<String>::new());
        for op in ops {
            now += 2;
            match op {
                Op::Propose(urls) => {
                    let urls: Vec<_> = urls.into_iter().map(|number| page(&url(number))).collect();
                    frontier.propose(&urls, now).unwrap();
                }
                Op::Visit(count) => for lease in frontier.lease(now, LeaseLimits::new(2, usize::from(count))).unwrap() {
                    let fetched: Vec<String> = lease.work.iter().map(|work| work.url.clone()).take(2).collect();
                    waiting.extend(fetched.iter().cloned());
                    frontier.release(lease, Release { fetched, ..Release::default() }).unwrap();
                },
                Op::Judge(which, outcome) => if !waiting.is_empty() {
                    event += 1;
                    let judged = waiting.remove(usize::from(which) % waiting.len());
                    frontier.apply(&batch(event, vec![verdict(&judged, event, outcome, now)], vec![]), now).unwrap();
                },
                Op::TryAgain(number) => drop(frontier.try_again(&[url(number)], now).unwrap()),
                Op::Forget(numbers) => {
                    let urls: Vec<String> = numbers.into_iter().map(url).collect();
                    frontier.forget(&urls, now).unwrap();
                    for url in urls.iter().filter(|url| !waiting.contains(url)) {
                        prop_assert!(frontier.url_snapshot(url).unwrap().is_none(), "{url} is known still");
                    }
                }
                Op::ForgetHost(number) => {
                    let sum = forget_host(&frontier, &format!("http://h{number}.example"), now);
                    let in_flight = waiting.iter().filter(|it| it.starts_with(&format!("http://h{number}."))).count();
                    prop_assert_eq!(sum.busy, in_flight as u64);
                }
                Op::Reopen => {
                    // URLs without a verdict are queued as before.
                    waiting.clear();
                    drop(frontier);
                    frontier = EmbeddedFrontier::open(dir.path(), plain(), now).unwrap();
                }
            }
            check_counters(&frontier);
        }
    }
}
