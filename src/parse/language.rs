//! Language tags (RFC 5646), and which language a page's text is in, whatever it declares.
//!
//! `whatlang` decides, by script and by the commonest groups of three letters, of a piece of the text. It compares each language's 300
//! groups, of which Latin has 37 languages: those alone are asked for whose commonest words are there ([`COMMON`]).

use std::collections::HashMap;
use std::sync::LazyLock;

use whatlang::{Detector, Lang};

use super::words::lower_case;

/// So much of the text is looked at.
const SAMPLE_BYTES: usize = 400;
/// In less no language is told.
pub const MIN_BYTES: usize = 60;
/// Lines of fewer bytes are looked at where there is nothing else.
const LINE_BYTES: usize = 60;
/// With fewer of its commonest words a language is not looked for among a few.
const MIN_COMMON: u32 = 3;
/// So many languages are compared, those whose commonest words are most often there.
const CANDIDATES: usize = 4;

/// The language that a text is in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Language {
    /// ISO 639-1: `en`.
    pub tag: &'static str,
    /// By how far the next language is behind, 0.9 to 1 to three digits: what is less sure is not told.
    pub confidence: f64,
}

/// The primary language of a tag in lower case, `en` of `en-GB`; none for what is no tag.
pub fn primary_language(tag: &str) -> Option<String> {
    let primary = tag.trim().split(['-', '_']).next()?;
    let is_language = (2..=8).contains(&primary.len()) && primary.bytes().all(|it| it.is_ascii_alphabetic());
    is_language.then(|| primary.to_ascii_lowercase())
}

/// Of a text, by its first long lines, or if there are none by whatever there is. None for little text, and where two languages are as
/// likely.
pub fn of_text(text: &str) -> Option<Language> {
    let sample = sample(text.lines().filter(|line| line.len() >= LINE_BYTES));
    let sample = if sample.len() >= MIN_BYTES { sample } else { self::sample(text.lines()) };
    if sample.len() < MIN_BYTES {
        return None;
    }
    let detector = match likely(&sample) {
        likely if !likely.is_empty() => Detector::with_allowlist(likely),
        // None of those without accents, or no language at all: to compare them all takes four times as long as the rest.
        _ if sample.is_ascii() => return None,
        _ => Detector::new(),
    };
    let found = detector.detect(&sample).filter(|found| found.is_reliable())?;
    let code = found.lang().code();
    let tag = TAGS.split_ascii_whitespace().find_map(|pair| pair.split_once('-').filter(|pair| pair.0 == code))?.1;
    Some(Language { tag, confidence: (found.confidence() * 1000.0).round() / 1000.0 })
}

fn sample<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut sample = String::new();
    for word in lines.flat_map(str::split_ascii_whitespace) {
        if sample.len() >= SAMPLE_BYTES {
            break;
        }
        sample.push_str(&word[..word.floor_char_boundary(SAMPLE_BYTES)]);
        sample.push(' ');
    }
    sample
}

/// The languages whose commonest words are most often there; none where that says little.
fn likely(text: &str) -> Vec<Lang> {
    static WORDS: LazyLock<HashMap<&str, u64>> = LazyLock::new(|| {
        let mut words = HashMap::new();
        for (place, (_, common)) in COMMON.iter().enumerate() {
            common.split(' ').for_each(|word| *words.entry(word).or_default() |= 1 << place);
        }
        words
    });
    let mut counts = [0_u32; COMMON.len()];
    let (mut words, mut lower) = (0, String::new());
    for word in text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
        words += 1;
        lower_case(word, &mut lower);
        let mut among = WORDS.get(&*lower).copied().unwrap_or_default();
        while among != 0 {
            counts[among.trailing_zeros() as usize] += 1;
            among &= among - 1;
        }
    }
    let mut likely: Vec<(u32, Lang)> = counts.into_iter().zip(COMMON).map(|(count, (lang, _))| (count, lang)).collect();
    likely.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let most = likely[0].0;
    if most < MIN_COMMON || most * 10 < words {
        return Vec::new();
    }
    likely.truncate(CANDIDATES);
    likely.into_iter().map(|(_, lang)| lang).collect()
}

