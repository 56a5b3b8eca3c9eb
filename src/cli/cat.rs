//! `seine cat`: prints what FILES files hold, one JSON object a page and a line.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use regex::Regex;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::formats::base64;
use crate::formats::files::{FilesError, FilesReader, FilesRecord};
use crate::formats::text::{IsoTime, text_of};
use crate::page::Relevance;

/// Show what FILES files hold: one JSON line a page.
///
/// Takes files and folders of them, also those of ACHE, truncated ones included. Exit status 1 when something could not
/// be read.
#[derive(clap::Args)]
pub struct Args {
    /// Files, or folders with .deflate files in them.
    #[arg(value_name = "FILE", required = true)]
    paths: Vec<PathBuf>,
    /// Print the bodies too: as "content" when it is text, else as "content_base64".
    #[arg(long)]
    content: bool,
    /// Only pages whose URL this regular expression matches somewhere.
    #[arg(long, value_name = "REGEX")]
    url: Option<Regex>,
}

/// Prints pages to standard output, and what was wrong to standard error.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = CatOptions { content: args.content, url: args.url };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let summary = match cat(&args.paths, &options, &mut out) {
        Err(CatError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => return Ok(ExitCode::SUCCESS),
        read => read?,
    };
    for (path, problem) in &summary.problems {
        eprintln!("seine: {}: {problem}", path.display());
    }
    let untold = summary.unreadable - summary.problems.len() as u64;
    if untold > 0 {
        eprintln!("seine: and {untold} more that could not be read");
    }
    for path in &summary.truncated {
        eprintln!(
            "seine: {}: ends early, as when its writer was killed or still writes; every whole record was read",
            path.display()
        );
    }
    for path in &summary.passed_over {
        eprintln!("seine: {}: passed over, no .deflate file", path.display());
    }
    Ok(if summary.is_damaged() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A file of nothing but bad lines must not fill the memory.
pub const MAX_PROBLEMS: usize = 100;

/// What is printed, and of which pages.
#[derive(Debug, Clone, Default)]
pub struct CatOptions {
    /// Print the body too: as `content` when it is text, else as `content_base64`.
    pub content: bool,
    /// Only pages whose URL, asked for or final, it matches somewhere.
    pub url: Option<Regex>,
}

/// What was read, and what could not be.
#[derive(Debug, Default)]
pub struct CatSummary {
    pub files: u64,
    pub printed: u64,
    /// Read, but not asked for.
    pub left_out: u64,
    /// Records and rests of files that could not be read.
    pub unreadable: u64,
    /// What was wrong with the first [`MAX_PROBLEMS`] of them, by file.
    pub problems: Vec<(PathBuf, FilesError)>,
    /// Files that break off, as when their writer was killed or is still writing. Every whole record was read.
    pub truncated: Vec<PathBuf>,
    /// What lies in a folder and is no `.deflate` file.
    pub passed_over: Vec<PathBuf>,
}

impl CatSummary {
    /// Whether there was something that could not be read: the exit status is then not 0.
    pub fn is_damaged(&self) -> bool {
        self.unreadable > 0
    }

    fn add_problem(&mut self, path: &Path, problem: FilesError) {
        self.unreadable += 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push((path.into(), problem));
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CatError {
    #[error("{path}: {source}; name a file in the FILES format or a folder of them")]
    Open { path: PathBuf, source: std::io::Error },
    /// Nobody reads on (`ErrorKind::BrokenPipe`, as with `| head`), or the disk is full.
    #[error("writing the output failed: {0}")]
    Output(#[from] std::io::Error),
}

/// Prints the pages of each file, and of the `.deflate` files of each folder in the order of their names. Memory does
/// not grow with the files: one record at a time.
pub fn cat(paths: &[PathBuf], options: &CatOptions, out: &mut dyn Write) -> Result<CatSummary, CatError> {
    let mut summary = CatSummary::default();
    for path in paths {
        for file in files_at(path, &mut summary).map_err(|source| CatError::Open { path: path.clone(), source })? {
            cat_file(&file, options, out, &mut summary)?;
        }
    }
    out.flush()?;
    Ok(summary)
}

/// The path itself, or the files of the folder that it is.
fn files_at(path: &Path, summary: &mut CatSummary) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let all = std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    let (mut files, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|it| it.is_file() && it.extension().is_some_and(|it| it == "deflate"));
    files.sort();
    summary.passed_over.extend(others);
    Ok(files)
}

fn cat_file(path: &Path, options: &CatOptions, out: &mut dyn Write, summary: &mut CatSummary) -> Result<(), CatError> {
    let file = File::open(path).map_err(|source| CatError::Open { path: path.into(), source })?;
    let mut reader = FilesReader::new(file);
    summary.files += 1;
    let mut line = Vec::new();
    for record in &mut reader {
        match record {
            Ok(record) if options.wants(&record) => {
                line.clear();
                print(&record, options, &mut line);
                out.write_all(&line)?;
                summary.printed += 1;
            }
            Ok(_) => summary.left_out += 1,
            Err(problem) => summary.add_problem(path, problem),
        }
    }
    if reader.truncated() {
        summary.truncated.push(path.into());
    }
    Ok(())
}

impl CatOptions {
    fn wants(&self, record: &FilesRecord) -> bool {
        let Some(pattern) = &self.url else { return true };
        pattern.is_match(&record.url) || record.redirected_url.as_deref().is_some_and(|url| pattern.is_match(url))
    }
}

/// What is printed of a page.
#[derive(Serialize)]
struct PageLine<'a> {
    url: &'a str,
    redirected_url: Option<&'a str>,
    content_type: Option<&'a str>,
    fetch_time: IsoTime,
    /// Bytes of the body.
    size: usize,
    relevance: Relevance,
    crawler_id: &'a str,
    response_headers: Headers<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_base64: Option<&'a str>,
}

/// An object in the record's order.
struct Headers<'a>(&'a [(String, Vec<String>)]);

impl Serialize for Headers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, values) in self.0 {
            map.serialize_entry(name, values)?;
        }
        map.end()
    }
}

