//! Reads the bodies of fetched pages, off the runtime's threads where that takes long.

use std::sync::Arc;

use seine_delivery::large;
use seine_frontier::Work;
use seine_parse::Derived;
use seine_parse::page::PageEvent;
use seine_system::blocking;

use super::visitor::Visitor;
use crate::judge::Policy;
use crate::judge::reading::{self, Reading, reads_text};

/// Parsing a longer page would block other tasks of this thread …
const LONG: usize = 256 * 1024;
/// … and extracting its text takes several times as long as the rest.
const LONG_TEXT: usize = 48 * 1024;

impl Visitor {
    /// Reads what the judge needs. What is derived from the body is not kept if it is large; the validator then reads it
    /// again.
    pub(super) async fn read(&self, event: &PageEvent, work: &Work) -> (Reading, Option<Arc<Derived>>) {
        let (scope, options) = (self.scope.now(), &self.derive);
        let policy = Policy { config: &self.config, scope: &scope, thresholds: &self.thresholds };
        let long = if reads_text(&policy) { LONG_TEXT } else { LONG };
        let read = |derived: &Derived| reading::read(event, work, derived, &policy);
        let small = || {
            let derived = seine_parse::facts(event, large::decode_small(event, options)?, options);
            Some((read(&derived), Some(Arc::new(derived))))
        };
        let small = match event.response() {
            Some(response) if response.body.len() > long => blocking::in_place(small),
            _ => small(),
        };
        if let Some(read) = small {
            return read;
        }
        let _turn = large::turn().await;
        let facts = |decoded| match event.kind.is_delivered() {
            true => seine_parse::facts(event, decoded, options),
            false => seine_parse::content(event, decoded, options),
        };
        (blocking::in_place(|| read(&large::derive(event, options, facts))), None)
    }
}
