//! Hosts in trouble: stored state, what waits for what, giving up, and a new chance.

use std::collections::BTreeSet;

use seine_frontier::*;
use seine_parse::page::FailureReason;

use crate::support::*;

on_every_frontier!(
    gives_the_rest_of_a_host_that_is_given_up_at_once,
    wakes_every_url_of_a_host_that_is_met_again,
    gives_more_than_a_lease_of_a_host_that_is_met_again,
    tries_a_host_that_is_given_up_again_at_growing_intervals,
    wakes_a_host_while_it_is_still_given_up_lease_by_lease,
    forgets_the_trouble_of_a_host_that_had_nothing_to_do,
    says_who_waits_for_what,
    names_a_host_in_trouble_before_its_visit_is_written,
    remembers_that_a_url_was_put_off,
);

fn health(trouble: Trouble) -> Option<Health> {
    Some(Health::Troubled(trouble))
}

/// Releases a lease with all of its URLs fetched.
fn end(frontier: &dyn Model, lease: Lease, health: Option<Health>) {
    let fetched = lease.work.iter().map(|work| work.url.clone()).collect();
    frontier.release(lease, Release { fetched, health, ..Release::default() }).unwrap();
}

fn unreachable(url: &str, event: u64) -> Verdict {
    let record = PageRecord {
        state: PageState::Failed(FailureReason::HostUnreachable),
        digest: None,
        etag: None,
        ..record(url, event)
    };
    let change = Change::Page { record, due_again: Some(WHEN_LINKED_AGAIN) };
    Verdict { change, ..fetched(url, event, None) }
}

/// A host whose `n` URLs all failed because it was given up.
fn given_up_host(frontier: &dyn Model, n: usize) -> Vec<String> {
    let names: Vec<String> = (0..n).map(|n| format!("http://a.example/{n}")).collect();
    frontier.propose(&names.iter().map(|url| page(url)).collect::<Vec<_>>(), 0).unwrap();
    let lease = lease_one(frontier, 0, n);
    end(frontier, lease, health(given_up()));
    let verdicts = names.iter().enumerate().map(|(event, url)| unreachable(url, event as u64 + 1)).collect();
    frontier.apply(&batch(1, verdicts, vec![]), 0).unwrap();
    names
}

fn gives_the_rest_of_a_host_that_is_given_up_at_once(make: Make) {
    let frontier = make(plain());
    frontier.propose(&pages(&["http://a.example/1", "http://a.example/2", "http://a.example/3"]), 0).unwrap();
    frontier.apply(&batch(1, vec![retry("http://a.example/3", 1, 900, 0)], vec![]), 0).unwrap();
    let lease = lease_one(&*frontier, 0, 1);
    end(&*frontier, lease, health(given_up()));
    frontier.apply(&batch(2, vec![unreachable("http://a.example/1", 2)], vec![]), 0).unwrap();
    let lease = lease_one(&*frontier, 0, 9);
    assert_eq!((urls(&lease), lease.host.trouble), (vec!["http://a.example/2"], Some(given_up())));
    end(&*frontier, lease, None);
    frontier.apply(&batch(3, vec![unreachable("http://a.example/2", 3)], vec![]), 0).unwrap();
    assert_eq!(frontier.next_due(), Some(900), "what waits for its own time comes last");
    let lease = lease_one(&*frontier, 900, 9);
    assert_eq!(urls(&lease), ["http://a.example/3"]);
}

