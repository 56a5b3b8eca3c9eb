//! Traps: pages without end that bring nothing new, recognised by what they bring. Arithmetic alone.
//!
//! The URLs of a host fall into patterns ([`pattern`]). Of each it is counted what the fetches brought: words that the host had not
//! said lately ([`seen`]), or links to somewhere new that is no trap itself. One that brings nothing for long cools down, sooner when
//! its texts were said before word for word ([`SAME`] of them) than when they only have no new words ([`STALE`]). A trap without end must feed
//! itself, so those of its URLs wait that were found on such pages; what a list, a map or a front page leads to is finite, and comes
//! last of its host at worst. One that waits is asked for with every so many pages of its host: what brings something again is warm
//! again. When its host has nothing else, all that ends is asked for, and of what does not so much as is allowed ([`allowance`]).
//!
//! Names of a query can be chosen in very many ways, each a pattern of its own. So what is fetched with a query counts for its path
//! with any query, too, and that one is asked of patterns that brought nothing for [`DOUBTED`] fetches, or were never fetched.
//!
//! Beside that, parameters that carry sessions are learned ([`parameters`]), and hosts that say what another one says (`mirror.rs`).
//! Of the peers, Heritrix has rules by the form of a path, IRLbot (Lee et al., WWW 2008) budgets by domain, and Mercator's authors
//! (Heydon and Najork, 1999) a person who looks at the log.

mod allowance;
mod mirror;
pub mod parameters;
pub mod pattern;
mod place;
mod seen;
mod text;
mod turn;

use minicbor::{Decode, Encode};

use allowance::Allowance;
use mirror::Mirror;
pub use mirror::mirror_of_both;
use parameters::Parameters;
use place::Place;
pub use place::{SAME, STALE};
use seen::{News, Seen};
pub use text::{Said, said};
pub use turn::{Swept, Turn};

/// Patterns of a host that have places of their own; all others share one.
const PLACES: usize = 32;
/// Fetches of any kind since one said new words, behind which links to a pattern count for nothing.
const SILENT: u16 = 16;
/// Fetches without new words behind which a pattern is taken for what its family is.
const DOUBTED: u16 = 4;
/// See [`HostTraps::wants`].
const LOOKED_AT: u32 = 4;
/// What is released at once of a pattern that is warm again.
const DRAINED: usize = 512;
/// Pages at equal paths that must be equal for a host to be a mirror, and how many of them one other may outweigh.
const MIRRORED_PAGES: u16 = 32;
const MIRRORED_AGAINST: u16 = 8;

/// The marks that URLs wait under which do not wait for their pattern: those without a place of their own, those of a mirror that
/// the other host has, too, those with a session, and those of a mirror.
const OTHERS: u32 = 0;
pub(crate) const MIRRORED: u32 = u32::MAX - 2;
const SESSIONS: u32 = u32::MAX - 1;
pub(crate) const MIRROR: u32 = u32::MAX;

/// What is kept of one host, about 10 KB at most, for those that have enough URLs to be worth it.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct HostTraps {
    #[n(0)]
    places: Vec<Place>,
    #[n(1)]
    seen: Seen,
    #[n(2)]
    parameters: Parameters,
    #[n(3)]
    mirror: Option<Mirror>,
    /// What was queued before something cooled down is looked through from this place in the queue on.
    #[n(4)]
    sweep_from: Option<u64>,
    #[cbor(n(5), default)]
    allowance: Allowance,
}

/// A fetch, as far as it matters here. Of URLs that are asked for the first time.
pub struct Fetched<'f> {
    pub path_and_query: &'f str,
    /// None: it was no page.
    pub said: Option<&'f Said>,
    pub digest: &'f [u8; 32],
    /// A text, whose words say what it brings; otherwise its bytes do.
    pub is_text: bool,
}

/// What a fetch was worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worth {
    marks: Marks,
    /// Its text was nothing new.
    pub is_barren: bool,
    /// And its pattern is cool: links that it has to such are its own.
    pub feeds_itself: bool,
}

