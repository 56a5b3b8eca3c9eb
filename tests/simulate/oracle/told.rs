//! Property 5: `seine why` and `seine audit` report the true state.

use super::ends::is_forgotten;
use super::{Case, Event, Told};
use crate::world::settings::{Removed, Sink};
use crate::world::split;

pub fn stories(case: &Case) -> Vec<String> {
    let mut stories: Vec<String> = case.ends.told.iter().flat_map(|told| lies(case, told)).collect();
    stories.extend(case.ends.audit.iter().cloned());
    stories
}

/// Compares the answer of `seine why` about each destination with its content.
fn lies(case: &Case, told: &Told) -> Vec<String> {
    let sinks =
        case.settings.sinks.iter().filter(|sink| sink.removed == Removed::Delete && is_as_it_was_left(case, sink));
    let lie = |sink: &Sink| {
        let held = case.ends.held.get(&sink.name)?;
        let said = told.sinks.get(&sink.name)?;
        let has = held.contains_key(&told.url);
        let is_lie = match said.as_str() {
            "delivered" => !has,
            // The written rule (`seine forget`): as if no link had led there.
            "not_yet" => has && !is_forgotten_now(case, &told.url),
            // By the same rule the destination keeps its document, and a later answer need not be a page.
            "removed" => held.get(&told.url).is_some_and(|it| !is_forgotten(case, split(&told.url).0, it.fetched_ms)),
            _ => false,
        };
        let there = if has { "holds it" } else { "does not hold it" };
        is_lie.then(|| {
            format!("why says of {} ({}) that {} is at {said}, which {there}", told.url, told.state, sink.name)
        })
    };
    sinks.filter_map(lie).collect()
}

/// Whether its host was forgotten and the URL was not fetched since, except as the target of a redirect, whose page belongs to the
/// redirecting URL. The last run, without `--stay`, begins after `why` was asked.
fn is_forgotten_now(case: &Case, url: &str) -> bool {
    let asked_by = |at: u64| case.ends.ran_out_from == 0 || at < case.ends.ran_out_from;
    let own = case.oracle.requests.of(url).filter(|(first, _)| first.from.is_none() && asked_by(first.at));
    let last = own.map(|(first, _)| first.at).max().unwrap_or_default();
    is_forgotten(case, split(url).0, last)
}

/// Whether no event of the script has touched the destination.
pub(super) fn is_as_it_was_left(case: &Case, sink: &Sink) -> bool {
    !case.oracle.events.iter().any(|(_, _, event)| matches!(event, Event::Destination(it) if it.which == sink.to))
}
