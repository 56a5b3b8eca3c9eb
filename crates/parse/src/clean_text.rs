//! Extracts the main text of a page with the configured extractor, and as Markdown.

use super::main_text::main_text;
use super::readable;

/// The method that separates the main text from the rest of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extractor {
    /// As in ACHE's documents: [`main_text`].
    #[default]
    Boilerpipe,
    /// Trained on pages of all kinds: [`readable`].
    Readable,
}

/// The keys `target_storage.text_extractor`, `target_storage.markdown` and `target_storage.detect_language`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextOptions {
    pub extractor: Extractor,
    /// Whether to write the main text as Markdown, too. Markdown always comes from the readable extractor.
    pub markdown: bool,
    /// Whether to detect the text's language, see [`language`](super::language).
    pub language: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct CleanText {
    /// One block per line; every line ends with a line feed.
    pub text: String,
    pub markdown: Option<String>,
    /// The expected F1 over words of the readable extractor's result, 0 to 1, rounded to three digits; none if it was
    /// not used.
    pub confidence: Option<f64>,
}

impl Extractor {
    pub const NAMES: [&str; 2] = ["boilerpipe", "readable"];

    /// The extractor with one of the [names](Extractor::NAMES); the default for any other name.
    pub fn named(name: &str) -> Extractor {
        if name == Extractor::NAMES[1] { Extractor::Readable } else { Extractor::Boilerpipe }
    }
}

/// `url`: the page's own URL, to resolve its links.
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
