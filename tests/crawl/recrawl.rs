//! Rechecking pages: unchanged, changed and gone pages are distinguished.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use crate::support::server::{Answer, Ask};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::support::program::{Place, Process, cat, eventually, free_port, get};
use crate::support::{Running, counted, links};

const PATHS: [&str; 5] = ["/etag", "/same", "/changing", "/leaving", "/flapping"];

/// Path and status of every answer.
type Answers = Arc<Mutex<Vec<(String, u16)>>>;

/// Pages that behave differently at later requests. `/etag` answers 304 when it should.
fn site() -> (Running, Answers) {
    let answers = Answers::default();
    let noted = answers.clone();
    let site = Running::start(
        1,
        counted(move |ask, times| {
            let answer = answer(ask, times);
            noted.lock().unwrap().push((ask.path().to_owned(), answer.status));
            answer
        }),
    );
    (site, answers)
}

fn answer(ask: &Ask, times: u32) -> Answer {
    match (ask.path(), times) {
        ("/", _) => Answer::html(links(&PATHS)),
        ("/etag", _) if ask.header("if-none-match") == Some("\"v1\"") => Answer::new(304, "").header("etag", "\"v1\""),
        ("/etag", _) => Answer::html("with an etag").header("etag", "\"v1\""),
        ("/same", _) => Answer::html("always the same"),
        ("/changing", times) => Answer::html(format!("version {times}")),
        ("/leaving", 1) => Answer::html("here today"),
        ("/leaving", 4..) => Answer::html("here again"),
        ("/flapping", 2) => Answer::text("").status(404),
        ("/flapping", _) => Answer::html("here but once"),
        _ => Answer::text("").status(404),
    }
}

/// A metric's value.
fn value(metrics: &str, name: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0, |value| value.parse().unwrap())
}

#[test]
fn pages_are_looked_at_again_and_what_became_of_them_is_told_apart() {
    let (site, answers) = site();
    let place = Place::with("link_storage.recrawl: {interval: 1s, confirm_gone: 1s}");
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &more));
    let validated = |change: &str| {
        let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        value(&metrics, &format!("seine_validated_total{{change=\"{change}\"}}"))
    };
    eventually("everything was looked at again, and what was gone is back", || {
        validated("unchanged") >= 4 && validated("changed") >= 2 && validated("new") >= 7
    });
    assert_eq!(validated("new"), 7);
    assert_eq!(validated("gone"), 1);
    assert!(validated("kept") >= 2, "a first 404 takes nothing away");
    process.signal("TERM");
    process.wait().ok();

    let stats = place.stats();
    assert_eq!((&stats["frontier"]["live"], &stats["frontier"]["gone"]), (&6.into(), &0.into()));
    assert_eq!(stats["remaining"], 7, "those that are there are due again, and the sitemap that is not there");
    let answers = answers.lock().unwrap();
    let statuses =
        |path: &str| answers.iter().filter(|(it, _)| it == path).map(|(_, status)| *status).collect::<Vec<_>>();
    assert_eq!(statuses("/etag")[..2], [200, 304], "asked for under a condition");
    assert_eq!(statuses("/leaving")[..4], [200, 404, 404, 200]);
    assert_eq!(statuses("/flapping")[..3], [200, 404, 200]);
    // The sink has every fetched page: the first version, and every change; a 304 has no page.
    let kept = place.kept();
    assert_eq!(kept[&(site.origin(0) + "/etag")], 1);
    assert_eq!(kept[&(site.origin(0) + "/leaving")], 2);
    assert_eq!(kept[&(site.origin(0) + "/changing")], statuses("/changing").len());
}

