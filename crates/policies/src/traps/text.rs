//! The words of a page in a few numbers, enough to tell whether the page says anything new. Reads the bytes once,
//! without a tree and without a charset: trap detection needs no exact text, only the same result every time.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes that are read; a longer page is judged by its beginning.
const MAX_BYTES: usize = 512 << 10;
/// Number of words that represent a page: those with the lowest hashes, so equal texts give equal samples (Broder's
/// bottom sketch, "On the resemblance and containment of documents", 1997).
pub(super) const SAMPLE: usize = 64;
/// Number of pictures that represent a page.
const PICTURES: usize = 8;
/// Bytes of a word that count.
const LONGEST: usize = 64;
/// Number of words collected before the lowest are selected.
const COLLECTED: usize = 512;

/// What a page says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageWords {
    /// Sum over all words and numbers, with repetitions. Equal for two pages with the same words in another order, as a
    /// list that is sorted differently. 0 if the page has no words.
    pub mark: u64,
    /// The same without numbers.
    pub mark_of_words: u64,
    /// Up to [`SAMPLE`] words in ascending order, without numbers and the texts of links. All digits within words are
    /// treated as equal.
    pub words: Vec<u32>,
    /// The paths of up to [`PICTURES`] pictures.
    pub pictures: Vec<u32>,
}

/// The words of a body as received. For HTML, tags, comments, scripts and styles are skipped.
pub fn page_words(body: &[u8], is_html: bool) -> PageWords {
    let body = &body[..body.len().min(MAX_BYTES)];
    let mut words = Words::default();
    let mut rest = body;
    let (mut is_in_link, mut pictures) = (false, Vec::new());
    while !rest.is_empty() {
        let end = if is_html { memchr::memchr(b'<', rest).unwrap_or(rest.len()) } else { rest.len() };
        words.add_text(&rest[..end], is_in_link);
        let tag = &rest[end..];
        rest = behind_tag(tag);
        match name_of(tag) {
            b"a" => is_in_link = true,
            // A link that nobody closed ends with its block.
            b"/a" | b"p" | b"div" | b"li" | b"td" | b"tr" => is_in_link = false,
            b"img" if pictures.len() < PICTURES => pictures.extend(picture(&tag[..tag.len() - rest.len()])),
            _ => {}
        }
    }
    words.pick();
    pictures.sort_unstable();
    pictures.dedup();
    PageWords { mark: words.mark, mark_of_words: words.mark_of_words, words: words.lowest, pictures }
}

/// The words of a path and query, as far as a page can repeat them.
pub(super) fn url_words(path_and_query: &str) -> Vec<u32> {
    let mut words = Words::default();
    words.add_text(&decoded(path_and_query), false);
    words.lowest.sort_unstable();
    words.lowest
}

fn decoded(text: &str) -> Vec<u8> {
    percent_encoding::percent_decode_str(text).collect()
}

/// The name of a tag as it is written, if it is short; with the slash of an end tag.
fn name_of(tag: &[u8]) -> &[u8] {
    let name = tag.get(1..).unwrap_or_default();
    let end = name.iter().take(4).position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'/').unwrap_or(name.len());
    &name[..end]
}

/// A picture by its path. Its query may differ each time, as that of a counter does.
fn picture(tag: &[u8]) -> Option<u32> {
    let at = memchr::memmem::find(tag, b"src=")? + 4;
    let url = tag[at..].trim_ascii_start();
    let (url, end): (&[u8], &[u8]) = match url.first()? {
        quote @ (b'"' | b'\'') => (&url[1..], &[*quote]),
        _ => (url, b" >"),
    };
    let path = url.split(|byte| end.contains(byte) || matches!(byte, b'?' | b'#')).next()?;
    (!path.starts_with(b"data:")).then(|| (xxh3_64(path) >> 32) as u32)
}

/// The rest after a tag. Skips its content too if that is not text.
fn behind_tag(rest: &[u8]) -> &[u8] {
    if rest.starts_with(b"<!--") {
        return memchr::memmem::find(rest, b"-->").map_or(&[], |end| &rest[end + 3..]);
    }
    for name in ["script", "style"] {
        let is_it = rest.get(1..=name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()));
        if is_it {
            return behind_element(rest, name.as_bytes());
        }
    }
    memchr::memchr(b'>', rest).map_or(&[], |end| &rest[end + 1..])
}

fn behind_element<'b>(rest: &'b [u8], name: &[u8]) -> &'b [u8] {
    let mut ends = memchr::memmem::find_iter(rest, b"</");
    let is_end = |at: &usize| rest.get(at + 2..at + 2 + name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name));
    let Some(at) = ends.find(is_end) else { return &[] };
    memchr::memchr(b'>', &rest[at..]).map_or(&[], |end| &rest[at + end + 1..])
}

#[derive(Default)]
struct Words {
    mark: u64,
    mark_of_words: u64,
    lowest: Vec<u32>,
    /// Words with a higher hash are no longer among the lowest.
    most: Option<u32>,
}

impl Words {
    fn add_text(&mut self, text: &[u8], is_in_link: bool) {
        for word in text.split(|byte| !OF_WORD[usize::from(*byte)]).filter(|word| !word.is_empty()) {
            self.add(word, is_in_link);
        }
    }

    /// A very long word counts by its beginning.
    fn add(&mut self, word: &[u8], is_in_link: bool) {
        let mut lower = [0; LONGEST];
        let (mut digits, mut length) = (0, 0);
        for (to, byte) in lower.iter_mut().zip(word) {
            *to = byte.to_ascii_lowercase();
            digits += usize::from(byte.is_ascii_digit());
            length += 1;
        }
        let word = &mut lower[..length];
        let exact = xxh3_64(word);
        self.mark = self.mark.wrapping_add(exact);
        if digits == length {
            return; // a number
        }
        let alike = match digits {
            0 => exact,
            _ => {
                word.iter_mut().filter(|byte| byte.is_ascii_digit()).for_each(|byte| *byte = b'0');
                xxh3_64(word)
            }
        };
        self.mark_of_words = self.mark_of_words.wrapping_add(alike);
        if is_in_link {
            return; // it is judged by where it leads
        }
        let alike = (alike >> 32) as u32;
        if self.most.is_none_or(|most| alike < most) {
            self.lowest.push(alike);
            if self.lowest.len() == COLLECTED {
                self.pick();
            }
        }
    }

    fn pick(&mut self) {
        self.lowest.sort_unstable();
        self.lowest.dedup();
        self.lowest.truncate(SAMPLE);
        self.most = self.lowest.get(SAMPLE - 1).copied();
    }
}

/// Letters, digits and all non-ASCII bytes.
const OF_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte >= 0x80 || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};
