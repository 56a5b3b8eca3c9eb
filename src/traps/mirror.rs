//! Hosts that say what another one says.

use minicbor::{Decode, Encode};

/// A host whose pages are those of another.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct Mirror {
    /// The other's origin.
    #[n(0)]
    pub(super) of: String,
    /// Equal paths with equal pages, and with others.
    #[n(1)]
    pub(super) agreed: u16,
    #[n(2)]
    pub(super) against: u16,
    #[n(3)]
    pub(super) is_believed: bool,
}

/// Which of two hosts that say the same cools down: https is kept before http, then the shorter name.
pub fn mirror_of_both<'o>(one: &'o str, other: &'o str) -> (&'o str, &'o str) {
    let order = |origin: &'o str| (!origin.starts_with("https:"), origin.len(), origin);
    if order(one) > order(other) { (one, other) } else { (other, one) }
}
