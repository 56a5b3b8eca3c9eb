//! What may not be delivered any more leaves: forbidden by robots.txt, `noindex`, or out of a scope that has changed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use seine::demo::server::{Answer, Ask};

use crate::support::program::{Place, Process, eventually, free_port, get, run};
use crate::support::{Running, links};

/// Of every answer: path, what the request was conditional on, and status.
type Answers = Arc<Mutex<Vec<(String, Option<String>, u16)>>>;

/// A site that answers as `answer` says, of the number of the request for that path.
fn site(answer: fn(&Ask, u32) -> Answer) -> (Running, Answers) {
    let answers = Answers::default();
    let noted = answers.clone();
    let asked = Mutex::new(BTreeMap::<String, u32>::new());
    let site = Running::start(
        1,
        Arc::new(move |ask: &Ask| {
            let mut asked = asked.lock().unwrap();
            let times = asked.entry(ask.path().to_owned()).or_default();
            *times += 1;
            let answer = answer(ask, *times);
            let condition = ask.header("if-none-match").map(str::to_owned);
            noted.lock().unwrap().push((ask.path().to_owned(), condition, answer.status));
            answer
        }),
    );
    (site, answers)
}

/// What a path was asked for with, and the status of its answer, in order.
fn of<'a>(answers: &'a [(String, Option<String>, u16)], path: &str) -> Vec<(Option<&'a str>, u16)> {
    answers.iter().filter(|(it, ..)| it == path).map(|(_, condition, status)| (condition.as_deref(), *status)).collect()
}

/// Says that it is as it was, or else the page.
fn tagged(ask: &Ask, tag: &str, body: &str) -> Answer {
    let tag = format!("\"{tag}\"");
    match ask.header("if-none-match") == Some(&tag) {
        true => Answer::new(304, "").header("etag", &*tag),
        false => Answer::html(body.to_owned()).header("etag", &*tag),
    }
}

/// How many of a state there are, as an answered crawl says.
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
        // Another target at every look.
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

/// `/always` asks not to be indexed, `/later` from its second look on, `/once` at its first look alone, by a header.
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

    // Obeyed no more: what was withheld is delivered, though its content is the same.
    let asked = of(&answers.lock().unwrap(), "/always").len();
    place.set("link_storage.link_strategy.obey_noindex", "false");
    eventually("everything is live", || {
        Process::start(place.crawl(&[], &["--delay", "0"])).wait().ok();
        frontier(&place, "live") == 5
    });
    assert_eq!(of(&answers.lock().unwrap(), "/always")[asked], (None, 200));
    // And obeyed again: of what it holds it knows that it asked, though a 304 says nothing.
    place.set("link_storage.link_strategy.obey_noindex", "true");
    eventually("it has left again", || {
        Process::start(place.crawl(&[], &["--delay", "0"])).wait().ok();
        frontier(&place, "live") == 3 && frontier(&place, "withheld") == 2
    });
    assert_eq!(of(&answers.lock().unwrap(), "/always").last(), Some(&(Some("\"always\""), 304)));
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}
