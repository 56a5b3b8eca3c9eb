//! The page at `/` in a real browser: opened and read, a URL looked up, the crawl paused and resumed, without console
//! warnings.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::support::server::{Answer, Ask};

use crate::browser::Browser;
use crate::project_file;
use crate::support::program::{Place, Process, eventually, free_port, get};
use crate::support::{Running, links};

/// Names and texts that would be markup if they were not escaped.
const NASTY: &str = "<img src=x onerror=alert(1)>";

fn site() -> Running {
    let answer = |ask: &Ask| match ask.path() {
        "/robots.txt" => Answer::text("User-agent: *\nDisallow: /private # <b>bold</b>\n"),
        "/" => {
            let mut pages: Vec<String> = (0..2000).map(|number| format!("/page/{number}")).collect();
            pages.extend(["/private/diary".to_owned(), "/missing".to_owned(), "/gone/<b>".to_owned()]);
            Answer::html(links(&pages.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        path if path.starts_with("/page/") => Answer::html(format!("<title>{path}</title><p>{NASTY}</p>")),
        _ => Answer::text(NASTY).status(404),
    };
    Running::start(3, Arc::new(answer))
}

#[test]
fn the_page_shows_a_crawl_answers_and_steers() {
    let (site, place) = (site(), Place::with("link_storage.link_classifier.type: LinkClassifierImpl\n"));
    let model = place.config().with_file_name("sevens");
    std::fs::create_dir(&model).unwrap();
    let rule = "type: title_regex\nparameters: {regular_expression: '[67]'}";
    std::fs::write(model.join("pageclassifier.yml"), rule).unwrap();
    place.set("target_storage.model", model.to_str().unwrap());
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let seeds: Vec<String> = (0..3).map(|host| site.origin(host) + "/").collect();
    // A host where nothing listens.
    let nobody = format!("http://127.0.0.99:{}/", free_port());
    let all: Vec<String> = seeds.into_iter().chain([nobody]).collect();
    let more = ["--delay", "15ms", "--stay", "--sink", "files", "--sink", "void", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&all, &more));
    eventually("it is there", || get(address, "/healthz").is_some_and(|(status, _)| status == 200));

    let browser = Browser::start(1200, 1000);
    browser.open(&format!("http://{address}/"));
    browser.eventually_says("#phase", "running, started");
    browser.eventually_says("#sinks", "void");
    browser.eventually_says("#hosts", "connection_refused");
    browser.eventually_says("#charts", "pages a second");
    browser.eventually_says("#charts", "relevant pages");
    eventually("a chart has a line", || {
        browser.run("return document.querySelectorAll('#charts path').length").as_u64() >= Some(4)
    });

    browser.type_into("#url", &format!("{}/private/diary", site.origin(0)));
    browser.click("#why-form button");
    browser.eventually_says("#why", "Disallow: /private # <b>bold</b>");
    if std::env::var_os("WRITE_PICTURE").is_some() {
        std::fs::write(project_file("docs/page.png"), browser.picture()).unwrap();
    }

    browser.click("#pause");
    browser.eventually_says("#phase", "paused");
    browser.eventually_says("#orders", "operator from 127.0.0.1");
    browser.eventually_says("#pause", "Resume the crawl");
    browser.click("#pause");
    browser.eventually_says("#phase", "running");

    assert_eq!(browser.complaints(), Vec::<String>::new());
    // Accessibility: every field has a label, every part a heading, and on a phone nothing is wider than the screen.
    let unnamed = "return [...document.querySelectorAll('input, select, button')].filter(it => !it.hidden && !it.innerText && \
                   !it.labels?.length).length";
    assert_eq!(browser.run(unnamed), 0);
    let narrow = Browser::start(500, 900);
    narrow.open(&format!("http://{address}/"));
    narrow.eventually_says("#hosts", "connection_refused");
    assert_eq!(narrow.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0);
    process.signal("TERM");
    process.wait().ok();
    browser.eventually_says("#problem", "The crawl does not answer");
}

#[test]
fn where_a_token_is_wanted_the_page_asks_for_it() {
    let (site, place) = (site(), Place::with("http.api.read_token: 0123456789abcdef-read\n"));
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "15ms", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &more));
    eventually("it is there", || get(address, "/healthz").is_some_and(|(status, _)| status == 200));
    let browser = Browser::start(1200, 1000);
    browser.open(&format!("http://{address}/"));
    browser.eventually_says("#token-form", "needs a token");
    browser.type_into("#token", "0123456789abcdef-read");
    browser.click("#token-form button");
    browser.eventually_says("#phase", "running, started");
    browser.click("#pause");
    browser.eventually_says("#problem", "this token is read-only");
    process.signal("TERM");
    process.wait().ok();
}
