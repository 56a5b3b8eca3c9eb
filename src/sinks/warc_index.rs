//! CDXJ indexes beside WARC files: `<file>.cdxj`. An index is made from its closed file, whole or not at all; so it can be
//! made again at any time, and a crash leaves none that is wrong.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::SinkError;
use super::rolling::{file_error, list_named, sync_folder};
use crate::formats::warc::cdxj;

/// Of the files that are indexed.
const PREFIX: &str = "crawl_data-";
const SUFFIX: &str = ".cdxj";
const UNFINISHED: &str = ".cdxj.tmp";

/// The indexes of one folder.
pub(super) struct Indexes {
    folder: PathBuf,
}

impl Indexes {
    pub fn new(folder: &Path) -> Indexes {
        Indexes { folder: folder.into() }
    }

    /// Makes the index of a closed file. Its lines are held in memory meanwhile, some 300 bytes a page.
    pub fn write(&self, name: &str) -> Result<(), SinkError> {
        let path = self.folder.join(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(file_error("reading", &path, error)),
        };
        let (lines, errors) = cdxj::index(file, name);
        for error in errors.iter().take(10) {
            tracing::warn!(path = %path.display(), %error, "not in the index");
        }
        let unfinished = self.folder.join(format!("{name}{UNFINISHED}"));
        let write = || {
            let mut file = File::create(&unfinished)?;
            file.write_all(lines.concat().as_bytes())?;
            file.sync_all()
        };
        write().map_err(|e| file_error("writing", &unfinished, e))?;
        let done = self.folder.join(format!("{name}{SUFFIX}"));
        std::fs::rename(&unfinished, &done).map_err(|e| file_error("renaming", &unfinished, e))?;
        sync_folder(&self.folder)
    }

    /// Removes the index of a file, if there is one.
    pub fn remove(&self, name: &str) -> Result<(), SinkError> {
        if name.contains(std::path::is_separator) {
            return Ok(()); // whatever the state names, it is not in this folder
        }
        let path = self.folder.join(format!("{name}{SUFFIX}"));
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(file_error("removing", &path, error)),
            _ => Ok(()),
        }
    }

    /// After the files were put right: removes what has no file any more or was not finished; with `complete`, makes those
    /// that are not there yet.
    pub fn tidy(&self, is_indexed: impl Fn(&str) -> bool, complete: bool) -> Result<(), SinkError> {
        let mut stale = list_named(&self.folder, |name| is_ours(name, UNFINISHED))?;
        stale.extend(list_named(&self.folder, |name| {
            is_ours(name, SUFFIX) && !self.folder.join(name).with_extension("").is_file()
        })?);
        for path in stale {
            std::fs::remove_file(&path).map_err(|e| file_error("removing", &path, e))?;
        }
        if !complete {
            return Ok(());
        }
        for path in list_named(&self.folder, is_indexed)? {
            let Some(name) = path.file_name().and_then(|it| it.to_str()) else { continue };
            if !self.folder.join(format!("{name}{SUFFIX}")).exists() {
                self.write(name)?;
            }
        }
        Ok(())
    }
}

fn is_ours(name: &str, suffix: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(suffix)
}
