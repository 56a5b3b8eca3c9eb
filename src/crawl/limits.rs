//! Limits set by the operator, which override the configuration. They are stored in the frontier and survive restarts,
//! until the operator resets them.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use seine_frontier::{EmbeddedFrontier, FrontierError, Notes};
use seine_policies::budgets::{Budget, BudgetScope, Period, What};

use crate::api::Refusal;
use crate::config::FrontierConfig;

const NOTE: &str = "limits";
/// `target_storage.visited_page_limit`, the option `--max-pages`.
const PAGES: &str = "pages";
/// `link_storage.max_pages_per_domain`.
const HOST_PAGES: &str = "host-pages";

/// Limits by name; none: no limit.
type Ordered = BTreeMap<String, Option<u64>>;

/// One for a crawl.
#[derive(Debug, Default)]
pub(crate) struct OrderedLimits(Mutex<Ordered>);

/// What can be limited.
enum Limit {
    Pages,
    HostPages,
    /// A budget, as in `budget.rules`.
    Of(BudgetScope, Period, What),
}

impl OrderedLimits {
    pub(crate) fn open(frontier: &EmbeddedFrontier) -> Result<OrderedLimits, FrontierError> {
        let kept = frontier.note(NOTE)?.and_then(|note| serde_json::from_str(&note).ok());
        Ok(OrderedLimits(Mutex::new(kept.unwrap_or_default())))
    }

    pub(crate) fn all(&self) -> Ordered {
        self.0.lock().clone()
    }

    /// `most`: Some(None) for no limit; None for the configured value. It is on disk before it applies. Returns the
    /// full name of the limit.
    pub(crate) fn order(
        &self,
        frontier: &EmbeddedFrontier,
        name: &str,
        most: Option<Option<u64>>,
    ) -> Result<String, Refusal> {
        let name = Limit::named(name)?.name();
        if most == Some(Some(0)) {
            return Err(Refusal::Bad(
                "a limit is at least 1; to stop fetching, pause the crawl or block the host".to_owned(),
            ));
        }
        let mut ordered = self.0.lock();
        let mut changed = ordered.clone();
        match most {
            Some(most) => changed.insert(name.clone(), most),
            None => changed.remove(&name),
        };
        frontier.set_note(NOTE, &serde_json::to_string(&changed).unwrap_or_default())?;
        frontier.flush()?;
        *ordered = changed;
        Ok(name)
    }

    /// Overrides the configured limits.
    pub(crate) fn lay_over(&self, config: &mut FrontierConfig) {
        for (name, most) in self.0.lock().iter() {
            match Limit::named(name) {
                Ok(Limit::Pages) => config.max_pages = *most,
                Ok(Limit::HostPages) => config.max_pages_per_host = *most,
                Ok(Limit::Of(of, per, what)) => {
                    let twin = Budget { of, what, per, most: 0 };
                    config.budgets.retain(|budget| !budget.is_twin_of(&twin));
                    config.budgets.extend(most.map(|most| Budget { most, ..twin }));
                }
                // Written by a later version.
                Err(error) => tracing::warn!(limit = name, %error, "a limit set by the operator is not valid, and \
                    is ignored"),
            }
        }
    }

    /// Logs the limits that override the configuration.
    pub(crate) fn tell(&self) {
        for (limit, most) in self.0.lock().iter() {
            let most = most.map_or_else(|| "none".to_owned(), |most| most.to_string());
            tracing::warn!(limit, most, "limited by the operator's order; undo with: seine limit {limit} default");
        }
    }
}

impl Limit {
    /// `host/pages` is `host/life/pages`.
    fn named(name: &str) -> Result<Limit, Refusal> {
        let parts: Vec<&str> = name.split('/').collect();
        let limit = match parts[..] {
            [PAGES] => Some(Limit::Pages),
            [HOST_PAGES] => Some(Limit::HostPages),
            [of, what] => Limit::of(of, Period::Life.name(), what),
            [of, per, what] => Limit::of(of, per, what),
            _ => None,
        };
        limit.ok_or_else(|| {
            Refusal::Bad(format!(
                "{name:?} is not a limit; use pages (of the crawl, as --max-pages), host-pages (of each host, as \
                 link_storage.max_pages_per_domain), or a budget as crawl/day/pages: crawl, host or domain, then life, run or day, \
                 then pages, bytes_received or bytes_decoded"
            ))
        })
    }

    fn of(of: &str, per: &str, what: &str) -> Option<Limit> {
        let of =
            [BudgetScope::Crawl, BudgetScope::Host, BudgetScope::Domain].into_iter().find(|whom| whom.name() == of)?;
        let per = [Period::Life, Period::Run, Period::Day].into_iter().find(|period| period.name() == per)?;
        let what = [What::Pages, What::BytesReceived, What::BytesDecoded].into_iter().find(|it| it.name() == what)?;
        Some(Limit::Of(of, per, what))
    }

    fn name(&self) -> String {
        match self {
            Limit::Pages => PAGES.to_owned(),
            Limit::HostPages => HOST_PAGES.to_owned(),
            Limit::Of(of, per, what) => format!("{}/{}/{}", of.name(), per.name(), what.name()),
        }
    }
}
