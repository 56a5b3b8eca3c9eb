//! Sends the pages of an archive through a sink, with the same sinks and the same loop as a crawl. Each acknowledgement
//! is stored with the location in the archive, so that a killed transfer can continue there.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use seine_delivery::{Cursor, Deriver, Entry, Offset};
use seine_formats::Format;
use seine_parse::DeriveOptions;
use seine_parse::page::EpochMs;

use super::fill::{self, Filled};
use super::inputs::{ArchiveInput, ArchiveInputs, FoundInput, SkipReason};
use super::rate_limit::Pace;
use super::read::{Page, Pages, Problem, RecordLocation};
use super::transfer_state::{NotSent, TransferState};
use crate::config::SinkConfig;
use crate::sinks::SinkContext;
use crate::sinks::pump::{BATCH_BYTES, BATCH_EVENTS, Feed, Step, pump};

/// Decoded bodies up to this size are never cut, whatever limit the crawl has. An archive's content should be kept.
const MAX_DECODED_BYTES: u64 = 256 << 20;
/// Limit of the lists of inputs that were skipped or are incomplete.
const MAX_NAMED: usize = 100;

/// Selects pages.
pub(crate) type Wanted = Box<dyn FnMut(&Page) -> anyhow::Result<bool>>;

/// What to transfer, and where to.
pub struct Transfer {
    pub source: ArchiveInputs,
    pub wanted: Wanted,
    pub sink: SinkConfig,
    /// The transfer stops early at shutdown, and continues when it is run again.
    pub context: SinkContext,
    pub derive: DeriveOptions,
    /// The progress at the start, and the file where it is stored. No file for a destination that cannot continue.
    pub state: TransferState,
    pub state_file: Option<PathBuf>,
    /// Most pages per second.
    pub rate: Option<f64>,
    /// The transfer adds the bytes read from disk.
    pub read: Arc<AtomicU64>,
}

/// Receives the progress of a transfer.
pub trait TransferObserver {
    /// A problem with a record, or with an unreadable input (record 0). Reading continues.
    fn problem(&mut self, problem: &Problem);

    /// The first page of a format was read.
    fn format(&mut self, format: Format);

    /// Called now and then.
    fn progress(&mut self, so_far: &Summary);

    /// While this returns true, nothing is read.
    fn is_paused(&mut self) -> bool {
        false
    }
}

/// The result over all runs of a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// Counts of pages: delivered, not stored by the format, and rejected for good.
    pub delivered: u64,
    pub skipped: u64,
    pub dead: u64,
    pub not_sent: NotSent,
    /// Fields filled in, in this run.
    pub filled: Filled,
    /// Bodies cut at the limit for decoding, in this run.
    pub cut: u64,
    /// Inputs started in this run.
    pub parts: u64,
    /// Pages settled by earlier runs.
    pub before: u64,
    /// Pages by format, in this run.
    pub formats: BTreeMap<Format, u64>,
    /// Incomplete inputs; all their complete records were read. Limited in number.
    pub truncated: Vec<Arc<str>>,
    /// Things that are not archives, and why. Limited in number.
    pub passed_over: Vec<(Arc<str>, String)>,
    /// Number of those missing from the two lists.
    pub unnamed: u64,
    /// Skipped inputs that may contain pages. Each was reported as a problem.
    pub unread: u64,
    /// Empty files that are named like files of pages.
    pub emptied: u64,
}

impl Summary {
    /// Whether nothing was lost.
    pub fn is_success(&self) -> bool {
        self.not_sent.unreadable + self.unread + self.dead + self.cut == 0
            && !self.is_nothing_read()
            && !self.is_without_content()
    }

    /// Whether no page was written, because none has the content that the format demands.
    pub(crate) fn is_without_content(&self) -> bool {
        self.not_sent.without_content > 0 && self.delivered + self.skipped == 0
    }

    /// Whether nothing could be read. A file that a crawl has just started does not count as unreadable.
    pub(crate) fn is_nothing_read(&self) -> bool {
        let NotSent { unreadable, left_out, without_content } = self.not_sent;
        let pages = self.delivered + self.skipped + self.dead + left_out + without_content;
        let nothing_there = self.parts == 0 && (self.emptied == 0 || self.unread > 0);
        pages == 0 && (nothing_there || !self.truncated.is_empty() || unreadable > 0)
    }
}

