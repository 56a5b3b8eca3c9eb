//! `market.localhost`: stalls, goods and recipes; one list in three orders with a canonical URL; adverts that are
//! linked with nofollow only. It has no robots.txt.

use super::entry::{Entry, House};
use super::skin::{Page, list, slug};
use super::words::{CARGO, FIRST_NAMES, FISH, Pen, SURNAMES, lines};
use super::written;

const STALLS: usize = 16;
const WARES: [&str; 16] = lines(include_str!("assets/market/wares.txt"));

pub(super) fn entries(house: &House) -> Vec<Entry> {
    let mut entries = written::pages(house, include_str!("assets/market/pages.txt"), &MARKET_TALK);
    entries.extend([stalls(house), recipes(house)]);
    entries.extend(["", "?sort=price", "?sort=name"].map(|order| goods(house, order)));
    entries.extend((0..STALLS).map(|index| stall(house, index)));
    entries.extend((0..goods_count()).map(|index| good(house, index)));
    entries.extend((0..FISH.len()).map(|index| recipe(house, index)));
    entries
}

fn stall_holder(index: usize) -> String {
    format!("{} {}", FIRST_NAMES[(index * 5 + 1) % FIRST_NAMES.len()], SURNAMES[(index * 7 + 4) % SURNAMES.len()])
}

fn stalls(house: &House) -> Entry {
    let stalls: Vec<_> = (0..STALLS).map(|index| (stall_path(index), stall_holder(index))).collect();
    house.page("/stalls/", Page::new("The stalls", list(&stalls)))
}

fn stall_path(index: usize) -> String {
    format!("/stalls/{}", slug(&stall_holder(index)))
}

fn stall(house: &House, index: usize) -> Entry {
    let path = stall_path(index);
    let text = Pen::new(&path).paragraphs(&STALL_TALK, 3, 3);
    let wares = (index..goods_count()).step_by(STALLS).map(|good| (good_path(good), good_name(good).to_owned()));
    let main = format!("{text}<h2>On the table</h2>\n{}", list(&wares.collect::<Vec<_>>()));
    house.page(&path, Page::new(stall_holder(index), main).beside("/stalls/", "All stalls"))
}

fn goods_count() -> usize {
    WARES.len() + CARGO.len()
}

fn good_name(index: usize) -> &'static str {
    WARES.get(index).copied().unwrap_or_else(|| CARGO[(index - WARES.len()) % CARGO.len()])
}

fn good_path(index: usize) -> String {
    format!("/goods/{}", slug(good_name(index)))
}

fn price(index: usize) -> u32 {
    Pen::new(good_name(index)).number(2, 90)
}

/// The same list in three orders; the first is the canonical one.
fn goods(house: &House, order: &str) -> Entry {
    let mut sorted: Vec<usize> = (0..goods_count()).collect();
    match order {
        "?sort=price" => sorted.sort_by_key(|index| price(*index)),
        "?sort=name" => sorted.sort_by_key(|index| good_name(*index).to_lowercase()),
        _ => {}
    }
    let rows: String = sorted
        .iter()
        .map(|index| {
            let (path, name, pence) = (good_path(*index), good_name(*index), price(*index));
            format!("<tr><td><a href=\"{path}\">{name}</a></td><td>{pence} pence</td></tr>\n")
        })
        .collect();
    let orders = "<p>By <a href=\"/goods/?sort=name\">name</a> or by <a href=\"/goods/?sort=price\">price</a>.</p>\n";
    let canonical = format!("<link rel=\"canonical\" href=\"{}\">", house.own_url("/goods/"));
    let main = format!("{orders}<table>\n{rows}</table>\n");
    house.page(format!("/goods/{order}"), Page::new("Everything on sale", main).head(canonical))
}

fn good(house: &House, index: usize) -> Entry {
    let path = good_path(index);
    let seller = index % STALLS;
    let intro = format!(
        "<p>{} pence at <a href=\"{}\">{}</a>'s stall.</p>\n",
        price(index),
        stall_path(seller),
        stall_holder(seller)
    );
    let main = format!("{intro}{}", Pen::new(&path).paragraphs(&GOODS_TALK, 3, 3));
    house.page(&path, Page::new(good_name(index), main).beside("/goods/", "Everything on sale"))
}

fn recipes(house: &House) -> Entry {
    let recipes: Vec<_> = FISH.iter().map(|fish| (recipe_path(fish), format!("Saltmere {fish}"))).collect();
    house.page("/recipes/", Page::new("Ten ways with fish", list(&recipes)))
}

fn recipe_path(fish: &str) -> String {
    format!("/recipes/{}", slug(fish))
}

fn recipe(house: &House, index: usize) -> Entry {
    let fish = FISH[index];
    let path = recipe_path(fish);
    let mut pen = Pen::new(&path);
    let amounts = format!(
        "<ul>\n<li>{} {fish}</li>\n<li>{} spoons of butter</li>\n<li>an onion, if there is one</li>\n<li>{}</li>\n</ul>\n",
        pen.number(1, 6),
        pen.number(2, 5),
        pen.fill("a cup of {drink}, for the cook")
    );
    let main = format!("{amounts}{}", pen.paragraphs(&RECIPE_TALK, 2, 4));
    let next = FISH[(index + 1) % FISH.len()];
    house.page(&path, Page::new(format!("Saltmere {fish}"), main).beside(recipe_path(next), format!("Saltmere {next}")))
}

const MARKET_TALK: [&str; 9] = lines(include_str!("assets/market/talk.txt"));
const STALL_TALK: [&str; 10] = lines(include_str!("assets/market/stalls.txt"));
const GOODS_TALK: [&str; 10] = lines(include_str!("assets/market/goods.txt"));
const RECIPE_TALK: [&str; 10] = lines(include_str!("assets/market/recipes.txt"));
