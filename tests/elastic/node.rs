//! A real server, and requests to it.

use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::LONG;

/// One server at a time: each takes 700 MB, and its start two cores.
static ONE: LazyLock<Arc<Mutex<()>>> = LazyLock::new(Arc::default);

/// Small limits, so that tests reach them with small pages.
pub const MAX_REQUEST: usize = 200 << 10;
const SETTINGS: [&str; 2] = ["http.max_content_length: 200kb", "indexing_pressure.memory.limit: 100kb"];

/// A running node, stopped when dropped.
pub struct Node {
    product: &'static str,
    version: &'static str,
    settings: &'static [&'static str],
    folder: TempDir,
    pub url: String,
    /// Stops the node and removes its folder when its standard input closes, at the latest when this process ends.
    keeper: Option<Child>,
    http: Http,
    _one: OwnedMutexGuard<()>,
}

/// Blocking HTTP for tests.
struct Http {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
}

impl Node {
    pub fn start(product: &'static str, version: &'static str) -> Node {
        Node::start_with(product, version, &SETTINGS)
    }

    /// `settings`: lines of its configuration.
    pub fn start_with(product: &'static str, version: &'static str, settings: &'static [&'static str]) -> Node {
        let one = ONE.clone().blocking_lock_owned();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut node =
            Node { product, version, settings, folder, url: String::new(), keeper: None, http: Http::new(), _one: one };
        node.keeper = Some(node.start_keeper());
        node.start_again();
        node
    }

    fn start_keeper(&self) -> Child {
        let stop = self.script(&["stop"]);
        let mut shell = Command::new("sh");
        shell.args(["-c", "cat > /dev/null; \"$@\"; rm -rf \"$3\"", "sh"]);
        shell.arg(stop.get_program()).args(stop.get_args()).stdin(Stdio::piped()).stderr(Stdio::null());
        shell.spawn().expect("a shell")
    }

    /// After it was killed or stopped; on the same port with the same data.
    pub fn start_again(&mut self) {
        let output = self.script(&["start", self.version]).args(self.settings).output().expect("the script runs");
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} {} does not start: {problem}", self.product, self.version);
        self.url = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    }

    /// `kill -SIGNAL`. If the signal ends processes, waits until the process has ended.
    pub fn signal(&self, signal: &str) {
        let pid = std::fs::read_to_string(self.folder.path().join("pid")).expect("the server's process id");
        let sent = Command::new("kill").args([&format!("-{signal}"), pid.trim()]).status().expect("kill runs");
        assert!(sent.success(), "kill -{signal} {pid}");
        let gone = || !Command::new("kill").args(["-0", pid.trim()]).stderr(Stdio::null()).status().unwrap().success();
        if signal == "KILL" {
            wait_until("the server is gone", gone);
        }
    }

    /// `scripts/services/PRODUCT ARGUMENTS… FOLDER`.
    pub fn script(&self, arguments: &[&str]) -> Command {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/services/");
        let mut command = Command::new(format!("{script}{}", self.product));
        command.args(arguments).arg(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Status and body of a request; the body is null if it is not JSON.
    pub fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let (status, text) = self.http.ask(method, &format!("{}{path}", self.url), body);
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    /// Status and text of a request whose body is sent unchanged: JSON, or the lines of a bulk.
    pub fn ask_text(&self, method: Method, path: &str, body: &str) -> (u16, String) {
        self.http.send(method, &format!("{}{path}", self.url), (!body.is_empty()).then(|| body.to_owned()))
    }

    pub fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask(Method::GET, path, None);
        assert_eq!(status, 200, "GET {path}: {body}");
        body
    }

    pub fn put(&self, path: &str, body: &Value) {
        let (status, answer) = self.ask(Method::PUT, path, Some(body));
        assert_eq!(status, 200, "PUT {path}: {answer}");
    }

    /// The field's type in the index.
    pub fn type_of(&self, index: &str, field: &str) -> Value {
        self.get(&format!("/{index}/_mapping"))[index]["mappings"]["properties"][field]["type"].clone()
    }

    /// The document with this id: the complete answer of the server.
    pub fn document_text(&self, index: &str, id: &str) -> String {
        let id = percent_encoding::utf8_percent_encode(id, percent_encoding::NON_ALPHANUMERIC);
        let (status, text) = self.http.ask(Method::GET, &format!("{}/{index}/_doc/{id}", self.url), None);
        assert_eq!(status, 200, "document {id} in {index}: {text}");
        text
    }

    pub fn document(&self, index: &str, id: &str) -> Value {
        serde_json::from_str(&self.document_text(index, id)).expect("JSON")
    }

    /// How many documents a query finds.
    pub fn count(&self, index: &str, query: Value) -> u64 {
        let (status, answer) = self.ask(Method::POST, &format!("/{index}/_refresh"), None);
        assert_eq!(status, 200, "{answer}");
        let (status, answer) = self.ask(Method::POST, &format!("/{index}/_count"), Some(&json!({ "query": query })));
        assert_eq!(status, 200, "{answer}");
        answer["count"].as_u64().expect("a count")
    }

    pub fn count_all(&self, index: &str) -> u64 {
        self.count(index, json!({ "match_all": {} }))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-CONT", &self.pid()]).stderr(Stdio::null()).status();
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            let _ = keeper.wait();
        }
    }
}

impl Node {
    fn pid(&self) -> String {
        let pid = std::fs::read_to_string(self.folder.path().join("pid")).unwrap_or_default();
        if pid.trim().is_empty() { "nobody".into() } else { pid.trim().to_owned() }
    }
}

impl Http {
    fn new() -> Http {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client");
        Http { runtime, client }
    }

    /// Status and text of a request.
    fn ask(&self, method: Method, url: &str, body: Option<&Value>) -> (u16, String) {
        self.send(method, url, body.map(Value::to_string))
    }

    fn send(&self, method: Method, url: &str, body: Option<String>) -> (u16, String) {
        self.runtime.block_on(async {
            let mut request = self.client.request(method, url).timeout(LONG);
            if let Some(body) = body {
                request = request.header("content-type", "application/json").body(body);
            }
            let response = request.send().await.expect("the server answers");
            let status = response.status().as_u16();
            let body = response.bytes().await.expect("a whole answer");
            (status, String::from_utf8(body.into()).expect("text"))
        })
    }
}

/// Polls until it is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
