//! Encoders: write entries as records.

use seine_delivery::Entry;

/// Writes the records of one sink.
pub trait Encoder: Send {
    /// Appends the entry as one record. Returns false and appends nothing for entries that the format does not store.
    fn encode(&mut self, entry: &Entry, out: &mut Vec<u8>) -> bool;

    /// The beginning of a new file.
    fn begin(&mut self, _file: &NewFile<'_>) -> Vec<u8> {
        Vec::new()
    }
}

/// A new file.
#[derive(Debug, Clone, Copy)]
pub struct NewFile<'a> {
    /// File name without its folder.
    pub name: &'a str,
    pub crawler_id: &'a str,
    /// Name of this machine.
    pub hostname: Option<&'a str>,
}

/// A function can be an encoder for files without a special beginning.
impl<F: FnMut(&Entry, &mut Vec<u8>) -> bool + Send> Encoder for F {
    fn encode(&mut self, entry: &Entry, out: &mut Vec<u8>) -> bool {
        self(entry, out)
    }
}
