//! Arithmetic on past events: whether a URL or its host is blamed, how long the host pauses, and when the URL is tried
//! again.

use std::time::{Duration, SystemTime};

use seine::config::{Config, FrontierConfig};
use seine::judge::blame::{ChargedTo, whose};
use seine::judge::retry::retry_at;
use seine::judge::trouble::{failed_again, health_after, host_not_before, is_hopeless};
use seine_frontier::{Cause, Errors, Health, Trouble, url_mark};
use seine_parse::page::{EpochMs, Failure, FailureReason, Outcome, PageEvent, Response, Truncated};

const NOW: EpochMs = 1_800_000_000_000;
const DAY_MS: u64 = 24 * 3600 * 1000;

fn config() -> FrontierConfig {
    FrontierConfig {
        backoff_base: Duration::from_secs(5),
        backoff_max: Duration::from_secs(60),
        max_retries: 10,
        ..Config::default().frontier
    }
}

fn answered(status: u16, retry_after: Option<&str>) -> Outcome {
    let headers: Vec<_> = retry_after.map(|value| ("retry-after", value)).into_iter().collect();
    Outcome::Response(Response { status, ..crate::event::answer(&headers, "") })
}

fn failed(reason: FailureReason) -> Outcome {
    Outcome::Failure(Failure { reason, message: "because".into() })
}

fn event(outcome: Outcome, attempt: u16) -> PageEvent {
    let page = crate::event::page("http://a.test/", &[], "");
    PageEvent {
        id: "0192f0c0ffee70008000000000000001".into(),
        attempt,
        started_ms: NOW - 100,
        ended_ms: NOW,
        outcome,
        ..page
    }
}

/// A host with this many failures in a row.
fn trouble(failures: u32) -> Trouble {
    let cause = Cause::Status(503);
    Trouble {
        since: NOW - 1000,
        last: NOW - 500,
        failures,
        cause,
        suspect: None,
        asked_until: None,
        given_up: false,
        errors: Errors::default(),
    }
}

/// A host on which only one URL has failed.
fn suspicion(url: &str) -> Trouble {
    Trouble { suspect: Some(url_mark(url)), ..trouble(0) }
}

fn cut(truncated: Truncated) -> Outcome {
    let answer = crate::event::answer(&[], "half a pa");
    Outcome::Response(Response { truncated: Some(truncated), ..answer })
}

/// How long the host pauses after an answer, in milliseconds.
fn rest(outcome: &Outcome, failures: u32) -> u64 {
    rest_of("http://a.test", outcome, failures)
}

fn rest_of(origin: &str, outcome: &Outcome, failures: u32) -> u64 {
    let delay = Duration::from_millis(250);
    host_not_before(outcome, NOW, delay, Some(&trouble(failures)), origin, &config()) - NOW
}

#[test]
fn a_host_that_answers_rests_for_its_delay() {
    assert_eq!(rest(&answered(200, None), 0), 250);
    assert_eq!(rest(&answered(404, Some("1000")), 0), 250, "Retry-After counts with 429 and 503 only");
    let given_up = Trouble { given_up: true, ..trouble(7) };
    let delay = Duration::from_millis(250);
    let at = host_not_before(&failed(FailureReason::Connect), NOW, delay, Some(&given_up), "http://a.test", &config());
    assert_eq!(at, NOW + 250, "nobody waits for it");
}

#[test]
fn back_off_doubles_up_to_its_limit() {
    for (failures, least, most) in
        [(1, 5000, 7500), (2, 10_000, 15_000), (3, 20_000, 30_000), (4, 40_000, 60_000), (5, 40_000, 60_000)]
    {
        let rest = rest(&failed(FailureReason::Connect), failures);
        assert!((least..=most).contains(&rest), "{failures} failures: {rest} ms");
    }
    for failures in [40, u32::MAX] {
        assert!((40_000..=60_000).contains(&rest(&failed(FailureReason::Connect), failures)));
    }
}

#[test]
fn hosts_that_failed_together_do_not_come_back_together() {
    for failures in [1, 3, 20] {
        let outcome = failed(FailureReason::Connect);
        let rests: Vec<u64> = (0..200).map(|n| rest_of(&format!("http://h{n}.test"), &outcome, failures)).collect();
        let (first, last) = (*rests.iter().min().unwrap(), *rests.iter().max().unwrap());
        assert!(last - first > first / 4, "after {failures} failures all come within {} ms", last - first);
    }
}

