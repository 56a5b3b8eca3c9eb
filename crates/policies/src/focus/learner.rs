//! The weights, and how they are learned.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use super::features::{self, AWAY, Features, Group, HARVEST, NEW_HOST, PAGE, WEIGHTS};
use super::lead::{FARTHEST, Lead};

/// First byte of a stored model.
const FORMAT: u8 = 1;
/// How far the first lesson moves a weight.
const STEP: f32 = 0.4;
/// Start value of a weight's sum of squares, so that a single page does not decide.
const LEARNED: f32 = 0.1;
/// Size of the table of hosts. Hosts that share a slot are counted together.
const HOSTS: usize = 1 << 14;
/// The estimate for a host starts as if it had one page of this relevance.
const BELIEVED: f32 = 0.2;

/// The lesson of a page: the weights of the link that led to it, and its relevance.
#[derive(Debug, Clone, PartialEq)]
pub struct Lesson {
    host: u16,
    is_relevant: bool,
    /// Relevance from 0 to 1. None: only the estimate for the host changes.
    label: Option<f32>,
    features: Vec<u16>,
}

/// Why a stored model cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableModel {
    #[error("its format is {0}, not {FORMAT}; was it written by a newer seine?")]
    Format(u8),
    #[error("it is cut or damaged")]
    Damaged,
}

/// Weights and the relevance of hosts, in 600 KB.
#[derive(Debug, Clone)]
pub struct Learner {
    weights: Box<[f32]>,
    /// Sum of the squared gradients of each weight (AdaGrad).
    learned: Box<[f32]>,
    /// Pages and relevant pages of each host.
    hosts: Box<[(u16, u16)]>,
    lessons: u64,
    /// Name of the classifier that judged the pages, if known.
    judge: Option<String>,
}

impl Default for Learner {
    /// The start values: links on relevant pages, and on hosts with relevant pages, come first.
    fn default() -> Learner {
        let mut weights = vec![0.0; WEIGHTS].into_boxed_slice();
        weights[0] = -1.0;
        for step in 0..=8_u16 {
            let part = f32::from(step) / 8.0;
            weights[usize::from(PAGE + step)] = 1.5 * part - 0.75;
            weights[usize::from(HARVEST + step)] = 2.0 * part - 0.75;
        }
        for away in 0..=u16::from(FARTHEST) {
            weights[usize::from(AWAY + away)] = 0.5 - 0.35 * f32::from(away);
        }
        weights[usize::from(NEW_HOST)] = -0.1;
        let learned = vec![LEARNED; WEIGHTS].into_boxed_slice();
        Learner { weights, learned, hosts: vec![(0, 0); HOSTS].into_boxed_slice(), lessons: 0, judge: None }
    }
}

impl Learner {
    /// Log odds that the link leads to a relevant page.
    pub fn score(&self, lead: &Lead, url: &str) -> f32 {
        self.sum(features::of(lead, url, self.harvest(host_of(url))).into_iter().map(|(number, _)| number))
    }

    /// The part of each group of features in the score of a link, and the score.
    pub fn reasons(&self, lead: &Lead, url: &str) -> (BTreeMap<Group, f32>, f32) {
        let features: Features = features::of(lead, url, self.harvest(host_of(url)));
        let scale = scale(features.len());
        let mut reasons = BTreeMap::new();
        for (number, group) in &features {
            *reasons.entry(*group).or_insert(0.0) += self.weights[usize::from(*number)] * value(*number, scale);
        }
        let sum = reasons.values().sum();
        (reasons, sum)
    }

    /// Number of pages learned from.
    pub fn lessons(&self) -> u64 {
        self.lessons
    }

    /// Sets the classifier that judges pages from now on. Lessons from another classifier are dropped. Returns
    /// whether the classifier is new.
    pub fn judged_by(&mut self, judge: &str) -> bool {
        let is_news = self.judge.as_deref() != Some(judge);
        if is_news && self.judge.is_some() {
            *self = Learner::default();
        }
        self.judge = Some(judge.to_owned());
        is_news
    }

    /// The lesson of a page about the link that led to it. Without a link, only about its host. `relevance`: 0 to 1.
    pub fn lesson(&self, lead: Option<&Lead>, url: &str, relevance: f64, is_relevant: bool) -> Lesson {
        let host = host_of(url);
        let label = (relevance.clamp(0.0, 1.0) as f32 + f32::from(u8::from(is_relevant))) / 2.0;
        let numbers =
            |lead| features::of(lead, url, self.harvest(host)).into_iter().map(|(number, _)| number).collect();
        Lesson { host, is_relevant, label: lead.map(|_| label), features: lead.map(numbers).unwrap_or_default() }
    }

    pub fn learn(&mut self, lesson: &Lesson) {
        if let Some(label) = lesson.label {
            let error = super::rank(self.sum(lesson.features.iter().copied())) - label;
            let scale = scale(lesson.features.len());
            for number in &lesson.features {
                let (at, gradient) = (usize::from(*number), error * value(*number, scale));
                self.learned[at] += gradient * gradient;
                self.weights[at] -= STEP * gradient / self.learned[at].sqrt();
            }
            self.lessons += 1;
        }
        let (pages, relevant) = &mut self.hosts[usize::from(lesson.host)];
        if *pages == u16::MAX {
            (*pages, *relevant) = (*pages / 2, *relevant / 2);
        }
        *pages += 1;
        *relevant += u16::from(lesson.is_relevant);
    }

