//! When pages are looked at again: the policy, and the price of a look as it has settled, kept with the frontier.

use std::collections::HashMap;

use parking_lot::Mutex;
use regex::bytes::Regex;

use crate::config::{FrontierConfig, pattern};
use crate::frontier::{Frontier, FrontierError, Hint, PageRecord, PageState, Proposal};
use crate::page::{Doubt, EpochMs, FailureReason, PageEvent};
use crate::parse::{self, Derived};
use crate::revisit::{Budget, History, RevisitPolicy, Trust, Which};

/// The note with the price, and the mean interval it belongs to.
const NOTE: &str = "recrawl";

/// Clocks and time zones may be so far off.
const AHEAD_MS: u64 = 86_400_000;

#[derive(Debug)]
pub struct Looks {
    policy: RevisitPolicy,
    /// Of some pages; the first that is theirs.
    overrides: Vec<(Matcher, RevisitPolicy)>,
    /// None when pages are not looked at again.
    budget: Option<Mutex<Budget>>,
}

#[derive(Debug)]
enum Matcher {
    Host(String),
    Pattern(Regex),
}

/// What the note says.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Kept {
    interval_ms: u64,
    price: f64,
}

impl Looks {
    /// Takes the price up where it was, if the mean interval is what it was.
    pub fn open(frontier: &dyn Frontier, config: &FrontierConfig, now: EpochMs) -> Result<Looks, FrontierError> {
        let policy = config.revisit.clone();
        let overrides = compiled(&policy);
        let Some(interval) = policy.interval else { return Ok(Looks { policy, overrides, budget: None }) };
        let interval_ms = interval.as_millis() as u64;
        // What cannot be read is found again.
        let kept = frontier.note(NOTE)?.and_then(|note| serde_json::from_str::<Kept>(&note).ok());
        let price = kept.filter(|kept| kept.interval_ms == interval_ms).map(|kept| kept.price);
        let budget = Budget::new(interval_ms, price, now);
        Ok(Looks { policy, overrides, budget: Some(Mutex::new(budget)) })
    }

    /// Counts a look that found a page of before there again.
    pub fn count(
        &self,
        frontier: &dyn Frontier,
        url: &str,
        before: &History,
        trust: Option<&Trust>,
        now: EpochMs,
    ) -> Result<(), FrontierError> {
        let (Some(budget), Some(interval)) = (&self.budget, self.policy.interval) else { return Ok(()) };
        let counts = frontier.counts();
        let pages = counts.live + counts.withheld;
        let price = {
            let mut budget = budget.lock();
            let elapsed_ms = now.saturating_sub(before.alive_ms);
            let policy = self.policy_of(url);
            let is_late = policy.is_late(before.belief, before.outlook(trust), budget.price(), elapsed_ms);
            match budget.looked(now, pages, is_late) {
                true => budget.price(),
                false => return Ok(()),
            }
        };
        let kept = Kept { interval_ms: interval.as_millis() as u64, price };
        frontier.set_note(NOTE, &serde_json::to_string(&kept).unwrap_or_default())
    }

    /// When a URL is looked at again; none: never. `trust`: in the hints of its host.
    pub fn due(&self, record: &PageRecord, trust: Option<&Trust>, now: EpochMs) -> Option<EpochMs> {
        if let Some(since) = record.no_page_since() {
            return self.due_of_refused(record, since, now);
        }
        let history = record.history()?;
        let is_alias = record.state == PageState::Alias;
        // What is not even asked for is looked at again when its page is nobody's any more: the frontier sees to that.
        if is_alias && record.target.as_deref() == Some(&record.url) {
            return None;
        }
        let is_there = record.state.is_there() || is_alias;
        let policy = self.policy_of(&record.url);
        let interval = self.price(policy).map(|price| match is_there {
            true => policy.interval_ms(history.belief, history.outlook(trust), price),
            false => policy.gone_ms(history.alive_ms, now),
        });
        // What is doubted is looked at again though pages are not.
        let doubt = history.doubt().filter(|_| is_there);
        let soon = doubt.map(|doubt| (doubt.0, policy.doubt_ms(doubt, now)));
        Some(
            now + match (soon, interval) {
                (Some((Doubt::Missing, soon)), _) | (Some((_, soon)), None) => soon,
                (Some((_, soon)), Some(interval)) => soon.min(interval),
                (None, interval) => interval?,
            },
        )
    }

    /// Of one that is no page, and never was: as of one that is gone, so that the looks grow apart. What failed may be well again sooner.
    fn due_of_refused(&self, record: &PageRecord, since: EpochMs, now: EpochMs) -> Option<EpochMs> {
        use FailureReason::{Alias, BadUrl, HostUnreachable, OutOfScope};
        let policy = self.policy_of(&record.url);
        policy.interval?;
        let may_be_well_soon = match record.state {
            // They have ways of their own to come back.
            PageState::Failed(Alias | BadUrl | HostUnreachable | OutOfScope) => return None,
            PageState::Failed(reason) => reason.is_transient(),
            _ => record.status == 429 || record.status >= 500,
        };
        Some(now + if may_be_well_soon { policy.growing_ms(since, now) } else { policy.gone_ms(since, now) })
    }

