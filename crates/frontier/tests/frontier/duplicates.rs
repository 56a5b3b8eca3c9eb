//! Pages with the same content or nearly the same text: which one is first, and which are rechecked when it is removed.

use seine_frontier::{
    Batch, Change, EmbeddedFrontier, FrontierOptions, HostLeases, LeaseLimits, PageRecord, PageState, Scheduler,
    Verdict, Verdicts,
};
use seine_parse::page::{DuplicateOf, EpochMs, Likeness};
use seine_parse::set_sketch::SetSketch;
use seine_parse::text_sketch::{BodySketch, TextSketch};
use seine_policies::duplicates::Content;

use crate::support::{Disk, at, embedded, fetched, page, plain, record};

const TEXT: u64 = 0x0123_4567_89ab_cdef;

fn url(name: &str) -> String {
    format!("http://{name}.example/")
}

fn store() -> Disk {
    embedded(FrontierOptions { wakes_duplicates: true, ..plain() })
}

/// Texts differ as far as the bits of their numbers.
fn sketch(text: u64) -> TextSketch {
    TextSketch { bands: [1, 2], body: BodySketch { minima: text, ..BodySketch::default() } }
}

fn content(digest: u8, text: u64) -> Content {
    Content::new(&[digest; 32], Some(sketch(text)))
}

/// Asks as a worker does.
fn claim(frontier: &Disk, name: &str, content: Content) -> Option<DuplicateOf> {
    frontier.claim_content(content, 3, &url(name))
}

fn near(name: &str, distance: u8, text: u64) -> Option<DuplicateOf> {
    Some(DuplicateOf { url: url(name), distance, text: Some(sketch(text).id()), ..DuplicateOf::default() })
}

fn exact(name: &str) -> Option<DuplicateOf> {
    Some(DuplicateOf { url: url(name), ..DuplicateOf::default() })
}

/// The verdict for a page with this content. It is rechecked in a day.
fn judged(name: &str, event: u64, (digest, text): (u8, u64), of: Option<DuplicateOf>) -> Verdict {
    let likeness = Some(Likeness::new(Some(sketch(text)), of, 3));
    with(PageRecord { digest: Some([digest; 32]), likeness, ..record(&url(name), event) }, event)
}

fn with(record: PageRecord, event: u64) -> Verdict {
    let due_again = Some(record.fetched_ms + 86_400_000);
    let verdict = fetched(&record.url.clone(), event, None);
    Verdict { change: Change::Page { record, due_again }, ..verdict }
}

fn gone(name: &str, event: u64) -> Verdict {
    with(PageRecord { state: PageState::Gone, ..record(&url(name), event) }, event)
}

fn apply(frontier: &Disk, cursor: u64, verdicts: Vec<Verdict>, now: EpochMs) {
    frontier.apply(&Batch { verdicts, cursor: at(cursor), ..Batch::default() }, now).unwrap();
    frontier.check_counters();
}

/// Fetches a page, and asks about its content first.
fn bring(frontier: &Disk, cursor: u64, name: &str, (digest, text): (u8, u64)) -> Option<DuplicateOf> {
    let of = claim(frontier, name, content(digest, text));
    apply(frontier, cursor, vec![judged(name, cursor, (digest, text), of.clone())], NOW);
    of
}

const NOW: EpochMs = 1_700_000_100_000;

/// The URLs that are rechecked at once.
fn awake(frontier: &Disk) -> Vec<String> {
    let leases = frontier.lease(NOW, LeaseLimits::new(100, 100)).unwrap();
    let mut awake: Vec<String> =
        leases.iter().flat_map(|lease| lease.work.iter().map(|work| work.url.clone())).collect();
    leases.into_iter().for_each(|lease| frontier.release(lease, Default::default()).unwrap());
    awake.sort();
    awake
}

