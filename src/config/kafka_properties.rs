//! `target_storage.data_format.kafka.properties`: properties of the Java producer (as in ACHE) or of librdkafka,
//! translated to librdkafka's, with our defaults. A name that both have is read as Java's.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;
use regex::Regex;

use super::kafka_names::{JAVA, LIBRDKAFKA, Rule};
use super::secret::Secret;
use super::secret_file;

/// Defaults for properties that the user does not set. `message.timeout.ms` 0 retries without end.
const DEFAULTS: &[(&str, &str)] = &[
    ("bootstrap.servers", "localhost:9092"),
    ("client.id", "seine"),
    ("acks", "all"),
    ("compression.type", "lz4"),
    ("linger.ms", "20"),
    // Java's default. A key goes to the same partition as with ACHE and any Java producer.
    ("partitioner", "murmur2_random"),
    // The broker would create a deleted topic with its own settings. Seine creates the topic, or reports that it is
    // missing.
    ("allow.auto.create.topics", "false"),
    ("queue.buffering.max.kbytes", "32768"),
    ("message.timeout.ms", "0"),
    ("socket.keepalive.enable", "true"),
    ("enable.metrics.push", "false"),
];

const MECHANISMS: [&str; 3] = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];

/// Translates the user's properties to librdkafka's names. `notes` gets messages for the user. The error says what was
/// expected and never contains a value.
pub(super) fn translate(
    given: &BTreeMap<String, String>,
    notes: &mut Vec<String>,
) -> Result<BTreeMap<String, Secret>, String> {
    let given = &with_files(given)?;
    let mut found = BTreeMap::new();
    for (name, value) in given {
        match rule(name)? {
            Rule::Same => drop(found.insert(name.clone(), value.clone())),
            Rule::Named(other) => drop(found.insert((*other).into(), value.clone())),
            Rule::Kibibytes(other) => drop(found.insert((*other).into(), kibibytes(name, value)?)),
            Rule::Buffer(other) => {
                let value = if value.trim() == "-1" { "0".to_owned() } else { value.clone() };
                found.insert((*other).into(), value);
            }
            Rule::Silent | Rule::Store => {}
            Rule::None(why) => notes.push(format!("{name}: {why}")),
        }
    }
    stores(given, &mut found)?;
    if let Some(jaas) = given.get("sasl.jaas.config") {
        login(jaas, &mut found)?;
    }
    if found.get("ssl.endpoint.identification.algorithm").is_some_and(String::is_empty) {
        found.insert("ssl.endpoint.identification.algorithm".into(), "none".into());
    }
    add_defaults(&mut found, notes);
    if found.get("partitioner").is_some_and(|name| name.trim() == "random") {
        return Err("partitioner to keep the messages of a URL in one partition, in their order: random does not; leave it out, \
                    or use murmur2_random"
            .to_owned());
    }
    check(&found)?;
    if number(&found, "batch.size").is_some_and(|bytes| bytes < 1000) {
        notes.push("batch.size: counts bytes; with so few, each page is sent in a request of its own".into());
    }
    Ok(found.into_iter().map(|(name, value)| (name, Secret::new(value))).collect())
}

/// Reads properties from files: `sasl.password_file`. No property of Kafka or librdkafka ends in `_file`.
fn with_files(given: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
    let mut all = BTreeMap::new();
    for (name, value) in given {
        match secret_file::secret_of(name) {
            Some(secret) if given.contains_key(secret) => {
                return Err(format!("only one of {secret} and {name}; remove the other"));
            }
            Some(secret) => {
                let value = secret_file::read(value.trim()).map_err(|what| format!("{name} to be {what}"))?;
                all.insert(secret.to_owned(), value);
            }
            None => drop(all.insert(name.clone(), value.clone())),
        }
    }
    Ok(all)
}

fn rule(name: &str) -> Result<&'static Rule, String> {
    if let Some((_, rule)) = JAVA.iter().find(|(java, _)| *java == name) {
        return Ok(rule);
    }
    if LIBRDKAFKA.contains(&name) {
        return Ok(&Rule::Same);
    }
    let short: String = name.chars().take(120).collect();
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(&short.to_ascii_lowercase(), known);
    let known = JAVA.iter().map(|(java, _)| *java).chain(LIBRDKAFKA.iter().copied());
    let nearest = known.map(|known| (known, likeness(known))).max_by(|a, b| a.1.total_cmp(&b.1));
    let hint = match nearest {
        Some((nearest, likeness)) if likeness >= 0.65 => format!("did you mean {nearest}?"),
        _ => "see the producer configurations of Apache Kafka or librdkafka's CONFIGURATION.md".into(),
    };
    Err(format!("properties of the Java producer or of librdkafka; {} is unknown, {hint}", short.escape_debug()))
}

fn kibibytes(name: &str, value: &str) -> Result<String, String> {
    let bytes: u64 = value.trim().parse().map_err(|_| format!("{name} to be a number of bytes"))?;
    Ok(bytes.div_ceil(1024).max(1).to_string())
}

fn number(properties: &BTreeMap<String, String>, name: &str) -> Option<u64> {
    properties.get(name)?.trim().parse().ok()
}

