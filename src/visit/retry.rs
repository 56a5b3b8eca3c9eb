//! Decides who is charged for an outcome, how long the host waits, and when the URL is retried. Pure functions, used by
//! the worker, by the release of the host, and by the validator.

use std::time::Duration;

use seine_frontier::{Cause, Errors, Health, Trouble, Work, url_mark};
use seine_parse::page::{EpochMs, FailureReason, Outcome, PageEvent, Response, Truncated};
use seine_simulation_hooks::planted;

use crate::config::FrontierConfig;

/// A longer Retry-After is ignored as a mistake.
const ABSURD: Duration = Duration::from_secs(366 * 24 * 3600);

/// After this many truncated bodies in a row, the host is no longer charged; then each URL is.
const CUTS_BELIEVED: u32 = 4;
/// The second DNS lookup of a name without address happens at the latest after this.
const SECOND_LOOK_UP: Duration = Duration::from_secs(2);

/// Who is charged for an outcome. Outages of this machine are handled before (see [`super::outage`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Nobody: it is an answer, or a failure that retries cannot change.
    Nobody,
    /// The host backs off. The URL waits and is charged no attempt.
    Host,
    /// The URL is charged an attempt.
    Page,
    /// A part of the host: many of its URLs fail while others are answered. The URL waits and is charged no attempt;
    /// the host does not back off.
    Part,
}

/// What an outcome can mean by itself.
enum Sort {
    /// The host answered.
    Answer,
    /// Says nothing about the host.
    Nothing,
    /// Failed before anything was said about the URL.
    Connection,
    /// The host asked for a pause or broke off. This concerns all of its URLs, unless only one gets it again and again.
    Rejection,
    /// A failure of the URL while other URLs succeed; of the host if several fail in a row.
    Either,
    /// The body was truncated.
    Cut,
    /// The body was too slow.
    Slow,
}

fn sort(outcome: &Outcome) -> Sort {
    use FailureReason::*;
    match outcome {
        Outcome::Response(response) if response.is_cut() => match response.truncated {
            Some(Truncated::Time) => Sort::Slow,
            _ => Sort::Cut,
        },
        Outcome::Response(response) => match response.status {
            429 | 503 => Sort::Rejection,
            500.. => Sort::Either,
            _ => Sort::Answer,
        },
        Outcome::Failure(failure) => match failure.reason {
            Dns | Resolver | NoRoute | OpenFiles | Connect | ConnectionRefused | Tls | RobotsUnreachable => {
                Sort::Connection
            }
            ConnectionBroken => Sort::Rejection,
            Timeout | Protocol => Sort::Either,
            UnwantedType => Sort::Answer,
            PrivateAddress | RobotsDenied | TooManyRedirects | BadRedirect | BadUrl | HostBusy | HostUnreachable
            | OutOfScope | Alias | UnknownHost | Fault => Sort::Nothing,
            Cut => Sort::Cut,
        },
    }
}

/// Who is charged for the outcome of `url`. `trouble`: the host's trouble just before. `was_put_off`: see
/// [`seine_frontier::Work::was_put_off`].
pub fn whose(outcome: &Outcome, url: &str, was_put_off: bool, trouble: Option<&Trouble>) -> Whose {
    // If only this URL has failed, that says nothing yet about its host.
    let mark = url_mark(url);
    let is_of_it = |trouble: &Trouble| trouble.suspect.is_none_or(|suspect| suspect == mark);
    let was_well = trouble.is_none_or(|trouble| trouble.failures == 0 && is_of_it(trouble));
    match sort(outcome) {
        Sort::Answer | Sort::Nothing => Whose::Nobody,
        Sort::Connection if planted::is("page_pays_for_host") => Whose::Page,
        Sort::Connection => Whose::Host,
        // The host was healthy after the last failure, so it is this URL.
        Sort::Rejection if was_put_off && trouble.is_none_or(is_answering) => Whose::Page,
        Sort::Rejection if !asks_for_rest(outcome) && trouble.is_none_or(|trouble| answers_others(trouble, mark)) => {
            Whose::Part
        }
        Sort::Rejection => Whose::Host,
        Sort::Either if was_well => Whose::Page,
        Sort::Either => Whose::Host,
        // Two different URLs in a row: it is host trouble.
        Sort::Cut if !was_well && trouble.is_some_and(breaks_off) => Whose::Host,
        Sort::Cut | Sort::Slow => Whose::Page,
    }
}

