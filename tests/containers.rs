//! docker-compose.yml, the Dockerfile and the files they mount, checked without Docker.

#[path = "support/config.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use seine::config::{Config, Destination, load, read_seeds};
use yaml_rust2::{Yaml, YamlLoader};

use support::names;

#[test]
fn every_image_is_pinned() {
    let pinned = Regex::new(r"^[a-z0-9./-]+:v?\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?$").unwrap();
    let images: BTreeMap<String, String> =
        services().iter().map(|(name, service)| (name.clone(), text(&service["image"]))).collect();
    for (name, image) in &images {
        assert!(pinned.is_match(image), "{name}: {image}");
    }
    // docs/NEXT.md explains how the others get digests. Seine's own image is built here.
    let by_tag = images.iter().filter(|(_, image)| !image.contains("@sha256:")).map(|(name, _)| name.as_str());
    let no_digest = ["elasticsearch", "grafana", "kibana", "kibana-objects", "seine", "seine-full"];
    assert_eq!(by_tag.collect::<Vec<_>>(), no_digest);
    let tag = |name: &str| images[name].split('@').next().unwrap().rsplit_once(':').unwrap().1.to_owned();
    for seine in ["seine", "seine-full"] {
        assert_eq!(tag(seine), env!("CARGO_PKG_VERSION"), "{seine}");
    }
    assert_eq!(tag("kibana"), tag("elasticsearch"), "Kibana works with its own Elasticsearch");
    assert_eq!(images["kibana"], images["kibana-objects"]);
}

#[test]
fn every_service_is_watched_limited_and_started_again() {
    let size = Regex::new(r"^\d+[mg]$").unwrap();
    for (name, service) in services() {
        let check = &service["healthcheck"];
        let memory = text(&service["mem_limit"]);
        assert!(size.is_match(&memory), "{name}: mem_limit {memory:?}");
        assert!(service["cpus"].as_i64().is_some_and(|cpus| cpus > 0), "{name}: cpus");
        assert!(!service["logging"]["options"]["max-size"].is_badvalue(), "{name}: a log without end");
        assert!(service["ulimits"]["nofile"]["hard"].as_i64().is_some_and(|files| files >= 65_536), "{name}: nofile");
        if ONCE.contains(&name.as_str()) {
            assert_eq!(text(&service["restart"]), "on-failure", "{name}");
            assert_eq!(check["disable"].as_bool(), Some(true), "{name} ends: nothing of it is to be watched");
            continue;
        }
        assert_eq!(text(&check["test"][0]), "CMD", "{name}: a check without a shell");
        for key in ["interval", "timeout", "start_period"] {
            assert!(seconds(&check[key]) > 0, "{name}: healthcheck.{key}");
        }
        assert!(check["retries"].as_i64().is_some_and(|tries| tries >= 3), "{name}: healthcheck.retries");
        assert!(seconds(&check["timeout"]) < seconds(&check["interval"]), "{name}: checks that overlap");
        assert_eq!(text(&service["restart"]), "unless-stopped", "{name}");
    }
}

#[test]
fn nothing_mounted_is_missing() {
    let file = compose();
    let declared: BTreeSet<String> = keys(&file["volumes"]);
    let mut used = BTreeSet::new();
    for (name, service) in services() {
        for mount in mounts(&service) {
            if mount.source.starts_with('.') {
                assert!(root().join(&mount.source).exists(), "{name}: {} is not there", mount.source);
                assert!(mount.read_only, "{name}: {} could be written to", mount.source);
            } else {
                assert!(declared.contains(&mount.source), "{name}: volume {} is not declared", mount.source);
                assert!(!mount.read_only, "{name}: {} cannot be written to", mount.source);
                used.insert(mount.source);
            }
        }
    }
    assert_eq!(used, declared, "volumes that nobody uses");
}

#[test]
fn a_profile_is_complete() {
    let services = services();
    for (name, service) in &services {
        let profiles: BTreeSet<String> = texts(&service["profiles"]).collect();
        assert!(!profiles.is_empty(), "{name} would start with every profile");
        for (wanted, how) in service["depends_on"].as_hash().into_iter().flatten() {
            let wanted = text(wanted);
            assert_eq!(text(&how["condition"]), "service_healthy", "{name} → {wanted}");
            let theirs: BTreeSet<String> = texts(&services[&wanted]["profiles"]).collect();
            assert!(profiles.is_subset(&theirs), "{name} is started without {wanted}: {profiles:?}, {theirs:?}");
        }
    }
    let of = |profile: &str| -> Vec<&str> {
        let is_in = |service: &Yaml| texts(&service["profiles"]).any(|name| name == profile);
        services.iter().filter(|(_, service)| is_in(service)).map(|(name, _)| name.as_str()).collect()
    };
    assert_eq!(of("alone"), ["seine"]);
    assert_eq!(
        of("full"),
        ["elasticsearch", "grafana", "kafka", "kibana", "kibana-objects", "prometheus", "seine-full"]
    );
}

