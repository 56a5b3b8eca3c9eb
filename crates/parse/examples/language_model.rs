//! Makes `src/language/model.bin.zst`: `language_model WORDS OUT`.
//!
//! `WORDS` is a folder of `TAG.tsv` or `TAG-SCRIPT.tsv`, lines of a word and its frequency, and a folder `compared` of further
//! languages, text in which gets no language. `scripts/language/README.md` says where the words come from.
//!
//! 1. Weights of naive Bayes: how much more probable a group of letters is in a language than a group that is hardly ever seen.
//! 2. Some epochs of logistic regression on random words correct them, which matters for languages that are close.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::{fs, io};

use fastrand::Rng;
use seine_parse::language::ngrams::groups;
use seine_parse::language::script::{Counts, Script};

/// Number of groups that each language may add, by order; order 0 are words of four letters and more.
const GROUPS: [usize; 6] = [230, 0, 0, 310, 330, 240];
/// A group that is this rare in a language has no weight there: words, and runs of letters.
const RARE: [f64; 2] = [2e-6, 1e-5];
/// Groups overlap, so that they count less than they say: words, and runs of letters.
const SHARE: [f32; 2] = [0.5, 0.4];
/// Random texts of each language that are learned from, and the most words of one.
const TEXTS: usize = 6_000;
const TEXT_WORDS: usize = 15;
/// One text of so many has this share of English words, as pages have them.
const MIXED: (usize, f64) = (4, 0.25);
const RATE: f32 = 0.15;
/// Random texts of a language that the numbers of its own text are the means of, and the words of one.
const OWN_TEXTS: usize = 200;
const OWN_WORDS: usize = 60;
/// Weights are stored as whole numbers of one eighth. Smaller ones are left out.
const STEPS: f32 = 8.0;
const LEAST: i8 = 2;
/// Weights below this are not learned.
const LEAST_LEARNT: f32 = 0.15;

struct Language {
    /// Empty for languages that are only compared.
    tag: String,
    script: usize,
    words: Vec<String>,
    /// The sum of frequencies up to each word.
    sums: Vec<f64>,
}

/// The chosen groups in ascending order of their hashes, and the weights of each by the number of the language.
#[derive(Default)]
struct Weights {
    hashes: Vec<u32>,
    places: HashMap<u32, usize>,
    rows: Vec<Vec<(usize, f32)>>,
}

fn main() -> io::Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [words, out] = &arguments[..] else { return Err(io::Error::other("language_model WORDS OUT")) };
    let mut languages = read_folder(words, true)?;
    languages.extend(read_folder(&words.join("compared"), false)?);
    let probabilities: Vec<_> = languages.iter().map(probabilities).collect();
    let mut weights = bayes(&probabilities, choose(&languages, &probabilities));
    println!("{} languages, {} groups", languages.len(), weights.rows.len());
    learn(&languages, &mut weights);
    fs::write(out, zstd::encode_all(&file(&languages, &weights)[..], 19)?)
}

fn read_folder(folder: &Path, named: bool) -> io::Result<Vec<Language>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    let files = paths.iter().filter(|path| path.extension().is_some_and(|it| it == "tsv"));
    files.filter_map(|path| read(path, named).transpose()).collect()
}

/// None for scripts of one language.
fn read(path: &Path, named: bool) -> io::Result<Option<Language>> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let tag = if named { name.split('-').next().unwrap_or_default().to_owned() } else { String::new() };
    let (mut words, mut sums, mut sum, mut letters) = (Vec::new(), Vec::new(), 0.0, Counts::default());
    for line in fs::read_to_string(path)?.lines() {
        let (word, frequency) = line.split_once('\t').unwrap_or((line, "0"));
        sum += frequency.parse::<f64>().map_err(io::Error::other)?;
        letters.add(word);
        words.push(word.to_owned());
        sums.push(sum);
    }
    Ok(match letters.main() {
        Some((Script::Shared(script), _)) => Some(Language { tag, script, words, sums }),
        _ => None,
    })
}

impl Language {
    fn frequency(&self, at: usize) -> f64 {
        self.sums[at] - if at == 0 { 0.0 } else { self.sums[at - 1] }
    }

