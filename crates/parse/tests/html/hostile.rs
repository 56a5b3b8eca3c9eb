//! Pages made to overflow, to multiply, or to take for ever.

use seine_parse::main_text::main_text;
use seine_parse::words::{MAX_WORDS, meta_words, words};

use super::*;

/// Generous: without limits each case takes many minutes or never ends.
fn soon(what: &str, work: impl FnOnce()) {
    let started = Instant::now();
    work();
    assert!(started.elapsed() < Duration::from_secs(60), "{what}: {:?}", started.elapsed());
}

#[test]
fn deep_nesting_neither_overflows_nor_takes_for_ever() {
    for (name, depth, open, close) in [
        ("div", 100_000, "<div>", "</div>"),
        ("b", 100_000, "<b>", "</b>"),
        ("blocks in formatting", 20_000, "<b><p>", ""),
        ("links", 20_000, "<a href=/n>", ""),
        ("different formatting", 20_000, "<font color=x><p>x", "</font>"),
        ("table", 20_000, "<table><tr><td>", ""),
        ("list", 20_000, "<ul><li>", ""),
        ("stray", 20_000, "</p></b></x>", ""),
    ] {
        soon(name, || {
            let page = format!("{}<a href=/deep>x</a>{}<a href=/after>y</a>", open.repeat(depth), close.repeat(depth));
            let (derived, facts) = derive_with_text(&html_event(&page), &options());
            assert!(urls(&derived).contains(&"https://site.example/deep"), "{name}");
            assert!(urls(&derived).contains(&"https://site.example/after"), "{name}");
            assert_eq!(derived.links, derive(&html_event(&page), &options()).links, "{name}");
            assert!(facts.is_some());
        });
    }
    // Endlessly nested SVG, MathML and templates.
    for open in ["<svg>", "<math>", "<template>"] {
        soon(open, || _ = page_facts(&open.repeat(50_000)));
    }
    let page = format!("{}<svg><a href=/deep>x</a></svg>", "<span>".repeat(20_000));
    assert_eq!(hrefs(&read_both(&page)), ["/deep"]);
}

#[test]
fn long_values_and_many_links_are_bounded() {
    soon("attribute", || {
        let long = "x".repeat(5 << 20);
        let page = format!(
            "<base href='/{long}'><a href='/{long}' title='{long}'>1</a><title>{long}</title><a href=/ok>2</a>"
        );
        let (derived, _) = derive_with_text(&html_event(&page), &options());
        assert_eq!(urls(&derived), ["https://site.example/ok"]);
        assert!(derived.title.unwrap().len() <= MAX_TITLE_BYTES);
        assert_eq!(derived.links, derive(&html_event(&page), &options()).links);
    });
    soon("base", || {
        let links: String = (0..MAX_LINKS).map(|n| format!("<a href={n}>")).collect();
        let derived = derive(&html_event(&format!("<base href='/{}/'>{links}", "x".repeat(3_500))), &options());
        assert!(derived.links.len() > 1_000);
        assert!(derived.links.iter().map(|link| link.url.len()).sum::<usize>() <= MAX_LINK_BYTES);
    });
    soon("links", || {
        let page: String = (0..60_000).map(|n| format!("<a href={n}>")).collect();
        let facts = read(&page);
        assert_eq!((facts.links.len(), facts.is_cut), (MAX_LINKS, true));
    });
}

#[test]
fn zero_characters_and_broken_ends_are_survived() {
    let facts = read_both("\0<ti\0tle>no</title>\0<a\0 href=no><a href=/\0x>\0</a>\u{feff}<a href=/y>");
    assert_eq!(hrefs(&facts), ["/\u{fffd}x", "/y"]);
    for broken in [
        "<",
        "<a",
        "<a href",
        "<a href=",
        "<a href='x",
        "<a href=x",
        "<!--",
        "<!",
        "</",
        "<title>x",
        "<script>",
        "<svg><",
    ] {
        let facts = read_both(broken);
        assert!(facts.links.is_empty(), "{broken}");
    }
}

