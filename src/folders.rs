//! Folders of a crawl's own.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Makes a folder, and those above it that are missing, for its owner alone (0700): pages that were fetched with somebody's
/// cookies are nobody else's business. One that is there stays as it is: whoever made it may want others to read it.
pub fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
