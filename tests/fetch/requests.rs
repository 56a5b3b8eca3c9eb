//! Requests: headers, conditions, cookies, wanted types.

use std::sync::Arc;
use std::time::Duration;

use seine_frontier::{Fetching, Recheck};
use seine_parse::page::FailureReason;
use seine_system::clock::now_ms;

use crate::sites::server::{Answer, Ask};
use parking_lot::Mutex;
use seine::config::{Cookie, FetchConfig, Secret, UserAgent};
use seine::fetch::Client;
use seine::fetch::client::Conditions;

use crate::sites::Running;
use crate::support::{MiniCrawl, config_for, failure, fetch_config, get_url, get_with, names, response, site};

/// A site that remembers requests.
fn listening_site() -> (Running, Arc<Mutex<Vec<Ask>>>) {
    let asks: Arc<Mutex<Vec<Ask>>> = Arc::default();
    let heard = asks.clone();
    let site = site(move |ask| {
        heard.lock().push(ask.clone());
        Answer::html("page")
    });
    (site, asks)
}

#[tokio::test]
async fn a_request_says_who_asks_and_what_for() {
    let (site, asks) = listening_site();
    let agent = UserAgent {
        name: "Tester".into(),
        url: Some("https://crawler.example/".into()),
        email: Some("crawl@crawler.example".into()),
        string: None,
    };
    let config = FetchConfig { user_agent: agent, ..fetch_config() };
    let exchange = get_url(&config, &format!("{}/a%20b?c=d#frag", site.origin(0))).await;
    let asked = asks.lock().remove(0);
    assert_eq!((asked.method.as_str(), asked.path_and_query.as_str()), ("GET", "/a%20b?c=d"));
    let version = env!("CARGO_PKG_VERSION");
    let agent = format!("Mozilla/5.0 (compatible; Tester/{version}; +https://crawler.example/; crawl@crawler.example)");
    assert_eq!(asked.header("user-agent"), Some(agent.as_str()));
    assert_eq!(asked.header("accept-encoding"), Some("gzip, deflate, br, zstd"));
    assert!(asked.header("accept").unwrap().starts_with("text/html,"));
    for unasked in ["cookie", "referer", "if-none-match", "if-modified-since", "authorization"] {
        assert_eq!(asked.header(unasked), None);
    }
    // The event has the headers that were sent.
    for (name, value) in &exchange.request_headers.0 {
        assert_eq!(asked.header(name), Some(value.as_str()), "{name}");
    }
}

#[tokio::test]
async fn a_whole_user_agent_is_sent_as_it_is() {
    let (site, asks) = listening_site();
    let agent = UserAgent { name: "x".into(), url: None, email: None, string: Some("my own agent".into()) };
    get_with(&FetchConfig { user_agent: agent, ..fetch_config() }, &site).await;
    assert_eq!(asks.lock()[0].header("user-agent"), Some("my own agent"));
}

#[test]
fn a_user_agent_that_no_header_can_hold_is_refused() {
    let agent = UserAgent { name: "Näme".into(), url: None, email: None, string: Some("bad\nagent".into()) };
    let error = Client::new(&FetchConfig { user_agent: agent, ..fetch_config() }).err().unwrap();
    assert!(error.to_string().contains("user agent"), "{error}");
}

#[tokio::test]
async fn conditions_are_asked_and_a_304_is_an_answer() {
    let site = site(|ask| match (ask.header("if-none-match"), ask.header("if-modified-since")) {
        (Some("\"v1\""), Some("Sat, 01 Jan 2022 00:00:00 GMT")) => Answer::new(304, "").header("etag", "\"v1\""),
        _ => Answer::html("page"),
    });
    let client = Client::new(&fetch_config()).unwrap();
    let conditions = Conditions {
        etag: Some("\"v1\"".into()),
        last_modified: Some("Sat, 01 Jan 2022 00:00:00 GMT".into()),
        ..Conditions::default()
    };
    let url = format!("{}/", site.origin(0)).parse().unwrap();
    let response = response(client.get(&url, &conditions, client.limits()).await);
    assert_eq!((response.status, response.reason.as_str(), response.body.len()), (304, "Not Modified", 0));
    // A stored validator that no header can contain is omitted, without a failure.
    let conditions = Conditions { etag: Some("bad\r\nX-Evil: 1".into()), ..Conditions::default() };
    assert_eq!(self::response(client.get(&url, &conditions, client.limits()).await).status, 200);
}

