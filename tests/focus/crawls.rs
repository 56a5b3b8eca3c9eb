//! Complete crawls of a generated web.

use seine::config::FocusConfig;
use seine::validate::load_model;
use seine_frontier::Verdicts;
use seine_policies::focus::Learner;

use crate::topics::Web;
use crate::walk::{Walk, fetches_for};

const BREADTH_FIRST: FocusConfig =
    FocusConfig { ranks: false, learns: false, hard: false, min_rank: 0.0, relevant_only: false };
const LEARNED: FocusConfig = FocusConfig { ranks: true, learns: true, ..BREADTH_FIRST };

/// Number of fetches until nine in ten of the wanted pages were fetched, and in total.
fn took(web: &Web, focus: FocusConfig) -> (usize, usize) {
    let mut walk = Walk::new(web, focus);
    walk.go(usize::MAX);
    (fetches_for(web, &walk.fetched, web.reachable().1, 0.9).unwrap(), walk.fetched.len())
}

#[test]
fn nine_in_ten_relevant_pages_take_half_the_fetches_at_most() {
    let web = Web::new(1, 1500);
    let (pages, _) = web.reachable();
    let ((focused, all), (breadth_first, _)) = (took(&web, LEARNED), took(&web, BREADTH_FIRST));
    assert_eq!(all, pages, "soft focus leaves nothing out");
    assert!(focused * 2 <= breadth_first, "{focused} fetches of {pages}, breadth first {breadth_first}");
}

#[test]
fn hard_focus_follows_the_links_of_relevant_pages_alone() {
    let web = Web::new(2, 800);
    let mut walk = Walk::new(&web, FocusConfig { hard: true, ..LEARNED });
    walk.go(usize::MAX);
    let mut linked = web.seeds.clone();
    for page in walk.fetched.iter().filter(|page| web.is_wanted(**page)) {
        linked.extend(web.leads_to(*page));
    }
    linked.sort_unstable();
    linked.dedup();
    let mut fetched = walk.fetched.clone();
    fetched.sort_unstable();
    assert_eq!(fetched, linked, "what relevant pages and seeds lead to, each once");
    assert!(fetched.len() < web.reachable().0 / 2);
    let counts = walk.frontier.counts();
    let wanted = fetched.iter().filter(|page| web.is_wanted(**page)).count() as u64;
    assert_eq!((counts.judged, counts.relevant), (fetched.len() as u64, wanted), "the harvest");
}

#[test]
fn what_was_learned_is_what_the_log_makes_of_it_however_often_the_process_died() {
    let web = Web::new(3, 500);
    let model = |deaths: &[usize]| {
        let mut walk = Walk::new(&web, LEARNED);
        for death in deaths {
            walk.go(*death);
            walk.restart(LEARNED);
        }
        // After every restart, what was learned so far is read back and continues.
        walk.go(300);
        (walk.fetched.len(), load_model(&*walk.frontier).unwrap().learner)
    };
    let (fetched, learned) = model(&[]);
    assert_eq!(fetched, 300);
    assert!(learned.lessons() > 250, "{} lessons", learned.lessons());
    let (_, again) = model(&[1, 2, 100, 150, 299]);
    assert_eq!(again.lessons(), learned.lessons());
    assert_ne!(again.to_bytes(), Learner::default().to_bytes());
}

#[test]
fn the_same_web_is_crawled_in_the_same_order_again() {
    let web = Web::new(4, 400);
    let order = || {
        let mut walk = Walk::new(&web, LEARNED);
        walk.go(200);
        (walk.fetched.clone(), load_model(&*walk.frontier).unwrap().learner.to_bytes())
    };
    assert_eq!(order(), order());
}

#[test]
fn focus_is_switched_off_and_on_again_between_two_starts() {
    let web = Web::new(5, 600);
    let mut walk = Walk::new(&web, LEARNED);
    walk.go(150);
    let learned = load_model(&*walk.frontier).unwrap().learner;
    walk.restart(BREADTH_FIRST);
    walk.go(200);
    let kept = load_model(&*walk.frontier).unwrap().learner;
    assert_eq!(kept.to_bytes(), learned.to_bytes(), "nothing is learned, and nothing is forgotten");
    walk.restart(LEARNED);
    walk.go(usize::MAX);
    assert_eq!(walk.fetched.len(), web.reachable().0, "every page once");
    assert!(load_model(&*walk.frontier).unwrap().learner.lessons() > learned.lessons());
}

#[test]
fn what_cannot_be_read_is_learned_anew() {
    let web = Web::new(6, 300);
    let mut walk = Walk::new(&web, LEARNED);
    walk.go(50);
    let batch = seine_frontier::Batch {
        learned: seine_frontier::Learned::Model(vec![77, 1, 2, 3]),
        cursor: seine_delivery::Offset { index: walk.end.index + 1, offset: walk.end.offset + 100 },
        ..Default::default()
    };
    walk.frontier.apply(&batch, seine_system::clock::now_ms()).unwrap();
    walk.end = batch.cursor;
    walk.restart(LEARNED);
    walk.go(100);
    let lessons = load_model(&*walk.frontier).unwrap().learner.lessons();
    assert!((1..=50).contains(&lessons), "{lessons} lessons since");
}

#[test]
fn links_below_the_least_rank_are_not_followed() {
    let web = Web::new(7, 500);
    let (_, all) = took(&web, LEARNED);
    let mut walk = Walk::new(&web, FocusConfig { min_rank: 0.2, ..LEARNED });
    walk.go(usize::MAX);
    assert!(walk.fetched.len() < all / 2, "{} of {all}", walk.fetched.len());
    assert!(walk.fetched.iter().filter(|page| web.is_wanted(**page)).count() > 5);
}

#[test]
fn what_was_learned_by_another_classifier_is_of_no_use() {
    let web = Web::new(8, 300);
    let mut walk = Walk::new(&web, LEARNED);
    walk.go(60);
    walk.restart(LEARNED);
    walk.judge = "topic@2";
    walk.go(90);
    walk.restart(LEARNED);
    let lessons = load_model(&*walk.frontier).unwrap().learner.lessons();
    assert!((1..=30).contains(&lessons), "{lessons} lessons of the new one");
}
