//! The arithmetic of traps: patterns, texts, and session parameters.

use std::time::Duration;

use seine_policies::traps::parameters::{Parameters, without};
use seine_policies::traps::{FetchOrder, Fetched, HostTraps, PageWords, Worth, page_words, pattern};

#[test]
fn a_pattern_keeps_words_and_makes_classes_of_the_rest() {
    for (url, expected) in [
        ("/", "/"),
        ("/calendar/2026/11", "/calendar/#/#"),
        ("/calendar/2026-11-23.html", "/calendar/#-#-#.html"),
        ("/page17", "/page#"),
        ("/blog/my-first-post", "/blog/~"),
        ("/about-us", "/about-us"),
        ("/d/4f2a9c0b7e61d8a35c", "/d/*"),
        ("/a/b/a/b/a/b/", "/…"),
        ("/x/a/b/a", "/x/…"),
        ("/a/b/c", "/a/b/c"),
        ("/2026/2026/1", "/#/#/#"),
        ("/1/2/3/4/5/6/7/8/9/10", "/#/#/#/#/#/#/#/#/…"),
        ("/x;v=1/y", "/x;v/y"),
        ("/list?a=1&b=red&c", "/list?a=#&b=~&c"),
        ("/list?id=4f2a9c0b7e61d8a35c", "/list?id=*"),
    ] {
        assert_eq!(pattern::of(url), expected, "{url}");
    }
    let long = format!("/{}?{}", "wo/rd".repeat(500), "n=1&".repeat(900));
    assert!(pattern::of(&long).len() < 130);
    assert!(pattern::of(&format!("/{}", "ü".repeat(900))).len() < 130);
    assert_eq!(pattern::family("/list?a=#"), Some("/list?…".to_owned()));
    assert_eq!(pattern::family("/list"), None);
}

#[test]
fn a_text_is_known_again_whatever_its_order_and_its_markup() {
    let one = page_words(b"<title>T</title><p>Red boats, 7 of them<script>var a = 1</script>", true);
    assert_eq!(page_words(b"<p class=x>7 of them: red<!-- no --> BOATS<style>p{}</style> <b>t</b>", true), one);
    assert_ne!(page_words(b"<p>Red boats, 8 of them T", true).mark, one.mark);
    assert_eq!(page_words(b"<p>Red boats, 8 of them T", true).words, one.words, "numbers are none of the words");
    assert_eq!(page_words(b"<p><script>x</script><img src=a>", true).mark, 0);
    assert_eq!(page_words(b"", true), page_words(b"<", true));
    for broken in [&b"<!--"[..], b"<script", b"<script>a</scrip", b"</", b"<p", b"&", b"\xff\xfe<"] {
        page_words(broken, true);
    }
    let tags = "<b>".repeat(100_000);
    assert_eq!(page_words(tags.as_bytes(), true).mark, 0);
    assert_eq!(page_words(&vec![b'a'; 10 << 20], true).words.len(), 1);
    let scripts = "<script>".repeat(200_000);
    page_words(scripts.as_bytes(), true);
}

#[test]
fn parameters_are_taken_out_of_path_and_query() {
    let names = ["sid", ";v"];
    for (url, expected) in [
        ("/a?sid=1", Some("/a")),
        ("/a?b=1&sid=2&c", Some("/a?b=1&c")),
        ("/a?b=1", None),
        ("/a;v=1/b;w=2?sid", Some("/a/b;w=2")),
        ("/a?side=1&v=2", None),
    ] {
        assert_eq!(without(url, &names).as_deref(), expected, "{url}");
    }
}

/// `text_of`: mark of the text, by page and value of the parameter.
fn learned(pages: usize, values: usize, text_of: impl Fn(usize, usize) -> u64) -> Vec<String> {
    let mut parameters = Parameters::default();
    for value in 0..values {
        for page in 0..pages {
            let said = PageWords { mark: text_of(page, value), ..PageWords::default() };
            parameters.see(&format!("/p{page}?id=1&token={value}"), &said);
        }
    }
    parameters.learned().to_vec()
}

#[test]
fn a_session_is_learned_from_many_values_and_many_texts_and_little_against_it() {
    assert_eq!(learned(10, 10, |page, _| page as u64), ["token"]);
    assert!(learned(10, 3, |page, _| page as u64).is_empty(), "a language has few values");
    assert!(learned(10, 10, |_, _| 7).is_empty(), "everything says the same: not found, or nothing without scripts");
    assert!(learned(3, 30, |page, _| page as u64).is_empty(), "three pages are too few");
    assert!(learned(10, 10, |page, value| (page * 100 + value) as u64).is_empty(), "pages of a list");
    assert!(
        learned(10, 10, |page, value| (page * 100 + value * usize::from(page == 0)) as u64).is_empty(),
        "one list in ten"
    );
}

