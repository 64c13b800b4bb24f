//! Every operation against truth tables of six variables, with and without caps.

use bdd::{Bdd, Cap, Config, Halt, Kernel, MAX_LEVELS};
use proptest::prelude::*;

/// Three pairs of variables: an assignment is a number below 64, level `i` its bit `i`.
const LEVELS: u32 = 6;

/// A function: bit `a` is its value under assignment `a`.
type Table = u64;

fn value(table: Table, assignment: u32) -> bool {
    table >> assignment & 1 == 1
}

fn table_of(mut value: impl FnMut(u32) -> bool) -> Table {
    (0..64).filter(|&a| value(a)).fold(0, |table, a| table | 1 << a)
}

fn kernel() -> Kernel<'static> {
    Kernel::new(Config { levels: LEVELS, bytes: 1 << 20, cache_bytes: 1 << 16 }).unwrap()
}

/// The function of a table, as a disjunction of its assignments.
fn build(kernel: &mut Kernel, table: Table) -> Bdd {
    let mut f = kernel.constant(false);
    for a in (0..64).filter(|&a| value(table, a)) {
        let literals: Vec<(u32, bool)> = (0..LEVELS).map(|i| (i, a >> i & 1 == 1)).collect();
        let minterm = kernel.cube(&literals, Cap::NONE).unwrap();
        f = kernel.or(&f, &minterm, Cap::NONE).unwrap();
    }
    f
}

fn table(kernel: &Kernel, f: &Bdd) -> Table {
    table_of(|a| kernel.holds(f, |level| a >> level & 1 == 1))
}

/// A table that depends on even levels only.
fn about_states(table: Table) -> Table {
    table_of(|a| value(table, a & 0b010101))
}

/// The image or preimage by going through all transitions; pairs that are not written keep their
/// values.
fn image(f: Table, t: Table, written: u32, forward: bool) -> Table {
    let mut result = 0;
    for a in 0..64u32 {
        let is_written = |i: u32| written >> i & 1 == 1;
        // Before and after as numbers of three bits.
        let (mut before, mut after) = (0, 0);
        for i in 0..3 {
            let (x, y) = (a >> (2 * i) & 1, a >> (2 * i + 1) & 1);
            before |= x << (2 * i);
            after |= if is_written(i) { y } else { x } << (2 * i);
        }
        let (from, to) = if forward { (before, after) } else { (after, before) };
        if value(t, a) && value(f, from) {
            result |= 1 << to;
        }
    }
    about_states(result)
}

/// A relation that says nothing about what comes after for pairs that it does not write.
fn relation(table: Table, written: u32) -> Table {
    let ignored = (0..3).filter(|i| written >> i & 1 == 0).fold(0, |bits, i| bits | 2 << (2 * i));
    table_of(|a| value(table, a & !ignored))
}

