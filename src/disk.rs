//! What is left of a disk, and a file from any place on.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Free bytes of the disk that `file` is on, for who is not root. Asks the file system's memory, not the disk.
pub fn free_bytes(file: &File) -> io::Result<u64> {
    let disk = rustix::fs::fstatvfs(file)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Fills `buffer` from `offset` on, as far as the file goes; returns how far.
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut have = 0;
    while have < buffer.len() {
        match file.read_at(&mut buffer[have..], offset + have as u64) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(have)
}
