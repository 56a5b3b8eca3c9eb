//! What can be saved of a damaged WARC file.

use std::io::SeekFrom;

use super::{DigestVerdict, WarcReader, WarcRecord};
use crate::formats::compressed_streams::CompressedStreams;
use crate::formats::records::ReadSeek;
use crate::formats::recovery::{DamagedFile, RecoveryError, Salvage, begins_compressed};

/// Zlib's usual one.
const LEVEL: u32 = 6;

/// Records as the reader finds them behind damage, those whose block is not what its digest says left out. A record with a
/// gzip member of its own is saved as it stands.
pub(super) fn save(damaged: &DamagedFile<'_>, saving: &mut dyn Salvage) -> Result<(), RecoveryError> {
    let mut file = (damaged.open)()?;
    let mut reader = WarcReader::new((damaged.open)()?);
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
        let offset = record.location.offset;
        if let Some(why) = wrong.take() {
            saving.lose(end, offset.max(end + 1), &why);
        }
        let stands_compressed = begins_compressed(&mut *file, offset)?;
        let is_compressed = *is_compressed.get_or_insert(stands_compressed);
        let length = record.location.length.filter(|_| stands_compressed == is_compressed);
        let bytes = match length {
            Some(length) => standing(&mut *file, offset, length)?,
            None => written(&record, is_compressed),
        };
        end = offset + bytes.len() as u64;
        saving.save(&bytes, end).map_err(RecoveryError::Write)?;
    }
    let cut = reader.truncated().then(|| "it breaks off".to_owned());
    if let Some(why) = wrong.or(cut) {
        saving.lose(end, damaged.length.max(end + 1), &why);
    }
    Ok(())
}

/// A record's bytes as they are in the file.
fn standing(file: &mut dyn ReadSeek, offset: u64, length: u64) -> Result<Vec<u8>, RecoveryError> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn written(record: &WarcRecord, is_compressed: bool) -> Vec<u8> {
    let mut plain = Vec::new();
    record.write(&mut plain);
    if !is_compressed {
        return plain;
    }
    let mut member = Vec::new();
    CompressedStreams::gzip(LEVEL).write(&[&plain], &mut member);
    member
}
