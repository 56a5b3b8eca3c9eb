//! Saves records of a damaged file. Uses the algorithm of the format's document and also the ordinary reader. The
//! reader accepts heads of other programs, and records with no others after them.

use std::cell::Cell;
use std::io::Read;
use std::ops::Range;
use std::rc::Rc;

use super::{ScannedRange, TianwangReader, recover};
use crate::recovery::{DamagedFile, RecoveryError, Salvage, begins_compressed};

const NO_RECORD: &str = "no complete record";

pub(super) fn save(damaged: &DamagedFile<'_>, saving: &mut dyn Salvage) -> Result<(), RecoveryError> {
    let at = Rc::new(Cell::new(0));
    let mut file = (damaged.open)()?;
    let counted = CountedReader { file: (damaged.open)()?, at: at.clone() };
    let reader = TianwangReader::of_file(counted, damaged.length)?;
    if begins_compressed(&mut *file, 0)? {
        return save_compressed(reader, &at, damaged.length, saving);
    }
    let mut union = MergedSalvage { saving, reader, next: None, end: 0, why: None };
    let mut unwritten = None;
    let found = recover(&mut *file, |piece| {
        union.take(piece).map_err(|error| {
            let kind = error.kind();
            unwritten = Some(error);
            std::io::Error::from(kind)
        })
    });
    match (found, unwritten) {
        (Ok(()), _) => union.finish(damaged.length).map_err(RecoveryError::Write),
        (Err(_), Some(error)) => Err(RecoveryError::Write(error)),
        (Err(error), None) => Err(RecoveryError::Read(error)),
    }
}

/// A file with its read position.
struct CountedReader<R> {
    file: R,
    at: Rc<Cell<u64>>,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.at.set(self.at.get() + count as u64);
        Ok(count)
    }
}

/// A record as stored in the file.
struct RawRecord {
    range: Range<u64>,
    bytes: Vec<u8>,
}

/// Merges the records from both ways, in file order.
struct MergedSalvage<'a, R> {
    saving: &'a mut dyn Salvage,
    reader: TianwangReader<R>,
    /// The reader's next record, not yet saved.
    next: Option<RawRecord>,
    /// The end of the last saved record.
    end: u64,
    /// The faults of a record after that.
    why: Option<String>,
}

impl<R: Read> MergedSalvage<'_, R> {
    fn take(&mut self, piece: ScannedRange) -> std::io::Result<()> {
        match piece {
            ScannedRange::Lost(loss) => self.why = loss.record.or(self.why.take()),
            ScannedRange::Record(found) => {
                let range = found.offset..found.offset + found.bytes.len() as u64;
                self.save_read_before(range.start)?;
                let same = self.peek().is_some_and(|read| read.range.start == range.start);
                if same {
                    self.next = None;
                }
                // A record inside a saved record is part of its content.
                if range.start >= self.end {
                    self.save(range, &found.bytes)?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self, length: u64) -> std::io::Result<()> {
        self.save_read_before(u64::MAX)?;
        let why = self.why.take();
        self.saving.lose(self.end, length, why.as_deref().unwrap_or(NO_RECORD));
        Ok(())
    }

    fn save_read_before(&mut self, place: u64) -> std::io::Result<()> {
        while self.peek().is_some_and(|read| read.range.start < place)
            && let Some(read) = self.next.take()
        {
            self.save(read.range, &read.bytes)?;
        }
        Ok(())
    }

    fn peek(&mut self) -> Option<&RawRecord> {
        while self.next.is_none() {
            if self.reader.next()?.is_ok() {
                self.next = Some(RawRecord { range: self.reader.range(), bytes: self.reader.raw() });
            }
        }
        self.next.as_ref()
    }

    fn save(&mut self, range: Range<u64>, bytes: &[u8]) -> std::io::Result<()> {
        let why = self.why.take();
        self.saving.lose(self.end, range.start, why.as_deref().unwrap_or(NO_RECORD));
        self.end = self.end.max(range.end);
        self.saving.save(bytes, range.end)
    }
}

/// Saves what is readable of a file that was compressed as a whole. Losses are accurate to the nearest piece that was
/// read.
fn save_compressed<R: Read>(
    mut reader: TianwangReader<R>,
    read_to: &Cell<u64>,
    length: u64,
    saving: &mut dyn Salvage,
) -> Result<(), RecoveryError> {
    let (mut end, mut wrong) = (0, None);
    while let Some(record) = reader.next() {
        match record {
            Err(error) => drop(wrong.get_or_insert(error.to_string())),
            Ok(_) => {
                let at = read_to.get();
                if let Some(why) = wrong.take() {
                    saving.lose(end, at.max(end + 1), &why);
                }
                end = at;
                saving.save(&reader.raw(), at).map_err(RecoveryError::Write)?;
            }
        }
    }
    let cut = reader.truncated().then(|| "it is incomplete".to_owned());
    if let Some(why) = wrong.or(cut) {
        saving.lose(end.min(length - 1), length, &why);
    }
    Ok(())
}
