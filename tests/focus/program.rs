//! The program on a generated web with many addresses.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use crate::support::server::{Answer, Ask};

use crate::support::program::{Place, Process};
use crate::support::{Running, origin};
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

/// How many of a crawl's first pages were relevant, and the crawl's summary.
fn harvest(seeds: &[String], settings: &str, pages: usize) -> (usize, String) {
    let place = Place::with(&format!(
        "link_storage.download_sitemap_xml: false\nlink_storage.scheduler.host_min_access_interval: 0\n\
         target_storage.visited_page_limit: {pages}\ncrawler_manager.downloader.download_thread_pool_size: 4\n{settings}"
    ));
    let model = place.config().with_file_name("model");
    fs::create_dir_all(&model).unwrap();
    let rule = format!("type: body_regex\nparameters: {{regular_expressions: ['.*{KIND}.*']}}");
    fs::write(model.join("pageclassifier.yml"), rule).unwrap();
    let ran = Process::start(place.crawl(seeds, &["--scope", "any", "-m", model.to_str().unwrap()])).wait().ok();
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
