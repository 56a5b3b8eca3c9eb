//! State that must survive a kill: which hosts and addresses may not be visited yet. Also the results of a visit that
//! ends during a batch.

use seine_frontier::Fetching;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use seine_frontier::*;
use seine_parse::page::EpochMs;

use crate::support::*;

const IP: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const SECOND: Duration = Duration::from_secs(1);
const DAY: EpochMs = 24 * 3_600_000;

fn open(folder: &Path, default_delay: Duration, now: EpochMs) -> EmbeddedFrontier {
    let options = FrontierOptions { default_delay, cache_bytes: 1 << 20, ..FrontierOptions::default() };
    EmbeddedFrontier::open(folder, options, now).unwrap()
}

/// A lease of an unknown host.
fn new_host(frontier: &dyn Model, name: &str, now: EpochMs) -> Lease {
    match frontier.lease_host(&format!("http://{name}.example"), now).unwrap() {
        LeaseAnswer::Leased(lease) => *lease,
        turn => panic!("{turn:?}"),
    }
}

fn claim(frontier: &EmbeddedFrontier, name: &str, delay: Duration, now: EpochMs) -> PolitenessSlot {
    frontier.take_politeness_slot(&new_host(frontier, name, now), IP, AddressLimit::one_with(delay), now)
}

/// The slot is at this time or one millisecond later, because the clock has whole milliseconds.
fn is_at(turn: PolitenessSlot, time: EpochMs) {
    assert!(matches!(turn, PolitenessSlot::At(at) if at == time || at == time + 1), "{turn:?}, not {time}");
}

#[test]
fn a_new_host_on_an_address_that_was_just_visited_waits() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 10 * SECOND, 0);
    assert_eq!(claim(&frontier, "a", 10 * SECOND, 100), PolitenessSlot::Now, "nothing was ever visited");
    drop(frontier);
    let frontier = open(folder.path(), 10 * SECOND, 1_000);
    is_at(claim(&frontier, "b", 10 * SECOND, 1_000), 11_000);
    assert!(
        matches!(claim(&frontier, "c", 10 * SECOND, 1_000), PolitenessSlot::At(at) if at >= 21_000),
        "one after the other"
    );
}

#[test]
fn the_delay_of_the_run_before_holds_at_the_opening_and_runs_without_requests_do_not_begin_it_again() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(claim(&open(folder.path(), 10 * SECOND, 0), "a", 10 * SECOND, 100), PolitenessSlot::Now);
    // Opened and killed twice with a shorter delay, before any request. The request of the first run may have been in
    // progress until 200, and none was since.
    drop(open(folder.path(), SECOND, 200));
    let frontier = open(folder.path(), SECOND, 300);
    is_at(claim(&frontier, "b", SECOND, 1_500), 10_200);
}

#[test]
fn an_address_that_is_taken_for_longer_is_taken_over_a_restart() {
    for is_held in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let frontier = open(folder.path(), SECOND, 0);
        let lease = new_host(&frontier, "a", 0);
        let delay = if is_held { SECOND } else { 60 * SECOND };
        let limit = AddressLimit::one_with(delay);
        assert_eq!(frontier.take_politeness_slot(&lease, IP, limit, 0), PolitenessSlot::Now);
        if is_held {
            frontier.hold_address(IP, 60 * SECOND, 0); // a client has the host
        }
        drop(frontier);
        let frontier = open(folder.path(), SECOND, 5_000);
        // A request may have been in progress until the kill.
        is_at(claim(&frontier, "b", SECOND, 7_000), if is_held { 60_000 } else { 65_000 });
        // A request of this run, too, may be in progress at its end.
        let elsewhere = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
        let other = new_host(&frontier, "other", 7_000);
        let limit = AddressLimit::one_with(SECOND);
        assert_eq!(frontier.take_politeness_slot(&other, elsewhere, limit, 7_000), PolitenessSlot::Now);
        drop(frontier);
        let frontier = open(folder.path(), SECOND, DAY);
        assert!(matches!(claim(&frontier, "c", SECOND, DAY), PolitenessSlot::At(at) if at > DAY));
        drop(frontier);
        let frontier = open(folder.path(), SECOND, 2 * DAY);
        assert_eq!(claim(&frontier, "d", SECOND, 2 * DAY + 2_000), PolitenessSlot::Now, "it is over");
    }
}

#[test]
fn an_ordered_delay_holds_after_a_kill_in_the_first_visit() {
    let mut frontier = embedded(FrontierOptions { default_delay: SECOND, ..plain() });
    frontier.propose(&pages(&["http://a.example/1"]), 0).unwrap();
    frontier.order_host("http://a.example", HostOrder::Delay(Some(60 * SECOND)), 0).unwrap();
    assert_eq!(frontier.lease(5_000, LeaseLimits::new(1, 1)).unwrap().len(), 1, "and its page is being fetched");
    frontier.reopen(6_000);
    assert_eq!(frontier.next_due(), Some(66_000));
}

