//! Trains a [`Model`] from examples. The same examples in the same order give the same file, byte for byte.
//!
//! The model is a linear support vector machine with squared loss, trained by dual coordinate descent (Hsieh et al.,
//! ICML 2008). Its input is tf-idf of the features that separate the classes best by χ². Platt's sigmoid turns scores
//! into probabilities, fitted as by Lin, Lin and Weng (2007). It is fitted to scores from five-fold cross-validation.
//! For the quality report, each fold uses a sigmoid fitted to the other folds.

use std::collections::{BTreeMap, HashMap};

use xxhash_rust::xxh3::xxh3_64;

use super::features::PageView;
use super::measure::{Figures, Judged, rounded};
use super::model::{Feature, Head, Model, frequency, sigmoid};
use seine_parse::url;

/// Minimum number of examples of each class.
pub const FEWEST: usize = 5;
const FOLDS: usize = 5;
/// Number of features kept: those that separate the classes best.
const MAX_FEATURES: usize = 10_000;
/// Limit of distinct features. Examples read after it is reached add no new features.
const MAX_SEEN: usize = 8_000_000;
/// Penalty for examples on the wrong side, relative to large weights.
const COST: f64 = 1.0;
const MAX_ROUNDS: usize = 300;
const PRECISION: f64 = 1e-3;

/// Labelled example pages.
#[derive(Debug, Default)]
pub struct Examples {
    indices: HashMap<u64, u32>,
    names: Vec<Box<str>>,
    examples: Vec<Example>,
}

#[derive(Debug)]
struct Example {
    is_relevant: bool,
    /// Hash of the host; 0 for a file.
    site: u64,
    /// Index in `names`, ascending, with the number of occurrences.
    features: Vec<(u32, u32)>,
}

/// A model, and the verdict on every example by a model trained without it.
#[derive(Debug)]
pub struct Trained {
    pub model: Model,
    pub judged: Vec<Judged>,
    /// The models for the verdicts also saw no other page of the same site.
    pub is_by_site: bool,
}

impl Examples {
    pub fn add(&mut self, page: &PageView, is_relevant: bool) {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let (places, names) = (&mut self.indices, &mut self.names);
        page.each_feature(&mut |name| {
            let hash = xxh3_64(name.as_bytes());
            let index = match places.get(&hash) {
                Some(index) => *index,
                None if names.len() == MAX_SEEN => return,
                None => {
                    names.push(name.into());
                    *places.entry(hash).or_insert(names.len() as u32 - 1)
                }
            };
            *counts.entry(index).or_default() += 1;
        });
        let mut features: Vec<(u32, u32)> = counts.into_iter().collect();
        features.sort_unstable();
        let host = url::host(page.url).filter(|host| !host.is_empty());
        let site = host.map_or(0, |host| xxh3_64(host.as_bytes()));
        self.examples.push(Example { is_relevant, site, features });
    }

    /// Number of relevant and of other examples.
    pub fn count(&self) -> (usize, usize) {
        let positive = self.examples.iter().filter(|it| it.is_relevant).count();
        (positive, self.examples.len() - positive)
    }

    /// Needs at least [`FEWEST`] examples of each class. Calls `step` after each of six parts.
    pub fn train(&self, step: &mut dyn FnMut()) -> Trained {
        let (fold_of, is_by_site) = match self.folds_of_sites() {
            Some(fold_of) => (fold_of, true),
            None => (self.folds(), false),
        };
        let mut sums = vec![0.0; self.examples.len()];
        for fold in 0..FOLDS {
            let machine = self.fit(&|index| fold_of[index] != fold);
            let left_out = (0..self.examples.len()).filter(|index| fold_of[*index] == fold);
            left_out.for_each(|index| sums[index] = machine.sum(&self.examples[index]));
            step();
        }
        let known = |is_meant: &dyn Fn(usize) -> bool| -> Vec<(f64, bool)> {
            let places = (0..sums.len()).filter(|index| is_meant(*index));
            places.map(|index| (sums[index], self.examples[index].is_relevant)).collect()
        };
        let of_others: Vec<(f64, f64)> =
            (0..FOLDS).map(|fold| platt(&known(&|index| fold_of[index] != fold))).collect();
        let judge = |index: usize| {
            let relevance = sigmoid(of_others[fold_of[index]], sums[index]);
            Judged { relevance, is_taken: relevance >= 0.5, is_relevant: self.examples[index].is_relevant }
        };
        let judged: Vec<Judged> = (0..sums.len()).map(judge).collect();
        let machine = self.fit(&|_| true);
        step();
        let (positive, negative) = self.count();
        let counts = (positive as u64, negative as u64);
        let head = Head::new(counts, Figures::of(&judged), machine.bias, platt(&known(&|_| true)));
        let named = machine.features.iter().map(|(index, feature)| {
            Feature(self.names[*index as usize].to_string(), rounded(feature.idf), rounded(feature.weight))
        });
        Trained { model: Model::new(head, named.collect()), judged, is_by_site }
    }

