//! Migration of old pagestores.

use std::path::Path;

use seine::archive::migrate::{DetailsTable, MigrateError, Migrated, migrate, read_table};
use seine_formats::pagestore::UrlHash;

const RSS: &str = "<rss><channel><language>en-GB</language></channel></rss>";

fn hash(path: &str) -> String {
    UrlHash::of(&url(path)).to_string()
}

fn url(path: &str) -> String {
    format!("http://a.example/{path}")
}

fn write(base: &Path, path: &str, contents: &str) {
    let path = base.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, contents).unwrap();
}

/// Two days of an old store, the second one half migrated.
fn old_store(base: &Path) {
    let (front, feed, one, gone) = (hash(""), hash("feed"), hash("one"), hash("gone"));
    write(base, "2008/11/5/META", &format!("{front} {}\n{feed} {}\n{gone} {}\n", url(""), url("feed"), url("gone")));
    write(base, &format!("2008/11/5/{front}/contents.html"), "<html lang=cs-CZ>");
    write(base, &format!("2008/11/5/{feed}/contents.html"), RSS);
    write(base, &format!("2008/11/5/{feed}/META"), &format!("{one} {}\n", url("one")));
    write(base, &format!("2008/11/5/{feed}/{one}/contents.html"), "<p>One");
    write(base, "2008/11/06/META", &format!("{front} {}\n{one} {} 7 url de", url(""), url("one")));
}

fn list(base: &Path, path: &str) -> String {
    std::fs::read_to_string(base.join(path)).unwrap()
}

#[test]
fn lines_get_what_they_lack_and_contents_stay() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    old_store(base);
    let mut told = 0;
    let done = migrate(base, &DetailsTable::new(), |_| told += 1).unwrap();
    assert_eq!(done, Migrated { lists: 3, rewritten: 3, kept: 1, from_table: 0, by_reading: 5, unreadable: vec![] });
    assert_eq!(told, 2);
    let (front, feed, one, gone) = (hash(""), hash("feed"), hash("one"), hash("gone"));
    let day =
        format!("{front} {} 8 url cs\n{feed} {} 9 rss en\n{gone} {} 10 url und\n", url(""), url("feed"), url("gone"));
    assert_eq!(list(base, "2008/11/5/META"), day);
    assert_eq!(list(base, &format!("2008/11/5/{feed}/META")), format!("{one} {} 9 rssitem en\n", url("one")));
    // A page has the same id on every day.
    assert_eq!(
        list(base, "2008/11/06/META"),
        format!("{front} {} 8 url und\n{one} {} 7 url de\n", url(""), url("one"))
    );
    assert_eq!(list(base, &format!("2008/11/5/{feed}/contents.html")), RSS);

    let again = migrate(base, &DetailsTable::new(), |_| ()).unwrap();
    assert_eq!((again.rewritten, again.kept), (0, 6));
}

#[test]
fn a_table_knows_better() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    old_store(base);
    let table = base.join("table.txt");
    std::fs::write(&table, format!("# id kind language\n{} 180 url en\n\n{} 158 rss it\n", url(""), url("feed")))
        .unwrap();
    let done = migrate(base, &read_table(&table).unwrap(), |_| ()).unwrap();
    assert_eq!((done.from_table, done.by_reading, done.kept), (3, 2, 1));
    assert!(list(base, "2008/11/5/META").starts_with(&format!("{} {} 180 url en\n", hash(""), url(""))));
    let feed = hash("feed");
    assert_eq!(
        list(base, &format!("2008/11/5/{feed}/META")),
        format!("{} {} 158 rssitem it\n", hash("one"), url("one"))
    );
}

#[test]
fn what_says_nothing_stays_where_it_is_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let front = hash("");
    write(base, "2008/11/05/META", &format!("what is this\n{front} {}\n", url("")));
    let done = migrate(base, &DetailsTable::new(), |_| ()).unwrap();
    assert_eq!(done.unreadable.len(), 1);
    assert!(done.unreadable[0].ends_with("META: what is this"), "{:?}", done.unreadable);
    assert_eq!(list(base, "2008/11/05/META"), format!("what is this\n{front} {} 1 url und\n", url("")));
}

#[test]
fn what_is_no_store_or_table_is_an_error_that_says_what_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let error = migrate(base, &DetailsTable::new(), |_| ()).unwrap_err();
    assert!(
        matches!(&error, MigrateError::NoStore(_)) && error.to_string().contains("<yyyy>/<mm>/<dd>/META"),
        "{error}"
    );
    let error = migrate(&base.join("nowhere"), &DetailsTable::new(), |_| ()).unwrap_err();
    assert!(error.to_string().contains("name the base folder"), "{error}");
    let table = base.join("table.txt");
    std::fs::write(&table, "http://a.example/ url en\n").unwrap();
    assert!(read_table(&table).unwrap_err().to_string().contains("line 1: expected `url id kind language`"));
    write(base, "2008/11/05/META", &"x".repeat(1 << 20));
    assert!(migrate(base, &DetailsTable::new(), |_| ()).unwrap_err().to_string().contains("is it a META?"));
}
