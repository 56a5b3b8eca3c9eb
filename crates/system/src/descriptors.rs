//! Open files: how many the system allows, and how they are shared.
//!
//! Stores, log and sinks must always be able to open a file: a store that cannot is lost until it is opened again. So
//! connections get a part of the limit, and it also limits the number of workers.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files reserved for other purposes than connections and the store's tables: journals, segments, files of sinks, their
/// connections to servers, metrics.
const OTHERS: u64 = 200;
/// A worker has one connection, may be opening the next, and resolves a name.
const PER_WORKER: u64 = 3;
/// The most idle connections of either of two clients (see `fetch::pool`).
const MOST_IDLE: u64 = 384;
/// The number of tables that the store keeps open by default.
const MOST_TABLES: u64 = 900;

/// The shares of the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// The limit that is shared.
    pub limit: u64,
    /// Tables of the frontier's store.
    pub tables: usize,
    pub workers: usize,
    /// Number of origins that one client keeps connections to.
    pub idle: usize,
}

impl Shares {
    /// The shares of a given limit.
    pub fn of(limit: u64) -> Shares {
        let tables = (limit / 4).min(MOST_TABLES);
        let connections = limit - tables - OTHERS.min(limit / 4);
        let idle = (connections / 4).clamp(1, MOST_IDLE);
        let workers = ((connections - (2 * idle).min(connections)) / PER_WORKER).max(1);
        Shares { limit, tables: tables as usize, workers: workers as usize, idle: idle as usize }
    }

    /// The shares of the present limit.
    pub fn now() -> Shares {
        Shares::of(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
    }
}

/// Raises the limit as far as a process may. The default of 1,024 is too low for a crawler.
pub fn raise() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, limit = limit.current, "the limit of open files cannot be raised");
    }
}

/// Whether a call failed because this process (EMFILE) or this machine (ENFILE) has too many open files.
pub fn is_exhausted(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| code == Some(errno.raw_os_error()))
}
