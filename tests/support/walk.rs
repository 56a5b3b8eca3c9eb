//! A crawl of a generated web without a network: the real frontier and validator, and a clock of its own.

// Each test binary and bench uses its own part of this.
#![allow(dead_code)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use seine::config::{FocusConfig, FrontierConfig};
use seine::telemetry::Metrics;
use seine::validate::Validator;
use seine_delivery::{Deriver, Entry, Offset};
use seine_frontier::scope::{CurrentScope, Scope};
use seine_frontier::{
    EmbeddedFrontier, FrontierOptions, HostLeases, Lease, LeaseLimits, Proposal, RefusedLinks, Release, Scheduler,
};
use seine_frontier::{ScopeConfig, ScopeRule};
use seine_parse::DeriveOptions;
use seine_parse::page::{PageEvent, Relevance};
use tempfile::TempDir;

use crate::event;
use crate::topics::Web;

/// Number of hosts visited at a time; each pauses for ten and a half times as long as a visit.
pub const AT_A_TIME: usize = 1;
/// Longer than any delay of a busy machine, so that the real clock, which new hosts get, does not matter.
const TICK: u64 = 100_000;
const REST: u64 = 1_050_000;
/// The clock of a process never runs backwards, so walks run one after the other.
static ONE: Mutex<()> = Mutex::new(());

pub struct Walk<'w> {
    pub web: &'w Web,
    pub frontier: Arc<EmbeddedFrontier>,
    validator: Validator,
    by_url: HashMap<String, usize>,
    deriver: Arc<Deriver>,
    pub end: Offset,
    now: u64,
    /// The pages fetched, in order.
    pub fetched: Vec<usize>,
    /// Name of the classifier.
    pub judge: &'static str,
    folder: TempDir,
    config: FrontierConfig,
    _one: MutexGuard<'static, ()>,
}

fn opened(folder: &TempDir, config: &FrontierConfig, now: u64) -> Arc<EmbeddedFrontier> {
    let options =
        FrontierOptions { default_delay: Duration::ZERO, ranks: config.focus.ranks, ..FrontierOptions::default() };
    Arc::new(EmbeddedFrontier::open(folder.path(), options, now).unwrap())
}

fn validator(frontier: &Arc<EmbeddedFrontier>, config: &FrontierConfig, seeds: &[String]) -> Validator {
    let scope = Scope::new(&ScopeConfig { rule: ScopeRule::Any, ..ScopeConfig::default() }, seeds).unwrap();
    let scope = Arc::new(CurrentScope::new(scope, RefusedLinks::default()));
    Validator::new(frontier.clone(), scope, config.clone(), Arc::new(Metrics::default())).unwrap()
}

impl<'w> Walk<'w> {
    pub fn new(web: &'w Web, focus: FocusConfig) -> Walk<'w> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let config = FrontierConfig { focus, ..FrontierConfig::default() };
        let folder = tempfile::tempdir().unwrap();
        let frontier = opened(&folder, &config, 0);
        let seeds: Vec<String> = web.seeds.iter().map(|seed| web.url(*seed)).collect();
        frontier.propose(&seeds.iter().map(|url| Proposal::seed(url)).collect::<Vec<_>>(), 1).unwrap();
        let validator = validator(&frontier, &config, &seeds);
        let by_url = (0..web.pages.len()).map(|page| (web.url(page), page)).collect();
        let deriver = Deriver::new(DeriveOptions::default());
        Walk {
            web,
            frontier,
            validator,
            by_url,
            deriver,
            end: Offset::default(),
            now: seine_system::clock::now_ms() + TICK,
            fetched: Vec::new(),
            judge: "topic@1",
            folder,
            config,
            _one: one,
        }
    }

    /// As after the death of the process, perhaps with another configuration.
    pub fn restart(&mut self, focus: FocusConfig) {
        self.config.focus = focus;
        let seeds: Vec<String> = self.web.seeds.iter().map(|seed| self.web.url(*seed)).collect();
        // The store is closed when its last owner is dropped.
        let memory: Arc<EmbeddedFrontier> = opened(&tempfile::tempdir().unwrap(), &self.config, 0);
        self.validator = validator(&memory, &self.config, &seeds);
        self.frontier = memory;
        self.frontier = opened(&self.folder, &self.config, self.now);
        self.validator = validator(&self.frontier, &self.config, &seeds);
    }

    /// Runs until this many pages are fetched, or nothing is left.
    pub fn go(&mut self, until: usize) {
        let mut idle = 0;
        while self.fetched.len() < until && idle < 20 {
            self.now += TICK;
            let leases = self.frontier.lease(self.now, LeaseLimits::new(AT_A_TIME, 1)).unwrap();
            idle = if leases.is_empty() { idle + 1 } else { 0 };
            for lease in leases {
                self.visit(lease);
            }
        }
    }

    fn visit(&mut self, lease: Lease) {
        let fetched: Vec<String> = lease.work.iter().map(|work| work.url.clone()).collect();
        let entries: Vec<_> = lease.work.iter().map(|work| self.fetch(&work.url, work.depth)).collect();
        self.frontier.release(lease, Release { fetched, not_before: self.now + REST, ..Release::default() }).unwrap();
        self.validator.validate(&entries).unwrap();
    }

    fn fetch(&mut self, url: &str, depth: u16) -> Arc<Entry> {
        let page = self.by_url[url];
        self.fetched.push(page);
        let (relevance, is_relevant) = (self.web.relevance(page), self.web.is_wanted(page));
        let event = PageEvent {
            id: event::id(self.now + self.fetched.len() as u64),
            depth,
            started_ms: self.now,
            ended_ms: self.now,
            relevance: Relevance { relevance, is_relevant },
            model: Some(self.judge.into()),
            ..event::page(url, &[("content-type", "text/html; charset=utf-8")], self.web.html(page))
        };
        self.end = Offset { index: self.end.index + 1, offset: self.end.offset + 100 };
        Arc::new(Entry::new(self.end, Arc::new(event), &self.deriver))
    }
}

/// Number of fetches until this share of the wanted pages was fetched; none if it never was.
pub fn fetches_for(web: &Web, fetched: &[usize], wanted: usize, part: f64) -> Option<usize> {
    let enough = (wanted as f64 * part).ceil() as usize;
    let mut found = 0;
    fetched
        .iter()
        .position(|page| {
            found += usize::from(web.is_wanted(*page));
            found >= enough
        })
        .map(|at| at + 1)
}
