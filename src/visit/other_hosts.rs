//! Files of a host (robots.txt, tdmrep.json) that are at another host, because a redirect leads there. Their requests
//! borrow that host, as redirects of pages do, so its delay, its back-off and the operator's orders are obeyed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use seine_frontier::{BLOCKED_REST_MS, Fetching};
use seine_parse::page::{EpochMs, Outcome};
use seine_system::clock::now_ms;
use url::Url;

use super::borrow::{Borrowed, Hosts, RedirectWait};
use super::leased_host::LeasedHost;
use super::rules_cache::RulesCache;
use super::slots::OUTAGE_REST_MS;
use super::visitor::{Interrupted, Services, ask_frontier};
use crate::config::Config;
use crate::judge::trouble;

/// Maximum number of hosts that fetch a file of one other host at a time. If that host is silent, it holds so many workers.
const MOST_AT_ONE_HOST: usize = 4;
/// Shortest pause (ms) of a host whose file is at a host that is busy.
const BUSY_REST_MS: u64 = 10_000;
/// The hosts that wait for a busy host come back one by one, at least this far apart.
const SHORTEST_STEP: Duration = Duration::from_secs(1);
/// Longest pause (ms) of a host whose file is at a host that rests or backs off.
const LONGEST_REST_MS: u64 = 600_000;
/// Above this number of busy hosts, those that nobody waits for are forgotten.
const MOST_BUSY: usize = 1_000;

/// The hosts from which others fetch files, by origin. All visits share it.
#[derive(Debug, Default)]
pub struct BusyHosts(Mutex<HashMap<String, BusyHost>>);

#[derive(Debug, Default)]
struct BusyHost {
    /// Number of hosts that fetch a file from it now.
    fetching: usize,
    /// The time when the last host that has to wait for it comes back.
    last_comes_back: EpochMs,
}

/// One of the hosts that fetch a file from a busy host, until this is dropped.
struct FileFetch<'b> {
    busy: &'b BusyHosts,
    origin: String,
}

/// Another host, borrowed for one request for a file.
pub(super) struct OtherHost<'b> {
    pub host: Borrowed,
    _fetch: FileFetch<'b>,
}

/// Borrows other hosts for files.
#[derive(Clone)]
pub(super) struct OtherHosts {
    hosts: Hosts,
    rules: Arc<RulesCache>,
    frontier: Arc<dyn Fetching>,
    config: Arc<Config>,
    busy: Arc<BusyHosts>,
}

impl OtherHosts {
    pub(super) fn new(services: &Services) -> OtherHosts {
        let Services { rules, frontier, config, busy_hosts: busy, .. } = services.clone();
        OtherHosts { hosts: Hosts::new(services), rules, frontier, config, busy }
    }

    /// Runs `fetch`, which borrows the host of `url`, for a file of `own`. Meanwhile other workers may borrow `own`, so hosts
    /// whose files redirect to each other do not block each other. If `own` is itself borrowed, it is not lent again.
    pub(super) async fn beside<T>(
        &self,
        own: &mut LeasedHost,
        url: &Url,
        fetch: impl Future<Output = Result<T, Interrupted>>,
    ) -> Result<T, Interrupted> {
        let fetched = if own.may_be_parked() { self.hosts.parked(own, fetch).await } else { fetch.await };
        fetched.map_err(|why| match why {
            Interrupted::Resting(at) => own_rests(own, at.min(now_ms() + LONGEST_REST_MS)),
            Interrupted::Recalled => {
                own.waits_for = Some(url.origin().ascii_serialization());
                own_rests(own, now_ms() + BLOCKED_REST_MS)
            }
            Interrupted::Outage => {
                own.not_before = own.not_before.max(now_ms() + OUTAGE_REST_MS);
                Interrupted::Outage
            }
            other => other,
        })
    }

    /// Borrows the host of `url` for one request for a file. If it is blocked, rests, or is busy, the error says when to
    /// come back.
    pub(super) async fn borrow(&self, url: &Url) -> Result<OtherHost<'_>, Interrupted> {
        let origin = url.origin().ascii_serialization();
        let step = self.config.frontier.host_delay.max(SHORTEST_STEP);
        let fetch = self.busy.begin(&origin, step).map_err(Interrupted::Resting)?;
        let wait = RedirectWait { was_put_off: false, has_begun: false };
        match self.hosts.borrow(url, wait).await {
            Ok(mut host) => {
                host.known_delay = self.rules.known_delay(&host.lease.host);
                Ok(OtherHost { host, _fetch: fetch })
            }
            Err(Interrupted::Resting(at)) => {
                let is_blocked = ask_frontier(&self.frontier, move |frontier| frontier.is_recalled(&origin)).await;
                Err(if is_blocked { Interrupted::Recalled } else { Interrupted::Resting(at) })
            }
            Err(Interrupted::HostLeased) => Err(Interrupted::Resting(self.busy.comes_back(&origin, step))),
            Err(other) => Err(other),
        }
    }
}

impl OtherHost<'_> {
    /// Obeys a pause that its answer asks for.
    pub(super) fn answered(&mut self, outcome: &Outcome, ended: EpochMs, config: &Config) {
        self.host.rests_until(trouble::asked_until(outcome, ended, &config.frontier));
    }
}

fn own_rests(own: &mut LeasedHost, until: EpochMs) -> Interrupted {
    own.not_before = own.not_before.max(until);
    Interrupted::Resting(own.not_before)
}

impl BusyHosts {
    /// The error says when to come back, because too many hosts fetch a file there.
    fn begin(&self, origin: &str, step: Duration) -> Result<FileFetch<'_>, EpochMs> {
        let mut busy = self.0.lock();
        if busy.len() > MOST_BUSY {
            busy.retain(|_, host| host.fetching > 0 || host.last_comes_back > now_ms());
        }
        let host = busy.entry(origin.to_owned()).or_default();
        if host.fetching >= MOST_AT_ONE_HOST {
            return Err(host.comes_back(step));
        }
        host.fetching += 1;
        Ok(FileFetch { busy: self, origin: origin.to_owned() })
    }

    /// When a host comes back that could not borrow this one.
    fn comes_back(&self, origin: &str, step: Duration) -> EpochMs {
        self.0.lock().entry(origin.to_owned()).or_default().comes_back(step)
    }
}

impl BusyHost {
    /// Each host that waits comes back a step after the one before. So each requests its own file about twice, and not
    /// every few seconds.
    fn comes_back(&mut self, step: Duration) -> EpochMs {
        self.last_comes_back = self.last_comes_back.max(now_ms() + BUSY_REST_MS) + step.as_millis() as u64;
        self.last_comes_back
    }
}

impl Drop for FileFetch<'_> {
    fn drop(&mut self) {
        if let Some(host) = self.busy.0.lock().get_mut(&self.origin) {
            host.fetching -= 1;
        }
    }
}
