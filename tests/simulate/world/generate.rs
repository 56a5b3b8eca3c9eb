//! Worlds from seeds. Shapes follow the web: one host has very many pages, many have one; most pages never change, some change all the
//! time; a few are linked from everywhere.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};

use super::settings::{Scope, Settings};
use super::web::{Host, Link, Media, Moved, Page, Robots, Rules, To, Trap};
use super::{BEGINS_MS, DAY, HOUR, LASTS_MS, MINUTE, Past, Places, World, mishap, script};

const ALWAYS: (u64, u64) = (0, u64::MAX);

impl World {
    pub fn generate(seed: u64) -> World {
        let mut rng = fastrand::Rng::with_seed(seed);
        let pages = ((200.0 * (1.0 - rng.f64()).powf(-0.6)) as usize).clamp(200, 2000);
        let settings = Settings::generate(&mut rng, pages);
        // Long enough for an old robots.txt (a day), the longest back-off, two rechecks of each page (the second for pages that the first
        // finds), and the confirmation of removals.
        let calm = 2 * DAY + settings.backoff_max + 2 * settings.max_interval + 2 * settings.confirm_gone;
        let mut world = World {
            seed,
            begins_ms: BEGINS_MS,
            calm_ms: BEGINS_MS + LASTS_MS - calm,
            ends_ms: BEGINS_MS + LASTS_MS,
            settings,
            seeds: Vec::new(),
            hosts: Vec::new(),
            mishaps: Vec::new(),
            events: Vec::new(),
            places: Places::default(),
            past: Past::default(),
        };
        world.grow(pages, &mut rng);
        world.index();
        world.mishaps = mishap::generate(&world, &mut rng);
        world.events = script::generate(&world, &mut rng);
        world.events.extend(script::letters(&world));
        world.add_later_kinds();
        world.events.sort_by_key(|it| it.at);
        world.index();
        world
    }

    fn grow(&mut self, pages: usize, rng: &mut fastrand::Rng) {
        let sizes = sizes(pages, rng);
        let mut number = 0;
        for (nth, size) in sizes.iter().enumerate() {
            let host = self.host_with(nth as u32, *size, &mut number, rng);
            self.hosts.push(host);
        }
        self.forwarding(rng);
        self.link_hosts(rng);
        self.alter(rng);
        self.trap(rng);
        self.choose_seeds(rng);
    }

    fn host_with(&self, id: u32, size: usize, number: &mut u32, rng: &mut fastrand::Rng) -> Host {
        // Some hosts share a domain with the host before, some an address.
        let before = self.hosts.last();
        let (name, domain) = match before.filter(|_| rng.u32(..4) == 0) {
            Some(before) => {
                (format!("{}.{}", ["blog", "shop", "docs", "en"][rng.usize(..4)], before.domain), before.domain.clone())
            }
            None => {
                let domain = format!("site{id}.{}", ["com", "org", "net", "co.uk"][rng.usize(..4)]);
                (if rng.bool() { format!("www.{domain}") } else { domain.clone() }, domain)
            }
        };
        let name = if self.hosts.iter().any(|host| host.name == name) { format!("h{id}.{domain}") } else { name };
        let address = match before.filter(|_| rng.u32(..3) == 0) {
            Some(before) => before.address,
            None => IpAddr::V4(Ipv4Addr::from(0x0A00_0001 + id * 7)),
        };
        let first = *number;
        let pages = (0..size).map(|nth| self.page_with(first, nth, rng)).collect();
        *number += size as u32;
        Host {
            id,
            is_https: rng.bool(),
            name,
            domain,
            address,
            robots: vec![(0, robots(size, rng))],
            has_sitemap: rng.u32(..3) == 0,
            forwards: None,
            trap: None,
            missing: if rng.u32(..5) == 0 { 410 } else { 404 },
            has_date: id % 4 != 3,
            latency: [5, 20, 60, 150, 400, 1500][rng.usize(..6)],
            bytes_per_second: [None, None, Some(100_000), Some(20_000)][rng.usize(..4)],
            pages,
        }
    }

