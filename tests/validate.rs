//! The validator at its public edge: what events mean for `page` and `work_proposed`, and that
//! validating the same entries again changes nothing.

#[path = "../crates/parse/tests/support/event.rs"]
mod event;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use seine::config::{Canonical, Config, FrontierConfig, Redirects};
use seine::judge::change::change;
use seine::telemetry::Metrics;
use seine::validate::Validator;
use seine_delivery::{Deriver, Entry, Offset};
use seine_frontier::RefusedLinks;
use seine_frontier::ScopeConfig;
use seine_frontier::scope::{CurrentScope, Scope};
use seine_frontier::{
    Attempt, Batch, Cause, Change, Counts, EmbeddedFrontier, Errors, FrontierOptions, Health, HostLeases, LeaseAnswer,
    LeaseLimits, PageRecord, PageState, Proposal, Release, Scheduler, Trouble, Verdict, Verdicts,
};
use seine_parse::DeriveOptions;
use seine_parse::page::{
    Again, Before, Believed, Doubt, Failure, FailureReason, Headers, Hop, Kind, Outcome, PageChange, PageEvent,
    Response, TextChange, TextsGiven, Truncated, Withheld,
};
use seine_policies::revisit::{Belief, Budget, History, Lesson, Outlook, Override, RevisitPolicy, Trust, Which};
use tempfile::TempDir;

/// An attempt that these tests do not examine.
const ATTEMPT: Attempt = Attempt { at: 0, outcome: Cause::Status(200), counts: true, digest: None };

const SEED: &str = "http://site.example/";

/// A validator with a frontier and a log.
struct Bench {
    frontier: Arc<EmbeddedFrontier>,
    validator: Validator,
    end: Offset,
    now: u64,
    _folder: TempDir,
}

impl Bench {
    fn new(config: FrontierConfig) -> Bench {
        let options = FrontierOptions { default_delay: Duration::ZERO, ..FrontierOptions::default() };
        let folder = tempfile::tempdir().unwrap();
        let frontier = Arc::new(EmbeddedFrontier::open(folder.path(), options, 0).unwrap());
        frontier.propose(&[Proposal::seed(SEED)], 1).unwrap();
        let scope = Scope::new(&ScopeConfig { obey_nofollow: true, ..ScopeConfig::default() }, &[SEED.into()]).unwrap();
        let metrics = Arc::new(Metrics::default());
        let validator = Validator::new(
            frontier.clone(),
            Arc::new(CurrentScope::new(scope, RefusedLinks::default())),
            config,
            metrics,
        )
        .unwrap();
        Bench { frontier, validator, end: Offset::default(), now: 1_000_000, _folder: folder }
    }

    fn entry(&mut self, event: PageEvent) -> Arc<Entry> {
        self.end = Offset { index: self.end.index + 1, offset: self.end.offset + 100 };
        Arc::new(Entry::new(self.end, Arc::new(event), &Deriver::new(DeriveOptions::default())))
    }

    fn validate(&mut self, event: PageEvent) -> Arc<Entry> {
        let entry = self.entry(event);
        self.validator.validate(std::slice::from_ref(&entry)).unwrap();
        entry
    }

    fn event(&mut self, url: &str, outcome: Outcome) -> PageEvent {
        self.now += 1000;
        PageEvent {
            id: event::id(self.now),
            depth: 0,
            started_ms: self.now - 10,
            ended_ms: self.now,
            outcome,
            ..event::page(url, &[], "")
        }
    }

    fn page(&mut self, url: &str, body: &str) -> PageEvent {
        self.event(url, response(200, body))
    }

    fn state(&self, url: &str) -> Option<PageState> {
        self.frontier.page(url).unwrap().map(|record| record.state)
    }

    /// All URLs that can be leased at the end of time.
    fn work(&self) -> BTreeSet<String> {
        let mut urls = BTreeSet::new();
        let mut leases = Vec::new();
        loop {
            let more = self.frontier.lease(u64::MAX / 2, LeaseLimits::new(100, 1000)).unwrap();
            if more.is_empty() {
                break;
            }
            urls.extend(more.iter().flat_map(|lease| &lease.work).map(|work| work.url.clone()));
            leases.extend(more);
        }
        for lease in leases {
            self.frontier.release(lease, Release::default()).unwrap();
        }
        urls
    }
}

fn response(status: u16, body: &str) -> Outcome {
    let body = Bytes::copy_from_slice(body.as_bytes());
    let answer = event::answer(&[("content-type", "text/html; charset=utf-8")], body);
    Outcome::Response(Response { status, ..answer })
}

fn failure(reason: FailureReason) -> Outcome {
    Outcome::Failure(Failure { reason, message: "test".into() })
}

#[test]
fn a_new_page_enters_page_and_its_links_enter_work_proposed() {
    let mut bench = Bench::new(Config::default().frontier);
    let body = "<a href=/a>a</a><a href=/b#x>b</a><a href=/a>again</a><a href=/c rel=nofollow>c</a>\
                <a href=http://other.example/>out of scope</a>";
    let event = bench.page(SEED, body);
    bench.validate(event);
    assert_eq!(bench.state(SEED), Some(PageState::New));
    assert_eq!(bench.work(), BTreeSet::from(["http://site.example/a".into(), "http://site.example/b".into()]));
    let counts = bench.frontier.counts();
    assert_eq!((counts.work_proposed, counts.page, counts.live), (2, 1, 1));
    assert_eq!(bench.frontier.cursor().unwrap(), bench.end);
}

#[test]
fn new_unchanged_changed_and_gone_are_told_apart() {
    let mut config = Config::default().frontier;
    config.revisit.confirm_gone = Duration::ZERO;
    let mut bench = Bench::new(config);
    let steps = [
        (response(200, "one"), PageState::New),
        (response(200, "one"), PageState::Unchanged),
        (response(304, ""), PageState::Unchanged),
        (response(200, "two"), PageState::Changed),
        (response(404, "not here"), PageState::Gone),
        (response(200, "two"), PageState::New),
    ];
    for (step, (outcome, expected)) in steps.into_iter().enumerate() {
        let event = bench.event(SEED, outcome);
        bench.validate(event);
        assert_eq!(bench.state(SEED), Some(expected), "step {step}");
    }
    assert_eq!(bench.frontier.counts().page, 1);
}

#[test]
fn a_first_answer_that_is_no_page_is_refused_and_a_final_failure_keeps_its_reason() {
    let mut bench = Bench::new(Config::default().frontier);
    let gone = bench.event("http://site.example/404", response(404, ""));
    let denied = bench.event("http://site.example/denied", failure(FailureReason::RobotsDenied));
    bench.validate(gone);
    bench.validate(denied);
    assert_eq!(bench.state("http://site.example/404"), Some(PageState::Refused));
    assert_eq!(bench.state("http://site.example/denied"), Some(PageState::Failed(FailureReason::RobotsDenied)));
}

