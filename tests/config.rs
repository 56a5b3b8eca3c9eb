//! Configuration and seed files, at the public edge.

#[path = "support/config.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use seine::config::{
    Config, Cookie, Destination, FocusConfig, Loaded, Origin, Secret, SeedsError, SinkConfig, StartedWith, load,
    read_seeds, render, sink_words,
};
use seine_frontier::{FrontierOptions, ScopeRule};
use seine_parse::page::{Outcome, PageEvent};
use seine_parse::{DeriveOptions, derive};
use seine_policies::budgets::{Budget, BudgetScope, Period, What};
use seine_policies::revisit::Which;
use tempfile::TempDir;

use support::names;

/// Every key of ACHE 0.16, with a value that its parser accepts.
const ACHE_KEYS: &[(&str, &str)] = &[
    ("target_storage.data_format.type", "FILES"),
    ("target_storage.target_directory", "data_pages"),
    ("target_storage.data_format.filesystem.hash_file_name", "true"),
    ("target_storage.data_format.filesystem.compress_data", "true"),
    ("target_storage.data_format.files.max_file_size", "134217728"),
    ("target_storage.data_format.warc.max_file_size", "262144000"),
    ("target_storage.data_format.warc.compress", "false"),
    ("target_storage.data_format.elasticsearch.rest.hosts", "[http://localhost:9200]"),
    ("target_storage.data_format.elasticsearch.rest.connect_timeout", "30000"),
    ("target_storage.data_format.elasticsearch.rest.socket_timeout", "30000"),
    ("target_storage.data_format.elasticsearch.rest.max_retry_timeout_millis", "90000"),
    ("target_storage.data_format.elasticsearch.rest.initial_connection_timeout", "30000"),
    ("target_storage.data_format.elasticsearch.rest.username", "someone"),
    ("target_storage.data_format.elasticsearch.rest.password", "hunter2"),
    ("target_storage.data_format.elasticsearch.host", "localhost"),
    ("target_storage.data_format.elasticsearch.port", "9300"),
    ("target_storage.data_format.elasticsearch.cluster_name", "elasticsearch"),
    ("target_storage.data_format.elasticsearch.index_name", "pages"),
    ("target_storage.data_format.elasticsearch.type_name", "page"),
    ("target_storage.data_format.kafka.topic_name", "mytopicname"),
    ("target_storage.data_format.kafka.format", "JSON"),
    (
        "target_storage.data_format.kafka.properties",
        "{bootstrap.servers: \"localhost:9092\", acks: all, batch.size: 5}",
    ),
    ("target_storage.visited_page_limit", "10000000"),
    ("target_storage.hard_focus", "false"),
    ("target_storage.bipartite", "true"),
    ("target_storage.store_negative_pages", "false"),
    ("target_storage.english_language_detection_enabled", "true"),
    ("target_storage.near_duplicate_detection.enabled", "true"),
    ("target_storage.near_duplicate_detection.store", "true"),
    ("target_storage.near_duplicate_detection.similarity", "0.8"),
    ("link_storage.max_pages_per_domain", "100"),
    ("link_storage.link_classifier.type", "LinkClassifierBaseline"),
    ("link_storage.link_classifier.max_depth", "1"),
    ("link_storage.link_strategy.outlinks", "true"),
    ("link_storage.link_strategy.use_scope", "true"),
    ("link_storage.link_strategy.backlinks", "true"),
    ("link_storage.directory", "\"data_url/dir\""),
    ("link_storage.max_size_cache_urls", "10000"),
    ("link_storage.online_learning.enabled", "true"),
    ("link_storage.online_learning.async", "false"),
    ("link_storage.online_learning.type", "LINK_CLASSIFIERS"),
    ("link_storage.online_learning.learning_limit", "1000"),
    ("link_storage.link_selector", "MaximizeWebsitesLinkSelector"),
    ("link_storage.link_selector.min_relevance", "0.5"),
    ("link_storage.backsurfer.moz.access_id", "mozscape-1"),
    ("link_storage.backsurfer.moz.secret_key", "hunter2"),
    ("link_storage.download_sitemap_xml", "true"),
    ("link_storage.disallow_sites_in_robots_file", "true"),
    ("link_storage.recrawl_selector", "SitemapsRecrawlSelector"),
    ("link_storage.recrawl_selector.sitemaps.interval", "1"),
    ("link_storage.recrawl_selector.relevance.min_relevance", "200"),
    ("link_storage.recrawl_selector.relevance.interval", "5"),
    ("link_storage.recrawl_selector.relevance.recrawl_sitemaps", "false"),
    ("link_storage.recrawl_selector.relevance.recrawl_robots", "false"),
    ("link_storage.scheduler.host_min_access_interval", "2000"),
    ("link_storage.scheduler.max_links", "10000"),
    ("link_storage.persistent_hashtable.backend", "ROCKSDB"),
    ("crawler_manager.downloader.download_thread_pool_size", "100"),
    ("crawler_manager.downloader.connection_pool_size", "500"),
    ("crawler_manager.downloader.max_retry_count", "2"),
    ("crawler_manager.downloader.valid_mime_types", "[text/xml, application/vnd.wap.xhtml+xml]"),
    ("crawler_manager.downloader.torproxy", "http://torproxy:8118"),
    ("crawler_manager.downloader.cookies", "[{domain: a.test, cookie: hunter2=1, path: /}]"),
    ("crawler_manager.downloader.use_okhttp3_fetcher", "true"),
    ("crawler_manager.downloader.okhttp3.proxy_host", "proxy"),
    ("crawler_manager.downloader.okhttp3.proxy_port", "3128"),
    ("crawler_manager.downloader.okhttp3.proxy_username", "someone"),
    ("crawler_manager.downloader.okhttp3.proxy_password", "hunter2"),
    ("crawler_manager.downloader.okhttp.connect_timeout", "10000"),
    ("crawler_manager.downloader.okhttp.read_timeout", "10000"),
    ("crawler_manager.downloader.httpclient.socket_timeout", "30000"),
    ("crawler_manager.downloader.httpclient.connection_timeout", "30000"),
    ("crawler_manager.downloader.httpclient.connection_request_timeout", "30000"),
    ("crawler_manager.downloader.tor.max_retry_count", "2"),
    ("crawler_manager.downloader.tor.socket_timeout", "10000"),
    ("crawler_manager.downloader.tor.connection_timeout", "10000"),
    ("crawler_manager.downloader.tor.connection_request_timeout", "10000"),
    ("crawler_manager.downloader.user_agent.name", "ACHE"),
    ("crawler_manager.downloader.user_agent.url", "https://github.com/ViDA-NYU/ache"),
    ("crawler_manager.downloader.user_agent.email", "someone@example.com"),
    ("crawler_manager.downloader.user_agent.string", "\"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_5)\""),
    ("http.port", "8081"),
    ("http.host", "0.0.0.0"),
    ("http.cors.enabled", "false"),
    ("http.auth.basic.user", "someone"),
    ("http.auth.basic.password", "hunter2"),
    ("http.base_path", "/ache"),
];

struct File {
    _folder: TempDir,
    path: PathBuf,
}

fn file(name: &str, content: impl AsRef<[u8]>) -> File {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    File { _folder: folder, path }
}

fn read(yaml: &str) -> Result<Loaded, String> {
    load(Some(&file("seine.yml", yaml).path), &[]).map_err(|error| error.to_string())
}

fn config(yaml: &str) -> Config {
    read(yaml).unwrap().config
}

/// The text of the error; the configuration must have one.
fn error(yaml: &str) -> String {
    read(yaml).expect_err(yaml)
}

fn with_env(yaml: &str, env: &[(&str, &str)]) -> Result<Loaded, String> {
    let env: Vec<_> = env.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    load(Some(&file("seine.yml", yaml).path), &env).map_err(|error| error.to_string())
}

#[test]
fn without_a_file_there_are_defaults() {
    let loaded = load(None, &[]).unwrap();
    assert_eq!(loaded.config, Config::default());
    assert!(loaded.warnings.is_empty() && loaded.files.is_empty());
    assert!(loaded.effective.iter().all(|entry| entry.origin == Origin::Default));
}

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/defaults.yml")
}

