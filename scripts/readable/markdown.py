"""markdown.py PAGES [--truth FOLDER] [--every N] [--program FILE] [--only seine,...]

How much of a page's structure is in its Markdown. Prints a row for each system: Seine and trafilatura, which extract, and
markdownify and pandoc, which convert the whole page. See README.md."""
import argparse
import collections
import html
import json
import pathlib
import re
import subprocess

from markdown_it import MarkdownIt
from markdown_it.rules_block.table import escapedSplit
from selectolax.lexbor import LexborHTMLParser

HERE = pathlib.Path(__file__).parent
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]
UNSEEN = ["script", "style", "template", "noscript", "svg"]
SCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎", "0123456789+-=()0123456789+-=()")
LANGUAGE = re.compile(r"^(?:language-|lang-|highlight-(?:source-|text-)?)(?!default$|none$)([\w+#.-]+)$")


def plain(text):
    """Text without differences that readers do not see: white space, and raised digits."""
    return "".join((text or "").split()).translate(SCRIPTS).replace("^", "").replace("¶", "").replace("\u2212", "-")


class Page:
    """What the page's own elements say."""

    def __init__(self, markup):
        tree = LexborHTMLParser(markup)
        tree.strip_tags(UNSEEN)
        self.links = collections.defaultdict(set)
        self.parts = collections.defaultdict(set)
        for link in tree.css("a[href]"):
            url = link.attributes["href"] or ""
            self.links[plain(link.text())].add(url.strip())
            # Markdown has no link around several blocks: the parts of such a link count for `parts`.
            for part in link.css("h1,h2,h3,h4,h5,h6,p,div,li,span,figcaption,time,strong,b,em"):
                self.parts[plain(part.text())].add(url.strip())
        self.headings = [(int(name[1]), plain(node.text())) for name in HEADINGS for node in tree.css(name)]
        self.headings = [heading for heading in self.headings if heading[1]]
        self.depths = collections.defaultdict(set)
        for item in tree.css("li"):
            depth, at, own = 0, item.parent, item.text(deep=False)
            while at is not None:
                depth, at = depth + (at.tag in ("ul", "ol")), at.parent
            if len(plain(own)) > 3:
                self.depths[plain(own)].add(depth)
        self.code = {}
        for code in tree.css("pre"):
            around, at = [code, *code.css("code")[:1]], code.parent
            for _ in range(2):
                around, at = around + [at] * (at is not None), at and at.parent
            words = [word for node in around for word in (node.attributes.get("class") or "").split()]
            named = [found[1] for found in map(LANGUAGE.match, words) if found]
            if named and plain(code.text()):
                self.code[plain(code.text())] = named[0]


class Markdown:
    """What a Markdown reader shows."""

    def __init__(self, text):
        self.links, self.headings, self.code, self.items, self.lines = [], [], [], [], set()
        self.ragged = self.tables = 0
        rows, depth, is_new, level = text.split("\n"), 0, False, 0
        for token in READER.parse(text):
            if token.type in ("bullet_list_open", "ordered_list_open"):
                depth += 1
            elif token.type in ("bullet_list_close", "ordered_list_close"):
                depth -= 1
            elif token.type == "list_item_open":
                is_new = True
            elif token.type == "heading_open":
                level = int(token.tag[1])
            elif token.type == "heading_close":
                level = 0
            elif token.type in ("fence", "code_block"):
                self.code.append((plain(token.content), (token.info or "").strip()))
                is_new = False
            elif token.type == "table_open":
                self.table(rows[token.map[0] : token.map[1]])
            elif token.type == "inline":
                words = self.inline(token.children)
                self.lines.add(words)
                if level:
                    self.headings.append((level, words))
                if is_new and depth:
                    self.items.append((depth, words))
                is_new = False

    def inline(self, children):
        """The words; pictures have none. Notes links."""
        all_, link = [], None
        for child in children:
            if child.type == "link_open":
                link = (child.attrs.get("href", ""), [])
            elif child.type == "link_close":
                self.links.append((plain("".join(link[1])), link[0]))
                link = None
            elif child.type in ("text", "code_inline", "softbreak", "hardbreak"):
                all_.append(child.content)
                if link:
                    link[1].append(child.content)
        return plain("".join(all_))

    def table(self, rows):
        # A table may begin on the line of a list's marker.
        rows = [escapedSplit(re.sub(r"^(?:[\s>]|[-*+]\s|\d+[.)]\s)*\|?|\|?\s*$", "", row)) for row in rows]
        self.tables += 1
        self.ragged += len({len(row) for row in rows}) > 1


