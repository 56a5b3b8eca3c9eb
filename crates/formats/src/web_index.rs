//! The web index (Spideriment's “web index file specification”): one HTML page as one JSON object, in one cell of a CSV
//! file (RFC 4180) with one column and no header row.
//!
//! Fields in this order: `original_url` · `final_url` · `original_canonical_url` · `final_canonical_url` ·
//! `crawl_timestamp` (epoch seconds) · `language` (`<html lang>` as found) · `title` · `headings` {`h1`: […], …} ·
//! `description` · `keywords` · `author` · `content_snippet` · `content_snippet_quality` (0 to 1) · `image_alts` ·
//! `link_texts` · `total_links_count` (of `<a href>`, as for `link_texts`). Strings may be empty and are cut at
//! [`WebIndexLimits`]. No cell is longer than [`MAX_CELL`]: if a page has more, the parts that matter least for search
//! ranking are cut first.

use std::collections::BTreeMap;
use std::io::Read;

use serde::{Deserialize, Serialize};

use super::csv_cells::Cells;
use super::files::page_of;
use super::format::{Files, Format, FormatSpec};
use super::layout::{self, RollingLayout};
use super::options::WebIndexLimits;
use super::records::{ArchiveReader, CodecReader, ReadSeek, ReaderInput};
use super::recovery::{RecordSplit, RecoveryMethod};
use super::sniff::{Confidence, Prefix};
use super::stored_fields::{Field, MissingFields, Reduction, Stored};
use super::text;
use seine_delivery::Entry;
use seine_parse::PageText;
use seine_parse::html_text::PageFacts;
use seine_parse::main_text::main_text;
use seine_parse::page::PageEvent;
use seine_parse::url;

pub const FORMAT: Format = Format(&FormatSpec {
    name: "WEB_INDEX",
    about: "title, headings and other facts of each page, as CSV",
    schema: "web-index",
    holds: &[
        (Field::Url, Stored::Complete),
        (Field::FinalUrl, Stored::Complete),
        (Field::Fetched, Stored::Partly(Reduction::Seconds)),
    ],
    demands: &[Field::Url, Field::FinalUrl, Field::Fetched, Field::Body],
    begins: |beginning: &Prefix| {
        let is_cell = beginning.text().starts_with(b"\"{\"\"");
        Confidence::sure_if(is_cell && memchr::memmem::find(beginning.text(), b"\"\"original_url\"\"").is_some())
    },
    reader,
    encoder: |options| {
        let limits = options.web_index;
        Box::new(move |entry: &Entry, out: &mut Vec<u8>| {
            let is_page = page_of(&entry.event).is_some();
            let is_held = is_page && write_event(&entry.event, &entry.text(), &limits, out);
            if is_held {
                out.truncate(out.len() - ROW_END.len());
            }
            is_held
        })
    },
    stores_event: None,
    files: Files::Rolling(RollingLayout { record_end: ROW_END, ..layout::of_lines(&[".csv"], |_| ".csv") }),
    recovery: RecoveryMethod::Lines(RecordSplit {
        is_record: |row| Rows(Cells::new(row)).next().is_some_and(|record| record.is_ok()),
        is_row: true,
    }),
});

const ROW_END: &[u8] = b"\r\n";

fn reader(input: ReaderInput) -> std::io::Result<Box<dyn ArchiveReader>> {
    let rows = Rows(Cells::new(input.bytes));
    let mut codec = CodecReader::new(
        rows,
        WebIndexRecord::into_event,
        |_: &Rows<Box<dyn ReadSeek>>, _| MissingFields::default(),
        |rows| rows.0.truncated(),
    );
    codec.stream = |rows| rows.0.stream();
    Ok(Box::new(codec))
}

/// Cells as records.
struct Rows<R>(Cells<R>);

impl<R: Read> Iterator for Rows<R> {
    type Item = Result<WebIndexRecord, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let cell = self.0.next()?;
        let row = self.0.row();
        let record = cell.map_err(|error| error.to_string()).and_then(|cell| {
            serde_json::from_slice(&cell).map_err(|error| format!("row {row} is not a record of a web index: {error}"))
        });
        // A last row that is cut is not damage.
        Some(record).filter(|record| record.is_ok() || !self.0.unfinished())
    }
}

/// Most characters of a cell. Python's `csv` refuses longer cells, and with them the whole file
/// (`csv.field_size_limit`); the index's author reads it with this library.
pub const MAX_CELL: usize = 128 << 10;

