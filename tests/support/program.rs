//! The program as a user runs it: the binary as a child process, its output collected, its end awaited with a deadline.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The longest wait of any test. Far more than anything takes, for busy machines.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// A finished run of the program.
#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Requires exit status 0 and no sign of a crash; otherwise shows all output.
    #[track_caller]
    pub fn ok(self) -> Ran {
        assert!(self.status.success(), "{}\n{}", self.status, self.stderr);
        self.no_panic()
    }

    /// Requires this exit status, and no sign of a crash.
    #[track_caller]
    pub fn exits(self, code: i32) -> Ran {
        assert_eq!(self.status.code(), Some(code), "{}", self.stderr);
        self.no_panic()
    }

    /// Requires exit status 1 or 2, and every one of `words` in the output.
    #[track_caller]
    pub fn fails_naming(self, words: &[&str]) -> Ran {
        assert!(matches!(self.status.code(), Some(1 | 2)), "{}\n{}", self.status, self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in:\n{}", self.stderr);
        }
        self.no_panic()
    }

    #[track_caller]
    fn no_panic(self) -> Ran {
        for text in [&self.stdout, &self.stderr] {
            assert!(!text.contains("panicked at") && !text.contains("RUST_BACKTRACE"), "{text}");
        }
        self
    }

    /// Standard output as one JSON object per line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        json_lines(&self.stdout)
    }
}

#[track_caller]
pub fn json_lines(text: &str) -> Vec<Value> {
    let object = |line: &str| match serde_json::from_str(line) {
        Ok(value @ Value::Object(_)) => value,
        other => panic!("{line:?} is no JSON object: {other:?}"),
    };
    text.lines().map(object).collect()
}

/// The program with these arguments, in an environment without its own settings.
pub fn command<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seine"));
    command.args(arguments).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SEINE__") || name == "RUST_BACKTRACE" {
            command.env_remove(name);
        }
    }
    command
}

/// Runs it to its end.
#[track_caller]
pub fn run<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> Ran {
    Process::start(command(arguments)).wait()
}

/// The running program. Killed when dropped.
pub struct Process {
    child: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Process {
    pub fn start(mut command: Command) -> Process {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let stdout = child.stdout.take().map(gather);
        let stderr = child.stderr.take().map(gather);
        Process { child, stdout, stderr }
    }

    /// The same with its output in a file that can be read while it runs.
    pub fn start_saying(mut command: Command, said: &Path) -> Process {
        let said = std::fs::File::create(said).expect("a file for what it says");
        let child = command.stdout(Stdio::null()).stderr(said).spawn().expect("the program starts");
        Process { child, stdout: None, stderr: None }
    }

    /// The same, with standard output left to the caller.
    pub fn start_unread(mut command: Command) -> (Process, std::process::ChildStdout) {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let stdout = child.stdout.take().expect("it is piped");
        let stderr = child.stderr.take().map(gather);
        (Process { child, stdout: None, stderr }, stdout)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("the child is ours").is_some()
    }

    /// `TERM`, `INT`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.id().to_string()]).status();
        assert!(sent.expect("kill is there").success(), "SIG{name} could not be sent");
    }

    /// Sends SIGKILL, and waits for the end. Returns false if it had already ended.
    pub fn kill(mut self) -> bool {
        let ended = self.has_ended();
        let _ = self.child.kill();
        let _ = self.child.wait();
        !ended
    }

    /// Waits for its end.
    #[track_caller]
    pub fn wait(self) -> Ran {
        self.wait_for(DEADLINE)
    }

