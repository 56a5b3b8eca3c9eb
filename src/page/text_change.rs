//! How much of a page's main text has changed, for destinations that need not hear of every change.
//!
//! A destination that lets changes of fewer than so many bits go by (`min_change`) must not lose a page that changes a little
//! every day. So a distance is not that to the page as it was at the last look, but to what a destination was last given: the
//! text that last reached its threshold. That is known for each threshold there is, whoever has it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{PageChange, PageEvent};

/// Threshold (bits, 0 to 64) → simhash (`parse::simhash`) of the main text that last reached it. Of a threshold that is not
/// in it nothing is known.
pub type TextsGiven = BTreeMap<u8, u64>;

/// A new or changed main text, as it is for each threshold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextChange {
    /// With this one, where it reached the threshold.
    pub given: TextsGiven,
    /// Threshold → bits (0 to 64) to the text that was given before, where that is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub distances: BTreeMap<u8, u8>,
}

impl TextChange {
    /// `now`: the text's simhash; `before`: what was given, empty for a new page. What is at no known distance is given.
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
    /// Of a page that has changed: how far its main text is from the one that was last given to destinations with this threshold
    /// (`min_change`), in bits of a simhash: 0 to 64. None where that is not known.
    pub fn distance(&self, min_change: u8) -> Option<u8> {
        let text = self.text.as_ref().filter(|_| self.change == Some(PageChange::Changed))?;
        text.distances.get(&min_change).copied()
    }
}
