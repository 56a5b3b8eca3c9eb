//! The benches' website: 10,000 pages of about 30 KB with 140 links each, on 100 hosts (127.0.1.1 to 127.0.1.100, one
//! port). It costs as little as it can and runs as a process of its own, so that its CPU is not the crawl's.

#![allow(dead_code)]

use std::io::{self, BufRead, Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use fastrand::Rng;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub const HOSTS: usize = 100;
pub const PAGES_PER_HOST: usize = 100;
pub const PAGES: usize = HOSTS * PAGES_PER_HOST;
/// Links on a page to its own host's pages: to all 100, ten of them twice.
pub const LINKS_INSIDE: usize = 110;
/// Links on a page to other hosts.
pub const LINKS_ACROSS: usize = 30;
pub const LINKS: usize = LINKS_INSIDE + LINKS_ACROSS;

/// Set in the child's environment: the port to serve, 0 for any.
const ROLE: &str = "SEINE_BENCH_SITE";
/// A request longer than this is not one of ours.
const MAX_REQUEST: usize = 64 << 10;

/// The site in its own process; killed when dropped, and gone by itself when this process is.
pub struct SiteProcess {
    pub port: u16,
    child: Child,
    /// The child ends when this closes.
    _alive: Option<ChildStdin>,
}

/// Starts this executable again as the site. Its `main` must call [`run_if_asked`] first.
pub fn spawn_site() -> io::Result<SiteProcess> {
    let mut child =
        Command::new(std::env::current_exe()?).env(ROLE, "0").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let alive = child.stdin.take();
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        io::BufReader::new(stdout).read_line(&mut line)?;
    }
    let port =
        line.trim().parse().map_err(|_| io::Error::other(format!("the bench site said {line:?}, not its port")))?;
    Ok(SiteProcess { port, child, _alive: alive })
}

/// Whether this process is the site; if so it has served, and `main` returns.
pub fn run_if_asked() -> bool {
    let Some(port) = std::env::var(ROLE).ok().and_then(|port| port.parse().ok()) else { return false };
    run_site(port);
    true
}

/// Serves until standard input ends. Prints the port when it is ready; 0 takes any free one.
pub fn run_site(port: u16) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let port = start(port).await.expect("127.0.1.1 to 127.0.1.100 to listen on");
        println!("{port}");
        io::stdout().flush().expect("the parent reads the port");
        let ended = tokio::task::spawn_blocking(|| io::stdin().read_to_end(&mut Vec::new()));
        let _ = ended.await;
    });
}

/// Serves on the current runtime, as long as that lives; the port.
pub async fn start(port: u16) -> io::Result<u16> {
    let (port, sockets) = listen(port).await?;
    let site = Arc::new(Site::new(port));
    for (host, socket) in sockets.into_iter().enumerate() {
        tokio::spawn(accept(socket, host, site.clone()));
    }
    Ok(port)
}

impl SiteProcess {
    /// One seed a host.
    pub fn seeds(&self) -> Vec<String> {
        (0..HOSTS).map(|host| url(self.port, host * PAGES_PER_HOST)).collect()
    }

    /// The site's process id, to read its CPU time by.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for SiteProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn address(host: usize) -> IpAddr {
    Ipv4Addr::new(127, 0, 1, host as u8 + 1).into()
}

