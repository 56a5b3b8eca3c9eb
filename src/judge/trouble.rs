//! The health of a host after an outcome, and when it may be visited next.

use std::time::Duration;

use seine_frontier::{Cause, Health, Trouble, url_mark};
use seine_parse::page::{EpochMs, Failure, FailureReason, Outcome};

use super::blame::{ChargedTo, OutcomeKind, cause_of, is_permanently_truncating, kind_of};
use super::retry::{back_off, millis, retry_after};
use crate::config::FrontierConfig;

/// The second DNS lookup of a name without address happens at the latest after this.
const SECOND_LOOK_UP: Duration = Duration::from_secs(2);

/// The health of the host after an attempt that ended at `ended_ms`; none if unchanged.
pub fn health_after(
    outcome: &Outcome,
    whose: ChargedTo,
    url: &str,
    ended_ms: EpochMs,
    before: Option<Trouble>,
    config: &FrontierConfig,
) -> Option<Health> {
    let (cause, asked_until) = (cause_of(outcome), asked_until(outcome, ended_ms, config));
    match (whose, kind_of(outcome)) {
        (ChargedTo::Nobody, OutcomeKind::Nothing) => None,
        (ChargedTo::Nobody, _) | (ChargedTo::Page, OutcomeKind::Slow) => Some(Health::Well),
        // The host's state stays, and it does not back off further.
        (ChargedTo::Page, OutcomeKind::Cut) if before.as_ref().is_some_and(is_permanently_truncating) => None,
        (ChargedTo::Page | ChargedTo::Part, _) => {
            let since = before.map_or(ended_ms, |before| before.since);
            let first = failed_again(None, cause, ended_ms, config);
            Some(Health::Troubled(Trouble { since, failures: 0, suspect: Some(url_mark(url)), asked_until, ..first }))
        }
        (ChargedTo::Host, _) => {
            Some(Health::Troubled(Trouble { asked_until, ..failed_again(before, cause, ended_ms, config) }))
        }
    }
}

/// The host has failed again. Time without requests does not count towards giving it up, but a host that was given up
/// is tried again at intervals that grow with all of its time.
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
    let idle_ms = if before.given_up { 0 } else { idle_ms(&before, ended_ms, config) };
    Trouble {
        since: before.since + idle_ms,
        failures: before.failures.saturating_add(1),
        cause,
        last: ended_ms,
        asked_until: None,
        ..before
    }
}

/// Time without requests to a host that had failed.
pub(super) fn idle_ms(before: &Trouble, ended_ms: EpochMs, config: &FrontierConfig) -> u64 {
    ended_ms.saturating_sub(before.last).saturating_sub(millis(config.backoff_max))
}

/// The end of the pause that the server asked for (Retry-After), if any.
pub fn asked_until(outcome: &Outcome, ended_ms: EpochMs, config: &FrontierConfig) -> Option<EpochMs> {
    let Outcome::Response(response) = outcome else { return None };
    retry_after(response, ended_ms, config).map(|rest| ended_ms + millis(rest))
}

/// Whether a host has been in trouble for so long that it is given up.
pub fn is_hopeless(trouble: &Trouble, config: &FrontierConfig) -> bool {
    trouble.failures > 0 && trouble.last.saturating_sub(trouble.since) >= millis(config.give_up_after)
}

/// Whether a fetched robots.txt shows that the trouble is over: trouble with connections, but not with pages.
pub fn ends_with_robots_txt(trouble: &Trouble) -> bool {
    use FailureReason::*;
    match trouble.cause {
        Cause::Failure(Dns | Resolver | NoRoute | Tls | RobotsUnreachable) => true,
        Cause::Failure(Connect | ConnectionRefused | ConnectionBroken) => true,
        Cause::Failure(_) | Cause::Status(_) | Cause::Wall(_) => false,
    }
}

/// The failure of the URLs of a host that is given up; none if it is not. `message`: of its last failure, if known.
pub fn given_up_failure(
    trouble: &Trouble,
    origin: &str,
    message: Option<&str>,
    config: &FrontierConfig,
) -> Option<Failure> {
    let is_hopeless = is_hopeless(trouble, config);
    if !trouble.given_up && !is_hopeless {
        return None;
    }
    if trouble.is_unknown_name() && !is_hopeless {
        let message = format!("{origin} has no address: the name servers confirmed it");
        return Some(Failure { reason: FailureReason::UnknownHost, message });
    }
    let hours = trouble.last.saturating_sub(trouble.since) / 3_600_000;
    let words = message.map(|words| format!(" ({words})")).unwrap_or_default();
    let message = format!("{origin} has been in trouble for {hours} hours; the last failure: {}{words}", trouble.cause);
    Some(Failure { reason: FailureReason::HostUnreachable, message })
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