/// A record of the web index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WebIndexRecord {
    pub original_url: String,
    #[serde(default)]
    pub final_url: String,
    #[serde(default)]
    pub original_canonical_url: String,
    #[serde(default)]
    pub final_canonical_url: String,
    /// Epoch seconds.
    #[serde(default)]
    pub crawl_timestamp: u64,
    #[serde(default)]
    pub language: String,
    #[serde(default)]
    pub title: String,
    /// `h1` to `h6` → texts; only levels that the page has.
    #[serde(default)]
    pub headings: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub keywords: String,
    #[serde(default)]
    pub author: String,
    #[serde(default)]
    pub content_snippet: String,
    #[serde(default)]
    pub content_snippet_quality: f64,
    #[serde(default)]
    pub image_alts: String,
    #[serde(default)]
    pub link_texts: String,
    #[serde(default)]
    pub total_links_count: u64,
}

/// Appends the page's row to `out`, with its line end. Returns false and appends nothing for events that the index does
/// not store: sitemaps, failures, answers other than 2xx, pages that are not HTML, and pages whose URLs alone are
/// longer than a cell.
pub fn write_event(event: &PageEvent, text: &PageText, limits: &WebIndexLimits, out: &mut Vec<u8>) -> bool {
    let Some(mut record) = WebIndexRecord::from_event(event, text, limits) else { return false };
    if !record.fit(MAX_CELL) {
        return false;
    }
    record.write_row(out);
    true
}

impl WebIndexRecord {
    /// The record of a page; none for events that the index does not store.
    pub fn from_event(event: &PageEvent, text: &PageText, limits: &WebIndexLimits) -> Option<WebIndexRecord> {
        page_of(event)?;
        let facts = text.page.as_ref()?;
        let about = &facts.about;
        let described = about.first("description").map(str::to_owned).or_else(|| about.description());
        let description = cut(&described.unwrap_or_default(), limits.description);
        let (content_snippet, content_snippet_quality) =
            snippet(&main_text(&text.facts.text()), &description, &facts.text, limits.content_snippet);
        Some(WebIndexRecord {
            original_url: event.url.clone(),
            final_url: event.final_url.clone(),
            original_canonical_url: canonical(&event.url),
            final_canonical_url: canonical(&event.final_url),
            crawl_timestamp: event.ended_ms / 1000,
            language: cut(text.facts.lang.as_deref().unwrap_or_default().trim(), limits.language),
            title: cut(text.facts.title.as_deref().unwrap_or_default(), limits.title),
            headings: headings(facts, limits),
            keywords: cut(about.first("keywords").unwrap_or_default(), limits.keywords),
            author: cut(&facts.authors().map_or(Vec::new(), |found| found.value).join(", "), limits.author),
            description,
            content_snippet,
            content_snippet_quality,
            image_alts: joined(&facts.image_alts, limits.image_alts),
            link_texts: joined(facts.link_texts(), limits.link_texts),
            total_links_count: facts.links as u64,
        })
    }

    /// Shortens the record until its cell has at most `limit` characters, least important parts first. Returns false if
    /// that is not enough.
    fn fit(&mut self, limit: usize) -> bool {
        let mut over = self.characters().saturating_sub(limit);
        for text in [&mut self.link_texts, &mut self.image_alts] {
            over -= shorten(text, over);
        }
        while over > 0
            && let Some(mut last) = self.headings.last_entry()
        {
            // Counts only the quotes around each text, not other syntax, so that enough is cut.
            match last.get_mut().pop() {
                Some(text) => over = over.saturating_sub(2 + text.chars().map(escaped).sum::<usize>()),
                None => drop(last.remove()),
            }
        }
        let about = [&mut self.keywords, &mut self.author, &mut self.content_snippet, &mut self.description];
        for text in about.into_iter().chain([&mut self.title, &mut self.language]) {
            over -= shorten(text, over);
        }
        // These can be derived from the other URLs.
        for text in [&mut self.original_canonical_url, &mut self.final_canonical_url] {
            if over > 0 {
                over = over.saturating_sub(text.chars().map(escaped).sum());
                text.clear();
            }
        }
        over == 0
    }

    /// Number of characters of the cell before quotes are doubled.
    fn characters(&self) -> usize {
        let json = serde_json::to_string(self).expect("strings and numbers are always JSON");
        json.chars().count()
    }

