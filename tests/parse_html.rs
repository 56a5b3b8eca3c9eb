//! Reading pages: content codings, charsets, links in one pass and by tree, what robots are told, hostile input.

#[path = "parse_html/alternates.rs"]
mod alternates;
#[path = "parse_html/both_ways.rs"]
mod both_ways;
#[path = "parse_html/charsets.rs"]
mod charsets;
#[path = "parse_html/codings.rs"]
mod codings;
#[path = "parse_html/derived.rs"]
mod derived;
#[path = "parse_html/hostile.rs"]
mod hostile;
#[path = "parse_html/links.rs"]
mod links;
#[path = "support/event.rs"]
mod made;
#[path = "parse_html/parameters.rs"]
mod parameters;
#[path = "parse_html/readable.rs"]
mod readable;
#[path = "parse_html/requisites.rs"]
mod requisites;
#[path = "parse_html/simhash.rs"]
mod simhash;
#[path = "parse_html/text_and_robots.rs"]
mod text_and_robots;

use std::collections::HashSet;
use std::io::Write;
use std::time::{Duration, Instant};

use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use seine::page::{Headers, Kind, Outcome, PageEvent, Response};
use seine::parse::decode::{DecodeProblem, Decoded, decode_body};
use seine::parse::html;
use seine::parse::html_facts::{HtmlFacts, LinkSource, MAX_LINKS, MAX_TITLE_BYTES, parse_refresh};
use seine::parse::html_text::{PageFacts, page_facts};
use seine::parse::html_tree::{Step, Tree};
use seine::parse::meta::{self, RobotsMeta};
use seine::parse::url::MAX_LINK_BYTES;
use seine::parse::{DeriveOptions, Derived, charset, derive, facts_and_tree, html_stream, link_header};
use sha2::{Digest, Sha256};

use made::answer as response;

const AGENT: &str = "Seine";

fn event(url: &str, response: Response) -> PageEvent {
    PageEvent { outcome: Outcome::Response(response), ..made::page(url, &[], "") }
}

fn html_event(body: &str) -> PageEvent {
    event("https://site.example/dir/page", response(&[("content-type", "text/html; charset=utf-8")], body.to_owned()))
}

fn options() -> DeriveOptions {
    DeriveOptions { max_decoded_bytes: 1 << 20, obey_nofollow: true, agent: AGENT.into(), ..DeriveOptions::default() }
}

/// From one tree; no text for what is not a successful HTML response.
fn derive_with_text(event: &PageEvent, options: &DeriveOptions) -> (Derived, Option<PageFacts>) {
    let decoded = seine::parse::decode(event, options.max_decoded_bytes);
    let (derived, tree) = facts_and_tree(event, decoded, options);
    (derived, tree.map(|tree| page_facts(&tree, &options.agent)))
}

fn urls(derived: &Derived) -> Vec<&str> {
    derived.links.iter().map(|link| link.url.as_str()).collect()
}

fn hrefs(facts: &HtmlFacts) -> Vec<&str> {
    facts.links.iter().map(|link| link.href.as_str()).collect()
}

fn read(page: &str) -> HtmlFacts {
    html::read(page, AGENT)
}

/// Each link once: the tree repeats those of elements that the standard clones.
fn once(mut facts: HtmlFacts) -> HtmlFacts {
    let mut seen = HashSet::new();
    facts.links.retain(|link| seen.insert(link.clone()));
    facts
}

fn by_stream(page: &str) -> Result<HtmlFacts, String> {
    html_stream::read(page, AGENT).map(once).map_err(|needs_tree| needs_tree.reason)
}

fn by_tree(page: &str) -> HtmlFacts {
    once(Tree::parse(page).facts(AGENT))
}

/// Both ways, which have to agree; the one pass must not give up.
fn read_both(page: &str) -> HtmlFacts {
    let facts = by_stream(page).unwrap_or_else(|reason| panic!("{reason}: {page}"));
    assert_eq!(facts, by_tree(page), "{page}");
    facts
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn brotli(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    brotli::CompressorWriter::new(&mut out, 4096, 5, 20).write_all(data).unwrap();
    out
}

fn zstd(data: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(data, 3).unwrap()
}

fn decode(coding: &str, body: Vec<u8>, limit: u64) -> Decoded {
    decode_body(&response(&[("content-encoding", coding)], body), limit)
}

/// Text that compresses, but not to nothing.
fn sample_text() -> Vec<u8> {
    (0..20_000).flat_map(|n| format!("<a href=/{}>{n}</a>\n", n * 7919 % 100_003).into_bytes()).collect()
}

/// The committed pages: name and text.
fn pages() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages");
    let mut pages: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "html"))
        .map(|path| {
            let body = std::fs::read(&path).unwrap();
            let text = charset::decode_text(&body, charset::detect(&body, Some("text/html"))).into_owned();
            (path.file_name().unwrap().to_string_lossy().into_owned(), text)
        })
        .collect();
    pages.sort();
    pages
}
