//! Orders of the operator. Each order survives restarts and is recorded with its author.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use seine_frontier::HostOrder;
use seine_system::blocking;
use seine_system::clock::now_ms;
use seine_system::folders::if_there;
use serde_json::Value;

use super::Console;
use crate::api::Refusal;
use crate::api::said::{Done, Order, Ordered};
use crate::crawl::{clients, filling};
use crate::telemetry::progress::{bytes, grouped};

/// In the data folder: one JSON object per line, [`Ordered`].
const FILE: &str = "orders.jsonl";
/// Number of latest orders to show.
const SHOWN: usize = 100;
/// Number of bytes to read from the end of the file.
const LOOKED_THROUGH: u64 = 1 << 20;
/// How long to wait for the request in progress of a blocked host.
const LETTING_GO: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(10);
/// Maximum delay of a host.
const LONGEST_DELAY_MS: u64 = 24 * 3600 * 1000;

impl Console {
    pub fn order(&self, order: &Order, by: &str) -> Result<Done, Refusal> {
        let done = self.obey(order, by)?;
        let is_a_question = matches!(order, Order::Retry(retry) if retry.dry_run);
        // Forgetting records each order when it is done.
        if is_a_question || matches!(order, Order::Forget(_)) {
            return Ok(done);
        }
        let warning = self.note(by, serde_json::to_value(order).unwrap_or_default(), &done.done);
        Ok(Done { warning, ..done })
    }

    fn obey(&self, order: &Order, by: &str) -> Result<Done, Refusal> {
        let frontier = &*self.frontier;
        let done = match order {
            Order::Pause | Order::Resume => self.pause_crawl(*order == Order::Pause)?.to_owned(),
            Order::PauseSink { sink } | Order::ResumeSink { sink } => {
                self.know_sink(sink)?;
                let pause = matches!(order, Order::PauseSink { .. });
                self.pauses.pause_sink(frontier, sink, pause)?;
                match pause {
                    true => format!("{sink} is paused: the page log keeps events for it, up to page_log.max_size"),
                    false => format!("{sink} goes on"),
                }
            }
            Order::RemoveSink { sink } => self.remove_sink(sink)?,
            Order::RefillSink { sink, archives, refetch } => self.refill_sink(sink, archives, *refetch)?,
            Order::BlockHost { host } => self.order_host(host, HostOrder::Block)?,
            Order::UnblockHost { host } => self.order_host(host, HostOrder::Unblock)?,
            Order::SetHostDelay { host, delay_ms } => {
                if delay_ms.is_some_and(|delay| delay > LONGEST_DELAY_MS) {
                    return Err(Refusal::Bad("a delay is at most a day; to stop fetching, block the host".to_owned()));
                }
                self.order_host(host, HostOrder::Delay(delay_ms.map(Duration::from_millis)))?
            }
            Order::SetHostPages { host, pages } => {
                if *pages == Some(0) {
                    return Err(Refusal::Bad(
                        "the limit is at least one page; to stop fetching, block the host".to_owned(),
                    ));
                }
                self.order_host(host, HostOrder::Pages(*pages))?
            }
            Order::SetLimit { limit, most } => {
                let name = self.limits.order(frontier, limit, Some(*most))?;
                match most {
                    Some(most) => format!("{name}: at most {}, instead of the configured value", grouped(*most)),
                    None => format!("{name}: no limit, instead of the configured value"),
                }
            }
            Order::ResetLimit { limit } => {
                format!("{}: as configured", self.limits.order(frontier, limit, None)?)
            }
            Order::ReadmitClient { client } => self.readmit(client)?,
            Order::Forget(forget) => return self.forget(forget, by),
            Order::Retry(retry) => {
                let counts = self.retry(retry)?;
                let urls: u64 = counts.iter().map(|count| count.urls).sum();
                let done = match retry.dry_run {
                    true => format!("{} would be retried", grouped(urls)),
                    false => format!("{} queued", grouped(urls)),
                };
                return Ok(Done { done, counts, warning: None });
            }
        };
        Ok(Done { done, ..Done::default() })
    }