/// Texts that differ in title or details are not near, however similar they are.
#[test]
fn one_band_in_common_and_the_same_details_make_a_near_duplicate() {
    let mut frontier = store();
    let details = |elements: &[u64], detail_count| {
        let mut details = SetSketch::default();
        elements.iter().for_each(|element| details.toggle(element << 48));
        TextSketch { bands: [1, 2], body: BodySketch { minima: TEXT, details, detail_count } }
    };
    let digest = &[1; 32];
    let first = Content::new(digest, Some(details(&[1, 2, 3], 20)));
    assert_eq!(claim(&frontier, "a", first), None);
    let likeness = Some(Likeness::new(first.sketch, None, 3));
    let judged = with(PageRecord { digest: Some(*digest), likeness, ..record(&url("a"), 1) }, 1);
    for is_stored in [false, true] {
        if is_stored {
            apply(&frontier, 1, vec![judged.clone()], NOW);
            frontier.reopen(NOW);
        }
        let is_near = |sketch| {
            let of = claim(&frontier, "b", Content::new(&[2; 32], Some(sketch)));
            frontier.give_up(&url("b"));
            of.is_some()
        };
        let in_bands = |bands| is_near(TextSketch { bands, ..details(&[1, 2, 3], 20) });
        assert!(in_bands([9, 2]) && in_bands([1, 9]));
        assert!(!in_bands([2, 1]), "the same numbers in other bands");
        assert!(is_near(details(&[1, 2, 4], 20)), "one detail was replaced");
        assert!(!is_near(details(&[1, 4, 5], 20)));
        assert!(is_near(details(&[1, 4, 5], 50)));
        assert!(!is_near(details(&[4, 5, 6], 50)));
        assert!(is_near(details(&[], 101)), "too many to be compared");
    }
}

#[test]
fn the_first_with_a_content_is_the_one_that_others_are_duplicates_of() {
    let mut frontier = store();
    assert_eq!(bring(&frontier, 1, "a", (1, TEXT)), None);
    assert_eq!(bring(&frontier, 2, "b", (1, TEXT)), exact("a"));
    assert_eq!(bring(&frontier, 3, "c", (2, TEXT)), near("a", 0, TEXT));
    assert_eq!(bring(&frontier, 4, "d", (3, TEXT ^ 0b111)), near("a", 2, TEXT));
    assert_eq!(
        bring(&frontier, 5, "e", (4, TEXT ^ 0b111111)),
        None,
        "too far from the first, though near to a duplicate"
    );
    assert_eq!(bring(&frontier, 6, "f", (5, TEXT ^ 0b1111)), near("e", 1, TEXT ^ 0b111111), "the nearest");
    frontier.reopen(NOW);
    assert_eq!(claim(&frontier, "g", content(6, TEXT ^ 0b11111)), near("e", 1, TEXT ^ 0b111111), "the nearest");
    assert_eq!(claim(&frontier, "a", content(1, TEXT)), None, "itself");
    assert_eq!(frontier.counts().duplicates, 4);
    assert_eq!(frontier.claim_content(content(2, TEXT ^ 1), 0, &url("h")), None, "no text counts");
    assert_eq!(frontier.claim_content(content(1, !TEXT), 0, &url("h")), exact("a"));
    let look = frontier.url_snapshot(&url("a")).unwrap().unwrap();
    assert_eq!(look.duplicates.len(), 3, "{look:?}");
    assert!(["b", "c", "d"].iter().all(|name| look.duplicates.contains(&url(name))), "{look:?}");
}

#[test]
fn of_those_that_come_at_the_same_time_one_is_first() {
    let frontier = store();
    let told = std::thread::scope(|scope| {
        let ask = |name: usize| {
            scope.spawn({
                let frontier = &frontier;
                move || claim(frontier, &format!("h{name}"), content(name as u8, TEXT ^ (name as u64 & 1)))
            })
        };
        let asked: Vec<_> = (0..16).map(ask).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect::<Vec<_>>()
    });
    let first = told.iter().position(Option::is_none).unwrap();
    for (name, of) in told.iter().enumerate().filter(|(name, _)| *name != first) {
        assert_eq!(of.as_ref().map(|of| of.url.clone()), Some(url(&format!("h{first}"))), "{name}");
    }
    // Its reservation is dropped, so the next page is first.
    frontier.give_up(&url(&format!("h{first}")));
    assert_eq!(claim(&frontier, "next", content(99, TEXT)), None);
}

