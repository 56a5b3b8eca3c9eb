//! How far a page's main text has changed, for destinations that do not want every small change.
//!
//! A destination with `min_change` skips changes of fewer bits. But a page that changes a little every day must still
//! reach it. So the distance is measured from the text last given to the destination, not from the last fetch. That
//! text is kept once per threshold in use, whichever destination uses it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{PageChange, PageEvent};

/// Threshold (bits, 0 to 64) → simhash (`parse::simhash`) of the text last given for that threshold. A missing
/// threshold means that nothing is known.
pub type TextsGiven = BTreeMap<u8, u64>;

/// The change of a new or changed main text, per threshold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextChange {
    /// The texts last given, including this one where it reached the threshold.
    pub given: TextsGiven,
    /// Threshold → distance (bits, 0 to 64) from the text last given, where that is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub distances: BTreeMap<u8, u8>,
}

impl TextChange {
    /// `now` is the simhash of the text; `before` the texts last given, empty for a new page. A text with no known
    /// distance is given.
    pub fn of(now: u64, before: &TextsGiven, thresholds: &BTreeSet<u8>) -> TextChange {
        let mut change = TextChange::default();
        for &threshold in thresholds {
            let then = before.get(&threshold).copied();
            let distance = then.map(|then| (now ^ then).count_ones() as u8);
            change.distances.extend(distance.map(|distance| (threshold, distance)));
            let stays = then.filter(|_| distance < Some(threshold));
            change.given.insert(threshold, stays.unwrap_or(now));
        }
        change
    }
}

impl PageEvent {
    /// For a changed page: the distance (bits, 0 to 64) between its main text and the text last given for this
    /// `min_change`. None if unknown.
    pub fn distance(&self, min_change: u8) -> Option<u8> {
        let text = self.text.as_ref().filter(|_| self.change == Some(PageChange::Changed))?;
        text.distances.get(&min_change).copied()
    }
}
