//! Walls are told from pages.

use bytes::Bytes;
use seine_parse::page::{Headers, Response};
use seine_parse::walls::{self, Answer, Wall, WallKind};

const PAGE: &str = "https://example.org/articles/7";

/// Headers.
type Named = &'static [(&'static str, &'static str)];

/// The wall of an answer to a request for [`PAGE`].
fn wall_at(url: &str, status: u16, headers: &[(&str, &str)], html: &str) -> Option<Wall> {
    let named = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let headers = [("content-type".to_owned(), "text/html".to_owned())].into_iter().chain(named).collect();
    let body = Bytes::from(html.to_owned());
    let response = Response { status, headers: Headers(headers), body: body.clone(), ..Response::empty() };
    walls::of(&Answer { response: &response, url, asked: PAGE }, &body)
}

fn kind(status: u16, headers: &[(&str, &str)], html: &str) -> Option<WallKind> {
    wall_at(PAGE, status, headers, html).map(|wall| wall.kind)
}

/// Text of a page.
fn prose(words: usize) -> String {
    format!("<p>{}</p>", "Every sentence of this page says something. ".repeat(words.div_ceil(7)))
}

#[test]
fn challenges_are_told_with_their_vendor() {
    use WallKind::*;
    let cases: [(WallKind, u16, Named, &str); 21] = [
        (Cloudflare, 403, &[("cf-mitigated", "challenge")], ""),
        (Cloudflare, 403, &[], "<title>Just a moment...</title><script>window._cf_chl_opt={cvId:'3'}</script>"),
        (Cloudflare, 503, &[], "<title>x</title><form id=challenge-form><input name=jschl_answer></form>"),
        (Cloudflare, 200, &[], "<title>Just a moment...</title><noscript>Enable JavaScript and cookies</noscript>"),
        (Cloudflare, 403, &[], "<title>Attention Required! | Cloudflare</title><h1>Sorry, you have been blocked</h1>"),
        (AwsWaf, 202, &[("x-amzn-waf-action", "challenge")], ""),
        (AwsWaf, 405, &[("X-Amzn-Waf-Action", "captcha")], "<title>Human Verification</title>"),
        (AwsWaf, 202, &[], "<script>window.gokuProps = {key:1}</script><div id=challenge-container></div>"),
        (Akamai, 403, &[], "<TITLE>Access Denied</TITLE>Reference&#32;&#35;18&#46;2d351ab8&#46;1557333295"),
        (
            Akamai,
            200,
            &[],
            "<script src=/_sec/cp_challenge/ak-challenge-4-3.htm></script><div id=sec-if-cpt-container>",
        ),
        (DataDome, 403, &[("x-datadome", "protected")], "<p>blocked"),
        (DataDome, 403, &[], "<p>Please enable JS and disable any ad blocker</p><script>var dd={}</script>"),
        (Human, 403, &[], "<title>Access to this page has been denied</title><div id=\"px-captcha\"></div>"),
        (Human, 200, &[], "<script>window._pxAppId='PX1'</script>"),
        (Imperva, 200, &[], "<iframe src=\"/_Incapsula_Resource?SWUDNSAI=31\">Request unsuccessful.</iframe>"),
        (Imperva, 403, &[], "Request unsuccessful. Incapsula incident ID: 0-1"),
        (Imperva, 200, &[], "<title>Pardon Our Interruption</title><p>Something about your browser"),
        (Fastly, 200, &[], "<title>Client Challenge</title><script src=/_fs-ch-1T1wmsGaOgGaSxcX/script.js></script>"),
        (Challenge, 200, &[], "<title>Robot Check</title>Type the characters you see in this image"),
        (Challenge, 200, &[], "<form><div class=\"g-recaptcha\" data-sitekey=1></div><button>Go on</button></form>"),
        (Challenge, 429, &[("x-vercel-mitigated", "challenge")], "<title>Vercel Security Checkpoint</title>"),
    ];
    for (wanted, status, headers, html) in cases {
        assert_eq!(kind(status, headers, html), Some(wanted), "{status} {headers:?} {html}");
    }
}

