//! Redirect targets: which URL owns a target, which are its aliases, and which one is next.

use seine_frontier::*;
use seine_parse::page::{Doubt, EpochMs, Kind};
use seine_policies::revisit::History;

use crate::support::{
    ATTEMPT, Disk, batch, check_counters, due, embedded, fetched, in_state, lease_one, pages, plain, record, urls,
    verdict,
};

const TARGET: &str = "http://new.example/";
const LATER: EpochMs = 1_000_000;

/// The page of `target`, delivered under `url`.
fn owning(url: &str, event: u64, target: &str) -> Verdict {
    led(url, event, PageState::New, target, Some(LATER))
}

fn alias(url: &str, event: u64, target: &str) -> Verdict {
    let mut alias = led(url, event, PageState::Alias, target, Some(LATER));
    if let Change::Page { record, .. } = &mut alias.change {
        record.digest = None;
    }
    alias
}

fn led(url: &str, event: u64, state: PageState, target: &str, due_again: Option<EpochMs>) -> Verdict {
    let record = PageRecord { state, target: Some(target.into()), ..record(url, event) };
    let change = Change::Page { record, due_again };
    Verdict { reached: Some(target.into()), ..verdict(url, event, change) }
}

fn old(number: usize) -> String {
    format!("http://old.example/{number}")
}

/// Old URL 0 owns the target; the others up to `aliases` are its aliases.
fn with_aliases(aliases: usize) -> Disk {
    let frontier = embedded(plain());
    let verdicts = (1..=aliases).map(|number| alias(&old(number), number as u64 + 10, TARGET));
    let verdicts: Vec<Verdict> = [owning(&old(0), 1, TARGET)].into_iter().chain(verdicts).collect();
    frontier.apply(&batch(1, verdicts, vec![]), 100).unwrap();
    assert_eq!(due(&*frontier, 200), [""; 0]);
    frontier
}

#[test]
fn one_of_two_has_a_target_and_the_other_is_told() {
    let mut frontier = embedded(plain());
    let (first, second) = (old(1), old(2));
    let owned = TargetOwner::Owned { by: first.clone() };
    assert_eq!(frontier.claim_target(TARGET, &first), TargetOwner::Granted);
    assert_eq!(frontier.claim_target(TARGET, &first), TargetOwner::Granted, "it is its own");
    assert_eq!(frontier.claim_target(TARGET, &second), TargetOwner::Pending);
    frontier.settle(&first, true);
    assert_eq!(frontier.claim_target(TARGET, &second), owned);
    frontier.apply(&batch(1, vec![owning(&first, 1, TARGET)], vec![]), 0).unwrap();
    assert_eq!(frontier.claim_target(TARGET, &second), owned);
    frontier.reopen(0);
    assert_eq!(frontier.claim_target(TARGET, &second), owned);
    assert_eq!(frontier.claim_target(TARGET, TARGET), owned, "the target itself is told, too");
    assert_eq!(frontier.claim_target(TARGET, &first), TargetOwner::Granted);
}

/// While a site redirects everything to its log-in page, so does its sitemap.
#[test]
fn a_sitemap_that_redirects_to_a_page_waits_for_its_round() {
    let frontier = embedded(plain());
    let page = owning(&old(0), 1, TARGET);
    let mut sitemap = owning("http://old.example/sitemap.xml", 2, TARGET);
    if let Change::Page { record, .. } = &mut sitemap.change {
        record.kind = Kind::Sitemap;
    }
    frontier.apply(&batch(1, vec![page, sitemap], vec![]), 100).unwrap();
    assert_eq!(due(&*frontier, 200), [""; 0], "another fetch would decide nothing");
    assert_eq!(frontier.claim_target(TARGET, &old(1)), TargetOwner::Owned { by: old(0) });
}

