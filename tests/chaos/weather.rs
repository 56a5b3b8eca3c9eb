//! The present state of the hosts, and its effect on an answer.

use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::web::{RobotsTrouble, Target, Trouble, Web, gzip};

/// A failure of a whole host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostMood {
    /// Nobody listens.
    Refused,
    /// Every request is answered with a reset.
    Reset,
    /// Every request is read, and no answer is sent.
    Silent,
    /// 500 for everything.
    Error500,
    /// 503 for everything, with a Retry-After of a second.
    Busy503,
    /// 429 for everything, with a Retry-After of a second.
    TooMany429,
}

/// One outage of hosts: that share of them, chosen by the salt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storm {
    pub mood: HostMood,
    pub percent: u64,
    pub salt: u64,
}

/// The weather everywhere.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sky {
    pub storm: Option<Storm>,
}

impl Sky {
    /// Hosts at one address fare alike.
    pub fn mood(&self, host: usize) -> Option<HostMood> {
        let storm = self.storm?;
        let drawn = xxh3_64_with_seed(Web::address(host).to_string().as_bytes(), storm.salt);
        (drawn % 100 < storm.percent).then_some(storm.mood)
    }
}

/// The reaction of the server to a request.
pub enum Answer {
    /// All of it; in pieces, with a pause before each of them but the first.
    Whole {
        bytes: Vec<u8>,
        pieces: usize,
        pause: Duration,
    },
    /// These bytes and then the connection's end, by a reset or in order.
    Broken {
        bytes: Vec<u8>,
        resets: bool,
    },
    Silence,
}

const PIECES: usize = 6;
const PAUSE: Duration = Duration::from_millis(60);

impl Answer {
    fn whole(bytes: Vec<u8>) -> Answer {
        Answer::Whole { bytes, pieces: 1, pause: Duration::ZERO }
    }

    pub fn status(status: &str, more: &str) -> Answer {
        let body = "not just now\n";
        Answer::whole(head(status, &format!("content-type: text/plain\r\n{more}"), body.len(), body.as_bytes()))
    }
}

fn head(status: &str, headers: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

const HTML: &str = "content-type: text/html; charset=utf-8\r\n";
const GZIPPED: &str = "content-type: text/html; charset=utf-8\r\ncontent-encoding: gzip\r\n";

/// The answer of a host in this mood, if that decides it.
pub fn of_mood(mood: HostMood) -> Answer {
    match mood {
        // Its listener does the rest.
        HostMood::Refused | HostMood::Reset => Answer::Broken { bytes: Vec::new(), resets: true },
        HostMood::Silent => Answer::Silence,
        HostMood::Error500 => Answer::status("500 Internal Server Error", ""),
        HostMood::Busy503 => Answer::status("503 Service Unavailable", "retry-after: 1\r\n"),
        HostMood::TooMany429 => Answer::status("429 Too Many Requests", "retry-after: 1\r\n"),
    }
}

/// `asked`: how often a host that was well was asked for it before.
pub fn robots(web: &Web, host: usize, asked: u32) -> Answer {
    const RULES: &str = "User-agent: *\nAllow: /p/\nDisallow: /private/\n";
    let text = "content-type: text/plain\r\n";
    match web.robots_trouble(host).filter(|(_, times)| asked < *times) {
        None => Answer::whole(head("200 OK", text, RULES.len(), RULES.as_bytes())),
        Some((RobotsTrouble::Error503, _)) => Answer::status("503 Service Unavailable", ""),
        Some((RobotsTrouble::Cut, _)) => {
            Answer::Broken { bytes: head("200 OK", text, RULES.len(), &RULES.as_bytes()[..25]), resets: false }
        }
        Some((RobotsTrouble::Reset, _)) => Answer::Broken { bytes: Vec::new(), resets: true },
    }
}

/// `asked`: how often a host that was well was asked for it before.
pub fn answer(web: &Web, target: Target, asked: u32) -> Answer {
    match target {
        Target::Page(number) => page(web, number, asked),
        Target::Moved(number) => {
            let location = web.url(Target::Page(web.moved_to(number)));
            Answer::whole(head("301 Moved Permanently", &format!("location: {location}\r\n"), 0, b""))
        }
        Target::Bomb(number) => {
            let body = gzip(Web::bomb(number).as_bytes());
            Answer::whole(head("200 OK", GZIPPED, body.len(), &body))
        }
        Target::Private(_) | Target::Missing(_) => Answer::status("404 Not Found", ""),
    }
}

fn page(web: &Web, number: usize, asked: u32) -> Answer {
    let html = web.html(number).into_bytes();
    let half = &html[..html.len() / 2];
    match web.trouble(number).filter(|(_, times)| asked < *times) {
        None if web.is_slow(number) => {
            Answer::Whole { bytes: head("200 OK", HTML, html.len(), &html), pieces: PIECES, pause: PAUSE }
        }
        None if number.is_multiple_of(3) => {
            let body = gzip(&html);
            Answer::whole(head("200 OK", GZIPPED, body.len(), &body))
        }
        None => Answer::whole(head("200 OK", HTML, html.len(), &html)),
        Some((Trouble::ResetInBody, _)) => {
            Answer::Broken { bytes: head("200 OK", HTML, html.len(), half), resets: true }
        }
        Some((Trouble::CutLength, _)) => {
            Answer::Broken { bytes: head("200 OK", HTML, html.len(), half), resets: false }
        }
        Some((Trouble::CutChunks, _)) => {
            let head = format!("HTTP/1.1 200 OK\r\n{HTML}transfer-encoding: chunked\r\n\r\n{:x}\r\n", half.len());
            Answer::Broken { bytes: [head.as_bytes(), half, b"\r\n"].concat(), resets: false }
        }
        Some((Trouble::CutGzip, _)) => {
            let body = gzip(&html);
            let half = &body[..body.len() / 2];
            Answer::Broken { bytes: head("200 OK", GZIPPED, half.len(), half), resets: false }
        }
        Some((Trouble::Error500, _)) => Answer::status("500 Internal Server Error", ""),
    }
}
