//! Detects that the index was replaced, by its UUID or by the UUIDs of all indices behind an alias.
//!
//! If an index is missing, a bulk makes the server create it with a mapping that it guesses. So Seine asks for the
//! UUIDs before each bulk. An index that is missing or has another UUID does not hold the documents delivered before.

use std::collections::BTreeMap;

use elasticsearch::http::Method;
use seine_simulation_hooks::planted;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::{Client, ServerReply};
use super::index::NotReady;
use crate::sinks::sink::SinkError;

/// UUIDs by index name. Saved in the sink's committed state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct IndexIdentity {
    uuids: BTreeMap<String, String>,
}

/// The index or alias that the server has under the configured name.
pub(super) enum Found {
    Index(IndexIdentity),
    Nothing,
    /// The user may not read settings, or the server has none.
    Unknown,
}

/// Asks the server.
pub(super) async fn find(client: &Client, index: &str) -> Result<Found, NotReady> {
    let path = format!("/{index}/_settings/index.uuid?flat_settings=true");
    let answer = client.send(Method::Get, &path, None).await?;
    Ok(match answer.status {
        200 => uuids(&answer).map_or(Found::Unknown, |uuids| Found::Index(IndexIdentity { uuids })),
        // A 404 may also come from a proxy in front of the server.
        404 if memchr::memmem::find(&answer.body, b"index_not_found_exception").is_some() => Found::Nothing,
        429 | 500.. => return Err(NotReady::Temporary(answer.shown())),
        _ => Found::Unknown,
    })
}

/// None if the answer names no index.
fn uuids(answer: &ServerReply) -> Option<BTreeMap<String, String>> {
    let found: Value = serde_json::from_slice(&answer.body).ok()?;
    let uuid = |(name, described): (&String, &Value)| {
        Some((name.clone(), described["settings"]["index.uuid"].as_str()?.to_owned()))
    };
    let uuids: BTreeMap<String, String> = found.as_object()?.iter().filter_map(uuid).collect();
    (!uuids.is_empty()).then_some(uuids)
}

impl IndexIdentity {
    /// The identity saved by an earlier run; none if nothing is saved.
    pub(super) fn from_state(state: &Value) -> Option<IndexIdentity> {
        IndexIdentity::deserialize(state).ok().filter(|known| !known.uuids.is_empty())
    }

    /// Names of the indices.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.uuids.keys()
    }

    pub(super) fn to_state(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Fails if one of the indices that documents went to no longer exists. `name` is the configured name.
    pub(super) fn check(&self, found: &Found, name: &str) -> Result<(), SinkError> {
        let found = match found {
            _ if planted::is("emptied_unnoticed") => return Ok(()),
            Found::Index(found) => &found.uuids,
            Found::Nothing => return Err(replaced(format!("{name} is gone"))),
            Found::Unknown => return Ok(()),
        };
        for (index, uuid) in &self.uuids {
            let shown = if index == name { format!("index {name}") } else { format!("index {index} behind {name}") };
            match found.get(index) {
                Some(now) if now == uuid => {}
                Some(now) => return Err(replaced(format!("{shown} was recreated: its UUID was {uuid} and is {now}"))),
                None => {
                    let names = found.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                    return Err(replaced(format!("{shown} is gone, and {name} is {names} now")));
                }
            }
        }
        Ok(())
    }
}

fn replaced(how: String) -> SinkError {
    SinkError::Replaced { sink: "elasticsearch", how }
}