#[test]
fn only_this_machine_reaches_the_ports() {
    for (name, service) in services() {
        for port in texts(&service["ports"]) {
            assert!(port.starts_with("127.0.0.1:"), "{name}: {port}");
        }
    }
}

#[test]
fn secrets_come_from_outside() {
    let secret = Regex::new("(?i)password|secret|api_?key|token|cookies").unwrap();
    let mut seen = 0;
    for (name, service) in services() {
        for (key, value) in service["environment"].as_hash().into_iter().flatten() {
            if secret.is_match(&text(key)) {
                assert!(value.is_null(), "{name}: the value of {} is in the file", text(key));
                seen += 1;
            }
        }
    }
    assert!(seen > 0, "no password can be handed on");
}

#[test]
fn every_service_is_hardened() {
    for (name, service) in services() {
        // Elasticsearch creates its keystore next to its configuration.
        assert_eq!(service["read_only"].as_bool(), Some(name != "elasticsearch"), "{name}: read_only");
        assert_eq!(texts(&service["cap_drop"]).collect::<Vec<_>>(), ["ALL"], "{name}");
        assert_eq!(texts(&service["security_opt"]).collect::<Vec<_>>(), ["no-new-privileges:true"], "{name}");
        assert!(service["pids_limit"].as_i64().is_some_and(|most| most > 0), "{name}: pids_limit");
        let user = text(&service["user"]);
        let (id, _) = user.split_once(':').expect("user and group");
        assert!(id.parse::<u32>().is_ok_and(|id| id > 0), "{name} is {user}");
        for place in texts(&service["tmpfs"]) {
            let hides = mounts(&service).iter().any(|mount| mount.target.starts_with(place.split(':').next().unwrap()));
            assert!(!hides, "{name}: {place} lies over a volume");
        }
    }
}

/// The one-shot service imports the objects that the dashboards' own test checks, into the Kibana of this file.
#[test]
fn kibanas_objects_are_imported_into_kibana() {
    let services = services();
    let importer = &services["kibana-objects"];
    let mount = &mounts(importer)[0];
    let command = texts(&importer["command"]).next().unwrap();
    let file = Regex::new(r"file=@(\S+)").unwrap().captures(&command).expect("--form file=@…")[1].to_owned();
    let here = root().join(&mount.source).join(Path::new(&file).strip_prefix(&mount.target).expect("a mounted file"));
    assert_eq!(here.canonicalize().unwrap(), root().join("config/kibana/seine.ndjson").canonicalize().unwrap());
    let port = texts(&services["kibana"]["ports"]).next().unwrap();
    let inside = port.rsplit_once(':').unwrap().1;
    assert!(command.contains(&format!("http://kibana:{inside}/api/saved_objects/_import")), "{command}");
    assert!(command.contains("kbn-xsrf"), "Kibana refuses what has no such header");
    assert_eq!(text(&importer["depends_on"]["kibana"]["condition"]), "service_healthy");
}

#[test]
fn seine_cannot_write_but_to_its_data() {
    for name in SEINES {
        let service = &services()[name];
        let user = text(&service["user"]);
        assert!(dockerfile().contains(&format!("USER {user}")), "{name}: {user} is not the image's user");
        assert!(!user.starts_with('0'), "{name} is root");
        // Seine itself needs up to 12 seconds, and a disk may be slow.
        assert!(seconds(&service["stop_grace_period"]) >= 30, "{name}: killed while it ends");
    }
}

#[test]
fn seines_configurations_are_taken_without_a_warning() {
    let alone = configuration("seine");
    assert_eq!(names(&alone), ["files"]);

    let full = configuration("seine-full");
    assert_eq!(names(&full), ["files", "kafka", "elasticsearch"]);
    let (Destination::Kafka(kafka), Destination::Elasticsearch(elastic)) =
        (&full.sinks[1].destination, &full.sinks[2].destination)
    else {
        panic!("{:?}", full.sinks)
    };
    let services = services();
    let advertised = text(&services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]);
    let broker = kafka.properties["bootstrap.servers"].expose();
    assert!(advertised.contains(&format!("://{broker},")), "{broker} is not among {advertised}");
    assert!(kafka.create_topic, "the broker makes no topics by itself");
    assert!(services.contains_key(elastic.hosts[0].host_str().unwrap()), "{:?}", elastic.hosts);

    // Both continue the same crawl, so what is known about a destination stays valid.
    assert_eq!(alone.crawler_id, full.crawler_id);
}