impl Transfer {
    /// Runs to the end of the archive. After a failure, the state file has everything that was acknowledged.
    pub fn run(self, observer: &mut dyn TransferObserver) -> anyhow::Result<Summary> {
        let (sink, context) = (self.sink.clone(), self.context.clone());
        let max_decoded_bytes = self.derive.max_decoded_bytes.max(MAX_DECODED_BYTES);
        let before = self.state.cursor.position.index;
        let mut feed = ArchiveFeed {
            resume: self.state.settled.clone(),
            pages: None,
            sent: VecDeque::new(),
            next_index: before,
            changed_ms: 0,
            deriver: Deriver::new(DeriveOptions { max_decoded_bytes, ..self.derive.clone() }),
            summary: Summary { before, not_sent: self.state.not_sent, ..Summary::default() },
            pace: self.rate.map(Pace::new),
            ended: false,
            observer,
            transfer: self,
        };
        pump(&mut feed, &sink, &context)?;
        if feed.ended { feed.finish() } else { Ok(feed.so_far()) }
    }
}

struct ArchiveFeed<'a> {
    transfer: Transfer,
    /// Where an earlier run stopped; none once that location was reached.
    resume: Option<(String, u64)>,
    pages: Option<Pages>,
    /// Pages given to the sink and not yet settled, in order.
    sent: VecDeque<Sent>,
    next_index: u64,
    /// Modification time of the current input.
    changed_ms: EpochMs,
    deriver: Arc<Deriver>,
    summary: Summary,
    pace: Option<Pace>,
    ended: bool,
    observer: &'a mut dyn TransferObserver,
}

/// A page in flight, and the counters to store once it is settled.
struct Sent {
    index: u64,
    input: Arc<str>,
    number: u64,
    not_sent: NotSent,
}

impl Feed for ArchiveFeed<'_> {
    fn cursor(&self) -> Cursor {
        self.transfer.state.cursor.clone()
    }

    fn next(&mut self) -> anyhow::Result<Vec<Arc<Entry>>> {
        if self.observer.is_paused() {
            return Ok(Vec::new());
        }
        let most = self.pace.as_ref().map_or(BATCH_EVENTS, Pace::batch);
        let (mut entries, mut bytes) = (Vec::new(), 0);
        while entries.len() < most && bytes < BATCH_BYTES {
            let Some(page) = self.next_page()? else {
                self.ended = true;
                break;
            };
            bytes += page.event.response().map_or(0, |response| response.body.len());
            entries.push(self.send(page));
        }
        if let Some(pace) = &mut self.pace {
            pace.wait(entries.len());
        }
        Ok(entries)
    }

    fn has_ended(&self) -> bool {
        self.ended
    }

    fn commit(&mut self, cursor: Cursor) -> anyhow::Result<()> {
        while self.sent.front().is_some_and(|sent| sent.index <= cursor.position.index)
            && let Some(sent) = self.sent.pop_front()
        {
            self.transfer.state.settled = Some((sent.input.to_string(), sent.number));
            self.transfer.state.not_sent = sent.not_sent;
        }
        self.transfer.state.cursor = cursor;
        self.save()
    }

    fn stepped(&mut self, _: Step) {
        self.tell();
    }
}

