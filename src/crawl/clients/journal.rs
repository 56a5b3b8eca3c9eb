//! A list of the URLs accepted from a remote worker without our own fetch, so that they can be refetched if the worker
//! is shut out. The file is `clients/NAME.sent`, and `clients/NAME.in_question` after the worker was shut out.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use seine_frontier::{EmbeddedFrontier, FrontierError, Scheduler};
use seine_system::clock::now_ms;
use seine_system::folders::{if_there, make_private};

const FOLDER: &str = "clients";
/// Maximum size of the list. Then its older half is dropped.
const MOST_BYTES: u64 = 256 << 20;
/// Number of URLs queued again per batch.
const BATCH: usize = 1000;

/// The list of one worker.
pub(super) struct Journal {
    sent: PathBuf,
    older: PathBuf,
    in_question: PathBuf,
}

impl Journal {
    pub(super) fn of(data_folder: &Path, client: &str) -> Journal {
        let path = |what: &str| data_folder.join(FOLDER).join(format!("{client}.{what}"));
        Journal { sent: path("sent"), older: path("sent.older"), in_question: path("in_question") }
    }

    /// Adds a URL just before its page is accepted.
    pub(super) fn add(&self, url: &str) -> std::io::Result<()> {
        if let Some(folder) = self.sent.parent() {
            make_private(folder)?;
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&self.sent)?;
        if file.metadata()?.len() > MOST_BYTES / 2 {
            std::fs::rename(&self.sent, &self.older)?;
            file = OpenOptions::new().create(true).append(true).open(&self.sent)?;
        }
        // A single write keeps lines of several threads apart.
        file.write_all(format!("{url}\n").as_bytes())
    }

    /// Queues all listed URLs again and returns their number. After an interruption, call it again.
    pub(super) fn question(&self, frontier: &EmbeddedFrontier) -> Result<u64, QuestionError> {
        let mut count = 0;
        for path in [&self.older, &self.sent] {
            let failed = |source| QuestionError::File { path: path.clone(), source };
            let Some(file) = if_there(File::open(path)).map_err(failed)? else { continue };
            let mut asked = OpenOptions::new().create(true).append(true).open(&self.in_question).map_err(failed)?;
            let mut lines = BufReader::new(file).lines();
            loop {
                let urls: Vec<String> = lines.by_ref().take(BATCH).collect::<Result<_, _>>().map_err(failed)?;
                if urls.is_empty() {
                    break;
                }
                frontier.try_again(&urls, now_ms())?;
                let noted: String = urls.iter().map(|url| format!("{url}\n")).collect();
                asked.write_all(noted.as_bytes()).map_err(failed)?;
                count += urls.len() as u64;
            }
            std::fs::remove_file(path).map_err(failed)?;
        }
        Ok(count)
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum QuestionError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Frontier(#[from] FrontierError),
}
