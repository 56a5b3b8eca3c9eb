//! What has had its answer is tried again.

use seine::frontier::*;
use seine::page::{FailureReason, Kind};

use crate::support::*;

on_every_frontier!(tries_again_whatever_became_of_it, leaves_alone_what_is_due_or_unknown, survives_a_restart);

const GONE: &str = "https://a.example/gone";
const FAILED: &str = "https://a.example/failed";
const LIVE: &str = "https://a.example/live";
const REFUSED: &str = "https://a.example/refused";
const WAITING: &str = "https://a.example/waiting";

/// One URL in each state.
fn answered(frontier: &dyn Frontier) {
    frontier.propose(&pages(&[GONE, FAILED, LIVE, REFUSED, WAITING]), 0).unwrap();
    let lease = lease_one(frontier, 0, 9);
    let verdicts = vec![
        in_state(GONE, 1, PageState::Gone),
        in_state(FAILED, 2, PageState::Failed(FailureReason::Timeout)),
        fetched(LIVE, 3, None),
        in_state(REFUSED, 4, PageState::Refused),
        retry(WAITING, 5, 9_000, 2),
    ];
    frontier.apply(&batch(1, verdicts, vec![]), 0).unwrap();
    all_fetched(frontier, lease);
}

fn all() -> Vec<String> {
    [GONE, FAILED, LIVE, REFUSED, WAITING].map(str::to_owned).into()
}

fn tries_again_whatever_became_of_it(make: Make) {
    let frontier = make(plain());
    answered(&*frontier);
    assert_eq!(frontier.try_again(&all(), 100).unwrap(), 5);
    let counts = frontier.counts();
    assert_eq!(
        (counts.work_proposed, counts.first_time),
        (5, 4),
        "all but the one that is there are as never asked for"
    );
    assert_eq!((counts.page, counts.live, counts.gone, counts.refused, counts.failed), (1, 1, 0, 0, 0));
    assert_eq!(frontier.page(FAILED).unwrap(), None);
    assert!(frontier.has_work(100));

    let lease = lease_one(&*frontier, 100, 9);
    let mut work = lease.work.clone();
    work.sort_by(|a, b| a.url.cmp(&b.url));
    let found: Vec<_> = work.iter().map(|work| (work.url.as_str(), work.attempt, work.digest.is_some())).collect();
    assert_eq!(
        found,
        [(FAILED, 0, false), (GONE, 0, false), (LIVE, 0, true), (REFUSED, 0, false), (WAITING, 0, false)],
        "with all attempts before them; what is there is compared with what comes"
    );
    // And they have answers again.
    let verdicts = all().iter().zip(10..).map(|(url, event)| fetched(url, event, None)).collect();
    frontier.apply(&batch(2, verdicts, vec![]), 200).unwrap();
    all_fetched(&*frontier, lease);
    let counts = frontier.counts();
    assert_eq!((counts.work_proposed, counts.first_time, counts.page, counts.live), (0, 0, 5, 5));
    assert!(!frontier.has_work(300));
}

fn leaves_alone_what_is_due_or_unknown(make: Make) {
    let frontier = make(plain());
    frontier.propose(&pages(&[LIVE, WAITING]), 0).unwrap();
    assert_eq!(frontier.try_again(&[LIVE.into(), "https://b.example/new".into()], 1).unwrap(), 0);
    let lease = lease_one(&*frontier, 1, 1);
    assert_eq!(frontier.try_again(&[LIVE.into(), WAITING.into()], 1).unwrap(), 0, "in flight, and due");
    assert_eq!(frontier.counts().work_proposed, 2);
    all_fetched(&*frontier, lease);
    assert!(matches!(frontier.try_again(&["nonsense".into()], 1), Err(FrontierError::BadUrl(_))));
}

fn survives_a_restart(make: Make) {
    let mut frontier = make(plain());
    answered(&*frontier);
    frontier.try_again(&all(), 100).unwrap();
    let before = frontier.counts();
    frontier.reopen(200);
    assert_eq!(frontier.counts(), before);
    let lease = lease_one(&*frontier, 10_000, 9);
    assert_eq!(lease.work.len(), 5);
}

