//! Index files next to archive files: `<file><suffix>`. An index is made from a closed file, in one step. So it can be
//! rebuilt at any time, and a crash leaves no wrong index.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use seine_formats::layout::{BuiltIndex, SidecarIndex};
use seine_system::folders::if_there;

use super::names::{OPEN, RollingOptions};
use crate::sinks::folder::{file_error, list_named};
use crate::sinks::sink::SinkError;
use crate::sinks::whole_file::{UNFINISHED, WholeFile};

/// The indexes of one folder.
pub(in crate::sinks) struct Indexes {
    folder: PathBuf,
    index: SidecarIndex,
}

impl Indexes {
    pub(crate) fn new(folder: &Path, index: SidecarIndex) -> Indexes {
        Indexes { folder: folder.into(), index }
    }

    /// Writes the index of a closed file. Uses about 300 bytes of memory per page.
    pub(crate) fn write(&self, name: &str) -> Result<(), SinkError> {
        let path = self.folder.join(name);
        let file = if_there(File::open(&path)).map_err(|e| file_error("reading", &path, e))?;
        let Some(mut file) = file else { return Ok(()) };
        let BuiltIndex { lines, missing } = (self.index.make)(&mut file, name);
        for why in missing.iter().take(10) {
            tracing::warn!(path = %path.display(), why, "not in the index");
        }
        let path = self.folder.join(format!("{name}{}", self.index.suffix));
        let written = WholeFile::create(&path, None).and_then(|mut file| {
            file.write_all(&lines)?;
            file.finish()
        });
        written.map_err(|e| file_error("writing", &path, e))
    }

    /// Removes the index of a file, if any. It may contain more than what is acknowledged.
    pub(crate) fn remove(&self, name: &str) -> Result<(), SinkError> {
        if name.contains(std::path::is_separator) {
            return Ok(()); // whatever the state names, it is not in this folder
        }
        let path = self.folder.join(format!("{name}{}", self.index.suffix));
        if_there(std::fs::remove_file(&path)).map(drop).map_err(|e| file_error("removing", &path, e))
    }

    /// Call it after the files were restored. Removes indexes without a file and incomplete ones. With `complete`, also
    /// creates missing ones.
    pub(crate) fn tidy(&self, rolling: &RollingOptions, complete: bool) -> Result<(), SinkError> {
        let file_of = |name: &str| name.strip_suffix(self.index.suffix).map(str::to_owned);
        let is_stale = |name: &str| match name.strip_suffix(UNFINISHED) {
            Some(unfinished) => file_of(unfinished).is_some_and(|file| rolling.is_ours(&file)),
            None => file_of(name).is_some_and(|file| rolling.is_ours(&file) && !self.folder.join(file).is_file()),
        };
        for path in list_named(&self.folder, is_stale)? {
            std::fs::remove_file(&path).map_err(|e| file_error("removing", &path, e))?;
        }
        if !complete {
            return Ok(());
        }
        for path in list_named(&self.folder, |name| rolling.is_ours(name) && !name.ends_with(OPEN))? {
            let Some(name) = path.file_name().and_then(|it| it.to_str()) else { continue };
            if !self.folder.join(format!("{name}{}", self.index.suffix)).exists() {
                self.write(name)?;
            }
        }
        Ok(())
    }
}
