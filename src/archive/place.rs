//! One page in a file of many, from where it is known to be on.

use std::sync::Arc;
use std::time::Instant;

use super::readers;
use crate::formats::Format;
use crate::formats::records::ArchiveRecord;
use crate::page::EpochMs;
use crate::sinks::page_place::Pages;

/// Where its record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordPlace {
    /// The how manieth page of the file, from 1.
    pub number: u64,
    /// Where it begins: in bytes of the file or, of a stream, of what is in it.
    pub offset: Option<u64>,
}

/// The page of this URL that was fetched then, or else its last, among `pages`; none: it is not there, or was not found before
/// `until`.
///
/// # Errors
/// The file cannot be opened.
pub fn find(
    pages: &Pages,
    format: Format,
    (url, fetched): (&str, EpochMs),
    until: Instant,
) -> std::io::Result<Option<RecordPlace>> {
    let start = pages.start.unwrap_or(0);
    let mut records = readers::open_file(&pages.file, format, start, &Arc::default(), false)?;
    let mut number = if pages.start.is_some() { pages.first } else { 1 };
    let mut last = None;
    while number < pages.first + pages.count && Instant::now() < until {
        let Some(record) = records.next() else { break };
        // A record that cannot be read was one.
        let ArchiveRecord::Page(event) = record else {
            number += u64::from(matches!(record, ArchiveRecord::Problem(_)));
            continue;
        };
        if event.url == url {
            last = Some(RecordPlace { number, offset: records.offset().map(|offset| offset + start) });
            // Some formats keep seconds, and some no time.
            if event.ended_ms == 0 || event.ended_ms / 1000 == fetched / 1000 {
                break;
            }
        }
        number += 1;
    }
    Ok(last)
}
