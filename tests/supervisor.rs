//! The supervisor: failed parts are restarted, each by itself, and their state is visible.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use seine::crawl::stall::{Change, Signs, StallWatch};
use seine::shutdown::Shutdown;
use seine::supervisor::{PartStatus, Phase, Supervisor};
use support::program::eventually;
use tracing_subscriber::fmt::MakeWriter;

const LONG: Duration = Duration::from_secs(60);

fn soon() -> Instant {
    Instant::now() + LONG
}

/// Whether every part ends before the deadline.
fn join(supervisor: &Supervisor, deadline: Instant) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { tokio::time::timeout_at(deadline.into(), supervisor.all_ended()).await }).is_ok()
}

fn part(supervisor: &Supervisor, name: &str) -> PartStatus {
    supervisor.status().into_iter().find(|part| part.name == name).unwrap()
}

#[test]
fn a_part_that_fails_then_panics_then_works_is_started_again_each_time() {
    let supervisor = Supervisor::default();
    let starts: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let noted = starts.clone();
    supervisor.start("shaky", LONG, move |beat| {
        let mut starts = noted.lock();
        starts.push(Instant::now());
        match starts.len() {
            1 => anyhow::bail!("the disk is full"),
            2 => panic!("a bug"),
            3 => std::panic::panic_any(17),
            4 => Err(anyhow::anyhow!("no room").context("writing failed")),
            _ => {
                beat.progress();
                Ok(())
            }
        }
    });
    let errors = Mutex::new(std::collections::BTreeSet::new());
    eventually("it works in the end", || {
        let status = part(&supervisor, "shaky");
        errors.lock().extend(status.last_error.clone());
        status.phase == Phase::Finished
    });
    assert!(join(&supervisor, soon()));
    let status = part(&supervisor, "shaky");
    assert_eq!(status.restarts, 4);
    assert!(!status.is_stuck);
    for error in ["the disk is full", "panic: a bug", "panic: unknown cause", "writing failed: no room"] {
        assert!(errors.lock().contains(error), "{error:?} was not shown, but {:?}", errors.lock());
    }
    // The back-off doubles.
    let starts = starts.lock();
    let waits: Vec<_> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (wait, at_least) in waits.iter().zip([100, 200, 400, 800]) {
        assert!(*wait >= Duration::from_millis(at_least), "{waits:?}");
    }
}

#[test]
fn progress_makes_the_back_off_short_again() {
    let supervisor = Supervisor::default();
    let starts: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let noted = starts.clone();
    supervisor.start("slow luck", LONG, move |beat| {
        noted.lock().push(Instant::now());
        let times = noted.lock().len();
        match times {
            1..=3 => anyhow::bail!("not yet"),
            4 => {
                beat.progress();
                anyhow::bail!("after some work")
            }
            _ => Ok(()),
        }
    });
    assert!(join(&supervisor, soon()));
    let starts = starts.lock();
    let waits: Vec<_> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits[2] >= Duration::from_millis(400), "{waits:?}");
    assert!(waits[3] >= Duration::from_millis(100) && waits[3] < waits[2], "{waits:?}");
}

#[test]
fn other_parts_do_not_notice() {
    let shutdown = Shutdown::default();
    let supervisor = Supervisor::new(shutdown.clone());
    let (stop, stopped) = mpsc::channel::<()>();
    let beats = Arc::new(AtomicU64::new(0));
    let counted = beats.clone();
    supervisor.start("steady", LONG, move |beat| {
        while let Err(mpsc::TryRecvError::Empty) = stopped.try_recv() {
            counted.fetch_add(1, Ordering::Relaxed);
            beat.progress();
            std::thread::yield_now();
        }
        Ok(())
    });
    supervisor.start("broken", LONG, |_| panic!("always"));
    eventually("the broken one was started again", || part(&supervisor, "broken").restarts >= 2);
    let so_far = beats.load(Ordering::Relaxed);
    eventually("the steady one goes on", || beats.load(Ordering::Relaxed) > so_far);
    let steady = part(&supervisor, "steady");
    assert_eq!((steady.phase, steady.restarts), (Phase::Running, 0));
    assert_eq!(steady.last_error, None);
    eventually("its waiting is shown", || part(&supervisor, "broken").phase == Phase::BackingOff);
    stop.send(()).unwrap();
    shutdown.hurry();
    assert!(join(&supervisor, soon()));
}