/// ISO 639-3, as `whatlang` has it, and 639-1.
const TAGS: &str = "\
    epo-eo eng-en rus-ru cmn-zh spa-es por-pt ita-it ben-bn fra-fr deu-de ukr-uk kat-ka ara-ar hin-hi jpn-ja heb-he yid-yi pol-pl \
    amh-am jav-jv kor-ko nob-nb dan-da swe-sv fin-fi tur-tr nld-nl hun-hu ces-cs ell-el bul-bg bel-be mar-mr kan-kn ron-ro slv-sl \
    hrv-hr srp-sr mkd-mk lit-lt lav-lv est-et tam-ta vie-vi urd-ur tha-th guj-gu uzb-uz pan-pa aze-az ind-id tel-te pes-fa mal-ml \
    ori-or mya-my nep-ne sin-si khm-km tuk-tk aka-ak zul-zu sna-sn afr-af lat-la slk-sk cat-ca tgl-tl hye-hy cym-cy";

/// Of languages in Latin letters the words that are commonest in any text.
const COMMON: [(Lang, &str); 34] = [
    (Lang::Eng, "the of and to in is that for you with are this on be it as was have not from by or can if an"),
    (Lang::Deu, "der die und das ist nicht den mit ein eine zu von auf für sich dem auch werden sie wird im in es"),
    (Lang::Fra, "le la les des et est une un dans pour que qui sur pas vous par avec du ce sont au de en il ne"),
    (Lang::Spa, "el la los las de que en y un una por con para es se del su no lo como al más"),
    (Lang::Por, "o os as de que e do da em um uma para com não por se na no mais dos é ao"),
    (Lang::Ita, "il di che la e per un una è non del della con sono si gli da le dei nel in i come"),
    (Lang::Nld, "de het een van en is dat op te voor met zijn niet die aan er ook om wordt bij in u"),
    (Lang::Swe, "och att det som en är på för av med inte den till har om ett de kan i eller"),
    (Lang::Dan, "og at det er en til af på for den med som ikke der de et har kan i eller du"),
    (Lang::Nob, "og det er en til av på for den med som ikke å et har kan jeg i eller du"),
    (Lang::Fin, "ja on ei että se oli hän ovat kun mutta tai myös joka sen voi kuin jos"),
    (Lang::Est, "ja on ei et see oli kui ka mis või aga seda oma ning"),
    (Lang::Hun, "a az és hogy nem egy is van meg ez csak ha mint vagy volt el"),
    (Lang::Pol, "i w na nie się z do to że jest o jak po przez od dla oraz są lub"),
    (Lang::Ces, "a v se na je že s z do to o i by pro ale jako jsou nebo k pokud"),
    (Lang::Slk, "a v sa na je že s z do to o i by pre ale ako sú alebo k"),
    (Lang::Slv, "in je v na se da za so ne z s pa bi tudi ki kot od ali"),
    (Lang::Hrv, "i u je na se da za su od s o koji ne kao bi ili što"),
    (Lang::Ron, "și de în la a cu nu este pe din că care o pentru mai un sau sunt se"),
    (Lang::Cat, "de la el que i en un una per amb no del els és les al com més o es"),
    (Lang::Tur, "ve bir bu da de için ile olarak çok daha olan gibi ne var veya"),
    (Lang::Aze, "və bir bu ki üçün ilə da də olan o kimi"),
    (Lang::Vie, "và của là có không được cho một các trong với người những này để"),
    (Lang::Ind, "yang dan di dari untuk dengan ini pada itu tidak adalah dalam ke akan atau"),
    (Lang::Jav, "lan ing kang iku sing ora karo saka ana"),
    (Lang::Tgl, "ang ng sa na mga at ay ito hindi para si"),
    (Lang::Lit, "ir yra kad su iš į ne tai kaip bet ar buvo jis per už"),
    (Lang::Lav, "un ir ka ar no uz kas par nav tas bet lai vai arī"),
    (Lang::Epo, "la kaj de en estas al ne por ke kun mi li ĝi"),
    (Lang::Lat, "et in est non ad cum ut sed quod qui quae ex"),
    (Lang::Afr, "die en van is in het nie dat te vir met op om word wat"),
    (Lang::Cym, "y yn a i o ar mae yr ei bod wedi gan"),
    (Lang::Uzb, "va bu bilan uchun bir ham"),
    (Lang::Tuk, "we bu bilen bir üçin hem"),
];
