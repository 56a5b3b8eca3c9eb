//! Hosts: which are busy, which wait, and why.

use std::sync::Arc;

use seine_frontier::deferred::DEFERRED;
use seine_frontier::{
    EmbeddedFrontier, Fetching, FrontierError, HostRecord, HostSnapshot, Robots, RobotsAccess, Scheduler, Trouble,
    Validation, Verdicts, WhichHosts,
};
use seine_parse::page::EpochMs;
use seine_parse::robots::RobotsTxt;
use seine_policies::traps::HostTraps;
use seine_system::clock::now_ms;

use crate::api::Refusal;
use crate::api::schema::{HostRobots, HostStatus, HostTrouble, Hosts, HostsQuery, Troubled};
use crate::config::Config;

/// Default and maximum number of hosts in a list.
const SHOWN: usize = 100;
const MOST: usize = 1000;

#[derive(Clone)]
pub(crate) struct HostList {
    pub(super) frontier: Arc<EmbeddedFrontier>,
    pub(super) config: Arc<Config>,
}

impl HostList {
    pub(crate) fn list(&self, query: &HostsQuery) -> Hosts {
        let now = now_ms();
        let which = query.which.unwrap_or(WhichHosts::All);
        let snapshots = self.frontier.host_snapshots(which, query.limit.unwrap_or(SHOWN).min(MOST));
        let (waiting, counts) = (self.frontier.waiting(now, 0), self.frontier.counts());
        let troubled = waiting.troubled.iter().map(|troubled| Troubled {
            cause: troubled.cause.to_string(),
            hosts: troubled.hosts,
            urls: troubled.urls,
        });
        Hosts {
            with_work: counts.hosts_with_work,
            known: counts.hosts,
            troubled: troubled.collect(),
            blocked: waiting.blocked,
            hosts: snapshots.iter().map(|snapshot| self.status(snapshot, now)).collect(),
        }
    }

    /// `host` is an origin, a URL or a name. A name means the known host, https before http.
    pub(crate) fn show(&self, host: &str) -> Result<HostStatus, Refusal> {
        let origin = self.origins_of(host)?.swap_remove(0);
        match self.frontier.host_snapshot(&origin)? {
            Some(snapshot) => Ok(HostStatus {
                traps: self.trap_lines(&origin)?,
                robots: self.robots_status(snapshot.robots.as_ref()),
                ..self.status(&snapshot, now_ms())
            }),
            None => Err(Refusal::NotFound(format!("{origin} is unknown: no link has led to it so far"))),
        }
    }

    /// The origins that are meant. A name means its known origins with https and http, or both if none is known.
    pub(super) fn origins_of(&self, host: &str) -> Result<Vec<String>, Refusal> {
        let origin = |text: &str| {
            let url = seine_parse::url::parse(text)?;
            seine_parse::url::origin(&url).map(str::to_owned)
        };
        let bad = || not_a_host(host);
        if host.contains('*') {
            return Err(bad());
        }
        if host.contains("://") {
            return Ok(vec![origin(host).ok_or_else(bad)?]);
        }
        let mut origins = Vec::new();
        for scheme in ["https", "http"] {
            origins.push(origin(&format!("{scheme}://{host}/")).ok_or_else(bad)?);
        }
        let mut known = Vec::new();
        for origin in &origins {
            known.extend(self.frontier.host_snapshot(origin)?.map(|_| origin.clone()));
        }
        if !known.is_empty() {
            return Ok(known);
        }
        let name = origins.first().and_then(|origin| seine_parse::url::host(origin)).unwrap_or_default();
        // An explicit port selects that port. The name may be written in Unicode, or with a trailing dot.
        let port = host.trim_end_matches('/').rsplit_once(':').map_or("", |(_, port)| port);
        let has_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let others = if has_port { Vec::new() } else { self.frontier.origins_named(name)? };
        match &others[..] {
            [] => Ok(origins),
            [_] => Ok(others),
            several => {
                Err(Refusal::Conflict(format!("{host} means several hosts; give one of {}", several.join(", "))))
            }
        }
    }

