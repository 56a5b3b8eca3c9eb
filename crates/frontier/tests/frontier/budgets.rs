//! Budgets: reservations, validated amounts, and hosts that wait.

use seine_frontier::{
    Attempt, Batch, FrontierOptions, HostLeases, LeaseLimits, NoBudget, Release, Scheduler, Spent, Verdict, Verdicts,
};
use seine_parse::page::EpochMs;
use seine_policies::budgets::{Amounts, Budget, BudgetScope, Period, What};

use crate::support::{ATTEMPT, Disk, at, embedded, fetched, lease_one, pages, plain, urls};

const DAY: EpochMs = 24 * 60 * 60 * 1000;

fn budget(of: BudgetScope, what: What, per: Period, most: u64) -> Budget {
    Budget { of, what, per, most }
}

fn with(budgets: &[Budget]) -> Disk {
    embedded(FrontierOptions { budgets: budgets.to_vec(), ..plain() })
}

/// Accepts and validates `amounts` for each of these URLs, at `now`.
fn bring(frontier: &Disk, cursor: u64, urls: &[&str], amounts: Amounts, now: EpochMs) {
    let attempt = Attempt { at: now, ..ATTEMPT };
    let verdict = |(url, event): (&&str, u64)| Verdict { attempt, fetched: amounts, ..fetched(url, event, None) };
    let verdicts = urls.iter().zip(cursor * 100..).map(verdict).collect();
    frontier.apply(&Batch { verdicts, cursor: at(cursor), ..Batch::default() }, now).unwrap();
}

const PAGE: Amounts = Amounts { pages: 1, received: 1000, decoded: 5000 };

fn reserve(frontier: &Disk, url: &str, now: EpochMs) -> Result<(), NoBudget> {
    frontier.begin_fetch(url, now)
}

#[test]
fn what_is_in_flight_is_counted_until_it_is_known() {
    let limit = budget(BudgetScope::Host, What::Pages, Period::Life, 2);
    let mut frontier = with(&[limit]);
    let spent = Err(NoBudget::Spent(Spent { budget: limit, until: EpochMs::MAX }));
    assert_eq!(reserve(&frontier, "http://a.test/1", 10), Ok(()));
    assert_eq!(reserve(&frontier, "http://a.test/2", 10), Ok(()));
    // A budget per host counts all schemes and ports together, and other hosts separately.
    assert_eq!(reserve(&frontier, "https://a.test:8443/3", 10), Err(NoBudget::InFlight));
    assert_eq!(reserve(&frontier, "http://b.test/", 10), Ok(()));
    // One fetch gave nothing and the other was not a page, so the budget has room again.
    frontier.give_up("http://a.test/1");
    frontier.weigh("http://a.test/2", Amounts { pages: 0, ..PAGE });
    assert_eq!(reserve(&frontier, "http://a.test/3", 10), Ok(()));
    bring(&frontier, 1, &["http://a.test/2"], Amounts { pages: 0, ..PAGE }, 20);
    bring(&frontier, 2, &["http://a.test/3"], PAGE, 20);
    assert_eq!(reserve(&frontier, "http://a.test/4", 20), Ok(()));
    bring(&frontier, 3, &["http://a.test/4"], PAGE, 20);
    assert_eq!(reserve(&frontier, "http://a.test/5", 20), spent);
    // Neither the same offset again nor a restart changes anything.
    bring(&frontier, 3, &["http://b.test/1"], PAGE, 20);
    frontier.reopen(30);
    assert_eq!(reserve(&frontier, "http://a.test/5", 30), spent);
    assert_eq!(reserve(&frontier, "http://b.test/2", 30), Ok(()));
    assert_eq!(reserve(&frontier, "http://b.test/3", 30), Ok(()));
    assert_eq!(reserve(&frontier, "http://b.test/4", 30), Err(NoBudget::InFlight));
    assert_eq!(frontier.fetched_amounts(), Amounts { pages: 2, received: 3000, decoded: 15_000 });
}

