//! Saving the records of formats whose codecs find them in damaged files themselves.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::output::Output;
use super::{Problem, Recovery};
use crate::archive::readers;
use crate::formats::inflate;
use crate::formats::tianwang::{self, Piece, TianwangReader};
use crate::formats::warc::{DigestVerdict, WarcReader, WarcRecord};

/// By the algorithm of the format's own description, and besides what `seine cat` reads: that takes heads as others write
/// them, and records behind which no others stand.
pub(super) fn save_tianwang(
    damaged: &Path,
    file: &mut File,
    output: &mut Output,
    recovery: &mut Recovery,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<(), Problem> {
    let counter: Arc<AtomicU64> = Arc::default();
    let reader = readers::tianwang(damaged, &counter).map_err(Problem::Read)?;
    if begins_compressed(file, 0)? {
        return save_compressed_tianwang(reader, &counter, output, recovery, tick);
    }
    let mut saving = Union { output, recovery, tick, reader, next: None, end: 0, why: None };
    let mut unwritten = None;
    let found = tianwang::recover(file, |piece| {
        saving.take(piece).map_err(|error| {
            let kind = error.kind();
            unwritten = Some(error);
            std::io::Error::from(kind)
        })
    });
    match (found, unwritten) {
        (Ok(_), _) => saving.finish().map_err(Problem::Write),
        (Err(_), Some(error)) => Err(Problem::Write(error)),
        (Err(error), None) => Err(Problem::Read(error)),
    }
}

/// A record as it stands in the file.
struct Standing {
    range: Range<u64>,
    bytes: Vec<u8>,
}

/// Records of both ways to find them, in the file's order.
struct Union<'a, R> {
    output: &'a mut Output,
    recovery: &'a mut Recovery,
    tick: &'a mut dyn FnMut(u64, u64),
    reader: TianwangReader<R>,
    /// Of the reader's, not saved yet.
    next: Option<Standing>,
    /// Behind the last record that was saved.
    end: u64,
    /// What is wrong with a record since.
    why: Option<String>,
}

impl<R: Read> Union<'_, R> {
    fn take(&mut self, piece: Piece) -> std::io::Result<()> {
        match piece {
            Piece::Lost(loss) => self.why = loss.record.or(self.why.take()),
            Piece::Record(found) => {
                let range = found.offset..found.offset + found.bytes.len() as u64;
                self.save_read_before(range.start)?;
                let same = self.peek().is_some_and(|read| read.range.start == range.start);
                if same {
                    self.next = None;
                }
                // What stands inside a record that was read is its content.
                if range.start >= self.end {
                    self.save(range, &found.bytes)?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> std::io::Result<()> {
        self.save_read_before(u64::MAX)?;
        let why = self.why.take();
        self.recovery.lose(self.end, self.recovery.length, why.as_deref().unwrap_or("no whole record"));
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

    fn peek(&mut self) -> Option<&Standing> {
        while self.next.is_none() {
            if self.reader.next()?.is_ok() {
                self.next = Some(Standing { range: self.reader.range(), bytes: self.reader.raw() });
            }
        }
        self.next.as_ref()
    }

    fn save(&mut self, range: Range<u64>, bytes: &[u8]) -> std::io::Result<()> {
        let why = self.why.take();
        self.recovery.lose(self.end, range.start, why.as_deref().unwrap_or("no whole record"));
        self.end = self.end.max(range.end);
        self.output.write(bytes)?;
        self.recovery.records += 1;
        (self.tick)(self.recovery.records, range.end);
        Ok(())
    }
}

/// A file that was compressed as a whole: what can be read of it. Losses are those of the nearest piece that was read.
fn save_compressed_tianwang<R: Read>(
    mut reader: TianwangReader<R>,
    counter: &AtomicU64,
    output: &mut Output,
    recovery: &mut Recovery,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<(), Problem> {
    let (mut end, mut wrong) = (0, None);
    while let Some(record) = reader.next() {
        match record {
            Err(error) => drop(wrong.get_or_insert(error.to_string())),
            Ok(_) => {
                let at = counter.load(Ordering::Relaxed);
                if let Some(why) = wrong.take() {
                    recovery.lose(end, at.max(end + 1), &why);
                }
                end = at;
                output.write(&reader.raw()).map_err(Problem::Write)?;
                recovery.records += 1;
                tick(recovery.records, at);
            }
        }
    }
    let cut = reader.truncated().then(|| "it breaks off".to_owned());
    if let Some(why) = wrong.or(cut) {
        recovery.lose(end.min(recovery.length - 1), recovery.length, &why);
    }
    Ok(())
}

/// Records as the reader finds them behind damage, those whose block is not what its digest says left out. A record with a
/// gzip member of its own is saved as it stands.
pub(super) fn save_warc(
    file: &mut File,
    output: &mut Output,
    recovery: &mut Recovery,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<(), Problem> {
    let bytes_of = file.try_clone().map_err(Problem::Read)?;
    file.seek(SeekFrom::Start(0)).map_err(Problem::Read)?;
    let mut reader = WarcReader::new(file);
    // Behind the last record that was saved, and what was wrong since.
    let (mut end, mut wrong) = (0, None);
    // As the first record is: a file is all plain or all in gzip members.
    let mut is_compressed = None;
    for record in &mut reader {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                wrong.get_or_insert(error.to_string());
                continue;
            }
        };
        if matches!(record.check_block(), DigestVerdict::Wrong { .. }) {
            wrong.get_or_insert("the block is not what its digest says".into());
            continue;
        }
        if let Some(why) = wrong.take() {
            recovery.lose(end, record.place.offset.max(end + 1), &why);
        }
        let stands_compressed = begins_compressed(&bytes_of, record.place.offset)?;
        let is_compressed = *is_compressed.get_or_insert(stands_compressed);
        let length = record.place.length.filter(|_| stands_compressed == is_compressed);
        let bytes = bytes(&record, length, &bytes_of, is_compressed)?;
        output.write(&bytes).map_err(Problem::Write)?;
        end = record.place.offset + bytes.len() as u64;
        recovery.records += 1;
        tick(recovery.records, end);
    }
    let cut = reader.truncated().then(|| "it breaks off".to_owned());
    if let Some(why) = wrong.or(cut) {
        recovery.lose(end, recovery.length.max(end + 1), &why);
    }
    Ok(())
}

fn begins_compressed(file: &File, at: u64) -> Result<bool, Problem> {
    let mut start = [0; 2];
    let count = file.read_at(&mut start, at).map_err(Problem::Read)?;
    Ok(inflate::is_compressed(&start[..count]))
}

/// `length`: of the record in the file, when it can be saved as it stands there.
fn bytes(record: &WarcRecord, length: Option<u64>, file: &File, is_compressed: bool) -> Result<Vec<u8>, Problem> {
    if let Some(length) = length {
        let mut member = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut member, record.place.offset).map_err(Problem::Read)?;
        return Ok(member);
    }
    let mut plain = Vec::new();
    record.write(&mut plain);
    if !is_compressed {
        return Ok(plain);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&plain).and_then(|()| encoder.finish()).map_err(Problem::Write)
}
