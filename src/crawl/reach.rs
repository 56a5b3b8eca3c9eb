//! How far a crawl reaches: its scope, its depth, whether robots.txt and canonical URLs count, and what it is for. What has changed of that since
//! the last start is for what is known already, too.
//!
//! What is not admitted any more leaves as it is looked at (`visit`), which costs no request; so does what is queued. What is
//! admitted now and was not before is in no store: pages that may link to it are read again.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::asks::AsksChange;
use crate::clock::now_ms;
use crate::config::{Canonical, Config, ScopeRule};
use crate::frontier::scope::Scope;
use crate::frontier::{Frontier, FrontierError, Look, PageRecord, PageState};
use crate::page::FailureReason;
use crate::page::preferences::Purposes;
use crate::parse::requisites::Requisites;

/// The reach that everything known was brought in line with. Folders of before have none.
const NOTE: &str = "reach";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Reach {
    /// 0 to 2: the seeds' hosts, their domains, any host.
    rule: u8,
    hosts: BTreeSet<String>,
    /// Of the seeds' hosts, which are many and only ever get more.
    seeds: u64,
    allow: BTreeSet<String>,
    deny: BTreeSet<String>,
    link_filters: Option<String>,
    max_depth: Option<u16>,
    obey_robots: bool,
    /// Not noted before there was such.
    #[serde(default)]
    obey_canonical: bool,
    /// Which requisites are asked for, and whether forms are followed. Not noted before there was such.
    #[serde(default)]
    requisites: Requisites,
    #[serde(default)]
    forms: bool,
    /// As above: before there were any.
    #[serde(default)]
    purposes: Purposes,
    /// Links of pages that are not relevant are not followed.
    #[serde(default)]
    hard_focus: bool,
    /// The page classifier whose irrelevant pages are not delivered.
    #[serde(default)]
    left_out_by: Option<String>,
    /// It was narrowed once: there may be URLs that failed for it.
    was_narrowed: bool,
}

/// What is another way than it was.
struct Change<'a> {
    scope: &'a Scope,
    max_depth: Option<u16>,
    /// Something may be admitted that was not.
    is_wider: bool,
    /// Pages so deep may link to something that was too deep.
    deeper_from: Option<u16>,
    /// What was refused or has left may be asked for now.
    returns: bool,
    /// robots.txt counts, which it did not, …
    robots_count: bool,
    /// … or does not any more.
    robots_are_free: bool,
    /// What pages name as their canonical URL counts, and was not noted.
    canonical_counts: bool,
    /// What the pages are for is something else.
    asks: Option<AsksChange<'a>>,
    /// Links that were passed over count now.
    is_softer: bool,
}

const LEAVE: &str = "scope or depth has changed: pages known already that it does not admit any more leave";
const REREAD: &str = "scope or depth has changed: pages known already are read again for links that it admits now";
const PASSED_OVER: &str = "links of all pages count now: pages that are not relevant are read again for theirs";
const RETURN: &str = "what was forbidden may be asked for now: URLs are tried again";
const NAMED: &str = "canonical URLs count from now on: pages known already are asked for whole when their time comes";
const USE: &str =
    "what the pages are for has changed, or which are wanted: those that this may concern are looked at again";
const ASKED: &str = "robots.txt counts from now on: pages known already are looked at again";

/// Brings what is known in line with the configuration. Broken off, it begins again.
pub(super) fn apply(frontier: &dyn Frontier, scope: &Scope, config: &Config) -> Result<(), FrontierError> {
    // What cannot be read is as if it were not there.
    let before = frontier.note(NOTE)?.and_then(|note| serde_json::from_str::<Reach>(&note).ok());
    let mut now = Reach::of(scope, config);
    if let Some(before) = before {
        now.was_narrowed = before.was_narrowed || before.exceeds(&now);
        if now == before {
            return Ok(());
        }
        if let Some(change) = now.change(&before, scope, frontier, config) {
            tracing::info!(
                pages = frontier.counts().page,
                "scope, depth, robots.txt, canonical URLs or what publishers ask count otherwise: what is known already is looked through"
            );
            let concerned = RefCell::new(BTreeMap::<&str, u64>::new());
            frontier.look_again(None, now_ms(), &|page| {
                let (why, look) = change.look(page)?;
                *concerned.borrow_mut().entry(why).or_default() += 1;
                Some(look)
            })?;
            for (why, urls) in concerned.into_inner() {
                tracing::info!(urls, "{why}");
            }
        }
    }
    frontier.set_note(NOTE, &serde_json::to_string(&now).unwrap_or_default())
}