#[test]
fn the_delay_is_never_cut_short_by_back_off() {
    let outcome = failed(FailureReason::Timeout);
    let delay = Duration::from_secs(30);
    assert_eq!(host_not_before(&outcome, NOW, delay, Some(&trouble(1)), "http://a.test", &config()), NOW + 30_000);
}

#[test]
fn retry_after_is_believed_within_reason() {
    let date = |after: u64| httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_millis(NOW + after));
    let [in_a_minute, in_an_hour, in_a_year, in_decades] =
        [60_000, 3_600_000, 365 * DAY_MS, 30 * 365 * DAY_MS].map(date);
    const HOUR: u64 = 3_600_000;
    let back_off = rest(&failed(FailureReason::Connect), 1);
    for (value, expected) in [
        ("120", 120_000),
        (" 120 ", 120_000),
        ("3", back_off), // the back-off is longer
        ("0", back_off),
        (in_a_minute.as_str(), 60_000),
        (in_an_hour.as_str(), HOUR),
        ("86400", HOUR),
        (in_a_year.as_str(), HOUR),
        ("Sat, 01 Jan 2022 00:00:00 GMT", back_off), // long ago
        // Such values are mistakes.
        ("94608000000", back_off), // 3,000 years
        ("999999999", back_off),
        (in_decades.as_str(), back_off),
        ("Thu, 01 Jan 2099 00:00:00 GMT", back_off),
        ("Fri, 31 Dec 9999 23:59:59 GMT", back_off),
        ("18446744073709551616", back_off), // beyond u64
        ("99999999999999999999999999999999", back_off),
        ("-5", back_off),
        ("soon", back_off),
        ("1e9", back_off),
        ("", back_off),
    ] {
        for status in [429, 503] {
            assert_eq!(rest(&answered(status, Some(value)), 1), expected, "{status} Retry-After: {value}");
        }
    }
}

/// The server's clock, or the crawler's, is 40 minutes wrong.
#[test]
fn a_retry_after_date_is_by_the_servers_clock() {
    let date = |at: u64| httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_millis(at));
    for servers_now in [NOW - 40 * 60_000, NOW + 40 * 60_000] {
        let (sent, again) = (date(servers_now), date(servers_now + 60_000));
        let headers = [("date", sent.as_str()), ("retry-after", again.as_str())];
        let outcome = Outcome::Response(Response { status: 503, ..crate::event::answer(&headers, "") });
        assert_eq!(rest(&outcome, 1), 60_000);
    }
}

#[test]
fn what_the_host_says_of_itself_is_the_hosts() {
    use FailureReason::*;
    let url = "http://a.test/1";
    for outcome in [
        answered(429, None),
        answered(503, Some("60")),
        failed(Connect),
        failed(ConnectionRefused),
        failed(Dns),
        failed(Tls),
        failed(RobotsUnreachable),
    ] {
        for known in [None, Some(suspicion(url)), Some(suspicion("http://a.test/2")), Some(trouble(1))] {
            assert_eq!(whose(&outcome, url, false, known.as_ref()), ChargedTo::Host, "{outcome:?} after {known:?}");
        }
    }
}

#[test]
fn a_url_that_is_turned_away_by_a_host_that_answers_others_waits_without_its_host() {
    let (url, other) = ("http://a.test/1", "http://a.test/2");
    let two_in_a_row = Trouble { errors: Errors { recent: 0b11, ..Errors::default() }, ..suspicion(other) };
    for outcome in [answered(503, None), failed(FailureReason::ConnectionBroken)] {
        let whose = |before: Option<Trouble>| whose(&outcome, url, false, before.as_ref());
        assert_eq!([whose(None), whose(Some(suspicion(other)))], [ChargedTo::Part; 2], "{outcome:?}");
        let of_the_host = [suspicion(url), two_in_a_row, trouble(1)].map(|before| whose(Some(before)));
        assert_eq!(of_the_host, [ChargedTo::Host; 3], "alone, the third in a row, and in trouble: {outcome:?}");
    }
}

