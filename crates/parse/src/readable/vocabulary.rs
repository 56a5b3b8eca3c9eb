//! Words that tell the purpose of a part of a page: in classes, ids and roles, and in its text. The model lists them;
//! each is one bit.

use std::collections::HashMap;

/// Most words of each kind.
pub(crate) const MARKS: usize = 256;
pub const WORDS: usize = 128;

/// The words of the vocabulary that occur.
pub type Marks = [u64; MARKS / 64];
pub type Words = [u64; WORDS / 64];

#[derive(Debug, Default)]
pub struct Vocabulary {
    marks: HashMap<u64, u16>,
    words: HashMap<u64, u16>,
}

/// Hash of a lower-case word, letter by letter (FNV-1a).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hash(pub u64);

impl Default for Hash {
    fn default() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    pub fn with(self, byte: u8) -> Hash {
        Hash((self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    pub fn of(bytes: &[u8]) -> Hash {
        bytes.iter().fold(Hash::default(), |hash, byte| hash.with(*byte))
    }
}

impl Vocabulary {
    pub fn new<'w>(marks: impl Iterator<Item = &'w str>, words: impl Iterator<Item = &'w str>) -> Vocabulary {
        let numbered = |word: (usize, &str)| (Hash::of(word.1.as_bytes()).0, word.0 as u16);
        Vocabulary {
            marks: marks.take(MARKS).enumerate().map(numbered).collect(),
            words: words.take(WORDS).enumerate().map(numbered).collect(),
        }
    }

    /// Adds a word of the markup.
    pub fn mark(&self, word: Hash, marks: &mut Marks) {
        if let Some(bit) = self.marks.get(&word.0) {
            marks[usize::from(bit / 64)] |= 1 << (bit % 64);
        }
    }

    /// Adds a word of the text.
    pub fn word(&self, word: Hash, words: &mut Words) {
        if let Some(bit) = self.words.get(&word.0) {
            words[usize::from(bit / 64)] |= 1 << (bit % 64);
        }
    }
}

/// The words of a class or an id: `postBody-2` has `post` and `body`.
pub fn words_of(name: &str, mut take: impl FnMut(Hash)) {
    let mut hash = Hash::default();
    let mut length = 0;
    let mut was_lower = false;
    for byte in name.bytes() {
        let is_letter = byte.is_ascii_alphabetic();
        if length > 0 && (!is_letter || was_lower && byte.is_ascii_uppercase()) {
            if length > 1 {
                take(hash);
            }
            (hash, length) = (Hash::default(), 0);
        }
        if is_letter {
            (hash, length) = (hash.with(byte.to_ascii_lowercase()), length + 1);
        }
        was_lower = byte.is_ascii_lowercase();
    }
    if length > 1 {
        take(hash);
    }
}