    /// The page number `nth` of a host whose first page has the number `first`.
    fn page_with(&self, first: u32, nth: usize, rng: &mut fastrand::Rng) -> Page {
        let id = first + nth as u32;
        let path = match (nth, rng.u32(..6)) {
            (0, _) => "/".to_owned(),
            (_, 0) => format!("/item?id={id}"),
            (_, 1) => format!("/list?page={id}&sort=date"),
            (_, 2) => format!("/private/{id}"),
            (_, 3) => format!("/news/{}/{id}.html", 2020 + id % 6),
            _ => format!("/articles/{id}"),
        };
        let mut page = Page {
            id,
            path,
            lives: vec![ALWAYS],
            changes: Vec::new(),
            moved: None,
            links: Vec::new(),
            canonical: None,
            noindex: None,
            twin_of: None,
            near: None,
            size: (200.0 * (1.0 - rng.f64()).powf(-0.7)).min(40_000.0) as u32,
            media: if nth > 0 && rng.u32(..12) == 0 { Media::Plain } else { Media::Html },
            has_etag: rng.bool(),
            has_last_modified: rng.bool(),
        };
        if nth > 0 {
            // A page with a smaller number links to it, mostly one of the first. So every page can be reached from the first.
            page.links.push(link(To::Page(first + rng.usize(..nth).min(rng.usize(..nth)) as u32)));
        }
        page.changes = self.changes(rng);
        page
    }

    /// Most pages never change, a few do every few hours.
    fn changes(&self, rng: &mut fastrand::Rng) -> Vec<u64> {
        let every = match rng.u32(..20) {
            0..13 => return Vec::new(),
            13..17 => 10 * DAY,
            17..19 => 2 * DAY,
            _ => 8 * HOUR,
        };
        let mut at = self.begins_ms;
        let mut changes = Vec::new();
        loop {
            at += (every as f64 * -(1.0 - rng.f64()).ln()) as u64 + MINUTE;
            if at >= self.calm_ms || changes.len() >= 60 {
                return changes;
            }
            changes.push(at);
        }
    }

    /// Some hosts redirect all URLs to the same path of another host.
    fn forwarding(&mut self, rng: &mut fastrand::Rng) {
        let (count, mut next) = (self.hosts.len(), self.hosts.len() as u32);
        for at in 0..count {
            if rng.u32(..12) != 0 {
                continue;
            }
            let to = &self.hosts[at];
            let name = to.name.strip_prefix("www.").map_or_else(|| format!("www.{}", to.name), str::to_owned);
            if self.hosts.iter().any(|host| host.name == name) {
                continue;
            }
            let host = Host {
                id: next,
                name,
                pages: Vec::new(),
                robots: vec![(0, Robots::Missing)],
                has_sitemap: false,
                forwards: Some(to.id),
                ..to.clone()
            };
            self.hosts.push(host);
            next += 1;
        }
    }

