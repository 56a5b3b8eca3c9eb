//! Asking a running crawl through the socket in its data folder.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, header};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use super::problem::Problem;
use super::server::socket_in;

/// A crawl that does not answer for so long is not well.
const PATIENCE: Duration = Duration::from_secs(60);

/// The crawl that runs in a data folder.
pub struct Client {
    runtime: tokio::runtime::Runtime,
    stream: std::cell::RefCell<Option<UnixStream>>,
    folder: std::path::PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("cannot ask the crawl in {folder}: {problem}")]
    Connection { folder: String, problem: String },
    /// It said no, and why.
    #[error("{0}")]
    Refused(String),
    #[error("the crawl in {folder} says what this seine does not understand ({problem}): is it another version?")]
    Answer { folder: String, problem: String },
}

impl Client {
    /// None when no crawl runs there.
    pub fn connect(folder: &Path) -> Result<Option<Client>, AskError> {
        let failed = |problem: std::io::Error| connection(folder, problem.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let client = Client { runtime, stream: Default::default(), folder: folder.to_owned() };
        match client.runtime.block_on(open(folder)) {
            Ok(stream) => {
                client.stream.replace(Some(stream));
                Ok(Some(client))
            }
            // A crawl that was killed leaves its socket, and nobody at it.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// `path`: below `/api/v1`, with its query.
    pub fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, AskError> {
        self.ask(Method::GET, path, "application/json", Vec::new())
    }

    pub fn post<A: DeserializeOwned>(&self, path: &str, said: &impl Serialize) -> Result<A, AskError> {
        let body = serde_json::to_vec(said).map_err(|error| connection(&self.folder, error.to_string()))?;
        self.ask(Method::POST, path, "application/json", body)
    }

    /// Lines of URLs.
    pub fn post_list<A: DeserializeOwned>(&self, path: &str, urls: &[String]) -> Result<A, AskError> {
        self.ask(Method::POST, path, "text/uri-list", urls.join("\n").into_bytes())
    }

    fn ask<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<A, AskError> {
        let answer = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, self.exchange(method, path, content_type, body)).await });
        let late = |_| connection(&self.folder, format!("it does not answer for {} s", PATIENCE.as_secs()));
        let (is_success, bytes) = answer.map_err(late)??;
        let foreign =
            |problem: serde_json::Error| AskError::Answer { folder: shown(&self.folder), problem: problem.to_string() };
        match is_success {
            true => serde_json::from_slice(&bytes).map_err(foreign),
            false => {
                let Problem { detail, .. } = serde_json::from_slice(&bytes).map_err(foreign)?;
                Err(AskError::Refused(detail))
            }
        }
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<(bool, bytes::Bytes), AskError> {
        let failed = |problem: String| connection(&self.folder, problem);
        // The first question has the connection that showed that somebody is there.
        let first = self.stream.take();
        let stream = match first {
            Some(stream) => stream,
            None => open(&self.folder).await.map_err(|error| failed(error.to_string()))?,
        };
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(error.to_string()))?;
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, content_type)
            .body(Full::new(bytes::Bytes::from(body)))
            .map_err(|error| failed(error.to_string()))?;
        let response = sender.send_request(request).await.map_err(|error| failed(error.to_string()))?;
        let is_success = response.status().is_success();
        let body = response.into_body().collect().await.map_err(|error| failed(error.to_string()))?;
        Ok((is_success, body.to_bytes()))
    }
}

async fn open(folder: &Path) -> std::io::Result<UnixStream> {
    let (_folder, path) = socket_in(folder)?;
    UnixStream::connect(path).await
}

fn connection(folder: &Path, problem: String) -> AskError {
    AskError::Connection { folder: shown(folder), problem }
}

fn shown(folder: &Path) -> String {
    folder.display().to_string()
}
