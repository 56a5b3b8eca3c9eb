//! The language of a text, whatever the page declares.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use seine_parse::html_text::page_facts;
use seine_parse::language::{Language, of_text, primary_language, tags};

/// Written for this test.
const TEXTS: [(&str, &str); 28] = [
    (
        "en",
        "The boats came back with the tide in the evening, and most of what they had caught was sold before it was dark.",
    ),
    (
        "de",
        "Die Boote kamen am Abend mit der Flut zurück, und das meiste von dem, was sie gefangen hatten, war bald verkauft.",
    ),
    (
        "fr",
        "Les bateaux sont revenus le soir avec la marée, et presque tout ce qu'ils avaient pêché fut vendu avant la nuit.",
    ),
    (
        "es",
        "Los barcos volvieron por la tarde con la marea, y casi todo lo que habían pescado se vendió antes de la noche.",
    ),
    (
        "pt",
        "Os barcos voltaram à tarde com a maré, e quase tudo o que tinham pescado foi vendido antes de anoitecer na vila.",
    ),
    (
        "it",
        "Le barche sono tornate la sera con la marea, e quasi tutto quello che avevano pescato è stato venduto prima di notte.",
    ),
    (
        "nl",
        "De boten kwamen 's avonds met het tij terug, en het meeste van wat zij hadden gevangen was voor donker verkocht.",
    ),
    (
        "sv",
        "Båtarna kom tillbaka på kvällen med tidvattnet, och det mesta av det som de hade fångat såldes innan det blev mörkt.",
    ),
    (
        "da",
        "Bådene kom tilbage om aftenen med tidevandet, og det meste af det, de havde fanget, blev solgt, før det blev mørkt.",
    ),
    (
        "nb",
        "Båtene kom tilbake om kvelden med tidevannet, og mesteparten av det de hadde fått, ble solgt før det ble mørkt ute.",
    ),
    (
        "gl",
        "Os barcos volveron pola tarde coa marea, e case todo o que pescaran vendeuse antes de que caese a noite na vila.",
    ),
    (
        "sk",
        "Lode sa večer vrátili s prílivom a väčšina toho, čo rybári ulovili, sa predala ešte skôr, ako sa na móle zotmelo.",
    ),
    (
        "fi",
        "Veneet palasivat illalla nousuveden mukana, ja suurin osa siitä, mitä ne olivat saaneet, myytiin ennen pimeän tuloa.",
    ),
    (
        "pl",
        "Łodzie wróciły wieczorem z przypływem i prawie wszystko, co udało się złowić, sprzedano jeszcze przed nocą na nabrzeżu.",
    ),
    (
        "cs",
        "Lodě se večer vrátily s přílivem a většina toho, co rybáři chytili, byla prodána ještě dříve, než se setmělo.",
    ),
    (
        "hu",
        "A hajók este a dagállyal együtt tértek vissza, és a legtöbb hal, amit fogtak, még sötétedés előtt elkelt a parton.",
    ),
    (
        "ro",
        "Bărcile s-au întors seara odată cu fluxul, iar cea mai mare parte din ceea ce au prins s-a vândut înainte de noapte.",
    ),
    (
        "tr",
        "Tekneler akşam gelgitle birlikte geri döndü ve yakaladıkları balıkların çoğu hava kararmadan önce limanda satıldı.",
    ),
    (
        "vi",
        "Những chiếc thuyền trở về vào buổi tối cùng với thủy triều, và hầu hết những gì họ đánh bắt được đã bán trước khi trời tối.",
    ),
    (
        "ru",
        "Лодки вернулись вечером вместе с приливом, и почти всё, что удалось поймать, было продано ещё до наступления темноты.",
    ),
    (
        "uk",
        "Човни повернулися ввечері разом із припливом, і майже все, що вдалося зловити, було продано ще до настання темряви.",
    ),
    (
        "el",
        "Τα καΐκια γύρισαν το βράδυ μαζί με την παλίρροια, και σχεδόν όλα όσα είχαν πιάσει πουλήθηκαν πριν να νυχτώσει.",
    ),
    ("he", "הסירות חזרו בערב יחד עם הגאות, וכמעט כל מה שנתפס נמכר עוד לפני רדת החשכה על הרציף של הנמל הישן."),
    ("ar", "عادت القوارب في المساء مع المد، وبيع معظم ما اصطادته قبل حلول الظلام على رصيف الميناء القديم في المدينة."),
    ("hi", "नावें शाम को ज्वार के साथ लौट आईं, और जो मछलियाँ पकड़ी गई थीं उनमें से अधिकतर अंधेरा होने से पहले बिक गईं।"),
    ("ja", "船は夕方の満ち潮とともに港へ戻り、獲れた魚のほとんどは暗くなる前に岸壁で売れてしまいました。"),
    ("ko", "배들은 저녁에 밀물과 함께 돌아왔고, 잡은 물고기의 대부분은 어두워지기 전에 부두에서 모두 팔렸습니다."),
    ("zh", "船只傍晚随着潮水回到了港口，捕到的鱼大部分在天黑之前就在码头上卖完了，渔民们都很高兴。"),
];

fn tag(found: Option<Language>) -> &'static str {
    found.map_or("", |found| {
        assert!((0.9..=1.0).contains(&found.confidence), "{found:?}");
        found.tag
    })
}