#[test]
fn what_may_get_better_is_tried_again_and_then_given_up() {
    for outcome in [response(503, ""), response(429, ""), response(500, ""), failure(FailureReason::Connect)] {
        let mut bench = Bench::new(FrontierConfig { max_retries: 2, ..Config::default().frontier });
        for attempt in 0..2 {
            let event = PageEvent { attempt, ..bench.event(SEED, outcome.clone()) };
            let ended = event.ended_ms;
            bench.validate(event);
            assert_eq!(bench.state(SEED), None, "attempt {attempt} is not final");
            assert_eq!(bench.work(), BTreeSet::from([SEED.into()]));
            assert!(bench.frontier.next_due().unwrap() > ended, "not at once");
        }
        let last = PageEvent { attempt: 2, ..bench.event(SEED, outcome.clone()) };
        bench.validate(last);
        assert!(matches!(bench.state(SEED), Some(PageState::Refused | PageState::Failed(_))));
        assert_eq!(bench.work(), BTreeSet::new());
    }
}

#[test]
fn depth_ends_where_the_configuration_says() {
    let mut bench = Bench::new(FrontierConfig { max_depth: Some(1), ..Config::default().frontier });
    let seed = bench.page(SEED, "<a href=/one>");
    bench.validate(seed);
    let deeper = PageEvent { depth: 1, ..bench.page("http://site.example/one", "<a href=/two>") };
    bench.validate(deeper);
    assert_eq!(bench.work(), BTreeSet::new(), "/two would have depth 2");
}

#[test]
fn a_sitemap_gives_work_and_is_no_page() {
    let mut bench = Bench::new(Config::default().frontier);
    let xml = "<urlset><url><loc>http://site.example/from-map</loc></url></urlset>";
    let map = PageEvent { kind: Kind::Sitemap, ..bench.page("http://site.example/sitemap.xml", xml) };
    bench.validate(map);
    assert!(bench.work().contains("http://site.example/from-map"));
    assert_eq!(bench.frontier.counts().page, 0);
}

#[test]
fn a_page_is_due_again_when_recrawling_is_on() {
    let mut bench = Bench::new(hourly());
    let event = bench.page(SEED, "one");
    let due = event.ended_ms + HOUR;
    bench.validate(event);
    assert_eq!(bench.frontier.next_due(), Some(due));
    assert_eq!(bench.frontier.counts().first_time, 0);
}

/// Pages that change are rechecked more often, unchanged ones less often, and failures have no effect.
#[test]
fn intervals_are_learned() {
    let mut bench = Bench::new(hourly());
    let next = |bench: &Bench| bench.frontier.next_due().unwrap() - bench.now;
    let look = |bench: &mut Bench, body: &str| {
        bench.now = bench.frontier.next_due().unwrap_or(bench.now);
        let event = bench.page(SEED, body);
        bench.validate(event);
        next(bench)
    };
    let first = look(&mut bench, "one");
    let calm: Vec<u64> = (0..5).map(|_| look(&mut bench, "one")).collect();
    assert!(first < calm[0] && calm.is_sorted(), "{first} {calm:?}");
    let quick: Vec<u64> = (0..20).map(|n| look(&mut bench, &n.to_string())).collect();
    assert!(quick[0] < calm[4] && quick[19] < HOUR, "{calm:?} {quick:?}");
    let history = bench.frontier.page(SEED).unwrap().unwrap().history.unwrap();
    assert_eq!((history.changes, history.alive_ms), (20, bench.now));
}

/// The record keeps the distances of the last change.
#[test]
fn texts_given_are_kept_as_long_as_the_page_is_as_it_was() {
    let mut bench = Bench::new(hourly());
    let texts = |bench: &Bench| bench.frontier.page(SEED).unwrap().unwrap().texts;
    let given = |simhash: u64| TextsGiven::from([(0, simhash), (8, 7)]);
    let text = |simhash: u64| Some(TextChange { given: given(simhash), ..TextChange::default() });
    let look = |bench: &mut Bench, outcome: Outcome, text: Option<TextChange>| {
        bench.now += 48 * HOUR;
        let event = PageEvent { text, ..bench.event(SEED, outcome) };
        bench.validate(event);
        texts(bench)
    };
    assert_eq!(look(&mut bench, response(200, "one"), text(1)), given(1));
    for as_it_was in [response(200, "one"), response(304, ""), response(500, ""), response(404, "")] {
        assert_eq!(look(&mut bench, as_it_was.clone(), None), given(1), "{as_it_was:?}");
    }
    assert_eq!(look(&mut bench, response(200, "two"), text(2)), given(2));
    let work = bench.frontier.lease(u64::MAX / 2, LeaseLimits::new(1, 1)).unwrap().remove(0).work.remove(0);
    assert_eq!(work.known.texts, given(2));
    // The page changed and its text was not read, so the distances are unknown.
    assert_eq!(look(&mut bench, response(200, "three"), None), TextsGiven::new());
    assert_eq!(look(&mut bench, response(200, "four"), text(4)), given(4));
    look(&mut bench, response(404, ""), None);
    assert_eq!(look(&mut bench, response(404, ""), None), TextsGiven::new(), "gone");
}

/// A second fetch, some time later, must confirm a removal. A page that is gone is rechecked at growing intervals, and
/// can come back.
#[test]
fn a_page_is_gone_when_a_second_look_agrees() {
    for status in [404, 410] {
        let mut bench = Bench::new(hourly());
        let page = bench.page(SEED, "one");
        bench.validate(page);
        let missing = bench.event(SEED, response(status, ""));
        bench.validate(missing);
        assert_eq!(bench.state(SEED), Some(PageState::New), "it may have been a bad moment");
        assert_eq!(bench.frontier.next_due(), Some(bench.now + 24 * HOUR));
        let too_soon = bench.event(SEED, response(status, ""));
        bench.validate(too_soon);
        assert_eq!(bench.state(SEED), Some(PageState::New));
        let trouble = bench.event(SEED, response(500, ""));
        bench.validate(trouble);
        bench.now += 24 * HOUR;
        let still = bench.event(SEED, response(status, ""));
        let entry = bench.validate(still);
        assert_eq!(bench.state(SEED), Some(PageState::Gone));
        let away = bench.frontier.next_due().unwrap() - bench.now;
        assert!(away >= 24 * HOUR, "{away}");
        bench.validator.validate(&[entry]).unwrap();
        assert_eq!(bench.frontier.counts().gone, 1);

        bench.now += away;
        let still = bench.event(SEED, response(status, ""));
        bench.validate(still);
        let longer = bench.frontier.next_due().unwrap() - bench.now;
        assert!(longer >= 2 * away, "{away} {longer}");
        let trouble = bench.event(SEED, response(500, ""));
        bench.validate(trouble);
        assert_eq!(bench.state(SEED), Some(PageState::Gone));
        let back = bench.page(SEED, "one");
        bench.validate(back);
        assert_eq!(bench.state(SEED), Some(PageState::New));
    }
}

/// As 0.1.0 left it: without a history.
#[test]
fn what_was_gone_before_it_was_noted_stays_gone() {
    let mut bench = Bench::new(hourly());
    let event = bench.page(SEED, "one");
    let entry = bench.validate(event);
    let record = bench.frontier.page(SEED).unwrap().unwrap();
    let id = event::id(bench.now + 1);
    let gone = PageRecord { state: PageState::Gone, history: None, event_id: id.clone(), ..record };
    let verdict = Verdict {
        url: SEED.into(),
        kind: Kind::Page,
        event_id: id,
        reached: None,
        attempt: ATTEMPT,
        fetched: Default::default(),
        change: Change::Page { record: gone, due_again: None },
    };
    bench.end = Offset { index: entry.end.index + 1, ..entry.end };
    let batch = Batch { verdicts: vec![verdict], cursor: bench.end, ..Batch::default() };
    bench.frontier.apply(&batch, bench.now).unwrap();
    let still = bench.event(SEED, response(404, ""));
    bench.validate(still);
    assert_eq!(bench.state(SEED), Some(PageState::Gone));
    assert!(bench.frontier.next_due().is_some(), "it is looked at again");
}