/// The keys of defaults.yml in order, each with the comment above it.
fn explained() -> Vec<(String, String)> {
    let (mut keys, mut comment) = (Vec::new(), Vec::new());
    for line in fs::read_to_string(sample()).unwrap().lines() {
        if let Some(words) = line.strip_prefix("# ") {
            comment.push(words.to_owned());
        } else if let Some((key, _)) = line.split_once(": ").filter(|_| !line.starts_with('#')) {
            keys.push((key.to_owned(), comment.join(" ")));
            comment.clear();
        } else {
            comment.clear();
        }
    }
    keys
}

/// `config/seine.yml` is a short file for users to change. Each of its commented lines is valid when it is uncommented.
#[test]
fn the_starter_file_is_right_as_it_stands_and_with_every_line() {
    let starter = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/seine.yml");
    assert!(load(Some(&starter), &[]).unwrap().warnings.is_empty());
    let text = fs::read_to_string(&starter).unwrap();
    let lines: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("#")).filter(|line| !line.starts_with(' ')).collect();
    assert!(lines.len() >= 8, "{lines:?}");
    let all = file("seine.yml", lines.join("\n"));
    assert!(load(Some(&all.path), &[]).unwrap().warnings.is_empty(), "{lines:?}");
}

#[test]
fn check_config_prints_every_key_with_its_default() {
    let ran =
        std::process::Command::new(env!("CARGO_BIN_EXE_seine")).args(["check-config", "--defaults"]).output().unwrap();
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), fs::read_to_string(sample()).unwrap());
}

/// Names of other programs that look like our keys.
const OTHERS: [&str; 3] = ["http.max_content_length", "fetch.message.max.bytes", "target_storage.data_format.type"];