proptest! {
    #[test]
    fn operations_are_those_of_truth_tables(f in any::<u64>(), g in any::<u64>(), h in any::<u64>()) {
        let mut k = kernel();
        let (a, b, c) = (build(&mut k, f), build(&mut k, g), build(&mut k, h));
        prop_assert_eq!(table(&k, &a), f);
        let results = [
            (k.not(&a), !f),
            (k.and(&a, &b, Cap::NONE).unwrap(), f & g),
            (k.or(&a, &b, Cap::NONE).unwrap(), f | g),
            (k.minus(&a, &b, Cap::NONE).unwrap(), f & !g),
            (k.if_then_else(&a, &b, &c, Cap::NONE).unwrap(), f & g | !f & h),
        ];
        for (bdd, expected) in results {
            prop_assert_eq!(table(&k, &bdd), expected);
            // The form is canonical.
            prop_assert!(bdd == build(&mut k, expected));
            prop_assert_eq!((bdd.is_false(), bdd.is_true()), (expected == 0, expected == !0));
        }
    }

    #[test]
    fn images_are_those_of_truth_tables(f in any::<u64>(), t in any::<u64>(), thin in any::<u64>(), written in 1u32..8) {
        let (f, t) = (about_states(f), relation(t & thin, written));
        let mut k = kernel();
        let (states, rel) = (build(&mut k, f), build(&mut k, t));
        let pairs: Vec<u32> = (0..3).filter(|i| written >> i & 1 == 1).collect();
        let pairs = k.pairs(&pairs);
        let forward = k.image(&states, &rel, &pairs, Cap::NONE).unwrap();
        let backward = k.preimage(&states, &rel, &pairs, Cap::NONE).unwrap();
        prop_assert_eq!(table(&k, &forward), image(f, t, written, true));
        prop_assert_eq!(table(&k, &backward), image(f, t, written, false));
    }

    /// With any cap an operation is right or says why not, and the functions held are as before.
    #[test]
    fn caps_never_make_results_wrong(
        tables in proptest::collection::vec(any::<u64>(), 3..12),
        steps in 0u64..60,
        nodes in 0usize..40,
    ) {
        let mut k = kernel();
        let mut held: Vec<(Bdd, Table)> = tables.iter().map(|&t| (build(&mut k, t), t)).collect();
        for i in 0..2 * tables.len() {
            let (j, l) = (i % held.len(), (i * 7 + 3) % held.len());
            let (f, g) = (held[j].clone(), held[l].clone());
            let cap = if i % 2 == 0 { Cap::steps(steps) } else { Cap::nodes(nodes) };
            match k.and(&f.0, &g.0, cap) {
                Ok(both) => {
                    prop_assert_eq!(table(&k, &both), f.1 & g.1);
                    held[j] = (both, f.1 & g.1);
                }
                Err(halt) => {
                    prop_assert_eq!(halt, if i % 2 == 0 { Halt::Work } else { Halt::Nodes });
                    let both = k.and(&f.0, &g.0, Cap::NONE).unwrap();
                    prop_assert_eq!(table(&k, &both), f.1 & g.1);
                }
            }
            if i % 3 == 0 {
                k.collect();
            }
        }
        for (f, expected) in &held {
            prop_assert_eq!(table(&k, f), *expected);
        }
    }

    #[test]
    fn a_picked_assignment_satisfies(f in any::<u64>()) {
        let mut k = kernel();
        let bdd = build(&mut k, f);
        let Some(literals) = k.pick(&bdd) else {
            prop_assert_eq!(f, 0);
            return Ok(());
        };
        let free = |level: u32| !literals.iter().any(|literal| literal.0 == level);
        for other in [false, true] {
            let assignment = |level| literals.contains(&(level, true)) || other && free(level);
            prop_assert!(k.holds(&bdd, assignment));
        }
    }
}

/// Eight equivalences: in pairs three nodes each but the last, which has two, and the terminal.
/// In another order a tree of 255 for the first halves, and 509 for the ends of the second halves.
#[test]
fn sizes_are_those_of_reduced_diagrams() {
    let mut k = Kernel::new(Config { levels: 40, ..Config::default() }).unwrap();
    let equal = |k: &mut Kernel, x: u32, y: u32| {
        let both = k.cube(&[(x, true), (y, true)], Cap::NONE).unwrap();
        let none = k.cube(&[(x, false), (y, false)], Cap::NONE).unwrap();
        k.or(&both, &none, Cap::NONE).unwrap()
    };
    for (distance, expected) in [(1, 7 * 3 + 2 + 1), (8, 255 + 509 + 1)] {
        let mut all = k.constant(true);
        for i in 0..8 {
            let (x, y) = if distance == 1 { (2 * i, 2 * i + 1) } else { (i, i + 8) };
            let e = equal(&mut k, x, y);
            all = k.and(&all, &e, Cap::NONE).unwrap();
        }
        assert_eq!(k.size(&all), expected);
        assert_eq!(k.size(&all), k.size(&all), "counting leaves no marks");
    }
}