#[test]
fn other_walls_are_told() {
    use WallKind::*;
    let cases = [
        (Maintenance, "<title>Example - Under maintenance</title><h1>We are back soon</h1>"),
        (Maintenance, "<p>Briefly unavailable for scheduled maintenance. Check back in a minute."),
        (Maintenance, "<title>500 Internal Server Error</title>"),
        (NotFound, "<title>404 Not Found</title><h1>Not Found</h1>"),
        (NotFound, "<title>Seite nicht gefunden | Beispiel</title>Diese Seite gibt es nicht."),
        (Parked, "<title>example.org</title><script src=https://c.parkingcrew.net/x.js></script>"),
        (Parked, "<h1>This domain is for sale!</h1><a href=https://www.example.net>Make an offer</a>"),
        (Parked, "<!DOCTYPE html><html><head><script>window.location.href=\"/lander\"</script></head></html>"),
        (Consent, "<title>Before you continue to Example</title><form><button>Accept all</button></form>"),
        (Login, "<title>Sign in</title><form><input name=user><input type=\"password\"></form>"),
        (Login, "<form><label>Log in<input name=user><input type=password></label></form>"),
    ];
    for (wanted, html) in cases {
        assert_eq!(kind(200, &[], html), Some(wanted), "{html}");
    }
}

#[test]
fn redirects_to_walls_are_told() {
    let cases = [
        (WallKind::Login, "https://example.org/login?next=%2Farticles%2F7"),
        (WallKind::Login, "https://sso.example.org/auth?redirect_uri=https://example.org/articles/7"),
        (WallKind::Consent, "https://consent.example.org/m?continue=https://example.org/articles/7"),
        (WallKind::Consent, "https://example.org/zustimmung?url=https://example.org/articles/7"),
        (WallKind::Parked, "https://www.hugedomains.com/domain_profile.cfm?d=example.org"),
    ];
    for (wanted, url) in cases {
        assert_eq!(wall_at(url, 200, &[], &prose(200)).map(|wall| wall.kind), Some(wanted), "{url}");
    }
    for url in [
        "https://www.example.org/articles/7",
        "https://example.org/articles/7?from=home",
        "https://example.org/authors/login-and-sons?from=home",
        "https://example.org/login",
    ] {
        assert_eq!(wall_at(url, 200, &[], &prose(200)), None, "{url}");
    }
}

/// The marks of walls are in real pages, too: scripts of the vendor, banners, forms, and people who write about walls.
#[test]
fn pages_are_no_walls() {
    let long = prose(600);
    let menus: String = (0..12).map(|at| format!("<a href=/section/{at}>Section {at}</a> ")).collect();
    for html in [
        format!("<title>Maintenance | Boat manual</title>{}", prose(120)),
        format!("<title>Maintenance | Boat manual</title>{menus}<h1>Maintenance</h1>{}", prose(60)),
        format!("<title>A photo</title>{menus}<form><input name=user><input type=password>Log in</form>{}", prose(20)),
        format!("<title>How to log in</title>{menus}<input type=password>{}", prose(100)),
        format!("<title>Start</title>{menus}<a href=/about-captcha id=\"captcha-demo\">About captchas</a>"),
        format!("<title>News</title><script src=/_Incapsula_Resource?SWJIYLWA=1></script>{long}"),
        format!("<title>News</title><script>window._pxAppId='PX1'</script>{long}"),
        format!("<title>News</title><script src=https://js.datadome.co/tags.js></script>{long}"),
        format!("<title>News</title><script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script>{long}"),
        format!("<title>News</title><form><input name=user><input type=password>Log in</form>{long}"),
        format!("<title>News</title><div class=cookie-banner>We value your privacy. Accept all</div>{long}"),
        format!("<title>Contact</title><form><div class=\"g-recaptcha\"></div></form>{long}"),
        format!("<title>404 - the song by Example</title>{long}"),
        format!("<title>Access denied</title><p>How an error page comes to be.{long}"),
        format!("<title>How to detect _cf_chl_opt</title><code>_cf_chl_opt</code>{}", prose(1_200)),
        format!("<title>Maintenance of bicycles</title>{}", prose(20)),
        "<title>A short page</title><p>With a sentence.".to_owned(),
        String::new(),
    ] {
        assert_eq!(wall_at(PAGE, 200, &[], &html), None, "{}", &html[..html.len().min(120)]);
    }
}

