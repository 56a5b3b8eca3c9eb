//! What is asked of encoders, by format: plain data that the configuration fills in.

/// Each encoder looks at what is its own. The keys `target_storage.data_format.*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// ELASTIC's `distance` is that to what was last given to destinations with this threshold, in bits.
    pub min_change: u8,
    /// CDR31's `team`.
    pub team: Option<String>,
    pub web_index: WebIndexLimits,
    /// TIANWANG: each page is one zlib stream.
    pub tianwang_compress: bool,
    pub warc: WarcOptions,
}

/// The most characters of each kind of string in the web index, and the most headings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WebIndexLimits {
    pub language: usize,
    pub title: usize,
    /// Of each heading.
    pub heading: usize,
    /// Of each level.
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
    /// Of zlib, 0 to 9.
    pub compression_level: u32,
    /// Write an index beside each file.
    pub cdxj: bool,
    /// Write a `metadata` record for each page.
    pub metadata: bool,
    /// For how many URLs the last payload is remembered, to write a `revisit` for the same again; about 100 bytes each.
    pub revisits: usize,
    /// For `warcinfo`: whoever runs the crawl …
    pub operator: Option<String>,
    /// … as whom it asks …
    pub user_agent: String,
    /// … and whether it obeys robots.txt.
    pub obeys_robots: bool,
}
