//! One sink's loop: reads the log at its own pace, delivers, commits what is durable there.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Running;
use crate::config::SinkConfig;
use crate::log::{Cursor, Position, Reader};
use crate::sinks::{self, Delivered};
use crate::supervisor::Beat;

const BATCH_EVENTS: usize = 1024;
const BATCH_BYTES: usize = 8 << 20;
const IDLE: Duration = Duration::from_millis(200);

/// Runs until the log is closed and read to its end, or until told to hurry. Called again after a failure, it starts
/// from the committed cursor with a new sink.
pub(crate) fn deliver(running: &Running, config: &SinkConfig, beat: &Beat) -> anyhow::Result<()> {
    let name = config.name();
    let mut reader = running.log.reader(name)?;
    let before = reader.cursor().clone();
    let derive = sinks::derive_for(config, running.visitor.derive.clone());
    let mut sink = sinks::open(config, &running.folder.join(name), &before.state, derive, running.hurry.clone())?;
    // What the sink opened is noted before anything is delivered into it, so that a crash finds it.
    let opened = sink.flush()?;
    commit(&mut reader, &before, &opened)?;
    let seconds = running.metrics.delivery_seconds.with_label_values(&[name]);
    let mut taken = Position::default();
    while !reader.is_closed_and_drained() && !running.hurry.load(Ordering::Relaxed) {
        let entries = reader.next(BATCH_EVENTS, BATCH_BYTES, IDLE)?;
        let started = Instant::now();
        let delivered = if entries.is_empty() { sink.flush()? } else { sink.deliver(&entries)? };
        taken = entries.last().map_or(taken, |last| last.end);
        if commit(&mut reader, &before, &delivered)? {
            seconds.observe(started.elapsed().as_secs_f64());
        }
        if !entries.is_empty() {
            beat.progress(entries.len() as u64);
        } else if delivered.up_to >= taken {
            beat.idle();
        }
    }
    loop {
        let delivered = sink.flush()?;
        commit(&mut reader, &before, &delivered)?;
        if delivered.up_to >= taken || running.hurry.load(Ordering::Relaxed) {
            return Ok(sink.close()?);
        }
    }
}

/// Moves the cursor when the sink came further. The sink counts since it was opened, the cursor over its whole life.
fn commit(reader: &mut Reader, before: &Cursor, delivered: &Delivered) -> anyhow::Result<bool> {
    let moved = delivered.up_to > reader.cursor().position;
    if !moved && delivered.state == reader.cursor().state {
        return Ok(false);
    }
    reader.commit(Cursor {
        position: delivered.up_to.max(reader.cursor().position),
        delivered: before.delivered + delivered.delivered,
        skipped: before.skipped + delivered.skipped,
        dead: before.dead + delivered.dead,
        state: delivered.state.clone(),
        ..Cursor::default()
    })?;
    Ok(moved)
}
