//! Facts that a page states about itself.

use seine_parse::about::Origin;

use super::*;

const URL: &str = "https://site.example/page";
/// 2024-05-17 in UTC.
const DAY: u64 = 1_715_904_000_000;

fn published(facts: &PageFacts) -> Option<(u64, Origin)> {
    facts.published(URL).map(|found| (found.value, found.origin))
}

fn modified(facts: &PageFacts) -> Option<(u64, Origin)> {
    facts.modified().map(|found| (found.value, found.origin))
}

fn authors(facts: &PageFacts) -> (Vec<&str>, Origin) {
    let found = facts.authors().expect("authors");
    (found.value.into_iter().map(|name| &*name.leak()).collect(), found.origin)
}

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
    assert_eq!(authors(&facts), (vec!["Ann & Bob"], Origin::Meta));
    assert_eq!(published(&facts), Some((1_795_219_200_000, Origin::Time)));
    assert_eq!(modified(&facts), Some((1_795_341_600_000, Origin::Meta)));
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
    assert_eq!(authors(&facts), (vec!["Ann", "Bob", "Cid"], Origin::JsonLd));
    assert_eq!(published(&facts), Some((1_795_158_000_000, Origin::JsonLd)));
    assert_eq!(modified(&facts), Some((1_795_219_200_000, Origin::JsonLd)));
    assert_eq!(about.licenses(), ["/free"]);
}

#[test]
fn a_page_that_says_nothing_of_itself() {
    let facts = page_facts("<p>x");
    let about = &facts.about;
    assert_eq!((about.description(), published(&facts), modified(&facts)), (None, None, None));
    assert!(facts.authors().is_none() && about.keywords().is_empty() && about.types().is_empty());
}

#[test]
fn open_graph_with_a_name_beside_the_property() {
    let facts = page_facts(
        "<meta name=title property='og:title' content=T><meta property='og:image twitter:image' content=/i>
         <meta name='og:type' content=article>",
    );
    let found: Vec<_> = facts.about.open_graph().collect();
    assert_eq!(found, [("title", "T"), ("image", "/i"), ("type", "article")]);
    assert_eq!(facts.about.first("title"), Some("T"));
}

#[test]
fn json_ld_with_common_faults() {
    for script in [
        "{\"@type\":\"Article\",\"headline\":\"a\n\tb\",\"datePublished\":\"2024-05-17\"}",
        "{\"@type\":\"Article\",\"headline\":\"a b\",\"tags\":[1,2,],\"datePublished\":\"2024-05-17\",}",
        "<!-- {\"@type\":\"Article\",\"headline\":\"a b\",\"datePublished\":\"2024-05-17\"} -->",
        "//<![CDATA[\n{\"@type\":\"Article\",\"headline\":\"a b\",\"datePublished\":\"2024-05-17\"};\n//]]>",
        "/*<![CDATA[*/{\"@type\":\"Article\",\"headline\":\"a b\",\"datePublished\":\"2024-05-17\"}/*]]>*/",
        "{\"@type\":\"Article\",\"headline\":\"a b\",\"a\":\"it\\'s\",\"datePublished\":\"2024-05-17\"};",
        "{\"@type\":\"Article\",\"headline\":\"no\",\"headline\":\"a b\",\"datePublished\":\"2024-05-17\"}",
        "{&quot;@type&quot;:&quot;Article&quot;,&quot;headline&quot;:&quot;a b&quot;,&quot;datePublished&quot;:&quot;2024-05-17&quot;}",
        "[{\"@graph\":{\"@type\":\"WebPage\",\"mainEntity\":{\"@type\":[\"Thing\",\"Article\"],\"headline\":\"a b\",\"datePublished\":\"2024-05-17\"}}}]",
    ] {
        let facts = page_facts(&format!("<script type=application/ld+json>{script}</script>"));
        assert_eq!(facts.about.headline().as_deref(), Some("a b"), "{script}");
        assert_eq!(published(&facts), Some((DAY, Origin::JsonLd)), "{script}");
    }
}

