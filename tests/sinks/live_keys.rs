//! The URLs that have a page at a destination, in passes.

use seine::sinks::live_keys::LiveKeys;

/// URLs `0..200` in two parts. Every third URL leaves its part again; every fifth is in both.
fn read(keys: &mut LiveKeys) {
    for part in 0..2 {
        for number in (0..200).filter(|number| number % 2 == part || number % 5 == 0) {
            keys.written(&url(number));
            if number % 3 == 0 && number % 2 == part {
                keys.removed(&url(number));
            }
        }
        keys.end_part();
    }
}

fn url(number: u64) -> String {
    format!("http://a.example/{number}")
}

#[test]
fn each_url_is_decided_in_one_pass_whatever_the_memory() {
    for (at_once, at_least) in [(1000, 1), (50, 2), (7, 16)] {
        let (mut passes, mut decided) = (0, vec![0; 200]);
        let mut next = Some(LiveKeys::new(at_once));
        while let Some(mut keys) = next {
            read(&mut keys);
            passes += 1;
            for number in (0..200).filter(|number| keys.cover(&url(*number))) {
                decided[number as usize] += 1;
                let is_live = number % 3 != 0 || number % 5 == 0;
                assert_eq!(keys.hold(&url(number)), is_live, "{number} with {at_once}");
            }
            next = keys.next_pass();
        }
        assert!(passes >= at_least, "{passes} passes with {at_once}");
        assert!(decided.iter().all(|times| *times == 1), "{decided:?}");
    }
}
