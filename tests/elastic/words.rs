//! The words of a page, and their order.

use std::fmt::Write;

use proptest::prelude::*;
use seine_parse::html_facts;
use seine_parse::html_text::page_facts;
use seine_parse::words::{MAX_WORD_CHARS, MAX_WORDS, Words, meta_words, words};

/// The words of a page at `http://HOST/`.
fn words_of(host: &str, html: &str) -> Vec<String> {
    let (facts, title) = (page_facts(html), html_facts::read(html, "").title);
    owned(&words(title.as_deref(), Some(host), &facts.text, &facts.passing))
}

fn owned(words: &Words) -> Vec<String> {
    words.iter().map(str::to_owned).collect()
}

fn body_words(html: &str) -> Vec<String> {
    words_of("", html)
}

#[test]
fn the_title_counts_seven_the_host_three_the_text_two_and_what_is_in_passing_one() {
    let html = "<title>once</title><body><p>four four four four <p>two two <p>pear\
        <img alt=apple title=apple id=apple><select><option>plum<option>plum</select>";
    // 8, 7, 6 (host twice), 4, 3 and 3 (alt before …), 2 and 2.
    assert_eq!(words_of("x.host.host.com", html), ["four", "once", "host", "two", "x", "apple", "pear", "plum"]);
}

#[test]
fn words_of_the_same_weight_stand_in_the_order_of_the_page() {
    assert_eq!(body_words("<p>zebra ant <b>mole</b> zebra ant mole"), ["zebra", "ant", "mole"]);
    assert_eq!(words_of("www.shop.example.org", "<p>zoo"), ["shop", "example", "zoo"]);
}

#[test]
fn markup_entities_and_punctuation_are_no_words() {
    let html = "<p>rock&nbsp;&amp;&nbsp;roll, caf&#233;s; &#x1f600; it's (well-known) -dash- &mdash; #tag a&b \
        <script>var x</script><style>p{}</style><!-- no --><noscript>none</noscript>in<b>ner</b>";
    let expected = ["rock", "roll", "cafés", "cafes", "it", "s", "well-known", "dash", "tag", "a", "b", "inner"];
    assert_eq!(body_words(html), expected);
}

#[test]
fn accents_are_written_one_way_and_left_out_as_well() {
    // The same word in composed and decomposed form.
    assert_eq!(body_words("<p>CRÈME cre\u{300}me"), ["crème", "creme"]);
    // Marks that are not accents stay with their letters: a voiced kana, a Hangul syllable, Devanagari signs.
    assert_eq!(body_words("<p>が 한국어 हिन्दी हूँ।"), ["が", "한국어", "हिन्दी", "हूँ"]);
    assert_eq!(body_words("<p>ΕΛΛΗΝΙΚΆ Привет Й"), ["ελληνικά", "привет", "й"]);
}

#[test]
fn a_page_without_words_has_none() {
    assert_eq!(body_words(""), [""; 0]);
    assert_eq!(body_words("<p>— … - -- 😀"), [""; 0]);
}

#[test]
fn meta_words_are_those_of_every_content_the_most_frequent_first() {
    let html = "<meta charset=utf-8><meta name=description content='Pears, and more pears.'>\
        <meta property='og:title' content='Apples and Pears'><meta content='Übrig' itemprop=x>";
    let facts = page_facts(html);
    let words = meta_words(facts.about.meta.iter().map(|meta| &*meta.content));
    assert_eq!(owned(&words), ["pears", "and", "more", "apples", "übrig", "ubrig"]);
}

#[test]
fn a_hostile_page_has_bounded_words() {
    let mut html = String::from("<p>kept kept ");
    for n in 0..MAX_WORDS * 3 {
        write!(html, "w{n} ").unwrap();
    }
    html.push_str(&"x".repeat(MAX_WORD_CHARS));
    html.push(' ');
    html.push_str(&"y".repeat(MAX_WORD_CHARS + 1));
    let words = body_words(&html);
    assert_eq!(words.len(), MAX_WORDS);
    assert_eq!(words[..2], ["kept", "w0"]);
    let long = body_words(&html[html.len() - 2 * MAX_WORD_CHARS - 2..]);
    assert_eq!(long, ["x".repeat(MAX_WORD_CHARS)]);
}

proptest! {
    #[test]
    fn words_are_different_lower_case_and_whole_whatever_the_page(html in any::<String>(), title in any::<String>()) {
        let found = owned(&words(Some(&title), None, &html, ""));
        let mut sorted = found.clone();
        sorted.sort_unstable();
        sorted.dedup();
        prop_assert_eq!(sorted.len(), found.len());
        for word in &found {
            prop_assert!(!word.is_empty() && !word.starts_with('-') && !word.ends_with('-'));
            prop_assert!(!word.contains(|c: char| c.is_whitespace() || c.is_ascii_punctuation() && c != '-'), "{word:?}");
            prop_assert!(!word.chars().any(|c| c.is_ascii_uppercase()), "{word:?}");
        }
    }
}
