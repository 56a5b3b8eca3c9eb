//! The history of a URL for the user: who linked to it, and the results of its attempts.

use std::sync::Arc;

use seine_frontier::*;
use seine_parse::page::{FailureReason, Kind};

use crate::support::{all_fetched, batch, fetched, lease_one, page, plain, record, retry};

const DAY_MS: u64 = 86_400_000;
/// In whole seconds, as times are stored.
const NOW: u64 = 1_790_000_000_000;

fn open(folder: &tempfile::TempDir) -> EmbeddedFrontier {
    EmbeddedFrontier::open(folder.path(), plain(), NOW).unwrap()
}

fn found(way: FoundBy, on: &str, at: u64) -> Found {
    Found { way, on: Some(on.to_owned()), at }
}

fn linked(url: &str, found: &Found) -> Proposal {
    Proposal { found: Some(Arc::new(found.clone())), ..page(url) }
}

fn given(way: FoundBy) -> Option<Found> {
    Some(Found { way, on: None, at: NOW })
}

/// A verdict with this attempt.
fn tried(verdict: Verdict, at: u64, outcome: Cause, counts: bool) -> Verdict {
    Verdict { attempt: Attempt { at, outcome, counts, digest: None }, ..verdict }
}

/// An answer at a time in whole seconds, with content of this digest.
fn answered(url: &str, event: u64, at: u64, state: PageState, digest: u8) -> Verdict {
    let record = PageRecord { state, digest: Some([digest; 32]), fetched_ms: at, ..record(url, event) };
    let change = Change::Page { record, due_again: Some(at + DAY_MS) };
    tried(Verdict { change, ..fetched(url, event, None) }, at, Cause::Status(200), true)
}

fn look(frontier: &EmbeddedFrontier, url: &str) -> UrlSnapshot {
    frontier.url_snapshot(url).unwrap().unwrap()
}

#[test]
fn who_led_to_a_url_first_is_kept_and_who_did_last_is_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(&folder);
    let (root, other, map) = ("http://a.example/", "http://b.example/page", "http://a.example/map.xml");
    let seeds = [root, other].map(|url| Proposal { found: given(FoundBy::Seed).map(Arc::new), ..page(url) });
    let named = found(FoundBy::RobotsTxt, "http://a.example/robots.txt", NOW);
    let map_found = Proposal { kind: Kind::Sitemap, ..linked(map, &named) };
    frontier.propose(&[&seeds[..], &[map_found]].concat(), NOW).unwrap();

    // Three pages in one batch. Their links are mixed with those of another page, and with one of unknown source.
    let (first, second) = (found(FoundBy::Link, root, NOW + 1000), found(FoundBy::Link, other, NOW + 2000));
    let third = found(FoundBy::Sitemap, map, NOW + 3000);
    let urls: Vec<String> = (0..5).map(|n| format!("http://a.example/{n}")).collect();
    let links = vec![
        linked(&urls[0], &first),
        linked(&urls[1], &first),
        page(&urls[2]),
        linked(&urls[3], &second),
        linked(&urls[0], &second),
        linked(&urls[4], &third),
        linked(root, &third),
    ];
    let verdicts = vec![fetched(root, 1, None), fetched(other, 2, None), fetched(map, 3, None)];
    frontier.apply(&batch(1, verdicts, links), NOW).unwrap();
    let firsts =
        |frontier: &EmbeddedFrontier| urls.iter().map(|url| look(frontier, url).first_found).collect::<Vec<_>>();
    let expected = [Some(&first), Some(&first), None, Some(&second), Some(&third)].map(Option::<&Found>::cloned);
    assert_eq!(firsts(&frontier), expected);
    assert_eq!(look(&frontier, root).first_found, given(FoundBy::Seed));
    assert_eq!(look(&frontier, map).first_found, Some(named));
    let lasts = urls.iter().map(|url| look(&frontier, url).last_found).collect::<Vec<_>>();
    let expected = [Some(&second), Some(&first), None, Some(&second), Some(&third)].map(Option::<&Found>::cloned);
    assert_eq!(lasts, expected);
    assert_eq!(look(&frontier, root).last_found, Some(third.clone()));

    // A fetch, a failure, a retry and a restart do not change the source. The source of known URLs stays.
    let failed = PageRecord { state: PageState::Failed(FailureReason::Protocol), ..record(&urls[1], 5) };
    let failed = Verdict { change: Change::Page { record: failed, due_again: None }, ..fetched(&urls[1], 5, None) };
    frontier
        .apply(&batch(2, vec![fetched(&urls[0], 4, None), failed], vec![linked("http://a.example/new", &third)]), NOW)
        .unwrap();
    assert_eq!(frontier.try_again(&[urls[1].clone()], NOW).unwrap(), 1);
    frontier.propose(&[page("http://a.example/newer")], NOW).unwrap();
    assert_eq!(firsts(&frontier)[..2], [Some(first.clone()), Some(first.clone())]);
    drop(frontier);
    let frontier = open(&folder);
    assert_eq!(firsts(&frontier), [Some(first.clone()), Some(first), None, Some(second), Some(third.clone())]);
    assert_eq!(look(&frontier, &urls[0]).last_found, None, "remembered by a process alone");
    assert_eq!(look(&frontier, "http://a.example/new").first_found, Some(third));
    assert_eq!(look(&frontier, "http://a.example/newer").first_found, None);
}

