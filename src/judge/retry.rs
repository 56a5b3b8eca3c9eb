//! When a URL is tried again.

use std::time::Duration;

use seine_frontier::{Errors, Trouble, Work};
use seine_parse::page::{Again, EpochMs, FailureReason, Outcome, PageEvent, Response};
use seine_simulation_hooks::planted;

use super::blame::{ChargedTo, OutcomeKind, kind_of};
use super::dates::{date_of, http_date};
use crate::config::FrontierConfig;

/// A longer Retry-After is ignored as a mistake.
const ABSURD: Duration = Duration::from_secs(366 * 24 * 3600);

/// When to try the URL again, and what the attempt counts for. After its own failure: while attempts are left. After
/// host trouble: behind the other URLs of the host. The longer no attempt has counted (`put_off_since`), the longer the
/// URL waits: a host may fail for some URLs for days and answer others meanwhile. None if the outcome is final.
pub fn again(
    event: &PageEvent,
    whose: ChargedTo,
    not_before: EpochMs,
    put_off_since: Option<EpochMs>,
    config: &FrontierConfig,
) -> Option<Again> {
    let age = Duration::from_millis(event.ended_ms.saturating_sub(put_off_since.unwrap_or(event.ended_ms)));
    let not_before = not_before.max(event.ended_ms + millis((age / 2).min(config.backoff_max)));
    match whose {
        ChargedTo::Nobody => None,
        ChargedTo::Page => retry_at(event, config).map(|at| Again { at, counts: true, ..Again::default() }),
        ChargedTo::Host => {
            let behind = config.host_delay.max(config.backoff_base).as_millis() as u64;
            Some(Again { at: not_before + behind, ..Again::default() })
        }
        ChargedTo::Part => Some(Again { at: not_before, host_is_well: true, ..Again::default() }),
    }
}

/// When to retry a URL that is charged; none if this was its last attempt, or is an answer. Retry-After applies.
pub fn retry_at(event: &PageEvent, config: &FrontierConfig) -> Option<EpochMs> {
    let may_get_better = match &event.outcome {
        Outcome::Response(response) => response.may_get_better(),
        Outcome::Failure(failure) => failure.reason.is_transient(),
    };
    if !may_get_better || event.attempt >= config.max_retries {
        return None;
    }
    let wait = back_off(u32::from(event.attempt) + 1, &event.id, config);
    let asked = event.response().and_then(|response| retry_after(response, event.ended_ms, config));
    Some(event.ended_ms + millis(wait.max(asked.unwrap_or_default())))
}

/// When to retry a URL whose failure belongs to a part of the host, or that would fail for good now although many other
/// URLs of the host fail too. `host`: its trouble, with this outcome.
pub(crate) fn retry_when_many_fail(
    whose: ChargedTo,
    outcome: &Outcome,
    work: &Work,
    host: Option<&Trouble>,
    ended_ms: EpochMs,
    config: &FrontierConfig,
) -> Option<EpochMs> {
    match whose {
        ChargedTo::Part => Some(retry_after_others(work, ended_ms, config)),
        ChargedTo::Page => retry_instead_of_failing(outcome, work, host, ended_ms, config),
        ChargedTo::Nobody | ChargedTo::Host => None,
    }
}

/// When to retry a URL that would fail for good although many URLs of its host fail together; none: the URL fails for good. The
/// longer they have failed, the longer it waits.
fn retry_instead_of_failing(
    outcome: &Outcome,
    work: &Work,
    host: Option<&Trouble>,
    ended_ms: EpochMs,
    config: &FrontierConfig,
) -> Option<EpochMs> {
    let errors = host?.errors;
    let is_error =
        matches!(kind_of(outcome), OutcomeKind::Either | OutcomeKind::Rejection) && !hangs_by_itself(outcome, errors);
    let since = errors.many_since.filter(|_| is_error && work.attempt >= config.max_retries)?;
    let age = Duration::from_millis(ended_ms.saturating_sub(since));
    let wait = back_off(u32::from(work.attempt) + 1, &work.url, config).max(age / 2).min(config.backoff_max);
    (age < config.give_up_after).then(|| ended_ms + millis(wait))
}

/// The URL was not answered in time, although the host answered the last 16 URLs that were requested for the first time.
/// Such requests take long, and meanwhile nothing else is fetched from the host.
fn hangs_by_itself(outcome: &Outcome, errors: Errors) -> bool {
    let is_timeout = matches!(outcome, Outcome::Failure(failure) if failure.reason == FailureReason::Timeout);
    is_timeout && errors.recent == 0
}

/// When to retry a URL of [`ChargedTo::Part`].
fn retry_after_others(work: &Work, ended_ms: EpochMs, config: &FrontierConfig) -> EpochMs {
    ended_ms + millis(back_off(u32::from(work.attempt) + 1, &work.url, config))
}

/// The back-off, doubled with each failure up to the maximum, plus up to half of it as jitter, so that retries spread.
/// The jitter depends only on `what`, so judging the same event again gives the same time.
pub(super) fn back_off(failures: u32, what: &str, config: &FrontierConfig) -> Duration {
    let (base, longest) = (config.backoff_base, config.backoff_max);
    let doubled = base.saturating_mul(1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    let share = xxhash_rust::xxh3::xxh3_64(what.as_bytes()) % 1000;
    // Leaves room for the jitter below the maximum.
    let wait = doubled.min(longest.mul_f64(2.0 / 3.0).max(base));
    (wait + wait.mul_f64(share as f64 / 2000.0)).min(longest)
}

/// The pause that a 429 or 503 asks for.
pub(super) fn retry_after(response: &Response, now: EpochMs, config: &FrontierConfig) -> Option<Duration> {
    if !matches!(response.status, 429 | 503) || planted::is("retry_after_ignored") {
        return None;
    }
    asked_wait(response, now, config)
}

/// RFC 9110 §10.2.3: seconds, or a date by the server's clock. Absurd values are ignored.
pub(super) fn asked_wait(response: &Response, now: EpochMs, config: &FrontierConfig) -> Option<Duration> {
    let value = response.headers.get("retry-after")?.trim();
    let wait = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        Duration::from_secs(value.parse().ok()?)
    } else {
        let now = date_of(response, "date").unwrap_or(now);
        Duration::from_millis(http_date(value)?.saturating_sub(now))
    };
    (wait <= ABSURD).then(|| wait.min(config.retry_after_max))
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 4)
}
