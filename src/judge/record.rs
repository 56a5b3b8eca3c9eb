//! Decides what an accepted event means for the record of its URL. The validator asks this of every event of the log.

use seine_frontier::scope::Scope;
use seine_frontier::{Cause, Health, HostPause, PageRecord, PageState};
use seine_parse::Derived;
use seine_parse::page::{Again, Doubt, EpochMs, FailureReason, Outcome, PageChange, PageEvent, Response, Withheld};
use seine_parse::walls::Wall;
use seine_policies::revisit::{History, Trust};

use super::blame::{ChargedTo, cause_of};
use super::change::{change, seen};
use super::withheld::is_noindex;
use super::{alias, canonical, keep, retry, trouble};
use crate::config::{FrontierConfig, Redirects};

/// An event, what is derived from it, and the earlier record.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'e> {
    pub event: &'e PageEvent,
    pub derived: &'e Derived,
    pub before: Option<&'e PageRecord>,
    /// Reliability of its host's hints, if the page has or gives hints.
    pub trust: Option<&'e Trust>,
}

/// The settings that decide.
#[derive(Clone, Copy)]
pub(crate) struct Settings<'s> {
    pub config: &'s FrontierConfig,
    pub scope: &'s Scope,
}

/// The meaning of an event for its URL.
#[expect(clippy::large_enum_variant, reason = "nearly all are records, and each lives for a moment")]
pub(crate) enum Ruling {
    /// It is final: this is the URL's record now.
    Record { record: PageRecord, recheck: Recheck },
    /// It is not final: the URL is fetched again at `at`.
    Retry {
        at: EpochMs,
        /// Attempts so far, with this one.
        attempt: u16,
        /// The attempt did not count.
        put_off: bool,
        cause: Cause,
        host: HostPause,
    },
}

/// When a URL with a final answer is rechecked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recheck {
    Never,
    /// At once, because the configuration changed after the event was accepted.
    Now,
    /// When its host, which is given up, answers again.
    WithItsHost,
    /// When the recheck policy says so.
    ByPolicy,
}

impl Seen<'_> {
    /// The history of earlier fetches; none if the record is from this very event.
    pub(crate) fn known(&self) -> Option<History> {
        self.before.filter(|before| before.event_id != self.event.id)?.history()
    }
}

/// Decides what the event means for its URL.
pub(crate) fn judge(seen: Seen, settings: Settings) -> Ruling {
    let Seen { event, before, .. } = seen;
    // The record is from this very event, read again after a crash: the verdict stays.
    if let Some(before) = before.filter(|before| before.event_id == event.id) {
        return Ruling::Record { record: before.clone(), recheck: recheck(event, before, settings) };
    }
    // Older events do not have the worker's decision.
    let own = || retry::again(event, ChargedTo::Page, 0, None, settings.config);
    if let Some(Again { at, counts, host_is_well }) = event.again.or_else(own) {
        return Ruling::Retry {
            at,
            attempt: event.attempt + u16::from(counts),
            put_off: !counts,
            cause: cause_of(&event.outcome),
            host: host_pause(event, !counts && !host_is_well, settings.config),
        };
    }
    let record = match &event.withheld {
        Some(Withheld::Alias { target, .. }) => alias::record(seen, target, settings),
        _ => record(seen, settings),
    };
    let recheck = recheck(event, &record, settings);
    Ruling::Record { record, recheck }
}

/// The pause of the host that the worker decided, in case a crash lost it: one failure.
fn host_pause(event: &PageEvent, is_hosts: bool, config: &FrontierConfig) -> HostPause {
    let was_asked = !event.request_headers.0.is_empty();
    if !was_asked || !is_of_its_host(event) {
        return HostPause::default();
    }
    let PageEvent { outcome, ended_ms, url, .. } = event;
    let whose = if is_hosts { ChargedTo::Host } else { ChargedTo::Page };
    let health = trouble::health_after(outcome, whose, url, *ended_ms, None, config);
    let troubled = health.and_then(Health::trouble);
    let (origin, delay) = (seine_parse::url::origin(url).unwrap_or_default(), config.host_delay);
    let not_before = trouble::host_not_before(outcome, *ended_ms, delay, troubled.as_ref(), origin, config);
    HostPause { not_before, trouble: troubled }
}

/// Live and gone pages are always rechecked. A URL that failed with its host waits for the host, and one that is out of
/// scope for a new scope.
fn recheck(event: &PageEvent, record: &PageRecord, Settings { config, scope }: Settings) -> Recheck {
    let reason = event.failure().map(|failure| failure.reason);
    if reason == Some(FailureReason::OutOfScope) {
        return Recheck::Never;
    }
    // It was accepted before the scope changed.
    if record.state.is_found() && !scope.keeps(&event.url, event.kind, record.depth, config.max_depth) {
        return Recheck::Now;
    }
    let is_with_its_host = matches!(reason, Some(FailureReason::HostUnreachable | FailureReason::UnknownHost));
    if is_with_its_host && is_of_its_host(event) {
        return Recheck::WithItsHost;
    }
    Recheck::ByPolicy
}

