//! A cached look-up of feature rows allocates nothing, and neither does a step of ascent.

#[path = "common/example.rs"]
mod example;
#[path = "common/pddl.rs"]
mod pddl;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use example::example_task;
use lcp::graph::GraphKind;
use lcp::wl::{FeatureGenerator, VocabularyBuilder};
use planner::abstraction::{Abstractions, Pattern, PatternLimits, interesting_patterns};
use planner::partition::{Ascent, AscentConfig, Partitioner, Request, Saturated, StepRule};
use planner::task::{OpId, VarId};
use planner::work::Budget;

/// The system's allocator, counting for each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn cached_look_ups_do_not_allocate() {
    let task = example_task();
    let patterns =
        [Pattern::new([VarId(0)]), Pattern::new([VarId(1)]), Pattern::new([VarId(0), VarId(1)])];
    let abstractions = Abstractions::new(&task, &patterns);
    let states = [[0, 0], [0, 1], [1, 0], [1, 1]];
    for (kind, distances) in GraphKind::ALL.into_iter().flat_map(|k| [(k, false), (k, true)]) {
        let mut builder = VocabularyBuilder::new(kind, 2).distances(distances);
        builder.observe(&task, &patterns, &states);
        let vocabulary = Arc::new(builder.finish());
        let mut generator = FeatureGenerator::new(&task, &abstractions, vocabulary, usize::MAX);

        // Sums everything there is to look at; returns what it took.
        let mut look_up = || {
            let before = ALLOCATIONS.get();
            let mut sum = 0;
            for state in &states {
                let rows = generator.state_rows(state);
                for p in 0..rows.num_patterns() {
                    let pattern = rows.pattern(p);
                    sum += pattern.rows().map(|(row, n)| row.0 + n).sum::<u32>() as usize;
                    sum += pattern.rows_of_operators().sum::<usize>();
                    sum += pattern.row_of_operator(OpId(0)) + pattern.connected_operators().count();
                }
            }
            (ALLOCATIONS.get() - before, sum)
        };
        let (first, sum) = look_up();
        let (again, same) = look_up();
        assert!(first > 0, "the first time rows are made");
        assert_eq!((again, same), (0, sum), "{kind}");
    }
}

#[test]
fn steps_do_not_allocate() {
    let task = pddl::generated_task("logistics", "size-4");
    let patterns = interesting_patterns(&task, 2, &PatternLimits::default());
    let abstractions = Abstractions::new(&task, &patterns);
    for rule in [StepRule::PLAIN, StepRule::trained()] {
        let config = AscentConfig { rule, ..AscentConfig::every_state(StepRule::PLAIN) };
        let mut improved = Ascent::new(&abstractions, config);
        let request = Request {
            state: &task.initial,
            beat: None,
            budget: &mut Budget::unlimited(),
            elapsed: 0,
            initial: true,
        };
        let found = Saturated::new(&abstractions).partition(request).expect("no dead end");
        let mut values = Vec::with_capacity(1);
        let mut climb = |steps| {
            let before = ALLOCATIONS.get();
            improved.trace(&found, &task.initial, &[steps], &mut values);
            ALLOCATIONS.get() - before
        };
        climb(60);
        let (few, many) = (climb(2), climb(60));
        assert_eq!(few, many, "as many for 2 steps and for 60");
    }
}
