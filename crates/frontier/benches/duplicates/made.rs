//! Made pages: articles, products of one shop, lists of one publisher. The same numbers make the same pages.

use fastrand::Rng;

/// A page in a page frame of its own: menu, footer and their links.
pub struct Page {
    pub title: String,
    pub heading: String,
    /// Blocks of markup.
    pub blocks: Vec<String>,
    /// Pages with the same number have the same frame.
    pub frame: u64,
}

impl Page {
    pub fn html(&self) -> String {
        let mut rng = Rng::with_seed(self.frame);
        let link = |rng: &mut Rng| format!("<li><a href='/{0}'>{0}</a></li>", words(rng, 1));
        let menu: String = (0..30).map(|_| link(&mut rng)).collect();
        let footer =
            format!("<footer><p>© {} {}</p><ul>{menu}</ul></footer>", 2000 + rng.u32(..30), words(&mut rng, 12));
        format!(
            "<title>{}</title><body><nav><ul>{menu}</ul></nav><main><h1>{}</h1>{}</main>{footer}</body>",
            self.title,
            self.heading,
            self.blocks.concat()
        )
    }
}

/// Words with a natural distribution. One in 70 is a number, as in manuals.
pub fn words(rng: &mut Rng, count: usize) -> String {
    let word = |rng: &mut Rng| match rng.u32(..70) {
        0 => rng.u32(2..5000).to_string(),
        _ => name(rng.u64(..4000) * rng.u64(..4000) / 4000),
    };
    (0..count).map(|_| word(rng)).collect::<Vec<_>>().join(" ")
}

/// The word with a number: two to four syllables.
fn name(number: u64) -> String {
    let mut rng = Rng::with_seed(number);
    let syllable = |rng: &mut Rng| {
        let [begin, middle] = [&b"bdfgklmnprstvz"[..], &b"aeiou"[..]].map(|of| char::from(of[rng.usize(..of.len())]));
        format!("{begin}{middle}")
    };
    (0..rng.u32(2..5)).map(|_| syllable(&mut rng)).collect()
}

fn sentences(rng: &mut Rng, count: usize) -> String {
    (0..count)
        .map(|_| {
            let length = rng.usize(8..25);
            words(rng, length) + ". "
        })
        .collect()
}

pub fn article(number: u64) -> Page {
    let mut rng = Rng::with_seed(number);
    let heading = words(&mut rng, 6);
    let paragraphs = rng.usize(4..40);
    let blocks = (0..paragraphs).map(|_| format!("<p>{}</p>", sentences(&mut rng, 4))).collect();
    Page { title: format!("{heading} - The News"), heading, blocks, frame: 1 }
}

/// How the products of a shop differ.
#[derive(Clone, Copy)]
pub enum Differs {
    /// Title and heading, and some words of the description.
    Title,
    /// Items of a list: material, size, article number.
    List,
    /// Prices and measures.
    Numbers,
}

/// A product of a shop. All products have the same description of `common` sentences.
pub fn product(shop: u64, number: u64, common: usize, differs: Differs) -> Page {
    let (mut of_shop, mut rng) = (Rng::with_seed(shop), Rng::with_seed(shop * 1000 + number + 1));
    let (mut heading, mut own) = (words(&mut of_shop, 2), String::new());
    let mut items: Vec<String> =
        (0..6).map(|_| format!("{}: {}", words(&mut of_shop, 1), words(&mut of_shop, 1))).collect();
    let mut numbers: Vec<u32> = (0..4).map(|_| of_shop.u32(1..5000)).collect();
    let description = sentences(&mut of_shop, common);
    match differs {
        Differs::Title => {
            heading = words(&mut rng, 3);
            own = format!("{heading} {}.", words(&mut rng, 4));
        }
        Differs::List => items[1..4].iter_mut().for_each(|item| *item = format!("size: {}", words(&mut rng, 2))),
        Differs::Numbers => numbers[..3].iter_mut().for_each(|number| *number = rng.u32(1..5000)),
    }
    let items: String = items.iter().map(|item| format!("<li>{item}</li>")).collect();
    let [price, article, width, height] = numbers[..] else { unreachable!("four numbers") };
    let blocks = vec![
        format!("<div class=price>{price}.{} EUR</div><div>No. {article}</div><ul>{items}</ul>", article % 100),
        format!("<p>{own} Width {width} mm, height {height} mm. {description}</p>"),
    ];
    Page { title: format!("{heading} | Shop"), heading, blocks, frame: shop }
}

/// A list of links with notices below it, as of recipes. Lists of one publisher have the same notices.
pub fn list(publisher: u64, number: u64, items: usize) -> Page {
    let (mut common, mut rng) = (Rng::with_seed(publisher), Rng::with_seed(publisher * 1000 + number + 1));
    let heading = words(&mut rng, 3);
    let notice = format!("<p>{}</p>", sentences(&mut common, 6));
    let item = |rng: &mut Rng| {
        let length = rng.usize(2..7);
        format!("<li><a href='/{}'>{}</a></li>", rng.u32(..), words(rng, length))
    };
    let items: String = (0..items).map(|_| item(&mut rng)).collect();
    Page {
        title: format!("{heading} - Lists"),
        heading,
        blocks: vec![format!("<ul>{items}</ul>"), notice],
        frame: publisher,
    }
}
