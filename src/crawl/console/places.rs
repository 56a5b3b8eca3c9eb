//! The location of a page at each destination. A destination may be slow or down, so a thread of its own asks it, with
//! a short time limit.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use seine_formats::Format;
use seine_frontier::PageRecord;
use tokio::sync::Semaphore;

use crate::api::said::{DeliveredPlace, SinkPlace};
use crate::archive::place::{self as archive_place, RecordPlace};
use crate::config::{Config, SinkConfig};
use crate::sinks::page_place::{NotTold, PagePlace, Pages, SoughtPage};
use crate::sinks::row;

/// Time limit for all destinations together.
const WAIT: Duration = Duration::from_secs(2);
/// The part of it that is reserved for sending the answer.
const SPARE: Duration = Duration::from_millis(100);
/// Maximum number of such threads, including those that hang.
const AT_ONCE: usize = 16;
static TURNS: Semaphore = Semaphore::const_new(AT_ONCE);

type Told = Result<Option<DeliveredPlace>, NotTold>;

/// Adds the location to each sink that has the page.
pub(super) fn find_places(config: &Config, folder: &Path, page: &PageRecord, sinks: &mut [SinkPlace]) {
    let until = Instant::now() + WAIT;
    let (sender, receiver) = mpsc::channel();
    let mut waiting = 0;
    for (number, sink) in sinks.iter_mut().enumerate() {
        let Some(sink_config) = config.sink(&sink.sink) else { continue };
        if !may_have_it(sink, sink_config) {
            continue;
        }
        let Ok(turn) = TURNS.try_acquire() else {
            sink.place_unknown = Some("not asked: too many requests at the moment".to_owned());
            continue;
        };
        let (config, folder, sought) = (sink_config.clone(), folder.join(sink_config.name()), sought(page));
        let sender = sender.clone();
        let asked = thread::Builder::new().name("why".to_owned()).spawn(move || {
            let _turn = turn; // given back when the thread ends, however late
            // The caller may have stopped waiting.
            let _ = sender.send((number, find(&config, &folder, &sought, until)));
        });
        waiting += usize::from(asked.is_ok());
        sink.place_unknown = Some(format!("no answer within {} s", WAIT.as_secs()));
    }
    while waiting > 0 {
        let Ok((number, told)) = receiver.recv_timeout(until.saturating_duration_since(Instant::now())) else {
            break;
        };
        waiting -= 1;
        if let Some(sink) = sinks.get_mut(number) {
            say(sink, told);
        }
    }
}

/// Whether a sink that has consumed the event may have the page. Archives also keep refused answers. A stream would
/// have to be read from its beginning, so it is left out.
fn may_have_it(sink: &SinkPlace, config: &SinkConfig) -> bool {
    match sink.state.as_str() {
        "delivered" | "removed" => true,
        "passed" => !config.format.is_some_and(Format::is_stream),
        _ => false,
    }
}

fn say(sink: &mut SinkPlace, told: Told) {
    (sink.place, sink.place_unknown) = match told {
        Ok(place) => (place, None),
        Err(NotTold(_)) if sink.state != "delivered" => (None, None),
        Err(NotTold(why)) => (None, Some(why)),
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
    last.into_iter().chain(page.past.delivered_at.map(|event| of(event, None))).collect()
}

fn find(config: &SinkConfig, folder: &Path, sought: &[SoughtPage], until: Instant) -> Told {
    let (row, mut told) = (row(config), Ok(None));
    for page in sought {
        let patience = until.saturating_duration_since(Instant::now() + SPARE);
        told = match (row.find)(config, folder, page, patience) {
            Ok(Some(PagePlace::Among(pages))) => among(config, &pages, page, until),
            Ok(place) => Ok(place.map(said)),
            Err(error) => Err(error),
        };
        if matches!(told, Ok(Some(_))) || row.is_found_by_url {
            break;
        }
    }
    told
}

fn among(config: &SinkConfig, pages: &Pages, page: &SoughtPage, until: Instant) -> Told {
    let not_told = |problem: String| NotTold(format!("{}: {problem}", pages.file.display()));
    let Some(format) = config.format else { return Ok(None) };
    // Leaves time to send the answer.
    let until = until - SPARE;
    let found = archive_place::find(pages, format, (&page.url, page.fetched_ms), until);
    match found.map_err(|error| not_told(error.to_string()))? {
        Some(RecordPlace { number, offset }) => {
            Ok(Some(DeliveredPlace::Record { file: pages.file.display().to_string(), record: Some(number), offset }))
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

fn said(place: PagePlace) -> DeliveredPlace {
    match place {
        PagePlace::Message { topic, partition, offset } => DeliveredPlace::Message { topic, partition, offset },
        PagePlace::Document { index, id, version } => DeliveredPlace::Document { index, id, version },
        PagePlace::Among(Pages { file, .. }) | PagePlace::File(file) => {
            DeliveredPlace::Record { file: file.display().to_string(), record: None, offset: None }
        }
    }
}
