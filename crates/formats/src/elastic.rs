//! ACHE's ELASTICSEARCH document (its documentation, “Data Formats”): one page as one JSON object.
//!
//! The documented fields, in this order: `domain` · `url` · `title` · `text` · `retrieved` · `words` · `wordsMeta` ·
//! `topPrivateDomain` · `html` · `responseHeaders` · `isRelevant` · `relevance` · `crawlerId`.
//!
//! Seine adds:
//!
//! - always: `redirectedUrl` · `status` · `contentType` · `language` · `digest` · `eventId` · `change`;
//! - if the body was cut: `truncated` with the reason;
//! - if known: `distance`, `relevanceModel`, `preferences`, `duplicateOf`, `duplicateKind` and `duplicateDistance`;
//! - if configured: `markdown` and `textConfidence`;
//! - if the text shows its language: `languageDetected` and `languageConfidence`;
//! - what the page says about itself (`elastic_about`).
//!
//! For pages that are not HTML, `title`, `text`, `words`, `wordsMeta` and `html` are null, as in ACHE.

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde::de::Deserializer;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::as_event::{Header, answer, body_of_text, each_header, mark_truncated, response_mut};
use super::elastic_about::ElasticAbout;
use super::files::{HeaderMap, headers_of, page_of, stores_event};
use super::format::{Files, Format, FormatSpec};
use super::json;
use super::layout;
use super::lines::{JsonLines, MAX_LINE};
use super::records::of_lines;
use super::recovery::{RecordSplit, RecoveryMethod};
use super::sniff::Confidence;
use super::stored_fields::{Field, MissingFields, Reduction, Stored};
use super::text::{read_time, write_with_offset};
use seine_delivery::Entry;
use seine_parse::clean_text::clean_text;
use seine_parse::html_text::PageFacts;
use seine_parse::page::preferences::Statement;
use seine_parse::page::{EpochMs, PageChange, PageEvent, Relevance, TextChange, Truncated};
use seine_parse::url::{host, top_private_domain};
use seine_parse::words::{Words, meta_words, words};
use seine_parse::{PageText, language};

pub const FORMAT: Format = Format(&FormatSpec {
    name: "ELASTIC",
    about: "the documents that ELASTICSEARCH writes, as JSON lines",
    schema: "elastic",
    holds: &[
        (Field::Url, Stored::Complete),
        (Field::FinalUrl, Stored::Complete),
        (Field::Status, Stored::Complete),
        (Field::Headers, Stored::Partly(Reduction::Gathered)),
        (Field::Body, Stored::Partly(Reduction::HtmlText)),
        (Field::Fetched, Stored::Complete),
        (Field::Relevance, Stored::Complete),
        (Field::Model, Stored::Complete),
        (Field::CrawlerId, Stored::Complete),
        (Field::EventId, Stored::Complete),
        (Field::Change, Stored::Complete),
        (Field::Truncated, Stored::Complete),
        (Field::OtherTypes, Stored::Complete),
    ],
    demands: &[Field::Url, Field::Status, Field::Fetched, Field::Relevance],
    begins: |it| {
        Confidence::sure_if(it.has_key(&[
            "topPrivateDomain",
            "retrieved",
            "wordsMeta",
            "html",
            "domain",
            "_source",
            "doc",
        ]))
    },
    reader: |input| {
        Ok(of_lines(ElasticReader::new(input.bytes), ElasticDocument::into_event, |_, document| document.lacks()))
    },
    encoder: |options| {
        let min_change = options.min_change;
        Box::new(move |entry: &Entry, out: &mut Vec<u8>| {
            stores_event(&entry.event) && write_event(&entry.event, &entry.text(), min_change, out)
        })
    },
    stores_event: Some(stores_event),
    files: Files::Rolling(layout::of_lines(&[".jsonl"], |_| ".jsonl")),
    recovery: RecoveryMethod::Lines(RecordSplit { is_record: |line| parse_document(line).is_ok(), is_row: false }),
});

/// Longest document id that Elasticsearch accepts, in bytes.
pub const MAX_ID_BYTES: usize = 512;

