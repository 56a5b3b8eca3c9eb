//! Which host is leased when, with which URLs, and how leases end.

use seine_frontier::*;
use seine_parse::page::Kind;

use crate::support::*;

on_every_frontier!(
    leases_by_priority_then_first_come,
    leases_a_host_to_one_only,
    gives_as_many_as_asked_for,
    takes_the_most_urgent_hosts_first,
    gives_unfetched_urls_again,
    never_gives_fetched_urls_again,
    takes_the_verdict_before_the_release,
    retries_when_due_with_the_attempt,
    pauses_the_host_of_a_retry,
    revisits_when_due_with_validators,
    shares_a_host_between_new_and_known,
    puts_what_is_due_into_order_with_the_rest,
    keeps_the_longest_wait,
    tries_at_once_what_rested_when_an_earlier_run_ended,
    tells_when_the_next_host_is_due,
    finds_urls_more_urgent_than_those_taken,
    ignores_a_lease_released_twice,
    keeps_kind_and_depth,
);

fn leases_by_priority_then_first_come(make: Make) {
    let mut frontier = make(plain());
    let priorities = [5, 200, 5, 0, 255, 5];
    let work: Vec<_> = priorities
        .iter()
        .enumerate()
        .map(|(n, priority)| Proposal { priority: *priority, ..page(&format!("http://a.example/{n}")) })
        .collect();
    frontier.propose(&work[..3], 0).unwrap();
    frontier.apply(&batch(1, vec![], work[3..].to_vec()), 0).unwrap();
    let expected: Vec<_> = [3, 0, 2, 5, 1, 4].map(|n| format!("http://a.example/{n}")).into();
    for _ in 0..2 {
        let lease = lease_one(&*frontier, 0, 100);
        assert_eq!(urls(&lease), expected);
        frontier.reopen(0);
    }
}

fn leases_a_host_to_one_only(make: Make) {
    let frontier = make(plain());
    frontier.propose(&pages(&["http://a.example/1", "http://a.example/2"]), 0).unwrap();
    let lease = lease_one(&*frontier, 0, 1);
    assert!(frontier.lease(1_000_000, LeaseLimits::new(9, 9)).unwrap().is_empty());
    assert_eq!(frontier.next_due(), None, "all of it is leased");
    frontier.propose(&pages(&["http://a.example/3"]), 0).unwrap();
    frontier.apply(&batch(1, vec![], pages(&["http://a.example/4"])), 0).unwrap();
    assert!(frontier.lease(1_000_000, LeaseLimits::new(9, 9)).unwrap().is_empty());
    assert_eq!(frontier.counts().hosts_leased, 1);
    give_back(&*frontier, lease);
    assert_eq!(lease_one(&*frontier, 0, 9).work.len(), 4);
}

fn gives_as_many_as_asked_for(make: Make) {
    let frontier = make(plain());
    let work: Vec<_> = (0..60).map(|n| page(&format!("http://{}.example/{n}", n % 6))).collect();
    frontier.propose(&work, 0).unwrap();
    assert!(frontier.lease(0, LeaseLimits::new(0, 5)).unwrap().is_empty());
    assert!(frontier.lease(0, LeaseLimits::new(5, 0)).unwrap().is_empty());
    let leases = frontier.lease(0, LeaseLimits::new(4, 3)).unwrap();
    assert_eq!(leases.iter().map(|lease| lease.work.len()).collect::<Vec<_>>(), [3; 4]);
    let ids: std::collections::BTreeSet<u64> = leases.iter().map(|lease| lease.id).collect();
    assert_eq!(ids.len(), 4);
    let rest = frontier.lease(0, LeaseLimits::new(usize::MAX, usize::MAX)).unwrap();
    assert_eq!(rest.iter().map(|lease| lease.work.len()).collect::<Vec<_>>(), [10; 2]);
    let counts = frontier.counts();
    assert_eq!((counts.in_flight, counts.hosts_leased, counts.work_proposed), (32, 6, 60));
}

