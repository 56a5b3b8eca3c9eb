//! Pages to measure with: 30 KB of words and 140 links each, the same in every run.

use seine_parse::page::PageEvent;

use crate::event;

const PAGE_BYTES: usize = 30_000;
const LINKS: usize = 140;

/// A page of words and links, the same in every run.
pub fn page(number: usize) -> PageEvent {
    let url = format!("http://host{}.example/page/{number}.html", number % 20);
    let page = event::page(url, &HEADERS, html(number));
    PageEvent { id: event::id(number as u64), ip: Some([192, 0, 2, 1].into()), crawler_id: "bench".into(), ..page }
}

const HEADERS: [(&str, &str); 12] = [
    ("Server", "nginx/1.24.0"),
    ("Date", "Sat, 21 Nov 2026 14:00:00 GMT"),
    ("Content-Type", "text/html; charset=utf-8"),
    ("Transfer-Encoding", "chunked"),
    ("Connection", "keep-alive"),
    ("Vary", "Accept-Encoding"),
    ("Cache-Control", "max-age=0, must-revalidate"),
    ("ETag", "W/\"65a1b2c3-7530\""),
    ("Last-Modified", "Fri, 20 Nov 2026 09:00:00 GMT"),
    ("Set-Cookie", "session=0123456789abcdef; Path=/; HttpOnly"),
    ("Set-Cookie", "theme=light; Path=/"),
    ("Strict-Transport-Security", "max-age=31536000"),
];

fn html(number: usize) -> String {
    let mut random = fastrand::Rng::with_seed(number as u64);
    let words: Vec<String> =
        (0..2_000).map(|_| (0..random.usize(2..10)).map(|_| random.lowercase()).collect()).collect();
    let mut html = format!("<!DOCTYPE html>\n<html><head><title>Page {number}</title></head>\n<body>\n");
    for word in words.iter().take(LINKS) {
        html.push_str(&format!("<a href=\"/page/{}.html\">{word}</a>\n", random.u32(..1_000_000)));
    }
    while html.len() < PAGE_BYTES {
        html.push_str("<p>");
        for _ in 0..40 {
            html.push_str(random.choice(&words).map_or("", |word| word));
            html.push(' ');
        }
        html.push_str("</p>\n");
    }
    html
}
