//! Additional fields of ELASTICSEARCH documents: statements of a page about itself. A field is absent if the page says
//! nothing.

use ::url::Url as BaseUrl;
use serde::Serialize;
use serde::ser::Serializer;

use super::text::{cut, write_with_offset};
use super::{files, json};
use seine_parse::about::Origin;
use seine_parse::html_text::PageFacts;
use seine_parse::page::{EpochMs, PageEvent, Response};
use seine_parse::{Derived, PageText, date, url};

/// Number of headings kept.
const MAX_HEADINGS: usize = 200;
/// Longer headings are cut.
const MAX_HEADING_CHARS: usize = 1_000;

/// The source of the time of the last modification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeSource {
    Page,
    /// `Last-Modified`: often just the time when this answer was generated.
    Header,
}

/// Written after the other fields.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ElasticAbout {
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub author: Vec<String>,
    pub author_from: Option<Origin>,
    #[serde(serialize_with = "write_some_time")]
    pub published: Option<EpochMs>,
    pub published_from: Option<Origin>,
    #[serde(serialize_with = "write_some_time")]
    pub modified: Option<EpochMs>,
    pub modified_source: Option<TimeSource>,
    /// From where on the page; absent if it is from a header.
    pub modified_from: Option<Origin>,
    /// Normalised; from the markup or a header.
    pub canonical: Option<String>,
    /// Language → normalised URLs of the page in that language.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "json::write_pairs")]
    pub alternates: Vec<(String, Vec<String>)>,
    /// Property without `og:` → values.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "json::write_pairs")]
    pub open_graph: Vec<(String, Vec<String>)>,
    /// Types from JSON-LD: `NewsArticle`, `BreadcrumbList`, …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    pub headline: Option<String>,
    /// `<h1>` to `<h6>`, in the order of the page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<String>,
    /// Normalised URLs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub license: Vec<String>,
    /// `Content-Language` as written, from the markup or a header.
    pub content_language: Option<String>,
}

impl ElasticAbout {
    pub fn of(event: &PageEvent, response: &Response, text: &PageText) -> ElasticAbout {
        let header = |name: &str| response.headers.get(name).map(str::trim).filter(|value| !value.is_empty());
        let mut about = match &text.page {
            Some(page) => ElasticAbout::of_page(event, page),
            None => ElasticAbout::default(),
        };
        let Derived { canonical, .. } = &*text.facts;
        about.canonical.clone_from(canonical);
        if about.content_language.is_none() {
            about.content_language = header("content-language").map(str::to_owned);
        }
        if about.modified.is_none() {
            about.modified = header("last-modified").and_then(date::parse);
            about.modified_source = about.modified.map(|_| TimeSource::Header);
        }
        about
    }

    fn of_page(event: &PageEvent, page: &PageFacts) -> ElasticAbout {
        let about = &page.about;
        let location = BaseUrl::parse(&event.final_url).ok();
        let base = location.as_ref().and_then(|location| location.join(about.base.as_deref()?).ok()).or(location);
        let resolve = |href: &str| base.as_ref().and_then(|base| url::resolve(base, href));
        let alternates = about.alternates.iter().filter_map(|(language, href)| Some((&**language, resolve(href)?)));
        let open_graph = about.open_graph().map(|(property, value)| (property, value.to_owned()));
        let (authors, published, modified) = (page.authors(), page.published(&event.final_url), page.modified());
        ElasticAbout {
            description: about.description(),
            keywords: about.keywords(),
            author_from: authors.as_ref().map(|found| found.origin),
            author: authors.map_or(Vec::new(), |found| found.value),
            published: published.as_ref().map(|found| found.value),
            published_from: published.map(|found| found.origin),
            modified_source: modified.as_ref().map(|_| TimeSource::Page),
            modified: modified.as_ref().map(|found| found.value),
            modified_from: modified.map(|found| found.origin),
            canonical: None,
            alternates: gathered(alternates),
            open_graph: gathered(open_graph),
            types: about.types(),
            headline: about.headline(),
            headings: page
                .headings()
                .map(|it| cut(&it.text, MAX_HEADING_CHARS).to_owned())
                .take(MAX_HEADINGS)
                .collect(),
            license: about.licenses().iter().filter_map(|href| resolve(href)).collect(),
            content_language: about.content_language().map(str::to_owned),
        }
    }
}

/// Groups values by name.
fn gathered<'a>(pairs: impl Iterator<Item = (&'a str, String)>) -> Vec<(String, Vec<String>)> {
    files::gathered(pairs).into_iter().map(|(name, values)| (name.to_owned(), values)).collect()
}

/// None is never written.
fn write_some_time<S: Serializer>(time: &Option<EpochMs>, serializer: S) -> Result<S::Ok, S::Error> {
    write_with_offset(&time.unwrap_or_default(), serializer)
}
