//! The content of a page's records.

use super::*;
use seine_formats::warc::{DigestVerdict, write::stores_event};
use seine_parse::page::{Failure, FailureReason};

#[test]
fn a_file_of_every_kind_of_page() {
    let events = zoo();
    let file = file_of(&events, WarcOptions { metadata: true, ..PLAIN });
    let text: String = file.iter().map(|&byte| byte as char).collect();
    insta::assert_snapshot!(
        text.replace('\r', "").escape_debug().to_string().replace("\\n", "\n").replace("\\\"", "\"")
    );
}

#[test]
fn every_digest_is_that_of_the_bytes() {
    for options in [PLAIN, GZIP, WarcOptions { metadata: true, ..GZIP }] {
        for record in records(&file_of(&zoo(), options)) {
            assert_eq!(record.check_block(), DigestVerdict::Right, "{:?}", record.fields);
            assert!(!matches!(record.check_payload(), DigestVerdict::Wrong { .. }));
        }
    }
}

#[test]
fn every_compressed_record_is_a_gzip_member_of_its_own() {
    let file = file_of(&zoo(), WarcOptions { metadata: true, ..GZIP });
    let (all, plain) = (records(&file), records(&file_of(&zoo(), WarcOptions { metadata: true, ..PLAIN })));
    assert_eq!(all.len(), plain.len());
    let mut end = 0;
    for (record, plain) in all.iter().zip(&plain) {
        assert_eq!((record.location.offset, record.location.inner), (end, 0));
        end += record.location.length.unwrap();
        assert_eq!((&record.fields, &record.block), (&plain.fields, &plain.block));
        // A single member is a single record.
        let member = &file[record.location.offset as usize..end as usize];
        let [alone] = records(member).try_into().unwrap();
        assert_eq!(alone.block, record.block);
    }
    assert_eq!(end, file.len() as u64);
}

#[test]
fn an_exchange_that_was_kept_is_written_as_it_went() {
    let mut event = chunked(1, b"0123456789");
    let last = response(&mut event).wire.as_mut().unwrap().framing.last_mut().unwrap();
    last.bytes = "\r\n0\r\nX-Trailer: t\r\n\r\n".into();
    let all = records(&file_of(std::slice::from_ref(&event), PLAIN));
    let wire = event.response().unwrap().wire.as_ref().unwrap();
    let mut whole = Vec::new();
    wire.write_response(b"0123456789", &mut whole);
    assert_eq!((all[1].kind(), &all[1].block[..]), ("response", &whole[..]));
    assert!(whole.ends_with(b"\r\n\r\n5\r\n01234\r\n5;a=b\r\n56789\r\n0\r\nX-Trailer: t\r\n\r\n"));
    assert_eq!((all[2].kind(), &all[2].block), ("request", &wire.request));
    assert!(all.iter().all(|record| record.get("Seine-Message").is_none()));
    // Programs disagree about the payload in this case.
    assert_eq!(all[1].get("WARC-Payload-Digest"), None);
}

#[test]
fn what_was_rebuilt_says_so() {
    for event in [event(1, b"one"), http2(2)] {
        let all = records(&file_of(std::slice::from_ref(&event), PLAIN));
        for record in &all[1..] {
            assert_eq!(record.get("Seine-Message"), Some("rebuilt"), "{}", record.kind());
        }
    }
    let all = records(&file_of(&[http2(2)], PLAIN));
    assert!(all[1].block.starts_with(b"HTTP/1.1 200 \r\n"));
    assert_eq!(all[1].get("WARC-Protocol"), Some("h2"));
}

/// A replay of the archive needs both pages.
#[test]
fn a_page_that_another_url_leads_to_is_no_revisit() {
    let mut moved = event(2, b"<p>same");
    moved.final_url = url(1);
    let remembering = WarcOptions { revisits: 100, ..GZIP };
    let all = records(&file_of(&[event(1, b"<p>same"), moved], remembering));
    let kinds: Vec<_> = all.iter().map(|it| it.kind()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "response").count(), 2, "{kinds:?}");
    assert!(!kinds.contains(&"revisit"), "{kinds:?}");
}