fn takes_the_most_urgent_hosts_first(make: Make) {
    let frontier = make(plain());
    for (origin, now) in [("http://late.example/", 30), ("http://first.example/", 10), ("http://second.example/", 20)] {
        frontier.propose(&[page(origin)], now).unwrap();
    }
    let order = |now| {
        let leases = frontier.lease(now, LeaseLimits::new(9, 1)).unwrap();
        let order: Vec<_> =
            leases.iter().map(|lease| lease.host.origin.trim_start_matches("http://").to_owned()).collect();
        leases.into_iter().for_each(|lease| give_back(&*frontier, lease));
        order
    };
    assert_eq!(order(9), [""; 0]);
    assert_eq!(order(20), ["first.example", "second.example"]);
    assert_eq!(order(99), ["first.example", "second.example", "late.example"]);
    // The host leased last waits longest, whatever its own due time.
    let lease = lease_one(&*frontier, 100, 1);
    assert_eq!(lease.host.origin, "http://late.example");
    frontier.release(lease, Release { not_before: 50, ..Release::default() }).unwrap();
    assert_eq!(order(101), ["first.example", "second.example", "late.example"]);
}

fn gives_unfetched_urls_again(make: Make) {
    let frontier = make(plain());
    frontier.propose(&pages(&["http://a.example/1", "http://a.example/2", "http://a.example/3"]), 0).unwrap();
    let lease = lease_one(&*frontier, 0, 3);
    let fetched = vec!["http://a.example/2".to_owned(), "http://elsewhere.example/".to_owned(), "no URL".to_owned()];
    frontier.release(lease, Release { fetched, ..Release::default() }).unwrap();
    assert_eq!(urls(&lease_one(&*frontier, 0, 9)), ["http://a.example/1", "http://a.example/3"]);
}

fn never_gives_fetched_urls_again(make: Make) {
    let frontier = make(plain());
    let work: Vec<_> = (0..100).map(|n| page(&format!("http://a.example/{n}"))).collect();
    frontier.propose(&work, 0).unwrap();
    let mut seen = Vec::new();
    for _ in 0..34 {
        let lease = lease_one(&*frontier, 0, 3);
        seen.extend(lease.work.iter().map(|work| work.url.clone()));
        all_fetched(&*frontier, lease);
        if seen.len() % 2 == 0 {
            let url = seen.last().unwrap();
            let cursor = seen.len() as u64;
            frontier.apply(&batch(cursor, vec![fetched(url, cursor, None)], vec![]), 0).unwrap();
        }
    }
    assert_eq!(seen, work.iter().map(|work| work.url.clone()).collect::<Vec<_>>());
    assert!(frontier.lease(0, LeaseLimits::new(9, 9)).unwrap().is_empty());
    assert_eq!(frontier.next_due(), None);
}

fn takes_the_verdict_before_the_release(make: Make) {
    let frontier = make(plain());
    frontier.propose(&pages(&["http://a.example/1", "http://a.example/2"]), 0).unwrap();
    let lease = lease_one(&*frontier, 0, 9);
    let verdicts = vec![fetched("http://a.example/1", 1, Some(10)), retry("http://a.example/2", 2, 20, 1)];
    frontier.apply(&batch(1, verdicts, vec![]), 0).unwrap();
    assert_eq!(frontier.counts().in_flight, 0);
    assert!(frontier.lease(100, LeaseLimits::new(9, 9)).unwrap().is_empty(), "the host is still leased");
    all_fetched(&*frontier, lease);
    assert_eq!(frontier.counts().in_flight, 0);
    assert_eq!(frontier.next_due(), Some(10));
    assert_eq!(lease_one(&*frontier, 100, 9).work.len(), 2);
}

