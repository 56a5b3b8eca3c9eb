//! The main text: Boilerpipe's rules, each by a page that turns on it.

use std::time::Duration;

use proptest::prelude::*;
use seine::parse::html_tree::Tree;
use seine::parse::main_text::main_text;

fn text_of(html: &str) -> String {
    main_text(&Tree::parse(html))
}

/// So many words of four letters: 16 of them fill a line of 80.
fn words(count: usize) -> String {
    vec!["word"; count].join(" ")
}

#[test]
fn an_article_stays_and_its_navigation_goes() {
    let article = format!("{}.", words(60));
    let second = format!("{}!", words(45));
    let html = format!(
        "<title>T</title><body><ul><li><a href=/>Home</a><li><a href=/a>About us</a></ul>\
         <p>By Ann Onymous<p>{article}</p><p>{second}</p><div>{}</div><footer><a href=/x>Imprint</a> 2026</footer>",
        words(30)
    );
    assert_eq!(text_of(&html), format!("By Ann Onymous\n{article}\n{second}\n{}\n", words(30)));
}

#[test]
fn a_dense_block_is_content_unless_nothing_follows() {
    assert_eq!(text_of(&format!("<p>{}", words(40))), "");
    assert_eq!(text_of(&format!("<p>{}<p>end", words(40))), format!("{}\nend\n", words(40)));
}

#[test]
fn more_than_a_third_of_linked_words_is_boilerplate() {
    let block = |linked: usize, plain: usize| format!("<p><a href=/>{}</a> {}<p>end", words(linked), words(plain));
    assert_eq!(text_of(&block(9, 20)), format!("{}\nend\n", words(29)));
    assert_eq!(text_of(&block(10, 20)), "end\n");
}

#[test]
fn behind_a_block_of_links_only_what_leads_to_dense_text_stays() {
    let links = format!("<p><a href=/>{}</a> {}", words(7), words(5));
    assert_eq!(
        text_of(&format!("{links}<p>short one here<p>{}<p>end", words(13))),
        format!("short one here\n{}\nend\n", words(13))
    );
    assert_eq!(text_of(&format!("{links}<p>short one here<p>{}<p>x y", words(11))), format!("{}\nx y\n", words(11)));
}

#[test]
fn neighbours_of_one_density_are_one_block() {
    // Apart they would be two short blocks behind nothing; of equal density they are one, and still short.
    assert_eq!(text_of("<p>two words<p>two words"), "");
    let html = format!("<p>five words are in here<p>five words are in here<p>{}<p>z", words(12));
    assert_eq!(text_of(&html), format!("five words are in here\nfive words are in here\n{}\nz\n", words(12)));
}

#[test]
fn tags_break_blocks_or_words_or_nothing() {
    let tail = format!("<p>{}<p>end", words(12));
    let text = |html: &str| {
        let all = text_of(&format!("<p>five words come before it<p>{html}{tail}"));
        all.strip_suffix(&format!("{}\nend\n", words(12))).unwrap().trim_end().to_owned()
    };
    assert_eq!(text("ta<b>ke</b>n <em>as</em> one"), "taken as one");
    assert_eq!(text("an<a href=/>other</a>word and more words"), "an other word and more words");
    assert_eq!(text("HTTP<abbr>x</abbr>y"), "HTTP x y");
    assert_eq!(text("one<br>two three"), "one\ntwo three");
    assert_eq!(text("seen<script>not()</script><style>p{}</style><noscript>nor</noscript> this"), "seen\nthis");
    assert_eq!(text("white \n\t  space"), "white space");
}

#[test]
fn what_is_not_in_the_body_is_no_text() {
    assert_eq!(text_of(&format!("<head><title>{}</title></head><body>", words(50))), "");
    assert_eq!(text_of(""), "");
    assert_eq!(text_of("<frameset><frame src=/></frameset>"), "");
}

#[test]
fn a_hostile_page_takes_its_time_and_no_more() {
    let before = processor_time();
    text_of(&"<div><p>a".repeat(100_000));
    text_of(&"<a>x ".repeat(100_000));
    text_of(&"x".repeat(2_000_000));
    let took = processor_time() - before;
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// Of this thread: whatever else the machine has to do.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

proptest! {
    #[test]
    fn the_text_is_the_pages_in_its_order(html in "(<(p|a|b|div|/p|/a|/b|/div|br)>|[a-zé]{1,9}| |\\.|—){0,120}") {
        let text = text_of(&html);
        let mut rest = html.chars();
        for letter in text.chars().filter(|c| c.is_alphanumeric()) {
            prop_assert!(rest.any(|c| c == letter), "{letter:?} of {text:?}");
        }
        prop_assert!(text.is_empty() || text.ends_with('\n'));
    }
}
