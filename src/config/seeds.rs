//! Seed files: one URL per line.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::files::lines;

/// Enough for about a million URLs.
const MAX_BYTES: u64 = 256 << 20;

/// Number of bad lines in the error.
const SHOWN: usize = 10;

#[derive(Debug, thiserror::Error)]
pub enum SeedsError {
    #[error("cannot read the seed file {path}: {source}; check the path given with -s and its permissions", path = .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the seed file {path} is not text: {problem}; write one URL per line, in UTF-8", path = .path.display())]
    NotText { path: PathBuf, problem: &'static str },
    #[error("the seed file {path} has no URL; write one per line, such as https://example.com/", path = .path.display())]
    Empty { path: PathBuf },
    #[error("the seed file {path} has lines that are not URLs ({total}):{}", listed(.lines, *.total), path = .path.display())]
    Lines { path: PathBuf, lines: Vec<BadSeed>, total: usize },
}

/// A line that is not an http or https URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSeed {
    /// Counts from 1.
    pub line: usize,
    /// At most 100 characters of it.
    pub text: String,
    pub problem: String,
}

/// Reads a seed file (`-`: standard input) with one http or https URL per line. Blank lines and lines that begin with
/// `#` are skipped. A byte order mark and CR LF are accepted. The URLs are returned unchanged, in order.
///
/// # Errors The file cannot be read, is not text, has no URL, or has lines that are not URLs (the error lists the first
/// ten).
pub fn read_seeds(path: &Path) -> Result<Vec<String>, SeedsError> {
    let text = read(path)?;
    let mut seeds = Vec::new();
    let mut bad = Vec::new();
    let mut total = 0;
    for (line, seed) in lines(&text) {
        match check_seed(seed) {
            Ok(()) => seeds.push(seed.to_owned()),
            Err(problem) => {
                total += 1;
                if bad.len() < SHOWN {
                    bad.push(BadSeed { line, text: beginning(seed), problem });
                }
            }
        }
    }
    if total > 0 {
        return Err(SeedsError::Lines { path: path.to_owned(), lines: bad, total });
    }
    if seeds.is_empty() {
        return Err(SeedsError::Empty { path: path.to_owned() });
    }
    Ok(seeds)
}

/// Means standard input.
const STANDARD_INPUT: &str = "-";

fn read(path: &Path) -> Result<String, SeedsError> {
    let failed = |source| SeedsError::Read { path: path.to_owned(), source };
    let not_text = |problem| SeedsError::NotText { path: path.to_owned(), problem };
    let mut bytes = Vec::new();
    let input: Box<dyn Read> = match path.as_os_str() == STANDARD_INPUT {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(File::open(path).map_err(failed)?),
    };
    input.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(not_text("it is larger than 256 MiB"));
    }
    if bytes.contains(&0) {
        return Err(not_text("it has zero bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| not_text("not UTF-8"))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// As much of a line as a message shows.
fn beginning(line: &str) -> String {
    line.chars().take(100).collect()
}

/// Checks that a text is an absolute http or https URL. The error says why not.
pub(crate) fn check_seed(line: &str) -> Result<(), String> {
    match url::Url::parse(line) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            // `example.com:8080` parses as scheme `example.com`.
            Err(format!("only http and https are fetched; write http:// or https:// in front, not {}:", url.scheme()))
        }
        Ok(url) if url.host_str().is_none() => Err("the host is missing".into()),
        Ok(_) if line.trim().contains(char::is_whitespace) => {
            Err("it has a blank: write %20 for it, and comments in lines of their own that begin with #".into())
        }
        Ok(_) => Ok(()),
        Err(url::ParseError::RelativeUrlWithoutBase) => {
            Err(format!("write it in full, such as https://{}", beginning(line)))
        }
        Err(url::ParseError::InvalidPort) => Err("its port is no number from 0 to 65535".into()),
        Err(error) => Err(error.to_string()),
    }
}

fn listed(lines: &[BadSeed], total: usize) -> String {
    let mut out = String::new();
    for bad in lines {
        let _ = write!(out, "\n  line {}: {:?}: {}", bad.line, bad.text, bad.problem);
    }
    if total > lines.len() {
        let _ = write!(out, "\n  … and {} more", total - lines.len());
    }
    out
}
