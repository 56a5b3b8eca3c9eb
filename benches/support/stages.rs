//! The cost of each stage of a page, in one thread, on the pages of the bench site.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use seine::sinks::stdout;
use seine_delivery::{Deriver, Entry, Offset};
use seine_formats::elastic;
use seine_formats::files::write_event;
use seine_formats::zlib_stream::ZlibStream;
use seine_parse::html_facts::HtmlFacts;
use seine_parse::html_text::page_facts;
use seine_parse::main_text::main_text;
use seine_parse::meta::RobotsMeta;
use seine_parse::page::preferences::{Purpose, Purposes};
use seine_parse::page::{PageEvent, codec};
use seine_parse::preferences::{of_headers, of_markup};
use seine_parse::robots::RobotsTxt;
use seine_parse::url;
use seine_parse::{DeriveOptions, derive, html_facts, simhash, text_sketch};
use sha2::{Digest, Sha256};

use super::cpu;
use super::event;
use super::site::{self, Site};

const PAGES: usize = 400;
const ROUNDS: u32 = 5;

/// A stage's name, and its CPU time a page: the best of several rounds.
pub fn measure() -> Vec<(&'static str, Duration)> {
    let options = DeriveOptions::default();
    let entries = entries(PAGES);
    let events: Vec<&PageEvent> = entries.iter().map(|entry| &*entry.event).collect();
    let body = |event: &PageEvent| event.response().map_or(Bytes::new(), |response| response.body.clone());
    let lines: Vec<Vec<u8>> = events.iter().map(|event| line(event, &body(event))).collect();
    let texts: Vec<String> =
        events.iter().map(|event| main_text(std::str::from_utf8(&body(event)).unwrap_or_default())).collect();
    let asks = Asks::new();
    vec![
        ("parse: all that is derived", best(|| events.iter().map(|event| derive(event, &options).links.len()).sum())),
        ("  of it the markup", best(|| events.iter().map(|event| markup_links(&body(event))).sum())),
        ("  of it SHA-256", best(|| events.iter().map(|event| usize::from(Sha256::digest(body(event))[0])).sum())),
        (
            "text: main text (the visible for pages without), simhash",
            best(|| entries.iter().map(|entry| simhash(entry)).sum()),
        ),
        ("duplicates: visible text, sketch", best(|| entries.iter().map(|entry| sketch(entry)).sum())),
        (
            "  visible text, and what the page says of itself",
            best(|| events.iter().map(|event| visible(&body(event))).sum()),
        ),
        ("elasticsearch: the document", best(|| entries.iter().map(|entry| document(entry)).sum())),
        ("  of it the simhash", best(|| texts.iter().map(|text| usize::from(simhash::simhash(text).is_some())).sum())),
        ("what publishers ask, robots.txt of 500 rules", best(|| events.iter().map(|event| asks.of(event)).sum())),
        ("page log: the event's head as JSON", best(|| events.iter().map(|event| head(event)).sum())),
        ("page log: CRC-32", best(|| events.iter().map(|event| crc32fast::hash(&body(event)) as usize).sum())),
        ("stdout: the line", best(|| write_lines(&entries))),
        ("files: the line (base64)", best(|| events.iter().map(|event| line(event, &body(event)).len()).sum())),
        ("files: DEFLATE, level 6", best(|| deflate(&lines))),
    ]
}

fn best(mut run: impl FnMut() -> usize) -> Duration {
    cpu::best_of(ROUNDS, &mut run).0 / PAGES as u32
}

/// A host that says much of how its pages are used, and pages that do, too.
struct Asks {
    robots: RobotsTxt,
    facts: HtmlFacts,
    purposes: Purposes,
}