#[test]
fn a_page_that_was_only_missing_once_is_as_it_was() {
    let mut bench = Bench::new(hourly());
    for body in ["one", "one", "two"] {
        let page = bench.page(SEED, body);
        bench.validate(page);
        let missing = bench.event(SEED, response(404, ""));
        bench.validate(missing);
        bench.now += 25 * HOUR;
    }
    assert_eq!(bench.state(SEED), Some(PageState::Changed));
    assert_eq!(bench.frontier.counts().live, 1);
}

const HOUR: u64 = 3_600_000;

/// Rechecks after an hour on average, with one attempt.
fn hourly() -> FrontierConfig {
    let mut config = FrontierConfig { max_retries: 0, ..Config::default().frontier };
    config.revisit.interval = Some(Duration::from_millis(HOUR));
    config.revisit.min_interval = Duration::from_secs(60);
    config
}

fn redirect(event: &mut PageEvent, target: &str) {
    let hop = Hop { url: event.url.clone(), status: 302, headers: Headers::default(), target: target.into(), ip: None };
    event.hops = vec![hop];
    event.final_url = target.into();
}

/// robots.txt is the decision of the site's owner: it applies at once, and as long as it is there.
#[test]
fn what_robots_txt_forbids_is_gone_until_it_is_allowed() {
    let mut bench = Bench::new(hourly());
    let page = bench.page(SEED, "one");
    bench.validate(page);
    let alive = bench.now;
    bench.now += HOUR;
    for _ in 0..3 {
        let denied = bench.event(SEED, failure(FailureReason::RobotsDenied));
        bench.validate(denied);
        assert_eq!(bench.state(SEED), Some(PageState::Gone));
        let away = bench.now - alive;
        assert!(bench.frontier.next_due().unwrap() >= bench.now + away, "it is looked at more and more seldom");
        bench.now += away;
    }
    let page = bench.page(SEED, "one");
    bench.validate(page);
    assert_eq!(bench.state(SEED), Some(PageState::New));
    // The same for the redirect target that the page came from.
    let mut bench = Bench::new(hourly());
    let mut page = bench.page(SEED, "one");
    redirect(&mut page, "http://site.example/home");
    bench.validate(page);
    let mut denied = bench.event(SEED, failure(FailureReason::RobotsDenied));
    redirect(&mut denied, "http://site.example/home");
    bench.validate(denied);
    assert_eq!(bench.state(SEED), Some(PageState::Gone));
}

/// The worker's event for a noindex page.
fn withheld(event: PageEvent) -> PageEvent {
    PageEvent { withheld: Some(Withheld::Noindex), ..event }
}

const NOINDEX: &str = "<meta name=robots content=noindex><a href=/a>a</a>";

#[test]
fn a_withheld_page_is_there_and_not_live() {
    let with_etag = |event: &mut PageEvent| {
        let Outcome::Response(response) = &mut event.outcome else { unreachable!() };
        response.headers.push("etag", "\"v1\"");
    };
    let mut bench = Bench::new(hourly());
    let mut page = withheld(bench.page(SEED, NOINDEX));
    with_etag(&mut page);
    bench.validate(page);
    assert_eq!(bench.state(SEED), Some(PageState::Withheld));
    assert!(bench.work().contains("http://site.example/a"), "its links are followed");
    let counts = bench.frontier.counts();
    assert_eq!((counts.page, counts.live, counts.withheld), (1, 0, 1));
    let first = bench.frontier.page(SEED).unwrap().unwrap();
    assert_eq!((first.etag.as_deref(), first.noindex), (Some("\"v1\""), true));

    let same = withheld(bench.event(SEED, response(304, "")));
    bench.validate(same);
    let second = bench.frontier.page(SEED).unwrap().unwrap();
    assert_eq!((second.state, second.digest, &second.etag), (PageState::Withheld, first.digest, &first.etag));
    let history = second.history.unwrap();
    assert_eq!((history.alive_ms, history.changes), (bench.now, 0));
    // A failure does not change the record.
    let bad = bench.event(SEED, response(403, ""));
    bench.validate(bad);
    assert_eq!(bench.state(SEED), Some(PageState::Withheld));

    // The page is no longer noindex, or noindex is no longer obeyed: the same content is new for destinations.
    let released = bench.page(SEED, NOINDEX);
    bench.validate(released);
    assert_eq!(bench.state(SEED), Some(PageState::New));
    let again = withheld(bench.page(SEED, NOINDEX));
    bench.validate(again);
    assert_eq!(bench.state(SEED), Some(PageState::Withheld));
    assert_eq!(bench.frontier.counts().live, 0);
    for _ in 0..2 {
        bench.now += 48 * HOUR;
        let gone = bench.event(SEED, response(404, ""));
        bench.validate(gone);
    }
    assert_eq!(bench.state(SEED), Some(PageState::Gone));
}

/// A 304 need not repeat a header, and does not show that the header is gone.
#[test]
fn what_a_header_withholds_is_asked_for_without_conditions() {
    let mut bench = Bench::new(hourly());
    let mut page = withheld(bench.page(SEED, "one"));
    let Outcome::Response(response) = &mut page.outcome else { unreachable!() };
    response.headers.push("x-robots-tag", "noindex");
    response.headers.push("etag", "\"v1\"");
    bench.validate(page);
    let record = bench.frontier.page(SEED).unwrap().unwrap();
    assert_eq!((record.state, record.noindex, record.etag), (PageState::Withheld, true, None));
}

/// The worker and the validator use the same rule.
#[test]
fn what_was_delivered_and_is_withheld_is_gone() {
    let mut page = event::page(SEED, &[], "one");
    let digest = [1; 32];
    let there = Before { digest: Some(&digest), believed: Believed::Nothing, was_withheld: false, final_url: None };
    let kept_back = Before { was_withheld: true, ..there };
    for (withheld, before, now, expected) in [
        (None, None, [1; 32], Some(PageChange::New)),
        (None, Some(there), [1; 32], Some(PageChange::Unchanged)),
        (None, Some(kept_back), [1; 32], Some(PageChange::New)),
        (Some(Withheld::Noindex), None, [1; 32], None),
        (Some(Withheld::Noindex), Some(there), [1; 32], Some(PageChange::Gone)),
        (Some(Withheld::Noindex), Some(there), [2; 32], Some(PageChange::Gone)),
        (Some(Withheld::Noindex), Some(kept_back), [2; 32], None),
    ] {
        page.withheld = withheld;
        assert_eq!(change(&page, page.withheld.as_ref(), before, &now), expected, "{:?} {before:?}", page.withheld);
    }
}

