//! Removes the content codings of a body (RFC 9110 §8.4): gzip, deflate, br, zstd, within a size limit.

use std::io::Read;

use bytes::Bytes;

use crate::page::Response;

/// More codings than this on one body are an attack.
const MAX_CODINGS: usize = 4;
/// RFC 9659: decoders on the web need not support zstd windows above 8 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A body without content codings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Everything that could be decoded; the body as received if nothing could.
    pub body: Bytes,
    /// Why `body` is incomplete.
    pub problem: Option<DecodeProblem>,
}

/// Why a body could not be decoded completely.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeProblem {
    #[error("content coding {coding:?} is unknown: the body is kept as received")]
    Unknown { coding: String },
    #[error("{count} content codings on one body, at most {MAX_CODINGS} are removed: the body is kept as received")]
    TooMany { count: usize },
    #[error("the body is not {coding}, though Content-Encoding says so: it is kept as received")]
    NotCoded { coding: &'static str },
    #[error("the {coding} data is cut off: it has no end after {kept} decoded bytes, which are kept")]
    Cut { coding: &'static str, kept: usize },
    #[error("the {coding} data is damaged after {kept} decoded bytes ({message}): these are kept")]
    Broken { coding: &'static str, kept: usize, message: String },
    #[error(
        "more than {limit} bytes after decoding {coding}: the rest is cut (crawler_manager.downloader.max_decoded_size)"
    )]
    OverLimit { coding: &'static str, limit: u64 },
}

/// The supported codings; `identity` is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Removes the codings named by `Content-Encoding`, last applied first. The output of each coding is limited to
/// `max_bytes`. If a coding is cut, the part before is kept. If the body is not coded, although the server says so, it
/// is kept unchanged. A body without coding is neither copied nor cut, since the fetcher has limited it.
pub fn decode_body(response: &Response, max_bytes: u64) -> Decoded {
    let codings = match codings(response) {
        Ok(codings) => codings,
        Err(problem) => return Decoded { body: response.body.clone(), problem: Some(problem) },
    };
    let mut decoded = Decoded { body: response.body.clone(), problem: None };
    for &coding in codings.iter().rev() {
        if decoded.body.is_empty() {
            break;
        }
        let stage = take_off(coding, &decoded.body, max_bytes);
        decoded.body = stage.body;
        decoded.problem = decoded.problem.or(stage.problem);
    }
    decoded
}

/// The codings in the order they were applied, from repeated and comma-separated headers.
fn codings(response: &Response) -> Result<Vec<Coding>, DecodeProblem> {
    let mut codings = Vec::new();
    for value in response.headers.all("content-encoding") {
        for name in value.split(',').map(str::trim) {
            let coding = match name.to_ascii_lowercase().as_str() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" => Coding::Gzip,
                "deflate" => Coding::Deflate,
                "br" => Coding::Brotli,
                "zstd" => Coding::Zstd,
                _ => return Err(DecodeProblem::Unknown { coding: name.chars().take(64).collect() }),
            };
            codings.push(coding);
        }
    }
    match codings.len() {
        count if count > MAX_CODINGS => Err(DecodeProblem::TooMany { count }),
        _ => Ok(codings),
    }
}

fn take_off(coding: Coding, body: &Bytes, max_bytes: u64) -> Decoded {
    let mut out = Output::new(coding.name(), body.len(), max_bytes);
    let problem = match coding {
        Coding::Gzip => gunzip(body, &mut out),
        Coding::Deflate => inflate(body, &mut out),
        Coding::Brotli => out.fill(brotli::Decompressor::new(UntilCut(body), 4096)),
        Coding::Zstd => match zstd_decoder(body) {
            Ok(decoder) => out.fill(decoder),
            Err(error) => Err(out.broken(&error)),
        },
    }
    .err();
    let not_coded = Some(DecodeProblem::NotCoded { coding: coding.name() });
    let is_nothing = out.bytes.is_empty() && !has_magic(coding, body);
    match problem {
        Some(DecodeProblem::Broken { .. } | DecodeProblem::Cut { .. }) if is_plain_text(body) => {
            return Decoded { body: body.clone(), problem: not_coded };
        }
        Some(DecodeProblem::Broken { .. }) if is_nothing => return Decoded { body: body.clone(), problem: not_coded },
        Some(DecodeProblem::Cut { .. }) if is_nothing => return Decoded { body: body.clone(), problem },
        _ => {}
    }
    Decoded { body: out.bytes.into(), problem }
}

