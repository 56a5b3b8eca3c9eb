//! The crawl's clock, set back on command by libfaketime: the calendar's time alone, as an operator or NTP does it; the
//! clock that only counts on is left alone, as the kernel leaves it.

use std::path::PathBuf;
use std::process::Command;

pub struct Clock {
    /// None where it cannot be had.
    library: Option<PathBuf>,
    /// Says the offset; read again every second by whoever runs with it.
    file: PathBuf,
}

impl Clock {
    pub fn new(file: PathBuf) -> Clock {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/services/faketime");
        let output = Command::new(script).arg("install").output().expect("the script runs");
        let library = output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().into());
        if library.is_none() {
            let why = String::from_utf8_lossy(&output.stderr);
            println!("SKIPPED: clocks set back: libfaketime cannot be had: {why}");
        }
        let clock = Clock { library, file };
        clock.set(0);
        clock
    }

    /// Off by so many seconds.
    pub fn set(&self, offset: i64) {
        // Replaced in one step, so that nobody reads half of it.
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("{offset:+}\n")).expect("the offset is written");
        std::fs::rename(&new, &self.file).expect("the offset is put in place");
    }

    pub fn apply(&self, command: &mut Command) {
        if let Some(library) = &self.library {
            command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", &self.file);
            command.env("FAKETIME_CACHE_DURATION", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
            command.env("DONT_FAKE_MONOTONIC", "1").env("NO_FAKE_STAT", "1");
        }
    }
}