#[test]
fn what_is_out_of_scope_now_is_gone_and_not_looked_at_again() {
    const PATH: &str = "http://site.example/a";
    let mut bench = Bench::new(hourly());
    let page = bench.page(PATH, "one");
    bench.validate(page);
    let refused = bench.event(PATH, failure(FailureReason::OutOfScope));
    bench.validate(refused);
    assert_eq!(bench.state(PATH), Some(PageState::Gone));
    assert!(!bench.work().contains(PATH));
    let never = bench.event("http://site.example/b", failure(FailureReason::OutOfScope));
    bench.validate(never);
    assert_eq!(bench.state("http://site.example/b"), Some(PageState::Failed(FailureReason::OutOfScope)));
    let mut bench = Bench::new(Config::default().frontier);
    // Accepted before a change of scope and read after it: the page is rechecked at once, so that it is removed. A seed
    // stays.
    for (url, depth) in [("http://elsewhere.example/", 3), ("http://elsewhere.example/seed", 0)] {
        let page = PageEvent { depth, ..bench.page(url, "one") };
        bench.validate(page);
        assert_eq!(bench.work().contains(url), depth > 0, "{url}");
    }
}

#[test]
fn a_page_that_is_to_be_reread_brings_its_links_though_it_is_unchanged() {
    let body = "<a href=/a>a</a>";
    let mut bench = Bench::new(Config::default().frontier);
    let page = bench.page(SEED, body);
    bench.validate(page);
    let record = bench.frontier.page(SEED).unwrap().unwrap();
    let marked = PageRecord { must_refetch: true, event_id: event::id(bench.now + 1), ..record };
    let change = Change::Page { record: marked.clone(), due_again: Some(1) };
    let verdict = Verdict {
        url: SEED.into(),
        kind: Kind::Page,
        event_id: marked.event_id.clone(),
        reached: None,
        attempt: ATTEMPT,
        fetched: Default::default(),
        change,
    };
    bench.end.index += 1;
    let batch = Batch { verdicts: vec![verdict], cursor: bench.end, ..Batch::default() };
    bench.frontier.apply(&batch, bench.now).unwrap();

    // Neither a failure nor a 304, which has no links, clears the mark.
    for (outcome, is_marked) in [(response(500, ""), true), (response(304, ""), true), (response(200, body), false)] {
        let seen_before = bench.frontier.counts().links_seen;
        let event = PageEvent { attempt: 9, ..bench.event(SEED, outcome) };
        bench.validate(event);
        let page = bench.frontier.page(SEED).unwrap().unwrap();
        assert_eq!((page.must_refetch, page.state.is_live()), (is_marked, true));
        let links = bench.frontier.counts().links_seen - seen_before;
        assert_eq!(links, u64::from(!is_marked));
    }
    assert_eq!(bench.state(SEED), Some(PageState::Unchanged));
}

/// Of all answers instead of a live page, only 404 and 410 mean that it is gone.
#[test]
fn only_what_says_so_takes_a_page_away() {
    let others = [
        response(403, "forbidden"),
        response(401, ""),
        response(500, "out of order"),
        response(503, ""),
        response(301, ""),
        failure(FailureReason::Timeout),
        failure(FailureReason::RobotsUnreachable),
        failure(FailureReason::BadRedirect),
        failure(FailureReason::UnwantedType),
    ];
    for outcome in others {
        let mut bench = Bench::new(hourly());
        let page = bench.page(SEED, "one");
        bench.validate(page);
        let before = bench.frontier.page(SEED).unwrap().unwrap();
        let event = bench.event(SEED, outcome.clone());
        let (id, due) = (event.id.clone(), event.ended_ms + HOUR);
        let entry = bench.validate(event);
        let after = bench.frontier.page(SEED).unwrap().unwrap();
        let passed_at = Some(entry.end.index);
        assert_eq!(after, PageRecord { event_id: id, passed_at, ..before }, "{outcome:?}");
        assert_eq!(bench.frontier.counts().live, 1);
        assert_eq!(bench.frontier.next_due(), Some(due), "it is looked at again");
        // The same entry again, before the offset, as after a crash.
        bench.validator.validate(&[entry]).unwrap();
        assert_eq!(bench.frontier.next_due(), Some(due));
        let same = bench.page(SEED, "one");
        bench.validate(same);
        assert_eq!(bench.state(SEED), Some(PageState::Unchanged), "compared with what was there");
    }
    // A login page, for example, that robots.txt forbids.
    let mut bench = Bench::new(hourly());
    let page = bench.page(SEED, "one");
    bench.validate(page);
    let mut event = bench.event(SEED, failure(FailureReason::RobotsDenied));
    redirect(&mut event, "http://site.example/login");
    bench.validate(event);
    assert_eq!(bench.state(SEED), Some(PageState::New));
    for status in [404, 410] {
        let at_once = RevisitPolicy { interval: None, confirm_gone: Duration::ZERO, ..hourly().revisit };
        let mut bench = Bench::new(FrontierConfig { revisit: at_once.clone(), ..hourly() });
        let page = bench.page(SEED, "one");
        bench.validate(page);
        let gone = bench.event(SEED, response(status, ""));
        bench.validate(gone);
        assert_eq!(bench.state(SEED), Some(PageState::Gone));
        assert_eq!(bench.frontier.next_due(), None);
    }
}

/// Without `Date` nobody knows in which second the answer was made. The page may have changed again within it.
#[test]
fn validators_are_dropped_if_the_page_may_have_changed_again_in_the_second_of_an_undated_answer() {
    let mut bench = Bench::new(hourly());
    for (seconds_before, are_kept) in [(0, false), (1, false), (2, false), (3, true)] {
        let Outcome::Response(mut slow) = response(200, "version 1") else { unreachable!() };
        let ended_ms = (bench.now + 1000) / 1000 * 1000;
        let modified = std::time::UNIX_EPOCH + Duration::from_millis(ended_ms - seconds_before * 1000);
        slow.headers.push("etag", "\"1\"");
        slow.headers.push("last-modified", httpdate::fmt_http_date(modified));
        let answer = bench.event(SEED, Outcome::Response(slow));
        let answer = PageEvent { started_ms: ended_ms - 2000, ended_ms, ..answer };
        bench.validate(answer);
        let record = bench.frontier.page(SEED).unwrap().unwrap();
        let kept = (record.etag.is_some(), record.last_modified.is_some());
        assert_eq!(kept, (are_kept, are_kept), "modified {seconds_before} s before the end of the answer");
    }
}

#[test]
fn a_cut_body_says_nothing_of_the_next() {
    let mut bench = Bench::new(hourly());
    let Outcome::Response(mut half) = response(200, "half") else { unreachable!() };
    half.truncated = Some(Truncated::Disconnect);
    half.headers.push("etag", "\"1\"");
    half.headers.push("last-modified", "Sat, 01 Jan 2022 00:00:00 GMT");
    let cut = bench.event(SEED, Outcome::Response(half));
    bench.validate(cut);
    let record = bench.frontier.page(SEED).unwrap().unwrap();
    assert_eq!((record.state, record.digest), (PageState::New, None));
    assert_eq!((record.etag, record.last_modified), (None, None));
    let not_modified = bench.event(SEED, response(304, ""));
    bench.validate(not_modified);
    assert_eq!(bench.state(SEED), Some(PageState::New), "nobody knows that it is unchanged");
    let same = bench.page(SEED, "half");
    bench.validate(same);
    assert_eq!(bench.state(SEED), Some(PageState::Changed), "it was there, and not whole");
}