/// In a container, requests from this machine come from another address, so the API refuses them without tokens.
#[test]
fn tokens_of_the_api_come_from_outside_and_pages_are_fetched_again() {
    for name in SEINES {
        let environment = &services()[name]["environment"];
        for key in ["SEINE__HTTP__API__READ_TOKEN", "SEINE__HTTP__API__OPERATE_TOKEN"] {
            assert!(environment[key].is_null(), "{name} hands no {key} on");
        }
        assert!(configuration(name).frontier.revisit.interval.is_some(), "{name} fetches each page once");
    }
}

/// The imported dashboards use the index that the containers' crawl writes.
#[test]
fn the_dashboards_and_the_template_are_of_the_index_that_is_written() {
    let index = configuration("seine-full").sinks.iter().find_map(|sink| match &sink.destination {
        Destination::Elasticsearch(elastic) => Some(elastic.index.clone()),
        _ => None,
    });
    let index = index.expect("seine-full writes an index");
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    for path in ["config/kibana/seine.ndjson", "config/opensearch-dashboards/seine.ndjson"] {
        let objects = fs::read_to_string(root().join(path)).unwrap();
        let views: Vec<_> = objects.lines().map(json).filter(|object| object["type"] == "index-pattern").collect();
        assert_eq!(views.len(), 1, "{path}");
        assert_eq!(views[0]["attributes"]["title"], index.as_str(), "{path}");
    }
    for path in ["docs/elasticsearch/index-template.json", "docs/elasticsearch/index-template.opensearch.json"] {
        let template = json(&fs::read_to_string(root().join(path)).unwrap());
        assert_eq!(template["index_patterns"], serde_json::json!([index]), "{path}");
    }
}

#[test]
fn seines_commands_are_taken() {
    for name in SEINES {
        let service = &services()[name];
        let command = on_this_machine(service);
        let seeds = command.iter().position(|word| word == "--seeds").expect("--seeds");
        assert!(!read_seeds(Path::new(&command[seeds + 1])).unwrap().is_empty(), "{name}");
        // Options before --help are parsed first, and an unknown one is refused.
        let run = Command::new(env!("CARGO_BIN_EXE_seine")).args(&command).arg("--help").output().unwrap();
        assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
        assert!(command.contains(&"--stay".to_owned()), "{name}: ends, and is started again, and ends");
    }
}

#[test]
fn prometheus_and_grafana_find_what_they_ask_for() {
    let services = services();
    let scrape = yaml("config/prometheus/prometheus.yml");
    let files: Vec<String> = texts(&scrape["scrape_configs"][0]["file_sd_configs"][0]["files"]).collect();
    assert_eq!(files, ["targets.yml"]);
    let target_of = |path: &str| texts(&yaml(path)[0]["targets"]).collect::<Vec<_>>();
    assert_eq!(target_of("config/prometheus/targets.yml"), ["localhost:8080"]);
    assert_eq!(target_of("config/docker/prometheus-targets.yml"), ["seine:8080"]);
    assert!(mounts(&services["prometheus"]).iter().any(|mount| mount.target == "/etc/prometheus/targets.yml"));
    assert!(texts(&services["seine-full"]["networks"]["default"]["aliases"]).any(|alias| alias == "seine"));

    let provider = yaml("config/grafana/provisioning/dashboards/seine.yml");
    let folder = text(&provider["providers"][0]["options"]["path"]);
    assert!(mounts(&services["grafana"]).iter().any(|mount| mount.target == folder), "no dashboards at {folder}");
}

