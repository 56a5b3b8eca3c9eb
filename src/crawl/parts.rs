//! The parts of a crawl: the writer of the page log, the validator, the sinks, and fetching.

use seine_frontier::Verdicts;
use std::sync::Arc;
use std::time::Duration;

use prometheus::Histogram;
use seine_delivery::{Cursor, Entry};
use seine_page_log::{Reader, VALIDATOR};
use seine_system::blocking::{self, Idle, stuck_after};
use tokio::runtime::Handle;

use super::backfill::fill;
use super::dispatch::dispatch;
use super::refill;
use super::restart_sink;
use super::running::Running;
use crate::config::SinkConfig;
use crate::sinks::pump::{BATCH_BYTES, BATCH_EVENTS, Feed, Step, pump};
use crate::sinks::{SinkContext, SinkError};
use crate::supervisor::Beat;
use crate::validate::{Validator, release_by_larger_allowance, release_deferred};

/// Writes the page log.
pub(super) const LOG: &str = "log";
/// Validates events.
pub(super) const VALIDATING: &str = "validator";
/// Leases hosts to workers.
pub(super) const FETCH: &str = "fetch";
/// A part without progress for longer is shown as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(60);
/// How often an idle or paused sink checks for work.
const IDLE: Duration = Duration::from_millis(200);

pub(super) fn start(running: &Arc<Running>, handle: &Handle) {
    let supervisor = &running.supervisor;
    let at = running.clone();
    supervisor.start(LOG, stuck_after(STUCK_AFTER), move |beat| Ok(at.log.run_writer(&mut || beat.progress())?));

    let at = running.clone();
    supervisor.start(VALIDATING, stuck_after(STUCK_AFTER), move |beat| {
        loop {
            // Opened anew for a new configuration: the last batch was read and not validated.
            let mut reader = at.log.follower(VALIDATOR, at.frontier.cursor()?)?;
            if reader.is_closed_and_drained() {
                return Ok(());
            }
            let visitor = at.visitor();
            let (scope, config) = (visitor.services.scope.clone(), visitor.services.config.frontier.clone());
            if !config.traps {
                release_deferred(&at.frontier)?;
            }
            release_by_larger_allowance(&at.frontier, &config)?;
            let validator = Validator::new(at.frontier.clone(), scope, config, at.metrics.clone())?;
            let is_old = || !Arc::ptr_eq(&visitor.services.config, &at.config());
            validator.run(&mut reader, beat, &is_old, &|| visitor.services.changed.send_replace(()))?;
        }
    });

    for sink in running.config().sinks.clone() {
        let at = running.clone();
        supervisor.start(&format!("sink {}", sink.name()), stuck_after(STUCK_AFTER), move |beat| {
            match deliver_or_begin_anew(&at, sink.name(), beat) {
                Err(error) if matches!(error.downcast_ref(), Some(SinkError::ReaderGone)) => {
                    at.reader_gone.notify_one();
                    Ok(())
                }
                result => result,
            }
        });
    }

    let at = running.clone();
    let handle = handle.clone();
    supervisor.start(FETCH, stuck_after(STUCK_AFTER), move |beat| blocking::block_on(&handle, dispatch(&at, beat)));
}

/// Runs one sink. It reads the log at its own pace, until the log is closed and read to its end, or the process must
/// end. A call after a failure starts a new sink at the committed offset.
fn deliver(running: &Running, config: &SinkConfig, beat: &Beat) -> anyhow::Result<()> {
    let name = config.name();
    let refills = running.refills.now();
    refill::obey(running, config)?;
    fill(running, config, beat)?;
    if running.shutdown.is_hurrying() {
        return Ok(());
    }
    let reader = running.log.reader(name)?;
    let seconds = running.metrics.delivery_seconds.with_label_values(&[name]);
    let mut feed = LogFeed { running, name, reader, refills, seconds, beat, idle: Idle::new(IDLE) };
    let context = SinkContext {
        shutdown: running.shutdown.clone(),
        watch: running.watch(name),
        records_locations: true,
        ..SinkContext::new(running.folder.join(name))
    };
    pump(&mut feed, config, &context)
}

/// Delivers. If a refill is ordered or the credentials changed, the sink is opened again. If the destination was
/// replaced, the counters are reset and this attempt ends with an error; the next attempt treats the destination as
/// new.
fn deliver_or_begin_anew(running: &Running, name: &str, beat: &Beat) -> anyhow::Result<()> {
    loop {
        running.watch(name).is_up_to_date();
        let config = running.config();
        let Some(sink) = config.sink(name) else { return Ok(()) };
        let result = deliver(running, sink, beat);
        let Err(error) = &result else { return result };
        match error.downcast_ref() {
            Some(SinkError::Outdated) => tracing::info!(sink = name, "{error}"),
            Some(SinkError::Replaced { .. }) => {
                restart_sink::begin(running, sink, &error.to_string())?;
                return result;
            }
            _ if error.is::<RefillOrdered>() => {}
            _ => return result,
        }
    }
}

/// The sink must be opened again for a refill.
#[derive(Debug, thiserror::Error)]
#[error("the operator ordered a backfill")]
struct RefillOrdered;

struct LogFeed<'a> {
    running: &'a Running,
    name: &'a str,
    reader: Reader,
    /// The orders to refill a sink when the sink's own was last looked for.
    refills: u64,
    seconds: Histogram,
    beat: &'a Beat,
    idle: Idle,
}

impl LogFeed<'_> {
    fn is_paused(&self) -> bool {
        self.running.pauses.is_sink_paused(self.name)
    }
}

impl Feed for LogFeed<'_> {
    fn cursor(&self) -> Cursor {
        self.reader.cursor().clone()
    }

    fn next(&mut self) -> anyhow::Result<Vec<Arc<Entry>>> {
        let refills = self.running.refills.now();
        if std::mem::replace(&mut self.refills, refills) != refills
            && refill::is_ordered(&self.running.folder, self.name)
        {
            return Err(RefillOrdered.into());
        }
        if self.running.watch(self.name).is_outdated() {
            return Err(SinkError::Outdated.into());
        }
        if self.is_paused() {
            self.beat.idle();
            self.running.shutdown.rest(self.idle.time());
            return Ok(Vec::new());
        }
        Ok(self.reader.next(BATCH_EVENTS, BATCH_BYTES, self.idle.time())?)
    }

    fn has_ended(&self) -> bool {
        // The events of a paused sink stay pending; the end does not wait for it.
        self.reader.is_closed_and_drained() || (self.is_paused() && self.running.shutdown.is_finishing())
    }

    fn commit(&mut self, cursor: Cursor) -> anyhow::Result<()> {
        Ok(self.reader.commit(cursor)?)
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
