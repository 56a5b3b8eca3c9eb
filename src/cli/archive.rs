//! What the commands over archives share: how an archive is named, which of its pages are meant, and what is told.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use regex::Regex;

use super::ticker::Ticker;
use crate::archive::fill;
use crate::archive::filter::{self, PageFilter};
use crate::archive::inputs::InputOptions;
use crate::archive::read::Problem;
use crate::archive::transfer::{Summary, TransferObserver, Wanted};
use crate::archive::transfer_state::NotSent;
use crate::config::{self, Config, Destination, Loaded, SinkConfig};
use crate::formats::Format;
use crate::telemetry::progress::{Screen, grouped};

/// How archives are read.
#[derive(clap::Args)]
pub(super) struct ReadingArgs {
    /// The format of what is read, instead of looking at the content: FILES, CDR31, ELASTIC, WEB_INDEX, FILESYSTEM_HTML, …
    #[arg(long, value_name = "FORMAT", value_parser = Format::parse)]
    format: Option<Format>,
    /// A configuration file, or a folder with seine.yml or ache.yml in it.
    #[arg(short, long, value_name = "FILE|DIR")]
    pub config: Option<PathBuf>,
}

/// Which pages are meant.
#[derive(clap::Args)]
#[command(next_help_heading = "Only pages")]
pub(super) struct FilterArgs {
    /// whose URL, asked for or final, this regular expression matches somewhere.
    #[arg(long, value_name = "REGEX")]
    url: Option<Regex>,
    /// of this host; `.example.com`: and of all below it. Repeatable.
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// fetched on this day or later (2026-11-21, or 2026-11-21T14:30:00Z).
    #[arg(long, value_name = "TIME", value_parser = filter::parse_from)]
    from: Option<u64>,
    /// fetched on this day or before, or before this moment.
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
    pub fn source_options(&self) -> anyhow::Result<InputOptions> {
        Ok(InputOptions { format: self.format, kafka: self.kafka_properties()?, without: None })
    }

    /// The configuration and one sink. `name`: of one that it has, or as in `target_storage.data_formats`.
    pub fn with_sink(&self, name: &str) -> anyhow::Result<(Config, SinkConfig)> {
        let mut loaded = config::load(self.config.as_deref(), &config::environment())?;
        match loaded.config.sinks.iter().position(|sink| sink.name.eq_ignore_ascii_case(name)) {
            Some(at) => {
                let sink = loaded.config.sinks.swap_remove(at);
                Ok(told(loaded, sink))
            }
            None => self.with_word(name),
        }
    }

    /// The configuration, and the sink that a word of `target_storage.data_formats` stands for.
    pub fn with_word(&self, word: &str) -> anyhow::Result<(Config, SinkConfig)> {
        let options = [("target_storage.data_formats", word.to_owned())];
        let mut loaded = config::load_with(self.config.as_deref(), &config::environment(), &options)?;
        let sink = loaded.config.sinks.pop();
        let sink =
            sink.with_context(|| format!("{word} is no sink; `seine check-config --defaults` lists those there are"))?;
        Ok(told(loaded, sink))
    }

    /// Who we are to a broker that is read from: what the configuration says of the one that is written to.
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

/// With what the user should know of the configuration said.
fn told(loaded: Loaded, sink: SinkConfig) -> (Config, SinkConfig) {
    for warning in &loaded.warnings {
        eprintln!("seine: {warning}");
    }
    (loaded.config, sink)
}

impl FilterArgs {
    /// A command with what it is for, in words that are the same for the same choice.
    pub fn task(&self, command: &str, from_names: &[String], to: impl Display) -> Vec<String> {
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

    /// As a transfer wants it.
    pub fn wanted(self) -> Wanted {
        let filter = self.filter();
        Box::new(move |page| Ok(filter.takes(page)))
    }

    pub fn filter(self) -> PageFilter {
        let FilterArgs { url, hosts, from, until, statuses, types } = self;
        let hosts = hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect();
        PageFilter { url, hosts, from, until, statuses, types }
    }
}

/// A name as it is found from anywhere.
fn absolute(name: &str) -> String {
    match name.contains("://") {
        true => name.to_owned(),
        false => std::path::absolute(name).map_or_else(|_| name.to_owned(), |path| path.display().to_string()),
    }
}

/// What a conversion or replay tells while it runs.
pub(super) struct Told {
    pub ticker: Ticker,
    /// The format that is written, when it is one and what is lost in it is to be said.
    pub to: Option<Format>,
}

impl Told {
    /// The exit status, and a word when it is because of nothing.
    pub fn status(&self, summary: &Summary) -> ExitCode {
        if summary.is_nothing_read() && summary.unread + summary.not_sent.unreadable == 0 {
            self.ticker.screen.print(NOTHING_READ);
        }
        if summary.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// What was passed over or breaks off, and the figures.
    pub fn summary(&mut self, summary: &Summary, to: &str, folder: &Path) {
        self.ticker.end();
        self.ticker.tell_untold();
        let screen = &self.ticker.screen;
        tell_odd_parts(screen, summary);
        for line in fill::text(&summary.filled, &to.to_ascii_uppercase()).lines() {
            screen.print(&format!("seine: {line}\n"));
        }
        screen.print(&summary_text(summary, to, folder, self.ticker.elapsed()));
    }
}

impl TransferObserver for Told {
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

/// Names what was passed over or breaks off.
fn tell_odd_parts(screen: &Screen, summary: &Summary) {
    for input in &summary.truncated {
        screen.print(&format!("seine: {input}: {ENDS_EARLY}\n"));
    }
    for (name, why) in &summary.passed_over {
        screen.print(&format!("seine: {name}: passed over, {why}\n"));
    }
    if summary.unnamed > 0 {
        screen.print(&format!("seine: and {} more were passed over\n", grouped(summary.unnamed)));
    }
}

pub(super) const ENDS_EARLY: &str =
    "ends early, as when its writer was killed or still writes; every whole record was read";

/// An archive of which nothing could be read is no archive, or nothing is left of it.
pub(super) const NOTHING_READ: &str = "seine: not one page could be read; is this the right place?\n";

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
    line(before, "  before", "of these and those below, settled by earlier runs");
    line(skipped, "skipped", "not held by the format");
    line(dead, "refused", "kept as dead letters");
    line(left_out, "left out", "not asked for");
    line(without_content, "no content", "left out: their archive does not hold it");
    line(cut, "cut", "bodies that decode to more than is taken of one");
    line(unreadable, "unreadable", "records");
    text + &format!("  {:<12}in {}\n", "", folder.display())
}
