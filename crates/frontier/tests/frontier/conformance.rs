//! Proposals, verdicts, counters and stored state.

use std::time::Duration;

use seine_delivery::Offset;
use seine_frontier::*;
use seine_parse::page::{Doubt, Failure, FailureReason, Kind};
use seine_policies::revisit::{Belief, History};

use crate::support::*;

on_every_frontier!(
    adds_what_is_new_once,
    refuses_what_is_no_url,
    keeps_to_the_limit_of_a_host,
    moves_a_url_from_work_to_page,
    applies_links_after_verdicts,
    counts_pages_by_state,
    changes_nothing_the_second_time,
    lets_no_old_verdict_undo_a_newer_one,
    believes_the_log_more_than_the_clock,
    takes_verdicts_of_urls_never_proposed,
    refuses_a_batch_as_a_whole,
    keeps_everything_over_a_restart,
    keeps_robots_and_failures_of_a_host,
    waits_out_the_delay_after_a_restart,
    keeps_notes,
    knows_whether_anything_is_left_to_do_however_long_a_host_rests,
    keeps_every_field_of_a_page,
);

fn adds_what_is_new_once(make: Make) {
    let frontier = make(plain());
    let work = pages(&["https://a.example/", "https://a.example/1", "https://a.example/", "http://a.example/"]);
    assert_eq!(frontier.propose(&work, 0).unwrap(), Proposed { added: 3, known: 1, over_limit: 0, over_hosts: 0 });
    assert_eq!(frontier.propose(&work, 0).unwrap(), Proposed { added: 0, known: 4, over_limit: 0, over_hosts: 0 });
    let counts = frontier.counts();
    assert_eq!((counts.work_proposed, counts.first_time, counts.hosts, counts.hosts_with_work), (3, 3, 2, 2));
    assert_eq!(counts.links_seen, 0, "only what is applied is a link");
}

fn refuses_what_is_no_url(make: Make) {
    let frontier = make(plain());
    for bad in ["", "/a", "ftp://a.example/", "http:///a", "https://a.example", "https://user@a.example/", "HTTP://a/"]
    {
        let work = [page("https://good.example/"), page(bad)];
        assert!(matches!(frontier.propose(&work, 0), Err(FrontierError::BadUrl(_))), "{bad}");
        assert!(matches!(frontier.page(bad), Err(FrontierError::BadUrl(_))), "{bad}");
    }
    assert_eq!(frontier.counts(), Counts::default(), "nothing of the calls was done");
}

fn keeps_to_the_limit_of_a_host(make: Make) {
    let mut frontier = make(FrontierOptions { max_pages_per_host: Some(2), ..plain() });
    let work = pages(&["http://a.example/1", "http://a.example/2", "http://a.example/3", "http://b.example/1"]);
    assert_eq!(frontier.propose(&work, 0).unwrap(), Proposed { added: 3, known: 0, over_limit: 1, over_hosts: 0 });
    let sitemap = Proposal { kind: Kind::Sitemap, ..page("http://a.example/sitemap.xml") };
    assert_eq!(frontier.propose(&[sitemap], 0).unwrap().added, 1, "a sitemap is no page");
    frontier.apply(&batch(1, vec![fetched("http://a.example/1", 1, None)], vec![]), 0).unwrap();
    frontier.reopen(1);
    let more = pages(&["http://a.example/3", "http://b.example/2", "http://b.example/3"]);
    assert_eq!(frontier.propose(&more, 0).unwrap(), Proposed { added: 1, known: 0, over_limit: 2, over_hosts: 0 });
}

