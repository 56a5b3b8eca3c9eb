//! Finds one page in a file, given its approximate location.

use std::sync::Arc;
use std::time::Instant;

use seine_formats::Format;
use seine_formats::records::ArchiveRecord;
use seine_parse::page::EpochMs;

use super::readers;
use crate::sinks::page_location::Pages;

/// Where a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordPosition {
    /// Number of the page in the file, from 1.
    pub number: u64,
    /// Its start in bytes: in the file, or in the uncompressed content of a stream.
    pub offset: Option<u64>,
}

/// Finds the page with this URL and fetch time among `pages`; otherwise the last page with this URL. None if it is not
/// there or was not found before `until`.
///
/// # Errors
/// The file cannot be opened.
pub(crate) fn find(
    pages: &Pages,
    format: Format,
    (url, fetched): (&str, EpochMs),
    until: Instant,
) -> std::io::Result<Option<RecordPosition>> {
    let start = pages.start.unwrap_or(0);
    let mut records = readers::open_file(&pages.file, format, start, &Arc::default(), false)?;
    let mut number = if pages.start.is_some() { pages.first } else { 1 };
    let mut last = None;
    while number < pages.first + pages.count && Instant::now() < until {
        let Some(record) = records.next() else { break };
        // An unreadable record counts as a record.
        let ArchiveRecord::Page(event) = record else {
            number += u64::from(matches!(record, ArchiveRecord::Problem(_)));
            continue;
        };
        if event.url == url {
            last = Some(RecordPosition { number, offset: records.offset().map(|offset| offset + start) });
            // Some formats store only seconds, and some no time.
            if event.ended_ms == 0 || event.ended_ms / 1000 == fetched / 1000 {
                break;
            }
        }
        number += 1;
    }
    Ok(last)
}
