//! Sketches of pages: what they are made of, and the exact values that records store.

use seine_parse::derive;
use seine_parse::set_sketch::{SUMS, SetSketch};
use seine_parse::text_sketch::{BANDS, TextSketch, of_page};

use super::{event, html_event, options, response};

fn of(body: &str) -> Option<TextSketch> {
    of_page(&derive(&html_event(body), &options()), Some("text/html"))
}

/// A page of 200 words in sentences.
fn page(title: &str, heading: &str, list: &str, number: u32) -> String {
    let words: Vec<String> = (0..200).map(|n| format!("word{n}")).collect();
    let paragraphs: String = words.chunks(40).map(|words| format!("<p>{}</p>", words.join(" "))).collect();
    format!(
        "<title>{title}</title><h1>{heading}</h1><div>{list}</div><p>It weighs {number} grams, as each of these does that \
             anybody has ever put on such a pair of scales before.</p>{paragraphs}"
    )
}

fn differences(one: TextSketch, other: TextSketch) -> usize {
    one.body.details.differences(&other.body.details)
}

#[test]
fn title_and_headline_are_the_subject() {
    let bands = |title: &str, heading: &str| of(&page(title, heading, "", 1)).unwrap().bands;
    let first = bands("The red chair - A shop", "The red chair");
    assert_eq!(first, bands("The RED chair | Another shop", "The red chair!"), "the name of the site does not count");
    let all = |other: [u32; BANDS]| first.iter().zip(other).all(|(first, other)| *first != other);
    assert!(all(bands("The green chair - A shop", "The green chair")));
    assert!(all(bands("A shop", "The red chair")), "the title does not name it");
    assert_ne!(bands("A shop", "The red chair"), bands("A shop", "The green chair"));
    assert_ne!(bands("The red chair - A shop", "A shop"), bands("The green chair - A shop", "A shop"));
}

#[test]
fn numbers_and_short_lines_are_details() {
    let of = |list: &str, number: u32| of(&page("Chair", "Chair", list, number)).unwrap();
    let first = of("colour: red", 300);
    assert_eq!(first.body.detail_count, 4, "the heading, two words, a number");
    assert_eq!(differences(first, of("colour: red", 301)), 2);
    assert_eq!(differences(first, of("colour: green", 300)), 2);
    assert_eq!(differences(first, of("colour: green", 301)), 4);
    assert_eq!(of("<a href=/>Red chairs</a>", 300), of("<a href=/>Green chairs</a>", 300), "links may be a menu");
    let many: String = (0..400).map(|n| format!("<p>item{n}")).collect();
    assert_eq!((of(&many, 1).body.detail_count, of(&many, 1).body.details), (101, SetSketch::default()));
}

#[test]
fn the_frame_of_a_page_does_not_count() {
    let page = page("The red chair", "The red chair", "colour: red", 3);
    let links = |number: u32| format!("<li><a href=/>Menu {number}</a></li>").repeat(30);
    let frame = |number: u32| format!("<nav>{0}</nav>{page}<ul>{0}</ul><div>Visitors: {number}</div>", links(number));
    assert_eq!(of(&frame(1)), of(&frame(2)));
    assert_eq!(of(&frame(1)), of(&page));
}

#[test]
fn short_texts_have_none() {
    let text = |words: u32| (0..words).map(|n| format!("w{n} ")).collect::<String>();
    assert_eq!(of(&text(31)), None);
    assert!(of(&text(32)).is_some());
    assert_eq!(of(&"again and ".repeat(100)), None, "few different pairs");
    let of_type = |content_type: &str| {
        let event = event("http://site.example/", response(&[("content-type", content_type)], text(40)));
        of_page(&derive(&event, &options()), Some(content_type))
    };
    assert!(of_type("Text/Plain; charset=utf-8").is_some());
    assert_eq!(of_type("image/png"), None);
}

/// Chinese has no spaces: a character is a word, and a long line is a sentence.
#[test]
fn a_character_is_a_word_where_there_are_no_spaces() {
    let signs = |last: char| (0..60).filter_map(|n| char::from_u32(0x4e00 + 7 * n)).chain([last]).collect::<String>();
    let sentence = of(&format!("<title>一</title><p>{}，300。", signs('龍'))).unwrap();
    assert_eq!(sentence.body.detail_count, 1, "only the number");
    assert_eq!(differences(sentence, of(&format!("<title>一</title><p>{}，300。", signs('鳳'))).unwrap()), 0);
    let short = of(&format!("<title>一</title><h1>一</h1><p>紅色</p><p>{}，300。", signs('龍'))).unwrap();
    assert_eq!(short.body.detail_count, 4);
}

/// Lists of links are no main text. They are compared as a whole, not by the notice below them.
#[test]
fn a_list_is_more_than_its_notice() {
    let notice = (0..60).map(|n| format!("notice{n} ")).collect::<String>();
    let list = |of: &str| {
        let items: String = (0..200).map(|n| format!("<li><a href='/{n}'>{of}{n}</a>")).collect();
        self::of(&format!("<title>List</title><ul>{items}</ul><p>{notice}.</p>")).unwrap()
    };
    let [apples, pears] = [list("apple"), list("pear")];
    assert!((apples.body.minima ^ pears.body.minima).count_ones() > 12);
}

/// Differences of sets are counted exactly, whatever the sets have in common.
#[test]
fn few_differences_are_counted() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut one = SetSketch::default();
    (0..90).for_each(|_| one.toggle(rng.u64(..)));
    for trial in 0..200 {
        let mut other = one;
        for differences in 0..20 {
            assert_eq!(one.differences(&other), differences.min(SUMS), "trial {trial}");
            other.toggle(rng.u64(..));
        }
    }
}

/// Records store them: a change needs another `METHOD`.
#[test]
fn sketches_are_what_they_always_were() {
    let known = of(&page("The red chair - A shop", "The red chair", "colour: red", 300)).unwrap();
    let json = serde_json::to_string(&known).unwrap();
    assert_eq!(json, "\"paRs8ehY8zjI/osxHjmix9GljbVJhnKVsGcF\"");
    assert_eq!(serde_json::from_str::<TextSketch>(&json).unwrap(), known);
    for damaged in ["\"\"", "\"AAAA\"", "7", "\"no base64!\""] {
        assert!(serde_json::from_str::<TextSketch>(damaged).is_err(), "{damaged}");
    }
}
