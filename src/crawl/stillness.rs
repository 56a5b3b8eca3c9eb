//! Sinks that do not move while nothing else is left to do, and how long that is worth a run that was not told to stay.

use std::time::{Duration, Instant};

use super::filling;
use super::running::Running;
use crate::config::Destination;

/// What is acknowledged without the sink's place in the log moving (parts of a batch, a page that is being looked for) counts
/// as moving for so many times as long as it would be waited for: a sink that is made anew is told the same again.
const PARTS_COUNT: u32 = 10;
/// A sink that does not move and has no trouble to tell of is at work, or hangs: it has at least so long.
const AT_WORK: Duration = Duration::from_secs(60);

/// For how long the sinks that are behind have stood still, all of them.
pub(super) struct Stillness {
    limit: Duration,
    /// The last time that one of them moved, or that there was something else to do.
    since: Instant,
    /// The last time that a place in the log moved.
    place_since: Instant,
    /// Of each that is behind: its place in the log, and what it showed.
    seen: Vec<(u64, u64)>,
}

impl Stillness {
    pub fn new(limit: Duration) -> Stillness {
        let now = Instant::now();
        Stillness { limit, since: now, place_since: now, seen: Vec::new() }
    }

    /// Something else is going on.
    pub fn begin_anew(&mut self) {
        (self.since, self.place_since) = (Instant::now(), Instant::now());
    }

    /// Looks whether any of them moves. True when none has for too long. With a disk full it is room that is waited for.
    pub fn has_run_out(&mut self, running: &Running) -> bool {
        let seen: Vec<_> = behind(running).iter().map(|(name, place, _)| (*place, moves(running, name))).collect();
        let places = |seen: &[(u64, u64)]| seen.iter().map(|(place, _)| *place).collect::<Vec<_>>();
        if seen.is_empty() || places(&seen) != places(&self.seen) || running.room.is_said_to_lack() {
            self.begin_anew();
        } else if seen != self.seen && self.place_since.elapsed() < self.limit * PARTS_COUNT {
            self.since = Instant::now();
        }
        self.seen = seen;
        let waited = self.since.elapsed();
        !self.seen.is_empty()
            && waited >= self.limit
            && (waited >= AT_WORK || behind(running).iter().all(|(name, ..)| trouble(running, name).is_some()))
    }

    /// Says who was waited for in vain.
    pub fn tell(&self, running: &Running) {
        for (sink, _, pending) in behind(running) {
            let why = trouble(running, &sink).unwrap_or_default();
            let seconds = self.since.elapsed().as_secs();
            tracing::warn!(sink, pending, why, "not moved for {seconds} s: the run ends without it");
        }
    }
}

/// The sinks of this run with something pending: name, place in the log, how much. Not standard output: whoever reads it is
/// there and may take all the time, or gone, which is noticed.
fn behind(running: &Running) -> Vec<(String, u64, u64)> {
    let (log, config) = (running.log.status(), running.config());
    let sinks = config.sinks.iter().filter(|sink| sink.destination != Destination::Stdout);
    let behind = sinks.filter_map(|sink| {
        let reader = log.reader(sink.name())?;
        let is_filling = filling::is_unfinished(&running.folder, &running.log, sink.name());
        // What it gets from an archive counts as the log's.
        let place = reader.position.index + running.watch(sink.name()).pages_filled();
        (reader.pending > 0 || is_filling).then(|| (sink.name().to_owned(), place, reader.pending))
    });
    behind.collect()
}

fn moves(running: &Running, sink: &str) -> u64 {
    running.watches.get(sink).map_or(0, |watch| watch.moves())
}

/// What a sink waits for: what it shows, or else what it failed of last.
pub(super) fn trouble(running: &Running, sink: &str) -> Option<String> {
    let shown = running.watches.get(sink).and_then(|watch| watch.trouble());
    let failed_of = || {
        let part = running.supervisor.status().into_iter().find(|part| part.name == format!("sink {sink}"));
        part.and_then(|part| part.last_error)
    };
    shown.or_else(failed_of)
}
