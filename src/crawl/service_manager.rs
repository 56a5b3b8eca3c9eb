//! Notifications to the service manager (systemd): starting and slow, ready, status, alive, stopping.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::parts::{FETCH, LOG, VALIDATING};
use super::running::Running;
use crate::telemetry::manager::Manager;

/// Opening a large store takes time, and a killed start begins again. So the start asks for more time this often …
const ASK_EVERY: Duration = Duration::from_secs(10);
/// … by this much.
const MORE_TIME: Duration = Duration::from_secs(60);
const STATUS_EVERY: Duration = Duration::from_secs(5);
/// Number of signs of life within the interval that the manager wants.
const SIGNS: u32 = 3;

/// While this exists, the start asks the manager for more time.
pub(super) struct Opening {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Opening {
    pub(super) fn begin(manager: &Manager, folder: &Path) -> Opening {
        if !manager.is_there() {
            return Opening { thread: None };
        }
        manager.tell("STATUS", &format!("opening {}", folder.display()));
        let (over, is_over) = channel::<()>();
        let manager = manager.clone();
        let thread = std::thread::spawn(move || {
            loop {
                manager.tell("EXTEND_TIMEOUT_USEC", &MORE_TIME.as_micros().to_string());
                if is_over.recv_timeout(ASK_EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        Opening { thread: Some((over, thread)) }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.thread.take() {
            drop(over);
            let _ = thread.join(); // so that nothing is asked for behind READY
        }
    }
}

/// For a running crawl.
pub(super) struct ServiceManager {
    manager: Manager,
    watchdog: Option<Duration>,
    last_status: Option<Instant>,
    last_sign: Option<Instant>,
    is_stopping: bool,
}

impl ServiceManager {
    /// Notifies that the crawl serves.
    pub(super) fn ready(manager: Manager) -> ServiceManager {
        manager.tell("READY", "1");
        let watchdog = manager.watchdog();
        ServiceManager { manager, watchdog, last_status: None, last_sign: None, is_stopping: false }
    }

    /// Sends the notifications that are due. `line` is the progress. Call it often.
    pub(super) fn notify(&mut self, running: &Running, line: impl FnOnce() -> String) {
        if !self.manager.is_there() {
            return;
        }
        // The manager's stop timeout starts now. A crawl that has ended but still delivers is not stopping.
        if running.shutdown.is_hurrying() {
            self.stopping();
        }
        let sign_is_due = self.watchdog.is_some_and(|within| is_due(&mut self.last_sign, within / SIGNS));
        let hangs = sign_is_due.then(|| hangs(running));
        if let Some(None) = hangs {
            self.manager.tell("WATCHDOG", "1");
        }
        if let Some(Some(why)) = hangs {
            self.manager.tell("STATUS", &format!("not well: {why}"));
        } else if is_due(&mut self.last_status, STATUS_EVERY) {
            self.manager.tell("STATUS", &line());
        }
    }

    /// Notifies once that the process is about to end.
    pub(super) fn stopping(&mut self) {
        if !std::mem::replace(&mut self.is_stopping, true) {
            self.manager.tell("STOPPING", "1");
        }
    }
}

fn is_due(last: &mut Option<Instant>, every: Duration) -> bool {
    let is_due = last.is_none_or(|last| last.elapsed() >= every);
    if is_due {
        *last = Some(Instant::now());
    }
    is_due
}

/// Why the manager should restart the process: as /healthz says, or a stuck part that depends only on this process. A
/// crawl that waits for hosts, free space, its operator or the next due time is healthy. So is a sink whose destination
/// does not respond, or that is being restarted, because a restart of the process would not help. So is fetching that
/// waits for its last pages.
fn hangs(running: &Running) -> Option<String> {
    if let Err(why) = running.alive() {
        return Some(why);
    }
    let is_own = |name: &str| match name {
        LOG | VALIDATING => true,
        FETCH => !running.shutdown.is_finishing(),
        _ => false,
    };
    let stuck = running.supervisor.status().into_iter().find(|part| part.is_stuck && is_own(&part.name))?;
    Some(format!("{} is stuck, for {} s", stuck.name, stuck.since_last_sign.as_secs()))
}
