//! The rules of a host's robots.txt, per RFC 9309, fetched if missing or expired.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use seine_frontier::{Host, Robots, RobotsAccess};
use seine_parse::decode::{DecodeProblem, Decoded, decode_body};
use seine_parse::page::{EpochMs, Failure, FailureReason, Outcome, Response, Truncated};
use seine_parse::preferences::tdm::TdmFile;
use seine_parse::robots::RobotsTxt;
use seine_simulation_hooks::planted;
use seine_system::clock::now_ms;

/// RFC 9309 §2.5 requires at least 500 KiB; we parse as much.
pub const MAX_ROBOTS_BYTES: u64 = 500 * 1024;
/// RFC 9309 §2.4: not used longer than 24 hours.
const KEPT_MS: u64 = 24 * 3600 * 1000;
/// Minimum time before the next fetch, even if recheck intervals are shorter.
const KEPT_AT_LEAST_MS: u64 = 60 * 1000;
/// After a 5xx or a failure it is fetched again sooner.
pub(super) const KEPT_UNREACHABLE_MS: u64 = 3600 * 1000;
/// Old rules stay in force for this long before robots.txt is fetched again.
const KEPT_STALE_MS: u64 = 5 * 60 * 1000;

/// The rules in force for one host.
#[derive(Debug, Clone)]
pub enum Rules {
    File(Arc<RobotsTxt>),
    AllowAll,
    /// Everything is disallowed for now, because of this failure.
    Unreachable(Failure),
}

/// Parsed files, so that a host that is leased often is parsed once.
pub struct RulesCache {
    robots: Parsed<RobotsTxt>,
    tdm: Parsed<TdmFile>,
    agent: String,
    /// An unreachable robots.txt recorded before this time is from an earlier run and ignored.
    since: EpochMs,
}

/// By origin and fetch time. The weight is the length of the text; the parsed rules take a small multiple of it.
type Parsed<T> = Cache<(String, EpochMs), (Arc<T>, u64), ByLength>;

#[derive(Clone)]
struct ByLength;

impl<T> Weighter<(String, EpochMs), (Arc<T>, u64)> for ByLength {
    fn weight(&self, _: &(String, EpochMs), (_, bytes): &(Arc<T>, u64)) -> u64 {
        // An entry has a minimum weight.
        bytes + 256
    }
}

/// About this many files are kept, and this many bytes of text.
const FILES: usize = 1000;
const BYTES: u64 = 16 << 20;

impl RulesCache {
    /// `agent`: the product token whose group applies.
    pub fn new(agent: &str) -> RulesCache {
        RulesCache {
            robots: Cache::with_weighter(FILES, BYTES, ByLength),
            tdm: Cache::with_weighter(FILES, BYTES, ByLength),
            agent: agent.to_owned(),
            since: now_ms(),
        }
    }

    /// A host's TDM reservations; none if it has no file, or it was never fetched.
    pub fn tdm(&self, host: &Host) -> Option<Arc<TdmFile>> {
        let robots = host.robots.as_ref()?;
        let text = robots.tdm.as_ref().filter(|text| !text.is_empty())?;
        Some(parsed(&self.tdm, host, robots, text, TdmFile::parse))
    }

    /// Whether a robots.txt forbids the home page, and so very likely everything.
    pub fn forbids_everything(&self, robots: &Robots) -> bool {
        match &robots.access {
            RobotsAccess::Rules(text) => !RobotsTxt::parse(text.as_bytes(), &self.agent).allows("/"),
            RobotsAccess::AllowAll | RobotsAccess::Unreachable(_) => false,
        }
    }

    /// The rules for a host; none if they are unknown or expired.
    pub fn rules(&self, host: &Host, now: EpochMs) -> Option<Rules> {
        let robots = host.robots.as_ref().filter(|robots| robots.expires_ms > now || planted::is("robots_for_ever"))?;
        Some(match &robots.access {
            RobotsAccess::AllowAll => Rules::AllowAll,
            RobotsAccess::Unreachable(_) if robots.fetched_ms < self.since => return None,
            RobotsAccess::Unreachable(failure) => Rules::Unreachable(failure.clone()),
            RobotsAccess::Rules(text) => {
                let parse = |text: &str| RobotsTxt::parse(text.as_bytes(), &self.agent);
                Rules::File(parsed(&self.robots, host, robots, text, parse))
            }
        })
    }

