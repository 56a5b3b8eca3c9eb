//! Trees of files that are named after their pages, and which of three formats such a file has. An intact file tells by
//! its content. For a damaged file the neighbouring files decide, otherwise its remains. Without this rule a damaged
//! record would pass for a page's body, which can be anything.

use std::fs::{DirEntry, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use memchr::memmem;
use seine_formats::filesystem::{self, has_hashed_name, is_at, url_of_path};
use seine_formats::sniff::{LOOK_BYTES, Prefix, decompressed};
use seine_formats::{Format, cbor, files};

/// Limits of the search: files of a tree, files of each folder, and directory entries.
const MAX_LISTED: usize = 64;
const MAX_OF_FOLDER: usize = 8;
const MAX_ENTRIES: usize = 4096;

/// The neighbouring files of the last tree.
#[derive(Default)]
pub struct Trees {
    last: Option<(PathBuf, Neighbours)>,
}

/// Files of a tree, each with the format that its content shows.
type Neighbours = Vec<(PathBuf, Option<Format>)>;

impl Trees {
    /// The format of a file that is or may be named after its page. None for any other. `plain`: its decompressed
    /// beginning.
    pub(super) fn format_of(&mut self, path: &Path, plain: &[u8]) -> Option<Format> {
        if let Some(found) = says(path, plain) {
            return Some(found);
        }
        let is_named = url_of_path(path).is_some();
        if !is_named && !has_hashed_name(path) {
            return None;
        }
        let others: Vec<Option<Format>> =
            self.beside(path).iter().filter(|(other, _)| other != path).map(|(_, found)| *found).collect();
        let records = [filesystem::JSON, filesystem::CBOR];
        let count = |format| others.iter().filter(|found| **found == Some(format)).count();
        let most = records.into_iter().max_by_key(|format| count(*format)).filter(|format| count(*format) > 0);
        let left = remains(plain);
        match most {
            Some(format) if count(format) * 2 >= others.len() || left == Some(format) => Some(format),
            None if others.is_empty() && left.is_some() => left,
            _ => is_named.then_some(filesystem::HTML),
        }
    }

    fn beside(&mut self, path: &Path) -> &Neighbours {
        let root = path.parent().and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
        let last = self.last.take().filter(|(known, _)| *known == root);
        &self.last.insert(last.unwrap_or_else(|| (root.clone(), find_neighbours(&root)))).1
    }
}

/// The format of a file whose content is the page that its name belongs to.
fn says(path: &Path, plain: &[u8]) -> Option<Format> {
    let (url, format) = match plain.first()? {
        b'{' if Format::sniff(&Prefix::new(plain)) == Some(files::FORMAT) => (first_url(plain)?, filesystem::JSON),
        0xa0..=0xbf => (cbor::url_at_start(plain)?, filesystem::CBOR),
        _ => return None,
    };
    (is_at(path, &url, false) || is_at(path, &url, true)).then_some(format)
}

/// The format of a damaged record, from the keys that are left.
fn remains(plain: &[u8]) -> Option<Format> {
    let has = |key: &[u8]| memmem::find(plain, key).is_some();
    if has(b"\"redirected_url\":") && (plain.starts_with(b"{\"url\":\"") || has(b"\"content\":\"")) {
        return Some(filesystem::JSON);
    }
    // Each key with its CBOR byte for a text of that length.
    (has(b"\x68imported") && has(b"\x69timestamp")).then_some(filesystem::CBOR)
}

/// Some files in subfolders that may be named after pages.
fn find_neighbours(root: &Path) -> Neighbours {
    let root = if root == Path::new("") { Path::new(".") } else { root };
    let mut found = Neighbours::new();
    let mut left = MAX_ENTRIES;
    for folder in entries(root, &mut left).into_iter().filter(|it| it.file_type().is_ok_and(|it| it.is_dir())) {
        let files = entries(&folder.path(), &mut left).into_iter();
        let files = files.filter(|it| it.file_type().is_ok_and(|it| it.is_file())).map(|it| it.path());
        let named = files.filter(|path| url_of_path(path).is_some() || has_hashed_name(path));
        found.extend(named.take(MAX_OF_FOLDER).map(|path| {
            let found = beginning(&path).ok().and_then(|plain| says(&path, &plain));
            (path, found)
        }));
        if found.len() >= MAX_LISTED || left == 0 {
            break;
        }
    }
    found
}

/// At most `left` entries. Empty if the folder cannot be listed.
fn entries(folder: &Path, left: &mut usize) -> Vec<DirEntry> {
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let entries: Vec<_> = listed.take(*left).collect();
    *left -= entries.len();
    entries
}

fn beginning(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(LOOK_BYTES).read_to_end(&mut start)?;
    Ok(decompressed(&start))
}

/// The value of a JSON object's first key, if that is `url`.
fn first_url(text: &[u8]) -> Option<String> {
    let value = text.strip_prefix(b"{\"url\":")?;
    let mut values = serde_json::Deserializer::from_slice(value).into_iter::<String>();
    values.next()?.ok()
}