    /// A page that has changed links to what was no page when it was asked for last: it may be one by now. The longer it was none, the
    /// longer that waits.
    pub(super) fn add_linked(
        &self,
        frontier: &dyn Frontier,
        links: &[Proposal],
        now: EpochMs,
        hints: &mut Vec<Hint>,
    ) -> Result<(), FrontierError> {
        /// Part of the time for which it was no page.
        const PART: u64 = 8;
        for link in links {
            let Some(page) = frontier.page(&link.url)? else { continue };
            let Some(since) = page.no_page_since() else { continue };
            let soonest = self.policy_of(&link.url).soonest().as_millis() as u64;
            let wait = (now.saturating_sub(since) / PART).max(soonest);
            hints.push(Hint { url: link.url.clone(), changed_ms: now, due: now.max(page.fetched_ms + wait) });
        }
        Ok(())
    }

    /// Adds what a sitemap or a feed says of pages that are known already: that they have changed, where their last look could not know
    /// of it. Of a long list only what is younger than the longest interval is looked up: older news every page was looked at since.
    pub(super) fn add_hints(
        &self,
        frontier: &dyn Frontier,
        (event, derived): (&PageEvent, &Derived),
        hints: &mut Vec<Hint>,
    ) -> Result<(), FrontierError> {
        let now = event.ended_ms;
        let mut trusted = HashMap::new();
        for (url, changed_ms) in derived.told().filter(|(_, changed_ms)| self.can_be_news(*changed_ms, now)) {
            let Some(page) = frontier.page(url)?.filter(|_| url != event.url) else { continue };
            let origin = parse::url::origin(url).unwrap_or_default();
            let trust = match trusted.get(origin) {
                Some(trust) => *trust,
                None => {
                    let trust = frontier.trust(url)?;
                    trusted.insert(origin, trust);
                    trust
                }
            };
            let changed_ms = changed_ms.min(now);
            if let Some(due) = self.due_after_hint(&page, changed_ms, trust.as_ref(), now) {
                hints.push(Hint { url: url.to_owned(), changed_ms, due });
            }
        }
        Ok(())
    }

    /// When a page is looked at at the latest, of which it is said that it has changed; none when that is nothing new.
    fn due_after_hint(
        &self,
        page: &PageRecord,
        changed_ms: EpochMs,
        trust: Option<&Trust>,
        now: EpochMs,
    ) -> Option<EpochMs> {
        let policy = self.policy_of(&page.url);
        let price = self.price(policy)?;
        let history = page.history().filter(|_| page.state.is_there())?.after_hint(changed_ms)?;
        Some(now.max(history.alive_ms + policy.interval_ms(history.belief, history.outlook(trust), price)))
    }

    /// Whether a change at that time can be news of a page: one that is older than the longest interval is none, as every page was
    /// looked at since.
    fn can_be_news(&self, changed_ms: EpochMs, now: EpochMs) -> bool {
        let policies = self.overrides.iter().map(|(_, policy)| policy).chain([&self.policy]);
        let looked_at = policies.filter(|policy| policy.interval.is_some());
        let longest = looked_at.map(RevisitPolicy::longest_ms).max();
        longest.is_some_and(|longest| changed_ms <= now + AHEAD_MS && changed_ms + longest > now)
    }

    fn policy_of(&self, url: &str) -> &RevisitPolicy {
        let is_theirs = |(matcher, _): &&(Matcher, RevisitPolicy)| match matcher {
            Matcher::Host(host) => parse::url::host(url) == Some(host),
            Matcher::Pattern(pattern) => pattern.is_match(url.as_bytes()),
        };
        self.overrides.iter().find(is_theirs).map_or(&self.policy, |(_, policy)| policy)
    }

    /// What a look must be worth; none: pages are not looked at again. Where only some are, there is nothing to share.
    fn price(&self, policy: &RevisitPolicy) -> Option<f64> {
        let mean_ms = policy.interval?.as_millis() as u64;
        Some(match &self.budget {
            Some(budget) => budget.lock().price(),
            None => Budget::new(mean_ms, None, 0).price(),
        })
    }
}

/// What was read is known to be patterns.
fn compiled(policy: &RevisitPolicy) -> Vec<(Matcher, RevisitPolicy)> {
    let matcher = |which: &Which| match which {
        Which::Host(host) => Some(Matcher::Host(host.clone())),
        Which::Pattern(written) => pattern::compile(written).ok().map(Matcher::Pattern),
    };
    policy.overrides.iter().filter_map(|one| Some((matcher(&one.which)?, policy.overridden(one)))).collect()
}