/// The marks of a pattern and of its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks {
    own: u32,
    family: Option<u32>,
}

impl HostTraps {
    /// Of [`HostTraps::to_bytes`]; none when they say nothing we know.
    pub fn from_bytes(bytes: &[u8]) -> Option<HostTraps> {
        minicbor::decode(bytes).ok()
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        minicbor::to_vec(self).expect("a Vec takes every byte")
    }

    /// Whether a page is to be looked into: of a pattern that brings something with every page, one in [`LOOKED_AT`] will do, unless it
    /// has parameters, which may be learned.
    pub fn wants(&self, path_and_query: &str) -> bool {
        let place = self.place(pattern::mark(&pattern::of(path_and_query)));
        let is_warm = place.is_some_and(|place| place.fetches > SILENT.into() && place.silent == 0 && place.stale == 0);
        !is_warm || path_and_query.contains(['?', ';']) || self.allowance.fetches.is_multiple_of(LOOKED_AT)
    }

    /// A page that was not looked into.
    pub fn pass(&mut self, path_and_query: &str) -> Worth {
        self.allowance.fetches = self.allowance.fetches.saturating_add(1);
        Worth { marks: self.marks(&pattern::of(path_and_query)), is_barren: false, feeds_itself: false }
    }

    /// Counts what a fetch brought. What has come of it for people to know, if anything has.
    pub fn see(&mut self, fetched: &Fetched, tell: &mut Vec<String>) -> Worth {
        let news = match fetched.said {
            None => News::None,
            Some(said) => {
                let news = self.seen.see(if fetched.is_text { said } else { &NOTHING }, fetched.digest);
                let is_page = fetched.is_text && said.mark != 0;
                let learned = is_page.then(|| self.parameters.see(fetched.path_and_query, said.mark)).flatten();
                if let Some(name) = learned {
                    tell.push(format!("links lose {name}: its values differ, and the pages say the same"));
                    self.sweep_from = Some(0);
                }
                news
            }
        };
        self.allowance.fetches = self.allowance.fetches.saturating_add(1);
        let pattern = pattern::of(fetched.path_and_query);
        for pattern in pattern::family(&pattern).iter().chain([&pattern]) {
            self.count(pattern, &news, tell);
        }
        let marks = self.marks(&pattern);
        Worth { marks, is_barren: !matches!(news, News::Words(_)), feeds_itself: self.cool(marks).is_some() }
    }

    fn count(&mut self, pattern: &str, news: &News, tell: &mut Vec<String>) {
        let at = self.place_of(pattern);
        let place = &mut self.places[at];
        let was_cool = place.is_cool;
        place.count(news);
        if place.is_cool && !was_cool {
            tell.push(format!("{} cools down: {}", place.name(), place.brought()));
            self.sweep_from = Some(0);
            self.allowance.spend(u32::from(place.stale));
        }
    }

    fn place(&self, mark: u32) -> Option<&Place> {
        self.places.iter().find(|place| place.mark == mark)
    }

    /// Of a pattern, and of its family.
    fn marks(&self, pattern: &str) -> Marks {
        let family = pattern::family(pattern).map(|family| self.resolved(pattern::mark(&family)));
        Marks { own: self.resolved(pattern::mark(pattern)), family }
    }

    /// The pattern that is cool, of one and its family, if it is for the one to wait.
    fn cool(&self, Marks { own, family }: Marks) -> Option<&Place> {
        let own = self.place(own);
        let is_doubted = own.is_none_or(|own| own.silent >= DOUBTED);
        let family = family.filter(|_| is_doubted).and_then(|family| self.place(family));
        [own, family].into_iter().flatten().find(|place| place.is_cool)
    }

    /// A fetch that said nothing new led to a URL of this host that was not known before.
    pub fn led_on(&mut self, worth: Worth, path_and_query: &str) {
        let marks = self.marks(&pattern::of(path_and_query));
        let is_own =
            marks.own == worth.marks.own || marks.family.is_some_and(|family| worth.marks.family == Some(family));
        // A pattern that has not been fetched has brought nothing: two that lead to each other would never cool down.
        let target = self.place(marks.own).or_else(|| self.place(marks.family?));
        if !is_own && self.cool(marks).is_none() && target.is_some_and(|target| target.silent < SILENT) {
            self.led_away(worth);
        }
    }

