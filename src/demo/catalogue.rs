//! What a crawl of the demo site must find: an oracle for tests.

use std::collections::BTreeMap;

use super::entry::{Entry, Expected, MAX_DEPTH, Town};
use super::{harbour, library, lighthouse, market, museum, radio, tides, weather};

/// One URL of the demo site, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// `library.localhost`
    pub host: String,
    /// Path and query.
    pub path: String,
    /// What the server answers in the end: [`Expected::Fetched`] pages that are busy at first count as 200.
    pub status: u16,
    /// The `Content-Type` header; empty when there is none.
    pub content_type: String,
    pub expected: Expected,
}

impl Known {
    /// The whole URL, on a site that has this port.
    pub fn url(&self, port: u16) -> String {
        format!("http://{}:{port}{}", self.host, self.path)
    }
}

/// Every URL that the site's pages and sitemaps name on its own hosts, by host and path. Not in it: robots.txt, sitemaps,
/// and the calendar beyond the first month past the limit.
pub fn catalogue() -> Vec<Known> {
    let entries = entries(&Town { port: 0 });
    let sorted: BTreeMap<_, _> = entries.into_iter().map(|entry| ((entry.host, entry.path.clone()), entry)).collect();
    sorted.into_values().filter_map(known).collect()
}

fn known(entry: Entry) -> Option<Known> {
    let content_type = entry.headers.into_iter().find(|(name, _)| *name == "content-type");
    Some(Known {
        host: format!("{}.localhost", entry.host),
        path: entry.path,
        status: entry.status,
        content_type: content_type.map(|(_, value)| value).unwrap_or_default(),
        expected: entry.expected?,
    })
}

/// All there is, but for the months of the calendar beyond the crawl's limit: [`tides::month`] makes those on request.
pub(super) fn entries(town: &Town) -> Vec<Entry> {
    let months = (1..=MAX_DEPTH + 1).map(|depth| tides::month_at_depth(town, depth));
    let parts = [harbour::entries, library::entries, market::entries, weather::entries];
    let more = [museum::entries, radio::entries, tides::entries, lighthouse::entries];
    parts.into_iter().chain(more).flat_map(|part| part(town)).chain(months).collect()
}
