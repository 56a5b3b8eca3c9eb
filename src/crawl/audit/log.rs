//! Audits the page log, and the counters of its readers.

use std::path::Path;

use seine_page_log::{PageLog, Recovery, Scan};

use super::sink_reader::{SinkReader, got_by, sink_readers};
use super::{Audit, Check};
use crate::config::SinkConfig;
use crate::crawl::error::CrawlError;
use crate::sinks::dead_letters;

const LOST: &str = "accepted events are missing from log/: restore it from a backup, and check this disk";
const MISCOUNTED: &str =
    "another program changed log/cursors, or this is a bug to report; restore log/cursors from a backup";
const LETTERS_GONE: &str = "files below dead_letters/ are gone or damaged: restore them, and remove letters only \
    with seine dead-letters";

impl Audit {
    pub(super) fn log(
        &mut self,
        folder: &Path,
        log: &PageLog,
        recovery: &Recovery,
        validated: u64,
        destinations: &[SinkConfig],
    ) -> Result<Vec<SinkReader>, CrawlError> {
        let status = log.status();
        let mut readers = sink_readers(folder, &status)?;
        for reader in &mut readers {
            reader.gets = destinations.iter().find(|config| config.name() == reader.name).and_then(got_by);
        }
        let mut waiting = 0;
        let scan = log.scan(&mut |end, event| {
            waiting += u64::from(end.index > validated);
            let id = dead_letters::id_hash(&event.id);
            for reader in &mut readers {
                let is_letter = reader.letters.ids.contains(&id);
                if end.index > reader.at {
                    reader.pending += 1;
                    reader.refused_ahead += u64::from(is_letter);
                } else if end.index > reader.from && !is_letter {
                    reader.expected.extend(reader.gets.as_ref().and_then(|gets| gets(event)));
                }
            }
        })?;
        // A reader whose offset is after the end of the log has read events that the log has lost.
        let accepted = status.end.index.max(validated);
        self.note_damage(&scan, recovery);
        let kept = [("no longer needed", status.oldest.index), ("readable", scan.events)];
        self.checks.push(Check::new("page log", ("accepted", accepted), &kept, LOST));
        let parts = [("validated", validated), ("waiting", waiting)];
        self.checks.push(Check::new("validator", ("accepted", accepted), &parts, LOST));
        for reader in &readers {
            self.sink(reader, accepted - status.end.index);
        }
        Ok(readers)
    }

    fn note_damage(&mut self, scan: &Scan, recovery: &Recovery) {
        for damage in &scan.damage {
            let (segment, offset, events) = (damage.segment.display(), damage.offset, damage.events);
            self.notes.push(format!("{segment} is damaged at byte {offset}: {events} events are lost there"));
        }
        if let Some(torn) = &recovery.torn {
            let (segment, bytes) = (torn.segment.display(), torn.bytes);
            self.notes.push(format!("{segment}: cut {bytes} bytes of an incomplete record that was never accepted"));
        }
    }

    /// `beyond`: accepted events after the end of the log as it is now.
    fn sink(&mut self, reader: &SinkReader, beyond: u64) {
        let books = &reader.counters;
        let parts = [
            ("delivered", books.delivered),
            ("skipped", books.skipped),
            ("dead", books.dead),
            ("lost to a damaged disk", books.damaged),
            ("pending", reader.pending),
        ];
        let accepted = ("accepted", books.accepted + beyond);
        self.checks.push(Check::new(format!("sink {}", reader.name), accepted, &parts, MISCOUNTED));
        let tally = reader.letters.tally;
        let on_disk = reader.letters.ids.len() as u64 - reader.refused_ahead;
        if books.dead > 0 || on_disk > 0 || !reader.letters.problems.is_empty() {
            let parts = [("on disk", on_disk), ("replayed", tally.replayed), ("dropped", tally.dropped)];
            let book = Check::new(format!("{} dead letters", reader.name), ("dead", books.dead), &parts, LETTERS_GONE);
            self.checks.push(book.at_least());
        }
        if reader.refused_ahead > 0 {
            let (name, count) = (&reader.name, reader.refused_ahead);
            self.notes.push(format!("{name}: {count} pending events are dead letters already, refused before a crash"));
        }
        for (path, problem) in &reader.letters.problems {
            self.notes.push(format!("{}: {problem}", path.display()));
        }
    }
}
