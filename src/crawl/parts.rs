//! The parts of a crawl: the page log's writer, the validator, the sinks, and fetching.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::deliver::deliver;
use super::dispatch::dispatch;
use super::running::Running;
use crate::page_log::VALIDATOR;
use crate::sinks::SinkError;
use crate::validate::Validator;

/// The part that writes the page log.
pub(super) const LOG: &str = "log";
/// The one that validates.
pub(super) const VALIDATING: &str = "validator";
/// The one that leases hosts to workers.
pub(super) const FETCH: &str = "fetch";
/// A part without a sign for longer is shown as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(60);

pub(super) fn start(running: &Arc<Running>, handle: &Handle) {
    let supervisor = &running.supervisor;
    let at = running.clone();
    supervisor.start(LOG, STUCK_AFTER, move |beat| Ok(at.log.run_writer(&mut || beat.progress())?));

    let at = running.clone();
    supervisor.start(VALIDATING, STUCK_AFTER, move |beat| {
        let mut reader = at.log.follower(VALIDATOR, at.frontier.cursor()?)?;
        while !reader.is_closed_and_drained() {
            let visitor = at.visitor();
            let (scope, config) = (visitor.scope.clone(), visitor.config.frontier.clone());
            let validator = Validator::new(at.frontier.clone(), scope, config, at.metrics.clone())?;
            let is_old = || !Arc::ptr_eq(&visitor.config, &at.config());
            validator.run(&mut reader, beat, &is_old, &|| visitor.changed.send_replace(()))?;
        }
        Ok(())
    });

    for sink in running.sinks.clone() {
        let at = running.clone();
        supervisor.start(&format!("sink {}", sink.name()), STUCK_AFTER, move |beat| match deliver(&at, &sink, beat) {
            Err(error) if matches!(error.downcast_ref(), Some(SinkError::ReaderGone)) => {
                at.reader_gone.notify_one();
                Ok(())
            }
            result => result,
        });
    }

    let at = running.clone();
    let handle = handle.clone();
    supervisor.start(FETCH, STUCK_AFTER, move |beat| handle.block_on(dispatch(&at, beat)));
}
