//! The commands of README.md and of the book, as they stand there, in a shell with `seine` on its path. Each document
//! has a folder of its own, and its blocks of `sh` and `console` run from top to bottom. https://example.com is a website
//! of the test's. Comments before a block say more:
//!
//! - `<!-- not run: REASON -->`: the block is left out. `<!-- no command of this page is run: REASON -->`: all blocks are.
//! - `<!-- file: NAME -->`: the block is the content of a file.
//! - `<!-- check: COMMAND -->`: a command that has to succeed, for the test alone. `$LAST` is a file with what the block
//!   before it printed.
//!
//! A command with `--stay` is a service: it runs beside those behind it, and is told to end with the document.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use super::pages::{Block, blocks, documents, read, root};
use super::support::program::{Process, eventually, free_port, get};
use super::support::server::Answer;
use super::support::{Running, links};

/// Before the reason why nothing of a page is run.
const NONE: &str = "<!-- no command of this page is run: ";

/// The session that the login of the example gives.
const SESSION: &str = "session=0123456789abcdef";

/// Thirty pages with titles, a folder of a few, a file that is no page, and pages for who is logged in.
pub fn site() -> Running {
    Running::start_with(1, |_| {
        Arc::new(|ask| match ask.path() {
            "/robots.txt" | "/sitemap.xml" => Answer::text("").status(404),
            "/manual.pdf" => Answer::text("%PDF-1.4").header("content-type", "application/pdf"),
            path if path.starts_with("/members") && !ask.header("cookie").is_some_and(|all| all.contains(SESSION)) => {
                Answer::redirect(302, "/login")
            }
            path => {
                let numbers = (1..30).map(|number| format!("/{number}"));
                let others = ["/about", "/docs/", "/docs/guide", "/docs/api", "/members/", "/manual.pdf"];
                let paths: Vec<String> = numbers.chain(others.map(str::to_owned)).collect();
                let links = links(&paths.iter().map(String::as_str).collect::<Vec<_>>());
                let text = "A fever, an outbreak, a virus and a vaccine. ".repeat(5);
                Answer::html(format!("<title>Page {path}</title><h1>Page {path}</h1><p>{text}</p>{links}"))
            }
        })
    })
}

/// A folder in which the commands of a document run.
struct Shell {
    folder: tempfile::TempDir,
    origin: String,
    port: u16,
    services: Vec<Process>,
}

