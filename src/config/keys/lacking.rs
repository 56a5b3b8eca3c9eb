//! ACHE's keys for features that Seine lacks. Seine accepts them, so an ache.yml works as it is. It warns if a key is
//! set to something else than ACHE's default; the text says what happens instead.

use super::Kind::{self, List, MaybeText};
use super::{Key, NONE, lacking, millis, secret};
use crate::config::values::Unit;

const BOOL: Kind = Kind::Bool(|_, _| ());
const COUNT: Kind = Kind::Count(0, u64::MAX, |_, _| ());
const MILLIS: Kind = millis(NONE, |_, _| ());
const MINUTES: Kind = Kind::Duration(Unit::Minutes, NONE, |_, _| ());
const NUMBER: Kind = Kind::Number(|_, _| Ok(()));
const TEXT: Kind = MaybeText(|_, _| Ok(()));
const LIST: Kind = List(|_, _| Ok(()));

const OWN_LEARNING: &str = "no effect: Seine learns from every page and stores the result with the URLs";
const NO_BACKLINKS: &str = "not supported: Seine asks no search engine for backlinks";
const NO_RECRAWL_SELECTOR: &str = "not supported: set link_storage.recrawl.interval to recheck pages";
const NO_NEAR_DUPLICATES: &str =
    "no effect: set duplicates.enabled, and skip_duplicates of each destination that should get a page once";
const WAITS_FOR_SERVERS: &str = "no effect: Seine waits for a server that is not available yet and keeps the pages";
const EVERY_LANGUAGE: &str = "not supported: Seine keeps pages of every language";
const NO_POOL: &str = "no effect: the number of connections follows the number of workers";
const NO_WAIT_FOR_POOL: &str = "no effect: a fetch never waits for a free connection";
const NO_TOR: &str = "not supported: Seine cannot reach .onion hosts";
const NO_PROXY: &str = "not supported: Seine fetches without a proxy";
const OWN_CLIENT: &str = "no effect: Seine has one HTTP client; set crawler_manager.downloader.httpclient.*";
const OWN_FOLDERS: &str = "no effect: Seine keeps everything in subfolders of the data folder";
const OWN_STORE: &str = "no effect: Seine has its own URL store on disk; set link_storage.cache_size";
const NO_WEB_LOGIN: &str = "not supported: the API uses tokens instead, http.api.read_token and http.api.operate_token";

pub(super) const KEYS: &[Key] = &[
    lacking("target_storage.target_directory", "data_pages", TEXT, OWN_FOLDERS),
    lacking("target_storage.bipartite", "false", BOOL, NO_BACKLINKS),
    lacking("target_storage.english_language_detection_enabled", "false", BOOL, EVERY_LANGUAGE),
    lacking("target_storage.near_duplicate_detection.enabled", "false", BOOL, NO_NEAR_DUPLICATES),
    lacking("target_storage.near_duplicate_detection.store", "false", BOOL, NO_NEAR_DUPLICATES),
    lacking("target_storage.near_duplicate_detection.similarity", "0.9", NUMBER, NO_NEAR_DUPLICATES),
    lacking(
        "target_storage.data_format.elasticsearch.rest.initial_connection_timeout",
        "30s",
        MILLIS,
        WAITS_FOR_SERVERS,
    ),
    lacking("link_storage.link_classifier.parameters.class_values", "[]", LIST, OWN_LEARNING),
    lacking("link_storage.link_strategy.backlinks", "false", BOOL, NO_BACKLINKS),
    lacking("link_storage.directory", "data_url/dir", TEXT, OWN_FOLDERS),
    lacking("link_storage.max_size_cache_urls", "200000", COUNT, OWN_STORE),
    lacking("link_storage.persistent_hashtable.backend", "ROCKSDB", TEXT, OWN_STORE),
    lacking("link_storage.scheduler.max_links", "100000", COUNT, "no effect: Seine queues any number of URLs on disk"),
    lacking("link_storage.online_learning.async", "true", BOOL, OWN_LEARNING),
    lacking("link_storage.online_learning.learning_limit", "500", COUNT, OWN_LEARNING),
    secret(lacking("link_storage.backsurfer.moz.access_id", "null", TEXT, NO_BACKLINKS)),
    secret(lacking("link_storage.backsurfer.moz.secret_key", "null", TEXT, NO_BACKLINKS)),
    lacking("link_storage.recrawl_selector", "null", TEXT, NO_RECRAWL_SELECTOR),
    lacking("link_storage.recrawl_selector.sitemaps.interval", "60", MINUTES, NO_RECRAWL_SELECTOR),
    lacking("link_storage.recrawl_selector.relevance.min_relevance", "299", NUMBER, NO_RECRAWL_SELECTOR),
    lacking("link_storage.recrawl_selector.relevance.interval", "60", MINUTES, NO_RECRAWL_SELECTOR),
    lacking("link_storage.recrawl_selector.relevance.recrawl_sitemaps", "true", BOOL, NO_RECRAWL_SELECTOR),
    lacking("link_storage.recrawl_selector.relevance.recrawl_robots", "true", BOOL, NO_RECRAWL_SELECTOR),
    lacking("crawler_manager.downloader.connection_pool_size", "10000", COUNT, NO_POOL),
    lacking("crawler_manager.downloader.torproxy", "null", TEXT, NO_TOR),
    lacking("crawler_manager.downloader.tor.max_retry_count", "3", COUNT, NO_TOR),
    lacking("crawler_manager.downloader.tor.socket_timeout", "5m", MILLIS, NO_TOR),
    lacking("crawler_manager.downloader.tor.connection_timeout", "5m", MILLIS, NO_TOR),
    lacking("crawler_manager.downloader.tor.connection_request_timeout", "5m", MILLIS, NO_TOR),
    lacking("crawler_manager.downloader.use_okhttp3_fetcher", "false", BOOL, OWN_CLIENT),
    lacking("crawler_manager.downloader.okhttp.connect_timeout", "30s", MILLIS, OWN_CLIENT),
    lacking("crawler_manager.downloader.okhttp.read_timeout", "30s", MILLIS, OWN_CLIENT),
    lacking("crawler_manager.downloader.okhttp3.proxy_host", "null", TEXT, NO_PROXY),
    lacking("crawler_manager.downloader.okhttp3.proxy_port", "8080", COUNT, NO_PROXY),
    lacking("crawler_manager.downloader.okhttp3.proxy_username", "null", TEXT, NO_PROXY),
    secret(lacking("crawler_manager.downloader.okhttp3.proxy_password", "null", TEXT, NO_PROXY)),
    lacking("crawler_manager.downloader.httpclient.connection_request_timeout", "1m", MILLIS, NO_WAIT_FOR_POOL),
    lacking("http.cors.enabled", "true", BOOL, "not supported: no CORS headers are sent"),
    lacking("http.auth.basic.user", "null", TEXT, NO_WEB_LOGIN),
    secret(lacking("http.auth.basic.password", "null", TEXT, NO_WEB_LOGIN)),
    lacking("http.base_path", "null", TEXT, "not supported: all paths of the web server begin at /"),
];
