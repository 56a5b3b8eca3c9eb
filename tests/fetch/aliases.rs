//! A page that several URLs redirect to is fetched and delivered once (`redirects: first`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use seine_frontier::{PageState, Verdicts};
use seine_parse::page::{FailureReason, PageChange, PageEvent, Withheld};

use crate::sites::server::{Answer, Ask};
use parking_lot::Mutex;
use seine::config::{Config, Redirects};

use crate::redirects::site;
use crate::sites::Running;
use crate::support::{MiniCrawl, config_for, event_of, failure_of, status_of};

const LIMIT: Duration = Duration::from_secs(20);

pub struct Crawled {
    pub events: Vec<Arc<PageEvent>>,
    pub crawl: MiniCrawl,
}

impl Crawled {
    /// URLs under which a page was delivered.
    fn delivered(&self) -> Vec<&str> {
        let is_page = |event: &&Arc<PageEvent>| event.withheld.is_none() && status_of(event) == 200;
        self.events.iter().filter(is_page).map(|event| event.url.as_str()).collect()
    }

    /// URLs whose page a destination has in the end.
    pub fn held(&self) -> BTreeSet<&str> {
        let mut held = BTreeSet::new();
        for event in &self.events {
            match (&event.withheld, event.change) {
                (_, Some(PageChange::Gone)) => drop(held.remove(event.url.as_str())),
                (None, Some(_)) => drop(held.insert(event.url.as_str())),
                _ => {}
            }
        }
        held
    }

    fn aliases(&self) -> BTreeMap<&str, &str> {
        let of = |event: &'_ PageEvent| match &event.withheld {
            Some(Withheld::Alias { of, .. }) => Some(of.clone()),
            _ => None,
        };
        self.events
            .iter()
            .filter_map(|event| {
                let of = of(event)?;
                let owner = self.events.iter().find(|event| event.url == of)?;
                Some((event.url.as_str(), owner.url.as_str()))
            })
            .collect()
    }

    pub fn state(&self, url: &str) -> PageState {
        self.crawl.frontier.page(url).unwrap().expect("it has its answer").state
    }
}

pub async fn crawl(config: Config, seeds: &[String]) -> Crawled {
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let crawl = MiniCrawl::new(config, &seeds);
    Crawled { events: crawl.run(LIMIT).await, crawl }
}

/// Requests by path, without robots.txt.
pub fn asked(site: &Running) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for visit in site.visits.all().into_iter().filter(|visit| visit.path != "/robots.txt") {
        *asked.entry(visit.path).or_default() += 1;
    }
    asked
}

/// `/old/N` on any host leads to `/new` on `a.test`.
fn moved(hosts: usize) -> Running {
    site(hosts, |ask, port| match ask.path() {
        "/new" => Answer::html("the new page").after(Duration::from_millis(20)),
        _ => Answer::redirect(301, &format!("http://a.test:{port}/new")),
    })
}