    fn pause_crawl(&self, pause: bool) -> Result<&'static str, Refusal> {
        let has_changed = self.pauses.pause_crawl(&*self.frontier, pause)?;
        Ok(match (pause, has_changed) {
            (true, true) => "the crawl is paused: fetches in progress end and are delivered",
            (true, false) => "the crawl was already paused",
            (false, true) => "the crawl continues",
            (false, false) => "the crawl was not paused",
        })
    }

    fn readmit(&self, client: &str) -> Result<String, Refusal> {
        let names: Vec<&str> = self.config.work.clients.iter().map(|(name, _)| name.as_str()).collect();
        if !names.contains(&client) {
            let known = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
            return Err(Refusal::NotFound(format!("no remote worker is named {client:?}; work.clients has {known}")));
        }
        match &self.clients {
            Some(clients) => clients.readmit(client)?,
            None => clients::readmit(&self.config.work, &*self.frontier, client)?,
        }
        Ok(format!("{client} is admitted again; Seine fetches all of its pages itself until it is trusted"))
    }

    fn order_host(&self, host: &str, order: HostOrder) -> Result<String, Refusal> {
        let origins = self.origins_of(host)?;
        for origin in &origins {
            self.frontier.order_host(origin, order, now_ms())?;
        }
        let is_asked = order == HostOrder::Block && !self.is_let_go(&origins)?;
        let (origin, is) = (origins.join(" and "), if origins.len() > 1 { "are" } else { "is" });
        Ok(match order {
            HostOrder::Block if is_asked => {
                format!("{origin} {is} blocked: a request is still in progress, no other follows")
            }
            HostOrder::Block => format!("{origin} {is} blocked: its URLs wait"),
            HostOrder::Unblock => format!("{origin} {is} not blocked"),
            HostOrder::Delay(Some(delay)) => {
                format!("delay of {} ms for {origin}, or that of its robots.txt if it is longer", delay.as_millis())
            }
            HostOrder::Pages(Some(pages)) => format!(
                "at most {} pages of {origin}; links that were left out are added when they are found again",
                grouped(pages)
            ),
            HostOrder::Pages(None) => format!("the configured limit of pages applies to {origin}"),
            HostOrder::Delay(None) => format!("{origin} {is} fetched with the configured delay"),
        })
    }

    /// Waits briefly until no request to these hosts is in progress. False if one takes longer.
    fn is_let_go(&self, origins: &[String]) -> Result<bool, Refusal> {
        let began = Instant::now();
        loop {
            let mut is_leased = false;
            for origin in origins {
                is_leased |= self.frontier.look_at_host(origin)?.is_some_and(|look| look.is_leased);
            }
            if !is_leased || began.elapsed() > LETTING_GO {
                return Ok(!is_leased);
            }
            blocking::sleep(LOOK);
        }
    }

    fn remove_sink(&self, sink: &str) -> Result<String, Refusal> {
        let before = self.log.status();
        if self.config.sink(sink).is_some() && before.reader(sink).is_some_and(|reader| reader.opened) {
            let detail = format!("{sink} is a sink of this run; start the crawl without it first, or pause it");
            return Err(Refusal::Conflict(detail));
        }
        self.know_sink(sink)?;
        let pending = before.reader(sink).map_or(0, |reader| reader.pending);
        self.log.forget(sink)?;
        if let Err(error) = filling::forget(&self.folder, sink) {
            tracing::warn!(sink, %error, "how it was filled from an archive is still noted");
        }
        self.pauses.pause_sink(&*self.frontier, sink, false)?;
        let freed = bytes(before.bytes.saturating_sub(self.log.status().bytes));
        Ok(format!("{sink} is removed, with {} events that it had not delivered; {freed} freed", grouped(pending)))
    }

    /// Refuses the name of a sink that the log does not have.
    fn know_sink(&self, sink: &str) -> Result<(), Refusal> {
        let log = self.log.status();
        let known = log.sinks().map(|(name, _)| name);
        let configured = self.config.sinks.iter().map(|sink| sink.name()).filter(|name| log.reader(name).is_none());
        let names: Vec<&str> = known.chain(configured).collect();
        if names.contains(&sink) {
            return Ok(());
        }
        let (folder, names) = (self.folder.display(), names.join(", "));
        Err(Refusal::NotFound(format!("{folder} has no sink {sink}; it has: {names}")))
    }

    /// The latest orders first. A line cut off by a crash is left out.
    pub fn orders(&self) -> Result<Vec<Ordered>, Refusal> {
        let path = self.folder.join(FILE);
        let failed = |error: std::io::Error| Refusal::Failed(format!("cannot read {}: {error}", path.display()));
        let Some(file) = if_there(File::open(&path)).map_err(failed)? else { return Ok(Vec::new()) };
        let mut last = std::collections::VecDeque::new();
        for line in last_lines(file).map_err(failed)?.split(|byte| *byte == b'\n') {
            last.extend(serde_json::from_slice::<Ordered>(line).ok());
            if last.len() > SHOWN {
                last.pop_front();
            }
        }
        Ok(last.into_iter().rev().collect())
    }

    /// Records an order that was executed. A failure is returned, but the order stays executed: pausing must work on a
    /// full disk.
    pub(in crate::crawl) fn note(&self, by: &str, order: Value, done: &str) -> Option<String> {
        tracing::info!(by, %order, done, "ordered");
        let ordered = Ordered { at_ms: now_ms(), by: by.to_owned(), order, done: done.to_owned() };
        let path = self.folder.join(FILE);
        let written =
            OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(&path).and_then(|mut file| {
                let whole = if ends_a_line(&mut file)? { "" } else { "\n" };
                file.write_all(format!("{whole}{}\n", serde_json::to_string(&ordered)?).as_bytes())?;
                file.sync_data()
            });
        let error = written.err()?;
        tracing::error!(path = %path.display(), %error, "an order could not be recorded");
        Some(format!("done, but not recorded in the log of orders: cannot write {}: {error}", path.display()))
    }
}

/// Reads the end of the file, which may be large. An incomplete first line is skipped.
fn last_lines(mut file: File) -> std::io::Result<Vec<u8>> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(LOOKED_THROUGH)))?;
    let mut bytes = Vec::new();
    file.take(LOOKED_THROUGH).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// False if a crash cut off the last line; the next line would become part of it.
fn ends_a_line(file: &mut File) -> std::io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