    /// The same for every list: without traps and robots.txt.
    pub(super) fn status(&self, snapshot: &HostSnapshot, now: EpochMs) -> HostStatus {
        HostStatus { waits_for: self.waits_for(snapshot), ..host_status(snapshot, now, &self.config) }
    }

    /// The host to which its robots.txt redirects, if that is still blocked.
    pub(super) fn waits_for(&self, snapshot: &HostSnapshot) -> Option<String> {
        let other = snapshot.record.waits_for.as_deref()?;
        let is_blocked = self.frontier.is_recalled(other);
        is_blocked.then(|| other.to_owned())
    }

    fn robots_status(&self, robots: Option<&Robots>) -> Option<HostRobots> {
        let robots = robots.filter(|_| self.config.fetch.obey_robots)?;
        let forbids_all = match &robots.access {
            RobotsAccess::Rules(text) => {
                !RobotsTxt::parse(text.as_bytes(), &self.config.fetch.user_agent.name).allows("/")
            }
            RobotsAccess::AllowAll | RobotsAccess::Unreachable(_) => false,
        };
        Some(HostRobots { forbids_all, fetched_ms: robots.fetched_ms, expires_ms: robots.expires_ms })
    }

    /// None: the host has no traps.
    pub(super) fn traps(&self, origin: &str) -> Result<Option<HostTraps>, FrontierError> {
        let statistics = self.frontier.traps(origin)?.statistics;
        Ok(statistics.and_then(|statistics| HostTraps::from_bytes(&statistics)))
    }

    /// The deferred patterns of a host and the parameters removed from its links, one line each.
    pub(super) fn trap_lines(&self, origin: &str) -> Result<Vec<String>, FrontierError> {
        Ok(self.traps(origin)?.map(|traps| traps.lines()).unwrap_or_default())
    }
}

fn host_status(snapshot: &HostSnapshot, now: EpochMs, config: &Config) -> HostStatus {
    let trouble = snapshot.record.trouble.filter(Trouble::is_troubled).map(|trouble| HostTrouble {
        cause: trouble.cause.to_string(),
        since_ms: trouble.since,
        failures: trouble.failures,
        is_given_up: trouble.given_up,
    });
    HostStatus {
        host: snapshot.record.origin.to_string(),
        state: state(snapshot, now).to_owned(),
        urls: snapshot.record.work(),
        urls_later: snapshot.record.later,
        pages: snapshot.record.pages,
        due_ms: snapshot.due.filter(|due| *due < DEFERRED),
        ordered_delay_ms: snapshot.record.ordered_delay_ms,
        ordered_pages: snapshot.record.ordered_pages,
        urls_deferred: snapshot.record.deferred,
        round_ms: too_long_a_round(&snapshot.record, config),
        waits_for: None,
        traps: Vec::new(),
        robots: None,
        trouble,
    }
}

/// The time that its queued URLs take, one after the other, if their rechecks cannot keep their times.
fn too_long_a_round(host: &HostRecord, config: &Config) -> Option<u64> {
    let revisit = &config.frontier.revisit;
    let delay = host.delay_ms.max(host.ordered_delay_ms.unwrap_or(config.frontier.host_delay.as_millis() as u64));
    let round = (host.work() - host.deferred).saturating_mul(delay);
    (!revisit.is_off() && round > revisit.longest_ms()).then_some(round)
}

fn state(snapshot: &HostSnapshot, now: EpochMs) -> &'static str {
    if snapshot.is_leased {
        return "busy";
    }
    if snapshot.record.is_blocked {
        return "blocked";
    }
    if snapshot.record.is_given_up() {
        return "given_up";
    }
    if snapshot.record.work() == 0 {
        return "idle";
    }
    if snapshot.spent.is_some() {
        return "budget_spent";
    }
    match (snapshot.record.waits_for().is_some(), snapshot.due.is_some_and(|due| due <= now)) {
        (true, _) => "troubled",
        (false, true) => "due",
        (false, false) => "resting",
    }
}

/// The refusal of a text that names no host.
pub(super) fn not_a_host(host: &str) -> Refusal {
    let problem = seine_parse::url::port_problem(host);
    Refusal::Bad(format!("{host:?} is no host{problem}; write it like example.com or https://example.com:8443"))
}
