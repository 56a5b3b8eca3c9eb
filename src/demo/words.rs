//! Generates text: lists of words (`assets/words/`) and a small grammar that fills sentences with them.

use fastrand::Rng;

/// Writes text that is the same at every start for the same subject.
pub(super) struct Pen(Rng);

impl Pen {
    /// `subject` is what the text is about: a path, a name.
    pub(super) fn new(subject: &str) -> Pen {
        Pen(Rng::with_seed(xxhash_rust::xxh3::xxh3_64(subject.as_bytes())))
    }

    pub(super) fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.0.usize(..list.len())]
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn number(&mut self, low: u32, high: u32) -> u32 {
        self.0.u32(low..=high)
    }

    /// A sentence with its `{slots}` filled, beginning with a capital; an unknown slot stays as it is.
    pub(super) fn fill(&mut self, template: &str) -> String {
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, behind)) = rest.split_once('{') {
            let (slot, after) = behind.split_once('}').unwrap_or((behind, ""));
            text.push_str(before);
            let word = self.word(slot);
            if text.ends_with(" a ") && word.starts_with(['a', 'e', 'i', 'o', 'u']) {
                text.insert(text.len() - 1, 'n');
            }
            text.push_str(&word);
            rest = after;
        }
        text.push_str(rest);
        let first = text.chars().next().map_or(0, char::len_utf8);
        text[..first].to_uppercase() + &text[first..]
    }

    fn word(&mut self, slot: &str) -> String {
        let list: &[&str] = match slot {
            "ship" => &SHIPS,
            "port" => &PORTS,
            "cargo" => &CARGO,
            "person" => return self.person(),
            "trade" => &TRADES,
            "quay" => &QUAYS,
            "bird" => &BIRDS,
            "fish" => &FISH,
            "sky" => &SKIES,
            "wind" => &WINDS,
            "hour" => &HOURS,
            "drink" => &DRINKS,
            "adjective" => &ADJECTIVES,
            "noun" => &NOUNS,
            "year" => return self.number(1790, 1985).to_string(),
            "few" => &FEW,
            "many" => return self.number(40, 900).to_string(),
            unknown => return format!("{{{unknown}}}"),
        };
        self.pick(list).to_owned()
    }

    pub(super) fn person(&mut self) -> String {
        format!("{} {}", self.pick(&FIRST_NAMES), self.pick(&SURNAMES))
    }

    /// Paragraphs with the given number of sentences. A sentence is repeated only after all have been used.
    pub(super) fn paragraphs(&mut self, templates: &[&str], paragraphs: usize, sentences: usize) -> String {
        let mut waiting: Vec<usize> = Vec::new();
        let mut text = String::new();
        for _ in 0..paragraphs {
            if waiting.len() < sentences {
                waiting = (0..templates.len()).collect();
                self.0.shuffle(&mut waiting);
            }
            let mut chosen = waiting.split_off(waiting.len().saturating_sub(sentences));
            // Templates are ordered: those that open a text come first, those that close it last.
            chosen.sort_unstable();
            let filled: Vec<String> = chosen.into_iter().map(|index| self.fill(templates[index])).collect();
            text.push_str(&format!("<p>{}</p>\n", filled.join(" ")));
        }
        text
    }

    /// One paragraph.
    pub(super) fn paragraph(&mut self, templates: &[&str], sentences: usize) -> String {
        self.paragraphs(templates, 1, sentences)
    }
}

/// The lines of a file in `assets/`. The compiler counts them: a file without exactly `N` lines does not compile.
pub(super) const fn lines<const N: usize>(text: &'static str) -> [&'static str; N] {
    let mut lines = [""; N];
    let mut rest = text;
    let mut index = 0;
    while index < N {
        (lines[index], rest) = first_line(rest);
        index += 1;
    }
    assert!(rest.is_empty(), "more lines than the list has places");
    lines
}

const fn first_line(text: &str) -> (&str, &str) {
    let mut end = 0;
    while text.as_bytes()[end] != b'\n' {
        end += 1;
    }
    let (line, behind) = text.split_at(end);
    (line, behind.split_at(1).1)
}

const FEW: [&str; 16] = lines(include_str!("assets/words/few.txt"));
pub(super) const FIRST_NAMES: [&str; 24] = lines(include_str!("assets/words/first-names.txt"));
pub(super) const SURNAMES: [&str; 24] = lines(include_str!("assets/words/surnames.txt"));
pub(super) const SHIPS: [&str; 48] = lines(include_str!("assets/words/ships.txt"));
pub(super) const PORTS: [&str; 16] = lines(include_str!("assets/words/ports.txt"));
pub(super) const CARGO: [&str; 24] = lines(include_str!("assets/words/cargo.txt"));
pub(super) const TRADES: [&str; 20] = lines(include_str!("assets/words/trades.txt"));
pub(super) const QUAYS: [&str; 6] = lines(include_str!("assets/words/quays.txt"));
pub(super) const BIRDS: [&str; 8] = lines(include_str!("assets/words/birds.txt"));
pub(super) const FISH: [&str; 10] = lines(include_str!("assets/words/fish.txt"));
pub(super) const SKIES: [&str; 8] = lines(include_str!("assets/words/skies.txt"));
pub(super) const WINDS: [&str; 8] = lines(include_str!("assets/words/winds.txt"));
pub(super) const HOURS: [&str; 10] = lines(include_str!("assets/words/hours.txt"));
pub(super) const DRINKS: [&str; 6] = lines(include_str!("assets/words/drinks.txt"));
pub(super) const ADJECTIVES: [&str; 16] = lines(include_str!("assets/words/adjectives.txt"));
pub(super) const NOUNS: [&str; 16] = lines(include_str!("assets/words/nouns.txt"));
