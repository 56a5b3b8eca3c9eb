//! Heads of answers, and answers that never come.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use seine_parse::page::{FailureReason, HttpVersion};

use crate::sites::server::Answer;
use seine::config::FetchConfig;
use seine::fetch::Client;

use crate::raw_server::{RawServer, Reply, Then};
use crate::support::{failure, fetch_config, get, get_by, get_url, get_with, response, site};

#[tokio::test]
async fn a_head_is_kept_as_it_came() {
    let sent = "HTTP/1.1 299 Open all day\r\nX-One: 1\r\nSet-Cookie: a=1\r\nX-Empty:\r\nset-cookie: b=2\r\n\
                X-Latin: caf\u{e9} \u{ff}\r\nX-One:  two \r\nContent-Length: 2\r\n\r\nok";
    let response = response(get(Answer::raw(seine_parse::page::string_to_latin1(sent))).await);
    assert_eq!((response.status, response.reason.as_str()), (299, "Open all day"));
    assert_eq!(response.version, HttpVersion::Http11);
    let headers: Vec<(&str, &str)> = response.headers.0.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    // The client's order: by first appearance, repeats together, names in lower case.
    let expected = [
        ("x-one", "1"),
        ("x-one", "two"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("x-empty", ""),
        ("x-latin", "caf\u{e9} \u{ff}"),
        ("content-length", "2"),
    ];
    assert_eq!(headers, expected);
    assert_eq!(&response.body[..], b"ok");
}

#[tokio::test]
async fn reason_phrases_are_the_servers_own() {
    for (line, reason) in [
        ("404 Gone Fishing", "Gone Fishing"),
        ("404 Not Found", "Not Found"),
        ("404 ", ""),
        ("404", ""),
        // The client's parser drops such phrases.
        ("404 Ferm\u{e9}", ""),
    ] {
        let sent = format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n");
        let response = response(get(Answer::raw(seine_parse::page::string_to_latin1(&sent))).await);
        assert_eq!((response.status, response.reason.as_str()), (404, reason), "{line:?}");
    }
}

#[tokio::test]
async fn old_servers_are_understood() {
    let response = response(get(Answer::raw("HTTP/1.0 200 OK\r\nServer: old\r\n\r\nold page")).await);
    assert_eq!((response.version, &response.body[..]), (HttpVersion::Http10, &b"old page"[..]));
}

#[tokio::test]
async fn informational_answers_are_not_the_answer() {
    let sent = "HTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage";
    let response = response(get(Answer::raw(sent)).await);
    assert_eq!((response.status, &response.body[..]), (200, &b"page"[..]));
    assert_eq!(response.headers.get("link"), None);
}

#[tokio::test]
async fn invalid_header_lines_cost_the_line_only() {
    let sent = "HTTP/1.1 200 OK\r\nBad Header: 1\r\nno colon here\r\nX-Good: yes\r\nContent-Length: 4\r\n\r\npage";
    let response = response(get(Answer::raw(sent)).await);
    assert_eq!((response.headers.get("x-good"), &response.body[..]), (Some("yes"), &b"page"[..]));
}

#[tokio::test]
async fn what_is_not_http_is_a_protocol_failure() {
    let many: String = (0..600).map(|number| format!("X-{number}: {number}\r\n")).collect();
    let long = "x".repeat(1 << 20);
    for sent in [
        "SSH-2.0-OpenSSH_9.9\r\n".to_owned(),
        "<html>no head at all</html>\n\n".to_owned(),
        "HTTP/1.1 999999 What\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nbody".to_owned(),
        format!("HTTP/1.1 200 OK\r\n{many}\r\nbody"),
        format!("HTTP/1.1 200 OK\r\nX-Long: {long}\r\n\r\nbody"),
    ] {
        let failure = failure(get(Answer::raw(sent.clone())).await);
        assert_eq!(failure.reason, FailureReason::Protocol, "{:.60}: {}", sent, failure.message);
        assert!(!failure.message.is_empty());
    }
}

#[tokio::test]
async fn five_hundred_headers_are_fine() {
    let headers = |answer: Answer| (0..500).fold(answer, |answer, n| answer.header(&format!("x-{n}"), n.to_string()));
    let response = response(get(headers(Answer::html("page"))).await);
    assert_eq!(response.headers.get("x-499"), Some("499"));
}

#[tokio::test]
async fn a_connection_closed_without_an_answer_is_broken() {
    assert_eq!(failure(get(Answer::close()).await).reason, FailureReason::ConnectionBroken);
}

#[tokio::test]
async fn a_head_that_breaks_off_is_a_broken_connection() {
    let failure = failure(get(Answer::raw("HTTP/1.1 200 OK\r\nContent-Ty")).await);
    assert_eq!(failure.reason, FailureReason::ConnectionBroken, "{}", failure.message);
}

#[tokio::test]
async fn nobody_listening_is_a_refused_connection() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let exchange = get_url(&fetch_config(), &format!("http://{unused}/")).await;
    assert_eq!(exchange.ip, None);
    let failure = failure(exchange);
    assert_eq!(failure.reason, FailureReason::ConnectionRefused);
    assert!(failure.message.contains("refused"), "{}", failure.message);
}

