//! The service manager gets messages by systemd's protocol: the crawl opens, is ready, is alive, and stops.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::program::{Place, Process, command, eventually, run};
use crate::support::{Plan, TestSite};

/// All datagrams, in order.
pub struct Manager {
    /// The value of the environment variable.
    name: String,
    said: Arc<Mutex<Vec<String>>>,
}

/// The manager expects a sign of life at this interval.
const WATCHDOG: Duration = Duration::from_millis(600);

impl Manager {
    /// At a path next to the data folder.
    pub fn of(place: &Place) -> Manager {
        let path = place.data().with_file_name("notify");
        Manager::listening(path.display().to_string(), UnixDatagram::bind(&path).unwrap())
    }

    /// An abstract socket, without a file.
    fn abstract_one() -> Manager {
        let name = format!("seine-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        Manager::listening(format!("@{name}"), UnixDatagram::bind_addr(&address).unwrap())
    }

    fn listening(name: String, socket: UnixDatagram) -> Manager {
        let said = Arc::<Mutex<Vec<String>>>::default();
        let kept = said.clone();
        std::thread::spawn(move || {
            let mut message = [0; 4096];
            while let Ok(length) = socket.recv(&mut message) {
                kept.lock().unwrap().push(String::from_utf8(message[..length].to_vec()).unwrap());
            }
        });
        Manager { name, said }
    }

    pub fn starts(&self, mut command: Command) -> Command {
        command.env("NOTIFY_SOCKET", &self.name).env("WATCHDOG_USEC", WATCHDOG.as_micros().to_string());
        command
    }

    pub fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    pub fn count(&self, message: &str) -> usize {
        self.said().iter().filter(|it| *it == message).count()
    }
}

#[test]
fn it_is_told_that_a_crawl_opens_serves_goes_on_and_stops() {
    let site = TestSite::start(Plan { pages: 20, failing_every: 0, ..Plan::default() });
    let place = Place::new();
    let manager = Manager::of(&place);
    let process = Process::start(manager.starts(place.crawl(&site.seeds(), &["--delay", "0", "--stay"])));
    // Everything is fetched soon. The crawl stays, waits for nothing, and is healthy.
    eventually("all of it is fetched, and told", || {
        let is_told =
            |it: &String| it.starts_with("STATUS=") && it.contains("0 queued") && it.contains("files: 0 pending");
        manager.said().iter().any(is_told)
    });
    let before = manager.count("WATCHDOG=1");
    eventually("a crawl that has nothing to do gives signs of life", || manager.count("WATCHDOG=1") >= before + 3);
    assert_eq!(manager.count("STOPPING=1"), 0);
    process.signal("TERM");
    process.wait().ok();

    eventually("it says that it stops", || manager.count("STOPPING=1") == 1);
    let said = manager.said();
    let place_of = |message: &str| {
        said.iter().position(|it| it.starts_with(message)).unwrap_or_else(|| panic!("{message}: {said:?}"))
    };
    assert!(said[0].starts_with("STATUS=opening ") && said[0].ends_with("data"), "{said:?}");
    assert_eq!(said.iter().filter(|it| *it == "READY=1").count(), 1, "{said:?}");
    assert!(place_of("EXTEND_TIMEOUT_USEC=60000000") < place_of("READY=1"), "{said:?}");
    assert!(
        place_of("READY=1") < place_of("WATCHDOG=1") && place_of("WATCHDOG=1") < place_of("STOPPING=1"),
        "{said:?}"
    );
    assert!(said.iter().all(|it| !it.contains('\n')), "{said:?}");
}

/// The command of config/systemd/seine.service, with its paths replaced.
#[test]
fn the_unit_starts_a_crawl_that_serves() {
    let unit = std::fs::read_to_string("config/systemd/seine.service").unwrap();
    let value = |name: &str| unit.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap();
    let site = TestSite::start(Plan { pages: 5, failing_every: 0, ..Plan::default() });
    let place = Place::new();
    let seeds = place.write("seeds.txt", site.seeds().join("\n"));
    let arguments = value("ExecStart").strip_prefix("/usr/bin/seine ").unwrap().split(' ').map(|word| match word {
        "/etc/seine/seine.yml" => place.config(),
        "/etc/seine/seeds.txt" => seeds.clone(),
        "/var/lib/seine" => place.data(),
        word => word.into(),
    });
    let manager = Manager::of(&place);
    let process = Process::start(manager.starts(command(&arguments.collect::<Vec<_>>())));
    eventually("it serves", || manager.count("READY=1") == 1);
    process.signal("TERM");
    let code = process.wait().ok().status.code();
    assert_eq!(code, Some(0), "told to end is no failure");

    // A crawl that was stopped or has finished is not restarted; one that failed is.
    let help = run(&["crawl", "--help"]).ok().stdout;
    let listed = help.lines().filter_map(|line| line.split_whitespace().next()?.parse::<u8>().ok());
    let prevents: Vec<u8> = value("RestartPreventExitStatus").split(' ').map(|code| code.parse().unwrap()).collect();
    assert_eq!(listed.filter(|code| ![0, 1].contains(code)).collect::<Vec<_>>(), prevents, "{help}");
}

#[test]
fn it_may_have_an_abstract_name_and_a_run_that_ends_by_itself_says_so() {
    let site = TestSite::start(Plan { pages: 5, failing_every: 0, ..Plan::default() });
    let (place, manager) = (Place::new(), Manager::abstract_one());
    Process::start(manager.starts(place.crawl(&site.seeds(), &["--delay", "0"]))).wait().ok();
    eventually("it stops", || manager.said().last().is_some_and(|last| last == "STOPPING=1"));
    assert_eq!(manager.count("READY=1"), 1, "{:?}", manager.said());
}

#[test]
fn signs_of_life_are_for_the_process_that_was_asked_and_a_manager_that_is_away_stops_nothing() {
    let site = TestSite::start(Plan { pages: 5, failing_every: 0, ..Plan::default() });
    let place = Place::new();
    let manager = Manager::of(&place);
    let mut command = manager.starts(place.crawl(&site.seeds(), &["--delay", "0"]));
    command.env("WATCHDOG_PID", std::process::id().to_string());
    Process::start(command).wait().ok();
    eventually("it stops", || manager.count("STOPPING=1") == 1);
    assert_eq!(manager.count("WATCHDOG=1"), 0, "{:?}", manager.said());

    let mut command = place.crawl(&site.seeds(), &["--delay", "0"]);
    command.env("NOTIFY_SOCKET", place.data().join("nobody"));
    let ran = Process::start(command).wait().ok();
    assert!(ran.stderr.contains("NOTIFY_SOCKET cannot be reached"), "{}", ran.stderr);
}