/// After one hour, two, four and so on, even if nothing else is rechecked.
#[test]
fn a_half_page_is_asked_for_again_at_growing_intervals_until_it_is_whole() {
    let mut bench = Bench::new(Config::default().frontier);
    let cut = |bench: &mut Bench| {
        let Outcome::Response(mut half) = response(200, "half") else { unreachable!() };
        half.truncated = Some(Truncated::Time);
        PageEvent { attempt: 100, ..bench.event(SEED, Outcome::Response(half)) }
    };
    let mut waits = Vec::new();
    for _ in 0..5 {
        let event = cut(&mut bench);
        let ended = event.ended_ms;
        bench.validate(event);
        let record = bench.frontier.page(SEED).unwrap().unwrap();
        assert!(record.is_truncated() && record.doubt().is_some_and(|(doubt, _)| doubt == Doubt::Cut), "{record:?}");
        let due = bench.frontier.next_due().unwrap();
        waits.push((due - ended) / 100_000);
        bench.now = due;
    }
    assert_eq!(waits, [36, 36, 72, 144, 288]);
    assert_eq!(bench.frontier.counts().truncated, 1);
    let whole = bench.page(SEED, "whole");
    bench.validate(whole);
    assert_eq!((bench.frontier.counts().truncated, bench.frontier.next_due()), (0, None));
    // A truncated answer says nothing about a complete page, not even about an unconfirmed removal.
    let event = cut(&mut bench);
    bench.now = event.ended_ms + 3_600_000;
    bench.validate(event);
    let record = bench.frontier.page(SEED).unwrap().unwrap();
    assert!(
        !record.is_truncated() && record.digest.is_some() && bench.frontier.next_due() == Some(bench.now),
        "{record:?}"
    );
}

/// A live page asks not to be indexed. It is looked at again after an hour, then in growing intervals, until the doubt can
/// be confirmed, though pages are fetched every 30 days.
#[test]
fn a_page_in_doubt_is_asked_for_again_within_an_hour_and_then_at_growing_intervals() {
    for doubt in [Doubt::Noindex, Doubt::Elsewhere, Doubt::Empty] {
        let mut config = Config::default().frontier;
        config.revisit.interval = Some(Duration::from_secs(30 * 86_400));
        let confirm_gone = config.revisit.confirm_gone.as_millis() as u64;
        let mut bench = Bench::new(config);
        let page = bench.page(SEED, "a page");
        bench.validate(page);
        bench.now += 30 * 24 * HOUR;
        let (mut waits, mut since) = (Vec::new(), None);
        loop {
            let event = bench.page(SEED, "a sign of removal");
            let now = event.ended_ms;
            let seen_ms = *since.get_or_insert(now);
            if now - seen_ms >= confirm_gone {
                break;
            }
            bench.validate(PageEvent { withheld: Some(Withheld::Doubted { doubt, seen_ms: now }), ..event });
            assert!(bench.state(SEED).is_some_and(PageState::is_live), "{doubt:?}");
            let due = bench.frontier.next_due().unwrap();
            waits.push((due - now) as f64 / HOUR as f64);
            bench.now = due;
        }
        let rounded: Vec<u64> = waits.iter().map(|hours| hours.round() as u64).collect();
        assert_eq!(rounded, [1, 1, 2, 4, 8, 8], "{doubt:?}: {waits:?}");
    }
}

#[test]
fn what_is_put_off_pays_no_attempt_and_its_host_rests() {
    let mut bench = Bench::new(FrontierConfig { max_retries: 0, ..Config::default().frontier });
    for turn in 1..4 {
        let mut event = bench.event(SEED, response(503, ""));
        event.request_headers.push("user-agent", "test");
        let at = event.ended_ms + 100_000;
        event.again = Some(Again { at, ..Again::default() });
        let rested = event.ended_ms + 5000;
        bench.validate(event);
        assert_eq!(bench.state(SEED), None, "turn {turn}: it has no answer yet");
        assert_eq!(bench.frontier.next_due(), Some(at));
        let LeaseAnswer::At { at: until, .. } = bench.frontier.lease_host("http://site.example", 0).unwrap() else {
            panic!()
        };
        assert!(until >= rested, "its release may be lost, and it rests all the same");
        let lease = bench.frontier.lease(at, LeaseLimits::new(1, 1)).unwrap().remove(0);
        assert_eq!((lease.work[0].attempt, lease.work[0].was_put_off), (0, true));
        bench.frontier.release(lease, Release::default()).unwrap();
    }
}

#[test]
fn what_failed_with_its_host_waits_until_that_is_met_again() {
    let mut bench = Bench::new(Config::default().frontier);
    let lease = bench.frontier.lease(1, LeaseLimits::new(1, 1)).unwrap().remove(0);
    let cause = Cause::Failure(FailureReason::ConnectionRefused);
    let (suspect, given_up, asked_until) = (None, true, None);
    let trouble =
        Trouble { since: 1, last: 2, failures: 9, cause, suspect, given_up, asked_until, errors: Errors::default() };
    let (fetched, health) = (vec![SEED.to_owned()], Some(Health::Troubled(trouble)));
    bench.frontier.release(lease, Release { fetched, health, ..Release::default() }).unwrap();
    let event = bench.event(SEED, failure(FailureReason::HostUnreachable));
    bench.validate(event);
    assert_eq!(bench.state(SEED), Some(PageState::Failed(FailureReason::HostUnreachable)));
    assert_eq!(bench.frontier.next_due(), Some(trouble.tried_again_at()));
    assert!(!bench.frontier.has_work(trouble.tried_again_at() - 1));
    bench.frontier.propose(&[Proposal::seed(SEED)], 5).unwrap();
    assert_eq!(bench.work(), BTreeSet::from([SEED.to_owned()]));
}

/// One step of a random crawl: which URL, and how it was answered.
fn steps() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
    proptest::collection::vec((0..6u8, 0..6u8, 0..4u8), 1..40)
}

fn outcome(kind: u8, content: u8) -> Outcome {
    match kind {
        0..=2 => response(200, &format!("<p>{content}</p><a href=/u{content}><a href=/u{}>", content + 1)),
        3 => response(404, ""),
        4 => response(503, ""),
        _ => failure(FailureReason::Timeout),
    }
}

/// The visible state of a frontier.
fn view(bench: &Bench) -> (Counts, BTreeSet<String>, Vec<Option<PageState>>) {
    let states = (0..6).map(|n| bench.state(&format!("http://site.example/u{n}"))).collect();
    (bench.frontier.counts(), bench.work(), states)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// The log is read again from any offset, as after a crash that lost the last offsets, in batches of any size.
    #[test]
    fn validating_again_changes_nothing(steps in steps(), again_from in 0..40usize, batch in 1..7usize) {
        let mut bench = Bench::new(Config::default().frontier);
        let mut entries = Vec::new();
        for (url, kind, content) in &steps {
            let event = bench.event(&format!("http://site.example/u{url}"), outcome(*kind, *content));
            entries.push(bench.entry(event));
        }
        for entries in entries.chunks(batch) {
            bench.validator.validate(entries).unwrap();
        }
        let before = view(&bench);
        for entries in entries[again_from.min(entries.len())..].chunks(batch) {
            bench.validator.validate(entries).unwrap();
        }
        prop_assert_eq!(view(&bench), before);
    }
}

