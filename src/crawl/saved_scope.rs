//! Applies changed settings to known URLs: scope, depth, limits, robots.txt, canonical URLs, purposes.
//!
//! A page that is no longer admitted is removed by its next recheck, which needs no request (`visit`). The same holds
//! for queued URLs. A URL that was not admitted before is in no store, so pages that may link to it are read again.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use seine_frontier::{Fetching, FrontierError, ScopeRule, Verdicts};
use seine_parse::page::preferences::Purposes;
use seine_parse::requisites::Requisites;
use seine_simulation_hooks::planted;
use seine_system::clock::now_ms;
use serde::{Deserialize, Serialize};

use super::purposes::PurposesChange;
use super::saved::{InForce, Saved};
use crate::config::{Canonical, Config};
use crate::judge::reevaluation::ScopeChange;

/// Which URLs the crawl admits and what it does with them. If this changes, every known URL is evaluated again.
pub(super) const REACH: Saved = Saved {
    note: "reach",
    text: |now, before| serde_json::to_string(&SavedScope::of(now, before)).unwrap_or_default(),
    revisit,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SavedScope {
    /// 0: hosts of the seeds, 1: their domains, 2: any host.
    rule: u8,
    hosts: BTreeSet<String>,
    /// A hash of the seeds' hosts, which are many and never become fewer.
    seeds: u64,
    allow: BTreeSet<String>,
    deny: BTreeSet<String>,
    link_filters: Option<String>,
    max_depth: Option<u16>,
    obey_robots: bool,
    /// Missing in older notes.
    #[serde(default = "yes")]
    sitemaps: bool,
    /// Missing in older notes.
    #[serde(default)]
    obey_canonical: bool,
    /// Which requisites are fetched, and whether forms are followed. Missing in older notes.
    #[serde(default)]
    requisites: Requisites,
    #[serde(default)]
    forms: bool,
    /// Missing in older notes.
    #[serde(default)]
    purposes: Purposes,
    /// Links of irrelevant pages are not followed.
    #[serde(default)]
    hard_focus: bool,
    /// The page classifier whose irrelevant pages are withheld.
    #[serde(default)]
    left_out_by: Option<String>,
    /// How many of the admitted URLs are taken. Missing in older notes, which leave nothing to compare.
    #[serde(default)]
    limits: Option<Limits>,
    /// The scope was narrowed at least once, so some URLs may have failed because of it.
    was_narrowed: bool,
}

/// Links beyond these limits are in no store, so the pages that have them are read again when one is raised.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Limits {
    pages_per_host: Option<u64>,
    hosts_per_domain: Option<u64>,
    obey_nofollow: bool,
    /// The lowest rank of a link that is followed.
    min_rank: f64,
}

impl Limits {
    fn of(config: &Config) -> Limits {
        Limits {
            pages_per_host: config.frontier.max_pages_per_host,
            hosts_per_domain: config.frontier.max_hosts_per_domain,
            obey_nofollow: config.scope.obey_nofollow,
            min_rank: config.frontier.focus.min_rank,
        }
    }

    fn exceed(&self, others: &Limits) -> bool {
        if planted::is("limits_for_ever") {
            return false;
        }
        is_higher(self.pages_per_host, others.pages_per_host)
            || is_higher(self.hosts_per_domain, others.hosts_per_domain)
            || (others.obey_nofollow && !self.obey_nofollow)
            || self.min_rank < others.min_rank
    }
}

/// None is no limit.
fn is_higher<N: PartialOrd>(limit: Option<N>, other: Option<N>) -> bool {
    other.is_some_and(|other| limit.is_none_or(|limit| limit > other))
}

fn yes() -> bool {
    true
}

/// The differences between the saved settings and the configuration.
struct Change<'a> {
    scope: ScopeChange<'a>,
    purposes: Option<PurposesChange<'a>>,
}

fn revisit(now: &InForce, before: Option<&str>) -> Result<(), FrontierError> {
    let Some(before) = SavedScope::read(before) else { return Ok(()) };
    let Some(change) = SavedScope::new(now).change(&before, now) else { return Ok(()) };
    tracing::info!(
        pages = now.frontier.counts().page,
        "the settings of scope, depth, limits, robots.txt, canonical URLs or purpose have changed: known URLs are \
        re-evaluated"
    );
    let concerned = RefCell::new(BTreeMap::<&str, u64>::new());
    now.frontier.recheck(None, now_ms(), &|page| {
        let by_purpose = change.purposes.as_ref().and_then(|purposes| purposes.recheck_of(page));
        let (why, recheck) = change.scope.recheck_of(page, by_purpose)?;
        *concerned.borrow_mut().entry(why).or_default() += 1;
        Some(recheck)
    })?;
    for (why, urls) in concerned.into_inner() {
        tracing::info!(urls, "{why}");
    }
    Ok(())
}

