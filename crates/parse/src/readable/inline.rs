//! Writes the text of a block as Markdown: emphasis, code, links and images. Escapes everything that would be read as
//! markup.

use url::Url;

use super::blocks::Block;
use super::tree::Tree;
use crate::html::names::Name;

/// Number of elements around a block that are searched for a link.
const MAX_STEPS: usize = 24;

/// The formatting of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Style {
    bold: bool,
    italic: bool,
    struck: bool,
    code: bool,
    /// The element `<a href>`; 0: none.
    link: u32,
}

/// A piece of text in one style, with white space collapsed. `\n`: a line ends there.
#[derive(Debug)]
struct Run {
    style: Style,
    text: String,
    /// The text is Markdown already.
    is_done: bool,
}

/// Writes blocks of a page as Markdown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inline<'a> {
    pub tree: &'a Tree<'a>,
    /// The base of links; without it they are unchanged.
    pub base: Option<&'a Url>,
}

impl Inline<'_> {
    /// The lines of a block. `one_line`: for headings and cells.
    pub(super) fn block(&self, block: &Block, one_line: bool) -> String {
        let mut text = String::new();
        let mut runs = self.runs(block, one_line);
        // In a table `\|` is a bar, in code too.
        runs.iter_mut().for_each(|run| run.style.code &= !(one_line && run.text.contains("\\|")));
        let mut rest = &runs[..];
        while let Some(first) = rest.first() {
            let length = rest.iter().take_while(|run| run.style.link == first.style.link).count();
            let (linked, behind) = rest.split_at(length);
            rest = behind;
            let target = (first.style.link > 0).then(|| self.target(first.style.link)).flatten();
            match target {
                Some(target) => self.link(linked, &target, behind, &mut text),
                None => write_runs(linked, next_char(behind), &mut text),
            }
        }
        escape_lines(text.trim())
    }

    /// An image with its description; none without one.
    pub(super) fn picture(&self, number: u32) -> Option<String> {
        let alt = self.tree.attribute(number, "alt").map(|alt| collapse(&alt)).filter(|alt| !alt.is_empty())?;
        let source = ["src", "data-src"]
            .iter()
            .find_map(|name| self.tree.attribute(number, name).filter(|it| !it.starts_with("data:")))?;
        let target = self.resolve(&source)?;
        let mut text = String::from("![");
        escape_into(&alt, &mut text);
        text.extend(["](", &target, ")"]);
        Some(text)
    }

    fn link(&self, runs: &[Run], target: &str, behind: &[Run], text: &mut String) {
        let mut inner = String::new();
        write_runs(runs, None, &mut inner);
        let words = inner.trim();
        if words.is_empty() {
            return write_runs(runs, next_char(behind), text);
        }
        if inner.starts_with(char::is_whitespace) {
            text.push(' ');
        }
        if text.ends_with('!') {
            text.insert(text.len() - 1, '\\');
        }
        let ends_blank = inner.ends_with(char::is_whitespace);
        text.extend(["[", &words.replace('\n', " "), "](", target, ")"]);
        if ends_blank {
            text.push(' ');
        }
    }

    fn target(&self, link: u32) -> Option<String> {
        self.resolve(&self.tree.attribute(link, "href")?)
    }

    /// A URL that readers may follow, safe inside parentheses.
    fn resolve(&self, written: &str) -> Option<String> {
        let written = written.trim();
        let absolute = match self.base {
            Some(base) => base.join(written).ok(),
            None => Url::parse(written).ok(),
        };
        let target = match absolute {
            Some(url) if matches!(url.scheme(), "http" | "https" | "mailto") => url.to_string(),
            // A scheme other than http(s).
            Some(_) => return None,
            None => written.to_owned(),
        };
        let is_plain = |c: char| {
            !c.is_whitespace()
                && !c.is_control()
                && !matches!(c, '<' | '>' | '(' | ')' | '\\' | '*' | '_' | '`' | '[' | ']')
        };
        if target.is_empty() || target.contains(['<', '>', '\n', '\r', '\\']) || target.contains(char::is_control) {
            return None;
        }
        let target = target.replace('&', "&amp;");
        Some(if target.chars().all(is_plain) { target } else { format!("<{target}>") })
    }

    fn runs(&self, block: &Block, one_line: bool) -> Vec<Run> {
        let nodes = &self.tree.nodes;
        let mut runs: Vec<Run> = Vec::new();
        let mut open = self.styles_around(block);
        for number in block.first..block.end {
            while open.len() > 1 && open[open.len() - 1].0 <= number {
                open.pop();
            }
            let node = nodes[number as usize];
            let style = open[open.len() - 1].1;
            match node.name {
                None => add_text(&mut runs, style, &self.tree.shown(number)),
                Some(Name::Br) if one_line => add_text(&mut runs, style, " "),
                Some(Name::Br) => runs.push(Run { style, text: "\n".to_owned(), is_done: true }),
                Some(Name::Img) => {
                    let picture = self.picture(number).filter(|_| !style.code);
                    runs.extend(picture.map(|text| Run { style, text, is_done: true }));
                }
                Some(name) if node.end > number + 1 => open.push((node.end, self.style_in(style, name, number))),
                Some(_) => {}
            }
        }
        runs
    }

    /// The styles at the start of a block, each with the position where it ends: those of the inline elements around its
    /// first text, and of a link around everything.
    fn styles_around(&self, block: &Block) -> Vec<(u32, Style)> {
        let mut outer = Vec::new();
        let mut at = self.tree.nodes[block.first as usize].parent;
        let mut is_within = true;
        while at > 0 && outer.len() < MAX_STEPS {
            let node = self.tree.nodes[at as usize];
            let name = node.name.unwrap_or(Name::Other);
            is_within &= !node.is_apart;
            if is_within || name == Name::A {
                outer.push((at, name));
            }
            if matches!(name, Name::Li | Name::Td | Name::Th | Name::Article | Name::Section) {
                break;
            }
            at = node.parent;
        }
        let mut open = vec![(u32::MAX, Style::default())];
        for (number, name) in outer.into_iter().rev() {
            let style = self.style_in(open[open.len() - 1].1, name, number);
            open.push((self.tree.nodes[number as usize].end, style));
        }
        open
    }

    fn style_in(&self, style: Style, name: Name, number: u32) -> Style {
        match name {
            Name::B | Name::Strong => Style { bold: true, ..style },
            Name::I | Name::Em => Style { italic: true, ..style },
            Name::S | Name::Strike | Name::Del => Style { struck: true, ..style },
            Name::Code | Name::Kbd | Name::Samp | Name::Tt => Style { code: true, ..style },
            Name::A if self.target(number).is_some() => Style { link: number, ..style },
            _ => style,
        }
    }
}

