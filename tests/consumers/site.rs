//! A small website with every kind of page that consumers must handle, and the known facts of each page.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use crate::support::server::{Answer, Ask};

use crate::support::Running;
use crate::support::program::Place;

/// A page that is delivered.
#[derive(Debug, Clone)]
pub struct Expected {
    pub content_type: &'static str,
    pub body: Vec<u8>,
    /// None if it is not text.
    pub text: Option<&'static str>,
    pub title: Option<&'static str>,
    pub language: Option<&'static str>,
}

impl Expected {
    pub fn is_html(&self) -> bool {
        self.content_type.starts_with("text/html")
    }
}

const START: &str = "<!DOCTYPE html><html lang=de><title>Größe</title><p>Zum Anfang.</p>\
    <a href=/cyrillic>1</a><a href=/by-meta>2</a><a href=/packed>3</a><a href=/picture>4</a>\
    <a href=/moved>5</a><a href=/missing>6</a><a href=/plain>7</a><a href=/untyped>8</a><a href='/odd?q=a b+c&x=%C3%A9'>9</a></html>";
const CYRILLIC: &str = "<html lang=ru><title>Привет, мир</title><p>Текст.</p></html>";
const CYRILLIC_BYTES: &[u8] = b"<html lang=ru><title>\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0</title>\
    <p>\xd2\xe5\xea\xf1\xf2.</p></html>";
/// The charset is that of its meta element. Browsers take it for windows-1252, which has the euro sign.
const BY_META: &str = "<html lang=fr><meta charset=\"iso-8859-1\"><title>Café 5 €</title></html>";
const BY_META_BYTES: &[u8] = b"<html lang=fr><meta charset=\"iso-8859-1\"><title>Caf\xe9 5 \x80</title></html>";
const PACKED: &str = "<html lang=en><title>Packed</title><p>Sent as gzip, twice a header.</p></html>";
const ODD: &str = "<title>Odd \u{1F980} \u{2028} \"quoted\" \\</title>";
const UTF_8: &str = "text/html; charset=utf-8";

/// Path → the page, for delivered pages.
pub fn expected() -> BTreeMap<&'static str, Expected> {
    let html = |content_type, body: &[u8], text, title, language| Expected {
        content_type,
        body: body.to_vec(),
        text: Some(text),
        title: Some(title),
        language,
    };
    let other = |content_type, body: &[u8], text| Expected {
        content_type,
        body: body.to_vec(),
        text,
        title: None,
        language: None,
    };
    let cyrillic = "text/html; charset=windows-1251";
    let packed = || html(UTF_8, PACKED.as_bytes(), PACKED, "Packed", Some("en"));
    BTreeMap::from([
        ("/", html(UTF_8, START.as_bytes(), START, "Größe", Some("de"))),
        ("/cyrillic", html(cyrillic, CYRILLIC_BYTES, CYRILLIC, "Привет, мир", Some("ru"))),
        ("/by-meta", html("text/html", BY_META_BYTES, BY_META, "Café 5 €", Some("fr"))),
        ("/packed", packed()),
        ("/moved", packed()),
        ("/odd?q=a%20b+c&x=%C3%A9", html(UTF_8, ODD.as_bytes(), ODD, "Odd \u{1F980} \u{2028} \"quoted\" \\", None)),
        ("/picture", other("image/png", &every_byte(), None)),
        ("/plain", other("text/plain", "naïve\n".as_bytes(), Some("naïve\n"))),
        ("/untyped", other("", b"\x01\x02\x03", None)),
    ])
}

fn every_byte() -> Vec<u8> {
    (0..=255).collect()
}

pub fn start() -> Running {
    Running::start(1, Arc::new(answer))
}

fn answer(ask: &Ask) -> Answer {
    match ask.path_and_query.as_str() {
        "/moved" => return Answer::redirect(301, "/packed"),
        "/packed" => return packed(),
        "/untyped" => return Answer::new(200, b"\x01\x02\x03".to_vec()),
        _ => {}
    }
    match expected().remove(ask.path_and_query.as_str()) {
        Some(page) => Answer::new(200, page.body).header("content-type", page.content_type),
        None => Answer::text("nothing here\n").status(404),
    }
}

fn packed() -> Answer {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(PACKED.as_bytes()).unwrap();
    Answer::html(encoder.finish().unwrap())
        .header("content-encoding", "gzip")
        .header("set-cookie", "a=1")
        .header("set-cookie", "b=é".as_bytes())
}

/// Crawls the whole site with these settings, using the program. The counters balance, and every stored page was
/// delivered.
pub fn crawl(site: &Running, settings: &str) -> Place {
    crawl_until(0, site, settings)
}

/// The same, with another exit status.
pub fn crawl_until(status: i32, site: &Running, settings: &str) -> Place {
    let place = Place::with(settings);
    let crawl = place.crawl(&[site.origin(0) + "/"], &["--delay", "0"]);
    crate::support::program::Process::start(crawl).wait().exits(status);
    place.stats();
    place
}
