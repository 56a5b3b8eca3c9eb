//! `seine why`: everything known about one URL.

use std::sync::Arc;

use seine_frontier::deferred::{DEFERRED, deferred_under};
use seine_frontier::scope::{CurrentScope, Scope, ScopeDecision};
use seine_frontier::{
    Cause, EmbeddedFrontier, HostSnapshot, PageRecord, PageState, QueueState, QueuedUrl, RobotsAccess, UrlSnapshot,
    WHEN_LINKED_AGAIN,
};
use seine_parse::page::{Doubt, DuplicateOf, EpochMs};
use seine_parse::robots::{RobotsTxt, line_of};
use seine_parse::url::{MAX_URL_BYTES, port_problem};
use seine_system::clock::now_ms;

use super::deliveries::Deliveries;
use super::history::{attempts, discovery};
use super::hosts::HostList;
use super::order_log::OrderLog;
use crate::api::Refusal;
use crate::api::schema::{DoubtStory, HostStatus, PageStory, QueueStory, RobotsVerdict, ScopeVerdict, Why};
use crate::config::Config;
use crate::crawl::focus;
use crate::crawl::pauses::Pauses;

const TRUNCATED: &str = "the page is truncated: its body ended early. Seine refetches it until it is complete";
const STAYS: &str = "the earlier page stays until a second fetch confirms the removal";

/// What is known about the URL.
pub(super) struct Known<'c> {
    pub(super) explainer: &'c Explainer,
    pub(super) url: &'c str,
    scope: &'c Scope,
    pub(super) snapshot: Option<UrlSnapshot>,
    pub(super) host: Option<HostSnapshot>,
    now: EpochMs,
}

/// Explains URLs.
pub(crate) struct Explainer {
    pub(super) config: Arc<Config>,
    pub(super) frontier: Arc<EmbeddedFrontier>,
    pub(super) scope: Arc<CurrentScope>,
    pub(super) pauses: Arc<Pauses>,
    pub(super) hosts: HostList,
    pub(super) deliveries: Deliveries,
    pub(super) log: OrderLog,
}

impl Explainer {
    /// `asked`: a URL as the user wrote it. `places`: also ask the destinations for its location.
    pub(crate) fn why(&self, asked: &str, places: bool) -> Result<Why, Refusal> {
        let bad = || Refusal::Bad(no_url(asked));
        let url = seine_parse::url::parse(asked).ok_or_else(bad)?;
        let origin = seine_parse::url::origin(&url).ok_or_else(bad)?;
        let scope = self.scope.now();
        let known = Known {
            explainer: self,
            url: &url,
            scope: &scope,
            snapshot: self.frontier.url_snapshot(&url)?,
            host: self.frontier.host_snapshot(origin)?,
            now: now_ms(),
        };
        let (state, reason) = known.verdict();
        let page = known.snapshot.as_ref().and_then(|snapshot| snapshot.page.as_ref());
        let mut sinks = self.deliveries.of(page);
        if let Some(page) = page.filter(|_| places) {
            self.deliveries.find(page, &mut sinks);
        }
        Ok(Why {
            state: state.to_owned(),
            reason,
            scope: known.scope_verdict(),
            robots: known.robots_verdict(),
            preferences: known.preferences(),
            host: match &known.host {
                Some(host) => Some(HostStatus {
                    traps: self.hosts.trap_lines(&host.record.origin)?,
                    ..self.hosts.status(host, known.now)
                }),
                None => None,
            },
            found: discovery(&self.log, known.snapshot.as_ref()),
            attempts: attempts(known.snapshot.as_ref()),
            queue: known.queue_story()?,
            page: page.map(|page| story(page, known.snapshot.as_ref().and_then(|snapshot| snapshot.owner.clone()))),
            aliases: known.snapshot.as_ref().map(|snapshot| snapshot.aliases.clone()).unwrap_or_default(),
            duplicates: known.snapshot.as_ref().map(|snapshot| snapshot.duplicates.clone()).unwrap_or_default(),
            budget: known.spent_budget(),
            sinks,
            url,
        })
    }
}

