//! The scripts of texts, and the languages that have a script of their own.

/// A script, as far as it says something about the language.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Script {
    /// Nearly all texts in it are in this language.
    Single(&'static str),
    /// The number of a script that several languages of the model use.
    Shared(usize),
}

/// First and last character, and the number of the script. Sorted.
const BLOCKS: [(u32, u32, usize); 38] = [
    (0x41, 0x24f, 0),
    (0x250, 0x2af, 0),
    (0x370, 0x3ff, 7),
    (0x400, 0x52f, 1),
    (0x531, 0x58f, 8),
    (0x591, 0x5f4, 2),
    (0x600, 0x6ff, 3),
    (0x750, 0x77f, 3),
    (0x780, 0x7bf, 9),
    (0x900, 0x97f, 4),
    (0x980, 0x9ff, 5),
    (0xa00, 0xa7f, 10),
    (0xa80, 0xaff, 11),
    (0xb00, 0xb7f, 12),
    (0xb80, 0xbff, 13),
    (0xc00, 0xc7f, 14),
    (0xc80, 0xcff, 15),
    (0xd00, 0xd7f, 16),
    (0xd80, 0xdff, 17),
    (0xe00, 0xe7f, 18),
    (0xe80, 0xeff, 19),
    (0xf00, 0xfff, 26),
    (0x1000, 0x109f, 20),
    (0x10a0, 0x10ff, 21),
    (0x1100, 0x11ff, 22),
    (0x1200, 0x139f, 6),
    (0x1780, 0x17ff, 23),
    (0x1e00, 0x1eff, 0),
    (0x1f00, 0x1fff, 7),
    (0x3041, 0x30ff, KANA),
    (0x3400, 0x9fff, HAN),
    (0xac00, 0xd7af, 22),
    (0xf900, 0xfaff, HAN),
    (0xfb1d, 0xfb4f, 2),
    (0xfb50, 0xfdff, 3),
    (0xfe70, 0xfefe, 3),
    (0xff66, 0xff9d, KANA),
    (0x20000, 0x3ffff, HAN),
];
const KANA: usize = 24;
const HAN: usize = 25;
/// Letters of scripts that no language of the model uses.
const OTHER: usize = 27;
/// Scripts below this number are shared, and Tibetan.
const SHARED: usize = 7;
const TIBETAN: usize = 26;
/// The languages of the scripts from `SHARED` on.
pub(super) const SINGLE: [&str; 19] =
    ["el", "hy", "dv", "pa", "gu", "or", "ta", "te", "kn", "ml", "si", "th", "lo", "my", "ka", "ko", "km", "ja", "zh"];
/// Japanese texts have at least one kana to so many ideographs.
const HAN_TO_KANA: u32 = 12;

/// Number of letters in each script.
#[derive(Debug, Default)]
pub struct Counts([u32; OTHER + 1]);

impl Counts {
    /// Counts the letters of a text.
    pub fn add(&mut self, text: &str) {
        for letter in text.chars().filter(|letter| letter.is_alphabetic()) {
            let script = script_of(letter);
            // An ideograph or a syllable is worth some three letters.
            self.0[script] += if matches!(script, KANA | HAN | 22) { 3 } else { 1 };
        }
    }

    /// The letters of all scripts.
    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }

    /// The script with most letters, and its share. None if no language of the model uses it.
    pub fn main(&self) -> Option<(Script, f64)> {
        let mut counts = self.0;
        let joined = if counts[KANA] * HAN_TO_KANA > counts[HAN] { (KANA, HAN) } else { (HAN, KANA) };
        counts[joined.0] += std::mem::take(&mut counts[joined.1]);
        let (script, most) = counts.iter().copied().enumerate().max_by_key(|(_, count)| *count)?;
        let share = f64::from(most) / f64::from(self.total().max(1));
        match script {
            OTHER => None,
            TIBETAN => Some((Script::Shared(SHARED), share)),
            script if script < SHARED => Some((Script::Shared(script), share)),
            script => Some((Script::Single(SINGLE[script - SHARED]), share)),
        }
    }
}

fn script_of(letter: char) -> usize {
    let at = u32::from(letter);
    let block = BLOCKS.partition_point(|(_, last, _)| *last < at);
    BLOCKS.get(block).filter(|(first, ..)| *first <= at).map_or(OTHER, |(.., script)| *script)
}
