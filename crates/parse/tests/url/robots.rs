use std::time::{Duration, Instant};

use proptest::prelude::*;
use seine_parse::robots::RobotsTxt;

use crate::{NO_TIME, cases};

fn allows(robots: &str, path: &str) -> bool {
    RobotsTxt::parse(robots.as_bytes(), "Seine").allows(path)
}

#[test]
fn the_longest_rule_wins_and_allow_wins_ties() {
    let robots = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nDisallow: /x\nAllow: /x\n";
    for (path, allowed) in [("/", true), ("/a", false), ("/ab", false), ("/a/b", true), ("/a/b/c", false), ("/x", true)]
    {
        assert_eq!(allows(robots, path), allowed, "{path}");
    }
}

#[test]
fn wildcards_and_the_end() {
    let robots = "User-agent: *\nDisallow: /*.php$\nDisallow: /a*b*c\nDisallow: /$\nDisallow: /end*$\n";
    for (path, allowed) in [
        ("/x.php", false),
        ("/x.php?q", true),
        ("/x.php/y.php", false),
        ("/abc", false),
        ("/a-b-cd", false),
        ("/acb", true),
        ("/", false),
        ("/b", true),
        ("/ending", false),
    ] {
        assert_eq!(allows(robots, path), allowed, "{path}");
    }
}

#[test]
fn own_groups_are_merged_and_replace_the_common_ones() {
    let robots = "User-agent: seine\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\nUser-Agent: other\nuser-agent: SEINE/2.0\nDisallow: /b\n";
    for (path, allowed) in [("/a", false), ("/b", false), ("/c", true)] {
        assert_eq!(allows(robots, path), allowed, "{path}");
    }
    assert!(allows("User-agent: Seiner\nDisallow: /\n", "/"));
    assert!(!RobotsTxt::parse(b"User-agent: Seine\nDisallow: /", "Seine/1.0 (+https://a.org)").allows("/"));
    assert!(allows("User-agent: *\nDisallow: /\nUser-agent: seine\nDisallow:\n", "/"), "an empty group of one's own");
}

#[test]
fn other_records_do_not_part_user_agents() {
    assert!(!allows("User-agent: seine\nSitemap: http://a.org/s\nHost: a.org\nUser-agent: other\nDisallow: /\n", "/"));
    assert!(allows("User-agent: seine\nCrawl-delay: 1\nUser-agent: other\nDisallow: /\n", "/"));
}

#[test]
fn every_end_of_line_mark_and_misspelling() {
    for robots in [
        "\u{feff}User-agent: *\r\nDisallow: /a\r\n",
        "User-agent: *\rDisallow: /a",
        "  user-agent :*# all\n\tDISALLOW :/a # secret",
        "useragent: *\ndisalow: /a",
        "user-agent *\ndisallow /a",
    ] {
        assert!(!allows(robots, "/a"), "{robots:?}");
        assert!(allows(robots, "/b"), "{robots:?}");
    }
    assert!(allows("Disallow: /a\nUser-agent: *\n", "/a"), "rules before any group");
    assert!(allows("<html><body>Not found: /a</body></html>", "/a"));
}

#[test]
fn percent_encoding_is_one_spelling_on_both_sides() {
    let robots = "User-agent: *\nDisallow: /ä\nDisallow: /%7eb\nDisallow: /c%2fd\nDisallow: /%2a\nDisallow: /e%24\nDisallow: /q'\n";
    for (path, allowed) in [
        ("/%C3%A4", false),
        ("/%c3%a4x", false),
        ("/~b", false),
        ("/c%2Fd", false),
        ("/c/d", true),
        ("/*", false),
        ("/x", true),
        ("/e$f", false),
        ("/q%27", false),
    ] {
        assert_eq!(allows(robots, path), allowed, "{path}");
    }
}