    fn sum(&self, numbers: impl ExactSizeIterator<Item = u16>) -> f32 {
        let scale = scale(numbers.len());
        numbers.map(|number| self.weights[usize::from(number)] * value(number, scale)).sum()
    }

    /// The share of a host's pages that were relevant, in eighths.
    fn harvest(&self, host: u16) -> Option<u8> {
        let (pages, relevant) = self.hosts[usize::from(host)];
        let part = (f32::from(relevant) + BELIEVED) / (f32::from(pages) + 1.0);
        (pages > 0).then(|| (part * 8.0).round() as u8)
    }
}

/// Divides the influence of words by their number. Indices below [`features::FIXED`] keep their full influence.
fn scale(features: usize) -> f32 {
    1.0 / (features.max(9) as f32 - 5.0).sqrt()
}

fn value(number: u16, scale: f32) -> f32 {
    if number < features::FIXED { 1.0 } else { 2.0 * scale }
}

fn host_of(url: &str) -> u16 {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default();
    (xxh3_64(host.as_bytes()) % HOSTS as u64) as u16
}

/// The stored form.
impl Learner {
    /// Stores only what differs from the start values.
    pub fn to_bytes(&self) -> Vec<u8> {
        let judge = self.judge.as_deref().unwrap_or_default();
        let judge = judge.get(..judge.floor_char_boundary(255)).unwrap_or_default();
        let mut bytes = vec![FORMAT, judge.len() as u8];
        bytes.extend(judge.as_bytes());
        bytes.extend(self.lessons.to_le_bytes());
        let numbered = (0..=u16::MAX).zip(self.learned.iter().zip(&self.weights));
        let changed: Vec<_> = numbered.filter(|(_, (learned, _))| **learned != LEARNED).collect();
        bytes.extend((changed.len() as u32).to_le_bytes());
        for (number, (learned, weight)) in changed {
            bytes.extend(number.to_le_bytes());
            bytes.extend(weight.to_le_bytes());
            bytes.extend(learned.to_le_bytes());
        }
        for (host, (pages, relevant)) in (0..=u16::MAX).zip(&self.hosts).filter(|(_, (pages, _))| *pages > 0) {
            [host, *pages, *relevant].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Learner, UnreadableModel> {
        let (format, rest) = bytes.split_first().ok_or(UnreadableModel::Damaged)?;
        if *format != FORMAT {
            return Err(UnreadableModel::Format(*format));
        }
        Learner::read(rest).ok_or(UnreadableModel::Damaged)
    }

    fn read(mut bytes: &[u8]) -> Option<Learner> {
        let [length] = *take(&mut bytes)?;
        let (judge, rest) = bytes.split_at_checked(usize::from(length))?;
        let judge = Some(String::from_utf8(judge.to_vec()).ok()?).filter(|judge| !judge.is_empty());
        bytes = rest;
        let mut learner = Learner { judge, lessons: u64::from_le_bytes(*take(&mut bytes)?), ..Learner::default() };
        for _ in 0..u32::from_le_bytes(*take(&mut bytes)?) {
            let at = usize::from(u16::from_le_bytes(*take(&mut bytes)?));
            learner.weights[at] = f32::from_le_bytes(*take(&mut bytes)?);
            learner.learned[at] = f32::from_le_bytes(*take(&mut bytes)?);
        }
        while !bytes.is_empty() {
            let mut number = || Some(u16::from_le_bytes(*take(&mut bytes)?));
            let (host, counts) = (number()?, (number()?, number()?));
            *learner.hosts.get_mut(usize::from(host))? = counts;
        }
        Some(learner)
    }
}

fn take<'b, const N: usize>(bytes: &mut &'b [u8]) -> Option<&'b [u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(taken)
}

impl Lesson {
    /// Appends this lesson to earlier ones.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.host.to_le_bytes());
        bytes.push(u8::from(self.is_relevant) | u8::from(self.label.is_some()) << 1);
        bytes.extend(self.label.unwrap_or_default().to_le_bytes());
        bytes.push(self.features.len() as u8);
        self.features.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    }

    /// Reads the lessons in the order in which they were appended.
    pub fn read_all(mut bytes: &[u8]) -> Result<Vec<Lesson>, UnreadableModel> {
        let mut lessons = Vec::new();
        while !bytes.is_empty() {
            lessons.push(Lesson::read(&mut bytes).ok_or(UnreadableModel::Damaged)?);
        }
        Ok(lessons)
    }

    fn read(bytes: &mut &[u8]) -> Option<Lesson> {
        let host = u16::from_le_bytes(*take(bytes)?);
        let [flags] = *take(bytes)?;
        let label = f32::from_le_bytes(*take(bytes)?);
        let [count] = *take(bytes)?;
        let numbers = (0..count).map(|_| Some(u16::from_le_bytes(*take(bytes)?)));
        let features = numbers.collect::<Option<_>>()?;
        let is_host = usize::from(host) < HOSTS;
        is_host.then_some(Lesson {
            host,
            is_relevant: flags & 1 == 1,
            label: (flags & 2 != 0).then_some(label),
            features,
        })
    }
}
