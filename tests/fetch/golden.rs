//! A small website with one of each kind, crawled by the binary, and the exact FILES records:
//! `tests/golden/files.jsonl`, sorted by URL, with `PORT` for the site's port and 0 for every fetch time. If a change
//! is meant to alter them, the failing test tells where the new records are.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crate::sites::server::{Answer, Ask};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::GzEncoder;

use crate::sites::Running;

const EXPECTED: &str = include_str!("../golden/files.jsonl");
const DATE: &str = "Thu, 01 Jan 2026 00:00:00 GMT";

#[test]
fn every_kind_of_page_gives_the_record_it_always_gave() {
    let site = Running::start_with(2, |port| Arc::new(move |ask: &Ask| answer(ask, port).header("date", DATE)));
    let folder = tempfile::tempdir().unwrap();
    crawl(&site, folder.path());
    let records = records(&folder.path().join("files"), site.port);
    let expected: Vec<&str> = EXPECTED.lines().collect();
    if records != expected {
        let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("files.jsonl");
        std::fs::write(&new, records.join("\n") + "\n").unwrap();
        for (record, expected) in records.iter().zip(&expected) {
            compare(record, expected);
        }
        panic!("{} records, not {}; they are in {}", records.len(), expected.len(), new.display());
    }
    let asked: Vec<String> = site.visits.all().into_iter().map(|visit| visit.path).collect();
    for never in ["/private/page", "/style.css", "/script.js", "/from-script", "/nested/deep/based", "/ignored"] {
        assert!(!asked.iter().any(|path| path == never), "{never} was asked for");
    }
}

/// Field by field, so that the difference is shown.
fn compare(record: &str, expected: &str) {
    let fields = |line: &str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line).unwrap();
    let (found, wanted) = (fields(record), fields(expected));
    for (name, value) in &wanted {
        assert_eq!(found.get(name), Some(value), "{name} of {}", wanted["url"]);
    }
    assert_eq!(record, expected);
}

