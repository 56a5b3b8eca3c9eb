//! Name resolution without outside access: there may be no DNS here.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use seine_parse::page::FailureReason;

use crate::sites::server::Answer;
use seine::config::FetchConfig;
use seine::fetch::{Dns, DnsError};
use tokio::task::JoinSet;

use crate::sites::dns::{NameServer, Say};
use crate::support::{failure, fetch_config, get_url, response, site};

fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// `.invalid` never exists (RFC 6761 §6.4).
const NOWHERE: &str = "nowhere.invalid";

#[tokio::test]
async fn fixed_names_localhost_and_literal_addresses_need_no_dns() {
    let static_hosts = [("shop.test".to_owned(), ips(&["127.0.0.9", "::1"]))].into();
    let dns = Dns::new(&FetchConfig { static_hosts, ..fetch_config() });
    for (name, expected) in [
        ("shop.test", &["127.0.0.9", "::1"][..]),
        ("SHOP.test.", &["127.0.0.9", "::1"]),
        ("localhost", &["127.0.0.1"]),
        ("a.b.localhost", &["127.0.0.1"]),
        ("127.0.0.77", &["127.0.0.77"]),
        ("[::1]", &["::1"]),
    ] {
        assert_eq!(dns.resolve(name).await.unwrap().to_vec(), ips(expected), "{name}");
    }
    assert_eq!(dns.counts().failed.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn private_addresses_are_refused_however_they_are_named() {
    let static_hosts = [
        ("inside.test".to_owned(), ips(&["10.0.0.1", "fd00::1"])),
        ("mixed.test".to_owned(), ips(&["10.0.0.1", "93.184.215.14"])),
    ];
    let dns = Dns::new(&FetchConfig { static_hosts: static_hosts.into(), allow_private: false, ..fetch_config() });
    for name in
        ["inside.test", "localhost", "x.localhost", "127.0.0.1", "[::1]", "[::ffff:10.0.0.1]", "169.254.169.254"]
    {
        match dns.resolve(name).await {
            Err(DnsError::Private { name: refused, .. }) => assert_eq!(refused, name),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!(dns.counts().refused_private.load(Ordering::Relaxed), 7);
    assert_eq!(dns.resolve("mixed.test").await.unwrap().to_vec(), ips(&["93.184.215.14"]));
}

#[tokio::test]
async fn private_and_special_ranges_are_told_from_public_ones() {
    let dns = Dns::new(&FetchConfig { allow_private: false, ..fetch_config() });
    let public = ["1.1.1.1", "100.63.0.1", "172.15.0.1", "198.17.0.1", "2606:4700::1111", "::ffff:8.8.8.8"];
    let special = [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "127.255.0.9",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.8",
        "192.0.2.1",
        "192.168.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "ff02::1",
        "2001:db8::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ];
    for ip in public {
        assert_eq!(dns.resolve(ip).await.unwrap().to_vec(), ips(&[ip]), "{ip} is public");
    }
    for ip in special {
        assert!(matches!(dns.resolve(ip).await, Err(DnsError::Private { .. })), "{ip} is not public");
    }
}

#[tokio::test]
async fn a_private_address_is_never_connected_to() {
    let site = site(|_| Answer::html("inside"));
    let static_hosts = [("inside.test".to_owned(), site.addresses.clone())].into();
    let config = FetchConfig { static_hosts, allow_private: false, ..fetch_config() };
    for host in ["inside.test", "127.0.0.11"] {
        let failure = failure(get_url(&config, &format!("http://{host}:{}/", site.port)).await);
        assert_eq!(failure.reason, FailureReason::PrivateAddress, "{host}: {}", failure.message);
        assert!(failure.message.contains("--allow-private"), "{}", failure.message);
    }
    assert!(site.visits.is_empty());
}

#[tokio::test]
async fn a_name_without_address_is_a_dns_failure_and_asked_once() {
    let dns = Dns::new(&fetch_config());
    for _ in 0..3 {
        match dns.resolve(NOWHERE).await {
            Err(DnsError::NoAddress { name, .. }) => assert_eq!(name, NOWHERE),
            other => panic!("{other:?}"),
        }
    }
    let counts = dns.counts();
    assert_eq!(counts.asked.load(Ordering::Relaxed), 1);
    assert_eq!(counts.failed.load(Ordering::Relaxed), 1);
    assert_eq!(counts.cached.load(Ordering::Relaxed), 2);
    let failure = failure(get_url(&fetch_config(), &format!("http://{NOWHERE}/")).await);
    assert_eq!(failure.reason, FailureReason::Dns);
    assert!(failure.message.contains(NOWHERE), "{}", failure.message);
}

#[tokio::test]
async fn what_did_not_exist_is_asked_again_in_time() {
    let dns = Dns::new(&FetchConfig { dns_negative_ttl: Duration::ZERO, ..fetch_config() });
    assert!(dns.resolve(NOWHERE).await.is_err());
    assert!(dns.resolve(NOWHERE).await.is_err());
    assert_eq!(dns.counts().asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn many_who_want_one_name_ask_once() {
    let dns = Dns::new(&fetch_config());
    let mut asking = JoinSet::new();
    for _ in 0..50 {
        let dns = dns.clone();
        asking.spawn(async move { dns.resolve(NOWHERE).await.is_err() });
    }
    assert!(asking.join_all().await.into_iter().all(|failed| failed));
    assert_eq!(dns.counts().asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn the_cache_keeps_within_its_limit() {
    let static_hosts = (0..100).map(|n| (format!("h{n}.test"), ips(&["127.0.0.9"]))).collect();
    let dns = Dns::new(&FetchConfig { static_hosts, dns_cache_entries: 10, ..fetch_config() });
    for _ in 0..2 {
        for n in 0..100 {
            dns.resolve(&format!("h{n}.test")).await.unwrap();
        }
    }
    let asked = dns.counts().asked.load(Ordering::Relaxed);
    assert!(asked >= 180, "{asked} look-ups for 200 questions and 10 places");
}

#[tokio::test]
async fn a_fixed_name_without_addresses_is_a_dns_failure() {
    let dns = Dns::new(&FetchConfig { static_hosts: [("none.test".to_owned(), vec![])].into(), ..fetch_config() });
    assert!(matches!(dns.resolve("none.test").await, Err(DnsError::NoAddress { .. })));
}

#[tokio::test]
async fn a_name_may_end_with_a_dot() {
    let site = site(|ask| Answer::html(ask.host.clone()));
    let static_hosts = [("shop.test".to_owned(), site.addresses.clone())].into();
    let config = FetchConfig { static_hosts, ..fetch_config() };
    let response = response(get_url(&config, &format!("http://shop.test.:{}/", site.port)).await);
    assert_eq!(response.status, 200);
}

fn asking(server: &NameServer) -> FetchConfig {
    FetchConfig { dns_servers: vec![server.address], ..fetch_config() }
}

#[tokio::test]
async fn the_configured_name_servers_are_asked() {
    let server = NameServer::start(|name| match name {
        "four.example" => Say::Address("192.0.2.4".parse().unwrap()),
        "six.example" => Say::Address("2001:db8::6".parse().unwrap()),
        "empty.example" => Say::NoAddress,
        _ => Say::NoSuchName,
    });
    let dns = Dns::new(&asking(&server));
    assert_eq!(dns.resolve("four.example").await.unwrap().to_vec(), ips(&["192.0.2.4"]));
    assert_eq!(dns.resolve("six.example").await.unwrap().to_vec(), ips(&["2001:db8::6"]));
    for name in ["empty.example", "missing.example"] {
        assert!(matches!(dns.resolve(name).await, Err(DnsError::NoAddress { .. })), "{name}");
    }
}

#[tokio::test]
async fn a_resolver_that_fails_says_nothing_of_the_name_and_is_asked_again_soon() {
    let well = Arc::new(AtomicBool::new(false));
    let seen = well.clone();
    let server = NameServer::start(move |name| match (seen.load(Ordering::Relaxed), name) {
        (true, _) => Say::Address("192.0.2.4".parse().unwrap()),
        (false, "refused.example") => Say::Refused,
        (false, _) => Say::Failure,
    });
    let dns = Dns::new(&asking(&server));
    for name in ["failing.example", "refused.example"] {
        match dns.resolve(name).await {
            Err(DnsError::Resolver { name: about, .. }) => assert_eq!(about, name),
            other => panic!("{name}: {other:?}"),
        }
    }
    well.store(true, Ordering::Relaxed);
    // A name that does not exist would be cached for a minute.
    let answered = async {
        while dns.resolve("failing.example").await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), answered).await.expect("asked again soon");
}

#[tokio::test]
async fn a_resolver_that_keeps_silent_has_failed() {
    let server = NameServer::start(|_| Say::Silence);
    let dns = Dns::new(&asking(&server));
    let said = dns.resolve("lost.example").await;
    assert!(matches!(said, Err(DnsError::Resolver { .. })), "{said:?}");
}
