//! Ranks in the frontier: across hosts, and of known URLs.

use std::time::Duration;

use seine_frontier::{
    EmbeddedFrontier, FrontierOptions, HostLeases, LeaseLimits, Proposal, Release, Scheduler, Validation, Verdicts,
};
use seine_parse::page::Kind;
use seine_policies::focus::{Lead, LinkWords, Source};
use tempfile::TempDir;

fn opened(dir: &TempDir, ranks: bool) -> EmbeddedFrontier {
    let options = FrontierOptions { default_delay: Duration::ZERO, ranks, ..FrontierOptions::default() };
    EmbeddedFrontier::open(dir.path(), options, 0).unwrap()
}

fn link(url: &str, priority: u8) -> Proposal {
    let lead = Lead::new(Source::List, false, &LinkWords { anchor: vec![u16::from(priority)], around: Vec::new() });
    Proposal { url: url.into(), kind: Kind::Page, depth: 1, priority, found: None, lead: Some(lead) }
}

/// The URLs in the order in which one worker gets them.
fn order(frontier: &EmbeddedFrontier, now: u64) -> Vec<String> {
    let mut order = Vec::new();
    let mut leases = Vec::new();
    while let Some(lease) = frontier.lease(now, LeaseLimits::new(1, 1)).unwrap().pop() {
        order.extend(lease.work.iter().map(|work| work.url.clone()));
        // Fetched but not validated, so it stays in flight.
        let fetched = lease.work.iter().map(|work| work.url.clone()).collect();
        leases.push(frontier.release(lease, Release { fetched, ..Release::default() }));
    }
    order
}

#[test]
fn the_best_comes_first_whatever_its_host() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = opened(&dir, true);
    let all = [
        ("http://a.example/1", 200),
        ("http://b.example/1", 90),
        ("http://a.example/2", 20),
        ("http://c.example/1", 140),
    ];
    frontier.propose(&all.map(|(url, priority)| link(url, priority)), 1).unwrap();
    let expected = ["http://a.example/2", "http://b.example/1", "http://c.example/1", "http://a.example/1"];
    assert_eq!(order(&frontier, 10), expected);
}

#[test]
fn where_links_are_not_ranked_hosts_take_turns() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = opened(&dir, false);
    let all = [("http://a.example/1", 200), ("http://b.example/1", 20)];
    frontier.propose(&all.map(|(url, priority)| link(url, priority)), 1).unwrap();
    assert_eq!(order(&frontier, 10), ["http://a.example/1", "http://b.example/1"]);
}

#[test]
fn a_better_link_to_a_known_url_brings_it_forward_and_a_worse_one_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (first, last) = ("http://a.example/first", "http://b.example/last");
    {
        let frontier = opened(&dir, true);
        frontier.propose(&[link(first, 80), link(last, 230)], 1).unwrap();
        frontier.propose(&[link(first, 240), link(last, 30)], 2).unwrap();
        let counts = frontier.counts();
        assert_eq!((counts.work_proposed, counts.first_time), (2, 2));
    }
    // The words are in the store, not only in memory.
    let frontier = opened(&dir, true);
    assert_eq!(
        frontier.lead(last).unwrap().unwrap().words().0.next(),
        Some(30),
        "the link that is kept is the better one"
    );
    assert_eq!(frontier.lead(first).unwrap().unwrap().words().0.next(), Some(80));
    assert_eq!(order(&frontier, 10), [last, first]);
}

#[test]
fn what_waits_is_ranked_anew_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = opened(&dir, true);
    let urls: Vec<String> = (0..100).map(|n| format!("http://h{}.example/{n}", n % 7)).collect();
    let all: Vec<Proposal> = urls.iter().map(|url| link(url, 100)).collect();
    frontier.propose(&all, 1).unwrap();
    // The highest number first.
    let number = |url: &str| url.rsplit('/').next().unwrap().parse::<u8>().unwrap();
    let mut after = None;
    loop {
        after = frontier.rank_again(after, 9, &|queued| 254 - 2 * number(queued.url), 2).unwrap();
        if after.is_none() {
            break;
        }
    }
    assert_eq!(frontier.counts().work_proposed, 100);
    let order = order(&frontier, 10);
    assert_eq!(order.len(), 100);
    let early = order.iter().take(50).filter(|url| number(url) >= 50).count();
    assert!(early >= 44, "{early} of the better half come in the first half");
}

#[test]
fn who_has_waited_for_longest_comes_now_and_then() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = opened(&dir, true);
    frontier.propose(&[link("http://poor.example/", 250)], 1).unwrap();
    let good: Vec<Proposal> = (0..2000).map(|n| link(&format!("http://good{}.example/{n}", n % 20), 5)).collect();
    frontier.propose(&good, 2).unwrap();
    let order = order(&frontier, 10);
    let at = order.iter().position(|url| url.contains("poor")).unwrap();
    assert!((5..100).contains(&at), "at {at} of {}", order.len());
}