/// The host answered the last request.
fn is_answering(trouble: &Trouble) -> bool {
    trouble.failures == 0 && trouble.suspect.is_none()
}

/// The host answered just before, or only one other URL has failed since. So this URL may fail by itself.
fn answers_others(trouble: &Trouble, mark: u64) -> bool {
    trouble.failures == 0 && trouble.suspect != Some(mark) && !trouble.errors.are_two_in_a_row()
}

/// The server asked for a pause itself: for the whole host, not for one URL.
fn asks_for_rest(outcome: &Outcome) -> bool {
    let Outcome::Response(response) = outcome else { return false };
    response.status == 429 || response.headers.get("retry-after").is_some()
}

/// Its bodies are truncated, and that may pass.
fn breaks_off(trouble: &Trouble) -> bool {
    trouble.cause == Cause::Failure(FailureReason::Cut) && trouble.failures < CUTS_BELIEVED
}

/// Its bodies were truncated too often in a row to be a temporary trouble.
fn is_believed_no_more(trouble: &Trouble) -> bool {
    trouble.cause == Cause::Failure(FailureReason::Cut) && trouble.failures >= CUTS_BELIEVED
}

/// The URL failed in a way that may be host trouble, and only this URL can tell: nothing else was answered since its
/// last failure, or this is its last attempt. True for the last page of a host that is down.
pub(super) fn leaves_host_in_question(
    outcome: &Outcome,
    work: &Work,
    before: Option<&Trouble>,
    config: &FrontierConfig,
) -> bool {
    let is_alone = before.is_some_and(|before| before.suspect == Some(url_mark(&work.url)));
    matches!(sort(outcome), Sort::Either) && (is_alone || work.attempt >= config.max_retries)
}

/// Updates the error statistics of a host's URLs. If many fail together, the first success makes all of them healthy
/// again.
pub(super) fn errors_after(
    outcome: &Outcome,
    work: &Work,
    ended_ms: EpochMs,
    before: Option<&Trouble>,
    config: &FrontierConfig,
) -> Errors {
    let errors = before.map(|before| before.errors).unwrap_or_default();
    let is_first = work.attempt == 0 && !work.was_put_off;
    match (sort(outcome), before) {
        (Sort::Answer, _) if !is_first => Errors::default(),
        (Sort::Answer, _) => errors.first_request(false, ended_ms),
        (Sort::Either | Sort::Rejection, before) => {
            let unasked = before.map_or(0, |before| unasked(before, ended_ms, config));
            let many_since = errors.many_since.map(|since| since + unasked);
            let errors = Errors { many_since, ..errors };
            if is_first { errors.first_request(true, ended_ms) } else { errors }
        }
        (Sort::Nothing | Sort::Connection | Sort::Cut | Sort::Slow, _) => errors,
    }
}

/// When to retry a URL that would fail for good although many URLs of its host fail together; none if it may fail. The
/// longer they have failed, the longer it waits.
pub(super) fn tried_with_others(
    outcome: &Outcome,
    work: &Work,
    host: Option<&Trouble>,
    ended_ms: EpochMs,
    config: &FrontierConfig,
) -> Option<EpochMs> {
    let is_error = matches!(sort(outcome), Sort::Either | Sort::Rejection);
    let since = host?.errors.many_since.filter(|_| is_error && work.attempt >= config.max_retries)?;
    let age = Duration::from_millis(ended_ms.saturating_sub(since));
    let wait = back_off(u32::from(work.attempt) + 1, &work.url, config).max(age / 2).min(config.backoff_max);
    (age < config.give_up_after).then(|| ended_ms + millis(wait))
}

