//! Shared by the commands for archives: which archives and pages are meant, and the output.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use regex::Regex;
use seine_formats::Format;

use super::ticker::Ticker;
use crate::archive::fill;
use crate::archive::filter::{self, PageFilter};
use crate::archive::inputs::InputOptions;
use crate::archive::read::Problem;
use crate::archive::transfer::{Summary, TransferObserver, Wanted};
use crate::archive::transfer_state::NotSent;
use crate::config::{self, Config, Destination, Loaded, SinkConfig};
use crate::telemetry::progress::{Screen, grouped};

/// How archives are read.
#[derive(clap::Args)]
pub(super) struct ReadingArgs {
    /// Format of the archive: FILES, CDR31, ELASTIC, WEB_INDEX, FILESYSTEM_HTML, … By default it is detected.
    #[arg(long, value_name = "FORMAT", value_parser = Format::parse)]
    format: Option<Format>,
    /// Configuration file, or a folder with seine.yml or ache.yml.
    #[arg(short, long, value_name = "FILE|DIR")]
    pub config: Option<PathBuf>,
}

/// Selects pages.
#[derive(clap::Args)]
#[command(next_help_heading = "Only pages")]
pub(super) struct FilterArgs {
    /// whose URL, or redirect target, has a match of this regular expression.
    #[arg(long, value_name = "REGEX")]
    url: Option<Regex>,
    /// of this host; `.example.com` includes all hosts below it. Repeatable.
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// fetched on or after this day (2026-11-21) or time (2026-11-21T14:30:00Z).
    #[arg(long, value_name = "TIME", value_parser = filter::parse_from)]
    from: Option<u64>,
    /// fetched on or before this day, or before this time.
    #[arg(long, value_name = "TIME", value_parser = filter::parse_until)]
    until: Option<u64>,
    /// with this status: 200, 4xx, 200-299. Repeatable.
    #[arg(long = "status", value_name = "STATUS", value_parser = filter::parse_status, value_delimiter = ',')]
    statuses: Vec<(u16, u16)>,
    /// of this media type: text/html, image/*. Repeatable.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
}

impl ReadingArgs {
    pub(super) fn source_options(&self) -> anyhow::Result<InputOptions> {
        Ok(InputOptions { format: self.format, kafka: self.kafka_properties()?, without: None })
    }

    /// The configuration, and the sink with this name in it, or the sink for this word of
    /// `target_storage.data_formats`.
    pub(super) fn with_sink(&self, name: &str) -> anyhow::Result<(Config, SinkConfig)> {
        let mut loaded = config::load(self.config.as_deref(), &config::environment())?;
        match loaded.config.sinks.iter().position(|sink| sink.name.eq_ignore_ascii_case(name)) {
            Some(at) => {
                let sink = loaded.config.sinks.swap_remove(at);
                Ok(print_warnings(loaded, sink))
            }
            None => self.with_word(name),
        }
    }

    /// The configuration, and the sink for a word of `target_storage.data_formats`.
    pub(super) fn with_word(&self, word: &str) -> anyhow::Result<(Config, SinkConfig)> {
        let options = [("target_storage.data_formats", word.to_owned())];
        let mut loaded = config::load_with(self.config.as_deref(), &config::environment(), &options)?;
        let sink = loaded.config.sinks.pop();
        let sink =
            sink.with_context(|| format!("{word} is not a sink; `seine check-config --defaults` lists all sinks"))?;
        Ok(print_warnings(loaded, sink))
    }

    /// Login and TLS settings for reading from a broker: those of the configuration for writing.
    fn kafka_properties(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let Some(path) = &self.config else { return Ok(BTreeMap::new()) };
        let loaded = config::load(Some(path), &config::environment())?;
        let ours = |name: &str| ["security.", "sasl.", "ssl."].iter().any(|start| name.starts_with(start));
        let kafka = loaded.config.sinks.iter().find_map(|sink| match &sink.destination {
            Destination::Kafka(kafka) => Some(kafka),
            _ => None,
        });
        let properties = kafka.into_iter().flat_map(|kafka| &kafka.properties).filter(|(name, _)| ours(name));
        Ok(properties.map(|(name, value)| (name.clone(), value.expose().to_owned())).collect())
    }
}

/// Prints the warnings of the configuration.
fn print_warnings(loaded: Loaded, sink: SinkConfig) -> (Config, SinkConfig) {
    for warning in &loaded.warnings {
        eprintln!("seine: {warning}");
    }
    (loaded.config, sink)
}

impl FilterArgs {
    /// A description of the task. The same choice gives the same description, so an interrupted task can be recognised.
    pub(super) fn task(&self, command: &str, from_names: &[String], to: impl Display) -> Vec<String> {
        let mut words = vec![command.to_owned()];
        words.extend(from_names.iter().map(|name| absolute(name)));
        words.push(format!("--to {to}"));
        words.extend(self.url.iter().map(|it| format!("--url {it}")));
        words.extend(self.hosts.iter().map(|it| format!("--host {it}")));
        words.extend(self.from.iter().map(|it| format!("--from {it}")));
        words.extend(self.until.iter().map(|it| format!("--until {it}")));
        words.extend(self.statuses.iter().map(|(first, last)| format!("--status {first}-{last}")));
        words.extend(self.types.iter().map(|it| format!("--type {it}")));
        words
    }

