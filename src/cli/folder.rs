//! The data folder that a command works on: the option `-o`, or an argument if the command has no others.

use std::path::{Path, PathBuf};

/// For commands with other arguments.
#[derive(clap::Args)]
pub(super) struct Folder {
    /// Data folder of the crawl.
    #[arg(short, long = "output", value_name = "DIR", default_value = super::DATA_FOLDER, global = true)]
    pub output: PathBuf,
}

/// For commands without other arguments.
#[derive(clap::Args)]
pub(super) struct NamedFolder {
    /// Data folder of the crawl.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The same, as an option.
    #[arg(short, long, value_name = "DIR", conflicts_with = "folder")]
    output: Option<PathBuf>,
}

impl NamedFolder {
    pub(super) fn path(&self) -> &Path {
        self.folder.as_deref().or(self.output.as_deref()).unwrap_or(Path::new(super::DATA_FOLDER))
    }
}
