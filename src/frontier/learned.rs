//! What was learned of links, as it is kept with the frontier.

use crate::focus::Lead;
use crate::page::Kind;

/// What a batch has to say of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Learned {
    #[default]
    Nothing,
    /// Lessons behind all that are there.
    Lessons(Vec<u8>),
    /// The whole model, in the place of the last one and all lessons since.
    Model(Vec<u8>),
}

/// What is there: the model as it was last written whole, and the lessons since, batch by batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remembered {
    pub model: Option<Vec<u8>>,
    pub lessons: Vec<Vec<u8>>,
}

/// Pages that came, and how many of them were relevant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Harvest {
    pub judged: u64,
    pub relevant: u64,
}

impl Harvest {
    /// The part that was relevant; none: no page came.
    pub fn ratio(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.relevant as f64 / self.judged as f64)
    }
}

/// A place in the queues of what may be fetched any time.
pub type QueuePlace = [u8; 16];

/// A URL in them.
#[derive(Debug, Clone, Copy)]
pub struct Ranked<'a> {
    pub url: &'a str,
    pub kind: Kind,
    pub depth: u16,
    pub lead: &'a Lead,
}
