//! Tests of the simulation's worlds alone: what they generate, and what their oracle finds.

mod crawler;

#[path = "../simulate/world/mod.rs"]
#[allow(dead_code)]
mod world;

#[path = "../simulate/oracle/mod.rs"]
#[allow(dead_code)]
mod oracle;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use crawler::{Crawler, Mistake};
use world::settings::Settings;
use world::{Answer, Event, LASTS_MS, Look, Reply, Request, Resolved, Says, World};

fn get(world: &mut World, url: &str, at_ms: u64) -> Answer {
    world.answer(&Request { url: url.to_owned(), ip: IpAddr::V4(Ipv4Addr::LOCALHOST), headers: Vec::new(), at_ms })
}

/// URLs that a perfect crawl finds on one quiet day. It follows every link once, and redirects to their ends.
fn walk(world: &mut World, at: u64) -> BTreeSet<String> {
    let (mut seen, mut waiting) = (BTreeSet::new(), world.seeds());
    seen.extend(waiting.iter().cloned());
    while let Some(mut url) = waiting.pop() {
        for _ in 0..11 {
            let answer = get(world, &url, at);
            let Reply::Head { body, .. } = &answer.what else { break };
            if let Says::Redirect(to) = &answer.meant.says {
                url = if to.starts_with('/') { format!("{}{to}", world::split(&url).0) } else { to.clone() };
                continue;
            }
            let text = String::from_utf8_lossy(body).into_owned();
            let links = text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
            for url in links.map(|it| it.replace("&amp;", "&")).filter(|url| !url.contains("/calendar/")) {
                if seen.insert(url.clone()) {
                    waiting.push(url);
                }
            }
            break;
        }
    }
    seen
}

#[test]
fn a_seed_always_gives_the_same_world() {
    for seed in 0..20 {
        let (one, other) = (World::generate(seed), World::generate(seed));
        assert_eq!(format!("{one:?}").len(), format!("{other:?}").len());
        assert_eq!(
            (one.story(), &one.hosts, &one.mishaps, &one.events),
            (other.story(), &other.hosts, &other.mishaps, &other.events)
        );
    }
}

#[test]
fn worlds_are_as_large_as_wanted_and_their_end_is_calm() {
    let mut pages = 0;
    for seed in 0..200 {
        let world = World::generate(seed);
        pages += world.pages();
        assert!((200..=2000).contains(&world.pages()), "{}", world.story());
        assert_eq!(world.ends_ms - world.begins_ms, LASTS_MS);
        assert!(world.calm_ms > world.begins_ms + 5 * world::DAY, "{}", world.story());
        let ends = |at: u64| assert!(at <= world.calm_ms, "{}", world.story());
        world.mishaps.iter().for_each(|mishap| ends(mishap.when.until));
        world.events.iter().for_each(|it| ends(it.at + it.event.lasts()));
        let changes = world.hosts.iter().flat_map(|host| &host.pages).flat_map(|page| &page.changes);
        changes.for_each(|at| ends(*at));
    }
    assert!((300..700).contains(&(pages / 200)), "{} pages a world", pages / 200);
}

#[test]
fn nearly_every_page_can_be_reached_from_the_seeds() {
    let (mut live, mut all) = (0, 0);
    for seed in 0..50 {
        let world = World::generate(seed);
        live += world.truth(world.ends_ms).values().filter(|truth| truth.is_page).count();
        all += world.pages();
    }
    assert!(live * 100 > all * 60, "{live} of {all}");
}

#[test]
fn what_the_links_of_the_answers_lead_to_is_what_is_said_to_be_reachable() {
    for seed in 0..30 {
        let mut world = World::generate(seed);
        let settings = Settings { scope: world::settings::Scope::Any, sitemaps: false, ..world.settings.clone() };
        world.hosts.iter_mut().for_each(|host| host.robots = vec![(0, world::web::Robots::Missing)]);
        let at = world.ends_ms;
        let reachable = world.reachable(&settings, at);
        let walked: BTreeSet<String> = walk(&mut world, at);
        let reachable: BTreeSet<String> = reachable.into_iter().filter(|url| !url.contains("/calendar/")).collect();
        let differ: Vec<&String> = reachable.symmetric_difference(&walked).collect();
        assert!(differ.is_empty(), "world {seed}: {differ:?}");
    }
}

#[test]
fn an_answer_is_what_the_truth_says() {
    for seed in 0..30 {
        let mut world = World::generate(seed);
        let mut looks = world::Looks::default();
        for url in world.reachable(&world.settings.clone(), world.ends_ms) {
            let look = world.look(&url, world.ends_ms, &mut looks).clone();
            let at = world.ends_ms;
            let says = get(&mut world, &url, at).meant.says;
            match (&look, &says) {
                (Look::Page(seen), Says::Page { digest, noindex, .. }) => {
                    assert_eq!((&seen.digest, seen.noindex), (digest, *noindex), "{url}");
                }
                (Look::Redirect(_), Says::Redirect(_))
                | (Look::Missing, Says::Missing)
                | (Look::Sitemap, Says::Page { .. }) => {}
                other => panic!("{url}: {other:?}"),
            }
        }
    }
}