fn wakes_every_url_of_a_host_that_is_met_again(make: Make) {
    let mut frontier = make(plain());
    let names = given_up_host(&*frontier, 3);
    let counts = frontier.counts();
    assert_eq!((counts.failed, counts.first_time, counts.hosts_with_work), (3, 0, 1));
    assert_eq!((counts.work_proposed, counts.given_up), (3, 3));
    let tried_again = given_up().tried_again_at();
    assert!(!frontier.has_work(tried_again - 1), "nothing is left to do until it is tried again");
    assert_eq!(frontier.next_due(), Some(tried_again));
    frontier.reopen(10);
    assert_eq!(frontier.counts().given_up, 3);
    assert!(frontier.lease(tried_again - 1, LeaseLimits::new(9, 9)).unwrap().is_empty());

    // Any link to the host is enough, even to a known URL.
    assert_eq!(frontier.propose(&[page(&names[1])], 20).unwrap().known, 1);
    assert!(frontier.has_work(20));
    assert_eq!(frontier.counts().given_up, 0);
    let lease = lease_one(&*frontier, 20, 9);
    assert_eq!(urls(&lease), names);
    assert_eq!(lease.host.trouble, None, "it is as good as new");
    end(&*frontier, lease, Some(Health::Well));
    let verdicts = names.iter().enumerate().map(|(event, url)| fetched(url, event as u64 + 10, None)).collect();
    frontier.apply(&batch(2, verdicts, vec![]), 20).unwrap();
    let counts = frontier.counts();
    assert_eq!((counts.live, counts.failed, counts.work_proposed, counts.in_flight), (3, 0, 0, 0));
    frontier.check_counters();
}

/// One URL shows whether it answers again. Then the others follow.
fn tries_a_host_that_is_given_up_again_at_growing_intervals(make: Make) {
    const DAY: u64 = 24 * 3_600_000;
    let mut frontier = make(plain());
    let names = given_up_host(&*frontier, 3);
    let (since, last) = (given_up().since, given_up().last);
    assert_eq!(frontier.next_due(), Some(last + DAY), "the shortest interval");
    let lease = lease_one(&*frontier, last + DAY, 9);
    assert_eq!((lease.work.len(), lease.host.trouble), (1, Some(given_up())));
    let failed = Trouble { last: last + DAY, ..given_up() };
    let url = lease.work[0].url.clone();
    end(&*frontier, lease, health(failed));
    frontier.apply(&batch(2, vec![unreachable(&url, 9)], vec![]), last + DAY).unwrap();
    let next = failed.last + (failed.last - since);
    frontier.reopen(last + DAY);
    assert_eq!(frontier.next_due(), Some(next), "as long as it has failed");
    assert!(frontier.lease(next - 1, LeaseLimits::new(9, 9)).unwrap().is_empty());
    // A worker that does not come to its request changes nothing.
    let lease = lease_one(&*frontier, next, 9);
    frontier.release(lease, Release::default()).unwrap();
    let lease = lease_one(&*frontier, next, 9);
    let found = lease.work[0].url.clone();
    end(&*frontier, lease, Some(Health::Well));
    let rest = lease_one(&*frontier, next, 9);
    assert_eq!((rest.work.len(), rest.host.trouble), (2, None), "it answers, so all of its URLs are due");
    assert!(!urls(&rest).contains(&&*found) && urls(&rest).iter().all(|url| names.iter().any(|name| name == url)));
}

fn gives_more_than_a_lease_of_a_host_that_is_met_again(make: Make) {
    let mut frontier = make(plain());
    let names = given_up_host(&*frontier, 700);
    let link = page("http://a.example/new");
    frontier.apply(&batch(2, vec![], vec![link]), 20).unwrap();
    frontier.reopen(20);
    let mut found = BTreeSet::new();
    while found.len() < names.len() + 1 {
        let lease = lease_one(&*frontier, 20, 300);
        found.extend(lease.work.iter().map(|work| work.url.clone()));
        end(&*frontier, lease, None);
    }
    assert!(frontier.lease(20, LeaseLimits::new(9, 9)).unwrap().is_empty(), "all are in flight");
}

fn wakes_a_host_while_it_is_still_given_up_lease_by_lease(make: Make) {
    let frontier = make(plain());
    frontier.propose(&pages(&["http://a.example/1", "http://a.example/2"]), 0).unwrap();
    let lease = lease_one(&*frontier, 0, 1);
    end(&*frontier, lease, health(given_up()));
    frontier.propose(&[page("http://a.example/3")], 0).unwrap();
    frontier.apply(&batch(1, vec![unreachable("http://a.example/1", 1)], vec![]), 0).unwrap();
    let lease = lease_one(&*frontier, 0, 9);
    assert_eq!(lease.host.trouble, None);
    assert_eq!(urls(&lease), ["http://a.example/1", "http://a.example/2", "http://a.example/3"]);
}