/// Seine sorts the parameters of links, so a rule must hold in any order.
#[test]
fn rules_about_parameters_hold_in_any_order() {
    let robots = "User-agent: *\nDisallow: /a?session=\nDisallow: /*&sort=\nDisallow: /c?z=1&y=\nDisallow: /d?*&x=1$\n\
        Disallow: /e/\nAllow: /e/*?id=1\nDisallow: /f?q=\nAllow: /f?q=*&public\nDisallow: /AT&T/\nDisallow: /g?empty=\n";
    let robots = RobotsTxt::parse(robots.as_bytes(), "Seine");
    for (path, allowed) in [
        ("/a?b=1&session=2", false),
        ("/a?session=2", false),
        ("/a?b=1", true),
        ("/a?b=session=", true),
        ("/x?sort=1&z=2", false),
        ("/x?sort=1", true),
        ("/c?a=1&y=3&z=1", false),
        ("/c?y=3&z=2", true),
        ("/d?w=2&x=1", false),
        ("/d?x=1&y=2", false),
        ("/d?x=12&y=2", true),
        ("/e/page?id=1&z=1", true),
        ("/e/page?a=1&id=1", false),
        ("/f?p&public&q=1", true),
        ("/f?p&q=1", false),
        ("/g?empty", false),
        ("/AT?T/", true),
        ("/a", true),
    ] {
        let decision = robots.decision_in_any_order(path);
        assert_eq!(robots.allows_in_any_order(path), allowed, "{path}: {decision:?}");
    }
    assert!(robots.allows("/a?b=1&session=2"), "as it is");
}

#[test]
fn robots_txt_itself_is_always_allowed() {
    assert!(allows("User-agent: *\nDisallow: /\n", "/robots.txt"));
    assert!(!allows("User-agent: *\nDisallow: /\n", "/robots.txt2"));
}

#[test]
fn delays_and_sitemaps() {
    let robots = b"Sitemap: https://a.org/1.xml\nUser-agent: seine\nCrawl-delay: 0.5\nCrawl-delay: 1.25\nsite-map: /2.xml\nUser-agent: *\nCrawl-delay: 9\n";
    let robots = RobotsTxt::parse(robots, "seine");
    assert_eq!(robots.crawl_delay(), Some(Duration::from_millis(1250)));
    assert_eq!(robots.sitemaps(), ["https://a.org/1.xml", "/2.xml"]);
    for nonsense in ["-1", "NaN", "inf", "1e300", "ten", "", "1 s"] {
        let robots = RobotsTxt::parse(format!("User-agent: *\nCrawl-delay: {nonsense}\n").as_bytes(), "seine");
        assert_eq!(robots.crawl_delay(), None, "{nonsense:?}");
    }
}

#[test]
fn only_whole_lines_of_the_first_500_kib_count() {
    let head = "User-agent: *\nDisallow: /early\n";
    let filler = "#".repeat(500 * 1024 - head.len() - "\nDisallow: /".len());
    let robots = format!("{head}{filler}\nDisallow: /secret\nDisallow: /late\n");
    assert!(!allows(&robots, "/early"));
    assert!(allows(&robots, "/other"), "the cut line must not become `Disallow: /`");
    assert!(allows(&robots, "/late"));
}

#[test]
fn hostile_wildcards_take_linear_time() {
    let stars = format!("User-agent: *\nDisallow: /{}b$\n", "*a".repeat(200_000));
    let many = format!("User-agent: *\n{}", "Disallow: /*a*a*a*a*b\n".repeat(20_000));
    let path = format!("/{}", "a".repeat(4000));
    let start = Instant::now();
    assert!(allows(&stars, &path));
    assert!(allows(&many, &path));
    assert!(start.elapsed() < NO_TIME, "{:?}", start.elapsed());
}

#[test]
fn hostile_orders_of_parameters_take_little_time() {
    let pairs: String = (0..8_000).map(|n| format!("Disallow: /?p{n}=*&z\nAllow: /?p{n}=*&*z\n")).collect();
    let robots = RobotsTxt::parse(format!("User-agent: *\n{pairs}").as_bytes(), "seine");
    let query: Vec<String> = (0..90).map(|n| format!("p{n}={}", "a".repeat(30))).collect();
    let start = Instant::now();
    assert!(robots.allows_in_any_order(&format!("/?{}&z", query.join("&"))));
    assert!(robots.allows_in_any_order(&format!("/?{}", "a&".repeat(2_000))));
    assert!(start.elapsed() < NO_TIME, "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn any_bytes_are_a_robots_txt(bytes in prop::collection::vec(any::<u8>(), 0..300), path in any::<String>()) {
        RobotsTxt::parse(&bytes, "seine").allows_in_any_order(&path);
    }

    /// A rule without wildcards is a prefix, in any encoding.
    #[test]
    fn a_plain_rule_is_a_prefix(rule in "/[a-c/]{0,4}", path in "/[a-c/]{0,8}") {
        let robots = format!("User-agent: *\nDisallow: {rule}\n");
        let encoded: String = path.bytes().map(|b| if b == b'/' { "/".into() } else { format!("%{b:02x}") }).collect();
        prop_assert_eq!(allows(&robots, &path), !path.starts_with(&rule));
        prop_assert_eq!(allows(&robots, &encoded), !path.starts_with(&rule));
    }
}
