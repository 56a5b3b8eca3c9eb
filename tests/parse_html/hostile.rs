//! Pages made to overflow, to multiply, or to take for ever.

use super::*;

/// Generous: without limits each of these takes many minutes, or for ever.
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
    // Beyond what one pass keeps open, the flattened tree decides.
    let page = format!("{}<svg><a href=/deep>x</a></svg>", "<span>".repeat(20_000));
    assert_eq!(by_stream(&page).unwrap_err(), "<a> within SVG or MathML");
    assert_eq!(hrefs(&read(&page)), ["/deep"]);
    // Drawings and templates without end.
    for open in ["<svg>", "<math>", "<template>"] {
        soon(open, || assert!(Tree::parse(&open.repeat(50_000)).walk().count() > 0));
    }
}

#[test]
fn formatting_that_multiplies_is_bounded() {
    soon("formatting", || {
        let formats: String = (0..2_000).map(|n| format!("<b id={n}>")).collect();
        let page = format!("<p>{formats}{}", "<p>x".repeat(20_000));
        let tree = Tree::parse(&page);
        assert!(tree.is_cut);
        assert!(tree.walk().count() < 2_000_000);
    });
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
