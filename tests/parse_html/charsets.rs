//! The encoding of a page, and the page as text.

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
    // Latin-1 called UTF-8: the letters are lost, the links are not.
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