/// A failure that occurs with host trouble, but also with single pages of a healthy host.
pub fn may_be_the_pages(outcome: &Outcome) -> bool {
    match sort(outcome) {
        Sort::Either => true,
        Sort::Rejection => !asks_for_rest(outcome),
        _ => false,
    }
}

/// Who is charged if the host answers for another page. A URL that is rejected for the first time waits a little before
/// it is charged.
pub(super) fn whose_of_a_host_that_answers(outcome: &Outcome, work: &Work) -> Whose {
    match sort(outcome) {
        Sort::Rejection if !work.was_put_off => Whose::Part,
        _ => Whose::Page,
    }
}

/// When to retry a URL of [`Whose::Part`].
pub(super) fn tried_after_others(work: &Work, ended_ms: EpochMs, config: &FrontierConfig) -> EpochMs {
    ended_ms + millis(back_off(u32::from(work.attempt) + 1, &work.url, config))
}

/// Whether the host answered, whatever it said.
pub fn is_answer(outcome: &Outcome) -> bool {
    matches!(sort(outcome), Sort::Answer | Sort::Cut | Sort::Slow)
}

/// The health of the host after an attempt that ended at `ended_ms`; none if unchanged.
pub fn health_after(
    outcome: &Outcome,
    whose: Whose,
    url: &str,
    ended_ms: EpochMs,
    before: Option<Trouble>,
    config: &FrontierConfig,
) -> Option<Health> {
    let (cause, asked_until) = (cause_of(outcome), asked_until(outcome, ended_ms, config));
    match (whose, sort(outcome)) {
        (Whose::Nobody, Sort::Nothing) => None,
        (Whose::Nobody, _) | (Whose::Page, Sort::Slow) => Some(Health::Well),
        // The host's state stays, and it does not back off further.
        (Whose::Page, Sort::Cut) if before.as_ref().is_some_and(is_believed_no_more) => None,
        (Whose::Page | Whose::Part, _) => {
            let since = before.map_or(ended_ms, |before| before.since);
            let first = failed_again(None, cause, ended_ms, config);
            Some(Health::Troubled(Trouble { since, failures: 0, suspect: Some(url_mark(url)), asked_until, ..first }))
        }
        (Whose::Host, _) => {
            Some(Health::Troubled(Trouble { asked_until, ..failed_again(before, cause, ended_ms, config) }))
        }
    }
}

/// The host has failed again. Time without requests does not count towards giving it up.
pub fn failed_again(before: Option<Trouble>, cause: Cause, ended_ms: EpochMs, config: &FrontierConfig) -> Trouble {
    let new = Trouble {
        since: ended_ms,
        last: ended_ms,
        failures: 1,
        cause,
        suspect: None,
        asked_until: None,
        given_up: false,
        errors: before.map(|before| before.errors).unwrap_or_default(),
    };
    let Some(before) = before.filter(|before| before.failures > 0) else {
        return Trouble { suspect: before.and_then(|before| before.suspect), ..new };
    };
    Trouble {
        since: before.since + unasked(&before, ended_ms, config),
        failures: before.failures.saturating_add(1),
        cause,
        last: ended_ms,
        asked_until: None,
        ..before
    }
}

/// Time without requests to a host that had failed.
fn unasked(before: &Trouble, ended_ms: EpochMs, config: &FrontierConfig) -> u64 {
    ended_ms.saturating_sub(before.last).saturating_sub(millis(config.backoff_max))
}

/// The end of the pause that the server asked for (Retry-After), if any.
pub fn asked_until(outcome: &Outcome, ended_ms: EpochMs, config: &FrontierConfig) -> Option<EpochMs> {
    let Outcome::Response(response) = outcome else { return None };
    retry_after(response, ended_ms, config).map(|rest| ended_ms + millis(rest))
}

