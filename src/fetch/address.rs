//! Decides which IP addresses are on the public Internet. Links can point at the machine's own network. Such addresses
//! are refused after DNS resolution, unless the configuration allows them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether `ip` is globally reachable unicast, by the IANA special-purpose address registries (RFC 6890 and its
/// successors). IPv6 addresses that contain an IPv4 address (mapped, NAT64, 6to4) are judged by that.
pub(super) fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => match carried_v4(v6) {
            Some(v4) => is_public_v4(v4),
            None => is_public_v6(v6),
        },
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let shared = a == 100 && (64..128).contains(&b); // RFC 6598, carrier-grade NAT
    let protocol_assignments = a == 192 && b == 0 && c == 0; // RFC 6890
    let benchmarking = a == 198 && (18..20).contains(&b); // RFC 2544
    !(a == 0
        || a >= 224 // multicast, reserved, broadcast
        || ip.is_loopback()
        || ip.is_private()
        || ip.is_link_local()
        || ip.is_documentation()
        || shared
        || protocol_assignments
        || benchmarking)
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [first, second, ..] = ip.segments();
    let global_unicast = first & 0xe000 == 0x2000; // 2000::/3 is all that is given out
    let special = first == 0x2001 && second < 0x0200; // 2001::/23, protocol assignments, Teredo among them
    let documentation = (first == 0x2001 && second == 0x0db8) || (first == 0x3fff && second < 0x1000);
    global_unicast && !special && !documentation
}

fn carried_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let low = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match ip.segments() {
        [0, 0, 0, 0, 0, 0xffff, h, l] => Some(low(h, l)),    // IPv4-mapped
        [0x64, 0xff9b, 0, 0, 0, 0, h, l] => Some(low(h, l)), // NAT64, RFC 6052
        [0x2002, h, l, ..] => Some(low(h, l)),               // 6to4, RFC 3056
        _ => None,
    }
}
