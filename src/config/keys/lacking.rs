//! ACHE's keys for features that Seine lacks. Seine accepts them, so an ache.yml works as it is. It warns if a key is
//! set to something else than ACHE's default; `defaults.yml` has the text, which says what happens instead.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Kind::{self, List, MaybeText};
use super::{Key, NONE, lacking, millis, secret};
use crate::config::DEFAULTS;
use crate::config::values::Unit;

const BOOL: Kind = Kind::Bool(|_, _| ());
const COUNT: Kind = Kind::Count(0, u64::MAX, |_, _| ());
const MILLIS: Kind = millis(NONE, |_, _| ());
const MINUTES: Kind = Kind::Duration(Unit::Minutes, NONE, |_, _| ());
const NUMBER: Kind = Kind::Number(|_, _| Ok(()));
const TEXT: Kind = MaybeText(|_, _| Ok(()));
const LIST: Kind = List(|_, _| Ok(()));

pub(super) const KEYS: &[Key] = &[
    lacking("target_storage.target_directory", "data_pages", TEXT),
    lacking("target_storage.bipartite", "false", BOOL),
    lacking("target_storage.english_language_detection_enabled", "false", BOOL),
    lacking("target_storage.near_duplicate_detection.enabled", "false", BOOL),
    lacking("target_storage.near_duplicate_detection.store", "false", BOOL),
    lacking("target_storage.near_duplicate_detection.similarity", "0.9", NUMBER),
    lacking("target_storage.data_format.elasticsearch.rest.initial_connection_timeout", "30s", MILLIS),
    lacking("link_storage.link_classifier.parameters.class_values", "[]", LIST),
    lacking("link_storage.link_strategy.backlinks", "false", BOOL),
    lacking("link_storage.directory", "data_url/dir", TEXT),
    lacking("link_storage.max_size_cache_urls", "200000", COUNT),
    lacking("link_storage.persistent_hashtable.backend", "ROCKSDB", TEXT),
    lacking("link_storage.scheduler.max_links", "100000", COUNT),
    lacking("link_storage.online_learning.async", "true", BOOL),
    lacking("link_storage.online_learning.learning_limit", "500", COUNT),
    secret(lacking("link_storage.backsurfer.moz.access_id", "null", TEXT)),
    secret(lacking("link_storage.backsurfer.moz.secret_key", "null", TEXT)),
    lacking("link_storage.recrawl_selector", "null", TEXT),
    lacking("link_storage.recrawl_selector.sitemaps.interval", "60", MINUTES),
    lacking("link_storage.recrawl_selector.relevance.min_relevance", "299", NUMBER),
    lacking("link_storage.recrawl_selector.relevance.interval", "60", MINUTES),
    lacking("link_storage.recrawl_selector.relevance.recrawl_sitemaps", "true", BOOL),
    lacking("link_storage.recrawl_selector.relevance.recrawl_robots", "true", BOOL),
    lacking("crawler_manager.downloader.connection_pool_size", "10000", COUNT),
    lacking("crawler_manager.downloader.torproxy", "null", TEXT),
    lacking("crawler_manager.downloader.tor.max_retry_count", "3", COUNT),
    lacking("crawler_manager.downloader.tor.socket_timeout", "5m", MILLIS),
    lacking("crawler_manager.downloader.tor.connection_timeout", "5m", MILLIS),
    lacking("crawler_manager.downloader.tor.connection_request_timeout", "5m", MILLIS),
    lacking("crawler_manager.downloader.use_okhttp3_fetcher", "false", BOOL),
    lacking("crawler_manager.downloader.okhttp.connect_timeout", "30s", MILLIS),
    lacking("crawler_manager.downloader.okhttp.read_timeout", "30s", MILLIS),
    lacking("crawler_manager.downloader.okhttp3.proxy_host", "null", TEXT),
    lacking("crawler_manager.downloader.okhttp3.proxy_port", "8080", COUNT),
    lacking("crawler_manager.downloader.okhttp3.proxy_username", "null", TEXT),
    secret(lacking("crawler_manager.downloader.okhttp3.proxy_password", "null", TEXT)),
    lacking("crawler_manager.downloader.httpclient.connection_request_timeout", "1m", MILLIS),
    lacking("http.cors.enabled", "true", BOOL),
    lacking("http.auth.basic.user", "null", TEXT),
    secret(lacking("http.auth.basic.password", "null", TEXT)),
    lacking("http.base_path", "null", TEXT),
];

/// What happens instead of what a key asks for: the text below it at the end of `defaults.yml`.
pub(in crate::config) fn instead(name: &str) -> String {
    static TEXTS: LazyLock<HashMap<&'static str, String>> = LazyLock::new(texts);
    TEXTS.get(name).cloned().unwrap_or_default()
}

/// Several keys may stand above one text, which may have several lines.
fn texts() -> HashMap<&'static str, String> {
    const KEY: &str = "#   ";
    const TEXT: &str = "#       ";
    let (_, section) = DEFAULTS.split_once("# ── Keys of ACHE that do nothing here").unwrap_or_default();
    let mut texts = HashMap::<&str, String>::new();
    let mut above: Vec<&str> = Vec::new();
    let mut has_text = false;
    for line in section.lines() {
        if let Some(words) = line.strip_prefix(TEXT) {
            has_text = true;
            for name in &above {
                let text = texts.entry(name).or_default();
                text.push_str(if text.is_empty() { "" } else { " " });
                text.push_str(words);
            }
        } else if let Some(name) = line.strip_prefix(KEY) {
            if std::mem::take(&mut has_text) {
                above.clear();
            }
            above.push(name);
        }
    }
    texts
}
