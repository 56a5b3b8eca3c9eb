//! When pages are rechecked: the policy, and the price of a recheck, which is stored in the frontier.

use std::collections::HashMap;

use parking_lot::Mutex;
use regex::bytes::Regex;
use seine_frontier::pattern;
use seine_frontier::{FrontierError, Hint, PageRecord, PageState, Proposal, Validation};
use seine_parse::Derived;
use seine_parse::page::{Doubt, EpochMs, FailureReason, PageEvent};
use seine_policies::revisit::{Budget, History, RevisitPolicy, Trust, Which};
use seine_simulation_hooks::planted;

use crate::config::FrontierConfig;

/// The note with the price and the mean interval that it belongs to.
const NOTE: &str = "recrawl";

/// Tolerance for wrong clocks and time zones.
const CLOCK_TOLERANCE_MS: u64 = 86_400_000;

#[derive(Debug)]
pub(crate) struct RecheckTimes {
    policy: RevisitPolicy,
    /// Policies for some pages; the first match applies.
    overrides: Vec<(Matcher, RevisitPolicy)>,
    /// None if pages are not rechecked.
    budget: Option<Mutex<Budget>>,
}

#[derive(Debug)]
enum Matcher {
    Host(String),
    Pattern(Regex),
}

/// The content of the note.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Kept {
    interval_ms: u64,
    price: f64,
}

impl RecheckTimes {
    /// Continues with the stored price, if the mean interval is the same.
    pub(crate) fn open(
        frontier: &dyn Validation,
        config: &FrontierConfig,
        now: EpochMs,
    ) -> Result<RecheckTimes, FrontierError> {
        let policy = config.revisit.clone();
        let overrides = compiled(&policy);
        let Some(interval) = policy.interval else { return Ok(RecheckTimes { policy, overrides, budget: None }) };
        let interval_ms = interval.as_millis() as u64;
        // An unreadable price is found again.
        let kept = frontier.note(NOTE)?.and_then(|note| serde_json::from_str::<Kept>(&note).ok());
        let price = kept.filter(|kept| kept.interval_ms == interval_ms).map(|kept| kept.price);
        let budget = Budget::new(interval_ms, price, now);
        Ok(RecheckTimes { policy, overrides, budget: Some(Mutex::new(budget)) })
    }

