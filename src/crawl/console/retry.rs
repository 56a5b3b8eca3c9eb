//! Queues failed URLs again, with all of their attempts.

use std::collections::BTreeMap;

use regex::bytes::Regex;
use seine_frontier::pattern;
use seine_frontier::{EmbeddedFrontier, PageRecord, PageState, Scheduler};
use seine_parse::page::{FailureReason, STATUS_CLASSES, is_temporary, status_class};
use seine_parse::walls;
use seine_system::clock::now_ms;

use super::hosts::not_a_host;
use crate::api::Refusal;
use crate::api::schema::{ReasonCount, Retry};

/// URLs queued per batch.
const BATCH: usize = 1000;

/// Tables in the summary of a crawl whose URLs may be tried again. A table may include several reasons.
const TABLES: [&str; 6] = ["truncated", "gone", "refused", "failed", "withheld", "aliases"];

/// The names that [`Retry::reasons`] may contain: all names of the summary for URLs without a
/// complete page of their own.
pub(crate) fn reasons() -> Vec<&'static str> {
    let reasons = FailureReason::ALL.iter().map(|reason| reason.name());
    reasons.chain(STATUS_CLASSES).chain([walls::OUTCOME]).chain(TABLES).collect()
}

pub(super) fn queue(frontier: &EmbeddedFrontier, retry: &Retry) -> Result<Vec<ReasonCount>, Refusal> {
    let wanted = Wanted::new(retry)?;
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    let (now, mut last) = (now_ms(), None::<String>);
    loop {
        let found = frontier.records_after(last.as_deref(), BATCH, &|record| wanted.takes(record))?;
        for record in &found {
            *counts.entry(name_of(record)).or_default() += 1;
        }
        let urls: Vec<String> = found.into_iter().map(|record| record.url).collect();
        if !retry.dry_run {
            frontier.try_again(&urls, now)?;
        }
        match urls.into_iter().next_back() {
            Some(url) => last = Some(url),
            None => break,
        }
    }
    let counts = counts.into_iter().map(|(reason, urls)| ReasonCount { reason: reason.to_owned(), urls });
    Ok(counts.collect())
}

struct Wanted<'r> {
    retry: &'r Retry,
    pattern: Option<Regex>,
}

impl Wanted<'_> {
    fn new(retry: &Retry) -> Result<Wanted<'_>, Refusal> {
        let known = reasons();
        if let Some(unknown) = retry.reasons.iter().find(|reason| !known.contains(&reason.as_str())) {
            return Err(Refusal::Bad(format!("{unknown:?} is not a reason; use one of {}", known.join(", "))));
        }
        if let Some(bad) = retry.hosts.iter().find(|host| !is_host(host)) {
            return Err(not_a_host(bad));
        }
        let compiled = retry.pattern.as_deref().map(pattern::compile).transpose();
        let pattern = compiled.map_err(|problem| Refusal::Bad(format!("the pattern: {problem}")))?;
        Ok(Wanted { retry, pattern })
    }

    fn takes(&self, record: &PageRecord) -> bool {
        let Retry { reasons, hosts, .. } = self.retry;
        let is_named = |name: &str| match name {
            "truncated" => record.is_truncated(),
            name => name == name_of(record) || name == table_of(record.state),
        };
        let is_reason = match reasons.is_empty() {
            true => has_failed(record),
            false => reasons.iter().any(|reason| is_named(reason)),
        };
        is_reason
            && (hosts.is_empty() || hosts.iter().any(|host| is_of(&record.url, host)))
            && self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(record.url.as_bytes()))
    }
}

/// Whether a retry may succeed: the server or the network failed, or the server asked us to wait.
fn has_failed(record: &PageRecord) -> bool {
    match record.state {
        PageState::Failed(_) => true,
        PageState::Refused => is_temporary(record.status) || record.wall.is_some(),
        _ => record.is_truncated(),
    }
}

/// The name in the list of attempts; empty for a complete live page.
fn name_of(record: &PageRecord) -> &'static str {
    match record.state {
        _ if record.is_truncated() => FailureReason::Cut.name(),
        PageState::Failed(reason) => reason.name(),
        PageState::Refused if record.wall.is_some() => walls::OUTCOME,
        PageState::Refused => status_class(record.status),
        state => table_of(state),
    }
}

fn table_of(state: PageState) -> &'static str {
    match state {
        PageState::Failed(_) => "failed",
        PageState::Refused => "refused",
        PageState::Gone => "gone",
        PageState::Withheld => "withheld",
        PageState::Alias => "aliases",
        PageState::New | PageState::Unchanged | PageState::Changed => "",
    }
}

/// `host`: a name without a port, or an origin.
fn is_host(text: &str) -> bool {
    match text.contains("://") {
        true => seine_parse::url::parse(text).is_some(),
        false => seine_parse::url::parse(&format!("http://{text}/")).is_some(),
    }
}

fn is_of(url: &str, host: &str) -> bool {
    let host = host.trim_end_matches('/');
    match host.contains("://") {
        true => seine_parse::url::origin(url) == Some(host),
        false => seine_parse::url::host(url).is_some_and(|name| name.eq_ignore_ascii_case(host)),
    }
}