impl SavedScope {
    /// An unreadable note counts as missing.
    fn read(note: Option<&str>) -> Option<SavedScope> {
        note.and_then(|note| serde_json::from_str(note).ok())
    }

    /// The settings in force, with the note before.
    fn of(now: &InForce, before: Option<&str>) -> SavedScope {
        let mut reach = SavedScope::new(now);
        reach.was_narrowed =
            SavedScope::read(before).is_some_and(|before| before.was_narrowed || before.exceeds(&reach));
        reach
    }

    fn new(InForce { scope, config, .. }: &InForce) -> SavedScope {
        let patterns =
            |list: &[String]| list.iter().map(|it| it.trim()).filter(|it| !it.is_empty()).map(str::to_owned).collect();
        SavedScope {
            rule: config.scope.rule as u8,
            hosts: config.scope.hosts.iter().cloned().collect(),
            seeds: xxhash_rust::xxh3::xxh3_64(scope.to_note().as_bytes()),
            allow: patterns(&config.scope.allow),
            deny: patterns(&config.scope.deny),
            link_filters: config.scope.link_filters.clone(),
            max_depth: config.frontier.max_depth,
            obey_robots: config.fetch.obey_robots,
            sitemaps: config.frontier.sitemaps,
            obey_canonical: config.frontier.canonical == Canonical::Obey,
            requisites: config.scope.requisites,
            forms: config.scope.forms,
            purposes: config.scope.purposes.clone(),
            hard_focus: config.frontier.focus.hard,
            left_out_by: config.left_out_by().map(str::to_owned),
            limits: Some(Limits::of(config)),
            was_narrowed: false,
        }
    }

    /// Whether it may admit URLs that `other` does not. New seed hosts do not count, because they are crawled from
    /// their seed.
    fn exceeds(&self, other: &SavedScope) -> bool {
        let any = ScopeRule::Any as u8;
        self.rule > other.rule
            || (other.rule != any && !self.hosts.is_subset(&other.hosts))
            || (!other.allow.is_empty() && (self.allow.is_empty() || !self.allow.is_subset(&other.allow)))
            || !other.deny.is_subset(&self.deny)
            || (other.link_filters.is_some() && self.link_filters != other.link_filters)
            || self.requisites.exceed(other.requisites)
            || (self.forms && !other.forms)
            || self.limits.zip(other.limits).is_some_and(|(limits, others)| limits.exceed(&others))
            || self.is_deeper(other)
    }

    fn is_deeper(&self, other: &SavedScope) -> bool {
        is_higher(self.max_depth, other.max_depth)
    }

    /// None if known URLs are not affected.
    fn change<'a>(&self, before: &SavedScope, now: &InForce<'a>) -> Option<Change<'a>> {
        let is_deeper = self.is_deeper(before);
        let is_wider =
            SavedScope { max_depth: None, ..self.clone() }.exceeds(&SavedScope { max_depth: None, ..before.clone() });
        let may_return = is_wider || is_deeper || self.seeds != before.seeds;
        let scope = ScopeChange {
            scope: now.scope,
            max_depth: self.max_depth,
            is_wider,
            deeper_from: before.max_depth.filter(|_| is_deeper),
            may_return: may_return && before.was_narrowed,
            robots_count: self.obey_robots && !before.obey_robots,
            robots_are_free: before.obey_robots && !self.obey_robots,
            sitemaps_return: self.sitemaps && !before.sitemaps,
            canonical_counts: self.obey_canonical && !before.obey_canonical,
            is_softer: before.hard_focus && !self.hard_focus,
        };
        let purposes = (self.purposes != before.purposes || self.left_out_by != before.left_out_by)
            .then(|| PurposesChange::new(now.frontier, now.config));
        let concerns = before.exceeds(self)
            || is_wider
            || is_deeper
            || scope.may_return
            || scope.sitemaps_return
            || scope.canonical_counts
            || purposes.is_some()
            || scope.is_softer;
        (concerns || self.obey_robots != before.obey_robots).then_some(Change { scope, purposes })
    }
}