#[test]
fn a_lent_host_is_nobody_elses_until_its_client_is_done() {
    for client_is_done in [true, false] {
        let frontier = embedded(plain());
        frontier.propose(&pages(&["http://a.example/1"]), 0).unwrap();
        let lease = lease_one(&*frontier, 10, 1);
        assert!(frontier.lend(&lease, 60_000).unwrap());
        assert!(frontier.lend(&lease, 90_000).unwrap(), "it is renewed");
        let spare = lease.clone();
        // For example because the page log is full.
        frontier.release(lease, Release { not_before: 2_000, client_is_done, ..Release::default() }).unwrap();
        assert_eq!(frontier.next_due(), Some(if client_is_done { 2_000 } else { 90_000 }));
        assert!(!frontier.lend(&spare, 120_000).unwrap(), "the lease is over");
        assert_eq!(frontier.next_due(), Some(if client_is_done { 2_000 } else { 90_000 }));
    }
}

/// A redirect leads to a host without queued URLs. The host is visited and released while the validator's batch has a
/// link to it.
#[test]
fn what_a_visit_said_of_its_host_outlives_a_batch() {
    const ROUNDS: u64 = 150;
    let frontier = embedded(plain());
    let others: Vec<Proposal> = (0..200).map(|n| page(&format!("http://other.example/{n}"))).collect();
    for round in 1..=ROUNDS {
        let name = format!("h{round}");
        let lease = new_host(&*frontier, &name, 10);
        let (delay, not_before) = (Duration::from_millis(5_000 + round), 100_000 + round);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let first = [page(&format!("http://{name}.example/"))];
                let proposals = [&first[..], &others].concat();
                frontier.apply(&batch(round, Vec::new(), proposals), 20).unwrap();
            });
            frontier.release(lease, Release { delay, not_before, ..Release::default() }).unwrap();
        });
        let record = frontier.host_snapshot(&format!("http://{name}.example")).unwrap().unwrap().record;
        assert_eq!((record.delay_ms, record.not_before), (5_000 + round, 100_000 + round), "round {round}");
    }
}

#[test]
fn a_host_whose_crawl_restarts_more_often_than_its_delay_is_visited() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(folder.path(), 60 * SECOND, 0);
    frontier.propose(&pages(&["http://a.example/1"]), 0).unwrap();
    assert_eq!(claim(&frontier, "b", 60 * SECOND, 0), PolitenessSlot::Now);
    drop(frontier);
    for now in [10_000, 30_000, 50_000] {
        assert_eq!(open(folder.path(), 60 * SECOND, now).next_due(), Some(70_000));
    }
}

/// A host rests by a delay of an hour that the operator ordered, and with it its address, where another host waits.
#[test]
fn an_order_of_a_shorter_delay_frees_a_resting_host_and_the_neighbours_that_wait_for_its_address() {
    const HOUR: Duration = Duration::from_secs(3600);
    let frontier = embedded(FrontierOptions { default_delay: SECOND, ..plain() });
    frontier.propose(&pages(&["http://a.example/1", "http://a.example/2", "http://b.example/1"]), 0).unwrap();
    let limit = AddressLimit::one_with(HOUR);
    let lease = lease_one(&*frontier, 0, 1);
    assert_eq!(frontier.take_politeness_slot(&lease, IP, limit, 0), PolitenessSlot::Now);
    frontier.end_politeness_slot(IP, limit, 0, 100);
    frontier.release(lease, Release { not_before: 3_600_100, delay: HOUR, ..Release::default() }).unwrap();
    let neighbour = lease_one(&*frontier, 200, 1);
    let PolitenessSlot::At(turn) = frontier.take_politeness_slot(&neighbour, IP, AddressLimit::one_with(SECOND), 200)
    else {
        panic!("the address rests")
    };
    frontier.release(neighbour, Release { not_before: turn, delay: SECOND, ..Release::default() }).unwrap();
    assert!(frontier.next_due().is_some_and(|due| due >= 3_600_100));
    let delays = Delays { of_host: &|_, _| SECOND, of_address: &|_| SECOND };
    assert_eq!(frontier.bring_forward(Some("http://a.example"), &delays, 5_000).unwrap(), 2);
    let leased = frontier.lease(6_001, LeaseLimits::new(9, 1)).unwrap();
    assert_eq!(leased.len(), 2);
    assert_eq!(frontier.take_politeness_slot(&leased[0], IP, limit, 6_001), PolitenessSlot::Now);
}

#[test]
fn a_shorter_delay_frees_no_host_whose_server_asked_for_a_pause() {
    let frontier = embedded(plain());
    frontier.propose(&pages(&["http://a.example/1"]), 0).unwrap();
    let asked = Trouble { asked_until: Some(90_000), ..trouble(1) };
    let health = Some(Health::Troubled(asked));
    frontier
        .release(lease_one(&*frontier, 0, 1), Release { not_before: 90_000, health, ..Release::default() })
        .unwrap();
    let delays = Delays { of_host: &|_, _| SECOND, of_address: &|_| SECOND };
    assert_eq!(frontier.bring_forward(None, &delays, 5_000).unwrap(), 0);
    assert_eq!(frontier.next_due(), Some(90_000));
}
