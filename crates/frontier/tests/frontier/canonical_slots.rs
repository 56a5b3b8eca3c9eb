//! Canonical slots: which page has the slot of a canonical URL, and which pages are rechecked.

use std::time::Duration;

use seine_frontier::*;
use seine_parse::page::{EpochMs, Withheld};

use crate::support::{
    Disk, all_fetched, batch, due, embedded, fetched, in_state, lease_one, pages, plain, record, verdict,
};

const PAGE: &str = "http://site.example/page";
const OTHER: &str = "http://site.example/other";
const LATER: EpochMs = 1_000_000;

fn visit(number: usize) -> String {
    format!("http://site.example/page?visit={number}")
}

fn judged(record: PageRecord, event: u64) -> Verdict {
    let (url, change) = (record.url.clone(), Change::Page { record, due_again: Some(LATER) });
    verdict(&url, event, change)
}

/// A page under `url` that names `canonical`.
fn naming(url: &str, event: u64, canonical: &str) -> Verdict {
    judged(PageRecord { canonical: Some(canonical.into()), ..record(url, event) }, event)
}

/// An alias: it names `named`, which led to `target`.
fn alias(url: &str, event: u64, named: &str, target: &str) -> Verdict {
    let canonical = (named != target).then(|| named.to_owned());
    judged(PageRecord { state: PageState::Alias, target: Some(target.into()), canonical, ..record(url, event) }, event)
}

fn redirecting(url: &str, event: u64, target: &str) -> Verdict {
    let record =
        PageRecord { state: PageState::Alias, target: Some(target.into()), digest: None, ..record(url, event) };
    let reached = Reached { url: target.into(), has_page: true };
    Verdict { reached: Some(reached), ..judged(record, event) }
}

fn is(of: &str, target: &str) -> Option<Withheld> {
    Some(Withheld::Alias { of: of.into(), target: target.into() })
}

/// `visit(0)` has the canonical slot of the missing page; the others up to `aliases` are its aliases.
fn standing_in(aliases: usize) -> Disk {
    let frontier = embedded(plain());
    let others = (1..=aliases).map(|number| alias(&visit(number), number as u64 + 10, PAGE, PAGE));
    let verdicts = [naming(&visit(0), 1, PAGE)].into_iter().chain(others).collect();
    frontier.apply(&batch(1, verdicts, vec![]), 100).unwrap();
    assert_eq!(due(&*frontier, 200), [""; 0]);
    frontier
}

#[test]
fn the_first_that_names_a_page_that_is_not_there_stands_in_for_it() {
    let mut frontier = embedded(plain());
    let place = |frontier: &Disk, by: usize| frontier.claim_canonical(PAGE, &visit(by), None);
    assert_eq!(place(&frontier, 0), None);
    assert_eq!(place(&frontier, 0), None, "it is its own");
    assert_eq!(place(&frontier, 1), is(&visit(0), PAGE), "before the validator knows");
    frontier.give_up(&visit(0));
    assert_eq!(place(&frontier, 1), None, "it came to nothing");
    frontier.settle(&visit(1), false);
    frontier.apply(&batch(1, vec![naming(&visit(1), 1, PAGE)], vec![]), 0).unwrap();
    assert_eq!(place(&frontier, 0), is(&visit(1), PAGE));
    frontier.reopen(0);
    assert_eq!(place(&frontier, 0), is(&visit(1), PAGE));
    assert_eq!(frontier.claim_target(PAGE, PAGE), TargetOwner::Granted, "the page itself is asked for");
    frontier.give_up(PAGE);
    assert_eq!(frontier.claim_target(PAGE, OTHER), TargetOwner::Granted, "and so it is by who redirects there");
    assert_eq!(frontier.claim_canonical(PAGE, PAGE, None), None);
    assert_eq!(place(&frontier, 1), is(PAGE, PAGE), "what is on its way is there");
}

#[test]
fn who_stands_in_for_a_page_is_looked_at_at_once_when_it_comes() {
    let frontier = standing_in(3);
    frontier.apply(&batch(2, vec![fetched(PAGE, 50, Some(LATER))], vec![]), 300).unwrap();
    assert_eq!(due(&*frontier, 400), [visit(0)]);
    assert_eq!(frontier.claim_canonical(PAGE, &visit(0), None), is(PAGE, PAGE));
    frontier.apply(&batch(3, vec![alias(&visit(0), 60, PAGE, PAGE)], vec![]), 500).unwrap();
    assert_eq!(due(&*frontier, 600), [""; 0]);
    // A URL that redirects to the page is as good.
    let frontier = standing_in(3);
    let owner = judged(PageRecord { target: Some(PAGE.into()), ..record(OTHER, 50) }, 50);
    frontier.apply(&batch(2, vec![owner], vec![]), 300).unwrap();
    assert_eq!(due(&*frontier, 400), [visit(0)]);
    assert_eq!(frontier.claim_canonical(PAGE, &visit(0), None), is(OTHER, PAGE));
}

