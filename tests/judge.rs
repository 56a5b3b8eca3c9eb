//! The judge: tables of answers and what they mean. Nothing is fetched and nothing is stored.

#[path = "../crates/parse/tests/support/event.rs"]
mod event;

use std::collections::BTreeSet;
use std::time::Duration;

use seine::config::{Canonical, Config};
use seine::judge::blame::{Blame, ChargedTo, blame};
use seine::judge::reading::{Reading, read};
use seine::judge::{self, Answers, FetchContext, Fetched, Owner, Policy, Question, Step, Verdict};
use seine_frontier::scope::Scope;
use seine_frontier::{PageRecord, PageState, ScopeConfig, Work};
use seine_parse::page::{
    Doubt, DuplicateOf, Failure, FailureReason, Headers, Hop, Kind, Outcome, PageChange, PageEvent, Truncated, Withheld,
};
use seine_parse::{DeriveOptions, derive};
use seine_policies::revisit::History;

const HOUR_MS: u64 = 3_600_000;

const URL: &str = "http://site.example/a";
const BEFORE: u64 = event::FETCHED - 24 * 3_600_000;

fn config() -> Config {
    let mut config = Config::default();
    config.frontier.max_retries = 2;
    config.frontier.revisit.confirm_gone = Duration::from_secs(3600);
    config.scope.obey_noindex = true;
    config
}

fn page(body: &str) -> PageEvent {
    event::page(URL, &[("content-type", "text/html")], body.to_owned())
}

fn status(status: u16) -> PageEvent {
    let mut event = page("");
    event::response(&mut event).status = status;
    event
}

fn failed(reason: FailureReason) -> PageEvent {
    PageEvent { outcome: Outcome::Failure(Failure { reason, message: String::new() }), ..page("") }
}

fn cut(mut event: PageEvent) -> PageEvent {
    event::response(&mut event).truncated = Some(Truncated::Disconnect);
    event
}

fn redirected(to: &str, mut event: PageEvent) -> PageEvent {
    let (url, target) = (event.url.clone(), to.to_owned());
    event.hops.push(Hop { url, status: 302, headers: Headers::default(), target, ip: None });
    PageEvent { final_url: to.to_owned(), ..event }
}

/// A URL that nobody has fetched.
fn unknown() -> Work {
    Work { url: URL.into(), kind: Kind::Page, ..Work::default() }
}

/// A delivered page with this body.
fn live(body: &str) -> Work {
    let digest = derive(&page(body), &DeriveOptions::default()).digest;
    let history = Some(History::new(BEFORE));
    let known = PageRecord {
        url: URL.into(),
        state: PageState::New,
        status: 200,
        digest: Some(digest),
        fetched_ms: BEFORE,
        history,
        ..PageRecord::default()
    };
    Work { was_found: true, known, ..unknown() }
}

/// A URL whose page was delivered once: it is an alias now, or gone.
fn had_page() -> Work {
    Work { had_page: true, ..unknown() }
}

/// The same with a removal that an earlier fetch showed.
fn doubted(doubt: Doubt) -> Work {
    let mut work = live("one");
    work.known.history = work.known.history.map(|history| history.doubted(doubt, BEFORE));
    work
}

/// Names its canonical URL since then; none: since it was new.
fn naming(since: Option<u64>) -> Work {
    let mut work = live("one");
    work.known.canonical = Some("http://site.example/b".into());
    work.known.refused_since = since;
    work
}

fn step(event: &PageEvent, context: &FetchContext, known: &Work, config: &Config, answers: &Answers) -> Step {
    let scope = Scope::new(&ScopeConfig::default(), &[URL.into()]).unwrap();
    let thresholds = BTreeSet::new();
    let policy = Policy { config, scope: &scope, thresholds: &thresholds };
    let reading: Reading = read(event, known, &derive(event, &DeriveOptions::default()), &policy);
    judge::judge(&Fetched { event, reading: &reading, context }, known, &policy, answers)
}

fn context() -> FetchContext {
    FetchContext { host_statements: Some(Vec::new()), ..FetchContext::charged(ChargedTo::Nobody, 0) }
}

/// For answers that need no look-up.
fn verdict(event: &PageEvent, context: &FetchContext, known: &Work, config: &Config) -> Verdict {
    match step(event, context, known, config, &Answers::default()) {
        Step::Decided(verdict) => *verdict,
        Step::Ask(question) => panic!("{question:?}"),
    }
}

