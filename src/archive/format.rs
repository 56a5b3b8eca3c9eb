//! The formats by name, and the table of what each can hold.

use std::fmt;

/// A format that pages are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// ACHE's FILES: JSON lines, compressed.
    Files,
    /// Memex CDR 3.1, one document a line.
    Cdr31,
    /// The ELASTICSEARCH document, one a line.
    Elastic,
    /// One file a page, named after its URL: the body alone.
    FilesystemHtml,
    /// The same, the file a FILES object.
    FilesystemJson,
    /// The same, the file a CBOR map.
    FilesystemCbor,
    /// One JSON object a row of CSV.
    WebIndex,
    /// A folder a day, in it a folder a page.
    Pagestore,
    /// Tianwang / Web InfoMall raw format: HTTP responses one behind the other.
    Tianwang,
    /// WARC, the archive format of the web (ISO 28500).
    Warc,
}

/// Something known of a page, or a kind of page, that a format holds or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// The URL that was asked for; without it, the final URL stands for it.
    Url,
    FinalUrl,
    /// The redirects between the two.
    Hops,
    Status,
    /// Reason phrase and HTTP version.
    Reason,
    Headers,
    /// The content, content codings taken off.
    Body,
    /// The content as received, with the headers that belong to its coding.
    BodyReceived,
    /// When the last byte had arrived.
    Fetched,
    Started,
    Ip,
    Request,
    /// The bytes around the body, as they went over the connection.
    Exchange,
    Relevance,
    CrawlerId,
    EventId,
    /// What became of the page since the last fetch.
    Change,
    /// That a body was cut, and why.
    Truncated,
    /// Answers other than 2xx.
    OtherAnswers,
    /// Pages that are not HTML.
    OtherTypes,
    /// Fetches without an answer.
    Failures,
}

/// How much of a [`Field`] a format holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    Whole,
    Partly(Part),
    No,
}

/// What is left of a field that is not held whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Headers: the values of one name stand together, where the name came first.
    Gathered,
    /// Headers: the values of one name are one value, joined with commas.
    Joined,
    /// Headers, reason phrase and version: as a message of HTTP/1.1 has them, which says its length or its host.
    Http1,
    /// Of an exchange: the response.
    Answer,
    /// A number: rounded to ten digits behind the point.
    TenDigits,
    /// A time: in whole seconds.
    Seconds,
    /// A time: the day.
    Day,
    /// Content: as text.
    Text,
    /// Content: as text, and of HTML pages alone.
    HtmlText,
    /// Content: as text where it is some.
    TextOrBytes,
}

impl Field {
    pub const ALL: [Field; 21] = [
        Field::Url,
        Field::FinalUrl,
        Field::Hops,
        Field::Status,
        Field::Reason,
        Field::Headers,
        Field::Body,
        Field::BodyReceived,
        Field::Fetched,
        Field::Started,
        Field::Ip,
        Field::Request,
        Field::Exchange,
        Field::Relevance,
        Field::CrawlerId,
        Field::EventId,
        Field::Change,
        Field::Truncated,
        Field::OtherAnswers,
        Field::OtherTypes,
        Field::Failures,
    ];

