//! The weights of groups of letters: `model.bin.zst`, which `scripts/language` makes.

use std::sync::OnceLock;

const FILE: &[u8] = include_bytes!("model.bin.zst");
/// The first bytes of an unpacked file of the supported format.
const VERSION: &[u8] = b"seine language 1\n";
/// Numbers of languages fit a byte.
pub(super) const MAX_LANGUAGES: usize = 256;

/// A language that the model compares.
#[derive(Debug)]
pub(super) struct Known {
    /// None for languages that are only compared: text in them gets no language.
    pub tag: Option<&'static str>,
    pub script: usize,
    /// Of text of the language: the mean weight of a group, the mean lead on the next language per group, and the share of
    /// words that are groups of the model.
    pub weight: f32,
    pub lead: f32,
    pub words: f32,
}

#[derive(Debug)]
pub(super) struct Model {
    pub languages: Vec<Known>,
    /// A hash table with open addressing. From the top: 32 bits of hash, 24 of the row's start, 8 of its length; 0 is empty.
    slots: Vec<u64>,
    /// Numbers of languages and their weights, row after row.
    entries: Vec<(u8, i8)>,
}

/// The built-in model.
pub(super) fn model() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| {
        let file = zstd::stream::decode_all(FILE).expect("a test reads the model");
        read(&file).expect("a test reads the model")
    })
}

impl Model {
    /// The languages in which a group has a weight, and the weights.
    #[inline]
    pub(super) fn row(&self, hash: u32) -> &[(u8, i8)] {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return &[];
            }
            if (slot >> 32) as u32 == hash {
                let start = (slot >> 8) as usize & 0xff_ffff;
                return &self.entries[start..start + (slot & 0xff) as usize];
            }
            at = (at + 1) & mask;
        }
    }
}

/// The parts are: languages (tag, script, three numbers), hashes, lengths of rows, languages of the rows,
/// weights of the rows.
fn read(file: &[u8]) -> Option<Model> {
    let mut rest = file.strip_prefix(VERSION)?;
    let count = usize::from(take(&mut rest, 1)?[0]);
    let mut languages = Vec::with_capacity(count);
    for _ in 0..count {
        languages.push(read_language(&mut rest)?);
    }
    let rows = u32::from_le_bytes(take(&mut rest, 4)?.try_into().ok()?) as usize;
    let hashes = take(&mut rest, rows.checked_mul(4)?)?;
    let lengths = take(&mut rest, rows)?;
    let size = lengths.iter().map(|length| usize::from(*length)).sum();
    let (of, weights) = (take(&mut rest, size)?, take(&mut rest, size)?);
    let entries: Vec<(u8, i8)> = of.iter().zip(weights).map(|(of, weight)| (*of, weight.cast_signed())).collect();
    let fits = rest.is_empty() && size < 1 << 24 && of.iter().all(|of| usize::from(*of) < count);
    let slots = hash_table(hashes, lengths);
    fits.then_some(Model { languages, slots, entries })
}

fn read_language(rest: &mut &[u8]) -> Option<Known> {
    let size = usize::from(take(rest, 1)?[0]);
    // There is one model, and it stays to the end.
    let tag: &'static str = String::from_utf8(take(rest, size)?.to_vec()).ok()?.leak();
    let script = usize::from(take(rest, 1)?[0]);
    let mut number = || Some(f32::from_le_bytes(take(rest, 4)?.try_into().ok()?));
    let (weight, lead, words) = (number()?, number()?, number()?);
    Some(Known { tag: Some(tag).filter(|tag| !tag.is_empty()), script, weight, lead, words })
}

fn take<'a>(rest: &mut &'a [u8], size: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(size)?;
    *rest = left;
    Some(taken)
}

fn hash_table(hashes: &[u8], lengths: &[u8]) -> Vec<u64> {
    let mut slots = vec![0_u64; (lengths.len() * 3 / 2 + 1).next_power_of_two()];
    let mask = slots.len() - 1;
    let mut start = 0_u64;
    let (hashes, _) = hashes.as_chunks();
    for (hash, length) in hashes.iter().zip(lengths) {
        let hash = u32::from_le_bytes(*hash);
        let mut at = hash as usize & mask;
        while slots[at] != 0 {
            at = (at + 1) & mask;
        }
        slots[at] = u64::from(hash) << 32 | start << 8 | u64::from(*length);
        start += u64::from(*length);
    }
    slots
}
