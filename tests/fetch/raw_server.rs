//! A server that sends prepared bytes, over TCP or TLS, and remembers every byte it received.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The reaction of the server to a request.
#[derive(Clone)]
pub struct Reply {
    pub pieces: Vec<Vec<u8>>,
    pub and_then: Then,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Then {
    NextRequest,
    Close,
    /// Sends nothing more, and keeps the connection.
    Hold,
    /// Resets the connection (all connections of a server end in the same way).
    Reset,
}

impl Reply {
    pub fn new(bytes: impl AsRef<[u8]>, and_then: Then) -> Reply {
        Reply { pieces: vec![bytes.as_ref().to_vec()], and_then }
    }

    /// Every byte in a separate write.
    pub fn bytewise(self) -> Reply {
        Reply { pieces: self.pieces.concat().iter().map(|byte| vec![*byte]).collect(), ..self }
    }
}

/// Answers requests with `replies`, in order, on any connection; remembers the requests.
pub struct RawServer {
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
    pub connections: Arc<AtomicUsize>,
}

impl RawServer {
    pub async fn start(replies: Vec<Reply>) -> RawServer {
        RawServer::start_over(replies, None).await
    }

    pub async fn start_over(replies: Vec<Reply>, tls: Option<TlsAcceptor>) -> RawServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (heard, connections) = (Arc::default(), Arc::<AtomicUsize>::default());
        let server = RawServer { address, heard: Arc::clone(&heard), connections: connections.clone() };
        let resets = replies.iter().any(|reply| reply.and_then == Then::Reset);
        let replies = Arc::new(Mutex::new(VecDeque::from(replies)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                stream.set_nodelay(true).unwrap();
                if resets {
                    stream.set_zero_linger().unwrap();
                }
                let (heard, replies, tls) = (heard.clone(), replies.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => converse(stream, &heard, &replies).await,
                        Some(tls) => converse(tls.accept(stream).await.unwrap(), &heard, &replies).await,
                    }
                });
            }
        });
        server
    }

    pub fn url(&self) -> String {
        format!("http://{}/page?q=1", self.address)
    }

    pub fn heard(&self) -> Vec<Vec<u8>> {
        self.heard.lock().clone()
    }
}

/// The head of the next request; none if the client has disconnected.
pub async fn request_of(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.ok()?);
    }
    Some(request)
}

async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    heard: &Mutex<Vec<Vec<u8>>>,
    replies: &Mutex<VecDeque<Reply>>,
) {
    loop {
        let Some(request) = request_of(&mut stream).await else { return };
        heard.lock().push(request);
        let Some(reply) = replies.lock().pop_front() else { return };
        for piece in reply.pieces {
            // The client may have disconnected.
            if stream.write_all(&piece).await.is_err() || stream.flush().await.is_err() {
                return;
            }
        }
        match reply.and_then {
            Then::NextRequest => {}
            Then::Close => {
                let _ = stream.shutdown().await;
                return;
            }
            Then::Reset => return,
            Then::Hold => {
                let _ = stream.read_u8().await; // until the client leaves
                return;
            }
        }
    }
}