// ------------------------------------------------------------------------------------- when pages are rechecked:
// arithmetic

const DAYS: u64 = 24 * HOUR;

/// For any fetches, the estimate stays a valid distribution, and intervals stay within their bounds.
#[test]
fn a_belief_stays_one_whatever_it_is_told() {
    let looks = proptest::collection::vec((0..400 * DAYS, any::<bool>()), 0..200);
    proptest!(ProptestConfig::with_cases(500), |(looks in looks, price in 1e-9..1e9f64)| {
        let policy = RevisitPolicy { interval: Some(Duration::from_millis(14 * DAYS)), ..Config::default().frontier.revisit };
        let mut belief = Belief::default();
        for (elapsed, has_changed) in looks {
            let before = belief.changes_a_day();
            belief = belief.after(elapsed, has_changed);
            prop_assert!(belief.changes > 0.0 && belief.changes <= 20.0 && belief.days.is_normal() && belief.days > 0.0);
            let after = belief.changes_a_day();
            let fits = if has_changed { after >= before * 0.999 } else { after <= before * 1.001 };
            prop_assert!(fits, "{} {} {}", has_changed, before, after);
            let interval = policy.interval_ms(belief, Outlook::default(), price);
            prop_assert!((HOUR..=180 * DAYS).contains(&interval), "{} for {:?}", interval, belief);
        }
    });
}

/// After a year of rechecks, the estimates separate pages whose rates differ by a factor of thousand.
#[test]
fn rates_are_found() {
    for every in [1.0, 10.0, 100.0] {
        let mut random = fastrand::Rng::with_seed(1);
        let mut beliefs = [Belief::default(); 200];
        for _ in 0..52 {
            for belief in &mut beliefs {
                *belief = belief.after(7 * DAYS, random.f64() < -(-7.0_f64 / every).exp_m1());
            }
        }
        let mean = beliefs.iter().map(|belief| belief.changes_a_day()).sum::<f64>() / 200.0;
        // A page that changes every day has changed at each weekly recheck, so its exact rate cannot be known.
        let fits = if every < 7.0 { mean > 0.3 } else { (0.8..1.25).contains(&(mean * every)) };
        assert!(fits, "every {every} days: {mean} a day");
    }
}

/// All pages together are rechecked as often as the mean interval says, for any pages, and not more often if rechecks
/// are late.
#[test]
fn the_price_settles_where_the_looks_are_those_there_are() {
    let (mean, pages) = (14 * DAYS, 500);
    for (every, can_look) in [(2.0, 1.0), (30.0, 1.0), (2000.0, 1.0), (30.0, 0.3)] {
        let mut random = fastrand::Rng::with_seed(3);
        let policy =
            RevisitPolicy { interval: Some(Duration::from_millis(mean)), ..Config::default().frontier.revisit };
        let mut budget = Budget::new(mean, None, 0);
        let mut history = vec![History::new(0); pages];
        let mut due: BTreeSet<(u64, usize)> = (0..pages).map(|page| (random.u64(0..mean), page)).collect();
        let most_a_day = (pages as f64 / 14.0 * can_look) as usize;
        let mut looks = 0;
        for day in 0..2 * 365 {
            let now = day * DAYS;
            for _ in 0..if can_look < 1.0 { most_a_day } else { pages } {
                let Some(&(at, page)) = due.first().filter(|(at, _)| *at <= now) else { break };
                due.remove(&(at, page));
                let elapsed = now - history[page].alive_ms;
                let is_late = policy.is_late(history[page].belief, Outlook::default(), budget.price(), elapsed);
                budget.count_recheck(now, pages as u64, is_late);
                let has_changed = random.f64() < -(-(elapsed as f64) / DAYS as f64 / every).exp_m1();
                let change = if has_changed { PageChange::Changed } else { PageChange::Unchanged };
                history[page] = history[page].seen(now, change, None);
                due.insert((now + policy.interval_ms(history[page].belief, Outlook::default(), budget.price()), page));
                looks += u32::from(day >= 365);
            }
        }
        let share = f64::from(looks) / (365.0 / 14.0 * pages as f64);
        assert!((0.85..1.15).contains(&(share / can_look)), "every {every} days, {can_look}: {share}");
        assert!(budget.price().is_normal());
    }
}

/// Rechecks of pages of one host that change at some rate without hints. Each lesson says whether the hint was right.
fn taught(looks: usize, expected: f32, is_right: impl Fn(usize) -> bool) -> Trust {
    (0..looks)
        .fold(Trust::default(), |trust, look| trust.after(Lesson::Hinted { expected, has_changed: is_right(look) }))
}

/// If hints were right, a page with a hint is rechecked at once; if hints were wrong, they have no effect.
#[test]
fn hints_count_as_much_as_they_were_right() {
    let policy =
        RevisitPolicy { interval: Some(Duration::from_millis(14 * DAYS)), ..Config::default().frontier.revisit };
    let price = Budget::new(14 * DAYS, None, 0).price();
    // A page that hardly ever changes: an early recheck does not help a page that changes all the time.
    let belief = Belief::default().after(60 * DAYS, false);
    let history = History { hinted: Some(0), belief, ..History::new(0) };
    let hinted = history.after_hint(DAYS).unwrap();
    let interval =
        |history: History, trust: &Trust| policy.interval_ms(history.belief, history.outlook(Some(trust)), price);
    let without = policy.interval_ms(belief, Outlook::default(), price);
    let honest = taught(50, 0.2, |look| look % 5 != 0);
    assert_eq!(interval(hinted, &honest), HOUR, "as soon as may be");
    assert!(interval(history, &honest) > without, "nobody says that it has changed");
    // Hints as good as chance, worse than chance, and too few rechecks to decide.
    for lie in [taught(50, 0.2, |look| look % 5 == 0), taught(200, 0.2, |_| false), taught(1, 0.2, |_| true)] {
        assert_eq!(interval(hinted, &lie), without);
        assert_eq!(interval(history, &lie), without);
    }
    // A host whose hints become wrong loses its trust.
    let turned = (0..200).fold(honest, |trust, _| trust.after(Lesson::Hinted { expected: 0.2, has_changed: false }));
    assert_eq!(interval(hinted, &turned), without);
    // If hints announce few of the changes, the others must be found by rechecks.
    let silent = (0..200).fold(honest, |trust, _| trust.after(Lesson::Missed));
    assert!(interval(history, &silent) < interval(history, &honest));
}