#[test]
fn the_dockerfile_is_pinned_and_copies_what_it_is_given() {
    let dockerfile = dockerfile();
    let images: Vec<&str> = starting_with(&dockerfile, "FROM ").collect();
    assert_eq!(images.len(), 2, "{images:?}");
    let pinned = Regex::new(r"^[a-z]+:\d+\.\d+[.0-9]*-[a-z]+( AS build)?$").unwrap();
    for image in &images {
        assert!(pinned.is_match(image), "{image}");
    }
    let rust: Vec<u32> =
        Regex::new(r"\d+").unwrap().find_iter(images[0]).map(|n| n.as_str().parse().unwrap()).collect();
    let wanted: Vec<u32> = env!("CARGO_PKG_RUST_VERSION").split('.').map(|n| n.parse().unwrap()).collect();
    assert!(rust >= wanted, "{rust:?} cannot build what wants {wanted:?}");
    assert!(
        dockerfile.contains(&format!("ARG VERSION={}\n", env!("CARGO_PKG_VERSION"))),
        "the label tells another version"
    );

    let ignore = fs::read_to_string(root().join(".dockerignore")).unwrap();
    let allowed: BTreeSet<&str> = starting_with(&ignore, "!").collect();
    let mut used = BTreeSet::new();
    for line in starting_with(&dockerfile, "COPY ").filter(|line| !line.starts_with("--from")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        for source in &words[..words.len() - 1] {
            assert!(root().join(source).exists(), "{source} is not there");
            // A folder is sent with all that is in it.
            let sent = allowed.iter().find(|sent| Path::new(source).starts_with(sent));
            used.insert(*sent.unwrap_or_else(|| panic!("{source} is not sent to Docker")));
        }
    }
    assert_eq!(allowed, used, "sent to Docker and not used");
    for word in ["--locked --release", "ENTRYPOINT [\"seine\"]", "HEALTHCHECK", "STOPSIGNAL SIGTERM"] {
        assert!(dockerfile.contains(word), "no {word}");
    }
}

const SEINES: [&str; 2] = ["seine", "seine-full"];
/// Services that do one thing and end.
const ONCE: [&str; 1] = ["kibana-objects"];

struct Mount {
    source: String,
    target: String,
    read_only: bool,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn dockerfile() -> String {
    fs::read_to_string(root().join("Dockerfile")).unwrap()
}

fn starting_with<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| line.strip_prefix(start))
}

/// A file of the project, with `${NAME:-default}` replaced by the default.
fn yaml(path: &str) -> Yaml {
    let raw = fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let text = Regex::new(r"\$\{[A-Z_]+:-([^}]*)\}").unwrap().replace_all(&raw, "$1");
    assert!(!text.contains("${"), "{path}: a variable without a default");
    YamlLoader::load_from_str(&text).unwrap().remove(0)
}

fn compose() -> Yaml {
    yaml("docker-compose.yml")
}

/// Every service by name, merged with what `<<` refers to.
fn services() -> BTreeMap<String, Yaml> {
    fn merged(service: &Yaml) -> Yaml {
        let below = &service["<<"];
        let mut all =
            if below.is_badvalue() { Default::default() } else { merged(below).as_hash().cloned().unwrap_or_default() };
        all.extend(service.as_hash().unwrap().clone());
        Yaml::Hash(all)
    }
    let file = compose();
    file["services"].as_hash().unwrap().iter().map(|(name, service)| (text(name), merged(service))).collect()
}

fn mounts(service: &Yaml) -> Vec<Mount> {
    let mount = |volume: String| {
        let mut parts = volume.split(':').map(str::to_owned);
        let (source, target) = (parts.next().unwrap(), parts.next().unwrap());
        Mount { source, target, read_only: parts.next().as_deref() == Some("ro") }
    };
    texts(&service["volumes"]).map(mount).collect()
}

/// A service's command, with mounted paths replaced by those on this machine.
fn on_this_machine(service: &Yaml) -> Vec<String> {
    let mounts = mounts(service);
    let here = |word: String| {
        let found = mounts.iter().find_map(|mount| {
            let below = Path::new(&word).strip_prefix(&mount.target).ok()?;
            let path = root().join(&mount.source).components().chain(below.components()).collect::<PathBuf>();
            mount.source.starts_with('.').then(|| path.to_str().unwrap().to_owned())
        });
        found.unwrap_or(word)
    };
    texts(&service["command"]).map(here).collect()
}

fn configuration(name: &str) -> Config {
    let command = on_this_machine(&services()[name]);
    let path = command.iter().position(|word| word == "--config").expect("--config") + 1;
    let loaded = load(Some(Path::new(&command[path])), &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(loaded.warnings, [], "{name}");
    loaded.config
}

fn keys(hash: &Yaml) -> BTreeSet<String> {
    hash.as_hash().unwrap().keys().map(text).collect()
}

#[track_caller]
fn text(value: &Yaml) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value:?}")).to_owned()
}

fn texts(list: &Yaml) -> impl Iterator<Item = String> {
    list.as_vec().map(|list| list.iter().map(text).collect::<Vec<_>>()).unwrap_or_default().into_iter()
}

/// `10s` and `1m`.
#[track_caller]
fn seconds(value: &Yaml) -> u64 {
    let value = text(value);
    let (number, unit) = value.split_at(value.len() - 1);
    let times = if unit == "m" { 60 } else { 1 };
    assert!("sm".contains(unit), "{value}");
    number.parse::<u64>().unwrap_or_else(|_| panic!("{value}")) * times
}
