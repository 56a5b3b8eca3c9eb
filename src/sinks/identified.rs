//! Notes in the committed state of a sink what it writes to. If the configuration gives its name to another kind of destination or
//! format, the new one does not hold what was delivered before.

use std::sync::Arc;

use seine_delivery::Entry;
use serde_json::{Value, json};

use super::sink::{Delivered, Sink, SinkError};
use crate::config::SinkConfig;

/// In the committed state.
const DESTINATION: &str = "destination";

pub(super) struct Identified {
    sink: Box<dyn Sink>,
    what: String,
}

/// Opens a sink with its own part of the state.
///
/// # Errors [`SinkError::Replaced`] if the state is of another kind of destination, or of another format.
pub(super) fn open(
    config: &SinkConfig,
    state: &Value,
    open: impl FnOnce(&Value) -> Result<Box<dyn Sink>, SinkError>,
) -> Result<Box<dyn Sink>, SinkError> {
    let what = match config.format {
        Some(format) => format!("{} ({format})", config.kind),
        None => config.kind.to_owned(),
    };
    // States of earlier versions do not say it.
    if let Some(before) = state[DESTINATION].as_str().filter(|before| *before != what) {
        let how = format!("the sink {} was {before} before, and is {what} now", config.name);
        return Err(SinkError::Replaced { sink: config.kind, how });
    }
    Ok(Box::new(Identified { sink: open(&own(state))?, what }))
}

/// The state that the sink itself has committed.
pub(super) fn own(state: &Value) -> Value {
    let mut own = state.clone();
    let fields = own.as_object_mut();
    let is_empty = fields.is_some_and(|fields| fields.remove(DESTINATION).is_some() && fields.is_empty());
    if is_empty { Value::Null } else { own }
}

impl Identified {
    fn identify(&self, mut delivered: Delivered) -> Delivered {
        match &mut delivered.state {
            Value::Object(fields) => _ = fields.insert(DESTINATION.to_owned(), self.what.clone().into()),
            Value::Null => delivered.state = json!({ DESTINATION: self.what }),
            _ => {}
        }
        delivered
    }
}

impl Sink for Identified {
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        let delivered = self.sink.deliver(entries)?;
        Ok(self.identify(delivered))
    }

    fn flush(&mut self) -> Result<Delivered, SinkError> {
        let delivered = self.sink.flush()?;
        Ok(self.identify(delivered))
    }

    fn close(&mut self) -> Result<(), SinkError> {
        self.sink.close()
    }
}