    /// Folds that keep all pages of a site together, if both classes have enough sites. A model knows the
    /// sites that it learned from, so a test on the same sites would flatter it.
    fn folds_of_sites(&self) -> Option<Vec<usize>> {
        let mut sizes: BTreeMap<u64, [usize; 2]> = BTreeMap::new();
        for example in &self.examples {
            sizes.entry(example.site).or_default()[usize::from(example.is_relevant)] += 1;
        }
        let are_enough = |class: usize| sizes.values().filter(|sizes| sizes[class] > 0).count() >= 2 * FOLDS;
        if sizes.contains_key(&0) || !are_enough(0) || !are_enough(1) {
            return None;
        }
        // Assigns the largest sites first, each to the fold with the fewest pages of the site's larger class.
        let mut sites: Vec<(u64, [usize; 2])> = sizes.into_iter().collect();
        sites.sort_by_key(|(site, sizes)| (std::cmp::Reverse(sizes[0].max(sizes[1])), *site));
        let (mut filled, mut fold_of) = ([[0; 2]; FOLDS], HashMap::new());
        for (site, sizes) in sites {
            let class = usize::from(sizes[1] > sizes[0]);
            let fold = (0..FOLDS).min_by_key(|fold| filled[*fold][class]).unwrap_or_default();
            filled[fold].iter_mut().zip(sizes).for_each(|(filled, size)| *filled += size);
            fold_of.insert(site, fold);
        }
        // When a fold is left out, both classes must remain.
        let is_left = |class: usize| filled.iter().filter(|filled| filled[class] > 0).count() > 1;
        (is_left(0) && is_left(1)).then(|| self.examples.iter().map(|example| fold_of[&example.site]).collect())
    }

    /// Divides each class separately, in a shuffled order that does not depend on the order of the examples.
    fn folds(&self) -> Vec<usize> {
        let mut fold_of = vec![0; self.examples.len()];
        for class in [true, false] {
            let mut places: Vec<usize> =
                (0..self.examples.len()).filter(|index| self.examples[*index].is_relevant == class).collect();
            Shuffle::default().shuffle(&mut places);
            places.iter().zip((0..FOLDS).cycle()).for_each(|(index, fold)| fold_of[*index] = fold);
        }
        fold_of
    }

    /// The features of the given examples that separate the classes best, with their inverse document frequency.
    fn choose(&self, meant: &[&Example]) -> Vec<(u32, f64)> {
        let mut with = vec![(0_u32, 0_u32); self.names.len()];
        for example in meant {
            for (index, _) in &example.features {
                let (positive, negative) = &mut with[*index as usize];
                *(if example.is_relevant { positive } else { negative }) += 1;
            }
        }
        let positive = meant.iter().filter(|it| it.is_relevant).count() as f64;
        let negative = meant.len() as f64 - positive;
        let told = |(in_positive, in_negative): (u32, u32)| {
            let (a, b) = (f64::from(in_positive), f64::from(in_negative));
            let (without_a, without_b) = (positive - a, negative - b);
            let unlike = a * without_b - b * without_a;
            unlike * unlike / ((a + b) * (without_a + without_b)).max(1.0)
        };
        let mut chosen: Vec<(u32, f64)> = (0..)
            .zip(&with)
            .filter(|(_, with)| with.0 + with.1 > 1)
            .map(|(index, with)| (index, told(*with)))
            .collect();
        chosen.sort_by(|a, b| {
            let name = |index: u32| &self.names[index as usize];
            b.1.total_cmp(&a.1).then_with(|| name(a.0).cmp(name(b.0)))
        });
        chosen.truncate(MAX_FEATURES);
        chosen.sort_unstable_by_key(|(index, _)| *index);
        let idf = |index: u32| {
            let (in_positive, in_negative) = with[index as usize];
            ((1.0 + meant.len() as f64) / (1.0 + f64::from(in_positive + in_negative))).ln() + 1.0
        };
        chosen.into_iter().map(|(index, _)| (index, idf(index))).collect()
    }

    fn fit(&self, is_meant: &dyn Fn(usize) -> bool) -> Machine {
        let places = (0..self.examples.len()).filter(|index| is_meant(*index));
        let meant: Vec<&Example> = places.map(|index| &self.examples[index]).collect();
        let features = self.choose(&meant).into_iter().map(|(index, idf)| (index, Weighed { idf, weight: 0.0 }));
        let mut machine = Machine { features: features.collect(), bias: 0.0 };
        let vectors: Vec<Vec<(u32, f64)>> = meant.iter().map(|example| machine.vector(example)).collect();
        let positive = meant.iter().filter(|it| it.is_relevant).count() as f64;
        let size = meant.len() as f64;
        // Both classes weigh the same, however many examples each has.
        let costs = [COST * size / (2.0 * (size - positive)), COST * size / (2.0 * positive)];
        let mut duals = vec![0.0; meant.len()];
        let mut order: Vec<usize> = (0..meant.len()).collect();
        let mut shuffle = Shuffle::default();
        for _ in 0..MAX_ROUNDS {
            shuffle.shuffle(&mut order);
            let (mut most, mut least) = (f64::MIN, f64::MAX);
            for index in &order {
                let side = if meant[*index].is_relevant { 1.0 } else { -1.0 };
                let slack = 1.0 / (2.0 * costs[usize::from(meant[*index].is_relevant)]);
                let (vector, dual) = (&vectors[*index], &mut duals[*index]);
                let gradient = side * machine.sum_of(vector) - 1.0 + slack * *dual;
                let projected = if *dual == 0.0 { gradient.min(0.0) } else { gradient };
                (most, least) = (most.max(projected), least.min(projected));
                let squares: f64 = vector.iter().map(|(_, value)| value * value).sum::<f64>() + 1.0;
                let next = (*dual - gradient / (squares + slack)).max(0.0);
                machine.add((next - *dual) * side, vector);
                *dual = next;
            }
            if most - least < PRECISION {
                break;
            }
        }
        machine
    }
}