    /// … or of another host.
    pub fn led_away(&mut self, worth: Worth) {
        self.places_of(worth).for_each(Place::bring);
    }

    /// A fetch that fed itself led to more that is held, or did not.
    pub fn led_to_held(&mut self, worth: Worth, leads_on: bool) {
        self.places_of(worth).for_each(|place| place.lead(leads_on));
    }

    fn places_of(&mut self, worth: Worth) -> impl Iterator<Item = &mut Place> {
        let of_it = move |place: &&mut Place| place.mark == worth.marks.own || Some(place.mark) == worth.marks.family;
        self.places.iter_mut().filter(of_it)
    }

    /// What becomes of a link of this host, on a page of this worth; none: a seed, or one that was there before.
    pub fn turn(&self, path_and_query: &str, on: Option<Worth>) -> Turn {
        match on {
            _ if self.is_mirror() => Turn::Waits(MIRROR),
            None => Turn::InOrder,
            Some(on) => self.turn_on(path_and_query, on.feeds_itself && on.is_barren),
        }
    }

    fn turn_on(&self, path_and_query: &str, feeds_itself: bool) -> Turn {
        if self.places.iter().all(|place| !place.is_cool) {
            return Turn::InOrder;
        }
        match self.cool(self.marks(&pattern::of(path_and_query))) {
            None => Turn::InOrder,
            Some(place) if feeds_itself => Turn::Waits(place.mark),
            Some(_) => Turn::Last,
        }
    }

    /// Names of parameters that links of this host lose.
    pub fn sessions(&self) -> &[String] {
        self.parameters.learned()
    }

    /// The host was visited once more: how many URLs are released, and under which marks.
    pub fn visited(&mut self) -> Vec<(u32, usize)> {
        let mut released = Vec::new();
        for place in &mut self.places {
            if place.is_draining {
                released.push((place.mark, DRAINED));
            } else if place.is_cool {
                place.earned += 1;
                if place.earned >= place.every() && self.allowance.is_for_more() {
                    place.earned = 0;
                    released.push((place.mark, 1));
                }
            }
        }
        if self.mirror.as_ref().is_some_and(|mirror| !mirror.is_believed && mirror.agreed >= MIRRORED_PAGES) {
            released.extend([(MIRROR, DRAINED), (MIRRORED, DRAINED)]);
        }
        released
    }

    /// How much is let go should the host have nothing else.
    pub fn portion(&self) -> usize {
        self.allowance.portion()
    }

    /// The marks of what comes first then: patterns that lead on. When they are at their end, it is seen how much there is of the others.
    pub fn leading(&self) -> Vec<u32> {
        self.places.iter().filter(|place| place.leads > 0).map(|place| place.mark).collect()
    }

    /// The host whose mirror it is.
    pub fn mirror_of(&self) -> Option<&str> {
        self.mirror.as_ref().filter(|mirror| mirror.is_believed).map(|mirror| &*mirror.of)
    }

    /// It had nothing else: so many were held, and so many of them were let go.
    pub fn let_go(&mut self, held: u64, released: usize, tell: &mut Vec<String>) {
        let was_left = self.allowance.left() > 0;
        self.allowance.released(held, released);
        if was_left && self.allowance.left() == 0 {
            tell.push(format!("{held} URLs are held, as whatever is asked for of them leads to as many again"));
        }
    }

    /// What was to be released under a mark was; or nothing more waits under it.
    pub fn released(&mut self, mark: u32, count: usize, is_empty: bool) {
        let Some(place) = self.places.iter_mut().find(|place| place.mark == mark) else { return };
        match is_empty {
            true => place.is_draining = false,
            false if place.is_cool => self.allowance.spend(count as u32),
            false => {}
        }
    }

