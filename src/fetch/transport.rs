//! What sends a request and reads its answer: reqwest, or for archives that want exact bytes a client of our own making
//! above the same hyper. Both are told the same and tell the same.

use http::HeaderMap;
use http::response::Parts;

use super::answer::Incoming;
use super::plain::Plain;
use super::tapped::Tapped;
use crate::page::Failure;

pub(super) enum Transport {
    Plain(Plain),
    Tapped(Box<Tapped>),
}

impl Transport {
    pub async fn get(&self, url: &url::Url, headers: HeaderMap) -> Result<(Parts, Incoming), Failure> {
        match self {
            Transport::Plain(http) => http.get(url, headers).await,
            Transport::Tapped(http) => http.get(url, headers).await,
        }
    }
}