fn crawl(site: &Running, folder: &Path) {
    let origin = |host: &str| format!("http://{host}.test:{}/", site.port);
    let done = Command::new(env!("CARGO_BIN_EXE_seine"))
        .args(["crawl", "--quiet", "--delay", "0", "--allow-private", "--resolve", "a.test=127.0.0.11"])
        .args(["--resolve", "b.test=127.0.0.12", "--seed", &origin("a"), "--seed", &origin("b"), "-o"])
        .arg(folder)
        .env("SEINE__LINK_STORAGE__SCHEDULER__BACKOFF_BASE", "10ms")
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The records of every file in the folder, masked and sorted.
fn records(folder: &Path, port: u16) -> Vec<String> {
    let mut records = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let mut text = String::new();
        if path.extension().is_some_and(|extension| extension == "deflate") {
            ZlibDecoder::new(std::fs::File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
        }
        records.extend(text.lines().map(|line| masked(line, port)));
    }
    records.sort();
    records
}

fn masked(record: &str, port: u16) -> String {
    let time = regex::Regex::new(r#""fetch_time":1\d{12},"#).unwrap();
    assert!(time.is_match(record), "a fetch time in milliseconds: {record}");
    time.replace(record, r#""fetch_time":0,"#).replace(&format!(".test:{port}/"), ".test:PORT/")
}

const LINKS: &str = r##"<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>One of each — ünïcode</title>
<link rel="stylesheet" href="/style.css"><script src="/script.js"></script></head><body>
<a href="/latin1">1</a> <a href="/301">2</a> <a href="/302">3</a> <a href="/307">4</a> <a href="/chain/1">5</a>
<a href="/cross">6</a> <a href="/loop/1">7</a> <a href="/image.png">8</a> <a href="/gzip">9</a> <a href="/headers">10</a>
<a href="/no-type">11</a> <a href="/missing">12</a> <a href="/query?b=2&amp;a=1&amp;sid=9&amp;x=%c3%a9#part">13</a>
<a href="/meta">14</a> <a href="/empty">15</a> <a href="/error">16</a> <a href="/private/page">17</a>
<a href="/text">18</a> <a href="/document.pdf">19</a> <a href="/data.json">20</a> <a href="/page.xhtml">21</a>
<a href="/script">22</a> <a href="/dir/./x/../dots">23</a> <a href="/UPPER">24</a> <a href="/sp ace">25</a>
<a href="/refresh">26</a> <a href="/nested/deep/page">27</a> <a href="mailto:a@a.test">28</a>
<a href="http://outside.test/">29</a> <a href="/missing" rel="nofollow">30</a> <a href="/ignored" rel="nofollow">31</a>
</body></html>
"##;

fn answer(ask: &Ask, port: u16) -> Answer {
    if ask.host == "b.test" {
        return answer_of_b(ask);
    }
    let to = |status, path: &str| Answer::redirect(status, path).header("set-cookie", "hop=1");
    match ask.path_and_query.as_str() {
        "/robots.txt" => {
            Answer::text(format!("User-agent: *\nDisallow: /private/\nSitemap: http://a.test:{port}/map.xml\n"))
        }
        "/map.xml" => Answer::new(200, format!("<urlset><url><loc>http://a.test:{port}/mapped</loc></url></urlset>"))
            .header("content-type", "application/xml"),
        "/" => html(LINKS),
        "/latin1" => Answer::new(200, &b"<title>Caf\xe9</title>na\xefve"[..])
            .header("content-type", "text/html; charset=ISO-8859-1"),
        "/301" => to(301, "/target"),
        "/302" => to(302, "target?from=302&b=1&a=2"),
        "/307" => to(307, "/target-307"),
        "/chain/1" => to(301, "2"),
        "/chain/2" => to(302, "3"),
        "/chain/3" => to(308, "/chain/end"),
        "/cross" => to(302, &format!("http://b.test:{port}/crossed")),
        "/loop/1" => to(302, "/loop/2"),
        "/loop/2" => to(302, "/loop/1"),
        "/image.png" => Answer::new(200, &b"\x89PNG\r\n\x1a\n\x00\xff"[..]).header("content-type", "image/png"),
        "/gzip" => html(gzipped(b"<title>Packed</title>")).header("content-encoding", "gzip").header("vary", "*"),
        "/headers" => html("<title>Headers</title>")
            .header("set-cookie", "a=1; Path=/")
            .header("X-Multi", "one")
            .header("set-cookie", "b=2; HttpOnly")
            .header("x-multi", "two")
            .header("x-empty", "")
            .header("x-latin", &b"caf\xe9"[..]),
        "/no-type" => Answer::new(200, "<!DOCTYPE html><title>No type</title><a href=/by-guess>x</a>"),
        "/meta" => html("<title>Meta</title><link rel=alternate href=/alternate><link rel=canonical href=/canonical>"),
        "/empty" => html(""),
        "/error" => html("<title>Error</title>").status(500),
        "/text" => Answer::text("plain text \u{e9}\n"),
        "/document.pdf" => Answer::new(200, "%PDF-1.4\n%%EOF\n").header("content-type", "application/pdf"),
        "/data.json" => Answer::new(200, "{\"k\":\"v\"}").header("content-type", "application/json"),
        "/page.xhtml" => Answer::new(200, "<html xmlns=\"http://www.w3.org/1999/xhtml\"><title>X</title></html>")
            .header("content-type", "application/xhtml+xml"),
        "/script" => html("<title>Script</title><script>'<a href=/from-script>no</a>'</script>"),
        "/refresh" => html("<title>Refresh</title><meta http-equiv=refresh content='0; url=/refreshed'>"),
        "/nested/deep/page" => html("<title>Base</title><base href=/other/><a href=based>based</a>"),
        "/query?a=1&b=2&x=%C3%A9"
        | "/dir/dots"
        | "/UPPER"
        | "/sp%20ace"
        | "/mapped"
        | "/by-guess"
        | "/alternate"
        | "/canonical"
        | "/refreshed"
        | "/other/based"
        | "/target"
        | "/target?from=302&b=1&a=2"
        | "/target-307"
        | "/chain/end" => html(format!("<title>{}</title>", ask.path())),
        _ => html("<title>Not found</title>").status(404),
    }
}

fn answer_of_b(ask: &Ask) -> Answer {
    match ask.path() {
        "/robots.txt" => Answer::new(404, ""),
        "/" => html("<title>B</title><a href=/page>page</a>"),
        "/page" | "/crossed" => html("<title>At B</title>"),
        _ => Answer::text("not here\n").status(404),
    }
}

fn html(page: impl Into<bytes::Bytes>) -> Answer {
    Answer::html(page)
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
