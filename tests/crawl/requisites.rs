//! Page requisites, fetched if configured: on any host, and at any depth of their page.

use std::collections::BTreeSet;

use crate::support::server::{Answer, Ask};

use crate::support::program::{Place, Process, run};
use crate::support::{Running, links, origin as origin_of};

const SETTINGS: &str = "link_storage.download_sitemap_xml: false\n\
    crawler_manager.downloader.valid_mime_types: [text/html]\n";

/// A site on one host, with images and styles on another.
fn site() -> Running {
    Running::start_with(2, |port| {
        std::sync::Arc::new(move |ask: &Ask| {
            let other = origin_of(port, 1);
            match ask.path() {
                "/" => Answer::html(format!(
                    "<link rel=stylesheet href={other}/main.css><img src={other}/logo.png srcset='/wide.png 2x'>\
                     <script src={other}/app.js></script>{}",
                    links(&["/deep"])
                )),
                "/deep" => Answer::html(format!("<img src={other}/deep.png>{}", links(&["/deeper"]))),
                "/main.css" => css("@import '1.css'; body { background: url(/back.png) }"),
                // Imports without end.
                "/1.css" => css("@import '2.css'; @font-face { src: url(/font.woff2) }"),
                "/2.css" => css("@import '3.css'"),
                "/3.css" => css("@import '4.css'"),
                path if path.ends_with(".png") => Answer::new(200, "an image").header("content-type", "image/png"),
                "/app.js" | "/font.woff2" => Answer::new(200, "x").header("content-type", "application/octet-stream"),
                _ => Answer::text("").status(404),
            }
        })
    })
}

fn css(sheet: &str) -> Answer {
    Answer::new(200, sheet.to_owned()).header("content-type", "text/css")
}

fn crawl(site: &Running, place: &Place) -> String {
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--max-depth", "1"])).wait().ok().stderr
}

/// Paths of delivered pages, by host.
fn kept(site: &Running, place: &Place, host: usize) -> BTreeSet<String> {
    let origin = site.origin(host);
    place.kept().into_keys().filter_map(|url| url.strip_prefix(&origin).map(str::to_owned)).collect()
}

fn set<const N: usize>(paths: [&str; N]) -> BTreeSet<String> {
    paths.map(str::to_owned).into()
}

#[test]
fn an_archive_gets_what_its_pages_need() {
    let site = site();
    let place = Place::with(&format!("{SETTINGS}link_storage.link_strategy.requisites: [images, styles]\n"));
    crawl(&site, &place);
    assert_eq!(kept(&site, &place, 0), set(["/", "/deep", "/wide.png"]));
    // A sheet, a sheet that it imports, and one imported by that; requisites of the last one are too far.
    assert_eq!(
        kept(&site, &place, 1),
        set(["/main.css", "/1.css", "/2.css", "/font.woff2", "/back.png", "/logo.png", "/deep.png"])
    );
    let (folder, url) = (place.data(), site.origin(1) + "/back.png");
    let told = run(&["why", "-o", folder.to_str().unwrap(), &url]).ok().stdout;
    assert!(told.contains("needed by http") && told.contains("/main.css"), "{told}");
}

#[test]
fn without_it_nothing_of_that_is_asked_for_and_a_later_start_gets_it_for_what_is_known() {
    let site = site();
    let place = Place::with(SETTINGS);
    crawl(&site, &place);
    assert_eq!(kept(&site, &place, 0), set(["/", "/deep"]));
    assert_eq!(kept(&site, &place, 1), set([]));
    place.set("link_storage.link_strategy.requisites", "[scripts]");
    crawl(&site, &place);
    assert_eq!(kept(&site, &place, 1), set(["/app.js"]));
    assert_eq!(kept(&site, &place, 0), set(["/", "/deep"]));
}

#[test]
fn lists_of_patterns_hold_for_them_too() {
    let site = site();
    let place = Place::with(&format!(
        "{SETTINGS}link_storage.link_strategy.requisites: [images]\n\
         link_storage.link_strategy.whitelist: ['http://127\\.0\\.0\\.11.*']\n\
         link_storage.link_strategy.blacklist: ['.*/logo\\.png']\n"
    ));
    crawl(&site, &place);
    assert_eq!(kept(&site, &place, 1), set(["/deep.png"]), "what is forbidden is left out, what is not listed comes");
}

#[test]
fn a_name_that_is_none_is_told() {
    let place = Place::with("link_storage.link_strategy.requisites: [images, fonts]\n");
    let told = Process::start(place.crawl(&["http://a.example/".to_owned()], &[])).wait().exits(1).stderr;
    assert!(told.contains("link_storage.link_strategy.requisites") && told.contains("fonts"), "{told}");
}
