//! The store of the embedded frontier: every record is read as it was written, also those of 0.1.0. Invalid bytes give
//! an error, not a panic.

use std::path::Path;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use seine_frontier::*;
use seine_parse::page::preferences::{Says, Scheme, Source, Statement, Usage};
use seine_parse::page::{Doubt, Failure, FailureReason, Kind};
use seine_policies::revisit::{Belief, History};

use crate::support::*;

const URL: &str = "http://a.example/1";
const ORIGIN: &str = "http://a.example";
/// Later than any delay in these tests.
const LATE: u64 = u64::MAX / 2;

fn open(dir: &Path) -> Result<EmbeddedFrontier, FrontierError> {
    EmbeddedFrontier::open(dir, plain(), 0)
}

fn reason() -> impl Strategy<Value = FailureReason> {
    select(&FailureReason::ALL[..])
}

fn page_record() -> impl Strategy<Value = PageRecord> {
    use PageState::*;
    let known = select(vec![New, Unchanged, Changed, Gone, Refused, Withheld, Alias]);
    let state = prop_oneof![known, reason().prop_map(Failed)];
    let id = prop_oneof!["[0-9a-f]{32}", any::<String>()];
    let text = || option::of(any::<String>());
    let strings = (id, text(), text(), text());
    let numbers = (any::<u16>(), any::<u64>(), any::<u16>());
    let url = || option::of("http://b[.]example/\\PC*");
    let given = btree_map(0..=64u8, any::<u64>(), 0..3);
    let bytes = (any::<Option<[u8; 32]>>(), option::of(history()), any::<[bool; 2]>(), [url(), url()], given);
    (state, select(vec![Kind::Page, Kind::Sitemap]), strings, numbers, bytes).prop_map(
        |(
            state,
            kind,
            strings,
            (status, fetched_ms, depth),
            (digest, history, [noindex, is_to_be_reread], [target, canonical], texts),
        )| {
            PageRecord {
                url: URL.into(),
                kind,
                event_id: strings.0,
                state,
                status,
                digest,
                etag: strings.1,
                last_modified: strings.2,
                fetched_ms,
                depth,
                history,
                final_url: strings.3,
                noindex,
                preferences: noindex.then(|| vec![asked()]),
                must_refetch: is_to_be_reread,
                target,
                texts,
                canonical,
                passed_at: None,
                url_history: Default::default(),
                judged: (depth % 2 == 0).then(judged),
                likeness: None,
                refused_since: None,
                wall: None,
            }
        },
    )
}

fn judged() -> JudgedBy {
    JudgedBy { relevance: 912_345, is_relevant: true, model: "topic@0a1b2c3d".into() }
}

fn history() -> impl Strategy<Value = History> {
    let belief = (any::<f32>(), any::<f32>()).prop_map(|(changes, days)| Belief { changes, days });
    (any::<u64>(), option::of(any::<u64>()), any::<u32>(), belief, option::of(any::<u32>()), option::of(any::<u32>()))
        .prop_map(|(alive_ms, doubted_since, changes, belief, told, tells)| History {
            alive_ms,
            doubted_since,
            doubt: if changes % 2 == 0 { Doubt::Missing } else { Doubt::Cut },
            changes,
            belief,
            hinted: told,
            tells,
        })
}

fn asked() -> Statement {
    let (says, terms) = (Says::one(Usage::Tdm, false), Some("http://a.example/policy".into()));
    Statement { scheme: Scheme::Tdmrep, source: Source::Header, line: 7, says, terms }
}

fn robots() -> impl Strategy<Value = Robots> {
    let failure = (reason(), any::<String>()).prop_map(|(reason, message)| Failure { reason, message });
    let access = prop_oneof![
        any::<String>().prop_map(RobotsAccess::Rules),
        Just(RobotsAccess::AllowAll),
        failure.prop_map(RobotsAccess::Unreachable),
    ];
    (any::<u64>(), any::<u64>(), access).prop_map(|(fetched_ms, expires_ms, access)| Robots {
        fetched_ms,
        expires_ms,
        access,
        tdm: fetched_ms.is_multiple_of(2).then(|| "[]".to_owned()),
    })
}

