//! The work that nothing which keeps pages can avoid: bytes to a file and back, with and without DEFLATE at level 6, synced
//! as often as sinks do.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::BATCH;

const LEVEL: u32 = 6;
const BUFFER: usize = 256 << 10;

pub fn copy(pieces: &[&[u8]], path: &Path) {
    write_batches(pieces, path, |piece, file| file.write_all(piece).expect("a disk with room"));
}

pub fn read(path: &Path) -> usize {
    let (mut file, mut buffer, mut total) = (File::open(path).expect("just written"), vec![0; 64 << 10], 0);
    loop {
        match file.read(&mut buffer).expect("just written") {
            0 => return total,
            count => total += count,
        }
    }
}

/// Each piece is a zlib stream.
pub fn deflate_each(pieces: &[&[u8]], path: &Path) {
    let (mut deflate, mut stored) = (Compress::new(Compression::new(LEVEL), true), Vec::new());
    write_batches(pieces, path, |piece, file| {
        deflate.reset();
        stored.clear();
        stored.reserve(piece.len() + piece.len() / 100 + 100);
        let status = deflate.compress_vec(piece, &mut stored, FlushCompress::Finish);
        assert_eq!(status.expect("a fresh stream takes every byte"), Status::StreamEnd);
        file.write_all(&stored).expect("a disk with room");
    });
}

pub fn inflate_each(path: &Path) -> usize {
    let file = std::fs::read(path).expect("just written");
    let (mut inflate, mut plain, mut at, mut total) = (Decompress::new(true), Vec::with_capacity(1 << 20), 0, 0);
    while at < file.len() {
        inflate.reset(true);
        plain.clear();
        let status = inflate.decompress_vec(&file[at..], &mut plain, FlushDecompress::Finish);
        assert_eq!(status.expect("just written"), Status::StreamEnd);
        at += inflate.total_in() as usize;
        total += plain.len();
    }
    total
}

/// All pieces are one zlib stream.
pub fn deflate_all(pieces: &[&[u8]], path: &Path) {
    let file = File::create(path).expect("a folder of the bench's own");
    let mut encoder = ZlibEncoder::new(BufWriter::with_capacity(BUFFER, file), Compression::new(LEVEL));
    for batch in pieces.chunks(BATCH) {
        batch.iter().for_each(|piece| encoder.write_all(piece).expect("a disk with room"));
        encoder.flush().expect("a disk with room");
        encoder.get_ref().get_ref().sync_data().expect("a disk with room");
    }
    encoder.finish().and_then(|mut file| file.flush()).expect("a disk with room");
}

pub fn inflate_all(path: &Path) -> usize {
    let mut decoder = ZlibDecoder::new(File::open(path).expect("just written"));
    std::io::copy(&mut decoder, &mut std::io::sink()).expect("just written") as usize
}

fn write_batches(pieces: &[&[u8]], path: &Path, mut write: impl FnMut(&[u8], &mut BufWriter<File>)) {
    let file = File::create(path).expect("a folder of the bench's own");
    let mut file = BufWriter::with_capacity(BUFFER, file);
    for batch in pieces.chunks(BATCH) {
        batch.iter().for_each(|piece| write(piece, &mut file));
        file.flush().expect("a disk with room");
        file.get_ref().sync_data().expect("a disk with room");
    }
}
