//! The most probable language of a script that several languages use.

use super::model::{Known, MAX_LANGUAGES, Model, model};
use super::ngrams::groups;

/// A piece is in another language if the candidate has less than this part of the best sum there.
const NEAR: f32 = 0.75;
/// The sum of these times [`Evidence::factors`] is the logarithm of the odds of being right. `scripts/language` learns them.
const ODDS: [f32; 6] = [3.305, 2.129, 1.473, 1.609, 1.082, -1.230];
/// Weights are stored as whole numbers of this size.
const STEP: f32 = 1.0 / 8.0;

/// Sums over a piece of text.
struct Sums {
    groups: u32,
    words: u32,
    weights: [i32; MAX_LANGUAGES],
    known_words: [u32; MAX_LANGUAGES],
}

/// Measures of a text's most probable language.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    tag: Option<&'static str>,
    /// The mean weight of a group, the share of known words, and the lead on the next language per group, compared with text
    /// of the language.
    weight: f32,
    words: f32,
    relative_lead: f32,
    lead: f32,
    groups: f32,
}

impl Evidence {
    /// None if most of the text is in languages other than the most probable one.
    pub(super) fn of(pieces: &[String], script: usize) -> Option<Evidence> {
        let model = model();
        let mut word = Vec::new();
        let sums: Vec<Sums> = pieces.iter().map(|piece| Sums::of(piece, model, &mut word)).collect();
        let (best, ..) = Sums::total(sums.iter()).best(&model.languages, script)?;
        let is_in_it = |sums: &&Sums| {
            let most = sums.best(&model.languages, script).map_or(0, |(_, most, _)| most);
            sums.weights[best] as f32 >= NEAR * most as f32
        };
        let total = Sums::total(sums.iter().filter(is_in_it));
        let all: u32 = sums.iter().map(|sums| sums.groups).sum();
        let (language, most, next) = total.best(&model.languages, script).filter(|_| total.groups * 2 >= all)?;
        let Known { tag, weight, lead: own_lead, words, .. } = model.languages[language];
        let groups = total.groups.max(1) as f32;
        let lead = (most - next) as f32 * STEP;
        Some(Evidence {
            tag,
            weight: most as f32 * STEP / groups / weight,
            words: total.known_words[language] as f32 / total.words.max(1) as f32 / words,
            relative_lead: lead / groups / own_lead,
            lead,
            groups,
        })
    }

    /// None if the most probable language is one that is only compared.
    pub fn tag(&self) -> Option<&'static str> {
        self.tag
    }

    /// The probability of being right.
    pub fn probability(&self) -> f32 {
        let odds: f32 = ODDS.iter().zip(self.factors()).map(|(odds, factor)| odds * factor).sum();
        1.0 / (1.0 + (-odds).exp())
    }

    /// `ODDS` weigh these values: 1; the mean weight, the share of known words and the lead, each compared with
    /// text of the language; the logarithms of the lead and of the number of groups.
    pub fn factors(&self) -> [f32; ODDS.len()] {
        [1.0, self.weight, self.words.min(1.3), self.relative_lead.min(1.3), (self.lead + 1.0).ln(), self.groups.ln()]
    }
}

impl Sums {
    fn new() -> Sums {
        Sums { groups: 0, words: 0, weights: [0; MAX_LANGUAGES], known_words: [0; MAX_LANGUAGES] }
    }

    fn of(piece: &str, model: &Model, word: &mut Vec<u32>) -> Sums {
        let mut sums = Sums::new();
        groups(piece, word, |group| {
            sums.groups += 1;
            sums.words += u32::from(group.is_word);
            let row = model.row(group.hash);
            for (language, weight) in row {
                sums.weights[usize::from(*language)] += i32::from(*weight);
            }
            if group.is_word {
                row.iter().for_each(|(language, _)| sums.known_words[usize::from(*language)] += 1);
            }
        });
        sums
    }

    fn total<'a>(sums: impl Iterator<Item = &'a Sums>) -> Sums {
        sums.fold(Sums::new(), |mut total, sums| {
            total.groups += sums.groups;
            total.words += sums.words;
            total.weights.iter_mut().zip(sums.weights).for_each(|(total, weight)| *total += weight);
            total.known_words.iter_mut().zip(sums.known_words).for_each(|(total, words)| *total += words);
            total
        })
    }

    /// The language of a script with the largest sum, its sum, and that of the next.
    fn best(&self, languages: &[Known], script: usize) -> Option<(usize, i32, i32)> {
        let mut best: Option<(usize, i32, i32)> = None;
        for (at, _) in languages.iter().enumerate().filter(|(_, language)| language.script == script) {
            let weight = self.weights[at];
            best = match best {
                None => Some((at, weight, 0)),
                Some((_, most, _)) if weight > most => Some((at, weight, most)),
                Some((first, most, next)) => Some((first, most, next.max(weight))),
            };
        }
        best
    }
}
