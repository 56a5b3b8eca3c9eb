//! The program on a generated web with many addresses.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::sync::Arc;

use crate::support::server::{Answer, Ask};

use crate::support::program::{Place, Process};
use crate::support::{Running, links, origin};
use crate::topics::Web;

const KIND: &str = "<meta name=kind content=wanted>";

/// Serves a web, each host on its own address. A relevant page says so only in its head. Returns the seeds' URLs.
fn serve(web: &Web) -> (Running, Vec<String>) {
    let mut hosts: Vec<&str> = Vec::new();
    for page in 0..web.pages.len() {
        if !hosts.contains(&web.host_name(page)) {
            hosts.push(web.host_name(page));
        }
    }
    let mut seeds = Vec::new();
    let site = Running::start_with(hosts.len(), |port| {
        let local = |text: String| {
            let each = hosts.iter().enumerate();
            each.fold(text, |text, (number, host)| {
                text.replace(&format!("http://{host}/"), &(origin(port, number) + "/"))
            })
        };
        seeds.extend(web.seeds.iter().map(|seed| local(web.url(*seed))));
        let page = |page| {
            let head = if web.is_wanted(page) { format!("<head>{KIND}") } else { "<head>".to_owned() };
            (local(web.url(page)), local(web.html(page)).replace("<head>", &head))
        };
        let pages: HashMap<String, String> = (0..web.pages.len()).map(page).collect();
        Arc::new(move |ask: &Ask| match pages.get(&format!("http://{}:{port}{}", ask.host, ask.path_and_query)) {
            Some(page) => Answer::html(page.clone()),
            None => Answer::text("").status(404),
        })
    });
    (site, seeds)
}

/// A crawl with a classifier that knows relevant pages by their head.
fn start(place: &Place, seeds: &[String]) -> Process {
    let model = place.config().with_file_name("model");
    fs::create_dir_all(&model).unwrap();
    let rule = format!("type: body_regex\nparameters: {{regular_expressions: ['.*{KIND}.*']}}");
    fs::write(model.join("pageclassifier.yml"), rule).unwrap();
    Process::start(place.crawl(seeds, &["--scope", "any", "-m", model.to_str().unwrap()]))
}

/// How many of a crawl's first pages were relevant, and the crawl's summary.
fn harvest(seeds: &[String], settings: &str, pages: usize) -> (usize, String) {
    let place = Place::with(&format!(
        "link_storage.download_sitemap_xml: false\nlink_storage.scheduler.host_min_access_interval: 0\n\
         target_storage.visited_page_limit: {pages}\ncrawler_manager.downloader.download_thread_pool_size: 4\n{settings}"
    ));
    let ran = start(&place, seeds).wait().ok();
    let relevant = place.cat().iter().filter(|page| page["relevance"]["isRelevant"] == true).count();
    (relevant, ran.stderr)
}

#[test]
fn a_focused_crawl_brings_more_of_what_it_looks_for() {
    let web = Web::new(11, 900);
    let (_site, seeds) = serve(&web);
    let (broad, _) = harvest(&seeds, "", 225);
    let (focused, said) = harvest(&seeds, "link_storage.link_classifier.type: LinkClassifierImpl\n", 225);
    let (_, wanted) = web.reachable();
    assert!(focused * 10 >= wanted * 9, "{focused} of {wanted} in a quarter of the fetches");
    assert!(broad * 4 <= wanted * 3, "{broad} of {wanted} breadth first");
    let line = said.lines().find(|line| line.trim_start().starts_with("harvest")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains(&format!("{focused} of ")), "{line}");
}

#[test]
fn hard_focus_says_that_no_seed_was_relevant() {
    let site = Running::start_with(1, |_| {
        Arc::new(|ask: &Ask| match ask.path() {
            "/robots.txt" => Answer::text("").status(404),
            "/wanted" => Answer::html(format!("<head>{KIND}</head>{}", links(&["/linked"]))),
            _ => Answer::html(links(&["/linked"])),
        })
    });
    let [other, another, wanted, linked] =
        ["/other", "/another", "/wanted", "/linked"].map(|path| site.origin(0) + path);
    let hard = "link_storage.download_sitemap_xml: false\nlink_storage.scheduler.host_min_access_interval: 0\n\
                target_storage.hard_focus: true";
    let place = Place::with(hard);
    // The second run knows the seeds already, and says the same.
    for _ in 0..2 {
        let ran = start(&place, &[other.clone(), another.clone()]).wait().exits(3);
        assert!(ran.stderr.contains("Ended: no page is relevant, and hard focus follows only links"), "{}", ran.stderr);
        assert!(ran.stderr.contains("target_storage.hard_focus: false"), "{}", ran.stderr);
    }
    let urls = |place: &Place| -> BTreeSet<String> {
        place.cat().iter().map(|page| page["url"].as_str().unwrap().to_owned()).collect()
    };
    let seeds = BTreeSet::from([other.clone(), another.clone()]);
    assert_eq!(urls(&place), seeds, "the seeds are pages, and are delivered");
    place.set("target_storage.hard_focus", "false");
    let ran = start(&place, &[other.clone(), another]).wait().ok();
    assert!(ran.stderr.contains("Done: nothing is left to fetch."), "{}", ran.stderr);
    // One relevant seed is enough.
    let place = Place::with(hard);
    let ran = start(&place, &[other.clone(), wanted.clone()]).wait().ok();
    assert!(ran.stderr.contains("Done: nothing is left to fetch."), "{}", ran.stderr);
    assert_eq!(urls(&place), BTreeSet::from([linked, other, wanted]));
}
