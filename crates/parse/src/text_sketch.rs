//! A sketch of a page: 27 bytes that tell whether another page is a near duplicate.
//!
//! Broder, "On the resemblance and containment of documents" (1997): two texts resemble each other as far as they have
//! the same features, and the smallest of the features' hashes are equal with this probability. The features are the
//! pairs of neighbouring words, as in [`simhash`](super::simhash). If one word of 100 differs, the texts have 96 % of
//! their pairs in common. The hashes fall into 64 classes, and the sketch is made of the smallest of each ("one
//! permutation hashing", Li, Owen and Zhang 2012; Shrivastava and Li 2014 for classes without a hash).
//!
//! Pages of one template have nearly the same text, too. Subject and details tell them apart. The **subject** is the title
//! and the headline. The **details** are the numbers of the text and the words of short lines, such as the items of a
//! list. Subjects must be equal, and details nearly. For the details the sketch has a [set sketch](super::set_sketch).
//!
//! **Records store sketches.** After a change here, [`METHOD`] needs a new number. Then every page is compared anew.

use std::collections::HashSet;
use std::ops::Range;

use data_encoding::BASE64_NOPAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::Derived;
use super::about::headline::{headline, letters};
use super::html_text::{PageFacts, page_facts};
use super::media_type::is_text;
use super::set_sketch::{SUMS, SetSketch};
use super::simhash::{each_pair, each_word};
use super::words::{lower_case, runs};

/// The number of this method. Pages compared by another one are compared again. 0: by simhashes, as in 0.2.0.
pub const METHOD: u8 = 1;

/// Groups of smallest hashes; near duplicates have one in common.
pub const BANDS: usize = 2;
/// Smallest hashes in a group. Two groups of three find 98.7 % of the texts with one other word in 100.
const BAND_ROWS: usize = 3;
const CLASSES: usize = 64;

/// A text without links that is shorter than this fraction (one in four) of the visible text does not identify the page.
/// It may be a notice below a list that all pages of the site have.
const MAIN_PART: usize = 4;
/// With fewer pairs, a small difference may be the topic of the page.
const MIN_PAIRS: usize = 32;
/// A line with more words is a sentence.
const SHORT_LINE: usize = 12;
/// A page with more details is compared without them.
pub const MAX_DETAILS: u8 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextSketch {
    /// Hashes of the subject and some of the smallest hashes.
    pub bands: [u32; BANDS],
    pub body: BodySketch,
}

/// A sketch without its bands: what two pages with a band in common are compared by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BodySketch {
    /// A bit of the smallest hash of each class.
    pub minima: u64,
    pub details: SetSketch,
    /// Above [`MAX_DETAILS`] there are more, and `details` is empty.
    pub detail_count: u8,
}

impl BodySketch {
    pub const BYTES: usize = 8 + 2 * SUMS + 1;

    pub fn to_bytes(self) -> [u8; BodySketch::BYTES] {
        let mut bytes = [self.detail_count; BodySketch::BYTES];
        let details = self.details.0.into_iter().flat_map(u16::to_be_bytes);
        let parts = self.minima.to_be_bytes().into_iter().chain(details);
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
        bytes
    }

    /// None if the number of bytes is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Option<BodySketch> {
        let bytes: [u8; BodySketch::BYTES] = bytes.try_into().ok()?;
        let detail = |at: usize| u16::from_be_bytes([bytes[8 + 2 * at], bytes[9 + 2 * at]]);
        Some(BodySketch {
            minima: u64::from_be_bytes(*bytes.first_chunk()?),
            details: SetSketch(std::array::from_fn(detail)),
            detail_count: bytes[BodySketch::BYTES - 1],
        })
    }
}

/// Stored as bytes: the bands, then the body's.
impl TextSketch {
    pub const BYTES: usize = 4 * BANDS + BodySketch::BYTES;

    pub fn to_bytes(self) -> [u8; TextSketch::BYTES] {
        let mut bytes = [0; TextSketch::BYTES];
        let parts = self.bands.into_iter().flat_map(u32::to_be_bytes).chain(self.body.to_bytes());
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
        bytes
    }

