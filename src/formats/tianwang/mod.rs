//! Tianwang / Web InfoMall raw format 1.0: pages one behind the other, each a head, a blank line, DATA and another blank
//! line. Its document is “Web InfoMall网页存储格式说明(V1.0)” (the page storage format of Web InfoMall), Peking
//! University's network laboratory, April 2003; sections (§) in this folder are that document's.
//!
//! The head is one property a line, `name: value`: `version` · `url` (the final one) · `origin` (the URL asked for, only
//! after a redirect) · `date` (RFC 822, of the fetch) · `ip` · any others · `unzip-length` (only when DATA is one zlib
//! stream: what it inflates to) · `length` (bytes of DATA as it stands in the file). DATA is the complete HTTP response:
//! status line, headers, content, whatever its status.
//!
//! [`write`](TianwangWriter) and [`read`](TianwangReader) are for whole files, [`recover`](recover()) for damaged ones.

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
pub use write::{TianwangWriter, is_held};

/// The version that is written.
pub const VERSION: &str = "1.0";

/// The longest head that is written, read or recovered, in bytes: two URLs of the longest kind and much besides.
pub(super) const MAX_HEAD: usize = 64 << 10;

/// The most bytes of DATA, both as it stands in the file and inflated, that are read or recovered. The largest event
/// still fits.
pub(super) const MAX_DATA: u64 = 256 << 20;