fn doubt(doubt: Doubt) -> Option<Withheld> {
    Some(Withheld::Doubted { doubt, seen_ms: event::FETCHED })
}

#[test]
fn what_an_answer_means_for_a_live_page() {
    use PageChange::{Changed, Gone, Unchanged};
    let noindex = "<meta name=robots content=noindex>one";
    let elsewhere = "http://site.example/login";
    for (name, event, known, change, withheld) in [
        ("the same bytes", page("one"), live("one"), Some(Unchanged), None),
        ("other bytes", page("two"), live("one"), Some(Changed), None),
        ("304", status(304), live("one"), Some(Unchanged), None),
        ("403", status(403), live("one"), None, None),
        ("a first 404", status(404), live("one"), None, None),
        ("a second 404", status(404), doubted(Doubt::Missing), Some(Gone), None),
        ("a first noindex", page(noindex), live("one"), None, doubt(Doubt::Noindex)),
        ("a second noindex", page(noindex), doubted(Doubt::Noindex), Some(Gone), Some(Withheld::Noindex)),
        ("a first empty page", page(""), live("one"), None, doubt(Doubt::Empty)),
        ("a second empty page", page(""), doubted(Doubt::Empty), Some(Changed), None),
        ("a doubt of another kind", page(""), doubted(Doubt::Noindex), None, doubt(Doubt::Empty)),
        ("half a page", cut(page("on")), live("one"), None, Some(Withheld::Cut)),
        ("a first login page", redirected(elsewhere, page("log in")), live("one"), None, doubt(Doubt::Elsewhere)),
        ("a redirect to the same bytes", redirected(elsewhere, page("one")), live("one"), Some(Unchanged), None),
        ("a ban by the operator", failed(FailureReason::OutOfScope), live("one"), Some(Gone), None),
    ] {
        let verdict = verdict(&event, &context(), &known, &config());
        assert_eq!((verdict.change, verdict.withheld), (change, withheld), "{name}");
    }
}

#[test]
fn what_an_answer_means_for_an_unknown_url() {
    let noindex = "<meta name=robots content=noindex>one";
    for (name, event, change, withheld) in [
        ("a page", page("one"), Some(PageChange::New), None),
        ("an empty page", page(""), Some(PageChange::New), None),
        ("404", status(404), None, None),
        ("304 that nobody asked for", status(304), None, None),
        ("noindex", page(noindex), None, Some(Withheld::Noindex)),
        ("forbidden", failed(FailureReason::RobotsDenied), None, None),
    ] {
        let verdict = verdict(&event, &context(), &unknown(), &config());
        assert_eq!((verdict.change, verdict.withheld), (change, withheld), "{name}");
    }
}

/// A destination that keeps removed pages has the complete one.
#[test]
fn half_a_page_replaces_no_page_that_was_delivered_before() {
    let last = |known: Work| {
        let half = PageEvent { attempt: 2, ..cut(page("on")) };
        let verdict = verdict(&half, &context(), &known, &config());
        assert_eq!(verdict.again, None, "it is the last attempt");
        (verdict.change, verdict.withheld)
    };
    assert_eq!(last(had_page()), (None, Some(Withheld::Cut)));
    assert_eq!(last(unknown()), (Some(PageChange::New), None), "better than nothing");
}

/// Only a robots.txt that was fetched after the page can be news about it.
#[test]
fn a_new_disallow_is_a_doubt_and_an_old_one_is_obeyed() {
    let denied = failed(FailureReason::RobotsDenied);
    for (robots_ms, change, withheld) in [
        (Some(BEFORE + 1), None, Some(Withheld::Doubted { doubt: Doubt::Forbidden, seen_ms: BEFORE + 1 })),
        (Some(BEFORE - 1), Some(PageChange::Gone), None),
        (None, Some(PageChange::Gone), None),
    ] {
        let verdict = verdict(&denied, &FetchContext { robots_ms, ..context() }, &live("one"), &config());
        assert_eq!((verdict.change, verdict.withheld), (change, withheld), "{robots_ms:?}");
    }
}