    /// Kinds of pages rather than something of each page.
    fn is_kind_of_page(self) -> bool {
        matches!(self, Field::OtherAnswers | Field::OtherTypes | Field::Failures)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::Url => "requested URL",
            Field::FinalUrl => "final URL",
            Field::Hops => "redirects",
            Field::Status => "status",
            Field::Reason => "reason phrase and HTTP version",
            Field::Headers => "headers",
            Field::Body => "content",
            Field::BodyReceived => "content codings",
            Field::Fetched => "time of the fetch",
            Field::Started => "start of the fetch",
            Field::Ip => "IP address",
            Field::Request => "request headers",
            Field::Exchange => "exact bytes of the exchange",
            Field::Relevance => "relevance",
            Field::CrawlerId => "crawler id",
            Field::EventId => "event id",
            Field::Change => "change since the last fetch",
            Field::Truncated => "reason of a cut",
            Field::OtherAnswers => "answers other than 2xx",
            Field::OtherTypes => "pages that are not HTML",
            Field::Failures => "failed fetches",
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Gathered => "with the values of one name together",
            Part::Joined => "with the values of one name joined by commas",
            Part::Http1 => "as in HTTP/1.1",
            Part::Answer => "without the request",
            Part::TenDigits => "to ten digits",
            Part::Seconds => "in whole seconds",
            Part::Day => "as a day",
            Part::Text => "as text",
            Part::HtmlText => "as text, of HTML pages alone",
            Part::TextOrBytes => "in UTF-8 where it is text",
        })
    }
}

impl Format {
    pub const ALL: [Format; 10] = [
        Format::Files,
        Format::Cdr31,
        Format::Elastic,
        Format::FilesystemHtml,
        Format::FilesystemJson,
        Format::FilesystemCbor,
        Format::WebIndex,
        Format::Pagestore,
        Format::Tianwang,
        Format::Warc,
    ];