/// For any lessons, intervals stay within their bounds, and a hint never delays a recheck.
#[test]
fn trust_stays_within_reason_whatever_it_is_told() {
    let lessons = proptest::collection::vec((0..3, 0.0..=1.0f32, any::<bool>()), 0..600);
    let all = (lessons, 0..400 * DAYS, 1e-9..1e9f64, any::<Option<u32>>(), any::<u64>());
    proptest!(ProptestConfig::with_cases(500), |((lessons, elapsed, price, tells, changed_ms) in all)| {
        let policy = RevisitPolicy { interval: Some(Duration::from_millis(14 * DAYS)), ..Config::default().frontier.revisit };
        let trust = lessons.into_iter().fold(Trust::default(), |trust, (kind, expected, has_changed)| trust.after(match kind {
            0 => Lesson::Missed,
            _ => Lesson::Hinted { expected, has_changed },
        }));
        let history = History { hinted: Some(0), tells, ..History::new(DAYS) };
        let interval = |history: History| policy.interval_ms(history.belief, history.outlook(Some(&trust)), price);
        prop_assert!((HOUR..=180 * DAYS).contains(&interval(history)));
        if let Some(hinted) = history.after_hint(changed_ms) {
            prop_assert!(changed_ms > DAYS);
            prop_assert!((HOUR..=interval(history)).contains(&interval(hinted)));
            prop_assert_eq!(hinted.after_hint(u64::MAX), None, "the first hint stays");
            for change in [PageChange::Changed, PageChange::Unchanged] {
                let seen = hinted.seen(DAYS + elapsed, change, Some(&trust));
                prop_assert!(!seen.has_hint() && seen.belief.changes > 0.0 && seen.belief.days.is_normal());
            }
        }
    });
}

const PAGES: usize = 10;

fn numbered(page: usize) -> String {
    format!("{SEED}{page}")
}

impl Bench {
    fn sitemap(&mut self, changed: &[(usize, u64)]) {
        let entry = |(page, changed_ms): &(usize, u64)| {
            let time = time::OffsetDateTime::from_unix_timestamp(*changed_ms as i64 / 1000).unwrap();
            let time = time.format(&time::format_description::well_known::Rfc3339).unwrap();
            format!("<url><loc>{}</loc><lastmod>{time}</lastmod></url>", numbered(*page))
        };
        let body = format!("<urlset>{}</urlset>", changed.iter().map(entry).collect::<String>());
        let event = self.page(&format!("{SEED}sitemap.xml"), &body);
        self.validate(PageEvent { kind: Kind::Sitemap, ..event });
    }

    /// Every ten hours each page is fetched, one in ten has changed, and the sitemap announces one in ten.
    fn live(&mut self, rounds: usize, is_right: bool) {
        for round in 0..rounds {
            self.now += 10 * HOUR;
            let changed = round % PAGES;
            let told = if is_right { changed } else { (changed + PAGES / 2) % PAGES };
            self.sitemap(&[(told, self.now - HOUR)]);
            for page in 0..PAGES {
                let version = (round + PAGES - page) / PAGES;
                let event = self.page(&numbered(page), &format!("version {version}"));
                self.validate(event);
            }
        }
    }

    fn is_due(&self, url: &str) -> bool {
        let leases = self.frontier.lease(self.now, LeaseLimits::new(100, 1000)).unwrap();
        let is_due = leases.iter().flat_map(|lease| &lease.work).any(|work| work.url == url);
        leases.into_iter().for_each(|lease| self.frontier.release(lease, Release::default()).unwrap());
        is_due
    }
}

#[test]
fn a_page_that_is_said_to_have_changed_is_due_at_once_where_that_was_true_before() {
    for (is_right, rounds) in [(true, 40), (false, 40), (true, 1)] {
        let mut bench = Bench::new(hourly());
        bench.live(rounds, is_right);
        bench.now += HOUR / 6;
        let url = numbered(3);
        assert!(!bench.is_due(&url), "{rounds} rounds, true: {is_right}");
        // Hints before the last fetch, in a year to come, and for an unknown page.
        let (older, to_come) = (bench.now - 2 * HOUR, bench.now + 400 * DAYS);
        bench.sitemap(&[(3, older), (3, to_come), (PAGES, bench.now)]);
        assert!(!bench.is_due(&url));
        bench.sitemap(&[(3, bench.now - 1000)]);
        assert_eq!(bench.is_due(&url), is_right && rounds > 1, "{rounds} rounds, true: {is_right}");
        assert!(bench.frontier.page(&url).unwrap().unwrap().history.unwrap().has_hint());
        // A failure counts as a recheck too, so a hint is not followed again and again.
        let event = bench.event(&url, response(500, ""));
        bench.validate(event);
        assert!(!bench.frontier.page(&url).unwrap().unwrap().history.unwrap().has_hint());
    }
}

/// The first entry that matches a page decides its interval: exact, within bounds, or never.
#[test]
fn some_pages_are_looked_at_in_intervals_of_their_own() {
    let hours = |count: u64| Some(Duration::from_millis(count * HOUR));
    let one = |pattern: &str, interval, min_interval, max_interval| Override {
        which: Which::Pattern(pattern.into()),
        interval,
        min_interval,
        max_interval,
    };
    let overrides = vec![
        one("/(fixed|gone)$", Some(hours(2)), None, None),
        one("/fixed", Some(None), None, None),
        one("/never", Some(None), None, None),
        one("/within", Some(hours(3)), hours(2), hours(5)),
        one("/seldom", None, hours(100), hours(200)),
        Override { which: Which::Host("site.example".into()), ..one("", Some(hours(7)), None, None) },
    ];
    for interval in [hours(1), None] {
        let mut config = hourly();
        (config.revisit.interval, config.revisit.overrides) = (interval, overrides.clone());
        let mut bench = Bench::new(config);
        let mut due_after = |path: &str| {
            let event = bench.page(&format!("{SEED}{path}"), "the same");
            bench.validate(event);
            let due = |bench: &Bench, hours: u64| {
                let leases = bench.frontier.lease(bench.now + hours * HOUR, LeaseLimits::new(100, 1000)).unwrap();
                let is_due = leases.iter().flat_map(|lease| &lease.work).any(|work| work.url.ends_with(path));
                leases.into_iter().for_each(|lease| bench.frontier.release(lease, Release::default()).unwrap());
                is_due
            };
            (0..500).find(|hours| due(&bench, *hours))
        };
        assert_eq!(due_after("fixed"), Some(2));
        assert_eq!(due_after("never"), None);
        assert!((2..=5).contains(&due_after("within").unwrap()));
        assert_eq!(due_after("other"), Some(7));
        assert_eq!(due_after("seldom").is_some(), interval.is_some(), "its interval is that of all");
    }
}

const OLD: &str = "http://site.example/old";
const NEW: &str = "http://site.example/new";

impl Bench {
    /// `OLD` redirects to `target`, whose page is that of `NEW`.
    fn alias(&mut self, target: &str) -> PageEvent {
        let mut event = self.event(OLD, response(301, ""));
        event.withheld = Some(Withheld::Alias { of: NEW.into(), target: target.into() });
        event
    }

    fn record(&self, url: &str) -> PageRecord {
        self.frontier.page(url).unwrap().unwrap()
    }
}

/// The redirect counts as a change; the record keeps nothing of a page.
#[test]
fn an_alias_is_looked_at_again_as_a_page_is() {
    let mut bench = Bench::new(hourly());
    let page = bench.page(NEW, "new");
    bench.validate(page);
    let page = bench.page(OLD, "a page of its own");
    bench.validate(page);
    let alias = PageEvent { change: Some(PageChange::Gone), ..bench.alias(NEW) };
    let entry = bench.validate(alias);
    let record = bench.record(OLD);
    assert_eq!((record.state, record.target.as_deref(), record.digest), (PageState::Alias, Some(NEW), None));
    assert_eq!(record.history, Some(History::new(bench.now)), "what is learned now is another thing");
    assert!(!bench.is_due(OLD));
    bench.validator.validate(&[entry]).unwrap();
    let counts = bench.frontier.counts();
    assert_eq!((counts.live, counts.alias, counts.gone), (1, 1, 0));

    bench.now += 9 * HOUR;
    assert!(bench.is_due(OLD));
    let same = bench.alias(NEW);
    bench.validate(same);
    let seen = bench.record(OLD).history.unwrap();
    assert_eq!((seen.changes, seen.alive_ms), (0, bench.now));
    bench.now += HOUR;
    let elsewhere = bench.alias(SEED);
    bench.validate(elsewhere);
    let record = bench.record(OLD);
    assert_eq!((record.history.unwrap().changes, record.target.as_deref()), (1, Some(SEED)));
}