#[test]
fn who_has_it_and_leaves_wakes_some_of_its_duplicates() {
    let mut frontier = store();
    let names: Vec<String> = (0..20).map(|n| format!("n{n:02}")).collect();
    frontier.propose(&names.iter().map(|name| page(&url(name))).collect::<Vec<_>>(), NOW).unwrap();
    for (cursor, name) in (1..).zip(&names) {
        bring(&frontier, cursor, name, (cursor as u8, TEXT));
    }
    assert_eq!((frontier.counts().duplicates, awake(&frontier).len()), (19, 0));
    apply(&frontier, 21, vec![gone("n00", 121)], NOW);
    frontier.reopen(NOW);
    let woken = awake(&frontier);
    assert_eq!(woken.len(), 8);
    let orphans: Vec<bool> =
        frontier.lease(NOW, LeaseLimits::new(100, 1)).unwrap().iter().map(|lease| lease.work[0].is_orphan).collect();
    assert_eq!(orphans, [true; 8], "they are asked for whole");
    frontier.reopen(NOW);
    // The first one fetched takes the slot, and no other page is rechecked.
    let heir = woken[0].strip_prefix("http://").unwrap().split('.').next().unwrap().to_owned();
    assert_eq!(bring(&frontier, 22, &heir, (50, TEXT)), None);
    assert_eq!(awake(&frontier), woken[1..]);
    let last = names.last().unwrap();
    assert_eq!(claim(&frontier, last, content(20, TEXT)), near(&heir, 0, TEXT));
}

#[test]
fn one_that_takes_no_place_wakes_the_next() {
    let frontier = store();
    for cursor in 0..20_u64 {
        // Each is similar to the first page, and different from all others.
        let text = if cursor == 0 { TEXT } else { TEXT ^ (0b111 << (3 * cursor)) };
        bring(&frontier, cursor + 1, &format!("n{cursor:02}"), (cursor as u8, text));
    }
    assert_eq!(frontier.counts().duplicates, 19);
    apply(&frontier, 30, vec![gone("n00", 130)], NOW);
    let mut seen = 0;
    for cursor in 31.. {
        let Some(next) = awake(&frontier).into_iter().next() else { break };
        let name = next.strip_prefix("http://").unwrap().split('.').next().unwrap().to_owned();
        let number: u64 = name[1..].parse().unwrap();
        assert_eq!(bring(&frontier, cursor, &name, (number as u8, TEXT ^ (0b111 << (3 * number)))), None);
        seen += 1;
    }
    assert_eq!((seen, frontier.counts().duplicates), (19, 0), "every one was looked at");
}

#[test]
fn a_change_of_its_text_leaves_its_place_and_takes_another() {
    let frontier = store();
    bring(&frontier, 1, "a", (1, TEXT));
    bring(&frontier, 2, "b", (2, TEXT ^ 1));
    // The main text is the same, so only exact duplicates are affected.
    assert_eq!(bring(&frontier, 3, "a", (3, TEXT)), None);
    assert_eq!(awake(&frontier), [""; 0]);
    assert_eq!(bring(&frontier, 4, "a", (4, !TEXT)), None);
    assert_eq!(awake(&frontier), [url("b")]);
    // While it is fetched, the other page becomes a duplicate of it. Neither is lost.
    assert_eq!(claim(&frontier, "b", content(5, !TEXT)), near("a", 0, !TEXT));
    assert_eq!(claim(&frontier, "a", content(2, TEXT ^ 1)), None, "the other is leaving that");
    let verdicts = vec![judged("b", 50, (5, !TEXT), near("a", 0, !TEXT)), judged("a", 51, (2, TEXT ^ 1), None)];
    apply(&frontier, 5, verdicts, NOW);
    assert_eq!(awake(&frontier), [url("b")], "it is the duplicate of nobody");
    assert_eq!(bring(&frontier, 60, "b", (5, !TEXT)), None);
    assert_eq!((frontier.counts().duplicates, awake(&frontier).len()), (0, 0));
}

