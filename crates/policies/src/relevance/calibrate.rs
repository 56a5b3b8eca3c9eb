//! From scores to probabilities, and from probabilities to the threshold of relevance.

use super::model::sigmoid;

/// A sigmoid that turns scores into probabilities.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calibration {
    pub slope: f64,
    pub intercept: f64,
    /// The negative logarithm of its likelihood; less is better.
    pub loss: f64,
}

/// The sigmoid with the highest likelihood, by Newton's method. Each class counts one extra example of the other class,
/// so no probability becomes 0 or 1.
pub(super) fn platt(known: &[(f64, bool)]) -> Calibration {
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
    let (slope, intercept) = at;
    Calibration { slope, intercept, loss: now }
}

impl Calibration {
    pub(super) fn probability(&self, score: f64) -> f64 {
        sigmoid((self.slope, self.intercept), score)
    }
}

/// The probability from which on a page is relevant: it gives the highest expected F1 among pages with these
/// probabilities. The threshold is half of the expected F1 (Lipton, Elkan and Naryanaswamy, 2014), so 0.5 where the classes are
/// told apart without error, and less where they are not. Probabilities decide, and not the true classes of the examples,
/// because the best threshold for a few examples would be one of chance.
pub(super) fn threshold(probabilities: &[f64]) -> f64 {
    let mut falling = probabilities.to_vec();
    falling.sort_by(|a, b| b.total_cmp(a));
    let relevant: f64 = falling.iter().sum();
    let (mut found, mut best) = (0.0, 0.0_f64);
    for (taken, probability) in (1..).zip(&falling) {
        found += probability;
        best = best.max(2.0 * found / (f64::from(taken) + relevant));
    }
    best / 2.0
}
