//! `seine cat`: prints the pages of archives, one JSON object per line.

use std::collections::BTreeSet;
use std::io::{BufWriter, IsTerminal, Write};
use std::net::IpAddr;
use std::process::ExitCode;

use seine_formats::base64;
use seine_formats::files::gathered;
use seine_formats::http::shown_value;
use seine_formats::stored_fields::Field;
use seine_formats::text::{IsoTime, text_of};
use seine_parse::decode::{DecodeProblem, decode_body};
use seine_parse::page::{Headers, Relevance, Truncated};
use serde::Serialize;
use serde::ser::Serializer;

use super::archive::{ENDS_EARLY, FilterArgs, NOTHING_READ, ReadingArgs};
use super::is_closed_pipe;
use super::ticker::Ticker;
use crate::archive::filter::PageFilter;
use crate::archive::inputs::{ArchiveInput, ArchiveInputs, FoundInput, SkipReason};
use crate::archive::read::{Page, Pages, Problem};

/// Maximum size of a decompressed body.
const MAX_DECODED_BYTES: u64 = 256 << 20;

/// Print the pages of archives, one JSON line per page.
///
/// Reads files of every format, also ACHE's, compressed, truncated or still open; folders with all below them;
/// patterns; and Kafka topics up to their present end. The content of a file decides its format. Other files in a
/// folder are listed and skipped. A line has only the fields that its format has.
///
/// Exit status: 0; 1 if something could not be read, or there was nothing to read; 2 for wrong arguments.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files, folders, patterns, kafka://HOST:PORT/TOPIC.
    #[arg(value_name = "FROM", required = true)]
    from_names: Vec<String>,
    /// Also print bodies: as "content" if they are text, else as "content_base64".
    #[arg(long)]
    content: bool,
    /// Also print the location of each page: file, record number, byte.
    #[arg(long)]
    location: bool,
    /// The name of --location in 0.1.0.
    #[arg(long, hide = true)]
    place: bool,
    #[command(flatten)]
    filter_args: FilterArgs,
    #[command(flatten)]
    reading: ReadingArgs,
}

const EXAMPLES: &str = "\
Examples:
  seine cat data/files | head -1                            the first page
  seine cat data --type 'image/*' | jq -r .url              the images' URLs
  seine cat 'old/*.gz' --host example.com --content         pages of a host, with their content
  seine cat kafka://localhost:9092/pages --from 2026-11-01  a topic's pages of this month";

