//! Decides which part a failure is blamed on, from the times of events. The test controls the clock.

use std::process::Command;
use std::time::Duration;

use seine_frontier::{HostLeases, Proposal};
use seine_parse::page::{EpochMs, FailureReason};
use seine_system::clock::now_ms;

use crate::sites::server::{Answer, Ask};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seine::visit::outage::{Evidence, Outage, OutageDetector, Part, Permission, Sign};

use crate::sites::Running;
use crate::sites::dns::{NameServer, Say};
use crate::support::{MiniCrawl, config, event_of, failure_of, status_of};

const T: EpochMs = 1_800_000_000_000;
const SECOND: u64 = 1000;

fn silent(outage: &OutageDetector, host: usize, at: EpochMs) -> bool {
    outage.failed(Sign::Silence, &format!("192.0.2.{host}"), true, "no answer", at)
}

fn unresolved(outage: &OutageDetector, host: usize, at: EpochMs) -> bool {
    outage.failed(Sign::Unresolved, &format!("h{host}.test"), true, "SERVFAIL", at)
}

#[test]
fn one_host_that_is_away_is_its_own_trouble_however_often_it_fails() {
    let outage = OutageDetector::default();
    for attempt in 0..100 {
        let at = T + attempt * SECOND;
        assert!(!silent(&outage, 1, at));
        assert!(!unresolved(&outage, 1, at));
        assert!(!outage.failed(Sign::NoRoute, "192.0.2.1", true, "no route", at));
        assert_eq!(outage.permission(at), Permission::Open);
    }
}

#[test]
fn hosts_that_fail_one_after_the_other_while_nothing_succeeds_are_this_machines_trouble() {
    let outage = OutageDetector::default();
    let ours: Vec<bool> = (1..=6).map(|host| silent(&outage, host, T)).collect();
    assert_eq!(ours, [false, false, false, false, true, true]);
    let away = outage.pause(T + SECOND).unwrap();
    assert_eq!((away.part, away.since), (Part::Network, T));
    assert!(away.example.contains("192.0.2.5"), "{away:?}");

    let outage = OutageDetector::default();
    let ours: Vec<bool> = (1..=3).map(|host| unresolved(&outage, host, T)).collect();
    assert_eq!(ours, [false, false, true]);
    assert_eq!(outage.pause(T).unwrap().part, Part::Resolver);

    // A missing route says more than silence.
    let outage = OutageDetector::default();
    assert!(!outage.failed(Sign::NoRoute, "192.0.2.1", true, "no route", T));
    assert!(outage.failed(Sign::NoRoute, "192.0.2.2", true, "no route", T));
}

#[test]
fn a_host_and_name_servers_that_are_silent_together_are_an_outage_until_either_answers() {
    for is_answered_by_dns in [true, false] {
        let outage = OutageDetector::default();
        assert!(outage.failed(Sign::NoNetwork, "192.0.2.1", true, "no answer", T));
        assert!(unresolved(&outage, 1, T + SECOND), "without a network no name is found");
        assert_eq!(outage.pause(T + SECOND).unwrap().part, Part::Network);
        outage.resolved(T - 1, T + 2 * SECOND); // an answer from before
        assert!(outage.pause(T + 2 * SECOND).is_some());
        match is_answered_by_dns {
            true => outage.resolved(T + 3 * SECOND, T + 3 * SECOND),
            false => outage.answered(T + 3 * SECOND),
        }
        assert_eq!(outage.pause(T + 3 * SECOND), None);
        assert!(!unresolved(&outage, 1, T + 4 * SECOND));
    }
}

#[test]
fn a_dead_host_whose_name_server_is_dead_too_is_its_own_trouble_while_others_answer() {
    for is_answered_by_dns in [true, false] {
        let outage = OutageDetector::default();
        match is_answered_by_dns {
            true => outage.resolved(T, T),
            false => outage.answered(T),
        }
        for attempt in 1..10 {
            assert!(!outage.failed(Sign::NoNetwork, "192.0.2.1", true, "no answer", T + attempt * SECOND));
        }
        assert!(outage.failed(Sign::NoNetwork, "192.0.2.1", false, "no answer", T + 11 * SECOND), "nobody answers");
    }
}

#[test]
fn what_succeeds_in_between_clears_it() {
    let outage = OutageDetector::default();
    for host in 0..40 {
        assert!(!silent(&outage, host, T));
        assert!(!unresolved(&outage, host, T));
        if host % 4 == 3 {
            outage.answered(T);
        }
        if host % 2 == 1 {
            outage.resolved(T, T);
        }
    }
    assert_eq!(outage.pause(T), None);
}

#[test]
fn failures_of_long_ago_and_of_hosts_in_trouble_anyway_say_nothing() {
    let outage = OutageDetector::default();
    for host in 0..40 {
        assert!(!silent(&outage, host, T + host as u64 * 20 * SECOND));
    }
    for host in 0..40 {
        assert!(!outage.failed(Sign::Silence, &format!("198.51.100.{host}"), false, "no answer", T + 900 * SECOND));
    }
    assert_eq!(outage.pause(T + 900 * SECOND), None);
}

