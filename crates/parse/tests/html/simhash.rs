//! Simhashes: distances between texts in any script, and the exact values that records store.

use std::f64::consts::PI;

use seine_parse::derive;
use seine_parse::simhash::{of_page, simhash};

use super::{event, html_event, options, response};

/// Pseudo-random numbers, the same in every run (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// Random words with a natural distribution: the first quarter of 4000 words makes up most of the text.
fn prose(words: usize, seed: u64) -> Vec<String> {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ seed);
    let word = |_| {
        let rank = dice.below(4000) * dice.below(4000) / 4000;
        format!("wort{rank}")
    };
    (0..words).map(word).collect()
}

fn distance(one: &str, other: &str) -> u32 {
    (simhash(one).unwrap() ^ simhash(other).unwrap()).count_ones()
}

const TEXTS: u64 = 150;

/// Mean and maximum of a measure over many texts.
fn over_texts(measure: impl Fn(u64) -> u32) -> (f64, u32) {
    let all: Vec<u32> = (0..TEXTS).map(measure).collect();
    (f64::from(all.iter().sum::<u32>()) / TEXTS as f64, *all.iter().max().unwrap())
}

#[test]
fn what_is_edited_is_as_far_as_its_share_of_the_text() {
    // Length of the text, and number of consecutive words that differ: a word, a date, a paragraph.
    for (words, edited) in [(1000, 1), (1000, 3), (300, 1), (300, 3), (1000, 100)] {
        let (mean, largest) = over_texts(|seed| {
            let mut text = prose(words, seed);
            let before = text.join(" ");
            let at = words / 3;
            (at..at + edited).for_each(|at| text[at] = format!("new{at}"));
            distance(&before, &text.join(" "))
        });
        // Each word is in two pairs, and neighbours share one.
        let others = (edited + 1) as f64 / words as f64;
        let expected = 64.0 / PI * (1.0 - others).acos();
        println!("{edited} of {words}: {mean:.1} bits, at most {largest}; {expected:.1} expected");
        assert!((0.7..1.3).contains(&(mean / expected)), "{edited} of {words}: {mean} bits, not {expected}");
        assert!(f64::from(largest) < 4.0 + 3.0 * expected, "{edited} of {words}: {largest} bits");
    }
}

#[test]
fn another_text_is_half_of_the_bits_away() {
    let (mean, largest) = over_texts(|seed| distance(&prose(600, seed).join(" "), &prose(600, seed + TEXTS).join(" ")));
    let (_, nearest) =
        over_texts(|seed| 64 - distance(&prose(600, seed).join(" "), &prose(600, seed + TEXTS).join(" ")));
    println!("others: {mean:.1} bits, {} to {largest}", 64 - nearest);
    assert!((30.0..34.0).contains(&mean), "{mean}");
    assert!(largest < 50 && 64 - nearest > 14);
}

/// Chinese has no spaces, and a sentence is not a word.
#[test]
fn a_sign_is_little_where_signs_are_words() {
    let mut dice = Dice(7);
    let sentence = |dice: &mut Dice| {
        let signs: String = (0..40).map(|_| char::from_u32(0x4e00 + dice.below(3000) as u32).unwrap()).collect();
        signs + "。"
    };
    let text: String = (0..25).map(|_| sentence(&mut dice)).collect();
    let other: String = (0..25).map(|_| sentence(&mut dice)).collect();
    let edited: String = text.chars().enumerate().map(|(at, sign)| if at == 500 { '龍' } else { sign }).collect();
    assert!(text != edited && distance(&text, &edited) <= 6, "{}", distance(&text, &edited));
    assert!((20..44).contains(&distance(&text, &other)), "{}", distance(&text, &other));
}

#[test]
fn case_blanks_and_repeats_do_not_count() {
    assert_eq!(simhash("One  two,\nTHREE"), simhash("one two — three!"));
    assert_eq!(simhash("caf\u{e9}"), simhash("CAFE\u{301}"));
    assert_eq!(simhash("in stock in stock in stock in stock"), simhash("in stock in"));
    // Changing the order matters, but only where it changed.
    assert_ne!(simhash("one two three"), simhash("three two one"));
    let [first, last] = [prose(500, 1).join(" "), prose(500, 2).join(" ")];
    assert!(distance(&format!("{first} {last}"), &format!("{last} {first}")) <= 6);
    for nothing in ["", " \n", "— … !?", "---"] {
        assert_eq!(simhash(nothing), None, "{nothing:?}");
    }
}

/// Like a page of several megabytes.
#[test]
fn all_of_a_long_text_counts() {
    let words = |last: &str| (0..450_000).map(|n| format!("w{n} ")).collect::<String>() + last;
    let [one, other] = [words("one"), words("the other half of it ").repeat(2)];
    assert!(distance(&one, &words("other")) <= 2);
    assert!(distance(&one, &other) <= 4, "what is there twice counts once or twice: {}", distance(&one, &other));
    assert!(distance(&one, &one[..one.len() / 2]) > 8);
}

/// Records store these values: changing them makes every page look changed.
#[test]
fn simhashes_are_what_they_always_were() {
    for (text, expected) in [
        ("one", 0x4bdd_7c3b_d632_628a),
        ("The quick brown fox jumps over the lazy dog.", 0x21f5_399c_deac_93c3),
        ("Größe und Übermut — l'été déjà", 0x8455_10ce_4004_4080),
        ("Съешь ещё этих мягких французских булок", 0x8610_6024_234c_1a25),
        ("東京は日本の首都です。", 0x1622_2979_4a49_41ab),
        ("ภาษาไทยไม่เว้นวรรค", 0x040d_9231_8cc0_7605),
        ("हिन्दी में लिखा हुआ", 0x6810_0890_3d00_d045),
    ] {
        assert_eq!(simhash(text), Some(expected), "{text}");
    }
}

/// A long article between a menu and a footer.
fn article(words: &[String], date: &str) -> String {
    let paragraphs: String = words.chunks(60).map(|words| format!("<p>{}</p>", words.join(" "))).collect();
    let links: String = (0..20).map(|link| format!("<li><a href=/{link}>Menu {link}</a></li>")).collect();
    format!("<body><ul>{links}</ul><article>{paragraphs}</article><ul>{links}</ul><div>Last changed: {date}</div>")
}

#[test]
fn of_a_page_the_main_text_counts() {
    let of = |body: &str| of_page(&derive(&html_event(body), &options()), Some("text/html"));
    let mut words = prose(600, 3);
    let before = article(&words, "22 November 2026");
    assert_eq!(of(&before), of(&article(&words, "Monday, 23 November 2026")), "a date below the page");
    words[300] = "another".into();
    let now = article(&words, "22 November 2026");
    assert!((1..10).contains(&(of(&before).unwrap() ^ of(&now).unwrap()).count_ones()), "a word of the page");

    // A short page has no main text. Then all visible text counts.
    assert_eq!(of("<title>Short</title><body><h1>Version</h1> 1"), simhash("Version 1"));
    assert_eq!(of("<title>Nothing to see</title><body><img src=a.png>"), None);

    let of_type = |content_type: &str, body: &str| {
        let event = event("http://site.example/", response(&[("content-type", content_type)], body.to_owned()));
        of_page(&derive(&event, &options()), Some(content_type))
    };
    assert_eq!(of_type("Text/Plain; charset=utf-8", "just text"), simhash("just text"));
    assert_eq!(of_type("image/png", "just text"), None);
}
