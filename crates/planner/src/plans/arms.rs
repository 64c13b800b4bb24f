//! Who works next: search, freed variables or windows.
//!
//! Each has a part of the work that grows with what it gained lately per work, and none is without.
//! The next step is for whoever is behind most: its work so far, each piece divided by the weight that
//! it had then, is the least.

use crate::work::{SECOND, Work};

/// A way to get a cheaper plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arm {
    /// Searches from the initial state.
    Search,
    /// Freed variables.
    Freed,
    /// Windows.
    Windows,
}

const ALL: [Arm; 3] = [Arm::Search, Arm::Freed, Arm::Windows];

/// How much a whole success adds to the weight of 1 that everybody has.
const SUCCESS: f64 = 6.0;

/// Everybody begins with this gain in this work.
const FIRST_GAIN: f64 = 0.01;
const FIRST_WORK: Work = SECOND / 100;

/// What was gained before so much work counts half.
const MEMORY: Work = SECOND / 4;

#[derive(Clone, Copy, Debug)]
struct Record {
    /// Work divided by weights.
    progress: f64,
    recent_work: Work,
    recent_gain: f64,
}

/// What each arm has done.
#[derive(Debug)]
pub(super) struct Arms {
    records: [Record; ALL.len()],
    /// Whether each took part when somebody was chosen last.
    present: [bool; ALL.len()],
}

impl Arms {
    /// Nobody has done anything.
    pub(super) fn new() -> Arms {
        let record = Record { progress: 0.0, recent_work: FIRST_WORK, recent_gain: FIRST_GAIN };
        Arms { records: [record; ALL.len()], present: [false; ALL.len()] }
    }

    /// Who works next among those that can.
    pub(super) fn choose(&mut self, able: [bool; ALL.len()]) -> Option<Arm> {
        let behind = |arms: &Arms, who: [bool; ALL.len()]| {
            let present = (0..ALL.len()).filter(|&i| who[i]);
            present.min_by(|&a, &b| arms.records[a].progress.total_cmp(&arms.records[b].progress))
        };
        // Who is new begins where the others are.
        if let Some(last) = behind(self, self.present) {
            let progress = self.records[last].progress;
            for i in (0..ALL.len()).filter(|&i| able[i] && !self.present[i]) {
                self.records[i].progress = self.records[i].progress.max(progress);
            }
        }
        self.present = able;
        behind(self, able).map(|i| ALL[i])
    }

    /// An arm has worked, and so much of the cost is gone.
    pub(super) fn note(&mut self, arm: Arm, work: Work, gain: f64) {
        let rates = self.records.map(|record| record.recent_gain / record.recent_work as f64);
        let all: f64 = rates.iter().zip(self.present).filter(|at| at.1).map(|at| at.0).sum();
        let success = if all > 0.0 { rates[arm as usize] / all } else { 0.0 };
        let record = &mut self.records[arm as usize];
        record.progress += work as f64 / (1.0 + SUCCESS * success);
        record.recent_work += work;
        record.recent_gain += gain;
        if record.recent_work > MEMORY {
            record.recent_work /= 2;
            record.recent_gain /= 2.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_gains_more_works_more_and_everybody_works() {
        let mut arms = Arms::new();
        let mut works = [0; 3];
        for _ in 0..100_000 {
            let arm = arms.choose([true; 3]).unwrap();
            works[arm as usize] += 50_000;
            arms.note(arm, 50_000, if arm == Arm::Freed { 1e-4 } else { 0.0 });
        }
        let all: u64 = works.iter().sum();
        assert!(works[1] > all / 2, "{works:?}");
        assert!(works[0] > all / 12 && works[2] > all / 12, "{works:?}");
    }

    #[test]
    fn who_joins_later_does_not_catch_up() {
        let mut arms = Arms::new();
        for _ in 0..1000 {
            let arm = arms.choose([true, false, false]).unwrap();
            arms.note(arm, 1_000_000, 0.0);
        }
        let mut works = [0; 3];
        for _ in 0..300 {
            let arm = arms.choose([true; 3]).unwrap();
            works[arm as usize] += 1;
            arms.note(arm, 1_000_000, 0.0);
        }
        assert!(works.iter().all(|&work| work > 25), "{works:?}");
        assert_eq!(arms.choose([false; 3]), None);
    }
}
