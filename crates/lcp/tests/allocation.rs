//! A cached look-up of feature rows allocates nothing.

#[path = "common/example.rs"]
mod example;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use example::example_task;
use lcp::graph::GraphKind;
use lcp::wl::{FeatureGenerator, VocabularyBuilder};
use planner::abstraction::{Abstractions, Pattern};
use planner::task::{OpId, VarId};

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
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
            let before = ALLOCATIONS.load(Ordering::Relaxed);
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
            (ALLOCATIONS.load(Ordering::Relaxed) - before, sum)
        };
        let (first, sum) = look_up();
        let (again, same) = look_up();
        assert!(first > 0, "the first time rows are made");
        assert_eq!((again, same), (0, sum), "{kind}");
    }
}