/// An ELASTICSEARCH document. It borrows from the event when written, and owns its data when read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElasticDocument<'a> {
    /// The URL's host, without a leading `www.`
    #[serde(default)]
    pub domain: Cow<'a, str>,
    /// The URL requested.
    pub url: Cow<'a, str>,
    /// None if the page is not HTML; empty if it has no title.
    pub title: Option<Cow<'a, str>>,
    /// The main text, see [`seine_parse::clean_text`].
    #[serde(serialize_with = "json::write_text")]
    pub text: Option<String>,
    /// When the last byte of the body arrived.
    #[serde(default, serialize_with = "write_with_offset", deserialize_with = "read_time")]
    pub retrieved: EpochMs,
    /// Distinct words, most significant first, see [`seine_parse::words`].
    pub words: Option<Words>,
    pub words_meta: Option<Words>,
    /// According to the Public Suffix List; for an IP address the address.
    #[serde(default)]
    pub top_private_domain: Cow<'a, str>,
    /// The body as text in its charset.
    #[serde(serialize_with = "json::write_text")]
    pub html: Option<Cow<'a, str>>,
    /// Name → values, ordered by first appearance.
    #[serde(default, serialize_with = "json::write_pairs", deserialize_with = "read_headers")]
    pub response_headers: Vec<Header<'a>>,
    /// `relevant` or `irrelevant`.
    #[serde(default, serialize_with = "write_relevant", deserialize_with = "read_relevant")]
    pub is_relevant: bool,
    /// NaN if unknown.
    #[serde(default = "unknown")]
    pub relevance: f64,
    #[serde(default)]
    pub crawler_id: Cow<'a, str>,
    /// The final URL, if there was a redirect.
    pub redirected_url: Option<Cow<'a, str>>,
    /// None in documents written by other programs.
    pub status: Option<u16>,
    /// The `Content-Type` header, parameters included.
    pub content_type: Option<Cow<'a, str>>,
    /// `<html lang>` as written. The language of the text is [`language_detected`](Self::language_detected).
    pub language: Option<Cow<'a, str>>,
    /// SHA-256 of the decoded body: 64 lower-case hex digits.
    pub digest: Option<Cow<'a, str>>,
    /// The event's id.
    pub event_id: Option<Cow<'a, str>>,
    /// How the page changed since its previous fetch, see [`seine_parse::page::PageChange`].
    pub change: Option<PageChange>,
    /// Why the body was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncated>,
    /// For a changed page: distance of its main text from the previous one, see [`PageEvent::distance`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u8>,
    /// The page classifier that gave `relevance`, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance_model: Option<Cow<'a, str>>,
    /// What publishers say about the use of the page, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferences: Option<Cow<'a, [Statement]>>,
    /// The first page with the same content or nearly the same main text, if that is another page; …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<Cow<'a, str>>,
    /// … `exact` or `near`; …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_kind: Option<Cow<'a, str>>,
    /// … and about how many of 100 words differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_distance: Option<u8>,
    /// The main text as Markdown, see [`seine_parse::readable`]; only if configured.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::write_text")]
    pub markdown: Option<String>,
    /// Confidence in the text of the readable extractor, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_confidence: Option<f64>,
    /// ISO 639-1 code of the language of the main text, or of the visible text if there is no main text; see
    /// [`seine_parse::language`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language_detected: Option<Cow<'a, str>>,
    /// 0.9 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language_confidence: Option<f64>,
    /// Repeats facts from `html` and `responseHeaders`, so it is not read back.
    #[serde(flatten, skip_deserializing)]
    pub about: ElasticAbout,
}

fn unknown() -> f64 {
    f64::NAN
}

/// Appends the page's document to `out`, without any line feed. Returns false and appends nothing for events that the
/// format does not store: sitemaps, failures, answers other than 2xx. `min_change`: that of the destination.
pub fn write_event(event: &PageEvent, text: &PageText, min_change: u8, out: &mut Vec<u8>) -> bool {
    ElasticDocument::from_event(event, text, min_change).inspect(|document| document.write(out)).is_some()
}

/// Appends the partial document that updates an unchanged page: only its time.
pub fn write_touch(event: &PageEvent, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Touch {
        #[serde(serialize_with = "write_with_offset")]
        retrieved: EpochMs,
    }
    serde_json::to_writer(out, &Touch { retrieved: event.ended_ms }).expect("a time is always JSON");
}

/// The document's `_id`: the URL requested, or its SHA-256 in lower-case hex if the URL is longer than
/// [`MAX_ID_BYTES`].
pub fn document_id(url: &str) -> Cow<'_, str> {
    if url.len() <= MAX_ID_BYTES { Cow::Borrowed(url) } else { Cow::Owned(HEXLOWER.encode(&Sha256::digest(url))) }
}

/// The document's external version. The later of two fetches of a URL wins, in whatever order they arrive.
pub fn document_version(event: &PageEvent) -> EpochMs {
    event.ended_ms
}

/// Reads a document: plain, from a search hit (`_source`), or from ACHE's update request (`doc`). Accepts documents of
/// ACHE and its predecessors: any field but `url` may be missing, unknown fields are skipped, and headers may have a
/// single value.
pub fn parse_document(json: &[u8]) -> Result<ElasticDocument<'static>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Wrapped {
        #[serde(alias = "doc")]
        _source: ElasticDocument<'static>,
    }
    serde_json::from_slice(json).or_else(|error| match serde_json::from_slice::<Wrapped>(json) {
        Ok(wrapped) => Ok(wrapped._source),
        Err(_) => Err(error),
    })
}

/// Reads a file with one document per line, see [`JsonLines`].
pub(crate) type ElasticReader<R> = JsonLines<R, ElasticDocument<'static>>;

impl<R: Read> JsonLines<R, ElasticDocument<'static>> {
    pub fn new(input: R) -> ElasticReader<R> {
        JsonLines::of(input, MAX_LINE, "ELASTICSEARCH document", parse_document)
    }
}

