//! Saving the records of formats whose codecs find them in damaged files themselves.

use std::fs::File;

use super::output::Output;
use super::{Problem, Recovery};
use crate::formats::tianwang::{self, Piece};

/// By the algorithm of the format's own description.
pub(super) fn save_tianwang(
    file: &mut File,
    output: &mut Output,
    recovery: &mut Recovery,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<(), Problem> {
    let mut unwritten = None;
    let found = tianwang::recover(file, |piece| {
        match piece {
            Piece::Record(found) => {
                output.write(&found.bytes).map_err(|error| {
                    let kind = error.kind();
                    unwritten = Some(error);
                    std::io::Error::from(kind)
                })?;
                recovery.records += 1;
                tick(recovery.records, found.offset);
            }
            Piece::Lost(loss) => {
                let why = loss.record.as_deref().unwrap_or("no whole record");
                recovery.lose(loss.range.start, loss.range.end, why);
            }
        }
        Ok(())
    });
    match (found, unwritten) {
        (Ok(_), _) => Ok(()),
        (Err(_), Some(error)) => Err(Problem::Write(error)),
        (Err(error), None) => Err(Problem::Read(error)),
    }
}