/// For example from cron: each run does what is due and ends.
#[test]
fn a_later_run_looks_at_what_has_become_due_and_ends() {
    let (site, answers) = site();
    let place = Place::with("link_storage.recrawl: {interval: 1s, confirm_gone: 0}");
    let run = || Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "20"])).wait().ok();
    run();
    let fetched = std::time::Instant::now();
    assert_eq!(place.stats()["frontier"]["live"], 6);
    eventually("a second has passed", || fetched.elapsed() > std::time::Duration::from_secs(1));
    run();
    let stats = place.stats();
    assert_eq!((&stats["frontier"]["live"], &stats["frontier"]["gone"]), (&4.into(), &2.into()));
    let answers = answers.lock().unwrap();
    for path in PATHS {
        assert!(answers.iter().filter(|(it, _)| it == path).count() >= 2, "{path} was not looked at again");
    }
}

/// `Last-Modified` counts whole seconds, so both versions of a page that changes twice in a second have the same one, and the
/// same tag if it is made of this time and the size.
#[test]
fn a_page_that_changes_again_in_the_second_of_its_answer_is_asked_for_without_its_validators() {
    const THEN: &str = "Tue, 24 Nov 2026 10:00:00 GMT";
    const SECOND_LATER: &str = "Tue, 24 Nov 2026 10:00:01 GMT";
    for condition in ["if-modified-since", "if-none-match"] {
        let statuses = Arc::new(Mutex::new(Vec::new()));
        let noted = statuses.clone();
        let site = Running::start(
            1,
            counted(move |ask, times| {
                let answer = match (ask.path(), times) {
                    ("/", 1) => Answer::html("version 1").header("date", THEN),
                    ("/", _) if ask.header(condition).is_some() => Answer::new(304, ""),
                    ("/", _) => Answer::html("version 2").header("date", SECOND_LATER),
                    _ => return Answer::text("").status(404),
                };
                noted.lock().unwrap().push(answer.status);
                match condition {
                    "if-none-match" => answer.header("etag", "\"69242f20-9\""),
                    _ => answer,
                }
                .header("last-modified", THEN)
            }),
        );
        let place = Place::with("link_storage.recrawl.interval: 1s");
        let process = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--stay"]));
        eventually("it was asked for three times", || statuses.lock().unwrap().len() >= 3);
        process.signal("TERM");
        process.wait().ok();
        assert_eq!(statuses.lock().unwrap()[..3], [200, 200, 304], "{condition}");
        assert_eq!(place.kept()[&(site.origin(0) + "/")], 2, "{condition}: both versions are delivered");
    }
}

const ARTICLES: usize = 12;

/// A feed and its articles: when each changed, and whether the feed is right.
struct Paper {
    versions: [u32; ARTICLES],
    changed: [SystemTime; ARTICLES],
    asked: Vec<String>,
}

fn paper() -> (Running, Arc<Mutex<Paper>>) {
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let paper = Paper { versions: [1; ARTICLES], changed: [long_ago; ARTICLES], asked: Vec::new() };
    let paper = Arc::new(Mutex::new(paper));
    let shown = paper.clone();
    let site = Running::start_with(1, |_| {
        Arc::new(move |ask: &Ask| {
            let mut paper = shown.lock().unwrap();
            paper.asked.push(ask.path().to_owned());
            match ask.path() {
                "/feed" => Answer::text(paper.feed()).header("content-type", "application/atom+xml"),
                path => match path[1..].parse::<usize>() {
                    Ok(article) => Answer::html(format!("version {}", paper.versions[article])),
                    Err(_) => Answer::text("").status(404),
                },
            }
        })
    });
    (site, paper)
}

impl Paper {
    fn feed(&self) -> String {
        let entry = |(article, changed): (usize, &SystemTime)| {
            let time = OffsetDateTime::from(*changed).format(&Rfc3339).unwrap();
            format!("<entry><link href='/{article}'/><updated>{time}</updated></entry>")
        };
        format!("<feed>{}</feed>", self.changed.iter().enumerate().map(entry).collect::<String>())
    }

    /// The feed says that an article has changed, which may be false.
    fn tell(&mut self, article: usize, is_true: bool) {
        self.changed[article] = SystemTime::now();
        self.versions[article] += u32::from(is_true);
    }
}

