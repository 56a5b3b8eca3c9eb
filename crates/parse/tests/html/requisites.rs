//! Page requisites, and the targets of forms.

use super::*;
use seine_parse::requisites::Requisites;

fn wanting(names: &[&str]) -> DeriveOptions {
    let mut requisites = Requisites::default();
    assert!(names.iter().all(|name| requisites.want(name)));
    DeriveOptions { requisites, ..options() }
}

fn of_page(names: &[&str], body: &str) -> Vec<String> {
    derive(&html_event(body), &wanting(names)).requisites
}

fn of_css(sheet: &str) -> Vec<String> {
    let mut event =
        event("https://cdn.example/css/main.css", response(&[("content-type", "text/css")], sheet.to_owned()));
    event.kind = Kind::Requisite;
    derive(&event, &wanting(&["styles"])).requisites
}

const PAGE: &str = r#"<html><head><base href="https://site.example/app/">
<link rel=stylesheet href=main.css><link rel="shortcut icon" href=/favicon.ico><link rel=preload as=font href=f.woff2>
<link rel=next href=2><script src=a.js></script><script>var x = "<img src=no.png>";</script>
<style>@import "more.css"; body { background: url( 'b g.png' ) }</style></head>
<body background=old.gif style="border-image: url(&quot;border.svg&quot;)">
<img src=one.png srcset="one.png 1x, two.png 2x,three,four.png?a=1,2 3x"><img src="data:image/png;base64,AAAA">
<picture><source srcset="wide.webp 800w" media="(min-width: 800px)"><img src=one.png></picture>
<video src=film.mp4 poster=still.jpg><track src=words.vtt></video><audio><source src=song.ogg></audio>
<input type=image src=button.png><input type=text src=no.png><object data=chart.svg></object>
<svg><image href=drawn.png></image></svg><template><img src=inert.png></template>
<a href=page>page</a>"#;

#[test]
fn each_kind_is_named_by_itself_and_once() {
    let at = |names: &[&str]| names.iter().map(|name| format!("https://site.example/app/{name}")).collect::<Vec<_>>();
    let mut images = at(&[
        "old.gif",
        "one.png",
        "two.png",
        "three,four.png?a=1,2",
        "wide.webp",
        "still.jpg",
        "button.png",
        "drawn.png",
    ]);
    images.insert(0, "https://site.example/favicon.ico".into());
    assert_eq!(of_page(&["images"], PAGE), images);
    assert_eq!(of_page(&["styles"], PAGE), at(&["main.css", "f.woff2", "more.css", "b%20g.png", "border.svg"]));
    assert_eq!(of_page(&["scripts"], PAGE), at(&["a.js"]));
    assert_eq!(of_page(&["media"], PAGE), at(&["film.mp4", "words.vtt", "song.ogg", "chart.svg"]));
    assert_eq!(of_page(&[], PAGE), Vec::<String>::new());
    // Requisites and links do not overlap.
    let derived = derive(&html_event(PAGE), &wanting(&["images", "styles", "scripts", "media"]));
    assert_eq!(urls(&derived), ["https://site.example/app/2", "https://site.example/app/page"]);
}

#[test]
fn a_style_sheet_names_what_it_imports_and_shows() {
    let sheet = r#"@charset "utf-8"; /* url(no.png) @import "no.css"; */
@import 'a.css' screen; @import url(b.css); @IMPORT	url("c.css");
.x::before { content: "url(no.png)"; background: URL(../i/x.png), url('y \
z.png') } .curl(no) { myurl(no.png); src: url(f\6f nt.woff2) url(data:font/woff2;base64,AA) url() }
.y { background: url("unclosed
.z { background: url(last.png"#;
    let expected = ["a.css", "b.css", "c.css", "../i/x.png", "y%20z.png", "font.woff2"];
    let expected = expected.map(|name| format!("https://cdn.example/css/{name}").replace("css/../", ""));
    let found = of_css(sheet);
    assert_eq!(found[..6], expected);
    assert_eq!(found.last().map(String::as_str), Some("https://cdn.example/css/last.png"), "{found:?}");
}

/// A sheet of twice the length takes at most twice as many steps, whatever is left open.
#[test]
fn hostile_sheets_end() {
    for piece in ["url(", "@import ", "/*", "\"\\", "url('\\", "\\u", "@import \"", "url(\n"] {
        of_css(&piece.repeat(400_000 / piece.len()));
    }
    let many: String = (0..50_000).map(|n| format!("<img src={n}.png>")).collect();
    assert_eq!(of_page(&["images"], &many).len(), seine_parse::requisites::MAX_REQUISITES);
}

#[test]
fn what_is_asked_for_as_an_image_and_is_a_page_is_read_as_one() {
    let mut event = html_event("<a href=/on>on</a>");
    event.kind = Kind::Requisite;
    assert_eq!(urls(&derive(&event, &options())), ["https://site.example/on"]);
}

#[test]
fn forms_lead_somewhere_only_when_asked() {
    let page = "<form action=/find?old=1><input name=q></form><form method=POST action=/buy></form><form method=get></form>\
                <form METHOD=Get action=/also></form>";
    assert!(urls(&derive(&html_event(page), &options())).is_empty());
    let options = DeriveOptions { forms: true, ..options() };
    assert_eq!(urls(&derive(&html_event(page), &options)), ["https://site.example/find", "https://site.example/also"]);
}
