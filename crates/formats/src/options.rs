//! Options of encoders, per format: plain data set by the configuration.

/// The keys `target_storage.data_format.*`. Each encoder uses its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// ELASTIC's `distance` is measured from the text last given to destinations with this threshold, in bits.
    pub min_change: u8,
    /// CDR31's `team`.
    pub team: Option<String>,
    pub web_index: WebIndexLimits,
    /// TIANWANG: each page is one zlib stream.
    pub tianwang_compress: bool,
    pub warc: WarcOptions,
}

/// Limits of the web index: characters of each kind of string, and number of headings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WebIndexLimits {
    pub language: usize,
    pub title: usize,
    /// Characters per heading.
    pub heading: usize,
    /// Number of headings per level.
    pub headings: usize,
    /// The last level that is kept: 1 to 6.
    pub heading_level: usize,
    pub description: usize,
    pub keywords: usize,
    pub author: usize,
    pub content_snippet: usize,
    pub image_alts: usize,
    pub link_texts: usize,
}

/// `target_storage.data_format.warc.*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WarcOptions {
    /// Each record is a gzip member.
    pub compress: bool,
    /// Compression level of zlib, 0 to 9.
    pub compression_level: u32,
    /// Write an index for each file.
    pub cdxj: bool,
    /// Write a `metadata` record for each page.
    pub metadata: bool,
    /// Number of URLs whose last payload is remembered, so that a repeated one is written as `revisit`. About 100 bytes
    /// each.
    pub revisits: usize,
    /// For `warcinfo`: who runs the crawl …
    pub operator: Option<String>,
    /// … with which user agent …
    pub user_agent: String,
    /// … and whether it obeys robots.txt.
    pub obeys_robots: bool,
}
