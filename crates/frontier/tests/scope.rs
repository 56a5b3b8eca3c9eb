use seine_frontier::scope::{Scope, ScopeDecision, ScopeError};
use seine_frontier::{ScopeConfig, ScopeRule};

fn config(rule: ScopeRule) -> ScopeConfig {
    ScopeConfig { rule, ..ScopeConfig::default() }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}

#[test]
fn the_host_rule_compares_names() {
    let seeds = texts(&["https://www.example.co.uk:8443/start", "127.0.0.1:8080"]);
    let with_host = ScopeConfig { hosts: texts(&["Bücher.example"]), ..config(ScopeRule::Host) };
    let host = Scope::new(&with_host, &seeds).unwrap();
    let domain = Scope::new(&config(ScopeRule::Domain), &seeds).unwrap();
    let any = Scope::new(&config(ScopeRule::Any), &seeds).unwrap();
    for (url, by_host, by_domain) in [
        ("http://www.example.co.uk/", true, true),
        ("http://example.co.uk/a", false, true),
        ("http://a.b.example.co.uk/a", false, true),
        ("http://other.co.uk/", false, false),
        ("http://127.0.0.1/", true, true),
        ("http://xn--bcher-kva.example/", true, false),
    ] {
        assert_eq!(host.admits(url), by_host, "{url}");
        assert_eq!(domain.admits(url), by_domain, "{url}");
        assert!(any.admits(url), "{url}");
    }
    assert_eq!(host.why("http://other.co.uk/"), ScopeDecision::OtherHost);
    assert_eq!(any.why("ftp://a.org/"), ScopeDecision::NotAUrl);
}

/// `.test` and `.local` are not in the list of public suffixes.
#[test]
fn the_domain_rule_knows_names_without_a_listed_suffix() {
    let seeds = texts(&["http://www.shop.test/", "http://wiki.corp.local/", "http://localhost/"]);
    let domain = Scope::new(&config(ScopeRule::Domain), &seeds).unwrap();
    for (url, is_admitted) in [
        ("http://shop.test/", true),
        ("http://img.shop.test/a", true),
        ("http://other.test/", false),
        ("http://git.corp.local/", true),
        ("http://localhost:81/", true),
        ("http://a.localhost/", false),
    ] {
        assert_eq!(domain.admits(url), is_admitted, "{url}");
    }
}

#[test]
fn patterns_match_the_whole_url_without_case() {
    let config = ScopeConfig {
        allow: texts(&[r"https?://a\.org/.*", "", r"http:\/\/b\.org\/[a-z]+"]),
        deny: texts(&[r".*\.pdf", r"https?://a\.org/private/.*"]),
        ..config(ScopeRule::Any)
    };
    let scope = Scope::new(&config, &[]).unwrap();
    for (url, verdict) in [
        ("http://a.org/X", ScopeDecision::Admitted),
        ("http://b.org/ABC", ScopeDecision::Admitted),
        ("http://b.org/abc1", ScopeDecision::NotAllowed { list: "link_storage.link_strategy.whitelist" }),
        (
            "http://a.org/x.PDF",
            ScopeDecision::Denied { list: "link_storage.link_strategy.blacklist", pattern: r".*\.pdf" },
        ),
        ("http://a.org/x.pdf?1", ScopeDecision::Admitted),
        (
            "http://a.org/private/x",
            ScopeDecision::Denied {
                list: "link_storage.link_strategy.blacklist",
                pattern: r"https?://a\.org/private/.*",
            },
        ),
    ] {
        assert_eq!(scope.why(url), verdict, "{url}");
        assert_eq!(scope.admits(url), verdict == ScopeDecision::Admitted, "{url}");
    }
}

