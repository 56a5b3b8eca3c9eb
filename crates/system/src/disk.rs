//! Free space of a disk, and reading a file from an offset.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use seine_simulation_hooks::outside::replacement;

/// In a simulation: the free bytes of the only disk.
#[derive(Clone)]
pub struct SimulatedDisk(pub Arc<AtomicU64>);

/// Free bytes, for users other than root, of the disk that `file` is on. Does not access the disk itself.
pub fn free_bytes(file: &File) -> io::Result<u64> {
    if let Some(disk) = replacement::<SimulatedDisk>() {
        return Ok(disk.0.load(Ordering::Relaxed));
    }
    let disk = rustix::fs::fstatvfs(file)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Reads from `offset` until the buffer is full or the file ends; returns the number of bytes.
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