/// Pages that are not due for hours are fetched when a feed says that they have changed, if its earlier hints were
/// right.
#[test]
fn hints_are_followed_where_they_were_right() {
    for is_true in [true, false] {
        let (site, paper) = paper();
        let place = Place::with("link_storage.recrawl: {interval: 10h, min_interval: 1ms}");
        let articles: Vec<String> = (0..ARTICLES).map(|article| format!("{}/{article}", site.origin(0))).collect();
        let feed = [site.origin(0) + "/feed"];
        // Seeds are requested again; nothing else is due.
        let run = |seeds: &[String]| {
            paper.lock().unwrap().asked.clear();
            Process::start(place.crawl(seeds, &["--delay", "0"])).wait().ok();
            let mut asked = paper.lock().unwrap().asked.clone();
            asked.retain(|path| !path.contains("robots") && !path.contains("sitemap"));
            asked
        };
        run(&feed);
        for round in 0..2 {
            (0..ARTICLES).for_each(|article| paper.lock().unwrap().tell(article, is_true));
            let asked = run(&feed);
            assert!(round > 0 || asked == ["/feed"], "nobody knows yet whether that is true: {asked:?}");
            run(&articles);
        }
        paper.lock().unwrap().tell(7, is_true);
        let expected: &[&str] = if is_true { &["/feed", "/7"] } else { &["/feed"] };
        assert_eq!(run(&feed), expected, "true: {is_true}");
    }
}

/// A page that robots.txt names as a sitemap is a page, with its links. What promises to be a sitemap by its name is not.
#[test]
fn a_page_that_is_named_as_a_sitemap_is_delivered() {
    let site = Running::start_with(1, |port| {
        counted(move |ask, _| match ask.path() {
            "/robots.txt" => {
                let named =
                    ["about", "list", "broken.xml"].map(|name| format!("Sitemap: http://{}:{port}/{name}\n", ask.host));
                Answer::text(named.concat())
            }
            "/" => Answer::html(links(&["/about"])),
            "/about" | "/broken.xml" => Answer::html(links(&["/deep"])),
            "/list" => Answer::html(format!("http://{}:{port}/listed\n", ask.host)),
            path => Answer::html(format!("page {path}")),
        })
    });
    let place = Place::with("");
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let mut paths: Vec<String> = cat(&place.data().join("files"))
        .iter()
        .map(|page| page["url"].as_str().unwrap().replace(&site.origin(0), ""))
        .collect();
    paths.sort();
    assert_eq!(paths, ["/", "/about", "/deep", "/listed"]);
}

/// Some servers refuse conditional requests. They get the next one without conditions, so the page does not stay old.
#[test]
fn a_server_that_refuses_conditions_is_asked_without_them() {
    let asked: Arc<Mutex<Vec<(String, bool)>>> = Arc::default();
    let noted = asked.clone();
    let site = Running::start(
        1,
        counted(move |ask, times| {
            let condition = ask.header("if-none-match");
            noted.lock().unwrap().push((ask.path().to_owned(), condition.is_some()));
            match (ask.path(), condition) {
                ("/", _) => Answer::html(links(&["/400", "/412"])),
                ("/400", Some(_)) => Answer::text("").status(400),
                ("/412", Some(_)) => Answer::text("").status(412),
                ("/400" | "/412", None) => Answer::html(format!("version {times}")).header("etag", "\"1\""),
                _ => Answer::text("").status(404),
            }
        }),
    );
    let place = Place::with("link_storage.recrawl: {interval: 1s, confirm_gone: 1s}");
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--stay"]));
    let of = |path: &str| -> Vec<bool> {
        let asked = asked.lock().unwrap();
        asked.iter().filter(|(of, _)| of == path).map(|(_, has_condition)| *has_condition).collect()
    };
    eventually("both are fetched three times", || of("/400").len() >= 3 && of("/412").len() >= 3);
    process.signal("TERM");
    process.wait().ok();
    for path in ["/400", "/412"] {
        assert_eq!(of(path)[..3], [false, true, false], "{path}");
    }
}
