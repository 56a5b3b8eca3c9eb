//! Politeness slots of shared addresses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use seine_frontier::*;

use crate::support::*;

const DELAY: AddressLimit = AddressLimit { delay: Duration::from_millis(1000), at_once: 1 };
const NONE: AddressLimit = AddressLimit { delay: Duration::ZERO, at_once: 1 };
const IP: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

/// Leases of `count` hosts.
fn leases(frontier: &dyn Model, count: usize) -> Vec<Lease> {
    let work: Vec<_> = (0..count).map(|n| page(&format!("http://h{n}.example/"))).collect();
    frontier.propose(&work, 0).unwrap();
    frontier.lease(0, LeaseLimits::new(count, 1)).unwrap()
}

/// Takes a slot, for a request that is answered in the same millisecond.
fn take(frontier: &dyn Fetching, lease: &Lease, ip: IpAddr, limit: AddressLimit, now: u64) -> PolitenessSlot {
    let slot = frontier.take_politeness_slot(lease, ip, limit, now);
    if slot == PolitenessSlot::Now {
        frontier.end_politeness_slot(ip, limit, now, now);
    }
    slot
}

#[test]
fn keeps_visits_of_an_address_apart() {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 2);
    assert_eq!(take(&*frontier, &leases[0], IP, DELAY, 5000), PolitenessSlot::Now);
    assert_eq!(take(&*frontier, &leases[0], IP, DELAY, 5999), PolitenessSlot::At(6000), "its own host too");
    assert_eq!(take(&*frontier, &leases[0], IP, DELAY, 6000), PolitenessSlot::Now);
    assert_eq!(take(&*frontier, &leases[1], IP, DELAY, 7000), PolitenessSlot::Now);
}

#[test]
fn keeps_turns_in_order() {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 50);
    let claims =
        |now| -> Vec<PolitenessSlot> { leases.iter().map(|lease| take(&*frontier, lease, IP, DELAY, now)).collect() };
    let promised = claims(0);
    assert_eq!(promised[0], PolitenessSlot::Now);
    for (number, turn) in promised.iter().enumerate().skip(1) {
        assert_eq!(*turn, PolitenessSlot::At(number as u64 * 1000));
    }
    for (number, lease) in leases.iter().enumerate().skip(1) {
        let at = number as u64 * 1000;
        assert_eq!(
            take(&*frontier, lease, IP, DELAY, at - 1),
            PolitenessSlot::At(at),
            "asked too early, it keeps its turn"
        );
        assert_eq!(take(&*frontier, lease, IP, DELAY, at), PolitenessSlot::Now);
    }
}

#[test]
fn leaves_other_addresses_alone() {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 2);
    assert_eq!(take(&*frontier, &leases[0], IP, DELAY, 0), PolitenessSlot::Now);
    assert_eq!(take(&*frontier, &leases[1], "2001:db8::1".parse().unwrap(), DELAY, 0), PolitenessSlot::Now);
    assert_eq!(take(&*frontier, &leases[1], "192.0.2.2".parse().unwrap(), NONE, 0), PolitenessSlot::Now);
    assert_eq!(take(&*frontier, &leases[0], "192.0.2.2".parse().unwrap(), DELAY, 0), PolitenessSlot::Now);
}

/// A host that starts late moves later slots back; one that misses its slot goes to the end; nobody waits for one that
/// never comes.
#[test]
fn moves_turns_on() {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 5);
    let claim = |host: usize, now| take(&*frontier, &leases[host], IP, DELAY, now);
    assert_eq!((0..5).map(|host| claim(host, 0)).collect::<Vec<_>>()[4], PolitenessSlot::At(4000));
    assert_eq!(claim(1, 1007), PolitenessSlot::Now);
    assert_eq!(claim(2, 2000), PolitenessSlot::At(2007));
    assert_eq!(claim(3, 3007), PolitenessSlot::Now, "host 2 did not come");
    assert_eq!(claim(2, 3010), PolitenessSlot::At(5007), "at the end of the line");
    assert_eq!(claim(4, 4007), PolitenessSlot::Now);
    assert_eq!(claim(0, 4500), PolitenessSlot::At(6007));
    assert_eq!(claim(2, 5007), PolitenessSlot::Now);
    assert_eq!(claim(0, 6007), PolitenessSlot::Now);
}

/// The delay counts from the end of a request. Hosts that come while it takes long keep their order.
#[test]
fn a_hold_ends_when_its_holder_shortens_it() {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 2);
    frontier.hold_address(IP, Duration::from_secs(30), 0);
    let waits = |now| take(&*frontier, &leases[1], IP, DELAY, now) != PolitenessSlot::Now;
    assert!(waits(2000));
    frontier.hold_address(IP, Duration::from_secs(1), 3000);
    assert!(waits(3999));
    let next = frontier.take_politeness_slot(&leases[0], IP, DELAY, 4000);
    assert!(matches!(next, PolitenessSlot::Now | PolitenessSlot::At(..6000)), "{next:?}");
}

