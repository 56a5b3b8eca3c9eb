//! A network that fails on command: a TCP proxy in front of one server.

use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::support::program::eventually;

/// What becomes of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// They work.
    Pass,
    /// Nobody listens; those that were there are reset.
    Refuse,
    /// They stay, and new ones come about, but no byte moves.
    Stall,
    /// Those that were there are reset (RST, no FIN), and so is every new one at once.
    Reset,
    /// Each is reset after so many more bytes to the server: in the middle of a request that is longer.
    CutAfter(u64),
    /// Requests arrive whole; each connection is reset when the server begins to answer.
    LoseAnswers,
}

/// In front of one server. Ends when dropped.
pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    _runtime: Runtime,
}

struct Shared {
    address: SocketAddr,
    server: SocketAddr,
    mood: watch::Sender<Mood>,
    sent: AtomicU64,
    cuts: AtomicU64,
}

impl Proxy {
    /// Listens at `address`, for a server that must know it before it starts; see [`free_ports`].
    pub fn start(address: SocketAddr, server: SocketAddr) -> Proxy {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let mood = watch::Sender::new(Mood::Pass);
        let shared = Arc::new(Shared { address, server, mood, sent: AtomicU64::new(0), cuts: AtomicU64::new(0) });
        runtime.spawn(listen(shared.clone()));
        let proxy = Proxy { address, shared, _runtime: runtime };
        proxy.set(Mood::Pass);
        proxy
    }

    /// Holds when it returns.
    pub fn set(&self, mood: Mood) {
        self.shared.mood.send_replace(mood);
        let connects = || StdStream::connect_timeout(&self.address, Duration::from_secs(5)).is_ok();
        eventually("the proxy does as it was told", || connects() == (mood != Mood::Refuse));
    }

    /// Bytes passed on to the server so far.
    pub fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::SeqCst)
    }

    /// Connections cut in the middle so far.
    pub fn cuts(&self) -> u64 {
        self.shared.cuts.load(Ordering::SeqCst)
    }
}

/// Loopback ports where nobody listens, below those that the system gives to outgoing connections: they are free still
/// when somebody listens there for the second time.
pub fn free_ports<const N: usize>() -> [u16; N] {
    let mut held: Vec<StdListener> = Vec::new();
    while held.len() < N {
        held.extend(StdListener::bind((Ipv4Addr::LOCALHOST, fastrand::u16(10_000..32_000))));
    }
    std::array::from_fn(|number| held[number].local_addr().expect("it is bound").port())
}

/// The settings of a broker behind the proxy. The broker listens at `proxied`, and tells clients of the proxy to connect to
/// `proxy`. It has another port for tests that must read its content without the proxy.
pub fn broker_settings(proxy: u16, proxied: u16) -> [String; 4] {
    let [plain, controller] = free_ports();
    [
        format!(
            "listeners=PLAINTEXT://127.0.0.1:{plain},PROXIED://127.0.0.1:{proxied},CONTROLLER://127.0.0.1:{controller}"
        ),
        format!("advertised.listeners=PLAINTEXT://127.0.0.1:{plain},PROXIED://127.0.0.1:{proxy}"),
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT".to_owned(),
        format!("controller.quorum.voters=1@127.0.0.1:{controller}"),
    ]
}

async fn listen(shared: Arc<Shared>) {
    let mut mood = shared.mood.subscribe();
    loop {
        until(&mut mood, |mood| mood != Mood::Refuse).await;
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_reuseaddr(true).expect("a listener's option");
        socket.bind(shared.address).expect("the proxy's port is still free");
        let listener = socket.listen(128).expect("it listens");
        tokio::select! {
            () = accept(listener, &shared) => {}
            _ = until(&mut mood, |mood| mood == Mood::Refuse) => {}
        }
    }
}

async fn accept(listener: TcpListener, shared: &Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(connection(client, shared.clone()));
    }
}

async fn connection(mut client: TcpStream, shared: Arc<Shared>) {
    let mut mood = shared.mood.subscribe();
    let server = match until(&mut mood, |mood| mood != Mood::Stall).await {
        Mood::Pass | Mood::CutAfter(_) | Mood::LoseAnswers => TcpStream::connect(shared.server).await.ok(),
        _ => None,
    };
    let Some(mut server) = server else { return reset(&client) };
    let is_reset = {
        let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
        tokio::select! {
            is_cut = carry_up(from_client, to_server, &shared) => is_cut,
            is_cut = carry_down(from_server, to_client, &shared) => is_cut,
            _ = until(&mut mood, |mood| matches!(mood, Mood::Reset | Mood::Refuse)) => true,
        }
    };
    if is_reset {
        reset(&client);
        reset(&server);
    }
}

/// The mood, once it is so.
async fn until(mood: &mut watch::Receiver<Mood>, is_so: impl Fn(Mood) -> bool) -> Mood {
    *mood.wait_for(|mood| is_so(*mood)).await.expect("whoever waits holds the sender")
}

/// Makes sure that dropping the connection resets it, instead of closing it.
fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

/// True when it was cut.
async fn carry_up(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, shared: &Shared) -> bool {
    let mut mood = shared.mood.subscribe();
    let mut buffer = vec![0; 64 << 10];
    let mut left = None;
    while let Some(count) = read(&mut from, &mut buffer).await {
        let allowed = match until(&mut mood, |mood| mood != Mood::Stall).await {
            Mood::CutAfter(bytes) => *left.get_or_insert(bytes),
            _ => {
                left = None;
                u64::MAX
            }
        };
        let passing = usize::try_from(allowed).unwrap_or(usize::MAX).min(count);
        if to.write_all(&buffer[..passing]).await.is_err() {
            return false;
        }
        shared.sent.fetch_add(passing as u64, Ordering::SeqCst);
        left = left.map(|left| left - passing as u64);
        if passing < count {
            shared.cuts.fetch_add(1, Ordering::SeqCst);
            return true;
        }
    }
    false
}

/// True when an answer was lost.
async fn carry_down(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, shared: &Shared) -> bool {
    let mut mood = shared.mood.subscribe();
    let mut buffer = vec![0; 64 << 10];
    while let Some(count) = read(&mut from, &mut buffer).await {
        if until(&mut mood, |mood| mood != Mood::Stall).await == Mood::LoseAnswers {
            shared.cuts.fetch_add(1, Ordering::SeqCst);
            return true;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return false;
        }
    }
    false
}

/// None at the end, orderly or not.
async fn read(from: &mut ReadHalf<'_>, buffer: &mut [u8]) -> Option<usize> {
    from.read(buffer).await.ok().filter(|count| *count > 0)
}