#[test]
fn attempts_are_told_the_last_of_them_with_what_their_content_was() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(&folder);
    let url = "http://a.example/page";
    frontier.propose(&[page(url)], NOW).unwrap();
    assert_eq!((look(&frontier, url).attempts_in_all, look(&frontier, url).attempts), (0, vec![]));

    let busy = tried(retry(url, 1, NOW + 60_000, 1), NOW, Cause::Status(503), false);
    frontier.apply(&batch(1, vec![busy], vec![]), NOW).unwrap();
    let slow = tried(retry(url, 2, NOW + 120_000, 2), NOW + 60_000, Cause::Failure(FailureReason::Timeout), true);
    frontier.apply(&batch(2, vec![slow], vec![]), NOW).unwrap();
    // The attempts of a leased URL are read with the lease.
    let lease = lease_one(&frontier, NOW + 120_000, 1);
    all_fetched(&frontier, lease);
    let there = answered(url, 3, NOW + 120_000, PageState::New, 1);
    frontier.apply(&batch(3, vec![there], vec![]), NOW).unwrap();
    let attempt = |at, outcome, counts, digest: Option<u8>| Attempt {
        at,
        outcome,
        counts,
        digest: digest.map(|digest| [digest; 4]),
    };
    let timeout = Cause::Failure(FailureReason::Timeout);
    let (ok, first_three) = (
        Cause::Status(200),
        [
            attempt(NOW, Cause::Status(503), false, None),
            attempt(NOW + 60_000, timeout, true, None),
            attempt(NOW + 120_000, Cause::Status(200), true, Some(1)),
        ],
    );
    assert_eq!(look(&frontier, url).attempts, first_three);

    // An unchanged page, then a changed one: the digest is recorded with the change.
    let (third, fourth) = (NOW + DAY_MS, NOW + 2 * DAY_MS);
    frontier.apply(&batch(4, vec![answered(url, 4, third, PageState::Unchanged, 1)], vec![]), NOW).unwrap();
    frontier.apply(&batch(5, vec![answered(url, 5, fourth, PageState::Changed, 2)], vec![]), NOW).unwrap();
    drop(frontier);
    let frontier = open(&folder);
    let later = [attempt(third, ok, true, None), attempt(fourth, ok, true, Some(2))];
    assert_eq!(look(&frontier, url).attempts, [&first_three[..], &later].concat());

    // Of many attempts, the last ones and the total number are kept.
    for n in 6..300_u64 {
        let state = if n % 2 == 0 { PageState::Unchanged } else { PageState::Changed };
        let verdict = answered(url, n, NOW + n * DAY_MS, state, (n / 2) as u8);
        frontier.apply(&batch(n, vec![verdict], vec![]), NOW).unwrap();
    }
    let last = look(&frontier, url);
    assert_eq!(last.attempts_in_all, 299);
    assert!((4..=6).contains(&last.attempts.len()), "{:?}", last.attempts);
    assert_eq!(last.attempts.last().map(|attempt| attempt.at), Some(NOW + 299 * DAY_MS));
    // The record returned to callers has no history, because it is compared with the new answer.
    assert_eq!(frontier.page(url).unwrap().unwrap().url_history, UrlHistory::default());
}

#[test]
fn one_attempt_is_told_by_its_record_alone() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(&folder);
    let url = "http://a.example/page";
    let record = PageRecord { fetched_ms: NOW, ..record(url, 1) };
    let change = Change::Page { record, due_again: None };
    frontier.apply(&batch(1, vec![Verdict { change, ..fetched(url, 1, None) }], vec![page(url)]), NOW).unwrap();
    let one = Attempt { at: NOW, outcome: Cause::Status(200), counts: true, digest: Some([7; 4]) };
    assert_eq!((look(&frontier, url).attempts_in_all, look(&frontier, url).attempts), (1, vec![one]));
    // After a final failure and a retry, the earlier attempts are kept.
    let failed = PageRecord { state: PageState::Failed(FailureReason::Protocol), ..crate::support::record(url, 2) };
    let failed = Verdict { change: Change::Page { record: failed, due_again: None }, ..fetched(url, 2, None) };
    let failed = tried(failed, NOW + 1000, Cause::Failure(FailureReason::Protocol), true);
    frontier.apply(&batch(2, vec![failed], vec![]), NOW).unwrap();
    frontier.try_again(&[url.to_owned()], NOW).unwrap();
    assert_eq!(look(&frontier, url).page, None, "it is forgotten");
    let second =
        Attempt { at: NOW + 1000, outcome: Cause::Failure(FailureReason::Protocol), counts: true, digest: None };
    assert_eq!(look(&frontier, url).attempts, [one, second]);
}

#[test]
fn a_leased_url_says_since_when_no_attempt_has_counted() {
    let folder = tempfile::tempdir().unwrap();
    let frontier = open(&folder);
    let url = "http://a.example/";
    frontier.propose(&[page(url)], NOW).unwrap();
    let mut event = 0;
    let mut since_after = |at, counts: bool| {
        event += 1;
        let change = Change::Retry { at, attempt: 0, put_off: !counts, cause: None, host: HostPause::default() };
        let failed = tried(Verdict { change, ..fetched(url, event, None) }, at, Cause::Status(503), counts);
        frontier.apply(&batch(event, vec![failed], vec![]), at).unwrap();
        let lease = lease_one(&frontier, at, 1);
        let since = lease.work[0].put_off_since;
        all_fetched(&frontier, lease);
        since
    };
    assert_eq!(since_after(NOW, false), Some(NOW));
    assert_eq!(since_after(NOW + 1000, false), Some(NOW));
    assert_eq!(since_after(NOW + 2000, true), None);
    assert_eq!(since_after(NOW + 3000, false), Some(NOW + 3000));
    for at in 4..20 {
        since_after(NOW + at * 1000, false);
    }
    let since = since_after(NOW + 20_000, false).unwrap();
    assert!((NOW + 10_000..NOW + 18_000).contains(&since), "only the last attempts are remembered: {since}");
}
