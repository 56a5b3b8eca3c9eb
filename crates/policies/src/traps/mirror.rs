//! Mirrors: hosts with the same pages as another host.

use minicbor::{Decode, Encode};

/// A host that may be a mirror of another.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct Mirror {
    /// Origin of the other host.
    #[n(0)]
    pub(super) of: String,
    /// Number of equal paths with equal pages, and with different pages.
    #[n(1)]
    pub(super) agreed: u16,
    #[n(2)]
    pub(super) against: u16,
    #[n(3)]
    pub(super) is_believed: bool,
}

/// Decides which of two equal hosts is the mirror and is deferred. https is preferred to http, then the shorter name.
pub fn mirror_of_both<'o>(one: &'o str, other: &'o str) -> (&'o str, &'o str) {
    let order = |origin: &'o str| (!origin.starts_with("https:"), origin.len(), origin);
    if order(one) > order(other) { (one, other) } else { (other, one) }
}
