//! Pages of a sink as WARC records.

use super::write::is_held;
use super::{WarcInfo, WarcWriter, WriteOptions};
use crate::clock::now_ms;
use crate::delivery::Entry;
use crate::formats::encoder::{Encoder, NewFile};
use crate::formats::options::WarcOptions;

pub(super) struct WarcEncoder {
    writer: WarcWriter,
    info: WarcInfo,
}

impl WarcEncoder {
    pub fn new(options: &WarcOptions) -> WarcEncoder {
        WarcEncoder {
            writer: WarcWriter::new(WriteOptions {
                compression: options.compress.then_some(options.compression_level),
                metadata: options.metadata,
                remembered: options.revisits,
            }),
            info: WarcInfo {
                software: concat!("Seine/", env!("CARGO_PKG_VERSION")).to_owned(),
                robots: if options.obeys_robots { "classic" } else { "ignore" }.to_owned(),
                hostname: None,
                operator: options.operator.clone(),
                user_agent: Some(options.user_agent.clone()),
            },
        }
    }
}

impl Encoder for WarcEncoder {
    fn encode(&mut self, entry: &Entry, out: &mut Vec<u8>) -> bool {
        if !is_held(&entry.event) {
            return false;
        }
        let links = self.writer.wants_links().then(|| entry.links());
        self.writer.write_event(&entry.event, links.as_deref().unwrap_or_default(), out)
    }

    fn begin(&mut self, file: &NewFile<'_>) -> Vec<u8> {
        self.info.hostname = file.hostname.map(str::to_owned);
        let mut first = Vec::new();
        self.writer.write_info(&self.info, file.name, file.crawler_id, now_ms(), &mut first);
        first
    }
}
