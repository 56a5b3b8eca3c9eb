//! Politeness slots of shared addresses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use seine_frontier::*;

use crate::support::*;

const DELAY: Duration = Duration::from_millis(1000);
const IP: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

/// Leases of `count` hosts.
fn leases(frontier: &dyn Model, count: usize) -> Vec<Lease> {
    let work: Vec<_> = (0..count).map(|n| page(&format!("http://h{n}.example/"))).collect();
    frontier.propose(&work, 0).unwrap();
    frontier.lease(0, LeaseLimits::new(count, 1)).unwrap()
}

#[test]
fn keeps_visits_of_an_address_apart() {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 2);
    assert_eq!(frontier.take_politeness_slot(&leases[0], IP, DELAY, 5000), PolitenessSlot::Now);
    assert_eq!(
        frontier.take_politeness_slot(&leases[0], IP, DELAY, 5999),
        PolitenessSlot::At(6000),
        "its own host too"
    );
    assert_eq!(frontier.take_politeness_slot(&leases[0], IP, DELAY, 6000), PolitenessSlot::Now);
    assert_eq!(frontier.take_politeness_slot(&leases[1], IP, DELAY, 7000), PolitenessSlot::Now);
}

#[test]
fn keeps_turns_in_order() {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 50);
    let claims = |now| -> Vec<PolitenessSlot> {
        leases.iter().map(|lease| frontier.take_politeness_slot(lease, IP, DELAY, now)).collect()
    };
    let promised = claims(0);
    assert_eq!(promised[0], PolitenessSlot::Now);
    for (number, turn) in promised.iter().enumerate().skip(1) {
        assert_eq!(*turn, PolitenessSlot::At(number as u64 * 1000));
    }
    for (number, lease) in leases.iter().enumerate().skip(1) {
        let at = number as u64 * 1000;
        assert_eq!(
            frontier.take_politeness_slot(lease, IP, DELAY, at - 1),
            PolitenessSlot::At(at),
            "asked too early, it keeps its turn"
        );
        assert_eq!(frontier.take_politeness_slot(lease, IP, DELAY, at), PolitenessSlot::Now);
    }
}

#[test]
fn leaves_other_addresses_alone() {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 2);
    assert_eq!(frontier.take_politeness_slot(&leases[0], IP, DELAY, 0), PolitenessSlot::Now);
    assert_eq!(
        frontier.take_politeness_slot(&leases[1], "2001:db8::1".parse().unwrap(), DELAY, 0),
        PolitenessSlot::Now
    );
    assert_eq!(
        frontier.take_politeness_slot(&leases[1], "192.0.2.2".parse().unwrap(), Duration::ZERO, 0),
        PolitenessSlot::Now
    );
    assert_eq!(frontier.take_politeness_slot(&leases[0], "192.0.2.2".parse().unwrap(), DELAY, 0), PolitenessSlot::Now);
}

/// A host that starts late moves later slots back; one that misses its slot goes to the end; nobody waits for one that
/// never comes.
#[test]
fn moves_turns_on() {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 5);
    let claim = |host: usize, now| frontier.take_politeness_slot(&leases[host], IP, DELAY, now);
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

/// One frontier for all cases, each with an address of its own.
static SHARED: LazyLock<(Disk, Vec<Lease>)> = LazyLock::new(|| {
    let frontier = embedded(plain());
    let leases = leases(&*frontier, 30);
    (frontier, leases)
});
static ADDRESSES: AtomicU32 = AtomicU32::new(0);

proptest! {
    /// Hosts of one address come back at the given times or later. No two visits are closer than the delay of the
    /// first. No host asks much more than twice per visit.
    #[test]
    fn no_two_visits_are_too_close(
        delays in prop::collection::vec(1_u64..3000, 2..30),
        lateness in prop::collection::vec(0_u64..1500, 100),
    ) {
        let (frontier, leases) = &*SHARED;
        let leases = &leases[..delays.len()];
        let ip = IpAddr::from(ADDRESSES.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        // (time, host): how often it asked.
        let mut coming: BTreeMap<(u64, usize), u32> = (0..leases.len()).map(|host| ((0, host), 0)).collect();
        let (mut free_at, mut asked) = (0, 0);
        while let Some(((now, host), tries)) = coming.pop_first() {
            asked += 1;
            match frontier.take_politeness_slot(&leases[host], ip, Duration::from_millis(delays[host]), now) {
                PolitenessSlot::Now => {
                    prop_assert!(now >= free_at, "{now} is before {free_at}");
                    free_at = now + delays[host];
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
