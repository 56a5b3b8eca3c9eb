//! Cookies set during one visit; no stored request contains a cookie.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use seine_formats::http::{Exactness, write_request};
use seine_parse::page::{FailureReason, PageEvent};

use crate::sites::server::{Answer, Ask};
use parking_lot::Mutex;
use seine::config::{Cookie, Secret};

use crate::redirects::site;
use crate::support::{MiniCrawl, config_for, event_of, failure_of, status_of};

/// Requested paths, each with its cookies.
type Asked = Arc<Mutex<Vec<(String, Option<String>)>>>;

const LIMIT: Duration = Duration::from_secs(10);

fn moved(to: &str, cookies: &[&str]) -> Answer {
    cookies.iter().fold(Answer::redirect(302, to), |answer, cookie| answer.header("set-cookie", cookie.to_string()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_to_itself_that_sets_a_cookie_is_followed_with_it() {
    let asked: Asked = Arc::default();
    let heard = asked.clone();
    let site = site(1, move |ask, _| {
        let cookie = ask.header("cookie").map(str::to_owned);
        heard.lock().push((ask.path().to_owned(), cookie.clone()));
        match (ask.path(), cookie.as_deref()) {
            ("/gate", None) => moved("/gate", &["seen=1; Path=/"]),
            ("/gate", Some("seen=1")) => Answer::html("behind the gate"),
            _ => Answer::html("page"),
        }
    });
    let urls = ["/gate", "/other"].map(|path| format!("http://a.test:{}{path}", site.port));
    let events = MiniCrawl::new(config_for(&site), &urls.each_ref().map(String::as_str)).run(LIMIT).await;
    let event = event_of(&events, &urls[0]);
    assert_eq!((status_of(event), event.hops.len()), (200, 1), "{:?}", event.outcome);
    assert_eq!(event.request_headers.get("cookie"), Some("***"));
    let others = asked.lock().iter().filter(|(path, _)| path == "/other").cloned().collect::<Vec<_>>();
    assert_eq!(others, [("/other".to_owned(), None)], "the cookie is forgotten with the visit");
}

#[tokio::test(flavor = "multi_thread")]
async fn circles_end_whatever_cookies_they_set() {
    let count = AtomicU32::new(0);
    let site = site(1, move |ask, _| match ask.path() {
        "/same" => moved("/same", &["c=1"]),
        path => moved(path, &[&format!("c={}", count.fetch_add(1, Ordering::SeqCst))]),
    });
    let urls = ["/same", "/ever-new"].map(|path| format!("http://a.test:{}{path}", site.port));
    let mut config = config_for(&site);
    config.fetch.max_redirects = 4;
    let events = MiniCrawl::new(config, &urls.each_ref().map(String::as_str)).run(LIMIT).await;
    for (url, hops) in urls.iter().zip([2, 5]) {
        let event = event_of(&events, url);
        assert_eq!(failure_of(event).reason, FailureReason::TooManyRedirects);
        assert_eq!(event.hops.len(), hops, "{url}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_goes_where_it_was_set_for() {
    let asked: Asked = Arc::default();
    let heard = asked.clone();
    let site = site(2, move |ask: &Ask, port| {
        heard.lock().push((ask.path().to_owned(), ask.header("cookie").map(str::to_owned)));
        match ask.path() {
            "/set/in" => moved(
                "/show",
                &[
                    "twice=1; Path=/",
                    "host=1; Path=/",
                    "show=1; Path=/show",
                    "domain=1; Path=/; Domain=.A.TEST",
                    "folder=1",
                    "elsewhere=1; Path=/elsewhere",
                    "secure=1; Path=/; Secure",
                    "foreign=1; Path=/; Domain=b.test",
                    "suffix=1; Path=/; Domain=test",
                    "gone=1; Path=/; Max-Age=0",
                    "old=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
                    "new=1; Path=/; Expires=Thu, 01 Jan 2099 00:00:00 GMT; Max-Age=60; HttpOnly; SameSite=Lax",
                    "no value",
                    "=nameless",
                    "twice=2; Path=/",
                ],
            ),
            "/show" => moved("/set/more", &[]),
            "/set/more" => moved(&format!("http://b.test:{port}/end"), &["host=; Path=/; Max-Age=-1"]),
            _ => Answer::html("page"),
        }
    });
    let url = format!("http://a.test:{}/set/in", site.port);
    let events = MiniCrawl::new(config_for(&site), &[&url]).run(LIMIT).await;
    assert_eq!(status_of(event_of(&events, &url)), 200);
    let asked = asked.lock().clone();
    let expected = [
        ("/set/in", None),
        ("/show", Some("show=1; twice=2; host=1; domain=1; new=1")),
        ("/set/more", Some("folder=1; twice=2; host=1; domain=1; new=1")),
        ("/end", None),
    ];
    let expected: Vec<_> = expected.map(|(path, cookie)| (path.to_owned(), cookie.map(str::to_owned))).into();
    assert_eq!(asked, expected);
}

/// A page fetched with a configured cookie by a client that keeps exact bytes.
async fn with_cookie(archive_credentials: bool) -> Arc<PageEvent> {
    let site = site(1, |ask, _| Answer::html(format!("cookie: {:?}", ask.header("cookie"))));
    let mut config = config_for(&site);
    let cookie = Secret::new("session=topsecret");
    config.fetch.cookies = vec![Cookie { domain: "a.test".into(), path: "/".into(), cookie }];
    config.fetch.archive_credentials = archive_credentials;
    let url = format!("http://a.test:{}/", site.port);
    let events = MiniCrawl::keeping_wire(config, &[&url]).run(LIMIT).await;
    events.last().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_request_shows_no_cookie() {
    let event = with_cookie(false).await;
    let response = event.response().unwrap();
    assert!(response.body.windows(9).any(|it| it == b"topsecret"), "it was sent");
    assert!(
        !format!("{:?} {:?}", event.request_headers, response.wire.as_ref().unwrap().request).contains("topsecret")
    );
    let mut request = Vec::new();
    assert_eq!(write_request(&event, &mut request), Some(Exactness::Rebuilt));
    let request = String::from_utf8(request).unwrap();
    assert!(request.contains("cookie: ***\r\n") && !request.contains("topsecret"), "{request}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_wants_credentials_in_the_archive_has_them_there_alone() {
    let event = with_cookie(true).await;
    assert_eq!(event.request_headers.get("cookie"), Some("***"));
    let mut request = Vec::new();
    assert_eq!(write_request(&event, &mut request), Some(Exactness::Exact));
    assert!(String::from_utf8(request).unwrap().contains("cookie: session=topsecret\r\n"));
}
