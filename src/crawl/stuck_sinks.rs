//! Ends a run without `--stay` when the only work left is for sinks that make no progress.

use std::time::{Duration, Instant};

use super::backfill;
use super::running::Running;
use crate::config::{Medium, SinkConfig};

/// Acknowledgements without a new committed offset (parts of a batch) also count as progress, but only for this many
/// times the limit: a restarted sink gets the same events again.
const PARTS_COUNT: u32 = 10;
/// A sink that reports no trouble may be busy, so it gets at least this long.
const AT_WORK: Duration = Duration::from_secs(60);

/// How long all sinks that are behind have made no progress.
pub(super) struct StuckSinks {
    limit: Duration,
    /// The last time that one of them made progress, or that there was other work.
    since: Instant,
    /// The last time that a committed offset moved.
    offset_since: Instant,
    /// Offset and number of acknowledgements of each sink that is behind.
    seen: Vec<(u64, u64)>,
}

impl StuckSinks {
    pub(super) fn new(limit: Duration) -> StuckSinks {
        let now = Instant::now();
        StuckSinks { limit, since: now, offset_since: now, seen: Vec::new() }
    }

    /// There is other work.
    pub(super) fn begin_anew(&mut self) {
        (self.since, self.offset_since) = (Instant::now(), Instant::now());
    }

    /// True if no sink has made progress for too long. A full disk does not count.
    pub(super) fn have_run_out(&mut self, running: &Running) -> bool {
        let seen: Vec<_> = behind(running).iter().map(|sink| (sink.offset, moves(running, &sink.name))).collect();
        let places = |seen: &[(u64, u64)]| seen.iter().map(|(place, _)| *place).collect::<Vec<_>>();
        if seen.is_empty() || places(&seen) != places(&self.seen) || running.room.is_reported_short() {
            self.begin_anew();
        } else if seen != self.seen && self.offset_since.elapsed() < self.limit * PARTS_COUNT {
            self.since = Instant::now();
        }
        self.seen = seen;
        let waited = self.since.elapsed();
        !self.seen.is_empty()
            && waited >= self.limit
            && (waited >= AT_WORK || behind(running).iter().all(|sink| trouble(running, &sink.name).is_some()))
    }

    /// Reports the sinks that are stuck.
    pub(super) fn tell(&self, running: &Running) {
        for Behind { name: sink, pending, .. } in behind(running) {
            let why = trouble(running, &sink).unwrap_or_default();
            let seconds = self.since.elapsed().as_secs();
            tracing::warn!(sink, pending, why, "no progress for {seconds} s; the run ends without it");
        }
    }
}

/// A sink with pending events.
struct Behind {
    name: String,
    /// Number of the event in the log, and of pages of a backfill.
    offset: u64,
    pending: u64,
}

/// The sinks of this run with pending events. Standard output counts only if it fails: its reader may take any time, and a
/// closed pipe is noticed.
fn behind(running: &Running) -> Vec<Behind> {
    let (log, config) = (running.log.status(), running.config());
    let counts =
        |sink: &&SinkConfig| sink.destination.medium() != Medium::Pipe || trouble(running, sink.name()).is_some();
    let sinks = config.sinks.iter().filter(counts);
    let behind = sinks.filter_map(|sink| {
        let reader = log.reader(sink.name())?;
        let is_filling = backfill::is_unfinished(&running.folder, &running.log, sink.name());
        // Pages of a backfill count like events of the log.
        let offset = reader.position.index + running.watch(sink.name()).pages_filled();
        (reader.pending > 0 || is_filling).then(|| Behind {
            name: sink.name().to_owned(),
            offset,
            pending: reader.pending,
        })
    });
    behind.collect()
}

fn moves(running: &Running, sink: &str) -> u64 {
    running.watches.get(sink).map_or(0, |watch| watch.moves())
}

/// The reason why a sink waits, or its last error.
pub(super) fn trouble(running: &Running, sink: &str) -> Option<String> {
    let shown = running.watches.get(sink).and_then(|watch| watch.trouble());
    let failed_of = || {
        let part = running.supervisor.status().into_iter().find(|part| part.name == format!("sink {sink}"));
        part.and_then(|part| part.last_error)
    };
    shown.or_else(failed_of)
}