#[test]
fn asks_an_address_for_one_page_at_a_time() {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 4);
    let claim = |host: usize, now| frontier.take_politeness_slot(&leases[host], IP, DELAY, now);
    assert_eq!(claim(0, 0), PolitenessSlot::Now);
    assert_eq!((1..4).map(|host| claim(host, 10)).collect::<Vec<_>>(), [1000, 2000, 3000].map(PolitenessSlot::At));
    assert_eq!(claim(1, 1000), PolitenessSlot::At(2000), "the request takes longer than its delay");
    assert_eq!(claim(2, 2000), PolitenessSlot::At(3000), "after host 1");
    assert_eq!(claim(1, 2000), PolitenessSlot::At(3000));
    frontier.end_politeness_slot(IP, DELAY, 0, 2500);
    assert_eq!(claim(1, 3000), PolitenessSlot::At(3500), "one delay after the end");
    assert_eq!(claim(1, 3500), PolitenessSlot::Now);
    frontier.end_politeness_slot(IP, DELAY, 3500, 3600);
    assert!(matches!(claim(2, 4600), PolitenessSlot::At(at) if at < 5000), "it waits for its slot");
    assert_eq!(claim(2, 5000), PolitenessSlot::Now);
}

#[test]
fn without_a_delay_an_address_has_no_limit() {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 2);
    for lease in &leases {
        assert_eq!(frontier.take_politeness_slot(lease, IP, NONE, 0), PolitenessSlot::Now);
    }
    assert_eq!(frontier.take_politeness_slot(&leases[0], IP, DELAY, 0), PolitenessSlot::Now, "these do not count");
}

#[test]
fn several_requests_at_once_where_that_is_wanted() {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 1);
    let two = AddressLimit { at_once: 2, ..DELAY };
    let claim = |now| frontier.take_politeness_slot(&leases[0], IP, two, now);
    assert_eq!(claim(0), PolitenessSlot::Now);
    assert_eq!(claim(999), PolitenessSlot::At(1000));
    assert_eq!(claim(1000), PolitenessSlot::Now, "beside the first");
    assert!(matches!(claim(2000), PolitenessSlot::At(_)), "never three");
    frontier.end_politeness_slot(IP, two, 0, 2500);
    assert_eq!(claim(3000), PolitenessSlot::Now);
}

/// One frontier for all cases, each with an address of its own.
static SHARED: LazyLock<(Disk, Vec<Lease>)> = LazyLock::new(|| {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 30);
    (frontier, leases)
});
static ADDRESSES: AtomicU32 = AtomicU32::new(0);

proptest! {
    /// Hosts of one address come back at the given times or later. No two visits are closer than the delay of the
    /// first, from its end. No host asks very often.
    #[test]
    fn no_two_visits_are_too_close(
        delays in prop::collection::vec(1_u64..3000, 2..30),
        lateness in prop::collection::vec(0_u64..1500, 100),
        took in prop::collection::vec(0_u64..4000, 1..30),
    ) {
        let (frontier, leases) = &*SHARED;
        let leases = &leases[..delays.len()];
        let ip = IpAddr::from(ADDRESSES.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        // (time, host): how often it asked.
        let mut coming: BTreeMap<(u64, usize), u32> = (0..leases.len()).map(|host| ((0, host), 0)).collect();
        let (mut free_at, mut asked) = (0, 0);
        let mut running: Option<(u64, u64, AddressLimit)> = None; // began, ends
        while let Some(((now, host), tries)) = coming.pop_first() {
            if let Some((began, ends, limit)) = running.take_if(|(_, ends, _)| *ends <= now) {
                frontier.end_politeness_slot(ip, limit, began, ends);
            }
            asked += 1;
            let limit = AddressLimit::one_with(Duration::from_millis(delays[host]));
            match frontier.take_politeness_slot(&leases[host], ip, limit, now) {
                PolitenessSlot::Now => {
                    prop_assert!(now >= free_at, "{now} is before {free_at}");
                    let ends = now + took[asked % took.len()];
                    running = Some((now, ends, limit));
                    free_at = ends + delays[host];
                }
                PolitenessSlot::Recalled => prop_assert!(false, "nobody recalls a host"),
                PolitenessSlot::At(at) => {
                    prop_assert!(at > now);
                    let late = lateness[(asked + host) % lateness.len()];
                    coming.insert((at + late, host), tries + 1);
                }
            }
            prop_assert!(asked < 200 * leases.len(), "somebody never gets a turn");
        }
    }
}
