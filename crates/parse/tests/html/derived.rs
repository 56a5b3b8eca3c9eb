//! The data derived from an event: links are resolved, marked, and without repeats.

use super::*;

#[test]
fn each_link_once_and_followed_if_any_of_them_may() {
    let derived = derive(
        &html_event(
            "<a rel=nofollow href=/a><a href='../a#x'><a rel=nofollow href=b><a rel=nofollow href=./b?><a href=b>",
        ),
        &options(),
    );
    let found: Vec<(&str, bool)> = derived.links.iter().map(|link| (link.url.as_str(), link.nofollow)).collect();
    assert_eq!(found[0], ("https://site.example/a", false));
    assert_eq!(found[1], ("https://site.example/dir/b", false));
}

#[test]
fn headers_give_links_too() {
    let headers = [
        ("content-type", "text/html"),
        ("Link", "</c>; rel=canonical, <next page>; title=\"a, <b>; rel=x\"; rel=\"next nofollow\""),
        ("link", "</style.css>; rel=preload; as=style, </other>; rel=next; anchor=\"/elsewhere\", <broken"),
        ("Refresh", "0; url=/refreshed"),
    ];
    let derived =
        derive(&event("https://a.example/x/y", response(&headers, "<base href=/base/><a href=z>")), &options());
    assert_eq!(
        urls(&derived),
        [
            "https://a.example/c",
            "https://a.example/x/next%20page",
            "https://a.example/refreshed",
            "https://a.example/base/z"
        ]
    );
    assert!(derived.links[1].nofollow);
    assert_eq!(derived.canonical.as_deref(), Some("https://a.example/c"));
    assert_eq!(
        link_header::parse("<x").len() + link_header::parse("").len() + link_header::parse("<a>;rel=\"").len(),
        1
    );
}

/// The purpose named in RFC 6596.
#[test]
fn of_what_is_no_html_a_header_says_the_canonical_url() {
    let headers = [("content-type", "application/pdf"), ("Link", "<../page>; rel=\"canonical\"")];
    let mut response = response(&headers, "%PDF-1.7");
    let derived = derive(&event("https://a.example/x/file.pdf", response.clone()), &options());
    assert_eq!(derived.canonical.as_deref(), Some("https://a.example/page"));
    assert_eq!(derived.links, [], "it is not followed for that");
    response.status = 404;
    assert_eq!(derive(&event("https://a.example/x/file.pdf", response), &options()).canonical, None);
}

#[test]
fn links_are_resolved_against_the_final_url() {
    let mut event = html_event("<a href=x>");
    event.final_url = "https://moved.example/new/place".into();
    assert_eq!(urls(&derive(&event, &options())), ["https://moved.example/new/x"]);
    let mut event = html_event("<base href='javascript:1'><a href=x>");
    event.final_url = "https://moved.example/new/place".into();
    assert_eq!(urls(&derive(&event, &options())), ["https://moved.example/new/x"]);
}

#[test]
fn only_successful_html_has_links() {
    let page = "<title>T</title><a href=/x>";
    let links = |headers: &[(&str, &str)], status: u16, body: &str| {
        let mut response = response(headers, body.to_owned());
        response.status = status;
        derive(&event("https://a.example/", response), &options()).links.len()
    };
    assert_eq!(links(&[("content-type", "TEXT/HTML;charset=utf-8")], 200, page), 1);
    assert_eq!(links(&[("content-type", "application/xhtml+xml")], 203, page), 1);
    assert_eq!(links(&[], 200, &format!("\n <!DOCTYPE html>{page}")), 1);
    assert_eq!(links(&[], 200, page), 1);
    assert_eq!(links(&[], 200, "plain text <a href=/x>"), 0);
    assert_eq!(links(&[("content-type", "text/plain")], 200, page), 0);
    assert_eq!(links(&[("content-type", "text/html")], 404, page), 0);

    let mut sitemap = html_event(page);
    sitemap.kind = Kind::Sitemap;
    let derived = derive(&sitemap, &options());
    assert_eq!((derived.title, derived.body), (None, Bytes::from(page)));
}

#[test]
fn body_digest_and_text_are_of_the_decoded_body() {
    let page = "<title>größe</title>";
    let headers = [("content-type", "text/html"), ("content-encoding", "gzip")];
    let derived = derive(&event("https://a.example/", response(&headers, gzip(page.as_bytes()))), &options());
    assert_eq!(derived.body, page);
    assert_eq!(derived.text(), page);
    assert_eq!(&derived.digest[..], &Sha256::digest(page)[..]);
    assert_eq!((derived.is_html, derived.charset, derived.decode_problem), (true, Some("UTF-8"), None));
}

#[test]
fn both_ways_derive_the_same() {
    for (name, text) in pages() {
        let event = html_event(&text);
        let (derived, facts) = derive_with_text(&event, &options());
        assert_eq!(derived, derive(&event, &options()), "{name}");
        assert!(!derived.links.is_empty() && facts.is_some(), "{name}");
    }
}

#[test]
fn every_spelling_of_htmls_media_type_is_html() {
    for sent in [
        "text/html",
        "Text/HTML;charset=ISO-8859-2",
        "TEXT/HTML ; Charset=iso-8859-2",
        "text/html charset=iso-8859-2",
        " text/html\t;charset=iso-8859-2",
        "text/html, charset=iso-8859-2",
        "text/html,text/html; charset=iso-8859-2",
        "\"text/html\"; charset=\"iso-8859-2\"",
        ";text/html",
        "application/xhtml+xml",
        "Application/XHTML+XML; charset=iso-8859-2",
        "application/vnd.wap.xhtml+xml",
    ] {
        let page = "<title>t</title><a href=/x>x</a>";
        let derived =
            derive(&event("https://a.example/", response(&[("content-type", sent)], page.to_owned())), &options());
        assert!(derived.is_html, "{sent:?}");
        assert_eq!((derived.title.as_deref(), urls(&derived)), (Some("t"), vec!["https://a.example/x"]), "{sent:?}");
        if sent.contains("8859") {
            assert_eq!(derived.charset, Some("ISO-8859-2"), "{sent:?}");
        }
    }
    for sent in ["text/plain", "text/htmlx", "application/xml; x=text/html", "image/svg+xml", "text"] {
        let page = "<title>t</title>".to_owned();
        let derived = derive(&event("https://a.example/", response(&[("content-type", sent)], page)), &options());
        assert!(!derived.is_html, "{sent:?}");
    }
}
