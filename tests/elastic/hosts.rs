//! Several hosts of one cluster, of which one is no use.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::conformance::deliver;
use crate::node::Node;
use crate::{closed_port, config, entries, numbered, open};

pub fn a_dead_host_is_passed_over(node: &Node) {
    let pages = entries((1..=20).map(numbered));
    let mut config = config(&[&closed_port(), &node.url], "hosts");
    config.bulk_documents = 5;
    assert_eq!(deliver(&mut open(&config), &pages).unwrap().delivered, 20);
    assert_eq!(node.count_all("hosts"), 20);
}

/// A proxy without its server, a page for people, a node that is starting, another kind of server, and silence.
pub fn a_host_that_answers_nonsense_is_passed_over(node: &Node) {
    const ANSWERS: [(u16, &str); 7] = [
        (200, "<html>Welcome</html>"),
        (200, "{}"),
        (302, ""),
        (401, r#"{"error":"who are you?"}"#),
        (404, "<html>Not here</html>"),
        (503, r#"{"error":"starting"}"#),
        (0, ""),
    ];
    for (number, (status, body)) in ANSWERS.into_iter().enumerate() {
        let index = format!("nonsense-{number}");
        let bad = serve(status, body);
        for hosts in [[&*node.url, &*bad], [&*bad, &*node.url]] {
            let mut config = config(&hosts, &index);
            (config.bulk_documents, config.max_retry) = (5, Duration::from_secs(60));
            config.socket_timeout = Duration::from_secs(2);
            let delivered = deliver(&mut open(&config), &entries((1..=20).map(numbered)));
            assert_eq!(delivered.map(|it| (it.delivered, it.dead)).unwrap(), (20, 0), "{status} {body}");
        }
        assert_eq!(node.count_all(&index), 20);
    }
}

/// Gives every request this answer. Status 0: none.
fn serve(status: u16, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || converse(stream, status, body));
        }
    });
    url
}

fn converse(mut stream: TcpStream, status: u16, body: &str) {
    let mut buffer = [0; 1 << 16];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
        let head = format!("HTTP/1.1 {status} Said\r\nlocation: /elsewhere\r\ncontent-length: {}\r\n", body.len());
        if status > 0 && stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).is_ok() {
            return;
        }
    }
}
