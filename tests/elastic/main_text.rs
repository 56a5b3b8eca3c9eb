//! The main text: Boilerpipe's rules, each with a page that depends on it.
//!
//! `boilerpipe.jsonl` has small pages of our own with the output of the real Boilerpipe:
//! `DefaultExtractor.INSTANCE.getText(String)` of Maven Central's `com.syncthemall:boilerpipe:1.2.2`, on Java 17.
//! NekoHTML 1.9.20 and Xerces 2.11.0, which it depends on, must come after it in the class path, since it ships its own
//! tag balancer. Get the text of further pages in the same way.

use std::time::Duration;

use proptest::prelude::*;
use seine_parse::main_text::main_text;

fn text_of(html: &str) -> String {
    main_text(html)
}

/// Words of four letters: 16 of them fill a line of 80.
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
    // Separately they would be two short blocks. With equal density they become one, which is still short.
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

/// A page, and Boilerpipe's output.
#[derive(serde::Deserialize)]
struct Case {
    rule: String,
    html: String,
    text: String,
}

#[test]
fn every_rule_is_boilerpipes() {
    let cases = include_str!("boilerpipe.jsonl").lines().map(|line| serde_json::from_str::<Case>(line).unwrap());
    let mut wrong = Vec::new();
    for Case { rule, html, text } in cases {
        let (ours, theirs) = (text_of(&html), text.split_whitespace().collect::<Vec<_>>());
        if ours.split_whitespace().collect::<Vec<_>>() != theirs {
            wrong.push(format!("{rule}: {html}\n  is {ours:?}\n  not {text:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An intended difference: characters from 128 on are those of Windows, as browsers read them.
#[test]
fn numbers_of_windows_1252_are_its_characters() {
    let html = format!("<p>{} don&#146;t &#x80; &#150;<p>{}<p>end", words(10), words(12));
    assert_eq!(text_of(&html), format!("{} don\u{2019}t \u{20ac} \u{2013}\n{}\nend\n", words(10), words(12)));
}

#[test]
fn a_hostile_page_takes_its_time_and_no_more() {
    let many = |times: usize, piece: &str| piece.repeat(times);
    let nested = 100_000;
    let pages = [
        many(nested, "<div><p>a"),
        many(nested, "<div>") + "x" + &many(nested, "</div>"),
        many(nested, "<a>x "),
        many(nested, "<i>") + &many(nested, "x</b>"),
        many(nested, "<x-y>") + &many(nested, "</x-y>x</i>"),
        many(nested, "<b><select>"),
        many(nested, "</p>"),
        // Each tag would close everything and reopen it, or search everything in vain.
        "<i>".to_owned() + &many(nested, "<b>") + &many(nested, "</i>x"),
        many(nested, "<b>") + &many(nested, "<label>x</label>"),
        "<i><div>".to_owned() + &many(nested, "<b>") + &many(nested, "</i>x"),
        "<table><tr><td>".to_owned() + &many(nested, "<div>") + &many(nested, "<td>x"),
        // Constructs without an end.
        many(nested, "<!--"),
        many(nested, "<script><!--"),
        many(nested, "<title>&amp;"),
        "<textarea>".to_owned() + &many(nested, "&amp;"),
        many(nested, "<p a=\""),
        many(nested, "<![CDATA["),
        many(nested, "<?x >"),
        // 10 MB on one line.
        many(10_000_000, "x"),
        many(10_000_000, "&"),
        many(10_000_000, "<"),
        many(2_000_000, "word "),
        many(3_000_000, "e\u{301}"),
    ];
    for page in pages {
        let before = processor_time();
        text_of(&page);
        let took = processor_time() - before;
        assert!(took < Duration::from_secs(20), "{took:?} of {}", &page[..40]);
    }
}

/// Of this thread only, so that a busy machine does not matter.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

proptest! {
    /// For any markup, the page is read to its end.
    #[test]
    fn no_soup_of_tags_is_too_thin(
        soup in "(<[/!?]?(p|a|b|i|table|td|tr|li|form|head|body|html|title|script|textarea|iframe|x:p|!--|\\[CDATA\\[)[ />=\"]{0,3}>?|[a-zé&#;<\\u{301} ]{1,9}){0,80}"
    ) {
        let text = text_of(&soup);
        prop_assert!(text.lines().all(|line| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(' ')), "{text:?}");
    }

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
