//! One page in a file of many, from where it is known to be on.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::readers;
use crate::formats::Format;
use crate::formats::records::ArchiveRecord;
use crate::page::EpochMs;

/// Where its record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordPlace {
    /// The how manieth record, from 1, where the file was read from its beginning.
    pub number: Option<u64>,
    /// Where it begins: in bytes of the file or, of a stream, of what is in it.
    pub offset: Option<u64>,
}

/// The page of this URL, fetched then, or else its last, among the first `pages` from byte `start` on; none: it is not there,
/// or was not found before `until`.
///
/// # Errors
/// The file cannot be opened.
pub fn find(
    (path, format): (&Path, Format),
    (start, pages): (u64, Option<u64>),
    (url, fetched): (&str, EpochMs),
    until: Instant,
) -> std::io::Result<Option<RecordPlace>> {
    let mut records = readers::open_file_at(path, format, start, &Arc::default())?;
    let (mut number, mut seen, mut last) = (0, 0, None);
    while pages.is_none_or(|pages| seen < pages) && Instant::now() < until {
        let Some(record) = records.next() else { break };
        number += 1;
        let ArchiveRecord::Page(event) = record else { continue };
        seen += 1;
        if event.url == url {
            let offset = records.offset().map(|offset| offset + start);
            last = Some(RecordPlace { number: (start == 0).then_some(number), offset });
            // Some formats keep seconds, and some no time.
            if event.ended_ms == 0 || event.ended_ms / 1000 == fetched / 1000 {
                break;
            }
        }
    }
    Ok(last)
}
