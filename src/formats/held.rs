//! What a format holds of a page: each row of the table of formats says it of its own.

use std::fmt;

/// Something known of a page, or a kind of page, that a format holds or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// The page classifier that the relevance is by.
    Model,
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
    Partly(Reduction),
    No,
}

/// What is left of a field that is not held whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
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

/// Every field, and what people call it.
const NAMES: [(Field, &str); 22] = [
    (Field::Url, "requested URL"),
    (Field::FinalUrl, "final URL"),
    (Field::Hops, "redirects"),
    (Field::Status, "status"),
    (Field::Reason, "reason phrase and HTTP version"),
    (Field::Headers, "headers"),
    (Field::Body, "content"),
    (Field::BodyReceived, "content codings"),
    (Field::Fetched, "time of the fetch"),
    (Field::Started, "start of the fetch"),
    (Field::Ip, "IP address"),
    (Field::Request, "request headers"),
    (Field::Exchange, "exact bytes of the exchange"),
    (Field::Relevance, "relevance"),
    (Field::Model, "page classifier"),
    (Field::CrawlerId, "crawler id"),
    (Field::EventId, "event id"),
    (Field::Change, "change since the last fetch"),
    (Field::Truncated, "reason of a cut"),
    (Field::OtherAnswers, "answers other than 2xx"),
    (Field::OtherTypes, "pages that are not HTML"),
    (Field::Failures, "failed fetches"),
];

impl Field {
    pub fn all() -> impl Iterator<Item = Field> {
        NAMES.into_iter().map(|(field, _)| field)
    }

    /// Kinds of pages rather than something of each page.
    pub(super) fn is_kind_of_page(self) -> bool {
        matches!(self, Field::OtherAnswers | Field::OtherTypes | Field::Failures)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(field, _)| field == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reduction::Gathered => "with the values of one name together",
            Reduction::Joined => "with the values of one name joined by commas",
            Reduction::Http1 => "as in HTTP/1.1",
            Reduction::Answer => "without the request",
            Reduction::TenDigits => "to ten digits",
            Reduction::Seconds => "in whole seconds",
            Reduction::Day => "as a day",
            Reduction::Text => "as text",
            Reduction::HtmlText => "as text, of HTML pages alone",
            Reduction::TextOrBytes => "in UTF-8 where it is text",
        })
    }
}

/// Fields that nothing is known of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lacks(u32);

impl Lacks {
    /// And this one too, if so.
    pub(crate) fn and(self, field: Field, is_lacking: bool) -> Lacks {
        Lacks(self.0 | u32::from(is_lacking) << field as u32)
    }

    pub fn has(self, field: Field) -> bool {
        self.0 & 1 << field as u32 != 0
    }
}