    #[track_caller]
    pub fn wait_for(mut self, at_most: Duration) -> Ran {
        let deadline = Instant::now() + at_most;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the child is ours") {
                break status;
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                panic!("not ended after {at_most:?}; it said:\n{}", text_of(self.stderr.take()));
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        Ran { status, stdout: text_of(self.stdout.take()), stderr: text_of(self.stderr.take()) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn gather(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("the pipe is readable");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn text_of(gathering: Option<JoinHandle<String>>) -> String {
    gathering.map(|thread| thread.join().expect("gathering does not panic")).unwrap_or_default()
}

/// Waits until a condition holds.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {DEADLINE:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
    socket.local_addr().expect("it is bound").port()
}

/// `GET http://ADDRESS/path`: status and body; none if nobody answers.
pub fn get(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    use std::io::Write;
    let mut stream = std::net::TcpStream::connect_timeout(&address, Duration::from_secs(5)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

/// A data folder with its configuration, and the crawls in it.
pub struct Place {
    folder: TempDir,
}

/// Settings for every crawl of a test site: no API port, quick retries, loopback allowed; and a page for every URL,
/// independent of the order of fetches.
const BASE: &str = "http.enabled: false\n\
    crawler_manager.downloader.allow_private_addresses: true\n\
    crawler_manager.downloader.redirects: follow\n\
    link_storage.scheduler.backoff_base: 50ms\n\
    link_storage.cache_size: 4MiB\n\
    logging.filter: warn\n";

impl Place {
    pub fn new() -> Place {
        Place::with("")
    }

    /// `settings`: lines of configuration that extend or replace those of every crawl.
    pub fn with(settings: &str) -> Place {
        let place = Place { folder: tempfile::tempdir().expect("a temporary folder") };
        let key = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
        let given: Vec<String> = settings.lines().map(key).collect();
        let base = BASE.lines().filter(|line| !given.contains(&key(line)));
        let lines: Vec<&str> = base.chain(settings.lines()).collect();
        std::fs::write(place.config(), lines.join("\n") + "\n").expect("the configuration is written");
        place
    }

    pub fn config(&self) -> PathBuf {
        self.folder.path().join("seine.yml")
    }

    /// Changes the value of one key from now on.
    pub fn set(&self, key: &str, value: &str) {
        let text = std::fs::read_to_string(self.config()).expect("the configuration is readable");
        let others = text.lines().filter(|line| line.split(':').next() != Some(key));
        let lines: Vec<String> = others.map(str::to_owned).chain([format!("{key}: {value}")]).collect();
        std::fs::write(self.config(), lines.join("\n") + "\n").expect("the configuration is written");
    }

    /// The folder given to `-o`.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A file next to the data folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("the file is written");
        path
    }

    /// `seine crawl` into the data folder, with the configuration, from these seeds.
    pub fn crawl(&self, seeds: &[String], more: &[&str]) -> Command {
        let mut command = command(&["crawl"]);
        command.arg("-c").arg(self.config()).arg("-o").arg(self.data()).args(more);
        for seed in seeds {
            command.args(["--seed", seed]);
        }
        command
    }

    /// `seine cat` of the FILES sink. Every record must be readable.
    #[track_caller]
    pub fn cat(&self) -> Vec<Value> {
        cat(&self.data().join("files"))
    }

    /// How often each URL is in the FILES sink.
    #[track_caller]
    pub fn kept(&self) -> BTreeMap<String, usize> {
        count(self.cat().iter())
    }

    /// `seine stats --json`; checks that the counters balance.
    #[track_caller]
    pub fn stats(&self) -> Value {
        stats(&self.data())
    }
}

#[track_caller]
pub fn cat(folder: &Path) -> Vec<Value> {
    run(&["cat".as_ref(), folder.as_os_str()]).ok().json_lines()
}

/// How often each URL occurs.
pub fn count<'a>(pages: impl Iterator<Item = &'a Value>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for page in pages {
        *counts.entry(page["url"].as_str().expect("a page has a URL").to_owned()).or_insert(0) += 1;
    }
    counts
}

#[track_caller]
pub fn stats(folder: &Path) -> Value {
    let stats: Value =
        serde_json::from_str(&run(&["stats".as_ref(), folder.as_os_str(), "--json".as_ref()]).ok().stdout)
            .expect("stats are JSON");
    for sink in stats["sinks"].as_array().expect("stats have sinks") {
        let book = |name: &str| sink[name].as_u64().unwrap_or_else(|| panic!("{name} is missing in {sink}"));
        let known = book("delivered") + book("skipped") + book("dead_lettered") + book("damaged") + book("pending");
        assert_eq!(book("accepted"), known, "the books do not balance: {sink}");
    }
    stats
}
