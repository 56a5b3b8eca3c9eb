//! Tianwang / Web InfoMall raw format 1.0: pages one after the other. Each has a head, a blank line, DATA and another
//! blank line. Its document is “Web InfoMall网页存储格式说明(V1.0)” (the page storage format of Web InfoMall), Peking
//! University's network laboratory, April 2003. Sections (§) in this folder refer to that document.
//!
//! The head has one property per line, `name: value`: `version` · `url` (final) · `origin` (the URL requested, only
//! after a redirect) · `date` (RFC 822, of the fetch) · `ip` · any others · `unzip-length` (only if DATA is one zlib
//! stream: its uncompressed length) · `length` (bytes of DATA as stored). Seine adds the property `truncated` with the
//! reason if the body was cut. DATA is the complete HTTP response with any
//! status: status line, headers, content.
//!
//! [`write`](TianwangWriter) and [`read`](TianwangReader) handle intact files, [`recover`](recover()) damaged ones.

mod ahead;
mod error;
mod format;
mod framing;
mod read;
mod record;
mod recover;
mod salvage;
mod search;
mod window;
mod write;

pub use ahead::whole_length;
pub use error::TianwangError;
pub use format::FORMAT;
pub use read::TianwangReader;
pub use record::{ContentError, HeadError, TianwangRecord};
pub use recover::{FoundRecord, Gap, ScannedRange, recover};
pub use write::{TianwangWriter, stores_event};

/// The version that is written.
pub const VERSION: &str = "1.0";

/// Seine's property of a record whose body was cut.
pub(super) const TRUNCATED: &str = "truncated";

/// Longest head that is written, read or recovered, in bytes: two very long URLs and other properties.
pub(super) const MAX_HEAD: usize = 64 << 10;

/// Longest DATA that is read or recovered, in bytes, both stored and inflated. The largest event fits.
pub(super) const MAX_DATA: u64 = 256 << 20;
