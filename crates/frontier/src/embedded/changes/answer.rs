//! The change of one URL's record, and the rechecks of other URLs that follow from it.

use crate::PageRecord;
use crate::keys::UrlKey;
use seine_simulation_hooks::planted;

/// When a target loses its owner, or a content its first page, this many aliases or duplicates are rechecked at once.
/// The first of them takes over, and the others stay what they are, so rechecking all of a million would be useless.
/// Each that is no longer a duplicate causes the recheck of another.
pub(crate) const HEIRS: usize = 8;

/// The change of a URL's record.
#[derive(Clone, Copy)]
pub(crate) struct Answer<'r> {
    pub url: UrlKey,
    pub before: Option<&'r PageRecord>,
    pub record: &'r PageRecord,
}

impl Answer<'_> {
    pub(crate) fn is_new(&self) -> bool {
        self.before.is_none_or(|before| before.fetched_ms != self.record.fetched_ms)
    }
}

/// The consequences of an answer.
#[derive(Default)]
pub(crate) struct Consequences {
    /// The URL itself must be rechecked at once.
    pub is_rechecked: bool,
    /// In this order.
    pub heirs: Vec<Heirs>,
}

/// URLs that may take over what another URL had. The first [`HEIRS`] that can be rechecked are
/// rechecked at once, if they still have a record.
pub(crate) struct Heirs {
    pub urls: Vec<UrlKey>,
    /// Only those that are aliases because their page names another URL.
    pub only_by_name: bool,
}

impl Heirs {
    /// Recheck this URL.
    pub(crate) fn one(url: UrlKey) -> Heirs {
        Heirs { urls: vec![url], only_by_name: false }
    }

    /// Recheck some of these, but not `but`.
    pub(crate) fn among(mut urls: Vec<UrlKey>, but: UrlKey, only_by_name: bool) -> Heirs {
        urls.retain(|url| *url != but && !planted::is("aliases_asleep"));
        Heirs { urls, only_by_name }
    }
}
