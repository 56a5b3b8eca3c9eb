//! Reads the bodies of fetched pages, off the runtime's threads where that takes long, and has them judged.

use std::collections::BTreeSet;
use std::sync::Arc;

use seine_delivery::large;
use seine_frontier::scope::CurrentScope;
use seine_frontier::{FrontierError, Reservation, Work};
use seine_parse::decode::Decoded;
use seine_parse::page::PageEvent;
use seine_parse::{DeriveOptions, Derived};
use seine_system::blocking;

use super::reserving::ReservedTarget;
use super::visitor::Services;
use crate::config::Config;
use crate::judge::reading::{self, Reading, reads_text};
use crate::judge::{self, Answers, Policy, Question, Step, Verdict};

/// Parsing a longer page would block other tasks of this thread …
const LONG: usize = 256 * 1024;
/// … and extracting its text takes several times as long as the rest.
const LONG_TEXT: usize = 48 * 1024;

/// Reads and judges what was fetched.
#[derive(Clone)]
pub(super) struct BodyReader {
    config: Arc<Config>,
    scope: Arc<CurrentScope>,
    derive: DeriveOptions,
    /// The values of `min_change` of the sinks, in bits; empty if nobody needs distances of changes.
    thresholds: BTreeSet<u8>,
}

impl BodyReader {
    pub(super) fn new(services: &Services) -> BodyReader {
        let Services { config, scope, derive, .. } = services.clone();
        BodyReader { thresholds: config.thresholds(), config, scope, derive }
    }

    /// Reads what the judge needs. Large data that is derived from the body is not kept; the validator then derives it
    /// again. `decoded`: its body, if it is decoded already.
    pub(super) async fn read(
        &self,
        event: &PageEvent,
        decoded: Option<Decoded>,
        work: &Work,
    ) -> (Reading, Option<Arc<Derived>>) {
        let (scope, options) = (self.scope.now(), &self.derive);
        let policy = Policy { config: &self.config, scope: &scope, thresholds: &self.thresholds };
        let long = if reads_text(&policy) { LONG_TEXT } else { LONG };
        let read = |derived: &Derived| reading::read(event, work, derived, &policy);
        let small = || {
            let decoded = decoded.filter(|_| event.kind.is_delivered()).or_else(|| large::decode_small(event, options));
            let derived = seine_parse::facts(event, decoded?, options);
            Some((read(&derived), Some(Arc::new(derived))))
        };
        let small = match event.response() {
            Some(response) if response.body.len() > long => blocking::block_in_place(small),
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
        (blocking::block_in_place(|| read(&large::derive(event, options, facts))), None)
    }

    /// Judges a fetch, and looks up in the frontier what the judge asks for.
    pub(super) async fn judge(
        &self,
        fetched: &judge::Fetched<'_>,
        target: Option<&ReservedTarget<'_>>,
        work: &Work,
    ) -> Result<Verdict, FrontierError> {
        let mut answers = Answers::default();
        loop {
            let step = {
                let scope = self.scope.now();
                let policy = Policy { config: &self.config, scope: &scope, thresholds: &self.thresholds };
                judge::judge(fetched, work, &policy, &answers)
            };
            match (step, target) {
                (Step::Decided(verdict), _) => return Ok(*verdict),
                (Step::Ask(Question::CanonicalSlot { canonical, leaves_after }), Some(target)) => {
                    let ask = move |reserved: &Reservation| reserved.reserve_canonical_slot(&canonical, leaves_after);
                    answers.canonical_slot = Some(target.reserved.ask(ask).await?);
                }
                (Step::Ask(Question::ContentSlot { content, within }), Some(target)) => {
                    let ask = move |reserved: &Reservation| reserved.reserve_content(content, within);
                    answers.content_slot = Some(target.reserved.ask(ask).await?);
                }
                // Without a reservation the frontier is not asked, and the slot counts as free.
                (Step::Ask(Question::CanonicalSlot { .. }), None) => answers.canonical_slot = Some(None),
                (Step::Ask(Question::ContentSlot { .. }), None) => answers.content_slot = Some(None),
            }
        }
    }
}
