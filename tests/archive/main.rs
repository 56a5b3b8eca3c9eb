//! Archives: every format is read as pages and written as any other; the commands for archives.

mod bounds;
#[path = "../kafka/broker.rs"]
mod broker;
mod commands;
mod events;
mod facts;
mod golden;
mod hostile;
mod migrate;
mod pairs;
mod recover;
mod replay;
#[path = "../support/sink.rs"]
mod sink;
mod source;
mod stores;
mod superset;
#[path = "../support/mod.rs"]
mod support;
mod text;
mod trees;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use seine::archive::inputs::{ArchiveInputs, FoundInput, InputOptions};
use seine::archive::read::{Page, Pages, Problem};
use seine::archive::transfer::{Summary, Transfer, TransferObserver};
use seine::archive::transfer_state::TransferState;
use seine::config::{Config, SinkConfig};
use seine::sinks::SinkContext;
use seine_delivery::{Deriver, Entry, Offset};
use seine_formats::Format;
use seine_formats::cdr31::FORMAT as CDR31;
use seine_formats::elastic::FORMAT as ELASTIC;
use seine_formats::files::FORMAT as FILES;
use seine_formats::filesystem::{CBOR, HTML, JSON};
use seine_formats::pagestore::FORMAT as PAGESTORE;
use seine_formats::tianwang::FORMAT as TIANWANG;
use seine_formats::warc::FORMAT as WARC;
use seine_formats::web_index::FORMAT as WEB_INDEX;
use seine_parse::DeriveOptions;
use seine_parse::page::PageEvent;

/// Longer than any wait of a passing test.
const LONG: Duration = Duration::from_secs(90);

fn options() -> DeriveOptions {
    DeriveOptions { max_decoded_bytes: 256 << 20, ..DeriveOptions::from(&Config::default()) }
}

/// The sink with this name and default settings.
fn sink_config(name: &str) -> SinkConfig {
    sink::config(name, &[])
}

/// Writes files of a format as a crawl does.
fn write(format: Format, events: &[PageEvent], folder: &Path) {
    let deriver = Deriver::new(options());
    let entry = |(index, event): (usize, &PageEvent)| {
        let index = index as u64 + 1;
        Arc::new(Entry::new(Offset { index, offset: index }, Arc::new(event.clone()), &deriver))
    };
    let entries: Vec<_> = events.iter().enumerate().map(entry).collect();
    let config = sink_config(format.name);
    let mut sink = sink::open(&config, folder, &serde_json::Value::Null);
    sink.flush().unwrap();
    sink.deliver(&entries).unwrap();
    sink.flush().unwrap();
    sink.close().unwrap();
}

fn source(path: &Path) -> ArchiveInputs {
    ArchiveInputs::open(&[path.to_str().unwrap().to_owned()], InputOptions::default()).unwrap()
}

/// All pages and problems below a path. Nothing may be skipped.
fn read(path: &Path) -> (Vec<Page>, Vec<Problem>) {
    let (mut pages, mut problems) = (Vec::new(), Vec::new());
    for found in source(path) {
        match found.unwrap() {
            FoundInput::Input(input) => {
                for page in Pages::open(&input, 0, &Arc::default()).unwrap() {
                    match page {
                        Ok(page) => pages.push(page),
                        Err(problem) => problems.push(problem),
                    }
                }
            }
            FoundInput::PassedOver { name, why } => panic!("{name} was passed over: {why}"),
        }
    }
    (pages, problems)
}

/// The pages of an archive that must be intact.
#[track_caller]
fn pages(path: &Path) -> Vec<Page> {
    let (pages, problems) = read(path);
    assert!(problems.is_empty(), "{problems:?}");
    pages
}

fn transfer(from: &Path, to: &Path, sink: &str) -> Transfer {
    Transfer {
        source: source(from),
        wanted: Box::new(|_| Ok(true)),
        sink: sink_config(sink),
        context: SinkContext::new(to),
        derive: options(),
        state: TransferState::default(),
        state_file: None,
        rate: None,
        read: Default::default(),
    }
}

/// An observer that ignores everything.
struct Silent;

impl TransferObserver for Silent {
    fn problem(&mut self, _: &Problem) {}
    fn format(&mut self, _: Format) {}
    fn progress(&mut self, _: &Summary) {}
}
