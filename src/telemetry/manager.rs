//! Notifies the service manager by systemd's protocol (sd_notify(3)): datagrams of `NAME=value` lines to the socket in
//! `NOTIFY_SOCKET`. The crate sd-notify is not used, because it does not support abstract sockets and blocks if nobody
//! reads.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

/// A notification that the manager does not read within this time is dropped.
const PATIENCE: Duration = Duration::from_secs(1);

/// Cheap to clone. Without a manager nothing is sent.
#[derive(Clone, Default)]
pub(crate) struct Manager(Option<Arc<UnixDatagram>>);

impl Manager {
    /// The manager named by the environment.
    pub(crate) fn of_environment() -> Manager {
        let Some(name) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Manager::default();
        };
        let connected = connect(&name).inspect_err(|error| {
            tracing::warn!(%error, socket = %name.display(), "NOTIFY_SOCKET cannot be reached, so the service \
                manager gets no notifications");
        });
        Manager(connected.ok().map(Arc::new))
    }

    pub(crate) fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// Maximum time between signs of life (sd_watchdog_enabled(3)); none: the manager wants none.
    pub(crate) fn watchdog(&self) -> Option<Duration> {
        let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
        let is_for_us = number("WATCHDOG_PID").is_none_or(|id| id == u64::from(std::process::id()));
        let time = number("WATCHDOG_USEC").filter(|micros| *micros > 0).map(Duration::from_micros);
        time.filter(|_| is_for_us && self.is_there())
    }

    /// Sends one assignment, as `READY=1`. Failures are ignored, because the manager has its own timeouts.
    pub(crate) fn tell(&self, name: &str, value: &str) {
        let Some(socket) = &self.0 else { return };
        let line = value.replace(['\n', '\r'], " ");
        if let Err(error) = socket.send(format!("{name}={line}").as_bytes()) {
            tracing::debug!(%error, name, "a notification to the service manager failed");
        }
    }
}

/// A path, or with `@` a name in the abstract namespace.
fn connect(name: &OsStr) -> std::io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(PATIENCE))?;
    match name.as_bytes().strip_prefix(b"@") {
        Some(name) => socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?,
        None => socket.connect(name)?,
    }
    Ok(socket)
}
