//! What is left of a disk.

use std::fs::File;
use std::io;

/// Free bytes of the disk that `file` is on, for who is not root. Asks the file system's memory, not the disk.
pub fn free_bytes(file: &File) -> io::Result<u64> {
    let disk = rustix::fs::fstatvfs(file)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}
