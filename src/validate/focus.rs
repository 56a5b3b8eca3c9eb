//! Link scores: learning from a page about the link that led to it, and scoring its own links.
//!
//! The lessons of a batch are stored with the batch. So the model always corresponds to the log up to the validator's
//! offset, after any crash: a start reads the last complete model and the lessons since. Scores of queued URLs become
//! outdated, so for each page a few queued URLs are scored again, in turn.

use std::collections::HashMap;

use ::url::Url;
use parking_lot::{Mutex, MutexGuard};
use seine_delivery::Entry;
use seine_frontier::{Change, FrontierError, Harvest, Learned, PageRecord, QueuePosition, Ranked, Validation};
use seine_parse::Derived;
use seine_parse::page::{EpochMs, Kind, PageEvent, Response};
use seine_policies::focus::{self, Lead, Learner, Lesson, LinkWords, Source, link_words};

use super::Validator;
use super::proposals::by_depth;
use crate::config::FocusConfig;
use crate::judge::record::Seen;

/// Queued URLs scored again per validated page …
const RANKED_AGAIN: usize = 24;
/// … and per batch, because the store is faster with many at a time.
const AT_A_TIME: usize = 512;
/// The complete model is stored after this many bytes of lessons.
const LESSON_BYTES: usize = 1 << 20;

/// The scoring of links; one per validator.
pub(super) struct Focus {
    config: FocusConfig,
    state: Mutex<State>,
}

struct State {
    learner: Learner,
    /// Bytes of lessons since the complete model was stored.
    lesson_bytes: usize,
    /// Lessons of the present batch.
    lessons: Vec<u8>,
    /// The complete model must be stored, because lessons alone are not enough.
    is_to_be_written: bool,
    /// The position in the queues, and the number of URLs still to score.
    position: Option<QueuePosition>,
    owed: usize,
}

/// Scores the links of one page.
pub(super) struct Ranking<'f> {
    state: MutexGuard<'f, State>,
    min_rank: f32,
    source: Source,
    origin: &'f str,
    words: HashMap<String, LinkWords>,
}

impl Focus {
    /// None if links have no scores.
    pub(super) fn open(frontier: &dyn Validation, config: FocusConfig) -> Result<Option<Focus>, FrontierError> {
        if !config.ranks {
            return Ok(None);
        }
        let StoredModel { learner, lesson_bytes, is_readable } = load_model(frontier)?;
        // The next lesson replaces what cannot be read.
        let is_to_be_written = !is_readable;
        let state = State { learner, lesson_bytes, lessons: Vec::new(), is_to_be_written, position: None, owed: 0 };
        Ok(Some(Focus { config, state: Mutex::new(state) }))
    }

    /// Learns from a page. `before`: it was fetched before, so it teaches nothing new about the link.
    pub(super) fn learn(&self, event: &PageEvent, change: &Change, lead: Option<&Lead>, before: Option<&PageRecord>) {
        let (Change::Page { .. }, Some(response), Kind::Page) = (change, event.response(), event.kind) else { return };
        // A 304 teaches nothing new.
        if response.status == 304 || (!self.config.learns && !response.is_success()) {
            return;
        }
        let relevance = if response.is_success() { event.relevance.relevance } else { 0.0 };
        let is_relevant = response.is_success() && event.relevance.is_relevant;
        // No link led to a seed.
        let lead = lead.filter(|_| self.config.learns && before.is_none() && event.depth > 0);
        let mut state = self.state.lock();
        if event.model.as_deref().is_some_and(|judge| state.learner.judged_by(judge)) {
            state.is_to_be_written = true;
        }
        let relevance = if relevance.is_finite() { relevance } else { 0.0 };
        let lesson = state.learner.lesson(lead, &event.url, relevance, is_relevant);
        state.learner.learn(&lesson);
        lesson.append_to(&mut state.lessons);
    }

    /// Starts scoring the links of a page that `lead` led to.
    pub(super) fn ranking<'f>(&'f self, entry: &'f Entry, derived: &Derived, lead: Option<&Lead>) -> Ranking<'f> {
        let event = &*entry.event;
        let source = match derived.is_html && event.kind == Kind::Page {
            true => Source::Page {
                relevance: event.relevance.relevance,
                is_relevant: event.relevance.is_relevant,
                away: lead.and_then(Lead::away),
            },
            false => Source::List,
        };
        let words = match (source, Url::parse(&event.final_url)) {
            (Source::Page { .. }, Ok(page)) if !derived.links.is_empty() => link_words(&derived.text(), |base| {
                let resolver = seine_parse::Resolver::new(&page, base, derived, entry.drop_parameters());
                move |href: &str| resolver.resolve(href)
            }),
            _ => HashMap::new(),
        };
        let origin = seine_parse::url::origin(&event.final_url).unwrap_or_default();
        Ranking { state: self.state.lock(), min_rank: self.config.min_rank as f32, source, origin, words }
    }

