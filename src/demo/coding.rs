//! The content codings of the demo: bodies compressed with gzip, Brotli or zstd.

use std::io::{self, Write};

use bytes::Bytes;

#[derive(Debug, Clone, Copy)]
pub(super) enum Coding {
    Gzip,
    Brotli,
    Zstd,
}

pub(super) fn encode(coding: Coding, body: &[u8]) -> io::Result<Bytes> {
    let encoded = match coding {
        Coding::Gzip => gzip(body)?,
        Coding::Zstd => zstd::bulk::compress(body, 3)?,
        Coding::Brotli => {
            let mut writer = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 20);
            writer.write_all(body)?;
            writer.into_inner()
        }
    };
    Ok(encoded.into())
}

pub(super) fn gzip(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    writer.write_all(body)?;
    writer.finish()
}

impl Coding {
    pub(super) fn token(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
        }
    }
}
