//! Decides whose trouble an outcome is: nobody's, the host's, the URL's, or that of a part of the host.

use seine_frontier::{Cause, Errors, Trouble, Work, url_mark};
use seine_parse::page::{EpochMs, FailureReason, Outcome, Truncated};
use seine_simulation_hooks::planted;

use super::trouble::idle_ms;
use crate::config::FrontierConfig;

/// After this many truncated bodies in a row, the host is no longer charged; then each URL is.
const MAX_TRUNCATED_IN_A_ROW: u32 = 4;

/// The party that is charged for an outcome. Outages of this machine are handled before (see `visit::outage`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChargedTo {
    /// Nobody: it is an answer, or a failure that retries cannot change.
    Nobody,
    /// The host backs off. The URL waits and is charged no attempt.
    Host,
    /// The URL is charged an attempt.
    Page,
    /// A part of the host: many of its URLs fail while others are answered. The URL waits and is charged no attempt;
    /// the host does not back off.
    Part,
}

/// The blame that an outcome alone implies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blame {
    pub whose: ChargedTo,
    /// The host is first asked for another page that is known to exist. A URL must not be charged for what may be host
    /// trouble, nor the host for what may be trouble of a few pages.
    pub is_in_question: bool,
}

/// The kinds of outcomes.
pub(super) enum OutcomeKind {
    /// The host answered.
    Answer,
    /// Says nothing about the host.
    Nothing,
    /// The connection failed before the URL was requested.
    Connection,
    /// The host asked for a pause, broke off, or put a wall before the page. This concerns all of its URLs, unless only
    /// one gets it again and again.
    Rejection,
    /// Charged to the URL while other URLs succeed, and to the host if several URLs fail in a row.
    Either,
    /// The body was truncated.
    Cut,
    /// The body was too slow.
    Slow,
}

pub(super) fn kind_of(outcome: &Outcome) -> OutcomeKind {
    use FailureReason::*;
    match outcome {
        Outcome::Response(response) if response.is_cut() => match response.truncated {
            Some(Truncated::Time) => OutcomeKind::Slow,
            _ => OutcomeKind::Cut,
        },
        Outcome::Response(response) if response.is_wall_of_host() => OutcomeKind::Rejection,
        Outcome::Response(response) if response.held_wall().is_some() => OutcomeKind::Answer,
        Outcome::Response(response) => match response.status {
            408 | 421 | 425 | 429 | 503 => OutcomeKind::Rejection,
            500.. => OutcomeKind::Either,
            _ => OutcomeKind::Answer,
        },
        Outcome::Failure(failure) => match failure.reason {
            Dns | Resolver | NoRoute | OpenFiles | Connect | ConnectionRefused | Tls | RobotsUnreachable => {
                OutcomeKind::Connection
            }
            ConnectionBroken => OutcomeKind::Rejection,
            Timeout | Protocol => OutcomeKind::Either,
            UnwantedType => OutcomeKind::Answer,
            PrivateAddress | RobotsDenied | TooManyRedirects | BadRedirect | BadUrl | HostBusy | HostUnreachable
            | OutOfScope | Alias | UnknownHost | Fault => OutcomeKind::Nothing,
            Cut => OutcomeKind::Cut,
        },
    }
}

/// Decides who is charged for the outcome of a request for `work`, from this outcome alone. `before`: the host's trouble
/// just before. `was_reached`: the host is known to have answered ever.
pub fn blame(
    outcome: &Outcome,
    work: &Work,
    before: Option<&Trouble>,
    was_reached: bool,
    config: &FrontierConfig,
) -> Blame {
    let whose = match whose(outcome, &work.url, work.was_put_off, before) {
        // It is not known yet whether the host answers at all.
        ChargedTo::Part if !was_reached => ChargedTo::Host,
        whose => whose,
    };
    let is_in_question = match whose {
        ChargedTo::Nobody | ChargedTo::Part => false,
        ChargedTo::Page => leaves_host_in_question(outcome, work, before, config),
        ChargedTo::Host => may_be_the_pages(outcome),
    };
    Blame { whose, is_in_question }
}

impl Blame {
    /// Decides who is charged, after the answer to the question. `control`: whether the host answered for the other page;
    /// none if there is no such page, or nobody asked.
    pub fn after(self, control: Option<bool>, outcome: &Outcome, work: &Work) -> ChargedTo {
        match control {
            Some(true) => whose_of_a_host_that_answers(outcome, work),
            Some(false) => ChargedTo::Host,
            None => self.whose,
        }
    }
}