impl Known<'_> {
    /// The state in one word, and the reason in a sentence.
    fn verdict(&self) -> (&'static str, String) {
        let Some(snapshot) = &self.snapshot else { return self.never_met() };
        if snapshot.is_in_flight {
            return ("in_flight", "it is being fetched, or its event waits for the validator".to_owned());
        }
        let Some(page) = &snapshot.page else { return ("waiting", self.waits_for(snapshot)) };
        match page.state {
            PageState::New | PageState::Unchanged | PageState::Changed => {
                let copy = page.duplicate_of().map(|of| format!("; it is {}", duplicate_because(of)));
                let reason = match page.doubt() {
                    _ if page.is_truncated() => TRUNCATED.to_owned(),
                    Some((Doubt::Missing, _)) => {
                        "the server answered that the page is gone; Seine removes it when a second fetch confirms that"
                            .to_owned()
                    }
                    Some((Doubt::Cut, _)) => {
                        format!("at the last fetch, {}; the earlier page stays", Doubt::Cut.meaning())
                    }
                    Some((doubt, _)) => format!("at the last fetch, {}; {STAYS}", doubt.meaning()),
                    None => match failed_since(snapshot) {
                        Some(outcome) => format!("the last fetch found no page ({outcome}); the earlier page stays"),
                        None => format!("the last fetch found a page{}", copy.unwrap_or_default()),
                    },
                };
                ("live", reason)
            }
            PageState::Withheld => ("withheld", self.withheld(page)),
            PageState::Alias => (
                "alias",
                match (&snapshot.owner, &page.target) {
                    (_, Some(target)) if page.is_alias_by_name() => {
                        let owner = snapshot.owner.as_ref().unwrap_or(target);
                        format!("its page names a canonical URL, whose page is delivered under {owner}")
                    }
                    (Some(owner), _) => format!("it redirects to a page that is delivered under {owner}"),
                    (None, Some(target)) => format!("it redirects to {target}"),
                    (None, None) => "it redirects to the page of another URL".to_owned(),
                },
            ),
            PageState::Gone => ("gone", withheld_because(page)),
            PageState::Refused => ("refused", withheld_because(page)),
            PageState::Failed(_) => ("failed", withheld_because(page)),
        }
    }

    fn never_met(&self) -> (&'static str, String) {
        if let Some(rule) = self.refusing_rule() {
            return ("out_of_scope", rule);
        }
        let config = &self.explainer.config.frontier;
        let mut reason = "it is in scope, but no seed, page or sitemap has led to it so far".to_owned();
        let host = self.host.as_ref();
        let (admitted, ordered) =
            (host.map_or(0, |host| host.record.pages), host.and_then(|host| host.record.ordered_pages));
        if let Some(limit) = ordered.or(config.max_pages_per_host).filter(|limit| admitted >= *limit) {
            let by = if ordered.is_some() { "its operator's order" } else { "link_storage.max_pages_per_domain" };
            reason += &format!("; or it was left out, because its host has the maximum of {limit} pages of {by}");
        }
        if let Some(hosts) = self.hosts_of_full_domain() {
            reason += &format!(
                "; or it was left out, because its host is unknown and its domain has {hosts} hosts \
                 (link_storage.max_hosts_per_domain)"
            );
        }
        if config.focus.hard {
            reason += "; links of pages that are not relevant are not followed (target_storage.hard_focus)";
        }
        if config.focus.min_rank > 0.0 {
            reason += &format!("; nor are links with a score below {}", config.focus.min_rank);
        }
        if let Some(depth) = config.max_depth {
            reason += &format!("; the maximum depth is {depth}");
        }
        ("unknown", reason)
    }

    /// The number of hosts of the domain, if the limit is reached and this host is not known.
    fn hosts_of_full_domain(&self) -> Option<u64> {
        let most = self.explainer.config.frontier.max_hosts_per_domain.filter(|_| self.host.is_none())?;
        let hosts = self.explainer.frontier.hosts_of_domain(seine_parse::url::origin(self.url)?).ok()?;
        Some(hosts).filter(|hosts| *hosts >= most)
    }

    /// Why a queued URL has not been fetched.
    fn waits_for(&self, snapshot: &UrlSnapshot) -> String {
        let mut reason = match snapshot.queue_state {
            QueueState::Ready { ahead: 0, .. } => "it is the next URL of its host".to_owned(),
            QueueState::Ready { ahead, .. } => format!("{ahead} URLs of its host come first"),
            QueueState::Later { due: WHEN_LINKED_AGAIN } => {
                "its host was given up; the URL waits until a link or a seed \
                leads to the host again, or until Seine tries it again"
                    .to_owned()
            }
            QueueState::Later { due } if deferred_under(due).is_some() => self.why_deferred(due),
            QueueState::Later { due } if due > self.now => {
                format!("the next attempt is in {} s", (due - self.now).div_ceil(1000))
            }
            QueueState::Later { .. } => "the next attempt is due".to_owned(),
            QueueState::Done => "it is not fetched again".to_owned(),
        };
        if let Some(cause) = snapshot.queued.as_ref().and_then(|queued| queued.cause) {
            reason += &format!("; last failure: {cause}");
        }
        if self.robots_verdict().verdict == "denied" {
            reason += "; robots.txt forbids it";
        }
        if self.explainer.pauses.is_crawl_paused() {
            reason += "; the crawl is paused";
        }
        let Some(host) = &self.host else { return reason };
        if host.record.is_blocked {
            reason += "; its host is blocked";
        }
        if let Some(other) = self.explainer.hosts.waits_for(host) {
            reason += &format!("; its host's robots.txt or tdmrep.json redirects to {other}, which is blocked");
        }
        if let Some(trouble) = host.record.waits_for() {
            reason += &match trouble.failures {
                0 => format!("; many URLs of its host fail together ({})", trouble.cause),
                failures => format!("; its host is in trouble ({}, {failures} in a row)", trouble.cause),
            };
        }
        if let Some(budget) = self.spent_budget() {
            reason += &format!("; {budget}");
        }
        if let Some(rest) = host.due.filter(|due| *due > self.now && *due < DEFERRED) {
            reason += &format!("; its host waits for {} s", (rest - self.now).div_ceil(1000));
        }
        reason
    }

    fn refusing_rule(&self) -> Option<String> {
        match self.scope.why(self.url) {
            ScopeDecision::Admitted => None,
            ScopeDecision::NotAUrl => Some("it is not a URL that can be fetched".to_owned()),
            ScopeDecision::OtherHost => {
                Some("its host is neither a seed's nor in link_storage.link_strategy.scope_hosts".to_owned())
            }
            ScopeDecision::NotAllowed { list } => Some(format!("no pattern of {list} matches")),
            ScopeDecision::Denied { list, pattern } => Some(format!("{pattern:?} of {list} matches")),
        }
    }

    fn scope_verdict(&self) -> ScopeVerdict {
        let rule = self.refusing_rule();
        let refused = self.explainer.scope.refused.of(self.url).filter(|_| rule.is_some());
        ScopeVerdict { is_admitted: rule.is_none(), rule, refused }
    }

    fn robots_verdict(&self) -> RobotsVerdict {
        let robots = self.host.as_ref().and_then(|host| host.robots.as_ref());
        let verdict_of = |verdict: &str, line: Option<(u32, String)>| RobotsVerdict {
            verdict: verdict.to_owned(),
            line_number: line.as_ref().map(|(number, _)| *number),
            line: line.map(|(_, line)| line),
            fetched_ms: robots.map(|robots| robots.fetched_ms),
            expires_ms: robots.map(|robots| robots.expires_ms),
        };
        let config = &self.explainer.config.fetch;
        match robots.map(|robots| &robots.access) {
            _ if !config.obey_robots => verdict_of("ignored", None),
            None => verdict_of("unknown", None),
            Some(RobotsAccess::AllowAll) => verdict_of("allowed", None),
            Some(RobotsAccess::Unreachable(failure)) => {
                RobotsVerdict { line: Some(failure.message.clone()), ..verdict_of("unreachable", None) }
            }
            Some(RobotsAccess::Rules(text)) => {
                let rules = RobotsTxt::parse(text.as_bytes(), &config.user_agent.name);
                match rules.decision_in_any_order(seine_parse::url::path_and_query(self.url)) {
                    None => verdict_of("allowed", None),
                    Some(decision) => {
                        let line = line_of(text.as_bytes(), decision.line).map(|line| (decision.line, line));
                        verdict_of(if decision.allow { "allowed" } else { "denied" }, line)
                    }
                }
            }
        }
    }

    fn queue_story(&self) -> Result<Option<QueueStory>, Refusal> {
        let Some((snapshot, queued)) =
            self.snapshot.as_ref().and_then(|snapshot| Some((snapshot, snapshot.queued.as_ref()?)))
        else {
            return Ok(None);
        };
        let QueuedUrl { depth, attempt: attempts, cause, .. } = *queued;
        let rests = self.host.as_ref().and_then(|host| host.due);
        let (due_ms, ahead) = match snapshot.queue_state {
            QueueState::Ready { ahead, .. } => (rests, Some(ahead)),
            QueueState::Later { due } => (Some(due), None),
            QueueState::Done => return Ok(None),
        };
        let is_ranked = self.explainer.config.frontier.focus.ranks && snapshot.page.is_none() && depth > 0;
        let rank = if is_ranked { Some(focus::why(&self.explainer.frontier, self.url, &queued.lead)?) } else { None };
        let due_ms = due_ms.filter(|due| *due < DEFERRED);
        let last_failure = cause.map(|cause| cause.to_string());
        let is_revisit = snapshot.page.is_some();
        Ok(Some(QueueStory { due_ms, ahead, depth, attempts, last_failure, is_revisit, rank }))
    }

    /// Why a URL is deferred.
    fn why_deferred(&self, due: EpochMs) -> String {
        let traps =
            seine_parse::url::origin(self.url).and_then(|origin| self.explainer.hosts.traps(origin).ok().flatten());
        let why = traps.zip(deferred_under(due)).map(|(traps, mark)| traps.why(mark));
        format!("it is deferred: {}", why.unwrap_or_else(|| "its pattern yields nothing new".to_owned()))
    }

    fn spent_budget(&self) -> Option<String> {
        let spent = self.host.as_ref()?.spent?;
        Some(format!("the budget is used up: {}", spent.budget))
    }
}

