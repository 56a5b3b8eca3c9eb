//! Reads a file with one page, as a whole; it may be a zlib stream.

use std::io::{BufRead, BufReader, Read, SeekFrom};

use crate::records::ReadSeek;

/// Largest file with one page.
const MAX_PAGE_FILE: u64 = 256 << 20;

/// The content of a file. If the whole file is one zlib stream, the decompressed content. A file that starts like a
/// stream but does not decompress counts as a damaged stream. The size is measured before the content is kept.
pub(super) fn content(file: &mut dyn ReadSeek) -> Result<Vec<u8>, String> {
    let mut stream = flate2::bufread::ZlibDecoder::new(BufReader::new(&mut *file));
    let mut measured = std::io::copy(&mut (&mut stream).take(MAX_PAGE_FILE + 1), &mut std::io::sink());
    let made = stream.total_out();
    if measured.is_ok() && made > 0 && made <= MAX_PAGE_FILE {
        let rest = stream.into_inner().fill_buf().map(<[u8]>::len);
        // Bytes follow the stream, so the file only looked like a stream.
        measured = rest.map(|rest| if rest == 0 { made } else { 0 });
    }
    file.rewind().map_err(failed)?;
    match measured {
        Ok(made) if made > MAX_PAGE_FILE => Err(too_large()),
        Ok(made) if made > 0 => {
            let mut plain = Vec::with_capacity(made as usize);
            let mut stream = flate2::bufread::ZlibDecoder::new(BufReader::new(file));
            stream.read_to_end(&mut plain).map_err(failed)?;
            Ok(plain)
        }
        Err(error) if made > 0 => Err(format!("its compressed data is damaged or cut off: {error}")),
        _ => read_limited(file),
    }
}

pub(crate) fn read_limited(file: &mut dyn ReadSeek) -> Result<Vec<u8>, String> {
    let length = file.seek(SeekFrom::End(0)).map_err(failed)?;
    file.rewind().map_err(failed)?;
    let mut bytes = Vec::new();
    if length <= MAX_PAGE_FILE {
        bytes.reserve_exact(length as usize + 1);
        file.take(MAX_PAGE_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    if length.max(bytes.len() as u64) > MAX_PAGE_FILE { Err(too_large()) } else { Ok(bytes) }
}

fn failed(error: std::io::Error) -> String {
    format!("reading it failed: {error}")
}

fn too_large() -> String {
    format!("it has more than {MAX_PAGE_FILE} bytes, the limit of a page")
}
