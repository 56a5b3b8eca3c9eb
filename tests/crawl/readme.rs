//! README's commands, word for word, in a shell with `seine` on its path. What stands in for what, and nothing else:
//! https://example.com is a website of the test's, the demo is not built first, and the name of a file is that of this run.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use crate::support::server::Answer;

use crate::support::program::{Process, Ran, eventually, free_port, get};
use crate::support::{Running, links};

/// Commands that need more than this program: a build, Docker.
const NOT_OURS: [&str; 5] =
    ["make demo", "make test", "make build", "docker compose up seine", "docker compose --profile full up"];

/// Every command of README.md, in its order, without the comment behind it.
fn commands() -> Vec<String> {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let names = ["seine ", "target/demo/seine ", "make ", "docker "];
    let command = |line: &str| {
        let line = line.strip_prefix("    ")?;
        let line = line.strip_prefix("$ ").unwrap_or(line);
        let is_command = names.iter().any(|name| line.starts_with(name)) && !line.starts_with("seine: ");
        is_command.then(|| line.split("  #").next().unwrap_or_default().trim().to_owned())
    };
    readme.lines().filter_map(command).collect()
}

/// Some thirty pages with titles.
fn site() -> Running {
    Running::start_with(1, |_| {
        Arc::new(|ask| match ask.path() {
            "/robots.txt" | "/sitemap.xml" => Answer::text("").status(404),
            path => {
                let paths: Vec<String> =
                    (1..30).map(|number| format!("/{number}")).chain(["/about".to_owned()]).collect();
                let links = links(&paths.iter().map(String::as_str).collect::<Vec<_>>());
                Answer::html(format!("<title>Page {path}</title>{links}"))
            }
        })
    })
}

/// A folder in which the commands run.
struct Shell {
    folder: tempfile::TempDir,
    port: u16,
}

impl Shell {
    fn new(site: &Running) -> Shell {
        let folder = tempfile::tempdir().unwrap();
        let (at, port) = (folder.path(), free_port());
        let program = env!("CARGO_BIN_EXE_seine");
        let origin = site.origin(0);
        // The wrapper knows the website; nobody waits a second between its pages here.
        let wrapper = format!(
            "#!/bin/bash\nwords=()\nfor word in \"$@\"; do words+=(\"${{word/#https:\\/\\/example.com/{}}}\"); done\n\
             [ \"$1\" = crawl ] && words+=(--allow-private --delay 1ms)\nexec {program} \"${{words[@]}}\"\n",
            origin.replace('/', "\\/")
        );
        fs::create_dir_all(at.join("bin")).unwrap();
        fs::write(at.join("bin/seine"), wrapper).unwrap();
        fs::set_permissions(at.join("bin/seine"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(at.join("target/demo")).unwrap();
        symlink(at.join("bin/seine"), at.join("target/demo/seine")).unwrap();
        symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("config"), at.join("config")).unwrap();
        fs::write(at.join("seeds.txt"), format!("{origin}/\n")).unwrap();
        write_examples(at);
        Shell { folder, port }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("bash");
        let path = format!("{}:{}", self.folder.path().join("bin").display(), std::env::var("PATH").unwrap());
        command.args(["-o", "pipefail", "-c", line]).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("PATH", path).env("SEINE__HTTP__PORT", self.port.to_string());
        command
    }

    fn run(&self, line: &str) -> Ran {
        let Output { status, stdout, stderr } = self.command(line).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let ran = Ran { status, stdout: text(stdout), stderr: text(stderr) };
        println!("$ {line}\n{}{}", ran.stdout, ran.stderr);
        ran
    }

    /// A file that FILES has written, from the folder of the commands.
    fn file(&self) -> String {
        let folder = self.folder.path().join("data/demo/files");
        let mut names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        format!("data/demo/files/{}", names.find(|name| name.ends_with(".deflate")).expect("a file"))
    }
}

/// Pages to learn from, and one to ask about.
fn write_examples(at: &Path) {
    for (class, words) in [("positive", "fever virus outbreak vaccine"), ("negative", "garden recipe holiday music")] {
        fs::create_dir_all(at.join("examples").join(class)).unwrap();
        for number in 0..20 {
            let page = format!("<title>{words}</title><p>Page {number} is of {words} and of nothing else but {words}.");
            fs::write(at.join("examples").join(class).join(format!("{number}.html")), page).unwrap();
        }
    }
    fs::write(at.join("page.html"), "<title>A fever</title><p>An outbreak, a virus, and no vaccine.").unwrap();
}

#[test]
fn what_the_readme_says_works_as_it_stands_there() {
    let site = site();
    let shell = Shell::new(&site);
    assert!(shell.run("seine demo").status.success(), "what `make demo` runs");
    let mut told = Vec::new();
    for line in commands() {
        if NOT_OURS.contains(&line.as_str()) {
            continue;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let line = match words[..] {
            ["seine", "recover", example, saved] => {
                assert!(example.starts_with("data/demo/files/crawl_data-"), "{line}");
                format!("seine recover {} {saved}", shell.file())
            }
            _ => line.clone(),
        };
        if line.ends_with("--stay") {
            // A service: it answers, and is told to end.
            let process = Process::start(shell.command(&format!("exec {line}")));
            let address = SocketAddr::from(([127, 0, 0, 1], shell.port));
            eventually("it is ready", || get(address, "/readyz").is_some_and(|(status, _)| status == 200));
            process.signal("TERM");
            process.wait().ok();
            continue;
        }
        let ran = shell.run(&line);
        // `| head` ends before whoever writes for it.
        assert!(ran.status.success() || line.contains("| head"), "{line}: {}\n{}", ran.status, ran.stderr);
        told.push((line, ran));
    }
    let ran = |part: &str| {
        let found = told.iter().find(|(line, _)| line.contains(part));
        &found.unwrap_or_else(|| panic!("{part:?} is not among README's commands")).1
    };
    let first: serde_json::Value = serde_json::from_str(&ran("| head -1").stdout).expect("one JSON object");
    assert!(first["url"].as_str().is_some_and(|url| url.contains(".localhost:")), "{first}");
    assert!(ran("-o data").stderr.contains("Done: nothing is left to fetch."));
    let titles: Vec<&str> = ran("| jq .title").stdout.lines().collect();
    assert_eq!(titles.len(), 10, "no more than ten: {titles:?}");
    assert!(titles.iter().all(|title| title.starts_with("\"Page /")), "{titles:?}");
    assert!(ran("seine status").stdout.contains("sink files"));
    let places = ran("--type image/png").stdout.lines().count();
    assert!(places > 0, "pictures of the demo");
    assert!(ran("seine convert").stderr.contains("delivered"), "{}", ran("seine convert").stderr);
    assert!(ran("seine verify").stdout.contains("whole    FILES"), "{}", ran("seine verify").stdout);
    assert!(ran("seine recover").stdout.contains("saved in"), "{}", ran("seine recover").stdout);
}
