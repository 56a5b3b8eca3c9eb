//! The fields of a page, and how completely a format stores each. Every row of the table of formats lists its own.

use std::fmt;

/// A fact about a page, or a kind of page, that a format may store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// The URL requested. Without it, the final URL is used.
    Url,
    FinalUrl,
    /// The redirects between the two.
    Hops,
    Status,
    /// Reason phrase and HTTP version.
    Reason,
    Headers,
    /// The decoded body.
    Body,
    /// The body as received, with the headers that describe its coding.
    BodyReceived,
    /// When the last byte arrived.
    Fetched,
    Started,
    Ip,
    Request,
    /// The exact bytes of the HTTP exchange around the body.
    Exchange,
    Relevance,
    /// The page classifier that gave the relevance.
    Model,
    CrawlerId,
    EventId,
    /// How the page changed since the last fetch.
    Change,
    /// The reason why the body was truncated.
    Truncated,
    /// Answers other than 2xx.
    OtherAnswers,
    /// Pages that are not HTML.
    OtherTypes,
    /// Fetches without an answer.
    Failures,
}

/// How completely a format stores a [`Field`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    Complete,
    Partly(Reduction),
    No,
}

/// The remaining part of a field that is stored in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Headers: values of the same name are grouped.
    Gathered,
    /// Headers: values of the same name are joined with commas.
    Joined,
    /// Headers, reason phrase and version as in an HTTP/1.1 message. Length and host are added.
    Http1,
    /// Of an exchange only the response.
    Answer,
    /// A number, rounded to ten decimal places.
    TenDigits,
    /// A time in whole seconds.
    Seconds,
    /// Only the day of a time.
    Day,
    /// Content as text.
    Text,
    /// Content as text, for HTML pages only.
    HtmlText,
    /// Content as text if it is text, otherwise as bytes.
    TextOrBytes,
}

/// Every field with its name for people.
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

    /// Whether this is a kind of page, not a fact about each page.
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

/// The fields of a page that are unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MissingFields(u32);

impl MissingFields {
    /// Adds a field if it is lacking.
    pub fn and(self, field: Field, is_lacking: bool) -> MissingFields {
        MissingFields(self.0 | u32::from(is_lacking) << field as u32)
    }

    pub fn has(self, field: Field) -> bool {
        self.0 & 1 << field as u32 != 0
    }
}
