//! The text of `seine --version`: the version, the commit, and the formats of a data folder.

use std::sync::LazyLock;

use seine_parse::page;

/// The version, its commit, and the formats that it writes to a data folder.
pub(super) static LONG: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{}\ncommit       {}\ndata folder  page log {}, event {}, frontier {}",
        env!("CARGO_PKG_VERSION"),
        env!("SEINE_COMMIT"),
        seine_page_log::FORMAT,
        page::codec::FORMAT,
        seine_frontier::FORMAT,
    )
});
