//! The town's way of speaking: lists of words and a small grammar that fills sentences with them.

use fastrand::Rng;

/// Writes the same text for the same subject at every start.
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

    /// Paragraphs of so many sentences each. No sentence comes twice before all have come once.
    pub(super) fn paragraphs(&mut self, templates: &[&str], paragraphs: usize, sentences: usize) -> String {
        let mut waiting: Vec<usize> = Vec::new();
        let mut text = String::new();
        for _ in 0..paragraphs {
            if waiting.len() < sentences {
                waiting = (0..templates.len()).collect();
                self.0.shuffle(&mut waiting);
            }
            let mut chosen = waiting.split_off(waiting.len().saturating_sub(sentences));
            // Lists begin with what opens a text and end with what closes it.
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

const FEW: [&str; 16] = [
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "nineteen",
];
pub(super) const FIRST_NAMES: [&str; 24] = [
    "Ada", "Bram", "Clara", "Dorian", "Edda", "Fergus", "Greta", "Hamish", "Ines", "Jonas", "Kezia", "Ludo", "Maud",
    "Nils", "Oona", "Piers", "Rosalind", "Silas", "Tamsin", "Ulf", "Verity", "Wilf", "Yseult", "Zeno",
];
pub(super) const SURNAMES: [&str; 24] = [
    "Anstey", "Brook", "Carrow", "Dunnage", "Eddy", "Farrow", "Gannet", "Haddock", "Inkpen", "Jetty", "Kelby", "Loam",
    "Marsh", "Netherby", "Orme", "Pell", "Quayle", "Reed", "Shingle", "Tarn", "Udal", "Vane", "Weir", "Yarrow",
];
pub(super) const SHIPS: [&str; 48] = [
    "Patient Margaret",
    "Second Thought",
    "Grey Heron",
    "Silver Sprat",
    "Northern Oven",
    "Widow's Kettle",
    "Bright Anna",
    "Slow Comfort",
    "Tuesday's Child",
    "Lantern Jane",
    "Hopeful Turnip",
    "Quiet Harry",
    "Old Arrangement",
    "Sea Marrow",
    "Distant Cousin",
    "Merry Ballast",
    "Copper Wren",
    "Late Apology",
    "Salt and Sons",
    "Morning Bread",
    "Good Intent",
    "Little Thunder",
    "Fair Exchange",
    "Kind Elizabeth",
    "Wandering Bell",
    "Steady Nell",
    "Black Plum",
    "Ninth Wave",
    "Honest Weight",
    "Gentle Tom",
    "Half a Moon",
    "Rope's End",
    "Winter Apple",
    "Blue Ledger",
    "Plain Truth",
    "Drowsy Piper",
    "True Bearing",
    "Cold Supper",
    "White Gannet",
    "Far Enough",
    "Persistent Otter",
    "Jolly Tax",
    "Amber Light",
    "Lost Umbrella",
    "Humble Pie",
    "Green Flash",
    "Broad Hint",
    "Safe Return",
];
pub(super) const PORTS: [&str; 16] = [
    "Bergen",
    "Lisbon",
    "Riga",
    "Leith",
    "Cork",
    "Antwerp",
    "Gdańsk",
    "Reykjavík",
    "Bordeaux",
    "Hull",
    "Cádiz",
    "Trondheim",
    "Ostend",
    "Tallinn",
    "Genoa",
    "Brest",
];
pub(super) const CARGO: [&str; 24] = [
    "pine planks",
    "Seville oranges",
    "roof slates",
    "salted cod",
    "clay pipes",
    "barrels of tar",
    "sheep's wool",
    "green glass",
    "winter potatoes",
    "church candles",
    "copper nails",
    "rolled oats",
    "cork",
    "honey in jars",
    "paper",
    "dried figs",
    "rye flour",
    "bicycle parts",
    "bricks",
    "sailcloth",
    "hazelnuts",
    "umbrellas",
    "bell metal",
    "ice",
];
pub(super) const TRADES: [&str; 20] = [
    "netmaker",
    "pilot",
    "sailmaker",
    "cooper",
    "ferryman",
    "chandler",
    "rope-walker",
    "clerk of the weights",
    "lamplighter",
    "boatbuilder",
    "caulker",
    "diver",
    "fishwife",
    "cartographer",
    "harbour cat's keeper",
    "tide waiter",
    "baker",
    "knot teacher",
    "oyster dredger",
    "foghorn tuner",
];
pub(super) const QUAYS: [&str; 6] = ["Corn Quay", "Net Quay", "Tar Quay", "Long Quay", "Ferry Steps", "Customs Quay"];
pub(super) const BIRDS: [&str; 8] =
    ["a herring gull", "a cormorant", "an oystercatcher", "a turnstone", "a tern", "a heron", "a curlew", "an eider"];
pub(super) const FISH: [&str; 10] =
    ["herring", "mackerel", "cod", "plaice", "eel", "sprat", "turbot", "whiting", "sea trout", "grey mullet"];
pub(super) const SKIES: [&str; 8] = [
    "a pale sky",
    "high thin cloud",
    "fog until noon",
    "steady rain",
    "bright spells",
    "a low grey lid",
    "sleet",
    "a sky like washed slate",
];
pub(super) const WINDS: [&str; 8] =
    ["westerly", "north-easterly", "southerly", "south-westerly", "northerly", "easterly", "light", "contrary"];
pub(super) const HOURS: [&str; 10] = [
    "first light",
    "half past five",
    "slack water",
    "the second bell",
    "noon",
    "tea time",
    "high water",
    "dusk",
    "the last ferry",
    "lamp-lighting",
];
pub(super) const DRINKS: [&str; 6] = ["black tea", "cocoa", "small beer", "cider", "hot lemon", "chicory coffee"];
pub(super) const ADJECTIVES: [&str; 16] = [
    "quiet",
    "borrowed",
    "crooked",
    "salted",
    "patient",
    "drowned",
    "unlikely",
    "winter",
    "hollow",
    "wandering",
    "plain",
    "bright",
    "forgotten",
    "tidal",
    "stubborn",
    "second",
];
pub(super) const NOUNS: [&str; 16] = [
    "lantern", "anchor", "ferry", "ledger", "compass", "herring", "island", "letter", "bell", "sail", "estuary",
    "knot", "heron", "harbour", "map", "net",
];
