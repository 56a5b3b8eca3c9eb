//! Walls that their title tells: error and maintenance pages, and some challenges. A title counts only in a page with
//! little text, because people write about errors, too.

use encoding_rs::Encoding;

use super::text::Letters;
use super::{Wall, WallKind};
use crate::html::decode_text;
use crate::html_facts::collapse;

const MAX_TITLE: usize = 200;
/// A page with one of these titles may show so many letters. People write articles with such titles, too, and a page that is
/// taken for a wall is lost.
const LETTERS: usize = 500;
/// The same for titles that only begin so, and for pages with the menus of a site.
const FEW_LETTERS: usize = 250;

/// Titles, in lower case. They are the whole title or a part of it that is set off: `404 | Example`.
const WHOLE: &[(WallKind, &[&str])] = {
    use WallKind::*;
    &[
        (Cloudflare, &["just a moment...", "ddos protection by cloudflare"]),
        (
            Challenge,
            &[
                "robot check",
                "one more step",
                "verifica\u{e7}\u{e3}o de seguran\u{e7}a",
                "too many requests",
                "sina visitor system",
                "pardon our interruption",
                "pardon our interruption...",
                "client challenge",
                "prove your humanity",
                "temporarily blocked",
                "security check",
                "access denied",
                "access to this page has been denied",
                "are you human",
                "are you a robot",
                "bot verification",
                "human verification",
                "captcha",
                "verification required",
                "browser check",
                "ddos-guard",
                "please verify you are a human",
                "one moment, please...",
                "making sure you're not a bot!",
                "request rejected",
                "web page blocked!",
                "blocked",
                "not acceptable!",
                "captcha interception",
                "attention required!",
                "checking your browser",
                "please wait...",
                "\u{9a8c}\u{8bc1}\u{7801}",
                "\u{8bbf}\u{95ee}\u{9a8c}\u{8bc1}",
                "\u{43e}\u{439}!",
            ],
        ),
        (
            NotFound,
            &[
                "404",
                "404 error",
                "error 404",
                "error 404 (not found)",
                "404 not found",
                "404 - not found",
                "not found",
                "page not found",
                "resource not found",
                "404 page not found",
                "page not found (404)",
                "404 error page",
                "file not found",
                "error 404: not found",
                "oops",
                "page missing",
                "page does not exist",
                "seite nicht gefunden",
                "nicht gefunden",
                "fehler 404",
                "404 fehler",
                "page non trouv\u{e9}e",
                "page introuvable",
                "erreur 404",
                "p\u{e1}gina no encontrada",
                "no encontrado",
                "p\u{e1}gina n\u{e3}o encontrada",
                "pagina non trovata",
                "pagina niet gevonden",
                "niet gevonden",
                "sidan kunde inte hittas",
                "siden blev ikke fundet",
                "siden ble ikke funnet",
                "sivua ei l\u{f6}ytynyt",
                "nie znaleziono strony",
                "strona nie zosta\u{142}a znaleziona",
                "str\u{e1}nka nenalezena",
                "sayfa bulunamad\u{131}",
                "\u{441}\u{442}\u{440}\u{430}\u{43d}\u{438}\u{446}\u{430} \u{43d}\u{435} \u{43d}\u{430}\u{439}\u{434}\u{435}\u{43d}\u{430}",
                "\u{30da}\u{30fc}\u{30b8}\u{304c}\u{898b}\u{3064}\u{304b}\u{308a}\u{307e}\u{305b}\u{3093}",
                "\u{9875}\u{9762}\u{4e0d}\u{5b58}\u{5728}",
                "\u{9875}\u{9762}\u{672a}\u{627e}\u{5230}",
                "410 gone",
            ],
        ),
        (
            Maintenance,
            &[
                "maintenance",
                "under maintenance",
                "maintenance mode",
                "site maintenance",
                "scheduled maintenance",
                "site under maintenance",
                "website under maintenance",
                "down for maintenance",
                "offline for maintenance",
                "site is under maintenance",
                "website is under maintenance",
                "site temporarily unavailable",
                "temporarily unavailable",
                "temporarily down for maintenance",
                "service unavailable",
                "webservice currently unavailable",
                "website unavailable",
                "currently unavailable",
                "sorry, the service is unavailable",
                "sorry, there is a problem with the service",
                "site unavailable",
                "service temporarily unavailable",
                "503 service unavailable",
                "503 service temporarily unavailable",
                "503",
                "502 bad gateway",
                "504 gateway time-out",
                "500 internal server error",
                "internal server error",
                "server error",
                "bad gateway",
                "gateway timeout",
                "database error",
                "application error",
                "site offline",
                "site is offline",
                "we'll be back soon",
                "we will be back soon",
                "we'll be right back",
                "be right back",
                "account suspended",
                "website suspended",
                "wartung",
                "wartungsarbeiten",
                "wartungsmodus",
                "en maintenance",
                "site en maintenance",
                "maintenance en cours",
                "en mantenimiento",
                "mantenimiento",
                "sitio en mantenimiento",
                "em manuten\u{e7}\u{e3}o",
                "site em manuten\u{e7}\u{e3}o",
                "in manutenzione",
                "sito in manutenzione",
                "manutenzione",
                "onderhoud",
                "runtime error",
                "an error occurred",
                "\u{442}\u{435}\u{445}\u{43d}\u{438}\u{447}\u{435}\u{441}\u{43a}\u{438}\u{435} \u{440}\u{430}\u{431}\u{43e}\u{442}\u{44b}",
                "\u{30e1}\u{30f3}\u{30c6}\u{30ca}\u{30f3}\u{30b9}\u{4e2d}",
                "\u{7cfb}\u{7edf}\u{7ef4}\u{62a4}",
            ],
        ),
        (Parked, &["domain for sale", "parked domain", "domain parked", "domain parking", "parking page"]),
        (Consent, &["before you continue", "cookie wall", "cookie consent", "privacy gate", "zustimmung"]),
    ]
};

