//! Decides whether an answer is a wall instead of the page of its URL: a challenge, a consent or log-in page, an error page
//! with status 200, a parked domain. `seine_parse::walls` recognises them.

use seine_parse::decode::{Decoded, decode_body};
use seine_parse::page::{Kind, Outcome, PageEvent};
use seine_parse::walls::{self, Answer, MAX_BYTES, Wall};

use crate::config::Walls;

/// Marks an answer that is a wall. `asked`: the URL that was requested first, and its kind. `url`: the URL that answered.
/// Returns the decoded body, if it was needed and is complete.
///
/// An embedded resource may contain a challenge or a form of another site, so only pages and sitemaps are checked.
pub(crate) fn mark(outcome: &mut Outcome, url: &str, (asked, kind): (&str, Kind), walls: Walls) -> Option<Decoded> {
    let Outcome::Response(response) = outcome else { return None };
    if kind == Kind::Requisite {
        return None;
    }
    let answer = Answer { response, url, asked };
    let (mut wall, mut decoded) = (answer.told_by_head(), None);
    if wall.is_none() && answer.needs_body() {
        let body = decode_body(response, MAX_BYTES as u64 + 1);
        wall = answer.told_by_body(&body.body);
        decoded = Some(body).filter(|body| body.problem.is_none());
    }
    // A refusal is no page, whoever wants walls.
    let is_delivered = walls == Walls::Deliver && (200..300).contains(&response.status);
    response.wall = wall.map(|wall| Box::new(Wall { is_delivered, ..wall }));
    decoded
}

/// Marks the redirect that an event ends with, if its target is a wall that is not requested.
pub(crate) fn mark_redirect(event: &mut PageEvent, target: &str, walls: Walls) -> bool {
    let Outcome::Response(response) = &mut event.outcome else { return false };
    // With `deliver` the redirect is what it was: there is no body to deliver.
    let wall = walls::of_redirect(&event.url, target).filter(|_| walls == Walls::Hold);
    response.wall = wall.map(Box::new);
    response.wall.is_some()
}
