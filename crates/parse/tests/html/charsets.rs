//! The encoding of a page, and its decoded text.

use seine_parse::url;

use super::*;

fn charset_of(body: &[u8], content_type: &str) -> &'static str {
    charset::detect(body, Some(content_type)).name()
}

#[test]
fn charset_sources_are_trusted_in_the_standards_order() {
    let meta = b"<meta charset=koi8-r>\xd0\xd2";
    assert_eq!(charset_of(b"\xef\xbb\xbf<meta charset=koi8-r>", "text/html; charset=big5"), "UTF-8");
    assert_eq!(charset_of(b"\xff\xfe<\0", "text/html"), "UTF-16LE");
    assert_eq!(charset_of(meta, "text/html; charset=big5"), "Big5");
    assert_eq!(charset_of(meta, "text/html; foo=bar; CharSet='ISO-8859-2'"), "ISO-8859-2");
    assert_eq!(charset_of(meta, "text/html; charset=nonsense"), "KOI8-R");
    assert_eq!(charset_of(b"\xc3\xa9", "text/html"), "UTF-8");
    assert_eq!(charset_of(b"plain", "text/html"), "windows-1252");
    assert_eq!(charset::detect(b"caf\xe9 au lait, d\xe9j\xe0 vu, o\xf9 \xeates-vous", None).name(), "windows-1252");
}

#[test]
fn meta_prescan_follows_the_standard() {
    for (page, expected) in [
        ("<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'>", "Shift_JIS"),
        ("<meta content='charset=Shift_JIS' http-equiv=Content-Type>", "Shift_JIS"),
        ("<meta content='text/html; charset=Shift_JIS'>", "windows-1252"),
        ("<!-- <meta charset=koi8-r> --><meta charset=gbk>", "GBK"),
        ("<!--><meta charset=gbk>", "GBK"),
        ("<a title='<meta charset=koi8-r>'><meta charset=gbk>", "GBK"),
        ("<meta charset=bogus><META/CHARSET='gbk'>", "GBK"),
        ("<meta charset=utf-16>", "UTF-8"),
        ("<meta charset=x-user-defined>", "windows-1252"),
        ("<meta charset=gbk charset=koi8-r>", "GBK"),
        ("<meta charset=gbk", "windows-1252"),
        ("<?xml version='1.0' encoding='koi8-r'?><html>", "KOI8-R"),
        ("<metadata charset=gbk>", "windows-1252"),
    ] {
        assert_eq!(charset_of(page.as_bytes(), "text/html"), expected, "{page}");
    }
    let late = format!("<!-- {} --><meta charset=gbk>", "x".repeat(5000));
    assert_eq!(charset_of(late.as_bytes(), "text/html"), "GBK");
}

#[test]
fn a_lying_charset_does_not_hide_the_page() {
    let page = "<title>T</title><a href=/x>\u{e9}</a>";
    for lie in ["utf-16", "utf-16be", "iso-2022-kr", "hz-gb-2312", "nonsense"] {
        let event =
            event("https://a.example/", response(&[("content-type", &format!("text/html; charset={lie}"))], page));
        let derived = derive(&event, &options());
        assert_eq!(urls(&derived), ["https://a.example/x"], "{lie}");
        assert_eq!(derived.charset, Some("UTF-8"), "{lie}");
    }
    // Latin-1 labelled as UTF-8: the letters are lost, the links are not.
    let body = b"<title>caf\xe9</title><a href=/x>x</a>".to_vec();
    let derived = derive(
        &event("https://a.example/", response(&[("content-type", "text/html; charset=utf-8")], body)),
        &options(),
    );
    assert_eq!(derived.title.as_deref(), Some("caf\u{fffd}"));
    assert_eq!(urls(&derived), ["https://a.example/x"]);
}

#[test]
fn utf_16_is_read_with_and_without_byte_order_mark() {
    let page = "<title>Über 漢字 — ok</title><p>Text <a href='/ü'>link</a> and some more of it</p>";
    let little: Vec<u8> = page.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = page.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked: Vec<u8> = [b"\xfe\xff".to_vec(), big.clone()].concat();
    for (body, name) in [(little, "UTF-16LE"), (big, "UTF-16BE"), (marked, "UTF-16BE")] {
        let derived =
            derive(&event("https://a.example/", response(&[("content-type", "text/html")], body)), &options());
        assert_eq!(derived.charset, Some(name));
        assert_eq!(derived.title.as_deref(), Some("Über 漢字 — ok"));
        assert_eq!(urls(&derived), ["https://a.example/%C3%BC"]);
    }
}