fn old(site: &Running, host: char, number: usize) -> String {
    format!("http://{host}.test:{}/old/{number}", site.port)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_old_urls_of_one_new_page_are_101_requests_and_one_document() {
    let site = moved(1);
    let new = format!("http://a.test:{}/new", site.port);
    let mut seeds: Vec<String> = (0..100).map(|number| old(&site, 'a', number)).collect();
    seeds.push(new.clone());
    let crawled = crawl(config_for(&site), &seeds).await;
    assert_eq!(asked(&site).values().sum::<usize>(), 101, "{:?}", asked(&site));
    assert_eq!(crawled.delivered(), [&seeds[0]], "the first URL that led to it has it");
    assert_eq!(event_of(&crawled.events, &seeds[0]).redirected_url(), Some(new.as_str()));
    assert_eq!(crawled.aliases().len(), 100);
    assert!(crawled.aliases().values().all(|owner| *owner == seeds[0]));

    let alias = event_of(&crawled.events, &seeds[7]);
    assert_eq!((status_of(alias), alias.final_url.as_str()), (301, seeds[7].as_str()), "its own answer, and no hop");
    assert!(alias.hops.is_empty() && alias.change.is_none(), "nothing was delivered under it before");
    let unasked = event_of(&crawled.events, &new);
    assert_eq!(failure_of(unasked).reason, FailureReason::Alias);
    let record = crawled.crawl.frontier.page(&seeds[7]).unwrap().unwrap();
    assert_eq!((record.state, record.target.as_deref()), (PageState::Alias, Some(new.as_str())));
    let counts = crawled.crawl.frontier.counts();
    assert_eq!((counts.page, counts.live, counts.alias, counts.failed), (101, 1, 100, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_there_already_has_its_own_url() {
    let site = moved(1);
    let new = format!("http://a.test:{}/new", site.port);
    let crawled = crawl(config_for(&site), &[new.clone(), old(&site, 'a', 1), old(&site, 'a', 2)]).await;
    assert_eq!(crawled.delivered(), [&new]);
    assert_eq!(asked(&site)["/new"], 1);
    assert_eq!(crawled.state(&old(&site, 'a', 2)), PageState::Alias);
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_lead_to_one_page_at_the_same_time_ask_for_it_once() {
    const HOSTS: usize = 6;
    let site = moved(HOSTS);
    let seeds: Vec<String> =
        (0..HOSTS * 5).map(|n| old(&site, (b'a' + (n % HOSTS) as u8) as char, n / HOSTS)).collect();
    let crawled = crawl(config_for(&site), &seeds).await;
    assert_eq!(asked(&site)["/new"], 1);
    assert_eq!(asked(&site).values().sum::<usize>(), seeds.len() + 1);
    assert_eq!((crawled.delivered().len(), crawled.aliases().len()), (1, seeds.len() - 1));
    assert_eq!(crawled.crawl.frontier.counts().hosts_leased, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn lanes_of_one_host_that_lead_to_one_page_ask_for_it_once() {
    let site = moved(1);
    let seeds: Vec<String> = (0..12).map(|number| old(&site, 'a', number)).collect();
    let mut config = config_for(&site);
    config.fetch.connections_per_host = 4;
    let crawled = crawl(config, &seeds).await;
    assert_eq!((asked(&site)["/new"], crawled.delivered().len(), crawled.aliases().len()), (1, 1, 11));
}

/// A worker that has claimed the page waits for the page's host, whose other workers then wait for the claim.
#[tokio::test(flavor = "multi_thread")]
async fn lanes_do_not_wait_long_for_who_waits_for_their_host() {
    let site = site(2, |ask, port| match ask.path() {
        "/old" => Answer::redirect(301, &format!("http://a.test:{port}/new")),
        "/new" => Answer::html("the new page"),
        _ => Answer::html("slow").after(Duration::from_millis(500)),
    });
    let url = |host: char, path: &str| format!("http://{host}.test:{}{path}", site.port);
    let seeds = [url('a', "/slow/1"), url('a', "/slow/2"), url('a', "/new"), url('b', "/old")];
    let mut config = config_for(&site);
    config.fetch.connections_per_host = 2;
    let crawled = crawl(config, &seeds).await;
    assert_eq!(asked(&site)["/new"], 1);
    assert_eq!(crawled.aliases(), BTreeMap::from([(&*seeds[2], &*seeds[3])]));
}

/// In any order: the page at the end is delivered once.
#[tokio::test(flavor = "multi_thread")]
async fn a_chain_ends_at_one_page_whichever_of_its_urls_comes_first() {
    let paths = ["/1", "/2", "/end"];
    for order in [[0, 1, 2], [1, 0, 2], [2, 0, 1], [2, 1, 0], [0, 2, 1], [1, 2, 0]] {
        let site = site(1, |ask, _| match ask.path() {
            "/1" => Answer::redirect(301, "/2"),
            "/2" => Answer::redirect(302, "/end"),
            _ => Answer::html("the end"),
        });
        let seeds: Vec<String> = order.iter().map(|at| format!("http://a.test:{}{}", site.port, paths[*at])).collect();
        let crawled = crawl(config_for(&site), &seeds).await;
        assert_eq!(asked(&site)["/end"], 1, "{order:?}");
        assert_eq!(crawled.delivered(), [&seeds[0]], "{order:?}");
        assert_eq!(crawled.aliases().len(), 2, "{order:?}");
    }
}

/// All pages are reached through the same URL, which sets a cookie. The shared URL must not make them aliases of each other.
#[tokio::test(flavor = "multi_thread")]
async fn what_all_pages_pass_on_their_way_makes_them_no_aliases() {
    let site = site(1, |ask, _| match (ask.path(), ask.header("cookie")) {
        ("/check", Some(back)) => {
            Answer::redirect(302, back.split('=').nth(1).unwrap()).header("set-cookie", "seen=1; Path=/")
        }
        (_, Some(cookies)) if cookies.contains("seen=1") => Answer::html(format!("page {}", ask.path())),
        (path, _) => Answer::redirect(302, "/check").header("set-cookie", format!("back={path}; Path=/")),
    });
    let seeds: Vec<String> = (0..5).map(|n| format!("http://a.test:{}/page/{n}", site.port)).collect();
    let crawled = crawl(config_for(&site), &seeds).await;
    assert_eq!(crawled.delivered().len(), 5, "{:?}", asked(&site));
    assert!(crawled.aliases().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_circle_of_hosts_asked_at_the_same_time_ends() {
    let site = site(2, |ask, port| {
        let other = if ask.host == "a.test" { 'b' } else { 'a' };
        Answer::redirect(302, &format!("http://{other}.test:{port}/round")).after(Duration::from_millis(10))
    });
    let seeds = ['a', 'b'].map(|host| format!("http://{host}.test:{}/round", site.port));
    let crawled = crawl(config_for(&site), &seeds).await;
    for seed in &seeds {
        assert_eq!(failure_of(event_of(&crawled.events, seed)).reason, FailureReason::TooManyRedirects);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_not_there_for_the_first_is_asked_for_by_the_next() {
    let asked = Mutex::new(0);
    let site = site(1, move |ask: &Ask, _| match ask.path() {
        "/new" => {
            let mut asked = asked.lock();
            *asked += 1;
            if *asked == 1 { Answer::text("not yet").status(404) } else { Answer::html("the new page") }
        }
        _ => Answer::redirect(301, "/new"),
    });
    let seeds: Vec<String> = (0..3).map(|number| old(&site, 'a', number)).collect();
    let crawled = crawl(config_for(&site), &seeds).await;
    assert_eq!(crawled.state(&seeds[0]), PageState::Refused);
    assert_eq!(crawled.delivered(), [&seeds[1]]);
    assert_eq!(crawled.aliases().keys().collect::<Vec<_>>(), [&seeds[2]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn follow_delivers_a_document_under_every_url_as_ache_does() {
    let site = moved(1);
    let mut config = config_for(&site);
    config.frontier.redirects = Redirects::Follow;
    let mut seeds: Vec<String> = (0..10).map(|number| old(&site, 'a', number)).collect();
    seeds.push(format!("http://a.test:{}/new", site.port));
    let crawled = crawl(config, &seeds).await;
    assert_eq!(asked(&site)["/new"], 11);
    assert_eq!((crawled.delivered().len(), crawled.aliases().len()), (11, 0));
}
