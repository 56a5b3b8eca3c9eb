//! Formats that keep each page in a file of its own.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::format::Format;
use super::read::{Item, Records};
use super::readers::Counted;
use super::trees;
use crate::formats::cbor::{self, CborRecord};
use crate::formats::files::{self, FilesRecord};
use crate::formats::pagestore::{MetaEntry, MetaReader, PagestoreRecord, Place, UrlHash};
use crate::page::{Outcome, PageEvent};

/// A file that is one page is no larger.
const MAX_PAGE_FILE: u64 = 256 << 20;

/// The page of a FILESYSTEM_HTML file.
pub(super) fn html_page(body: Vec<u8>, url: Option<String>) -> Result<PageEvent, String> {
    let url = url.ok_or("its name tells no URL, as when names are hashed; FILESYSTEM_HTML holds none elsewhere")?;
    let mut event = PageEvent::read_back(url);
    if let Outcome::Response(response) = &mut event.outcome {
        response.body = body.into();
    }
    Ok(event)
}

/// The page of a file that is one record. The record names its page, and so does the file.
pub(super) fn record_page(
    path: &Path,
    read: fn(&[u8]) -> Result<PageEvent, String>,
) -> impl FnOnce(Vec<u8>) -> Result<PageEvent, String> + use<> {
    let path = path.to_owned();
    move |bytes| {
        if bytes.is_empty() {
            return Err("it is empty, and should hold a record".into());
        }
        let event = read(&bytes)?;
        if trees::is_of_another_page(&path, &event.url) {
            return Err(format!("the record in it is of {}, and its name is that of another page", event.url));
        }
        Ok(event)
    }
}

pub(super) fn files_record(bytes: &[u8]) -> Result<PageEvent, String> {
    files::parse_line(bytes).map(FilesRecord::into_event).map_err(|error| format!("it is no FILES record: {error}"))
}

pub(super) fn cbor_record(bytes: &[u8]) -> Result<PageEvent, String> {
    cbor::parse(bytes).map(CborRecord::into_event).map_err(|error| error.to_string())
}

type ReadPage = Box<dyn FnOnce(Vec<u8>) -> Result<PageEvent, String>>;

/// A file that is one page, read whole; a zlib stream or not.
pub(super) struct OnePage {
    input: Option<(Counted, ReadPage)>,
    format: Format,
}

impl OnePage {
    pub fn new(
        input: Counted,
        format: Format,
        page: impl FnOnce(Vec<u8>) -> Result<PageEvent, String> + 'static,
    ) -> OnePage {
        OnePage { input: Some((input, Box::new(page))), format }
    }
}

impl Records for OnePage {
    fn next(&mut self) -> Option<Item> {
        let (input, page) = self.input.take()?;
        let event = content(input).and_then(page);
        Some(match event {
            Ok(event) => Item::Page(Box::new(event), self.format),
            Err(problem) => Item::Problem(problem),
        })
    }
}

/// A file's content: what a zlib stream holds, if that is what all of it is. Bytes that decompress for a while were one.
/// What is too large is not held: a stream is measured before it is kept.
fn content(mut input: Counted) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("reading it failed: {error}");
    let mut stream = flate2::bufread::ZlibDecoder::new(BufReader::new(&input.file));
    let mut measured = std::io::copy(&mut (&mut stream).take(MAX_PAGE_FILE + 1), &mut std::io::sink());
    let made = stream.total_out();
    if measured.is_ok() && made > 0 && made <= MAX_PAGE_FILE {
        let rest = stream.into_inner().fill_buf().map(<[u8]>::len);
        // Something behind the stream: it is no stream, but something that looks like one.
        measured = rest.map(|rest| if rest == 0 { made } else { 0 });
    }
    input.file.rewind().map_err(failed)?;
    match measured {
        Ok(made) if made > MAX_PAGE_FILE => Err(too_large()),
        Ok(made) if made > 0 => {
            let mut plain = Vec::with_capacity(made as usize);
            let mut stream = flate2::bufread::ZlibDecoder::new(BufReader::new(input));
            stream.read_to_end(&mut plain).map_err(failed)?;
            Ok(plain)
        }
        Err(error) if made > 0 => Err(format!("its compressed data is damaged or breaks off: {error}")),
        _ => read_limited(input),
    }
}

