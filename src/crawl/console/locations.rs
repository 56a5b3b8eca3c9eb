//! The location of a page at each destination. A destination may be slow or down, so a thread of its own asks it, with
//! a short time limit.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use seine_formats::Format;
use seine_frontier::PageRecord;
use tokio::sync::Semaphore;

use crate::api::schema::{DeliveredLocation, SinkStory};
use crate::archive::record_position::{self as archive_place, RecordPosition};
use crate::config::{Config, SinkConfig};
use crate::sinks::page_location::{LocationUnknown, PageLocation, Pages, SoughtPage};
use crate::sinks::row;

/// Time limit for all destinations together.
const WAIT: Duration = Duration::from_secs(2);
/// The part of it that is reserved for sending the answer.
const SPARE: Duration = Duration::from_millis(100);
/// Maximum number of such threads, including those that hang.
const AT_ONCE: usize = 16;
static THREADS: Semaphore = Semaphore::const_new(AT_ONCE);

type Located = Result<Option<DeliveredLocation>, LocationUnknown>;

/// Adds the location to each sink that has the page.
pub(super) fn find_locations(config: &Config, folder: &Path, page: &PageRecord, sinks: &mut [SinkStory]) {
    let until = Instant::now() + WAIT;
    let (sender, receiver) = mpsc::channel();
    let mut waiting = 0;
    for (number, sink) in sinks.iter_mut().enumerate() {
        let Some(sink_config) = config.sink(&sink.sink) else { continue };
        if !may_have_it(sink, sink_config) {
            continue;
        }
        let Ok(thread) = THREADS.try_acquire() else {
            sink.location_unknown = Some("not asked: too many requests at the moment".to_owned());
            continue;
        };
        let (config, folder, sought) = (sink_config.clone(), folder.join(sink_config.name()), sought(page));
        let sender = sender.clone();
        let asked = thread::Builder::new().name("why".to_owned()).spawn(move || {
            let _turn = thread; // given back when the thread ends, however late
            // The caller may have stopped waiting.
            let _ = sender.send((number, find(&config, &folder, &sought, until)));
        });
        waiting += usize::from(asked.is_ok());
        sink.location_unknown = Some(format!("no answer within {} s", WAIT.as_secs()));
    }
    while waiting > 0 {
        let Ok((number, located)) = receiver.recv_timeout(until.saturating_duration_since(Instant::now())) else {
            break;
        };
        waiting -= 1;
        if let Some(sink) = sinks.get_mut(number) {
            say(sink, located);
        }
    }
}

/// Whether a sink that has consumed the event may have the page. Archives also keep refused answers. A stream would
/// have to be read from its beginning, so it is left out.
fn may_have_it(sink: &SinkStory, config: &SinkConfig) -> bool {
    match sink.state.as_str() {
        "delivered" | "removed" => true,
        "passed" => !config.format.is_some_and(Format::is_stream),
        _ => false,
    }
}

fn say(sink: &mut SinkStory, located: Located) {
    (sink.location, sink.location_unknown) = match located {
        Ok(location) => (location, None),
        Err(LocationUnknown(_)) if sink.state != "delivered" => (None, None),
        Err(LocationUnknown(why)) => (None, Some(why)),
    };
}

/// The last event, and the last event with a page to deliver, which is what some destinations have.
fn sought(page: &PageRecord) -> Vec<SoughtPage> {
    let of = |event: u64, event_id: Option<String>| SoughtPage {
        url: page.url.clone(),
        fetched_ms: page.fetched_ms,
        event,
        event_id,
    };
    let last = page.passed_at.map(|event| of(event, Some(page.event_id.clone())));
    last.into_iter().chain(page.url_history.delivered_at.map(|event| of(event, None))).collect()
}

fn find(config: &SinkConfig, folder: &Path, sought: &[SoughtPage], until: Instant) -> Located {
    let (row, mut located) = (row(config), Ok(None));
    for page in sought {
        let patience = until.saturating_duration_since(Instant::now() + SPARE);
        located = match (row.find)(config, folder, page, patience) {
            Ok(Some(PageLocation::Among(pages))) => among(config, &pages, page, until),
            Ok(location) => Ok(location.map(said)),
            Err(error) => Err(error),
        };
        if matches!(located, Ok(Some(_))) || row.is_found_by_url {
            break;
        }
    }
    located
}

fn among(config: &SinkConfig, pages: &Pages, page: &SoughtPage, until: Instant) -> Located {
    let not_told = |problem: String| LocationUnknown(format!("{}: {problem}", pages.file.display()));
    let Some(format) = config.format else { return Ok(None) };
    // Leaves time to send the answer.
    let until = until - SPARE;
    let found = archive_place::find(pages, format, (&page.url, page.fetched_ms), until);
    match found.map_err(|error| not_told(error.to_string()))? {
        Some(RecordPosition { number, offset }) => {
            Ok(Some(DeliveredLocation::Record { file: pages.file.display().to_string(), record: Some(number), offset }))
        }
        None if Instant::now() >= until => {
            let (first, last) = (pages.first, pages.first + pages.count - 1);
            Err(not_told(format!(
                "it is one of the records {first} to {last}; the file is large, and was not read to there in time"
            )))
        }
        None => Err(not_told("its record is missing".to_owned())),
    }
}

fn said(location: PageLocation) -> DeliveredLocation {
    match location {
        PageLocation::Message { topic, partition, offset } => DeliveredLocation::Message { topic, partition, offset },
        PageLocation::Document { index, id, version } => DeliveredLocation::Document { index, id, version },
        PageLocation::Among(Pages { file, .. }) | PageLocation::File(file) => {
            DeliveredLocation::Record { file: file.display().to_string(), record: None, offset: None }
        }
    }
}
