//! `target_storage.data_format.kafka.*`: properties of Java's client and of librdkafka.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::{ToKafka, load, load_all};

const TOPIC: &str = "target_storage.data_format.type: KAFKA\ntarget_storage.data_format.kafka.topic_name: t\n";

fn yaml(properties: &[(&str, &str)]) -> String {
    let mut yaml = format!("{TOPIC}target_storage.data_format.kafka.properties:\n");
    for (name, value) in properties {
        let value = serde_json::Value::from(*value);
        writeln!(yaml, "  {name}: {value}").unwrap();
    }
    yaml
}

fn read(properties: &[(&str, &str)]) -> ToKafka {
    load(&yaml(properties)).unwrap_or_else(|problem| panic!("{problem}"))
}

/// The properties passed to librdkafka.
fn given(properties: &[(&str, &str)]) -> BTreeMap<String, String> {
    read(properties).properties.clone().into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect()
}

fn error(properties: &[(&str, &str)]) -> String {
    load(&yaml(properties)).expect_err("refused")
}

fn warnings(properties: &[(&str, &str)]) -> Vec<String> {
    load_all(&yaml(properties)).unwrap().warnings.into_iter().map(|warning| warning.text).collect()
}

#[test]
fn the_defaults_lose_nothing() {
    let given = given(&[]);
    let expected = [
        ("bootstrap.servers", "localhost:9092"),
        ("acks", "all"),
        ("enable.idempotence", "true"),
        ("compression.type", "lz4"),
        ("message.timeout.ms", "0"),
        ("partitioner", "murmur2_random"),
        ("queue.buffering.max.kbytes", "32768"),
        ("message.max.bytes", "33554432"),
    ];
    for (name, value) in expected {
        assert_eq!(given.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert!(warnings(&[]).is_empty());
}

#[test]
fn javas_properties_become_librdkafkas() {
    for (java, value, name, expected) in [
        ("bootstrap.servers", "a:1,b:2", "bootstrap.servers", "a:1,b:2"),
        ("batch.size", "16384", "batch.size", "16384"),
        ("linger.ms", "100", "linger.ms", "100"),
        ("buffer.memory", "33554433", "queue.buffering.max.kbytes", "32769"),
        ("compression.type", "zstd", "compression.type", "zstd"),
        ("max.request.size", "1048576", "message.max.bytes", "1048576"),
        ("request.timeout.ms", "40000", "socket.timeout.ms", "40000"),
        ("max.in.flight.requests.per.connection", "3", "max.in.flight.requests.per.connection", "3"),
        ("send.buffer.bytes", "-1", "socket.send.buffer.bytes", "0"),
        ("receive.buffer.bytes", "65536", "socket.receive.buffer.bytes", "65536"),
        ("security.protocol", "SSL", "security.protocol", "SSL"),
        ("ssl.endpoint.identification.algorithm", "", "ssl.endpoint.identification.algorithm", "none"),
        ("acks", "1", "enable.idempotence", "false"),
        ("buffer.memory", "100000", "message.max.bytes", "100352"),
        // librdkafka's own properties unchanged, and their aliases.
        ("socket.nagle.disable", "false", "socket.nagle.disable", "false"),
        ("queue.buffering.max.ms", "7", "linger.ms", "7"),
        ("metadata.broker.list", "c:3", "bootstrap.servers", "c:3"),
        ("request.required.acks", "-1", "acks", "-1"),
    ] {
        assert_eq!(given(&[(java, value)]).get(name).map(String::as_str), Some(expected), "{java}");
    }
}

#[test]
fn the_documents_example_works() {
    // ACHE's documentation, “Data Formats”, KAFKA, verbatim.
    let properties = [
        ("bootstrap.servers", "localhost:9092"),
        ("acks", "all"),
        ("retries", "0"),
        ("batch.size", "5"),
        ("linger.ms", "100"),
        ("buffer.memory", "33554432"),
    ];
    let given = given(&properties);
    assert!(!given.contains_key("retries"));
    assert_eq!(given["message.timeout.ms"], "0");
    let told = warnings(&properties);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("retries: no effect") && told[1].starts_with("batch.size: counts bytes"), "{told:?}");
}

#[test]
fn stores_and_logins_are_translated() {
    let given = given(&[
        ("security.protocol", "SASL_SSL"),
        ("sasl.mechanism", "SCRAM-SHA-512"),
        (
            "sasl.jaas.config",
            r#"org.apache.kafka.common.security.scram.ScramLoginModule required username='al ice' password="a\"b\\c;";"#,
        ),
        ("ssl.truststore.type", "PEM"),
        ("ssl.truststore.location", "/etc/ca.pem"),
        ("ssl.keystore.type", "PEM"),
        ("ssl.keystore.location", "/etc/me.pem"),
        ("ssl.key.password", "k"),
    ]);
    for (name, value) in [
        ("sasl.mechanisms", "SCRAM-SHA-512"),
        ("sasl.username", "al ice"),
        ("sasl.password", "a\"b\\c;"),
        ("ssl.ca.location", "/etc/ca.pem"),
        ("ssl.certificate.location", "/etc/me.pem"),
        ("ssl.key.location", "/etc/me.pem"),
        ("ssl.key.password", "k"),
    ] {
        assert_eq!(given.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert!(!given.contains_key("sasl.jaas.config") && !given.contains_key("ssl.truststore.location"));
    let told = error(&[("ssl.truststore.location", "/etc/trust.jks")]);
    assert!(told.contains("ssl.truststore.type PEM"), "{told}");
    let told = error(&[("ssl.keystore.location", "/etc/key.jks"), ("ssl.keystore.type", "JKS")]);
    assert!(told.contains("ssl.keystore.type PEM or PKCS12"), "{told}");
}

#[test]
fn what_has_no_counterpart_is_a_warning_that_names_it() {
    for name in ["delivery.timeout.ms", "max.block.ms", "interceptor.classes", "partitioner.class", "transactional.id"]
    {
        let told = warnings(&[(name, "1")]);
        assert!(matches!(&told[..], [one] if one.starts_with(name) && one.contains("no effect")), "{told:?}");
        assert!(!given(&[(name, "1")]).contains_key(name));
    }
    assert!(warnings(&[("key.serializer", "org.apache.kafka.common.serialization.StringSerializer")]).is_empty());
    assert!(warnings(&[("acks", "0")])[0].starts_with("acks: "));
}

#[test]
fn what_is_unknown_or_wrong_is_an_error_that_says_so() {
    for (name, value, part) in [
        ("bootstrap.server", "a:1", "did you mean bootstrap.servers?"),
        ("lingerms", "1", "did you mean linger.ms?"),
        ("colour", "red", "is unknown"),
        ("linger.ms", "soon", "linger.ms"),
        ("buffer.memory", "64MB", "buffer.memory to be a number of bytes"),
        ("compression.type", "zip", "compression.type"),
    ] {
        let told = error(&[(name, value)]);
        assert!(told.contains(part), "{name}: {told}");
    }
    let told = error(&[("buffer.memory", "100000"), ("max.request.size", "200000")]);
    assert!(told.contains("buffer.memory to hold at least one message"), "{told}");
    let told = error(&[("acks", "1"), ("enable.idempotence", "true")]);
    assert!(told.contains("acks: all with enable.idempotence"), "{told}");
    let told = error(&[("max.in.flight.requests.per.connection", "6")]);
    assert!(told.contains("at most 5"), "{told}");
    let told = error(&[("security.protocol", "SASL_SSL"), ("sasl.mechanism", "GSSAPI")]);
    assert!(told.contains("sasl.mechanism to be one of PLAIN"), "{told}");
    let told = error(&[("security.protocol", "SASL_SSL"), ("sasl.mechanism", "PLAIN")]);
    assert!(told.contains("sasl.jaas.config"), "{told}");
}

#[test]
fn secrets_are_neither_shown_nor_told() {
    let secret = [
        ("security.protocol", "SASL_SSL"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.jaas.config", "M required username=\"u\" password=\"hunter2\";"),
        ("ssl.key.password", "hunter2"),
    ];
    let loaded = load_all(&yaml(&secret)).unwrap();
    let shown = format!("{}{loaded:?}", seine::config::render(&loaded));
    assert!(shown.contains("SASL_SSL") && !shown.contains("hunter2"), "{shown}");
    for wrong in [("sasl.jaas.config", "hunter2"), ("ssl.key.pasword", "hunter2")] {
        assert!(!error(&[wrong]).contains("hunter2"));
    }
}

#[test]
fn the_other_keys_are_read() {
    let keys = "target_storage.data_format.kafka";
    let more = format!(
        "{TOPIC}{keys}.format: cdr31\n{keys}.team: NYU\n{keys}.create_topic: true\n{keys}.partitions: 6\n\
         {keys}.replication_factor: 3\n{keys}.stuck_after: 5s\n"
    );
    let config = load(&more).unwrap();
    let format = config.0.format.map(|format| format.name);
    assert_eq!((config.topic.as_str(), format, config.0.options.team.as_deref()), ("t", Some("CDR31"), Some("NYU")));
    assert_eq!((config.create_topic, config.partitions, config.replication_factor), (true, Some(6), Some(3)));
    assert_eq!(config.stuck_after.as_secs(), 5);

    let told = load("target_storage.data_format.type: KAFKA").unwrap_err();
    assert!(told.contains("KAFKA needs the name of a topic"), "{told}");
    let told = load(&format!("{keys}.topic_name: 'a b'")).unwrap_err();
    assert!(told.contains("a topic's name"), "{told}");
    let told = load(&format!("{TOPIC}{keys}.format: XML")).unwrap_err();
    assert!(told.contains("JSON, CDR31 or ELASTIC"), "{told}");
}
