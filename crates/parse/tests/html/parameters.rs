//! Parameters that are removed from links.

use super::*;

fn dropping(patterns: &[&str]) -> DeriveOptions {
    DeriveOptions { drop_parameters: patterns.iter().map(|it| (*it).to_owned()).collect(), ..options() }
}

#[test]
fn parameters_are_dropped_by_name_or_beginning() {
    let options = dropping(&["utm_*", "fbclid"]);
    for (href, expected) in [
        ("/a?utm_source=x", "/a"),
        ("/a?UTM_Source=x&b=1&FbClid=2", "/a?b=1"),
        ("/a?b=1&c=2", "/a?b=1&c=2"),
        ("/a?fbclid", "/a"),
        ("/a?fbclid2=1", "/a?fbclid2=1"),
        ("/a?xfbclid=1", "/a?xfbclid=1"),
        ("/a?utm=1", "/a?utm=1"),
        ("/a?b=utm_source", "/a?b=utm_source"),
        ("/utm_source=x", "/utm_source=x"),
        ("/a?%75tm_id=1&\u{e9}=2", "/a?%C3%A9=2"),
    ] {
        let derived = derive(&html_event(&format!("<link rel=canonical href='{href}'><a href='{href}'>")), &options);
        assert_eq!(urls(&derived), [format!("https://site.example{expected}")], "{href}");
        assert_eq!(derived.canonical.as_deref(), Some(urls(&derived)[0]), "{href}");
    }
    let page = "<a rel=nofollow href='/a?utm_source=x'><a href='/a?utm_source=y'><a href=/a>";
    assert_eq!(urls(&derive(&html_event(page), &options)), ["https://site.example/a"], "each once");
    assert_eq!(derive(&html_event(page), &dropping(&[])).links.len(), 3);
}

#[test]
fn headers_feeds_and_sitemaps_lose_them_too() {
    let options = dropping(&["utm_*"]);
    let headers = [("content-type", "text/html"), ("link", "</c?utm_id=1>; rel=canonical")];
    let derived = derive(&event("https://a.example/", response(&headers, "")), &options);
    let c = "https://a.example/c";
    assert_eq!((urls(&derived), derived.canonical.as_deref()), (vec![c], Some(c)));
    let pdf = [("content-type", "application/pdf"), headers[1]];
    let derived = derive(&event("https://a.example/f.pdf", response(&pdf, "%PDF-1.7")), &options);
    assert_eq!(derived.canonical.as_deref(), Some(c));
    let feed = "<rss><channel><item><link>/1?utm_source=rss</link><pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate></item>\
                <item><link>/1</link></item></channel></rss>";
    let derived = derive(&event("https://a.example/feed", response(&[], feed)), &options);
    assert_eq!(urls(&derived), ["https://a.example/1"]);
    assert_eq!(derived.dated().map(|(url, _)| url).collect::<Vec<_>>(), ["https://a.example/1"]);
    let sitemap = "<urlset><url><loc>https://a.example/2?utm_source=map&amp;p=1</loc></url></urlset>";
    let read = event("https://a.example/sitemap.xml", response(&[("content-type", "text/xml")], sitemap));
    let derived = derive(&PageEvent { kind: Kind::Sitemap, ..read }, &options);
    assert_eq!(urls(&derived), ["https://a.example/2?p=1"]);
}
