//! Open files: how many the system allows this process, and who may have how many of them.
//!
//! The stores, the log and the sinks must never be without one: a store that cannot open a file of its own is lost until it
//! is opened again. So connections get a part of the limit, and there are never more workers than it allows.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What is not for connections, besides the tables of the store: journals, segments, files of sinks, their connections to
/// servers, metrics.
const OTHERS: u64 = 200;
/// A worker has one connection, may be opening the next, and asks for a name.
const PER_WORKER: u64 = 3;
/// The most connections that stay open without a request, in either of two clients (see `fetch::pool`).
const MOST_IDLE: u64 = 384;
/// As many tables as the store keeps open by itself.
const MOST_TABLES: u64 = 900;

/// Who may have how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// The limit they are of.
    pub limit: u64,
    /// Tables of the frontier's store.
    pub tables: usize,
    pub workers: usize,
    /// Origins that one client keeps connections to.
    pub idle: usize,
}

impl Shares {
    /// Of a limit.
    pub fn of(limit: u64) -> Shares {
        let tables = (limit / 4).min(MOST_TABLES);
        let connections = limit - tables - OTHERS.min(limit / 4);
        let idle = (connections / 4).clamp(1, MOST_IDLE);
        let workers = ((connections - (2 * idle).min(connections)) / PER_WORKER).max(1);
        Shares { limit, tables: tables as usize, workers: workers as usize, idle: idle as usize }
    }

    /// Of the limit as it is now.
    pub fn now() -> Shares {
        Shares::of(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
    }
}

/// Raises the limit as far as a process may by itself: the usual 1,024 are there for programs of another kind.
pub fn raise() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, limit = limit.current, "the limit of open files stays as it is");
    }
}

/// Whether a call failed because this process (EMFILE) or this machine (ENFILE) has as many files open as it may.
pub fn is_exhausted(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| code == Some(errno.raw_os_error()))
}