fn knows_whether_anything_is_left_to_do_however_long_a_host_rests(make: Make) {
    let frontier = make(plain());
    assert!(!frontier.has_work(0), "nothing is known");
    frontier.propose(&pages(&["https://a.example/1", "https://a.example/2"]), 0).unwrap();
    assert!(frontier.has_work(0));
    let lease = lease_one(&*frontier, 0, 9);
    assert!(frontier.has_work(0), "leased");
    all_fetched(&*frontier, lease);
    assert!(frontier.has_work(0), "fetched, and not applied");

    let verdicts = vec![fetched("https://a.example/1", 1, Some(20)), retry("https://a.example/2", 2, 99, 1)];
    frontier.apply(&batch(1, verdicts, vec![]), 10).unwrap();
    assert!(frontier.has_work(19), "one has never been fetched, however late it is tried again");
    frontier.apply(&batch(2, vec![fetched("https://a.example/2", 3, Some(9_000))], vec![]), 10).unwrap();
    assert!(!frontier.has_work(19), "both are looked at again, later");
    assert!(frontier.has_work(20));

    let lease = lease_one(&*frontier, 20, 9);
    assert_eq!(lease.work.len(), 1);
    assert!(frontier.has_work(20), "leased");
    frontier.release(lease, Release { not_before: 5_000, ..Release::default() }).unwrap();
    assert!(frontier.has_work(20), "given back unfetched: due, though its host rests");
    assert_eq!(frontier.next_due(), Some(5_000));

    let lease = lease_one(&*frontier, 5_000, 9);
    all_fetched(&*frontier, lease);
    assert!(frontier.has_work(5_000), "fetched again, and not applied");
    frontier.apply(&batch(3, vec![fetched("https://a.example/1", 4, None)], vec![]), 10).unwrap();
    assert!(!frontier.has_work(8_999));
    assert!(frontier.has_work(9_000));
}

fn moves_a_url_from_work_to_page(make: Make) {
    let frontier = make(plain());
    let url = "https://a.example/x?y=1";
    frontier.propose(&[page(url)], 0).unwrap();
    assert_eq!(frontier.page(url).unwrap(), None);
    let lease = lease_one(&*frontier, 0, 9);
    all_fetched(&*frontier, lease);
    assert_eq!(frontier.counts().in_flight, 1);
    let applied = frontier.apply(&batch(1, vec![fetched(url, 1, None)], vec![]), 0).unwrap();
    assert_eq!(applied.verdicts, 1);
    assert_eq!(frontier.page(url).unwrap(), Some(record(url, 1)));
    let counts = frontier.counts();
    assert_eq!((counts.work_proposed, counts.page, counts.live, counts.in_flight), (0, 1, 1, 0));
    assert_eq!((counts.hosts, counts.hosts_with_work), (1, 0));
    assert_eq!(frontier.propose(&[page(url)], 0).unwrap().known, 1, "what is in page is known");
    assert_eq!(frontier.next_due(), None);
}

fn applies_links_after_verdicts(make: Make) {
    let frontier = make(plain());
    let links = pages(&["http://a.example/", "http://a.example/2", "http://a.example/2", "http://b.example/"]);
    let applied = frontier.apply(&batch(1, vec![fetched("http://a.example/", 1, None)], links), 5).unwrap();
    assert_eq!(
        applied,
        Applied {
            verdicts: 1,
            proposed: Proposed { added: 2, known: 2, over_limit: 0, over_hosts: 0 },
            ..Applied::default()
        }
    );
    assert_eq!(frontier.counts().links_seen, 4);
    assert_eq!(frontier.counts().work_proposed, 2);
}

fn counts_pages_by_state(make: Make) {
    let mut frontier = make(plain());
    use PageState::{Changed, Gone, New, Refused, Unchanged, Withheld};
    let answered = [New, Unchanged, Changed, Gone, Refused, Withheld];
    let states: Vec<_> = answered.into_iter().chain(FailureReason::ALL.map(PageState::Failed)).collect();
    let failed = FailureReason::ALL.len() as u64;
    let url = |number: usize| format!("http://a.example/{number}");
    let verdicts = states.iter().enumerate().map(|(number, state)| in_state(&url(number), 1, *state)).collect();
    frontier.apply(&batch(1, verdicts, vec![]), 0).unwrap();
    let by_state =
        |counts: Counts| (counts.page, counts.live, counts.gone, counts.refused, counts.failed, counts.withheld);
    assert_eq!(by_state(frontier.counts()), (6 + failed, 3, 1, 1, failed, 1));
    frontier.apply(&batch(2, vec![in_state(&url(0), 2, PageState::Gone)], vec![]), 0).unwrap();
    assert_eq!(by_state(frontier.counts()), (6 + failed, 2, 2, 1, failed, 1));
    frontier.reopen(0);
    assert_eq!(by_state(frontier.counts()), (6 + failed, 2, 2, 1, failed, 1));
    for (number, state) in states.iter().enumerate().skip(1) {
        assert_eq!(frontier.page(&url(number)).unwrap().unwrap().state, *state);
    }
}

