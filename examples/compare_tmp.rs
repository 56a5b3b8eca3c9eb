use seine::parse::{
    charset,
    html::{HtmlFacts, RawLink},
    html_stream,
    html_tree::Tree,
};
use std::collections::HashSet;
fn uniq(f: &HtmlFacts) -> HtmlFacts {
    let mut s = HashSet::new();
    let mut f = f.clone();
    f.links.retain(|l: &RawLink| s.insert(l.clone()));
    f
}
fn main() {
    let (mut n, mut same, mut need, mut diff) = (0, 0, 0, 0);
    let (mut ts, mut tt) = (0u128, 0u128);
    let mut bytes = 0usize;
    let mut links = 0;
    for p in std::io::stdin().lines() {
        let p = p.unwrap();
        let Ok(b) = std::fs::read(&p) else { continue };
        let e = charset::detect(&b, Some("text/html"));
        let t = charset::decode_text(&b, e);
        n += 1;
        bytes += t.len();
        let a = std::time::Instant::now();
        let s = html_stream::read(&t, "Seine");
        ts += a.elapsed().as_micros();
        let a = std::time::Instant::now();
        let tr = Tree::parse(&t).facts("Seine");
        tt += a.elapsed().as_micros();
        links += tr.links.len();
        match s {
            Err(e) => {
                need += 1;
                println!("NEED {p}: {}", e.reason)
            }
            Ok(s) => {
                if uniq(&s) == uniq(&tr) {
                    same += 1
                } else {
                    diff += 1;
                    println!("DIFF {p}");
                    let (s, t) = (uniq(&s), uniq(&tr));
                    if s.title != t.title {
                        println!(" title {:?} {:?}", s.title, t.title)
                    }
                    if s.meta != t.meta {
                        println!(" meta")
                    }
                    let ss: HashSet<_> = s.links.iter().collect();
                    let st: HashSet<_> = t.links.iter().collect();
                    println!(
                        " links only stream {:?} only tree {:?}",
                        ss.difference(&st).take(3).collect::<Vec<_>>(),
                        st.difference(&ss).take(3).collect::<Vec<_>>()
                    );
                }
            }
        }
    }
    println!(
        "{n} pages {bytes} bytes {links} links: same {same} need tree {need} diff {diff}; stream {} us/page tree {} us/page",
        ts / n as u128,
        tt / n as u128
    );
}
