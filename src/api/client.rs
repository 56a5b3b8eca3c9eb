//! A client for a running crawl, through the socket in its data folder.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Method, Request, header};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use super::problem::Problem;
use super::server::socket_in;

/// A crawl that does not answer within this time is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// The crawl that runs in a data folder.
pub struct Client {
    runtime: tokio::runtime::Runtime,
    stream: std::cell::RefCell<Option<UnixStream>>,
    folder: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("cannot ask the crawl in {folder}: {problem}", folder = .folder.display())]
    Connection { folder: PathBuf, problem: String },
    /// The crawl refused, with the reason.
    #[error("{0}")]
    Refused(String),
    #[error("the crawl in {} says what this seine does not understand ({problem}): is it another version?", .folder.display())]
    Answer { folder: PathBuf, problem: serde_json::Error },
}

impl Client {
    /// None if no crawl runs there.
    pub fn connect(folder: &Path) -> Result<Option<Client>, AskError> {
        let failed = |problem: std::io::Error| connection(folder, problem);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let client = Client { runtime, stream: Default::default(), folder: folder.to_owned() };
        match client.runtime.block_on(open(folder)) {
            Ok(stream) => {
                client.stream.replace(Some(stream));
                Ok(Some(client))
            }
            // A crawl that was killed leaves its socket behind.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// `path`: below `/api/v1`, with its query.
    pub fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, AskError> {
        self.ask(Method::GET, path, "application/json", Vec::new())
    }

    pub fn post<A: DeserializeOwned>(&self, path: &str, said: &impl Serialize) -> Result<A, AskError> {
        let body = serde_json::to_vec(said).map_err(|error| self.failed(error))?;
        self.ask(Method::POST, path, "application/json", body)
    }

    /// Sends one URL per line.
    pub(crate) fn post_list<A: DeserializeOwned>(&self, path: &str, urls: &[String]) -> Result<A, AskError> {
        self.ask(Method::POST, path, "text/uri-list", urls.join("\n").into_bytes())
    }

    /// The answer as a stream.
    pub(crate) fn post_for_stream(&self, path: &str) -> Result<AnswerStream<'_>, AskError> {
        let (is_success, body) = self.in_time(self.send(Method::POST, path, "application/json", Vec::new()))?;
        match is_success {
            true => Ok(AnswerStream { client: self, body, rest: bytes::Bytes::new() }),
            false => {
                let text = self.in_time(async { body.collect().await.map_err(|error| self.failed(error)) })?;
                Err(self.refused(&text.to_bytes()))
            }
        }
    }

    fn ask<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<A, AskError> {
        let (is_success, bytes) = self.in_time(async {
            let (is_success, body) = self.send(method, path, content_type, body).await?;
            let body = body.collect().await.map_err(|error| self.failed(error))?;
            Ok((is_success, body.to_bytes()))
        })?;
        match is_success {
            true => serde_json::from_slice(&bytes).map_err(|problem| self.foreign(problem)),
            false => Err(self.refused(&bytes)),
        }
    }

    fn in_time<T>(&self, asked: impl Future<Output = Result<T, AskError>>) -> Result<T, AskError> {
        let late = |_| self.failed(format!("it does not answer for {} s", PATIENCE.as_secs()));
        self.runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await }).map_err(late)?
    }

    fn failed(&self, problem: impl ToString) -> AskError {
        connection(&self.folder, problem)
    }

    fn foreign(&self, problem: serde_json::Error) -> AskError {
        AskError::Answer { folder: self.folder.clone(), problem }
    }

    fn refused(&self, problem: &[u8]) -> AskError {
        match serde_json::from_slice(problem) {
            Ok(Problem { detail, .. }) => AskError::Refused(detail),
            Err(error) => self.foreign(error),
        }
    }

    /// Returns whether the request succeeded, and the body.
    async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<(bool, Incoming), AskError> {
        // The first request uses the connection that was opened to find the crawl.
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => open(&self.folder).await.map_err(|error| self.failed(error))?,
        };
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| self.failed(error))?;
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, content_type)
            .body(Full::new(bytes::Bytes::from(body)))
            .map_err(|error| self.failed(error))?;
        let response = sender.send_request(request).await.map_err(|error| self.failed(error))?;
        Ok((response.status().is_success(), response.into_body()))
    }
}

/// A long answer. If nothing arrives for a while, the crawl has failed.
pub(crate) struct AnswerStream<'a> {
    client: &'a Client,
    body: Incoming,
    rest: bytes::Bytes,
}

impl Read for AnswerStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.rest.is_empty() {
            let frame = async { Ok(self.body.frame().await) };
            match self.client.in_time(frame).map_err(std::io::Error::other)? {
                None => return Ok(0),
                Some(frame) => self.rest = frame.map_err(std::io::Error::other)?.into_data().unwrap_or_default(),
            }
        }
        let length = self.rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest.split_to(length));
        Ok(length)
    }
}

async fn open(folder: &Path) -> std::io::Result<UnixStream> {
    let (_folder, path) = socket_in(folder)?;
    UnixStream::connect(path).await
}

fn connection(folder: &Path, problem: impl ToString) -> AskError {
    AskError::Connection { folder: folder.to_owned(), problem: problem.to_string() }
}