/// Checks every text in the source for names that look like keys.
#[test]
fn texts_name_keys_that_exist() {
    let loaded = load(Some(&sample()), &[]).unwrap();
    let keys: Vec<&str> = loaded.effective.iter().map(|entry| entry.key).collect();
    let mut roots: Vec<&str> = keys.iter().filter_map(|key| key.split('.').next()).collect();
    // Roots of field paths inside the program.
    roots.extend(["scope", "fetch", "frontier", "log", "delivery"]);
    let is_known = |name: &str| {
        let is_part = |key: &&str| key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        keys.iter().any(is_part) || name.starts_with("target_storage.data_format.kafka.properties.")
    };
    let text = regex::Regex::new(r#""(?:[^"\\]|\\.)*""#).unwrap();
    let name = regex::Regex::new(r"[A-Za-z0-9_./{-]*\b[a-z_]{2,}(?:\.[a-z_]+)+[A-Za-z0-9_/({]*").unwrap();
    let (mut found, mut wrong) = (0, Vec::new());
    for entry in walkdir::WalkDir::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let entry = entry.unwrap();
        // These list ACHE's keys without effect, and Kafka's properties.
        let is_list = entry.path().ends_with("keys/lacking.rs") || entry.path().ends_with("kafka_names.rs");
        if is_list || entry.path().extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let source = fs::read_to_string(entry.path()).unwrap();
        let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        // In a text of several lines, the first and the last line have one quote.
        let texts = code.flat_map(|line| match line.matches('"').count() % 2 {
            0 => text.find_iter(line).map(|text| text.as_str()).collect(),
            _ => vec![line],
        });
        for name in texts.flat_map(|text| name.find_iter(text)).map(|name| name.as_str()) {
            let root = name.split('.').next().unwrap_or_default();
            // A name with a bracket is code between two texts.
            if roots.contains(&root) && !OTHERS.contains(&name) && !name.contains('(') {
                found += 1;
                if !is_known(name) {
                    wrong.push(format!("{name} in {}", entry.path().display()));
                }
            }
        }
    }
    assert!(found > 200, "{found} keys are named");
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn the_sample_file_has_every_key_with_what_it_does() {
    let loaded = load(Some(&sample()), &[]).unwrap();
    assert_eq!(loaded.config, Config::default());
    assert_eq!(loaded.warnings, []);
    let explained = explained();
    let in_file: Vec<&str> = explained.iter().map(|(key, _)| key.as_str()).collect();
    let known: Vec<&str> = loaded.effective.iter().map(|entry| entry.key).collect();
    assert_eq!(in_file, known);
    for ((key, doc), entry) in explained.iter().zip(&loaded.effective) {
        assert!(matches!(entry.origin, Origin::File { .. }), "{key}");
        assert!(!doc.is_empty(), "nobody says what {key} does");
        assert_eq!(doc.ends_with("[reload]"), entry.is_live, "{key}");
    }
}

#[test]
fn the_sample_file_names_every_word_for_a_sink() {
    let words = sink_words().into_iter().map(|(word, about)| format!("{}: {about}.", word.to_ascii_uppercase()));
    let list = words.collect::<Vec<_>>().join(" ");
    let (_, doc) = explained().into_iter().find(|(key, _)| key == "target_storage.data_formats").unwrap();
    let doc = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(doc.ends_with(&list), "{doc}\nis to end with\n{list}");
}

/// The comments below keys without effect are the texts of their warnings.
#[test]
fn the_sample_file_says_what_warnings_say() {
    let text = fs::read_to_string(sample()).unwrap();
    let (_, lacking) = text.split_once("# ── Keys of ACHE that do nothing here").unwrap();
    let (mut names, mut said) = (Vec::<&str>::new(), BTreeMap::<&str, String>::new());
    let mut is_said = false;
    for line in lacking.lines().skip(1) {
        if let Some(words) = line.strip_prefix("#       ") {
            is_said = true;
            for name in &names {
                *said.entry(name).or_default() += &format!(" {words}");
            }
        } else if let Some(name) = line.strip_prefix("#   ") {
            if std::mem::take(&mut is_said) {
                names.clear();
            }
            names.push(name);
        }
    }
    for (name, said) in &said {
        let warning = |value: &&str| read(&format!("{name}: {value}")).ok()?.warnings.pop();
        let warning = ["true", "false", "7", "x"].iter().find_map(warning).expect(name);
        assert_eq!((warning.key, warning.text.as_str()), (*name, said.trim_start()));
    }
    let loaded = load(None, &[]).unwrap();
    for (key, _) in ACHE_KEYS.iter().filter(|(key, _)| *key != "target_storage.data_format.type") {
        assert!(said.contains_key(key) || loaded.effective.iter().any(|entry| entry.key == *key), "{key} is not there");
    }
}

#[test]
fn defaults_are_shown_as_they_always_were() {
    insta::assert_snapshot!(render(&load(None, &[]).unwrap()));
}

#[test]
fn flat_nested_and_mixed_mean_the_same() {
    let flat = config(
        "link_storage.scheduler.host_min_access_interval: 250\n\
         link_storage.link_strategy.use_scope: false\n\
         target_storage.data_format.files.max_file_size: 1\n",
    );
    let nested = config(
        "link_storage:\n  scheduler:\n    host_min_access_interval: 250ms\n  link_strategy: {use_scope: no}\n\
         target_storage:\n  data_format:\n    files: {max_file_size: 1b}\n",
    );
    let mixed = config(
        "link_storage:\n  scheduler.host_min_access_interval: \"250\"\n  link_strategy:\n    use_scope: off\n\
         target_storage.data_format:\n  files.max_file_size: 1\n",
    );
    assert_eq!(flat, nested);
    assert_eq!(flat, mixed);
    assert_eq!(flat.frontier.host_delay, Duration::from_millis(250));
    assert_eq!(flat.scope.rule, ScopeRule::Any);
    let [sink] = &flat.sinks[..] else { panic!("{:?}", flat.sinks) };
    assert_eq!(sink.destination, Destination::Files { max_file_size: 1, compression_level: 6 });
    assert_eq!((sink.name(), sink.format.map(|format| format.name)), ("files", Some("FILES")));
}

#[test]
fn every_key_of_ache_is_accepted_flat() {
    for (key, value) in ACHE_KEYS {
        read(&format!("{key}: {value}\n")).unwrap();
    }
    let all: String = ACHE_KEYS.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
    read(&all).unwrap();
}

/// `link_storage.link_selector` has a value and keys below it, so it can only be flat; the others can be nested.
#[test]
fn every_key_of_ache_is_accepted_nested() {
    let both = ["link_storage.link_selector", "link_storage.recrawl_selector"];
    for (key, value) in ACHE_KEYS.iter().filter(|(key, _)| !both.contains(key)) {
        let mut yaml = String::new();
        for (depth, part) in key.split('.').enumerate() {
            yaml.push_str(&format!("\n{}{part}:", "  ".repeat(depth)));
        }
        let nested = read(&format!("{yaml} {value}\n")).unwrap();
        let flat = read(&format!("{key}: {value}\n")).unwrap();
        assert_eq!(nested.config, flat.config, "{key}");
        let keys = |loaded: &Loaded| loaded.warnings.iter().map(|warning| warning.key).collect::<Vec<_>>();
        assert_eq!(keys(&nested), keys(&flat), "{key}");
    }
}

#[test]
fn keys_with_a_meaning_reach_the_configuration() {
    let config = config(
        "crawler_id: news\n\
         target_storage:\n  visited_page_limit: 500\n  data_formats: [VOID, files]\n\
         link_storage:\n  max_pages_per_domain: 7\n  download_sitemap_xml: false\n\
         link_storage.link_classifier: {type: MaxDepthLinkClassifier, max_depth: 4}\n\
         link_storage.recrawl.interval: 7d\n\
         link_storage.link_strategy: {scope: domain, scope_hosts: [B.test], whitelist: ['.*/news/.*'], blacklist: ['.*\\.pdf']}\n\
         crawler_manager.downloader:\n  download_thread_pool_size: 8\n  max_retry_count: 0\n  valid_mime_types: [Text/HTML, image/*]\n  \
         httpclient: {connection_timeout: 3s, socket_timeout: 4000}\n  max_body_size: 1MB\n  max_decoded_size: 2MiB\n  \
         static_hosts: {A.test: 10.0.0.7, b.test: [10.0.0.8, 'fd00::8']}\n  \
         cookies: [{domain: .A.test, cookie: 'k=v; l=w'}]\n  user_agent: {name: Otter, email: a@b.test}\n\
         http: {host: '::1', port: 0}\n\
         logging: {format: json, filter: 'info,seine=debug'}\n\
         budget.rules: [{of: crawl, pages: 9}, {of: host, per: day, pages: 5, bytes_decoded: 2MiB}]\n",
    );
    let mut expected = Config { crawler_id: "news".into(), ..Config::default() };
    expected.frontier.max_pages = Some(500);
    expected.frontier.max_pages_per_host = Some(7);
    let budget = |of, what, per, most| Budget { of, what, per, most };
    expected.frontier.budgets = vec![
        budget(BudgetScope::Crawl, What::Pages, Period::Life, 9),
        budget(BudgetScope::Host, What::Pages, Period::Day, 5),
        budget(BudgetScope::Host, What::BytesDecoded, Period::Day, 2 << 20),
    ];
    expected.frontier.sitemaps = false;
    expected.frontier.max_depth = Some(4);
    expected.frontier.max_retries = 0;
    expected.frontier.revisit.interval = Some(Duration::from_secs(7 * 86_400));
    expected.scope.rule = ScopeRule::Domain;
    expected.scope.hosts = vec!["b.test".into()];
    expected.scope.allow = vec![".*/news/.*".into()];
    expected.scope.deny = vec![r".*\.pdf".into()];
    assert_eq!(names(&config), ["void", "files"]);
    expected.sinks = config.sinks.clone();
    expected.fetch.concurrency = 8;
    expected.fetch.mime_types = vec!["text/html".into(), "image/*".into()];
    expected.fetch.connect_timeout = Duration::from_secs(3);
    expected.fetch.read_timeout = Duration::from_secs(4);
    expected.fetch.max_body_bytes = 1_000_000;
    expected.fetch.max_decoded_bytes = 2 << 20;
    expected.fetch.static_hosts = BTreeMap::from([
        ("a.test".into(), vec!["10.0.0.7".parse().unwrap()]),
        ("b.test".into(), vec!["10.0.0.8".parse().unwrap(), "fd00::8".parse().unwrap()]),
    ]);
    expected.fetch.cookies =
        vec![Cookie { domain: "a.test".into(), path: "/".into(), cookie: Secret::new("k=v; l=w") }];
    expected.fetch.user_agent.name = "Otter".into();
    expected.fetch.user_agent.email = Some("a@b.test".into());
    expected.http.listen = Some("[::1]:0".parse().unwrap());
    expected.logging.json = true;
    expected.logging.filter = "info,seine=debug".into();
    assert_eq!(config, expected);
}

#[test]
fn depth_follows_ache() {
    let depth = |yaml| config(yaml).frontier.max_depth;
    assert_eq!(depth("link_storage.link_classifier.type: LinkClassifierBreadthSearch"), None);
    assert_eq!(depth("link_storage.link_classifier.type: MaxDepthLinkClassifier"), Some(0));
    assert_eq!(depth("link_storage.link_classifier.max_depth: 3"), Some(3));
    assert_eq!(depth("link_storage: {link_strategy.outlinks: false, link_classifier.max_depth: 3}"), Some(0));
}

#[test]
fn focus_follows_ache() {
    let focus = |yaml: &str| {
        let FocusConfig { ranks, learns, hard, min_rank, .. } = config(yaml).frontier.focus;
        (ranks, learns, hard, min_rank)
    };
    let by_classifier = |name: &str| focus(&format!("link_storage.link_classifier.type: {name}"));
    assert_eq!(focus(""), (false, false, false, 0.0));
    assert_eq!(focus("target_storage.hard_focus: true"), (false, false, true, 0.0));
    assert_eq!(by_classifier("MaxDepthLinkClassifier"), (false, false, false, 0.0));
    assert_eq!(by_classifier("LinkClassifierBaseline"), (true, false, false, 0.0));
    assert_eq!(by_classifier("LinkClassifierImpl"), (true, true, false, 0.0));
    let online = "link_storage: {online_learning.enabled: true, link_selector.min_relevance: ";
    assert_eq!(focus(&format!("{online}0.3}}")), (true, true, false, 0.3));
    assert_eq!(focus(&format!("{online}250}}")), (true, true, false, 0.5), "on ACHE's scale");
    assert_eq!(focus("link_storage.link_selector.min_relevance: 0.3"), (false, false, false, 0.0), "nothing is ranked");
    let error = error("link_storage.link_selector.min_relevance: -1");
    assert!(error.contains("link_storage.link_selector.min_relevance") && error.contains("from 0 to 1"), "{error}");
    assert!(read("link_storage.link_selector: TopLinkSelector").is_err());
}

#[test]
fn the_web_server_can_be_turned_off() {
    assert_eq!(config("http.enabled: false\nhttp.port: 9000").http.listen, None);
}

#[test]
fn what_ache_has_and_seine_lacks_is_a_warning_when_it_asks_for_something() {
    let warned = |yaml: &str| -> Vec<String> { read(yaml).unwrap().warnings.iter().map(ToString::to_string).collect() };
    let told = warned("\ntarget_storage.bipartite: true");
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("seine.yml:2: target_storage.bipartite: not supported: "), "{}", told[0]);
    assert!(warned("target_storage.bipartite: false").is_empty());
    assert_eq!(warned("link_storage.link_classifier.type: LinkClassifierHub").len(), 1);

    let robots = read("link_storage.disallow_sites_in_robots_file: false").unwrap();
    assert!(!robots.config.fetch.obey_robots);
    assert!(robots.warnings[0].to_string().contains("does not obey robots.txt"));
}

#[test]
fn a_format_that_is_not_there_yet_is_an_error() {
    for format in ["ROCKSDB"] {
        for yaml in [
            format!("target_storage.data_format.type: {format}"),
            format!("target_storage.data_formats: [FILES, {format}]"),
        ] {
            let error = error(&yaml);
            assert!(error.contains(format) && error.contains("not supported"), "{error}");
        }
    }
    assert!(error("target_storage.data_formats: [FILES, TAPE]").contains("TAPE"));
    assert!(error("target_storage.data_formats: [FILES, FILES]").contains("twice"));
    assert!(error("target_storage.data_formats: []").contains("use VOID to deliver pages nowhere"));
}