/// Beginnings of titles, in lower case.
const BEGINNINGS: &[(WallKind, &[&str])] = {
    use WallKind::*;
    &[
        (Cloudflare, &["just a moment"]),
        (Challenge, &["access denied", "checking your browser", "verify you are", "security verification"]),
        (NotFound, &["404 ", "404: ", "page not found", "error 404", "sorry, page not found", "oops! page not found"]),
        (Maintenance, &["under maintenance", "scheduled maintenance", "down for maintenance", "we'll be back"]),
        (Consent, &["before you continue to", "bevor sie ", "avant d'acc\u{e9}der \u{e0} "]),
    ]
};

/// The wall of a page with this title.
pub(super) fn of_title<F: Fn() -> &'static Encoding>(written: &str, letters: &Letters<'_, F>) -> Option<Wall> {
    let title = collapse(&decode_text(written), MAX_TITLE).to_lowercase().replace('\u{2019}', "'");
    let parts = || parts(&title);
    let is_whole = |phrases: &&[&str]| parts().any(|part| phrases.contains(&part));
    let begins = |phrases: &&[&str]| phrases.iter().any(|phrase| title.starts_with(phrase));
    let of = |table: &[(WallKind, &[&str])], is: &dyn Fn(&&[&str]) -> bool, most: usize| {
        let (kind, _) = table.iter().find(|(_, phrases)| is(phrases))?;
        let most = if letters.has_menus() { most.min(FEW_LETTERS) } else { most };
        (letters.count() <= most).then_some(*kind)
    };
    let kind = of(WHOLE, &is_whole, LETTERS).or_else(|| of(BEGINNINGS, &begins, FEW_LETTERS))?;
    Some(Wall::new(kind, format!("its title is {title:?}, and it shows {} letters of text", letters.count())))
}

/// The title, and its parts that are set off from the name of the site.
fn parts(title: &str) -> impl Iterator<Item = &str> {
    let pieces = title.split(['|', '\u{b7}', '\u{2022}', '\u{ab}', '\u{bb}', '\u{2013}', '\u{2014}']);
    let pieces = pieces.chain(title.split(" - ")).chain(title.split(": ")).chain([title]);
    let trimmed = pieces.map(|part| part.trim_matches([' ', '.', '!', '?', '-'])).chain([title]);
    // `404 - Resource not found` is the same without its number.
    trimmed.filter(|part| !part.is_empty()).flat_map(|part| [part, without_number(part)])
}

fn without_number(part: &str) -> &str {
    let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, ' ' | '-' | ':'));
    if rest.is_empty() { part } else { rest }
}
