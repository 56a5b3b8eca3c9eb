//! The judge: decides what an answer means for its URL, its host and the destinations. Pure functions of plain data: no
//! I/O, no clock, no frontier. The worker asks [`judge`] about what it fetched; the validator asks [`record::judge`]
//! about what it reads from the log. See README.md.

pub(crate) mod admission;
pub(crate) mod alias;
pub mod blame;
mod canonical;
pub mod change;
mod dates;
mod doubt;
mod keep;
mod misnamed;
mod preferences;
pub mod reading;
pub(crate) mod record;
pub(crate) mod redirect;
pub(crate) mod reevaluation;
pub mod retry;
pub mod robots;
mod text;
pub mod trouble;
pub(crate) mod upkeep;
mod verdict;
pub(crate) mod wall;
pub(crate) mod withheld;
pub(crate) mod worker_results;

use std::collections::BTreeSet;
use std::time::Duration;

use blame::ChargedTo;
pub use misnamed::is_misnamed_page;
use reading::Reading;
use seine_frontier::Work;
use seine_frontier::scope::Scope;
use seine_parse::page::preferences::Statement;
use seine_parse::page::{Again, DuplicateOf, EpochMs, PageEvent, Response, Withheld};
use seine_policies::duplicates::Content;
pub use verdict::Verdict;

use crate::config::Config;

/// What a worker fetched.
pub struct Fetched<'f> {
    /// The facts of the fetch: outcome, redirects, times. Its decisions are still empty.
    pub event: &'f PageEvent,
    /// The facts read from its body.
    pub reading: &'f Reading,
    /// Further facts about its requests.
    pub context: &'f FetchContext,
}

/// The facts of a fetch that are not in its event.
#[derive(Debug, Clone)]
pub struct FetchContext {
    /// Who is charged for the outcome ([`blame`]).
    pub whose: ChargedTo,
    /// The earliest time of the next request to the host that was asked last.
    pub not_before: EpochMs,
    /// The URL under which the page is delivered, if another URL led to it first.
    pub owner: Option<Owner>,
    /// Statements of the host about the use of the page. None if no request was due.
    pub host_statements: Option<Vec<Statement>>,
    /// When the robots.txt that applied to the last request was fetched.
    pub robots_ms: Option<EpochMs>,
}

impl FetchContext {
    /// A fetch of which only this is known.
    pub fn charged(whose: ChargedTo, not_before: EpochMs) -> FetchContext {
        FetchContext { whose, not_before, owner: None, host_statements: None, robots_ms: None }
    }
}

/// Another URL owns the redirect target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub url: String,
    /// The redirect target, normalised.
    pub target: String,
}

/// The settings of the crawl that decide.
#[derive(Clone, Copy)]
pub struct Policy<'p> {
    pub config: &'p Config,
    pub scope: &'p Scope,
    /// The values of `min_change` of the sinks, in bits; empty if nobody needs distances of changes.
    pub thresholds: &'p BTreeSet<u8>,
}

/// A look-up in the frontier that a verdict needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Which page is delivered for this canonical URL? `leaves_after`: see `Reservation::reserve_canonical_slot`.
    CanonicalSlot { canonical: String, leaves_after: Option<Duration> },
    /// Which page was first with this content? `within`: see `Reservation::reserve_content`.
    ContentSlot { content: Content, within: u8 },
}

/// The answers so far. The outer option is none as long as nobody asked.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// To [`Question::CanonicalSlot`]: why the page is not delivered, or none if it is.
    pub canonical_slot: Option<Option<Withheld>>,
    /// To [`Question::ContentSlot`]: the page that it duplicates, or none if it is the first.
    pub content_slot: Option<Option<DuplicateOf>>,
}

/// The judge's next step.
#[derive(Debug)]
pub enum Step {
    /// Look this up, add the answer, and judge again.
    Ask(Question),
    Decided(Box<Verdict>),
}

/// Shared by the parts of the judge: all facts, and the first decisions.
#[derive(Clone, Copy)]
struct Case<'c> {
    event: &'c PageEvent,
    reading: &'c Reading,
    context: &'c FetchContext,
    known: &'c Work,
    policy: &'c Policy<'c>,
    /// The URL is tried again, so the answer is not final.
    again: Option<Again>,
}

impl Case<'_> {
    fn is_final(&self) -> bool {
        self.again.is_none()
    }
}

/// Decides what a fetch means. `known`: the URL and its record before the fetch. Ends in a verdict after at most two
/// questions.
pub fn judge(fetched: &Fetched, known: &Work, policy: &Policy, answers: &Answers) -> Step {
    match decide(fetched, known, policy, answers) {
        Ok(verdict) => Step::Decided(Box::new(verdict)),
        Err(question) => Step::Ask(question),
    }
}

fn decide(fetched: &Fetched, known: &Work, policy: &Policy, answers: &Answers) -> Result<Verdict, Question> {
    let Fetched { event, reading, context } = *fetched;
    let case = Case { event, reading, context, known, policy, again: again(event, context, known, policy) };
    let preferences = preferences::all(event, &reading.preferences, known, context.host_statements.as_deref());
    let seen = withheld::withheld(&case, preferences.as_deref());
    let (withheld, drops_reservations) = match seen {
        Some(withheld) => (Some(withheld), false),
        None => canonical::slot(&case, answers)?,
    };
    let change = case.is_final().then(|| change::of(&case, withheld.as_ref())).flatten();
    let (relevance, model) = text::relevance(&case);
    Ok(Verdict {
        again: case.again,
        preferences,
        drops_reservations,
        text: text::change(&case, change),
        likeness: text::likeness(&case, change, withheld.as_ref(), answers)?,
        withheld,
        change,
        relevance,
        model,
        was_duplicate: known.was_duplicate(),
    })
}

/// When the URL is tried again. A body whose transfer was complete, but not its content coding, is charged to the URL.
fn again(event: &PageEvent, context: &FetchContext, known: &Work, policy: &Policy) -> Option<Again> {
    let config = &policy.config.frontier;
    let of_cut = || retry::again(event, ChargedTo::Page, 0, None, config);
    let is_cut = event.response().is_some_and(Response::is_cut);
    retry::again(event, context.whose, context.not_before, known.put_off_since, config)
        .or_else(|| if is_cut { of_cut() } else { None })
}