fn forgets_the_trouble_of_a_host_that_had_nothing_to_do(make: Make) {
    let mut frontier = make(plain());
    frontier.propose(&[page("http://a.example/1")], 0).unwrap();
    let lease = lease_one(&*frontier, 0, 1);
    end(&*frontier, lease, health(trouble(4)));
    frontier.apply(&batch(1, vec![fetched("http://a.example/1", 1, None)], vec![]), 0).unwrap();
    frontier.reopen(0);
    frontier.propose(&[page("http://a.example/2")], 5).unwrap();
    let lease = lease_one(&*frontier, 5, 9);
    assert_eq!((urls(&lease), lease.host.trouble), (vec!["http://a.example/2"], None));
}

/// Each visit's end is written a moment later. Meanwhile the host is neither visited nor in the queue of hosts that wait.
fn names_a_host_in_trouble_before_its_visit_is_written(make: Make) {
    let frontier = make(plain());
    frontier.propose(&[page("http://a.example/1")], 0).unwrap();
    let lease = lease_one(&*frontier, 0, 9);
    let release = Release { not_before: 1000, health: health(trouble(2)), ..Release::default() };
    frontier.give_back(lease, release);
    let origin = "http://a.example".to_owned();
    let waits = vec![WaitingHost { origin, until: 5, urls: 1, trouble: Some(trouble(2)) }];
    assert_eq!(frontier.waiting(5, 9).next, waits);
}

fn says_who_waits_for_what(make: Make) {
    let mut frontier = make(plain());
    assert_eq!(frontier.waiting(0, 9), Waiting::default());
    let hosts = ["http://down.example", "http://busy.example", "http://also.example", "http://well.example"];
    let rest = [trouble(2), Trouble { cause: Cause::Status(503), ..trouble(1) }, trouble(7), trouble(0)];
    for (number, origin) in hosts.into_iter().enumerate() {
        let links: Vec<_> = (0..=number).map(|n| page(&format!("{origin}/{n}"))).collect();
        frontier.propose(&links, 0).unwrap();
    }
    let mut leases = frontier.lease(0, LeaseLimits::new(9, 1)).unwrap();
    for (number, lease) in leases.drain(..).enumerate() {
        let not_before = 1000 - number as u64;
        frontier.release(lease, Release { not_before, health: health(rest[number]), ..Release::default() }).unwrap();
    }
    let expected = Waiting {
        blocked: 0,
        troubled: vec![
            Troubled { cause: Cause::Failure(FailureReason::Connect), hosts: 2, urls: 4 },
            Troubled { cause: Cause::Status(503), hosts: 1, urls: 2 },
        ],
        next: vec![
            WaitingHost { origin: hosts[3].into(), until: 997, urls: 4, trouble: None },
            WaitingHost { origin: hosts[2].into(), until: 998, urls: 3, trouble: Some(rest[2]) },
            WaitingHost { origin: hosts[1].into(), until: 999, urls: 2, trouble: Some(rest[1]) },
            WaitingHost { origin: hosts[0].into(), until: 1000, urls: 1, trouble: Some(rest[0]) },
        ],
    };
    assert_eq!(frontier.waiting(5, 9), expected);
    assert_eq!(frontier.waiting(5, 2).next, expected.next[..2]);
    assert_eq!(frontier.waiting(998, 9).next, expected.next[2..], "who is due does not wait");
    frontier.reopen(0);
    assert_eq!(frontier.waiting(5, 9), expected);

    let visits = frontier.lease(999, LeaseLimits::new(9, 9)).unwrap();
    let visited = WaitingHost { until: 999, ..expected.next[1].clone() };
    let named = frontier.waiting(999, 9).next;
    assert!(named.contains(&visited), "a host in trouble is named while it is visited: {named:?}");
    visits.into_iter().for_each(|lease| frontier.release(lease, Release::default()).unwrap());

    // One recovers, one has no URLs left, one is given up.
    for lease in frontier.lease(1000, LeaseLimits::new(9, 9)).unwrap() {
        let health = match lease.host.origin.as_str() {
            "http://busy.example" => Some(Health::Well),
            "http://also.example" => health(given_up()),
            _ => None,
        };
        frontier.release(lease, Release { health, ..Release::default() }).unwrap();
    }
    frontier.apply(&batch(1, vec![fetched("http://down.example/0", 1, None)], vec![]), 5).unwrap();
    assert_eq!(frontier.waiting(5, 9).troubled, vec![]);
}

