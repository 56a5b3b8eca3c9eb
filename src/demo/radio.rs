//! `radio.localhost`: programmes and episodes; a feed, JSON and plain text; pages with `<base>`, meta refresh, noindex
//! and nofollow.

use super::entry::{Entry, Town};
use super::skin::{Page, list, slug};
use super::words::{FIRST_NAMES, Pen, SURNAMES, lines};

const HOST: &str = "radio";
const EPISODES: usize = 6;
const PROGRAMMES: [&str; 8] = lines(include_str!("assets/radio/programmes.txt"));

pub(super) fn entries(town: &Town) -> Vec<Entry> {
    let robots = "User-agent: *\nDisallow: /studio/\n\nUser-agent: Loudhailer\nDisallow: /\n";
    let mut entries = vec![Entry::new(HOST, "/robots.txt", "text/plain", robots), front(town)];
    entries.extend([feed(town), schedule(), charter(), based(town), moved_frequency(town), studio(town)]);
    entries.extend([unlisted(town), pirate(town), pirate_wave(town), unlisted_by_header(town)]);
    entries.extend((0..PROGRAMMES.len()).map(|index| programme(town, index)));
    let episodes = (0..PROGRAMMES.len()).flat_map(|index| (1..=EPISODES).map(move |number| (index, number)));
    entries.extend(episodes.map(|(index, number)| episode(town, index, number)));
    entries
}

fn front(town: &Town) -> Entry {
    let programmes = (0..PROGRAMMES.len()).map(|index| (programme_path(index), PROGRAMMES[index].to_owned()));
    let doors = [
        ("/programmes/", "How programmes are numbered"),
        ("/feed.xml", "The feed"),
        ("/schedule.json", "The schedule, for machines"),
        ("/charter.txt", "The charter, as typed"),
        ("/old-frequency", "Our old frequency"),
        ("/unlisted", "A programme we would rather not see in the index"),
        ("/off-air", "Another one"),
        ("/pirate", "The pirate station's noticeboard"),
        ("/studio/live", "The studio (recording, keep out)"),
    ];
    let doors: Vec<_> = doors.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
    let intro = Pen::new("radio").paragraphs(&RADIO_TALK, 2, 3);
    let main = format!(
        "{intro}<h2>Programmes</h2>\n{}<h2>Elsewhere on the dial</h2>\n{}",
        list(&programmes.collect::<Vec<_>>()),
        list(&doors)
    );
    let feed = "<link rel=\"alternate\" type=\"application/rss+xml\" title=\"Episodes\" href=\"/feed.xml\">";
    page(town, "/", Page::new("Radio Saltmere", main).head(feed))
}

fn programme_path(index: usize) -> String {
    format!("/programmes/{}/", slug(PROGRAMMES[index]))
}

fn episode_path(index: usize, number: usize) -> String {
    format!("{}episode-{number}", programme_path(index))
}

fn programme(town: &Town, index: usize) -> Entry {
    let path = programme_path(index);
    let text = Pen::new(&path).paragraphs(&RADIO_TALK, 2, 3);
    // Relative links, against the page's own address.
    let episodes = (1..=EPISODES).map(|number| (format!("episode-{number}"), format!("Episode {number}")));
    let main = format!("{text}<h2>Episodes</h2>\n{}", list(&episodes.collect::<Vec<_>>()));
    page(town, &path, Page::new(PROGRAMMES[index], main))
}

fn episode(town: &Town, index: usize, number: usize) -> Entry {
    let path = episode_path(index, number);
    let mut pen = Pen::new(&path);
    let host = format!("{} {}", FIRST_NAMES[(index * 5) % FIRST_NAMES.len()], SURNAMES[(index * 7) % SURNAMES.len()]);
    let intro = format!("<p>{} minutes, with {host} at the microphone.</p>\n", pen.number(9, 58));
    let main = format!("{intro}{}", pen.paragraphs(&EPISODE_TALK, 3, 4));
    let title = format!("{}, episode {number}", PROGRAMMES[index]);
    let next = (index + 1) % PROGRAMMES.len();
    let page_ =
        Page::new(title, main).beside("./", PROGRAMMES[index]).beside(episode_path(next, number), "Coming up next");
    page(town, &path, page_)
}