/// All hosts on one port.
async fn listen(port: u16) -> io::Result<(u16, Vec<TcpListener>)> {
    for _ in 0..32 {
        let first = TcpListener::bind((address(0), port)).await?;
        let chosen = first.local_addr()?.port();
        let mut sockets = vec![first];
        for host in 1..HOSTS {
            match TcpListener::bind((address(host), chosen)).await {
                Ok(socket) => sockets.push(socket),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && port == 0 => break,
                Err(error) => return Err(error),
            }
        }
        if sockets.len() == HOSTS {
            return Ok((chosen, sockets));
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

async fn accept(socket: TcpListener, host: usize, site: Arc<Site>) {
    while let Ok((stream, _)) = socket.accept().await {
        let site = site.clone();
        // An error is a client that left.
        tokio::spawn(async move { converse(stream, host, &site).await });
    }
}

/// Requests one after the other on one connection: each ends with an empty line and has no body.
async fn converse(mut stream: TcpStream, host: usize, site: &Site) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = Vec::with_capacity(2048);
    let mut response = Vec::with_capacity(48 << 10);
    loop {
        while let Some(end) = memchr::memmem::find(&request, b"\r\n\r\n") {
            response.clear();
            site.respond(host, &request[..end], &mut response);
            request.drain(..end + 4);
            stream.write_all(&response).await?;
        }
        if request.len() > MAX_REQUEST || stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
}

/// The pages' parts, shared by all of them; a page is put together when it is asked for.
pub struct Site {
    port: u16,
    paths: Vec<String>,
    /// A link to each page, from its own host and from others.
    inside: Vec<Vec<u8>>,
    across: Vec<Vec<u8>>,
    /// Paragraphs of text, each different.
    paragraphs: Vec<String>,
}

const PARAGRAPHS: usize = 8192;
const PARAGRAPHS_A_PAGE: usize = 14;

impl Site {
    pub fn new(port: u16) -> Site {
        let words = words();
        let mut rng = Rng::with_seed(2);
        let paragraphs = (0..PARAGRAPHS).map(|_| sentences(&words, &mut rng, 640)).collect();
        let titles: Vec<String> = (0..PAGES).map(|page| title(&words, page)).collect();
        let link = |page: usize, href: String| {
            let title = &titles[page];
            format!("<li class=\"card card--row\"><a class=\"card__link\" href=\"{href}\">{title}</a></li>\n")
                .into_bytes()
        };
        Site {
            port,
            paths: (0..PAGES).map(path).collect(),
            inside: (0..PAGES).map(|page| link(page, path(page))).collect(),
            across: (0..PAGES).map(|page| link(page, url(port, page))).collect(),
            paragraphs,
        }
    }

    /// Appends the whole response to one request's head.
    fn respond(&self, host: usize, request: &[u8], response: &mut Vec<u8>) {
        let line = &request[..memchr::memchr(b'\r', request).unwrap_or(request.len())];
        let path = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        let Some(page) = self.page_at(host, path) else {
            response.extend_from_slice(
                b"HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: 10\r\n\r\nnot here\r\n",
            );
            return;
        };
        response.extend_from_slice(HEAD);
        let length = response.len();
        response.extend_from_slice(b"00000000\r\n\r\n");
        let start = response.len();
        self.render(page, response);
        let bytes = format!("{:08}", response.len() - start);
        response[length..length + 8].copy_from_slice(bytes.as_bytes());
    }

    /// The page whose path this is, exactly: the last two digits tell its number, none the front page.
    fn page_at(&self, host: usize, path: &[u8]) -> Option<usize> {
        let digits = &path[path.len().saturating_sub(2)..];
        let number = std::str::from_utf8(digits).ok()?.parse().unwrap_or(0);
        let page = host * PAGES_PER_HOST + number;
        (self.paths.get(page)?.as_bytes() == path).then_some(page)
    }

    /// Appends a page's HTML: navigation, paragraphs with lists of links between them, links to elsewhere.
    pub fn render(&self, page: usize, html: &mut Vec<u8>) {
        html.extend_from_slice(TOP);
        html.extend_from_slice(self.paths[page].as_bytes());
        html.extend_from_slice(BELOW_TITLE);
        let (inside, across) = (links_inside(page), links_across(page));
        let blocks = inside.chunks(LINKS_INSIDE.div_ceil(PARAGRAPHS_A_PAGE));
        for (index, block) in blocks.enumerate() {
            let paragraph = &self.paragraphs[scatter(page, index) % PARAGRAPHS];
            html.extend_from_slice(b"<div class=\"block\"><div class=\"block__text\"><p class=\"lead\">");
            html.extend_from_slice(paragraph.as_bytes());
            html.extend_from_slice(b"</p></div>\n<ul class=\"cards\">\n");
            block.iter().for_each(|target| html.extend_from_slice(&self.inside[*target]));
            html.extend_from_slice(b"</ul></div>\n");
        }
        html.extend_from_slice(
            b"<aside class=\"aside\" role=\"complementary\"><div class=\"aside__inner\"><h2>Elsewhere</h2><ul>\n",
        );
        across.iter().for_each(|target| html.extend_from_slice(&self.across[*target]));
        html.extend_from_slice(BOTTOM);
    }
}

/// Pages of the same host that a page links to, in the order of its links.
pub fn links_inside(page: usize) -> Vec<usize> {
    let first = page - page % PAGES_PER_HOST;
    (0..LINKS_INSIDE).map(|nth| first + (page + 1 + nth) % PAGES_PER_HOST).collect()
}

/// Pages of other hosts that a page links to.
pub fn links_across(page: usize) -> Vec<usize> {
    let host = page / PAGES_PER_HOST;
    (0..LINKS_ACROSS)
        .map(|nth| {
            let number = scatter(page, nth + 1000);
            let other = (host + 1 + number % (HOSTS - 1)) % HOSTS;
            other * PAGES_PER_HOST + number / HOSTS % PAGES_PER_HOST
        })
        .collect()
}

/// A number that looks random (SplitMix64's finaliser).
fn scatter(page: usize, nth: usize) -> usize {
    let mut z = (page as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add((nth as u64).wrapping_mul(0xd1b5_4a32_d192_ed03));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 1) as usize
}

/// `/`, or a path that ends with the page's number on its host.
fn path(page: usize) -> String {
    let (host, number) = (page / PAGES_PER_HOST, page % PAGES_PER_HOST);
    match number {
        0 => "/".to_owned(),
        _ => format!("/section-{}/{:x}-article-{number:02}", number / 10, scatter(host, number) % 0xff_ffff),
    }
}

/// A page's URL, on a site that has this port.
pub fn url(port: u16, page: usize) -> String {
    format!("http://{}:{port}{}", address(page / PAGES_PER_HOST), path(page))
}

fn title(words: &[String], page: usize) -> String {
    let mut rng = Rng::with_seed(page as u64);
    (0..rng.usize(3..7)).map(|_| words[rng.usize(..words.len())].as_str()).collect::<Vec<_>>().join(" ")
}

/// A vocabulary of made-up words.
fn words() -> Vec<String> {
    const STARTS: [&str; 16] = ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "w"];
    const MIDDLES: [&str; 10] = ["a", "e", "i", "o", "u", "ea", "ou", "ai", "y", "ee"];
    const ENDS: [&str; 10] = ["n", "r", "t", "d", "ll", "s", "th", "ng", "m", "ck"];
    let mut rng = Rng::with_seed(1);
    let syllable = |rng: &mut Rng| [STARTS[rng.usize(..16)], MIDDLES[rng.usize(..10)], ENDS[rng.usize(..10)]].concat();
    (0..6000).map(|_| (0..rng.usize(1..4)).map(|_| syllable(&mut rng)).collect()).collect()
}

/// Text of about `bytes` bytes; common words are common, as in any language.
fn sentences(words: &[String], rng: &mut Rng, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        let rank = (words.len() as f64).powf(rng.f64()) as usize;
        text.push_str(&words[rank.min(words.len() - 1)]);
        text.push_str(if rng.u8(..12) == 0 { ". " } else { " " });
    }
    text
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nserver: bench\r\ncontent-type: text/html; charset=utf-8\r\ncache-control: max-age=0\r\ncontent-length: ";

const TOP: &[u8] = b"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
content=\"width=device-width, initial-scale=1\">\n<meta property=\"og:type\" content=\"article\">\n<title>";

const BELOW_TITLE: &[u8] = b" - A page of the bench</title>\n<style>.card{display:flex;margin:0 0 .5rem}.card__link{color:\
inherit;text-decoration:none}.block{padding:1rem 0;border-bottom:1px solid #ddd}</style>\n<script>window.dataLayer=window.\
dataLayer||[];function note(){dataLayer.push(arguments)}note('js',new Date());</script>\n</head>\n<body class=\"page page--\
article\">\n<div id=\"wrap\" class=\"wrap\"><header class=\"head\" role=\"banner\"><div class=\"head__inner\"><span class=\"\
logo\">Bench &amp; Sons</span></div></header>\n<main class=\"main\" role=\"main\"><article class=\"article\">\n";

const BOTTOM: &[u8] =
    b"</ul></div></aside>\n</article></main>\n<footer class=\"foot\"><div class=\"foot__inner\"><p>All \
of this was made up by a machine, for a machine.</p></div></footer></div>\n</body>\n</html>\n";
