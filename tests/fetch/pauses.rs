//! How long a host rests and when a URL is tried again: arithmetic on what happened.

use std::time::{Duration, SystemTime};

use seine::config::FrontierConfig;
use seine::fetch::pause::{HostHealth, host_health, host_not_before, retry_at};
use seine::page::{EpochMs, Failure, FailureReason, Outcome, PageEvent, Response};

const NOW: EpochMs = 1_800_000_000_000;
const DAY_MS: u64 = 24 * 3600 * 1000;

fn config() -> FrontierConfig {
    FrontierConfig {
        backoff_base: Duration::from_secs(5),
        backoff_max: Duration::from_secs(60),
        max_retries: 10,
        ..FrontierConfig::default()
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

/// How long the host rests after an answer, in milliseconds.
fn rest(outcome: &Outcome, failures: u32) -> u64 {
    host_not_before(outcome, NOW, Duration::from_millis(250), failures, &config()) - NOW
}

#[test]
fn a_host_that_answers_rests_for_its_delay() {
    assert_eq!(rest(&answered(200, None), 0), 250);
    assert_eq!(rest(&answered(404, Some("1000")), 0), 250, "Retry-After counts with 429 and 503 only");
}

#[test]
fn back_off_doubles_up_to_its_limit() {
    let rests: Vec<u64> = [1, 2, 3, 4, 5, 6, 40, u32::MAX].map(|n| rest(&failed(FailureReason::Connect), n)).into();
    assert_eq!(rests, [5000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000, 60_000]);
}

#[test]
fn the_delay_is_never_cut_short_by_back_off() {
    let outcome = failed(FailureReason::Timeout);
    assert_eq!(host_not_before(&outcome, NOW, Duration::from_secs(30), 1, &config()), NOW + 30_000);
}

#[test]
fn retry_after_is_obeyed_within_a_day() {
    let in_an_hour =
        httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_millis(NOW) + Duration::from_secs(3600));
    let in_a_year = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_millis(NOW + 365 * DAY_MS));
    for (value, expected) in [
        ("120", 120_000),
        (" 120 ", 120_000),
        ("3", 5000), // the back-off is longer
        ("0", 5000),
        (in_an_hour.as_str(), 3_600_000),
        ("Sat, 01 Jan 2022 00:00:00 GMT", 5000), // long ago
        (in_a_year.as_str(), DAY_MS),
        ("999999999", DAY_MS),
        ("18446744073709551616", DAY_MS), // beyond u64
        ("99999999999999999999999999999999", DAY_MS),
        ("-5", 5000),
        ("soon", 5000),
        ("1e9", 5000),
        ("", 5000),
    ] {
        for status in [429, 503] {
            assert_eq!(rest(&answered(status, Some(value)), 1), expected, "{status} Retry-After: {value}");
        }
    }
}

#[test]
fn health_is_told_from_the_answer() {
    use FailureReason::*;
    for (outcome, expected) in [
        (answered(200, None), HostHealth::Well),
        (answered(404, None), HostHealth::Well),
        (answered(500, None), HostHealth::Well),
        (answered(429, None), HostHealth::Ailing),
        (answered(503, None), HostHealth::Ailing),
        (failed(Connect), HostHealth::Ailing),
        (failed(Tls), HostHealth::Ailing),
        (failed(Timeout), HostHealth::Ailing),
        (failed(Protocol), HostHealth::Well),
        (failed(UnwantedType), HostHealth::Well),
        (failed(RobotsDenied), HostHealth::Unknown),
        (failed(RobotsUnreachable), HostHealth::Unknown),
        (failed(PrivateAddress), HostHealth::Unknown),
        (failed(BadRedirect), HostHealth::Unknown),
        (failed(TooManyRedirects), HostHealth::Unknown),
    ] {
        assert_eq!(host_health(&outcome), expected, "{outcome:?}");
    }
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
        failed(Tls),
        failed(Timeout),
        failed(Protocol),
        failed(RobotsUnreachable),
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
    for (attempt, least) in [(0, 5000), (1, 10_000), (2, 20_000), (3, 40_000), (4, 60_000), (9, 60_000)] {
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
    assert_eq!(retry_at(&event(answered(503, Some("99999999999999999999")), 0), &config()), Some(NOW + DAY_MS));
    assert!(retry_at(&event(answered(500, Some("3600")), 0), &config()).unwrap() < NOW + 8000);
}
