//! What a worker reads of a page's text: the distance from its last version, its relevance, and whether it is a
//! duplicate (`duplicates.enabled`).

use std::sync::Arc;

use seine_delivery::large;
use seine_frontier::{FrontierError, Work};
use seine_parse::Derived;
use seine_parse::decode::DecodeProblem;
use seine_parse::page::preferences::Statement;
use seine_parse::page::{Kind, Likeness, PageChange, PageEvent, Relevance, Response, TextChange, TextsGiven, Withheld};
use seine_parse::simhash::Simhash;
use seine_policies::duplicates::Content;
use seine_policies::focus;
use seine_system::blocking;

use super::claim::Claimed;
use super::visitor::Visitor;

/// What a worker needs to know of a page.
pub(super) struct Read {
    pub digest: [u8; 32],
    pub is_html: bool,
    /// Length of the decoded body.
    pub decoded: u64,
    /// The content coding has no end, so the body is truncated although its transfer was complete (a server that
    /// stopped behind a proxy).
    pub is_cut: bool,
    pub noindex: bool,
    pub preferences: Vec<Statement>,
    /// Of its text, if it is needed and may have changed.
    pub simhash: Option<Simhash>,
    /// Result of the page classifier, if it was asked.
    pub relevance: Option<Relevance>,
    pub canonical: Option<String>,
    pub derived: Option<Arc<Derived>>,
}

