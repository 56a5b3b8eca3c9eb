//! `museum.localhost`: rooms and exhibits, letters in five charsets, a picture and a printed guide.

use super::entry::{Entry, House};
use super::skin::{Page, list, slug};
use super::words::{ADJECTIVES, NOUNS, Pen, SHIPS, lines};
use super::written;

const ROOMS: [&str; 6] =
    ["The Room of Nets", "The Weighing Room", "The Wet Room", "The Gallery of Figureheads", "The Attic", "The Cellar"];
const EXHIBITS: usize = 36;

pub(super) fn entries(house: &House) -> Vec<Entry> {
    let mut entries = written::pages(house, include_str!("assets/museum/pages.txt"), &MUSEUM_TALK);
    entries.extend([
        exhibits(house),
        house.entry("/evening.png", "image/png", include_bytes!("assets/museum/evening.png")),
        house.entry("/guide.pdf", "application/pdf", include_bytes!("assets/museum/guide.pdf")),
    ]);
    entries.extend((0..ROOMS.len()).map(|index| room(house, index)));
    entries.extend((0..EXHIBITS).map(|index| exhibit(house, index)));
    entries
}

fn room_path(index: usize) -> String {
    format!("/rooms/{}", slug(ROOMS[index]))
}

fn room(house: &House, index: usize) -> Entry {
    let path = room_path(index);
    let text = Pen::new(&path).paragraphs(&MUSEUM_TALK, 2, 3);
    let things = (index..EXHIBITS).step_by(ROOMS.len()).map(|thing| (exhibit_path(thing), exhibit_name(thing)));
    let main = format!("{text}<h2>In this room</h2>\n{}", list(&things.collect::<Vec<_>>()));
    house.page(&path, Page::new(ROOMS[index], main).beside(room_path((index + 1) % ROOMS.len()), "The next room"))
}

fn exhibit_name(index: usize) -> String {
    format!("The {} {}", ADJECTIVES[(index * 5 + index / 16) % ADJECTIVES.len()], NOUNS[index % NOUNS.len()])
}

fn exhibit_path(index: usize) -> String {
    format!("/exhibits/{}", slug(&exhibit_name(index)))
}

fn exhibits(house: &House) -> Entry {
    let exhibits: Vec<_> = (0..EXHIBITS).map(|index| (exhibit_path(index), exhibit_name(index))).collect();
    house.page("/exhibits/", Page::new("All exhibits", list(&exhibits)))
}

fn exhibit(house: &House, index: usize) -> Entry {
    let path = exhibit_path(index);
    let mut pen = Pen::new(&path);
    let ship = SHIPS[index % SHIPS.len()];
    let intro = format!(
        "<p>Number {} in <a href=\"{}\">{}</a>. Found aboard the <a href=\"{}\">{ship}</a> in {}.</p>\n",
        index + 1,
        room_path(index % ROOMS.len()),
        ROOMS[index % ROOMS.len()],
        house.url("harbour", &format!("/ships/{}", slug(ship))),
        pen.number(1790, 1960)
    );
    let main = format!("{intro}{}", pen.paragraphs(&EXHIBIT_TALK, 3, 3));
    let next = (index + 1) % EXHIBITS;
    house.page(&path, Page::new(exhibit_name(index), main).beside(exhibit_path(next), exhibit_name(next)))
}

const MUSEUM_TALK: [&str; 9] = lines(include_str!("assets/museum/talk.txt"));
const EXHIBIT_TALK: [&str; 12] = lines(include_str!("assets/museum/exhibits.txt"));