#[test]
fn what_is_claimed_is_free_again_when_it_is_given_up_or_another_is_claimed_or_judged() {
    let frontier = embedded(plain());
    let (first, second) = (old(1), old(2));
    let claim = |by: &str| {
        assert_eq!(frontier.claim_target(TARGET, by), TargetOwner::Granted, "{by}");
    };
    claim(&first);
    frontier.settle(&first, false);
    claim(&second);
    assert_eq!(frontier.claim_target("http://other.example/", &second), TargetOwner::Granted);
    claim(&first);
    frontier.settle(&first, true);
    frontier.apply(&batch(1, vec![in_state(&first, 1, PageState::Refused)], vec![]), 0).unwrap();
    claim(&second);
    frontier.settle(&first, false);
    assert_eq!(frontier.claim_target(TARGET, &first), TargetOwner::Pending, "another's claim is not given up");
}

#[test]
fn a_page_that_is_there_under_its_own_url_owns_itself() {
    let frontier = embedded(plain());
    frontier.apply(&batch(1, vec![fetched(TARGET, 1, None)], vec![]), 0).unwrap();
    let owned = TargetOwner::Owned { by: TARGET.into() };
    assert_eq!(frontier.claim_target(TARGET, &old(1)), owned);
    assert_eq!(frontier.claim_target(TARGET, TARGET), TargetOwner::Granted);
    frontier.apply(&batch(2, vec![in_state(TARGET, 2, PageState::Gone)], vec![]), 0).unwrap();
    assert_eq!(frontier.claim_target(TARGET, &old(1)), TargetOwner::Granted);
}

#[test]
fn an_owner_that_leads_elsewhere_leaves_its_target_to_an_alias() {
    let mut frontier = with_aliases(30);
    frontier.apply(&batch(2, vec![alias(TARGET, 90, TARGET)], vec![]), 300).unwrap();
    frontier.apply(&batch(3, vec![owning(&old(0), 100, "http://newer.example/")], vec![]), 400).unwrap();
    let heirs = due(&*frontier, 500);
    assert_eq!(heirs.len(), 8, "not all of them at once: {heirs:?}");
    assert!(heirs.contains(&TARGET.to_owned()), "the target itself first");
    assert_eq!(frontier.claim_target(TARGET, &old(30)), TargetOwner::Granted, "it is nobody's");
    frontier.settle(&old(30), false);
    // If that URL leaves too, the next alias replaces it, while the target has no owner.
    let leaves = heirs.iter().find(|url| *url != TARGET).unwrap();
    frontier.apply(&batch(4, vec![alias(leaves, 101, "http://newer.example/")], vec![]), 600).unwrap();
    let next = due(&*frontier, 700);
    assert_eq!(next.len(), 8);
    assert!(!next.contains(leaves));
    frontier.reopen(800);
    assert_eq!(due(&*frontier, 900), next);
    let takes = next.iter().find(|url| *url != TARGET).unwrap();
    frontier.apply(&batch(5, vec![owning(takes, 102, TARGET)], vec![]), 1000).unwrap();
    assert_eq!(frontier.claim_target(TARGET, leaves), TargetOwner::Owned { by: takes.clone() });
    let leaves = next.iter().find(|url| *url != TARGET && *url != takes).unwrap();
    frontier.apply(&batch(6, vec![alias(leaves, 103, "http://newer.example/")], vec![]), 1100).unwrap();
    assert_eq!(due(&*frontier, 1200).len(), 6, "it has an owner again: nobody is woken in place of who left");
}

#[test]
fn of_many_aliases_twenty_are_named() {
    let frontier = with_aliases(30);
    let named = |url: &str| frontier.url_snapshot(url).unwrap().map(|look| look.aliases.len());
    frontier.propose(&[Proposal::seed(TARGET)], 300).unwrap();
    assert_eq!(named(TARGET), Some(20));
}

#[test]
fn an_owner_that_is_gone_itself_leaves_its_target_and_one_whose_target_is_gone_does_not() {
    let frontier = with_aliases(3);
    let gone = in_state(&old(0), 100, PageState::Gone);
    let with_target = Verdict { reached: Some(TARGET.into()), ..gone.clone() };
    frontier.apply(&batch(2, vec![with_target], vec![]), 300).unwrap();
    assert_eq!(due(&*frontier, 400), [""; 0], "each of them asks for it at its own time");

    let frontier = with_aliases(3);
    frontier.apply(&batch(2, vec![gone], vec![]), 300).unwrap();
    assert_eq!(due(&*frontier, 400), [old(1), old(2), old(3)]);
}