fn print(record: &FilesRecord, options: &CatOptions, line: &mut Vec<u8>) {
    let content_type = record.content_type.as_deref();
    let text = options.content.then(|| text_of(content_type, &record.content)).flatten();
    let mut coded = Vec::new();
    if options.content && text.is_none() {
        base64::encode_into(&record.content, &mut coded);
    }
    let page = PageLine {
        url: &record.url,
        redirected_url: record.redirected_url.as_deref(),
        content_type,
        fetch_time: IsoTime(record.fetch_time),
        size: record.content.len(),
        relevance: record.relevance,
        crawler_id: &record.crawler_id,
        response_headers: Headers(&record.response_headers),
        content: text.as_deref(),
        content_base64: (options.content && text.is_none()).then(|| std::str::from_utf8(&coded).unwrap_or_default()),
    };
    serde_json::to_writer(&mut *line, &page).expect("strings and numbers are always JSON, and a Vec takes every byte");
    line.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"{"url":"http://a.example/","redirected_url":null,"content":"Y2Fm6Q==","content_type":"text/html; charset=iso-8859-1","response_headers":{"Server":["x"]},"fetch_time":1795271825985,"relevance":{"relevance":1.0,"isRelevant":true},"crawler_id":"c"}"#;

    fn zlib(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn run(paths: &[PathBuf], options: &CatOptions) -> (String, CatSummary) {
        let mut out = Vec::new();
        let summary = cat(paths, options, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), summary)
    }

    #[test]
    fn prints_one_object_a_page_with_text_in_its_own_charset() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("crawl_data-1-0.deflate");
        std::fs::write(&path, zlib(&format!("{PAGE}\n"))).unwrap();
        let (printed, summary) = run(&[path], &CatOptions { content: true, url: None });
        let expected = r#"{"url":"http://a.example/","redirected_url":null,"content_type":"text/html; charset=iso-8859-1","fetch_time":"2026-11-21T14:37:05.985Z","size":4,"relevance":{"relevance":1.0,"isRelevant":true},"crawler_id":"c","response_headers":{"Server":["x"]},"content":"café"}"#;
        assert_eq!(printed, format!("{expected}\n"));
        assert!(!summary.is_damaged());
        assert_eq!((summary.files, summary.printed), (1, 1));
    }

    #[test]
    fn a_folder_is_read_in_order_and_everything_odd_in_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("2.deflate"), zlib(&PAGE.replace("a.example", "b.example"))).unwrap();
        let whole = zlib(&format!("{PAGE}\n"));
        std::fs::write(at("1.deflate"), &whole[..whole.len() - 4]).unwrap();
        // A zlib header, and no deflate block begins so.
        let damaged = [&[0x78, 0x9c][..], &[0xff; 40]].concat();
        std::fs::write(at("3.deflate"), damaged).unwrap();
        std::fs::write(at("notes.txt"), "").unwrap();

        let (printed, summary) = run(&[folder.path().into()], &CatOptions::default());
        let urls: Vec<_> = printed.lines().map(|line| line.split('"').nth(3).unwrap()).collect();
        assert_eq!(urls, ["http://a.example/", "http://b.example/"]);
        assert!(!printed.contains("content\""));
        assert_eq!(summary.truncated, [at("1.deflate")]);
        assert_eq!(summary.passed_over, [at("notes.txt")]);
        assert!(summary.is_damaged());
        assert_eq!(summary.problems[0].0, at("3.deflate"));
    }

    #[test]
    fn a_pattern_chooses_pages_by_either_url() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.deflate");
        let redirected = PAGE.replace("\"redirected_url\":null", "\"redirected_url\":\"http://z.example/\"");
        std::fs::write(&path, format!("{PAGE}\n{redirected}\n")).unwrap();
        let options = CatOptions { content: false, url: Some(Regex::new("z[.]example").unwrap()) };
        let (printed, summary) = run(&[path], &options);
        assert_eq!(printed.lines().count(), 1);
        assert_eq!((summary.printed, summary.left_out), (1, 1));
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error_that_names_it() {
        let error = cat(&["/nowhere/x.deflate".into()], &CatOptions::default(), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/x.deflate: "), "{error}");
    }
}
