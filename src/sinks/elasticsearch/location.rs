//! Finds the document of one page.

use std::time::Duration;

use elasticsearch::http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use seine_formats::elastic::document_id;
use serde::Deserialize;
use tokio::runtime::Builder;

use super::client::Client;
use crate::config::ElasticConfig;
use crate::sinks::page_location::{LocationUnknown, PageLocation};

#[derive(Deserialize)]
struct Answer {
    _index: String,
    _id: String,
    _version: i64,
}

/// Asks the index; another writer may have put the document there. `patience`: how long to wait for the answer.
pub(in crate::sinks) fn find(
    config: &ElasticConfig,
    url: &str,
    patience: Duration,
) -> Result<PageLocation, LocationUnknown> {
    let failed = |problem: String| LocationUnknown(format!("the index cannot be asked: {problem}"));
    let runtime = super::runtime(&mut Builder::new_current_thread());
    let runtime = runtime.map_err(|error| failed(error.to_string()))?;
    let client = Client::new(config).map_err(|error| failed(error.to_string()))?;
    let id = document_id(url);
    let path = format!("/{}/_doc/{}?_source=false", config.index, utf8_percent_encode(&id, NON_ALPHANUMERIC));
    let asked = async { tokio::time::timeout(patience, client.send(Method::Get, &path, None)).await };
    let answer = match runtime.block_on(asked) {
        Ok(Ok(answer)) => answer,
        Ok(Err(why)) => return Err(failed(why.to_string())),
        Err(_) => return Err(failed(format!("no answer within {} ms", patience.as_millis()))),
    };
    match (answer.status, serde_json::from_slice::<Answer>(&answer.body)) {
        (200, Ok(Answer { _index: index, _id: id, _version: version })) => {
            Ok(PageLocation::Document { index, id, version })
        }
        (404, _) => Err(LocationUnknown(format!("{} holds no document of it: it was removed there", config.index))),
        _ => Err(failed(answer.shown())),
    }
}
