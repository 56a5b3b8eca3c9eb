//! An order of the operator is obeyed until it is taken back, also after restarts.

use super::{Case, Event};
use crate::world::{DAY, MINUTE, Order, split};

/// Visits in progress may end, and a server may still process requests that were sent before.
const MARGIN: u64 = 10 * MINUTE;

pub fn stories(case: &Case) -> Vec<String> {
    let taken = case.oracle.taken.iter();
    taken
        .filter_map(|(from, until, order)| offence(case, order, from + MARGIN, until.unwrap_or(case.world.ends_ms)))
        .collect()
}

/// The first act between two times that broke this order.
fn offence(case: &Case, order: &Order, from: u64, until: u64) -> Option<String> {
    let is_within = |at: u64| (from..until).contains(&at);
    let mut requests = case.oracle.requests.all.iter().filter(|asked| is_within(asked.at));
    match order {
        Order::Pause { .. } => {
            let asked = requests.next()?;
            Some(format!("{} was asked for at {}, while the crawl was paused", asked.url, case.day(asked.at)))
        }
        Order::Block { origin, .. } => {
            let asked = requests.find(|it| split(&it.url).0 == origin)?;
            Some(format!("{} was asked for at {}, while its host was blocked", asked.url, case.day(asked.at)))
        }
        Order::PauseSink { sink, .. } => {
            // Messages that were sent before wait in the client for as long as the server is in trouble.
            let of_server = |event: &Event| matches!(event, Event::Destination(_));
            if case.events_between(from.saturating_sub(DAY), until).any(of_server) {
                return None;
            }
            let change = case.ends.log.get(sink)?.iter().find(|change| is_within(change.at_ms))?;
            Some(format!("{sink} got {} at {}, while it was paused", change.url, case.day(change.at_ms)))
        }
        _ => None,
    }
}
