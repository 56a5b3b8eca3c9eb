//! The part of an answer that the record keeps: validators and facts for the next comparison, and the history of its
//! changes.

use seine_frontier::{JudgedBy, PageRecord};
use seine_parse::Derived;
use seine_parse::page::preferences::{Source, Statement, of_the_page};
use seine_parse::page::{Doubt, EpochMs, PageChange, PageEvent, Response, TextsGiven, Withheld};
use seine_policies::revisit::{History, Trust};
use seine_simulation_hooks::planted;

use super::dates::date_of;

const CONDITIONS: [&str; 2] = ["if-none-match", "if-modified-since"];

/// Stores the validators for the next conditional request.
pub(super) fn keep_validators(record: &mut PageRecord, event: &PageEvent, response: &Response, derived: &Derived) {
    if response.is_success() {
        // The validators of a truncated page must not confirm later that the page is unchanged.
        let whole = || !response.is_cut() || planted::is("half_page_final");
        if !whole() {
            record.history = record.history.map(|history| history.doubted(Doubt::Cut, event.ended_ms));
        }
        record.digest = Some(derived.digest).filter(|_| whole());
        // Nor must those of an empty body (204, say): if it is a mishap that has the page's ETag, a 304 would confirm it.
        let confirms = whole() && !response.body.is_empty();
        let modified = date_of(response, "last-modified").map(|modified| modified / 1000);
        let (first, last) = answered_between(event, response);
        let validator = |name, may_be_of_a_later_version: bool| {
            response.headers.get(name).filter(|_| confirms && !may_be_of_a_later_version).map(str::to_owned)
        };
        // A page may change again in the second of its answer. A later version then has the same `Last-Modified` (RFC 9110
        // §8.8.2.2), and the same tag where servers such as nginx make it of this time and the size.
        record.etag = validator("etag", modified.is_some_and(|modified| (first..=last + 1).contains(&modified)));
        record.last_modified = validator("last-modified", modified.is_some_and(|modified| modified >= first));
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

/// Whether the server may have refused the conditions of the request, not the URL.
pub(super) fn refuses_conditions(event: &PageEvent) -> bool {
    let has_condition = || CONDITIONS.iter().any(|name| event.request_headers.get(name).is_some());
    event.response().is_some_and(|response| matches!(response.status, 400 | 412)) && has_condition()
}

/// The first and the last second in which the server may have made its answer: the time of `Date`, if the answer has it.
/// Otherwise from the request to the end of the answer.
fn answered_between(event: &PageEvent, response: &Response) -> (EpochMs, EpochMs) {
    let (first, last) = date_of(response, "date").map_or((event.started_ms, event.ended_ms), |date| (date, date));
    (first / 1000, last / 1000)
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