    /// A random word: frequent ones are likelier.
    fn word(&self, random: &mut Rng) -> &str {
        let at = random.f64() * self.sums.last().copied().unwrap_or_default();
        &self.words[self.sums.partition_point(|sum| *sum <= at).min(self.words.len() - 1)]
    }
}

/// The probability of each group among those of its order.
fn probabilities(language: &Language) -> HashMap<u32, (usize, f64)> {
    let (mut found, mut sums, mut word) = (HashMap::new(), [0.0; GROUPS.len()], Vec::new());
    for (at, text) in language.words.iter().enumerate() {
        let frequency = language.frequency(at);
        groups(text, &mut word, |group| {
            found.entry(group.hash).or_insert((group.order, 0.0)).1 += frequency;
            sums[group.order] += frequency;
        });
    }
    found.values_mut().for_each(|(order, probability)| *probability /= sums[*order]);
    found
}

/// The groups that say most of each language.
fn choose(languages: &[Language], probabilities: &[HashMap<u32, (usize, f64)>]) -> BTreeSet<u32> {
    // The mean over the languages of a script, by the group and the script.
    let mut means: HashMap<(u32, usize), f64> = HashMap::new();
    for (language, of) in languages.iter().zip(probabilities) {
        let same = languages.iter().filter(|other| other.script == language.script).count() as f64;
        of.iter().for_each(|(hash, (_, it))| *means.entry((*hash, language.script)).or_default() += it / same);
    }
    let mut chosen = BTreeSet::new();
    for (language, of) in languages.iter().zip(probabilities) {
        let mut by_order = vec![Vec::new(); GROUPS.len()];
        for (hash, (order, it)) in of {
            let says = it * (0.25 + (it / means[&(*hash, language.script)]).ln().abs());
            by_order[*order].push((says, *hash));
        }
        for (mut says, most) in by_order.into_iter().zip(GROUPS) {
            says.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
            chosen.extend(says.into_iter().take(most).map(|(_, hash)| hash));
        }
    }
    chosen
}

fn bayes(probabilities: &[HashMap<u32, (usize, f64)>], chosen: BTreeSet<u32>) -> Weights {
    let mut weights = Weights::default();
    for hash in chosen {
        let weight = |(order, it): (usize, f64)| (it / RARE[order.min(1)]).ln() as f32 * SHARE[order.min(1)];
        let of = probabilities.iter().map(|of| of.get(&hash).map_or(0.0, |it| weight(*it)));
        weights.places.insert(hash, weights.rows.len());
        weights.hashes.push(hash);
        weights.rows.push(of.enumerate().filter(|(_, weight)| *weight > LEAST_LEARNT).collect());
    }
    weights
}

/// Corrects the weights by the texts whose language they get wrong (stochastic gradient descent with AdaGrad).
fn learn(languages: &[Language], weights: &mut Weights) {
    let mut random = Rng::with_seed(1);
    let mut squares: Vec<Vec<f32>> = weights.rows.iter().map(|row| vec![1.0; row.len()]).collect();
    let english = languages.iter().position(|language| language.tag == "en").unwrap_or_default();
    let steps = TEXTS * languages.len();
    for step in 0..steps {
        let rate = RATE * (1.0 - step as f32 / steps as f32);
        let at = step % languages.len();
        let found = weights.find(&random_text(languages, at, english, &mut random));
        let mut errors = posterior(languages, weights.sums(&found, languages.len()), languages[at].script);
        if errors[at] > 0.98 {
            continue;
        }
        errors[at] -= 1.0;
        for place in found {
            for ((language, weight), square) in weights.rows[place].iter_mut().zip(&mut squares[place]) {
                let error = errors[*language];
                *square += error * error;
                *weight -= rate * error / square.sqrt();
            }
        }
    }
}

impl Weights {
    /// The places of a text's groups, as often as they occur.
    fn find(&self, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        groups(text, &mut Vec::new(), |group| found.extend(self.places.get(&group.hash)));
        found
    }

    /// The sum of the weights for each language.
    fn sums(&self, found: &[usize], languages: usize) -> Vec<f32> {
        let mut sums = vec![0.0; languages];
        for (language, weight) in found.iter().flat_map(|place| &self.rows[*place]) {
            sums[*language] += weight;
        }
        sums
    }

