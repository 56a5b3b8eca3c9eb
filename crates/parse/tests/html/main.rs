//! Reading pages: content codings, charsets, links without and with a tree, robots directives, hostile input.

mod about;
mod alternates;
mod both_ways;
mod charsets;
mod codings;
mod derived;
mod hostile;
mod language;
mod links;
#[path = "../support/event.rs"]
mod made;
mod parameters;
mod readable;
mod readable_markdown;
mod requisites;
mod simhash;
mod text_and_robots;
mod text_sketch;
#[path = "../support/tree/mod.rs"]
mod tree;

use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use seine_parse::decode::{DecodeProblem, Decoded, decode_body};
use seine_parse::html_facts::{self, HtmlFacts, LinkSource, MAX_LINKS, MAX_TITLE_BYTES, parse_refresh};
use seine_parse::html_text::{PageFacts, page_facts};
use seine_parse::meta::{self, RobotsMeta};
use seine_parse::page::{Headers, Kind, Outcome, PageEvent, Response};
use seine_parse::url::MAX_LINK_BYTES;
use seine_parse::{DeriveOptions, Derived, PageText, charset, derive, link_header};
use sha2::{Digest, Sha256};

use made::answer as response;
use tree::{Tree, page_text};

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

/// There is no text for pages that are not HTML.
fn derive_with_text(event: &PageEvent, options: &DeriveOptions) -> (Derived, Option<PageFacts>) {
    let PageText { facts, page, .. } = PageText::from(Arc::new(derive(event, options)));
    (Arc::unwrap_or_clone(facts), page)
}

fn urls(derived: &Derived) -> Vec<&str> {
    derived.links.iter().map(|link| link.url.as_str()).collect()
}

fn hrefs(facts: &HtmlFacts) -> Vec<&str> {
    facts.links.iter().map(|link| link.href.as_str()).collect()
}

fn read(page: &str) -> HtmlFacts {
    html_facts::read(page, AGENT)
}

/// Removes repeated links: the tree repeats those of elements that the standard clones.
fn once(mut facts: HtmlFacts) -> HtmlFacts {
    let mut seen = HashSet::new();
    facts.links.retain(|link| seen.insert(link.clone()));
    facts
}

fn by_tree(page: &str) -> HtmlFacts {
    once(Tree::parse(page).facts(AGENT))
}

/// Reads a page both ways and compares the results.
fn read_both(page: &str) -> HtmlFacts {
    let facts = once(read(page));
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

/// Text that compresses well, but not extremely.
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