#[test]
fn days_and_runs_begin_anew_and_a_life_does_not() {
    let of_day = budget(BudgetScope::Domain, What::BytesDecoded, Period::Day, 10_000);
    let of_run = budget(BudgetScope::Crawl, What::Pages, Period::Run, 3);
    let of_life = budget(BudgetScope::Crawl, What::BytesReceived, Period::Life, 5000);
    let mut frontier = with(&[of_day, of_run, of_life]);
    let noon = DAY * 20_000 + DAY / 2;
    let spent = |budget, until| Err(NoBudget::Spent(Spent { budget, until }));
    bring(&frontier, 1, &["http://www.a.co.uk/", "http://blog.a.co.uk/"], PAGE, noon);
    assert_eq!(reserve(&frontier, "http://a.co.uk/", noon), spent(of_day, DAY * 20_001));
    assert_eq!(reserve(&frontier, "http://b.co.uk/", noon), Ok(()));
    assert_eq!(reserve(&frontier, "http://a.co.uk/", noon + DAY), Err(NoBudget::InFlight), "of the run");
    frontier.give_up("http://b.co.uk/");
    assert_eq!(reserve(&frontier, "http://a.co.uk/", noon + DAY), Ok(()));
    bring(&frontier, 2, &["http://a.co.uk/"], PAGE, noon + DAY);
    assert_eq!(reserve(&frontier, "http://c.test/", noon + DAY), spent(of_run, EpochMs::MAX));
    frontier.reopen(noon + DAY);
    assert_eq!(reserve(&frontier, "http://c.test/", noon + DAY), Ok(()));
    // Accepted by the last run and validated by this one: it counts for the life of the crawl, but for no run.
    bring(&frontier, 3, &["http://d.test/", "http://e.test/"], PAGE, noon + DAY - 1);
    let standings = frontier.budgets(noon + DAY);
    assert_eq!(standings.iter().map(|it| it.spent).collect::<Vec<_>>(), [None, Some(0), Some(5000)]);
    assert_eq!(reserve(&frontier, "http://f.test/", noon + DAY), spent(of_life, EpochMs::MAX));
}

#[test]
fn a_host_rests_until_its_budget_begins_anew_and_a_restart_asks_again() {
    let of_day = budget(BudgetScope::Host, What::Pages, Period::Day, 1);
    let of_life = budget(BudgetScope::Host, What::Pages, Period::Life, 1);
    let mut frontier = with(&[of_day, of_life]);
    frontier.propose(&pages(&["http://a.test/", "http://b.test/", "http://c.test/"]), 0).unwrap();
    for (budget, until) in [(of_day, DAY), (of_life, EpochMs::MAX)] {
        let lease = lease_one(&*frontier, 10, 1);
        frontier.release(lease, Release { spent: Some(Spent { budget, until }), ..Release::default() }).unwrap();
    }
    let resting = |frontier: &Disk| frontier.budgets(10).iter().map(|it| it.resting).collect::<Vec<_>>();
    assert_eq!(resting(&frontier), [1, 1]);
    let last = lease_one(&*frontier, 10, 1);
    assert_eq!(urls(&last), ["http://c.test/"]);
    assert_eq!(frontier.next_due(), Some(DAY));
    assert!(frontier.waiting(10, 9).next.is_empty(), "it is said as what it is");
    assert_eq!(urls(&lease_one(&*frontier, DAY, 1)), ["http://a.test/"]);
    assert_eq!(resting(&frontier), [0, 1]);
    assert_eq!(frontier.next_due(), None, "b.test rests for as long as the process runs");
    frontier.reopen(DAY);
    assert_eq!(resting(&frontier), [0, 0]);
    assert_eq!(frontier.lease(DAY, LeaseLimits::new(9, 9)).unwrap().len(), 3);
}
