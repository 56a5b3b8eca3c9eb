//! What can be saved of a damaged WARC file.

use std::io::SeekFrom;

use super::{DigestVerdict, WarcReader, WarcRecord};
use crate::compressed_streams::CompressedStreams;
use crate::records::ReadSeek;
use crate::recovery::{DamagedFile, RecoveryError, Salvage, begins_compressed};

/// zlib's default level.
const LEVEL: u32 = 6;

/// Saves the records that the reader finds, except those whose block does not match its digest. A record with its own
/// gzip member is copied unchanged.
pub(super) fn save(damaged: &DamagedFile<'_>, saving: &mut dyn Salvage) -> Result<(), RecoveryError> {
    let mut file = (damaged.open)()?;
    let mut reader = WarcReader::new((damaged.open)()?);
    // End of the last saved record, and the problem found since.
    let (mut end, mut wrong) = (0, None);
    // Set by the first record: a file is either all plain or all in gzip members.
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
            wrong.get_or_insert("the block does not match its digest".into());
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
    let cut = reader.truncated().then(|| "it is incomplete".to_owned());
    if let Some(why) = wrong.or(cut) {
        saving.lose(end, damaged.length.max(end + 1), &why);
    }
    Ok(())
}

/// A record's bytes as stored in the file.
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