/// Decides who is charged for the outcome of `url`. `trouble`: the host's trouble just before. `was_put_off`: see
/// [`seine_frontier::Work::was_put_off`].
pub fn whose(outcome: &Outcome, url: &str, was_put_off: bool, trouble: Option<&Trouble>) -> ChargedTo {
    // If only this URL has failed, that says nothing yet about its host.
    let mark = url_mark(url);
    let is_of_it = |trouble: &Trouble| trouble.suspect.is_none_or(|suspect| suspect == mark);
    let was_well = trouble.is_none_or(|trouble| trouble.failures == 0 && is_of_it(trouble));
    match kind_of(outcome) {
        OutcomeKind::Answer | OutcomeKind::Nothing => ChargedTo::Nobody,
        OutcomeKind::Connection if planted::is("page_pays_for_host") => ChargedTo::Page,
        OutcomeKind::Connection => ChargedTo::Host,
        // The host was healthy after the last failure, so it is this URL.
        OutcomeKind::Rejection if was_put_off && trouble.is_none_or(is_answering) => ChargedTo::Page,
        OutcomeKind::Rejection
            if !asks_for_rest(outcome) && trouble.is_none_or(|trouble| answers_others(trouble, mark)) =>
        {
            ChargedTo::Part
        }
        OutcomeKind::Rejection => ChargedTo::Host,
        OutcomeKind::Either if was_well => ChargedTo::Page,
        OutcomeKind::Either => ChargedTo::Host,
        // Two different URLs in a row: it is host trouble.
        OutcomeKind::Cut if !was_well && trouble.is_some_and(breaks_off) => ChargedTo::Host,
        OutcomeKind::Cut | OutcomeKind::Slow => ChargedTo::Page,
    }
}

/// The host answered the last request.
fn is_answering(trouble: &Trouble) -> bool {
    trouble.failures == 0 && trouble.suspect.is_none()
}

/// The host answered just before, or only one other URL has failed since. So this URL may fail by itself.
fn answers_others(trouble: &Trouble, mark: u64) -> bool {
    trouble.failures == 0 && trouble.suspect != Some(mark) && !trouble.errors.are_two_in_a_row()
}

/// The server asked for a pause itself: for the whole host, not for one URL.
fn asks_for_rest(outcome: &Outcome) -> bool {
    let Outcome::Response(response) = outcome else { return false };
    response.status == 429 || response.headers.get("retry-after").is_some()
}

/// Its bodies are truncated, and that may pass.
fn breaks_off(trouble: &Trouble) -> bool {
    trouble.cause == Cause::Failure(FailureReason::Cut) && trouble.failures < MAX_TRUNCATED_IN_A_ROW
}

/// Its bodies were truncated too often in a row to be a temporary trouble.
pub(super) fn is_permanently_truncating(trouble: &Trouble) -> bool {
    trouble.cause == Cause::Failure(FailureReason::Cut) && trouble.failures >= MAX_TRUNCATED_IN_A_ROW
}

/// The URL failed in a way that may be host trouble, and only this URL can tell: nothing else was answered since its
/// last failure, or this is its last attempt. True for the last page of a host that is down.
fn leaves_host_in_question(outcome: &Outcome, work: &Work, before: Option<&Trouble>, config: &FrontierConfig) -> bool {
    let is_alone = before.is_some_and(|before| before.suspect == Some(url_mark(&work.url)));
    matches!(kind_of(outcome), OutcomeKind::Either) && (is_alone || work.attempt >= config.max_retries)
}

/// Updates the error statistics of a host's URLs. If many fail together, the first success makes all of them healthy
/// again.
pub(crate) fn errors_after(
    outcome: &Outcome,
    work: &Work,
    ended_ms: EpochMs,
    before: Option<&Trouble>,
    config: &FrontierConfig,
) -> Errors {
    let errors = before.map(|before| before.errors).unwrap_or_default();
    let is_first = work.attempt == 0 && !work.was_put_off;
    match (kind_of(outcome), before) {
        (OutcomeKind::Answer, _) if !is_first => Errors::default(),
        (OutcomeKind::Answer, _) => errors.first_request(false, ended_ms),
        (OutcomeKind::Either | OutcomeKind::Rejection, before) => {
            let idle_ms = before.map_or(0, |before| idle_ms(before, ended_ms, config));
            let many_since = errors.many_since.map(|since| since + idle_ms);
            let errors = Errors { many_since, ..errors };
            if is_first { errors.first_request(true, ended_ms) } else { errors }
        }
        (OutcomeKind::Nothing | OutcomeKind::Connection | OutcomeKind::Cut | OutcomeKind::Slow, _) => errors,
    }
}

/// A failure that occurs with host trouble, but also with single pages of a healthy host.
fn may_be_the_pages(outcome: &Outcome) -> bool {
    match kind_of(outcome) {
        OutcomeKind::Either => true,
        OutcomeKind::Rejection => !asks_for_rest(outcome),
        _ => false,
    }
}

/// Decides who is charged if the host answers for another page. A URL that is rejected for the first time waits a little before
/// it is charged.
fn whose_of_a_host_that_answers(outcome: &Outcome, work: &Work) -> ChargedTo {
    match kind_of(outcome) {
        OutcomeKind::Rejection if !work.was_put_off => ChargedTo::Part,
        _ => ChargedTo::Page,
    }
}

/// Whether the host answered, whatever it said.
pub fn is_answer(outcome: &Outcome) -> bool {
    matches!(kind_of(outcome), OutcomeKind::Answer | OutcomeKind::Cut | OutcomeKind::Slow)
}

/// The cause of a failed attempt.
pub(crate) fn cause_of(outcome: &Outcome) -> Cause {
    match outcome {
        Outcome::Response(response) if response.is_cut() => Cause::Failure(FailureReason::Cut),
        Outcome::Response(response) => match response.held_wall() {
            Some(wall) => Cause::Wall(wall.kind),
            None => Cause::Status(response.status),
        },
        Outcome::Failure(failure) => Cause::Failure(failure.reason),
    }
}