/// Functions that do not fit into memory: the kernel says so, keeps its cap, and goes on.
#[test]
fn memory_is_kept() {
    let bytes = 400 << 10;
    let mut k = Kernel::new(Config { levels: 64, bytes, cache_bytes: bytes / 4 }).unwrap();
    // In this order the diagram doubles with every pair (i, i + 16).
    let mut all = k.constant(true);
    let mut halted = false;
    for i in 0..16 {
        let both = k.cube(&[(i, true), (i + 16, true)], Cap::NONE).unwrap();
        let none = k.cube(&[(i, false), (i + 16, false)], Cap::NONE).unwrap();
        let equal = k.or(&both, &none, Cap::NONE).unwrap();
        match k.and(&all, &equal, Cap::NONE) {
            Ok(more) => all = more,
            Err(halt) => {
                assert_eq!(halt, Halt::Memory);
                halted = true;
                break;
            }
        }
    }
    assert!(halted);
    assert!(k.statistics().bytes <= bytes + (bytes >> 3), "{}", k.statistics().bytes);
    drop(all);
    k.collect();
    let small = k.cube(&[(3, true), (4, false)], Cap::NONE).unwrap();
    assert!(k.holds(&small, |level| level == 3));
    assert!(k.statistics().nodes < 10);
}

#[test]
fn operations_can_be_interrupted() {
    let mut k = Kernel::new(Config { levels: 64, ..Config::default() }).unwrap();
    k.interrupt_when(|| true);
    let mut all = k.constant(true);
    let mut last = None;
    for i in 0..24 {
        let both = k.cube(&[(i, true), (i + 24, true)], Cap::NONE).unwrap();
        let none = k.cube(&[(i, false), (i + 24, false)], Cap::NONE).unwrap();
        let equal = k.or(&both, &none, Cap::NONE).unwrap();
        match k.and(&all, &equal, Cap::NONE) {
            Ok(more) => all = more,
            Err(halt) => {
                last = Some(halt);
                break;
            }
        }
    }
    assert_eq!(last, Some(Halt::Interrupted));
}

/// The deepest recursions there are, on a stack of 1 MiB.
#[test]
fn recursions_fit_on_a_small_stack() {
    let deep = || {
        let mut k = Kernel::new(Config { levels: MAX_LEVELS, ..Config::default() }).unwrap();
        let parity = |k: &mut Kernel, step: usize, offset: u32| {
            let mut odd = k.constant(false);
            for level in (offset..MAX_LEVELS).step_by(step).collect::<Vec<_>>().into_iter().rev() {
                let x = k.cube(&[(level, true)], Cap::NONE).unwrap();
                let even = k.not(&odd);
                odd = k.if_then_else(&x, &even, &odd, Cap::NONE).unwrap();
            }
            odd
        };
        let (all, states, after) =
            (parity(&mut k, 1, 0), parity(&mut k, 2, 0), parity(&mut k, 4, 0));
        let both = k.and(&all, &states, Cap::NONE).unwrap();
        assert!(!both.is_false());
        let pairs: Vec<u32> = (0..MAX_LEVELS / 2).collect();
        let pairs = k.pairs(&pairs);
        let next = k.image(&after, &all, &pairs, Cap::NONE).unwrap();
        assert!(next.is_true(), "any state has a successor of either parity");
        let previous = k.preimage(&after, &all, &pairs, Cap::NONE).unwrap();
        assert!(previous.is_true());
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(deep).unwrap();
    thread.join().unwrap();
}

#[test]
fn too_many_levels_are_refused() {
    let config = Config { levels: MAX_LEVELS + 1, ..Config::default() };
    assert_eq!(Kernel::new(config).err(), Some(Halt::Levels));
}

#[test]
#[should_panic(expected = "another kernel")]
fn handles_of_other_kernels_are_refused() {
    let (mut one, mut other) = (kernel(), kernel());
    let f = one.constant(true);
    other.not(&f);
}
