//! A name server for one test: answers, refuses, fails or stays silent as told (RFC 1035 over UDP).

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The answer for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Say {
    /// Its only address (a name with an IPv6 address has no A record, and vice versa).
    Address(IpAddr),
    /// NXDOMAIN.
    NoSuchName,
    /// The name exists without an address.
    NoAddress,
    /// SERVFAIL.
    Failure,
    /// REFUSED.
    Refused,
    /// No answer.
    Silence,
}

/// Serves on a loopback port until it is dropped.
pub struct NameServer {
    pub address: SocketAddr,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    /// `say`: the answer for a name (lower case, without the final dot).
    pub fn start(say: impl Fn(&str) -> Say + Send + 'static) -> NameServer {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
        let address = socket.local_addr().expect("it is bound");
        let stopped = Arc::new(AtomicBool::new(false));
        let until = stopped.clone();
        let thread = std::thread::spawn(move || {
            // Wakes now and then to check whether it must end.
            socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a socket takes a time-out");
            let mut asked = [0; 2048];
            while !until.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut asked) else { continue };
                if let Some(answer) = answer(&asked[..length], &say) {
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        NameServer { address, stopped, thread: Some(thread) }
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            eprintln!("the name server's thread panicked");
        }
    }
}

const HEADER: usize = 12;
const A: u16 = 1;
const AAAA: u16 = 28;
const SECONDS_TO_KEEP: u32 = 60;

/// None if the message is not a question, and for silence.
fn answer(asked: &[u8], say: &impl Fn(&str) -> Say) -> Option<Vec<u8>> {
    let (name, end) = name(asked)?;
    let kind = u16::from_be_bytes([*asked.get(end)?, *asked.get(end + 1)?]);
    let (code, address) = match say(&name) {
        Say::Silence => return None,
        Say::Address(ip) => (0, Some(ip)),
        Say::NoAddress => (0, None),
        Say::Failure => (2, None),
        Say::NoSuchName => (3, None),
        Say::Refused => (5, None),
    };
    let data = match (kind, address) {
        (A, Some(IpAddr::V4(ip))) => Some(ip.octets().to_vec()),
        (AAAA, Some(IpAddr::V6(ip))) => Some(ip.octets().to_vec()),
        _ => None,
    };
    let mut out = asked[..2].to_vec();
    out.extend([0x81, 0x80 | code]); // an answer, recursion asked for and there
    out.extend([0, 1, 0, u8::from(data.is_some()), 0, 0, 0, 0]);
    out.extend(&asked[HEADER..end + 4]);
    if let Some(data) = data {
        out.extend([0xc0, HEADER as u8]); // the name in the question
        out.extend(kind.to_be_bytes());
        out.extend([0, 1]);
        out.extend(SECONDS_TO_KEEP.to_be_bytes());
        out.extend((data.len() as u16).to_be_bytes());
        out.extend(data);
    }
    Some(out)
}

/// The requested name, and where its labels end.
fn name(asked: &[u8]) -> Option<(String, usize)> {
    let mut labels = Vec::new();
    let mut at = HEADER;
    loop {
        let length = usize::from(*asked.get(at)?);
        at += 1;
        if length == 0 {
            return Some((labels.join("."), at));
        }
        labels.push(String::from_utf8_lossy(asked.get(at..at + length)?).to_ascii_lowercase());
        at += length;
    }
}
