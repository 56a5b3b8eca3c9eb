//! One sink's loop, whoever feeds it: takes entries, delivers them, commits what is durable at the destination.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::sink::{Delivered, SinkContext};
use crate::config::SinkConfig;
use crate::delivery::{Cursor, Entry, Position};
use crate::planted;

/// Entries and bytes of bodies that are delivered together.
pub(crate) const BATCH_EVENTS: usize = 1024;
pub(crate) const BATCH_BYTES: usize = 8 << 20;

/// Where a sink's entries come from, and where its place among them is kept.
pub(crate) trait Feed {
    /// What was committed last.
    fn cursor(&self) -> Cursor;

    /// The next entries, at most a batch of them. None, after a while, when there are none just now.
    fn next(&mut self) -> anyhow::Result<Vec<Arc<Entry>>>;

    /// Nothing comes any more.
    fn has_ended(&self) -> bool;

    /// Durable when it returns.
    fn commit(&mut self, cursor: Cursor) -> anyhow::Result<()>;

    /// Called after every step, for who watches.
    fn stepped(&mut self, step: Step);
}

/// One call of the sink.
pub(crate) struct Step {
    /// Events that the cursor passed: delivered, skipped or dead. Taking alone is none.
    pub passed: u64,
    /// Of these, what the destination has taken or refused for good. What its format does not hold says nothing of it.
    pub acknowledged: u64,
    /// Everything given to the sink so far is settled.
    pub settled: bool,
    pub took: Duration,
}

/// Runs until the feed has ended and all of it is settled, or the process hurries to its end. Called again after a failure, it starts
/// from the committed cursor with a new sink.
pub(crate) fn pump(feed: &mut dyn Feed, config: &SinkConfig, context: &SinkContext) -> anyhow::Result<()> {
    let before = feed.cursor();
    let mut sink = super::open(config, context, &before.state)?;
    context.watch.opened();
    // What the sink opened is noted before anything is delivered into it, so that a crash finds it.
    let opened = sink.flush()?;
    commit(feed, &before, &opened)?;
    let mut acknowledged = 0;
    let mut taken = Position::default();
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

/// Moves the cursor when the sink came further, and says by how many events. The sink counts since it was opened, the
/// cursor over its whole life.
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
