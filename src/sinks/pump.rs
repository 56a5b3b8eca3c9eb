//! The loop of a sink: takes entries from any feed, delivers them, and commits what is durable at the destination.

use std::sync::Arc;
use std::time::{Duration, Instant};

use seine_delivery::{Cursor, Entry, Offset};
use seine_simulation_hooks::planted;

use super::sink::{Delivered, SinkContext};
use crate::config::SinkConfig;

/// Limits of entries and body bytes that are delivered together.
pub(crate) const BATCH_EVENTS: usize = 1024;
pub(crate) const BATCH_BYTES: usize = 8 << 20;

/// Where a sink's entries come from and its cursor is kept.
pub(crate) trait Feed {
    /// The last committed cursor.
    fn cursor(&self) -> Cursor;

    /// The next entries, at most one batch. Returns none after a while if there are none.
    fn next(&mut self) -> anyhow::Result<Vec<Arc<Entry>>>;

    /// Whether no more entries will come.
    fn has_ended(&self) -> bool;

    /// Durable when it returns.
    fn commit(&mut self, cursor: Cursor) -> anyhow::Result<()>;

    /// Called after every step, for monitoring.
    fn stepped(&mut self, step: Step);
}

/// The result of one call of the sink.
pub(crate) struct Step {
    /// Events that the cursor passed: delivered, skipped or dead. Taking an entry does not count.
    pub passed: u64,
    /// Of these, events that the destination took or rejected. Events that the format does not store say nothing about
    /// the destination.
    pub acknowledged: u64,
    /// Everything given to the sink so far is settled.
    pub settled: bool,
    pub took: Duration,
}

/// Runs until the feed has ended and everything is settled, or the process shuts down. After a failure, call it again:
/// it starts at the committed cursor with a new sink.
pub(crate) fn pump(feed: &mut dyn Feed, config: &SinkConfig, context: &SinkContext) -> anyhow::Result<()> {
    let before = feed.cursor();
    let mut sink = super::open(config, context, &before.state)?;
    context.watch.opened();
    // The sink's initial state is committed before the first delivery, so that it survives a crash.
    let opened = sink.flush()?;
    commit(feed, &before, &opened)?;
    let mut acknowledged = 0;
    let mut taken = Offset::default();
    while !feed.has_ended() && !context.shutdown.is_hurrying() {
        let entries = feed.next()?;
        let started = Instant::now();
        let delivered = if entries.is_empty() { sink.flush()? } else { sink.deliver(&entries)? };
        taken = entries.last().map_or(taken, |last| last.end);
        let passed = match planted::is("cursor_early") {
            true => commit(feed, &before, &Delivered { up_to: taken, ..delivered.clone() })?,
            false => commit(feed, &before, &delivered)?,
        };
        let before_it = std::mem::replace(&mut acknowledged, delivered.delivered + delivered.dead);
        feed.stepped(Step {
            passed,
            acknowledged: acknowledged.saturating_sub(before_it),
            settled: delivered.up_to >= taken,
            took: started.elapsed(),
        });
    }
    loop {
        let delivered = sink.flush()?;
        commit(feed, &before, &delivered)?;
        if delivered.up_to >= taken || context.shutdown.is_hurrying() {
            return Ok(sink.close()?);
        }
    }
}

/// Advances the cursor if the sink has made progress. Returns by how many events. The sink counts since it was opened;
/// the cursor counts since it was created.
fn commit(feed: &mut dyn Feed, before: &Cursor, delivered: &Delivered) -> anyhow::Result<u64> {
    let last = feed.cursor();
    let passed = delivered.up_to.index.saturating_sub(last.position.index);
    if passed == 0 && delivered.state == last.state {
        return Ok(0);
    }
    feed.commit(Cursor {
        position: delivered.up_to.max(last.position),
        delivered: before.delivered + delivered.delivered,
        skipped: before.skipped + delivered.skipped,
        dead: before.dead + delivered.dead,
        state: delivered.state.clone(),
        ..Cursor::default()
    })?;
    Ok(passed)
}