/// RFC 9110 §8.8.3: an ETag may have bytes from 0x80 on. Here it is Latin-1, and in UTF-8 it would not match.
#[tokio::test(flavor = "multi_thread")]
async fn an_etag_goes_back_byte_for_byte() {
    const TAG: &[u8] = b"\"caf\xe9-\x80\xff\"";
    let site = Running::start(
        1,
        Arc::new(|ask: &Ask| match ask.headers.get("if-none-match").map(|value| value.as_bytes()) {
            Some(TAG) => Answer::new(304, ""),
            Some(other) => Answer::html(format!("{other:x?} is another tag")),
            None => Answer::html("page").header("etag", TAG),
        }),
    );
    let url = format!("http://a.test:{}/", site.port);
    let crawl = MiniCrawl::new(config_for(&site), &[&url]);
    crawl.run(Duration::from_secs(10)).await;
    crawl.frontier.recheck(None, now_ms(), &|_| Some(Recheck::First)).unwrap();
    let events = crawl.run(Duration::from_secs(10)).await;
    assert_eq!(events.last().unwrap().response().unwrap().status, 304, "{:?}", events.last().unwrap().outcome);
}

fn cookie(domain: &str, path: &str, cookie: &str) -> Cookie {
    Cookie { domain: domain.into(), path: path.into(), cookie: Secret::new(cookie.to_owned()) }
}

#[tokio::test]
async fn cookies_go_to_their_domain_and_path_only() {
    let (site, asks) = listening_site();
    let cookies = vec![
        cookie("shop.test", "/", "session=1"),
        cookie("shop.test", "/cart", "cart=2; more=3"),
        cookie("0.0.11", "/", "not=for-addresses"),
        cookie("127.0.0.11", "/", "by=address"),
    ];
    let ip = site.addresses[0];
    let static_hosts =
        ["shop.test", "www.shop.test", "workshop.test", "test"].map(|name| (name.to_owned(), vec![ip])).into();
    let config = FetchConfig { cookies, static_hosts, ..fetch_config() };
    for (host, path, expected) in [
        ("shop.test", "/", Some("session=1")),
        ("SHOP.test", "/cartoon", Some("session=1")),
        ("shop.test", "/cart", Some("session=1; cart=2; more=3")),
        ("www.shop.test", "/cart/1", Some("session=1; cart=2; more=3")),
        ("workshop.test", "/cart", None),
        ("test", "/", None),
        ("127.0.0.11", "/", Some("by=address")),
    ] {
        let exchange = get_url(&config, &format!("http://{host}:{}{path}", site.port)).await;
        let asked = asks.lock().pop().unwrap();
        assert_eq!(asked.header("cookie"), expected, "{host}{path}");
        assert_eq!(exchange.request_headers.get("cookie"), expected.map(|_| "***"), "not in what is kept");
    }
}

#[test]
fn a_cookie_that_cannot_be_sent_is_refused_without_being_shown() {
    let cookies = vec![cookie("shop.test", "/", "secret=\u{1}")];
    let error = Client::new(&FetchConfig { cookies, ..fetch_config() }).err().unwrap().to_string();
    assert!(error.contains("shop.test") && !error.contains("secret"), "{error}");
}

#[tokio::test]
async fn only_wanted_types_are_read() {
    for (sent, is_wanted) in [
        (Some("text/html; charset=utf-8"), true),
        (Some("TEXT/HTML"), true),
        (Some(" text/html charset=utf-8"), true),
        (Some("image/png"), false),
        (Some("application/pdf"), true),
        (Some("application/pdfx"), false),
        (None, true),
    ] {
        let answer = match sent {
            Some(kind) => Answer::new(200, "body").header("content-type", kind),
            None => Answer::new(200, "body"),
        };
        let site = site(move |_| answer.clone());
        let mime_types = vec!["text/*".to_owned(), "Application/PDF".to_owned()];
        let exchange = get_with(&FetchConfig { mime_types, ..fetch_config() }, &site).await;
        if is_wanted {
            assert_eq!(&response(exchange).body[..], b"body", "{sent:?}");
        } else {
            let failure = failure(exchange);
            assert_eq!(failure.reason, FailureReason::UnwantedType, "{sent:?}");
            assert!(failure.message.contains(sent.unwrap()));
        }
    }
}

#[tokio::test]
async fn the_body_of_an_unwanted_type_is_not_waited_for() {
    let site = site(|_| {
        let body = crate::sites::server::Body::Endless(bytes::Bytes::from_static(&[0; 100]));
        Answer::new(200, "").header("content-type", "video/mp4").body(body)
    });
    let config = FetchConfig {
        mime_types: vec!["text/html".into()],
        total_timeout: Duration::from_secs(60),
        max_body_bytes: u64::MAX,
        ..fetch_config()
    };
    assert_eq!(failure(get_with(&config, &site).await).reason, FailureReason::UnwantedType);
}

#[tokio::test]
async fn an_error_page_of_any_type_is_kept() {
    let site = site(|_| Answer::new(404, "x").header("content-type", "image/png"));
    let config = FetchConfig { mime_types: vec!["text/html".into()], static_hosts: names(&site), ..fetch_config() };
    assert_eq!(response(get_with(&config, &site).await).status, 404);
}