#[test]
fn what_was_applied_before_changes_nothing_and_what_is_forgotten_is_none() {
    let frontier = store();
    bring(&frontier, 1, "a", (1, TEXT));
    let of = bring(&frontier, 2, "b", (1, TEXT));
    apply(&frontier, 3, vec![judged("a", 1, (1, TEXT), None), judged("b", 2, (1, TEXT), of)], NOW);
    assert_eq!((frontier.counts().duplicates, frontier.counts().live), (1, 2));
    frontier.forget(&[url("a")], NOW).unwrap();
    frontier.check_counters();
    assert_eq!(awake(&frontier), [url("b")]);
    frontier.forget(&[url("b")], NOW).unwrap();
    assert_eq!((frontier.counts().duplicates, claim(&frontier, "c", content(1, TEXT))), (0, None));
    frontier.check_counters();
}

#[test]
fn nobody_wakes_where_no_destination_leaves_duplicates_out() {
    let frontier = embedded(plain());
    bring(&frontier, 1, "a", (1, TEXT));
    bring(&frontier, 2, "b", (1, TEXT));
    apply(&frontier, 3, vec![gone("a", 103)], NOW);
    assert_eq!(awake(&frontier), [""; 0]);
    assert_eq!(claim(&frontier, "b", content(1, TEXT)), None, "it finds out at its own time");
}

/// 0.2.0 compared simhashes, and had them in `near`.
#[test]
fn a_page_that_was_compared_by_simhashes_has_its_slot_until_it_is_compared_again() {
    let mut frontier = store();
    let old = |name: &str, event: u64, of: Option<DuplicateOf>| {
        let likeness = Likeness { simhash: Some(TEXT), of, within: 3, ..Likeness::default() };
        assert!(!likeness.is_within(3), "it is compared again");
        with(
            PageRecord { digest: Some([event as u8; 32]), likeness: Some(likeness), ..record(&url(name), event) },
            event,
        )
    };
    let of = DuplicateOf { url: url("a"), distance: 1, simhash: Some(TEXT), ..DuplicateOf::default() };
    apply(&frontier, 1, vec![old("a", 1, None), old("b", 2, Some(of))], NOW);
    frontier.reopen(NOW);
    assert_eq!((frontier.counts().duplicates, awake(&frontier).len()), (1, 0));
    assert_eq!(claim(&frontier, "c", content(3, TEXT)), None, "texts are not compared with simhashes");
    assert_eq!(claim(&frontier, "c", content(1, !TEXT)), exact("a"), "but bytes are");
    frontier.give_up(&url("c"));
    assert_eq!(bring(&frontier, 2, "a", (1, TEXT)), None);
    assert_eq!(awake(&frontier), [url("b")], "the slot of the simhash has no owner any more");
    assert_eq!(bring(&frontier, 3, "b", (2, TEXT ^ 1)), near("a", 1, TEXT));
    frontier.reopen(NOW);
    assert_eq!((frontier.counts().duplicates, awake(&frontier).len()), (1, 0));
}

#[test]
fn the_tables_of_simhashes_are_emptied_once() {
    let dir = tempfile::tempdir().unwrap();
    let open = || EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    let entries = |change: &dyn Fn(&fjall::Keyspace, &fjall::Keyspace)| {
        let db = fjall::Database::builder(dir.path().join("store")).open().unwrap();
        let keyspace = |name| db.keyspace(name, fjall::KeyspaceCreateOptions::default).unwrap();
        let near = keyspace("near");
        change(&near, &keyspace("notes"));
        near.iter().count()
    };
    drop(open());
    // As 0.2.0 left them.
    let old = entries(&|near, notes| {
        (1..10_u8).for_each(|table| near.insert([table; 9], []).unwrap());
        notes.remove("near").unwrap();
    });
    drop(open());
    assert_eq!((old, entries(&|_, _| ())), (9, 0));
    let new = entries(&|near, _| near.insert([0; 13], []).unwrap());
    drop(open());
    assert_eq!((new, entries(&|_, _| ())), (1, 1), "sketches stay");
}
