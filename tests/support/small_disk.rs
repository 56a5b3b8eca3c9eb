//! A small disk for one test: a tmpfs, mounted in the mount namespace of a process that runs the other half of the
//! test.

// Each test binary uses its own part of this.
#![allow(dead_code)]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const DISK: &str = "SEINE_TEST_SMALL_DISK";
const DONE: &str = "the whole scenario has run";

/// Runs `scenario`, an ignored test of this binary by its full name, with a disk of `mib` MiB of its own.
pub fn run(scenario: &str, mib: u32) {
    let may_mount = Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
    if !may_mount {
        // Visible with --nocapture. In CI this runs as root.
        println!("SKIPPED: no right to make a mount namespace (unshare -m): run this test as root");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = format!(r#"mount -t tmpfs -o size={mib}m tmpfs "$1" && shift && exec "$@""#);
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", &script, "sh"])
        .arg(dir.path())
        .arg(std::env::current_exe().unwrap())
        .args([scenario, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(DISK, dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains(DONE), "{said}");
}

/// In the scenario: the path of the disk. None if it is run directly.
pub fn here() -> Option<PathBuf> {
    std::env::var_os(DISK).map(PathBuf::from)
}

/// Marks the scenario as successful.
pub fn done() {
    println!("{DONE}");
}

/// Fills the disk with a file, except for `left` free bytes.
pub fn fill(dir: &Path, left: u64) -> PathBuf {
    let path = dir.join("filler");
    let mut file = File::options().create(true).append(true).open(&path).unwrap();
    let block = vec![1; 64 << 10];
    let mut more = free(dir).saturating_sub(left);
    while more > 0 {
        let some = &block[..block.len().min(more as usize)];
        if file.write_all(some).is_err() {
            break; // as full as it gets
        }
        more -= some.len() as u64;
    }
    path
}

pub fn free(dir: &Path) -> u64 {
    let disk = rustix::fs::statvfs(dir).unwrap();
    disk.f_bavail * disk.f_frsize
}

/// Frees the space again.
pub fn make_room(dir: &Path) {
    fs::remove_file(dir.join("filler")).unwrap();
}