    /// Counts a recheck that found a live page.
    pub(crate) fn count(
        &self,
        frontier: &dyn Validation,
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
            match budget.count_recheck(now, pages, is_late) {
                true => budget.price(),
                false => return Ok(()),
            }
        };
        let kept = Kept { interval_ms: interval.as_millis() as u64, price };
        frontier.set_note(NOTE, &serde_json::to_string(&kept).unwrap_or_default())
    }

    /// When a URL is rechecked; none: never. `trust`: reliability of its host's hints.
    pub(crate) fn due(&self, record: &PageRecord, trust: Option<&Trust>, now: EpochMs) -> Option<EpochMs> {
        if let Some(since) = record.no_page_since() {
            return self.due_of_refused(record, since, now).filter(|_| !planted::is("refused_for_ever"));
        }
        let history = record.history()?;
        let is_alias = record.state == PageState::Alias;
        // An alias that is never requested is rechecked when its page's owner is gone. The frontier does that.
        if record.is_only_a_target() {
            return None;
        }
        let is_there = record.state.is_found() || is_alias;
        let policy = self.policy_of(&record.url);
        let interval = self.price(policy).map(|price| match is_there {
            true => policy.interval_ms(history.belief, history.outlook(trust), price),
            false => policy.gone_ms(history.alive_ms, now),
        });
        // An unconfirmed removal is rechecked even if pages are not.
        let doubt = history.doubt().filter(|(doubt, _)| is_there || *doubt == Doubt::Cut);
        let soon = doubt.map(|doubt| (doubt.0, policy.doubt_ms(doubt, now)));
        Some(
            now + match (soon, interval) {
                (Some((Doubt::Missing, soon)), _) | (Some((_, soon)), None) => soon,
                (Some((_, soon)), Some(interval)) => soon.min(interval),
                (None, interval) => interval?,
            },
        )
    }

    /// For a URL that never was a page: growing intervals, as for pages that are gone. A failure is retried sooner.
    fn due_of_refused(&self, record: &PageRecord, since: EpochMs, now: EpochMs) -> Option<EpochMs> {
        use FailureReason::{Alias, BadUrl, HostUnreachable, OutOfScope};
        let policy = self.policy_of(&record.url);
        policy.interval?;
        let may_be_well_soon = match record.state {
            // These come back in other ways.
            PageState::Failed(Alias | BadUrl | HostUnreachable | OutOfScope) => return None,
            PageState::Failed(reason) => reason.is_transient(),
            _ => record.status == 429 || record.status >= 500,
        };
        Some(now + if may_be_well_soon { policy.growing_ms(since, now) } else { policy.gone_ms(since, now) })
    }

    /// A changed page links to URLs that were not pages at their last fetch; they may be pages now. The longer a URL
    /// has not been a page, the longer its recheck waits.
    pub(super) fn add_linked(
        &self,
        frontier: &dyn Validation,
        links: &[Proposal],
        now: EpochMs,
        hints: &mut Vec<Hint>,
    ) -> Result<(), FrontierError> {
        /// This part of the time for which it was not a page.
        const PART: u64 = 8;
        let links = if planted::is("refused_for_ever") { &[] } else { links };
        for link in links {
            let Some(page) = frontier.page(&link.url)? else { continue };
            let Some(since) = page.no_page_since() else { continue };
            let soonest = self.policy_of(&link.url).soonest().as_millis() as u64;
            let wait = (now.saturating_sub(since) / PART).max(soonest);
            hints.push(Hint { url: link.url.clone(), changed_ms: now, due: now.max(page.fetched_ms + wait) });
        }
        Ok(())
    }

    /// Adds hints of a sitemap or feed for known pages that changed after their last fetch. In long lists, hints older
    /// than the longest interval are skipped, because every page was rechecked since.
    pub(super) fn add_hints(
        &self,
        frontier: &dyn Validation,
        (event, derived): (&PageEvent, &Derived),
        hints: &mut Vec<Hint>,
    ) -> Result<(), FrontierError> {
        let now = event.ended_ms;
        let mut trusted = HashMap::new();
        for (url, changed_ms) in derived.dated().filter(|(_, changed_ms)| self.can_be_news(*changed_ms, now)) {
            let Some(page) = frontier.page(url)?.filter(|_| url != event.url) else { continue };
            let origin = seine_parse::url::origin(url).unwrap_or_default();
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

    /// The latest time of a recheck after a hint; none if the hint is not news.
    fn due_after_hint(
        &self,
        page: &PageRecord,
        changed_ms: EpochMs,
        trust: Option<&Trust>,
        now: EpochMs,
    ) -> Option<EpochMs> {
        let policy = self.policy_of(&page.url);
        let price = self.price(policy)?;
        let history = page.history().filter(|_| page.state.is_found())?.after_hint(changed_ms)?;
        Some(now.max(history.alive_ms + policy.interval_ms(history.belief, history.outlook(trust), price)))
    }

    /// Whether a change at that time can be news. A change older than the longest interval cannot, because every page
    /// was rechecked since.
    fn can_be_news(&self, changed_ms: EpochMs, now: EpochMs) -> bool {
        let policies = self.overrides.iter().map(|(_, policy)| policy).chain([&self.policy]);
        let looked_at = policies.filter(|policy| policy.interval.is_some());
        let longest = looked_at.map(RevisitPolicy::longest_ms).max();
        longest.is_some_and(|longest| changed_ms <= now + CLOCK_TOLERANCE_MS && changed_ms + longest > now)
    }

    fn policy_of(&self, url: &str) -> &RevisitPolicy {
        let is_theirs = |(matcher, _): &&(Matcher, RevisitPolicy)| match matcher {
            Matcher::Host(host) => seine_parse::url::host(url) == Some(host),
            Matcher::Pattern(pattern) => pattern.is_match(url.as_bytes()),
        };
        self.overrides.iter().find(is_theirs).map_or(&self.policy, |(_, policy)| policy)
    }

    /// The value that a recheck must have; none if pages are not rechecked. If only some pages are, there is no budget
    /// to share.
    fn price(&self, policy: &RevisitPolicy) -> Option<f64> {
        let mean_ms = policy.interval?.as_millis() as u64;
        Some(match &self.budget {
            Some(budget) => budget.lock().price(),
            None => Budget::new(mean_ms, None, 0).price(),
        })
    }
}

/// The configuration has checked the patterns.
fn compiled(policy: &RevisitPolicy) -> Vec<(Matcher, RevisitPolicy)> {
    let matcher = |which: &Which| match which {
        Which::Host(host) => Some(Matcher::Host(host.clone())),
        Which::Pattern(written) => pattern::compile(written).ok().map(Matcher::Pattern),
    };
    policy.overrides.iter().filter_map(|one| Some((matcher(&one.which)?, policy.overridden(one)))).collect()
}
