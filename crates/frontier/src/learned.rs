//! The model of links, as stored with the frontier.

use seine_parse::page::Kind;
use seine_policies::focus::Lead;

/// The part that a batch adds to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Learned {
    #[default]
    Nothing,
    /// Further lessons.
    Lessons(Vec<u8>),
    /// A complete model, which replaces the last one and all lessons since.
    Model(Vec<u8>),
}

/// The last complete model, and the lessons since, batch by batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remembered {
    pub model: Option<Vec<u8>>,
    pub lessons: Vec<Vec<u8>>,
}

/// Fetched pages, and how many of them were relevant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Harvest {
    pub judged: u64,
    pub relevant: u64,
}

impl Harvest {
    /// The harvest rate; none without pages.
    pub fn ratio(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.relevant as f64 / self.judged as f64)
    }
}

/// A position in the queues of URLs that may be fetched any time.
pub type QueuePosition = [u8; 16];

/// A URL in these queues.
#[derive(Debug, Clone, Copy)]
pub struct Ranked<'a> {
    pub url: &'a str,
    pub kind: Kind,
    pub depth: u16,
    pub lead: &'a Lead,
}