#[test]
fn an_unknown_key_names_its_place_and_the_nearest_known_one() {
    let near = |yaml: &str, key: &str| {
        let error = error(yaml);
        assert!(error.contains(&format!("did you mean {key}?")), "{error}");
        assert!(error.contains("seine.yml:"), "{error}");
        error
    };
    let told = near(
        "crawler_id: a\nlink_storage.scheduler.host_min_acces_interval: 5",
        "link_storage.scheduler.host_min_access_interval",
    );
    assert!(told.contains("seine.yml:2: unknown key link_storage.scheduler.host_min_acces_interval;"), "{told}");
    near("link_storage:\n  scheduler:\n    max-crawl-delay: 5", "link_storage.scheduler.max_crawl_delay");
    near("visited_page_limit: 5", "target_storage.visited_page_limit");
    near("target_storage.data_format: {typ: FILES}", "target_storage.data_format.type");
    near("Crawler_ID: x", "crawler_id");
    assert!(error("quite_something_else_altogether: 1").contains("check-config --defaults"));
}

#[test]
fn a_wrong_value_names_its_place_the_value_and_what_is_expected() {
    let wrong = |yaml: &str, parts: &[&str]| {
        let error = error(yaml);
        parts.iter().for_each(|part| assert!(error.contains(part), "{part:?} is not in: {error}"));
    };
    wrong(
        "\n\nlink_storage.scheduler.host_min_access_interval: soon",
        &["seine.yml:3: link_storage.scheduler.host_min_access_interval: soon", "a duration such as", "milliseconds"],
    );
    wrong("link_storage.scheduler.backoff_base: 0", &["at least 1ms"]);
    wrong("link_storage.scheduler.backoff_base: 5 weeks", &["\"5 weeks\""]);
    wrong("link_storage.scheduler.backoff_base: 99999999999999999999", &["a duration"]);
    wrong("link_storage.scheduler.backoff_base: 999999999999d", &["a duration"]);
    wrong("link_storage.scheduler.backoff_base: -5", &["-5", "a duration"]);
    wrong("link_storage.cache_size: 64XB", &["64XB", "a size such as 64MB"]);
    wrong("link_storage.cache_size: 999999999TiB", &["a size"]);
    wrong("link_storage.cache_size:", &["no value", "a size"]);
    wrong("link_storage.link_strategy.use_scope: maybe", &["maybe", "true or false"]);
    wrong("crawler_manager.downloader.download_thread_pool_size: 0", &["from 1 to 100000"]);
    wrong("crawler_manager.downloader.max_redirects: [1]", &["[1] is not valid", "a whole number"]);
    wrong("link_storage.link_strategy.scope: galaxy", &["galaxy", "host, domain"]);
    wrong("link_storage.link_strategy.scope_hosts: ['http://a.test/']", &["host names"]);
    wrong("link_storage.link_strategy.whitelist: ['(']", &["regular expressions", "( is not valid"]);
    wrong("crawler_manager.downloader.valid_mime_types: [html]", &["text/html", "html is not valid"]);
    wrong("crawler_manager.downloader.static_hosts: {a.test: b.test}", &["IP addresses"]);
    wrong("crawler_manager.downloader.user_agent.name: 'Söner 1'", &["product token"]);
    wrong("crawler_manager.downloader.user_agent.string: \"a\\r\\nX: y\"", &["printable ASCII"]);
    wrong("budget.rules: 5", &["a list of budgets"]);
    wrong("budget.rules: [5]", &["entry 1: this is not a mapping"]);
    wrong("budget.rules: [{of: crawl, pages: 1}, {pages: 1}]", &["entry 2: of is missing", "crawl, host or domain"]);
    wrong("budget.rules: [{of: planet, pages: 1}]", &["of is \"planet\"", "crawl, host or domain"]);
    wrong("budget.rules: [{of: host, per: week, pages: 1}]", &["per is \"week\"", "life, run or day"]);
    wrong("budget.rules: [{of: host, pages: 0}]", &["pages is \"0\"", "from 1 up"]);
    wrong("budget.rules: [{of: host, bytes_received: much}]", &["bytes_received is \"much\"", "a size such as"]);
    wrong("budget.rules: [{of: host, sites: 1}]", &["sites is not one of of, per, pages"]);
    wrong("budget.rules: [{of: host, per: day}]", &["entry 1: the amount is missing"]);
    wrong("budget.rules: [{of: host, pages: 1}, {of: host, pages: 2}]", &["entry 2: a second budget of pages"]);
    wrong("crawler_id: ../other", &["../other", "letters"]);
    wrong("http.host: localhost.example", &["IP address"]);
    wrong("http.port: 65536", &["65535"]);
    wrong("logging.filter: '=='", &["a filter such as"]);
    wrong("link_storage.scheduler: 5", &["a group of keys"]);
    wrong("link_storage.scheduler: {backoff_base: 2h, backoff_max: 1h}", &["backoff_max", "longer"]);
    wrong("page_log: {segment_size: 1GiB, max_size: 1GiB}", &["page_log.max_size", "two segments"]);
    wrong("crawler_manager.downloader.max_body_size: 201MiB", &["max_body_size", "200 MiB"]);
}

#[test]
fn durations_and_sizes_are_read_in_their_units() {
    let delay = |text: &str| config(&format!("link_storage.scheduler.backoff_max: {text}")).frontier.backoff_max;
    let seconds = [("5000", 5), ("5000ms", 5), ("5s", 5), ("5 s", 5), ("2m", 120), ("3h", 10_800), ("1d", 86_400)];
    for (text, seconds) in seconds {
        assert_eq!(delay(text), Duration::from_secs(seconds), "{text}");
    }
    let size = |text: &str| config(&format!("link_storage.cache_size: {text}")).frontier.cache_bytes;
    let sizes = [("2000000", 2_000_000), ("2MB", 2_000_000), ("2 mb", 2_000_000), ("2MiB", 2 << 20), ("1gib", 1 << 30)];
    for (text, bytes) in sizes {
        assert_eq!(size(text), bytes, "{text}");
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let error = error("crawler_i: x\nhttp.port: x\nlogging.format: x\n");
    assert!(error.contains("3 problems"), "{error}");
    assert!(["crawler_i;", "http.port", "logging.format"].iter().all(|key| error.contains(key)), "{error}");
}

#[test]
fn a_file_full_of_errors_is_told_briefly_and_soon() {
    let told = error(&(0..60_000).map(|number| format!("key{number}: x\n")).collect::<String>());
    assert!(told.contains("20 problems") && told.len() < 10_000, "{told}");
    let told = error(&format!("\"{}\\e[31m\": 1\n", "k".repeat(500_000)));
    assert!(told.len() < 1000 && !told.contains('\x1b'), "{told}");
}

#[test]
fn a_key_set_twice_is_an_error() {
    let told = error("http.port: 1\nhttp:\n  port: 2\n");
    assert!(told.contains("seine.yml:3: http.port is set twice") && told.contains("seine.yml:1"), "{told}");
    error("http.port: 1\nhttp.port: 1\n");
    error("target_storage.data_format.type: FILES\ntarget_storage.data_formats: [FILES]\n");
}

#[test]
fn text_that_is_no_configuration_is_refused_with_its_place() {
    assert!(error("a: [1\n").contains("not valid YAML"));
    assert!(error("crawler_id: x\nhttp:\n  port: 'x\n").contains("seine.yml:3: not valid YAML"));
    assert!(error("crawler_id: x\n- c\n").contains("seine.yml:2: not valid YAML"));
    assert!(error("- a\n- b\n").contains("keys with values"));
    assert!(error("just words\n").contains("keys with values"));
    assert!(error("a: &x [1]\nb: *x\n").contains("aliases"));
    assert!(error("crawler_id: a\n---\ncrawler_id: b\n").contains("second document"));
    assert!(error(&"- ".repeat(100_000)).contains("nested too deeply"));
    assert!(error(&"[".repeat(100_000)).contains("not valid YAML"));
    assert!(error(&"a".repeat(2 << 20)).contains("larger than 1 MiB"));
    for (name, bytes) in [("latin.yml", &b"crawler_id: caf\xe9"[..]), ("binary.yml", b"\x7fELF\xff\xfe\x00")] {
        let error = load(Some(&file(name, bytes).path), &[]).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("UTF-8"), "{error}");
    }
    let missing = load(Some(Path::new("/nowhere/at/all.yml")), &[]).unwrap_err().to_string();
    assert!(missing.contains("/nowhere/at/all.yml") && missing.contains("-c"), "{missing}");
}