/// The result of the last attempt, if it found no page.
fn failed_since(snapshot: &UrlSnapshot) -> Option<Cause> {
    let outcome = snapshot.attempts.last()?.outcome;
    (!matches!(outcome, Cause::Status(200..=299 | 304))).then_some(outcome)
}

/// Its removal as long as no second answer confirmed it, and since when.
fn unconfirmed(page: &PageRecord) -> Option<(Doubt, EpochMs)> {
    page.doubt().filter(|_| page.state != PageState::Gone)
}

/// Why a page is not live.
pub(super) fn withheld_because(page: &PageRecord) -> String {
    match page.state {
        PageState::Gone if matches!(page.status, 404 | 410) => {
            format!("two fetches in a row gave status {}", page.status)
        }
        PageState::Gone => "it was live, but may no longer be fetched or delivered".to_owned(),
        PageState::Refused => format!("it answered with status {}", page.status),
        PageState::Failed(reason) => format!("{}: {}", reason.name(), reason.meaning()),
        PageState::Withheld if page.noindex => "it is noindex".to_owned(),
        PageState::Withheld => "its publisher objects to a purpose of this crawl".to_owned(),
        PageState::Alias => "its page is delivered under another URL".to_owned(),
        PageState::New | PageState::Unchanged | PageState::Changed => "it is live".to_owned(),
    }
}

