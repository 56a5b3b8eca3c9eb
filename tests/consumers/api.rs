//! The API against its own description: every path is requested, and the answers match openapi.json.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};

use crate::json_of_file;
use crate::schemas::assert_valid;
use crate::site;
use crate::support::Running;
use crate::support::program::{Place, Process, eventually, free_port, get, run};

const TOKEN: &str = "0123456789abcdef-alice";

/// One answer, as JSON.
fn said(address: SocketAddr, path: &str) -> (u16, Value) {
    let (status, body) = get(address, &format!("/api/v1{path}")).expect("the API answers");
    (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}")))
}

/// The answer to an order.
fn posted(address: SocketAddr, path: &str) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "POST /api/v1{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// The elements of a list, or the one value.
fn each(said: Value) -> Vec<Value> {
    match said {
        Value::Array(all) => all,
        one => vec![one],
    }
}

#[test]
fn what_the_api_says_is_what_its_description_says() {
    let site: Running = site::start();
    let place = Place::with(&format!("work.clients: alice:{TOKEN}\n"));
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &more));
    let is_fetched = || get(address, "/api/v1/status").is_some_and(|(_, body)| body.contains("\"work_proposed\":0"));
    eventually("the site is fetched", is_fetched);
    let data = place.data();
    for words in [
        &["host", &site.origin(0), "delay", "5ms"][..],
        &["host", &site.origin(0), "pages", "500"],
        &["limit", "crawl/day/pages", "5000"],
        &["retry", "--dry-run"],
        &["seeds", "add", &site.origin(0)],
    ] {
        run(&[words, &["-o", data.to_str().unwrap()]].concat()).ok();
    }
    eventually("there is a sample of the last minute", || said(address, "/history").1 != json!([]));

    let described = json_of_file("src/api/openapi.json");
    assert_eq!(said(address, "/openapi.json").1, described);
    let urls = ["/", "/missing", "/moved", "/never", "/?&delivered=true"];
    let urls = urls.map(|path| format!("/url?url={}{}", site.origin(0), path.replace("?&", "&")));
    let host = format!("/hosts/{}", site.origin(0).replace(':', "%3A").replace('/', "%2F"));
    let asked: Vec<(&str, Vec<&str>)> = vec![
        ("/status", vec!["/status"]),
        ("/history", vec!["/history"]),
        ("/hosts", vec!["/hosts", "/hosts?which=troubled&limit=5"]),
        ("/hosts/{host}", vec![&host]),
        ("/url", urls.iter().map(String::as_str).collect()),
        ("/orders", vec!["/orders"]),
        ("/clients", vec!["/clients"]),
    ];
    for (path, questions) in asked {
        let answer = &described["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        let name = answer["$ref"].as_str().or(answer["items"]["$ref"].as_str()).unwrap().rsplit('/').next().unwrap();
        for question in questions {
            let (status, answer) = said(address, question);
            assert_eq!(status, 200, "{question}: {answer}");
            assert_valid(&format!("api-{name}"), &each(answer));
        }
    }
    std::fs::write(place.config(), std::fs::read_to_string(place.config()).unwrap() + "page_log.max_size: 1GiB\n")
        .unwrap();
    let reloaded = posted(address, "/reload");
    assert_eq!(reloaded["changed"][0]["key"], "page_log.max_size");
    assert_valid("api-Reloaded", &[reloaded]);
    let (status, problem) = said(address, "/url?url=mailto:nobody");
    assert_eq!(status, 400);
    assert_valid("api-Problem", &[problem]);
    // Every path of the description exists; paths for POST say so. `/events` never ends; the test of the page covers
    // it.
    for (path, methods) in described["paths"].as_object().unwrap().iter().filter(|(path, _)| *path != "/events") {
        let is_posted = methods.get("get").is_none();
        let (status, _) = said(address, &path.replace("{host}", "nobody.test").replace("{lease}", "0-1"));
        assert_eq!(status == 405, is_posted, "{path}: {status}");
    }
    check_work(address);
    process.signal("TERM");
    process.wait().ok();
}

/// The requests of a client crawler, and their answers.
fn check_work(address: SocketAddr) {
    let page = json!({"lease": "0-1", "url": "http://a.test/", "status": 200, "headers": [["content-type", "text/html"]], "body": "PGI+"});
    let failure = json!({"lease": "0-1", "url": "http://a.test/", "failure": {"reason": "timeout", "message": "30 s"}});
    let wanted = json!({"hosts": 2, "wait_ms": 1});
    assert_valid("api-LeaseWanted", std::slice::from_ref(&wanted));
    assert_valid("api-PageSent", &[page.clone(), failure.clone()]);
    let posted = |path: &str, said: &Value| -> Value {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let said = said.to_string();
        let head = format!(
            "POST /api/v1/work{path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{said}",
            said.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    assert_valid("api-Work", &[posted("/leases", &wanted)]);
    assert_valid("api-PagesTaken", &[posted("/pages", &page), posted("/pages", &failure)]);
    assert_valid("api-Problem", &[posted("/leases/0-1/renew", &Value::Null)]);
}

#[test]
fn orders_are_as_the_description_has_them() {
    let orders = [
        json!({"order": "pause"}),
        json!({"order": "set_host_delay", "host": "a.test", "delay_ms": null}),
        json!({"order": "set_host_pages", "host": "a.test", "pages": 7}),
        json!({"order": "set_limit", "limit": "host/day/pages", "most": null}),
        json!({"order": "reset_limit", "limit": "pages"}),
        json!({"order": "forget", "hosts": ["a.test"]}),
        json!({"order": "retry", "reasons": ["timeout"]}),
    ];
    assert_valid("api-Order", &orders);
}
