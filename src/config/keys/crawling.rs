//! Keys of fetching: what, when and how.

use seine_frontier::ScopeRule;

use super::Kind::{
    Bool, Budgets, Cookies, Count, Hosts, List, MaybeCount, MaybeDuration, MaybeText, Number, OneOf, Overrides, Size,
    Text,
};
use super::{Key, NONE, SOME, key, live, millis};
use crate::config::{draft, focus, page_classifier};

pub(super) const CRAWL: &[Key] = &[
    key("crawler_id", Text(draft::set_crawler_id)),
    live("target_storage.visited_page_limit", MaybeCount(1, u64::MAX, |d, v| d.config.frontier.max_pages = v)),
    live("target_storage.model", MaybeText(page_classifier::set)),
    live("link_storage.max_pages_per_domain", MaybeCount(1, u64::MAX, |d, v| d.config.frontier.max_pages_per_host = v)),
    live(
        "link_storage.max_hosts_per_domain",
        MaybeCount(1, u64::MAX, |d, v| d.config.frontier.max_hosts_per_domain = v),
    ),
    live("budget.rules", Budgets(|d, v| d.config.frontier.budgets = v)),
];

pub(super) const SCOPE: &[Key] = &[
    live("link_storage.link_strategy.use_scope", Bool(|d, v| d.use_scope = v)),
    live(
        "link_storage.link_strategy.scope",
        OneOf(&["host", "domain"], |d, v| {
            d.config.scope.rule = if v == "domain" { ScopeRule::Domain } else { ScopeRule::Host };
        }),
    ),
    live("link_storage.link_strategy.scope_hosts", List(draft::set_scope_hosts)),
    live("link_storage.link_strategy.whitelist", List(|d, v| draft::set_patterns(&mut d.config.scope.allow, v))),
    live("link_storage.link_strategy.blacklist", List(|d, v| draft::set_patterns(&mut d.config.scope.deny, v))),
    key("link_storage.link_strategy.obey_nofollow", Bool(|d, v| d.config.scope.obey_nofollow = v)),
    live("link_storage.link_strategy.obey_noindex", Bool(|d, v| d.config.scope.obey_noindex = v)),
    key("link_storage.link_strategy.requisites", List(draft::set_requisites)),
    key("link_storage.link_strategy.forms", Bool(|d, v| d.config.scope.forms = v)),
    key(crate::config::DROP_PARAMETERS, List(draft::set_drop_parameters)),
    live("link_storage.link_strategy.traps", Bool(|d, v| d.config.frontier.traps = v)),
    live(
        "link_storage.link_strategy.deferred_per_host",
        Count(1, u32::MAX as u64, |d, v| d.config.frontier.deferred_per_host = v as u32),
    ),
    live("link_storage.link_strategy.outlinks", Bool(|d, v| d.outlinks = v)),
    live(
        "link_storage.link_classifier.max_depth",
        MaybeCount(0, u16::MAX as u64, |d, v| d.max_depth = v.map(|v| v as u16)),
    ),
    live("link_storage.download_sitemap_xml", Bool(|d, v| d.config.frontier.sitemaps = v)),
];

pub(super) const PREFERENCES: &[Key] =
    &[live("purpose", List(draft::set_purposes)), live("accept_licenses", List(draft::set_licenses))];

pub(super) const FOCUS: &[Key] = &[
    live("target_storage.hard_focus", Bool(|d, v| d.config.frontier.focus.hard = v)),
    live("target_storage.store_negative_pages", Bool(|d, v| d.config.frontier.focus.relevant_only = !v)),
    live("link_storage.link_classifier.type", OneOf(focus::LINK_CLASSIFIERS, focus::set_link_classifier)),
    live("link_storage.online_learning.enabled", Bool(|d, v| d.online_learning = v)),
    live("link_storage.online_learning.type", OneOf(focus::LEARNING, focus::set_learning)),
    live("link_storage.link_selector", OneOf(focus::SELECTORS, focus::set_selector)),
    live("link_storage.link_selector.min_relevance", Number(focus::set_min_relevance)),
];

