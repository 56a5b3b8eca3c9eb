//! The part of an answer that the record keeps: validators and facts for the next comparison, and the history of its
//! changes.

use std::time::{SystemTime, UNIX_EPOCH};

use seine_frontier::{JudgedBy, PageRecord};
use seine_parse::Derived;
use seine_parse::page::preferences::{Source, Statement, of_the_page};
use seine_parse::page::{Doubt, EpochMs, PageChange, PageEvent, Response, TextsGiven, Withheld};
use seine_policies::revisit::{History, Trust};
use seine_simulation_hooks::planted;

/// Stores the validators for the next conditional request.
pub(super) fn keep_validators(record: &mut PageRecord, event: &PageEvent, response: &Response, derived: &Derived) {
    if response.is_success() {
        // The validators of a truncated page must not confirm later that the page is unchanged.
        let whole = || !response.is_cut() || planted::is("half_page_final");
        if !whole() {
            record.history = record.history.map(|history| history.doubted(Doubt::Cut, event.ended_ms));
        }
        record.digest = Some(derived.digest).filter(|_| whole());
        record.etag = response.headers.get("etag").filter(|_| whole()).map(str::to_owned);
        record.last_modified = last_modified(event, response).filter(|_| whole()).map(str::to_owned);
        record.must_refetch = false;
        record.judged = JudgedBy::of(event);
        record.final_url = Some(event.final_url.clone()).filter(|_| !event.hops.is_empty());
    }
    // A 304 need not repeat headers, even if they have changed.
    let is_unlisted = record.noindex && response.headers.get("x-robots-tag").is_some();
    let is_opted_out = matches!(&event.withheld, Some(Withheld::OptedOut(it)) if it.by.source == Source::Header);
    if is_unlisted || is_opted_out {
        (record.etag, record.last_modified) = (None, None);
    }
}

/// `Last-Modified`, if no later version can have the same one. It counts whole seconds, so a page may change again in the
/// second of its answer (RFC 9110 §8.8.2.2).
fn last_modified<'r>(event: &PageEvent, response: &'r Response) -> Option<&'r str> {
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let parsed = |text: &str| httpdate::parse_http_date(text).ok().map(seconds);
    let answered = response.headers.get("date").and_then(parsed).unwrap_or(event.ended_ms / 1000);
    let is_over = |text: &&str| parsed(text).is_none_or(|modified| modified < answered);
    response.headers.get("last-modified").filter(is_over)
}

/// The page's changes so far, including this response. `tells`: number of other pages for which it gives dates.
pub(super) fn history(
    before: Option<History>,
    seen: PageChange,
    (now, tells): (EpochMs, Option<u32>),
    trust: Option<&Trust>,
) -> Option<History> {
    match seen {
        PageChange::New => Some(History { tells, ..History::new(now) }),
        PageChange::Gone => before,
        PageChange::Changed => before.map(|before| History { tells, ..before.seen(now, seen, trust) }),
        PageChange::Unchanged => before.map(|before| before.seen(now, seen, trust)),
    }
}

/// Statements in headers and markup about its use.
pub(super) fn preferences(event: &PageEvent, there: Option<&PageRecord>) -> Option<Vec<Statement>> {
    let said = event.preferences.as_deref().map(of_the_page);
    said.or_else(|| there.and_then(|there| there.preferences.clone()))
}

/// The distances last delivered. An unchanged page keeps the earlier value. A page that changed by an unknown distance
/// has none.
pub(super) fn texts_given(event: &PageEvent, change: Option<PageChange>, there: Option<&PageRecord>) -> TextsGiven {
    match &event.text {
        Some(text) => text.given.clone(),
        None => there.filter(|_| change == Some(PageChange::Unchanged)).map(|it| it.texts.clone()).unwrap_or_default(),
    }
}
