//! Reads CSV files (RFC 4180) with one column cell by cell. The input may be gzip or zlib, cut or damaged.

use std::io::Read;

use csv_core::ReadFieldResult;

use super::inflate::{Inflating, StreamError};

/// Longest cell that is read, in bytes.
pub const MAX_CELL: usize = 16 << 20;

/// Why a cell could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// Reading continues with the next row.
    #[error("row {row} is longer than {MAX_CELL} bytes and was skipped; is a quote missing?")]
    TooLong { row: u64 },
    /// Nothing after it can be read.
    #[error("after {rows} rows: {source}")]
    Stream { rows: u64, source: StreamError },
}

/// Reads the first cell of each row that is not empty.
pub struct Cells<R> {
    stream: Inflating<R>,
    csv: csv_core::Reader,
    rows: u64,
    ended: bool,
    unfinished: bool,
}

impl<R: Read> Cells<R> {
    pub fn new(input: R) -> Cells<R> {
        Cells {
            stream: Inflating::of_text(input),
            csv: csv_core::Reader::new(),
            rows: 0,
            ended: false,
            unfinished: false,
        }
    }

    /// Whether the file ends inside a compressed stream or a row. Known after the iterator has ended.
    pub fn truncated(&self) -> bool {
        self.stream.truncated() || self.unfinished
    }

    /// Whether the last row had no end, because the input ended first.
    pub fn unfinished(&self) -> bool {
        self.unfinished
    }

    /// Where the compressed stream begins that was read last; none in what is not compressed.
    pub fn stream(&self) -> Option<u64> {
        self.stream.stream()
    }

    /// Number of the last row, from 1.
    pub fn row(&self) -> u64 {
        self.rows
    }

    /// The first cell of the next row. None at the end.
    fn cell(&mut self) -> Result<Option<Vec<u8>>, CellError> {
        let mut cell = Vec::new();
        let mut is_first = true;
        let mut is_too_long = false;
        let mut room = [0; 8 << 10];
        let rows = self.rows;
        let failed = |source| CellError::Stream { rows, source };
        self.stream.skip_line_ends().map_err(failed)?;
        loop {
            let chunk = self.stream.chunk().map_err(failed)?;
            let at_end = chunk.is_empty();
            let (result, taken, filled) = self.csv.read_field(chunk, &mut room);
            self.stream.consume(taken);
            if is_first && !is_too_long && cell.len() + filled <= MAX_CELL {
                cell.extend_from_slice(&room[..filled]);
            } else if is_first && filled > 0 {
                (cell, is_too_long) = (Vec::new(), true);
            }
            match result {
                ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => {}
                ReadFieldResult::Field { record_end: false } => is_first = false,
                // The end of the input also closes an open quote.
                ReadFieldResult::Field { record_end: true } => {
                    self.unfinished = at_end;
                    self.rows += 1;
                    return if is_too_long { Err(CellError::TooLong { row: self.rows }) } else { Ok(Some(cell)) };
                }
                ReadFieldResult::End => return Ok(None),
            }
        }
    }
}

impl<R: Read> Iterator for Cells<R> {
    type Item = Result<Vec<u8>, CellError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let cell = self.cell();
        self.ended = matches!(cell, Ok(None) | Err(CellError::Stream { .. }));
        cell.transpose()
    }
}
