use seine::parse::{html_stream, html_tree::Tree};
use std::time::Instant;
fn main() {
    let d = 100_000;
    for (n, o, c) in [
        ("div", "<div>", "</div>"),
        ("unclosed div", "<div>", ""),
        ("b", "<b>", "</b>"),
        ("bp", "<b><p>", ""),
        ("a", "<a href=/n>", ""),
        ("font", "<font color=x><p>x", "</font>"),
        ("table", "<table><tr><td>", ""),
        ("svg", "<svg>", "</svg>"),
        ("template", "<template>", ""),
        ("stray", "</p></b></x>", ""),
    ] {
        let page = format!("{}<a href=/deep>x</a>{}<a href=/after>y</a>", o.repeat(d), c.repeat(d));
        let t = Instant::now();
        let r = html_stream::read(&page, "S").map(|f| f.links.len());
        let ts = t.elapsed();
        let t = Instant::now();
        let tr = Tree::parse(&page);
        let tp = t.elapsed();
        let t = Instant::now();
        let f = tr.facts("S").links.len();
        println!("{n}: stream {ts:?} {r:?} tree {tp:?} facts {:?} {f} cut {}", t.elapsed(), tr.is_cut);
    }
}
