//! Hosts that rest by a delay that has become shorter.

use std::time::Duration;

use seine_frontier::{Delays, EmbeddedFrontier, FrontierError, HostRecord, Robots};
use seine_system::clock::now_ms;

use super::leased_host::{address_delay, host_delay};
use super::rules_cache::asked_delay;
use crate::config::Config;

/// Lets one host (`origin`) and its address, or all, come as early as the delays of this configuration and the
/// operator's orders allow. Returns how many hosts come earlier.
pub(crate) fn bring_forward(
    frontier: &EmbeddedFrontier,
    config: &Config,
    origin: Option<&str>,
) -> Result<u64, FrontierError> {
    let of_host = |host: &HostRecord, robots: Option<&Robots>| {
        let asked = robots.map_or(Duration::ZERO, |robots| asked_delay(robots, &config.fetch.user_agent.name));
        host_delay(&config.frontier, host.ordered_delay_ms.map(Duration::from_millis), asked)
    };
    let of_address = |ordered: Option<Duration>| address_delay(&config.frontier, ordered);
    frontier.bring_forward(origin, &Delays { of_host: &of_host, of_address: &of_address }, now_ms())
}

/// The last run may have had longer delays.
pub(crate) fn bring_forward_at_start(frontier: &EmbeddedFrontier, config: &Config) -> Result<(), FrontierError> {
    if frontier.rests_by_longer_delay() {
        bring_forward(frontier, config, None)?;
    }
    Ok(())
}

/// Whether a delay of `now` is shorter than before, so that resting hosts may come earlier.
pub(crate) fn is_any_shorter(before: &Config, now: &Config) -> bool {
    let of = |config: &Config| {
        let config = &config.frontier;
        [config.host_delay, address_delay(config, None), config.max_crawl_delay]
    };
    of(before).into_iter().zip(of(now)).any(|(before, now)| now < before)
}