fn read_limited(input: Counted) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("reading it failed: {error}");
    let length = input.file.metadata().map_err(failed)?.len();
    let mut bytes = Vec::new();
    if length <= MAX_PAGE_FILE {
        bytes.reserve_exact(length as usize + 1);
        input.take(MAX_PAGE_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    if length.max(bytes.len() as u64) > MAX_PAGE_FILE { Err(too_large()) } else { Ok(bytes) }
}

fn too_large() -> String {
    format!("it holds more than {MAX_PAGE_FILE} bytes, as no page does")
}

/// The place of a `META` file in a store, by its last folders; none for what is no such file.
pub(super) fn meta_place(path: &Path) -> Option<Place> {
    let names: Vec<&str> = path.components().rev().take(5).map(|it| it.as_os_str().to_str()).collect::<Option<_>>()?;
    let tail = |count: usize| {
        let tail: Vec<&str> = names.get(..count)?.iter().rev().copied().collect();
        Place::parse(&tail.join("/"))
    };
    let place = tail(4).or_else(|| tail(5))?;
    matches!(place, Place::DayMeta { .. } | Place::FeedMeta { .. }).then_some(place)
}

/// Whether a `META` file above lists it, or could.
pub(super) fn is_in_store(path: &Path) -> bool {
    let is_contents = path.file_name().is_some_and(|name| name == "contents.html");
    let meta = path.parent().and_then(Path::parent).map(|folder| folder.join("META"));
    is_contents && meta.is_some_and(|meta| meta_place(&meta).is_some() && meta.is_file())
}

/// The pages that a `META` file of a pagestore lists, each in a folder beside it.
pub(super) struct Store {
    entries: MetaReader<Counted>,
    folder: PathBuf,
    place: Option<Place>,
    counter: Arc<AtomicU64>,
}

impl Store {
    pub fn open(path: &Path, input: Counted, counter: &Arc<AtomicU64>) -> Store {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Store { entries: MetaReader::new(input), folder, place: meta_place(path), counter: counter.clone() }
    }

    fn page(&self, entry: MetaEntry) -> Result<PageEvent, String> {
        let Some(Place::DayMeta { day } | Place::FeedMeta { day, .. }) = self.place else {
            return Err("its folder is not that of a day, as in 2026/11/21/META".into());
        };
        let (path, file) = self.contents(&entry)?;
        let read = read_limited(Counted { file, counter: self.counter.clone() });
        let contents = read.map_err(|problem| format!("{}: {problem}", path.display()))?;
        Ok(PagestoreRecord { day, entry, contents: contents.into() }.into_event())
    }
}

impl Store {
    fn is_inside(&self, path: &Path) -> bool {
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|it| it.is_symlink());
        if !is_link(path) && !path.parent().is_some_and(is_link) {
            return true;
        }
        let folder = if self.folder == Path::new("") { Path::new(".") } else { &self.folder };
        let inside = folder.canonicalize().and_then(|folder| Ok(path.canonicalize()?.starts_with(folder)));
        inside.unwrap_or(false)
    }

    /// The file of a page, wherever Seine or another program has put it.
    fn contents(&self, entry: &MetaEntry) -> Result<(PathBuf, File), String> {
        let place = |hash: UrlHash| self.folder.join(hash.to_string()).join("contents.html");
        for path in entry.folders().map(place) {
            match File::open(&path) {
                Ok(_) if !self.is_inside(&path) => {
                    return Err(format!("{}: a symbolic link that leads out of the store", path.display()));
                }
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(format!("{}: {error}", path.display())),
            }
        }
        Err(format!("{} is listed, and {} is not there", entry.url, place(entry.hash).display()))
    }
}

impl Records for Store {
    fn next(&mut self) -> Option<Item> {
        let page = self.entries.next()?.map_err(|error| error.to_string()).and_then(|entry| self.page(entry));
        Some(match page {
            Ok(event) => Item::Page(Box::new(event), Format::Pagestore),
            Err(problem) => Item::Problem(problem),
        })
    }

    fn truncated(&self) -> bool {
        self.entries.truncated()
    }
}