/// The cause of a failed attempt.
pub fn cause_of(outcome: &Outcome) -> Cause {
    match outcome {
        Outcome::Response(response) if response.is_cut() => Cause::Failure(FailureReason::Cut),
        Outcome::Response(response) => Cause::Status(response.status),
        Outcome::Failure(failure) => Cause::Failure(failure.reason),
    }
}

/// Whether a host has been in trouble for so long that it is given up.
pub fn is_hopeless(trouble: &Trouble, config: &FrontierConfig) -> bool {
    trouble.failures > 0 && trouble.last.saturating_sub(trouble.since) >= millis(config.give_up_after)
}

/// When the host may be visited next after an attempt that ended at `ended_ms`: after the longest of delay, Retry-After
/// and back-off. `trouble` includes this attempt.
pub fn host_not_before(
    outcome: &Outcome,
    ended_ms: EpochMs,
    delay: Duration,
    trouble: Option<&Trouble>,
    origin: &str,
    config: &FrontierConfig,
) -> EpochMs {
    let mut rest = delay;
    if let Some(trouble) = trouble.filter(|trouble| trouble.is_the_hosts()) {
        let back_off = back_off(trouble.failures, &format!("{origin} {}", trouble.failures), config);
        rest = rest.max(match trouble.cause {
            Cause::Failure(FailureReason::Dns) if trouble.failures == 1 => back_off.min(SECOND_LOOK_UP),
            _ => back_off,
        });
    }
    if let Outcome::Response(response) = outcome {
        rest = rest.max(retry_after(response, ended_ms, config).unwrap_or_default());
    }
    ended_ms + millis(rest)
}

/// When to retry a URL that is charged; none if this was its last attempt, or is an answer. Retry-After applies.
pub fn retry_at(event: &PageEvent, config: &FrontierConfig) -> Option<EpochMs> {
    let may_get_better = match &event.outcome {
        Outcome::Response(response) => response.status == 429 || response.status >= 500 || response.is_cut(),
        Outcome::Failure(failure) => failure.reason.is_transient(),
    };
    if !may_get_better || event.attempt >= config.max_retries {
        return None;
    }
    let wait = back_off(u32::from(event.attempt) + 1, &event.id, config);
    let asked = event.response().and_then(|response| retry_after(response, event.ended_ms, config));
    Some(event.ended_ms + millis(wait.max(asked.unwrap_or_default())))
}

/// The back-off, doubled with each failure up to the maximum, plus up to half of it as jitter, so that retries spread.
/// The jitter depends only on `what`, so judging the same event again gives the same time.
fn back_off(failures: u32, what: &str, config: &FrontierConfig) -> Duration {
    let (base, longest) = (config.backoff_base, config.backoff_max);
    let doubled = base.saturating_mul(1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    let share = xxhash_rust::xxh3::xxh3_64(what.as_bytes()) % 1000;
    // Leaves room for the jitter below the maximum.
    let wait = doubled.min(longest.mul_f64(2.0 / 3.0).max(base));
    (wait + wait.mul_f64(share as f64 / 2000.0)).min(longest)
}

/// RFC 9110 §10.2.3: seconds or a date. Absurd values are ignored.
fn retry_after(response: &Response, now: EpochMs, config: &FrontierConfig) -> Option<Duration> {
    if !matches!(response.status, 429 | 503) || planted::is("retry_after_ignored") {
        return None;
    }
    let value = response.headers.get("retry-after")?.trim();
    let wait = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        Duration::from_secs(value.parse().ok()?)
    } else {
        let at = httpdate::parse_http_date(value).ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        at.saturating_sub(Duration::from_millis(now))
    };
    (wait <= ABSURD).then(|| wait.min(config.retry_after_max))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 4)
}