#[test]
fn dates_and_where_they_are() {
    for (page, origin) in [
        ("<meta property=article:published_time content=2024-05-17T00:00:00Z>", Origin::Meta),
        ("<meta name=DC.date.issued content='17 May 2024'>", Origin::Meta),
        ("<meta name=citation_publication_date content=2024/05/17>", Origin::Meta),
        ("<meta name=parsely-pub-date content=20240517>", Origin::Meta),
        ("<meta itemprop=datePublished content=2024-05-17>", Origin::Microdata),
        ("<p>On <span itemprop=datePublished>May 17th, 2024</span>", Origin::Microdata),
        ("<p property='schema:datePublished' content=2024-05-17>today", Origin::Microdata),
        ("<h1>A headline</h1><p>x<time datetime=2024-05-17>1 year ago</time>", Origin::Time),
        ("<h1>A headline</h1><p>Updated May 18, 2024<p><time>17. Mai 2024</time>", Origin::Time),
        ("<p>17.05.2024<h1>A headline</h1>", Origin::Text),
        ("<h1>A headline</h1><p>By Jane Doe | 5/17/2024 | 4 min read", Origin::Text),
        ("<h1>A headline</h1><p>Last updated: June 1, 2024 · Published: 2024年5月17日", Origin::Text),
        ("<h1>A headline</h1><p>17 de mayo de 2024", Origin::Text),
    ] {
        assert_eq!(published(&page_facts(page)), Some((DAY, origin)), "{page}");
    }
    let of_url = |url: &str| page_facts("").published(url).map(|found| (found.value, found.origin));
    assert_eq!(of_url("https://site.example/2024/05/17/x"), Some((DAY, Origin::Url)));
    assert_eq!(of_url("https://site.example/news/2024-05-17-x.html"), Some((DAY, Origin::Url)));
    for url in
        ["https://site.example/2024/05/", "https://site.example/2024/13/17/", "https://site.example/x?/2024/05/17/"]
    {
        assert_eq!(of_url(url), None, "{url}");
    }
    let changed = page_facts("<h1>A headline</h1><p>Updated: May 17, 2024");
    assert_eq!((published(&changed), modified(&changed)), (None, Some((DAY, Origin::Text))));
}

/// No date is better than a wrong one.
#[test]
fn uncertain_dates_are_left_out() {
    for page in [
        "<h1>A headline</h1><p>05/06/2024",
        "<h1>A headline</h1><p>May 2024",
        "<h1>A headline</h1><p>Copyright 17 May 2024",
        "<h1>A headline</h1><p>Register until May 17, 2024",
        "<h1>A headline</h1><p>31 June 2024",
        "<h1>One of many</h1><p>17 May 2024<h1>Two of many</h1><p>18 May 2024",
        "<p>17 May 2024",
        "<meta name=date content=2024><meta name=dc.date content=soon>",
        "<script type=application/ld+json>{\"@type\":\"VideoObject\",\"datePublished\":\"2024-05-17\"}</script>",
    ] {
        assert_eq!(published(&page_facts(page)), None, "{page}");
    }
}

#[test]
fn authors_and_where_they_are() {
    for (page, origin) in [
        ("<meta name=sailthru.author content='Jane Doe'>", Origin::Meta),
        (
            "<meta name=author content=admin><meta name=twitter:label1 content='Written by'><meta name=twitter:data1 content='Jane Doe'>",
            Origin::Meta,
        ),
        ("<div itemprop=author>by <span itemprop=name>Jane Doe</span>, editor</div>", Origin::Microdata),
        ("<span property='schema:author'>Jane Doe</span>", Origin::Microdata),
        ("<a rel=author href=/jane>Jane Doe</a>", Origin::Text),
        ("<p class=post-byline>By Jane Doe | 17 May 2024<p class=comment-author>John Roe", Origin::Text),
        ("<h1>A headline</h1><p>By Jane Doe<p>17 May 2024", Origin::Text),
        (
            "<script type=application/ld+json>{\"@type\":\"Article\",\"author\":{\"@type\":\"Organization\",\"name\":\"Site\"}}</script><meta name=author content='Jane Doe'>",
            Origin::Meta,
        ),
    ] {
        assert_eq!(authors(&page_facts(page)), (vec!["Jane Doe"], origin), "{page}");
    }
    for page in [
        "<meta name=author content='{{author}}'>",
        "<meta name=article:author content=https://site.example/jane>",
        "<h1>A headline</h1><p>by far the best<p>By hand",
        "<p class=byline>Dec.",
        "<p class=author>A<p class=author>Bob<p class=author>Cid<p class=author>Dora<p class=author>Eve",
    ] {
        assert_eq!(page_facts(page).authors(), None, "{page}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing panics, whatever is near the headline or in the scripts.
    #[test]
    fn any_text_is_searched(text in "([0-9]{1,5}|[a-z年月日 ,./:-]{1,4}|May|Updated|By|\\PC|<b>|<time>|</b>){0,60}", json in "[\\[\\]{}\",:\\\\;a-z0-9\n/*<!-]{0,60}") {
        let page = format!("<script type=application/ld+json>{json}</script><p>{text}<h1>A headline</h1><p class=byline>{text}<time datetime='{text}'>{text}");
        let facts = page_facts(&page);
        let _ = (facts.published(&format!("https://site.example/{text}")), facts.modified(), facts.authors());
    }
}
