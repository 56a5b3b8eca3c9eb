//! Pages that may no longer be delivered leave: forbidden by robots.txt, `noindex`, or out of a changed scope.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use crate::support::server::{Answer, Ask};

use crate::support::program::{Place, Process, eventually, free_port, get, run};
use crate::support::{Running, counted, links};

/// For every answer: path, condition of the request, and status.
type Answers = Arc<Mutex<Vec<(String, Option<String>, u16)>>>;

/// A site that answers as `answer` says, given the number of the request for that path.
fn site(answer: fn(&Ask, u32) -> Answer) -> (Running, Answers) {
    let answers = Answers::default();
    let noted = answers.clone();
    let site = Running::start(
        1,
        counted(move |ask, times| {
            let answer = answer(ask, times);
            let condition = ask.header("if-none-match").map(str::to_owned);
            noted.lock().unwrap().push((ask.path().to_owned(), condition, answer.status));
            answer
        }),
    );
    (site, answers)
}

/// The conditions of requests for a path, and the status of each answer, in order.
fn of<'a>(answers: &'a [(String, Option<String>, u16)], path: &str) -> Vec<(Option<&'a str>, u16)> {
    answers.iter().filter(|(it, ..)| it == path).map(|(_, condition, status)| (condition.as_deref(), *status)).collect()
}

/// Answers with a 304 or with the page.
fn tagged(ask: &Ask, tag: &str, body: &str) -> Answer {
    let tag = format!("\"{tag}\"");
    match ask.header("if-none-match") == Some(&tag) {
        true => Answer::new(304, "").header("etag", &*tag),
        false => Answer::html(body.to_owned()).header("etag", &*tag),
    }
}

/// Number of URLs in a state, from `seine stats`.
fn frontier(place: &Place, state: &str) -> u64 {
    place.stats()["frontier"][state].as_u64().unwrap()
}

const AGAIN: &str = "link_storage.recrawl: {interval: 1s, confirm_gone: 0}\nlink_storage.download_sitemap_xml: false\n";

#[test]
fn conditions_go_to_the_url_that_gave_them() {
    let (site, answers) = site(|ask, times| match (ask.path(), times) {
        ("/", _) => Answer::html(links(&["/moved", "/moving"])),
        ("/moved", _) if ask.header("if-none-match").is_some() => Answer::new(304, ""),
        ("/moved", _) => Answer::new(302, "").header("location", "/target"),
        ("/target", _) => tagged(ask, "t", "the target"),
        // Another target at every fetch.
        ("/moving", 1) => Answer::new(302, "").header("location", "/first"),
        ("/moving", _) => Answer::new(302, "").header("location", "/second"),
        ("/first" | "/second", _) => tagged(ask, "same", "the same tag, and another page"),
        _ => Answer::text("").status(404),
    });
    let place = Place::with(AGAIN);
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--stay"]));
    eventually("both were looked at again", || {
        let answers = answers.lock().unwrap();
        of(&answers, "/target").len() >= 3 && of(&answers, "/second").len() >= 2
    });
    process.signal("TERM");
    process.wait().ok();
    let answers = answers.lock().unwrap();
    assert!(of(&answers, "/moved").iter().all(|asked| *asked == (None, 302)));
    assert_eq!(of(&answers, "/target")[..3], [(None, 200), (Some("\"t\""), 304), (Some("\"t\""), 304)]);
    assert_eq!(of(&answers, "/first"), [(None, 200)]);
    assert_eq!(of(&answers, "/second")[..2], [(None, 200), (Some("\"same\""), 304)]);
    assert!(of(&answers, "/moving").iter().all(|(condition, _)| condition.is_none()));
}

const META: &str = "<meta name=robots content=noindex>";

/// `/always` asks not to be indexed; `/later` does from its second fetch on; `/once` only at its first fetch, by a
/// header.
fn unlisted(ask: &Ask, times: u32) -> Answer {
    match (ask.path(), times) {
        ("/", _) => Answer::html(links(&["/always", "/later", "/once"])),
        ("/always", _) => tagged(ask, "always", &format!("{META}{}", links(&["/behind"]))),
        ("/later", 1) => tagged(ask, "listed", "listed"),
        ("/later", _) => tagged(ask, "unlisted", &format!("{META}no more")),
        ("/once", 1) => tagged(ask, "once", "the same").header("x-robots-tag", "seine: noindex"),
        ("/once", _) => tagged(ask, "once", "the same"),
        ("/behind", _) => Answer::html("behind it"),
        _ => Answer::text("").status(404),
    }
}

