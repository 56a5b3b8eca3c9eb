//! `seine sinks refill`: delivers all pages again to a destination that lost them, while the crawl runs or at its next
//! start.
//!
//! The order is a file in [`FILLINGS`] until the sink has started again, so it survives a crash. The sink gets the
//! pages of an archive and then those of the page log; or every page is refetched.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use seine_page_log::PageLog;
use seine_system::folders::{if_there, make_private};

use super::backfill;
use super::readers::{can_be_filled, own_archive};
use super::restart_sink;
use super::running::Running;
use crate::api::Refusal;
use crate::archive::inputs::ArchiveInputs;
use crate::archive::transfer_state::{TransferState, TransferStateError};
use crate::backup::FILLINGS;
use crate::config::{Config, SinkConfig};

/// First word of the task. Names of archives follow, or none for a refetch.
const TASK: &str = "refill";

/// Counts the orders that this process was given. A sink asks after each batch, and the file system only after an order.
#[derive(Debug, Default)]
pub(crate) struct OrderCount(AtomicU64);

impl OrderCount {
    pub(crate) fn now(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Whether an order exists for this sink.
pub(super) fn is_ordered(folder: &Path, sink: &str) -> bool {
    order_file(folder, sink).exists()
}

fn order_file(folder: &Path, sink: &str) -> PathBuf {
    folder.join(FILLINGS).join(format!("{sink}.order.json"))
}

/// Resets the sink's counters if that was ordered. The sink is closed. An interrupted call starts again.
pub(super) fn obey(running: &Running, sink: &SinkConfig) -> anyhow::Result<()> {
    let path = order_file(&running.folder, sink.name());
    let Some(order) = TransferState::read(&path)? else { return Ok(()) };
    let names = order.task.get(1..).unwrap_or_default();
    restart_sink::refill(running, sink.name(), names)?;
    if_there(std::fs::remove_file(&path))?;
    Ok(())
}

/// An order to fill a sink again.
pub(super) struct Order<'o> {
    pub sink: &'o str,
    /// Empty for the crawl's own.
    pub archives: &'o [String],
    /// From the web instead.
    pub refetch: bool,
}

/// Stores the order, and says what will happen.
pub(super) fn order(
    folder: &Path,
    config: &Config,
    log: &PageLog,
    count: &OrderCount,
    order: Order,
) -> Result<String, Refusal> {
    let Order { sink: name, archives, refetch } = order;
    let Some(sink) = config.sink(name).filter(|sink| can_be_filled(sink)) else {
        let names: Vec<_> = config.sinks.iter().filter(|sink| can_be_filled(sink)).map(SinkConfig::name).collect();
        return Err(Refusal::NotFound(format!("the sink {name} cannot be refilled; these can: {}", names.join(", "))));
    };
    if refetch && !archives.is_empty() {
        return Err(Refusal::Bad("give an archive or refetch, not both".to_owned()));
    }
    let names = match archives {
        _ if refetch => Vec::new(),
        [] => vec![own_archive_for(sink, folder, config, log)?],
        given => given.to_vec(),
    };
    if let Some(relative) = names.iter().find(|name| !name.contains("://") && !Path::new(name).is_absolute()) {
        return Err(Refusal::Bad(format!("{relative}: give absolute paths of archives")));
    }
    if !refetch {
        ArchiveInputs::open(&names, backfill::without_own(folder, sink))
            .and_then(ArchiveInputs::check_files)
            .map_err(|problem| Refusal::Bad(problem.to_string()))?;
    }
    keep_order(folder, name, &names)?;
    count.0.fetch_add(1, Ordering::Release);
    let from = if refetch { "the web: every page is refetched".to_owned() } else { names.join(", ") };
    Ok(format!(
        "{name} is refilled from {from}; its counters start at zero (at the next start, if the crawl is stopped)"
    ))
}

fn own_archive_for(sink: &SinkConfig, folder: &Path, config: &Config, log: &PageLog) -> Result<String, Refusal> {
    let archive = own_archive(&log.status(), config, folder, sink.name());
    let archive = archive.ok_or_else(|| {
        let problem = "no sink of this crawl has an archive of all pages";
        Refusal::Conflict(format!(
            "{problem}; give an archive with --from-archive, or refetch every page with --refetch"
        ))
    })?;
    let absolute = std::path::absolute(&archive).unwrap_or(archive);
    Ok(absolute.display().to_string())
}

fn keep_order(folder: &Path, sink: &str, names: &[String]) -> Result<(), Refusal> {
    let place = folder.join(FILLINGS);
    let failed = |why: String| Refusal::Failed(format!("the order cannot be stored: {why}"));
    make_private(&place).map_err(|error| failed(format!("{}: {error}", place.display())))?;
    let task = [TASK.to_owned()].into_iter().chain(backfill::kept_names(folder, names)).collect();
    let order = TransferState { task, ..TransferState::default() };
    order.save(&order_file(folder, sink)).map_err(|error: TransferStateError| failed(error.to_string()))
}
