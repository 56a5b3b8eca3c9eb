//! The log of orders: what was ordered, by whom, and what was done.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use seine_parse::page::EpochMs;
use seine_system::clock::now_ms;
use seine_system::folders::if_there;
use serde_json::Value;

use crate::api::Refusal;
use crate::api::schema::Ordered;

/// In the data folder: one JSON object per line, [`Ordered`].
const FILE: &str = "orders.jsonl";
/// Number of latest orders to show.
const SHOWN: usize = 100;
/// Number of bytes to read from the end of the file.
const MAX_READ: u64 = 1 << 20;
/// Name of the order that adds seeds.
pub(super) const ADD_SEEDS: &str = "add_seeds";

#[derive(Clone)]
pub(crate) struct OrderLog {
    path: PathBuf,
}

impl OrderLog {
    /// Of the crawl in this data folder.
    pub(super) fn of(folder: &Path) -> OrderLog {
        OrderLog { path: folder.join(FILE) }
    }

    /// The latest orders first. A line cut off by a crash is left out.
    pub(crate) fn latest(&self) -> Result<Vec<Ordered>, Refusal> {
        let path = &self.path;
        let failed = |error: std::io::Error| Refusal::Failed(format!("cannot read {}: {error}", path.display()));
        let Some(file) = if_there(File::open(path)).map_err(failed)? else { return Ok(Vec::new()) };
        let mut last = VecDeque::new();
        for line in last_lines(file).map_err(failed)?.split(|byte| *byte == b'\n') {
            last.extend(serde_json::from_slice::<Ordered>(line).ok());
            if last.len() > SHOWN {
                last.pop_front();
            }
        }
        Ok(last.into_iter().rev().collect())
    }

    /// Records an order that was executed. A failure is returned, but the order stays executed: pausing must work on a
    /// full disk.
    pub(in crate::crawl) fn add(&self, by: &str, order: Value, done: &str) -> Option<String> {
        tracing::info!(by, %order, done, "ordered");
        let ordered = Ordered { at_ms: now_ms(), by: by.to_owned(), order, done: done.to_owned() };
        let path = &self.path;
        let written =
            OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path).and_then(|mut file| {
                let whole = if ends_a_line(&mut file)? { "" } else { "\n" };
                file.write_all(format!("{whole}{}\n", serde_json::to_string(&ordered)?).as_bytes())?;
                file.sync_data()
            });
        let error = written.err()?;
        tracing::error!(path = %path.display(), %error, "an order could not be recorded");
        Some(format!("done, but not recorded in the log of orders: cannot write {}: {error}", path.display()))
    }

    /// The person who added the seeds at that second: the author of the first such order since, if it is in the list.
    pub(super) fn who_added_seeds(&self, at: EpochMs) -> Option<String> {
        let orders = self.latest().ok()?;
        // The latest are first.
        let mut seeds = orders.into_iter().rev().filter(|it| it.order["order"] == ADD_SEEDS && it.at_ms >= at);
        seeds.next().map(|ordered| ordered.by)
    }
}

/// Reads the end of the file, which may be large. An incomplete first line is skipped.
fn last_lines(mut file: File) -> std::io::Result<Vec<u8>> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_READ)))?;
    let mut bytes = Vec::new();
    file.take(MAX_READ).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// False if a crash cut off the last line; the next line would become part of it.
fn ends_a_line(file: &mut File) -> std::io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