    /// Its name, also that of the sink that writes files of it, as in `target_storage.data_formats`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Files => "FILES",
            Format::Cdr31 => "CDR31",
            Format::Elastic => "ELASTIC",
            Format::FilesystemHtml => "FILESYSTEM_HTML",
            Format::FilesystemJson => "FILESYSTEM_JSON",
            Format::FilesystemCbor => "FILESYSTEM_CBOR",
            Format::WebIndex => "WEB_INDEX",
            Format::Pagestore => "PAGESTORE",
            Format::Tianwang => "TIANWANG",
            Format::Warc => "WARC",
        }
    }

    /// The format of this name, whatever its case; the error lists those there are.
    pub fn parse(name: &str) -> Result<Format, String> {
        let found = Format::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| format!("one of {}", Format::names()))
    }

    /// Every name, for messages.
    pub fn names() -> String {
        Format::ALL.map(Format::name).join(", ")
    }

    /// How much of a field it holds.
    pub fn holds(self, field: Field) -> Held {
        self.table().iter().find(|(held, _)| *held == field).map_or(Held::No, |(_, how)| *how)
    }

    /// Whether a page cannot be written without it: something has to stand there. What is of the content has to be there,
    /// or there is no page.
    pub fn demands(self, field: Field) -> bool {
        use Format::{
            Cdr31, Elastic, Files, FilesystemCbor, FilesystemHtml, FilesystemJson, Pagestore, Tianwang, Warc,
        };
        match field {
            Field::Url => self.holds(Field::Url) != Held::No,
            Field::FinalUrl => matches!(self, Cdr31 | Tianwang | Warc | Format::WebIndex),
            Field::Status => matches!(self, Elastic | Tianwang | Warc),
            Field::Fetched => self != FilesystemHtml,
            Field::Relevance => matches!(self, Files | FilesystemJson | Elastic | Warc),
            Field::Body => {
                matches!(self, Files | FilesystemHtml | FilesystemJson | FilesystemCbor | Pagestore | Tianwang | Warc)
            }
            _ => false,
        }
    }

    /// What it holds; nothing else.
    fn table(self) -> &'static [(Field, Held)] {
        use Held::{Partly, Whole};
        match self {
            Format::Files | Format::FilesystemJson => &[
                (Field::Url, Whole),
                (Field::FinalUrl, Whole),
                (Field::Headers, Partly(Part::Gathered)),
                (Field::Body, Whole),
                (Field::Fetched, Whole),
                (Field::Relevance, Whole),
                (Field::CrawlerId, Whole),
                (Field::OtherTypes, Whole),
            ],
            Format::Cdr31 => &[
                (Field::FinalUrl, Whole),
                (Field::Headers, Partly(Part::Joined)),
                (Field::Body, Partly(Part::Text)),
                (Field::Fetched, Partly(Part::Seconds)),
                (Field::CrawlerId, Whole),
            ],
            Format::Elastic => &[
                (Field::Url, Whole),
                (Field::FinalUrl, Whole),
                (Field::Status, Whole),
                (Field::Headers, Partly(Part::Gathered)),
                (Field::Body, Partly(Part::HtmlText)),
                (Field::Fetched, Whole),
                (Field::Relevance, Whole),
                (Field::CrawlerId, Whole),
                (Field::EventId, Whole),
                (Field::Change, Whole),
                (Field::OtherTypes, Whole),
            ],
            Format::FilesystemHtml => &[(Field::Url, Whole), (Field::Body, Whole), (Field::OtherTypes, Whole)],
            Format::FilesystemCbor => &[
                (Field::Url, Whole),
                (Field::Body, Partly(Part::TextOrBytes)),
                (Field::Fetched, Partly(Part::Seconds)),
                (Field::Request, Whole),
                (Field::OtherTypes, Whole),
            ],
            Format::Warc => &[
                (Field::Url, Whole),
                (Field::FinalUrl, Whole),
                (Field::Hops, Whole),
                (Field::Status, Whole),
                (Field::Reason, Whole),
                (Field::Headers, Partly(Part::Http1)),
                (Field::Body, Whole),
                (Field::BodyReceived, Whole),
                (Field::Fetched, Whole),
                (Field::Started, Whole),
                (Field::Ip, Whole),
                (Field::Request, Partly(Part::Http1)),
                (Field::Exchange, Whole),
                (Field::Relevance, Partly(Part::TenDigits)),
                (Field::CrawlerId, Whole),
                (Field::EventId, Whole),
                (Field::Truncated, Whole),
                (Field::OtherAnswers, Whole),
                (Field::OtherTypes, Whole),
            ],
            Format::Tianwang => &[
                (Field::Url, Whole),
                (Field::FinalUrl, Whole),
                (Field::Status, Whole),
                (Field::Reason, Partly(Part::Http1)),
                (Field::Headers, Partly(Part::Http1)),
                (Field::Body, Whole),
                (Field::BodyReceived, Whole),
                (Field::Fetched, Partly(Part::Seconds)),
                (Field::Ip, Whole),
                (Field::Exchange, Partly(Part::Answer)),
                (Field::OtherAnswers, Whole),
                (Field::OtherTypes, Whole),
            ],
            Format::Pagestore => &[
                (Field::Url, Whole),
                (Field::Body, Whole),
                (Field::Fetched, Partly(Part::Day)),
                (Field::OtherTypes, Whole),
            ],
            Format::WebIndex => {
                &[(Field::Url, Whole), (Field::FinalUrl, Whole), (Field::Fetched, Partly(Part::Seconds))]
            }
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What pages of one format lose in another, in a sentence; none when nothing.
pub fn losses(from: Format, to: Format) -> Option<String> {
    let known = Field::ALL.into_iter().filter(|field| from.holds(*field) != Held::No);
    let (mut missing, mut left_out, mut partly) = (Vec::new(), Vec::new(), Vec::new());
    for field in known {
        match to.holds(field) {
            Held::No if field.is_kind_of_page() => left_out.push(field.to_string()),
            Held::No => missing.push(field.to_string()),
            Held::Partly(part) if from.holds(field) != Held::Partly(part) => partly.push(format!("{field} {part}")),
            Held::Partly(_) | Held::Whole => {}
        }
    }
    let mut parts = Vec::new();
    if !missing.is_empty() {
        parts.push(format!("holds no {}", missing.join(", ")));
    }
    if !partly.is_empty() {
        parts.push(format!("holds {}", partly.join("; ")));
    }
    if !left_out.is_empty() {
        parts.push(format!("leaves out {}", left_out.join(", ")));
    }
    (!parts.is_empty()).then(|| format!("{to} {}", parts.join("; ")))
}