/// Compressed data of more than a few bytes is never UTF-8 without control characters.
fn is_plain_text(body: &[u8]) -> bool {
    let is_control = |byte: &u8| *byte < 0x20 && !byte.is_ascii_whitespace();
    std::str::from_utf8(body).is_ok() && !body.iter().any(is_control)
}

/// Whether the body has the magic bytes of the coding. Deflate and brotli have none.
fn has_magic(coding: Coding, body: &[u8]) -> bool {
    match coding {
        Coding::Gzip => body.starts_with(&GZIP_MAGIC),
        Coding::Zstd => body.starts_with(&ZSTD_MAGIC),
        Coding::Deflate | Coding::Brotli => false,
    }
}

/// RFC 1952: one or more members. Anything else after the last one is padding, as in browsers.
fn gunzip(body: &[u8], out: &mut Output) -> Result<(), DecodeProblem> {
    let mut rest = body;
    loop {
        let mut member = flate2::bufread::GzDecoder::new(rest);
        out.fill(&mut member)?;
        rest = member.into_inner();
        if !rest.starts_with(&GZIP_MAGIC) {
            return Ok(());
        }
    }
}

/// `deflate` means the zlib format (RFC 9110 §8.4.1.2). Some servers send raw DEFLATE, and browsers read both.
fn inflate(body: &[u8], out: &mut Output) -> Result<(), DecodeProblem> {
    if has_zlib_header(body) {
        let result = out.fill(flate2::bufread::ZlibDecoder::new(body));
        if !matches!(result, Err(DecodeProblem::Broken { kept: 0, .. })) {
            return result;
        }
    }
    out.fill(flate2::bufread::DeflateDecoder::new(body))
}

/// RFC 1950 §2.2: method 8, and the two bytes as a number are a multiple of 31.
fn has_zlib_header(body: &[u8]) -> bool {
    matches!(body, [cmf, flg, ..] if cmf & 0x0f == 8 && u16::from_be_bytes([*cmf, *flg]) % 31 == 0)
}

fn zstd_decoder(body: &[u8]) -> std::io::Result<zstd::stream::read::Decoder<'static, &[u8]>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(body)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    Ok(decoder)
}

/// A reader that reports reading beyond the end. Brotli's decoder gives the same error for a cut stream and a damaged
/// one.
struct UntilCut<'b>(&'b [u8]);

impl Read for UntilCut<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buf)? {
            0 if !buf.is_empty() => Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}

/// The output of one coding so far.
struct Output {
    bytes: Vec<u8>,
    coding: &'static str,
    limit: u64,
}

impl Output {
    fn new(coding: &'static str, coded_len: usize, limit: u64) -> Output {
        // HTML shrinks to about a quarter; a small lie about the length must not reserve the limit.
        let capacity = (coded_len as u64).saturating_mul(4).min(limit) as usize;
        Output { bytes: Vec::with_capacity(capacity), coding, limit }
    }

    /// Reads to the end or to the limit. After an error, the bytes read before it are kept.
    fn fill(&mut self, reader: impl Read) -> Result<(), DecodeProblem> {
        let left = self.limit.saturating_sub(self.bytes.len() as u64);
        // Reading one byte more than the limit shows whether the body is longer.
        let mut limited = reader.take(left.saturating_add(1));
        let result = limited.read_to_end(&mut self.bytes);
        if self.bytes.len() as u64 > self.limit {
            self.bytes.truncate(self.limit as usize);
            return Err(DecodeProblem::OverLimit { coding: self.coding, limit: self.limit });
        }
        result.map(|_| ()).map_err(|error| self.broken(&error))
    }

    fn broken(&self, error: &std::io::Error) -> DecodeProblem {
        let (coding, kept) = (self.coding, self.bytes.len());
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => DecodeProblem::Cut { coding, kept },
            _ => DecodeProblem::Broken { coding, kept, message: error.to_string() },
        }
    }
}

impl Coding {
    fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
        }
    }
}
