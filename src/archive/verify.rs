//! Checks whether an archive is intact. Reads everything, including checksums and digests.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use seine_formats::Format;

use super::inputs::{ArchiveInput, InputKind};
use super::read::{OpenError, Pages, Problem};
use crate::sinks::folder::last_bytes;

/// Most problems listed per input.
pub(crate) const MAX_PROBLEMS: usize = 10;

/// The result for one input.
#[derive(Debug, Clone)]
pub struct VerifyReport {
    pub input: Arc<str>,
    /// None for a topic, whose messages have their own formats.
    pub format: Option<Format>,
    pub pages: u64,
    /// Records that are no pages and need not be.
    pub others: u64,
    /// Stored size of the input in bytes.
    pub bytes: u64,
    /// Number of damaged records, and the first of them.
    pub damaged: u64,
    pub problems: Vec<Problem>,
    pub verdict: Integrity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// Intact from the first byte to the last.
    Whole,
    /// Intact so far; its writer has not ended it.
    Open,
    /// Ends inside a record or a stream.
    Cut,
    Damaged,
}

impl Integrity {
    pub fn name(self) -> &'static str {
        match self {
            Integrity::Whole => "whole",
            Integrity::Open => "open",
            Integrity::Cut => "cut",
            Integrity::Damaged => "damaged",
        }
    }

    /// Whether nothing is wrong.
    pub fn is_fine(self) -> bool {
        matches!(self, Integrity::Whole | Integrity::Open)
    }
}

/// Whether the input is still being written. Its name tells, except for FILES, whose open and closed files have the
/// same name. There the flush marker at the end tells, which a writer of a zlib stream leaves with every
/// acknowledgement.
fn is_being_written(input: &ArchiveInput) -> bool {
    const FLUSH: [u8; 4] = [0x00, 0x00, 0xff, 0xff];
    if Path::new(&*input.name).extension().is_some_and(|it| it == "open") {
        return true;
    }
    let InputKind::File { path, format } = &input.input else { return false };
    format.is_stream() && last_bytes(path, FLUSH.len() as u64).is_ok_and(|last| last == FLUSH)
}

/// Reads an input from beginning to end. Calls `tick` after each record with the number of pages so far.
pub fn verify(
    input: &ArchiveInput,
    counter: &Arc<AtomicU64>,
    tick: &mut dyn FnMut(u64),
) -> Result<VerifyReport, OpenError> {
    let mut pages = Pages::check(input, counter)?;
    let format = match &input.input {
        InputKind::File { format, .. } => Some(*format),
        InputKind::Topic(_) => None,
    };
    let mut report = VerifyReport {
        input: input.name.clone(),
        format,
        pages: 0,
        others: 0,
        bytes: input.bytes,
        damaged: 0,
        problems: Vec::new(),
        verdict: Integrity::Whole,
    };
    for page in &mut pages {
        match page {
            Ok(_) => report.pages += 1,
            Err(problem) => {
                report.damaged += 1;
                if report.problems.len() < MAX_PROBLEMS {
                    report.problems.push(problem);
                }
            }
        }
        tick(report.pages);
    }
    report.others = pages.others();
    report.verdict = match (report.damaged, pages.truncated()) {
        (0, false) => Integrity::Whole,
        (0, true) if is_being_written(input) => Integrity::Open,
        (0, true) => Integrity::Cut,
        _ => Integrity::Damaged,
    };
    Ok(report)
}
