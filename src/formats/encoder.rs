//! Writing, whatever the format: entries as records, and what is asked of it.

use super::{warc, web_index};
use crate::delivery::Entry;

/// Writes the records of one sink.
pub trait Encoder: Send {
    /// Appends the entry as one record. False, and nothing appended, for what the format does not hold.
    fn encode(&mut self, entry: &Entry, out: &mut Vec<u8>) -> bool;

    /// What a new file begins with.
    fn begin(&mut self, _file: &NewFile<'_>) -> Vec<u8> {
        Vec::new()
    }
}

/// A file about to be written.
#[derive(Debug, Clone, Copy)]
pub struct NewFile<'a> {
    /// Without its folder.
    pub name: &'a str,
    pub crawler_id: &'a str,
    /// Of this machine.
    pub hostname: Option<&'a str>,
}

/// What is asked of encoders; each looks at what is its own. The keys `target_storage.data_format.*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// CDR31's `team`.
    pub team: Option<String>,
    pub web_index: web_index::Limits,
    /// TIANWANG: each page is one zlib stream.
    pub tianwang_compress: bool,
    pub warc: warc::Options,
}

/// An encoder that remembers nothing from one entry to the next.
pub(super) struct Each<F>(pub F);

impl<F: FnMut(&Entry, &mut Vec<u8>) -> bool + Send> Encoder for Each<F> {
    fn encode(&mut self, entry: &Entry, out: &mut Vec<u8>) -> bool {
        (self.0)(entry, out)
    }
}

/// The body alone, of every page that FILES holds.
pub(super) fn body_alone(entry: &Entry, out: &mut Vec<u8>) -> bool {
    let is_held = super::files::is_held(&entry.event);
    if is_held {
        out.extend_from_slice(&entry.body());
    }
    is_held
}
