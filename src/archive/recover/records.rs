//! Saving the records of formats whose codecs find them in damaged files themselves.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::output::Output;
use super::{Problem, Recovery};
use crate::formats::inflate;
use crate::formats::tianwang::{self, Piece};
use crate::formats::warc::{DigestVerdict, WarcReader, WarcRecord};

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

/// Records as the reader finds them behind damage, those whose block is not what its digest says left out. A record with a
/// gzip member of its own is saved as it stands.
pub(super) fn save_warc(
    file: &mut File,
    output: &mut Output,
    recovery: &mut Recovery,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<(), Problem> {
    let mut start = [0; 2];
    let count = file.read_at(&mut start, 0).map_err(Problem::Read)?;
    let is_compressed = inflate::is_compressed(&start[..count]);
    let bytes_of = file.try_clone().map_err(Problem::Read)?;
    file.seek(SeekFrom::Start(0)).map_err(Problem::Read)?;
    let mut reader = WarcReader::new(file);
    // Behind the last record that was saved, and what was wrong since.
    let (mut end, mut wrong) = (0, None);
    for record in &mut reader {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                wrong.get_or_insert(error.to_string());
                continue;
            }
        };
        if matches!(record.check_digests().block, DigestVerdict::Wrong { .. }) {
            wrong.get_or_insert("the block is not what its digest says".into());
            continue;
        }
        if let Some(why) = wrong.take() {
            recovery.lose(end, record.place.offset.max(end + 1), &why);
        }
        let bytes = bytes(&record, &bytes_of, is_compressed)?;
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

fn bytes(record: &WarcRecord, file: &File, is_compressed: bool) -> Result<Vec<u8>, Problem> {
    if let Some(length) = record.place.length {
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
