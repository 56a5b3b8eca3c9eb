//! A server based on the simulation's model, for tests that control its answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::model::elastic_model::Server;

/// Called before the model; may answer with a status and a body.
pub type Hook = Arc<dyn Fn(&Asked) -> Option<(u16, Value)> + Send + Sync>;

pub struct Asked {
    pub method: String,
    pub path: String,
    pub body: Vec<u8>,
    /// The credentials of the request.
    pub authorization: String,
}

impl Asked {
    /// A bulk with pages, not a probe.
    pub fn is_bulk_of_pages(&self) -> bool {
        self.path.contains("/_bulk") && !String::from_utf8_lossy(&self.body).contains("seine-asks-whether")
    }
}

/// Serves as long as the process runs. Returns its URL.
pub fn serve(hook: Hook) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    let model = Arc::new(Mutex::new(Server::new(1)));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (hook, model) = (hook.clone(), model.clone());
            std::thread::spawn(move || converse(stream, &hook, &model));
        }
    });
    url
}

fn converse(stream: TcpStream, hook: &Hook, model: &Mutex<Server>) {
    let mut out = stream.try_clone().expect("a handle");
    let mut input = BufReader::new(stream);
    while let Some(asked) = read(&mut input) {
        let (status, body) = hook(&asked).unwrap_or_else(|| {
            let reply = model.lock().expect("no panic").answer(&asked.method, &asked.path, &asked.body, 0);
            (reply.status, reply.body)
        });
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if out.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

fn read(input: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    input.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok()?;
        match line.trim().split_once(": ") {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().ok()?,
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => authorization = value.to_owned(),
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    Some(Asked { method, path, body, authorization })
}
