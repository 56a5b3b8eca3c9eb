//! Which elements are links, and how references are read.

use super::*;

#[test]
fn links_come_from_the_elements_that_name_pages() {
    let facts = read_both(
        "<html lang=en><head><title>A &amp; B\n  c</title><base target=_top><base href=' /base/ '><base href=/other/>
         <link rel=canonical href=/c><link rel='alternate' href=/feed><link rel=NEXT href=/n><link rel=prev href=/p>
         <link rel=stylesheet href=/s><link rel='shortcut icon' href=/i><link rel=preconnect href=/pc><link href=/none>
         <link rel=dns-prefetch href=/d><link rel=preload href=/pl><link rel='alternate stylesheet' href=/as></head>
         <a href=a>1</a><a>2</a><a href='  '>3</a><A HREF=\"b&amp;c=&copy=1&lt;\">4</A><area href=d><iframe src=e></iframe>",
    );
    assert_eq!(hrefs(&facts), ["/c", "/feed", "/n", "/p", "a", "b&c=&copy=1<", "d", "e"]);
    assert_eq!(facts.base.as_deref(), Some("/base/"));
    assert_eq!(facts.title.as_deref(), Some("A & B c"));
    assert_eq!(facts.canonical.as_deref(), Some("/c"));
    assert_eq!(facts.lang.as_deref(), Some("en"));
    let sources: Vec<LinkSource> = facts.links.iter().skip(4).map(|link| link.source).collect();
    assert_eq!(sources, [LinkSource::A, LinkSource::A, LinkSource::Area, LinkSource::Iframe]);
}

#[test]
fn what_is_not_markup_has_no_links() {
    let facts = read_both(
        "<script>'<a href=1>'</script><style><a href=2></style><textarea><a href=3></textarea><title><a href=4></title>
         <template><a href=5><title>t</title><template></template><base href=/x></template><!-- <a href=6> -->
         <iframe><a href=7></iframe><xmp><a href=8></xmp><noembed><a href=9></noembed><a href=yes></a href=no>
         <noframes><a href=10></noframes><script><!-- <script> <a href=11> </script> --></script>
         <![CDATA[<a href=12>]]><p title='<a href=13>'><a title=x href=last href=14>x<plaintext><a href=15>",
    );
    // 12: outside SVG and MathML, CDATA is a comment that ends at the first `>`, so nothing of it is left.
    assert_eq!(hrefs(&facts), ["yes", "last"]);
    assert_eq!(facts.title.as_deref(), Some("<a href=4>"));
    assert_eq!(facts.base, None);
}

#[test]
fn without_scripts_noscript_is_markup() {
    let facts = read_both(
        "<head><NoScript><meta http-equiv=refresh content='5; URL=/plain'></noscript><body>
         <noscript><a href=/x>x</a><iframe src=/y></iframe></noscript><script>'<noscript><a href=/no>'</script>",
    );
    assert_eq!(hrefs(&facts), ["/plain", "/x", "/y"]);
    assert_eq!(facts.refresh, Some((5, "/plain".into())));
    assert_eq!(
        hrefs(&read("<noscript></noscript><a href='?q=<noscript>&r=<nxscript>'>")),
        ["?q=<noscript>&r=<nxscript>"]
    );
}

#[test]
fn what_a_tree_decides_is_known_without_one() {
    for (page, links) in [
        ("<frameset><frame src=a><frame src=b></frameset><a href=no>", vec!["a", "b"]),
        ("<p>text</p><frame src=no><a href=yes>", vec!["yes"]),
        ("<svg><a href=x /><a xlink:href=y /></svg><a href=z>", vec!["x", "y", "z"]),
        ("<div><svg></div><a href=x>", vec!["x"]),
        ("<div><template></div><a href=no></template><a href=yes>", vec!["yes"]),
        ("<template shadowrootmode=open><a href=shown></template>", vec!["shown"]),
        ("<math><annotation-xml encoding=text/html><a href=x></annotation-xml></math>", vec!["x"]),
    ] {
        assert_eq!(hrefs(&read_both(page)), links, "{page}");
    }
}

#[test]
fn misplaced_and_misnested_links_keep_the_order_of_the_source() {
    let facts = read_both(
        "<table><a href=1><tr><td><a href=2><div><a href=3></table><b><a href=4><i></b><p><a href=5></i></a></p>
         <select><option><a href=6></select><button><a href=7><button><a href=8>",
    );
    assert_eq!(hrefs(&facts), ["1", "2", "3", "4", "5", "6", "7", "8"]);
}

#[test]
fn entities_and_white_space_in_references_are_read_as_browsers_do() {
    for (href, expected) in [
        ("'\t /a b \r\n'", "/a b"),
        ("'/a\r\nb'", "/a\nb"),
        ("'/?a=1&amp;b=2&c=3&lt=4&lt;'", "/?a=1&b=2&c=3&lt=4<"),
        ("'/&#47;&#x2f;&#0;&#128;'", "///\u{fffd}\u{20ac}"),
        ("'/&notanentity;&notit;&NotEqualTilde;'", "/&notanentity;&notit;\u{2242}\u{338}"),
        ("/un>quoted", "/un"),
        ("/a\0b", "/a\u{fffd}b"),
        ("'/&#x110000;&#xD800;&#99999999999;'", "/\u{fffd}\u{fffd}\u{fffd}"),
    ] {
        assert_eq!(hrefs(&read_both(&format!("<a href={href}>"))), [expected], "{href}");
    }
}

#[test]
fn nofollow_hints_are_seen() {
    let facts = read_both(
        "<a rel='noopener NoFollow' href=a><a rel=ugc href=b><area rel=sponsored href=c><a rel=nofollowx href=d>",
    );
    let flags: Vec<bool> = facts.links.iter().map(|link| link.nofollow).collect();
    assert_eq!(flags, [true, true, true, false]);
}

#[test]
fn refresh_is_parsed_as_the_standard_says() {
    for (content, expected) in [
        ("0;url=/x", Some((0, "/x"))),
        (" 5 ; URL = '/x y' junk", Some((5, "/x y"))),
        ("1,/x", Some((1, "/x"))),
        ("2.9 /x", Some((2, "/x"))),
        (".5;url=/x", Some((0, "/x"))),
        ("3;url=\"/x", Some((3, "/x"))),
        ("3;urls", Some((3, "urls"))),
        ("99999999999;url=/x", Some((u32::MAX, "/x"))),
        ("5", None),
        ("5;", None),
        ("5;url=", None),
        ("url=/x", None),
        ("5x;url=/x", None),
        ("", None),
    ] {
        assert_eq!(parse_refresh(content), expected.map(|(s, url)| (s, url.to_owned())), "{content:?}");
    }
}