impl Visitor {
    /// Reads what the worker needs. The result is not kept if it is large; the validator then reads it again.
    pub(super) async fn read(&self, event: &PageEvent, work: &Work) -> Read {
        /// Parsing a longer page would block other tasks of this thread …
        const LONG: usize = 256 * 1024;
        /// … and extracting its text takes several times as long as the rest.
        const LONG_TEXT: usize = 48 * 1024;
        let is_judged = self.config.classifier.is_some();
        let reads_text = is_judged || !self.thresholds.is_empty() || self.looks_for_near_copies();
        let long = if reads_text { LONG_TEXT } else { LONG };
        let options = &self.derive;
        let read = |derived: &Derived| Read {
            digest: derived.digest,
            is_html: derived.is_html,
            decoded: derived.body.len() as u64,
            is_cut: matches!(derived.decode_problem, Some(DecodeProblem::Cut { .. })),
            noindex: derived.robots.noindex,
            preferences: derived.preferences.clone(),
            simhash: self.simhash(event, work, derived),
            relevance: self.relevance(event, work, derived),
            canonical: derived.canonical.clone(),
            derived: None,
        };
        let small = || {
            let derived = seine_parse::facts(event, large::decode_small(event, options)?, options);
            let read = read(&derived);
            Some(Read { derived: Some(Arc::new(derived)), ..read })
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
        blocking::in_place(|| read(&large::derive(event, options, facts)))
    }

    /// The simhash of the text; none if nobody needs it, or the page is unchanged.
    fn simhash(&self, event: &PageEvent, work: &Work, derived: &Derived) -> Option<Simhash> {
        let is_as_it_was = !work.was_withheld() && work.known.digest == Some(derived.digest);
        let is_wanted = (!self.thresholds.is_empty() && !is_as_it_was) || self.wants_likeness(work, is_as_it_was);
        let is_page = is_wanted && event.kind == Kind::Page;
        let response = event.response().filter(|response| is_page && response.is_success())?;
        seine_parse::simhash::of_page(derived, response.content_type(), self.looks_for_near_copies())
    }

    /// None if no page classifier is asked.
    fn relevance(&self, event: &PageEvent, work: &Work, derived: &Derived) -> Option<Relevance> {
        let classifier = self.config.classifier.as_ref()?;
        if event.response().is_some_and(|response| response.status == 304) {
            return self.judged_before(work);
        }
        // Without scores every link counts like a seed.
        let link = if self.config.frontier.focus.ranks { focus::rank_of(work.priority) } else { 1.0 };
        classifier.judge(event, derived, f64::from(link))
    }

    /// The classifier's result for the last fetch of the page.
    fn judged_before(&self, work: &Work) -> Option<Relevance> {
        let name = self.config.classifier.as_ref()?.name();
        work.known.judged.as_ref().filter(|judged| judged.model == **name).map(Relevance::from)
    }

    /// Another classifier judged it, so it must be refetched.
    pub(super) fn must_be_judged(&self, work: &Work) -> bool {
        self.config.classifier.is_some() && work.known.judged.is_some() && self.judged_before(work).is_none()
    }

    /// Set if the page is not relevant and such pages are withheld.
    pub(super) fn irrelevant(&self, event: &PageEvent, said: Option<Relevance>) -> Option<Withheld> {
        let is_left_out = self.config.frontier.focus.relevant_only && event.again.is_none();
        said.filter(|said| is_left_out && !said.is_relevant).map(|_| Withheld::Irrelevant)
    }

    /// Stores the classifier's result with its name. Without a classifier, the type decides.
    pub(super) fn judge(&self, event: &mut PageEvent, is_html: bool, said: Option<Relevance>) {
        let is_success = event.response().is_some_and(Response::is_success);
        event.relevance = said.unwrap_or(Relevance::by_type(is_html && is_success));
        event.model = self.config.classifier.as_ref().filter(|_| said.is_some()).map(|it| it.name().clone());
        if is_success && event.kind == Kind::Page {
            self.metrics.judged(event.relevance);
        }
    }

    /// None if a new or changed page has no text, or is truncated; then nothing is known about its text.
    pub(super) fn text_change(&self, event: &PageEvent, work: &Work, simhash: Option<Simhash>) -> Option<TextChange> {
        if self.thresholds.is_empty() {
            return None;
        }
        let nothing = TextsGiven::new();
        let given = match event.change? {
            PageChange::New => &nothing,
            PageChange::Changed => &work.known.texts,
            PageChange::Unchanged | PageChange::Gone => return None,
        };
        let is_whole = event.response().is_some_and(|response| !response.is_cut());
        simhash.filter(|_| is_whole).map(|now| TextChange::of(now.bits, given, &self.thresholds))
    }

    fn looks_for_near_copies(&self) -> bool {
        self.config.frontier.duplicates.is_some_and(|within| within > 0)
    }

    /// Whether the main text must be read to find near duplicates. `is_as_it_was`: the digest is unchanged.
    fn wants_likeness(&self, work: &Work, is_as_it_was: bool) -> bool {
        self.config.frontier.duplicates.is_some_and(|within| within > 0 && !(is_as_it_was && is_known(work, within)))
    }

    /// Whether a page must be refetched for duplicate detection: a 304 has no text, and a former duplicate must be
    /// delivered.
    pub(super) fn must_be_compared(&self, work: &Work) -> bool {
        let must_be = |within| work.was_there && (work.is_orphan || !is_known(work, within));
        work.kind == Kind::Page && self.config.frontier.duplicates.is_some_and(must_be)
    }

    /// None if duplicates are not detected, or the page is empty or truncated. All pages with the same beginning would
    /// otherwise be duplicates.
    pub(super) async fn likeness(
        &self,
        claimed: Option<&Claimed<'_>>,
        event: &PageEvent,
        work: &Work,
        read: &Read,
    ) -> Result<Option<Likeness>, FrontierError> {
        let is_there = event.kind == Kind::Page && event.withheld.is_none();
        let change = event.change.filter(|change| is_there && *change != PageChange::Gone);
        let (Some(within), Some(change), Some(response)) = (self.config.frontier.duplicates, change, event.response())
        else {
            return Ok(None);
        };
        if response.status == 304 {
            return Ok(work.known.likeness.clone().filter(|_| !work.is_orphan));
        }
        if response.truncated.is_some() || read.decoded == 0 {
            return Ok(None);
        }
        let known = work.known.likeness.as_ref().filter(|_| change == PageChange::Unchanged && is_known(work, within));
        if let Some(first) = known.filter(|known| known.of.is_none()) {
            return Ok(Some(first.clone()));
        }
        let simhash = match known {
            Some(known) => known.simhash,
            None => read.simhash.filter(|_| within > 0).and_then(Simhash::telling),
        };
        let content = Content::new(&read.digest, simhash);
        let of = match claimed {
            Some(claimed) => claimed.ask(move |frontier, url| frontier.claim_content(content, within, url)).await?,
            None => None,
        };
        if let Some(of) = of.as_ref().filter(|_| change != PageChange::Unchanged) {
            self.metrics.duplicates.with_label_values(&[of.kind()]).inc();
        }
        Ok(Some(Likeness { simhash, of, within }))
    }
}

/// It was judged with the same distance.
fn is_known(work: &Work, within: u8) -> bool {
    work.known.likeness.as_ref().is_some_and(|known| known.within == within)
}