fn see(traps: &mut HostTraps, url: &str, text: &str) -> Worth {
    let said = page_words(text.as_bytes(), false);
    let fetched = Fetched { path_and_query: url, words: Some(&said), digest: &[0; 32], is_text: true };
    traps.see(&fetched, &mut Vec::new())
}

#[test]
fn a_pattern_cools_down_by_what_it_brings_and_is_warm_again_when_it_brings_something() {
    let mut traps = HostTraps::default();
    for number in 0..1000 {
        let word = |salt: usize| {
            (0..5).map(|at| char::from(b'a' + (number * salt / 7_usize.pow(at) % 26) as u8)).collect::<String>()
        };
        let words: Vec<String> = [31, 37, 41, 43, 47, 53].map(word).to_vec();
        // A real text repeats most of its words.
        let frame = "an article of this week about what the people of the harbour heard and saw";
        let worth = see(&mut traps, &format!("/news/{number}"), &format!("{frame} {}", words.join(" ")));
        assert!(!worth.feeds_itself);
    }
    let list = Some(see(&mut traps, "/all/news", "an overview of what was said"));
    for number in 0..=seine_policies::traps::SAME {
        see(&mut traps, &format!("/copy/{number}"), "always the same");
    }
    let copy = Some(see(&mut traps, "/copy/98", "always the same"));
    assert!(
        matches!(traps.order("/copy/99", None, copy), FetchOrder::Deferred(_))
            && traps.order("/news/9", None, copy) == FetchOrder::InOrder
    );
    for number in 0..=seine_policies::traps::STALE {
        see(&mut traps, &format!("/count/{number}"), &format!("page number {number}"));
    }
    assert!(matches!(traps.order("/count/99", None, copy), FetchOrder::Deferred(_)), "found on what is cool it waits");
    assert!(traps.order("/count/99", None, list) == FetchOrder::Last, "found elsewhere it comes last");
    let lines = traps.lines();
    assert!(lines.iter().any(|line| line.starts_with("/copy/# is deferred")), "{lines:?}");
    // The state survives being stored.
    assert_eq!(HostTraps::from_bytes(&traps.to_bytes()), Some(traps.clone()));
    assert!(traps.to_bytes().len() < 8 << 10);
    for word in ["alpha", "beta", "gamma", "delta"] {
        see(&mut traps, "/copy/1", word);
    }
    assert_eq!(traps.order("/copy/99", None, copy), FetchOrder::InOrder);
    assert!(traps.visited().iter().any(|(_, count)| *count > 1), "what waited is released");
}

/// A site answered with one page for every URL for a while. Its pages say nothing that the host has not said, but each
/// has a text of its own.
#[test]
fn a_pattern_is_warm_again_when_its_known_pages_no_longer_say_the_same() {
    let mut traps = HostTraps::default();
    see(&mut traps, "/about", "one two three four five");
    let mut last = None;
    for number in 0..30 {
        last = Some(see(&mut traps, &format!("/copy/{number}"), "five four three"));
    }
    assert!(matches!(traps.order("/copy/99", None, last), FetchOrder::Deferred(_)));
    let again = |traps: &mut HostTraps, url: &str, text: &str| {
        let words = page_words(text.as_bytes(), false);
        let fetched = Fetched { path_and_query: url, words: Some(&words), digest: &[0; 32], is_text: true };
        let mut news = Vec::new();
        traps.see_again(&fetched, &mut news);
        news
    };
    for number in 0..30 {
        assert!(again(&mut traps, &format!("/copy/{number}"), "five four three").is_empty(), "the same as ever");
    }
    assert!(matches!(traps.order("/copy/99", None, last), FetchOrder::Deferred(_)));
    let news: Vec<String> =
        (0..30).flat_map(|number| again(&mut traps, &format!("/copy/{number}"), &format!("two {number}"))).collect();
    assert_eq!(news, ["/copy/# is no longer deferred: known pages have new texts"]);
    assert_eq!(traps.order("/copy/99", None, last), FetchOrder::InOrder);
    assert!(traps.visited().iter().any(|(_, count)| *count > 1), "what was deferred is released");
}

/// Words that differ at each fetch of a page are no news about its pattern.
#[test]
fn new_numbers_on_known_pages_of_a_trap_do_not_release_it() {
    let mut traps = HostTraps::default();
    see(&mut traps, "/about", "page number of the day");
    let mut last = None;
    for number in 0..30 {
        last = Some(see(&mut traps, &format!("/count/{number}"), &format!("page number {number}")));
    }
    for number in 0..200 {
        let words = page_words(format!("page number {}", 1000 + number).as_bytes(), false);
        let fetched = Fetched { path_and_query: "/count/1", words: Some(&words), digest: &[0; 32], is_text: true };
        traps.see_again(&fetched, &mut Vec::new());
    }
    assert!(matches!(traps.order("/count/99", None, last), FetchOrder::Deferred(_)));
}