impl Asks {
    fn new() -> Asks {
        let rule = |nth: usize| match nth % 10 {
            0 => format!("Content-Usage: /*/{nth}/*.pdf$ train-ai=n, search=y\n"),
            1 => format!("Content-Signal: /section-{nth}/ search=yes, ai-train=no\n"),
            _ => format!("Content-Usage: /{}/{nth} train-ai=n\n", nth % 7),
        };
        let rules: String = (0..499).map(rule).collect();
        let robots = format!("License: https://a.example/l\nUser-agent: *\nContent-Usage: search=y\n{rules}");
        let meta = (0..20).map(|nth| (format!("og:property-{nth}"), "some content".to_owned()));
        let facts = HtmlFacts {
            meta: meta.chain([("tdm-reservation".to_owned(), "0".to_owned())]).collect(),
            ..HtmlFacts::default()
        };
        let purposes = Purposes { declared: Purpose::ALL.into(), ..Purposes::default() };
        Asks { robots: RobotsTxt::parse(robots.as_bytes(), "Seine"), facts, purposes }
    }

    fn of(&self, event: &PageEvent) -> usize {
        let Some(response) = event.response() else { return 0 };
        let mut said = self.robots.preferences(url::path_and_query(&event.url));
        said.extend(of_headers(&response.headers, RobotsMeta::default(), false, &event.url));
        said.extend(of_markup(&self.facts, &event.url));
        usize::from(self.purposes.opted_out(&said).is_some())
    }
}

fn markup_links(body: &[u8]) -> usize {
    let text = std::str::from_utf8(body).unwrap_or_default();
    html_facts::read(text, "Seine").links.len()
}

fn simhash(entry: &Entry) -> usize {
    usize::from(simhash::of_page(&entry.facts(), Some("text/html")).is_some())
}

fn sketch(entry: &Entry) -> usize {
    usize::from(text_sketch::of_page(&entry.facts(), Some("text/html")).is_some())
}

fn visible(body: &[u8]) -> usize {
    page_facts(std::str::from_utf8(body).unwrap_or_default()).text.len()
}

fn document(entry: &Entry) -> usize {
    let mut out = Vec::new();
    elastic::write_event(&entry.event, &entry.text(), 0, &mut out);
    out.len()
}

fn head(event: &PageEvent) -> usize {
    let mut out = Vec::with_capacity(2048);
    codec::encode_head(event, &mut out);
    out.len()
}

fn line(event: &PageEvent, body: &[u8]) -> Vec<u8> {
    let mut line = Vec::new();
    write_event(event, body, &mut line);
    line
}

fn write_lines(entries: &[Arc<Entry>]) -> usize {
    let mut sink = stdout::sink(std::io::sink(), None, Default::default());
    sink.deliver(entries).map_or(0, |delivered| delivered.delivered as usize)
}

fn deflate(lines: &[Vec<u8>]) -> usize {
    let (mut stream, mut out) = (ZlibStream::new(6), Vec::new());
    for line in lines {
        stream.write(line, &mut out).expect("a new stream takes every byte");
    }
    out.len()
}

/// So many of the site's pages, as the log hands them out that were just fetched.
pub fn entries(count: usize) -> Vec<Arc<Entry>> {
    let (site, options) = (Site::new(8080), DeriveOptions::default());
    let deriver = Deriver::keeping(usize::MAX, options.clone());
    let entry = |nth: usize| {
        let page = nth * site::PAGES / count;
        let mut html = Vec::new();
        site.render(page, &mut html);
        let event = event(site::url(8080, page), html.into());
        let kept = deriver.keep(&event, Arc::new(derive(&event, &options)));
        let end = Offset { index: nth as u64 + 1, offset: nth as u64 + 1 };
        Arc::new(Entry::shared(end, Arc::new(event), kept, &deriver))
    };
    (0..count).map(entry).collect()
}

fn event(url: String, body: Bytes) -> PageEvent {
    let length = body.len().to_string();
    let headers = [
        ("server", "bench"),
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "max-age=0"),
        ("content-usage", "train-ai=n, search=y"),
        ("content-length", &length),
    ];
    PageEvent { ip: Some([127, 0, 1, 1].into()), crawler_id: "bench".into(), ..event::page(url, &headers, body) }
}