#[derive(Debug, Clone, Copy)]
struct Weighed {
    idf: f64,
    weight: f64,
}

/// The trained classifier: each feature with its index in the names, ascending.
struct Machine {
    features: Vec<(u32, Weighed)>,
    bias: f64,
}

impl Machine {
    /// The example as a vector of length 1, by index in `features`.
    fn vector(&self, example: &Example) -> Vec<(u32, f64)> {
        let mut known = self.features.iter().enumerate().peekable();
        let mut vector = Vec::new();
        for (name, count) in &example.features {
            while known.next_if(|(_, (index, _))| index < name).is_some() {}
            if let Some((at, (_, feature))) = known.next_if(|(_, (index, _))| index == name) {
                vector.push((at as u32, frequency(*count) * feature.idf));
            }
        }
        let length = vector.iter().map(|(_, value)| value * value).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|(_, value)| *value /= length);
        vector
    }

    fn sum_of(&self, vector: &[(u32, f64)]) -> f64 {
        vector.iter().map(|(at, value)| self.features[*at as usize].1.weight * value).sum::<f64>() + self.bias
    }

    fn sum(&self, example: &Example) -> f64 {
        self.sum_of(&self.vector(example))
    }

    fn add(&mut self, times: f64, vector: &[(u32, f64)]) {
        if times != 0.0 {
            vector.iter().for_each(|(at, value)| self.features[*at as usize].1.weight += times * value);
            self.bias += times;
        }
    }
}

/// Slope and intercept of the sigmoid with the highest likelihood, by Newton's method. Each class counts one extra
/// example of the other class, so no probability becomes 0 or 1.
fn platt(known: &[(f64, bool)]) -> (f64, f64) {
    let positive = known.iter().filter(|(_, is_relevant)| *is_relevant).count() as f64;
    let negative = known.len() as f64 - positive;
    let target = |is_relevant| if is_relevant { (positive + 1.0) / (positive + 2.0) } else { 1.0 / (negative + 2.0) };
    // ln(1 + e^x), without overflow for large x.
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    let loss = |(slope, intercept): (f64, f64)| -> f64 {
        let each = |(sum, is_relevant): &(f64, bool)| {
            let exponent = slope * sum + intercept;
            softplus(exponent) - (1.0 - target(*is_relevant)) * exponent
        };
        known.iter().map(each).sum()
    };
    let mut at = (0.0, ((negative + 1.0) / (positive + 1.0)).ln());
    let mut now = loss(at);
    for _ in 0..100 {
        let (mut h11, mut h22, mut h21, mut g1, mut g2) = (1e-12, 1e-12, 0.0, 0.0, 0.0);
        for (sum, is_relevant) in known {
            let p = sigmoid(at, *sum);
            let (error, spread) = (target(*is_relevant) - p, p * (1.0 - p));
            h11 += sum * sum * spread;
            h22 += spread;
            h21 += sum * spread;
            g1 += sum * error;
            g2 += error;
        }
        if g1.abs() < 1e-5 && g2.abs() < 1e-5 {
            break;
        }
        let determinant = h11 * h22 - h21 * h21;
        let step = (-(h22 * g1 - h21 * g2) / determinant, (h21 * g1 - h11 * g2) / determinant);
        let descent = g1 * step.0 + g2 * step.1;
        let mut stride = 1.0;
        let next = loop {
            let next = (at.0 + stride * step.0, at.1 + stride * step.1);
            let is_better = loss(next) < now + 1e-4 * stride * descent;
            if is_better || stride < 1e-10 {
                break is_better.then_some(next);
            }
            stride /= 2.0;
        };
        let Some(next) = next else { break };
        (at, now) = (next, loss(next));
    }
    at
}

/// A shuffle that is the same on every run and every machine: Knuth's 64-bit generator (MMIX).
struct Shuffle(u64);

impl Default for Shuffle {
    fn default() -> Shuffle {
        Shuffle(0x5eed)
    }
}

impl Shuffle {
    fn shuffle(&mut self, places: &mut [usize]) {
        for end in (1..places.len()).rev() {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            places.swap(end, (self.0 >> 33) as usize % (end + 1));
        }
    }
}
