//! A sink that is not used on after an error: what it has in hand no longer matches what was acknowledged then.

use std::path::Path;
use std::sync::Arc;

use super::sink::{Delivered, Sink, SinkError};
use super::watch::Watch;
use crate::delivery::Entry;

/// Passes calls on until one fails; every later one is an error.
pub struct Fused {
    name: &'static str,
    sink: Box<dyn Sink>,
    failed: bool,
}

impl Fused {
    /// `name`: the sink's, for the error.
    pub fn new(name: &'static str, sink: Box<dyn Sink>) -> Fused {
        Fused { name, sink, failed: false }
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut dyn Sink) -> Result<T, SinkError>) -> Result<T, SinkError> {
        if self.failed {
            let problem = "used again after an error".into();
            return Err(SinkError::Other {
                sink: self.name,
                problem,
                remedy: "open it again from its committed state",
            });
        }
        let result = call(&mut *self.sink);
        self.failed = result.is_err();
        result
    }
}

impl Sink for Fused {
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        self.call(|sink| sink.deliver(entries))
    }

    fn flush(&mut self) -> Result<Delivered, SinkError> {
        self.call(|sink| sink.flush())
    }

    fn show_to(&mut self, watch: Watch) {
        self.sink.show_to(watch);
    }

    fn note_places(&mut self, folder: &Path) {
        self.sink.note_places(folder);
    }

    fn close(&mut self) -> Result<(), SinkError> {
        self.call(|sink| sink.close())
    }
}
