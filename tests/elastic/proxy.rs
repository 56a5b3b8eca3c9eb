//! A proxy in front of a server: counts requests, requires credentials, speaks TLS, breaks requests.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

/// Stops when dropped.
pub struct Proxy {
    pub address: SocketAddr,
    state: Arc<State>,
    _runtime: Runtime,
}

struct State {
    server: String,
    /// The only `Authorization` that is accepted.
    wanted: Option<String>,
    requests: AtomicUsize,
    bulks: AtomicUsize,
    /// Requests with this text in their body fail.
    poison: Mutex<Option<(String, Break)>>,
    client: reqwest::Client,
}

/// How a request fails.
#[derive(Clone, Copy)]
pub enum Break {
    /// The connection is closed.
    Reset,
    /// There is no answer.
    Hang,
    /// Each document with the text fails with this status; the others get through.
    Fail(u16),
}

impl Proxy {
    pub fn start(server: &str, wanted: Option<&str>, tls: Option<TlsAcceptor>) -> Proxy {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let state = Arc::new(State {
            server: server.to_owned(),
            wanted: wanted.map(str::to_owned),
            requests: AtomicUsize::new(0),
            bulks: AtomicUsize::new(0),
            poison: Mutex::default(),
            client: reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap(),
        });
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(accept(listener, tls, state.clone()));
        Proxy { address, state, _runtime: runtime }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on every request passes.
    pub fn mend(&self) {
        *self.state.poison.lock().unwrap() = None;
    }

    /// From now on every request with this text in its body fails.
    pub fn break_at(&self, text: &str, how: Break) {
        *self.state.poison.lock().unwrap() = Some((text.to_owned(), how));
    }

    /// Requests of any kind so far.
    pub fn requests(&self) -> usize {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// `_bulk` requests so far.
    pub fn bulks(&self) -> usize {
        self.state.bulks.load(Ordering::SeqCst)
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, state: Arc<State>) {
    while let Ok((socket, _)) = listener.accept().await {
        let (tls, state) = (tls.clone(), state.clone());
        tokio::spawn(async move {
            let pass = service_fn(|request| pass(request, state.clone()));
            let http = hyper::server::conn::http1::Builder::new();
            // A client that rejects our certificate is part of the test.
            let _ = match tls {
                None => http.serve_connection(TokioIo::new(socket), pass).await,
                Some(tls) => match tls.accept(socket).await {
                    Ok(socket) => http.serve_connection(TokioIo::new(socket), pass).await,
                    Err(_) => Ok(()),
                },
            };
        });
    }
}

async fn pass(request: Request<Incoming>, state: Arc<State>) -> Result<Response<Full<Bytes>>, String> {
    let (parts, body) = request.into_parts();
    state.requests.fetch_add(1, Ordering::SeqCst);
    let given = parts.headers.get("authorization").and_then(|value| value.to_str().ok());
    if state.wanted.is_some() && given != state.wanted.as_deref() {
        return Ok(answer(401, Bytes::from_static(br#"{"error":"missing authentication credentials"}"#)));
    }
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    if path.contains("/_bulk") {
        state.bulks.fetch_add(1, Ordering::SeqCst);
    }
    let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
    let poison = state.poison.lock().unwrap().clone();
    let mut body = body;
    let mut failed = Vec::new();
    if let Some((text, how)) = poison
        && memchr::memmem::find(&body, text.as_bytes()).is_some()
    {
        match how {
            Break::Reset => return Err("broken off".into()),
            Break::Hang => std::future::pending().await,
            Break::Fail(status) if path.contains("/_bulk") => (body, failed) = without_failing(&body, &text, status),
            Break::Fail(_) => {}
        }
        if body.is_empty() && !failed.is_empty() {
            return Ok(answer(200, with_verdicts(&[], &failed)));
        }
    }
    let mut onward = state.client.request(parts.method, format!("{}{path}", state.server)).body(body);
    if let Some(kind) = parts.headers.get("content-type") {
        onward = onward.header("content-type", kind);
    }
    // Without an answer the connection is closed, as by a dying server.
    let response = onward.send().await.map_err(|error| error.to_string())?;
    let status = response.status().as_u16();
    let said = response.bytes().await.map_err(|error| error.to_string())?;
    Ok(answer(status, if failed.is_empty() { said } else { with_verdicts(&said, &failed) }))
}

/// The rest of a bulk, and the verdicts on the documents with the text, by position.
fn without_failing(body: &Bytes, text: &str, status: u16) -> (Bytes, Vec<(usize, Value)>) {
    let lines: Vec<&[u8]> = body.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut left, mut failed) = (Vec::new(), Vec::new());
    for (place, document) in lines.chunks(2).enumerate() {
        if document.iter().any(|line| memchr::memmem::find(line, text.as_bytes()).is_some()) {
            let error = json!({ "type": "odd_exception", "reason": "it failed" });
            failed.push((place, json!({ "index": { "status": status, "error": error } })));
        } else {
            left.extend_from_slice(&document.concat());
        }
    }
    (left.into(), failed)
}

fn with_verdicts(said: &[u8], failed: &[(usize, Value)]) -> Bytes {
    let mut answer: Value = serde_json::from_slice(said).unwrap_or_else(|_| json!({ "items": [] }));
    let items = answer["items"].as_array_mut().expect("verdicts");
    failed.iter().for_each(|(place, verdict)| items.insert(*place, verdict.clone()));
    answer.to_string().into()
}

fn answer(status: u16, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status.try_into().expect("a status");
    response
}
