//! Bodies are generated on request. The same page and version give the same bytes.

use std::fmt::Write;

use super::web::{Host, Media, Page};
use super::{World, mix};

const WORDS: [&str; 64] = [
    "harbour", "lantern", "gravel", "willow", "copper", "ledger", "orchard", "saddle", "thimble", "quarry", "bramble",
    "cinder", "drover", "ember", "furrow", "gable", "hollow", "inkwell", "juniper", "kettle", "lattice", "marrow",
    "nettle", "oatmeal", "pebble", "quill", "rafter", "sickle", "tallow", "urchin", "velvet", "wicker", "yarrow",
    "zephyr", "anchor", "barley", "candle", "dapple", "estuary", "flint", "goose", "hazel", "island", "jetty", "kiln",
    "loom", "meadow", "needle", "oar", "parcel", "quiet", "river", "shingle", "timber", "under", "valley", "window",
    "yonder", "zinc", "almond", "bucket", "clover", "dusk", "elder",
];

impl World {
    /// The body of `page` of `host` in a version.
    pub fn body(&self, host: &Host, page: &Page, version: u32) -> String {
        let mut body = String::with_capacity(page.size as usize + 400);
        let text = mix(u64::from(page.near.unwrap_or(page.id)), u64::from(version));
        if page.media == Media::Plain {
            _ = writeln!(body, "page {} version {version}", page.id);
            words(&mut body, text, page.size as usize, page.near.map(|_| page.id));
            return body;
        }
        let title = WORDS[text as usize % WORDS.len()];
        _ = write!(body, "<!doctype html><html lang=en><head><meta charset=utf-8><title>{title} {}</title>", page.id);
        if page.is_noindex(page.begins(version)) {
            body += "<meta name=robots content=noindex>";
        }
        if let Some(url) = page.canonical.and_then(|id| self.url_of(id)) {
            _ = write!(body, "<link rel=canonical href=\"{url}\">");
        }
        _ = write!(body, "</head><body><h1>{title}, number {} of {}</h1><p>", page.id, host.name);
        words(&mut body, text, page.size as usize, page.near.map(|_| page.id));
        body += "</p>\n<ul>";
        for link in page.links_of(version) {
            if let Some(url) = self.url_of_link(&link.to) {
                _ = write!(
                    body,
                    "<li><a href=\"{}\">{}</a>",
                    url.replace('&', "&amp;"),
                    WORDS[url.len() % WORDS.len()]
                );
            }
        }
        if let Some(trap) = host.trap.as_ref().filter(|_| page.path == "/") {
            _ = write!(body, "<li><a href=\"{}{}0\">calendar</a>", host.origin(), trap.prefix);
        }
        _ = write!(body, "</ul>\n<p>version {version}</p></body></html>\n");
        body
    }

    /// A page of a trap.
    pub fn trap_body(&self, host: &Host, number: u64) -> String {
        let Some(trap) = &host.trap else { return String::new() };
        let mut body = String::from("<!doctype html><title>calendar</title><p>");
        let text = if trap.is_monotonous { u64::from(host.id) } else { mix(u64::from(host.id), number) };
        words(&mut body, text, 300, None);
        for next in [number + 1, number + 2].into_iter().filter(|next| trap.has(*next)) {
            _ = write!(body, "<a href=\"{}{}{next}\">next</a> ", host.origin(), trap.prefix);
        }
        body
    }

    pub fn sitemap(&self, host: &Host, at: u64) -> String {
        let mut body =
            String::from("<?xml version=\"1.0\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
        let origin = host.origin();
        for page in host.pages.iter().filter(|page| page.is_there(at) && page.moved_at(at).is_none()) {
            _ = write!(body, "<url><loc>{origin}{}</loc>", page.path.replace('&', "&amp;"));
            let changed = page.begins(page.version_at(at));
            if changed > 0 && page.has_last_modified {
                _ = write!(body, "<lastmod>{}</lastmod>", rfc3339(changed));
            }
            body += "</url>\n";
        }
        body + "</urlset>\n"
    }
}

/// A wrong page, such as a notice of maintenance. With `own`, each URL has a different one.
pub fn wrong(text: &str, own: Option<&str>) -> String {
    let number = own.map_or(0, |url| url.bytes().fold(7, |hash, byte| mix(hash, u64::from(byte))));
    let mut body = format!("<!doctype html><title>{text}</title><p>{text}. ");
    words(&mut body, number, 200, None);
    body + "</p>\n"
}

/// Appends words up to a number of bytes. `differs`: changes some of the words, for a near duplicate.
fn words(body: &mut String, seed: u64, bytes: usize, differs: Option<u32>) {
    let (end, mut state, mut count) = (body.len() + bytes, seed, 0u32);
    while body.len() < end {
        state = mix(state, 1);
        let mut left = state;
        for _ in 0..8 {
            body.push_str(WORDS[(left & 63) as usize]);
            body.push(' ');
            left >>= 8;
        }
        count += 8;
        if let Some(by) = differs.filter(|_| count == 8) {
            _ = write!(body, "variant{by} ");
        }
    }
}

fn rfc3339(ms: u64) -> String {
    let time = time::OffsetDateTime::from_unix_timestamp((ms / 1000) as i64).expect("a time of our century");
    time.format(&time::format_description::well_known::Rfc3339).expect("a time that can be written")
}
