//! The year as a picture: `docs/recrawl.svg`.

use std::fmt::Write;

/// A bar: what made the looks, and how much of the time copies were fresh with them.
pub struct Bar {
    pub name: &'static str,
    pub fresh: f64,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Seine,
    Other,
    /// What cannot be had.
    Best,
}

const WIDTH: f64 = 760.0;
const LEFT: f64 = 265.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 74.0;
const ROW: f64 = 36.0;
const BAR: f64 = 22.0;

/// Light or dark, as the page around it is.
const STYLE: &str = "\
text { font: 14px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #24292f }
.title { font-size: 17px; font-weight: 600 } .note { font-size: 12.5px; fill: #57606a }
.value { font-weight: 600; font-variant-numeric: tabular-nums } .ground { fill: #fff } .grid { stroke: #d8dee4 }
.seine { fill: #1a7f9c } .other { fill: #b6bfc8 } .best { fill: none; stroke: #57606a; stroke-width: 1.5; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .note { fill: #9aa4af } .ground { fill: #0d1117 } .grid { stroke: #30363d }
.seine { fill: #3fb6d3 } .other { fill: #57606a } .best { stroke: #9aa4af } }";

/// As long as they are fresh; so many pages, looked at so many days apart.
pub fn draw(bars: &[Bar], pages: usize, mean_days: u64) -> String {
    let pages = thousands(pages);
    let height = TOP + bars.len() as f64 * ROW + 44.0;
    let mut out = String::new();
    let at = |fresh: f64| LEFT + fresh * (WIDTH - LEFT - RIGHT);
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" role=\"img\" \
         aria-label=\"How much of the time copies are fresh\">\n<style>\n{STYLE}\n</style>\n\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\n\
         <text class=\"title\" x=\"24\" y=\"34\">How much of the time copies are fresh</text>\n\
         <text class=\"note\" x=\"24\" y=\"55\">A simulated year of {pages} pages; every schedule makes as many looks: \
         one in {mean_days} days a page on average</text>"
    );
    let bottom = TOP + bars.len() as f64 * ROW;
    for percent in [0, 25, 50, 75, 100] {
        let x = at(f64::from(percent) / 100.0);
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>\
             <text class=\"note\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{percent} %</text>",
            bottom + 20.0
        );
    }
    for (row, Bar { name, fresh, kind }) in bars.iter().enumerate() {
        let y = TOP + row as f64 * ROW + (ROW - BAR) / 2.0;
        let class = match kind {
            Kind::Seine => "seine",
            Kind::Other => "other",
            Kind::Best => "best",
        };
        let (end, text) = (at(*fresh), y + BAR / 2.0 + 5.0);
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{text}\" text-anchor=\"end\">{name}</text>\
             <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{BAR}\" rx=\"3\"/>\
             <text class=\"value\" x=\"{:.1}\" y=\"{text}\">{:.1} %</text>",
            LEFT - 12.0,
            end - LEFT,
            end + 8.0,
            fresh * 100.0
        );
    }
    out + "</svg>\n"
}

fn thousands(number: usize) -> String {
    match number {
        1000.. => format!("{},{:03}", thousands(number / 1000), number % 1000),
        _ => number.to_string(),
    }
}