fn changes_nothing_the_second_time(make: Make) {
    let frontier = make(plain());
    frontier.propose(&pages(&["http://a.example/1", "http://a.example/2"]), 0).unwrap();
    let verdicts = vec![fetched("http://a.example/1", 1, Some(500)), retry("http://a.example/2", 2, 400, 1)];
    let links = pages(&["http://a.example/3"]);
    frontier.apply(&batch(7, verdicts.clone(), links.clone()), 0).unwrap();
    let before = frontier.counts();
    for cursor in [1, 7] {
        let again = frontier.apply(&batch(cursor, verdicts.clone(), links.clone()), 0).unwrap();
        assert_eq!(again, Applied::default(), "at or before the cursor");
    }
    assert_eq!(frontier.cursor().unwrap(), at(7));
    assert_eq!(frontier.counts(), before);
    let again = frontier.apply(&batch(8, verdicts, links), 0).unwrap();
    assert_eq!(again, Applied { proposed: Proposed { known: 1, ..Proposed::default() }, ..Applied::default() });
    assert_eq!(frontier.counts(), Counts { links_seen: before.links_seen + 1, ..before });
    assert_eq!(frontier.cursor().unwrap(), at(8));
}

fn lets_no_old_verdict_undo_a_newer_one(make: Make) {
    let frontier = make(plain());
    let url = "http://a.example/";
    frontier.apply(&batch(1, vec![retry(url, 1, 10, 1), fetched(url, 2, None)], vec![]), 0).unwrap();
    let again = vec![retry(url, 1, 10, 1), fetched(url, 2, None)];
    assert_eq!(frontier.apply(&batch(2, again, vec![]), 0).unwrap().verdicts, 0);
    assert_eq!(frontier.counts().work_proposed, 0);
    assert_eq!(frontier.page(url).unwrap().unwrap().event_id, id(2));
}

/// An id older than the record's belongs to an old event, unless a verdict is expected: then the clock was set back.
fn believes_the_log_more_than_the_clock(make: Make) {
    let frontier = make(plain());
    let url = "http://a.example/";
    frontier.apply(&batch(1, vec![fetched(url, 50, Some(0))], vec![]), 0).unwrap();
    assert_eq!(frontier.apply(&batch(2, vec![fetched(url, 40, None)], vec![]), 0).unwrap().verdicts, 0);
    let lease = lease_one(&*frontier, 0, 1);
    all_fetched(&*frontier, lease);
    assert_eq!(frontier.apply(&batch(3, vec![fetched(url, 45, None)], vec![]), 0).unwrap().verdicts, 1);
    assert_eq!(frontier.page(url).unwrap().unwrap().event_id, id(45));
    assert_eq!(frontier.counts().in_flight, 0);
}

fn takes_verdicts_of_urls_never_proposed(make: Make) {
    let frontier = make(plain());
    let verdicts = vec![
        fetched("http://a.example/1", 1, None),
        fetched("http://b.example/1", 2, Some(70)),
        retry("http://c.example/1", 3, 80, 2),
    ];
    assert_eq!(frontier.apply(&batch(1, verdicts, vec![]), 0).unwrap().verdicts, 3);
    let counts = frontier.counts();
    assert_eq!((counts.work_proposed, counts.first_time, counts.page, counts.hosts), (2, 1, 2, 3));
    assert_eq!(frontier.next_due(), Some(70));
    assert_eq!(lease_one(&*frontier, 79, 9).work[0].url, "http://b.example/1");
    assert_eq!(lease_one(&*frontier, 80, 9).work[0].attempt, 2);
}