#[test]
fn empty_files_and_byte_order_marks_are_fine() {
    for text in ["", "\n# nothing\n", "---\n", "http:\n", "{}", "null"] {
        assert_eq!(config(text), Config::default(), "{text:?}");
    }
    assert_eq!(config("\u{feff}crawler_id: x\r\nhttp.port: 1\r\n").crawler_id, "x");
}

#[test]
fn the_environment_overrides_the_file() {
    let loaded = with_env(
        "link_storage.scheduler.host_min_access_interval: 5s\ntarget_storage.data_format.type: FILES\n",
        &[
            ("SEINE__LINK_STORAGE__SCHEDULER__HOST_MIN_ACCESS_INTERVAL", "250ms"),
            ("SEINE__TARGET_STORAGE__DATA_FORMAT__TYPE", "VOID,STDOUT"),
            ("SEINE__CRAWLER_MANAGER__DOWNLOADER__VALID_MIME_TYPES", "[text/html, text/plain]"),
            ("SEINE__CRAWLER_MANAGER__DOWNLOADER__STATIC_HOSTS", "{a.test: 127.0.0.1}"),
            ("SEINE__CRAWLER_ID", "true"),
            ("SEINE__HTTP__PORT", ""),
            ("SEINE_UNRELATED", "x"),
            ("PATH", "/bin"),
        ],
    )
    .unwrap();
    assert_eq!(loaded.config.frontier.host_delay, Duration::from_millis(250));
    assert_eq!(names(&loaded.config), ["void", "stdout"]);
    assert_eq!(loaded.config.fetch.mime_types, ["text/html", "text/plain"]);
    assert_eq!(loaded.config.fetch.static_hosts["a.test"], ["127.0.0.1".parse::<std::net::IpAddr>().unwrap()]);
    assert_eq!(loaded.config.crawler_id, "true");
    assert_eq!(loaded.config.http, Config::default().http);
    let origin = |key: &str| loaded.effective.iter().find(|entry| entry.key == key).unwrap().origin.clone();
    assert_eq!(origin("crawler_id"), Origin::Environment("SEINE__CRAWLER_ID".into()));
}

#[test]
fn a_wrong_variable_is_an_error() {
    let told = with_env("", &[("SEINE__TARGET_STORAGE__DATA_FORMTS", "VOID")]).unwrap_err();
    assert!(told.contains("did you mean SEINE__TARGET_STORAGE__DATA_FORMATS?"), "{told}");
    assert!(told.contains("SEINE__TARGET_STORAGE__DATA_FORMTS"), "{told}");
    let told = with_env("", &[("SEINE__HTTP__PORT", "many")]).unwrap_err();
    assert!(told.contains("environment variable SEINE__HTTP__PORT: http.port: many"), "{told}");
    with_env("", &[("SEINE__CRAWLER_MANAGER__DOWNLOADER__STATIC_HOSTS", "{a: ")]).unwrap_err();
}

#[test]
fn secrets_are_never_printed() {
    let secrets = "target_storage.data_format.elasticsearch.rest.password: hunter2\n\
         target_storage.data_format.kafka.properties: {sasl.jaas.config: username=u password=hunter2, ssl.key.password: hunter2}\n\
         link_storage.backsurfer.moz.secret_key: hunter2\n\
         crawler_manager.downloader.torproxy: http://someone:hunter2@tor.test:1\n\
         crawler_manager.downloader.okhttp3.proxy_password: hunter2\n\
         http.auth.basic.password: hunter2\n\
         crawler_manager.downloader.cookies: [{domain: a.test, cookie: session=hunter2}]\n";
    let loaded = read(secrets).unwrap();
    assert_eq!(loaded.config.fetch.cookies[0].cookie.expose(), "session=hunter2");
    let printed = format!("{}{loaded:?}{:?}{}", render(&loaded), loaded.config, loaded.config.fetch.cookies[0].cookie);
    assert!(!printed.contains("hunter2"), "{printed}");
    assert!(render(&loaded).contains("cookie: \"***\""));

    for wrong in [
        "target_storage.data_format.elasticsearch.rest.hosts: ['https:// someone:hunter2@']",
        "http.auth.basic.password: [hunter2]",
        "http.auth.basic.password: {hunter2: 1}",
        "crawler_manager.downloader.cookies: hunter2",
        "crawler_manager.downloader.cookies: [hunter2]",
        "crawler_manager.downloader.cookies: [{domain: a.test, cookie: \"hunter2\\n\"}]",
        "crawler_manager.downloader.cookies: [{domain: a.test, cooky: hunter2}]",
        "http.host: http://someone:hunter2@here.test/",
        "http.auth.basic.passwort: hunter2",
    ] {
        if let Err(told) = read(wrong) {
            assert!(!told.contains("hunter2"), "{told}");
        }
    }
    let told = with_env("", &[("SEINE__CRAWLER_MANAGER__DOWNLOADER__COOKIES", "hunter2")]).unwrap_err();
    assert!(!told.contains("hunter2"), "{told}");
}

#[test]
fn what_is_in_force_reads_back() {
    let loaded = with_env(
        "crawler_id: news\nlink_storage.link_strategy.blacklist: ['.*[?&]a=b, c.*', \"x\\\"y: z\"]\n\
         crawler_manager.downloader.static_hosts: {a.test: ['fd00::8', 10.0.0.1]}\n\
         crawler_manager.downloader.user_agent.string: 'null'\n",
        &[("SEINE__LINK_STORAGE__RECRAWL__INTERVAL", "90m")],
    )
    .unwrap();
    let text = render(&loaded);
    assert_eq!(config(&text), loaded.config);
    let line = |key: &str| text.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert!(line("crawler_id").ends_with("# seine.yml:1"));
    assert!(line("link_storage.recrawl").ends_with("# environment variable SEINE__LINK_STORAGE__RECRAWL__INTERVAL"));
    assert!(line("http.port").ends_with("# default"));
}

#[test]
fn a_folder_brings_aches_files_along() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let told = load(Some(folder.path()), &[]).unwrap_err().to_string();
    assert!(told.contains("seine.yml") && told.contains("ache.yml"), "{told}");

    write("ache.yml", "crawler_id: ache\nlink_storage.link_strategy.blacklist: [a]\n");
    write("link_whitelist.txt", ".*/news/.*\r\n\r\n.*/sport/.*\n");
    write("link_blacklist.txt", "# not these\n.*\\.pdf\n");
    write("link_filters.yml", "global:\n  type: wildcard\n  whitelist: ['http://a.test/*']\n");
    let loaded = load(Some(folder.path()), &[]).unwrap();
    assert_eq!(loaded.config.crawler_id, "ache");
    assert_eq!(loaded.config.scope.allow, [".*/news/.*", ".*/sport/.*"]);
    assert_eq!(loaded.config.scope.deny, ["a", r".*\.pdf"]);
    assert!(loaded.config.scope.link_filters.unwrap().starts_with("global:"));
    assert_eq!(loaded.files.len(), 4);

    write("seine.yml", "crawler_id: seine\n");
    assert_eq!(load(Some(folder.path()), &[]).unwrap().config.crawler_id, "seine");

    write("link_blacklist.txt", "ok\n(?=ahead)\n");
    write("link_filters.yml", "a: [\n");
    let told = load(Some(folder.path()), &[]).unwrap_err().to_string();
    assert!(told.contains("link_blacklist.txt:2") && told.contains("link_filters.yml:"), "{told}");
}

#[test]
fn seeds_are_read_as_they_stand() {
    let file =
        file("seeds.txt", "\u{feff}# my seeds\r\nhttps://a.test/x?b=c\r\n\r\n  http://b.test:8080  \nHTTPS://C.test");
    assert_eq!(read_seeds(&file.path).unwrap(), ["https://a.test/x?b=c", "http://b.test:8080", "HTTPS://C.test"]);
}