    /// The lessons since the last call, for the batch.
    pub(super) fn learned(&self) -> Learned {
        let mut state = self.state.lock();
        let lessons = std::mem::take(&mut state.lessons);
        state.lesson_bytes += lessons.len();
        if lessons.is_empty() {
            return Learned::Nothing;
        }
        if std::mem::take(&mut state.is_to_be_written) || state.lesson_bytes >= LESSON_BYTES {
            state.lesson_bytes = 0;
            return Learned::Model(state.learner.to_bytes());
        }
        Learned::Lessons(lessons)
    }

    /// Scores some queued URLs again with the present model, a number for each of these pages.
    pub(super) fn rank_some_again(
        &self,
        frontier: &dyn Validation,
        pages: usize,
        now: EpochMs,
    ) -> Result<(), FrontierError> {
        let state = &mut *self.state.lock();
        if !self.config.learns {
            return Ok(());
        }
        state.owed += pages * RANKED_AGAIN;
        if state.owed >= AT_A_TIME {
            state.position = rank_again(frontier, &state.learner, state.position, state.owed, now)?;
            state.owed = 0;
        }
        Ok(())
    }
}

impl Ranking<'_> {
    /// None if the score is too low to follow the link.
    pub(super) fn of(&self, url: &str) -> Option<(Lead, u8)> {
        let none = LinkWords::default();
        let leads_elsewhere = seine_parse::url::origin(url).unwrap_or_default() != self.origin;
        let lead = Lead::new(self.source, leads_elsewhere, self.words.get(url).unwrap_or(&none));
        let score = self.state.learner.score(&lead, url);
        (focus::rank(score) >= self.min_rank).then(|| (lead, focus::priority(score)))
    }
}

/// The stored model.
pub struct StoredModel {
    pub learner: Learner,
    /// Bytes of lessons since it was stored completely.
    lesson_bytes: usize,
    /// An unreadable model starts empty.
    is_readable: bool,
}

pub fn load_model(frontier: &dyn Validation) -> Result<StoredModel, FrontierError> {
    let load_model = frontier.learned()?;
    let read = || {
        let mut learner = load_model.model.as_deref().map_or_else(|| Ok(Learner::default()), Learner::from_bytes)?;
        for lessons in &load_model.lessons {
            Lesson::read_all(lessons)?.iter().for_each(|lesson| learner.learn(lesson));
        }
        Ok(learner)
    };
    let lesson_bytes = load_model.lessons.iter().map(Vec::len).sum();
    match read() {
        Ok(learner) => Ok(StoredModel { learner, lesson_bytes, is_readable: true }),
        Err::<_, focus::UnreadableModel>(error) => {
            tracing::warn!(%error, "the learned link scores cannot be read; Seine learns them again");
            Ok(StoredModel { learner: Learner::default(), lesson_bytes: 0, is_readable: false })
        }
    }
}

/// Scores up to `at_most` queued URLs again, from a position on. Returns the next position; none: the beginning.
pub fn rank_again(
    frontier: &dyn Validation,
    learner: &Learner,
    after: Option<QueuePosition>,
    at_most: usize,
    now: EpochMs,
) -> Result<Option<QueuePosition>, FrontierError> {
    let rank = |queued: &Ranked| match (queued.kind, queued.depth) {
        (Kind::Sitemap, _) => focus::PRIORITY_NEUTRAL,
        (Kind::Requisite, steps) => by_depth(steps),
        (Kind::Page, 0) => 0,
        (Kind::Page, _) => focus::priority(learner.score(queued.lead, queued.url)),
    };
    frontier.rank_again(after, at_most, &rank, now)
}

impl Validator {
    /// Counts a page, and learns from it. Returns the link that led to it, if it is stored.
    pub(super) fn learn(
        &self,
        Seen { event, before, .. }: Seen,
        change: &Change,
        harvest: &mut Harvest,
    ) -> Result<Option<Lead>, FrontierError> {
        if event.kind == Kind::Page && event.response().is_some_and(Response::is_success) {
            harvest.judged += 1;
            harvest.relevant += u64::from(event.relevance.is_relevant);
            self.metrics.harvested.add(event.relevance.is_relevant);
        }
        let Some(focus) = &self.focus else { return Ok(None) };
        let lead = self.frontier.lead(&event.url)?.filter(|_| event.kind == Kind::Page);
        focus.learn(event, change, lead.as_ref(), before);
        Ok(lead)
    }
}
