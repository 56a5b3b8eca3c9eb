//! ACHE's strategy for focused crawls, reimplemented from its source (VIDA-NYU/ache, 0.16.0-SNAPSHOT) with its sample
//! configuration (`config_focused_crawl/ache.yml`). It begins with `LinkClassifierBaseline`. After every 1000 pages with
//! links it trains a linear classifier of the words of links (`FORWARD_CLASSIFIER_BINARY`, with as many irrelevant links as
//! relevant ones), and scores all waiting links again. The best link of a host that may be asked is next
//! (`TopkLinkSelector`). Logistic regression replaces ACHE's SVM with Platt's scaling. There is no network, and no delay
//! except that of a host.

use std::collections::{HashMap, HashSet};

use crate::topics::Web;
use crate::walk::AT_A_TIME;

const LEARNING_LIMIT: usize = 1000;
/// Words of links that count: around them, in URLs, in them.
const COUNTED: [usize; 3] = [100, 150, 150];
const TICKS_OF_REST: usize = 10;

struct Waiting {
    relevance: f64,
    /// The words of the link that led there first.
    words: [Vec<String>; 3],
}

pub fn crawl(web: &Web, hard: bool, seed: u64) -> Vec<usize> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut waiting: HashMap<usize, Waiting> = HashMap::new();
    let mut visited: Vec<(usize, [Vec<String>; 3])> = Vec::new();
    let mut known: HashSet<usize> = web.seeds.iter().copied().collect();
    for seed in &web.seeds {
        waiting.insert(*seed, Waiting { relevance: 299.0, words: Default::default() });
    }
    let mut rests: HashMap<usize, usize> = HashMap::new();
    let mut classifier: Option<Classifier> = None;
    let (mut fetched, mut taken, mut tick) = (Vec::new(), 0, 0);
    while !waiting.is_empty() {
        tick += 1;
        for page in best(web, &waiting, &rests, tick) {
            let Some(Waiting { words, .. }) = waiting.remove(&page) else { continue };
            rests.insert(web.pages[page].host, tick + TICKS_OF_REST);
            fetched.push(page);
            visited.push((page, words));
            if hard && !web.is_wanted(page) {
                continue;
            }
            for (to, anchor, before) in web.said(page) {
                let words = [split(before), split(&web.url(to)), split(anchor)];
                let relevance = match &classifier {
                    Some(classifier) => classifier.relevance(&words),
                    // With a classifier of 0 and 1, as regular expressions are, this is 0 of what is irrelevant.
                    None if web.is_wanted(page) => 100.0 + f64::from(rng.u32(..100)),
                    None => web.relevance(page) * 100.0,
                };
                if relevance > 0.0 && known.insert(to) {
                    waiting.insert(to, Waiting { relevance, words });
                }
            }
            taken += 1;
            if taken % LEARNING_LIMIT == 0 {
                let learned = Classifier::learn(web, &visited);
                waiting.values_mut().for_each(|link| link.relevance = learned.relevance(&link.words));
                classifier = Some(learned);
            }
        }
    }
    fetched
}

/// The best of hosts that may be asked, one each.
fn best(web: &Web, waiting: &HashMap<usize, Waiting>, rests: &HashMap<usize, usize>, tick: usize) -> Vec<usize> {
    let mut best: HashMap<usize, (f64, usize)> = HashMap::new();
    for (page, link) in waiting {
        let host = web.pages[*page].host;
        if rests.get(&host).is_none_or(|until| *until <= tick) {
            let best = best.entry(host).or_insert((-1.0, 0));
            if (link.relevance, *page) > *best {
                *best = (link.relevance, *page);
            }
        }
    }
    let mut best: Vec<(f64, usize)> = best.into_values().collect();
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    best.into_iter().take(AT_A_TIME).map(|(_, page)| page).collect()
}

fn split(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).map(str::to_lowercase).collect()
}

struct Classifier {
    numbers: [HashMap<String, usize>; 3],
    weights: Vec<f64>,
}

impl Classifier {
    fn learn(web: &Web, visited: &[(usize, [Vec<String>; 3])]) -> Classifier {
        let (mut positive, mut negative) = (Vec::new(), Vec::new());
        for (page, words) in visited {
            if web.is_wanted(*page) {
                positive.push(words);
            } else if negative.len() < positive.len() {
                negative.push(words);
            }
        }
        let examples: Vec<(&[Vec<String>; 3], f64)> = positive
            .into_iter()
            .map(|words| (words, 1.0))
            .chain(negative.into_iter().map(|words| (words, 0.0)))
            .collect();
        let mut next = 1;
        let numbers = [0, 1, 2].map(|field| {
            let mut counts: HashMap<&str, usize> = HashMap::new();
            examples.iter().flat_map(|(words, _)| &words[field]).for_each(|word| *counts.entry(word).or_default() += 1);
            let mut counts: Vec<(&str, usize)> = counts.into_iter().filter(|(_, count)| *count >= 2).collect();
            counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
            counts
                .into_iter()
                .take(COUNTED[field])
                .map(|(word, _)| {
                    (word.to_owned(), {
                        next += 1;
                        next - 1
                    })
                })
                .collect()
        });
        let mut classifier = Classifier { numbers, weights: vec![0.0; next] };
        for round in 0..40 {
            for (words, label) in &examples {
                let features = classifier.features(words);
                let error = classifier.probability(&features) - label;
                for feature in features {
                    classifier.weights[feature] -= 0.2 / (1.0 + f64::from(round) / 4.0) * error;
                }
            }
        }
        classifier
    }

    fn features(&self, words: &[Vec<String>; 3]) -> Vec<usize> {
        let known = (0..3).flat_map(|field| words[field].iter().filter_map(move |word| self.numbers[field].get(word)));
        let mut features: Vec<usize> = known.copied().chain([0]).collect();
        features.sort_unstable();
        features.dedup();
        features
    }

    fn probability(&self, features: &[usize]) -> f64 {
        1.0 / (1.0 + (-features.iter().map(|feature| self.weights[*feature]).sum::<f64>()).exp())
    }

    /// 200 and the percent that it is relevant, or 100 and the percent that it is not.
    fn relevance(&self, words: &[Vec<String>; 3]) -> f64 {
        let probability = self.probability(&self.features(words));
        let (class, sure) = if probability >= 0.5 { (200.0, probability) } else { (100.0, 1.0 - probability) };
        class + (sure * 100.0).min(99.0)
    }
}
