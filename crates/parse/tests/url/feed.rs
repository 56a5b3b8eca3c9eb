//! Feeds: recognised by their first element; their articles and language are read.

use proptest::prelude::*;
use seine_parse::feed::is_feed;
use seine_parse::page::{Outcome, PageEvent};
use seine_parse::sitemap::{Sitemap, parse};
use seine_parse::{DeriveOptions, derive};

const RSS: &str = r#"<?xml version="1.0"?><!-- by hand --><rss version="2.0"><channel><title>T</title><link>http://a.example/</link>
<language>en-gb</language><item><title>1</title><link>/one</link></item>
<item><guid>http://a.example/two</guid></item><item><guid isPermaLink="false">x</guid></item></channel></rss>"#;
const ATOM: &str = r#"<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="cs"><link href="http://a.example/"/>
<entry><link rel="edit" href="/edit"/><link href="/three"/></entry></feed>"#;
const RDF: &str = r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><channel><dc:language>de</dc:language></channel>
<item rdf:about="http://a.example/four"><title>4</title></item></rdf:RDF>"#;

#[test]
fn every_kind_of_feed_gives_its_articles_and_its_language() {
    let read = |text: &str| parse(text.as_bytes(), None, "http://a.example/feed", &[]);
    let is_feed = |found: Sitemap, items: &[&str], language: &str| {
        let items: Vec<_> = items.iter().map(|it| (format!("http://a.example/{it}"), None)).collect();
        assert_eq!((found.urls, found.language.as_deref()), (items, Some(language)));
    };
    is_feed(read(RSS), &["one", "two"], "en-gb");
    is_feed(read(ATOM), &["three"], "cs");
    is_feed(read(RDF), &["four"], "de");
    let picture = "<rss><channel><image><url>/a.png</url></image><language>fr</language><item><link>/1</link></item></channel></rss>";
    is_feed(read(picture), &["1"], "fr");
    assert_eq!(read("<rss><channel><item><language>fr</language></item></channel></rss>").language, None);
}

#[test]
fn a_feed_is_known_by_its_first_element() {
    for text in [RSS, ATOM, RDF, "\u{feff} <rss>", "<!DOCTYPE rss [\n]><rss version='0.91'>"] {
        assert!(is_feed(text.as_bytes()), "{text}");
    }
    for text in ["", "rss", "<html><rss>", "<urlset>", "<feedback>", "<!-- <rss>", "{\"rss\": 1}"] {
        assert!(!is_feed(text.as_bytes()), "{text}");
    }
}

#[test]
fn the_articles_of_a_feed_are_links_to_follow() {
    let mut event = PageEvent::empty("http://a.example/feed");
    let Outcome::Response(response) = &mut event.outcome else { unreachable!() };
    response.headers.push("content-type", "application/rss+xml");
    response.body = RSS.into();
    let options = DeriveOptions {
        max_decoded_bytes: 1 << 20,
        obey_nofollow: true,
        agent: "Seine".into(),
        ..DeriveOptions::default()
    };
    let derived = derive(&event, &options);
    assert_eq!(derived.feed.unwrap().language.as_deref(), Some("en-gb"));
    assert_eq!(
        derived.links.iter().map(|it| &*it.url).collect::<Vec<_>>(),
        ["http://a.example/one", "http://a.example/two"]
    );
}

proptest! {
    #[test]
    fn any_bytes_are_a_feed_or_none(start in "(<rss>|<feed xml:lang='|<!--|)", bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let body = [start.as_bytes(), &bytes].concat();
        if is_feed(&body) {
            parse(&body, None, "http://a.example/", &[]);
        }
    }
}
