//! CDXJ lines and their keys.

use super::*;
use proptest::prelude::*;
use seine_formats::warc::cdxj;
use seine_formats::warc::surt::surt;

#[test]
fn each_capture_has_a_line() {
    let file = file_of(&zoo(), WarcOptions { metadata: true, ..GZIP });
    let (lines, errors) = cdxj::index(&file[..], "test.warc.gz");
    assert!(errors.is_empty());
    assert!(lines.is_sorted());
    insta::assert_snapshot!(lines.concat());
    // Each line leads to its record.
    for line in &lines {
        let json: serde_json::Value = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
        let number = |name: &str| json[name].as_str().unwrap().parse::<usize>().unwrap();
        let member = &file[number("offset")..number("offset") + number("length")];
        let [record] = <[_; 1]>::try_from(records(member)).unwrap();
        assert_eq!(record.target_uri(), json["url"].as_str());
    }
    // In a file compressed as a whole no record can be reached.
    assert_eq!(cdxj::index(&gzip(&file_of(&zoo(), PLAIN))[..], "x").0.len(), 0);
}

#[test]
fn keys_hold_a_site_together() {
    for (url, key) in [
        ("http://example.com", "com,example)/"),
        ("https://www.Example.COM:443/", "com,example)/"),
        ("http://www2.example.com:8080/a/", "com,example:8080)/a"),
        ("http://user:pw@sub.example.co.uk/A/./B/../C//d?Z=1&b&a=#top", "uk,co,example,sub)/a/c/d?a=&b&z=1"),
        ("http://example.com/?", "com,example)/"),
        ("http://example.com/%7Eme/%2541%20b", "com,example)/~me/a%20b"),
        ("http://b\u{fc}cher.example/\u{e9}", "example,xn--bcher-kva)/%c3%a9"),
        ("http://192.0.2.7/x", "7,2,0,192)/x"),
        ("http://example.com/p?PHPSESSID=0123456789abcdef0123456789abcdef&x=1", "com,example)/p?x=1"),
        ("http://example.com/a/(S(0123456789abcdef01234567))/page.aspx?q", "com,example)/a/page.aspx?q"),
        ("dns:example.com", "dns:example.com"),
    ] {
        assert_eq!(surt(url), key, "{url}");
    }
}

proptest! {
    #[test]
    fn every_url_has_a_key_on_one_line(url in any::<String>(), path in "[/a-zA-Z0-9.%?&=;()# ]{0,60}") {
        for url in [url.clone(), format!("http://{url}"), format!("http://a.example/{path}")] {
            let key = surt(&url);
            prop_assert!(!key.contains(['\n', '\r', ' ']), "{key:?}");
        }
    }
}