/// A canonical URL that is fetched for the first time while its server says noindex by mistake must not take the page away.
#[test]
fn a_page_that_is_not_delivered_takes_nobodys_place() {
    let frontier = standing_in(2);
    frontier.apply(&batch(2, vec![in_state(PAGE, 50, PageState::Withheld)], vec![]), 300).unwrap();
    assert_eq!(due(&*frontier, 400), [""; 0]);
    assert_eq!(frontier.claim_canonical(PAGE, &visit(0), None), None);
    frontier.apply(&batch(3, vec![naming(&visit(0), 60, PAGE)], vec![]), 500).unwrap();
    assert_eq!(due(&*frontier, 600), [""; 0], "the page in its place stays");
    assert_eq!(frontier.claim_canonical(PAGE, &visit(1), None), is(&visit(0), PAGE));
    frontier.apply(&batch(4, vec![fetched(PAGE, 70, Some(LATER))], vec![]), 700).unwrap();
    assert_eq!(due(&*frontier, 800), [visit(0)]);
    assert_eq!(frontier.claim_canonical(PAGE, &visit(0), None), is(PAGE, PAGE));
}

/// Both were leased together, and their verdicts are in one batch.
#[test]
fn who_stands_in_is_told_though_its_own_verdict_is_of_the_same_batch() {
    let frontier = embedded(plain());
    frontier.propose(&pages(&[&visit(0), PAGE]), 0).unwrap();
    let lease = lease_one(&*frontier, 0, 2);
    all_fetched(&*frontier, lease);
    let verdicts = vec![naming(&visit(0), 1, PAGE), fetched(PAGE, 2, Some(LATER))];
    frontier.apply(&batch(1, verdicts, vec![]), 100).unwrap();
    assert_eq!(due(&*frontier, 200), [visit(0)]);
}

#[test]
fn of_two_that_name_each_other_only_one_leaves() {
    let frontier = embedded(plain());
    let verdicts = vec![naming(PAGE, 1, OTHER), naming(OTHER, 2, PAGE)];
    frontier.apply(&batch(1, verdicts, vec![]), 100).unwrap();
    assert_eq!(due(&*frontier, 200), [OTHER, PAGE], "each has a page that is there");
    assert_eq!(frontier.claim_canonical(OTHER, PAGE, None), is(OTHER, OTHER));
    assert_eq!(frontier.claim_canonical(PAGE, OTHER, None), None, "the other is leaving");
    for order in [[0, 1], [1, 0]] {
        let event = 10 + order[0] as u64 * 10;
        let verdicts = [alias(PAGE, event, OTHER, OTHER), naming(OTHER, event + 1, PAGE)];
        let verdicts = order.map(|at| verdicts[at].clone()).to_vec();
        frontier.apply(&batch(event, verdicts, vec![]), 300).unwrap();
    }
    assert_eq!(frontier.claim_canonical(PAGE, OTHER, None), None);
    assert_eq!(frontier.claim_canonical(OTHER, PAGE, None), is(OTHER, OTHER));
}

#[test]
fn a_page_that_is_gone_is_left_to_those_that_name_it() {
    let frontier = embedded(plain());
    let aliases = (1..=20).map(|number| alias(&visit(number), number as u64, PAGE, PAGE));
    let redirecting = (1..=5).map(|number| redirecting(&format!("{OTHER}{number}"), 30 + number, PAGE));
    let verdicts = [fetched(PAGE, 50, Some(LATER))].into_iter().chain(aliases).chain(redirecting).collect();
    frontier.apply(&batch(1, verdicts, vec![]), 100).unwrap();
    assert_eq!(due(&*frontier, 200), [""; 0]);
    frontier.apply(&batch(2, vec![in_state(PAGE, 60, PageState::Gone)], vec![]), 300).unwrap();
    let heirs = due(&*frontier, 400);
    assert_eq!(heirs.len(), 8, "not all of them at once: {heirs:?}");
    assert!(heirs.iter().all(|url| url.starts_with(PAGE)), "what redirects there would find nothing: {heirs:?}");
    // An unchanged recheck, which shows nothing new, does not cause further rechecks.
    let kept = alias(&heirs[0], 70, PAGE, PAGE);
    let Change::Page { record, due_again } = &kept.change else { unreachable!() };
    let before = frontier.page(&heirs[0]).unwrap().unwrap();
    let record = PageRecord { fetched_ms: before.fetched_ms, ..record.clone() };
    let kept = Verdict { change: Change::Page { record, due_again: *due_again }, ..kept };
    frontier.apply(&batch(3, vec![kept], vec![]), 500).unwrap();
    assert_eq!(due(&*frontier, 600), heirs[1..]);
}