pub(super) fn duplicate_because(of: &DuplicateOf) -> String {
    match (of.text, of.simhash) {
        (None, None) => format!("identical to {}", of.url),
        (Some(_), _) => format!("nearly the same as {}, with about {} of 100 words different", of.url, of.distance),
        (None, Some(_)) => format!("nearly the same as {}, with {} of 64 bits different", of.url, of.distance),
    }
}

/// The message for a text that is not a URL, or too long.
pub(crate) fn no_url(asked: &str) -> String {
    match asked.len() > MAX_URL_BYTES {
        true => format!("a URL of {} bytes is too long; the maximum is {MAX_URL_BYTES}", asked.len()),
        false => format!("{asked:?} is not an http or https URL{}", port_problem(asked)),
    }
}

fn story(page: &PageRecord, owner: Option<String>) -> PageStory {
    let (history, judged) = (page.history(), page.judged.as_ref());
    let duplicate = page.duplicate_of();
    PageStory {
        event_id: page.event_id.clone(),
        status: page.status,
        fetched_ms: page.fetched_ms,
        alive_ms: history.map(|history| history.alive_ms),
        missing_since_ms: unconfirmed(page).filter(|(doubt, _)| doubt.is_missing()).map(|(_, since)| since),
        doubt: unconfirmed(page).map(|(doubt, since)| DoubtStory { what: doubt, since_ms: since }),
        changes: history.map_or(0, |history| history.changes),
        changes_a_day: history.map(|history| history.belief.changes_a_day()),
        depth: page.depth,
        digest: page.digest.map(|digest| data_encoding::HEXLOWER.encode(&digest)),
        etag: page.etag.clone(),
        last_modified: page.last_modified.clone(),
        final_url: page.final_url.clone().or_else(|| page.target.clone().filter(|_| !page.is_alias_by_name())),
        alias_of: owner.filter(|_| page.state == PageState::Alias),
        noindex: page.noindex,
        relevance: judged.map(|judged| f64::from(judged.relevance) / 1e6),
        is_relevant: judged.map(|judged| judged.is_relevant),
        relevance_model: judged.map(|judged| judged.model.clone()),
        duplicate_of: duplicate.map(|of| of.url.clone()),
        duplicate_kind: duplicate.map(|of| of.kind().to_owned()),
        duplicate_distance: duplicate.map(|of| of.distance),
    }
}