fn any_trouble() -> impl Strategy<Value = Trouble> {
    let cause = prop_oneof![reason().prop_map(Cause::Failure), (100..600u16).prop_map(Cause::Status)];
    (any::<[u64; 2]>(), any::<u32>(), cause, option::of(any::<u64>()), option::of(..LATE), any::<bool>()).prop_map(
        |([since, last], failures, cause, suspect, asked_until, given_up)| Trouble {
            since,
            last,
            failures,
            cause,
            suspect,
            asked_until,
            given_up,
            errors: Errors { recent: failures as u16, many_since: asked_until },
        },
    )
}

fn host(frontier: &dyn Model) -> Lease {
    match frontier.lease_host(ORIGIN, LATE).unwrap() {
        LeaseAnswer::Leased(lease) => *lease,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn come_back_as_they_were(record in page_record(), robots in robots(), trouble in any_trouble()) {
        let dir = tempfile::tempdir().unwrap();
        let frontier = open(dir.path()).unwrap();
        let change = Change::Page { record: record.clone(), due_again: None };
        let verdict = Verdict { kind: record.kind, event_id: record.event_id.clone(), ..verdict(URL, 0, change) };
        frontier.apply(&batch(1, vec![verdict], vec![]), 0).unwrap();
        let health = Some(Health::Troubled(trouble));
        let release = Release { robots: Some(robots.clone()), health, ..Release::default() };
        frontier.release(host(&frontier), release).unwrap();
        drop(frontier);
        let frontier = open(dir.path()).unwrap();
        prop_assert_eq!(frontier.page(URL).unwrap(), Some(record));
        let host = host(&frontier).host;
        prop_assert_eq!((host.robots, host.trouble), (Some(robots), Some(trouble)));
    }

    #[test]
    fn say_so_when_they_are_anything(
        keyspace in select(vec!["urls", "ready", "later", "pages", "hosts", "robots", "notes"]),
        begins in option::of(Just(FORMAT)),
        bytes in vec(any::<u8>(), 0..40),
    ) {
        let dir = tempfile::tempdir().unwrap();
        fill(dir.path());
        overwrite(dir.path(), keyspace, &begins.into_iter().chain(bytes).collect::<Vec<_>>());
        let said = look(dir.path()).err().map(|error| error.to_string());
        prop_assert!(said.as_ref().is_none_or(|said| said.contains("cannot be read")), "{said:?}");
    }
}

/// Writes something into every keyspace.
fn fill(dir: &Path) {
    let frontier = open(dir).unwrap();
    let verdicts = vec![fetched(URL, 1, None), retry("http://a.example/2", 2, 1000, 1)];
    frontier.apply(&batch(1, verdicts, pages(&["http://a.example/3"])), 0).unwrap();
    let robots = Robots { fetched_ms: 1, expires_ms: 2, access: RobotsAccess::AllowAll, tdm: None };
    frontier.release(host(&frontier), Release { robots: Some(robots), ..Release::default() }).unwrap();
}

/// Replaces every record of a keyspace with `value`.
fn overwrite(dir: &Path, keyspace: &str, value: &[u8]) {
    let db = fjall::Database::builder(dir.join("store")).open().unwrap();
    let keyspace = db.keyspace(keyspace, fjall::KeyspaceCreateOptions::default).unwrap();
    let keys: Vec<_> = keyspace.iter().map(|entry| entry.key().unwrap()).collect();
    for key in keys.into_iter().filter(|key| !["format", "seed", "note:clock"].map(str::as_bytes).contains(&&key[..])) {
        keyspace.insert(key, value).unwrap();
    }
}

/// Reads every record.
fn look(dir: &Path) -> Result<(), FrontierError> {
    let frontier = open(dir)?;
    frontier.survey()?;
    frontier.page(URL)?;
    frontier.lease(LATE, LeaseLimits::new(9, 9))?;
    frontier.propose(&pages(&["http://a.example/2"]), 0)?;
    Ok(())
}

/// A number as 0.1.0 wrote it.
fn leb(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn lebs(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().copied().flat_map(leb).collect()
}

#[test]
fn of_pages_are_read_as_0_1_0_wrote_them() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path());
    let numbers = lebs(&[404, 1_700_000_000_000, 300]);
    let full = [&[1, 16 + 18, 0b1111][..], &numbers, &[7; 32], &[1], &[0xab; 16], b"\x03\"e\"\x04then", b"/1"].concat();
    overwrite(dir.path(), "pages", &full);
    let record = PageRecord {
        url: URL.into(),
        kind: Kind::Sitemap,
        event_id: "ab".repeat(16),
        state: PageState::Failed(FailureReason::ConnectionBroken),
        status: 404,
        digest: Some([7; 32]),
        etag: Some("\"e\"".into()),
        last_modified: Some("then".into()),
        fetched_ms: 1_700_000_000_000,
        depth: 300,
        history: None,
        final_url: None,
        noindex: false,
        preferences: None,
        must_refetch: false,
        target: None,
        texts: Default::default(),
        canonical: None,
        passed_at: None,
        url_history: Default::default(),
        judged: None,
        likeness: None,
        refused_since: None,
        wall: None,
    };
    assert_eq!(open(dir.path()).unwrap().page(URL).unwrap(), Some(record.clone()));

    overwrite(dir.path(), "pages", &[&[1, 2, 0][..], &numbers, b"\0\x02id/1"].concat());
    let bare = PageRecord {
        kind: Kind::Page,
        event_id: "id".into(),
        state: PageState::Changed,
        digest: None,
        etag: None,
        last_modified: None,
        ..record
    };
    assert_eq!(open(dir.path()).unwrap().page(URL).unwrap(), Some(bare));
}