    /// Appends the row to `out`: a quoted cell with doubled quotes, and CRLF.
    pub fn write_row(&self, out: &mut Vec<u8>) {
        let json = serde_json::to_string(self).expect("strings and numbers are always JSON");
        out.reserve(json.len() + json.len() / 4);
        out.push(b'"');
        out.extend_from_slice(json.replace('"', "\"\"").as_bytes());
        out.push(b'"');
        out.extend_from_slice(ROW_END);
    }

    /// Turns the record into an event without a body.
    pub fn into_event(self) -> PageEvent {
        let mut event = PageEvent::empty(self.original_url);
        if !self.final_url.is_empty() {
            event.final_url = self.final_url;
        }
        event.ended_ms = self.crawl_timestamp.saturating_mul(1000);
        event.started_ms = event.ended_ms;
        event.give_id();
        event
    }
}

/// The same for every spelling of a URL: normalised, without fragment. Invalid URLs stay unchanged.
fn canonical(given: &str) -> String {
    url::parse(given).unwrap_or_else(|| given.to_owned())
}

fn headings(facts: &PageFacts, limits: &WebIndexLimits) -> BTreeMap<String, Vec<String>> {
    let mut headings: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for heading in facts.headings().filter(|heading| usize::from(heading.level) <= limits.heading_level) {
        let texts = headings.entry(format!("h{}", heading.level)).or_default();
        if texts.len() < limits.headings {
            texts.push(cut(&heading.text, limits.heading));
        }
    }
    headings
}

/// The beginning of a text that describes the page, with its quality. In order of preference: the main text from its
/// first sentences on (0.5 to 1, more for a longer snippet); the author's description (0.4); a main text without
/// sentences, such as a list (0.3 to 0.4); any visible text (up to 0.3).
fn snippet(main: &str, description: &str, visible: &str, limit: usize) -> (String, f64) {
    let fill = |text: &str| (text.chars().count() as f64 / limit.max(1) as f64).min(1.0);
    let begin = main.lines().position(is_prose);
    let prose = joined(main.lines().skip(begin.unwrap_or(usize::MAX)), limit);
    if !prose.is_empty() {
        let quality = 0.5 + 0.5 * fill(&prose);
        return (prose, quality);
    }
    if !description.is_empty() {
        return (one_line(description, limit), 0.4);
    }
    let main = one_line(main, limit);
    if !main.is_empty() {
        let quality = 0.3 + 0.1 * fill(&main);
        return (main, quality);
    }
    let visible = one_line(visible, limit);
    let quality = 0.3 * fill(&visible);
    (visible, quality)
}

/// Whether a line is a paragraph: long enough and with the end of a sentence. Excludes labels and cookie notices, with
/// which pages often begin.
fn is_prose(line: &str) -> bool {
    let is_long = line.chars().nth(if line.is_ascii() { 60 } else { 30 }).is_some();
    let ends = ['.', '!', '?', '…', '。', '！', '？', '।', '؟', '۔', '።', '։'];
    is_long && line.contains(ends) && !["cookie", "Cookie", "COOKIE", "クッキー"].iter().any(|word| line.contains(word))
}

/// The words separated by single blanks, cut to `limit`.
fn one_line(text: &str, limit: usize) -> String {
    joined(text.split_whitespace(), limit)
}

/// The texts separated by blanks, cut to `limit`.
fn joined<T: AsRef<str>>(texts: impl IntoIterator<Item = T>, limit: usize) -> String {
    let mut all = String::new();
    for text in texts {
        if !all.is_empty() {
            all.push(' ');
        }
        all.push_str(text.as_ref());
        // A character has at most four bytes, so nothing further is needed.
        if all.len() >= limit.saturating_mul(4) {
            break;
        }
    }
    cut(&all, limit)
}

/// Cuts the end of a text so that `over` fewer characters are written, or all of it. Returns how many, at most `over`.
fn shorten(text: &mut String, over: usize) -> usize {
    let (mut gone, mut end) = (0, text.len());
    for (at, c) in text.char_indices().rev() {
        if gone >= over {
            break;
        }
        gone += escaped(c);
        end = at;
    }
    text.truncate(end);
    gone.min(over)
}

/// Number of characters that JSON needs for this one.
fn escaped(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => 1,
    }
}

/// Cuts a text to `limit` characters.
fn cut(text: &str, limit: usize) -> String {
    text::cut(text, limit).to_owned()
}