impl Reach {
    fn of(scope: &Scope, config: &Config) -> Reach {
        let patterns =
            |list: &[String]| list.iter().map(|it| it.trim()).filter(|it| !it.is_empty()).map(str::to_owned).collect();
        Reach {
            rule: config.scope.rule as u8,
            hosts: config.scope.hosts.iter().cloned().collect(),
            seeds: xxhash_rust::xxh3::xxh3_64(scope.to_note().as_bytes()),
            allow: patterns(&config.scope.allow),
            deny: patterns(&config.scope.deny),
            link_filters: config.scope.link_filters.clone(),
            max_depth: config.frontier.max_depth,
            obey_robots: config.fetch.obey_robots,
            obey_canonical: config.frontier.canonical == Canonical::Obey,
            requisites: config.scope.requisites,
            forms: config.scope.forms,
            purposes: config.scope.purposes.clone(),
            hard_focus: config.frontier.focus.hard,
            left_out_by: config.left_out_by().map(str::to_owned),
            was_narrowed: false,
        }
    }

    /// Whether it may admit something that `other` does not. The seeds' hosts apart: a new one is crawled from its seed.
    fn exceeds(&self, other: &Reach) -> bool {
        let any = ScopeRule::Any as u8;
        self.rule > other.rule
            || (other.rule != any && !self.hosts.is_subset(&other.hosts))
            || (!other.allow.is_empty() && (self.allow.is_empty() || !self.allow.is_subset(&other.allow)))
            || !other.deny.is_subset(&self.deny)
            || (other.link_filters.is_some() && self.link_filters != other.link_filters)
            || self.requisites.exceed(other.requisites)
            || (self.forms && !other.forms)
            || self.is_deeper(other)
    }

    fn is_deeper(&self, other: &Reach) -> bool {
        other.max_depth.is_some_and(|limit| self.max_depth.is_none_or(|deepest| deepest > limit))
    }

    /// None when it concerns nothing that is known.
    fn change<'a>(
        &self,
        before: &Reach,
        scope: &'a Scope,
        frontier: &'a dyn Frontier,
        config: &'a Config,
    ) -> Option<Change<'a>> {
        let is_deeper = self.is_deeper(before);
        let is_wider = Reach { max_depth: None, ..self.clone() }.exceeds(&Reach { max_depth: None, ..before.clone() });
        let may_return = is_wider || is_deeper || self.seeds != before.seeds;
        let change = Change {
            scope,
            max_depth: self.max_depth,
            is_wider,
            deeper_from: before.max_depth.filter(|_| is_deeper),
            returns: may_return && before.was_narrowed,
            robots_count: self.obey_robots && !before.obey_robots,
            robots_are_free: before.obey_robots && !self.obey_robots,
            canonical_counts: self.obey_canonical && !before.obey_canonical,
            asks: (self.purposes != before.purposes || self.left_out_by != before.left_out_by)
                .then(|| AsksChange::new(frontier, config)),
            is_softer: before.hard_focus && !self.hard_focus,
        };
        let concerns = before.exceeds(self)
            || is_wider
            || is_deeper
            || change.returns
            || change.canonical_counts
            || change.asks.is_some()
            || change.is_softer;
        (concerns || self.obey_robots != before.obey_robots).then_some(change)
    }
}

impl Change<'_> {
    /// What becomes of the next look at a page, and why.
    fn look(&self, page: &PageRecord) -> Option<(&'static str, Look)> {
        let (is_there, depth) = (page.state.is_there(), page.depth);
        let is_kept = self.scope.keeps(&page.url, page.kind, depth, self.max_depth);
        // Gone without an answer that said so: forbidden.
        let was_forbidden = page.state == PageState::Gone && page.status == 0;
        let by_use = self.asks.as_ref().and_then(|asks| asks.look(page));
        Some(match page.state {
            _ if is_there && !is_kept => (LEAVE, Look::First),
            _ if !is_kept => return None,
            _ if is_there && (self.is_wider || self.deeper_from.is_some_and(|limit| depth >= limit)) => {
                (REREAD, Look::Reread)
            }
            _ if by_use == Some(Look::Reread) => (USE, Look::Reread),
            _ if is_there && self.is_softer && page.is_to_be_reread => (PASSED_OVER, Look::Reread),
            _ if is_there && self.robots_count => (ASKED, Look::First),
            _ if by_use == Some(Look::First) => (USE, Look::First),
            _ if is_there && self.canonical_counts => (NAMED, Look::RereadInTime),
            _ if was_forbidden && (self.returns || self.robots_are_free) => (RETURN, Look::First),
            PageState::Failed(FailureReason::OutOfScope) if self.returns => (RETURN, Look::TryAgain),
            PageState::Failed(FailureReason::RobotsDenied) if self.robots_are_free => (RETURN, Look::TryAgain),
            _ => return None,
        })
    }
}
