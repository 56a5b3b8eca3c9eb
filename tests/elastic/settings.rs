//! The configuration of the sink: ACHE's keys, ours, and deprecated ones.

use std::time::Duration;

use seine::config::{self, Destination, ElasticConfig, Loaded, Secret, SinkConfig};

const KEYS: &str = "target_storage.data_format.elasticsearch";

fn load(yaml: &str, options: &[(&'static str, String)]) -> Result<Loaded, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ache.yml");
    std::fs::write(&file, format!("target_storage.data_format.type: ELASTICSEARCH\n{yaml}")).unwrap();
    config::load_with(Some(&file), &[], options).map_err(|error| error.to_string())
}

fn elastic(yaml: &str) -> ElasticConfig {
    of(&load(yaml, &[]).unwrap())
}

fn of(loaded: &Loaded) -> ElasticConfig {
    match &loaded.config.sinks[..] {
        [SinkConfig { destination: Destination::Elasticsearch(config), .. }] => ElasticConfig::clone(config),
        other => panic!("one Elasticsearch sink, not {other:?}"),
    }
}

fn hosts(config: &ElasticConfig) -> Vec<&str> {
    config.hosts.iter().map(|host| host.as_str()).collect()
}

#[test]
fn the_documented_sample_is_understood() {
    let config = elastic(
        "target_storage.data_format.elasticsearch.rest.hosts:\n  - http://node1:9200\n  - http://node2:9200\n\
         target_storage.data_format.elasticsearch.rest.connect_timeout: 30000\n\
         target_storage.data_format.elasticsearch.rest.socket_timeout: 20000\n\
         target_storage.data_format.elasticsearch.rest.max_retry_timeout_millis: 90000\n",
    );
    assert_eq!(hosts(&config), ["http://node1:9200/", "http://node2:9200/"]);
    assert_eq!(config.connect_timeout, Duration::from_secs(30));
    assert_eq!(config.socket_timeout, Duration::from_secs(20));
    assert_eq!(config.max_retry, Duration::from_secs(90));
}

#[test]
fn without_keys_it_is_the_local_server_and_aches_index() {
    let config = elastic("");
    assert_eq!((hosts(&config), &*config.index), (vec!["http://localhost:9200/"], "ache-data"));
    assert_eq!((config.username, config.password, config.api_key, config.ca_file), (None, None, None, None));
}

#[test]
fn a_host_without_port_means_9200_and_one_with_a_path_keeps_it() {
    let config =
        elastic(&format!("{KEYS}.rest.hosts: ['http://a', 'https://b:443', 'http://c:80/es/', 'http://[::1]']"));
    assert_eq!(hosts(&config), ["http://a:9200/", "https://b/", "http://c/es/", "http://[::1]:9200/"]);
    for wrong in ["a:9200", "ftp://a", "http://", "http://a/?x", "http://u:p@a:9200", "not a host"] {
        let error = load(&format!("{KEYS}.rest.hosts: ['{wrong}']"), &[]).unwrap_err();
        assert!(error.contains("rest.hosts") && error.contains("http://node1:9200"), "{error}");
    }
}

#[test]
fn who_asks_is_said_in_one_way() {
    let config =
        elastic(&format!("{KEYS}.rest.username: me\n{KEYS}.rest.password: secret\n{KEYS}.rest.ca_file: /x.pem"));
    assert_eq!((config.username.as_deref(), &config.password), (Some("me"), &Some(Secret::new("secret"))));
    assert_eq!(config.ca_file, Some("/x.pem".into()));
    assert_eq!(elastic(&format!("{KEYS}.rest.api_key: 'VnVhQ2=='")).api_key, Some(Secret::new("VnVhQ2==")));
    for wrong in [
        "rest.username: me\nrest.password: x\nrest.api_key: VnVh",
        "rest.password: x",
        "rest.username: 'me:x'",
        "rest.api_key: 'id key'",
    ] {
        let yaml: String = wrong.lines().map(|line| format!("{KEYS}.{line}\n")).collect();
        load(&yaml, &[]).unwrap_err();
    }
    let loaded = load(&format!("{KEYS}.rest.username: me\n{KEYS}.rest.password: hunter2"), &[]).unwrap();
    assert!(!format!("{loaded:?}{}", config::render(&loaded)).contains("hunter2"));
}

#[test]
fn a_password_in_a_url_is_not_repeated() {
    for key in ["rest.hosts: ['http://joe:hunter2@es1.test:9200']", "host: 'joe:hunter2@es1.test'"] {
        let error = load(&format!("{KEYS}.{key}"), &[]).unwrap_err();
        let key = key.split(':').next().unwrap();
        assert!(error.contains(key) && !error.contains("hunter2") && !error.contains("joe"), "{error}");
    }
}

#[test]
fn names_that_no_index_can_have_are_refused() {
    for right in ["pages", "pages-2026.11", "a_b", "seiten-ü"] {
        assert_eq!(elastic(&format!("{KEYS}.index_name: '{right}'")).index, right);
    }
    let long = "x".repeat(256);
    for wrong in
        ["", "Pages", "-x", "_x", "+x", ".", "..", "a b", "a/b", "a*", "a?b", "a,b", "a#b", "a:b", "a%2fb", &long]
    {
        let error = load(&format!("{KEYS}.index_name: '{wrong}'"), &[]).unwrap_err();
        assert!(error.contains("index_name"), "{error}");
    }
}

#[test]
fn the_transport_clients_keys_mean_http_on_that_host_and_say_so() {
    let yaml = format!("{KEYS}.host: es1.test\n{KEYS}.port: 9300\n{KEYS}.cluster_name: elasticsearch\n");
    let loaded = load(&yaml, &[]).unwrap();
    assert_eq!(hosts(&of(&loaded)), ["http://es1.test:9200/"]);
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert!(
        warnings.iter().any(|text| text.contains("deprecated") && text.contains("http://es1.test:9200")),
        "{warnings:?}"
    );
    assert!(warnings.iter().any(|text| text.contains("cluster_name")), "{warnings:?}");
    // Configured hosts come first.
    assert_eq!(hosts(&elastic(&format!("{yaml}{KEYS}.rest.hosts: [http://new:9201]"))), ["http://new:9201/"]);
}

#[test]
fn options_of_the_command_line_come_before_the_file() {
    let index = |name: &str| vec![("target_storage.data_format.elasticsearch.index_name", name.to_owned())];
    let file = format!("{KEYS}.index_name: of-the-file");
    assert_eq!(of(&load(&file, &index("of-the-option")).unwrap()).index, "of-the-option");
    let error = load(&file, &index("NOT")).unwrap_err();
    assert!(error.starts_with("command line: ") && error.contains("NOT"), "{error}");
    let options = vec![("target_storage.data_format.elasticsearch.type_name", "doc".to_owned())];
    let loaded = load(&file, &options).unwrap();
    assert!(loaded.warnings[0].to_string().contains("no types"), "{:?}", loaded.warnings);
}
