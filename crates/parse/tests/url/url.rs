use ::url::Url;
use proptest::prelude::*;
use seine_parse::url;

use crate::cases;

fn assert_normal(input: &str, expected: &str) {
    assert_eq!(url::parse(input).as_deref(), Some(expected), "{input:?}");
}

/// As a seed, as an absolute link, and as an absolute path.
fn assert_normal_everywhere(input: &str, expected: &str) {
    assert_normal(input, expected);
    let base = Url::parse("http://a.org/base").unwrap();
    assert_eq!(url::resolve(&base, input).as_deref(), Some(expected), "{input:?}");
    if let Some(path) = input.strip_prefix("http://a.org").filter(|path| !path.starts_with("//")) {
        assert_eq!(url::resolve(&base, path).as_deref(), Some(expected), "{path:?}");
    }
}

#[test]
fn each_rule_of_the_profile() {
    let cases = [
        ("HTTP://EXAMPLE.com", "http://example.com/"),
        ("http://user:pass@example.com/", "http://example.com/"),
        ("http://EXÄMPLE.org./", "http://xn--exmple-cua.org/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[2001:DB8:0::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("http://a.org//b/./c/%2e%2e/d", "http://a.org/b/d"),
        ("http://a.org/../..", "http://a.org/"),
        ("http://a.org/b/../c", "http://a.org/c"),
        ("http://a.org/./b.c/.d", "http://a.org/b.c/.d"),
        ("http://a.org/b'?c='", "http://a.org/b'?c=%27"),
        ("http://a..b/", "http://a..b/"),
        ("http://a.org/b//", "http://a.org/b/"),
        ("http://a.org/b;jsessionid=1A?c", "http://a.org/b?c"),
        ("http://a.org/b;v=1;JSESSIONID=1;w", "http://a.org/b;v=1;w"),
        ("http://a.org/b/;jsession%69d=1/c", "http://a.org/b/c"),
        ("http://a.org/?b=2&a=1&&=x&b=1&", "http://a.org/?a=1&b=2&b=1"),
        ("http://a.org/?b=", "http://a.org/?b"),
        ("http://a.org/?", "http://a.org/"),
        ("http://a.org/?PHPSESSID=1&sid=2&a", "http://a.org/?a"),
        ("http://a.org/?sid=2", "http://a.org/"),
        ("http://a.org/?q=a+b%20c", "http://a.org/?q=a+b%20c"),
        ("http://a.org/%7eb/[c]|", "http://a.org/~b/%5Bc%5D%7C"),
        ("http://a.org/%2f%zz%", "http://a.org/%2F%25zz%25"),
        ("http://a.org/%2%35", "http://a.org/%2525"),
        ("http://a.org/ä?ö={1}", "http://a.org/%C3%A4?%C3%B6=%7B1%7D"),
        ("http://a.org/%C3%A4%2F?%26=%c3", "http://a.org/%C3%A4%2F?%26=%C3"),
        ("http://a.org/%C3%2?%4", "http://a.org/%C3%252?%254"),
        ("http://a.org/b#c", "http://a.org/b"),
    ];
    for (input, expected) in cases {
        assert_normal_everywhere(input, expected);
    }
}

#[test]
fn a_session_id_taken_out_never_makes_a_dot_segment() {
    assert_normal("http://a.org/b/..;jsessionid=1/c", "http://a.org/b/..;jsessionid=1/c");
}

#[test]
fn seeds_may_lack_a_scheme() {
    assert_normal(" example.com ", "http://example.com/");
    assert_normal("example.com:8080/a", "http://example.com:8080/a");
    assert_normal("localhost:8080", "http://localhost:8080/");
    assert_normal("//example.com/a?b:c", "http://example.com/a?b:c");
    assert_normal("bücher.example", "http://xn--bcher-kva.example/");
}

#[test]
fn what_cannot_be_fetched_is_none() {
    let cases = [
        "",
        "/path",
        "?q",
        "#f",
        "mailto:a@example.com",
        "javascript:void(0)",
        "ftp://example.com/",
        "file:///etc/passwd",
        "data:text/html,x",
        "http://",
        "http:////",
        "http://a b/",
        "http://example%2Xcom/",
        "http://1.2.3.256/",
        "http://example.com:65536/",
        "http://example.com../",
        "http://./",
    ];
    for input in cases {
        assert_eq!(url::parse(input), None, "{input:?}");
    }
}

#[test]
fn a_url_is_refused_for_its_normalised_length() {
    let path = "a".repeat(url::MAX_URL_BYTES - "http://a.org/".len());
    assert!(url::parse(&format!("http://a.org/{path}#fragment")).is_some());
    assert_eq!(url::parse(&format!("http://a.org/{path}a")), None);
    assert_eq!(url::parse(&format!("http://a.org/{}", "ä".repeat(1000))), None);
    let base = Url::parse("http://a.org/").unwrap();
    assert!(url::resolve(&base, &format!("/{path}")).is_some());
    assert_eq!(url::resolve(&base, &format!("/{path}a")), None);
    assert_eq!(url::resolve(&base, &format!("/b/{}..", "../".repeat(100_000))), None);
}

#[test]
fn links_are_resolved_as_browsers_do() {
    let base = Url::parse("https://user@Example.org:8443/a/b?c#d").unwrap();
    let cases = [
        ("e", "https://example.org:8443/a/e"),
        (" \n../e ", "https://example.org:8443/e"),
        ("/e", "https://example.org:8443/e"),
        ("//e", "https://e/"),
        ("///e.org/f", "https://e.org/f"),
        ("\\\\e.org\\f", "https://e.org/f"),
        ("?q", "https://example.org:8443/a/b?q"),
        ("", "https://example.org:8443/a/b?c"),
        ("#f", "https://example.org:8443/a/b?c"),
        ("http://e.org", "http://e.org/"),
        ("/e\n/f", "https://example.org:8443/e/f"),
        ("https:e", "https://example.org:8443/a/e"),
    ];
    for (href, expected) in cases {
        assert_eq!(url::resolve(&base, href).as_deref(), Some(expected), "{href:?}");
    }
    assert_eq!(url::resolve(&base, "mailto:a@b"), None);
    let opaque = Url::parse("data:text/html,x").unwrap();
    assert_eq!(url::resolve(&opaque, "/a"), None);
}

#[test]
fn a_link_to_any_origin_is_what_parsing_it_gives() {
    let base = Url::parse("http://elsewhere.example/").unwrap();
    let hosts = [
        "a.example",
        "a.1",
        "1.a",
        "127.0.0.1",
        "127.1",
        "0127.0.0.1",
        "127.0.0.01",
        "1.2.3.4.5",
        "256.1.1.1",
        "0x7f.1",
        "1.2.3.4.",
        "a.example.",
        "xn--exmple-cua.org",
        "xn--a",
        "-a",
        "1",
        "",
        "[::1]",
        "A.example",
        "u@a",
        "u:80@a",
    ];
    let ports = ["", ":", ":80", ":443", ":8080", ":080", ":0", ":65535", ":65536", ":+80", ":8o", ":1:2"];
    for (scheme, host, port) in ["http", "https"]
        .into_iter()
        .flat_map(|scheme| hosts.map(|host| (scheme, host)))
        .flat_map(|(scheme, host)| ports.map(|port| (scheme, host, port)))
    {
        let href = format!("{scheme}://{host}{port}/a/b?c=d");
        let parsed = Url::parse(&href).ok().and_then(|url| url::normalize(&url));
        assert_eq!(url::resolve(&base, &href), parsed, "{href}");
    }
}

#[test]
fn parts_of_a_normalised_url() {
    assert_eq!(url::origin("https://a.org:8/b?c"), Some("https://a.org:8"));
    assert_eq!(url::origin("ftp://a.org/"), None);
    assert_eq!(url::host("https://a.org:8/b"), Some("a.org"));
    assert_eq!(url::host("http://[::1]:8/"), Some("[::1]"));
    assert_eq!(url::path_and_query("https://a.org/b?c"), "/b?c");
    for (host, domain) in [
        ("www.news.example.co.uk", "example.co.uk"),
        ("a.someone.github.io", "someone.github.io"),
        ("com", "com"),
        ("co.uk", "co.uk"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("a.intranet", "a.intranet"),
        ("www.shop.test", "shop.test"),
        ("wiki.corp.local", "corp.local"),
        ("localhost", "localhost"),
        ("www.xn--bcher-kva.de", "xn--bcher-kva.de"),
    ] {
        assert_eq!(url::registrable_domain(host), domain, "{host}");
    }
}

const ORIGINS: &[&str] = &[
    "",
    "",
    "http://a.org",
    "https://a.org:443",
    "http://u:p@b.org:8",
    "//c.org",
    "HTTP://A.org",
    "http://a.org.",
    "http://a..b",
    "http://127.1",
    "http://a.1",
    "http://0x7f.0xg",
    "http://[::1]:80",
    "https://xn--bcher-kva.de",
    "http://xn--a",
    "http://ü.de",
    "http://a_b.c",
    "http://-a.b",
    "http:",
    "https:d",
    "http:///e.org",
    "mailto:f",
    "http://%61.org",
    "http://a.org\t",
];

const TAILS: &[&str] = &[
    "/",
    "/",
    "/",
    "?",
    "&",
    "=",
    "a",
    "B",
    "1",
    "é",
    ".",
    "..",
    "%2e",
    "%2E.",
    "\\",
    "%7E",
    "%2f",
    "%C3",
    "%",
    "%4",
    "b=1",
    "a=",
    "sid=1",
    "SID",
    ";",
    ";jsessionid=1",
    "jsession%69d=2",
    "#",
    "[",
    "]",
    "|",
    "^",
    "`",
    "{",
    "'",
    "\"",
    "<",
    "~",
    "!",
    "$",
    "*",
    ":",
    "@",
    "+",
    ",",
    " ",
    "\n",
    "\u{7f}",
    "-",
    "_",
];

/// References made of an origin and of special pieces in any order; and arbitrary text.
fn reference() -> impl Strategy<Value = String> {
    let tail = prop::collection::vec(prop::sample::select(TAILS), 0..10).prop_map(|pieces| pieces.concat());
    let built = (prop::sample::select(ORIGINS), prop::sample::select(&["", "/", "/x", "?"][..]), tail);
    prop_oneof![
        9 => built.prop_map(|(origin, start, tail)| [origin, start, &tail].concat()),
        1 => any::<String>(),
    ]
}

fn assert_is_normal(url: &str) {
    assert!(url.is_ascii() && url.len() <= url::MAX_URL_BYTES, "{url}");
    assert_eq!(url::parse(url).as_deref(), Some(url));
    let parsed = Url::parse(url).unwrap();
    assert_eq!(url::normalize(&parsed).as_deref(), Some(url));
    assert_eq!(parsed.host_str(), url::host(url));
    assert_eq!(parsed.origin().ascii_serialization(), url::origin(url).unwrap());
    assert_eq!(url::resolve(&parsed, url).as_deref(), Some(url));
    assert_eq!(url::resolve(&parsed, url::path_and_query(url)).as_deref(), Some(url));
    assert!(url::host(url).unwrap().ends_with(url::registrable_domain(url::host(url).unwrap())));
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn a_normalised_url_is_a_fixed_point(text in reference()) {
        if let Some(url) = url::parse(&text) {
            assert_is_normal(&url);
        }
    }

    /// The fast path for normalised links gives the same result as the full path.
    #[test]
    fn resolving_is_joining_and_normalising(base in reference(), href in reference()) {
        let Some(base) = url::parse(&base).and_then(|base| Url::parse(&base).ok()) else { return Ok(()) };
        let long_way = url::join(&base, &href).and_then(|url| url::normalize(&url));
        prop_assert_eq!(url::resolve(&base, &href), long_way.clone());
        if let Some(url) = long_way {
            assert_is_normal(&url);
        }
    }
}
