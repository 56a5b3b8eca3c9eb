//! A real browser, headless, controlled with the WebDriver protocol (W3C) of chromedriver.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::program::eventually;
use crate::{LONG, project_file};

/// The JSON key of an element in WebDriver.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

pub struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
}

impl Browser {
    /// With a window of this size.
    pub fn start(width: u32, height: u32) -> Browser {
        let needed = Command::new(project_file("scripts/need")).arg("chromedriver").status().expect("the script runs");
        assert!(needed.success(), "scripts/need chromedriver failed, see above");
        let (driver, address) = (0..5).find_map(|_| start_driver()).expect("chromedriver says where it listens");
        let mut browser = Browser { driver, address, session: String::new() };
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            // Containers have little shared memory.
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            &format!("--window-size={width},{height}"),
        ];
        let capabilities = json!({"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}});
        let session = browser.say("POST", "", &json!({"capabilities": {"alwaysMatch": capabilities}}));
        browser.session = format!("/{}", session["sessionId"].as_str().expect("a session"));
        browser
    }

    pub fn open(&self, url: &str) {
        self.say("POST", "/url", &json!({"url": url}));
    }

    /// The result of a script.
    pub fn run(&self, script: &str) -> Value {
        self.say("POST", "/execute/sync", &json!({"script": script, "args": []}))
    }

    /// The visible text of an element; empty if there is none.
    pub fn text(&self, selector: &str) -> String {
        let text = self.run(&format!("return (document.querySelector({selector:?}) || {{}}).innerText || ''"));
        text.as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub fn eventually_says(&self, selector: &str, words: &str) {
        eventually(&format!("{selector} says {words:?}"), || self.text(selector).contains(words));
    }

    pub fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.say("POST", &format!("/element/{element}/click"), &json!({}));
    }

    pub fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.say("POST", &format!("/element/{element}/value"), &json!({"text": text}));
    }

    /// A PNG of the visible page.
    pub fn picture(&self) -> Vec<u8> {
        use base64::Engine;
        let picture = self.say("GET", "/screenshot", &Value::Null);
        base64::engine::general_purpose::STANDARD.decode(picture.as_str().unwrap()).unwrap()
    }

    /// Console messages worse than information.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.say("POST", "/se/log", &json!({"type": "browser"}));
        let is_bad = |entry: &&Value| entry["level"] == "SEVERE" || entry["level"] == "WARNING";
        log.as_array().unwrap().iter().filter(is_bad).map(Value::to_string).collect()
    }

    fn element(&self, selector: &str) -> String {
        let found = self.say("POST", "/element", &json!({"using": "css selector", "value": selector}));
        found[ELEMENT].as_str().unwrap_or_else(|| panic!("no element {selector}")).to_owned()
    }

    fn say(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(self.address).expect("chromedriver listens");
        stream.set_read_timeout(Some(LONG)).unwrap();
        let (session, length) = (&self.session, body.len());
        write!(
            stream,
            "{method} /session{session}{path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}",
            self.address
        )
        .unwrap();
        // It keeps the connection open, whatever the request says.
        let (mut reader, mut head) = (BufReader::new(stream), String::new());
        while !head.ends_with("\r\n\r\n") {
            let read = reader.read_line(&mut head).expect("chromedriver answers");
            assert!(read > 0, "chromedriver broke off: {head}");
        }
        let is_length =
            |line: &str| Some(line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().unwrap());
        let length: usize = head.lines().find_map(is_length).expect("an answer has a length");
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("chromedriver answers");
        let answer: Value = serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{error}: {head}"));
        assert!(head.contains(" 200 "), "{method} {path}: {}", answer["value"]["message"]);
        answer["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.say("DELETE", "", &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Chromedriver on a free port. None if it ends at once: it takes a free port for IPv4 and then wants the same for IPv6,
/// where another test may have it.
fn start_driver() -> Option<(Child, SocketAddr)> {
    let mut command = Command::new("chromedriver");
    let mut driver = command.arg("--port=0").stdout(Stdio::piped()).spawn().expect("chromedriver starts");
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port =
        lines.find_map(|line| line.unwrap().split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok());
    let Some(port) = port else {
        let status = driver.wait().expect("chromedriver ends");
        eprintln!("chromedriver ended without a port: {status}");
        return None;
    };
    // Its further output must be read, or it would block.
    std::thread::spawn(move || lines.for_each(drop));
    Some((driver, SocketAddr::from(([127, 0, 0, 1], port))))
}
