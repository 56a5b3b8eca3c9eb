//! What pages offer beside their links, through whole crawls: how many requests it costs.

use seine::demo::server::Answer;

use crate::support::program::{Place, Process};
use crate::support::{Running, link};

const POSTS: u32 = 5;

/// The head that WordPress writes for a post.
fn post(number: u32, origin: &str) -> String {
    let own = format!("{origin}/2026/{number}/");
    format!(
        r#"<link rel="alternate" type="application/rss+xml" title="Feed" href="{origin}/feed/">
           <link rel="alternate" type="application/rss+xml" title="Comments Feed" href="{origin}/comments/feed/">
           <link rel="alternate" type="application/rss+xml" title="Post {number} Comments Feed" href="{own}feed/">
           <link rel="https://api.w.org/" href="{origin}/wp-json/">
           <link rel="alternate" title="JSON" type="application/json" href="{origin}/wp-json/wp/v2/posts/{number}">
           <link rel="canonical" href="{own}"><link rel="shortlink" href="{origin}/?p={number}">
           <link rel="alternate" type="application/json+oembed" href="{origin}/wp-json/oembed/1.0/embed?url={number}">
           <link rel="alternate" type="text/xml+oembed" href="{origin}/wp-json/oembed/1.0/embed?url={number}&#038;format=xml">
           <h1>Post {number}</h1><a href="/">Home</a>"#
    )
}

#[test]
fn a_wordpress_post_costs_one_request() {
    let site = Running::start_with(1, |port| {
        let origin = format!("http://127.0.0.11:{port}");
        std::sync::Arc::new(move |ask| match ask.path() {
            "/" => Answer::html((1..POSTS).map(|number| link(&format!("/2026/{number}/"))).collect::<String>()),
            // The newest post stands in the feed alone.
            "/feed/" => {
                Answer::new(200, format!("<rss><channel><item><link>/2026/{POSTS}/</link></item></channel></rss>"))
                    .header("content-type", "application/rss+xml")
            }
            path => match path.strip_prefix("/2026/").and_then(|rest| rest.strip_suffix('/')?.parse().ok()) {
                Some(number) => Answer::html(post(number, &origin)),
                None => Answer::text("").status(404),
            },
        })
    });
    let place = Place::with("link_storage.download_sitemap_xml: false");
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let mut asked: Vec<String> = site.visits.all().into_iter().map(|visit| visit.path).collect();
    let posts = (1..=POSTS).map(|number| format!("/2026/{number}/"));
    let mut expected: Vec<String> =
        ["/", "/feed/", "/robots.txt"].map(str::to_owned).into_iter().chain(posts).collect();
    asked.sort();
    expected.sort();
    assert_eq!(asked, expected);
}
