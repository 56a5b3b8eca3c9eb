//! Links refused by the scope: a count and an example per host. Not every link, because a narrow crawl refuses nine of
//! ten.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use locks::Mutex;
use serde::{Deserialize, Serialize};

use super::contract::Notes;
use super::error::FrontierError;
use seine_parse::page::EpochMs;
use seine_parse::{Link, url};

const NOTE: &str = "refused_links";
/// Number of hosts kept, those with the most links; twice as many while counting.
const HOSTS: usize = 1000;
const EVERY: Duration = Duration::from_secs(60);

/// Refused links to one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// A lower bound: a host with few links may have been dropped before.
    pub links: u64,
    /// The first of them, the page that has it, and when that was read.
    pub url: String,
    pub found_on: String,
    pub found_ms: EpochMs,
}

/// One for a crawl. Stored once a minute, so a kill loses at most a minute.
#[derive(Debug, Default)]
pub struct RefusedLinks(Mutex<Hosts>);

#[derive(Debug, Default)]
struct Hosts {
    by_host: HashMap<String, Refused>,
    has_changed: bool,
    /// When it was last stored, or started; none: not yet.
    kept: Option<Instant>,
}

impl RefusedLinks {
    pub fn open(frontier: &dyn Notes) -> Result<RefusedLinks, FrontierError> {
        let by_host = frontier.note(NOTE)?.and_then(|note| serde_json::from_str(&note).ok()).unwrap_or_default();
        Ok(RefusedLinks(Mutex::new(Hosts { by_host, has_changed: false, kept: Some(Instant::now()) })))
    }

    /// Links of one page.
    pub fn add(&self, links: &[&Link], found_on: &str, found_ms: EpochMs) {
        if links.is_empty() {
            return;
        }
        let mut hosts = self.0.lock();
        for Link { url: link, .. } in links {
            let Some(host) = url::host(link) else { continue };
            hosts.has_changed = true;
            if let Some(refused) = hosts.by_host.get_mut(host) {
                refused.links += 1;
                continue;
            }
            let refused = Refused { links: 1, url: link.clone(), found_on: found_on.to_owned(), found_ms };
            hosts.by_host.insert(host.to_owned(), refused);
            if hosts.by_host.len() > 2 * HOSTS {
                hosts.forget_the_rarest();
            }
        }
    }

    /// For the host of a URL.
    pub fn of(&self, link: &str) -> Option<Refused> {
        self.0.lock().by_host.get(url::host(link)?).cloned()
    }

    /// Whether new counts should be [stored](RefusedLinks::keep): true once a minute.
    pub fn is_to_be_kept(&self) -> bool {
        let mut hosts = self.0.lock();
        let is_due = hosts.kept.is_none_or(|kept| kept.elapsed() >= EVERY);
        if is_due {
            hosts.kept = Some(Instant::now());
        }
        is_due
    }

    /// Stores new counts.
    pub fn keep(&self, frontier: &dyn Notes) -> Result<(), FrontierError> {
        let note = {
            let mut hosts = self.0.lock();
            if !std::mem::take(&mut hosts.has_changed) {
                return Ok(());
            }
            hosts.forget_the_rarest();
            serde_json::to_string(&hosts.by_host).unwrap_or_default()
        };
        // Written without the lock, so that refusing a link never waits for the disk.
        frontier.set_note(NOTE, &note).inspect_err(|_| self.0.lock().has_changed = true)
    }
}

impl Hosts {
    fn forget_the_rarest(&mut self) {
        if self.by_host.len() <= HOSTS {
            return;
        }
        let mut counts: Vec<u64> = self.by_host.values().map(|refused| refused.links).collect();
        let least = *counts.select_nth_unstable_by(HOSTS, |a, b| b.cmp(a)).1;
        self.by_host.retain(|_, refused| refused.links > least);
    }
}