fn retries_when_due_with_the_attempt(make: Make) {
    let mut frontier = make(plain());
    let url = "http://a.example/";
    frontier.propose(&[Proposal { depth: 4, ..page(url) }], 0).unwrap();
    for attempt in 1..4 {
        let now = u64::from(attempt) * 1000;
        let lease = lease_one(&*frontier, now, 1);
        assert_eq!((lease.work[0].attempt, lease.work[0].depth), (attempt - 1, 4));
        all_fetched(&*frontier, lease);
        frontier
            .apply(&batch(attempt.into(), vec![retry(url, attempt.into(), now + 1000, attempt)], vec![]), now)
            .unwrap();
        assert!(frontier.lease(now + 999, LeaseLimits::new(1, 1)).unwrap().is_empty());
        let counts = frontier.counts();
        assert_eq!((counts.work_proposed, counts.first_time, counts.page, counts.in_flight), (1, 1, 0, 0));
        frontier.reopen(now);
        assert_eq!(frontier.next_due(), Some(now + 1000));
    }
    frontier.apply(&batch(9, vec![in_state(url, 9, PageState::Refused)], vec![]), 9000).unwrap();
    assert!(frontier.lease(1_000_000, LeaseLimits::new(1, 1)).unwrap().is_empty());
}

fn pauses_the_host_of_a_retry(make: Make) {
    let mut frontier = make(plain());
    frontier.propose(&pages(&["http://a.example/1", "http://a.example/2"]), 0).unwrap();
    let pause = |url: &str, event, not_before, failures| {
        let host = HostPause { not_before, trouble: Some(trouble(failures)) };
        let change = Change::Retry { at: 10, attempt: 1, put_off: false, cause: None, host };
        verdict(url, event, change)
    };
    let verdicts = vec![pause("http://a.example/1", 1, 700, 1), pause("http://a.example/2", 2, 300, 2)];
    frontier.apply(&batch(1, verdicts, vec![]), 0).unwrap();
    frontier.reopen(0);
    assert_eq!(frontier.next_due(), Some(700));
    assert!(frontier.lease(699, LeaseLimits::new(1, 1)).unwrap().is_empty());
    let lease = lease_one(&*frontier, 700, 1);
    assert_eq!(lease.host.trouble, Some(trouble(2)));

    // The release of that lease is newer than the later verdicts on its events.
    let health = Some(Health::Well);
    frontier.release(lease, Release { not_before: 900, health, ..Release::default() }).unwrap();
    frontier.apply(&batch(2, vec![pause("http://a.example/1", 3, 900, 3)], vec![]), 0).unwrap();
    assert_eq!(lease_one(&*frontier, 900, 1).host.trouble, None);
}

fn revisits_when_due_with_validators(make: Make) {
    let mut frontier = make(plain());
    let url = "http://a.example/";
    frontier.propose(&[page(url)], 0).unwrap();
    let lease = lease_one(&*frontier, 0, 1);
    assert_eq!((lease.work[0].known.etag.as_ref(), lease.work[0].known.digest, lease.work[0].attempt), (None, None, 0));
    all_fetched(&*frontier, lease);
    frontier.apply(&batch(1, vec![fetched(url, 1, Some(500))], vec![]), 0).unwrap();
    let counts = frontier.counts();
    assert_eq!((counts.work_proposed, counts.first_time, counts.page, counts.hosts_with_work), (1, 0, 1, 1));
    frontier.reopen(0);
    assert!(frontier.lease(499, LeaseLimits::new(1, 1)).unwrap().is_empty());
    let lease = lease_one(&*frontier, 500, 1);
    assert_eq!((lease.work[0].known.etag.as_deref(), lease.work[0].depth), (Some("\"1\""), 3));
    all_fetched(&*frontier, lease);
    frontier.apply(&batch(2, vec![retry(url, 2, 600, 1)], vec![]), 500).unwrap();
    assert_eq!(frontier.counts().first_time, 0, "a failed revisit is a revisit");
    let lease = lease_one(&*frontier, 600, 1);
    assert_eq!((lease.work[0].known.etag.as_deref(), lease.work[0].attempt), (Some("\"1\""), 1));
    assert_eq!(lease.work[0].known.digest, Some([7; 32]), "what the next answer is compared with");
    frontier.apply(&batch(3, vec![fetched(url, 3, None)], vec![]), 600).unwrap();
    give_back(&*frontier, lease);
    assert_eq!(frontier.next_due(), None);
}