impl Shell {
    fn new(site: &Running) -> Shell {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        // Nobody waits a second between the pages of the test's own site, which is on a private address.
        let wrapper = format!(
            "#!/bin/bash\nwords=(\"$@\")\n[ \"$1\" = crawl ] && words+=(--allow-private --delay 1ms)\nexec {} \"${{words[@]}}\"\n",
            env!("CARGO_BIN_EXE_seine")
        );
        fs::create_dir_all(at.join("bin")).unwrap();
        fs::write(at.join("bin/seine"), wrapper).unwrap();
        fs::set_permissions(at.join("bin/seine"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(at.join("target/demo")).unwrap();
        symlink(at.join("bin/seine"), at.join("target/demo/seine")).unwrap();
        symlink(root().join("config"), at.join("config")).unwrap();
        symlink(root().join("docs"), at.join("docs")).unwrap();
        write_examples(at);
        let shell = Shell { origin: site.origin(0), port: free_port(), services: Vec::new(), folder };
        shell.write("seeds.txt", "https://example.com/\n");
        shell
    }

    /// The text with the test's site, and a port that is free, in the place of those that documents name.
    fn here(&self, text: &str) -> String {
        let host = self.origin.trim_start_matches("http://");
        let pattern = |text: &str, backslash: &str| text.replace('.', &format!("{backslash}."));
        text.replace("https://example.com", &self.origin)
            .replace("https://example\\\\.com", &format!("http://{}", pattern(host, "\\\\")))
            .replace("https://example\\.com", &format!("http://{}", pattern(host, "\\")))
            .replace("example.com", host.split(':').next().unwrap())
            .replace("127.0.0.1:8080", &format!("127.0.0.1:{}", self.port))
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, self.here(text)).unwrap();
    }

    fn last(&self) -> PathBuf {
        self.folder.path().join("bin/last")
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("bash");
        let path = format!("{}:{}", self.folder.path().join("bin").display(), std::env::var("PATH").unwrap());
        // `| head` ends before whoever writes for it.
        let options: &[&str] = if line.contains("| head") { &["-c"] } else { &["-o", "pipefail", "-c"] };
        command.args(options).arg(self.here(line));
        command.current_dir(self.folder.path()).stdin(Stdio::null()).env("PATH", path).env("LAST", self.last());
        command.env("SEINE__HTTP__PORT", self.port.to_string());
        command
    }

    /// Runs a command; what it says is added to what the block said. The error has all of that.
    fn run(&mut self, line: &str) -> Result<(), String> {
        if line.contains("--stay") {
            return self.serve(line);
        }
        let out = File::options().create(true).append(true).open(self.last()).unwrap();
        let status = self.command(line).stdout(out.try_clone().unwrap()).stderr(out).status().unwrap();
        let said =
            || fs::read(self.last()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        if status.success() { Ok(()) } else { Err(format!("{line}\n{status}\n{}", said())) }
    }

    fn serve(&mut self, line: &str) -> Result<(), String> {
        let mut process = Process::start(self.command(&format!("exec {line}")));
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        eventually("it is ready, or has ended", || {
            process.has_ended() || get(address, "/readyz").is_some_and(|(status, _)| status == 200)
        });
        if process.has_ended() {
            return Err(format!("{line}\n{}", process.wait().stderr));
        }
        self.services.push(process);
        Ok(())
    }

    fn run_block(&mut self, block: &Block) -> Result<(), String> {
        for check in block.comments.iter().filter_map(|comment| comment.strip_prefix("check: ")) {
            self.run(check)?;
        }
        let said = |name: &str| block.comments.iter().find_map(|comment| comment.strip_prefix(name));
        if let Some(name) = said("file: ") {
            self.write(name, &block.text);
            return Ok(());
        }
        if said("not run: ").is_some() {
            return Ok(());
        }
        if let "sh" | "console" = block.language.as_str() {
            fs::remove_file(self.last()).ok();
            return commands(block).iter().try_for_each(|line| self.run(line));
        }
        Ok(())
    }

    fn end(self) {
        for service in self.services {
            service.signal("TERM");
            service.wait();
        }
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

/// The commands of a block, without the comments behind them. Lines that end in `\` go on.
fn commands(block: &Block) -> Vec<String> {
    let text = block.text.replace("\\\n", " ");
    let command = |line: &str| {
        let line = if block.language == "console" { line.strip_prefix("$ ")? } else { line };
        let line = line.split("  #").next().unwrap_or_default().trim();
        (!line.is_empty() && !line.starts_with('#')).then(|| line.to_owned())
    };
    text.lines().filter_map(command).collect()
}

fn run_document(document: &Path, site: &Running) -> Result<usize, String> {
    let mut shell = Shell::new(site);
    let text = read(document);
    if text.lines().any(|line| line.starts_with(NONE)) {
        return Ok(0);
    }
    let blocks = blocks(&text);
    for block in &blocks {
        let done = shell.run_block(block);
        done.map_err(|error| format!("{}:{}: {error}", document.display(), block.line))?;
    }
    shell.end();
    Ok(blocks.iter().map(|block| commands(block).len()).sum())
}

/// The documents with commands that a reader may type into a shell.
fn is_book(document: &Path) -> bool {
    let is_generated = document.starts_with("docs/reference");
    document == Path::new("README.md") || document.starts_with("docs") && !is_generated
}

#[test]
fn commands_of_the_documents_do_what_they_say() {
    let site = site();
    let documents: Vec<PathBuf> = documents().into_iter().filter(|document| is_book(document)).collect();
    let waiting = Mutex::new(documents.iter());
    let failures = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(document) = waiting.lock().unwrap().next() else { break };
                    let began = std::time::Instant::now();
                    let done = run_document(document, &site);
                    println!("{}: {:.1} s", document.display(), began.elapsed().as_secs_f64());
                    if let Err(error) = done {
                        failures.lock().unwrap().insert(document, error);
                    }
                }
            });
        }
    });
    let failures: Vec<String> = failures.into_inner().unwrap().into_values().collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn commands_stand_in_blocks_that_run() {
    let mut wrong = Vec::new();
    for document in documents().into_iter().filter(|document| is_book(document)) {
        let text = read(&document);
        for block in blocks(&text) {
            let is_shell = ["sh", "console"].contains(&block.language.as_str());
            let words = ["seine ", "$ seine ", "docker ", "cargo ", "make "];
            if !is_shell && block.text.lines().any(|line| words.iter().any(|word| line.starts_with(word))) {
                wrong.push(format!(
                    "{}:{}: commands in a block of {:?}",
                    document.display(),
                    block.line,
                    block.language
                ));
            }
            let reason = block.comments.iter().find_map(|comment| comment.strip_prefix("not run:"));
            if reason.is_some_and(|reason| reason.trim().is_empty()) {
                wrong.push(format!("{}:{}: no reason why it is not run", document.display(), block.line));
            }
        }
        let indented = text.lines().position(|line| line.starts_with("    seine ") || line.starts_with("    $ seine "));
        wrong.extend(indented.map(|line| format!("{}:{}: a command in no fenced block", document.display(), line + 1)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_command_that_fails_fails_its_document() {
    let site = site();
    let mut shell = Shell::new(&site);
    let text =
        "```sh\nseine crawl --seed https://example.com/ -o one --max-pages 3  # three\n```\n<!-- check: false -->\n";
    let blocks = blocks(text);
    assert_eq!(commands(&blocks[0]), ["seine crawl --seed https://example.com/ -o one --max-pages 3"]);
    shell.run_block(&blocks[0]).unwrap();
    assert!(shell.run_block(&blocks[1]).is_err(), "the check fails");
    assert!(shell.run("seine cat nothing").unwrap_err().contains("seine cat nothing"));
}