#[test]
fn what_asks_not_to_be_indexed_is_withheld_for_as_long_as_it_asks() {
    let (site, answers) = site(unlisted);
    let place = Place::with(AGAIN);
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &more));
    let gauge = |state: &str| {
        let name = format!("seine_frontier_urls{{state=\"{state}\"}} ");
        let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok())
    };
    eventually("all is as it stays, looked at again, and then again", || {
        let seen = |path: &str| of(&answers.lock().unwrap(), path).iter().filter(|(_, status)| *status == 304).count();
        seen("/always") >= 2 && seen("/later") >= 2 && gauge("live") == Some(3) && gauge("withheld") == Some(2)
    });
    assert!(process.kill());
    let stats = place.stats();
    assert_eq!((&stats["frontier"]["live"], &stats["frontier"]["gone"]), (&3.into(), &0.into()));
    assert_eq!(stats["frontier"]["withheld"], 2);
    assert_eq!(of(&answers.lock().unwrap(), "/once")[1], (None, 200), "a header is asked for again");

    // No longer obeyed: withheld pages are delivered, although their content is the same.
    let asked = of(&answers.lock().unwrap(), "/always").len();
    place.set("link_storage.link_strategy.obey_noindex", "false");
    eventually("everything is live", || {
        Process::start(place.crawl(&[], &["--delay", "0"])).wait().ok();
        frontier(&place, "live") == 5
    });
    assert_eq!(of(&answers.lock().unwrap(), "/always")[asked], (None, 200));
    // And obeyed again: the record knows that the page asked, although a 304 does not repeat it.
    place.set("link_storage.link_strategy.obey_noindex", "true");
    eventually("it has left again", || {
        Process::start(place.crawl(&[], &["--delay", "0"])).wait().ok();
        frontier(&place, "live") == 3 && frontier(&place, "withheld") == 2
    });
    assert_eq!(of(&answers.lock().unwrap(), "/always").last(), Some(&(Some("\"always\""), 304)));
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

const ONCE: &str = "link_storage.download_sitemap_xml: false\nlogging.filter: info\n";
const BLACKLIST: &str = "link_storage.link_strategy.blacklist";

/// Six pages below `/`; two support conditional requests.
fn tree(ask: &Ask, _: u32) -> Answer {
    match ask.path() {
        "/" => tagged(ask, "top", &links(&["/a/1", "/b/1", "/c/1"])),
        "/a/1" => tagged(ask, "a", &links(&["/a/2"])),
        "/b/1" => Answer::html(links(&["/b/2"])),
        "/a/2" | "/b/2" | "/c/1" => Answer::html(ask.path().to_owned()),
        _ => Answer::text("").status(404),
    }
}

/// Runs to the end, and returns the messages.
fn go_on(place: &Place, seeds: &[String]) -> String {
    Process::start(place.crawl(seeds, &["--delay", "0"])).wait().ok().stderr
}