#[test]
fn utf_8_is_not_copied() {
    let body = "<p>größe</p>".as_bytes();
    assert!(matches!(charset::decode_text(body, encoding_rs::UTF_8), std::borrow::Cow::Borrowed("<p>größe</p>")));
    assert_eq!(charset::decode_text(b"\xef\xbb\xbfx", encoding_rs::UTF_8), "x");
}

/// As in browsers: the query in the page's charset, the path in UTF-8.
#[test]
fn queries_of_links_are_in_the_charset_of_the_page() {
    let links = |content_type: &str, label: &str, page: &str| {
        let (body, _, _) = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap().encode(page);
        let answer = response(&[("content-type", content_type)], body.into_owned());
        let derived = derive(&event("https://a.example/", answer), &options());
        (
            derived.canonical.clone(),
            urls(&derived).into_iter().map(|url| url["https://a.example".len()..].to_owned()).collect(),
        )
    };
    let of = |label: &str, page: &str| -> Vec<String> { links(&format!("text/html; charset={label}"), label, page).1 };
    assert_eq!(of("gbk", "<a href='/中?q=中文&p=a#文'>"), ["/%E4%B8%AD?p=a&q=%D6%D0%CE%C4"]);
    assert_eq!(of("utf-8", "<a href='/中?q=中文'>"), ["/%E4%B8%AD?q=%E4%B8%AD%E6%96%87"]);
    assert_eq!(
        of("windows-1251", "<area href='?q=мир'><iframe src='?q=%D0%BC'></iframe>"),
        ["/?q=%EC%E8%F0", "/?q=%D0%BC"]
    );
    assert_eq!(of("shift_jis", "<link rel=next href='?q=表&r=ソ'>"), ["/?q=%95%5C&r=%83%5C"]);
    // A character missing in the charset becomes a reference, which does not end the parameter.
    assert_eq!(of("iso-8859-1", "<a href='?q=&#20013;é&r=1'>"), ["/?q=%26%2320013%3B%E9&r=1"]);
    assert_eq!(of("gbk", "<meta http-equiv=refresh content='0;url=/?q=中'>"), ["/?q=%D6%D0"]);
    // Links of UTF-16 pages use UTF-8, as the standard requires.
    let utf16: Vec<u8> = "\u{feff}<a href='?q=中'>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let derived = derive(&event("https://a.example/", response(&[("content-type", "text/html")], utf16)), &options());
    assert_eq!(urls(&derived), ["https://a.example/?q=%E4%B8%AD"]);
    // A charset declared only in the page counts, too, also for the canonical URL.
    let (canonical, found): (_, Vec<String>) =
        links("text/html", "big5", "<meta charset=big5><link rel=canonical href='/?q=中'>");
    assert_eq!((canonical.as_deref(), &*found[0]), (Some("https://a.example/?q=%A4%A4"), "/?q=%A4%A4"));
}

/// Headers do not use the page's charset.
#[test]
fn queries_in_headers_are_utf_8() {
    let headers = [("content-type", "text/html; charset=gbk"), ("link", "</?q=\u{e4}\u{b8}\u{ad}>; rel=next")];
    let derived = derive(&event("https://a.example/", response(&headers, "")), &options());
    assert_eq!(urls(&derived), ["https://a.example/?q=%E4%B8%AD"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

    /// For any text in a link, the URL is normalised, and decoding it in the charset gives the text back.
    #[test]
    fn a_query_in_any_charset_gives_a_normal_url(label in "(gbk|gb18030|big5|shift_jis|euc-kr|euc-jp|iso-2022-jp|koi8-r|windows-1252)", query in "[a-z中文я表é€😀&=;%# ]{0,12}") {
        let base = ::url::Url::parse("http://a.example/").unwrap();
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        if let Some(found) = url::resolve_in(&base, &format!("?{query}"), encoding) {
            prop_assert!(found.is_ascii());
            prop_assert_eq!(url::parse(&found), Some(found.clone()), "{:?}", query);
        }
    }
}