#[test]
fn link_filters_of_ache() {
    let filters = r#"
global:
  blacklist: ["*bad*", "*(1)*"]
www.Example1.com:
  type: wildcard
  whitelist:
    - http://www.example1.com/*allowed*
  blacklist:
    - http://www.example1.com/*disallowed*.html
shop.example1.com:
  whitelist: ["http://shop.example1.com/*"]
example2.com:
  type: regex
  whitelist:
    - http:\/\/www\.example2\.com\/allowed[0-9]+\.html
  blacklist:
"#;
    let config = ScopeConfig { link_filters: Some(filters.into()), ..config(ScopeRule::Any) };
    let scope = Scope::new(&config, &[]).unwrap();
    for (url, admitted) in [
        ("http://www.example1.com/allowed1", true),
        ("http://www.example1.com/ALLOWED1", false),
        ("http://www.example1.com/disallowed.html", false),
        ("http://www.example1.com/other", false),
        ("http://shop.example1.com/other", true),
        ("http://www.example2.com/Allowed1.HTML", true),
        ("http://www.example2.com/allowed1.html?q", false),
        ("http://elsewhere.org/", true),
        ("http://elsewhere.org/bad", false),
        ("http://elsewhere.org/(1)", false),
        ("http://www.example1.com/allowed-bad", false),
    ] {
        assert_eq!(scope.admits(url), admitted, "{url}");
    }
    let denied = ScopeDecision::Denied { list: "link filters, global, blacklist", pattern: "*bad*" };
    assert_eq!(scope.why("http://elsewhere.org/bad"), denied);
    assert_eq!(
        scope.why("http://www.example1.com/other"),
        ScopeDecision::NotAllowed { list: "link filters, example1.com, whitelist" }
    );
}

#[test]
fn errors_name_the_place() {
    let fails = |config: ScopeConfig, seeds: &[&str]| Scope::new(&config, &texts(seeds)).unwrap_err().to_string();
    let any = || config(ScopeRule::Any);
    let deny = |pattern: &str| fails(ScopeConfig { deny: texts(&[".*", "", pattern]), ..any() }, &[]);
    let filters = |yaml: &str| fails(ScopeConfig { link_filters: Some(yaml.into()), ..any() }, &[]);
    for (message, parts) in [
        (deny("a("), vec!["link_storage.link_strategy.blacklist, pattern 3 \"a(\"", "unclosed group"]),
        (deny(")("), vec!["pattern 3 \")(\""]),
        (deny("(?=a)"), vec!["pattern 3", "look-around"]),
        (deny("((a{1000}){1000}){1000}"), vec!["pattern 3", "size"]),
        (filters("example.com:\n  whitelist: ['*']\n  type: glob\n"), vec!["example.com", "glob"]),
        (filters("example.com:\n  whitlist: ['*']\n"), vec!["example.com", "whitlist"]),
        (filters("a.org:\n  type: regex\n  blacklist: ['.*', '[']\n"), vec!["a.org, blacklist, pattern 2 \"[\""]),
        (filters("'':\n  type: regex\n"), vec!["neither global nor a host"]),
        (filters("a: [\n"), vec!["as YAML"]),
        (fails(any(), &["https://a.org", "mailto:a@b"]), vec!["mailto:a@b"]),
        (
            fails(ScopeConfig { hosts: texts(&["/a"]), ..any() }, &[]),
            vec!["link_storage.link_strategy.scope_hosts", "/a"],
        ),
    ] {
        for part in parts {
            assert!(message.contains(part), "{part} not in: {message}");
        }
    }
}

#[test]
fn a_later_run_without_seeds_keeps_the_scope() {
    let config = config(ScopeRule::Host);
    let first = Scope::new(&config, &texts(&["https://b.org/", "http://a.org:8080/x", "a.org"])).unwrap();
    assert_eq!(first.to_note(), r#"{"seed_hosts":["a.org","b.org"]}"#);
    let later = Scope::from_note(&config, &first.to_note(), &texts(&["c.org"])).unwrap();
    assert_eq!(later.to_note(), r#"{"seed_hosts":["a.org","b.org","c.org"]}"#);
    assert!(later.admits("http://b.org/"));
    assert!(!first.admits("http://c.org/"));
    assert!(matches!(Scope::from_note(&config, "no", &[]), Err(ScopeError::Note(_))));
}