def same_url(written, urls):
    """Whether a Markdown link leads where one of the page's does: the same but for base and escapes."""
    bare = lambda url: re.sub(r"[^\w]", "", re.sub(r"%[0-9A-Fa-f]{2}", "", html.unescape(url))).lower()
    return any(bare(written).endswith(bare(url)) for url in urls)


def measure(pages, markdowns, truths):
    """Sums over pages; each is (found, of)."""
    sums = collections.defaultdict(lambda: [0, 0])

    def count(name, is_so, weight=1):
        sums[name][0] += bool(is_so) * weight
        sums[name][1] += weight

    for name, text in markdowns.items():
        page, markdown = pages[name], Markdown(text or "")
        for words, url in markdown.links:
            if words:
                count("links", same_url(url, page.links.get(words, ())))
                count("links or their blocks", same_url(url, page.links.get(words, page.parts.get(words, ()))))
        made = set(markdown.headings)
        # A heading may have been written twice on the page, once as something else.
        for level, words in set(page.headings):
            if any(words == heading for _, heading in made) or words in markdown.lines:
                count("kept headings", (level, words) in made)
        truth = None if truths is None else {plain(line.lstrip("#*- ")) for line in truths[name].split("\n")}
        for level, words in set(page.headings):
            if truth is None or words in truth:
                count("headings", (level, words) in made)
        tops = {words for level, words in page.headings if level == 1}
        if tops and (truth is None or tops & truth):
            count("h1", any((1, words) in made for words in tops))
        count("ragged tables", True, markdown.ragged)
        sums["ragged tables"][1] += markdown.tables - markdown.ragged
        for depth, words in markdown.items:
            if words in page.depths:
                count("item depth", depth in page.depths[words])
        for code, info in markdown.code:
            if code in page.code:
                count("code language", info and info.lower() in page.code[code].lower())
    return sums


def seine(files, program):
    """All pages of the folder in one process."""
    out = subprocess.run([program, files[0].parent], check=True, capture_output=True, text=True).stdout
    read = {said["file"]: said["markdown"] for said in map(json.loads, out.split("\n")[:-1])}
    return {file.stem: read[file.stem] for file in files}


def trafilatura(files, _):
    import trafilatura

    options = dict(output_format="markdown", include_links=True, include_formatting=True, include_tables=True)
    return {file.stem: trafilatura.extract(file.read_bytes(), **options) for file in files}


def markdownify(files, _):
    from markdownify import ATX, markdownify

    return {file.stem: markdownify(file.read_text(errors="replace"), heading_style=ATX) for file in files}


def pandoc(files, _):
    made = {}
    for file in files:
        try:
            command = ["pandoc", "-f", "html", "-t", "gfm-raw_html", "--wrap=none", file]
            made[file.stem] = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
        except subprocess.TimeoutExpired:
            print("pandoc needs more than a minute for", file.name)
    return made


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("pages", type=pathlib.Path)
    arguments.add_argument("--truth", type=pathlib.Path)
    arguments.add_argument("--every", type=int, default=1)
    arguments.add_argument("--program", default=HERE / "../../target/release/examples/readable_markdown")
    arguments.add_argument("--only", default="seine,trafilatura,markdownify,pandoc")
    given = arguments.parse_args()
    files = sorted(given.pages.glob("*.html"))[:: given.every]
    pages = {file.stem: Page(file.read_bytes()) for file in files}
    truths = None
    if given.truth:
        truths = {}
        for file in files:
            said = json.loads((given.truth / f"{file.stem}.json").read_text())
            truths[file.stem] = said["ground_truth"].get("main_content") or ""
    systems = {one.__name__: one for one in (seine, trafilatura, markdownify, pandoc)}
    for name in given.only.split(","):
        sums = measure(pages, systems[name](files, given.program), truths)
        shown = [f"{what} {found}/{of} ({100 * found / max(of, 1):.1f} %)" for what, (found, of) in sums.items()]
        print(f"{name}, {len(files)} pages: " + "; ".join(shown), flush=True)


if __name__ == "__main__":
    main()
