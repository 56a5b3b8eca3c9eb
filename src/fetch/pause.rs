//! How long a host rests, and when a URL is tried again: pure functions of what happened.

use std::time::Duration;

use crate::config::FrontierConfig;
use crate::page::{EpochMs, FailureReason, Outcome, PageEvent, Response};

/// Nothing asked for by a server keeps a host away for longer.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);

/// What an attempt means for its host's back-off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostHealth {
    /// It answered: failures in a row start again at 0.
    Well,
    /// It did not, or asked for rest (429, 503): it rests, longer each time.
    Ailing,
    /// Says nothing of the host (robots.txt forbade the URL, a private address, no address at all).
    Unknown,
}

/// Judges a host by what it answered.
pub fn host_health(outcome: &Outcome) -> HostHealth {
    match outcome {
        Outcome::Response(response) if matches!(response.status, 429 | 503) => HostHealth::Ailing,
        Outcome::Response(_) => HostHealth::Well,
        Outcome::Failure(failure) => match failure.reason {
            FailureReason::Connect | FailureReason::NoRoute | FailureReason::Tls | FailureReason::Timeout => {
                HostHealth::Ailing
            }
            FailureReason::Protocol | FailureReason::UnwantedType => HostHealth::Well,
            _ => HostHealth::Unknown,
        },
    }
}

/// When the host may be visited next, after an attempt that ended at `ended_ms`: its delay, or Retry-After or the
/// back-off of `failures` in a row when that is longer.
pub fn host_not_before(
    outcome: &Outcome,
    ended_ms: EpochMs,
    delay: Duration,
    failures: u32,
    config: &FrontierConfig,
) -> EpochMs {
    let mut rest = delay;
    if failures > 0 {
        rest = rest.max(back_off(failures, config));
    }
    if let Outcome::Response(response) = outcome {
        rest = rest.max(retry_after(response, ended_ms).unwrap_or_default());
    }
    ended_ms + rest.as_millis() as u64
}

/// When the URL is due again, or none when this answer is final. Jitter comes on top of the longest back-off too.
pub fn retry_at(event: &PageEvent, config: &FrontierConfig) -> Option<EpochMs> {
    let may_get_better = match &event.outcome {
        Outcome::Response(response) => response.status == 429 || response.status >= 500,
        Outcome::Failure(failure) => failure.reason.is_transient(),
    };
    if !may_get_better || event.attempt >= config.max_retries {
        return None;
    }
    let wait = back_off(u32::from(event.attempt) + 1, config);
    let asked = event.response().and_then(|response| retry_after(response, event.ended_ms)).unwrap_or_default();
    Some(event.ended_ms + jittered(wait, &event.id).max(asked).as_millis() as u64)
}

fn back_off(failures: u32, config: &FrontierConfig) -> Duration {
    let doubled = config.backoff_base.saturating_mul(1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    doubled.min(config.backoff_max)
}

/// Up to half as much again, so that what failed together does not come back together. A function of the event's id, so
/// that judging the same event again gives the same time.
fn jittered(wait: Duration, event_id: &str) -> Duration {
    let share = xxhash_rust::xxh3::xxh3_64(event_id.as_bytes()) % 1000;
    wait + wait.mul_f64(share as f64 / 2000.0)
}

/// RFC 9110 §10.2.3: seconds, or a date.
fn retry_after(response: &Response, now: EpochMs) -> Option<Duration> {
    if !matches!(response.status, 429 | 503) {
        return None;
    }
    let value = response.headers.get("retry-after")?.trim();
    let wait = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        value.parse().map_or(MAX_RETRY_AFTER, Duration::from_secs) // more than fits is long enough
    } else {
        let at = httpdate::parse_http_date(value).ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        at.saturating_sub(Duration::from_millis(now))
    };
    Some(wait.min(MAX_RETRY_AFTER))
}