impl ArchiveFeed<'_> {
    /// The next selected page.
    fn next_page(&mut self) -> anyhow::Result<Option<Page>> {
        loop {
            let Some(pages) = &mut self.pages else {
                if !self.next_part()? {
                    return Ok(None);
                }
                continue;
            };
            match pages.next() {
                Some(Ok(page)) if !(self.transfer.wanted)(&page)? => self.summary.not_sent.left_out += 1,
                Some(Ok(mut page)) => {
                    self.count_format(page.format);
                    match self.transfer.sink.format {
                        Some(to) if !fill::has_content_for(&page, to) => self.summary.not_sent.without_content += 1,
                        Some(to) => {
                            fill::fill(&mut page, to, self.changed_ms, &mut self.summary.filled);
                            return Ok(Some(page));
                        }
                        None => return Ok(Some(page)),
                    }
                }
                Some(Err(problem)) => {
                    self.summary.not_sent.unreadable += 1;
                    self.observer.problem(&problem);
                }
                None => self.end_part(),
            }
        }
    }

    /// Opens the next input; returns false if there are no more.
    fn next_part(&mut self) -> anyhow::Result<bool> {
        loop {
            let input = match self.transfer.source.next() {
                None if self.resume.is_some() => anyhow::bail!(self.lost_offset()),
                None => return Ok(false),
                Some(found) => match found? {
                    FoundInput::Input(input) => input,
                    FoundInput::PassedOver { name, why } => {
                        self.pass_over(name, &why);
                        continue;
                    }
                },
            };
            if let Some(after) = self.resume_in(&input) {
                self.summary.parts += 1;
                self.changed_ms = fill::changed_ms(&input);
                self.pages = Some(Pages::open(&input, after, &self.transfer.read)?);
                return Ok(true);
            }
            self.transfer.read.fetch_add(input.bytes, Ordering::Relaxed);
        }
    }

    /// The number of the record after which to read the input; none if an earlier run completed it.
    fn resume_in(&mut self, input: &ArchiveInput) -> Option<u64> {
        match &self.resume {
            None => Some(0),
            Some((name, _)) if *name != *input.name => None,
            Some(_) => self.resume.take().map(|(_, number)| number),
        }
    }

    fn lost_offset(&self) -> String {
        let input = self.resume.as_ref().map_or("", |(name, _)| name.as_str());
        let file = self.transfer.state_file.as_deref().unwrap_or(Path::new("")).display();
        format!("{input}, where an earlier run stopped, is gone; restore it, or remove {file} to start over")
    }

    fn end_part(&mut self) {
        let pages = self.pages.take().filter(|pages| pages.truncated() && self.summary.truncated.len() < MAX_NAMED);
        self.summary.truncated.extend(pages.map(|pages| pages.input().clone()));
        self.tell();
    }

    fn pass_over(&mut self, name: Arc<str>, why: &SkipReason) {
        if let SkipReason::Unread(why) = why {
            self.summary.unread += 1;
            let location = RecordLocation { input: name, number: 0, offset: None };
            return self.observer.problem(&Problem { location, text: format!("passed over, {why}") });
        }
        self.summary.emptied += u64::from(*why == SkipReason::Emptied);
        if self.summary.passed_over.len() < MAX_NAMED {
            self.summary.passed_over.push((name, why.to_string()));
        } else {
            self.summary.unnamed += 1;
        }
    }

    fn count_format(&mut self, format: Format) {
        let count = self.summary.formats.entry(format).or_default();
        *count += 1;
        if *count == 1 {
            self.observer.format(format);
        }
    }

    fn send(&mut self, page: Page) -> Arc<Entry> {
        self.next_index += 1;
        let index = self.next_index;
        self.sent.push_back(Sent {
            index,
            input: page.location.input,
            number: page.location.number,
            not_sent: self.summary.not_sent,
        });
        Arc::new(Entry::new(Offset { index, offset: index }, Arc::new(page.event), &self.deriver))
    }

    fn save(&self) -> anyhow::Result<()> {
        match &self.transfer.state_file {
            Some(path) => Ok(self.transfer.state.save(path)?),
            None => Ok(()),
        }
    }

    fn so_far(&self) -> Summary {
        let Cursor { delivered, skipped, dead, .. } = self.transfer.state.cursor;
        Summary { delivered, skipped, dead, cut: self.deriver.cut(), ..self.summary.clone() }
    }

    fn tell(&mut self) {
        let so_far = self.so_far();
        self.observer.progress(&so_far);
    }

    /// Everything is settled.
    fn finish(mut self) -> anyhow::Result<Summary> {
        self.transfer.state.not_sent = self.summary.not_sent;
        self.transfer.state.done = true;
        self.save()?;
        Ok(self.so_far())
    }
}