/// The earlier record, if the event does not change what is known of the URL.
fn kept(
    event: &PageEvent,
    before: Option<&PageRecord>,
    change: Option<PageChange>,
    config: &FrontierConfig,
) -> Option<PageRecord> {
    let says_nothing = change.is_none() && event.withheld.as_ref().is_none_or(Withheld::is_passing);
    let doubt = doubt(event);
    let before = before.filter(|before| match before.state {
        PageState::Gone => true,
        // This is the first answer to a request for the URL itself.
        PageState::Alias if before.is_only_a_target() => false,
        // An alias has no page that could be gone.
        PageState::Alias => {
            doubt.is_none_or(|(doubt, _)| doubt != Doubt::Missing)
                || !before.as_before(&config.revisit, event.ended_ms).believed.takes(Doubt::Missing)
        }
        state => state.is_found(),
    })?;
    let history = before.history().filter(|_| says_nothing)?;
    let doubt = doubt.filter(|(doubt, _)| before.state != PageState::Gone || *doubt == Doubt::Cut);
    let history = doubt.map_or(history, |(doubt, seen_ms)| history.doubted(doubt, seen_ms)).rechecked();
    let event_id = event.id.clone();
    let must_refetch = before.must_refetch || keep::refuses_conditions(event);
    let wall = wall(event);
    Some(PageRecord { event_id, history: Some(history), passed_at: None, must_refetch, wall, ..before.clone() })
}

fn wall(event: &PageEvent) -> Option<Wall> {
    event.response()?.held_wall().cloned()
}

/// The new record after a final answer. A live page is removed only by a confirmed removal (404, 410, or a ban). Any
/// other answer leaves live and gone pages as they were.
fn record(fetch: Seen, settings: Settings) -> PageRecord {
    let Seen { event, derived, before, trust } = fetch;
    let config = settings.config;
    let (now, response) = (event.ended_ms, event.response());
    let there = before.filter(|before| before.state.is_found());
    let judged = there.map(|there| there.as_before(&config.revisit, now));
    let change = change(event, event.withheld.as_ref(), judged, &derived.digest);
    if let Some(kept) = kept(event, before, change, config) {
        return kept;
    }
    let tells = u32::try_from(derived.changed.len()).ok().filter(|tells| *tells > 0);
    let history = before.and_then(PageRecord::history);
    let history = match seen(response.map_or(0, Response::page_status), judged, &derived.digest) {
        None => history.filter(|_| change == Some(PageChange::Gone)),
        Some(seen) => keep::history(history, seen, (now, tells), trust),
    };
    let state = match &event.outcome {
        Outcome::Failure(failure) => change.map_or(PageState::Failed(failure.reason), PageState::from),
        Outcome::Response(_) if event.withheld.is_some() => PageState::Withheld,
        Outcome::Response(_) => change.map_or(PageState::Refused, PageState::from),
    };
    let mut record = PageRecord {
        url: event.url.clone(),
        kind: event.kind,
        event_id: event.id.clone(),
        state,
        status: response.map_or(0, |response| response.status),
        digest: before.and_then(|before| before.digest),
        etag: before.and_then(|before| before.etag.clone()),
        last_modified: before.and_then(|before| before.last_modified.clone()),
        fetched_ms: now,
        depth: event.depth,
        history,
        final_url: before.and_then(|before| before.final_url.clone()),
        must_refetch: there.is_some_and(|there| there.must_refetch),
        noindex: is_noindex(event, derived.robots.noindex, there.is_some_and(|there| there.noindex)),
        target: alias::target(event).filter(|_| state.is_found() && config.redirects == Redirects::First),
        texts: keep::texts_given(event, change, there),
        preferences: keep::preferences(event, there),
        canonical: alias::canonical(fetch, there, settings).filter(|_| state.is_found()),
        judged: before.and_then(|before| before.judged.clone()),
        likeness: event.likeness.clone().filter(|_| state.is_live()),
        wall: wall(event),
        ..PageRecord::default()
    };
    record.refused_since = match state {
        PageState::Refused | PageState::Failed(_) => before.and_then(PageRecord::no_page_since).or(Some(now)),
        _ => {
            let named = record.canonical.as_deref().filter(|_| state.is_live());
            let live = named.and(there).filter(|there| there.state.is_live());
            live.and_then(|live| canonical::named_since(named, live, &derived.digest, now))
        }
    };
    if let Some(response) = response {
        keep::keep_validators(&mut record, event, response, derived);
    }
    record
}

/// The sign of removal in an answer, and when it was seen.
fn doubt(event: &PageEvent) -> Option<(Doubt, EpochMs)> {
    if let Some(Withheld::Doubted { doubt, seen_ms }) = event.withheld {
        return Some((doubt, seen_ms));
    }
    let response = event.response()?;
    let doubt = match response.page_status() {
        404 | 410 => Doubt::Missing,
        _ if response.is_cut() => Doubt::Cut,
        _ => return None,
    };
    Some((doubt, event.ended_ms))
}

/// Whether this fetch found the page.
pub(crate) fn is_alive(event: &PageEvent, record: &PageRecord) -> bool {
    record.state.is_found() && record.history.is_some_and(|history| history.alive_ms == event.ended_ms)
}

/// Whether the last request went to the URL's own host, not to the host of a redirect.
fn is_of_its_host(event: &PageEvent) -> bool {
    seine_parse::url::origin(&event.url) == seine_parse::url::origin(&event.final_url)
}