/// The text after a menu, with another language declared.
fn page(text: &str) -> String {
    let menu: String =
        ["Accueil", "Über uns", "Contact", "Boutique"].iter().map(|it| format!("<li><a href=/x>{it}</a>")).collect();
    format!(
        "<html lang=tlh><title>Harbour</title><script>var the = of + and;</script><ul>{menu}</ul><p>{text}</p></html>"
    )
}

#[test]
fn the_text_tells_its_language() {
    for (language, text) in TEXTS {
        assert_eq!(tag(of_text(text)), language, "{text}");
        assert_eq!(tag(of_text(&page_facts(&page(text)).text)), language, "{text}");
    }
}

#[test]
fn little_text_and_what_is_no_language_tell_nothing() {
    for text in [
        "",
        " \n\t ",
        "The boats came back.",
        "船は夕方",
        "1234567890 ".repeat(40).as_str(),
        "☃ – … ".repeat(40).as_str(),
        "ruvagem tolister quonaddit ".repeat(20).as_str(),
    ] {
        assert_eq!(of_text(text), None, "{text}");
    }
}

/// The first article of the Declaration of Human Rights in Greenlandic, Northern Sami, Navajo and Kongo.
const UNKNOWN: [&str; 4] = [
    "Inuit tamarmik inunngorput nammineersinnaassuseqarlutik assigiimmillu ataqqinassuseqarlutillu pisinnaatitaaffeqarlutik. \
     Solaqassusermik tarnillu nalunngissusianik pilersugaapput, imminnullu iliorfigeqatigiittariaqaraluarput qatanngutigiittut.",
    "Buot olbmot leat riegádan friddjan ja olmmošárvvu ja olmmošvuoigatvuođaid dáfus. Sii leat jierbmalaš olbmot geain lea \
     oamedovdu ja sii gálggaše leat dego vieljačagat.",
    "Bilaʼashdaʼii tʼáá ałtsoh yiníkʼehgo bidizhchįh dóó aheełtʼeego ílį́į́go bee baahóchįʼ. Eíí hą́ą́h hájítsʼíísgo \
     bitaʼígíí ádił yáʼáátʼéehgo bee haazʼą́.",
    "Bantu nyonso, na mbutukulu kevwandaka na kimpwanza mpe ngenda mpe baluve ya mutindu mosi. Mayele na mbanzulu kele na bau, \
     ni yau yina bafwana kusalasana na mutindu ya bumpangi.",
];

#[test]
fn a_language_that_is_not_known_is_not_taken_for_another() {
    for text in UNKNOWN {
        assert_eq!(of_text(text), None, "{text}");
    }
}

/// Ten sentences of a language, as lines.
fn article(language: &str) -> String {
    let text = TEXTS.iter().find(|(tag, _)| *tag == language).map_or("", |(_, text)| text);
    [text; 10].join("\n")
}

#[test]
fn banners_and_footers_in_another_language_do_not_decide() {
    let banner = "We use cookies and similar technologies to improve your experience on our website and to show you offers. \
                  By clicking accept all you agree to the use of cookies by us and by our partners, as our policy says.";
    let footer = "All rights reserved. Reproduction in whole or in part without the written permission of the publisher is \
                  prohibited. Read our terms of use and our privacy policy before you subscribe to the newsletter.";
    for language in ["da", "nb", "de", "hu", "vi", "ru", "uk", "ar", "el", "ja"] {
        let text = format!("{banner}\n{}\n{footer}", article(language));
        assert_eq!(tag(of_text(&text)), language, "{text}");
    }
}

#[test]
fn of_mixed_scripts_the_main_one_decides() {
    for (most, least) in [("ru", "en"), ("en", "ru"), ("ja", "en"), ("he", "ru"), ("fr", "zh")] {
        let quoted = TEXTS.iter().find(|(tag, _)| *tag == least).map_or("", |(_, text)| text);
        let text = format!("{}\n{quoted}\n{}", article(most), article(most));
        assert_eq!(tag(of_text(&text)), most, "{text}");
    }
    let half = format!("{}\n{}\n{}", article("ru"), article("de"), article("el"));
    assert_eq!(of_text(&half), None);
}

#[test]
fn every_language_has_a_tag_of_its_own() {
    let tags = tags();
    assert!(tags.len() > 90, "{tags:?}");
    for tag in &tags {
        assert_eq!(primary_language(tag).as_deref(), Some(*tag));
    }
}

#[test]
fn lines_that_are_no_sentences_are_asked_only_where_there_is_nothing_else() {
    let menu = TEXTS[1].1.replace(' ', "\n");
    assert_eq!(tag(of_text(&format!("{menu}\n{}", TEXTS[0].1))), "en");
    assert_eq!(tag(of_text(&menu)), "de");
}

#[test]
fn hostile_text_takes_no_longer_than_its_markup() {
    let long = [
        "x".repeat(20 << 20),
        "é".repeat(10 << 20),
        "<p>a".repeat(5 << 20),
        "<a>".repeat(6 << 20),
        "\u{300}".repeat(10 << 20),
        "İ ".repeat(6 << 20),
        " ".repeat(20 << 20),
    ];
    for text in long {
        let started = Instant::now();
        let _ = of_text(&text);
        assert!(started.elapsed() < Duration::from_secs(30), "{:?} of {:?}", started.elapsed(), &text[..2]);
    }
}

proptest! {
    #[test]
    fn any_text_has_some_language_or_none(text in "\\PC{0,300}", markup in any::<String>()) {
        let _ = (of_text(&text), of_text(&markup));
    }
}
