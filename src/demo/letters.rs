//! Letters from other ports, each in the charset of its country and time, and each declared in another way.

use encoding_rs::Encoding;

use super::entry::{Entry, Town};
use super::skin::Page;

/// How a page tells its charset.
enum Declared {
    /// In the Content-Type header only.
    Header,
    /// In `<meta charset>` only.
    Meta,
    /// In `<meta http-equiv="Content-Type">` only.
    HttpEquiv,
    /// By a byte order mark only.
    Mark,
    /// Not at all: to be detected.
    Nowhere,
}

struct Letter {
    path: &'static str,
    title: &'static str,
    language: &'static str,
    /// A label of the WHATWG Encoding Standard.
    charset: &'static str,
    declared: Declared,
    paragraphs: &'static [&'static str],
}

/// `(path, title)` of every letter.
pub(super) fn titles() -> Vec<(String, String)> {
    LETTERS.iter().map(|letter| (letter.path.to_owned(), letter.title.to_owned())).collect()
}

pub(super) fn entries(town: &Town) -> Vec<Entry> {
    LETTERS.iter().map(|letter| entry(town, letter)).collect()
}

fn entry(town: &Town, letter: &Letter) -> Entry {
    let Letter { charset, .. } = letter;
    let text: String = letter.paragraphs.iter().map(|text| format!("<p>{text}</p>\n")).collect();
    let main = format!("<blockquote lang=\"{}\">\n{text}</blockquote>\n", letter.language);
    let meta = match letter.declared {
        Declared::Meta => format!("<meta charset=\"{charset}\">"),
        Declared::HttpEquiv => {
            format!("<meta http-equiv=\"Content-Type\" content=\"text/html; charset={charset}\">")
        }
        _ => String::new(),
    };
    let content_type = match letter.declared {
        Declared::Header => format!("text/html; charset={charset}"),
        _ => "text/html".to_owned(),
    };
    let page = Page::new(letter.title, main).beside("/letters/", "All letters").declared("museum", town, &meta);
    Entry::new("museum", letter.path, &content_type, encode(letter, &page))
}

fn encode(letter: &Letter, page: &str) -> Vec<u8> {
    // A label nobody knows would show as UTF-8; the test of the charsets would tell.
    let encoding = Encoding::for_label(letter.charset.as_bytes()).unwrap_or(encoding_rs::UTF_8);
    let (bytes, _, _) = encoding.encode(page);
    match letter.declared {
        Declared::Mark => [b"\xef\xbb\xbf".as_slice(), &bytes].concat(),
        _ => bytes.into_owned(),
    }
}

const LETTERS: [Letter; 6] = [
    Letter {
        path: "/letters/bordeaux",
        title: "Une lettre de Bordeaux",
        language: "fr",
        charset: "iso-8859-1",
        declared: Declared::Header,
        paragraphs: &[
            "Cher ami, la rivière est haute et l'été a été généreux. Nous avons chargé quarante tonneaux et un piano, \
             que personne à bord ne sait accorder.",
            "Le cuisinier prétend que vos harengs sont meilleurs que nos huîtres ; il a dû rester à terre jusqu'à ce \
             qu'il s'excuse. Gardez-moi une place près du poêle : j'arrive à Noël, si le vent le veut.",
        ],
    },
    Letter {
        path: "/letters/arkhangelsk",
        title: "Письмо из Архангельска",
        language: "ru",
        charset: "windows-1251",
        declared: Declared::Header,
        paragraphs: &[
            "Дорогой друг! Река встала раньше обычного, и наш пароход зимует у причала, как старый кот у печки.",
            "Мы грузили доски до последнего дня. Капитан велел передать вам, что якорь, который вы одолжили, цел, а \
             чайник — нет. Весной, когда сойдёт лёд, ждите нас с мёдом и новостями.",
        ],
    },
    Letter {
        path: "/letters/yokohama",
        title: "横浜からの手紙",
        language: "ja",
        charset: "shift_jis",
        declared: Declared::Meta,
        paragraphs: &[
            "拝啓、港の朝は霧が深く、船の汽笛だけが聞こえます。先月お送りいただいた羅針盤は、無事に届きました。",
            "こちらの漁師たちは、川と海の境目で網を打ちます。魚は少なくとも、話はいつも大漁です。春になりましたら、\
             ぜひソルトミアの灯台を見に参ります。",
        ],
    },
    Letter {
        path: "/letters/canton",
        title: "广州来信",
        language: "zh",
        charset: "gbk",
        declared: Declared::HttpEquiv,
        paragraphs: &[
            "亲爱的朋友：江上的雾散了，码头又热闹起来。你们要的茶叶已经装船，一共三十二箱，另有一箱是送给图书馆的。",
            "船长说，北风一起就开船。若是路上顺利，年底以前就能看到你们那座有时不亮的灯塔。请替我向港口的猫问好。",
        ],
    },
    Letter {
        path: "/letters/busan",
        title: "부산에서 온 편지",
        language: "ko",
        charset: "euc-kr",
        declared: Declared::Nowhere,
        paragraphs: &[
            "안녕하십니까. 오늘은 바람이 잔잔하여 배들이 모두 바다로 나갔습니다. 보내 주신 그물은 아주 튼튼합니다.",
            "어부들은 강물이 바다를 만나는 곳에서 가장 맛있는 고기가 잡힌다고 말합니다. 봄이 오면 마른 미역과 \
             이야기를 가득 싣고 찾아가겠습니다. 등대지기에게 안부를 전해 주십시오.",
        ],
    },
    Letter {
        path: "/letters/reykjavik",
        title: "Bréf frá Reykjavík",
        language: "is",
        charset: "utf-8",
        declared: Declared::Mark,
        paragraphs: &[
            "Kæri vinur, hér er veðrið eins og það er, og við líka. Skipið kom að landi á þriðjudag með fullar lestir \
             af saltfiski og einn mjög undrandi lunda.",
            "Ég sendi þér ullarpeysu, því að ég hef lesið veðurspána ykkar. Þúsund kveðjur til allra við höfnina.",
        ],
    },
];