#[test]
fn bad_seeds_are_told_all_at_once() {
    let text = "https://a.test/\nexample.com\nftp://a.test/\nhttps://\nlocalhost:80\n".to_owned() + &"!\n".repeat(20);
    let file = file("seeds.txt", text);
    let error = read_seeds(&file.path).unwrap_err();
    let SeedsError::Lines { lines, total, .. } = &error else { panic!("{error}") };
    assert_eq!((lines.len(), *total), (10, 24));
    let told = error.to_string();
    for part in [
        "seeds.txt",
        "not URLs (24)",
        "line 2: \"example.com\": write it in full, such as https://example.com",
        "line 3: \"ftp://a.test/\"",
        "line 4: \"https://\"",
        "line 5: \"localhost:80\"",
        "and 14 more",
    ] {
        assert!(told.contains(part), "{part:?} is not in: {told}");
    }
}

#[test]
fn files_that_are_no_seeds_are_refused() {
    let told = |content: &[u8]| read_seeds(&file("seeds.txt", content).path).unwrap_err().to_string();
    assert!(told(b"").contains("has no URL"));
    assert!(told(b"# only\n\n").contains("has no URL"));
    assert!(told(b"\x7fELF\x00\x01").contains("zero bytes"));
    assert!(told(b"https://a.test/caf\xe9").contains("UTF-8"));
    let told = read_seeds(Path::new("/nowhere/seeds.txt")).unwrap_err().to_string();
    assert!(told.contains("/nowhere/seeds.txt") && told.contains("-s"), "{told}");
    assert!(matches!(read_seeds(TempDir::new().unwrap().path()), Err(SeedsError::Read { .. })));
}

/// Text that resembles YAML with our keys, so that parsing goes beyond the first byte.
fn yamlish() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(ACHE_KEYS).prop_map(|(key, value)| format!("{key}: {value}\n")),
        proptest::sample::select(ACHE_KEYS).prop_map(|(key, _)| key.replace('.', ":\n ")),
        "[-\\[\\]{}:,#&*!|>'\"%@`?~ \n\ta-c0-9.]{0,12}",
        "\\PC{0,6}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_brings_it_down(text in yamlish()) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("seine.yml");
        fs::write(&path, &text).unwrap();
        match load(Some(&path), &[]) {
            Ok(loaded) => prop_assert!(!render(&loaded).is_empty()),
            Err(error) => prop_assert!(!error.problems.is_empty() && !error.to_string().is_empty()),
        }
    }

    #[test]
    fn no_variable_brings_it_down(index in 0..ACHE_KEYS.len(), value in "\\PC{0,20}") {
        let name = format!("SEINE__{}", ACHE_KEYS[index].0.to_ascii_uppercase().replace('.', "__"));
        let _ = load(None, &[(name, value)]);
    }

    #[test]
    fn no_seed_file_brings_it_down(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = read_seeds(&file("seeds.txt", bytes).path);
    }
}

// ---- Options and variables

/// With options of the command line: keys and their values as typed.
fn with_options(options: &[(&str, &str)]) -> Result<Config, String> {
    let options: Vec<_> = options.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    let loaded = seine::config::load_with(None, &[], &options);
    loaded.map(|loaded| loaded.config).map_err(|error| error.to_string())
}

#[test]
fn limits_apply_to_options_as_to_keys() {
    let delay = "link_storage.scheduler.host_min_access_interval";
    for text in ["1s", "1000"] {
        assert_eq!(with_options(&[(delay, text)]).unwrap().frontier.host_delay, Duration::from_secs(1));
    }
    let error = with_options(&[(delay, "99999999999999999999s")]).unwrap_err();
    assert!(error.contains("command line") && error.contains("expected a duration"), "{error}");
    let hosts = with_options(&[
        ("crawler_manager.downloader.static_hosts.a.test", "[\"127.0.0.2\", \"fd00::8\"]"),
        ("crawler_manager.downloader.static_hosts.b.test", "127.0.0.3"),
    ]);
    let hosts = hosts.unwrap().fetch.static_hosts;
    assert_eq!(hosts["a.test"], ["127.0.0.2".parse::<std::net::IpAddr>().unwrap(), "fd00::8".parse().unwrap()]);
    assert_eq!(hosts["b.test"], ["127.0.0.3".parse::<std::net::IpAddr>().unwrap()]);
}

#[test]
fn a_variable_with_one_underscore_for_a_dot_is_an_error_that_says_so() {
    let env = |name: &str| load(None, &[(name.to_owned(), "1".to_owned())]).map_err(|error| error.to_string());
    let error = env("SEINE_HTTP_PORT").unwrap_err();
    assert!(error.contains("SEINE_HTTP_PORT") && error.contains("SEINE__HTTP__PORT"), "{error}");
    assert!(env("SEINE_SOMETHING_ELSE").is_ok(), "other programs have variables too");
}

#[test]
fn a_pattern_is_refused_where_it_is_read_in_the_mode_it_is_used_in() {
    let error = read("link_storage.link_strategy.whitelist: ['.*\\p{L}.*']\n").unwrap_err();
    assert!(error.contains("link_storage.link_strategy.whitelist") && error.contains("ASCII"), "{error}");
}

// ---- Sinks

fn sinks_of(yaml: &str) -> Vec<SinkConfig> {
    config(yaml).sinks
}

#[test]
fn the_longer_form_names_sinks_and_gives_each_its_own_options() {
    let yaml = "target_storage:\n  data_format.kafka: {topic_name: pages, partitions: 3}\n  sinks:\n  \
        - {name: news, destination: kafka, options: {topic_name: news}}\n  \
        - {name: news-cdr, destination: kafka, format: CDR31, options: {topic_name: news-cdr, team: us}}\n  \
        - {destination: kafka, format: WARC, options: {compress: false}}\n  \
        - {format: ELASTIC, options: {max_file_size: 1MiB}}\n  \
        - {name: plain, format: warc, options: {compress: false, max_file_size: 2MiB}}\n  \
        - {name: one, destination: elasticsearch, options: {index_name: one, rest: {hosts: ['http://a:9200']}}}\n";
    let sinks = sinks_of(yaml);
    let names: Vec<&str> = sinks.iter().map(SinkConfig::name).collect();
    assert_eq!(names, ["news", "news-cdr", "kafka", "elastic", "plain", "one"]);
    let formats: Vec<_> = sinks.iter().map(|sink| sink.format.map(|format| format.name).unwrap()).collect();
    assert_eq!(formats, ["FILES", "CDR31", "WARC", "ELASTIC", "WARC", "ELASTIC"]);
    let topics: Vec<_> = sinks
        .iter()
        .filter_map(|sink| match &sink.destination {
            Destination::Kafka(kafka) => Some((kafka.topic.as_str(), kafka.partitions)),
            _ => None,
        })
        .collect();
    assert_eq!(topics, [("news", Some(3)), ("news-cdr", Some(3)), ("pages", Some(3))]);
    assert_eq!((sinks[0].options.team.as_deref(), sinks[1].options.team.as_deref()), (None, Some("us")));
    assert_eq!((sinks[1].options.warc.compress, sinks[2].options.warc.compress), (true, false));
    assert_eq!(sinks[3].destination, Destination::Files { max_file_size: 1 << 20, compression_level: 6 });
    assert_eq!(sinks[4].destination, Destination::Files { max_file_size: 2 << 20, compression_level: 6 });
    let Destination::Elasticsearch(elastic) = &sinks[5].destination else { panic!("{:?}", sinks[5]) };
    assert_eq!((elastic.index.as_str(), elastic.hosts[0].as_str()), ("one", "http://a:9200/"));
    // The output of `check-config` can be read again, with the same result.
    let file = file("seine.yml", yaml);
    let shown = render(&load(Some(&file.path), &[]).unwrap());
    assert_eq!(sinks_of(&shown), sinks, "{shown}");
}

#[test]
fn both_forms_stand_side_by_side_and_the_command_line_replaces_both() {
    let long = "target_storage.sinks: [{name: mine, format: CDR31}]\n";
    assert_eq!(names(&config(long)), ["mine"]);
    assert_eq!(names(&config(&format!("{long}target_storage.data_formats: [WARC]\n"))), ["warc", "mine"]);
    let file = file("seine.yml", long);
    let options = [("target_storage.data_formats", "STDOUT".to_owned())];
    let loaded = seine::config::load_with(Some(&file.path), &[], &options).unwrap();
    assert_eq!(names(&loaded.config), ["stdout"]);
    assert_eq!(names(&config("target_storage.sinks: []\n")), ["files"]);
}

