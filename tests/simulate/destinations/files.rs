//! Reads the files of the FILES sink.

use std::collections::BTreeMap;
use std::path::Path;

use seine_formats::Format;
use seine_formats::records::{ArchiveRecord, ReaderInput};
use seine_parse::page::PageEvent;
use sha2::{Digest, Sha256};

use crate::world::Held;

/// The last record of each URL, in all files of a folder.
pub fn contents(folder: &Path) -> BTreeMap<String, Held> {
    let mut all: BTreeMap<String, Held> = BTreeMap::new();
    let Ok(format) = Format::parse("FILES") else { return all };
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in listed.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains(".deflate")) {
        let Ok(bytes) = std::fs::read(path) else { continue };
        let mut reader = (format.reader)(ReaderInput::alone(bytes)).expect("a reader of bytes in memory");
        while let Some(record) = reader.next() {
            if let ArchiveRecord::Page(event) = record {
                let held = held(&event);
                if all.get(&event.url).is_none_or(|known| known.fetched_ms <= held.fetched_ms) {
                    all.insert(event.url.clone(), held);
                }
            }
        }
    }
    all
}

pub fn held(event: &PageEvent) -> Held {
    let body = event.response().map(|response| response.body.clone()).unwrap_or_default();
    Held { body_digest: digest(&body), fetched_ms: event.ended_ms }
}

pub fn digest(body: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(body))
}