    /// Reverses the link that every page has to an earlier page, and adds links between hosts and some more.
    fn link_hosts(&mut self, rng: &mut fastrand::Rng) {
        self.index();
        let firsts: Vec<u32> = self.hosts.iter().filter_map(|host| host.pages.first()).map(|page| page.id).collect();
        let pages = self.pages() as u32;
        let mut links: Vec<(u32, Link)> = Vec::new();
        for host in &mut self.hosts {
            for page in &mut host.pages {
                let parents: Vec<Link> = page.links.drain(..).collect();
                for parent in parents {
                    if let To::Page(parent) = parent.to {
                        links.push((parent, link(To::Page(page.id))));
                    }
                }
                if rng.u32(..3) == 0 {
                    page.links.push(link(To::Page(host_home(&firsts, page.id))));
                }
                for _ in 0..rng.u32(..4) {
                    page.links.push(link(To::Page(rng.u32(..pages))));
                }
            }
        }
        for (nth, first) in firsts.iter().enumerate().skip(1) {
            // From a page of any earlier host.
            links.push((rng.u32(..firsts[nth]), link(To::Page(*first))));
        }
        let forwarding: Vec<(u32, u32)> =
            self.hosts.iter().filter_map(|host| Some((host.id, host.forwards?))).collect();
        for (host, to) in forwarding {
            let ids: Vec<u32> =
                self.host(to).map(|to| to.pages.iter().map(|page| page.id).collect()).unwrap_or_default();
            for id in ids {
                if rng.u32(..3) != 0 {
                    continue;
                }
                links.push((rng.u32(..pages), link(To::Via { host, page: id })));
            }
        }
        for (from, link) in links {
            self.page_mut(from).links.push(link);
        }
    }

    /// Pages appear, vanish, move, get noindex, name canonical pages, and become duplicates.
    fn alter(&mut self, rng: &mut fastrand::Rng) {
        let troubled = self.calm_ms - self.begins_ms;
        let ids: Vec<(usize, Vec<u32>)> =
            self.hosts.iter().map(|host| host.pages.iter().map(|page| page.id).collect()).enumerate().collect();
        for (at, ids) in ids {
            for id in ids.iter().copied().skip(1) {
                let when = self.begins_ms + rng.u64(..troubled);
                let later = when + rng.u64(..troubled);
                let later = if later < self.calm_ms { later } else { u64::MAX };
                let other = ids[rng.usize(..ids.len())];
                let page = self.page_mut(id);
                match rng.u32(..100) {
                    0..5 => {
                        page.lives = vec![(when, u64::MAX)];
                        if rng.bool() {
                            self.links_to_appear(id, when, u64::MAX);
                        }
                    }
                    5..11 => page.lives = vec![(0, when)],
                    11..15 => page.lives = vec![(0, when), (later, u64::MAX)],
                    15..18 => {
                        page.moved =
                            Some(Moved { at: if rng.bool() { 0 } else { when }, status: 301, to: To::Page(other) })
                    }
                    18 => {
                        let to = ["https://elsewhere.invalid/", "/", "mailto:somebody"][rng.usize(..3)].to_owned();
                        page.moved = Some(Moved { at: when, status: 302, to: To::Url(to) });
                    }
                    19..21 => {
                        page.noindex = Some(if rng.bool() { ALWAYS } else { (when, later) });
                        let bounds = page.noindex.into_iter().flat_map(|(from, until)| [from, until]);
                        page.changes.extend(bounds.filter(|at| *at > 0 && *at < u64::MAX));
                        page.changes.sort_unstable();
                    }
                    21..26 if other != id => page.canonical = Some(other),
                    26..29 if other != id => page.twin_of = Some(other),
                    29..31 if other != id => page.near = Some(other),
                    31..35 => self.links_to_appear(id, when, later),
                    _ => {}
                }
            }
            self.vary_robots(at, rng);
        }
        self.plain_twins();
        // A page that names a canonical page also links to it. A page with links or noindex is HTML.
        for page in self.hosts.iter_mut().flat_map(|host| &mut host.pages) {
            page.links.extend(page.canonical.map(|id| link(To::Page(id))));
            if !page.links.is_empty() || page.noindex.is_some() {
                page.media = Media::Html;
            }
        }
    }

    /// Limits all links to a page to some time. The pages with these links change at its beginning and end.
    fn links_to_appear(&mut self, id: u32, from: u64, until: u64) {
        for page in self.hosts.iter_mut().flat_map(|host| &mut host.pages) {
            let mut changes = Vec::new();
            for link in page.links.iter_mut().filter(|link| link.to == To::Page(id)) {
                (link.from, link.until) = (from, until);
                changes.extend([from, until].into_iter().filter(|at| *at > 0 && *at < u64::MAX));
            }
            page.changes.extend(changes);
            page.changes.sort_unstable();
            page.changes.dedup();
        }
    }

