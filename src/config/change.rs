//! What differs between two configurations, and what of it can be changed while a crawl runs.

use super::{Loaded, Secret};

/// Keys that can be changed while a crawl runs. Of the others the clients, sinks and stores are made that it runs with.
const LIVE: &[&str] = &[
    "target_storage.visited_page_limit",
    MODEL,
    "link_storage.max_pages_per_domain",
    "budget.rules",
    "link_storage.link_strategy.use_scope",
    "link_storage.link_strategy.scope",
    "link_storage.link_strategy.scope_hosts",
    WHITELIST,
    BLACKLIST,
    "link_storage.link_strategy.obey_noindex",
    "link_storage.link_strategy.traps",
    "purpose",
    "accept_licenses",
    "link_storage.link_strategy.outlinks",
    "link_storage.link_classifier.type",
    "link_storage.link_classifier.max_depth",
    "target_storage.hard_focus",
    "target_storage.store_negative_pages",
    "link_storage.online_learning.enabled",
    "link_storage.online_learning.type",
    "link_storage.link_selector",
    "link_storage.link_selector.min_relevance",
    "link_storage.download_sitemap_xml",
    "link_storage.scheduler.host_min_access_interval",
    "link_storage.scheduler.ip_min_access_interval",
    "link_storage.scheduler.max_crawl_delay",
    "crawler_manager.downloader.max_retry_count",
    "link_storage.scheduler.backoff_base",
    "link_storage.scheduler.backoff_max",
    "link_storage.scheduler.retry_after_max",
    "link_storage.scheduler.give_up_after",
    "link_storage.recrawl.interval",
    "link_storage.recrawl.min_interval",
    "link_storage.recrawl.max_interval",
    "link_storage.recrawl.overrides",
    "link_storage.recrawl.share",
    "link_storage.recrawl.confirm_gone",
    "crawler_manager.downloader.download_thread_pool_size",
    "crawler_manager.downloader.max_redirects",
    "page_log.segment_size",
    "page_log.max_size",
    "page_log.disk_reserve",
    "page_log.commit_interval",
    READ_TOKEN,
    OPERATE_TOKEN,
    "logging.interval",
    "logging.filter",
];

const MODEL: &str = "target_storage.model";
const READ_TOKEN: &str = "http.api.read_token";
const OPERATE_TOKEN: &str = "http.api.operate_token";
const COOKIES: &str = "crawler_manager.downloader.cookies";
const WHITELIST: &str = "link_storage.link_strategy.whitelist";
const BLACKLIST: &str = "link_storage.link_strategy.blacklist";

/// A key, or a file beside the configuration, that has another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyChanged {
    pub key: &'static str,
    /// As YAML; secrets are masked.
    pub before: String,
    pub now: String,
    /// It can be changed while a crawl runs.
    pub is_live: bool,
}

/// Whether a key can be changed while a crawl runs.
pub(super) fn is_live(key: &str) -> bool {
    LIVE.contains(&key)
}

/// What `now` says otherwise than `before`, in the order of `config/seine.yml`.
pub fn changes(before: &Loaded, now: &Loaded) -> Vec<KeyChanged> {
    let value = |loaded: &Loaded, key: &str| {
        loaded.effective.iter().find(|entry| entry.key == key).map(|entry| entry.value.clone())
    };
    let keys = before.effective.iter().chain(&now.effective).map(|entry| entry.key);
    let mut changes: Vec<KeyChanged> = Vec::new();
    for key in keys {
        let (was, is) = (value(before, key), value(now, key));
        if was != is && !changes.iter().any(|change| change.key == key) {
            let [before, now] = [was, is].map(|value| value.unwrap_or_else(|| "null".to_owned()));
            changes.push(KeyChanged { key, before, now, is_live: is_live(key) });
        }
    }
    // The same folder with other files in it.
    let names = [before, now].map(|loaded| loaded.config.classifier.as_ref().map(|it| it.name().to_string()));
    if let [Some(was), Some(is)] = names
        && was != is
        && !changes.iter().any(|change| change.key == MODEL)
    {
        changes.push(KeyChanged { key: MODEL, before: was, now: is, is_live: true });
    }
    let masked = hidden(before, now, &changes).into_iter().map(|(key, is_live)| KeyChanged {
        key,
        before: Secret::MASK.to_owned(),
        now: Secret::MASK.to_owned(),
        is_live,
    });
    changes.extend(masked.collect::<Vec<_>>());
    changes
}

/// What values do not show: secrets, and files that are joined to keys.
fn hidden(before: &Loaded, now: &Loaded, shown: &[KeyChanged]) -> Vec<(&'static str, bool)> {
    let (before, now) = (&before.config, &now.config);
    let is_shown = |key: &str| shown.iter().any(|change| change.key == key);
    // Sinks are made of many keys; where one of those differs, it says so.
    let is_sinks = before.sinks != now.sinks && shown.iter().all(|change| change.is_live);
    [
        (READ_TOKEN, true, before.http.read_token != now.http.read_token && !is_shown(READ_TOKEN)),
        (OPERATE_TOKEN, true, before.http.operate_token != now.http.operate_token && !is_shown(OPERATE_TOKEN)),
        (COOKIES, false, before.fetch.cookies != now.fetch.cookies && !is_shown(COOKIES)),
        ("link_whitelist.txt", true, before.scope.allow != now.scope.allow && !is_shown(WHITELIST)),
        ("link_blacklist.txt", true, before.scope.deny != now.scope.deny && !is_shown(BLACKLIST)),
        ("link_filters.yml", true, before.scope.link_filters != now.scope.link_filters),
        ("a secret of target_storage", false, is_sinks),
    ]
    .into_iter()
    .filter_map(|(key, is_live, differs)| differs.then_some((key, is_live)))
    .collect()
}