fn remembers_that_a_url_was_put_off(make: Make) {
    let mut frontier = make(plain());
    let url = "http://a.example/";
    frontier.propose(&[page(url)], 0).unwrap();
    let lease = lease_one(&*frontier, 0, 1);
    assert!(!lease.work[0].was_put_off);
    all_fetched(&*frontier, lease);
    let put_off = |event, put_off| {
        let change = Change::Retry { at: 10, attempt: 0, put_off, cause: None, host: HostPause::default() };
        Verdict { change, ..fetched(url, event, None) }
    };
    frontier.apply(&batch(1, vec![put_off(1, true)], vec![]), 0).unwrap();
    frontier.reopen(0);
    let lease = lease_one(&*frontier, 10, 1);
    assert_eq!((lease.work[0].was_put_off, lease.work[0].attempt), (true, 0));
    all_fetched(&*frontier, lease);
    let again = Change::Retry { at: 20, attempt: 1, put_off: false, cause: None, host: HostPause::default() };
    frontier.apply(&batch(2, vec![Verdict { change: again, ..put_off(2, false) }], vec![]), 0).unwrap();
    assert!(!lease_one(&*frontier, 20, 1).work[0].was_put_off);
}

/// As version 0.1 wrote it: only a number of failures.
#[test]
fn a_host_of_an_earlier_version_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    frontier.propose(&[page("http://a.example/")], 0).unwrap();
    drop(frontier);
    let db = fjall::Database::builder(dir.path().join("store")).open().unwrap();
    let hosts = db.keyspace("hosts", fjall::KeyspaceCreateOptions::default).unwrap();
    let keys: Vec<_> = hosts.iter().map(|entry| entry.key().unwrap()).collect();
    // Version, no robots.txt, head (priority 10, sequence 0), nothing later; number 0, not before 100, 3 failures, no
    // delay of its own, 1 URL ready, none later, 1 page admitted.
    let old = [&[1, 0, 10, 0, 0, 0, 100, 3, 0, 1, 0, 1], "http://a.example".as_bytes()].concat();
    hosts.insert(&*keys[0], old).unwrap();
    drop((db, hosts));
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    assert_eq!(frontier.next_due(), Some(100));
    let lease = lease_one(&frontier, 100, 9);
    assert_eq!(urls(&lease), ["http://a.example/"]);
    let trouble = lease.host.trouble.unwrap();
    assert_eq!((trouble.failures, trouble.since, trouble.given_up), (3, 100, false));
    check_counters(&frontier);
}

#[test]
fn a_blocked_host_counts_as_that_and_as_no_other_that_waits() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    let origin = "http://down.example";
    frontier.propose(&[page("http://down.example/1"), page("http://down.example/2")], 0).unwrap();
    let lease = lease_one(&frontier, 0, 1);
    frontier.release(lease, Release { not_before: 10, health: health(trouble(2)), ..Release::default() }).unwrap();
    let counted = |frontier: &EmbeddedFrontier| {
        let waiting = frontier.waiting(0, 9);
        (waiting.troubled.len(), waiting.blocked, waiting.next.len())
    };
    assert_eq!(counted(&frontier), (1, 0, 1));
    frontier.order_host(origin, HostOrder::Block, 0).unwrap();
    assert_eq!(counted(&frontier), (0, 1, 0));
    assert_eq!(frontier.next_due(), None);
    assert!(frontier.lease(1000, LeaseLimits::new(9, 9)).unwrap().is_empty());
    assert!(
        matches!(frontier.lease_host(origin, 1000), Ok(LeaseAnswer::At { at, .. }) if at > 1000),
        "not by a redirect either"
    );
    drop(frontier);

    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    assert_eq!(counted(&frontier), (0, 1, 0));
    frontier.order_host(origin, HostOrder::Unblock, 0).unwrap();
    assert_eq!(counted(&frontier).0, 1);
    assert_eq!(lease_one(&frontier, 1000, 9).work.len(), 2);
}
