//! Running again in the same folder.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::support::program::{Place, Process, run};
use crate::support::{Plan, TestSite};

fn site(seed: u64) -> TestSite {
    TestSite::start(Plan { pages: 30, hosts: 2, seed, ..Plan::default() })
}

#[test]
fn a_finished_crawl_ends_at_once_and_fetches_nothing_twice_but_seeds_given_again() {
    let site = site(1);
    let place = Place::new();
    Process::start(place.crawl(&site.seeds(), &["--delay", "0"])).wait().ok();
    let (kept, visits) = (place.cat(), site.visits().len());
    let started = Instant::now();
    let ran = Process::start(place.crawl(&[], &["--delay", "1000"])).wait().ok();
    assert!(ran.stderr.contains("Done: nothing is left to fetch."), "{}", ran.stderr);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(site.visits().len(), visits);
    assert_eq!(place.cat(), kept);

    Process::start(place.crawl(&site.seeds(), &["--delay", "1ms"])).wait().ok();
    let mut asked: Vec<String> = site.visits().split_off(visits).into_iter().map(|visit| visit.path).collect();
    asked.sort();
    assert_eq!(asked, ["/p/0", "/p/1"], "the seeds, and nothing else");
    assert_eq!(place.kept().len(), kept.len());
}

#[test]
fn a_seed_added_later_widens_the_scope() {
    let (first, second) = (site(2), site(3));
    let place = Place::new();
    Process::start(place.crawl(&first.seeds()[..1], &["--delay", "0"])).wait().ok();
    assert!(place.kept().keys().all(|url| url.starts_with(&first.running.origin(0))));
    let before = place.kept().len();

    Process::start(place.crawl(&second.seeds(), &["--delay", "0"])).wait().ok();
    let kept: BTreeSet<String> = place.kept().into_keys().collect();
    assert!(kept.is_superset(&second.pages()));
    assert_eq!(kept.len(), before + second.pages().len(), "and what was there stays");

    // The scope of all earlier runs is kept: without seeds, and with a limit that leaves work over.
    assert_eq!(place.stats()["remaining"], 0);
}

#[test]
fn what_a_run_leaves_over_the_next_takes_up_without_seeds() {
    let site = site(4);
    let place = Place::new();
    Process::start(place.crawl(&site.seeds(), &["--delay", "0", "--max-pages", "5"])).wait().ok();
    assert_eq!(place.kept().len(), 5);
    Process::start(place.crawl(&[], &["--delay", "0"])).wait().ok();
    assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages());
}

/// Seeds as people write them, in a file and on the command line, give the same URLs.
#[test]
fn seeds_in_a_file_are_normalised_like_those_on_the_command_line() {
    let site = site(5);
    let place = Place::new();
    let [first, second] = &site.seeds()[..] else { panic!("two hosts") };
    let odd = first.replace("http://", "HTTP://").replace("/p/0", "/x/../p/0#top");
    let file = place.write("seeds.txt", format!("# two hosts\r\n\r\n{odd}\r\n  {second}  \r\n"));
    let config = place.config();
    let data = place.data();
    let arguments = ["crawl", "-c", config.to_str().unwrap(), "-o", data.to_str().unwrap(), "--delay", "0"];
    run(&[&arguments[..], &["-s", file.to_str().unwrap(), "--seed", first]].concat()).ok();
    assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages());
}

#[test]
fn seeds_come_from_standard_input_too() {
    let site = site(7);
    let place = Place::new();
    let file = place.write("seeds.txt", format!("# two hosts\n{}\n", site.seeds().join("\n")));
    let mut crawl = place.crawl(&[], &["--delay", "0s", "-s", "-"]);
    crawl.stdin(std::fs::File::open(file).unwrap());
    Process::start(crawl).wait().ok();
    assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages());
}

/// ACHE's command line.
#[test]
fn start_crawl_crawls_into_a_folder_of_the_crawlers_name() {
    let site = site(6);
    let place = Place::with("link_storage.scheduler.host_min_access_interval: 0");
    let seeds = place.write("seeds.txt", site.seeds().join("\n"));
    let (config, data) = (place.config(), place.data());
    let paths = [config.to_str().unwrap(), seeds.to_str().unwrap(), data.to_str().unwrap()];
    let model = data.with_file_name("model");
    std::fs::create_dir(&model).unwrap();
    let yml = "type: url_regex\nparameters: {regular_expressions: [nothing]}\n";
    std::fs::write(model.join("pageclassifier.yml"), yml).unwrap();
    let model = model.to_str().unwrap();
    run(&["startCrawl", "-c", paths[0], "-s", paths[1], "-o", paths[2], "-cid", "boats", "-m", model]).ok();
    let pages = crate::support::program::cat(&place.data().join("boats").join("files"));
    assert_eq!(pages.len(), site.pages().len());
    assert!(pages.iter().all(|page| page["crawler_id"] == "boats" && page["relevance"]["isRelevant"] == false));
}

#[test]
fn start_crawl_fetches_private_addresses_when_told_to() {
    let site = site(8);
    let place = Place::with(
        "link_storage.scheduler.host_min_access_interval: 0\n\
         crawler_manager.downloader.allow_private_addresses: false",
    );
    let seeds = place.write("seeds.txt", site.seeds().join("\n"));
    let (config, data) = (place.config(), place.data());
    let paths = [config.to_str().unwrap(), seeds.to_str().unwrap(), data.to_str().unwrap()];
    run(&["startCrawl", "--allow-private", "-c", paths[0], "-s", paths[1], "-o", paths[2]]).ok();
    let pages = crate::support::program::cat(&place.data().join("default").join("files"));
    assert_eq!(pages.len(), site.pages().len());
}
