//! One sink of a crawl: reads the log at its own pace.

use std::sync::Arc;
use std::time::Duration;

use prometheus::Histogram;

use super::filling::fill;
use super::running::Running;
use crate::config::SinkConfig;
use crate::delivery::{Cursor, Entry};
use crate::page_log::Reader;
use crate::shutdown::Shutdown;
use crate::sinks::pump::{BATCH_BYTES, BATCH_EVENTS, Feed, Step, pump};
use crate::sinks::watch::Watch;
use crate::supervisor::Beat;

const IDLE: Duration = Duration::from_millis(200);

/// Runs until the log is closed and read to its end, or the process hurries to its end. Called again after a failure, it starts
/// from the committed cursor with a new sink.
pub(crate) fn deliver(running: &Running, config: &SinkConfig, beat: &Beat) -> anyhow::Result<()> {
    let name = config.name();
    fill(running, config, beat)?;
    if running.shutdown.is_hurrying() {
        return Ok(());
    }
    let reader = running.log.reader(name)?;
    let seconds = running.metrics.delivery_seconds.with_label_values(&[name]);
    let watch = running.watches.get(name).cloned().unwrap_or_default();
    let is_paused = || running.pauses.is_sink_paused(name);
    let mut feed = LogFeed { reader, seconds, beat, watch, shutdown: &running.shutdown, is_paused: &is_paused };
    let folder = running.folder.join(name);
    pump(&mut feed, config, (&folder, &folder), &running.shutdown)
}

struct LogFeed<'a> {
    reader: Reader,
    seconds: Histogram,
    beat: &'a Beat,
    watch: Watch,
    shutdown: &'a Shutdown,
    is_paused: &'a dyn Fn() -> bool,
}

impl Feed for LogFeed<'_> {
    fn cursor(&self) -> Cursor {
        self.reader.cursor().clone()
    }

    fn next(&mut self) -> anyhow::Result<Vec<Arc<Entry>>> {
        if (self.is_paused)() {
            self.beat.idle();
            self.shutdown.rest(IDLE);
            return Ok(Vec::new());
        }
        Ok(self.reader.next(BATCH_EVENTS, BATCH_BYTES, IDLE)?)
    }

    fn has_ended(&self) -> bool {
        // What a paused sink has not got is pending: nobody waits for it to the end.
        self.reader.is_closed_and_drained() || ((self.is_paused)() && self.shutdown.is_finishing())
    }

    fn commit(&mut self, cursor: Cursor) -> anyhow::Result<()> {
        Ok(self.reader.commit(cursor)?)
    }

    fn watch(&self) -> Watch {
        self.watch.clone()
    }

    fn wants_places(&self) -> bool {
        true
    }

    fn stepped(&mut self, step: Step) {
        if step.passed > 0 {
            self.seconds.observe(step.took.as_secs_f64());
        }
        if step.acknowledged > 0 {
            self.beat.progress();
        } else if step.passed > 0 || step.settled {
            self.beat.idle();
        }
    }
}