fn refuses_a_batch_as_a_whole(make: Make) {
    let frontier = make(plain());
    let good = || vec![fetched("http://a.example/", 1, None)];
    assert!(frontier.apply(&batch(1, good(), pages(&["mailto:x@example.com"])), 0).is_err());
    assert!(frontier.apply(&batch(1, [good(), vec![fetched("nonsense", 2, None)]].concat(), vec![]), 0).is_err());
    assert_eq!(frontier.counts(), Counts::default());
    assert_eq!(frontier.cursor().unwrap(), Offset::default());
}

fn keeps_everything_over_a_restart(make: Make) {
    let mut frontier = make(plain());
    let work: Vec<_> = (0..50).map(|number| page(&format!("http://{}.example/{number}", number % 7))).collect();
    frontier.propose(&work, 0).unwrap();
    let verdicts = (0..10).map(|n| fetched(&work[n].url, n as u64 + 1, (n % 2 == 0).then_some(900))).collect();
    frontier.apply(&batch(3, verdicts, vec![]), 0).unwrap();
    frontier.apply(&batch(4, vec![retry(&work[20].url, 30, 950, 1)], vec![]), 0).unwrap();
    let lease = lease_one(&*frontier, 0, 5);
    all_fetched(&*frontier, lease);
    let _never_released = lease_one(&*frontier, 0, 5);
    let before = Counts { in_flight: 0, hosts_leased: 0, ..frontier.counts() };

    frontier.reopen(0);
    assert_eq!(frontier.counts(), before);
    assert_eq!(frontier.cursor().unwrap(), at(4));
    assert_eq!(frontier.page(&work[0].url).unwrap(), Some(record(&work[0].url, 1)));
    let leases = frontier.lease(1000, LeaseLimits::new(100, 100)).unwrap();
    let mut found: Vec<&str> = leases.iter().flat_map(urls).collect();
    found.sort_unstable();
    let is_work = |n: &usize| *n >= 10 || n.is_multiple_of(2);
    let mut expected: Vec<&str> = (0..50).filter(is_work).map(|n| work[n].url.as_str()).collect();
    expected.sort_unstable();
    assert_eq!(found, expected, "what was leased or fetched without a verdict is there again");
}

fn keeps_robots_and_failures_of_a_host(make: Make) {
    let mut frontier = make(plain());
    let robots = [
        RobotsAccess::Rules("User-agent: *\nDisallow: /x é\n".into()),
        RobotsAccess::AllowAll,
        RobotsAccess::Unreachable(Failure { reason: FailureReason::Dns, message: "no address".into() }),
    ];
    frontier.propose(&[page("http://a.example/")], 0).unwrap();
    let lease = lease_one(&*frontier, 0, 1);
    assert_eq!(
        lease.host,
        Host { origin: "http://a.example".into(), robots: None, trouble: None, ordered_delay: None }
    );
    give_back(&*frontier, lease);
    for (number, access) in robots.into_iter().enumerate() {
        let robots = Some(Robots { fetched_ms: 5, expires_ms: 6, access, tdm: None });
        let lease = lease_one(&*frontier, 0, 1);
        let trouble = Trouble { suspect: (number == 1).then_some(77), ..trouble(number as u32) };
        let health = Some(Health::Troubled(trouble));
        frontier.release(lease, Release { robots: robots.clone(), health, ..Release::default() }).unwrap();
        give_back(&*frontier, lease_one(&*frontier, 0, 1));
        frontier.reopen(0);
        let lease = lease_one(&*frontier, 0, 1);
        assert_eq!((&lease.host.robots, lease.host.trouble), (&robots, Some(trouble)));
        give_back(&*frontier, lease);
    }
}

