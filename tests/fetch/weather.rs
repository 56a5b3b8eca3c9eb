//! Whose trouble a failure is, from what happened when: the clock is the test's.

use seine::fetch::weather::{Opening, Part, Sign, Weather};
use seine::page::EpochMs;

const T: EpochMs = 1_800_000_000_000;
const SECOND: u64 = 1000;

fn silent(weather: &Weather, host: usize, at: EpochMs) -> bool {
    weather.failed(Sign::Silence, &format!("192.0.2.{host}"), true, "refused", at)
}

fn unresolved(weather: &Weather, host: usize, at: EpochMs) -> bool {
    weather.failed(Sign::Unresolved, &format!("h{host}.test"), true, "SERVFAIL", at)
}

#[test]
fn one_host_that_is_away_is_its_own_trouble_however_often_it_fails() {
    let weather = Weather::default();
    for attempt in 0..100 {
        let at = T + attempt * SECOND;
        assert!(!silent(&weather, 1, at));
        assert!(!unresolved(&weather, 1, at));
        assert!(!weather.failed(Sign::NoRoute, "192.0.2.1", true, "no route", at));
        assert_eq!(weather.opening(at), Opening::Open);
    }
}

#[test]
fn hosts_that_fail_one_after_the_other_while_nothing_succeeds_are_this_machines_trouble() {
    let weather = Weather::default();
    let ours: Vec<bool> = (1..=6).map(|host| silent(&weather, host, T)).collect();
    assert_eq!(ours, [false, false, false, false, true, true]);
    let away = weather.pause(T + SECOND).unwrap();
    assert_eq!((away.part, away.since), (Part::Network, T));
    assert!(away.example.contains("192.0.2.5"), "{away:?}");

    let weather = Weather::default();
    let ours: Vec<bool> = (1..=3).map(|host| unresolved(&weather, host, T)).collect();
    assert_eq!(ours, [false, false, true]);
    assert_eq!(weather.pause(T).unwrap().part, Part::Resolver);

    // No way to an address says more than its silence.
    let weather = Weather::default();
    assert!(!weather.failed(Sign::NoRoute, "192.0.2.1", true, "no route", T));
    assert!(weather.failed(Sign::NoRoute, "192.0.2.2", true, "no route", T));
}

#[test]
fn what_succeeds_in_between_clears_it() {
    let weather = Weather::default();
    for host in 0..40 {
        assert!(!silent(&weather, host, T));
        assert!(!unresolved(&weather, host, T));
        if host % 4 == 3 {
            weather.answered(T);
        }
        if host % 2 == 1 {
            weather.resolved(T, T);
        }
    }
    assert_eq!(weather.pause(T), None);
}

#[test]
fn failures_of_long_ago_and_of_hosts_in_trouble_anyway_say_nothing() {
    let weather = Weather::default();
    for host in 0..40 {
        assert!(!silent(&weather, host, T + host as u64 * 20 * SECOND));
    }
    for host in 0..40 {
        assert!(!weather.failed(Sign::Silence, &format!("198.51.100.{host}"), false, "refused", T + 900 * SECOND));
    }
    assert_eq!(weather.pause(T + 900 * SECOND), None);
}

#[test]
fn one_probe_at_a_time_less_and_less_often_until_one_succeeds() {
    let weather = Weather::default();
    (1..=5).for_each(|host| _ = silent(&weather, host, T));
    let mut now = T;
    let mut waits = Vec::new();
    for _ in 0..7 {
        let Opening::Closed(until) = weather.opening(now) else { panic!("{:?}", weather.opening(now)) };
        waits.push((until - now) / SECOND);
        now = until;
        assert_eq!(weather.opening(now), Opening::Probe);
        weather.probing();
        assert!(matches!(weather.opening(now), Opening::Closed(_)), "one at a time");
        assert!(silent(&weather, 9, now));
        weather.probed(now);
    }
    assert_eq!(waits, [1, 2, 4, 8, 15, 15, 15]);
    weather.answered(now);
    assert_eq!(weather.opening(now), Opening::Open);
    assert!(weather.away().is_empty());
    // And the next time it begins at the beginning.
    (1..=5).for_each(|host| _ = silent(&weather, host, now));
    assert_eq!(weather.opening(now), Opening::Closed(now + SECOND));
}

#[test]
fn without_name_servers_it_goes_on_with_the_names_it_knows() {
    let weather = Weather::default();
    weather.answered(T);
    (1..=3).for_each(|host| _ = unresolved(&weather, host, T + SECOND));
    assert_eq!(weather.opening(T + 2 * SECOND), Opening::Open);
    assert_eq!(weather.away()[0].part, Part::Resolver);
    assert!(unresolved(&weather, 9, T + 2 * SECOND), "who cannot be resolved does not pay all the same");
    assert_eq!(weather.opening(T + 60 * SECOND), Opening::Probe, "nobody has answered for a minute");
    // What was resolved before is no sign of life.
    weather.resolved(T, T + 60 * SECOND);
    assert!(weather.pause(T + 60 * SECOND).is_some());
    weather.resolved(T + 61 * SECOND, T + 61 * SECOND);
    assert!(weather.away().is_empty());
}
