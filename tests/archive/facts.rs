//! The known facts of a page, field by field, and what must be left of each in a format according to its row of the
//! table.

use seine::archive::read::Page;
use seine_formats::Format;
use seine_formats::files::gathered;
use seine_formats::http;
use seine_formats::stored_fields::{Field, MissingFields, Reduction, Stored};
use seine_formats::text::text_of;
use seine_parse::Derived;
use seine_parse::page::{Headers, HttpVersion, PageEvent, Relevance, Response};

use crate::options;

/// A page, and the data derived from it.
pub struct Known {
    pub event: PageEvent,
    pub derived: Derived,
    /// Fields that the archive does not have; the event has made-up values.
    pub lacks: MissingFields,
}

impl Known {
    pub fn new(event: PageEvent) -> Known {
        Known { derived: seine_parse::derive(&event, &options()), event, lacks: MissingFields::default() }
    }

    pub fn read(page: Page) -> Known {
        Known { lacks: page.lacks, ..Known::new(page.event) }
    }

    /// Whether the format stores such a page, according to the table.
    pub fn is_kept_by(&self, format: Format) -> bool {
        let holds = |field| format.holds(field) != Stored::No;
        if self.lacks.has(Field::Body) && format.demands(Field::Body) {
            return false;
        }
        match self.event.response() {
            None => holds(Field::Failures),
            Some(response) => {
                (response.is_success() || holds(Field::OtherAnswers))
                    && (self.derived.is_html || holds(Field::OtherTypes))
            }
        }
    }

    /// The value of a field.
    pub fn field(&self, field: Field) -> String {
        let event = &self.event;
        let response = event.response().expect("pages that are compared have an answer");
        match field {
            Field::Url => event.url.clone(),
            Field::FinalUrl => event.final_url.clone(),
            Field::Hops => format!("{:?}", event.hops),
            Field::Status => response.status.to_string(),
            Field::Reason => format!("{} {:?}", response.reason, response.version),
            Field::Headers => shown(&response.headers),
            Field::Body => short(&self.derived.body),
            Field::BodyReceived => short(&response.body),
            Field::Fetched => event.ended_ms.to_string(),
            Field::Started => event.started_ms.to_string(),
            Field::Ip => format!("{:?}", event.ip),
            Field::Request => shown(&event.request_headers),
            Field::Exchange => {
                let mut bytes = Vec::new();
                http::write_response(response, &mut bytes);
                short(&bytes)
            }
            Field::Relevance => format!("{:?}", event.relevance),
            Field::Model => format!("{:?}", event.model),
            Field::CrawlerId => event.crawler_id.to_string(),
            Field::EventId => event.id.clone(),
            Field::Change => format!("{:?}", event.change),
            Field::Truncated => format!("{:?}", response.truncated),
            Field::OtherAnswers | Field::OtherTypes | Field::Failures => String::new(),
        }
    }

    /// The value of a field that a reader of the format must find.
    pub fn field_in(&self, field: Field, format: Format) -> String {
        match format.holds(field) {
            Stored::Complete if field == Field::Headers => shown(&self.headers_kept(format)),
            Stored::Complete => self.field(field),
            Stored::Partly(input) => self.input(field, input, format),
            Stored::No => self.without(field, format),
        }
    }

    fn input(&self, field: Field, input: Reduction, format: Format) -> String {
        match input {
            Reduction::Gathered => {
                let headers = self.headers_kept(format);
                let gathered = gathered(borrowed(&headers)).into_iter();
                let flat = gathered.flat_map(|(name, values)| values.into_iter().map(move |value| (name, value)));
                shown(&Headers(flat.map(|(name, value)| (name.into(), value.into())).collect()))
            }
            Reduction::Joined => {
                let headers = self.headers_kept(format);
                let joined =
                    gathered(borrowed(&headers)).into_iter().map(|(name, values)| (name.into(), values.join(",")));
                shown(&Headers(joined.collect()))
            }
            Reduction::Seconds => (self.event.ended_ms / 1000 * 1000).to_string(),
            Reduction::Http1 if field == Field::Reason => {
                let response = self.response();
                let version = if response.version == HttpVersion::Http10 { "Http10" } else { "Http11" };
                format!("{} {version}", response.reason)
            }
            Reduction::Http1 if field == Field::Request => shown(&self.headers_of_request()),
            Reduction::Http1 => shown(&self.headers_of_message()),
            Reduction::TenDigits => {
                let Relevance { relevance, is_relevant } = self.event.relevance;
                let relevance = format!("{relevance:.10}").parse().unwrap();
                format!("{:?}", Relevance { relevance, is_relevant })
            }
            Reduction::Answer => self.field(Field::Exchange),
            Reduction::Day => (self.event.ended_ms / 86_400_000 * 86_400_000).to_string(),
            Reduction::Text => short(self.derived.text().as_bytes()),
            Reduction::HtmlText if self.derived.is_html => short(self.derived.text().as_bytes()),
            Reduction::HtmlText => short(b""),
            Reduction::TextOrBytes => short(self.utf8().as_deref().unwrap_or(&self.derived.body)),
        }
    }

