//! Writing, whatever the format: entries as records.

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

/// A function is an encoder that has nothing to begin a file with.
impl<F: FnMut(&Entry, &mut Vec<u8>) -> bool + Send> Encoder for F {
    fn encode(&mut self, entry: &Entry, out: &mut Vec<u8>) -> bool {
        self(entry, out)
    }
}