#[test]
fn a_part_without_a_sign_of_life_is_shown_as_stuck_until_it_gives_one() {
    let supervisor = Supervisor::default();
    let (wake, woken) = mpsc::channel::<()>();
    let patience = Duration::from_millis(50);
    supervisor.start("sleeper", patience, move |beat| {
        woken.recv()?;
        for _ in woken.iter() {
            beat.idle();
        }
        Ok(())
    });
    supervisor.start("over", patience, |_| Ok(()));
    eventually("it is stuck", || part(&supervisor, "sleeper").is_stuck);
    assert!(part(&supervisor, "sleeper").since_last_sign > patience);
    assert_eq!(part(&supervisor, "sleeper").phase, Phase::Running, "shown, not shot");
    wake.send(()).unwrap();
    eventually("a sign of life clears it", || {
        wake.send(()).unwrap();
        !part(&supervisor, "sleeper").is_stuck
    });
    assert!(!part(&supervisor, "over").is_stuck, "what is over is not stuck");
    drop(wake);
    assert!(join(&supervisor, soon()));
}

#[test]
fn after_end_nothing_is_started_again_and_back_offs_are_cut_short() {
    let shutdown = Shutdown::default();
    let supervisor = Supervisor::new(shutdown.clone());
    let starts = Arc::new(AtomicU64::new(0));
    let counted = starts.clone();
    supervisor.start("broken", LONG, move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        anyhow::bail!("always")
    });
    eventually("it rests for a while", || starts.load(Ordering::Relaxed) == 4);
    let ended = Instant::now();
    shutdown.hurry();
    assert!(join(&supervisor, soon()));
    assert!(
        ended.elapsed() < Duration::from_millis(700),
        "the back-off of 800 ms was waited for: {:?}",
        ended.elapsed()
    );
    assert_eq!(part(&supervisor, "broken").phase, Phase::Finished);
    assert_eq!(starts.load(Ordering::Relaxed), 4, "it was started again");

    // A part that fails later is not restarted either.
    supervisor.start("late", LONG, |_| anyhow::bail!("now"));
    assert!(join(&supervisor, soon()));
    let late = part(&supervisor, "late");
    assert_eq!((late.phase, late.restarts, late.last_error.as_deref()), (Phase::Finished, 0, Some("now")));
}

#[test]
fn join_gives_up_at_its_deadline() {
    let supervisor = Supervisor::default();
    let (stop, stopped) = mpsc::channel::<()>();
    supervisor.start("long", LONG, move |_| Ok(stopped.recv()?));
    supervisor.start("short", LONG, |_| Ok(()));
    let asked = Instant::now();
    assert!(!join(&supervisor, Instant::now() + Duration::from_millis(100)));
    assert!(asked.elapsed() >= Duration::from_millis(100));
    assert_eq!(part(&supervisor, "long").phase, Phase::Running);
    stop.send(()).unwrap();
    assert!(join(&supervisor, soon()));
}

/// A part's resources (a lock, a file) are free once join has returned.
#[test]
fn what_a_part_holds_is_given_up_before_it_counts_as_ended() {
    struct Holds(Arc<AtomicBool>);
    impl Drop for Holds {
        fn drop(&mut self) {
            self.0.store(false, Ordering::SeqCst);
        }
    }
    for _ in 0..50 {
        let supervisor = Supervisor::default();
        let held = Arc::new(AtomicBool::new(true));
        let holds = Holds(held.clone());
        supervisor.start("holder", LONG, move |_| {
            let _holds = &holds;
            Ok(())
        });
        assert!(join(&supervisor, soon()));
        assert!(!held.load(Ordering::SeqCst));
    }
}