/// Java's trust and key stores. librdkafka also takes PEM files and texts, and PKCS#12 for the key, but not JKS.
fn stores(given: &BTreeMap<String, String>, found: &mut BTreeMap<String, String>) -> Result<(), String> {
    let get = |name: &str| given.get(name).map(|value| value.trim().to_owned());
    let kind = |store: &str| get(&format!("ssl.{store}.type")).unwrap_or_else(|| "JKS".into()).to_ascii_uppercase();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            found.insert(name.into(), value);
        }
    };
    if let Some(path) = get("ssl.truststore.location") {
        if kind("truststore") != "PEM" {
            return Err("ssl.truststore.type PEM with ssl.truststore.location: Java's own stores cannot be read; \
                        write the certificates to a PEM file (keytool -exportcert -rfc)"
                .into());
        }
        put("ssl.ca.location", Some(path));
    }
    put("ssl.ca.pem", get("ssl.truststore.certificates"));
    if let Some(path) = get("ssl.keystore.location") {
        match kind("keystore").as_str() {
            "PEM" => {
                put("ssl.certificate.location", Some(path.clone()));
                put("ssl.key.location", Some(path));
            }
            "PKCS12" => {
                put("ssl.keystore.location", Some(path));
                put("ssl.keystore.password", get("ssl.keystore.password"));
            }
            _ => {
                return Err("ssl.keystore.type PEM or PKCS12 with ssl.keystore.location: JKS cannot be read; \
                            convert it (keytool -importkeystore -deststoretype PKCS12)"
                    .into());
            }
        }
    }
    put("ssl.certificate.pem", get("ssl.keystore.certificate.chain"));
    put("ssl.key.pem", get("ssl.keystore.key"));
    Ok(())
}

/// `org.apache.kafka.common.security.plain.PlainLoginModule required username="…" password="…";`
fn login(jaas: &str, found: &mut BTreeMap<String, String>) -> Result<(), String> {
    static ENTRY: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"\b(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))"#)
            .expect("a constant pattern")
    });
    for entry in ENTRY.captures_iter(jaas) {
        let value = [2, 3, 4].iter().find_map(|group| entry.get(*group)).map_or("", |it| it.as_str());
        found.insert(format!("sasl.{}", &entry[1]), unescaped(value));
    }
    if found.contains_key("sasl.username") && found.contains_key("sasl.password") {
        return Ok(());
    }
    Err("sasl.jaas.config with a username and a password, as of PlainLoginModule and ScramLoginModule".into())
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    plain
}

fn add_defaults(found: &mut BTreeMap<String, String>, notes: &mut Vec<String>) {
    for aliases in [
        ["metadata.broker.list", "bootstrap.servers"],
        ["request.required.acks", "acks"],
        ["compression.codec", "compression.type"],
        ["queue.buffering.max.ms", "linger.ms"],
        ["max.in.flight", "max.in.flight.requests.per.connection"],
        ["sasl.mechanism", "sasl.mechanisms"],
    ] {
        if let Some(value) = found.remove(aliases[0]) {
            found.entry(aliases[1].into()).or_insert(value);
        }
    }
    for (name, value) in DEFAULTS {
        found.entry((*name).into()).or_insert_with(|| (*value).into());
    }
    let acks_all = found.get("acks").is_some_and(|acks| matches!(acks.trim(), "all" | "-1"));
    found.entry("enable.idempotence".into()).or_insert_with(|| acks_all.to_string());
    if !acks_all {
        notes.push("acks: without all, pages counted as delivered can be lost when a broker fails".into());
    }
    // The broker decides how large a message may be. Our limit is the size of the buffer.
    let buffer = number(found, "queue.buffering.max.kbytes").unwrap_or_default().saturating_mul(1024);
    found.entry("message.max.bytes".into()).or_insert_with(|| buffer.clamp(1000, 1_000_000_000).to_string());
}

/// Checks values that librdkafka refuses late or never.
fn check(found: &BTreeMap<String, String>) -> Result<(), String> {
    let is = |name: &str, value: &str| found.get(name).is_some_and(|it| it.trim().eq_ignore_ascii_case(value));
    // librdkafka would connect to another port.
    let servers = found.get("bootstrap.servers").into_iter().flat_map(|servers| servers.split(','));
    for (_, port) in servers.filter_map(|server| server.trim().rsplit_once(':')) {
        if port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_err() {
            return Err("bootstrap.servers with ports from 0 to 65535, such as localhost:9092".into());
        }
    }
    let acks_all = is("acks", "all") || is("acks", "-1");
    if is("enable.idempotence", "true") && !acks_all {
        return Err("acks: all with enable.idempotence: true".into());
    }
    let in_flight = number(found, "max.in.flight.requests.per.connection");
    if is("enable.idempotence", "true") && in_flight.is_some_and(|requests| requests > 5) {
        return Err("max.in.flight.requests.per.connection of at most 5 with enable.idempotence: true".into());
    }
    if is("security.protocol", "sasl_ssl") || is("security.protocol", "sasl_plaintext") {
        if !MECHANISMS.iter().any(|known| is("sasl.mechanisms", known)) {
            return Err(format!("sasl.mechanism to be one of {}; Seine supports no others", MECHANISMS.join(", ")));
        }
        if !found.contains_key("sasl.username") || !found.contains_key("sasl.password") {
            return Err("sasl.jaas.config, or sasl.username and sasl.password, with a SASL protocol".into());
        }
    }
    let buffer = number(found, "queue.buffering.max.kbytes").map(|kibibytes| kibibytes.saturating_mul(1024));
    if number(found, "message.max.bytes") > buffer {
        return Err("buffer.memory to hold at least one message of max.request.size".into());
    }
    ask_librdkafka(found)
}

/// Lets librdkafka check each name and value.
fn ask_librdkafka(found: &BTreeMap<String, String>) -> Result<(), String> {
    let mut config = ClientConfig::new();
    for (name, value) in found {
        config.set(name, value);
    }
    let Err(error) = config.create_native_config() else { return Ok(()) };
    Err(match error {
        KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_INVALID, _, name, _) => {
            format!("another value for {name}, as the producer configurations of Kafka and librdkafka list them")
        }
        KafkaError::ClientConfig(_, _, name, _) => {
            format!("a property that this build of librdkafka knows; it does not know {name}")
        }
        _ => "properties that librdkafka takes".into(),
    })
}
