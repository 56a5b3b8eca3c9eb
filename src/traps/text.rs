//! What a page says, in a few numbers: enough to tell whether it has been said before. One pass over the bytes, with no tree and no
//! charset: who looks for traps need not read well, only always in the same way.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes that are read; a longer page is known by its beginning.
const MAX_BYTES: usize = 512 << 10;
/// Words that stand for a page: those with the lowest hashes, which are the same ones wherever they are said (Broder's bottom
/// sketch, "On the resemblance and containment of documents", 1997).
pub const SAMPLE: usize = 64;
/// Bytes of a word that count.
const LONGEST: usize = 64;
/// Collected before the lowest are picked out.
const COLLECTED: usize = 512;

/// What a page says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Said {
    /// Of all its words, numbers among them, each as often as it is there: the same for two pages that say the same in another
    /// order, as a list does that is sorted otherwise. 0: it says nothing.
    pub mark: u64,
    /// Up to [`SAMPLE`] of its words, in ascending order, their digits all alike; numbers are left out.
    pub words: Vec<u32>,
}

/// Of a body as it was received; of HTML what is no tag, no comment, no script and no style.
pub fn said(body: &[u8], is_html: bool) -> Said {
    let body = &body[..body.len().min(MAX_BYTES)];
    let mut words = Words::default();
    let mut rest = body;
    while !rest.is_empty() {
        let end = if is_html { memchr::memchr(b'<', rest).unwrap_or(rest.len()) } else { rest.len() };
        words.add_text(&rest[..end]);
        rest = behind_tag(&rest[end..]);
    }
    words.pick();
    Said { mark: words.mark, words: words.lowest }
}

/// What stands behind a tag, its content included where that is no text.
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
    lowest: Vec<u32>,
    /// No word with a higher hash is among the lowest any more.
    most: Option<u32>,
}

impl Words {
    fn add_text(&mut self, text: &[u8]) {
        for word in text.split(|byte| !OF_WORD[usize::from(*byte)]).filter(|word| !word.is_empty()) {
            self.add(word);
        }
    }

    /// Of a very long word its beginning.
    fn add(&mut self, word: &[u8]) {
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

/// Letters and digits, and whatever is not ASCII.
const OF_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte >= 0x80 || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};
