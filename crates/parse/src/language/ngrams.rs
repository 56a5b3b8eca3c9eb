//! The groups of letters that tell languages apart: of each word all runs of three to five letters, its borders included,
//! and the word itself. A group is known by its hash.

/// The shortest run. Shorter ones occur in all languages: they say little, and cost most of the time.
const SHORTEST: usize = 3;
/// The longest run.
const LONGEST: usize = 5;
/// Longer words are not groups themselves. The runs in them are.
const LONGEST_WORD: usize = 24;
/// The border of a word.
const BORDER: u32 = 32;

/// A group of letters of a text.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// Its hash.
    pub hash: u32,
    /// Number of its letters and borders, 3 to 5; 0 for longer words.
    pub order: usize,
    /// It is a whole word.
    pub is_word: bool,
}

/// Calls `each` for every group of a text. `word` is working memory.
pub fn groups(text: &str, word: &mut Vec<u32>, mut each: impl FnMut(Group)) {
    word.clear();
    word.push(BORDER);
    for letter in text.chars() {
        if letter.is_ascii_alphabetic() {
            word.push(u32::from(letter.to_ascii_lowercase()));
        } else if letter.is_alphabetic() {
            // Of the letters that become two the first says enough.
            word.extend(letter.to_lowercase().next().map(u32::from));
        } else if word.len() > 1 {
            groups_of_word(word, &mut each);
        }
    }
    if word.len() > 1 {
        groups_of_word(word, &mut each);
    }
}

/// Leaves the border of the next word.
fn groups_of_word(word: &mut Vec<u32>, each: &mut impl FnMut(Group)) {
    word.push(BORDER);
    let size = word.len();
    for start in 0..=size - SHORTEST {
        let is_first = start == 0;
        let most = if is_first { size.min(LONGEST_WORD) } else { LONGEST.min(size - start) };
        let mut hash = 0x811c_9dc5_u32;
        for (at, letter) in word[start..start + most].iter().enumerate() {
            hash = (hash ^ letter).wrapping_mul(0x9e37_79b1);
            hash ^= hash >> 15;
            let order = at + 1;
            if (SHORTEST..=LONGEST).contains(&order) {
                each(Group { hash, order, is_word: is_first && order == size });
            }
        }
        if is_first && size > LONGEST && size <= LONGEST_WORD {
            each(Group { hash, order: 0, is_word: true });
        }
    }
    word.truncate(1);
}
