//! What a person would write: the Markdown of links, tables, code and raised digits.

use seine_parse::readable::read;

fn is(page: &str, wanted: &str) {
    let markdown = read(page, Some("https://site.example/dir/page"), true).markdown.unwrap();
    assert_eq!(markdown, wanted, "{page}");
}

#[test]
fn a_link_has_only_the_linked_words() {
    is("<p><a href=/x>One</a> and more.", "[One](https://site.example/x) and more.\n");
    is("<p><b>Note</b> that <a href=/x>this</a> is.", "**Note** that [this](https://site.example/x) is.\n");
    is("<h2><a href=/x>Title</a></h2><p>Text", "## [Title](https://site.example/x)\n\nText\n");
}

#[test]
fn tables_are_rectangular() {
    is(
        "<table><tr><th rowspan=2>a<th colspan=2>b<tr><td>c<td>d<tr><td>e<td><code>x|y</code></table>",
        "| a | b |  |\n| --- | --- | --- |\n|  | c | d |\n| e | `x\\|y` |  |\n",
    );
    is(
        "<table><caption>Names</caption><tr><td>The <img src=/i.png alt=Ship> Aurora<td>1<tr><td><ul><li>x<li>y</ul><td>2</table>",
        "Names\n\n| The ![Ship](https://site.example/i.png) Aurora | 1 |\n| --- | --- |\n| x y | 2 |\n",
    );
}

/// Every reader of tables takes `\|` as a bar, in code too, so such code is written as text.
#[test]
fn code_in_cells_keeps_its_backslashes() {
    is(
        r"<table><tr><td>a<td>b<tr><td><code>x\|y</code><td><code>\d</code></table>",
        "| a | b |\n| --- | --- |\n| x\\\\\\|y | `\\d` |\n",
    );
}

#[test]
fn spans_cannot_fill_the_memory() {
    let page = format!("<table><tr>{}<tr><td>b", "<td colspan=50 rowspan=50>a".repeat(5000));
    assert!(!read(&page, None, true).markdown.unwrap().contains('|'));
}

#[test]
fn code_keeps_its_language() {
    let page =
        "<div class='highlight-python3 notranslate'><div class=highlight><pre><span></span>x = 1</pre></div></div>";
    is(page, "```python3\nx = 1\n```\n");
    is("<pre><code class=lang-c>int x;</code></pre>", "```c\nint x;\n```\n");
    is("<div class=highlight-default><pre>x</pre></div>", "```\nx\n```\n");
    is("<pre class='brush: js; toolbar: false'>x</pre>", "```js\nx\n```\n");
    is("<pre class='sourceCode haskell'>x</pre>", "```haskell\nx\n```\n");
    is("<pre><code data-lang=go>x</code></pre>", "```go\nx\n```\n");
    is("<pre class='language-a`b'>x</pre>", "```\nx\n```\n");
}

#[test]
fn raised_digits_stay_raised() {
    is("<p>10<sup>6</sup> and 10<sup>-3</sup> of H<sub>2</sub>O, the 2<sup>nd</sup>", "10⁶ and 10⁻³ of H₂O, the 2nd\n");
    is("<p>10<sup>6.5</sup>, 2<sup>n </sup>and<sup> </sup>v<sub>1.5</sub>", "10^6.5, 2ⁿ and v1.5\n");
}

/// The model leaves these short blocks out.
#[test]
fn chosen_text_keeps_its_headings_and_the_rest_of_its_lists_and_tables() {
    let sentence =
        "The harbour master counted the ships that came in before the storm, and wrote each name into the book. ";
    let has = |content: &str, line: &str| {
        let page = format!(
            "<nav class=menu><a href=/>Home</a> <a href=/news>News</a> <a href=/contact>Contact</a></nav><main><h1>Ships</h1>\
             <p class=byline>By Anna, 3 May</p><p>{}</p>{}</main><footer>© 2026 Harbour. All rights reserved.</footer>",
            sentence.repeat(3),
            content.replace('S', sentence)
        );
        let markdown = read(&page, None, true).markdown.unwrap();
        assert!(markdown.lines().any(|it| it.starts_with(line)), "{line}: {markdown}");
    };
    has("", "# Ships");
    has("<ul><li>S<li>S<li>S<li class=menu><a href=/more>More</a></ul>", "- [More](/more)");
    has("<table><tr><td>A<td>S<tr><td>B<td>S<tr><td class=footer>2026<td>S</table>", "| 2026 | The");
}

#[test]
fn lists_nest_wherever_the_inner_list_is() {
    is("<ul><li>a<ol><li>b</ol><li>c</ul>", "- a\n  1. b\n- c\n");
    is("<ul><li>a</li><ul><li>b</li><ul><li>c</ul></ul><li>d</ul>", "- a\n  - b\n    - c\n- d\n");
    is("<ul><ul><li>a</ul><li>b</ul>", "- a\n- b\n");
}

/// A manual made for a disk states a `file:` URL, which says nothing about its links.
#[test]
fn links_do_not_become_paths_of_a_disk() {
    let page = "<link rel=canonical href='file:///usr/share/doc/x.html'><p><a href=y.html>y</a>";
    assert_eq!(read(page, None, true).markdown.unwrap(), "[y](y.html)\n");
}

/// The book shows pages as `html` and what becomes of them as `markdown`.
#[test]
fn the_book_shows_what_is_written() {
    let book = include_str!("../../../../docs/explain/markdown.md");
    let examples: Vec<&str> = book.split("```html\n").skip(1).collect();
    assert_eq!(examples.len(), 7);
    for example in examples {
        let (page, rest) = example.split_once("```\n\n````markdown\n").unwrap();
        let (shown, _) = rest.split_once("````").unwrap();
        assert_eq!(read(page, None, true).markdown.unwrap(), shown, "{page}");
    }
}
