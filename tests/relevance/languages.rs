//! Pages of two topics in languages with four scripts: random sentences of words that both topics share, and a few
//! words of the topic.

use std::path::Path;

use fastrand::Rng;

/// A language: how words are joined, common words, and the words of the topic and of others.
pub struct Language {
    pub name: &'static str,
    joint: &'static str,
    common: &'static str,
    topic: &'static str,
    others: &'static str,
}

pub const LANGUAGES: [Language; 4] = [
    Language {
        name: "en",
        joint: " ",
        common: "the of and people in a new year with this more when time day year world first after work place long most",
        topic: "virus vaccine hospital patients infection doctors fever outbreak disease symptoms treatment clinic epidemic",
        others: "football goal match team striker league season coach stadium penalty champions tournament referee player",
    },
    Language {
        name: "ru",
        joint: " ",
        common: "в и на что это как год время люди новый первый день мир работа место после более жизнь очень можно только",
        topic: "вирус вакцина больница пациенты инфекция врачи лихорадка вспышка болезнь симптомы лечение эпидемия клиника",
        others: "футбол гол матч команда нападающий лига сезон тренер стадион пенальти чемпион турнир судья игрок победа",
    },
    Language {
        name: "zh",
        joint: "",
        common: "的 是 在 人 有 我们 这个 时间 世界 工作 今年 第一 地方 生活 可以 很多 因为 以后 大家 一天",
        topic: "病毒 疫苗 医院 患者 感染 医生 发烧 疫情 疾病 症状 治疗 诊所 流行病",
        others: "足球 进球 比赛 球队 前锋 联赛 赛季 教练 球场 点球 冠军 锦标赛 裁判 球员",
    },
    Language {
        name: "ar",
        joint: " ",
        common: "في من على هذا الناس وقت العالم جديد العمل اليوم السنة الأول مكان بعد أكثر الحياة كل عند قبل هناك",
        topic: "فيروس لقاح مستشفى مرضى عدوى أطباء حمى تفشي مرض أعراض علاج عيادة وباء",
        others: "كرة هدف مباراة فريق مهاجم دوري موسم مدرب ملعب ركلة بطولة حكم لاعب فوز",
    },
];

impl Language {
    /// An HTML page in which one in `rarity` words is from its topic; everything else, including menus, is alike.
    pub fn page(&self, is_relevant: bool, rarity: usize, rng: &mut Rng) -> String {
        let words = |text: &'static str| text.split(' ').collect::<Vec<_>>();
        let (common, own) = (words(self.common), words(if is_relevant { self.topic } else { self.others }));
        let mut sentence = |count: usize| -> String {
            let picked: Vec<&str> = (0..count)
                .map(|_| {
                    if rng.usize(..rarity) == 0 {
                        own[rng.usize(..own.len())]
                    } else {
                        common[rng.usize(..common.len())]
                    }
                })
                .collect();
            picked.join(self.joint)
        };
        let paragraphs: String = (0..6).map(|_| format!("<p>{}.</p>\n", sentence(30))).collect();
        let menu: String =
            own.iter().rev().take(3).map(|word| format!("<li><a href=/{word}>{word}</a></li>")).collect();
        // The menu mentions another topic than the page.
        let menu = if is_relevant { String::new() } else { menu };
        format!("<!DOCTYPE html><meta charset=utf-8><title>{}</title><ul>{menu}</ul>\n{paragraphs}", sentence(4))
    }
}

/// Examples of `count` pages per class and language. If not `is_honest`, classes are assigned at random, so that
/// nothing can be learned.
pub fn write_examples(folder: &Path, languages: &[&Language], count: usize, is_honest: bool, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    for class in ["positive", "negative"] {
        std::fs::create_dir_all(folder.join(class)).unwrap();
    }
    for language in languages {
        for number in 0..2 * count {
            let is_relevant = number % 2 == 0;
            let page = language.page(is_relevant, 12, &mut rng);
            let class = if is_honest { is_relevant } else { rng.bool() };
            let class = if class { "positive" } else { "negative" };
            std::fs::write(folder.join(class).join(format!("{}-{number}.html", language.name)), page).unwrap();
        }
    }
}