/// Prints pages to standard output and problems to standard error.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = args.reading.source_options()?;
    if args.place {
        eprintln!("seine: --place is now --location");
    }
    let ticker = Ticker::new(&args.from_names, &options, false);
    let source = ArchiveInputs::open(&args.from_names, options)?;
    let mut cat = Cat {
        out: BufWriter::new(std::io::stdout().lock()),
        on_terminal: std::io::stdout().is_terminal(),
        filter: args.filter_args.filter(),
        content: args.content,
        location: args.location || args.place,
        ticker,
        printed: 0,
        seen: Seen::default(),
        damaged: false,
        line: Vec::new(),
    };
    let printed = cat.all(source);
    cat.ticker.end();
    match printed {
        Err(error) if is_closed_pipe(&error) => return Ok(ExitCode::SUCCESS),
        printed => printed?,
    }
    cat.ticker.print_rest();
    if !cat.damaged && cat.seen.is_nothing() {
        cat.ticker.screen.print(NOTHING_READ);
        cat.damaged = true;
    }
    Ok(if cat.damaged { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

struct Cat<W: Write> {
    out: W,
    /// The progress line must be cleared before each page.
    on_terminal: bool,
    filter: PageFilter,
    content: bool,
    location: bool,
    ticker: Ticker,
    printed: u64,
    seen: Seen,
    damaged: bool,
    line: Vec<u8>,
}

/// Counts of what was found, printed or not.
#[derive(Default)]
struct Seen {
    pages: u64,
    parts: u64,
    /// Inputs that end early.
    cut: u64,
    /// Archive files without pages, as a new crawl has them.
    emptied: u64,
}

impl Seen {
    fn is_nothing(&self) -> bool {
        self.pages == 0 && (self.cut > 0 || self.parts + self.emptied == 0)
    }
}

impl<W: Write> Cat<W> {
    fn all(&mut self, source: ArchiveInputs) -> anyhow::Result<()> {
        let mut reported = BTreeSet::new();
        for found in source {
            match found? {
                FoundInput::Input(input) => self.input(&input)?,
                FoundInput::PassedOver { name, why } => {
                    self.damaged |= matches!(why, SkipReason::Unread(_));
                    self.seen.emptied += u64::from(why == SkipReason::Emptied);
                    if reported.len() < 100 && reported.insert(name.clone()) {
                        self.ticker.screen.print(&format!("seine: {name}: skipped, {why}\n"));
                    }
                }
            }
        }
        Ok(self.out.flush()?)
    }

    fn input(&mut self, input: &ArchiveInput) -> anyhow::Result<()> {
        let mut pages = Pages::open(input, 0, self.ticker.read())?;
        self.seen.parts += 1;
        for page in &mut pages {
            self.seen.pages += u64::from(page.is_ok());
            match page {
                Ok(page) if self.filter.takes(&page) => self.print(&page)?,
                Ok(_) => {}
                Err(problem) => {
                    self.damaged = true;
                    self.ticker.problem(&problem);
                }
            }
            self.ticker.count(self.printed);
        }
        if pages.truncated() {
            self.seen.cut += 1;
            self.ticker.screen.print(&format!("seine: {}: {ENDS_EARLY}\n", input.name));
        }
        Ok(())
    }

    fn print(&mut self, page: &Page) -> anyhow::Result<()> {
        self.line.clear();
        let decoded = page.event.response().map(|it| decode_body(it, MAX_DECODED_BYTES)).unwrap_or_default();
        if let Some(DecodeProblem::OverLimit { limit, .. }) = decoded.problem {
            let text = format!(
                "the body of {} has more than {limit} bytes after decompression and was cut there",
                page.event.url
            );
            self.damaged = true;
            self.ticker.problem(&Problem { location: page.location.clone(), text });
        }
        write_page(page, &decoded.body, self.content, self.location, &mut self.line);
        if self.on_terminal {
            let (out, line) = (&mut self.out, &self.line);
            self.ticker.screen.above(|| out.write_all(line).and_then(|()| out.flush()))?;
        } else {
            self.out.write_all(&self.line)?;
        }
        self.printed += 1;
        Ok(())
    }
}

/// The fields printed for a page.
#[serde_with::skip_serializing_none]
#[derive(Serialize)]
struct PageLine<'a> {
    url: &'a str,
    /// Null: no redirect. Missing: the format does not have it.
    redirected_url: Option<Option<&'a str>>,
    status: Option<u16>,
    /// Null: the server sent none.
    content_type: Option<Option<&'a str>>,
    fetch_time: Option<IsoTime>,
    ip: Option<IpAddr>,
    /// Size of the body without content codings.
    size: Option<usize>,
    relevance: Option<Relevance>,
    /// Name of the page classifier.
    relevance_model: Option<&'a str>,
    crawler_id: Option<&'a str>,
    /// Why the body is shorter than on the server.
    truncated: Option<Truncated>,
    response_headers: Option<Gathered<'a>>,
    content: Option<&'a str>,
    content_base64: Option<&'a str>,
    #[serde(flatten)]
    location: Option<LocationFields<'a>>,
}

#[derive(Serialize)]
struct LocationFields<'a> {
    file: &'a str,
    record: u64,
    offset: Option<u64>,
}

/// A JSON object in the order of the headers.
struct Gathered<'a>(&'a Headers);

impl Serialize for Gathered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(gathered(self.0.0.iter().map(|(name, value)| (&**name, shown_value(value)))))
    }
}

fn write_page(page: &Page, body: &[u8], with_content: bool, with_location: bool, line: &mut Vec<u8>) {
    let event = &page.event;
    let knows = |field| !page.lacks.has(field);
    let response = event.response();
    let content_type = response.and_then(|it| it.content_type());
    let with_content = with_content && knows(Field::Body);
    let text = with_content.then(|| text_of(content_type, body)).flatten();
    let coded = (with_content && text.is_none()).then(|| base64::encode(body));
    let page = PageLine {
        url: &event.url,
        redirected_url: (knows(Field::Url) && knows(Field::FinalUrl)).then(|| event.redirected_url()),
        status: response.map(|it| it.status).filter(|_| knows(Field::Status)),
        content_type: knows(Field::Headers).then_some(content_type),
        fetch_time: knows(Field::Fetched).then_some(IsoTime(event.ended_ms)),
        ip: event.ip,
        size: knows(Field::Body).then_some(body.len()),
        relevance: knows(Field::Relevance).then_some(event.relevance),
        relevance_model: event.model.as_deref(),
        crawler_id: Some(&*event.crawler_id).filter(|id| !id.is_empty()),
        truncated: response.and_then(|it| it.truncated),
        response_headers: response.map(|it| Gathered(&it.headers)).filter(|_| knows(Field::Headers)),
        content: text.as_deref(),
        content_base64: coded.as_deref(),
        location: with_location.then_some(LocationFields {
            file: &page.location.input,
            record: page.location.number,
            offset: page.location.offset,
        }),
    };
    serde_json::to_writer(&mut *line, &page).expect("strings and numbers are always JSON, and a Vec takes every byte");
    line.push(b'\n');
}
