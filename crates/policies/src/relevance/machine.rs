//! The linear classifier: a support vector machine with squared loss, trained by dual coordinate descent (Hsieh et al.,
//! ICML 2008). Its input is tf-idf of the features that separate the classes best by χ².

use super::model::frequency;
use super::train::{Example, Shuffle};

/// Number of features kept: those that separate the classes best.
const MAX_FEATURES: usize = 50_000;
const MAX_ROUNDS: usize = 300;
const PRECISION: f64 = 1e-3;

/// The features of the given examples that separate the classes best, ascending, with their inverse document frequency.
fn choose(names: &[Box<str>], meant: &[&Example]) -> Vec<(u32, f64)> {
    let mut with = vec![(0_u32, 0_u32); names.len()];
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
    let mut chosen: Vec<(u32, f64)> =
        (0..).zip(&with).filter(|(_, with)| with.0 + with.1 > 1).map(|(index, with)| (index, told(*with))).collect();
    chosen.sort_by(|a, b| {
        let name = |index: u32| &names[index as usize];
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

/// Examples as vectors, ready to train machines with different costs.
pub(super) struct Problem<'e> {
    meant: Vec<&'e Example>,
    vectors: Vec<Vec<(u32, f32)>>,
    untrained: Machine,
}

impl Problem<'_> {
    pub(super) fn new<'e>(names: &[Box<str>], meant: Vec<&'e Example>) -> Problem<'e> {
        let features = choose(names, &meant).into_iter().map(|(index, idf)| (index, Weighed { idf, weight: 0.0 }));
        let untrained = Machine { features: features.collect(), bias: 0.0 };
        let vectors = meant.iter().map(|example| untrained.vector(example)).collect();
        Problem { meant, vectors, untrained }
    }

    /// `cost`: the penalty for examples on the wrong side, relative to large weights.
    pub(super) fn train(&self, cost: f64) -> Machine {
        let (meant, mut machine) = (&self.meant, self.untrained.clone());
        let positive = meant.iter().filter(|it| it.is_relevant).count() as f64;
        let size = meant.len() as f64;
        // Both classes weigh the same, however many examples each has.
        let costs = [cost * size / (2.0 * (size - positive)), cost * size / (2.0 * positive)];
        let mut duals = vec![0.0; meant.len()];
        let mut order: Vec<usize> = (0..meant.len()).collect();
        let mut shuffle = Shuffle::default();
        for _ in 0..MAX_ROUNDS {
            shuffle.shuffle(&mut order);
            let (mut most, mut least) = (f64::MIN, f64::MAX);
            for index in &order {
                let side = if meant[*index].is_relevant { 1.0 } else { -1.0 };
                let slack = 1.0 / (2.0 * costs[usize::from(meant[*index].is_relevant)]);
                let (vector, dual) = (&self.vectors[*index], &mut duals[*index]);
                let gradient = side * machine.sum_of(vector) - 1.0 + slack * *dual;
                let projected = if *dual == 0.0 { gradient.min(0.0) } else { gradient };
                (most, least) = (most.max(projected), least.min(projected));
                // The vector has length 1, and the bias is one more value of 1.
                let next = (*dual - gradient / (2.0 + slack)).max(0.0);
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
pub(super) struct Weighed {
    pub idf: f64,
    pub weight: f64,
}

/// The classifier: each feature with its index in the names, ascending.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    pub features: Vec<(u32, Weighed)>,
    pub bias: f64,
}

impl Machine {
    /// The example as a vector of length 1, by index in `features`.
    fn vector(&self, example: &Example) -> Vec<(u32, f32)> {
        let mut known = self.features.iter().enumerate().peekable();
        let mut vector = Vec::new();
        for (name, count) in &example.features {
            while known.next_if(|(_, (index, _))| index < name).is_some() {}
            if let Some((at, (_, feature))) = known.next_if(|(_, (index, _))| index == name) {
                vector.push((at as u32, (frequency(*count) * feature.idf) as f32));
            }
        }
        let length = vector.iter().map(|(_, value)| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|(_, value)| *value = (f64::from(*value) / length) as f32);
        vector
    }

    fn sum_of(&self, vector: &[(u32, f32)]) -> f64 {
        vector.iter().map(|(at, value)| self.features[*at as usize].1.weight * f64::from(*value)).sum::<f64>()
            + self.bias
    }

    pub(super) fn sum(&self, example: &Example) -> f64 {
        self.sum_of(&self.vector(example))
    }

    fn add(&mut self, times: f64, vector: &[(u32, f32)]) {
        if times != 0.0 {
            vector.iter().for_each(|(at, value)| self.features[*at as usize].1.weight += times * f64::from(*value));
            self.bias += times;
        }
    }
}