#[test]
fn one_probe_at_a_time_less_and_less_often_until_one_succeeds() {
    let outage = OutageDetector::default();
    (1..=5).for_each(|host| _ = silent(&outage, host, T));
    let mut now = T;
    let mut waits = Vec::new();
    for _ in 0..7 {
        let Permission::Closed(until) = outage.permission(now) else { panic!("{:?}", outage.permission(now)) };
        waits.push((until - now) / SECOND);
        now = until;
        assert_eq!(outage.permission(now), Permission::Probe);
        outage.probing();
        assert!(matches!(outage.permission(now), Permission::Closed(_)), "one at a time");
        assert!(silent(&outage, 9, now));
        outage.probed(now);
    }
    assert_eq!(waits, [1, 2, 4, 8, 15, 15, 15]);
    outage.answered(now);
    assert_eq!(outage.permission(now), Permission::Open);
    assert!(outage.outages().is_empty());
    // And the next outage starts from the beginning.
    (1..=5).for_each(|host| _ = silent(&outage, host, now));
    assert_eq!(outage.permission(now), Permission::Closed(now + SECOND));
}

#[test]
fn without_name_servers_it_goes_on_with_the_names_it_knows() {
    let outage = OutageDetector::default();
    outage.answered(T);
    (1..=3).for_each(|host| _ = unresolved(&outage, host, T + SECOND));
    assert_eq!(outage.permission(T + 2 * SECOND), Permission::Open);
    assert_eq!(outage.outages()[0].part, Part::Resolver);
    assert!(unresolved(&outage, 9, T + 2 * SECOND), "who cannot be resolved does not pay all the same");
    assert_eq!(outage.permission(T + 60 * SECOND), Permission::Probe, "nobody has answered for a minute");
    // A name resolved before the outage does not end it.
    outage.resolved(T, T + 60 * SECOND);
    assert!(outage.pause(T + 60 * SECOND).is_some());
    outage.resolved(T + 61 * SECOND, T + 61 * SECOND);
    assert!(outage.outages().is_empty());
}

#[test]
fn whoever_answers_shows_that_the_network_is_there() {
    use FailureReason::*;
    for reason in [ConnectionRefused, ConnectionBroken, Tls, Protocol, UnwantedType] {
        assert_eq!(Evidence::of_failure(reason), Evidence::Answered, "{reason:?}");
    }
    for (reason, sign) in [
        (Resolver, Sign::Unresolved),
        (Connect, Sign::Silence),
        (Timeout, Sign::Silence),
        (NoRoute, Sign::NoRoute),
        (OpenFiles, Sign::NoFiles),
    ] {
        assert_eq!(Evidence::of_failure(reason), Evidence::Failed(sign), "{reason:?}");
    }
    for reason in [Dns, PrivateAddress, RobotsDenied, BadUrl] {
        assert_eq!(Evidence::of_failure(reason), Evidence::Nothing, "{reason:?}");
    }
}

const LIMIT: Duration = Duration::from_secs(60);
const HOSTS: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_refuse_connections_are_in_trouble_each_by_itself() {
    let port = std::net::TcpListener::bind("127.0.8.1:0").unwrap().local_addr().unwrap().port();
    let urls: Vec<String> = (1..=HOSTS).map(|host| format!("http://127.0.8.{host}:{port}/")).collect();
    let mut config = config();
    config.frontier.max_retries = 0;
    config.frontier.give_up_after = Duration::from_millis(200);
    let crawl = MiniCrawl::new(config, &urls.iter().map(String::as_str).collect::<Vec<_>>());
    let outage = crawl.visitor.services.outage.clone();
    let events = crawl.run_until(LIMIT, |_| !outage.outages().is_empty()).await;
    assert!(outage.outages().is_empty(), "{:?}", outage.outages());
    for url in &urls {
        let failure = failure_of(event_of(&events, url));
        assert_eq!(failure.reason, FailureReason::HostUnreachable, "{url}");
        assert!(failure.message.contains("connection_refused"), "{}", failure.message);
    }
}

/// In a process of its own, since the limit applies to a whole process.
#[test]
fn a_name_that_cannot_be_looked_up_for_want_of_files_is_nobodys_trouble() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["outage::no_file_for_a_look_up", "--exact", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&child.stderr));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by another test"]
async fn no_file_for_a_look_up() {
    let site = Running::start(HOSTS, std::sync::Arc::new(|_: &Ask| Answer::html("page")));
    let addresses = site.addresses.clone();
    let server = NameServer::start(move |name| {
        let host = name.strip_prefix('h').and_then(|rest| rest.strip_suffix(".example")?.parse::<usize>().ok());
        host.map_or(Say::NoSuchName, |host| Say::Address(addresses[host]))
    });
    let urls: Vec<String> = (0..HOSTS).map(|host| format!("http://h{host}.example:{}/", site.port)).collect();
    let mut config = config();
    config.fetch.dns_servers = vec![server.address];
    config.frontier.max_retries = 0;
    config.scope.hosts = (0..HOSTS).map(|host| format!("h{host}.example")).collect();
    // The log opens its files with its first event.
    let crawl = MiniCrawl::new(config, &[&format!("{}/", site.origin(0))]);
    assert_eq!(crawl.run(LIMIT).await.len(), 1);
    crawl.frontier.propose(&urls.iter().map(|url| Proposal::seed(url)).collect::<Vec<_>>(), now_ms()).unwrap();
    let outage = crawl.visitor.services.outage.clone();

    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..limit }).unwrap();
    let there_is_again = async {
        while outage.outages().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let away = outage.outages();
        setrlimit(Resource::Nofile, limit).unwrap();
        away
    };
    let (events, away) = tokio::join!(crawl.run(LIMIT), there_is_again);
    assert!(matches!(&away[..], [Outage { part: Part::Files, .. }]), "{away:?}");
    assert!(outage.outages().is_empty(), "{:?}", outage.outages());
    assert_eq!(events.len(), 1 + HOSTS, "nothing was tried twice");
    assert!(urls.iter().all(|url| status_of(event_of(&events, url)) == 200));
}
