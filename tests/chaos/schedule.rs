//! The failures of a campaign and their times: a pure function of the seed. A step is one life of the crawl, ended by
//! SIGKILL.

use std::collections::VecDeque;
use std::time::Duration;

use fastrand::Rng;

use crate::stores;
use crate::support::dns::Say;
use crate::tail::Damage;
use crate::weather::HostMood;

/// The size of a campaign.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub hosts: usize,
    pub pages: usize,
    pub kills: usize,
    /// Number of steps from the begin of one outage to the next. A part has one outage at a time.
    pub outage_every: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub number: usize,
    pub begins: Option<Begins>,
    /// The outage begins before this life does, rather than in the middle of it.
    pub begins_early: bool,
    /// The life ends after this number of answers …
    pub answers: usize,
    /// … or after this time.
    pub at_most: Duration,
    /// Damage to the page log after the life.
    pub damage: Option<Damage>,
    /// The clock's offset in seconds from the middle of this life on; 0 is right.
    pub clock: i64,
    /// The seed of all other random choices of this step.
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begins {
    pub outage: Outage,
    /// How many steps it lasts.
    pub steps: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outage {
    Resolver(Say),
    /// An outage of this percentage of the hosts.
    Hosts(HostMood, u64),
    Kafka(stores::Trouble),
    Elastic(stores::Trouble),
    FullDisk,
}

/// The parts that can fail. Each has one outage at a time, except for the last two, which fail now and then all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Resolver,
    Hosts,
    Kafka,
    Elastic,
    Disk,
    /// Single pages of a host that is well.
    Pages,
    /// A host's first answers for its robots.txt.
    Robots,
}

/// The parts that fail by default.
const USUAL: &str = "resolver,hosts,kafka,elastic,disk,pages,robots";

impl Part {
    /// Whether it may be in trouble in this run. `SEINE_CHAOS_PARTS` names those that may, to look for a failure's reason.
    pub fn is_chosen(self) -> bool {
        let chosen = std::env::var("SEINE_CHAOS_PARTS").unwrap_or_else(|_| USUAL.to_owned());
        chosen.split(',').any(|part| part == format!("{self:?}").to_lowercase())
    }
}

impl Outage {
    pub fn part(self) -> Part {
        match self {
            Outage::Resolver(_) => Part::Resolver,
            Outage::Hosts(..) => Part::Hosts,
            Outage::Kafka(_) => Part::Kafka,
            Outage::Elastic(_) => Part::Elastic,
            Outage::FullDisk => Part::Disk,
        }
    }
}

/// Every kind of outage once.
const OUTAGES: [Outage; 27] = [
    Outage::Resolver(Say::Silence),
    Outage::Resolver(Say::Failure),
    Outage::Hosts(HostMood::Refused, 30),
    Outage::Hosts(HostMood::Reset, 30),
    Outage::Hosts(HostMood::Silent, 20),
    Outage::Hosts(HostMood::Error500, 40),
    Outage::Hosts(HostMood::Busy503, 40),
    Outage::Hosts(HostMood::TooMany429, 40),
    // This machine's network, as it looks from here.
    Outage::Hosts(HostMood::Refused, 100),
    Outage::Hosts(HostMood::Silent, 100),
    Outage::Kafka(stores::Trouble::Refused),
    Outage::Kafka(stores::Trouble::Stalled),
    Outage::Kafka(stores::Trouble::Reset),
    Outage::Kafka(stores::Trouble::Cut),
    Outage::Kafka(stores::Trouble::Unheard),
    Outage::Kafka(stores::Trouble::Stopped),
    Outage::Kafka(stores::Trouble::Killed),
    Outage::Elastic(stores::Trouble::Refused),
    Outage::Elastic(stores::Trouble::Stalled),
    Outage::Elastic(stores::Trouble::Reset),
    Outage::Elastic(stores::Trouble::Cut),
    Outage::Elastic(stores::Trouble::Unheard),
    Outage::Elastic(stores::Trouble::Stopped),
    Outage::Elastic(stores::Trouble::Killed),
    Outage::Elastic(stores::Trouble::ReadOnly),
    Outage::FullDisk,
    Outage::FullDisk,
];

/// The longest outage, in steps.
const LONGEST: usize = 4;

/// `size.kills` steps. `is_had`: outages that this machine can have.
pub fn schedule(seed: u64, size: Size, is_had: impl Fn(Outage) -> bool) -> Vec<Step> {
    let mut rng = Rng::with_seed(seed);
    let mut waiting: VecDeque<Outage> = VecDeque::new();
    let mut busy: Vec<(Part, usize)> = Vec::new();
    let mut steps = Vec::new();
    for number in 0..size.kills {
        busy.retain(|(_, until)| *until > number);
        if waiting.len() < OUTAGES.len() {
            let mut bag: Vec<Outage> = OUTAGES.into_iter().filter(|outage| is_had(*outage)).collect();
            rng.shuffle(&mut bag);
            waiting.extend(bag);
        }
        // In the last steps, outages in progress end and no new ones begin.
        let may_begin = number > 0 && number.is_multiple_of(size.outage_every) && number + LONGEST < size.kills;
        let is_free = |outage: &Outage| busy.iter().all(|(part, _)| *part != outage.part());
        let next = waiting.iter().position(is_free).filter(|_| may_begin);
        let begins = next.and_then(|at| waiting.remove(at)).map(|outage| {
            let steps = rng.usize(1..=LONGEST);
            busy.push((outage.part(), number + steps));
            Begins { outage, steps }
        });
        let mean = size.pages * 4 / 5 / size.kills;
        steps.push(Step {
            number,
            begins,
            begins_early: rng.bool(),
            answers: rng.usize(1..=mean.max(1) * 2),
            at_most: Duration::from_millis(rng.u64(300..4000)),
            damage: draw_damage(&mut rng),
            // Set back by a minute or an hour and a half, and right again.
            clock: if rng.u8(..) < 64 { [-60, -5400][rng.usize(..2)] } else { 0 },
            seed: rng.u64(..),
        });
    }
    steps
}

fn draw_damage(rng: &mut Rng) -> Option<Damage> {
    const KINDS: [Damage; 4] = [Damage::Noise, Damage::Torn, Damage::Flipped, Damage::FlippedPassed];
    (rng.u8(..) < 100).then(|| KINDS[rng.usize(..4)])
}

#[test]
fn the_same_seed_is_the_same_schedule_and_every_outage_is_in_it() {
    let size = Size { hosts: 40, pages: 1500, kills: 60, outage_every: 2 };
    let steps = schedule(7, size, |_| true);
    assert_eq!(steps, schedule(7, size, |_| true));
    assert_ne!(steps, schedule(8, size, |_| true));
    let begun: Vec<Outage> = steps.iter().filter_map(|step| step.begins).map(|begins| begins.outage).collect();
    assert!(OUTAGES.iter().all(|outage| begun.contains(outage)), "{begun:?}");
    let one_at_a_time = |part: Part| {
        let times = steps.iter().filter_map(|step| Some((step.number, step.begins?)));
        let times: Vec<_> = times.filter(|(_, begins)| begins.outage.part() == part).collect();
        times.windows(2).all(|pair| pair[0].0 + pair[0].1.steps <= pair[1].0)
    };
    assert!([Part::Resolver, Part::Hosts, Part::Kafka, Part::Elastic, Part::Disk].into_iter().all(one_at_a_time));
}
