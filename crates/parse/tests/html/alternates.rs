//! The link relations of `rel`: pages and feeds are followed; other formats of the page, its short URL and the feed of
//! its comments are not.

use super::*;

/// The head that WordPress 6 writes for a post, and its `Link` headers.
const POST: &str = r#"<!DOCTYPE html><html lang="en-GB"><head><meta charset="UTF-8">
<link rel="profile" href="https://gmpg.org/xfn/11"><link rel="pingback" href="https://site.example/xmlrpc.php">
<link rel='dns-prefetch' href='//s.w.org'>
<link rel="alternate" type="application/rss+xml" title="Site &raquo; Feed" href="https://site.example/feed/" />
<link rel="alternate" type="application/rss+xml" title="Site &raquo; Kommentar-Feed" href="https://site.example/comments/feed/" />
<link rel="alternate" type="application/rss+xml" title="Site &raquo; Hallo" href="https://site.example/2026/11/hallo/feed/" />
<link rel='stylesheet' id='s' href='https://site.example/s.css' media='all' />
<link rel="https://api.w.org/" href="https://site.example/wp-json/" />
<link rel="alternate" title="JSON" type="application/json" href="https://site.example/wp-json/wp/v2/posts/7" />
<link rel="EditURI" type="application/rsd+xml" title="RSD" href="https://site.example/xmlrpc.php?rsd" />
<link rel="canonical" href="https://site.example/2026/11/hallo/" /><link rel='shortlink' href='https://site.example/?p=7' />
<link rel="alternate" title="oEmbed (JSON)" type="application/json+oembed"
 href="https://site.example/wp-json/oembed/1.0/embed?url=https%3A%2F%2Fsite.example%2F2026%2F11%2Fhallo%2F" />
<link rel="alternate" title="oEmbed (XML)" type="text/xml+oembed"
 href="https://site.example/wp-json/oembed/1.0/embed?url=https%3A%2F%2Fsite.example%2F2026%2F11%2Fhallo%2F&#038;format=xml" />
<link rel="icon" href="/i.png"></head><body><a href="/">Site</a>"#;

#[test]
fn a_wordpress_post_leads_to_the_sites_feed_and_nothing_else_of_its_own() {
    let headers = [
        ("content-type", "text/html; charset=UTF-8"),
        ("link", "<https://site.example/wp-json/>; rel=\"https://api.w.org/\""),
        (
            "link",
            "<https://site.example/wp-json/wp/v2/posts/7>; rel=\"alternate\"; title=\"JSON\"; type=\"application/json\"",
        ),
        ("link", "<https://site.example/?p=7>; rel=shortlink"),
    ];
    let derived = derive(&event("https://site.example/2026/11/hallo/", response(&headers, POST)), &options());
    let expected = ["https://site.example/feed/", "https://site.example/2026/11/hallo/", "https://site.example/"];
    assert_eq!(urls(&derived), expected);
    assert_eq!(derived.canonical.as_deref(), Some("https://site.example/2026/11/hallo/"));
}

#[test]
fn alternates_are_followed_where_they_are_pages_or_feeds() {
    for (attributes, is_followed) in [
        ("", true),
        (" hreflang=de", true),
        (" media=handheld", true),
        (" type=''", true),
        (" type='Text/HTML; charset=utf-8'", true),
        (" type=application/xhtml+xml", true),
        (" type=application/rss+xml", true),
        (" type=Application/Atom+XML", true),
        (" type=text/xml", true),
        (" type=application/json", false),
        (" type=application/json+oembed", false),
        (" type=text/xml+oembed", false),
        (" type=application/x-wiki", false),
        (" type=application/pdf", false),
        (" type=text/markdown", false),
        (" type=image/png", false),
    ] {
        let facts = read_both(&format!("<link rel=alternate{attributes} href=/x>"));
        assert_eq!(facts.links.len(), usize::from(is_followed), "{attributes}");
        let headers = [
            ("content-type", "text/html"),
            ("link", &*format!("</x>; rel=alternate;{}", &attributes.replace('\'', "\""))),
        ];
        let derived = derive(&event("https://a.example/", response(&headers, "")), &options());
        assert_eq!(derived.links.len(), usize::from(is_followed), "Link header: {attributes}");
    }
    for (rel, is_followed) in [
        ("shortlink", false),
        ("alternate shortlink", false),
        ("shortlink canonical", true),
        ("alternate icon", false),
        ("alternate canonical", true),
    ] {
        assert_eq!(read_both(&format!("<link rel='{rel}' href=/x>")).links.len(), usize::from(is_followed), "{rel}");
    }
    let anchor = read_both("<a rel=alternate type=application/json href=/x>what a person may click on</a>");
    assert_eq!(hrefs(&anchor), ["/x"]);
}

#[test]
fn feeds_of_comments_are_told_from_feeds_of_pages() {
    let single = "<link rel=shortlink href='/?p=5'>";
    for (page, head, feed, is_followed) in [
        ("/post/", single, "/feed/", true),
        ("/post/", single, "/comments/feed/", false),
        ("/post/", single, "/post/feed/", false),
        ("/post", single, "/post/feed/atom/", false),
        ("/post/?replytocom=3", single, "/post/feed/", false),
        ("/post/", single, "/post-two/feed/", true),
        ("/post/", single, "/postfeed/", true),
        // A category's feed has its posts, and the front page's feed those of the site.
        ("/category/news/", "", "/category/news/feed/", true),
        ("/", single, "/feed/", true),
        ("/?p=5", single, "/?feed=rss2", true),
        ("/?p=5", single, "/?feed=comments-rss2", false),
        ("/?p=5", single, "/?feed=rss2&p=5", false),
        ("/?cat=3", "", "/?feed=rss2&cat=3", true),
        ("/2026/11/a.html", "", "/feeds/posts/default", true),
        ("/2026/11/a.html", "", "/feeds/8839/comments/default", false),
        ("/a", "", "/comments.xml", false),
        ("/a", "", "/news.xml?p=5", true),
    ] {
        let body = format!("{head}<link rel=alternate type=application/rss+xml href='{feed}'>");
        let answer = response(&[("content-type", "text/html")], body);
        let derived = derive(&event(&format!("https://a.example{page}"), answer), &options());
        assert_eq!(derived.links.len(), usize::from(is_followed), "{page} {feed}");
    }
    let clicked = derive(&html_event("<a href=/comments/feed/>Comments</a>"), &options());
    assert_eq!(urls(&clicked), ["https://site.example/comments/feed/"]);
}
