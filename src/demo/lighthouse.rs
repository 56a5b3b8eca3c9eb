//! `lighthouse.localhost`: where things go wrong: pages that are slow, busy, broken, missing and gone.

use super::entry::{Entry, House};
use super::written;

pub(super) fn entries(house: &House) -> Vec<Entry> {
    written::pages(house, include_str!("assets/lighthouse/pages.txt"), &[])
}