#[test]
fn what_is_named_is_followed_as_far_as_it_leads() {
    let frontier = embedded(plain());
    let end = "http://site.example/end";
    let verdicts = vec![fetched(end, 1, None), alias(OTHER, 2, end, end)];
    frontier.apply(&batch(1, verdicts, vec![]), 100).unwrap();
    assert_eq!(frontier.claim_canonical(OTHER, PAGE, None), is(end, end));
    frontier.apply(&batch(2, vec![alias(PAGE, 3, OTHER, end)], vec![]), 200).unwrap();
    assert_eq!(due(&*frontier, 300), [""; 0]);
    // It no longer leads there.
    frontier.apply(&batch(3, vec![in_state(OTHER, 4, PageState::Refused)], vec![]), 400).unwrap();
    assert_eq!(due(&*frontier, 500), [PAGE]);
    assert_eq!(frontier.claim_canonical(OTHER, PAGE, None), None);
    // It did not when the verdict came either.
    frontier.apply(&batch(4, vec![alias(PAGE, 5, OTHER, end)], vec![]), 600).unwrap();
    assert_eq!(due(&*frontier, 700), [PAGE]);
    // A circle without a page makes nobody an alias.
    let verdicts = vec![alias(PAGE, 6, OTHER, end), alias(OTHER, 7, PAGE, end)];
    frontier.apply(&batch(5, verdicts, vec![]), 800).unwrap();
    assert_eq!(due(&*frontier, 900), [OTHER, PAGE]);
    assert_eq!(frontier.claim_canonical(OTHER, PAGE, None), None);
    assert_eq!(frontier.claim_canonical(PAGE, OTHER, None), is(PAGE, PAGE));
}

/// The page's first answer was a redirect to a login page, for an hour perhaps.
#[test]
fn a_delivered_page_leaves_for_a_redirect_only_when_that_has_lasted() {
    let frontier = standing_in(0);
    let leads = |event: u64, since: EpochMs, fetched_ms: EpochMs| {
        let Verdict { change: Change::Page { record, due_again }, .. } = redirecting(PAGE, event, OTHER) else {
            unreachable!()
        };
        let record = PageRecord { fetched_ms, refused_since: Some(since), ..record };
        Verdict { change: Change::Page { record, due_again }, ..redirecting(PAGE, event, OTHER) }
    };
    let after = Some(Duration::from_millis(500));
    frontier.apply(&batch(2, vec![fetched(OTHER, 2, None), leads(3, 1000, 1000)], vec![]), 1000).unwrap();
    assert_eq!(frontier.claim_canonical(PAGE, &visit(0), after), None, "it stays");
    assert_eq!(frontier.claim_canonical(PAGE, &visit(1), None), is(OTHER, OTHER), "another was never delivered");
    frontier.apply(&batch(3, vec![leads(4, 1000, 1499)], vec![]), 1499).unwrap();
    assert_eq!(frontier.claim_canonical(PAGE, &visit(0), after), None);
    frontier.apply(&batch(4, vec![leads(5, 1000, 1500)], vec![]), 1500).unwrap();
    assert_eq!(frontier.claim_canonical(PAGE, &visit(0), after), is(OTHER, OTHER));
}

/// `visit(1)` names OTHER, which names PAGE. All are fetched together, again and again, so OTHER is always about to be
/// judged when `visit(1)` is.
#[test]
fn an_alias_that_is_fetched_at_the_same_time_leads_on_as_before() {
    let frontier = embedded(plain());
    let verdicts = vec![fetched(PAGE, 1, Some(LATER)), alias(OTHER, 2, PAGE, PAGE), naming(&visit(1), 3, OTHER)];
    frontier.apply(&batch(1, verdicts, vec![]), 100).unwrap();
    let at_once = Some(Duration::ZERO);
    assert_eq!(frontier.claim_canonical(PAGE, OTHER, at_once), is(PAGE, PAGE));
    assert_eq!(frontier.claim_canonical(OTHER, &visit(1), at_once), is(PAGE, PAGE));
    // It names another page now, perhaps by mistake: a page does not leave for that until it is known.
    assert_eq!(frontier.claim_canonical(&visit(5), OTHER, at_once), None);
    assert_eq!(frontier.claim_canonical(OTHER, &visit(1), at_once), is(OTHER, OTHER), "a page of its own");
}

/// OTHER was not known to lead anywhere when `visit(1)` was judged, and its verdict was written first.
#[test]
fn a_page_that_names_what_has_just_become_an_alias_is_looked_at_once_more() {
    let frontier = embedded(plain());
    let verdicts = vec![fetched(PAGE, 1, Some(LATER)), alias(OTHER, 2, PAGE, PAGE), naming(&visit(1), 3, OTHER)];
    frontier.apply(&batch(1, verdicts, vec![]), 100).unwrap();
    assert_eq!(due(&*frontier, 200), [visit(1)]);
    frontier.apply(&batch(2, vec![naming(&visit(1), 4, OTHER)], vec![]), 300).unwrap();
    assert_eq!(due(&*frontier, 400), [""; 0], "whatever it says then, it is asked no more");
}