#[test]
fn who_is_charged_decides_when_a_url_is_tried_again() {
    let tried = |whose, attempt| {
        let event = PageEvent { attempt, ..status(500) };
        let context = FetchContext { whose, not_before: event::FETCHED + 5000, ..context() };
        verdict(&event, &context, &unknown(), &config()).again.map(|again| (again.counts, again.host_is_well))
    };
    assert_eq!(tried(ChargedTo::Nobody, 0), None);
    assert_eq!(tried(ChargedTo::Page, 0), Some((true, false)));
    assert_eq!(tried(ChargedTo::Page, 2), None, "its attempts are used up");
    assert_eq!(tried(ChargedTo::Host, 2), Some((false, false)), "its host pays, however often");
    assert_eq!(tried(ChargedTo::Part, 2), Some((false, true)));
}

#[test]
fn a_failure_is_blamed_on_its_url_its_host_or_a_part_of_it() {
    use FailureReason::{BadRedirect, ConnectionRefused, Timeout};
    let busy = |header| {
        let mut event = status(503);
        event::response(&mut event).headers.push(header, "60");
        event
    };
    let last = Work { attempt: 2, ..unknown() };
    for (name, event, work, was_reached, whose, is_in_question) in [
        ("404", status(404), unknown(), true, ChargedTo::Nobody, false),
        ("a redirect that leads nowhere", failed(BadRedirect), unknown(), true, ChargedTo::Nobody, false),
        ("a refused connection", failed(ConnectionRefused), unknown(), true, ChargedTo::Host, false),
        ("a first 500", status(500), unknown(), true, ChargedTo::Page, false),
        ("the last 500", status(500), last.clone(), true, ChargedTo::Page, true),
        ("the last silence", failed(Timeout), last, true, ChargedTo::Page, true),
        ("429", status(429), unknown(), true, ChargedTo::Host, false),
        ("503 that asks for a pause", busy("retry-after"), unknown(), true, ChargedTo::Host, false),
        ("503 beside pages", busy("x-cache"), unknown(), true, ChargedTo::Part, false),
        ("503 before any page", busy("x-cache"), unknown(), false, ChargedTo::Host, true),
        ("half a page", cut(page("on")), unknown(), true, ChargedTo::Page, false),
    ] {
        let blame = blame(&event.outcome, &work, None, was_reached, &config().frontier);
        assert_eq!(blame, Blame { whose, is_in_question }, "{name}");
    }
}

/// A host in question is asked for another page first.
#[test]
fn the_witness_decides_who_is_charged() {
    let put_off = Work { was_put_off: true, ..unknown() };
    let question = |whose| Blame { whose, is_in_question: true };
    for (event, work, whose, control, charged) in [
        (status(500), unknown(), ChargedTo::Page, None, ChargedTo::Page),
        (status(500), unknown(), ChargedTo::Page, Some(true), ChargedTo::Page),
        (status(500), unknown(), ChargedTo::Page, Some(false), ChargedTo::Host),
        (status(503), unknown(), ChargedTo::Host, Some(true), ChargedTo::Part),
        (status(503), put_off, ChargedTo::Host, Some(true), ChargedTo::Page),
        (status(503), unknown(), ChargedTo::Host, None, ChargedTo::Host),
    ] {
        assert_eq!(question(whose).after(control, &event.outcome, &work), charged, "{control:?}");
    }
}

/// A host may fail for some URLs for days and answer others meanwhile. Then nobody is charged, and nothing else ends
/// the retries.
#[test]
fn a_url_waits_longer_the_longer_no_attempt_has_counted() {
    let asked = PageEvent { ended_ms: 10 * HOUR_MS, ..status(503) };
    let again = |whose, put_off_since| {
        let known = Work { was_put_off: true, put_off_since, ..unknown() };
        let context = FetchContext { whose, not_before: asked.ended_ms + 1_000, ..context() };
        verdict(&asked, &context, &known, &config()).again.unwrap().at - asked.ended_ms
    };
    for whose in [ChargedTo::Host, ChargedTo::Part] {
        assert!(again(whose, None) < 60_000);
        assert!(again(whose, Some(asked.ended_ms - 1_000)) < 60_000);
        assert!((4 * HOUR_MS..5 * HOUR_MS).contains(&again(whose, Some(2 * HOUR_MS))));
    }
}