/// Collects what this thread writes to the log.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Said {
    type Writer = Said;

    fn make_writer(&self) -> Said {
        self.clone()
    }
}

#[test]
fn that_a_part_is_stuck_and_that_it_is_not_any_more_is_said_once_each() {
    let said = Said::default();
    let log = tracing_subscriber::fmt().with_writer(said.clone()).finish();
    let _log = tracing::subscriber::set_default(log);
    let times = |text: &str| String::from_utf8_lossy(&said.0.lock()).matches(text).count();
    let supervisor = Supervisor::default();
    let (wake, woken) = mpsc::channel::<()>();
    supervisor.start("sleeper", Duration::from_millis(50), move |beat| {
        woken.recv()?;
        beat.progress();
        Ok(())
    });
    eventually("it is stuck", || part(&supervisor, "sleeper").is_stuck);
    supervisor.log_stuck();
    supervisor.log_stuck();
    assert_eq!((times("stuck: it runs"), times("not stuck any more")), (1, 0));
    wake.send(()).unwrap();
    assert!(join(&supervisor, soon()));
    supervisor.log_stuck();
    supervisor.log_stuck();
    assert_eq!((times("stuck: it runs"), times("not stuck any more")), (1, 1));
}

/// The server of its sink is down: the part fails, is restarted, waits for an answer, and fails again.
#[test]
fn a_part_that_is_started_again_is_down_until_it_shows_that_it_works() {
    let supervisor = Supervisor::default();
    let (go_on, wait) = mpsc::channel();
    let wait = Mutex::new(wait);
    let next = |wait: &Mutex<mpsc::Receiver<&'static str>>| wait.lock().recv();
    supervisor.start("away", LONG, move |beat| match next(&wait) {
        Ok("fail") => anyhow::bail!("no answer"),
        Ok("idle") => {
            beat.idle();
            next(&wait).map(|_| ()).map_err(Into::into)
        }
        _ => Ok(()),
    });
    let is_down = || part(&supervisor, "away").is_down;
    assert!(!is_down());
    for failures in 1..=2 {
        go_on.send("fail").unwrap();
        eventually("it runs again", || {
            let status = part(&supervisor, "away");
            status.phase == Phase::Running && status.restarts == failures
        });
        assert!(is_down(), "it runs, and has shown nothing yet");
    }
    go_on.send("idle").unwrap();
    eventually("it found nothing to do", || !is_down());
    go_on.send("end").unwrap();
    assert!(join(&supervisor, soon()));
}

#[test]
fn a_crawl_that_could_go_on_and_does_not_is_reported_once() {
    let limit = Duration::from_secs(10);
    let (mut watch, begin) = (StallWatch::new(limit), Instant::now());
    let at = |seconds: u64| begin + Duration::from_secs(seconds);
    let signs = Signs { begun: 3, accepted: 2, validated: 2 };
    assert_eq!(watch.check(true, signs, at(0)), None);
    assert_eq!(watch.check(true, signs, at(9)), None, "too early");
    assert_eq!((watch.check(true, signs, at(10)), watch.stalled_since()), (Some(Change::Stalled), Some(at(0))));
    assert_eq!(watch.check(true, signs, at(11)), None, "it was reported");
    assert!(watch.stalled_since().is_some(), "and still holds");
    let signs = Signs { begun: 4, ..signs };
    assert_eq!((watch.check(true, signs, at(12)), watch.stalled_since()), (Some(Change::GoesOn), None));
    assert_eq!(watch.check(true, signs, at(21)), None);
    assert_eq!(watch.check(false, signs, at(22)), None, "a host must wait, for instance");
    assert_eq!(watch.check(true, signs, at(31)), None, "the time begins anew");
    assert_eq!(watch.check(true, signs, at(32)), Some(Change::Stalled));
    assert_eq!(watch.check(false, signs, at(33)), Some(Change::GoesOn));
}
