//! Rechecks and retries of URLs with a final answer.

use seine_frontier::*;
use seine_parse::page::{EpochMs, FailureReason, Kind, PageChange};

use crate::support::*;

on_every_frontier!(
    tries_again_whatever_became_of_it,
    leaves_alone_what_is_due_or_unknown,
    survives_a_restart,
    rechecks_every_page_of_a_host_that_is_too_slow_for_all,
);

const GONE: &str = "https://a.example/gone";
const FAILED: &str = "https://a.example/failed";
const LIVE: &str = "https://a.example/live";
const REFUSED: &str = "https://a.example/refused";
const WAITING: &str = "https://a.example/waiting";

/// One URL in each state.
fn answered(frontier: &dyn Model) {
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

/// Each page is due again as soon as it was fetched, and a lease has room for few. Pages that were found last, and have
/// the lowest rank, get their turn too.
fn rechecks_every_page_of_a_host_that_is_too_slow_for_all(make: Make) {
    const PAGES: usize = 60;
    let frontier = make(plain());
    let names: Vec<String> = (0..PAGES).map(|n| format!("https://a.example/{n}")).collect();
    frontier.propose(&names.iter().map(|url| page(url)).collect::<Vec<_>>(), 0).unwrap();
    let mut fetches = std::collections::HashMap::<String, usize>::new();
    for now in 1..=40 {
        let lease = lease_one(&*frontier, now, 6);
        let urls: Vec<_> = lease.work.iter().map(|work| work.url.clone()).collect();
        let verdicts = urls.iter().map(|url| fetched(url, now, Some(now + 1))).collect();
        frontier.apply(&batch(now, verdicts, vec![]), now).unwrap();
        all_fetched(&*frontier, lease);
        urls.into_iter().for_each(|url| *fetches.entry(url).or_default() += 1);
    }
    // 240 fetches are four for each page. The first pages have some more, which new pages left to them.
    assert_eq!(fetches.len(), PAGES);
    assert!(fetches.values().all(|times| *times >= 3), "{fetches:?}");
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
    let found: Vec<_> =
        work.iter().map(|work| (work.url.as_str(), work.attempt, work.known.digest.is_some())).collect();
    assert_eq!(
        found,
        [(FAILED, 0, false), (GONE, 0, false), (LIVE, 0, true), (REFUSED, 0, false), (WAITING, 0, false)],
        "with all attempts before them; what is there is compared with what comes"
    );
    // They get final answers again.
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

/// The audit balances, a sitemap stays a sitemap, and records are found page by page.
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
    let verdict = Verdict { kind: Kind::Sitemap, ..verdict(map, 6, change) };
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
    assert_eq!((survey.queued, survey.queued_by_host, survey.known_queued), (6, 6, 6));
    assert_eq!((survey.records(), survey.revisits, survey.known_done), (1, 1, 0));
    assert_eq!((counts.first_time, survey.first_time()), (5, 5));
    assert_eq!(survey.admitted_by_host, counts.page + survey.first_time_pages);
    let kinds: Vec<Kind> = frontier
        .lease(10_000, LeaseLimits::new(9, 9))
        .unwrap()
        .iter()
        .flat_map(|lease| &lease.work)
        .map(|work| work.kind)
        .collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == Kind::Sitemap).count(), 1);
    assert_eq!(kinds.len(), 6);
}

/// The number of live pages whose due time changed.
fn look(frontier: &EmbeddedFrontier, due: Option<EpochMs>) -> u64 {
    frontier.recheck(None, 10, &|page| page.state.is_found().then_some(Recheck::At(due))).unwrap()
}

