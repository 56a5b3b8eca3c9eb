//! Links that the scope refused: by host, how many and one of them. Not each: nine of ten links of a narrow crawl are such.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::contract::Frontier;
use super::error::FrontierError;
use crate::page::EpochMs;
use crate::parse::{Link, url};

const NOTE: &str = "refused_links";
/// Hosts that are remembered, those with the most links; while they are counted, up to twice as many.
const HOSTS: usize = 1000;
const EVERY: Duration = Duration::from_secs(60);

/// What was refused of one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// At least so many: a host that few links lead to may have been forgotten before.
    pub links: u64,
    /// The first of them, the page that has it, and when that was read.
    pub url: String,
    pub found_on: String,
    pub found_ms: EpochMs,
}

/// One for a crawl. Kept with the frontier now and then: what a kill takes is a minute's.
#[derive(Debug, Default)]
pub struct RefusedLinks(Mutex<Hosts>);

#[derive(Debug, Default)]
struct Hosts {
    by_host: HashMap<String, Refused>,
    has_changed: bool,
    /// When it was written down last, or begun; none: not yet.
    kept: Option<Instant>,
}

impl RefusedLinks {
    pub fn open(frontier: &dyn Frontier) -> Result<RefusedLinks, FrontierError> {
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

    /// Of the host of a URL.
    pub fn of(&self, link: &str) -> Option<Refused> {
        self.0.lock().by_host.get(url::host(link)?).cloned()
    }

    /// Whether it is time to [keep](RefusedLinks::keep) what is new: true once a minute.
    pub fn is_to_be_kept(&self) -> bool {
        let mut hosts = self.0.lock();
        let is_due = hosts.kept.is_none_or(|kept| kept.elapsed() >= EVERY);
        if is_due {
            hosts.kept = Some(Instant::now());
        }
        is_due
    }

    /// Writes what is new.
    pub fn keep(&self, frontier: &dyn Frontier) -> Result<(), FrontierError> {
        let note = {
            let mut hosts = self.0.lock();
            if !std::mem::take(&mut hosts.has_changed) {
                return Ok(());
            }
            hosts.forget_the_rarest();
            serde_json::to_string(&hosts.by_host).unwrap_or_default()
        };
        // Without the lock: whoever refuses a link does not wait for the disk.
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
