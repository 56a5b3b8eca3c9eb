//! Parsed robots.txt and tdmrep.json files: the rules that apply to a host (RFC 9309), and a cache of them. `robots.rs`
//! fetches the files.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use seine_frontier::{Host, Robots, RobotsAccess};
use seine_parse::page::{EpochMs, Failure};
use seine_parse::preferences::tdm::TdmFile;
use seine_parse::robots::RobotsTxt;
use seine_simulation_hooks::planted;
use seine_system::clock::now_ms;

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
    pub(crate) fn forbids_everything(&self, robots: &Robots) -> bool {
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
            RobotsAccess::Rules(text) => Rules::File(self.file(host, robots, text)),
        })
    }

    /// The crawl delay that its robots.txt asked for when it was fetched last, expired or not.
    pub(crate) fn known_delay(&self, host: &Host) -> Duration {
        let Some(robots @ Robots { access: RobotsAccess::Rules(text), .. }) = &host.robots else {
            return Duration::ZERO;
        };
        self.file(host, robots, text).crawl_delay().unwrap_or_default()
    }

    fn file(&self, host: &Host, robots: &Robots, text: &str) -> Arc<RobotsTxt> {
        parsed(&self.robots, host, robots, text, |text| RobotsTxt::parse(text.as_bytes(), &self.agent))
    }
}

/// The crawl delay that a robots.txt asks for, of a host that is not visited now. Parses the file.
pub(crate) fn asked_delay(robots: &Robots, agent: &str) -> Duration {
    match &robots.access {
        RobotsAccess::Rules(text) => RobotsTxt::parse(text.as_bytes(), agent).crawl_delay().unwrap_or_default(),
        RobotsAccess::AllowAll | RobotsAccess::Unreachable(_) => Duration::ZERO,
    }
}

fn parsed<T>(files: &Parsed<T>, host: &Host, robots: &Robots, text: &str, parse: impl Fn(&str) -> T) -> Arc<T> {
    let key = (host.origin.clone(), robots.fetched_ms);
    let Ok((file, _)) =
        files.get_or_insert_with(&key, || Ok::<_, Infallible>((Arc::new(parse(text)), text.len() as u64)));
    file
}

impl Rules {
    /// Whether robots.txt names this URL as a sitemap.
    pub fn names_sitemap(&self, url: &url::Url) -> bool {
        let Rules::File(file) = self else { return false };
        let url = seine_parse::url::normalize(url);
        file.sitemaps().iter().any(|named| seine_parse::url::parse(named) == url)
    }

    /// Whether a URL's path and query may be fetched. A redirect target is judged both as requested and normalised,
    /// because the server may treat them as one page. A normalised URL is judged in any order of its parameters, because
    /// nobody knows in which order the site links it.
    pub fn allows(&self, url: &url::Url) -> bool {
        match self {
            Rules::AllowAll => true,
            Rules::Unreachable(_) => false,
            Rules::File(file) => {
                let asked = &url[url::Position::BeforePath..url::Position::AfterQuery];
                let normal = seine_parse::url::normalize(url);
                let normal = normal.as_deref().map_or(asked, seine_parse::url::path_and_query);
                match normal == asked {
                    true => file.allows_in_any_order(normal),
                    false => file.allows(asked) && file.allows(normal),
                }
            }
        }
    }
}