#[test]
fn what_is_wrong_with_a_sink_is_said() {
    let cases = [
        ("{name: a, destination: tape}", "a sink's destination to be one of files, filesystem, pagestore, kafka"),
        ("{name: a, format: PDF}", "a sink's format to be one of FILES, CDR31"),
        ("{name: a}", "each sink to have a destination or a format"),
        ("{name: A/b, format: FILES}", "a sink's name to be 1 to 64 lower-case letters"),
        ("{name: log, format: FILES}", "not one of frontier, log, validator"),
        ("{name: a, format: FILES, optoins: {}}", "not optoins"),
        ("{name: a, format: FILES, options: {topic_name: x}}", "keys of target_storage.data_format.files"),
        ("{name: a, format: FILES, options: {max_file_size: -1}}", "files.max_file_size: expected"),
        ("{name: a, destination: elasticsearch, format: FILES}", "an index takes only ELASTIC documents"),
        ("{name: a, destination: files, format: PAGESTORE}", "PAGESTORE needs the destination pagestore"),
        ("{name: a, destination: kafka, format: PAGESTORE}", "PAGESTORE writes folders and cannot be a message"),
        ("{destination: stdout, format: WARC}", "WARC is not made of lines"),
        ("{name: a, format: FILES}, {name: a, format: WARC}", "each sink needs a name of its own; a is used twice"),
        (
            "{name: a, destination: kafka, options: {topic_name: x, removed: delete}}",
            "kafka.removed: expected one of tombstone, event, keep",
        ),
        (
            "{name: a, destination: elasticsearch, options: {removed: tombstone}}",
            "elasticsearch.removed: expected one of delete, keep",
        ),
        ("{name: a, format: FILES, options: {removed: delete}}", "records.removed: expected one of keep"),
        ("{name: a, format: WARC, options: {unchanged: touch}}", "records.unchanged: expected one of send, skip"),
        ("{name: a, format: WARC, options: {min_change: 65}}", "records.min_change: expected"),
        (
            "{name: a, format: WARC, options: {min_change: 3}}",
            "no effect where unchanged is send; set unchanged to skip",
        ),
        ("{name: a, destination: kafka}", "KAFKA needs the name of a topic"),
    ];
    for (sinks, said) in cases {
        let error = read(&format!("target_storage.sinks: [{sinks}]\n")).expect_err(sinks);
        assert!(error.contains(said), "{sinks}: {error}");
    }
}

/// Texts are read only if a sink needs the distances of changes.
#[test]
fn thresholds_are_those_of_the_sinks_that_ask_or_tell() {
    let thresholds = |yaml: &str| Vec::<u8>::from_iter(config(yaml).thresholds());
    let recrawl = "link_storage.recrawl.interval: 14d\n";
    let kafka = "target_storage.data_formats: [KAFKA]\ntarget_storage.data_format.kafka.topic_name: pages\n";
    assert_eq!(thresholds(recrawl), [0; 0], "FILES has no place for it");
    assert_eq!(thresholds(kafka), [0; 0], "pages are not looked at again");
    assert_eq!(thresholds(&format!("{recrawl}{kafka}")), [0]);
    assert_eq!(thresholds("target_storage.data_format.records: {unchanged: skip, min_change: 3}\n"), [3]);
    let several = "target_storage.sinks: [{format: FILES}, {format: ELASTIC}, \
        {destination: elasticsearch, options: {index_name: a, min_change: 64}}, \
        {name: b, destination: elasticsearch, options: {index_name: b, min_change: 7, unchanged: skip}}]\n";
    assert_eq!(thresholds(several), [7, 64]);
    let some = "link_storage.recrawl.overrides: [{host: a.test, interval: 1h}]\n";
    assert_eq!(thresholds(&format!("{some}{several}")), [0, 7, 64]);
    let sink = |yaml: &str| config(yaml).sinks.remove(3);
    assert_eq!((sink(several).upkeep.min_change, sink(several).options.min_change), (7, 7));
}

#[test]
fn some_pages_have_intervals_of_their_own() {
    let revisit = |yaml: &str| read(yaml).map(|loaded| loaded.config.frontier.revisit);
    let text = "link_storage.recrawl.overrides: [{host: News.test, interval: 1h}, \
                {pattern: /archive/, interval: null}, {pattern: '[?&]q=', min_interval: 7d, max_interval: 60d}]";
    let policy = revisit(text).unwrap();
    let hour = Duration::from_secs(3600);
    let own = |interval, min_interval, max_interval| (interval, min_interval, max_interval);
    let intervals: Vec<_> =
        policy.overrides.iter().map(|it| own(it.interval, it.min_interval, it.max_interval)).collect();
    let (week, most) = (Some(7 * 24 * hour), Some(60 * 24 * hour));
    assert_eq!(intervals, [own(Some(Some(hour)), None, None), own(Some(None), None, None), own(None, week, most)]);
    assert_eq!(policy.overrides[0].which, Which::Host("news.test".into()));
    assert_eq!(policy.overrides[2].which, Which::Pattern("[?&]q=".into()));
    // The printed configuration can be read again.
    let shown = render(&read(text).unwrap());
    assert_eq!(revisit(&shown).unwrap(), policy, "{shown}");
    let env = [("SEINE__LINK_STORAGE__RECRAWL__OVERRIDES", "[{host: a.test, interval: 2h}]")];
    assert_eq!(with_env("", &env).unwrap().config.frontier.revisit.overrides.len(), 1);

    let first = "{host: a.test, interval: 1h}";
    for (entry, words) in [
        ("{host: a.test}", "it has no interval"),
        ("{interval: 1h}", "a host or a pattern"),
        ("{host: a.test, pattern: b, interval: 1h}", "either a host or a pattern"),
        ("{host: a.test, interval: soon}", "interval to be a duration"),
        ("{host: a.test, interval: 0}", "at least 1ms"),
        ("{host: a.test, every: 1h}", "every is not one of host"),
        ("{pattern: '(', interval: 1h}", "regular expressions"),
        ("{host: a.test, min_interval: 2h, max_interval: 1h}", "longer than its max_interval"),
        ("a.test", "not a mapping"),
    ] {
        let told = error(&format!("link_storage.recrawl.overrides: [{first}, {entry}]"));
        assert!(told.contains("entry 2") && told.contains(words), "{told}");
    }
    assert!(error("link_storage.recrawl.overrides: 1h").contains("a list such as"));
}

const TOKEN: &str = "0123456789abcdef";
const TOKEN_FILE: &str = "SEINE__HTTP__API__READ_TOKEN_FILE";

#[test]
fn every_secret_may_stand_in_a_file() {
    let token = file("token", format!("{TOKEN}\n"));
    let path = token.path.to_str().unwrap();
    let of_file = read(&format!("http:\n  api:\n    read_token_file: {path}\n")).unwrap();
    let of_variable = with_env("", &[(TOKEN_FILE, path)]).unwrap();
    for loaded in [&of_file, &of_variable] {
        assert_eq!(loaded.config.http.read_token.as_ref().map(Secret::expose), Some(TOKEN));
        let shown = render(loaded);
        assert!(shown.contains("http.api.read_token: \"***\"") && !shown.contains(TOKEN), "{shown}");
        assert!(!format!("{loaded:?}").contains(TOKEN));
    }
    let origin = of_variable.effective.iter().find(|entry| entry.key == "http.api.read_token").unwrap().origin.clone();
    assert_eq!(origin, Origin::Environment(TOKEN_FILE.into()));
    // The value at the next start.
    fs::write(&token.path, "fedcba9876543210\r\n").unwrap();
    let again = with_env("", &[(TOKEN_FILE, path)]).unwrap().config.http.read_token;
    assert_eq!(again.as_ref().map(Secret::expose), Some("fedcba9876543210"));

    let group = "target_storage.data_format";
    let elastic = |config: Config| match config.sinks.into_iter().next().map(|sink| sink.destination) {
        Some(Destination::Elasticsearch(elastic)) => *elastic,
        other => panic!("{other:?}"),
    };
    let short =
        format!("target_storage.data_formats: [ELASTICSEARCH]\n{group}.elasticsearch.rest.api_key_file: {path}\n");
    assert_eq!(elastic(config(&short)).api_key.as_ref().map(Secret::expose), Some("fedcba9876543210"));
    let options = format!("{{rest: {{username: u, password_file: {path}}}}}");
    let long = read(&format!("target_storage.sinks: [{{destination: elasticsearch, options: {options}}}]\n")).unwrap();
    assert!(render(&long).contains("rest.password: \"***\""), "{}", render(&long));
    assert_eq!(elastic(long.config).password.as_ref().map(Secret::expose), Some("fedcba9876543210"));
    let kafka = config(&format!(
        "target_storage.data_formats: [KAFKA]\n{group}.kafka: {{topic_name: t, properties: {{security.protocol: SASL_SSL, \
         sasl.mechanism: PLAIN, sasl.username: u, sasl.password_file: {path}}}}}\n"
    ));
    let Destination::Kafka(kafka) = &kafka.sinks[0].destination else { panic!("{kafka:?}") };
    assert_eq!(kafka.properties["sasl.password"].expose(), "fedcba9876543210");
}

