//! Which pages lie in the files of a sink that keeps a file for each, for an audit. Their content is checked by `seine verify`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use seine_formats::filesystem;
use seine_formats::pagestore::{CONTENTS, UrlHash};
use seine_system::folders::if_there;

use super::folder::file_error;
use super::live_keys::LiveKeys;
use super::sink::SinkError;
use crate::config::ElasticConfig;

/// Where each page can be looked up.
pub(crate) enum PagesAt<'a> {
    Disk(PagesOnDisk),
    Index(&'a ElasticConfig),
    /// Nowhere: the destination is read as a whole.
    Whole(ReadKeys<'a>),
}

/// Reads the destination, and notes which URLs have a page there. Returns how many messages retention has removed.
pub(crate) type ReadKeys<'a> = Box<dyn Fn(&mut LiveKeys) -> Result<u64, SinkError> + 'a>;

/// The pages of one sink.
pub(crate) enum PagesOnDisk {
    /// A file has the name of its URL, so it is looked for.
    Named { folder: PathBuf, hash_file_name: bool },
    /// The day is part of the path, so the whole store is listed first. This takes some 32 bytes of memory a page.
    Listed(HashSet<UrlHash>),
}

impl PagesOnDisk {
    /// Of a page store. `base` is its folder.
    pub(crate) fn listed(base: &Path) -> Result<PagesOnDisk, SinkError> {
        let mut pages = HashSet::new();
        list(base, &mut pages)?;
        Ok(PagesOnDisk::Listed(pages))
    }

    /// Whether there is a file of this URL's page.
    pub(crate) fn hold(&self, url: &str) -> bool {
        match self {
            PagesOnDisk::Named { folder, hash_file_name } => filesystem::path_of(url, *hash_file_name)
                .is_ok_and(|(host, name)| folder.join(host).join(name).is_file()),
            PagesOnDisk::Listed(pages) => pages.contains(&UrlHash::written(url)) || pages.contains(&UrlHash::of(url)),
        }
    }
}

/// Adds the pages below a folder of the store.
fn list(folder: &Path, pages: &mut HashSet<UrlHash>) -> Result<(), SinkError> {
    let listing = |error| file_error("listing", folder, error);
    let Some(entries) = if_there(std::fs::read_dir(folder)).map_err(listing)? else { return Ok(()) };
    for entry in entries {
        let entry = entry.map_err(listing)?;
        let (name, path) = (entry.file_name(), entry.path());
        match name.to_str() {
            Some(CONTENTS) => pages.extend(folder.file_name().and_then(|page| UrlHash::parse(page.to_str()?))),
            Some(name) if name.starts_with('~') => {}
            _ if entry.file_type().map_err(listing)?.is_dir() => list(&path, pages)?,
            _ => {}
        }
    }
    Ok(())
}
