//! A file that may be compressed as a whole.

use std::io::{Chain, Cursor, Read};

use super::TianwangReader;
use crate::formats::inflate::{self, Inflating};

/// `length`: of the input. A length in a record that leads beyond is damage, where the input is not compressed as a whole.
pub(super) fn reader<R: Read>(input: R, length: u64) -> std::io::Result<TianwangReader<MaybeCompressed<R>>> {
    let input = MaybeCompressed::new(input)?;
    let is_plain = matches!(input, MaybeCompressed::Plain(_));
    let reader = TianwangReader::new(input);
    Ok(if is_plain { reader.with_length(length) } else { reader })
}

/// A file of a format that knows nothing of compression, decompressed if it was compressed as a whole.
pub(super) enum MaybeCompressed<R> {
    Plain(Chain<Cursor<Vec<u8>>, R>),
    Packed(Inflating<Chain<Cursor<Vec<u8>>, R>>),
}

impl<R: Read> MaybeCompressed<R> {
    fn new(mut input: R) -> std::io::Result<MaybeCompressed<R>> {
        let mut start = Vec::new();
        (&mut input).take(2).read_to_end(&mut start)?;
        let is_compressed = inflate::is_compressed(&start);
        let whole = Cursor::new(start).chain(input);
        Ok(if is_compressed { MaybeCompressed::Packed(Inflating::new(whole)) } else { MaybeCompressed::Plain(whole) })
    }
}

impl<R: Read> Read for MaybeCompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            MaybeCompressed::Plain(input) => input.read(buffer),
            MaybeCompressed::Packed(stream) => {
                let chunk = stream.chunk().map_err(std::io::Error::other)?;
                let count = chunk.len().min(buffer.len());
                buffer[..count].copy_from_slice(&chunk[..count]);
                stream.consume(count);
                Ok(count)
            }
        }
    }
}