/// Nine of ten URLs of a site are known, and all are due. New URLs are fetched nevertheless, and the other way round.
fn shares_a_host_between_new_and_known(make: Make) {
    let frontier = make(FrontierOptions { revisit_share: 0.25, ..plain() });
    let url = |kind: &str, n: u64| format!("http://a.example/{kind}/{n}");
    let known: Vec<_> = (0..90).map(|n| fetched(&url("known", n), n + 1, Some(100))).collect();
    frontier.apply(&batch(1, known, vec![]), 0).unwrap();
    let new: Vec<_> = (0..90).map(|n| page(&url("new", n))).collect();
    frontier.propose(&new, 0).unwrap();
    let leased = |now, at_most| {
        let lease = lease_one(&*frontier, now, at_most);
        let known = lease.work.iter().filter(|work| work.url.contains("known")).count();
        let all = lease.work.len();
        give_back(&*frontier, lease);
        (known, all)
    };
    assert_eq!(leased(99, 40), (0, 40), "nothing known is due");
    for now in 100..120 {
        let (known, all) = leased(now, 40);
        assert!((9..=11).contains(&known) && all == 40, "{known} of {all}");
    }
    let one_by_one: usize = (1000..1200).map(|now| leased(now, 1).0).sum();
    assert!((30..=70).contains(&one_by_one), "of one place each in turn: {one_by_one} of 200");
    assert_eq!(leased(200, 150), (60, 150), "what the one does not need the other has");
}

fn puts_what_is_due_into_order_with_the_rest(make: Make) {
    let frontier = make(plain());
    let with = |priority, n: u32| Proposal { priority, ..page(&format!("http://a.example/{n}")) };
    frontier.propose(&[with(5, 0), with(1, 1), with(5, 2), with(9, 3)], 0).unwrap();
    let verdicts = vec![retry("http://a.example/2", 1, 30, 1), retry("http://a.example/1", 2, 20, 1)];
    frontier.apply(&batch(1, verdicts, vec![]), 0).unwrap();
    let order = |now| {
        let lease = lease_one(&*frontier, now, 9);
        let order: String = lease.work.iter().filter_map(|work| work.url.chars().last()).collect();
        give_back(&*frontier, lease);
        order
    };
    assert_eq!(order(19), "03");
    assert_eq!(order(20), "031", "a retry lets go first what was never asked for");
    assert_eq!(order(30), "0312", "retries among themselves go by their rank");
    assert_eq!(order(600_019), "0312");
    assert_eq!(order(600_020), "1032", "it has waited for ten minutes");
    assert_eq!(order(600_030), "1023");
}

fn keeps_the_longest_wait(make: Make) {
    let mut frontier = make(plain());
    frontier.propose(&[page("http://a.example/")], 0).unwrap();
    let lease = lease_one(&*frontier, 0, 1);
    let asked = Trouble { asked_until: Some(5000), ..trouble(3) };
    let health = Some(Health::Troubled(asked));
    frontier.release(lease, Release { not_before: 5000, health, ..Release::default() }).unwrap();
    frontier.reopen(100);
    assert_eq!(frontier.next_due(), Some(5000), "what the server asked for");
    let lease = lease_one(&*frontier, 5000, 1);
    assert_eq!(lease.host.trouble, Some(asked));
    frontier.release(lease, Release { not_before: 10, ..Release::default() }).unwrap();
    assert_eq!(frontier.next_due(), Some(5000), "a release takes back no wait");
}

