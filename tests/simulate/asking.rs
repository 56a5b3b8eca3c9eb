//! Asks the program about its crawl at the end: `seine why` for single URLs, and `seine audit` after the process has ended.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use seine::api::Service;
use seine::crawl::audit::audit;

use crate::machine::{Machine, system};
use crate::oracle::Told;
use crate::world::MINUTE;

/// Number of URLs to ask about.
const ASKED: usize = 60;

/// Asks `seine why` about some URLs, spread over all that were requested.
pub fn whys(service: &dyn Service, urls: &[String]) -> Vec<Told> {
    let step = urls.len().div_ceil(ASKED).max(1);
    let told = |url: &String| {
        let why = service.why(url, false).ok()?;
        let sinks = why.sinks.into_iter().map(|place| (place.sink, place.state)).collect();
        Some(Told { url: url.clone(), state: why.state, sinks })
    };
    urls.iter().step_by(step).filter_map(told).collect()
}

/// Runs `seine audit` after the crawl has ended, and returns the counters that do not balance. It asks no destinations, because the audit
/// has real clients of its own.
pub fn audited(machine: &mut Machine, folder: &Path) -> Vec<String> {
    let found: Arc<Mutex<Option<Vec<String>>>> = Arc::default();
    let (answer, data) = (found.clone(), folder.join("data"));
    machine.boot(move || {
        let said = match audit(&data, &[]) {
            Err(error) => vec![format!("seine audit fails: {error}")],
            Ok(audit) => {
                let off = audit.checks.iter().filter(|book| !book.balances());
                off.map(|book| format!("seine audit: {} is off by {}: {book:?}", book.name, book.off_by())).collect()
            }
        };
        *answer.lock() = Some(said);
    });
    machine.run(system::nanos() + 10 * MINUTE * 1_000_000);
    machine.kill();
    let said = found.lock().take();
    said.unwrap_or_else(|| vec!["seine audit does not end within ten minutes".to_owned()])
}