    fn has(&self, hash: u32, language: usize) -> bool {
        let row = self.places.get(&hash).map_or(&[][..], |place| &self.rows[*place]);
        row.iter().any(|(of, _)| *of == language)
    }
}

fn random_text(languages: &[Language], at: usize, english: usize, random: &mut Rng) -> String {
    let words = random.usize(2..=TEXT_WORDS);
    let foreign = if random.usize(0..MIXED.0) == 0 { MIXED.1 } else { 0.0 };
    let mut text = String::new();
    for _ in 0..words {
        let language = if random.f64() < foreign { english } else { at };
        text.push_str(languages[language].word(random));
        text.push(' ');
    }
    text
}

/// The probability of each language of a script; 0 for the others.
fn posterior(languages: &[Language], mut sums: Vec<f32>, script: usize) -> Vec<f32> {
    let of_script = || languages.iter().map(|language| language.script == script);
    let most = sums.iter().zip(of_script()).fold(f32::MIN, |most, (sum, is)| if is { most.max(*sum) } else { most });
    sums.iter_mut().zip(of_script()).for_each(|(sum, is)| *sum = if is { (*sum - most).exp() } else { 0.0 });
    let all: f32 = sums.iter().sum();
    sums.iter_mut().for_each(|sum| *sum /= all);
    sums
}

/// Of text of a language: the mean weight of a group, the mean lead on the next language per group, and the share of words
/// that are groups.
fn own_text(languages: &[Language], at: usize, weights: &Weights) -> [f32; 3] {
    let mut random = Rng::with_seed(2);
    let language = &languages[at];
    let [mut count, mut weight, mut lead, mut words, mut known] = [0.0; 5];
    for _ in 0..OWN_TEXTS {
        let text: Vec<&str> = (0..OWN_WORDS).map(|_| language.word(&mut random)).collect();
        let text = text.join(" ");
        let sums = weights.sums(&weights.find(&text), languages.len());
        let others = sums.iter().zip(languages).enumerate();
        let others = others.filter(|(other, (_, it))| *other != at && it.script == language.script);
        let next = others.fold(0.0_f32, |most, (_, (sum, _))| most.max(*sum));
        weight += sums[at];
        lead += (sums[at] - next).max(0.0);
        groups(&text, &mut Vec::new(), |group| {
            count += 1.0;
            words += f32::from(u8::from(group.is_word));
            known += f32::from(u8::from(group.is_word && weights.has(group.hash, at)));
        });
    }
    [weight / count, lead / count, known / words]
}

/// The format is that of `language/model.rs`.
fn file(languages: &[Language], weights: &Weights) -> Vec<u8> {
    let mut file = b"seine language 1\n".to_vec();
    file.push(languages.len() as u8);
    for (at, language) in languages.iter().enumerate() {
        file.push(language.tag.len() as u8);
        file.extend(language.tag.as_bytes());
        file.push(language.script as u8);
        own_text(languages, at, weights).iter().for_each(|number| file.extend(number.to_le_bytes()));
    }
    let rounded = |row: &[(usize, f32)]| -> Vec<(usize, i8)> {
        let steps = row.iter().map(|(at, weight)| (*at, (weight * STEPS).round().clamp(-127.0, 127.0) as i8));
        steps.filter(|(_, steps)| steps.abs() >= LEAST).collect()
    };
    let rows: Vec<(u32, Vec<(usize, i8)>)> = weights
        .hashes
        .iter()
        .zip(&weights.rows)
        .map(|(hash, row)| (*hash, rounded(row)))
        .filter(|(_, row)| !row.is_empty())
        .collect();
    file.extend((rows.len() as u32).to_le_bytes());
    rows.iter().for_each(|(hash, _)| file.extend(hash.to_le_bytes()));
    rows.iter().for_each(|(_, row)| file.push(row.len() as u8));
    let entries = || rows.iter().flat_map(|(_, row)| row);
    entries().for_each(|(language, _)| file.push(*language as u8));
    entries().for_each(|(_, weight)| file.extend(weight.to_le_bytes()));
    file
}