pub(super) const FRONTIER: &[Key] = &[
    live("link_storage.scheduler.host_min_access_interval", millis(NONE, |d, v| d.config.frontier.host_delay = v)),
    live("link_storage.scheduler.ip_min_access_interval", MaybeDuration(NONE, |d, v| d.config.frontier.ip_delay = v)),
    live("link_storage.scheduler.max_crawl_delay", millis(NONE, |d, v| d.config.frontier.max_crawl_delay = v)),
    live("crawler_manager.downloader.max_retry_count", Count(0, 1000, |d, v| d.config.frontier.max_retries = v as u16)),
    live("link_storage.scheduler.backoff_base", millis(SOME, |d, v| d.config.frontier.backoff_base = v)),
    live("link_storage.scheduler.backoff_max", millis(SOME, |d, v| d.config.frontier.backoff_max = v)),
    live("link_storage.scheduler.retry_after_max", millis(NONE, |d, v| d.config.frontier.retry_after_max = v)),
    live("link_storage.scheduler.give_up_after", millis(SOME, |d, v| d.config.frontier.give_up_after = v)),
    live("link_storage.recrawl.interval", MaybeDuration(SOME, |d, v| d.config.frontier.revisit.interval = v)),
    live("link_storage.recrawl.min_interval", millis(SOME, |d, v| d.config.frontier.revisit.min_interval = v)),
    live("link_storage.recrawl.max_interval", millis(SOME, |d, v| d.config.frontier.revisit.max_interval = v)),
    live("link_storage.recrawl.overrides", Overrides(|d, v| d.config.frontier.revisit.overrides = v)),
    live("link_storage.recrawl.share", Count(0, 100, |d, v| d.config.frontier.revisit_share = v as f64 / 100.0)),
    live("link_storage.recrawl.confirm_gone", millis(NONE, |d, v| d.config.frontier.revisit.confirm_gone = v)),
    key("link_storage.cache_size", Size(1 << 20, |d, v| d.config.frontier.cache_bytes = v)),
];

pub(super) const FETCH: &[Key] = &[
    live(
        "crawler_manager.downloader.download_thread_pool_size",
        Count(1, 100_000, |d, v| d.config.fetch.concurrency = v as usize),
    ),
    key(
        "crawler_manager.downloader.connections_per_host",
        Count(1, 256, |d, v| d.config.fetch.connections_per_host = v as usize),
    ),
    key(
        "crawler_manager.downloader.httpclient.connection_timeout",
        millis(SOME, |d, v| d.config.fetch.connect_timeout = v),
    ),
    key("crawler_manager.downloader.header_timeout", millis(SOME, |d, v| d.config.fetch.header_timeout = v)),
    key("crawler_manager.downloader.httpclient.socket_timeout", millis(SOME, |d, v| d.config.fetch.read_timeout = v)),
    key("crawler_manager.downloader.min_rate", Size(0, |d, v| d.config.fetch.min_rate = v)),
    key("crawler_manager.downloader.min_rate_span", millis(SOME, |d, v| d.config.fetch.min_rate_span = v)),
    key("crawler_manager.downloader.total_timeout", millis(SOME, |d, v| d.config.fetch.total_timeout = v)),
    key("crawler_manager.downloader.max_body_size", Size(1, |d, v| d.config.fetch.max_body_bytes = v)),
    key("crawler_manager.downloader.max_decoded_size", Size(1, |d, v| d.config.fetch.max_decoded_bytes = v)),
    live("crawler_manager.downloader.max_redirects", Count(0, 100, |d, v| d.config.fetch.max_redirects = v as usize)),
    key("crawler_manager.downloader.redirects", OneOf(&["first", "follow"], draft::set_redirects)),
    key("crawler_manager.downloader.canonical", OneOf(&["ignore", "obey"], draft::set_canonical)),
    live("crawler_manager.downloader.walls", OneOf(&["hold", "deliver"], draft::set_walls)),
    key("crawler_manager.downloader.valid_mime_types", List(draft::set_mime_types)),
    key("link_storage.disallow_sites_in_robots_file", Bool(draft::set_obey_robots)),
    key("crawler_manager.downloader.allow_private_addresses", Bool(|d, v| d.config.fetch.allow_private = v)),
    key("crawler_manager.downloader.static_hosts", Hosts(|d, v| d.config.fetch.static_hosts = v)),
    key("crawler_manager.downloader.dns.servers", List(draft::set_dns_servers)),
    key(
        "crawler_manager.downloader.dns.cache_entries",
        Count(1, 100_000_000, |d, v| d.config.fetch.dns_cache_entries = v as usize),
    ),
    key("crawler_manager.downloader.dns.negative_ttl", millis(NONE, |d, v| d.config.fetch.dns_negative_ttl = v)),
    key("crawler_manager.downloader.cookies", Cookies(|d, v| d.config.fetch.cookies = v)),
];

pub(super) const IDENTITY: &[Key] = &[
    key("crawler_manager.downloader.user_agent.name", Text(draft::set_agent_name)),
    key(
        "crawler_manager.downloader.user_agent.url",
        MaybeText(|d, v| draft::set_agent_part(&mut d.config.fetch.user_agent.url, v)),
    ),
    key(
        "crawler_manager.downloader.user_agent.email",
        MaybeText(|d, v| draft::set_agent_part(&mut d.config.fetch.user_agent.email, v)),
    ),
    key(
        "crawler_manager.downloader.user_agent.string",
        MaybeText(|d, v| draft::set_agent_part(&mut d.config.fetch.user_agent.string, v)),
    ),
];

pub(super) const DUPLICATES: &[Key] = &[
    key("duplicates.enabled", Bool(|d, v| d.finds_duplicates = v)),
    key("duplicates.distance", Count(0, 3, |d, v| d.near_within = v as u8)),
];
