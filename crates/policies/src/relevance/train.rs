//! Trains a [`Model`] from examples. The same examples in the same order give the same file, byte for byte.
//!
//! Five-fold cross-validation chooses the cost of the support vector machine, fits the sigmoid that turns its scores into
//! probabilities (Platt's, as by Lin, Lin and Weng, 2007), and gives the threshold of relevance. For the quality report,
//! each fold uses a sigmoid and a threshold of the other folds.

use std::collections::{BTreeMap, HashMap};

use xxhash_rust::xxh3::xxh3_64;

use super::calibrate::{Calibration, platt, threshold};
use super::features::{PageView, Reading};
use super::machine::Problem;
use super::measure::{Figures, Judged, rounded};
use super::model::{Feature, Head, Model};
use seine_parse::url;

/// Minimum number of examples of each class.
pub const FEWEST: usize = 5;
const FOLDS: usize = 5;
/// Limit of distinct features. Examples read after it is reached add no new features.
const MAX_SEEN: usize = 8_000_000;
/// Costs of examples on the wrong side; the one with the best probabilities is used.
const COSTS: [f64; 3] = [0.25, 1.0, 4.0];

/// Labelled example pages.
#[derive(Debug, Default)]
pub struct Examples {
    indices: HashMap<u64, u32>,
    names: Vec<Box<str>>,
    examples: Vec<Example>,
}

#[derive(Debug)]
pub(super) struct Example {
    pub is_relevant: bool,
    /// Hash of the host; 0 for a file.
    site: u64,
    /// Index in `names`, ascending, with the number of occurrences.
    pub features: Vec<(u32, u32)>,
}

/// A model, and the verdict on every example by a model trained without it.
#[derive(Debug)]
pub struct Trained {
    pub model: Model,
    pub judged: Vec<Judged>,
    /// Pages with at least this relevance count as relevant.
    pub threshold: f64,
    /// The models for the verdicts also saw no other page of the same site.
    pub is_by_site: bool,
}

impl Examples {
    pub fn add(&mut self, page: &PageView, is_relevant: bool) {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let (places, names) = (&mut self.indices, &mut self.names);
        page.each_feature(Reading::AllLines, &mut |name| {
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
        let scores = self.cross_validated(&fold_of, step);
        let (cost, scores, calibration) = self.best_cost(scores);
        let (judged, threshold) = self.judged(&fold_of, &scores, calibration);
        let machine = self.problem(&|_| true).train(cost);
        step();
        let (positive, negative) = self.count();
        let head = Head::new((positive as u64, negative as u64), Figures::of(&judged), machine.bias, calibration);
        let named = machine.features.iter().map(|(index, feature)| {
            Feature(self.names[*index as usize].to_string(), rounded(feature.idf), rounded(feature.weight))
        });
        Trained { model: Model::new(head, named.collect()), judged, threshold, is_by_site }
    }

    fn problem(&self, is_meant: &dyn Fn(usize) -> bool) -> Problem<'_> {
        let places = (0..self.examples.len()).filter(|index| is_meant(*index));
        Problem::new(&self.names, places.map(|index| &self.examples[index]).collect())
    }

    /// For each cost, the score of every example by a machine of the other folds.
    fn cross_validated(&self, fold_of: &[usize], step: &mut dyn FnMut()) -> Vec<Vec<f64>> {
        let mut scores = vec![vec![0.0; self.examples.len()]; COSTS.len()];
        for fold in 0..FOLDS {
            let problem = self.problem(&|index| fold_of[index] != fold);
            for (scores, cost) in scores.iter_mut().zip(COSTS) {
                let machine = problem.train(cost);
                let left_out = (0..self.examples.len()).filter(|index| fold_of[*index] == fold);
                left_out.for_each(|index| scores[index] = machine.sum(&self.examples[index]));
            }
            step();
        }
        scores
    }

    fn best_cost(&self, scores: Vec<Vec<f64>>) -> (f64, Vec<f64>, Calibration) {
        let tried = COSTS.into_iter().zip(scores).map(|(cost, scores)| {
            let calibration = platt(&self.known(&scores, &|_| true));
            (cost, scores, calibration)
        });
        tried.min_by(|a, b| a.2.loss.total_cmp(&b.2.loss)).expect("there are costs")
    }

    /// Scores of some examples with their classes.
    fn known(&self, scores: &[f64], is_meant: &dyn Fn(usize) -> bool) -> Vec<(f64, bool)> {
        let places = (0..scores.len()).filter(|index| is_meant(*index));
        places.map(|index| (scores[index], self.examples[index].is_relevant)).collect()
    }

    /// The verdict on every example, by what the other folds know, and the threshold by all.
    fn judged(&self, fold_of: &[usize], scores: &[f64], calibration: Calibration) -> (Vec<Judged>, f64) {
        let threshold_of = |known: &[(f64, bool)], calibration: Calibration| {
            threshold(&known.iter().map(|(score, _)| calibration.probability(*score)).collect::<Vec<_>>())
        };
        let of_others: Vec<(Calibration, f64)> = (0..FOLDS)
            .map(|fold| {
                let known = self.known(scores, &|index| fold_of[index] != fold);
                let calibration = platt(&known);
                (calibration, threshold_of(&known, calibration))
            })
            .collect();
        let judge = |(index, score): (usize, &f64)| {
            let (calibration, threshold) = of_others[fold_of[index]];
            let relevance = calibration.probability(*score);
            Judged { relevance, is_taken: relevance >= threshold, is_relevant: self.examples[index].is_relevant }
        };
        let judged = scores.iter().enumerate().map(judge).collect();
        let threshold = threshold_of(&self.known(scores, &|_| true), calibration);
        (judged, (threshold * 1e3).round() / 1e3)
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
}

/// A shuffle that is the same on every run and every machine: Knuth's 64-bit generator (MMIX).
pub(super) struct Shuffle(u64);

impl Default for Shuffle {
    fn default() -> Shuffle {
        Shuffle(0x5eed)
    }
}

impl Shuffle {
    pub(super) fn shuffle(&mut self, places: &mut [usize]) {
        for end in (1..places.len()).rev() {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            places.swap(end, (self.0 >> 33) as usize % (end + 1));
        }
    }
}
