//! Offers of pages besides links, and links with tracking parameters, in whole crawls: how many requests they cost.

use seine_frontier::{EmbeddedFrontier, FrontierOptions, HostLeases, Proposal};
use seine_system::clock::now_ms;

use crate::support::server::Answer;

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
            // Only the feed has the newest post.
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
    let mut asked = asked(&site, &place, "/");
    let posts = (1..=POSTS).map(|number| format!("/2026/{number}/"));
    let mut expected: Vec<String> = ["/", "/feed/"].map(str::to_owned).into_iter().chain(posts).collect();
    asked.sort();
    expected.sort();
    assert_eq!(asked, expected);
}

/// The requests of a crawl of one seed, in order; without robots.txt, which only the first crawl requests.
fn asked(site: &Running, place: &Place, seed: &str) -> Vec<String> {
    let before = site.visits.len();
    Process::start(place.crawl(&[site.origin(0) + seed], &["--delay", "0"])).wait().ok();
    let paths = site.visits.all().into_iter().skip(before).map(|visit| visit.path);
    paths.filter(|path| path != "/robots.txt").collect()
}

const KEY: &str = "link_storage.link_strategy.drop_parameters";
const QUIET: &str = "link_storage.download_sitemap_xml: false\n";

/// Each seed links to one page by three URLs.
fn campaign() -> Running {
    let answer = |path: &str| match path {
        "/1" | "/2" | "/3" => {
            let to =
                ["?id=1&utm_source=x", "?fbclid=2&id=1", "?id=1"].map(|query| link(&format!("/page{path}{query}")));
            Answer::html(to.concat())
        }
        _ => Answer::html("a page"),
    };
    Running::start(1, std::sync::Arc::new(move |ask| answer(ask.path())))
}

#[test]
fn a_new_crawl_drops_what_only_says_where_a_visitor_came_from() {
    let (site, place) = (campaign(), Place::with(QUIET));
    assert_eq!(asked(&site, &place, "/1"), ["/1", "/page/1?id=1"]);
    place.set(KEY, "null");
    let all = ["/2", "/page/2?id=1&utm_source=x", "/page/2?fbclid=2&id=1", "/page/2?id=1"];
    assert_eq!(asked(&site, &place, "/2"), all);
}

/// Otherwise known pages would be fetched again under other URLs.
#[test]
fn a_data_folder_of_before_keeps_its_urls_until_a_list_is_set() {
    let (site, place) = (campaign(), Place::with(QUIET));
    let frontier = place.data().join("frontier");
    std::fs::create_dir_all(&frontier).unwrap();
    let frontier = EmbeddedFrontier::open(&frontier, FrontierOptions::default(), now_ms()).unwrap();
    frontier.propose(&[Proposal::seed(&(site.origin(0) + "/1"))], now_ms()).unwrap();
    drop(frontier);
    let all = ["/1", "/page/1?id=1&utm_source=x", "/page/1?fbclid=2&id=1", "/page/1?id=1"];
    assert_eq!(asked(&site, &place, "/1"), all);
    place.set(KEY, "[fbclid]");
    assert_eq!(asked(&site, &place, "/2"), ["/2", "/page/2?id=1&utm_source=x", "/page/2?id=1"]);
    let text = std::fs::read_to_string(place.config()).unwrap();
    std::fs::write(place.config(), text.replace(&format!("{KEY}: [fbclid]\n"), "")).unwrap();
    assert_eq!(asked(&site, &place, "/3"), ["/3", "/page/3?id=1&utm_source=x", "/page/3?id=1"], "as set before");
}