    /// The place in the host's queue from which on it is to be looked through.
    pub fn sweep_from(&self) -> Option<u64> {
        self.sweep_from
    }

    /// How far it has come; none: to the end.
    pub fn swept(&mut self, to: Option<u64>) {
        self.sweep_from = to;
    }

    /// A page of this host and that of `other` at the same path were compared.
    pub fn compared(&mut self, other: &str, is_equal: bool, tell: &mut Vec<String>) {
        let mirror = match &mut self.mirror {
            Some(mirror) if mirror.of == other => mirror,
            Some(mirror) if mirror.agreed >= MIRRORED_PAGES / 4 => return,
            mirror if is_equal => {
                mirror.insert(Mirror { of: other.to_owned(), agreed: 0, against: 0, is_believed: false })
            }
            _ => return,
        };
        let side = if is_equal { &mut mirror.agreed } else { &mut mirror.against };
        *side = side.saturating_add(1);
        let is_mirror = mirror.agreed >= MIRRORED_PAGES
            && u32::from(mirror.against) * u32::from(MIRRORED_AGAINST) <= u32::from(mirror.agreed);
        if is_mirror && !mirror.is_believed {
            tell.push(format!(
                "it cools down as a mirror of {other}: {} pages at equal paths are equal",
                mirror.agreed
            ));
            self.sweep_from = Some(0);
        }
        mirror.is_believed = is_mirror;
    }

    pub fn is_mirror(&self) -> bool {
        self.mirror_of().is_some()
    }

    /// What cools down and what links lose, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mirror = self.mirror.iter().filter(|mirror| mirror.is_believed);
        let mirror = mirror.map(|Mirror { of, agreed, against, .. }| {
            format!("a mirror of {of}: {agreed} pages at equal paths were equal, {against} were not")
        });
        let cool = self.places.iter().filter(|place| place.is_cool).map(Place::said);
        let lost = self.sessions().iter().map(|name| format!("links lose {name}, which carries a session"));
        mirror.chain(cool).chain(lost).collect()
    }

    /// Why a URL waits under a mark.
    pub fn why(&self, mark: u32) -> String {
        match (mark, self.place(mark), &self.mirror) {
            (MIRROR | MIRRORED, _, Some(mirror)) => format!("its host is a mirror of {}", mirror.of),
            (SESSIONS, ..) => "it carries a session, and is asked for without".to_owned(),
            (_, Some(place), _) => format!("its pattern {}", place.said()),
            _ => "its pattern cools down: what was fetched of it brought nothing new".to_owned(),
        }
    }

    fn place_of(&mut self, pattern: &str) -> usize {
        let mark = pattern::mark(pattern);
        if let Some(at) = self.places.iter().position(|place| place.mark == mark) {
            return at;
        }
        let new = Place { pattern: pattern.to_owned(), mark, ..Place::default() };
        if self.places.len() < PLACES {
            self.places.push(new);
            return self.places.len() - 1;
        }
        // One of which little came gives up its place; the last is that of all others.
        let is_rare = |place: &Place| place.fetches < 3 && !place.is_cool && !place.is_draining && place.mark != OTHERS;
        if let Some(at) = self.places.iter().position(is_rare) {
            self.places[at] = new;
            return at;
        }
        self.places.iter().position(|place| place.mark == OTHERS).unwrap_or_else(|| {
            self.places.push(Place { mark: OTHERS, ..Place::default() });
            self.places.len() - 1
        })
    }

    /// The mark that a pattern's URLs wait under.
    fn resolved(&self, mark: u32) -> u32 {
        let has_place = self.places.len() <= PLACES || self.places.iter().any(|place| place.mark == mark);
        if has_place { mark } else { OTHERS }
    }
}

/// Whether what waits under a mark is not waited for by its host, as it is there under another URL.
pub fn is_elsewhere(mark: u32) -> bool {
    matches!(mark, MIRRORED | SESSIONS)
}

static NOTHING: Said = Said { mark: 0, words: Vec::new() };
