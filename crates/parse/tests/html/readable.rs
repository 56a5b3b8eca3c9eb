//! The readable extractor, and its Markdown as read by another program. The pages are our own.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use seine_parse::readable::{Readable, read};

/// Short pages are returned whole, so the exact Markdown is known.
fn markdown(page: &str) -> String {
    read(page, Some("https://site.example/dir/page"), true).markdown.unwrap()
}

/// The text that a Markdown reader shows, without white space and images.
fn seen(markdown: &str) -> String {
    let mut text = String::new();
    let mut pictures = 0;
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Start(Tag::Image { .. }) => pictures += 1,
            Event::End(TagEnd::Image) => pictures -= 1,
            Event::Text(part) | Event::Code(part) if pictures == 0 => text.push_str(&part),
            Event::Html(part) | Event::InlineHtml(part) => panic!("HTML in Markdown: {part}"),
            _ => {}
        }
    }
    text.split_whitespace().collect()
}

fn plain(read: &Readable) -> String {
    read.text.split_whitespace().collect()
}

#[test]
fn an_article_is_told_from_what_stands_around_it() {
    let sentence =
        "The harbour master counted the ships that came in before the storm, and wrote each name into the book. ";
    let page = format!(
        "<title>Ships before the storm</title><body><nav class=menu><ul><li><a href=/>Home</a><li><a href=/news>News</a>\
         <li><a href=/contact>Contact us</a></ul></nav><main><article><h1>Ships before the storm</h1><p>{0}</p><p>{0}</p>\
         <p>{0}</p><p>{0}</p></article></main><footer class=footer><p>© 2026 Harbour. All rights reserved.</p>\
         <ul><li><a href=/privacy>Privacy policy</a><li><a href=/terms>Terms</a></ul></footer>",
        sentence.repeat(3)
    );
    let read = read(&page, None, true);
    assert!(read.text.contains("wrote each name into the book."), "{}", read.text);
    assert_eq!(read.text.matches("harbour master").count(), 12);
    for word in ["Contact us", "rights reserved", "Privacy"] {
        assert!(!read.text.contains(word), "{word}: {}", read.text);
    }
    assert!(read.confidence > 0.7 && read.confidence <= 1.0, "{}", read.confidence);
    assert_eq!(seen(&read.markdown.clone().unwrap()), plain(&read));
}

#[test]
fn short_pages_give_their_visible_text() {
    let page = "<title>T</title><nav><a href=/>Home</a></nav><p>Closed on Mondays.</p><script>var x</script><p hidden>Not seen.<div style='display: none'>Nor this.";
    assert_eq!(read(page, None, false).text, "Home\nClosed on Mondays.\n");
    assert_eq!(read("", None, true).markdown.as_deref(), Some(""));
}

