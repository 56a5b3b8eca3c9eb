//! Finds and reads the files of a configuration.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use seine_frontier::pattern;

use super::error::{Origin, Problem};
use super::yaml;

/// A configuration has a page or two. A larger file is something else.
const MAX_BYTES: u64 = 1 << 20;

/// The files of one configuration, not yet parsed.
#[derive(Default)]
pub(super) struct Files {
    /// All files that were read.
    pub read: Vec<PathBuf>,
    pub main: Option<(PathBuf, String)>,
    /// ACHE's files beside its ache.yml.
    pub link_filters: Option<String>,
    pub whitelist: Vec<String>,
    pub blacklist: Vec<String>,
}

/// Finds and reads the files that `-c` names: one file, or a folder with `seine.yml` or `ache.yml` and ACHE's link
/// lists.
pub(super) fn open(path: Option<&Path>, problems: &mut Vec<Problem>) -> Files {
    let mut files = Files::default();
    let Some(path) = path else { return files };
    if !path.is_dir() {
        files.main = keep(text(path), problems).map(|text| (path.to_owned(), text));
        files.read.push(path.to_owned());
        return files;
    }
    let present = |name: &str| Some(path.join(name)).filter(|file| file.exists());
    match present("seine.yml").or_else(|| present("ache.yml")) {
        Some(main) => {
            files.main = keep(text(&main), problems).map(|text| (main.clone(), text));
            files.read.push(main);
        }
        None => problems.push(Problem::EmptyFolder { path: path.to_owned() }),
    }
    if let Some(filters) = present("link_filters.yml") {
        files.link_filters = keep(link_filters(&filters), problems);
        files.read.push(filters);
    }
    for (name, target) in [("link_whitelist.txt", &mut files.whitelist), ("link_blacklist.txt", &mut files.blacklist)] {
        if let Some(list) = present(name) {
            *target = patterns(&list, problems);
            files.read.push(list);
        }
    }
    files
}

fn keep<T>(result: Result<T, Problem>, problems: &mut Vec<Problem>) -> Option<T> {
    result.map_err(|problem| problems.push(problem)).ok()
}

/// Checks only that the file is YAML. The scope parses it.
fn link_filters(path: &Path) -> Result<String, Problem> {
    let text = text(path)?;
    match yaml::parse(&text) {
        Ok(_) => Ok(text),
        Err(error) => {
            let at = Origin::File { path: path.to_owned(), line: error.line };
            Err(Problem::Yaml { at, problem: error.problem })
        }
    }
}

/// Reads one regular expression per line.
fn patterns(path: &Path, problems: &mut Vec<Problem>) -> Vec<String> {
    let Some(text) = keep(text(path), problems) else { return Vec::new() };
    let mut patterns = Vec::new();
    for (line, pattern) in lines(&text) {
        match pattern::check(pattern) {
            Ok(()) => patterns.push(pattern.to_owned()),
            Err(expected) => problems.push(Problem::Value {
                at: Origin::File { path: path.to_owned(), line },
                key: "pattern".into(),
                problem: format!("expected {expected}"),
            }),
        }
    }
    patterns
}

/// The lines that are not empty and do not begin with `#`, trimmed, with their numbers from 1.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Reads a text file and removes a byte order mark.
fn text(path: &Path) -> Result<String, Problem> {
    let read = |source| Problem::Read { path: path.to_owned(), source };
    let not_text = |problem: &str| Problem::NotText { path: path.to_owned(), problem: problem.into() };
    let bytes = read_at_most(path, MAX_BYTES).map_err(read)?.ok_or_else(|| not_text("it is larger than 1 MiB"))?;
    let text = String::from_utf8(bytes).map_err(|_| not_text("it is not UTF-8 text"))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Reads a file; none if it has more than `most` bytes.
pub(super) fn read_at_most(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= most))
}
