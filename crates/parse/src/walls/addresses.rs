//! Walls that an address tells: a redirect to a log-in page, to a consent page or to a seller of domains.

use encoding_rs::Encoding;
use url::Url;

use super::marks::Found;
use super::text::Letters;
use super::{Answer, Wall, WallKind};
use crate::url::registrable_domain;

/// A page with a field for a password that shows more is a page that one may also log in to.
const LETTERS: usize = 600;
/// The title has no word about logging in.
const FEW_LETTERS: usize = 200;
/// A redirect led to an address that is named so.
const MANY_LETTERS: usize = 8_000;

/// Parts of paths, in lower case.
const LOG_IN: [&str; 22] = [
    "login",
    "log-in",
    "log_in",
    "login.php",
    "login.aspx",
    "login.html",
    "login.jsp",
    "signin",
    "sign-in",
    "sign_in",
    "logon",
    "wp-login.php",
    "sso",
    "saml",
    "saml2",
    "authorize",
    "auth",
    "oauth2",
    "idp",
    "adfs",
    "anmelden",
    "connexion",
];

const CONSENT: [&str; 10] = [
    "consent",
    "collectconsent",
    "zustimmung",
    "cookiewall",
    "cookie-wall",
    "privacywall",
    "privacy-gate",
    "cookie-consent",
    "gdpr-consent",
    "cookie_consent",
];

/// First labels of hosts that only ask for consent.
const CONSENT_HOSTS: [&str; 5] = ["consent", "guce", "myprivacy", "privacygate", "cookiewall"];

/// Domains that sell or park domains.
const SELLERS: [&str; 14] = [
    "hugedomains.com",
    "dan.com",
    "sedo.com",
    "sedoparking.com",
    "afternic.com",
    "parkingcrew.net",
    "bodis.com",
    "undeveloped.com",
    "domainmarket.com",
    "buydomains.com",
    "above.com",
    "atom.com",
    "brandbucket.com",
    "dynadot.com",
];

/// Names of parameters that say where to return.
const RETURNS: [&str; 26] = [
    "next",
    "return",
    "returnto",
    "return_to",
    "returnurl",
    "return_url",
    "redirect",
    "redirect_to",
    "redirecturl",
    "redirect_url",
    "redirect_uri",
    "url",
    "continue",
    "continueurl",
    "dest",
    "destination",
    "from",
    "goto",
    "back",
    "backurl",
    "back_url",
    "target",
    "service",
    "relaystate",
    "samlrequest",
    "done",
];

/// The wall to which a request for `asked` was redirected.
pub(super) fn of_redirect(asked: &str, url: &str) -> Option<Wall> {
    let (asked, url) = (Url::parse(asked).ok()?, Url::parse(url).ok()?);
    let (before, host) = (asked.host_str()?, url.host_str()?);
    let is_new = |is: &dyn Fn(&Url) -> bool| is(&url) && !is(&asked);
    let first_label = |url: &Url| url.host_str().and_then(|host| host.split('.').next().map(str::to_ascii_lowercase));
    let is_consent_host = |url: &Url| first_label(url).is_some_and(|label| CONSENT_HOSTS.contains(&label.as_str()));
    let is_seller = |url: &Url| url.host_str().is_some_and(|host| SELLERS.contains(&registrable_domain(host)));
    let kind = if is_new(&is_seller) && before != host {
        WallKind::Parked
    } else if is_new(&is_consent_host) || (is_new(&|url| has_part(url, &CONSENT)) && returns(&url)) {
        WallKind::Consent
    } else if is_new(&|url| has_part(url, &LOG_IN)) && returns(&url) {
        WallKind::Login
    } else {
        return None;
    };
    Some(Wall::new(kind, format!("it redirects to {url}")))
}

/// The wall of a page that shows a form to log in and little else, if the URL that was asked for is not that of such a
/// form.
pub(super) fn log_in<F: Fn() -> &'static Encoding>(
    found: &Found,
    answer: &Answer,
    letters: &Letters<'_, F>,
    title: &str,
) -> Option<Wall> {
    if found.passwords == 0 || is_log_in_at(answer.asked) {
        return None;
    }
    let is_wall = if answer.url != answer.asked && is_log_in_at(answer.url) {
        letters.count() <= MANY_LETTERS
    } else {
        let is_named = names_log_in(&title.to_lowercase());
        let most = if is_named { LETTERS } else { FEW_LETTERS };
        // Two fields: a form to register, which is a page of its own.
        // A page with menus has the form beside its own content.
        let has_form = found.passwords == 1 && letters.count() <= most && !letters.has_menus();
        has_form && (is_named || names_log_in(&letters.text().to_lowercase()))
    };
    is_wall.then(|| {
        Wall::new(
            WallKind::Login,
            format!("it has a field for a password, and shows {} letters of text", letters.count()),
        )
    })
}

fn names_log_in(text: &str) -> bool {
    const WORDS: [&str; 18] = [
        "log in",
        "login",
        "log-in",
        "sign in",
        "signin",
        "sign-in",
        "logon",
        "log on",
        "anmeld",
        "einloggen",
        "connexion",
        "identifi",
        "iniciar sesi",
        "entrar",
        "accedi",
        "inloggen",
        "\u{432}\u{43e}\u{439}\u{442}\u{438}",
        "\u{767b}",
    ];
    WORDS.iter().any(|word| text.contains(word))
}

pub(super) fn is_log_in_at(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| is_log_in(&url))
}

/// Whether a part of the path looks like that of a page to log in.
fn is_log_in(url: &Url) -> bool {
    const NAMES: [&str; 5] = ["login", "signin", "sign-in", "sign_in", "logon"];
    let is_named = |part: &str| {
        let part = part.to_ascii_lowercase();
        NAMES.iter().any(|name| part.contains(name))
    };
    has_part(url, &LOG_IN) || url.path().split('/').any(is_named)
}

/// Whether the path or a host label is one of these.
fn has_part(url: &Url, parts: &[&str]) -> bool {
    let is_one = |part: &str| parts.iter().any(|known| part.eq_ignore_ascii_case(known));
    let label = url.host_str().and_then(|host| host.split('.').next());
    url.path().split('/').any(is_one) || label.is_some_and(is_one)
}

/// Whether a parameter says where to return.
fn returns(url: &Url) -> bool {
    url.query_pairs()
        .any(|(name, value)| !value.is_empty() && RETURNS.iter().any(|known| name.eq_ignore_ascii_case(known)))
}