/// The number of URLs in the message with these words; none without such a message.
fn told(said: &str, words: &str) -> Option<u64> {
    let line = said.lines().find(|line| line.contains(words))?;
    let digits = line.split("urls=").nth(1)?;
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Counts of live, gone and failed.
fn states(place: &Place) -> [u64; 3] {
    ["live", "gone", "failed"].map(|state| frontier(place, state))
}

#[test]
fn another_scope_is_for_what_is_known_already() {
    let (site, answers) = site(tree);
    let place = Place::with(ONCE);
    place.set(BLACKLIST, "['.*/c/.*']");
    go_on(&place, &[site.origin(0) + "/"]);
    assert_eq!(states(&place), [5, 0, 0]);
    let asked = |path: &str| of(&answers.lock().unwrap(), path).len();

    // Narrower and wider at once. If it is killed during that, it continues.
    place.set(BLACKLIST, "['.*/b/.*']");
    Process::start(place.crawl(&[], &["--delay", "0"])).kill();
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let process = Process::start(place.crawl(&[], &["--delay", "0", "--stay", "--listen", &address.to_string()]));
    eventually("it has begun", || get(address, "/healthz").is_some());
    process.kill();
    go_on(&place, &[]);
    assert_eq!(states(&place), [4, 2, 0]);
    assert_eq!((asked("/b/1"), asked("/b/2"), asked("/c/1")), (1, 1, 1), "what leaves is not asked for");
    let top = of(&answers.lock().unwrap(), "/")
        .to_vec()
        .iter()
        .map(|(condition, status)| (condition.is_none(), *status))
        .collect::<Vec<_>>();
    assert!(top.len() >= 2 && top.iter().all(|it| *it == (true, 200)), "read again, whatever was known of it: {top:?}");

    // It reports how many, and only if something has changed.
    let visits = answers.lock().unwrap().len();
    let said = go_on(&place, &[]);
    assert_eq!((told(&said, "leave"), told(&said, "refetched"), told(&said, "tried again")), (None, None, None));
    assert_eq!(answers.lock().unwrap().len(), visits, "nothing is asked for");
    place.set(BLACKLIST, "[]");
    let said = go_on(&place, &[]);
    assert_eq!((told(&said, "leave"), told(&said, "refetched"), told(&said, "tried again")), (None, Some(4), Some(2)));
    assert_eq!(states(&place), [6, 0, 0]);
    place.set(BLACKLIST, "['.*/b/.*']");
    let said = go_on(&place, &[]);
    assert_eq!((told(&said, "leave"), told(&said, "refetched"), told(&said, "tried again")), (Some(2), None, None));
    assert_eq!(states(&place), [4, 2, 0]);
    // A seed is admitted whatever the scope.
    go_on(&place, &[site.origin(0) + "/b/1"]);
    assert_eq!(states(&place), [5, 1, 0]);
    go_on(&place, &[]);
    assert_eq!(states(&place), [5, 1, 0]);
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

#[test]
fn a_wider_scope_also_counts_for_the_links_of_a_page_that_names_another_url() {
    let (site, _) = site(|ask, _| match ask.path() {
        "/" => Answer::html(links(&["/named", "/naming"])),
        "/naming" => Answer::html("<link rel=canonical href='/named'><a href='/c/1'>a page</a>"),
        _ => Answer::html("a page"),
    });
    let place = Place::with(&format!("{ONCE}crawler_manager.downloader.canonical: obey\n"));
    place.set(BLACKLIST, "['.*/c/.*']");
    go_on(&place, &[site.origin(0) + "/"]);
    assert_eq!((states(&place), frontier(&place, "alias")), ([2, 0, 0], 1));
    place.set(BLACKLIST, "[]");
    assert_eq!(told(&go_on(&place, &[]), "refetched"), Some(3));
    assert_eq!((states(&place), frontier(&place, "alias")), ([3, 0, 0], 1));
}

#[test]
fn what_is_queued_and_out_of_scope_now_is_not_asked_for() {
    let (site, answers) = site(tree);
    let place = Place::with(ONCE);
    place.set("target_storage.visited_page_limit", "1");
    go_on(&place, &[site.origin(0) + "/"]);
    assert_eq!((frontier(&place, "live"), frontier(&place, "first_time")), (1, 3));
    place.set("target_storage.visited_page_limit", "null");
    place.set(BLACKLIST, "['.*/b/.*']");
    let said = go_on(&place, &[]);
    assert!(said.contains("out_of_scope"), "{said}");
    assert_eq!(states(&place), [4, 0, 1]);
    assert!(of(&answers.lock().unwrap(), "/b/1").is_empty());
    place.set(BLACKLIST, "[]");
    assert_eq!(told(&go_on(&place, &[]), "tried again"), Some(1));
    assert_eq!(states(&place), [6, 0, 0]);
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

#[test]
fn another_depth_is_for_what_is_known_already() {
    const MAX_DEPTH: &str = "link_storage.link_classifier.max_depth";
    let (site, answers) = site(|ask, _| match ask.path() {
        "/" => tagged(ask, "top", &links(&["/1"])),
        "/1" => tagged(ask, "1", &links(&["/2"])),
        "/2" => tagged(ask, "2", &links(&["/3"])),
        "/3" => Answer::html("the end"),
        _ => Answer::text("").status(404),
    });
    let place = Place::with(ONCE);
    place.set(MAX_DEPTH, "2");
    go_on(&place, &[site.origin(0) + "/"]);
    assert_eq!(states(&place), [3, 0, 0]);
    place.set(MAX_DEPTH, "1");
    assert_eq!(told(&go_on(&place, &[]), "leave"), Some(1));
    assert_eq!(states(&place), [2, 1, 0]);
    assert_eq!(answers.lock().unwrap().iter().filter(|(path, ..)| path == "/2").count(), 1);
    place.set(MAX_DEPTH, "null");
    let said = go_on(&place, &[]);
    assert_eq!((told(&said, "refetched"), told(&said, "tried again")), (Some(1), Some(1)));
    assert_eq!(states(&place), [4, 0, 0]);
    let answers = answers.lock().unwrap();
    assert_eq!(of(&answers, "/"), [(None, 200)], "it was not at the limit");
    assert_eq!(of(&answers, "/1"), [(None, 200); 2]);
}

#[test]
fn robots_txt_counts_for_what_is_known_already() {
    const OBEY: &str = "link_storage.disallow_sites_in_robots_file";
    let (site, answers) = site(|ask, times| match ask.path() {
        "/robots.txt" => Answer::text("User-agent: *\nDisallow: /b/\n"),
        _ => tree(ask, times),
    });
    let place = Place::with(ONCE);
    place.set(OBEY, "false");
    go_on(&place, &[site.origin(0) + "/"]);
    assert_eq!(states(&place), [6, 0, 0]);
    place.set(OBEY, "true");
    assert_eq!(told(&go_on(&place, &[]), "robots.txt is obeyed now"), Some(6));
    assert_eq!(states(&place), [4, 2, 0]);
    {
        let answers = answers.lock().unwrap();
        assert_eq!(of(&answers, "/"), [(None, 200), (Some("\"top\""), 304)]);
        assert_eq!(of(&answers, "/b/1"), [(None, 200)]);
    }
    place.set(OBEY, "false");
    assert_eq!(told(&go_on(&place, &[]), "tried again"), Some(2));
    assert_eq!(states(&place), [6, 0, 0]);
}
