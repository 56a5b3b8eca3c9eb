//! `radio.localhost`: programmes and episodes; a feed, JSON and plain text; pages with `<base>`, meta refresh, noindex
//! and nofollow.

use super::entry::{Entry, House};
use super::skin::{Page, list, slug};
use super::words::{FIRST_NAMES, Pen, SURNAMES, lines};
use super::written;

const EPISODES: usize = 6;
const PROGRAMMES: [&str; 8] = lines(include_str!("assets/radio/programmes.txt"));

pub(super) fn entries(house: &House) -> Vec<Entry> {
    let mut entries = written::pages(house, include_str!("assets/radio/pages.txt"), &RADIO_TALK);
    entries.extend([feed(house), schedule(house)]);
    entries.extend((0..PROGRAMMES.len()).map(|index| programme(house, index)));
    let episodes = (0..PROGRAMMES.len()).flat_map(|index| (1..=EPISODES).map(move |number| (index, number)));
    entries.extend(episodes.map(|(index, number)| episode(house, index, number)));
    entries
}

fn programme_path(index: usize) -> String {
    format!("/programmes/{}/", slug(PROGRAMMES[index]))
}

fn episode_path(index: usize, number: usize) -> String {
    format!("{}episode-{number}", programme_path(index))
}

fn programme(house: &House, index: usize) -> Entry {
    let path = programme_path(index);
    let text = Pen::new(&path).paragraphs(&RADIO_TALK, 2, 3);
    // Links relative to the page's own URL.
    let episodes = (1..=EPISODES).map(|number| (format!("episode-{number}"), format!("Episode {number}")));
    let main = format!("{text}<h2>Episodes</h2>\n{}", list(&episodes.collect::<Vec<_>>()));
    house.page(&path, Page::new(PROGRAMMES[index], main))
}

fn episode(house: &House, index: usize, number: usize) -> Entry {
    let path = episode_path(index, number);
    let mut pen = Pen::new(&path);
    let host = format!("{} {}", FIRST_NAMES[(index * 5) % FIRST_NAMES.len()], SURNAMES[(index * 7) % SURNAMES.len()]);
    let intro = format!("<p>{} minutes, with {host} at the microphone.</p>\n", pen.number(9, 58));
    let main = format!("{intro}{}", pen.paragraphs(&EPISODE_TALK, 3, 4));
    let title = format!("{}, episode {number}", PROGRAMMES[index]);
    let next = (index + 1) % PROGRAMMES.len();
    let page_ =
        Page::new(title, main).beside("./", PROGRAMMES[index]).beside(episode_path(next, number), "Coming up next");
    house.page(&path, page_)
}

fn feed(house: &House) -> Entry {
    let items: String = (0..PROGRAMMES.len())
        .map(|index| {
            let (title, link) = (PROGRAMMES[index], house.own_url(&episode_path(index, EPISODES)));
            let about = Pen::new(title).fill(RADIO_TALK[index % RADIO_TALK.len()]);
            format!("<item><title>{title}, episode {EPISODES}</title><link>{link}</link><guid>{link}</guid><description>{about}</description></item>\n")
        })
        .collect();
    let link = house.own_url("/");
    let feed = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\"><channel>\n<title>Radio Saltmere</title>\n\
         <link>{link}</link>\n<description>New episodes</description>\n{items}</channel></rss>\n"
    );
    house.entry("/feed.xml", "application/rss+xml", feed)
}

fn schedule(house: &House) -> Entry {
    let slots: Vec<_> = PROGRAMMES
        .iter()
        .enumerate()
        .map(|(index, title)| serde_json::json!({ "at": format!("{:02}:00", 6 + index * 2), "title": title, "minutes": 55 }))
        .collect();
    let schedule = serde_json::json!({ "station": "Radio Saltmere", "frequency_mhz": 104.2, "slots": slots });
    house.entry("/schedule.json", "application/json", schedule.to_string())
}

const RADIO_TALK: [&str; 9] = lines(include_str!("assets/radio/talk.txt"));
const EPISODE_TALK: [&str; 12] = lines(include_str!("assets/radio/episodes.txt"));