/// Only a challenge is told in a refusal: a refusal without a mark, and errors with their own status, are what they say.
#[test]
fn a_refusal_is_no_wall_by_itself() {
    for (status, html) in [
        (403, "<title>403 Forbidden</title><h1>Forbidden</h1>"),
        (404, "<title>404 Not Found</title>"),
        (500, "<title>500 Internal Server Error</title>"),
        (503, "<title>Under maintenance</title>"),
        (401, "<title>Log in</title><input type=password>"),
        (304, ""),
    ] {
        assert_eq!(kind(status, &[], html), None, "{status} {html}");
    }
}

#[test]
fn what_is_no_html_is_no_wall() {
    let body = Bytes::from("verify you are human");
    for given in ["application/json", "text/plain", "application/pdf", "image/png"] {
        let headers = Headers(vec![("content-type".to_owned(), given.to_owned())]);
        let response = Response { headers, body: body.clone(), ..Response::empty() };
        let answer = Answer { response: &response, url: PAGE, asked: PAGE };
        assert!(!answer.needs_body(), "{given}");
        assert_eq!(walls::of(&answer, &body), None, "{given}");
    }
}

/// The page of a log-in itself was asked for, so nothing stands before it.
#[test]
fn a_log_in_page_that_was_asked_for_is_a_page() {
    let url = "https://example.org/account/login";
    let headers = Headers(vec![("content-type".to_owned(), "text/html".to_owned())]);
    let body = Bytes::from("<title>Sign in</title><form><input type=password></form>");
    let response = Response { headers, body: body.clone(), ..Response::empty() };
    assert_eq!(walls::of(&Answer { response: &response, url, asked: url }, &body), None);
}

#[test]
fn the_evidence_says_what_was_seen() {
    let evidence =
        |status, headers: &[(&str, &str)], html: &str| wall_at(PAGE, status, headers, html).unwrap().evidence;
    assert_eq!(evidence(202, &[("x-amzn-waf-action", "challenge")], ""), "the header x-amzn-waf-action: challenge");
    let told = evidence(200, &[], "<title>404 Not Found</title>");
    assert_eq!(told, "its title is \"404 not found\", and it shows 0 letters of text");
    let told = evidence(200, &[], "<script>window._cf_chl_opt={}</script>Wait");
    assert_eq!(told, "its markup has \"_cf_chl_opt\", and it shows 4 letters of text");
}

/// The protocol is that of RSL 1.0. The evidence is the address.
#[test]
fn a_demand_for_a_licence_names_its_address() {
    let wanted = |status, headers: &[(&str, &str)]| {
        let wall = wall_at(PAGE, status, headers, "<title>Unauthorized</title>")?;
        (wall.kind == WallKind::License).then_some(wall.evidence)
    };
    let full = "License error=\"invalid_request\", error_description=\"A licence, please\", \
                authorization_uri=\"https://rsl.example/api\"";
    assert_eq!(wanted(401, &[("www-authenticate", full)]).as_deref(), Some("https://rsl.example/api"));
    assert_eq!(wanted(402, &[("WWW-Authenticate", full)]).as_deref(), Some("https://rsl.example/api"));
    let among = format!("Basic realm=\"https://other.example/\", {full}, Bearer realm=x");
    assert_eq!(wanted(401, &[("www-authenticate", &among)]).as_deref(), Some("https://rsl.example/api"));
    let linked =
        [("www-authenticate", "License"), ("link", "</license.xml>; rel=\"license\"; type=\"application/rsl+xml\"")];
    assert_eq!(wanted(402, &linked).as_deref(), Some("https://example.org/license.xml"));
    assert_eq!(wanted(402, &[("www-authenticate", "license error=x")]).as_deref(), Some("it names no address"));
    for (status, value) in [(200, full), (403, full), (401, "Basic realm=\"License\""), (402, "Bearer license=x")] {
        assert_eq!(wanted(status, &[("www-authenticate", value)]), None, "{status} {value}");
    }
}
