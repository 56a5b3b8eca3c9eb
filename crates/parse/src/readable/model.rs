//! The decision trees that estimate how likely a block belongs to the main text. `scripts/readable` trains them and
//! documents how. The table is text: a line of marks, one of words, the calibration, and one line per tree.

use std::sync::OnceLock;

use super::blocks::Block;
use super::features::mark;
use super::vocabulary::Vocabulary;

const TABLE: &str = include_str!("model.txt");
/// The first line of a supported table.
const VERSION: &str = "seine readable 2";

#[derive(Debug, Default)]
pub(super) struct Model {
    pub vocabulary: Vocabulary,
    /// The nodes of all trees, each tree in prefix order from its root; the branch up to the threshold comes first.
    nodes: Vec<Node>,
    roots: Vec<u32>,
    /// Expected F1 → measured F1, in ascending order.
    pub calibration: Vec<(f32, f32)>,
}

#[derive(Debug, Clone, Copy)]
enum Node {
    Split { feature: u16, threshold: f32, beyond: u16 },
    Leaf(f32),
}

/// The built-in table.
pub(super) fn model() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| read(TABLE).expect("a test reads the table"))
}

/// None if the table has another version or is truncated.
pub(super) fn read(table: &str) -> Option<Model> {
    let mut lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.next().filter(|version| *version == VERSION)?;
    let mut words = || Some(lines.next()?.split(' ').skip(1));
    let vocabulary = Vocabulary::new(words()?, words()?);
    let pair = |pair: &str| pair.split_once(':').and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    let calibration = words()?.map(pair).collect::<Option<_>>()?;
    let mut model = Model { vocabulary, calibration, ..Model::default() };
    lines.try_for_each(|tree| model.add_tree(tree))?;
    Some(model)
}

impl Model {
    /// Reads a tree in prefix order: `17<3.5` is followed by the branch for values up to 3.5, then by the other branch;
    /// `-0.12` is a leaf.
    fn add_tree(&mut self, written: &str) -> Option<()> {
        let nodes = &mut self.nodes;
        self.roots.push(nodes.len() as u32);
        // Splits whose first branch is not complete yet.
        let mut open = Vec::new();
        for node in written.split(' ') {
            if let Some((feature, threshold)) = node.split_once('<') {
                open.push(nodes.len());
                nodes.push(Node::Split {
                    feature: feature.parse().ok()?,
                    threshold: threshold.parse().ok()?,
                    beyond: 0,
                });
                continue;
            }
            nodes.push(Node::Leaf(node.parse().ok()?));
            if let Some(split) = open.pop() {
                let length = u16::try_from(nodes.len() - split).ok()?;
                if let Node::Split { beyond, .. } = &mut nodes[split] {
                    *beyond = length;
                }
            }
        }
        open.is_empty().then_some(())
    }

    fn leaf(&self, root: u32, numbers: &[f32], block: &Block) -> f32 {
        let mut at = root as usize;
        loop {
            match self.nodes[at] {
                Node::Leaf(value) => return value,
                Node::Split { feature, threshold, beyond } => {
                    let feature = usize::from(feature);
                    let number = numbers.get(feature).copied();
                    let value = number.unwrap_or_else(|| f32::from(u8::from(mark(block, feature - numbers.len()))));
                    at += if value <= threshold { 1 } else { usize::from(beyond) };
                }
            }
        }
    }

    /// The probability that a block belongs to the main text, 0 to 1.
    pub(super) fn judge(&self, numbers: &[f32], block: &Block) -> f32 {
        let sum: f32 = self.roots.iter().map(|root| self.leaf(*root, numbers, block)).sum();
        1.0 / (1.0 + (-sum).exp())
    }

    /// Corrects an expected value by interpolating the calibration.
    pub(super) fn calibrate(&self, expected: f32) -> f32 {
        let behind = self.calibration.partition_point(|(from, _)| *from < expected);
        match (self.calibration.get(behind.wrapping_sub(1)), self.calibration.get(behind)) {
            (Some((from, low)), Some((to, high))) => low + (high - low) * (expected - from) / (to - from).max(1e-6),
            (Some((_, end)), None) | (None, Some((_, end))) => *end,
            (None, None) => expected,
        }
    }
}