#[test]
fn an_alias_of_nobodys_page_is_looked_at_again_at_once() {
    let frontier = embedded(plain());
    frontier.apply(&batch(1, vec![alias(&old(1), 1, TARGET)], vec![]), 100).unwrap();
    assert_eq!(due(&*frontier, 100), [old(1)]);
    // In one batch, the owner last.
    let verdicts = vec![alias(&old(2), 2, TARGET), owning(&old(3), 3, TARGET)];
    frontier.apply(&batch(2, verdicts, vec![]), 200).unwrap();
    assert_eq!(due(&*frontier, 200), [old(1), old(2)]);
    frontier.apply(&batch(3, vec![alias(&old(2), 4, TARGET)], vec![]), 300).unwrap();
    assert_eq!(due(&*frontier, 300), [old(1)]);
}

#[test]
fn of_two_that_have_a_page_of_the_same_target_the_later_is_looked_at_again_at_once() {
    let frontier = embedded(plain());
    let verdicts = vec![owning(&old(1), 1, TARGET), owning(&old(2), 2, TARGET)];
    frontier.apply(&batch(1, verdicts, vec![]), 100).unwrap();
    assert_eq!(due(&*frontier, 100), [old(2)]);
    assert_eq!(frontier.claim_target(TARGET, &old(2)), TargetOwner::Owned { by: old(1) });
}

#[test]
fn aliases_are_counted_and_tried_again_as_pages_are() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    frontier.propose(&pages(&[&old(1), &old(2)]), 0).unwrap();
    let lease = lease_one(&frontier, 0, 2);
    let fetched = lease.work.iter().map(|work| work.url.clone()).collect();
    frontier.release(lease, Release { fetched, ..Release::default() }).unwrap();
    let verdicts = vec![owning(&old(1), 1, TARGET), alias(&old(2), 2, TARGET)];
    frontier.apply(&batch(1, verdicts, vec![]), 10).unwrap();
    check_counters(&frontier);
    let counts = frontier.counts();
    assert_eq!((counts.page, counts.live, counts.alias, counts.in_flight), (2, 1, 1, 0));
    assert_eq!(frontier.try_again(&[old(2)], 20).unwrap(), 1);
    check_counters(&frontier);
    let lease = lease_one(&frontier, 20, 2);
    assert_eq!(urls(&lease), [old(2)]);
    assert!(!lease.work[0].was_found && lease.work[0].known.etag.is_none(), "nothing is delivered under it");
    assert_eq!(frontier.counts().alias, 1, "it is what it was until its next answer");
}

/// A page says `noindex` at times. If its own URL meets only that, and a redirect to it never does, it is not removed.
#[test]
fn a_redirect_that_finds_the_page_ends_the_doubt_about_its_target() {
    let frontier = embedded(plain());
    let doubt_of = |frontier: &Disk| frontier.url_snapshot(TARGET).unwrap().unwrap().page.unwrap().doubt();
    let noindex = |event| {
        let mut doubted = in_state(TARGET, event, PageState::Unchanged);
        if let Change::Page { record, due_again } = &mut doubted.change {
            record.history = Some(History::new(50).doubted(Doubt::Noindex, 100));
            *due_again = Some(LATER);
        }
        doubted
    };
    let through_redirect = |event, found_at| {
        let mut led = led(&old(1), event, PageState::Unchanged, TARGET, Some(LATER));
        if let Change::Page { record, .. } = &mut led.change {
            record.target = None; // as with `redirects: follow`
            record.history = Some(History::new(found_at));
        }
        led
    };
    frontier.apply(&batch(1, vec![noindex(1)], vec![]), 100).unwrap();
    assert_eq!(doubt_of(&frontier), Some((Doubt::Noindex, 100)));
    frontier.apply(&batch(2, vec![through_redirect(2, ATTEMPT.at + 7)], vec![]), 200).unwrap();
    assert_eq!(doubt_of(&frontier), Some((Doubt::Noindex, 100)), "this answer did not find the page");
    frontier.apply(&batch(3, vec![through_redirect(3, ATTEMPT.at)], vec![]), 300).unwrap();
    assert_eq!(doubt_of(&frontier), None);
    check_counters(&frontier);
}