/// The transfer was whole, so its host was not charged. The URL is.
#[test]
fn half_a_page_is_fetched_again_and_delivered_only_where_nothing_is_known() {
    let first = cut(page("on"));
    let last = PageEvent { attempt: 2, ..first.clone() };
    let half = |event: &PageEvent, known: &Work| {
        let verdict = verdict(event, &context(), known, &config());
        (verdict.again.is_some(), verdict.change, verdict.withheld)
    };
    assert_eq!(half(&first, &unknown()), (true, None, Some(Withheld::Cut)));
    assert_eq!(half(&last, &unknown()), (false, Some(PageChange::New), None));
    assert_eq!(half(&last, &live("one")), (false, None, Some(Withheld::Cut)));
}

#[test]
fn the_page_of_another_url_is_an_alias() {
    let owner = Owner { url: "http://site.example/first".into(), target: URL.into() };
    let verdict = verdict(&page("one"), &FetchContext { owner: Some(owner), ..context() }, &unknown(), &config());
    let alias = Withheld::Alias { of: "http://site.example/first".into(), target: URL.into() };
    assert_eq!((verdict.change, verdict.withheld.as_ref()), (None, Some(&alias)));
    assert!(!verdict.has_page());
}

/// The judge asks a question, and the answer comes from the frontier.
#[test]
fn a_canonical_url_is_looked_up_and_a_new_one_is_a_doubt() {
    let mut config = config();
    config.frontier.canonical = Canonical::Obey;
    let event = page("<link rel=canonical href=/b>one");
    let alias = Withheld::Alias { of: "http://site.example/b".into(), target: "http://site.example/b".into() };
    let question = match step(&event, &context(), &unknown(), &config, &Answers::default()) {
        Step::Ask(question) => question,
        Step::Decided(verdict) => panic!("{verdict:?}"),
    };
    let canonical = "http://site.example/b".to_owned();
    assert_eq!(question, Question::CanonicalSlot { canonical, leaves_after: None });
    for (answer, known, withheld, drops) in [
        (None, unknown(), None, false),
        (Some(alias.clone()), unknown(), Some(alias.clone()), false),
        (Some(alias.clone()), live("one"), doubt(Doubt::Named), true),
        (Some(alias.clone()), doubted(Doubt::Named), Some(alias.clone()), false),
        (Some(alias.clone()), naming(None), Some(alias.clone()), false),
        (Some(alias.clone()), naming(Some(event::FETCHED - 1)), doubt(Doubt::Named), true),
        (Some(alias.clone()), naming(Some(BEFORE)), Some(alias.clone()), false),
    ] {
        let answers = Answers { canonical_slot: Some(answer), ..Answers::default() };
        let Step::Decided(verdict) = step(&event, &context(), &known, &config, &answers) else { panic!() };
        assert_eq!((verdict.withheld, verdict.drops_reservations), (withheld, drops));
    }
}

#[test]
fn a_duplicate_is_looked_up_by_its_content() {
    let mut config = config();
    config.frontier.duplicates = Some(0);
    let asks = |event: &PageEvent| {
        matches!(
            step(event, &context(), &unknown(), &config, &Answers::default()),
            Step::Ask(Question::ContentSlot { within: 0, .. })
        )
    };
    assert!(asks(&page("one")));
    assert!(!asks(&page("")), "all empty pages would be duplicates");
    assert!(!asks(&status(404)));
    let first = DuplicateOf { url: "http://site.example/b".into(), ..DuplicateOf::default() };
    let answers = Answers { content_slot: Some(Some(first.clone())), ..Answers::default() };
    let Step::Decided(verdict) = step(&page("one"), &context(), &unknown(), &config, &answers) else { panic!() };
    assert_eq!(verdict.likeness.and_then(|likeness| likeness.of), Some(first));
    assert_eq!(verdict.change, Some(PageChange::New));
}

/// The decisions of a verdict, and nothing else, are new in the event.
#[test]
fn a_verdict_is_written_into_the_event_once() {
    let facts = page("two");
    let written = verdict(&facts, &context(), &live("one"), &config()).written(facts.clone());
    assert_eq!(written.change, Some(PageChange::Changed));
    assert_eq!(written.preferences.as_deref(), Some(&[][..]));
    let PageEvent { change, preferences, relevance, .. } = facts.clone();
    assert_eq!(PageEvent { change, preferences, relevance, ..written }, facts);
}