/// A back-off ends with the run that decided it; the trouble is kept.
fn tries_at_once_what_rested_when_an_earlier_run_ended(make: Make) {
    let mut frontier = make(plain());
    frontier.propose(&[page("http://a.example/")], 0).unwrap();
    let lease = lease_one(&*frontier, 0, 1);
    let health = Some(Health::Troubled(trouble(3)));
    frontier.release(lease, Release { not_before: 5000, health, ..Release::default() }).unwrap();
    assert_eq!(frontier.next_due(), Some(5000));
    frontier.reopen(100);
    assert!(frontier.next_due().is_some_and(|due| due <= 100), "{:?}", frontier.next_due());
    let lease = lease_one(&*frontier, 100, 1);
    assert_eq!(lease.host.trouble, Some(trouble(3)));
}

fn tells_when_the_next_host_is_due(make: Make) {
    let frontier = make(plain());
    assert_eq!(frontier.next_due(), None);
    let verdicts = vec![retry("http://a.example/", 1, 40, 1), retry("http://b.example/", 2, 60, 1)];
    frontier.apply(&batch(1, verdicts, vec![]), 0).unwrap();
    assert_eq!(frontier.next_due(), Some(40));
    let lease = lease_one(&*frontier, 50, 1);
    assert_eq!(frontier.next_due(), Some(60));
    give_back(&*frontier, lease);
    assert_eq!(frontier.next_due(), Some(40));
    frontier.apply(&batch(2, vec![fetched("http://a.example/", 3, None)], vec![]), 0).unwrap();
    assert_eq!(frontier.next_due(), Some(60));
    frontier.propose(&[page("http://b.example/2")], 0).unwrap();
    assert_eq!(frontier.next_due(), Some(0));
}

fn finds_urls_more_urgent_than_those_taken(make: Make) {
    let frontier = make(plain());
    let work: Vec<_> = (0..10).map(|n| page(&format!("http://a.example/{n}"))).collect();
    frontier.propose(&work, 0).unwrap();
    let lease = lease_one(&*frontier, 0, 5);
    all_fetched(&*frontier, lease);
    let verdicts = (0..5).map(|n| fetched(&work[n].url, n as u64 + 1, None)).collect();
    frontier.apply(&batch(1, verdicts, vec![]), 0).unwrap();
    give_back(&*frontier, lease_one(&*frontier, 0, 5));
    frontier.propose(&[Proposal { priority: 0, ..page("http://a.example/urgent") }], 0).unwrap();
    assert_eq!(urls(&lease_one(&*frontier, 0, 2)), ["http://a.example/urgent", "http://a.example/5"]);
}

fn ignores_a_lease_released_twice(make: Make) {
    let frontier = make(plain());
    frontier.propose(&pages(&["http://a.example/1"]), 0).unwrap();
    let first = lease_one(&*frontier, 0, 1);
    give_back(&*frontier, first.clone());
    let second = lease_one(&*frontier, 0, 1);
    give_back(&*frontier, first);
    assert!(frontier.lease(0, LeaseLimits::new(9, 9)).unwrap().is_empty(), "the second lease still runs");
    assert_eq!(frontier.counts().in_flight, 1);
    give_back(&*frontier, second);
    assert_eq!(frontier.counts().in_flight, 0);
}

fn keeps_kind_and_depth(make: Make) {
    let mut frontier = make(plain());
    let sitemap = Proposal { kind: Kind::Sitemap, depth: 300, ..page("http://a.example/sitemap.xml") };
    frontier.propose(&[sitemap, page("http://a.example/")], 0).unwrap();
    frontier.reopen(0);
    let lease = lease_one(&*frontier, 0, 9);
    assert_eq!((lease.work[0].kind, lease.work[0].depth), (Kind::Sitemap, 300));
    assert_eq!((lease.work[1].kind, lease.work[1].depth), (Kind::Page, 0));
}