/// The recheck interval is set, changed and removed; known pages follow.
#[test]
fn known_pages_get_other_times() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    let url = |n: u64| format!("http://{}.example/{n}", if n < 1500 { "a" } else { "b" });
    let pages: Vec<_> = (0..2000).map(|n| fetched(&url(n), n + 1, None)).collect();
    let other = vec![
        in_state("http://a.example/refused", 3000, PageState::Refused),
        retry("http://a.example/retried", 3001, 700, 1),
        fetched("http://a.example/parked", 3002, Some(WHEN_LINKED_AGAIN)),
    ];
    frontier.apply(&batch(1, [pages, other].concat(), vec![]), 0).unwrap();
    frontier.propose(&[page("http://a.example/new")], 0).unwrap();
    assert_eq!(frontier.counts().work_proposed, 3);

    assert_eq!(look(&frontier, Some(500)), 2000);
    assert_eq!(look(&frontier, Some(500)), 0, "nothing has changed");
    assert_eq!((frontier.counts().work_proposed, frontier.counts().first_time), (2003, 2));
    let b = |now| {
        frontier
            .lease(now, LeaseLimits::new(9, 9))
            .unwrap()
            .into_iter()
            .find(|lease| lease.host.origin == "http://b.example")
    };
    assert!(b(499).is_none());
    frontier.restore().unwrap();
    let lease = b(500).unwrap();
    assert_eq!(lease.work.len(), 9);
    assert_eq!(look(&frontier, None), 1991, "what is in flight is left alone");
    assert_eq!(frontier.counts().work_proposed, 12);
    drop((lease, frontier));
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    assert_eq!(frontier.counts().work_proposed, 12);
    let at_last_look = |page: &PageRecord| page.state.is_found().then_some(Recheck::At(Some(page.fetched_ms)));
    assert_eq!(frontier.recheck(None, 10, &at_last_look).unwrap(), 2000);
    frontier.survey().unwrap();
}

/// Scope or depth changed: pages that are no longer admitted come first, and pages that may have new links are
/// refetched.
#[test]
fn known_pages_are_brought_forward() {
    const LEAVES: &str = "http://a.example/leaves";
    const PARKED: &str = "http://a.example/parked";
    const STAYS: &str = "http://a.example/stays";
    const REFUSED: &str = "http://a.example/refused";
    let dir = tempfile::tempdir().unwrap();
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    let verdicts = vec![
        fetched(LEAVES, 1, Some(9000)),
        fetched(PARKED, 2, Some(WHEN_LINKED_AGAIN)),
        fetched(STAYS, 3, None),
        in_state(REFUSED, 4, PageState::Failed(FailureReason::OutOfScope)),
    ];
    frontier.apply(&batch(1, verdicts, vec![]), 0).unwrap();
    let looks = |page: &PageRecord| match page.url.as_str() {
        LEAVES | PARKED => Some(Recheck::First),
        STAYS => Some(Recheck::Refetch),
        _ => Some(Recheck::TryAgain),
    };
    // An interrupted call is repeated with the same result.
    for changed in [4, 3] {
        assert_eq!(frontier.recheck(None, 100, &looks).unwrap(), changed);
        check_counters(&frontier);
    }
    drop(frontier);
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    assert_eq!(frontier.page(REFUSED).unwrap(), None);
    let lease = lease_one(&frontier, 100, 2);
    assert_eq!(lease.work.len(), 2);
    frontier.release(lease, Default::default()).unwrap();
    let lease = lease_one(&frontier, 100, 9);
    let work = |url: &str| lease.work.iter().find(|work| work.url == url).unwrap();
    for url in [LEAVES, PARKED] {
        assert!(work(url).was_found && work(url).known.etag.is_some(), "{url}");
    }
    let reread = work(STAYS);
    assert_eq!((reread.was_found, reread.known.digest.is_some(), &reread.known.etag), (true, true, &None));
    assert!(frontier.page(STAYS).unwrap().unwrap().must_refetch);
    assert!(!work(REFUSED).was_found);
}

/// The validator reads the record, the page is marked, and only then the validator writes its verdict. Otherwise a
/// destination that was emptied would never get the page, if its host always answers 304.
#[test]
fn a_mark_that_is_set_while_an_answer_is_judged_stays_until_there_is_content() {
    const URL: &str = "http://a.example/";
    let dir = tempfile::tempdir().unwrap();
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    let answer = |event: u64, status: u16| {
        let record = PageRecord { status, ..record(URL, event) };
        let attempt = Attempt { at: record.fetched_ms, ..ATTEMPT };
        let change = Change::Page { record, due_again: Some(event * 1_000) };
        batch(event, vec![Verdict { attempt, ..verdict(URL, event, change) }], vec![])
    };
    frontier.apply(&answer(1, 200), 0).unwrap();
    let unchanged = answer(2, 304);
    assert_eq!(frontier.recheck(None, 10, &|_| Some(Recheck::RefetchInTime)).unwrap(), 1);
    frontier.apply(&unchanged, 20).unwrap();
    assert!(frontier.page(URL).unwrap().unwrap().must_refetch);
    let lease = lease_one(&frontier, 3_000, 1);
    assert_eq!(lease.work[0].known.etag, None, "the request is without conditions");
    frontier.apply(&answer(3, 200), 3_000).unwrap();
    assert!(!frontier.page(URL).unwrap().unwrap().must_refetch);
}

