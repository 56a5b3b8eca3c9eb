//! Whether a queued URL may still be requested, by the settings of today.

use seine_frontier::Work;
use seine_frontier::scope::Scope;
use seine_parse::page::{Failure, FailureReason, Kind};

use crate::config::FrontierConfig;

/// Why the URL fails without a request; none if it is admitted.
pub(crate) fn refusal(work: &Work, scope: &Scope, config: &FrontierConfig) -> Option<Failure> {
    let FrontierConfig { max_depth, sitemaps, .. } = *config;
    let is_read = sitemaps || work.kind != Kind::Sitemap;
    if is_read && scope.keeps(&work.url, work.kind, work.depth, max_depth) {
        return None;
    }
    let message = match max_depth.filter(|deepest| work.depth > *deepest) {
        Some(deepest) => format!("{} links away from a seed; the maximum depth is {deepest}", work.depth),
        None if !is_read => "sitemaps are not read (link_storage.download_sitemap_xml: false)".to_owned(),
        None => "no longer in scope".to_owned(),
    };
    Some(Failure { reason: FailureReason::OutOfScope, message })
}
