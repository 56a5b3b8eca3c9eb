//! Canonical slots: pages that name another URL as canonical (`canonical: obey`). The page of the canonical URL itself
//! has the slot. While there is none, the first page that names the URL has it, and the others are aliases of it, like
//! URLs that redirect there.

use crate::{PageRecord, PageState};

/// Maximum number of steps from a canonical URL to its page, because an alias may name or redirect to another.
pub(crate) const CHAIN: usize = 5;

/// Whether it has a page under its own URL, delivered unless it is noindex.
pub(crate) fn is_page(record: &PageRecord) -> bool {
    record.state.is_found() && record.kind.is_delivered()
}

/// Whether it has a page under its own URL that destinations get. A canonical URL that asks not to be indexed has none:
/// the pages that name it do not ask so.
pub(crate) fn is_delivered(record: &PageRecord) -> bool {
    is_page(record) && record.state.is_live()
}

/// Whether it is an alias, and so leads to another URL.
pub(crate) fn leads_on(record: &PageRecord) -> bool {
    named_by_alias(record).is_some()
}

/// The URL that an alias names or redirects to. Its page may be further on, behind other aliases.
pub(crate) fn named_by_alias(record: &PageRecord) -> Option<&str> {
    record.canonical.as_deref().or(record.target.as_deref()).filter(|_| record.state == PageState::Alias)
}

/// The canonical URL of an alias by name.
pub(crate) fn canonical_of_alias(record: &PageRecord) -> Option<&str> {
    record.canonical.as_deref().filter(|_| record.state == PageState::Alias)
}

/// The state of a canonical URL, for a page that names it.
#[derive(PartialEq)]
pub(crate) enum SlotOwner<'r> {
    None,
    Page,
    /// It names another URL, or redirects there.
    LeadsTo(&'r str),
}

impl SlotOwner<'_> {
    pub(crate) fn of(record: Option<&PageRecord>) -> SlotOwner<'_> {
        match record {
            Some(record) if is_delivered(record) => SlotOwner::Page,
            Some(record) => named_by_alias(record).map_or(SlotOwner::None, SlotOwner::LeadsTo),
            None => SlotOwner::None,
        }
    }
}