#[test]
fn an_alias_stays_one_until_it_is_a_page_or_is_twice_not_there() {
    let mut bench = Bench::new(hourly());
    let page = bench.page(NEW, "new");
    bench.validate(page);
    let alias = bench.alias(NEW);
    bench.validate(alias);
    for outcome in [response(403, ""), response(500, ""), response(404, ""), failure(FailureReason::BadRedirect)] {
        let event = bench.event(OLD, outcome);
        bench.validate(event);
        let record = bench.record(OLD);
        assert_eq!((record.state, record.target.as_deref()), (PageState::Alias, Some(NEW)));
    }
    bench.now += 24 * HOUR;
    let missing = bench.event(OLD, response(404, ""));
    bench.validate(missing);
    assert_eq!((bench.state(OLD), bench.record(OLD).target), (Some(PageState::Refused), None));

    let alias = bench.alias(NEW);
    bench.validate(alias);
    let page = bench.page(OLD, "a page of its own");
    bench.validate(page);
    let record = bench.record(OLD);
    assert_eq!((record.state, record.target), (PageState::New, None));
    assert_eq!(record.history, Some(History::new(bench.now)));
}

/// The target of a redirect is an alias of itself while another URL delivers its page. It is requested itself when the
/// configuration changes, or when that URL leaves. Its first answer decides, whatever it is.
#[test]
fn a_target_that_is_requested_itself_is_no_alias_of_itself() {
    for (outcome, state) in [
        (response(404, ""), PageState::Refused),
        (response(500, ""), PageState::Refused),
        (failure(FailureReason::BadRedirect), PageState::Failed(FailureReason::BadRedirect)),
        (response(200, "a page"), PageState::New),
    ] {
        let mut bench = Bench::new(hourly());
        let page = bench.page(NEW, "new");
        bench.validate(page);
        let alias = bench.alias(OLD);
        bench.validate(alias);
        assert!(bench.record(OLD).is_only_a_target());
        bench.now += HOUR;
        let event = PageEvent { attempt: 9, ..bench.event(OLD, outcome) };
        bench.validate(event);
        assert_eq!(bench.state(OLD), Some(state));
        bench.now += 24 * 365 * HOUR;
        assert!(bench.is_due(OLD), "{state:?} is fetched again");
    }
}

/// Half a page of a URL that is gone says that it may be there again.
#[test]
fn a_gone_page_that_breaks_off_is_fetched_again_soon() {
    let mut bench = Bench::new(FrontierConfig { max_retries: 0, ..hourly() });
    let page = bench.page(OLD, "a page");
    bench.validate(page);
    for _ in 0..2 {
        bench.now += 24 * HOUR;
        let missing = bench.event(OLD, response(404, ""));
        bench.validate(missing);
    }
    assert_eq!(bench.state(OLD), Some(PageState::Gone));
    bench.now += 24 * 30 * HOUR;
    let mut half = bench.page(OLD, "a pa");
    let Outcome::Response(response) = &mut half.outcome else { panic!("a response") };
    response.truncated = Some(Truncated::Disconnect);
    half.withheld = Some(Withheld::Cut);
    bench.validate(half);
    assert_eq!((bench.state(OLD), bench.record(OLD).doubt().is_some()), (Some(PageState::Gone), true));
    bench.now += 2 * HOUR;
    assert!(bench.is_due(OLD));
    let page = bench.page(OLD, "a page");
    bench.validate(page);
    assert_eq!((bench.state(OLD), bench.record(OLD).doubt()), (Some(PageState::New), None));
}

#[test]
fn where_a_page_was_found_is_noted_unless_redirects_are_followed() {
    for (redirects, noted) in [(Redirects::First, Some(NEW)), (Redirects::Follow, None)] {
        let mut bench = Bench::new(FrontierConfig { redirects, ..hourly() });
        let page = PageEvent { final_url: NEW.to_owned() + "#part", ..bench.page(OLD, "new") };
        bench.validate(page);
        assert_eq!(bench.record(OLD).target.as_deref(), noted);
        let broken = PageEvent { final_url: SEED.into(), ..bench.event(OLD, response(500, "")) };
        bench.validate(broken);
        assert_eq!(bench.record(OLD).target.as_deref(), noted, "it stays as it was");
    }
}

/// Names `NEW` as canonical, and has the only link to another page.
const NAMING: &str = "<link rel=canonical href=/new><a href=/only>only</a>";

fn obeying() -> FrontierConfig {
    FrontierConfig { canonical: Canonical::Obey, ..hourly() }
}

#[test]
fn what_a_page_names_is_noted_where_it_counts_and_a_304_leaves_it_noted() {
    for (config, noted) in [(obeying(), Some(NEW)), (hourly(), None)] {
        let mut bench = Bench::new(config);
        let page = bench.page(OLD, NAMING);
        bench.validate(page);
        assert_eq!(bench.record(OLD).canonical.as_deref(), noted);
        assert!(bench.work().contains(NEW), "it is a link like any other");
        for outcome in [response(304, ""), response(500, ""), response(404, "")] {
            let event = bench.event(OLD, outcome);
            bench.validate(event);
            assert_eq!(bench.record(OLD).canonical.as_deref(), noted);
        }
        let page = bench.page(OLD, "names none any more");
        bench.validate(page);
        assert_eq!(bench.record(OLD).canonical, None);
    }
    let mut bench = Bench::new(obeying());
    let page = bench.page(OLD, &format!("<meta name=robots content=noindex>{NAMING}"));
    bench.validate(page);
    assert_eq!(bench.record(OLD).canonical, None, "it asks not to be indexed");
}

#[test]
fn a_page_that_is_an_alias_has_its_links_followed() {
    let mut bench = Bench::new(obeying());
    let page = bench.page(NEW, "new");
    bench.validate(page);
    let alias = Withheld::Alias { of: NEW.into(), target: NEW.into() };
    let page = PageEvent { withheld: Some(alias.clone()), ..bench.page(OLD, NAMING) };
    bench.validate(page);
    assert!(bench.work().contains("http://site.example/only"));
    let record = bench.record(OLD);
    assert_eq!((record.state, record.target.as_deref(), record.canonical), (PageState::Alias, Some(NEW), None));
    assert!(record.digest.is_some());
    // Through another URL, which is recorded.
    let page = PageEvent { withheld: Some(alias), ..bench.page(OLD, "<link rel=canonical href=/between>") };
    bench.validate(page);
    let record = bench.record(OLD);
    assert_eq!(record.target.as_deref(), Some(NEW));
    assert_eq!(record.canonical.as_deref(), Some("http://site.example/between"));
}