    /// If content is stored as text, compares the text.
    pub fn found(&self, field: Field, format: Format) -> String {
        match format.holds(field) {
            Stored::Partly(Reduction::Text | Reduction::HtmlText | Reduction::TextOrBytes) if self.derived.is_html => {
                short(self.derived.text().as_bytes())
            }
            _ => self.field(field),
        }
    }

    fn response(&self) -> &Response {
        self.event.response().expect("pages that are compared have an answer")
    }

    /// The headers of a message rebuilt from this answer, or the message as received if it was kept.
    fn headers_of_message(&self) -> Headers {
        let response = self.response();
        let mut headers = response.headers.clone();
        if response.wire.is_none() {
            headers
                .0
                .retain(|(name, _)| !["content-length", "transfer-encoding"].contains(&&*name.to_ascii_lowercase()));
            if !matches!(response.status, 204 | 304) || !response.body.is_empty() {
                headers.push("Content-Length", response.body.len().to_string());
            }
        }
        headers
    }

    /// A known request names its host.
    fn headers_of_request(&self) -> Headers {
        let is_exact = self.response().wire.as_ref().is_some_and(|wire| !wire.request.is_empty());
        let mut headers = self.event.request_headers.clone();
        if !is_exact && !headers.0.is_empty() {
            let url = url::Url::parse(&self.event.final_url).unwrap();
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            headers.0.retain(|(name, _)| !name.eq_ignore_ascii_case("host"));
            headers.0.insert(0, ("Host".into(), format!("{}{port}", url.host_str().unwrap())));
        }
        headers
    }

    /// The content in UTF-8, if it is text.
    fn utf8(&self) -> Option<Vec<u8>> {
        if self.derived.is_html {
            return Some(self.derived.text().as_bytes().to_vec());
        }
        let content_type = self.event.response()?.content_type();
        text_of(content_type, &self.derived.body).map(|text| text.as_bytes().to_vec())
    }

    /// Whether the format's reader takes it for HTML. Without stored headers, its beginning decides.
    fn looks_html_in(&self, format: Format) -> bool {
        if format.holds(Field::Headers) != Stored::No {
            return self.derived.is_html;
        }
        let body = match format.holds(Field::Body) {
            Stored::Complete => self.derived.body.to_vec(),
            Stored::Partly(_) => self.utf8().unwrap_or_else(|| self.derived.body.to_vec()),
            Stored::No => Vec::new(),
        };
        seine_parse::is_html(None, &body)
    }

    /// The value used if a field is not stored.
    fn without(&self, field: Field, format: Format) -> String {
        match field {
            Field::Url => self.event.final_url.clone(),
            Field::Status => "200".into(),
            Field::Reason => "OK Http11".into(),
            Field::Started => self.field_in(Field::Fetched, format),
            Field::Relevance => format!("{:?}", Relevance::by_type(self.looks_html_in(format))),
            Field::FinalUrl => self.field(Field::Url),
            Field::Fetched => "0".into(),
            Field::Headers => String::new(),
            Field::Body => short(b""),
            Field::Hops => "[]".into(),
            Field::Request => shown(&Headers::default()),
            Field::Model => "None".into(),
            Field::CrawlerId => String::new(),
            _ => "None".into(),
        }
    }

    /// Without the headers that describe a removed coding.
    fn headers_kept(&self, format: Format) -> Headers {
        let response = self.event.response().expect("an answer");
        let coded = response.headers.get("content-encoding").is_some() && response.body != self.derived.body;
        let goes = |name: &str| {
            coded
                && format.holds(Field::BodyReceived) == Stored::No
                && ["content-encoding", "content-length", "content-md5"].contains(&&*name.to_ascii_lowercase())
        };
        Headers(response.headers.0.iter().filter(|(name, _)| !goes(name)).cloned().collect())
    }
}

fn shown(headers: &Headers) -> String {
    headers.0.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}

/// Short enough to be printed, and different for different bytes.
fn short(bytes: &[u8]) -> String {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
    format!("{} bytes, {:016x}: {head:?}", bytes.len(), xxhash_rust::xxh3::xxh3_64(bytes))
}

fn borrowed(headers: &Headers) -> impl Iterator<Item = (&str, &str)> {
    headers.0.iter().map(|(name, value)| (&**name, &**value))
}
