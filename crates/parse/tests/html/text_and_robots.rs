//! Visible text, and robots directives.

use super::*;

#[test]
fn text_is_what_a_reader_sees() {
    let facts = page_facts(
        "<title>no</title><h1>One <small>1</small></h1>a<b>b</b> c<br>d<p>e\n f<p hidden>no<h2>T<a href=x>wo</a></h2>
             <ul><li>g<li>h</ul><table><tr><td>i<td>j</table><img alt=' k  l '><img alt=''><script>no</script>
             <svg><title>no</title><text>m</text></svg><template>no</template><a href=y> <b>link</b>\ntext </a>",
    );
    assert_eq!(facts.text, "One 1\nab c\nd\ne f\nTwo\ng\nh\ni j\nm link text");
    let headings: Vec<(u8, String)> = facts.headings().map(|heading| (heading.level, heading.text)).collect();
    assert_eq!(headings, [(1, "One 1".to_owned()), (2, "Two".to_owned())]);
    assert_eq!(facts.link_texts().collect::<Vec<_>>(), ["wo", "link text"]);
    assert_eq!(facts.image_alts, ["k l"]);
}

#[test]
fn robots_headers_are_for_everyone_or_for_an_agent() {
    for (values, expected) in [
        (&["noindex, NoFollow"][..], (true, true, false)),
        (&["none"], (true, true, false)),
        (&["googlebot: noindex", "seine: nofollow"], (false, true, false)),
        (&["googlebot: noindex, nofollow"], (false, false, false)),
        (&["googlebot: noindex, SEINE: noarchive, nofollow"], (false, true, true)),
        (&["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], (true, false, false)),
        (&["max-snippet:20, noarchive"], (false, false, true)),
        (&["", "all", ":", ",,:,"], (false, false, false)),
    ] {
        let mut headers = Headers::default();
        values.iter().for_each(|value| headers.push("X-Robots-Tag", *value));
        let robots = meta::from_headers(&headers, AGENT);
        assert_eq!((robots.noindex, robots.nofollow, robots.noarchive), expected, "{values:?}");
    }
}

#[test]
fn robots_meta_and_headers_add_up() {
    let page =
        "<meta name=ROBOTS content=' noindex '><meta name=seine content=noarchive><meta name=otherbot content=nofollow>
                <a href=/x>";
    let mut event = html_event(page);
    if let Outcome::Response(response) = &mut event.outcome {
        response.headers.push("x-robots-tag", "seine: nofollow, nosnippet");
    }
    let derived = derive(&event, &options());
    assert_eq!(
        derived.robots,
        RobotsMeta { noindex: true, nofollow: true, noarchive: true, nosnippet: true, ..RobotsMeta::default() }
    );
    assert!(derived.links[0].nofollow);
    let lax = derive(&event, &DeriveOptions { obey_nofollow: false, ..options() });
    assert!(!lax.links[0].nofollow);
    assert!(lax.robots.nofollow);
}