#[test]
fn of_hosts_are_read_as_0_1_0_wrote_them() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path());
    // Rank, first of `later`, then number, not before, delay, ready, later, pages, parked.
    let head = [&[2, 1, 10][..], &lebs(&[0, 1001, 0, 77, 5, 1, 1, 3, 0])].concat();
    let failed = [&[15][..], &lebs(&[50, 60, 4, 17]), &[9; 8], &leb(99), ORIGIN.as_bytes()].concat();
    overwrite(dir.path(), "hosts", &[&head[..], &failed].concat());
    overwrite(dir.path(), "robots", &[&[1, 2][..], &lebs(&[11, 22]), br#"{"reason":"dns","message":"none"}"#].concat());
    let lease = host(&open(dir.path()).unwrap());
    let trouble = Trouble {
        since: 50,
        last: 60,
        failures: 4,
        cause: Cause::Failure(FailureReason::ConnectionRefused),
        suspect: Some(0x0909_0909_0909_0909),
        asked_until: Some(99),
        given_up: true,
        errors: Errors::default(),
    };
    assert_eq!(lease.host.trouble, Some(trouble));
    let failure = Failure { reason: FailureReason::Dns, message: "none".into() };
    let robots = Robots { fetched_ms: 11, expires_ms: 22, access: RobotsAccess::Unreachable(failure), tdm: None };
    assert_eq!(lease.host.robots, Some(robots));

    overwrite(dir.path(), "hosts", &[&head[..], &[1], &lebs(&[50, 60, 4, 603]), ORIGIN.as_bytes()].concat());
    overwrite(dir.path(), "robots", &[&[1, 0][..], &lebs(&[11, 22]), b"User-agent: *"].concat());
    let lease = host(&open(dir.path()).unwrap());
    let cause = Cause::Status(503);
    assert_eq!(
        lease.host.trouble,
        Some(Trouble { cause, suspect: None, asked_until: None, given_up: false, ..trouble })
    );
    assert_eq!(lease.host.robots.unwrap().access, RobotsAccess::Rules("User-agent: *".into()));
}

#[test]
fn of_queues_are_read_as_0_1_0_wrote_them() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path());
    overwrite(dir.path(), "ready", &[&[0][..], &lebs(&[300, 0]), b"/3"].concat());
    overwrite(dir.path(), "later", &[&[4 + 2 + 1][..], &lebs(&[2, 200]), b"/2"].concat());
    overwrite(dir.path(), "urls", &[&[1, 10][..], &lebs(&[3, 1000])].concat());
    let frontier = open(dir.path()).unwrap();
    let mut work = lease_one(&frontier, LATE, 9).work;
    work.sort_by_key(|work| work.kind == Kind::Sitemap);
    let [new, again] = &work[..] else { panic!("{work:?}") };
    assert_eq!((new.url.as_str(), new.kind, new.depth, new.attempt), ("http://a.example/3", Kind::Page, 300, 0));
    assert_eq!((again.url.as_str(), again.kind, again.depth), ("http://a.example/2", Kind::Sitemap, 2));
    assert_eq!((again.attempt, again.was_put_off), (200, true));
    let survey = frontier.survey().unwrap();
    assert_eq!((survey.known_queued, survey.known_done), (3, 0));
    drop(frontier);
    overwrite(dir.path(), "urls", &[2]);
    assert_eq!(open(dir.path()).unwrap().survey().unwrap().known_done, 3);
}