impl ElasticDocument<'_> {
    /// The fields that this document lacks, in addition to those that the format never stores: the content if it is not
    /// HTML, and what other programs omit.
    fn lacks(&self) -> MissingFields {
        let lacks = MissingFields::default().and(Field::Body, self.html.is_none());
        let lacks = lacks.and(Field::Status, self.status.is_none());
        lacks.and(Field::Relevance, self.relevance.is_nan())
    }

    /// Turns the document into an event. The body is encoded so that it reads as `html`; there is none if the page is
    /// not HTML.
    pub fn into_event(self) -> PageEvent {
        let mut event = PageEvent::empty(&*self.url);
        if let Some(target) = self.redirected_url {
            event.final_url = target.into_owned();
        }
        event.ended_ms = self.retrieved;
        event.relevance = Relevance { relevance: self.relevance, is_relevant: self.is_relevant };
        event.model = self.relevance_model.map(Arc::from);
        event.crawler_id = Arc::from(self.crawler_id);
        let headers = each_header(self.response_headers, self.content_type);
        let html = self.html.map(Cow::into_owned).unwrap_or_default();
        let body = body_of_text(html, headers.get("content-type"));
        answer(&mut event, headers, body);
        mark_truncated(&mut event, self.truncated);
        if let (Some(status), Some(response)) = (self.status, response_mut(&mut event)) {
            response.status = status;
        }
        if let Some(id) = self.event_id {
            event.id = id.into_owned();
        }
        event.change = self.change;
        event.preferences = self.preferences.map(Cow::into_owned);
        // The document does not tell the threshold of its distance. A document is stored under threshold 0, since it
        // was sent.
        event.text =
            self.distance.map(|distance| TextChange { distances: [(0, distance)].into(), ..Default::default() });
        event
    }
}

impl<'a> ElasticDocument<'a> {
    /// The document of a page; none for events that the format does not store.
    pub fn from_event(event: &'a PageEvent, text: &'a PageText, min_change: u8) -> Option<ElasticDocument<'a>> {
        let response = page_of(event)?;
        let derived = &*text.facts;
        let host = host(&event.url).unwrap_or_default();
        let duplicate_of = event.duplicate_of();
        let mut document = ElasticDocument {
            domain: host.strip_prefix("www.").unwrap_or(host).into(),
            url: (&event.url).into(),
            retrieved: event.ended_ms,
            top_private_domain: top_private_domain(host).into(),
            response_headers: headers_of(response, &derived.body),
            is_relevant: event.relevance.is_relevant,
            relevance: event.relevance.relevance,
            crawler_id: (&*event.crawler_id).into(),
            redirected_url: event.redirected_url().map(Cow::from),
            status: Some(response.status),
            content_type: response.content_type().map(Cow::from),
            language: derived.lang.as_deref().map(Cow::from),
            digest: Some(HEXLOWER.encode(&derived.digest).into()),
            event_id: Some((&event.id).into()),
            change: event.change,
            truncated: response.truncated,
            distance: event.distance(min_change),
            relevance_model: event.model.as_deref().map(Cow::from),
            preferences: event.preferences.as_deref().filter(|said| !said.is_empty()).map(Cow::from),
            duplicate_of: duplicate_of.map(|of| of.url.as_str().into()),
            duplicate_kind: duplicate_of.map(|of| of.kind().into()),
            duplicate_distance: duplicate_of.map(|of| of.distance),
            about: ElasticAbout::of(event, response, text),
            ..ElasticDocument::default()
        };
        if let Some(page) = &text.page {
            document.add_html(text, page, host);
        }
        Some(document)
    }

    fn add_html(&mut self, text: &'a PageText, page: &PageFacts, host: &str) {
        let derived = &*text.facts;
        let title = derived.title.as_deref();
        self.title = Some(title.unwrap_or_default().into());
        let html = derived.text();
        let url = self.redirected_url.as_ref().unwrap_or(&self.url);
        let clean = clean_text(&html, Some(url), text.options);
        let told = if clean.text.len() < language::MIN_BYTES { &page.text } else { &clean.text };
        if let Some(found) = text.options.language.then(|| language::of_text(told)).flatten() {
            self.language_detected = Some(found.tag.into());
            self.language_confidence = Some(found.confidence);
        }
        self.text = Some(clean.text);
        self.markdown = clean.markdown;
        self.text_confidence = clean.confidence;
        self.words = Some(words(title, Some(host), &page.text, &page.passing));
        self.words_meta = Some(meta_words(page.about.meta.iter().map(|meta| &*meta.content)));
        self.html = Some(html);
    }

    /// Appends the document to `out`, without any line feed.
    pub fn write(&self, out: &mut Vec<u8>) {
        // Reserve some space for escapes and for other fields.
        let html = self.html.as_ref().map_or(0, |html| html.len());
        let text = self.text.as_ref().map_or(0, String::len);
        out.reserve((html + 2 * text) * 9 / 8 + 4096);
        json::write(self, out);
    }
}

fn read_headers<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Header<'a>>, D::Error> {
    json::or_default(deserializer).map(HeaderMap::owned)
}

fn write_relevant<S: Serializer>(is_relevant: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *is_relevant { "relevant" } else { "irrelevant" })
}

fn read_relevant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    json::or_default(deserializer).map(|said: String| said == "relevant")
}
