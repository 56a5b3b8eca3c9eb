//! A slow disk for one process: every write and every sync of a file below a folder waits. The calls of the C library are
//! replaced (`slow_disk.c`), so the program is the real one, and whatever writes is slow.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

pub struct SlowDisk {
    folder: TempDir,
}

impl SlowDisk {
    /// Compiles the library. `cc` is there: librdkafka is built with it.
    pub fn new() -> SlowDisk {
        let folder = tempfile::tempdir().unwrap();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/slow_disk.c");
        let library = folder.path().join("slow_disk.so");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(library).arg(source).arg("-ldl");
        assert!(cc.status().expect("cc is there").success());
        SlowDisk { folder }
    }

    /// The command's process has this folder, which is there already, on the slow disk.
    pub fn under(&self, folder: &Path, command: &mut Command) {
        command.env("LD_PRELOAD", self.folder.path().join("slow_disk.so"));
        command.env("SLOW_DISK", folder.canonicalize().unwrap());
        command.env("SLOW_DISK_MS", self.folder.path().join("ms"));
    }

    /// From now on each write and each sync takes so long.
    pub fn takes(&self, time: Duration) {
        let (draft, place) = (self.folder.path().join("draft"), self.folder.path().join("ms"));
        std::fs::write(&draft, time.as_millis().to_string()).unwrap();
        std::fs::rename(draft, place).unwrap();
    }
}