#[test]
fn the_first_to_fail_fails_by_itself_and_the_next_with_its_host() {
    let (url, other) = ("http://a.test/1", "http://a.test/2");
    for outcome in [
        answered(500, None),
        answered(502, None),
        answered(504, None),
        answered(522, None),
        failed(FailureReason::Timeout),
        failed(FailureReason::Protocol),
    ] {
        assert_eq!(whose(&outcome, url, false, None), ChargedTo::Page, "{outcome:?}");
        assert_eq!(whose(&outcome, url, true, Some(&suspicion(url))), ChargedTo::Page, "again, and no other between");
        assert_eq!(whose(&outcome, other, false, Some(&suspicion(url))), ChargedTo::Host, "one after the other");
        assert_eq!(whose(&outcome, url, false, Some(&trouble(1))), ChargedTo::Host, "it was not well before");
    }
}

#[test]
fn a_url_that_alone_is_turned_away_again_and_again_pays_for_it() {
    let url = "http://a.test/1";
    use FailureReason::*;
    for outcome in [answered(503, None), answered(429, None), failed(ConnectionBroken)] {
        assert_eq!(whose(&outcome, url, true, None), ChargedTo::Page, "its host was well in between: {outcome:?}");
        assert_eq!(whose(&outcome, url, true, Some(&trouble(1))), ChargedTo::Host, "its host was not");
    }
    for reason in [Dns, Connect, ConnectionRefused, Tls] {
        assert_eq!(whose(&failed(reason), url, true, None), ChargedTo::Host, "nothing was said of the URL: {reason:?}");
    }
}

#[test]
fn answers_are_nobodys_trouble_and_the_first_cut_body_is_the_pages() {
    use FailureReason::*;
    let judge = |outcome: &Outcome| whose(outcome, "http://a.test/1", true, Some(&trouble(3)));
    for outcome in [
        answered(200, None),
        answered(304, None),
        answered(404, None),
        cut(Truncated::Length),
        failed(UnwantedType),
        failed(RobotsDenied),
        failed(PrivateAddress),
        failed(BadRedirect),
        failed(TooManyRedirects),
        failed(HostUnreachable),
    ] {
        assert_eq!(judge(&outcome), ChargedTo::Nobody, "{outcome:?}");
    }
    for truncated in [Truncated::Time, Truncated::Disconnect] {
        assert_eq!(judge(&cut(truncated)), ChargedTo::Page);
    }
    // Two URLs in a row blame the host, but not for ever.
    let breaks_off = |failures, by| Trouble { cause: Cause::Failure(Cut), failures, ..suspicion(by) };
    for (failures, by, whose_it_is) in [
        (0, "http://a.test/1", ChargedTo::Page),
        (0, "http://a.test/2", ChargedTo::Host),
        (1, "http://a.test/1", ChargedTo::Host),
        (3, "http://a.test/2", ChargedTo::Host),
        (4, "http://a.test/2", ChargedTo::Page),
    ] {
        let before = breaks_off(failures, by);
        let broken = whose(&cut(Truncated::Disconnect), "http://a.test/1", false, Some(&before));
        assert_eq!(broken, whose_it_is, "{failures} failures, first {by}");
        assert_eq!(
            whose(&cut(Truncated::Time), "http://a.test/1", false, Some(&before)),
            ChargedTo::Page,
            "it is slow"
        );
    }
}

#[test]
fn health_is_told_from_the_answer() {
    use FailureReason::*;
    let url = "http://a.test/1";
    let after = |outcome: &Outcome, before: Option<Trouble>| {
        let whose = whose(outcome, url, false, before.as_ref());
        health_after(outcome, whose, url, NOW, before, &config())
    };
    for outcome in [answered(200, None), answered(404, None), failed(UnwantedType), cut(Truncated::Time)] {
        assert_eq!(after(&outcome, Some(trouble(3))), Some(Health::Well), "{outcome:?}");
    }
    for outcome in [failed(RobotsDenied), failed(PrivateAddress), failed(BadRedirect), failed(TooManyRedirects)] {
        assert_eq!(after(&outcome, Some(trouble(3))), None, "{outcome:?}");
    }
    let suspicious = Trouble { since: NOW, last: NOW, failures: 0, cause: Cause::Status(500), ..suspicion(url) };
    assert_eq!(after(&answered(500, None), None), Some(Health::Troubled(suspicious)));
    let first = Trouble { since: NOW, last: NOW, cause: Cause::Status(429), ..trouble(1) };
    assert_eq!(after(&answered(429, None), None), Some(Health::Troubled(first)));
    let third = Trouble { last: NOW, cause: Cause::Status(500), ..trouble(3) };
    assert_eq!(after(&answered(500, None), Some(trouble(2))), Some(Health::Troubled(third)), "since as before");
}

