//! The main text of a page by the extractor that is asked for, and as Markdown.

use super::main_text::main_text;
use super::readable;

/// What tells a page's main text from what stands around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extractor {
    /// As ACHE's documents have it: [`main_text`].
    #[default]
    Boilerpipe,
    /// Learnt from pages of all kinds: [`readable`].
    Readable,
}

/// The keys `target_storage.text_extractor`, `target_storage.markdown` and `target_storage.detect_language`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextOptions {
    pub extractor: Extractor,
    /// Whether the main text is wanted as Markdown too. That is of the readable extractor, whichever gives the text.
    pub markdown: bool,
    /// Whether the text's language is wanted, see [`language`](super::language).
    pub language: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct CleanText {
    /// One block a line, each line ended.
    pub text: String,
    pub markdown: Option<String>,
    /// What F1 over words is to be expected of what the readable extractor gave, 0 to 1, to three digits; none if it was not asked.
    pub confidence: Option<f64>,
}

impl Extractor {
    pub const NAMES: [&str; 2] = ["boilerpipe", "readable"];

    /// By one of its [names](Extractor::NAMES); any other is the default's.
    pub fn named(name: &str) -> Extractor {
        if name == Extractor::NAMES[1] { Extractor::Readable } else { Extractor::Boilerpipe }
    }
}

/// `url`: the page's own, which its links are relative to.
pub fn clean_text(page: &str, url: Option<&str>, options: TextOptions) -> CleanText {
    let mut clean = CleanText::default();
    if options.markdown || options.extractor == Extractor::Readable {
        let read = readable::read(page, url, options.markdown);
        clean = CleanText {
            text: read.text,
            markdown: read.markdown,
            confidence: Some((f64::from(read.confidence) * 1000.0).round() / 1000.0),
        };
    }
    if options.extractor == Extractor::Boilerpipe {
        clean.text = main_text(page);
    }
    clean
}