#[test]
fn a_known_url_that_is_given_as_a_seed_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    let [queued, fetched_before, due] = ["http://a.example/1", "http://a.example/2", "http://a.example/3"];
    frontier.apply(&batch(1, vec![fetched(fetched_before, 1, None), fetched(due, 2, Some(50))], vec![]), 0).unwrap();
    let deep = |url: &str| Proposal { depth: 7, ..page(url) };
    frontier.propose(&[deep(queued)], 0).unwrap();
    let seeds = [queued, fetched_before, due].map(|url| Proposal { depth: 0, ..page(url) });
    assert_eq!(frontier.propose(&seeds, 0).unwrap().known, 3);
    check_counters(&frontier);
    assert!([fetched_before, due].iter().all(|url| frontier.page(url).unwrap().unwrap().depth == 0));
    let lease = lease_one(&frontier, 60, 9);
    let found: Vec<_> = lease.work.iter().map(|work| (work.url.as_str(), work.depth)).collect();
    assert_eq!((found.len(), found.iter().all(|(_, depth)| *depth == 0)), (2, true), "{found:?}");
}

/// A hint makes a page due, also after a restart. It has no effect on a page that was fetched since, is in flight, or
/// never was live. The recheck shows once whether the hint was right.
#[test]
fn a_hint_makes_a_page_due_and_the_look_tells_what_it_was_worth() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    let looked = record("", 1).fetched_ms;
    let url = |name: &str| format!("http://a.example/{name}");
    let known = ["told", "older", "flying", "later"].map(|name| fetched(&url(name), 1, Some(looked + 1000)));
    let gone = in_state(&url("gone"), 2, PageState::Gone);
    frontier.apply(&batch(1, [known.to_vec(), vec![gone]].concat(), vec![page(&url("new"))]), 0).unwrap();
    frontier.apply(&batch(2, vec![fetched(&url("flying"), 3, Some(looked + 10))], vec![]), 0).unwrap();
    let lease = frontier.lease(looked + 10, LeaseLimits::new(1, 9)).unwrap().remove(0);
    assert_eq!(lease.work.len(), 2, "the new one and the one that is in flight now");
    let hint = |name: &str, changed_ms, due| Hint { url: url(name), changed_ms, due };
    let hints = vec![
        hint("told", looked + 5, looked + 20),
        hint("older", looked, looked + 20),
        hint("flying", looked + 500, looked + 20),
        hint("later", looked + 5, looked + 2000),
        hint("new", looked + 5, looked + 20),
        hint("gone", looked + 5, looked + 20),
        hint("never-heard-of", looked + 5, looked + 20),
    ];
    let told = Batch { hints, ..batch(3, vec![], vec![]) };
    frontier.apply(&told, 0).unwrap();
    // The same event again, as after a crash.
    let counts = frontier.counts();
    frontier.apply(&Batch { cursor: at(4), ..told }, 0).unwrap();
    assert_eq!(frontier.counts(), counts);
    drop((lease, frontier));

    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    frontier.survey().unwrap();
    let has_hint = |name: &str| frontier.page(&url(name)).unwrap().unwrap().history.is_some_and(|it| it.has_hint());
    assert_eq!(["told", "older", "flying", "later", "gone"].map(has_hint), [true, false, true, true, false]);
    let lease = frontier.lease(looked + 20, LeaseLimits::new(1, 9)).unwrap().remove(0);
    let mut names: Vec<&str> = lease.work.iter().map(|work| &work.url[17..]).collect();
    names.sort_unstable();
    assert_eq!(names, ["flying", "new", "told"]);
    assert_eq!(frontier.trust(&url("told")).unwrap(), None);

    let before = frontier.page(&url("told")).unwrap().unwrap();
    let look = |event| {
        let record = record(&url("told"), event);
        let history = before.history.map(|history| history.seen(record.fetched_ms, PageChange::Changed, None));
        let change =
            Change::Page { record: PageRecord { state: PageState::Changed, history, ..record }, due_again: None };
        verdict(&url("told"), event, change)
    };
    frontier.apply(&batch(5, vec![look(30)], vec![]), 0).unwrap();
    let trust = frontier.trust(&url("new")).unwrap();
    assert!(trust.is_some(), "the host's");
    frontier.apply(&batch(6, vec![look(30)], vec![]), 0).unwrap();
    assert_eq!(frontier.trust(&url("told")).unwrap(), trust, "one look is one lesson");
    drop((lease, frontier));
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    assert_eq!(frontier.trust(&url("told")).unwrap(), trust);
}
