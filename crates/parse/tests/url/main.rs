//! URLs and the rules for them: normalisation, robots.txt, sitemaps.

#[path = "../support/event.rs"]
mod event;
mod feed;
mod preferences;
mod robots;
mod sitemap;
mod url;

use std::time::Duration;

use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// Hostile input must take linear time. Generous, for a debug build on a busy machine; anything not linear takes
/// minutes.
const NO_TIME: Duration = Duration::from_secs(30);

/// The same cases in every run.
fn cases(number: u32) -> ProptestConfig {
    let (rng_seed, failure_persistence) = (RngSeed::Fixed(1), None);
    ProptestConfig { rng_seed, failure_persistence, ..ProptestConfig::with_cases(number) }
}