    /// None if the number of bytes is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Option<TextSketch> {
        let (bands, body) = bytes.split_at_checked(4 * BANDS)?;
        let band = |at: usize| u32::from_be_bytes(std::array::from_fn(|byte| bands[4 * at + byte]));
        Some(TextSketch { bands: std::array::from_fn(band), body: BodySketch::from_bytes(body)? })
    }

    /// Nearly unique.
    pub fn id(&self) -> u64 {
        xxh3_64(&self.to_bytes())
    }
}

/// None if the page has too little text to be told from others, or its body is no text.
pub fn of_page(page: &Derived, content_type: Option<&str>) -> Option<TextSketch> {
    if page.is_html {
        return of_facts(&page_facts(&page.text()));
    }
    let text = is_text(content_type).then(|| page.text())?;
    let mut details = Details::default();
    text.lines().for_each(|line| details.add_numbers(line));
    sketch(&text, 0, &details)
}

fn of_facts(facts: &PageFacts) -> Option<TextSketch> {
    let lines = own_lines(facts);
    let own = main_part(facts, &lines);
    let details = Details::of(facts, own);
    // A list of links is compared with its links.
    let length = |lines: &[Line], with_links: bool| -> usize {
        lines.iter().filter(|line| with_links || !line.is_linked).map(|line| line.at.len()).sum()
    };
    let is_list = length(own, false) * MAIN_PART < length(&lines, true);
    let wanted = if is_list { &lines } else { own };
    let wanted = wanted.iter().filter(|line| is_list || !line.is_linked);
    let text: String = wanted.map(|line| &facts.text[line.at.clone()]).collect();
    sketch(&text, subject(facts), &details)
}

fn sketch(text: &str, subject: u64, details: &Details) -> Option<TextSketch> {
    let mut minima = [u64::MAX; CLASSES];
    // The first distinct pairs, as many as are needed.
    let mut some = Vec::with_capacity(MIN_PAIRS);
    each_pair(text, |pair| {
        let least = &mut minima[pair as usize % CLASSES];
        *least = pair.min(*least);
        if some.len() < MIN_PAIRS && !some.contains(&pair) {
            some.push(pair);
        }
    });
    if some.len() < MIN_PAIRS {
        return None;
    }
    let minima = filled(&minima);
    let band = |band: usize| {
        let rows = (0..BAND_ROWS).map(|row| minima[(row * BANDS + band) * (CLASSES / (BANDS * BAND_ROWS))]);
        rows.fold(subject, |hash, least| xxh3_64_with_seed(&least.to_le_bytes(), hash)) as u32
    };
    // The lowest bits are the class, and the highest are zero in most smallest hashes.
    let bits = minima.iter().zip(0..).fold(0, |bits, (least, class)| bits | (least >> 8 & 1) << class);
    let (details, detail_count) = (details.sketch(), details.count());
    Some(TextSketch { bands: std::array::from_fn(band), body: BodySketch { minima: bits, details, detail_count } })
}

/// A class without a hash takes that of the next class that has one, changed by their distance.
fn filled(minima: &[u64; CLASSES]) -> [u64; CLASSES] {
    std::array::from_fn(|class| {
        let next = (0..CLASSES).find(|step| minima[(class + step) % CLASSES] < u64::MAX);
        next.map_or(0, |step| match step {
            0 => minima[class],
            _ => xxh3_64_with_seed(&minima[(class + step) % CLASSES].to_le_bytes(), step as u64),
        })
    })
}

/// A hash of title and headline. If the title begins with the headline, of that alone, because the site's name follows.
fn subject(page: &PageFacts) -> u64 {
    let title = &page.about.title;
    let headline = headline(page).map(|at| letters(&page.line(&at))).unwrap_or_default();
    let ends = [" - ", " | ", " – ", " — ", " · ", " • ", " » ", " :: "].iter().filter_map(|mark| title.find(mark));
    let first = letters(&title[..ends.min().unwrap_or(title.len())]);
    if first == headline {
        xxh3_64(first.as_bytes())
    } else {
        xxh3_64(format!("{} {headline}", letters(title)).as_bytes())
    }
}

/// The distinct details of a page as hashes.
#[derive(Default)]
struct Details(HashSet<u64>);