fn waits_out_the_delay_after_a_restart(make: Make) {
    let mut frontier = make(FrontierOptions { default_delay: Duration::from_secs(1), ..plain() });
    frontier.propose(&pages(&["http://a.example/", "http://b.example/", "http://c.example/"]), 100).unwrap();
    let release = |delay: u64, not_before| {
        let lease = lease_one(&*frontier, 100, 1);
        let delay = Duration::from_millis(delay);
        frontier.release(lease, Release { delay, not_before, ..Release::default() }).unwrap();
    };
    release(5_000, 200);
    release(0, 90_000);
    frontier.reopen(10_000);
    assert!(frontier.lease(10_999, LeaseLimits::new(9, 9)).unwrap().is_empty());
    assert_eq!(lease_one(&*frontier, 11_000, 9).host.origin, "http://c.example", "the default delay");
    assert_eq!(frontier.next_due(), Some(15_000));
    assert_eq!(lease_one(&*frontier, 15_000, 9).host.origin, "http://a.example", "its own delay is longer");
    assert_eq!(frontier.next_due(), Some(90_000));
    // The same rule applies to a host that gets its first URLs.
    frontier.apply(&batch(1, vec![fetched("http://c.example/", 1, None)], vec![]), 11_000).unwrap();
    frontier.reopen(20_000);
    frontier.propose(&[page("http://c.example/2")], 20_001).unwrap();
    assert_eq!(frontier.next_due(), Some(21_000));
}

fn keeps_notes(make: Make) {
    let mut frontier = make(plain());
    assert_eq!(frontier.note("scope").unwrap(), None);
    frontier.set_note("scope", "{\"hosts\":[\"é\"]}").unwrap();
    frontier.set_note("seed", "mine").unwrap();
    frontier.set_note("seed", "").unwrap();
    frontier.reopen(0);
    assert_eq!(frontier.note("scope").unwrap().as_deref(), Some("{\"hosts\":[\"é\"]}"));
    assert_eq!(frontier.note("seed").unwrap().as_deref(), Some(""));
    assert_eq!(frontier.note("totals").unwrap(), None);
}

/// Times and numbers that must be stored exactly.
const HISTORY: History = History {
    alive_ms: 1_699_999_000_000,
    doubted_since: None,
    doubt: Doubt::Missing,
    changes: 3,
    belief: Belief { changes: 2.5, days: 17.25 },
    hinted: Some(0),
    tells: Some(70_000),
};

fn keeps_every_field_of_a_page(make: Make) {
    let mut frontier = make(plain());
    let records = [
        record("https://a.example:8443/p?q=1", 1),
        PageRecord {
            digest: None,
            etag: None,
            last_modified: Some("Thu, 01 Jan 1970".into()),
            ..record("http://a/", 2)
        },
        PageRecord {
            event_id: "not hex".into(),
            kind: Kind::Sitemap,
            depth: u16::MAX,
            status: 0,
            fetched_ms: u64::MAX,
            history: Some(HISTORY),
            ..record("http://b/", 3)
        },
        PageRecord {
            event_id: "ABCDEF".into(),
            history: Some(History {
                doubted_since: Some(1_700_000_000_500),
                doubt: Doubt::Noindex,
                changes: 70_000,
                hinted: Some(90),
                tells: None,
                ..HISTORY
            }),
            etag: Some(String::new()),
            last_modified: Some("é".into()),
            final_url: Some("http://d/é".into()),
            noindex: true,
            preferences: Some(Vec::new()),
            must_refetch: true,
            target: Some("http://d/é?1".into()),
            texts: [(0, u64::MAX), (64, 7)].into(),
            passed_at: None,
            ..record("http://c/é", 4)
        },
    ];
    for (number, record) in records.iter().enumerate() {
        let change = Change::Page { record: record.clone(), due_again: None };
        let verdict = Verdict { event_id: record.event_id.clone(), ..verdict(&record.url, 0, change) };
        frontier.apply(&batch(number as u64 + 1, vec![verdict], vec![]), 0).unwrap();
    }
    frontier.reopen(0);
    for record in records {
        assert_eq!(frontier.page(&record.url).unwrap(), Some(record));
    }
}

#[test]
fn tells_the_durable_cursor() {
    let frontier = embedded(plain());
    assert_eq!(frontier.durable_cursor().unwrap(), Offset::default());
    frontier.apply(&batch(5, vec![], vec![]), 0).unwrap();
    assert_eq!(frontier.durable_cursor().unwrap(), at(5));
    frontier.flush().unwrap();
    assert_eq!(frontier.durable_cursor().unwrap(), at(5));
}
