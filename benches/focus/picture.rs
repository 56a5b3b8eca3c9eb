//! The crawls as curves: `docs/focus.svg`.

use std::fmt::Write;

/// A strategy, and what part of the wanted pages it had by what part of all fetches, both 0 to 1.
pub struct Curve {
    pub name: &'static str,
    pub points: Vec<f64>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 200.0;
const TOP: f64 = 74.0;
const BOTTOM: f64 = 56.0;

/// Light or dark, as the page around it is.
const STYLE: &str = "\
text { font: 14px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #24292f }
.title { font-size: 17px; font-weight: 600 } .note { font-size: 12.5px; fill: #57606a }
.ground { fill: #fff } .grid { stroke: #d8dee4 } path { fill: none; stroke-width: 2.5 }
.c0 { stroke: #b6bfc8 } .c1 { stroke: #b7791f; stroke-dasharray: 6 4 } .c2 { stroke: #b7791f } .c3 { stroke: #7fb8a4 }
.c4 { stroke: #1a7f9c } .c5 { stroke: #1a7f9c; stroke-dasharray: 6 4 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .note { fill: #9aa4af } .ground { fill: #0d1117 } .grid { stroke: #30363d }
.c0 { stroke: #57606a } .c1, .c2 { stroke: #e3b341 } .c3 { stroke: #5f9e88 } .c4, .c5 { stroke: #3fb6d3 } }";

pub fn draw(curves: &[Curve], pages: usize, webs: u64) -> String {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let x = |part: f64| LEFT + part * (right - LEFT);
    let y = |part: f64| bottom - part * (bottom - TOP);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" role=\"img\" \
         aria-label=\"Relevant pages found by fetches\">\n<style>\n{STYLE}\n</style>\n\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/>\n\
         <text class=\"title\" x=\"24\" y=\"34\">Relevant pages found, by fetches</text>\n\
         <text class=\"note\" x=\"24\" y=\"55\">Made webs of {pages} pages, of which one in twenty is about what is looked for; the mean of {webs}</text>"
    );
    for percent in [0, 25, 50, 75, 90, 100] {
        let (part, class) = (f64::from(percent) / 100.0, "note");
        let at = y(part);
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/>\
             <text class=\"{class}\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{percent} %</text>",
            LEFT - 8.0,
            at + 4.0
        );
        if percent != 90 {
            let _ = writeln!(
                out,
                "<text class=\"{class}\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{percent} %</text>",
                x(part),
                bottom + 20.0
            );
        }
    }
    let _ = writeln!(
        out,
        "<text class=\"note\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">of all pages that can be reached, fetched</text>",
        x(0.5),
        bottom + 40.0
    );
    for (number, curve) in curves.iter().enumerate() {
        let last = (curve.points.len() - 1) as f64;
        let points =
            curve.points.iter().zip(0..).map(|(found, at)| format!("{:.1},{:.1}", x(f64::from(at) / last), y(*found)));
        let line = points.collect::<Vec<_>>().join("L");
        let label = TOP + 14.0 + 26.0 * number as f64;
        let _ = writeln!(
            out,
            "<path class=\"c{number}\" d=\"M{line}\"/>\
             <path class=\"c{number}\" d=\"M{:.1},{:.1}h26\"/><text class=\"note\" x=\"{:.1}\" y=\"{label:.1}\">{}</text>",
            right + 12.0,
            label - 4.0,
            right + 44.0,
            curve.name
        );
    }
    out + "</svg>\n"
}
