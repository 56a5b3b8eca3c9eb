//! `seine text`: prints the main text of a page.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use seine_parse::charset;
use seine_parse::clean_text::{CleanText, Extractor, TextOptions, clean_text};
use seine_parse::decode::decode_body;
use seine_parse::url::parse;
use serde::Serialize;

use super::archive::ReadingArgs;
use super::ticker::Ticker;
use crate::archive::inputs::{ArchiveInputs, FoundInput};
use crate::archive::read::{Page, Pages};

/// Maximum size of a decompressed page.
const MAX_PAGE_BYTES: u64 = 256 << 20;

/// Print the main text of a page: an HTML file, standard input, or a URL in archives.
///
/// The output is what a crawl with these settings delivers as `text`. boilerpipe extracts articles as ACHE does, and
/// nothing from most short pages. readable works for pages of all kinds.
///
/// Exit status: 0; 1 if there is no such page; 2 for wrong arguments.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// HTML file, - for standard input, or the URL of a page in an archive.
    #[arg(value_name = "PAGE")]
    page: String,
    /// For a URL: archives to search (files, folders, patterns, topics). The latest page is used.
    #[arg(value_name = "FROM", default_value = "data/files")]
    from_names: Vec<String>,
    /// Extractor of the main text [default: boilerpipe, or readable with --markdown].
    #[arg(long, value_parser = Extractor::NAMES)]
    extractor: Option<String>,
    /// Print Markdown, made by the readable extractor.
    #[arg(long)]
    markdown: bool,
    /// Print one line of JSON: text, markdown and confidence, as far as requested.
    #[arg(long)]
    json: bool,
    /// For a file: base URL of its links.
    #[arg(long, value_name = "URL")]
    base: Option<String>,
    #[command(flatten)]
    reading: ReadingArgs,
}

const EXAMPLES: &str = "\
Examples:
  seine text --markdown page.html                               a file as Markdown
  curl -s https://example.com | seine text --extractor readable -
  seine text https://example.com/a data/files --json            a page of a crawl, with its confidence";

/// A page as text, with its source.
struct Html {
    text: String,
    url: Option<String>,
}

/// The output of `--json`.
#[serde_with::skip_serializing_none]
#[derive(Serialize)]
struct Line {
    url: Option<String>,
    text: String,
    markdown: Option<String>,
    confidence: Option<f64>,
}

/// Prints the page's text to standard output.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.markdown && args.extractor.as_deref() == Some("boilerpipe") {
        eprintln!("seine: boilerpipe cannot make Markdown; leave out --extractor boilerpipe or --markdown");
        return Ok(ExitCode::from(2));
    }
    let default = if args.markdown { "readable" } else { "boilerpipe" };
    let extractor = Extractor::named(args.extractor.as_deref().unwrap_or(default));
    let html = match is_url(&args.page) {
        true => of_archives(&args)?,
        false => of_file(&args)?,
    };
    let options = TextOptions { extractor, markdown: args.markdown, language: false };
    let CleanText { text, markdown, confidence } = clean_text(&html.text, html.url.as_deref(), options);
    let line = Line { url: html.url, text, markdown, confidence };
    super::print(&super::as_text(&line, args.json, |line| line.markdown.as_ref().unwrap_or(&line.text).clone())?)
}

fn is_url(page: &str) -> bool {
    page.starts_with("http://") || page.starts_with("https://")
}

fn of_file(args: &Args) -> anyhow::Result<Html> {
    let mut body = Vec::new();
    let read = match args.page.as_str() {
        "-" => std::io::stdin().lock().take(MAX_PAGE_BYTES).read_to_end(&mut body),
        name => {
            std::fs::File::open(PathBuf::from(name)).and_then(|file| file.take(MAX_PAGE_BYTES).read_to_end(&mut body))
        }
    };
    read.with_context(|| format!("cannot read {}", args.page))?;
    let text = charset::decode_text(&body, charset::detect(&body, None)).into_owned();
    Ok(Html { text, url: args.base.clone() })
}

/// The latest successful fetch of the URL.
fn of_archives(args: &Args) -> anyhow::Result<Html> {
    let options = args.reading.source_options()?;
    let mut ticker = Ticker::new(&args.from_names, &options, false);
    let wanted = parse(&args.page).unwrap_or_else(|| args.page.clone());
    let mut found: Option<Page> = None;
    for input in ArchiveInputs::open(&args.from_names, options)? {
        let FoundInput::Input(input) = input? else { continue };
        for page in Pages::open(&input, 0, ticker.read())? {
            match page {
                Ok(page) => {
                    let is_it = [&page.event.url, &page.event.final_url]
                        .iter()
                        .any(|url| **url == wanted || **url == args.page);
                    let is_later = found.as_ref().is_none_or(|known| known.event.ended_ms <= page.event.ended_ms);
                    if is_it && is_later && page.event.response().is_some() {
                        found = Some(page);
                    }
                }
                Err(problem) => ticker.problem(&problem),
            }
        }
    }
    ticker.end();
    ticker.print_rest();
    let page = found.with_context(|| {
        format!("{} is not in {}; give the archives to search after the URL", args.page, args.from_names.join(", "))
    })?;
    let response = page.event.response().context("the event has no response")?;
    let body = decode_body(response, MAX_PAGE_BYTES).body;
    let text = charset::decode_text(&body, charset::detect(&body, response.content_type())).into_owned();
    Ok(Html { text, url: Some(page.event.final_url.clone()) })
}
