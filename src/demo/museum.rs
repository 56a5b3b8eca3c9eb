//! `museum.localhost`: rooms and exhibits, letters in five charsets, a picture and a printed guide.

use super::entry::{Entry, Town};
use super::skin::{Page, list, slug};
use super::words::{ADJECTIVES, NOUNS, Pen, SHIPS, lines};
use super::{letters, pictures};

const HOST: &str = "museum";
const ROOMS: [&str; 6] =
    ["The Room of Nets", "The Weighing Room", "The Wet Room", "The Gallery of Figureheads", "The Attic", "The Cellar"];
const EXHIBITS: usize = 36;

pub(super) fn entries(town: &Town) -> Vec<Entry> {
    let robots = "User-agent: *\nDisallow: /cellar-door\n";
    let mut entries = vec![Entry::new(HOST, "/robots.txt", "text/plain", robots), front(town)];
    entries.extend([exhibits(town), letter_box(town), picture(), guide()]);
    entries.extend((0..ROOMS.len()).map(|index| room(town, index)));
    entries.extend((0..EXHIBITS).map(|index| exhibit(town, index)));
    entries.extend(letters::entries(town));
    entries
}

fn front(town: &Town) -> Entry {
    let rooms = (0..ROOMS.len()).map(|index| (room_path(index), ROOMS[index].to_owned()));
    let doors: Vec<_> = rooms
        .chain([
            ("/exhibits/".to_owned(), "All exhibits".to_owned()),
            ("/letters/".to_owned(), "Letters from other ports".to_owned()),
            ("/guide.pdf".to_owned(), "The printed guide (PDF)".to_owned()),
        ])
        .collect();
    let picture = "<p><a href=\"/evening.png\"><img src=\"/evening.png\" alt=\"A boat on the evening sea\" width=\"480\" \
                   height=\"270\"></a><br><em>Evening off Wend Point</em>, oil and arithmetic.</p>\n";
    let intro = Pen::new("museum").paragraphs(&MUSEUM_TALK, 2, 3);
    page(town, "/", Page::new("The Museum of the Stream", format!("{picture}{intro}{}", list(&doors))))
}

fn room_path(index: usize) -> String {
    format!("/rooms/{}", slug(ROOMS[index]))
}

fn room(town: &Town, index: usize) -> Entry {
    let path = room_path(index);
    let text = Pen::new(&path).paragraphs(&MUSEUM_TALK, 2, 3);
    let things = (index..EXHIBITS).step_by(ROOMS.len()).map(|thing| (exhibit_path(thing), exhibit_name(thing)));
    let main = format!("{text}<h2>In this room</h2>\n{}", list(&things.collect::<Vec<_>>()));
    page(town, &path, Page::new(ROOMS[index], main).beside(room_path((index + 1) % ROOMS.len()), "The next room"))
}

fn exhibit_name(index: usize) -> String {
    format!("The {} {}", ADJECTIVES[(index * 5 + index / 16) % ADJECTIVES.len()], NOUNS[index % NOUNS.len()])
}

fn exhibit_path(index: usize) -> String {
    format!("/exhibits/{}", slug(&exhibit_name(index)))
}

fn exhibits(town: &Town) -> Entry {
    let exhibits: Vec<_> = (0..EXHIBITS).map(|index| (exhibit_path(index), exhibit_name(index))).collect();
    page(town, "/exhibits/", Page::new("All exhibits", list(&exhibits)))
}

fn exhibit(town: &Town, index: usize) -> Entry {
    let path = exhibit_path(index);
    let mut pen = Pen::new(&path);
    let ship = SHIPS[index % SHIPS.len()];
    let intro = format!(
        "<p>Number {} in <a href=\"{}\">{}</a>. Found aboard the <a href=\"{}\">{ship}</a> in {}.</p>\n",
        index + 1,
        room_path(index % ROOMS.len()),
        ROOMS[index % ROOMS.len()],
        town.url("harbour", &format!("/ships/{}", slug(ship))),
        pen.number(1790, 1960)
    );
    let main = format!("{intro}{}", pen.paragraphs(&EXHIBIT_TALK, 3, 3));
    let next = (index + 1) % EXHIBITS;
    page(town, &path, Page::new(exhibit_name(index), main).beside(exhibit_path(next), exhibit_name(next)))
}

fn letter_box(town: &Town) -> Entry {
    let intro = include_str!("assets/museum/letters.html");
    page(town, "/letters/", Page::new("Letters from other ports", format!("{intro}{}", list(&letters::titles()))))
}

fn picture() -> Entry {
    // Writing into memory cannot fail; an empty picture would be noticed by the catalogue's test.
    Entry::new(HOST, "/evening.png", "image/png", pictures::evening_png().unwrap_or_default())
}

fn guide() -> Entry {
    let lines: Vec<_> = include_str!("assets/museum/guide.txt").lines().collect();
    Entry::new(HOST, "/guide.pdf", "application/pdf", pictures::guide_pdf(&lines))
}

fn page(town: &Town, path: &str, page: Page) -> Entry {
    Entry::html(HOST, path, page.on(HOST, town))
}

const MUSEUM_TALK: [&str; 9] = lines(include_str!("assets/museum/talk.txt"));
const EXHIBIT_TALK: [&str; 12] = lines(include_str!("assets/museum/exhibits.txt"));