/// As a Discourse forum sends it to browsers with scripts.
#[test]
fn posts_that_a_program_shows_are_read_from_the_data() {
    let cooked = "<p>The pump stops after <b>ten minutes</b>, and the lamp on its side is red.</p>";
    let posts = format!(r#"{{"post_stream":{{"posts":[{{"username":"anna","cooked":"{cooked}"}}]}}}}"#);
    let data = serde_json::json!({ "topic_7": posts }).to_string();
    let page = format!(
        "<div id=data-preloaded data-preloaded=\"{}\"></div>",
        data.replace('&', "&amp;").replace('"', "&quot;")
    );
    // The posts are JSON inside JSON, with escaped quotes.
    let read = read(&page, None, true);
    assert!(read.text.contains("The pump stops after ten minutes"), "{}", read.text);
    assert!(read.markdown.unwrap().contains("**ten minutes**"));
}

#[test]
fn markdown_keeps_the_structure() {
    insta::assert_snapshot!(
        "readable_structure",
        [
            "<h1>Title # 1</h1><p>One <b>bold</b>, <em>slanted</em> and <code>a`b</code>.<p>Two<br>lines</p>",
            "<ul><li>one<li>two<ol start=3><li>three<li>four</ol><li>five</ul>",
            "<blockquote><p>said</p><p>twice</p></blockquote>",
            "<pre><code class='hljs language-rust'>fn main() {\n    run();\n}\n</code></pre>",
            "<table><tr><th>Name<th>Price<tr><td>Tea | green<td>3<tr><td>Cake<td></table>",
            "<p>See <a href='../a b'>the <i>list</i></a>, <a href='javascript:x()'>not</a> <a href=/x_(y)>this</a>.",
            "<p>A <img src=/i.png alt='small [boat]'> sails.",
            "<p># no heading<p>1. no list<p>- none<p>a * b _c_ &lt;i&gt; &amp;amp; [x](y) ~~z~~ \\ `",
        ]
        .map(markdown)
        .join("----\n")
    );
}

#[test]
fn links_are_resolved_by_what_the_page_says() {
    let page = "<base href='https://cdn.example/b/'><p><a href=c>x</a>";
    assert_eq!(markdown(page), "[x](https://cdn.example/b/c)\n");
    let page = "<link rel=canonical href='https://own.example/d/e'><p><a href=f>x</a>";
    assert_eq!(read(page, None, true).markdown.unwrap(), "[x](https://own.example/d/f)\n");
    assert_eq!(read("<p><a href=f>x</a>", None, true).markdown.unwrap(), "[x](f)\n");
}

/// By the standard's tree, a block is moved out of a link that ends before it. In SVG only HTML is text.
#[test]
fn broken_markup_loses_no_text() {
    let is = |page: &str, wanted: &str| assert_eq!(markdown(page), wanted, "{page}");
    is("<a href=/x><div>in</a>out</div><p>next", "[in](https://site.example/x)\n\nout\n\nnext\n");
    is("<p>a <b>b <i>c</b> d</i> e", "a **b** ***c*** d e\n");
    is("<p>x <a href=/1>one<p>two</a> three", "x [one](https://site.example/1)\n\ntwo three\n");
    is("<b><p>bold</b> plain</p>after", "bold plain\n\nafter\n");
    is("<div>a<body class=late><p>b", "a\n\nb\n");
    is(
        "one <svg><title>no</title><text>no</text></svg>two<svg><path d=M/><p>three</svg> four",
        "one two\n\nthree four\n",
    );
    is("<svg><foreignObject><div>in<svg><text>no</text></svg>side</div></foreignObject></svg><p>z", "inside\n\nz\n");
    is("<math><html><mi>x</mi></math> y<p>z", "x y\n\nz\n");
    is("<template><p>no</template><div><template shadowrootmode=open><p>yes</template>", "yes\n");
    is("<xmp><b>raw</xmp>after</br>that", "```\n<b>raw\n```\n\nafter\\\nthat\n");
    is("<p>a<canvas>no</canvas><video>no</video><my-card>b</my-card>c", "a\n\nb\n\nc\n");
}

/// Generous: each takes some hundred milliseconds, and many minutes without limits.
#[test]
fn hostile_pages_take_no_longer_than_their_length() {
    let pages = [
        ("nested", "<div>".repeat(100_000) + "x"),
        ("nested lists", "<ul><li>x".repeat(50_000)),
        ("nested quotes", "<blockquote>x y z ".repeat(50_000)),
        ("nested formatting", "<b><i>x".repeat(50_000)),
        ("nested tables", "<table><tr><td>x".repeat(50_000)),
        ("one line", "word ".repeat(1 << 19)),
        ("no blanks", "x".repeat(4 << 20)),
        ("links", "<a href=/x>link</a> ".repeat(250_000)),
        ("cells", format!("<table>{}", format!("<tr>{}", "<td>1".repeat(500)).repeat(500))),
        ("one long row", format!("<table><tr>{}<tr><td>a", "<td>1".repeat(200_000))),
        ("many rows", format!("<table><tr>{}{}", "<td>1".repeat(2000), "<tr><td>1<td>2".repeat(100_000))),
        (
            "wide spans",
            format!("<table><tr>{}", "<td colspan=50 rowspan=50>1".repeat(20_000) + &"<tr><td>1".repeat(50)),
        ),
        ("languages", format!("<div class='{}'>{}", "a ".repeat(200_000), "<pre>x</pre>".repeat(50_000))),
        ("raised", "x<sup>1</sup>".repeat(100_000)),
        ("lists in lists", "<ul><li>x</li>".repeat(50_000)),
        ("stray ends", "</p></b></x></table>".repeat(100_000)),
        ("quotes", "<a title='".repeat(100_000)),
        ("open tags", "<a ".repeat(300_000)),
        ("comments", "<!--".repeat(500_000)),
        ("drawings", "<svg><g>".repeat(200_000)),
        ("drawings and text", "<svg><foreignObject><div>x".repeat(100_000)),
        ("links that are left open", "<a href=/x><div>x</a>".repeat(100_000)),
        ("formatting that is left open", "<b><p>x</b>".repeat(100_000)),
        ("elements of many attributes", "<p a b c d e f g h>x".repeat(300_000)),
        ("descriptions", "<meta name=a content=b>".repeat(200_000)),
        ("attributes", format!("<p {}>x", "class='a b c' ".repeat(200_000))),
        ("marks", format!("<p>{}", "*_`[<&#".repeat(300_000))),
        ("backticks", format!("<code>{}</code>", "` ".repeat(300_000))),
        ("items", format!("<ol>{}", "<li>x".repeat(200_000))),
        ("data", format!("<script type=application/ld+json>{}</script>", "[".repeat(150_000))),
    ];
    for (name, page) in pages {
        let started = Instant::now();
        let read = read(&page, Some("https://site.example/"), true);
        assert!(started.elapsed() < Duration::from_secs(60), "{name}: {:?}", started.elapsed());
        assert!(read.markdown.unwrap().len() < 4 * page.len() + (64 << 20), "{name}");
        assert!((0.0..=1.0).contains(&read.confidence), "{name}");
    }
}

// For more cases: make fuzz.
proptest! {
    /// For any markup: no panic, and the Markdown has the same text as the plain text.
    #[test]
    fn markdown_says_what_the_text_says(parts in prop::collection::vec(prop::sample::select(vec![
        "<p>", "</p>", "<b>", "</b>", "<i>", "</i>", "<a href=/x>", "</a>", "<ul>", "<li>", "</ul>", "<ol>", "</ol>", "<h2>", "</h2>",
        "<code>", "</code>", "<blockquote>", "</blockquote>", "<br>", "word", " ", "two words", "*", "_", "`", "[", "]", "(", ")", "!",
        "#", "1.", "-", "+", ">", "&lt;", "&amp;", "\\", "|", "~", "é", "中文", "x.", "<div>", "</div>", "<s>", "</s>", "&nbsp;",
        "<table><tr><td>a<td>b<tr><td>", "<tr>", "<td>", "<td rowspan=3>", "<th colspan=2>", "</table>", "<caption>", "</caption>",
        "<sup>", "</sup>", "<sub>", "</sub>", "10", "6.5", "<pre>", "</pre>", "\\|", "<a href='/x|y'>",
    ]), 0..40)) {
        let page: String = parts.concat();
        let read = read(&page, None, true);
        prop_assert_eq!(seen(&read.markdown.clone().unwrap()), plain(&read), "{}\n{}", page, read.markdown.unwrap());
    }
}
