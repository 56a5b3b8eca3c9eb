//! The harvest rate.

use std::collections::VecDeque;

use parking_lot::Mutex;
use seine_frontier::Harvest;

/// Number of pages that count as the latest.
pub(crate) const LAST: usize = 1000;

/// Pages of this process, and how many were relevant.
#[derive(Debug, Default)]
pub struct Harvested(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    all: Harvest,
    last: VecDeque<bool>,
}

impl Harvested {
    /// Counts a page.
    pub fn add(&self, is_relevant: bool) {
        let mut state = self.0.lock();
        state.all.judged += 1;
        state.all.relevant += u64::from(is_relevant);
        if state.last.len() == LAST {
            state.last.pop_front();
        }
        state.last.push_back(is_relevant);
    }

    /// Since the start.
    pub fn all(&self) -> Harvest {
        self.0.lock().all
    }

    /// Of the latest pages.
    pub fn last(&self) -> Harvest {
        let state = self.0.lock();
        let relevant = state.last.iter().filter(|is_relevant| **is_relevant).count() as u64;
        Harvest { judged: state.last.len() as u64, relevant }
    }
}
