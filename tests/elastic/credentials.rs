//! Elasticsearch credentials that change while the crawl runs.

use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::stand_in::{self, Asked};
use crate::support::program::{Place, Process, eventually, run};
use crate::support::{Running, links, server::Answer};

const REST: &str = "target_storage.data_format.elasticsearch.rest";

/// A server that answers `status` to requests without the wanted credentials, which tests can change.
struct Guarded {
    url: String,
    wanted: Arc<Mutex<String>>,
    /// Number of bulks with pages that it took.
    taken: Arc<Mutex<usize>>,
}

impl Guarded {
    fn start(status: u16, wanted: &str) -> Guarded {
        let (wanted, taken) = (Arc::new(Mutex::new(wanted.to_owned())), Arc::new(Mutex::new(0)));
        let (shown, counted) = (wanted.clone(), taken.clone());
        let url = stand_in::serve(Arc::new(move |asked: &Asked| {
            if asked.authorization != *shown.lock().unwrap() {
                return Some((status, json!({ "error": { "type": "security_exception" } })));
            }
            *counted.lock().unwrap() += usize::from(asked.is_bulk_of_pages());
            None
        }));
        Guarded { url, wanted, taken }
    }

    fn taken(&self) -> usize {
        *self.taken.lock().unwrap()
    }
}

/// A home page that links to `count` further pages each time it is fetched.
fn growing() -> Running {
    Running::start(
        1,
        crate::support::counted(|ask, times| match ask.path() {
            "/" => {
                let paths: Vec<String> = (0..times * 5).map(|page| format!("/{page}")).collect();
                Answer::html(links(&paths.iter().map(String::as_str).collect::<Vec<_>>()))
            }
            "/robots.txt" => Answer::text("").status(404),
            path => Answer::html(format!("<title>{path}</title>")),
        }),
    )
}

fn place(server: &Guarded, credentials: &str) -> Place {
    Place::with(&format!(
        "target_storage.data_formats: [ELASTICSEARCH]\n{REST}.hosts: ['{}']\n{credentials}\n\
         target_storage.data_format.elasticsearch.flush_interval: 100ms\n\
         link_storage.recrawl: {{interval: 500ms, min_interval: 500ms}}\n",
        server.url
    ))
}

fn reload(place: &Place) -> String {
    run(&["reload".as_ref(), "-o".as_ref(), place.data().as_os_str()]).ok().stdout
}

/// The key is revoked while the crawl runs, and replaced. A server answers with 401, or with 403 as for a user without
/// rights.
#[test]
fn a_rotated_key_is_used_after_a_reload() {
    for status in [401, 403] {
        let (site, server) = (growing(), Guarded::start(status, "ApiKey first"));
        let place = place(&server, "");
        let file = place.write("key", "first\n");
        place.set(&format!("{REST}.api_key_file"), file.to_str().unwrap());
        let crawl = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--stay"]));
        eventually("pages are delivered", || server.taken() > 1);
        *server.wanted.lock().unwrap() = "ApiKey second".to_owned();
        let before = server.taken();
        std::fs::write(&file, "second\n").unwrap();
        let said = reload(&place);
        assert!(said.contains("a secret of elasticsearch") && !said.contains("second"), "{said}");
        eventually("pages are delivered with the other key", || server.taken() > before + 1);
        assert!(reload(&place).contains("has not changed"));
        crawl.signal("TERM");
        crawl.wait().ok();
    }
}

#[test]
fn so_are_a_user_and_a_password_of_a_sink_of_its_own() {
    let (site, server) = (growing(), Guarded::start(401, "Basic YW5uOm9uZQ=="));
    let place = place(&server, "");
    let sinks = |user: &str, password: &str| {
        format!(
            "[{{name: news, destination: elasticsearch, options: {{rest: {{username: {user}, password: {password}}}}}}}]"
        )
    };
    place.set("target_storage.data_formats", "[VOID]");
    place.set("target_storage.sinks", &sinks("ann", "one"));
    let crawl = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--stay"]));
    eventually("pages are delivered", || server.taken() > 1);
    // bob:two
    *server.wanted.lock().unwrap() = "Basic Ym9iOnR3bw==".to_owned();
    let before = server.taken();
    place.set("target_storage.sinks", &sinks("bob", "two"));
    let said = reload(&place);
    assert!(said.contains("bob") && !said.contains("two"), "{said}");
    eventually("pages are delivered as another user", || server.taken() > before + 1);
    // Other options of a sink cannot change; a reload that tries is refused completely.
    place.set("target_storage.sinks", &sinks("ann", "one").replace("options: {", "options: {index_name: other, "));
    let refused = run(&["reload".as_ref(), "-o".as_ref(), place.data().as_os_str()]);
    refused.fails_naming(&["target_storage.sinks", "cannot change while the crawl runs"]);
    crawl.signal("TERM");
    crawl.wait().ok();
}
