//! Seeds, and the scope given by their hosts.

use std::sync::Arc;

use seine_frontier::ScopeRule;
use seine_frontier::scope::Scope;
use seine_frontier::{
    EmbeddedFrontier, Found, FoundBy, FrontierError, HostLeases, Notes, Proposal, Scheduler, Verdicts,
};
use seine_parse::page::EpochMs;
use seine_system::clock::now_ms;

use super::error::CrawlError;
use super::start_disk_space::StartDiskSpace;
use crate::config::Config;

/// The scope of a crawl, stored with its frontier.
pub(super) const SCOPE_NOTE: &str = "scope";

/// The scope of the crawl: the hosts of the seeds of this run and of all earlier runs.
pub(super) fn scope(
    config: &Config,
    frontier: &EmbeddedFrontier,
    seeds: &[String],
    room: &mut StartDiskSpace,
) -> Result<Scope, CrawlError> {
    let known = frontier.note(SCOPE_NOTE)?;
    if seeds.is_empty() && known.is_none() {
        return Err(CrawlError::NoSeeds);
    }
    let scope = match known {
        Some(note) => Scope::from_note(&config.scope, &note, seeds)?,
        None => Scope::new(&config.scope, seeds)?,
    };
    room.write(frontier, || frontier.set_note(SCOPE_NOTE, &scope.to_note()))?;
    if config.scope.rule == ScopeRule::Any {
        tracing::warn!("scope is any: the crawl follows links to every host");
    }
    Ok(scope)
}

pub(super) fn seed_proposals(seeds: &[String], way: FoundBy, now: EpochMs) -> Vec<Proposal> {
    let found = Some(Arc::new(Found { way, on: None, at: now }));
    seeds.iter().map(|url| Proposal { found: found.clone(), ..Proposal::seed(url) }).collect()
}

pub(super) fn propose_seeds(frontier: &EmbeddedFrontier, seeds: &[String]) -> Result<(), FrontierError> {
    let now = now_ms();
    let proposed = frontier.propose(&seed_proposals(seeds, FoundBy::Seed, now), now)?;
    tracing::info!(new = proposed.added, known = proposed.known, "seeds");
    Ok(())
}

/// The seeds of the present round. A round ends when nothing is left to fetch.
const ROUND_NOTE: &str = "round";
/// Seeds queued per batch.
const SEEDS: usize = 1000;

/// Queues given seeds again, whatever their state. Seeds that were fetched in the present round are left out, because
/// the same command continues the round.
pub(super) fn try_seeds_again(frontier: &EmbeddedFrontier, seeds: &[String]) -> Result<(), FrontierError> {
    if seeds.is_empty() {
        return Ok(());
    }
    let round = round_of(seeds);
    let goes_on = frontier.note(ROUND_NOTE)?.is_some_and(|note| note == round);
    let mut count = 0;
    for seeds in seeds.chunks(SEEDS) {
        let mut again = Vec::new();
        for seed in seeds {
            let is_there = goes_on && frontier.page(seed)?.is_some_and(|page| page.state.is_found());
            if !is_there {
                again.push(seed.clone());
            }
        }
        count += frontier.try_again(&again, now_ms())?;
    }
    if count > 0 {
        tracing::info!(seeds = count, "seeds that failed earlier are fetched again");
    }
    frontier.set_note(ROUND_NOTE, &round)
}

/// Nothing is left to fetch, so the same seeds will be fetched again.
pub(super) fn end_round(frontier: &EmbeddedFrontier) -> Result<(), FrontierError> {
    frontier.set_note(ROUND_NOTE, "")
}

fn round_of(seeds: &[String]) -> String {
    let mut sorted: Vec<&str> = seeds.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.dedup();
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(sorted.join("\n").as_bytes()))
}
