//! `library.localhost`: books, authors and subjects; a paginated list; one very large page; a book that only the
//! sitemap lists.

use super::coding::gzip;
use super::entry::{Entry, House};
use super::skin::{Page, list, slug};
use super::words::{ADJECTIVES, FIRST_NAMES, NOUNS, Pen, SURNAMES, lines};
use super::written;

const BOOKS: usize = 84;
const BOOKS_A_PAGE: usize = 12;
const AUTHORS: usize = 18;
const SUBJECTS: [&str; 8] =
    ["Rivers", "Knots and splices", "Lighthouses", "Fish cookery", "Weather lore", "Voyages", "Accounts", "Gulls"];
/// Approximate size of the large catalogue page in bytes.
const CATALOGUE_BYTES: usize = 1 << 20;
const HIDDEN: &str = "/books/the-book-behind-the-shelf";

pub(super) fn entries(house: &House) -> Vec<Entry> {
    let mut entries = written::pages(house, include_str!("assets/library/pages.txt"), &LIBRARY_TALK);
    entries.extend([authors(house), subjects(house), catalogue(house)]);
    entries.extend(sitemaps(house));
    entries.extend((1..=BOOKS / BOOKS_A_PAGE).map(|number| shelf(house, number)));
    entries.extend((0..BOOKS).map(|index| book(house, index)));
    entries.extend((0..AUTHORS).map(|index| author(house, index)));
    entries.extend((0..SUBJECTS.len()).map(|index| subject(house, index)));
    entries
}

/// A sitemap index, a plain sitemap of the authors and a gzipped one of the books. Only the last lists the hidden book.
fn sitemaps(house: &House) -> Vec<Entry> {
    let parts = ["/sitemap-authors.xml", "/sitemap-books.xml.gz"];
    let books = (0..BOOKS).map(book_path).chain([HIDDEN.to_owned()]);
    let authors = urlset(house, (0..AUTHORS).map(author_path));
    // Compressing into memory cannot fail. A test of the catalogue would notice an empty file.
    let books = gzip(urlset(house, books).as_bytes()).unwrap_or_default();
    let index: String =
        parts.iter().map(|part| format!("<sitemap><loc>{}</loc></sitemap>\n", house.own_url(part))).collect();
    let index = format!("{XML}<sitemapindex xmlns=\"{SITEMAP_NAMESPACE}\">\n{index}</sitemapindex>\n");
    vec![
        house.entry("/sitemap-index.xml", "application/xml", index),
        house.entry(parts[0], "application/xml", authors),
        house.entry(parts[1], "application/gzip", books),
    ]
}

fn urlset(house: &House, paths: impl Iterator<Item = String>) -> String {
    let urls: String = paths.map(|path| format!("<url><loc>{}</loc></url>\n", house.own_url(&path))).collect();
    format!("{XML}<urlset xmlns=\"{SITEMAP_NAMESPACE}\">\n{urls}</urlset>\n")
}

fn title(index: usize) -> String {
    let noun = NOUNS[(index * 5 + index / 16) % NOUNS.len()];
    let adjective = ADJECTIVES[index % ADJECTIVES.len()];
    match index / 16 % 3 {
        0 => format!("The {adjective} {noun}"),
        1 => format!("A {noun}, and other {adjective} things"),
        _ => format!("On the {adjective} {noun}, volume {}", index / 16),
    }
}

fn book_path(index: usize) -> String {
    format!("/books/{:03}-{}", index + 1, slug(&title(index)))
}

fn author_name(index: usize) -> String {
    format!("{} {}", FIRST_NAMES[(index * 7 + 5) % FIRST_NAMES.len()], SURNAMES[(index * 11 + 2) % SURNAMES.len()])
}

fn author_path(index: usize) -> String {
    format!("/authors/{}", slug(&author_name(index)))
}

fn author_of(book: usize) -> usize {
    book * 13 % AUTHORS
}

fn subject_of(book: usize) -> usize {
    book * 3 % SUBJECTS.len()
}

fn subject_path(index: usize) -> String {
    format!("/subjects/{}", slug(SUBJECTS[index]))
}

