//! Ranks links before they are fetched, by their words, the words around them, the URL, the page with the link, and the
//! relevance of the host's earlier pages. Each fetched page improves the ranking. Arithmetic only.
//!
//! * [`Lead`]: what is stored about a link with its target URL until that is fetched, in about 40 bytes.
//! * [`features`]: turns a lead and a URL into indices of weights.
//! * [`Learner`]: the weights. Logistic regression with one lesson per page; each weight has its own step size
//!   (AdaGrad: Duchi, Hazan and Singer, JMLR 2011). The same lessons in the same order give the same weights.
//! * [`link_words`](mod@link_words): the words of a page's links.

pub mod features;
mod lead;
mod learner;
mod link_words;
mod words;

pub use lead::{Lead, LinkWords, Source};
pub use learner::{Learner, Lesson, UnreadableModel};
pub use link_words::link_words;

/// Priority of a URL that no link led to: between likely and unlikely links.
pub const PRIORITY_NEUTRAL: u8 = 160;

/// Scores (logits) beyond ± this value get the same priority.
const SCORES: f32 = 6.0;

/// Turns a score into a queue priority: 1 is first, 255 last. 0 is reserved for seeds.
pub fn priority(score: f32) -> u8 {
    let part = (SCORES - score.clamp(-SCORES, SCORES)) / (2.0 * SCORES);
    1 + (part * 254.0) as u8
}

/// The approximate rank for a priority; 1 for seeds.
pub fn rank_of(priority: u8) -> f32 {
    match priority.checked_sub(1) {
        None => 1.0,
        Some(step) => rank(SCORES - 2.0 * SCORES * f32::from(step) / 254.0),
    }
}

/// Turns a score into the probability that the page is relevant, 0 to 1.
pub fn rank(score: f32) -> f32 {
    1.0 / (1.0 + (-score).exp())
}
