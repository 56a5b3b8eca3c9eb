//! Adds seeds to a running or stopped crawl.

use std::sync::Arc;

use seine_frontier::scope::{CurrentScope, Scope};
use seine_frontier::{EmbeddedFrontier, FoundBy, HostLeases, Notes, Scheduler};
use seine_system::clock::now_ms;

use super::order_log::{ADD_SEEDS, OrderLog};
use crate::api::Refusal;
use crate::api::schema::SeedsAdded;
use crate::config::{Config, check_seed};
use crate::crawl::seeds::{SCOPE_NOTE, seed_proposals};

pub(crate) struct Seeds {
    pub(super) config: Arc<Config>,
    pub(super) frontier: Arc<EmbeddedFrontier>,
    pub(super) scope: Arc<CurrentScope>,
    pub(super) log: OrderLog,
}

impl Seeds {
    /// New seeds are queued, known ones are rechecked. Their hosts come into scope at once. The next start reads
    /// earlier pages again for links to these hosts.
    pub(crate) fn add(&self, urls: &[String], by: &str) -> Result<SeedsAdded, Refusal> {
        let mut result = SeedsAdded::default();
        let mut seeds = Vec::with_capacity(urls.len());
        for url in urls {
            // As in a seed file: `notaurl` would otherwise become a host name.
            match check_seed(url).ok().and_then(|()| seine_parse::url::parse(url)) {
                Some(seed) => seeds.push(seed),
                None => {
                    result.bad_count += 1;
                    result.bad.push(url.chars().take(200).collect());
                }
            }
        }
        result.bad.truncate(SeedsAdded::NAMED);
        self.widen_scope(&seeds)?;
        let now = now_ms();
        result.added = self.frontier.propose(&seed_proposals(&seeds, FoundBy::Added, now), now)?.added;
        result.known = seeds.len() as u64 - result.added;
        self.frontier.try_again(&seeds, now)?;
        self.frontier.flush()?;
        result.warning =
            self.log.add(by, serde_json::json!({"order": ADD_SEEDS, "urls": seeds.len()}), &description(&result));
        Ok(result)
    }

    /// The scope is on disk before the first seed is queued.
    fn widen_scope(&self, seeds: &[String]) -> Result<(), Refusal> {
        self.scope.change(|scope| {
            let wider = Scope::from_note(&self.config.scope, &scope.to_note(), seeds)
                .map_err(|error| Refusal::Bad(error.to_string()))?;
            self.frontier.set_note(SCOPE_NOTE, &wider.to_note())?;
            Ok(wider)
        })
    }
}

fn description(result: &SeedsAdded) -> String {
    let SeedsAdded { added, known, bad_count, .. } = result;
    format!("{added} seeds are new, {known} already known, {bad_count} are not complete http or https URLs")
}