#[tokio::test]
async fn no_answer_in_time_is_a_timeout() {
    let limits: [fn(&mut FetchConfig); 2] = [
        |config| config.total_timeout = Duration::from_millis(200),
        |config| config.header_timeout = Duration::from_millis(200),
    ];
    for set in limits {
        let site = site(|_| Answer::html("late").after(Duration::from_secs(60)));
        let mut config = fetch_config();
        set(&mut config);
        let started = Instant::now();
        let failure = failure(get_with(&config, &site).await);
        assert_eq!(failure.reason, FailureReason::Timeout, "{}", failure.message);
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn a_head_that_does_not_end_in_time_is_a_timeout() {
    let head = Reply::new("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-", Then::Hold).bytewise();
    let server = RawServer::start(vec![head.clone(), head]).await;
    let config = FetchConfig { header_timeout: Duration::from_millis(300), ..fetch_config() };
    let failure = failure(get_url(&config, &server.url()).await);
    assert_eq!(failure.reason, FailureReason::Timeout, "{}", failure.message);
}

#[tokio::test]
async fn a_connection_that_does_not_come_about_in_time_is_a_connect_failure() {
    // A full backlog answers no SYN. It has one slot, which is taken, and a second connection to be sure.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let taken: Vec<_> =
        (0..4).map(|_| tokio::spawn(async move { tokio::net::TcpStream::connect(address).await })).collect();
    // Two of the four get through: then the backlog is full.
    while taken.iter().filter(|task| task.is_finished()).count() < 2 {
        tokio::task::yield_now().await;
    }
    let limit = Duration::from_millis(200);
    for config in [
        FetchConfig { connect_timeout: limit, ..fetch_config() },
        // Whichever limit comes first: the connection is late, not the answer.
        FetchConfig { header_timeout: limit, ..fetch_config() },
        FetchConfig { total_timeout: limit, ..fetch_config() },
    ] {
        let failure = failure(get_url(&config, &format!("http://{address}/")).await);
        assert_eq!(failure.reason, FailureReason::Connect, "{}", failure.message);
    }
}

#[tokio::test]
async fn an_exchange_knows_when_and_with_whom() {
    let site = site(|_| Answer::html("page").after(Duration::from_millis(50)));
    let exchange = get_with(&fetch_config(), &site).await;
    assert_eq!(exchange.ip, Some(site.addresses[0]));
    assert!((50..5000).contains(&(exchange.ended_ms - exchange.started_ms)));
}

/// A server says 408 when it closes an idle connection. If that crosses a request, it looks like its answer.
#[tokio::test]
async fn a_connection_closed_with_408_is_no_answer() {
    let closes =
        Reply::new("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", Then::Close);
    let page = Reply::new("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage", Then::NextRequest);
    for client in [Client::new(&fetch_config()).unwrap(), Client::keeping_wire(&fetch_config()).unwrap()] {
        let server = RawServer::start(vec![closes.clone(), page.clone()]).await;
        assert_eq!(response(get_by(&client, &server.url()).await).status, 200);
        // The second one is the server's answer, and is tried again later.
        let server = RawServer::start(vec![closes.clone(), closes.clone()]).await;
        let answer = response(get_by(&client, &server.url()).await);
        assert_eq!((answer.status, server.heard().len()), (408, 2));
        assert!(answer.may_get_better());
    }
}