/// Two megabytes of each. Code that reads everything again for each part would take hours.
#[test]
fn large_pages_of_one_kind_are_read_once() {
    const SIZE: usize = 2 << 20;
    let repeated = [
        "x",
        "<",
        "</",
        "<!",
        "<!--",
        "<!-->",
        "<!--x--!",
        "<?",
        "&",
        "&amp;",
        "&#",
        "x ",
        "\u{a0}",
        "<a href=1>",
        "<a href=/x>y</a> ",
        "<b>",
        "<b><p>",
        "<p hidden>",
        "<div>",
        "<svg>",
        "<svg><![CDATA[",
        "<svg></svg><![CDATA[",
        "<math><mi>",
        "<table><td>",
        "<td>",
        "<select><option>x",
        "<title>",
        "<title></title>",
        "<script>",
        "<script><!--<script>",
        "<script></script>",
        "<template>",
        "<template></template>",
        "<h1>x",
        "<img alt=x>",
        "<meta name=keywords content='a,b'>",
        "<meta name=k content=v>",
        "<frameset>",
        "<a b c=d ",
        "<a '",
        "<a rel=license href=1>",
        "<li>x",
        "</p>",
        "<html lang=x>",
        "<time pubdate datetime=1>",
        "\0",
        "\r",
        "<form><div></form>",
        "<a><div></a>",
        "<ruby><rt>",
        "<button><p>",
    ];
    for part in repeated {
        soon(part, || all_of(&part.repeat(SIZE / part.len())));
    }
}

#[test]
fn one_value_may_be_as_long_as_the_page() {
    let long = "x,".repeat(10 << 20);
    for (begin, end) in [
        ("<html lang=\"", "\">"),
        ("<html lang=\"", ""),
        ("<a href=\"", "\">y</a>"),
        ("<a ", ">y</a>"),
        ("<", ">"),
        ("<meta name=keywords content='", "'>"),
        ("<meta name='", "' content=x>"),
        ("<link rel='", "' href=x>"),
        ("<link rel=alternate hreflang='", "' href=x>"),
        ("<img alt='", "'>"),
        ("<h1>", "</h1>"),
        ("<script type=application/ld+json>[\"", "\"]</script>"),
        ("<!--", "-->"),
    ] {
        soon(begin, || all_of(&format!("{begin}{long}{end}<a href=/last>z</a>")));
    }
    let facts = read(&format!("<html lang='{long}'><a href=/last>z</a>"));
    assert_eq!((facts.lang, hrefs(&read("<a href=/last>z</a>"))), (None, vec!["/last"]));
}

#[test]
fn json_ld_is_bounded() {
    let script = |json: &str| format!("<script type=application/ld+json>{json}</script><h1>after</h1>");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_items = format!("{}1{}", r#"{"@graph":"#.repeat(100_000), "}".repeat(100_000));
    let large = format!(r#"{{"@type":"Article","name":"{}"}}"#, "x".repeat(10 << 20));
    let many = format!("[{}1]", r#"{"@type":"Article"},"#.repeat(10_000));
    for json in [deep, deep_items, large, many] {
        soon("JSON-LD", || {
            let facts = page_facts(&script(&json));
            assert_eq!(facts.headings().count(), 1);
            assert!(facts.about.types().len() <= 1);
        });
    }
    assert_eq!(page_facts(&script(r#"{"@type":"Article"}"#)).about.types(), ["Article"]);
}

/// Reads a page in every way.
fn all_of(page: &str) {
    let facts = page_facts(page);
    let words = words(None, None, &facts.text, &facts.passing);
    assert!(words.iter().len() <= MAX_WORDS);
    let meta = meta_words(facts.about.meta.iter().map(|meta| &*meta.content));
    assert!(meta.iter().len() <= MAX_WORDS);
    assert!(facts.about.keywords().len() <= 100 && facts.about.licenses().len() <= 100);
    assert!(facts.text.len() <= page.len() * 2);
    assert!(read(page).links.len() <= MAX_LINKS);
    main_text(page);
}

/// Thousands of dates and bylines, one in another and each as long as the page.
#[test]
fn many_dates_and_bylines_are_bounded() {
    let text = "x".repeat(1 << 20);
    for open in
        ["<span class=byline>", "<time>", "<span itemprop=author>", "<span itemprop=name>", "<h1>", "<a rel=author>"]
    {
        soon(open, || {
            let page = page_facts(&format!("<title>{text}</title><h1>A headline</h1>{}By {text}", open.repeat(5_000)));
            assert_eq!(page.published("https://site.example/"), None, "{open}");
            assert_eq!((page.modified(), page.authors()), (None, None), "{open}");
        });
    }
}
