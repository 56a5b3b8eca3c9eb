//! The words of links, for any page.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use seine_policies::focus::{Lead, Learner, LinkWords, Source, link_words, priority};

fn words(page: &str) -> HashMap<String, LinkWords> {
    link_words(page, |base| {
        let base = base.unwrap_or_default().to_owned();
        move |href: &str| Some(format!("{base}{href}"))
    })
}

/// The hashes of words, in order.
fn hashes(text: &str) -> Vec<u16> {
    words(&format!("<a href=x>{text}</a>"))["x"].anchor.clone()
}

#[test]
fn a_link_has_its_own_words_and_those_beside_it_in_its_block() {
    let page = "<p>far off<p>just before <A class='q' HREF='/a?b&amp;c'>the <b>an</b>chor</A>, then after <em>it</em><p>elsewhere";
    let link = &words(page)["/a?b&c"];
    assert_eq!(link.anchor, hashes("the anchor"));
    assert_eq!(link.around, hashes("just before then after it"));
}

#[test]
fn a_picture_speaks_for_a_link_and_scripts_do_not() {
    let page =
        "<a href=a><img alt='big horse' src=x></a><script>var dog = '<a href=b>';</script> <style>cat</style> bird";
    let all = words(page);
    assert_eq!(all["a"].anchor, hashes("big horse"));
    assert_eq!(all["a"].around, hashes("bird"));
    assert!(!all.contains_key("b"));
}

#[test]
fn links_are_known_by_the_page_s_base_and_by_the_first_that_speaks() {
    let all = words("<base href='http://b/'><a href=x></a> <a href=x>word here</a> <a href=x>other</a>");
    assert_eq!(all["http://b/x"].anchor, hashes("word here"));
}

#[test]
fn scripts_without_blanks_are_cut_into_pairs_and_case_does_not_matter() {
    assert_eq!(hashes("搜索引擎").len(), 3);
    assert_eq!(hashes("ÄRZTE Straße"), hashes("ärzte straße"));
    assert!(hashes("12 345 a").is_empty());
}

#[test]
fn hostile_pages_take_no_longer() {
    let many = "<a href=x>".repeat(1_000_000);
    let deep = "<div>".repeat(100_000) + "<a href=y>word</a>";
    let long = format!("<a href=z>{}", "word ".repeat(2_000_000));
    let attributes = format!("<a {} href=w>word</a>", "x=\"<a\" ".repeat(500_000));
    let open = "<a href=\"".repeat(300_000);
    let raw = "<script><a href=v>".repeat(200_000);
    for page in [&many, &deep, &long, &attributes, &open, &raw] {
        let began = Instant::now();
        let all = words(page);
        assert!(all.len() <= 50_000);
        assert!(all.values().all(|link| link.anchor.len() <= 8 && link.around.len() <= 16));
        assert!(began.elapsed() < Duration::from_secs(30), "{:?} for {} bytes", began.elapsed(), page.len());
    }
}

#[test]
fn what_is_kept_of_a_link_is_small_and_says_the_same_when_it_is_read_back() {
    let source = Source::Page { relevance: 0.6, is_relevant: false, away: Some(2) };
    let lead = Lead::new(source, true, &LinkWords { anchor: (0..40).collect(), around: (0..99).collect() });
    let bytes = minicbor::to_vec(&lead).unwrap();
    assert!(bytes.len() <= 52, "{} bytes", bytes.len());
    let read: Lead = minicbor::decode(&bytes).unwrap();
    assert_eq!(read, lead);
    assert_eq!((read.relevance(), read.away(), read.leads_elsewhere()), (Some(5), Some(3), true));
    let (anchor, around) = read.words();
    assert_eq!((anchor.count(), around.count()), (8, 16));
}

#[test]
fn words_that_led_to_relevant_pages_come_first_from_then_on() {
    let mut learner = Learner::default();
    let lead = |anchor: &str| {
        let source = Source::Page { relevance: 0.5, is_relevant: false, away: None };
        Lead::new(source, false, &LinkWords { anchor: hashes(anchor), around: Vec::new() })
    };
    for number in 0..60 {
        let url = |host| format!("http://{host}.example/{number}");
        let (good, bad) = (learner.lesson(Some(&lead("horse riding")), &url("a"), 0.9, true), lead("stock market"));
        learner.learn(&good);
        learner.learn(&learner.lesson(Some(&bad), &url("a"), 0.1, false));
    }
    let score = |anchor: &str| learner.score(&lead(anchor), "http://new.example/x");
    assert!(
        priority(score("riding school")) + 20 < priority(score("market report")),
        "{} {}",
        score("riding school"),
        score("market report")
    );
    let again = Learner::from_bytes(&learner.to_bytes()).unwrap();
    assert_eq!(again.to_bytes(), learner.to_bytes());
    assert_eq!(again.lessons(), 120);
    assert!(Learner::from_bytes(&learner.to_bytes()[..100]).is_err());
}