impl Details {
    /// Numbers of sentences, and words of short lines. Lines of links may be a menu.
    fn of(page: &PageFacts, lines: &[Line]) -> Details {
        let mut details = Details::default();
        for line in lines {
            let text = &page.text[line.at.clone()];
            if is_sentence(text) {
                details.add_numbers(text);
            } else if !line.is_linked {
                details.add_words(text);
            }
        }
        details
    }

    fn add_words(&mut self, line: &str) {
        let mut lower = String::new();
        for run in runs(line) {
            lower_case(run, &mut lower);
            each_word(&lower, |word| self.add(word));
        }
    }

    /// Words with digits and without letters.
    fn add_numbers(&mut self, line: &str) {
        runs(line).filter(|run| run.bytes().all(|byte| byte.is_ascii_digit())).for_each(|number| self.add(number));
    }

    fn add(&mut self, detail: &str) {
        if self.0.len() <= usize::from(MAX_DETAILS) {
            self.0.insert(xxh3_64(detail.as_bytes()));
        }
    }

    fn count(&self) -> u8 {
        self.0.len() as u8
    }

    fn sketch(&self) -> SetSketch {
        let mut sketch = SetSketch::default();
        if self.count() <= MAX_DETAILS {
            self.0.iter().for_each(|detail| sketch.toggle(*detail));
        }
        sketch
    }
}

/// A line of the visible text with its line feed.
struct Line {
    at: Range<usize>,
    /// Most of it is links.
    is_linked: bool,
}

/// All lines but those of menus, footers and asides.
fn own_lines(page: &PageFacts) -> Vec<Line> {
    let mut end = 0;
    let mut frames = page.frame_ranges().iter().peekable();
    let mut links = page.link_ranges().iter().peekable();
    let mut lines = Vec::new();
    for line in page.text.split_inclusive('\n') {
        let at = end..end + line.len();
        end = at.end;
        while frames.next_if(|frame| frame.end <= at.start).is_some() {}
        while links.next_if(|link| link.end <= at.start).is_some() {}
        if frames.peek().is_none_or(|frame| at.start < frame.start) {
            let inside = links.clone().take_while(|link| link.start < at.end);
            let linked: usize = inside.map(|link| link.end.min(at.end) - link.start.max(at.start)).sum();
            lines.push(Line { is_linked: 2 * linked > at.len(), at });
        }
    }
    lines
}

/// The lines from the headline, or else the first sentence, to the last sentence. Other lines may be the frame of the
/// page.
fn main_part<'a>(page: &PageFacts, lines: &'a [Line]) -> &'a [Line] {
    let is_sentence = |line: &Line| is_sentence(&page.text[line.at.clone()]);
    let begin = match headline(page) {
        Some(headline) => lines.iter().position(|line| line.at.end > headline.start),
        None => lines.iter().position(is_sentence),
    };
    let end = lines.iter().rposition(is_sentence).map_or(lines.len(), |last| last + 1);
    lines.get(begin.unwrap_or(0)..end).unwrap_or(lines)
}

fn is_sentence(line: &str) -> bool {
    let mut words = 0;
    runs(line).any(|run| {
        each_word(run, |_| words += 1);
        words > SHORT_LINE
    })
}

impl Serialize for TextSketch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_NOPAD.encode(&self.to_bytes()))
    }
}

impl<'de> Deserialize<'de> for TextSketch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TextSketch, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = BASE64_NOPAD.decode(text.as_bytes()).map_err(serde::de::Error::custom)?;
        TextSketch::from_bytes(&bytes).ok_or_else(|| serde::de::Error::custom("a sketch has another length"))
    }
}

impl<C> minicbor::Encode<C> for TextSketch {
    fn encode<W: minicbor::encode::Write>(
        &self,
        encoder: &mut minicbor::Encoder<W>,
        _: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        encoder.bytes(&self.to_bytes())?.ok()
    }
}

impl<'b, C> minicbor::Decode<'b, C> for TextSketch {
    fn decode(decoder: &mut minicbor::Decoder<'b>, _: &mut C) -> Result<TextSketch, minicbor::decode::Error> {
        TextSketch::from_bytes(decoder.bytes()?).ok_or_else(|| minicbor::decode::Error::message("length of a sketch"))
    }
}