#[test]
fn a_host_is_given_up_after_its_time_in_which_it_was_asked() {
    let config = FrontierConfig {
        give_up_after: Duration::from_secs(7 * 24 * 3600),
        backoff_max: Duration::from_secs(24 * 3600),
        ..config()
    };
    let cause = Cause::Status(503);
    let mut trouble = failed_again(None, cause, NOW, &config);
    assert_eq!((trouble.failures, trouble.since), (1, NOW));
    for day in 1..7 {
        trouble = failed_again(Some(trouble), cause, NOW + day * DAY_MS, &config);
        assert!(!is_hopeless(&trouble, &config), "day {day}");
    }
    let last = failed_again(Some(trouble), cause, NOW + 7 * DAY_MS, &config);
    assert!(is_hopeless(&last, &config));
    // The crawl was stopped for a month, so the host's state is unknown.
    let third = Trouble { last: NOW + 3 * DAY_MS, ..trouble };
    let later = failed_again(Some(third), cause, NOW + 33 * DAY_MS, &config);
    assert!(!is_hopeless(&later, &config));
    assert_eq!((later.failures, later.last - later.since), (8, 4 * DAY_MS));
    // A URL's own old failure does not count as the start.
    let first = failed_again(Some(suspicion("http://a.test/1")), cause, NOW + 90 * DAY_MS, &config);
    assert_eq!((first.failures, first.since), (1, NOW + 90 * DAY_MS));
}

#[test]
fn what_may_go_better_is_tried_again() {
    use FailureReason::*;
    for outcome in [
        answered(429, None),
        answered(500, None),
        answered(502, None),
        answered(503, None),
        failed(Dns),
        failed(Connect),
        failed(ConnectionRefused),
        failed(ConnectionBroken),
        failed(Tls),
        failed(Timeout),
        failed(Protocol),
        failed(RobotsUnreachable),
        cut(Truncated::Time),
        cut(Truncated::Disconnect),
    ] {
        assert!(retry_at(&event(outcome.clone(), 0), &config()).is_some(), "{outcome:?}");
        assert!(retry_at(&event(outcome.clone(), 9), &config()).is_some(), "{outcome:?}");
        assert_eq!(retry_at(&event(outcome.clone(), 10), &config()), None, "{outcome:?}");
    }
    for outcome in [
        answered(200, None),
        answered(304, None),
        answered(301, None),
        answered(404, None),
        answered(410, None),
        cut(Truncated::Length),
        failed(HostUnreachable),
        failed(RobotsDenied),
        failed(PrivateAddress),
        failed(TooManyRedirects),
        failed(BadRedirect),
        failed(UnwantedType),
        failed(BadUrl),
    ] {
        assert_eq!(retry_at(&event(outcome.clone(), 0), &config()), None, "{outcome:?}");
    }
}

#[test]
fn retries_come_later_and_later_but_not_together() {
    for (attempt, least) in [(0, 5000), (1, 10_000), (2, 20_000), (3, 40_000), (4, 40_000), (9, 40_000)] {
        let waits: Vec<u64> = (0..200)
            .map(|number| {
                let event =
                    PageEvent { id: format!("{number:032x}"), ..event(failed(FailureReason::Connect), attempt) };
                let again = retry_at(&event, &config());
                assert_eq!(again, retry_at(&event, &config()), "the same event gives the same time");
                again.unwrap() - NOW
            })
            .collect();
        let (first, last) = (*waits.iter().min().unwrap(), *waits.iter().max().unwrap());
        assert!(first >= least && last <= least * 3 / 2, "attempt {attempt}: {first} to {last} ms");
        assert!(last - first > least / 4, "attempt {attempt}: all within {} ms", last - first);
    }
}

#[test]
fn a_retry_is_no_sooner_than_the_server_asked() {
    assert_eq!(retry_at(&event(answered(503, Some("3600")), 0), &config()), Some(NOW + 3_600_000));
    assert!(retry_at(&event(answered(503, Some("99999999999999999999")), 0), &config()).unwrap() < NOW + 8000);
    assert!(retry_at(&event(answered(500, Some("3600")), 0), &config()).unwrap() < NOW + 8000);
}
