//! What sitemaps and feeds say of pages that are known already: that they have changed since they were looked at.

use std::collections::HashMap;

use super::Looks;
use crate::frontier::{Frontier, FrontierError, Hint};
use crate::page::PageEvent;
use crate::parse::{self, Derived};

/// Adds those of which the last look at the page could not know. Of a long list only what is younger than the longest interval is
/// looked up: older news every page was looked at since.
pub(super) fn add(
    frontier: &dyn Frontier,
    looks: &Looks,
    (event, derived): (&PageEvent, &Derived),
    hints: &mut Vec<Hint>,
) -> Result<(), FrontierError> {
    let now = event.ended_ms;
    let mut trusted = HashMap::new();
    for (url, changed_ms) in derived.told().filter(|(_, changed_ms)| looks.can_be_news(*changed_ms, now)) {
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
        if let Some(due) = looks.due_after_hint(&page, changed_ms, trust.as_ref(), now) {
            hints.push(Hint { url: url.to_owned(), changed_ms, due });
        }
    }
    Ok(())
}
