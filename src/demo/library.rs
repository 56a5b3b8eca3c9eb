//! `library.localhost`: books, authors and subjects; pages by number; one very long catalogue; a book that only the
//! sitemap knows.

use super::coding::gzip;
use super::entry::{Entry, Town};
use super::skin::{Page, list, slug};
use super::words::{ADJECTIVES, FIRST_NAMES, NOUNS, Pen, SURNAMES, lines};

const HOST: &str = "library";
const BOOKS: usize = 84;
const BOOKS_A_PAGE: usize = 12;
const AUTHORS: usize = 18;
const SUBJECTS: [&str; 8] =
    ["Rivers", "Knots and splices", "Lighthouses", "Fish cookery", "Weather lore", "Voyages", "Accounts", "Gulls"];
/// The complete catalogue's size in bytes, about.
const CATALOGUE_BYTES: usize = 1 << 20;
const HIDDEN: &str = "/books/the-book-behind-the-shelf";

pub(super) fn entries(town: &Town) -> Vec<Entry> {
    let mut entries = vec![robots(town), front(town), authors(town), subjects(town), catalogue(town), hidden(town)];
    entries.extend(sitemaps(town));
    entries.extend((1..=BOOKS / BOOKS_A_PAGE).map(|number| shelf(town, number)));
    entries.extend((0..BOOKS).map(|index| book(town, index)));
    entries.extend((0..AUTHORS).map(|index| author(town, index)));
    entries.extend((0..SUBJECTS.len()).map(|index| subject(town, index)));
    entries
}

fn robots(town: &Town) -> Entry {
    let text = format!("User-agent: *\nAllow: /\n\nSitemap: {}\n", town.url(HOST, "/sitemap-index.xml"));
    Entry::new(HOST, "/robots.txt", "text/plain", text)
}

/// An index, a plain sitemap of the authors and a gzipped one of the books: only that one has the hidden book.
fn sitemaps(town: &Town) -> Vec<Entry> {
    let parts = ["/sitemap-authors.xml", "/sitemap-books.xml.gz"];
    let books = (0..BOOKS).map(book_path).chain([HIDDEN.to_owned()]);
    let authors = urlset(town, (0..AUTHORS).map(author_path));
    // Compressing into memory cannot fail; an empty file would be noticed by the catalogue's test.
    let books = gzip(urlset(town, books).as_bytes()).unwrap_or_default();
    let index: String =
        parts.iter().map(|part| format!("<sitemap><loc>{}</loc></sitemap>\n", town.url(HOST, part))).collect();
    let index = format!("{XML}<sitemapindex xmlns=\"{SITEMAP_NAMESPACE}\">\n{index}</sitemapindex>\n");
    vec![
        Entry::new(HOST, "/sitemap-index.xml", "application/xml", index),
        Entry::new(HOST, parts[0], "application/xml", authors),
        Entry::new(HOST, parts[1], "application/gzip", books),
    ]
}

fn urlset(town: &Town, paths: impl Iterator<Item = String>) -> String {
    let urls: String = paths.map(|path| format!("<url><loc>{}</loc></url>\n", town.url(HOST, &path))).collect();
    format!("{XML}<urlset xmlns=\"{SITEMAP_NAMESPACE}\">\n{urls}</urlset>\n")
}

fn front(town: &Town) -> Entry {
    let mut pen = Pen::new("library");
    let intro = include_str!("assets/library/front.html");
    let doors = [
        ("/books/?page=1", "The shelves"),
        ("/authors/", "Authors"),
        ("/subjects/", "Subjects"),
        ("/catalogue", "The complete catalogue, on one very long page"),
    ];
    let doors: Vec<_> = doors.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
    let main = format!("{intro}{}{}", pen.paragraphs(&LIBRARY_TALK, 2, 3), list(&doors));
    page(town, "/", Page::new("The Harbour Library", main))
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

/// The shelf of books 12 by 12, each page linking to the next: `/books/?page=3`.
fn shelf(town: &Town, number: usize) -> Entry {
    let first = (number - 1) * BOOKS_A_PAGE;
    let books: Vec<_> = (first..first + BOOKS_A_PAGE).map(|index| (book_path(index), title(index))).collect();
    let mut main = list(&books);
    if number * BOOKS_A_PAGE < BOOKS {
        let next = number + 1;
        main.push_str(&format!("<p><a rel=\"next\" href=\"?page={next}\">Shelf {next} →</a></p>\n"));
    }
    page(town, &format!("/books/?page={number}"), Page::new(format!("Shelf {number}"), main))
}

fn book(town: &Town, index: usize) -> Entry {
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
        .beside(town.url("harbour", "/people/"), "Most of its readers");
    page(town, &path, page_)
}

fn hidden(town: &Town) -> Entry {
    let main = "<p>No shelf mentions this book, and no page links to it. Only the sitemap remembers.</p>\n";
    page(town, HIDDEN, Page::new("The book behind the shelf", main))
}

fn authors(town: &Town) -> Entry {
    let authors: Vec<_> = (0..AUTHORS).map(|index| (author_path(index), author_name(index))).collect();
    page(town, "/authors/", Page::new("Authors", list(&authors)))
}

fn author(town: &Town, index: usize) -> Entry {
    let path = author_path(index);
    let books = (0..BOOKS).filter(|book| author_of(*book) == index).map(|book| (book_path(book), title(book)));
    let books: Vec<_> = books.collect();
    let life = Pen::new(&path).paragraphs(&AUTHOR_TALK, 2, 4);
    page(town, &path, Page::new(author_name(index), format!("{life}<h2>Books</h2>\n{}", list(&books))))
}

fn subjects(town: &Town) -> Entry {
    let subjects: Vec<_> = (0..SUBJECTS.len()).map(|index| (subject_path(index), SUBJECTS[index].to_owned())).collect();
    page(town, "/subjects/", Page::new("Subjects", list(&subjects)))
}

fn subject(town: &Town, index: usize) -> Entry {
    let books = (0..BOOKS).filter(|book| subject_of(*book) == index).map(|book| (book_path(book), title(book)));
    let books: Vec<_> = books.collect();
    page(town, &subject_path(index), Page::new(SUBJECTS[index], list(&books)))
}

/// One page of about a megabyte.
fn catalogue(town: &Town) -> Entry {
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
    page(town, "/catalogue", Page::new("The complete catalogue", main))
}

fn page(town: &Town, path: &str, page: Page) -> Entry {
    Entry::html(HOST, path, page.on(HOST, town))
}

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const SITEMAP_NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

const LIBRARY_TALK: [&str; 8] = lines(include_str!("assets/library/talk.txt"));
const BOOK_TALK: [&str; 12] = lines(include_str!("assets/library/books.txt"));
const STORY: [&str; 12] = lines(include_str!("assets/library/story.txt"));
const AUTHOR_TALK: [&str; 10] = lines(include_str!("assets/library/authors.txt"));
