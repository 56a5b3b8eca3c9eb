//! Pages with another canonical URL (`canonical: obey`): one page, delivered once, and none lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use seine_frontier::{PageState, Scheduler, Verdicts};
use seine_parse::page::{FailureReason, PageChange, PageEvent, Withheld};
use seine_system::clock::now_ms;

use crate::sites::server::{Answer, Ask};
use fastrand::Rng;
use parking_lot::Mutex;
use seine::config::{Canonical, Config, Redirects};

use crate::aliases::{Crawled, asked, crawl};
use crate::redirects::site;
use crate::sites::Running;
use crate::support::{MiniCrawl, config_for, event_of, failure_of, status_of};

const LIMIT: Duration = Duration::from_secs(30);

/// Hosts of one site, under a public suffix.
const HOSTS: [&str; 3] = ["www.site.com", "shop.site.com", "m.site.com"];

fn obeying(site: &Running) -> Config {
    let mut config = config_for(site);
    config.frontier.canonical = Canonical::Obey;
    config
}

/// The same for [`HOSTS`].
fn of_one_domain(site: &Running) -> Config {
    let mut config = obeying(site);
    let names = HOSTS.into_iter().zip(&site.addresses);
    config.fetch.static_hosts = names.map(|(name, ip)| (name.to_owned(), vec![*ip])).collect();
    config.scope.hosts = HOSTS.map(str::to_owned).into();
    config
}

fn naming(canonical: &str) -> Answer {
    Answer::html(format!("<link rel=canonical href='{canonical}'><p>A page, whichever way one comes to it."))
}

fn url(site: &Running, path: &str) -> String {
    format!("http://a.test:{}{path}", site.port)
}

fn urls(site: &Running, paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| url(site, path)).collect()
}

fn held<'u>(urls: impl IntoIterator<Item = &'u String>) -> BTreeSet<&'u str> {
    urls.into_iter().map(String::as_str).collect()
}

