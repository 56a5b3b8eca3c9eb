//! Decides what an answer to `GET /robots.txt` or `GET /.well-known/tdmrep.json` means, and how long it is kept.

use std::time::Duration;

use seine_frontier::{Robots, RobotsAccess};
use seine_parse::decode::{DecodeProblem, Decoded, decode_body};
use seine_parse::page::{EpochMs, Failure, FailureReason, Outcome, Response, Truncated};
use seine_parse::walls::{Wall, WallKind};

/// RFC 9309 §2.5 requires at least 500 KiB; we parse as much.
pub const MAX_ROBOTS_BYTES: u64 = 500 * 1024;
/// RFC 9309 §2.4: not used longer than 24 hours.
const KEPT_MS: u64 = 24 * 3600 * 1000;
/// Minimum time before the next fetch, even if recheck intervals are shorter.
const KEPT_AT_LEAST_MS: u64 = 60 * 1000;
/// After a 5xx or a failure it is fetched again sooner.
pub(crate) const KEPT_UNREACHABLE_MS: u64 = 3600 * 1000;
/// Old rules stay in force for this long before robots.txt is fetched again.
const KEPT_STALE_MS: u64 = 5 * 60 * 1000;

/// Why robots.txt cannot be fetched for now, which is host trouble. A final failure (it redirects to a private address)
/// is not, because the host answered.
pub fn trouble(access: &RobotsAccess) -> Option<&Failure> {
    match access {
        RobotsAccess::Unreachable(failure) if failure.reason.is_transient() => Some(failure),
        RobotsAccess::Unreachable(_) | RobotsAccess::Rules(_) | RobotsAccess::AllowAll => None,
    }
}

/// The meaning of a response to `GET /robots.txt` (RFC 9309 §2.3.1).
pub fn judge(outcome: &Outcome, max_decoded_bytes: u64, now: EpochMs) -> Robots {
    let (access, kept) = match outcome {
        // Somebody else answered, so nobody knows what the file says.
        Outcome::Response(Response { wall: Some(wall), .. }) if stands_before_file(wall) => {
            let message = format!("robots.txt is behind a wall: {wall}");
            let failure = Failure { reason: FailureReason::RobotsUnreachable, message };
            (RobotsAccess::Unreachable(failure), KEPT_UNREACHABLE_MS)
        }
        Outcome::Response(response) if response.is_success() => match text(response, max_decoded_bytes) {
            Ok(text) => (RobotsAccess::Rules(text), KEPT_MS),
            Err(failure) => (RobotsAccess::Unreachable(failure), KEPT_UNREACHABLE_MS),
        },
        // Redirects that lead nowhere count as "unavailable", like 4xx. 429 asks for a pause, like 5xx.
        Outcome::Response(response) if response.status < 500 && response.status != 429 => {
            (RobotsAccess::AllowAll, KEPT_MS)
        }
        Outcome::Response(response) => {
            let message = format!("robots.txt answered with status {}", response.status);
            let failure = Failure { reason: FailureReason::RobotsUnreachable, message };
            (RobotsAccess::Unreachable(failure), KEPT_UNREACHABLE_MS)
        }
        Outcome::Failure(failure) => (RobotsAccess::Unreachable(failure.clone()), KEPT_UNREACHABLE_MS),
    };
    Robots { fetched_ms: now, expires_ms: now + kept, access, tdm: None }
}

/// An error page for a missing file says that there is none, and a licence is wanted for the content of pages.
fn stands_before_file(wall: &Wall) -> bool {
    !matches!(wall.kind, WallKind::NotFound | WallKind::License)
}

/// The meaning of a response to `GET /.well-known/tdmrep.json`: its text, empty if the host has no such file (TDMRep §6.1).
/// None if the host may have one but did not return it now.
pub(crate) fn judge_tdm(outcome: &Outcome, max_decoded_bytes: u64) -> Option<String> {
    match outcome {
        Outcome::Response(response) if response.is_success() => text(response, max_decoded_bytes).ok(),
        Outcome::Response(response) => (response.status < 500 && response.status != 429).then(String::new),
        Outcome::Failure(failure) => (!failure.reason.is_transient()).then(String::new),
    }
}

/// The whole file, up to the size limit. A truncated file is refused: the missing rules may be important, and a rule
/// cut in two is a different rule.
fn text(response: &Response, max_decoded_bytes: u64) -> Result<String, Failure> {
    let cut = |why: &str| {
        let message = format!("robots.txt is incomplete: {why}");
        Err(Failure { reason: FailureReason::RobotsUnreachable, message })
    };
    let Decoded { body, problem } = decode_body(response, max_decoded_bytes.min(MAX_ROBOTS_BYTES));
    let is_over_limit = match (response.truncated, problem) {
        (Some(Truncated::Length), _) | (_, Some(DecodeProblem::OverLimit { .. })) => true,
        (Some(Truncated::Disconnect), _) => return cut("the connection broke"),
        (Some(Truncated::Time), _) => return cut("the body arrived too slowly"),
        (None, Some(problem @ (DecodeProblem::Cut { .. } | DecodeProblem::Broken { .. }))) => {
            return cut(&problem.to_string());
        }
        (None, _) => false,
    };
    let whole_lines = match memchr::memrchr2(b'\n', b'\r', &body) {
        _ if !is_over_limit => &body[..],
        Some(end) => &body[..end],
        None => b"",
    };
    Ok(String::from_utf8_lossy(whole_lines).into_owned())
}

/// If a host answers with an error or a truncated file instead of its known robots.txt, the old rules stay in force for a
/// moment (RFC 9309 §2.3.1.4 allows cached rules), so that a short fault does not stop the crawl of a site. Their age does
/// not change. A host that does not answer at all has no pages either: it backs off, and robots.txt is fetched first.
pub fn stale(fresh: &Robots, outcome: &Outcome, known: Option<&Robots>) -> Option<Robots> {
    let is_away = |robots: &Robots| matches!(robots.access, RobotsAccess::Unreachable(_));
    let has_answered = matches!(outcome, Outcome::Response(_));
    let known = known.filter(|known| has_answered && is_away(fresh) && !is_away(known))?;
    Some(Robots { expires_ms: fresh.fetched_ms + KEPT_STALE_MS, ..known.clone() })
}

/// A changed robots.txt is fetched again soon, and then at growing intervals. Pages that it forbids now are removed only if
/// a later fetch agrees, and a mistake of the site is over soon. The same holds for a first one that forbids everything
/// (`is_shut`).
pub(crate) fn kept_shorter(fresh: Robots, known: Option<&Robots>, is_shut: bool, soonest: Duration) -> Robots {
    if !matches!(fresh.access, RobotsAccess::Rules(_)) || (known.is_none() && !is_shut) {
        return fresh;
    }
    let usual = fresh.expires_ms.saturating_sub(fresh.fetched_ms);
    let soonest = u64::try_from(soonest.as_millis()).unwrap_or(usual);
    let kept = match known.filter(|known| known.access == fresh.access) {
        // A robots.txt that is fetched again by order has no interval.
        Some(known) if known.expires_ms > known.fetched_ms => (known.expires_ms - known.fetched_ms).saturating_mul(2),
        _ => soonest,
    };
    Robots { expires_ms: fresh.fetched_ms + kept.max(KEPT_AT_LEAST_MS).min(usual), ..fresh }
}
