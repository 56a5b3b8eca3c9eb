//! Which links are worth following: arithmetic alone. A link is ranked by the words in it and around it, its URL, the page it is on and
//! what its host has brought so far, before it is fetched; what the page turns out to be teaches the next ranks.
//!
//! * [`Lead`]: what is kept with a URL of the link that led to it, in some 40 bytes, until it is fetched.
//! * [`features`]: a lead and a URL as numbers of weights.
//! * [`Learner`]: the weights. Logistic regression, one lesson a page, a step for each weight by what it has learned already (AdaGrad:
//!   Duchi, Hazan and Singer, JMLR 2011). The same lessons in the same order make the same weights.
//! * [`link_words`](mod@link_words): the words of a page's links.

pub mod features;
mod lead;
mod learner;
mod link_words;
mod words;

pub use lead::{Lead, LinkWords, Source};
pub use learner::{Learner, Lesson, UnreadableModel};
pub use link_words::link_words;

/// Priority of what is known by no link: between what is likely and what is not.
pub const PRIORITY_NEUTRAL: u8 = 160;

/// The range of scores (logits) that priorities tell apart.
const SCORES: f32 = 6.0;

/// A score as the priority of a queue: 1 first, 255 last. 0 is left to seeds.
pub fn priority(score: f32) -> u8 {
    let part = (SCORES - score.clamp(-SCORES, SCORES)) / (2.0 * SCORES);
    1 + (part * 254.0) as u8
}

/// The rank of what has a priority, about: 1 for seeds.
pub fn rank_of(priority: u8) -> f32 {
    match priority.checked_sub(1) {
        None => 1.0,
        Some(step) => rank(SCORES - 2.0 * SCORES * f32::from(step) / 254.0),
    }
}

/// A score as the probability that the page is relevant: 0 to 1.
pub fn rank(score: f32) -> f32 {
    1.0 / (1.0 + (-score).exp())
}