#[test]
fn the_same_again_is_a_revisit_of_what_was_written_first() {
    let again = |number: u64, later: u64, body: &[u8]| {
        let mut event = exact(number, body);
        event.id = format!("01935000000070008000{later:012x}");
        event.started_ms += later;
        event
    };
    let mut changed_back = again(1, 4000, b"<p>one");
    changed_back.ip = None;
    let events = [
        again(1, 1000, b"<p>one"),
        again(2, 1001, b"<p>one"), // another URL
        again(1, 2000, b"<p>one"),
        {
            let mut event = not_modified(1);
            event.started_ms += 2500;
            event
        },
        again(1, 3000, b"<p>two"),
        changed_back,
        not_modified(3), // never seen
        again(4, 5000, b""),
        again(4, 5001, b""),
        truncated(5, Truncated::Length),
        truncated(5, Truncated::Length),
    ];
    let remembering = WarcOptions { revisits: 100, ..GZIP };
    let all = records(&file_of(&events, remembering));
    let main: Vec<_> = all.iter().filter(|it| matches!(it.kind(), "response" | "revisit")).collect();
    let kinds: Vec<_> = main.iter().map(|it| it.kind()).collect();
    let (full, again) = ("response", "revisit");
    assert_eq!(kinds, [full, full, again, again, full, full, again, full, full, full, full]);

    let first = main[0];
    for revisit in [main[2], main[3]] {
        assert_eq!(revisit.get("WARC-Refers-To"), first.get("WARC-Record-ID"));
        assert_eq!(revisit.get("WARC-Refers-To-Target-URI"), first.get("WARC-Target-URI"));
        assert_eq!(revisit.get("WARC-Refers-To-Date"), first.get("WARC-Date"));
        assert_eq!(revisit.get("WARC-Payload-Digest"), first.get("WARC-Payload-Digest"));
    }
    let profile = |record: &WarcRecord| record.get("WARC-Profile").unwrap().rsplit('/').next().unwrap().to_owned();
    assert_eq!((profile(main[2]), profile(main[3])), ("identical-payload-digest".into(), "server-not-modified".into()));
    assert_eq!((main[2].get("WARC-Truncated"), main[3].get("WARC-Truncated")), (Some("length"), None));
    // The head of the answer, and nothing after it.
    assert!(
        main[2].block.starts_with(b"HTTP/1.1 200 Fine\r\n") && main[2].block.ends_with(b"Content-Length: 6\r\n\r\n")
    );
    assert_eq!((main[6].get("WARC-Refers-To"), main[6].get("WARC-Refers-To-Target-URI")), (None, Some(&*url(3))));

    let forgetful = records(&file_of(&events, GZIP));
    assert_eq!(forgetful.iter().filter(|it| it.kind() == "revisit").count(), 2, "the two 304 alone");
    let narrow = records(&file_of(&events[..3], WarcOptions { revisits: 1, ..GZIP }));
    assert!(narrow.iter().filter(|it| it.kind() == "revisit").count() <= 1);
}

#[test]
fn the_same_event_has_the_same_ids_and_others_have_others() {
    let ids = |events: &[PageEvent]| -> Vec<String> {
        let file = file_of(events, WarcOptions { metadata: true, ..GZIP });
        records(&file)[1..].iter().map(|record| record.id().unwrap().to_owned()).collect()
    };
    let once = ids(&zoo());
    assert_eq!(once, ids(&zoo()));
    assert_eq!(once.iter().collect::<std::collections::BTreeSet<_>>().len(), once.len());
    assert_eq!(ids(&[event(1, b"x")])[0], "urn:uuid:01935000-0000-7000-8000-000000000001");
    let mut odd = event(1, b"x");
    odd.id = "not hexadecimal".into();
    assert!(uuid::Uuid::parse_str(&ids(&[odd])[0]).is_ok());
}

#[test]
fn what_has_no_answer_is_not_held() {
    let mut writer = WarcWriter::new(GZIP);
    let mut failed = event(1, b"");
    failed.outcome = Outcome::Failure(Failure { reason: FailureReason::Dns, message: "no such name".into() });
    let mut sitemap = event(2, b"<urlset/>");
    sitemap.kind = Kind::Sitemap;
    for event in [failed, sitemap] {
        let mut out = Vec::new();
        assert!(!stores_event(&event) && !writer.write_event(&event, &[], &mut out) && out.is_empty());
    }
}

#[test]
fn nothing_that_an_event_holds_makes_a_field_of_its_own() {
    let mut event = event(1, b"body");
    event.url = "http://a.example/\r\nWARC-Type: warcinfo".into();
    event.final_url = "http://a.example/ <b>\n\nWARC/1.1".into();
    response(&mut event).headers.push("x\r\ny", "a\r\n\r\nb");
    response(&mut event).reason = "O\r\nK".into();
    let [_, response, ..] = &records(&file_of(&[event], PLAIN))[..] else { panic!() };
    assert_eq!(response.kind(), "response");
    assert_eq!(response.target_uri(), Some("http://a.example/%20%3Cb%3E%0A%0AWARC/1.1"));
    assert!(response.block.ends_with(b"\r\n\r\nbody"));
    assert_eq!(response.block.windows(4).filter(|it| it == b"\r\n\r\n").count(), 1);
}