    fn vary_robots(&mut self, at: usize, rng: &mut fastrand::Rng) {
        let (begins, troubled, size) = (self.begins_ms, self.calm_ms - self.begins_ms, self.hosts[at].pages.len());
        if rng.u32(..10) == 0 {
            self.hosts[at].robots.push((begins + rng.u64(..troubled), robots(size, rng)));
        }
    }

    /// A page that others duplicate or name as canonical is plain otherwise: it does not move, has no noindex, and names no other page.
    fn plain_twins(&mut self) {
        let pages = self.hosts.iter().flat_map(|host| &host.pages);
        let of: HashSet<u32> = pages.flat_map(|page| [page.twin_of, page.near, page.canonical]).flatten().collect();
        for page in self.hosts.iter_mut().flat_map(|host| &mut host.pages).filter(|page| of.contains(&page.id)) {
            (page.twin_of, page.near, page.canonical, page.noindex, page.moved) = (None, None, None, None, None);
        }
    }

    fn trap(&mut self, rng: &mut fastrand::Rng) {
        if rng.u32(..10) != 0 || !self.settings.traps {
            return;
        }
        if let Some(host) = self.hosts.iter_mut().find(|host| host.pages.len() >= 50 && host.forwards.is_none()) {
            host.trap = Some(Trap { prefix: "/calendar/".to_owned(), ends: None, is_monotonous: true });
        }
    }

    fn choose_seeds(&mut self, rng: &mut fastrand::Rng) {
        let scope = self.settings.scope;
        let mut domains = HashSet::new();
        for (nth, host) in self.hosts.iter().enumerate().filter(|(_, host)| host.forwards.is_none()) {
            let is_seed = match scope {
                Scope::Any => nth == 0 || rng.u32(..10) == 0,
                Scope::Host => rng.u32(..20) != 0 || nth == 0,
                Scope::Domain => domains.insert(host.domain.clone()),
            };
            if is_seed {
                self.seeds.push(format!("{}/", host.origin()));
            }
        }
    }

    fn page_mut(&mut self, id: u32) -> &mut Page {
        let (host, page) = self.places.pages[&id];
        &mut self.hosts[host].pages[page]
    }
}

fn link(to: To) -> Link {
    Link { to, from: 0, until: u64::MAX }
}

/// The first page of the host that has this page.
fn host_home(firsts: &[u32], id: u32) -> u32 {
    firsts[firsts.partition_point(|first| *first <= id) - 1]
}

/// Distributes pages over hosts. The first host has a third of them or more, and most others have one.
fn sizes(pages: usize, rng: &mut fastrand::Rng) -> Vec<usize> {
    let mut sizes = vec![(pages as f64 * (0.3 + 0.4 * rng.f64())) as usize];
    let mut left = pages - sizes[0];
    while left > 0 && sizes.len() < 150 {
        let size = ((1.0 - rng.f64()).powf(-1.0) as usize).clamp(1, left.min(pages / 4).max(1));
        sizes.push(size);
        left -= size;
    }
    sizes[0] += left;
    sizes
}

fn robots(size: usize, rng: &mut fastrand::Rng) -> Robots {
    match rng.u32(..12) {
        0..5 => Robots::Missing,
        5 if size < 10 => Robots::Error(403),
        _ => Robots::Rules(Rules {
            disallow: if rng.u32(..3) == 0 { vec!["/private/".to_owned()] } else { Vec::new() },
            allow: if rng.u32(..8) == 0 { vec!["/private/1".to_owned()] } else { Vec::new() },
            // A large host with a long delay would take days.
            delay: (rng.u32(..5) == 0).then(|| if size < 40 { rng.u64(1..90) * 500 } else { rng.u64(1..8) * 500 }),
            names_sitemap: rng.bool(),
        }),
    }
}
