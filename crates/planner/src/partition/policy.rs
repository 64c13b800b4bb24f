//! Who is asked next: a policy that sees nothing but what asking has gained and what it took.
//!
//! Contenders are numbers here.
//! One that has had too small a share of the work to be judged goes first; the others follow by
//! gain per work of late, and those that hardly gain are left out.

use crate::work::{SECOND, Work};

/// Every contender gets this share of the work.
const EXPLORE: f64 = 0.1;

/// How much a new result counts in a contender's record.
const WEIGHT: f64 = 0.2;

/// Contenders worth less than this part of the best are asked only to explore, …
const LEAST_WORTH: f64 = 0.01;

/// … as are those that succeed less often, …
const LEAST_SUCCESS: f64 = 0.02;

/// … unless they have had less work than this part of all work so far.
const PROBATION: f64 = 0.02;

/// What an attempt of one contender may take: twice as much after a success, half after a failure
/// for want of work, within these limits.
const ATTEMPT: (Work, Work) = (SECOND / 10, SECOND * 2 / 5);

/// What a contender has been worth.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Smoothed gain, smoothed work and smoothed rate of success of an attempt.
    gain: f64,
    work: f64,
    success: f64,
    /// What the next attempt may take.
    longest: Work,
    /// The work of all attempts, and their number.
    spent: Work,
    tries: u64,
}

impl Record {
    fn new() -> Record {
        Record { gain: 0.0, work: 0.0, success: 0.0, longest: ATTEMPT.1, spent: 0, tries: 0 }
    }

    /// Gain per work.
    fn worth(&self) -> f64 {
        self.gain / self.work.max(1.0)
    }

    fn add(&mut self, gain: f64, work: Work) {
        let weight = WEIGHT.max(1.0 / (self.tries + 1) as f64);
        self.gain += weight * (gain - self.gain);
        self.work += weight * (work as f64 - self.work);
        self.success += weight * (f64::from(u8::from(gain > 0.0)) - self.success);
        if gain > 0.0 {
            self.longest = (2 * self.longest).min(ATTEMPT.1);
        } else if work >= self.longest {
            self.longest = (self.longest / 2).max(ATTEMPT.0);
        }
        self.spent += work;
        self.tries += 1;
    }
}

/// Keeps the records of contenders and chooses among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Policy {
    records: Vec<Record>,
}

impl Policy {
    /// Adds a contender, whose record begins now.
    pub(super) fn add(&mut self) {
        self.records.push(Record::new());
    }

    /// What an attempt of a contender may take.
    pub(super) fn longest(&self, contender: usize) -> Work {
        self.records[contender].longest
    }

    /// Takes note of what an attempt has gained and what it took.
    pub(super) fn record(&mut self, contender: usize, gain: f64, work: Work) {
        self.records[contender].add(gain, work);
    }

    /// The contenders to ask, in order, when this much work has been done in all.
    pub(super) fn choose(&self, elapsed: Work, order: &mut Vec<usize>) {
        let records = &self.records;
        let total: Work = records.iter().map(|record| record.spent).sum();
        let is_neglected = |&i: &usize| (records[i].spent as f64) < EXPLORE * total as f64;
        let first = (0..records.len()).find(is_neglected);
        let best = records.iter().map(Record::worth).fold(0.0, f64::max);
        let is_promising = |i: usize| {
            let record = &records[i];
            record.worth() > LEAST_WORTH * best && record.success > LEAST_SUCCESS
                || (record.spent as f64) < PROBATION * elapsed as f64
        };
        order.clear();
        order.extend((0..records.len()).filter(|&i| is_promising(i) && first != Some(i)));
        // Stable: of equals the first one comes first.
        order.sort_by(|&i, &j| records[j].worth().total_cmp(&records[i].worth()));
        if let Some(first) = first.or_else(|| order.is_empty().then_some(0)) {
            order.insert(0, first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Work = SECOND / 1000;

    /// What an attempt of a contender gains and takes, by the number of the attempt.
    type Script = fn(u64) -> (f64, Work);

    /// Plays a search of some rounds: at each state contenders are asked in the chosen order until
    /// one gains; the work of each, and of the search, which takes as much as they do.
    fn play(scripts: &[Script], rounds: u64) -> Vec<Work> {
        let mut policy = Policy::default();
        scripts.iter().for_each(|_| policy.add());
        let mut asked = vec![0; scripts.len()];
        let mut spent = vec![0; scripts.len()];
        let mut order = Vec::new();
        for _ in 0..rounds {
            policy.choose(2 * spent.iter().sum::<Work>(), &mut order);
            assert!(!order.is_empty(), "somebody is always asked");
            for &i in &order {
                let (gain, work) = scripts[i](asked[i]);
                let work = work.min(policy.longest(i));
                asked[i] += 1;
                spent[i] += work;
                policy.record(i, gain, work);
                if gain > 0.0 {
                    break;
                }
            }
        }
        spent
    }

    fn share(spent: &[Work], i: usize) -> f64 {
        spent[i] as f64 / spent.iter().sum::<Work>() as f64
    }

    #[test]
    fn one_that_never_pays_gets_the_share_that_keeps_it_in_view() {
        let spent = play(&[|_| (1.0, MS), |_| (0.0, 30 * MS)], 5000);
        assert!(share(&spent, 1) < 0.15, "{spent:?}");
        let spent = play(&[|_| (1.0, MS), |_| (0.0, 30 * MS), |_| (0.0, 400 * MS)], 5000);
        assert!(share(&spent, 0) > 0.7, "{spent:?}");
    }

    #[test]
    fn the_better_one_gets_most() {
        let spent = play(&[|_| (1.0, 10 * MS), |_| (3.0, 10 * MS)], 1000);
        assert!(share(&spent, 1) > 0.8, "{spent:?}");
        let spent = play(&[|_| (3.0, MS), |_| (4.0, 10 * MS)], 1000);
        assert!(share(&spent, 0) > 0.8, "{spent:?}");
    }

    #[test]
    fn one_that_recovers_is_noticed() {
        let late: Script = |n| (if n < 20 { 0.0 } else { 9.0 }, MS);
        let spent = play(&[|_| (1.0, MS), late], 2000);
        assert!(share(&spent, 1) > 0.5, "{spent:?}");
    }

    #[test]
    fn one_that_dries_up_is_left() {
        let early: Script = |n| (if n < 50 { 5.0 } else { 0.0 }, MS);
        let spent = play(&[early, |_| (1.0, 2 * MS)], 2000);
        assert!(share(&spent, 1) > 0.8, "{spent:?}");
    }

    #[test]
    fn failures_for_want_of_work_are_cut_short() {
        let mut policy = Policy::default();
        policy.add();
        let (least, most) = ATTEMPT;
        assert_eq!(policy.longest(0), most);
        for _ in 0..10 {
            policy.record(0, 0.0, policy.longest(0));
        }
        assert_eq!(policy.longest(0), least);
        policy.record(0, 1.0, MS);
        assert_eq!(policy.longest(0), 2 * least);
    }
}