/// The allowance of a host that is nothing but a trap, over many intervals.
#[test]
fn an_allowance_is_renewed_once_per_interval() {
    const DAY: Duration = Duration::from_secs(86_400);
    let mut traps = HostTraps::default();
    traps.allow(512);
    for number in 0..600 {
        see(&mut traps, &format!("/count/{number}"), &format!("page number {number}"));
    }
    let spend = |traps: &mut HostTraps| {
        let mut released = 0;
        while traps.portion() > 0 {
            // Each released URL leads to two more.
            released += traps.portion();
            traps.let_go(1000 + released as u64, traps.portion(), &mut Vec::new());
        }
        released
    };
    assert!(spend(&mut traps) >= 400);
    let mut released = 0;
    for hour in 1..=24 * 10 {
        traps.asked("/count/1", hour * 3_600_000, DAY);
        released += spend(&mut traps);
    }
    assert!((32 * 8..=64 * 10).contains(&released), "{released} in ten days");
    // Most of the requests are for pages that say something.
    for number in 0..4000 {
        traps.asked(if number % 10 == 0 { "/count/1" } else { "/about" }, 11 * 86_400_000 - 1, DAY);
    }
    traps.asked("/about", 12 * 86_400_000, DAY);
    let released = spend(&mut traps);
    assert!((90..=170).contains(&released), "an eighth less a tenth of 4000: {released}");
}

/// A host with very many patterns has a record of bounded size.
#[test]
fn what_is_kept_of_a_host_is_bounded() {
    let mut traps = HostTraps::default();
    for number in 0..5000 {
        let word: String = (0..6).map(|at| char::from(b'a' + (number / 26_usize.pow(at) % 26) as u8)).collect();
        see(&mut traps, &format!("/{word}?{word}={number}&t={number:020}a"), &format!("{word} {}", number * 31));
    }
    assert!(traps.to_bytes().len() < 16 << 10, "{}", traps.to_bytes().len());
    assert!(HostTraps::from_bytes(b"nonsense").is_none());
}

fn made_up(number: usize) -> String {
    let word = |at: usize| {
        let seed = (number * 8 + at) as u64;
        let hash = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..7).map(|letter| char::from(b'a' + (hash >> (8 + letter * 7)) as u8 % 26)).collect::<String>()
    };
    (0..8).map(word).collect::<Vec<_>>().join(" ")
}

/// A search that repeats what it was asked for, and a maze: in both, each page has words that no other page has.
#[test]
fn words_of_the_own_url_and_made_up_words_are_nothing_new() {
    let mut traps = HostTraps::default();
    for number in 0..60 {
        let words = made_up(number);
        see(&mut traps, &format!("/search?q={}", words.replace(' ', "+")), &format!("nothing about {words}"));
    }
    let lines = traps.lines();
    assert!(lines.iter().any(|line| line.starts_with("/search?q=~ is deferred")), "{lines:?}");
    let mut traps = HostTraps::default();
    for number in 0..400 {
        let path = format!("/maze/{}/{}", made_up(number * 3).replace(' ', ""), made_up(number * 7).replace(' ', ""));
        see(&mut traps, &path, &format!("welcome to {}", made_up(1000 + number)));
    }
    let lines = traps.lines();
    assert!(lines.iter().any(|line| line.starts_with("/maze/*… is deferred")), "{lines:?}");
}

/// The same few words, and a picture of its own on each page.
#[test]
fn pages_with_a_new_picture_bring_something_new_and_link_texts_do_not() {
    let of = |page: &dyn Fn(usize) -> String| {
        let mut traps = HostTraps::default();
        for number in 0..100 {
            let said = page_words(page(number).as_bytes(), true);
            let path = format!("/photo/{number}");
            let fetched = Fetched { path_and_query: &path, words: Some(&said), digest: &[0; 32], is_text: true };
            traps.see(&fetched, &mut Vec::new());
        }
        !traps.lines().is_empty()
    };
    assert!(!of(&|number| format!("<p>Photo {number}<img class=x src='/big/{number}.jpg?w=9'>")));
    assert!(of(&|number| format!("<p>Photo {number}<img src=/logo.png?visit={number}>")), "a counter is no picture");
    assert!(of(&|number| format!("<p>Photo {number}<a href=/photo/{}>{}</a>", number + 1, made_up(number))));
    assert!(!of(&|number| format!("<p>Photo {number}<a href=/photo/1>Next</a> {}", &made_up(number)[..7])));
}