#[test]
fn who_has_the_page_already_is_told_that_it_has_not_changed() {
    let mut world = World::generate(7);
    let (host, page) = world
        .hosts
        .iter()
        .flat_map(|host| host.pages.iter().map(move |page| (host, page)))
        .find(|(_, page)| page.has_etag && page.path != "/" && page.moved.is_none() && page.is_there(world.ends_ms))
        .expect("one");
    let url = format!("{}{}", host.origin(), page.path);
    let at = world.ends_ms;
    let Reply::Head { headers, .. } = get(&mut world, &url, at).what else { panic!("no answer") };
    let etag = headers.iter().find(|(name, _)| name == "etag").expect("an etag").1.clone();
    let request =
        Request { url, ip: IpAddr::V4(Ipv4Addr::LOCALHOST), headers: vec![("If-None-Match".into(), etag)], at_ms: at };
    assert!(matches!(world.answer(&request).what, Reply::Head { status: 304, .. }));
}

#[test]
fn every_kind_of_mishap_and_event_comes_and_is_told_in_words() {
    let (mut kinds, mut events) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..600 {
        let world = World::generate(seed);
        let first = |debug: String| debug.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
        kinds.extend(world.mishaps.iter().map(|mishap| first(format!("{:?}", mishap.what))));
        events.extend(world.script().iter().map(|(_, event)| first(format!("{event:?}"))));
        assert!(world.story().lines().count() >= 2 + world.mishaps.len() + world.events.len());
    }
    assert_eq!(kinds.len(), 21, "{kinds:?}");
    assert_eq!(events.len(), 11, "{events:?}");
    assert!(matches!(World::generate(1).script().first(), None | Some((_, Event::Kill | _))));
}

#[test]
fn a_world_can_be_made_smaller_until_little_is_left() {
    let mut world = World::generate(11);
    let mut steps = 0;
    while let Some(smaller) = world.smaller().into_iter().next() {
        assert!(smaller.seeds.iter().all(|seed| smaller.host_of(seed).is_some()));
        world = smaller;
        steps += 1;
    }
    assert!(
        world.hosts.len() == 1 && world.pages() == 1 && world.mishaps.is_empty() && world.events.is_empty(),
        "{steps}"
    );
}

#[test]
fn the_configuration_is_one_that_seine_takes() {
    let dir = tempfile::tempdir().expect("a folder");
    for seed in 0..300 {
        let world = World::generate(seed);
        let file = dir.path().join("seine.yml");
        std::fs::write(&file, world.config_yaml()).expect("written");
        let loaded =
            seine::config::load(Some(&file), &[]).unwrap_or_else(|error| panic!("{error}\n{}", world.config_yaml()));
        assert_eq!(loaded.warnings.len(), 0, "{:?}", loaded.warnings);
    }
}

#[test]
fn names_resolve_but_for_mishaps() {
    let world = World::generate(3);
    let host = &world.hosts[0];
    assert!(matches!(world.resolve(&host.name, world.ends_ms), Resolved::Ips(..)));
    assert_eq!(world.resolve("nobody.test", world.ends_ms), Resolved::NxDomain);
}

#[test]
fn making_and_asking_is_quick() {
    let began = Instant::now();
    let mut requests = 0;
    for seed in 0..20 {
        let mut world = World::generate(seed);
        let urls = world.reachable(&world.settings.clone(), world.ends_ms);
        for url in &urls {
            let at = world.ends_ms;
            _ = get(&mut world, url, at);
            requests += 1;
        }
    }
    println!("{requests} requests in {:?}", began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(60));
}

/// Worlds of no more than a few hundred pages, so that many can be tried.
fn small(seed: u64) -> World {
    let world = World::generate(seed);
    let host = |world: &World| world.hosts.iter().map(|host| host.pages.len()).max().unwrap_or_default();
    if host(&world) > 150 { world.with_fewer_pages() } else { world }
}

#[test]
fn the_oracle_finds_nothing_wrong_with_a_crawler_that_keeps_its_promises() {
    for seed in 0..10 {
        let world = small(seed);
        let story = world.story();
        let broken = Crawler::new(world, Mistake::None).run();
        assert!(broken.is_empty(), "{story}{broken:#?}");
    }
}

#[test]
fn the_oracle_finds_every_mistake() {
    use Mistake::*;
    // Which property it breaks, and a world near the first that shows it.
    let mistakes = [
        (HalfPages, 2, 50),
        (HalfPages, 4, 76),
        (OneBadHour, 2, 0),
        (RefusedForEver, 1, 0),
        (Stall, 4, 0),
        (Emptied, 1, 0),
        (CursorMovedEarly, 1, 0),
        (LostTombstone, 1, 0),
        (ForgottenSlot, 3, 0),
        (ForgottenAddress, 3, 6),
        (WrongClock, 2, 0),
        (OldRobots, 3, 0),
        (OldAfterNew, 2, 0),
        (NoRetryAfter, 3, 110),
    ];
    let mut missed = Vec::new();
    for (mistake, property, from) in mistakes {
        let found = (from..from + 40).find(|seed| {
            let broken = Crawler::new(small(*seed), mistake).run();
            broken.iter().any(|broken| broken.property == property)
        });
        println!("{mistake:?}, property {property}: world {found:?}");
        missed.extend(found.is_none().then_some((mistake, property)));
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}