fn feed(town: &Town) -> Entry {
    let items: String = (0..PROGRAMMES.len())
        .map(|index| {
            let (title, link) = (PROGRAMMES[index], town.url(HOST, &episode_path(index, EPISODES)));
            let about = Pen::new(title).fill(RADIO_TALK[index % RADIO_TALK.len()]);
            format!("<item><title>{title}, episode {EPISODES}</title><link>{link}</link><guid>{link}</guid><description>{about}</description></item>\n")
        })
        .collect();
    let link = town.url(HOST, "/");
    let feed = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\"><channel>\n<title>Radio Saltmere</title>\n\
         <link>{link}</link>\n<description>New episodes</description>\n{items}</channel></rss>\n"
    );
    Entry::new(HOST, "/feed.xml", "application/rss+xml", feed)
}

fn schedule() -> Entry {
    let slots: Vec<_> = PROGRAMMES
        .iter()
        .enumerate()
        .map(|(index, title)| serde_json::json!({ "at": format!("{:02}:00", 6 + index * 2), "title": title, "minutes": 55 }))
        .collect();
    let schedule = serde_json::json!({ "station": "Radio Saltmere", "frequency_mhz": 104.2, "slots": slots });
    Entry::new(HOST, "/schedule.json", "application/json", schedule.to_string())
}

fn charter() -> Entry {
    let text = include_str!("assets/radio/charter.txt");
    Entry::new(HOST, "/charter.txt", "text/plain; charset=utf-8", text)
}

/// Its links are relative to `<base>`, not to its own address.
fn based(town: &Town) -> Entry {
    let base = format!("<base href=\"{}\">", town.url(HOST, &programme_path(3)));
    let main = include_str!("assets/radio/numbering.html");
    page(town, "/programmes/", Page::new("How programmes are numbered", main).head(base))
}

fn moved_frequency(town: &Town) -> Entry {
    let refresh = "<meta http-equiv=\"refresh\" content=\"3; url=/programmes/night-tide/\">";
    let main = include_str!("assets/radio/old-frequency.html");
    page(town, "/old-frequency", Page::new("Our old frequency", main).head(refresh))
}

fn studio(town: &Town) -> Entry {
    page(town, "/studio/live", Page::new("On air", "<p>Quiet, please.</p>\n"))
}

fn unlisted(town: &Town) -> Entry {
    let main = "<p>The presenter had a cold. Fetch it if you must, but do not list it.</p>\n";
    page(town, "/unlisted", Page::new("Not our best hour", main).head("<meta name=\"robots\" content=\"noindex\">"))
}

fn unlisted_by_header(town: &Town) -> Entry {
    let main = "<p>Forty minutes of silence, by mistake.</p>\n";
    page(town, "/off-air", Page::new("Off air", main)).header("x-robots-tag", "noindex")
}

/// None of its links is to be followed, it says in its head; so only the menu's targets are known from elsewhere.
fn pirate(town: &Town) -> Entry {
    let main = "<p>Broadcasting from beyond the bar. <a href=\"/pirate/wave\">Find us on the wave</a>.</p>\n";
    page(town, "/pirate", Page::new("The pirate station", main).head("<meta name=\"robots\" content=\"nofollow\">"))
}

fn pirate_wave(town: &Town) -> Entry {
    let main = "<p>You were asked not to follow.</p>\n";
    page(town, "/pirate/wave", Page::new("On the wave", main))
}

fn page(town: &Town, path: &str, page: Page) -> Entry {
    Entry::html(HOST, path, page.on(HOST, town))
}

const RADIO_TALK: [&str; 9] = lines(include_str!("assets/radio/talk.txt"));
const EPISODE_TALK: [&str; 12] = lines(include_str!("assets/radio/episodes.txt"));
