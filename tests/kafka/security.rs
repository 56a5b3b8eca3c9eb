//! TLS and logins, with the properties of Java's client.

use seine::sinks::Sink;

use crate::broker::BROKER;
use crate::{finish, kafka_config, open, pages};

fn login(mechanism: &str, module: &str, user: &str, password: &str) -> String {
    let properties = "target_storage.data_format.kafka.properties";
    let ca = BROKER.ca();
    format!(
        "{properties}.security.protocol: SASL_SSL\n\
         {properties}.sasl.mechanism: {mechanism}\n\
         {properties}.sasl.jaas.config: 'org.apache.kafka.common.security.{module} required username=\"{user}\" password=\"{password}\";'\n\
         {properties}.ssl.truststore.type: PEM\n\
         {properties}.ssl.truststore.location: {}\n",
        ca.display()
    )
}

fn delivers(topic: &str, login: &str) {
    BROKER.make_topic(topic, &[]);
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&kafka_config(&BROKER.secure, topic, login), folder.path()).unwrap();
    sink.deliver(&pages(0..20, 1000)).unwrap();
    assert_eq!(finish(&mut sink, 20).unwrap().delivered, 20);
    assert_eq!(BROKER.read(topic).len(), 20);
}

#[test]
fn plain_and_scram_over_tls_deliver() {
    delivers("plain", &login("PLAIN", "plain.PlainLoginModule", "plain", "plain-secret"));
    delivers("scram", &login("SCRAM-SHA-512", "scram.ScramLoginModule", "scram", "scram-secret"));
}

#[test]
fn a_wrong_password_and_an_unknown_authority_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let error =
        |login: &str| open(&kafka_config(&BROKER.secure, "any", login), folder.path()).err().unwrap().to_string();
    let told = error(&login("PLAIN", "plain.PlainLoginModule", "plain", "hunter2"));
    assert!(told.contains("uthentication failed") && !told.contains("hunter2"), "{told}");
    let untrusted: String = login("PLAIN", "plain.PlainLoginModule", "plain", "plain-secret")
        .lines()
        .filter(|line| !line.contains("truststore"))
        .map(|line| format!("{line}\n"))
        .collect();
    let told = error(&untrusted);
    assert!(told.contains("certificate verify failed"), "{told}");
}