    /// The selection of pages for a transfer.
    pub(super) fn wanted(self) -> Wanted {
        let filter = self.filter();
        Box::new(move |page| Ok(filter.takes(page)))
    }

    pub(super) fn filter(self) -> PageFilter {
        let FilterArgs { url, hosts, from, until, statuses, types } = self;
        let hosts = hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect();
        PageFilter { url, hosts, from, until, statuses, types }
    }
}

/// An archive's name that is valid in any working directory.
fn absolute(name: &str) -> String {
    match name.contains("://") {
        true => name.to_owned(),
        false => std::path::absolute(name).map_or_else(|_| name.to_owned(), |path| path.display().to_string()),
    }
}

/// Output of a conversion or replay.
pub(super) struct TransferOutput {
    pub ticker: Ticker,
    /// The format written, if Seine should report what it cannot hold.
    pub to: Option<Format>,
}

impl TransferOutput {
    /// The exit status. Prints a message if nothing could be read, or written.
    pub(super) fn status(&self, summary: &Summary) -> ExitCode {
        if summary.is_nothing_read() && summary.unread + summary.not_sent.unreadable == 0 {
            self.ticker.screen.print(NOTHING_READ);
        }
        if summary.is_without_content() {
            self.ticker.screen.print(NO_CONTENT);
        }
        if summary.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Prints which inputs were skipped or end early, and the figures.
    pub(super) fn summary(&mut self, summary: &Summary, to: &str, folder: &Path) {
        self.ticker.end();
        self.ticker.print_rest();
        let screen = &self.ticker.screen;
        report_odd_parts(screen, summary);
        for line in fill::text(&summary.filled, &to.to_ascii_uppercase()).lines() {
            screen.print(&format!("seine: {line}\n"));
        }
        screen.print(&summary_text(summary, to, folder, self.ticker.elapsed()));
    }
}

impl TransferObserver for TransferOutput {
    fn problem(&mut self, problem: &Problem) {
        self.ticker.problem(problem);
    }

    fn format(&mut self, format: Format) {
        if let Some(losses) = self.to.and_then(|to| format.losses_in(to)) {
            self.ticker.screen.print(&format!("seine: from {format}: {losses}\n"));
        }
    }

    fn progress(&mut self, so_far: &Summary) {
        self.ticker.count(so_far.delivered + so_far.skipped + so_far.dead);
    }
}

/// Prints which inputs were skipped or end early.
fn report_odd_parts(screen: &Screen, summary: &Summary) {
    for input in &summary.truncated {
        screen.print(&format!("seine: {input}: {ENDS_EARLY}\n"));
    }
    for (name, why) in &summary.passed_over {
        screen.print(&format!("seine: {name}: skipped, {why}\n"));
    }
    if summary.unnamed > 0 {
        screen.print(&format!("seine: and {} more were skipped\n", grouped(summary.unnamed)));
    }
}

pub(super) const ENDS_EARLY: &str =
    "ends early, because its writer was killed or still writes; all complete records were read";

/// Not a single page could be read: the input is not an archive, or it is destroyed.
pub(super) const NOTHING_READ: &str = "seine: no page could be read; check the name of the archive\n";

const NO_CONTENT: &str = "seine: no page was written: this archive has no content, and the format needs it; \
    give an archive of the same pages with their content\n";

fn summary_text(summary: &Summary, to: &str, folder: &Path, took: Duration) -> String {
    let Summary { delivered, skipped, dead, not_sent, cut, before, .. } = summary;
    let NotSent { unreadable, left_out, without_content } = not_sent;
    let seconds = took.as_secs_f64();
    let from: Vec<String> =
        summary.formats.iter().map(|(format, count)| format!("{} pages of {format}", grouped(*count))).collect();
    let from = if from.is_empty() { "nothing".into() } else { from.join(", ") };
    let mut text = format!("\n  {from} to {to} in {seconds:.1} s\n\n");
    let mut line = |count: &u64, name: &str, what: &str| {
        if *count > 0 || name == "delivered" {
            let line = format!("  {name:<12}{:>10}   {what}", grouped(*count));
            text += line.trim_end();
            text.push('\n');
        }
    };
    line(delivered, "delivered", "");
    line(before, "  before", "of these and the ones below, done by earlier runs");
    line(skipped, "skipped", "cannot be stored in this format");
    line(dead, "refused", "kept as dead letters");
    line(left_out, "left out", "not selected");
    line(without_content, "no content", "left out: the archive has no content for them");
    line(cut, "cut", "bodies that are too large after decompression");
    line(unreadable, "unreadable", "records");
    text + &format!("  {:<12}in {}\n", "", folder.display())
}
