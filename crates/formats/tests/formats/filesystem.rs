//! The path of a page's file.

use proptest::prelude::*;
use seine_formats::filesystem::{NameError, path_of, url_of};

#[test]
fn a_file_is_named_as_ache_names_it() {
    let (host, name) = path_of("http://127.0.0.51:8801/dir/a b.html?q=ä*", false).unwrap();
    assert_eq!(host, "127.0.0.51");
    assert_eq!(name, "http%3A%2F%2F127.0.0.51%3A8801%2Fdir%2Fa+b.html%3Fq%3D%C3%A4*");
    assert_eq!(url_of(&name).as_deref(), Some("http://127.0.0.51:8801/dir/a b.html?q=ä*"));
    let (host, name) = path_of("http://[::1]/", true).unwrap();
    assert_eq!(host, "%5B%3A%3A1%5D");
    // `printf http://[::1]/ | sha256sum`
    assert_eq!(name, "dd58bbdf741702d028c275c7776cd6498b151e741882361572ff5dfe73dd6938");
    assert_eq!(url_of(&name), None);
}

#[test]
fn a_name_that_no_disk_takes_is_an_error_that_names_the_option() {
    let url = format!("http://a.example/{}", "x".repeat(300));
    let error = path_of(&url, false).unwrap_err();
    assert!(error.to_string().contains("hash_file_name: true"), "{error}");
    assert!(path_of(&url, true).is_ok());
    assert_eq!(path_of("about:blank", false), Err(NameError::NoHost));
}

#[test]
fn no_page_leaves_the_folder() {
    for url in ["http://../etc/passwd", "http://./", "http://.../"] {
        let (host, name) = path_of(url, false).unwrap();
        assert!(host.starts_with("%2E") && !name.contains('/'), "{host} {name}");
    }
}

proptest! {
    #[test]
    fn every_name_gives_its_url_back(path in "[ -~\u{e4}\u{4e2d}]{0,30}") {
        let url = format!("http://a.example/{path}");
        let (host, name) = path_of(&url, false).unwrap();
        prop_assert_eq!(host, "a.example");
        prop_assert!(name.bytes().all(|it| it.is_ascii_alphanumeric() || b".-*_+%".contains(&it)));
        prop_assert_eq!(url_of(&name), Some(url));
    }

    #[test]
    fn any_name_is_read_or_refused(name in any::<String>()) {
        url_of(&name);
    }
}