/// Every URL below `/page?` names `/page` as canonical.
fn sessions() -> Running {
    site(1, |_, _| naming("/page"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_urls_with_session_ids_are_102_requests_and_one_document() {
    for is_known_first in [false, true] {
        let site = sessions();
        let page = url(&site, "/page");
        let mut seeds: Vec<String> = (0..100).map(|id| url(&site, &format!("/page?visit={id}"))).collect();
        if is_known_first {
            seeds.insert(0, page.clone());
        }
        let crawled = crawl(obeying(&site), &seeds).await;
        assert_eq!(crawled.held(), BTreeSet::from([page.as_str()]));
        let requests = if is_known_first { 101 } else { 102 };
        assert_eq!(asked(&site).values().sum::<usize>(), requests, "{:?}", asked(&site));
        let counts = crawled.crawl.frontier.counts();
        assert_eq!((counts.page, counts.live, counts.alias), (101, 1, 100));
        let delivered = crawled.events.iter().filter(|event| event.withheld.is_none()).count();
        assert_eq!(delivered, if is_known_first { 1 } else { 2 }, "the first stands in for it until it is there");
        let alias = event_of(&crawled.events, &seeds[50]);
        assert_eq!((status_of(alias), alias.change), (200, None), "its answer is kept, and was never delivered");
        let record = crawled.crawl.frontier.page(&seeds[50]).unwrap().unwrap();
        assert_eq!((record.state, record.target.as_deref()), (PageState::Alias, Some(page.as_str())));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stood_in_leaves_at_once_when_the_page_is_there() {
    let site = site(1, |ask, _| match ask.header("if-none-match") {
        Some(_) => Answer::new(304, ""),
        None => naming("/page").header("etag", "\"v1\""),
    });
    let seeds = urls(&site, &["/page?visit=1"]);
    let crawled = crawl(obeying(&site), &seeds).await;
    let last = event_of(&crawled.events, &seeds[0]);
    assert_eq!((status_of(last), last.change), (304, Some(PageChange::Gone)), "a 304 need not say it again");
    let page = url(&site, "/page");
    assert_eq!(last.withheld, Some(Withheld::Alias { of: page.clone(), target: page }));
    assert_eq!(asked(&site).values().sum::<usize>(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn unless_it_is_asked_for_every_url_has_its_page() {
    let site = sessions();
    let seeds = urls(&site, &["/page", "/page?visit=1", "/page?visit=2"]);
    let crawled = crawl(config_for(&site), &seeds).await;
    assert_eq!(crawled.held(), held(&seeds));
    assert_eq!(crawled.crawl.frontier.page(&seeds[1]).unwrap().unwrap().canonical, None);
}

/// A canonical URL that cannot be fetched, or lies elsewhere, takes no page away.
#[tokio::test(flavor = "multi_thread")]
async fn a_canonical_url_without_a_page_that_may_be_asked_for_loses_nothing() {
    let site = site(2, |ask, port| match ask.path() {
        "/robots.txt" => Answer::text("User-agent: *\nDisallow: /denied\n"),
        "/missing" => Answer::text("").status(404),
        "/broken" => Answer::text("").status(500),
        "/away" => Answer::redirect(301, "/missing"),
        "/elsewhere" => naming(&format!("http://b.test:{port}/")),
        "/out" => naming("http://out.test/"),
        "/odd" => naming("mailto:someone@a.test"),
        "/itself" => naming("/itself#part"),
        "/" => Answer::html("a page of its own"),
        path => naming(path.trim_start_matches("/names")),
    });
    // The robots.txt of `site` does not apply here.
    let denied = Running::start_with(1, |_| {
        Arc::new(|ask: &Ask| match ask.path() {
            "/robots.txt" => Answer::text("User-agent: *\nDisallow: /denied\n"),
            _ => naming("/denied"),
        })
    });
    let paths = ["/names/missing", "/names/broken", "/names/away", "/elsewhere", "/out", "/odd", "/itself"];
    let seeds = urls(&site, &paths);
    let other = format!("http://b.test:{}/", site.port);
    let crawled = crawl(obeying(&site), &[seeds.clone(), vec![other.clone()]].concat()).await;
    assert_eq!(crawled.held(), held(seeds.iter().chain([&other])));
    let seeds = urls(&denied, &["/1", "/2"]);
    let crawled = crawl(obeying(&denied), &seeds).await;
    assert_eq!(crawled.held(), held(&seeds[..1]), "one stands in for the other");
    assert_eq!(failure_of(event_of(&crawled.events, &url(&denied, "/denied"))).reason, FailureReason::RobotsDenied);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_broke_off_is_an_error_or_asks_not_to_be_indexed_names_nothing() {
    let site = site(1, |ask, _| match ask.path() {
        "/noindex" => Answer::html("<meta name=robots content=noindex><link rel=canonical href=/>"),
        "/error" => naming("/").status(403),
        "/" => Answer::html("the page"),
        _ => naming("/").header("content-length", "1000"),
    });
    let seeds = urls(&site, &["/", "/noindex", "/error"]);
    let mut config = obeying(&site);
    config.scope.obey_noindex = false;
    let crawled = crawl(config, &seeds).await;
    assert_eq!(crawled.held(), held(&seeds[..2]));
    assert_eq!(crawled.state(&seeds[2]), PageState::Refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_header_says_it_of_any_page() {
    let site = site(1, |ask, _| match ask.path() {
        "/" => Answer::html("the page"),
        "/html" => Answer::html("the page").header("link", "</>; rel=\"canonical\""),
        "/pdf" => {
            Answer::new(200, "%PDF").header("content-type", "application/pdf").header("link", "</>; rel=canonical")
        }
        "/file" => Answer::text("a file").header("link", "</found>; rel=canonical"),
        _ => Answer::text("a file"),
    });
    let seeds = urls(&site, &["/", "/html", "/pdf", "/file"]);
    let crawled = crawl(obeying(&site), &seeds).await;
    assert_eq!(crawled.held(), BTreeSet::from([seeds[0].as_str(), &url(&site, "/found")]), "found by that link alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_circle_one_page_stays_whichever_comes_first() {
    let paths = ["/1", "/2", "/3"];
    for order in [[0, 1, 2], [1, 0, 2], [2, 0, 1], [2, 1, 0], [0, 2, 1], [1, 2, 0]] {
        let site = site(1, |ask, _| match ask.path() {
            "/1" => naming("/2"),
            "/2" => naming("/3"),
            _ => naming("/1"),
        });
        let seeds: Vec<String> = order.iter().map(|at| url(&site, paths[*at])).collect();
        let crawled = crawl(obeying(&site), &seeds).await;
        assert_eq!(crawled.held().len(), 1, "{order:?}: {:?}", crawled.held());
        assert!(asked(&site).values().sum::<usize>() <= 9, "{:?}", asked(&site));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_names_one_that_redirects_to_it_stays() {
    for first in [["/a", "/b"], ["/b", "/a"]] {
        for redirects in [Redirects::First, Redirects::Follow] {
            let site = site(1, |ask, _| match ask.path() {
                "/a" => naming("/b"),
                _ => Answer::redirect(301, "/a"),
            });
            let mut config = obeying(&site);
            config.frontier.redirects = redirects;
            let crawled = crawl(config, &urls(&site, &first)).await;
            assert_eq!(crawled.held().len(), 1, "{first:?} {redirects:?}: {:?}", crawled.held());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_ends_at_the_last_page_whichever_comes_first() {
    let paths = ["/1", "/2", "/end"];
    for order in [[0, 1, 2], [1, 0, 2], [2, 0, 1], [2, 1, 0], [0, 2, 1], [1, 2, 0]] {
        let site = site(1, |ask, _| match ask.path() {
            "/1" => naming("/2"),
            "/2" => naming("/end"),
            _ => naming("/end"),
        });
        let seeds: Vec<String> = order.iter().map(|at| url(&site, paths[*at])).collect();
        let crawled = crawl(obeying(&site), &seeds).await;
        assert_eq!(crawled.held(), BTreeSet::from([url(&site, "/end").as_str()]), "{order:?}");
    }
}

/// The answer of a URL on a random site.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Node {
    Page,
    Names(usize),
    Leads(usize),
    Missing,
}

impl Node {
    fn random(rng: &mut Rng, nodes: usize) -> Node {
        match rng.usize(..10) {
            0..2 => Node::Page,
            2..7 => Node::Names(rng.usize(..nodes)),
            7..9 => Node::Leads(rng.usize(..nodes)),
            _ => Node::Missing,
        }
    }

    fn next(self) -> Option<usize> {
        match self {
            Node::Names(next) | Node::Leads(next) => Some(next),
            Node::Page | Node::Missing => None,
        }
    }
}

/// A site on [`HOSTS`] that may differ at every fetch.
#[derive(Clone, Default)]
struct Web(Arc<Mutex<Vec<Node>>>);

impl Web {
    fn start(&self) -> Running {
        let web = self.clone();
        site(HOSTS.len(), move |ask, port| {
            let at = ask.path().trim_start_matches('/').parse::<usize>().unwrap_or(usize::MAX);
            match web.0.lock().get(at) {
                Some(Node::Page) => Answer::html("a page"),
                Some(Node::Names(next)) => naming(&address(port, *next)),
                Some(Node::Leads(next)) => Answer::redirect(301, &address(port, *next)),
                Some(Node::Missing) | None => Answer::text("").status(404),
            }
        })
    }

    fn change(&self, at: usize, rng: &mut Rng) {
        let count = self.0.lock().len();
        self.0.lock()[at] = Node::random(rng, count);
        // Redirects in a circle leave the known page unchanged, which another test checks.
        if self.end(at).is_none() {
            self.0.lock()[at] = Node::Missing;
        }
    }

    /// The final target of redirects; none in a circle.
    fn end(&self, mut at: usize) -> Option<Node> {
        let nodes = self.0.lock();
        for _ in 0..nodes.len() {
            match nodes[at] {
                Node::Leads(next) => at = next,
                end => return Some(end),
            }
        }
        None
    }

    /// URLs that lead to or name one another, directly or not.
    fn components(&self) -> Vec<BTreeSet<usize>> {
        let nodes = self.0.lock();
        let mut of: Vec<usize> = (0..nodes.len()).collect();
        for (at, node) in nodes.iter().enumerate() {
            if let Some(next) = node.next() {
                let (from, to) = (of[at], of[next]);
                of.iter_mut().filter(|of| **of == from).for_each(|of| *of = to);
            }
        }
        let mut components: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (at, of) in of.into_iter().enumerate() {
            components.entry(of).or_default().insert(at);
        }
        components.into_values().collect()
    }

    /// Every page is delivered under some URL, and URLs that end at one plain page are delivered once.
    fn check(&self, crawled: &Crawled, port: u16, is_last: bool, told: &str) {
        let held = crawled.held();
        for at in 0..self.0.lock().len() {
            let url = address(port, at);
            assert_eq!(held.contains(url.as_str()), crawled.state(&url).is_live(), "{told}: {at}");
        }
        for component in self.components() {
            let held: Vec<_> = component.iter().filter(|at| held.contains(address(port, **at).as_str())).collect();
            let has_end = component.iter().any(|at| self.0.lock()[*at] == Node::Page);
            let has_page = component.iter().any(|at| self.end(*at) != Some(Node::Missing));
            assert!(!has_page || !held.is_empty(), "{told}: of {component:?} none is held\n{}", story(&crawled.events));
            assert!(
                !has_end || !is_last || held.len() == 1,
                "{told}: of {component:?} {held:?} are held\n{}",
                story(&crawled.events)
            );
        }
    }
}

fn story(events: &[Arc<PageEvent>]) -> String {
    let line = |event: &Arc<PageEvent>| {
        let status = event.failure().map_or(status_of(event).to_string(), |failure| format!("{:?}", failure.reason));
        let change = event.change.map_or("", PageChange::name);
        format!("{} at {}: {status} {change} {:?}\n", event.url, event.final_url, event.withheld)
    };
    events.iter().map(line).collect()
}

fn address(port: u16, at: usize) -> String {
    format!("http://{}:{port}/{at}", HOSTS[at % HOSTS.len()])
}

/// Random sites whose pages name and lead to one another. They are fetched in random order and in parallel, and again
/// after some have changed. The crawl reaches a stable state, and no page is lost.
#[tokio::test(flavor = "multi_thread")]
async fn however_pages_name_each_other_it_comes_to_rest_and_none_is_lost() {
    let seed = std::env::var("SITES_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("sites from seed {seed}");
    let mut rng = Rng::with_seed(seed);
    for round in 0..std::env::var("SITES").map_or(25, |sites| sites.parse().unwrap()) {
        let web = Web::default();
        let count = rng.usize(2..9);
        web.0.lock().resize(count, Node::Missing);
        (0..count).for_each(|at| web.change(at, &mut rng));
        let site = web.start();
        let mut config = of_one_domain(&site);
        config.fetch.connections_per_host = rng.usize(1..4);
        config.frontier.max_retries = 0;
        config.frontier.revisit.confirm_gone = Duration::ZERO;
        let mut seeds: Vec<String> = (0..count).map(|at| address(site.port, at)).collect();
        rng.shuffle(&mut seeds);
        let crawl = MiniCrawl::new(config, &seeds.iter().map(String::as_str).collect::<Vec<_>>());
        let mut crawled = Crawled { events: Vec::new(), crawl };
        for look in 0..12 {
            let told = format!("seed {seed}, site {round}, look {look}: {:?}", web.0.lock());
            let before = site.visits.len();
            crawled.events = crawled.crawl.run(LIMIT).await;
            let asked = site.visits.len() - before;
            assert!(asked <= 12 * count + HOSTS.len(), "{told}: {asked} requests");
            web.check(&crawled, site.port, look % 4 == 3, &told);
            for _ in 0..rng.usize(1..count) * usize::from(look % 4 == 3) {
                web.change(rng.usize(..count), &mut rng);
            }
            crawled.crawl.frontier.try_again(&seeds, now_ms()).unwrap();
        }
    }
}
