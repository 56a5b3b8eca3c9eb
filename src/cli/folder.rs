//! Which crawl a command is for: its data folder, named by `-o`, or where the command takes nothing else by the argument.

use std::path::{Path, PathBuf};

/// Of commands with arguments of their own.
#[derive(clap::Args)]
pub struct Folder {
    /// The data folder of the crawl, running or at rest.
    #[arg(short, long = "output", value_name = "DIR", default_value = super::DATA_FOLDER, global = true)]
    pub output: PathBuf,
}

/// Of commands without.
#[derive(clap::Args)]
pub struct NamedFolder {
    /// The data folder of the crawl, running or at rest.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The same.
    #[arg(short, long, value_name = "DIR", conflicts_with = "folder")]
    output: Option<PathBuf>,
}

impl NamedFolder {
    pub fn path(&self) -> &Path {
        self.folder.as_deref().or(self.output.as_deref()).unwrap_or(Path::new(super::DATA_FOLDER))
    }
}
