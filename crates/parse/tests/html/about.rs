//! Facts that a page states about itself.

use super::*;

#[test]
fn a_page_says_what_it_is_about() {
    let facts = page_facts(
        "<html lang=en><base href=https://b.example/><meta name=Description content=' What\nit is '><meta name=keywords content='a, b; a'>
         <meta property=article:tag content=c><meta name=author content='Ann &amp; Bob'><meta property=og:title content=T>
         <meta property='og:updated_time' content='2026-11-22T10:00:00Z'><meta http-equiv=content-language content=de>
         <link rel=alternate hreflang=fr href=/fr><link rel=alternate type=application/rss+xml href=/feed>
         <a rel='nofollow license' href=/l>x</a><a href=https://creativecommons.org/licenses/by/4.0/>cc</a>
         <template><meta name=author content=no></template><svg><a rel=license href=no></svg>
         <time datetime=2026-11-20>no</time><time pubdate datetime=2026-11-21>x</time>",
    );
    let about = &facts.about;
    assert_eq!(about.description().as_deref(), Some("What it is"));
    assert_eq!(about.keywords(), ["a", "b", "c"]);
    assert_eq!(about.authors(), ["Ann & Bob"]);
    assert_eq!(about.published(), Some(1_795_219_200_000));
    assert_eq!(about.modified(), Some(1_795_341_600_000));
    assert_eq!(about.content_language(), Some("de"));
    assert_eq!(about.alternates, [("fr".to_owned(), "/fr".to_owned())]);
    assert_eq!(about.licenses(), ["/l", "https://creativecommons.org/licenses/by/4.0/"]);
    assert_eq!(about.open_graph().collect::<Vec<_>>(), [("title", "T"), ("updated_time", "2026-11-22T10:00:00Z")]);
}

#[test]
fn json_ld_says_who_and_when() {
    let facts = page_facts(
        r##"<script type="application/ld+json">{"@context":"https://schema.org","@graph":[
        {"@type":"WebPage","datePublished":"2026-01-01","author":{"@id":"#p"}},
        {"@type":["NewsArticle","Thing"],"headline":"It happened","datePublished":"2026-11-20T08:00:00+01:00",
         "dateModified":"2026-11-21","author":[{"@id":"#p"},{"@type":"Person","name":"Bob"},"Cid",7],"license":"/free"},
        {"@type":"Person","@id":"#p","name":"Ann"}]}</script>
        <script type="application/ld+json">[{"@type":"BreadcrumbList","name":7}]</script>
        <script type="application/ld+json">{ not json }</script><script type="application/ld+json">"text"</script>
        <script>{"@type":"No"}</script><meta property="article:published_time" content="2020-01-01">"##,
    );
    let about = &facts.about;
    assert_eq!(about.types(), ["NewsArticle", "Thing", "WebPage", "Person", "BreadcrumbList"]);
    assert_eq!(about.headline().as_deref(), Some("It happened"));
    assert_eq!(about.authors(), ["Ann", "Bob", "Cid"]);
    assert_eq!(about.published(), Some(1_795_158_000_000));
    assert_eq!(about.modified(), Some(1_795_219_200_000));
    assert_eq!(about.licenses(), ["/free"]);
}

#[test]
fn a_page_that_says_nothing_of_itself() {
    let about = page_facts("<p>x").about;
    assert_eq!((about.description(), about.published(), about.modified()), (None, None, None));
    assert!(about.authors().is_empty() && about.keywords().is_empty() && about.types().is_empty());
}