/// The books that an audit adds up hold, a sitemap stays a sitemap, and records are found page by page.
#[test]
fn the_store_is_in_order_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = EmbeddedFrontier::open(folder.path(), plain(), 0).unwrap();
    answered(&frontier);
    let map = "https://b.example/sitemap.xml";
    frontier.propose(&[Proposal { kind: Kind::Sitemap, ..page(map) }], 0).unwrap();
    let failed = PageState::Failed(FailureReason::Connect);
    let record = PageRecord { state: failed, kind: Kind::Sitemap, digest: None, ..record(map, 6) };
    let change = Change::Page { record, due_again: None };
    let verdict = Verdict { url: map.into(), kind: Kind::Sitemap, event_id: id(6), change };
    frontier.apply(&batch(2, vec![verdict], vec![]), 0).unwrap();

    let is_failed = |record: &PageRecord| matches!(record.state, PageState::Failed(_));
    let mut found = Vec::new();
    loop {
        let last = found.last().map(|record: &PageRecord| record.url.clone());
        let next = frontier.records_after(last.as_deref(), 1, &is_failed).unwrap();
        if next.is_empty() {
            break;
        }
        found.extend(next);
    }
    let mut urls: Vec<String> = found.into_iter().map(|record| record.url).collect();
    urls.sort();
    assert_eq!(urls, [FAILED, map]);

    assert_eq!(frontier.try_again(&[all(), vec![map.to_owned()]].concat(), 100).unwrap(), 6);
    let (survey, counts) = (frontier.survey().unwrap(), frontier.counts());
    assert_eq!((survey.queued, survey.queued_by_host, survey.places_queued), (6, 6, 6));
    assert_eq!((survey.records(), survey.revisits, survey.places_done), (1, 1, 0));
    assert_eq!((counts.first_time, survey.first_time()), (5, 5));
    assert_eq!(survey.admitted_by_host, counts.page + survey.first_time_pages);
    let kinds: Vec<Kind> =
        frontier.lease(10_000, 9, 9).unwrap().iter().flat_map(|lease| &lease.work).map(|work| work.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == Kind::Sitemap).count(), 1);
    assert_eq!(kinds.len(), 6);
}

/// Recrawling is switched on, made another, and switched off: what is known already follows.
#[test]
fn known_pages_get_other_times() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    let url = |n: u64| format!("http://{}.example/{n}", if n < 1500 { "a" } else { "b" });
    let pages: Vec<_> = (0..2000).map(|n| fetched(&url(n), n + 1, None)).collect();
    let other = vec![
        in_state("http://a.example/refused", 3000, PageState::Refused),
        retry("http://a.example/retried", 3001, 700, 1),
        fetched("http://a.example/parked", 3002, Some(WHEN_MET_AGAIN)),
    ];
    frontier.apply(&batch(1, [pages, other].concat(), vec![]), 0).unwrap();
    frontier.propose(&[page("http://a.example/new")], 0).unwrap();
    assert_eq!(frontier.counts().work_proposed, 3);

    assert_eq!(frontier.set_revisits(10, &|_| Some(500)).unwrap(), 2000);
    assert_eq!(frontier.set_revisits(10, &|_| Some(500)).unwrap(), 0, "nothing has changed");
    assert_eq!((frontier.counts().work_proposed, frontier.counts().first_time), (2003, 2));
    let b = |now| frontier.lease(now, 9, 9).unwrap().into_iter().find(|lease| lease.host.origin == "http://b.example");
    assert!(b(499).is_none());
    frontier.restore().unwrap();
    let lease = b(500).unwrap();
    assert_eq!(lease.work.len(), 9);
    assert_eq!(frontier.set_revisits(10, &|_| None).unwrap(), 1991, "what is in flight is left alone");
    assert_eq!(frontier.counts().work_proposed, 12);
    drop((lease, frontier));
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    assert_eq!(frontier.counts().work_proposed, 12);
    assert_eq!(frontier.set_revisits(10, &|page| Some(page.fetched_ms)).unwrap(), 2000);
    frontier.survey().unwrap();
}