#[test]
fn a_variable_replaces_a_secret_and_its_file_and_no_file_is_read_in_vain() {
    let token = file("token", "fedcba9876543210");
    let path = token.path.to_str().unwrap();
    let value = |loaded: Loaded| loaded.config.http.read_token.unwrap().expose().to_owned();
    let overridden = with_env("http.api.read_token_file: /nowhere/x\n", &[("SEINE__HTTP__API__READ_TOKEN", TOKEN)]);
    assert_eq!(value(overridden.unwrap()), TOKEN);
    let overridden = with_env(&format!("http.api.read_token: {TOKEN}\n"), &[(TOKEN_FILE, path)]);
    assert_eq!(value(overridden.unwrap()), "fedcba9876543210");
}

#[test]
fn a_secret_that_is_given_twice_or_cannot_be_read_names_key_path_and_remedy() {
    let told = error(&format!("http.api.read_token: {TOKEN}\nhttp.api.read_token_file: /run/x\n"));
    assert!(told.contains("seine.yml:2: http.api.read_token_file is set, and http.api.read_token too"), "{told}");
    assert!(told.contains("remove one of them") && !told.contains(TOKEN), "{told}");
    let both = [("SEINE__HTTP__API__READ_TOKEN", TOKEN), (TOKEN_FILE, "/run/x")];
    let told = with_env("", &both).unwrap_err();
    assert!(told.contains(TOKEN_FILE) && told.contains("variable SEINE__HTTP__API__READ_TOKEN)"), "{told}");
    let told = error("target_storage.data_format.kafka.properties: {partitioner: random}\n");
    assert!(told.contains("in one partition") && told.contains("murmur2_random"), "{told}");
    let told = error("target_storage.data_format.kafka.properties: {sasl.password: x, sasl.password_file: /run/x}\n");
    assert!(told.contains("only one of sasl.password and sasl.password_file"), "{told}");
    let told = error(
        "target_storage.sinks: [{destination: elasticsearch, options: {rest.password: x, rest.password_file: /y}}]\n",
    );
    assert!(told.contains("one of rest.password and rest.password_file"), "{told}");

    let told = with_env("", &[(TOKEN_FILE, "/nowhere/token")]).unwrap_err();
    for part in [TOKEN_FILE, "http.api.read_token_file", "/nowhere/token", "check the path and its permissions"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let empty = file("empty", "\n");
    let (short, bytes) = (file("short", "tooshort\n"), file("bytes", b"\xff\xfe0123456789abcdef"));
    for (path, why) in [(&empty, "is empty"), (&short, "16 or more"), (&bytes, "UTF-8")] {
        let told = with_env("", &[(TOKEN_FILE, path.path.to_str().unwrap())]).unwrap_err();
        assert!(told.contains(why) && !told.contains("tooshort"), "{told}");
    }
    assert!(error("http.api.read_token_file: secrets/token\n").contains("the absolute path of a file"));
    // A key that is not secret has no file.
    assert!(error("http.port_file: /run/x\n").contains("unknown key http.port_file"));
    let told = with_env("", &[("SEINE_HTTP_API_READ_TOKEN_FILE", "/run/x")]).unwrap_err();
    assert!(told.contains(TOKEN_FILE), "{told}");
}

#[test]
fn what_a_crawl_was_started_with_keeps_the_path_and_not_the_secret() {
    let token = file("token", TOKEN);
    let text = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let then = [text((TOKEN_FILE, token.path.to_str().unwrap()))];
    let none: [(String, String); 0] = [];
    let folder = TempDir::new().unwrap();
    StartedWith::new(None, &then, &none).save(folder.path()).unwrap();
    let kept = fs::read_to_string(folder.path().join("started-with.json")).unwrap();
    assert!(kept.contains(token.path.to_str().unwrap()) && !kept.contains(TOKEN), "{kept}");
    let kept = StartedWith::load(folder.path()).unwrap();
    let value = |now: &[(String, String)]| kept.configuration(None, now, &none).unwrap().config.http.read_token;
    assert_eq!(value(&[]).as_ref().map(Secret::expose), Some(TOKEN));
    // If the file is gone, as a service's credentials after its end, the given value is used.
    let now = [text(("SEINE__HTTP__API__READ_TOKEN", "fedcba9876543210"))];
    assert_eq!(value(&now).as_ref().map(Secret::expose), Some("fedcba9876543210"));
}

#[test]
fn each_client_has_a_name_and_a_token_of_its_own() {
    let token = "0123456789abcdef-one";
    let loaded = read(&format!("work.clients: \"alice:{token} bob:{token}-more\"\n")).unwrap();
    let names: Vec<&str> = loaded.config.work.clients.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["alice", "bob"]);
    let cases = [
        (format!("alice:{token} bob:{token}"), "bob and alice have the same token"),
        (format!("alice:{token} alice:{token}2"), "alice is listed twice"),
        (format!("../alice:{token}"), "a name has up to 64 letters"),
        ("alice:short".to_owned(), "as the token of alice 16 or more letters"),
        ("alice".to_owned(), "an entry has no colon"),
    ];
    for (clients, words) in cases {
        let told = error(&format!("work.clients: \"{clients}\"\n"));
        assert!(told.contains(words) && !told.contains(token), "{told}");
    }
}

/// Other parameters select another page, so they stay.
#[test]
fn links_lose_the_parameters_that_only_say_where_a_visitor_came_from() {
    let href = "/a?utm_source=a&utm_medium=b&gclid=c&fbclid=d&msclkid=e&yclid=f&mc_cid=g&_ga=h&pk_campaign=i&id=1&ref=2\
                &source=3&sid2=4";
    let mut page = PageEvent::empty("https://site.example/");
    if let Outcome::Response(response) = &mut page.outcome {
        response.body = format!("<html><a href='{href}'>").into();
    }
    let derived = derive(&page, &DeriveOptions::from(&Config::default()));
    let urls: Vec<&str> = derived.links.iter().map(|link| link.url.as_str()).collect();
    assert_eq!(urls, ["https://site.example/a?id=1&ref=2&sid2=4&source=3"]);
}

/// Both use the defaults, except that a configuration names parameters to drop.
#[test]
fn a_page_is_derived_alike_without_a_configuration_and_with_an_empty_one() {
    let configured = DeriveOptions::from(&Config::default());
    assert!(!configured.drop_parameters.is_empty());
    let drop_parameters = configured.drop_parameters.clone();
    assert_eq!(configured, DeriveOptions { drop_parameters, ..DeriveOptions::default() });
}

#[test]
fn a_port_of_kafka_that_is_none_is_refused() {
    let with = |servers: &str| {
        read(&format!(
            "target_storage.data_formats: [KAFKA]\ntarget_storage.data_format.kafka: {{topic_name: t, properties: \
             {{bootstrap.servers: \"{servers}\"}}}}\n"
        ))
    };
    assert!(with("a:9092, [::1]:65535, b").is_ok());
    let told = with("a:9092,b:99999").unwrap_err().to_string();
    assert!(told.contains("bootstrap.servers") && told.contains("65535"), "{told}");
}

#[test]
fn the_frontier_opens_alike_without_a_configuration_and_with_an_empty_one() {
    let (config, options) = (Config::default().frontier, FrontierOptions::default());
    assert_eq!(options.default_delay, config.host_delay);
    assert_eq!(options.revisit_share, config.revisit_share);
    assert_eq!(options.cache_bytes, config.cache_bytes);
}
