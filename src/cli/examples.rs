//! Pages that a classifier is trained or tested on: HTML files, and archives of any format.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use bytes::Bytes;
use seine_delivery::large;
use seine_parse::page::{Headers, PageEvent, Response};
use seine_parse::{DeriveOptions, Derived};

use super::archive::ENDS_EARLY;
use super::ticker::Ticker;
use crate::archive::inputs::{ArchiveInput, ArchiveInputs, FoundInput, InputError, InputOptions, SkipReason};
use crate::archive::read::Pages;
use crate::config::Config;

/// Maximum size of an HTML file.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The two folders of the examples: relevant pages and others.
pub(super) const CLASSES: [(&str, bool); 2] = [("positive", true), ("negative", false)];

/// Receives a page with the name of its location.
type Take<'a> = dyn FnMut(&str, &PageEvent, &Derived) -> anyhow::Result<()> + 'a;

/// Reads pages one by one and reports what it skips.
pub(super) struct PageReader {
    pub ticker: Ticker,
    options: DeriveOptions,
    read: u64,
    /// Pages that are not HTML or not successful.
    pub others: u64,
    pub passed_over: u64,
}

impl PageReader {
    pub(super) fn new(names: &[String]) -> PageReader {
        PageReader {
            ticker: Ticker::new(names, &InputOptions::default(), false),
            options: DeriveOptions::from(&Config::default()),
            read: 0,
            others: 0,
            passed_over: 0,
        }
    }

    /// Calls `take` for every page of the named inputs. A file that is not an archive counts as an HTML page if it is
    /// text.
    pub(super) fn each(&mut self, name: &str, take: &mut Take<'_>) -> anyhow::Result<()> {
        let names = [name.to_owned()];
        let inputs = match ArchiveInputs::open(&names, InputOptions::default()) {
            Err(InputError::Unknown { .. }) => return self.file(Path::new(name), take),
            inputs => inputs?,
        };
        for found in inputs {
            match found {
                Ok(FoundInput::Input(input)) => self.archive(&input, take)?,
                Ok(FoundInput::PassedOver { name, why: SkipReason::Other(_) }) if Path::new(&*name).is_file() => {
                    self.file(Path::new(&*name), take)?;
                }
                Ok(FoundInput::PassedOver { name, why: SkipReason::Unread(why) }) => {
                    bail!("{name}: {why}; every example must be readable: change its permissions, or remove it")
                }
                Ok(FoundInput::PassedOver { .. }) => self.passed_over += 1,
                Err(InputError::Unknown { path, .. }) => self.file(Path::new(&path), take)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn archive(&mut self, input: &ArchiveInput, take: &mut Take<'_>) -> anyhow::Result<()> {
        let mut pages = Pages::open(input, 0, self.ticker.read())?;
        for page in &mut pages {
            match page {
                Ok(page) => {
                    let number = page.location.number;
                    self.page(&format!("{} ({}, record {number})", page.event.url, input.name), &page.event, take)?;
                }
                Err(problem) => self.ticker.problem(&problem),
            }
        }
        if pages.truncated() {
            self.ticker.screen.print(&format!("seine: {}: {ENDS_EARLY}\n", input.name));
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, take: &mut Take<'_>) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
        read.with_context(|| format!("cannot read {}; change its permissions, or remove it", path.display()))?;
        // Text has no zero bytes, except in UTF-16 with a byte order mark.
        let is_text = !bytes.contains(&0) || bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        if bytes.is_empty() || bytes.len() as u64 > MAX_FILE_BYTES || !is_text {
            self.passed_over += 1;
            return Ok(());
        }
        let path = std::path::absolute(path)?;
        let url = url::Url::from_file_path(&path).map_or_else(|()| path.display().to_string(), String::from);
        let mut event = PageEvent::empty(url);
        let headers = Headers(vec![("content-type".into(), "text/html".into())]);
        event.outcome =
            seine_parse::page::Outcome::Response(Response { body: Bytes::from(bytes), headers, ..Response::empty() });
        self.page(&path.display().to_string(), &event, take)
    }

    fn page(&mut self, name: &str, event: &PageEvent, take: &mut Take<'_>) -> anyhow::Result<()> {
        self.read += 1;
        self.ticker.count(self.read);
        let derived = large::derive(event, &self.options, |decoded| seine_parse::facts(event, decoded, &self.options));
        if !derived.is_html || !event.response().is_some_and(Response::is_success) {
            self.others += 1;
        }
        take(name, event, &derived)
    }

    /// Prints what was not read, and why.
    pub(super) fn end(&mut self) {
        self.ticker.end();
        self.ticker.print_rest();
    }
}

/// The pages of `positive` and `negative`, each content once. `take` gets only HTML.
pub(super) fn each_example(
    folder: &Path,
    take: &mut dyn FnMut(&str, &PageEvent, &Derived, bool) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let remedy = "put relevant pages into its folder positive and others into negative, as HTML files or archives";
    let name = |class: &str| folder.join(class).display().to_string();
    for (class, _) in CLASSES {
        if !folder.join(class).is_dir() {
            bail!("{} has no folder {class}; {remedy}", folder.display());
        }
    }
    let mut reader = PageReader::new(&CLASSES.map(|(class, _)| name(class)));
    let mut seen: HashMap<[u8; 32], (bool, String)> = HashMap::new();
    let (mut counts, mut twice) = ([0_u64; 2], 0_u64);
    for (class, is_relevant) in CLASSES {
        reader.each(&name(class), &mut |place, event, derived| {
            if !derived.is_html || !event.response().is_some_and(Response::is_success) {
                return Ok(());
            }
            match seen.get(&derived.digest) {
                Some((known, _)) if *known == is_relevant => twice += 1,
                Some((_, other)) => {
                    bail!("the same page is in both classes: {other} and {place}; remove one of them")
                }
                None => {
                    seen.insert(derived.digest, (is_relevant, place.to_owned()));
                    counts[usize::from(is_relevant)] += 1;
                    take(place, event, derived, is_relevant)?;
                }
            }
            Ok(())
        })?;
    }
    reader.end();
    let screen = &reader.ticker.screen;
    let say = |count: u64, what: &str| {
        if count > 0 {
            screen.print(&format!("seine: {count} {what}\n"));
        }
    };
    say(twice, "pages have the same content as another; counted once");
    say(reader.others, "pages are not HTML or not successful; skipped");
    say(reader.passed_over, "files are not pages; skipped");
    for (class, is_relevant) in CLASSES {
        if counts[usize::from(is_relevant)] == 0 {
            bail!("there is no page in {}; {remedy}", name(class));
        }
    }
    Ok(())
}