fn add_text(runs: &mut Vec<Run>, style: Style, text: &str) {
    let is_new = runs.last().is_none_or(|run| run.style != style || run.is_done);
    let mut was_blank = runs.last().is_none_or(|run| run.text.ends_with([' ', '\n']));
    if is_new {
        runs.push(Run { style, text: String::new(), is_done: false });
    }
    let Some(Run { text: all, .. }) = runs.last_mut() else { return };
    for c in text.chars() {
        if c.is_whitespace() {
            if !was_blank {
                all.push(' ');
            }
            was_blank = true;
        } else {
            all.push(c);
            was_blank = false;
        }
    }
}

/// White space to single blanks, none at the ends.
pub(super) fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn next_char(runs: &[Run]) -> Option<char> {
    runs.iter().find_map(|run| run.text.chars().next())
}

fn write_runs(runs: &[Run], behind: Option<char>, text: &mut String) {
    for (at, run) in runs.iter().enumerate() {
        let core = run.text.trim();
        if run.is_done || core.is_empty() {
            text.push_str(&run.text);
            continue;
        }
        let begin = run.text.len() - run.text.trim_start().len();
        text.push_str(&run.text[..begin]);
        let after = run.text[begin + core.len()..].chars().next().or(next_char(&runs[at + 1..])).or(behind);
        write_styled(run.style, core, after, text);
        text.push_str(&run.text[begin + core.len()..]);
    }
}

fn write_styled(style: Style, core: &str, after: Option<char>, text: &mut String) {
    if style.code && !core.contains('\n') {
        let fence = "`".repeat(longest_run(core, '`') + 1);
        let pad = if core.starts_with('`') || core.ends_with('`') { " " } else { "" };
        // Two adjacent code spans would be read as one.
        if text.ends_with('`') {
            return escape_into(core, text);
        }
        return text.extend([&fence, pad, core, pad, &fence]);
    }
    let marks = [(style.struck, "~~"), (style.bold, "**"), (style.italic, "*")];
    let marks: String = marks.iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| *mark).collect();
    // Markdown recognises emphasis marks only at the edges of words.
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let (first, last) = (core.chars().next(), core.chars().next_back());
    let before = text.chars().next_back();
    let opens = is_word(first) && before != Some('*') && before != Some('~')
        || before.is_none_or(char::is_whitespace) && is_word(first);
    let closes = is_word(last) && after != Some('*') && after != Some('~')
        || last.is_some_and(|c| matches!(c, '.' | ',' | ':' | '!' | '?')) && after.is_none_or(char::is_whitespace);
    let is_mixed = style.struck && (style.bold || style.italic) && (is_word(before) || is_word(after));
    if marks.is_empty() || is_mixed || !opens || !closes || core.contains('\n') {
        return escape_into(core, text);
    }
    text.push_str(&marks);
    escape_into(core, text);
    text.push_str(&if style.struck { format!("{}~~", &marks[2..]) } else { marks });
}

pub(super) fn longest_run(text: &str, wanted: char) -> usize {
    text.split(|c| c != wanted).map(|run| run.chars().count()).max().unwrap_or(0)
}

/// Adds a backslash before every character that could be markup at any position.
fn escape_into(plain: &str, text: &mut String) {
    let mut before = None;
    let mut rest = plain.chars().peekable();
    while let Some(c) = rest.next() {
        let is_within = || {
            let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            is_word(before) && is_word(rest.clone().next())
        };
        let is_markup = match c {
            '\\' | '`' | '*' | '[' | ']' | '<' | '~' | '|' => true,
            '_' => !is_within(),
            '&' => rest.peek().is_some_and(|next| next.is_ascii_alphanumeric() || *next == '#'),
            _ => false,
        };
        if is_markup {
            text.push('\\');
        }
        text.push(c);
        before = Some(c);
    }
}

/// Escapes what would be markup at the beginning of a line. All lines but the last get a hard line break.
fn escape_lines(text: &str) -> String {
    let lines = text.split('\n').map(str::trim).filter(|line| !line.is_empty()).map(|line| {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        match line.as_bytes() {
            [b'#' | b'+' | b'-' | b'=' | b'>', ..] => format!("\\{line}"),
            [..] if digits > 0 && matches!(line.as_bytes().get(digits), Some(b'.' | b')')) => {
                format!("{}\\{}", &line[..digits], &line[digits..])
            }
            _ => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\\\n")
}