/// The list of books, 12 per page, each page linking to the next: `/books/?page=3`.
fn shelf(house: &House, number: usize) -> Entry {
    let first = (number - 1) * BOOKS_A_PAGE;
    let books: Vec<_> = (first..first + BOOKS_A_PAGE).map(|index| (book_path(index), title(index))).collect();
    let mut main = list(&books);
    if number * BOOKS_A_PAGE < BOOKS {
        let next = number + 1;
        main.push_str(&format!("<p><a rel=\"next\" href=\"?page={next}\">Shelf {next} →</a></p>\n"));
    }
    house.page(format!("/books/?page={number}"), Page::new(format!("Shelf {number}"), main))
}

fn book(house: &House, index: usize) -> Entry {
    let path = book_path(index);
    let mut pen = Pen::new(&path);
    let (author, subject) = (author_of(index), subject_of(index));
    let intro = format!(
        "<p>By <a href=\"{}\">{}</a>; {} pages; stands under <a href=\"{}\">{}</a>.</p>\n",
        author_path(author),
        author_name(author),
        pen.number(64, 640),
        subject_path(subject),
        SUBJECTS[subject]
    );
    let extract = pen.paragraphs(&STORY, 3, 4);
    let main = format!("{intro}{}<blockquote>{extract}</blockquote>\n", pen.paragraphs(&BOOK_TALK, 2, 3));
    let next = (index + 1) % BOOKS;
    let page_ = Page::new(title(index), main)
        .beside(book_path(next), title(next))
        .beside("/subjects/", "All subjects")
        .beside(house.url("harbour", "/people/"), "Most of its readers");
    house.page(&path, page_)
}

fn authors(house: &House) -> Entry {
    let authors: Vec<_> = (0..AUTHORS).map(|index| (author_path(index), author_name(index))).collect();
    house.page("/authors/", Page::new("Authors", list(&authors)))
}

fn author(house: &House, index: usize) -> Entry {
    let path = author_path(index);
    let books = (0..BOOKS).filter(|book| author_of(*book) == index).map(|book| (book_path(book), title(book)));
    let books: Vec<_> = books.collect();
    let life = Pen::new(&path).paragraphs(&AUTHOR_TALK, 2, 4);
    house.page(&path, Page::new(author_name(index), format!("{life}<h2>Books</h2>\n{}", list(&books))))
}

fn subjects(house: &House) -> Entry {
    let subjects: Vec<_> = (0..SUBJECTS.len()).map(|index| (subject_path(index), SUBJECTS[index].to_owned())).collect();
    house.page("/subjects/", Page::new("Subjects", list(&subjects)))
}

fn subject(house: &House, index: usize) -> Entry {
    let books = (0..BOOKS).filter(|book| subject_of(*book) == index).map(|book| (book_path(book), title(book)));
    let books: Vec<_> = books.collect();
    house.page(subject_path(index), Page::new(SUBJECTS[index], list(&books)))
}

/// One page of about a megabyte.
fn catalogue(house: &House) -> Entry {
    let mut pen = Pen::new("the complete catalogue");
    let mut main = String::with_capacity(CATALOGUE_BYTES + 4096);
    for entry in 0.. {
        if main.len() > CATALOGUE_BYTES {
            break;
        }
        let index = entry % BOOKS;
        main.push_str(&format!("<h2>{}. <a href=\"{}\">{}</a></h2>\n", entry + 1, book_path(index), title(index)));
        main.push_str(&pen.paragraph(&BOOK_TALK, 4));
    }
    house.page("/catalogue", Page::new("The complete catalogue", main))
}

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const SITEMAP_NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

const LIBRARY_TALK: [&str; 8] = lines(include_str!("assets/library/talk.txt"));
const BOOK_TALK: [&str; 12] = lines(include_str!("assets/library/books.txt"));
const STORY: [&str; 12] = lines(include_str!("assets/library/story.txt"));
const AUTHOR_TALK: [&str; 10] = lines(include_str!("assets/library/authors.txt"));