    /// The crawl delay that its robots.txt asked for when it was fetched last, expired or not.
    pub fn known_delay(&self, host: &Host) -> Duration {
        let Some(robots @ Robots { access: RobotsAccess::Rules(text), .. }) = &host.robots else {
            return Duration::ZERO;
        };
        let parse = |text: &str| RobotsTxt::parse(text.as_bytes(), &self.agent);
        parsed(&self.robots, host, robots, text, parse).crawl_delay().unwrap_or_default()
    }
}

fn parsed<T>(files: &Parsed<T>, host: &Host, robots: &Robots, text: &str, parse: impl Fn(&str) -> T) -> Arc<T> {
    let key = (host.origin.clone(), robots.fetched_ms);
    let Ok((file, _)) =
        files.get_or_insert_with(&key, || Ok::<_, Infallible>((Arc::new(parse(text)), text.len() as u64)));
    file
}

/// Why robots.txt cannot be fetched for now, which is host trouble. A final failure (it redirects to a private address)
/// is not, because the host answered.
pub fn trouble(access: &RobotsAccess) -> Option<&Failure> {
    match access {
        RobotsAccess::Unreachable(failure) if failure.reason.is_transient() => Some(failure),
        RobotsAccess::Unreachable(_) | RobotsAccess::Rules(_) | RobotsAccess::AllowAll => None,
    }
}

/// What a response to `GET /robots.txt` means (RFC 9309 §2.3.1).
pub fn judge(outcome: &Outcome, max_decoded_bytes: u64, now: EpochMs) -> Robots {
    let (access, kept) = match outcome {
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

/// What a response to `GET /.well-known/tdmrep.json` means: its text, empty if the host has no such file (TDMRep §6.1).
/// None if the host may have one but did not return it now.
pub(super) fn judge_tdm(outcome: &Outcome, max_decoded_bytes: u64) -> Option<String> {
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
        let message = format!("robots.txt did not come whole: {why}");
        Err(Failure { reason: FailureReason::RobotsUnreachable, message })
    };
    let Decoded { body, problem } = decode_body(response, max_decoded_bytes.min(MAX_ROBOTS_BYTES));
    let is_over_limit = match (response.truncated, problem) {
        (Some(Truncated::Length), _) | (_, Some(DecodeProblem::OverLimit { .. })) => true,
        (Some(Truncated::Disconnect), _) => return cut("the connection broke"),
        (Some(Truncated::Time), _) => return cut("it came too slowly"),
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
pub(super) fn stale(fresh: &Robots, outcome: &Outcome, known: Option<&Robots>) -> Option<Robots> {
    let is_away = |robots: &Robots| matches!(robots.access, RobotsAccess::Unreachable(_));
    let has_answered = matches!(outcome, Outcome::Response(_));
    let known = known.filter(|known| has_answered && is_away(fresh) && !is_away(known))?;
    Some(Robots { expires_ms: fresh.fetched_ms + KEPT_STALE_MS, ..known.clone() })
}

/// A changed robots.txt is fetched again soon, and then at growing intervals. Pages that it forbids now are removed only if
/// a later fetch agrees, and a mistake of the site is over soon. The same holds for a first one that forbids everything
/// (`is_shut`).
pub(super) fn kept_shorter(fresh: Robots, known: Option<&Robots>, is_shut: bool, soonest: Duration) -> Robots {
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

impl Rules {
    /// Whether a URL's path and query may be fetched. A redirect target is judged both as requested and normalised,
    /// because the server may treat them as one page.
    pub fn allows(&self, url: &url::Url) -> bool {
        match self {
            Rules::AllowAll => true,
            Rules::Unreachable(_) => false,
            Rules::File(file) => {
                let asked = &url[url::Position::BeforePath..url::Position::AfterQuery];
                let normal = seine_parse::url::normalize(url);
                let normal = normal.as_deref().map_or(asked, seine_parse::url::path_and_query);
                file.allows(asked) && (normal == asked || file.allows(normal))
            }
        }
    }
}
