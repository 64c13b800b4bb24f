//! Time and steps of the kernel's operations, with the sizes that results must have.
//!
//! `cargo bench -p bdd`
//!
//! Queens: conjunctions of many constraints. Tokens: which states so many moves lead to, where
//! tokens move on a ring; forward by images, backward by preimages. Holes move against the tokens,
//! so that backward from the opposite start the diagram is the same with all variables negated.

use std::time::Instant;

use bdd::{Bdd, Cap, Config, Halt, Kernel};

fn main() -> Result<(), Halt> {
    println!(
        "{:<18} {:>8} {:>12} {:>11} {:>8}",
        "what", "seconds", "steps", "peak nodes", "ns/step"
    );
    measure("queens 8", 64, 2451, |kernel| queens(kernel, 8))?;
    measure("queens 10", 100, 25945, |kernel| queens(kernel, 10))?;
    measure("tokens, images", 96, 14093, |kernel| tokens(kernel, 48, 200, true))?;
    measure("tokens, preimages", 96, 14093, |kernel| tokens(kernel, 48, 200, false))
}

fn measure(
    name: &str,
    levels: u32,
    size: usize,
    run: impl Fn(&mut Kernel) -> Result<Bdd, Halt>,
) -> Result<(), Halt> {
    let mut kernel = Kernel::new(Config { levels, ..Config::default() })?;
    let started = Instant::now();
    let result = run(&mut kernel)?;
    let seconds = started.elapsed().as_secs_f64();
    assert_eq!(kernel.size(&result), size, "{name}");
    let statistics = kernel.statistics();
    let per_step = seconds * 1e9 / statistics.steps as f64;
    let (steps, peak) = (statistics.steps, statistics.peak_nodes);
    println!("{name:<18} {seconds:>8.3} {steps:>12} {peak:>11} {per_step:>8.1}");
    Ok(())
}

/// The ways to place n queens on a board of n × n squares so that none attacks another.
fn queens(kernel: &mut Kernel, n: u32) -> Result<Bdd, Halt> {
    let square = |row: u32, column: u32| row * n + column;
    let mut all = kernel.constant(true);
    for row in (0..n).rev() {
        let mut some = kernel.constant(false);
        for column in 0..n {
            let queen = kernel.cube(&[(square(row, column), true)], Cap::NONE)?;
            some = kernel.or(&some, &queen, Cap::NONE)?;
        }
        all = kernel.and(&all, &some, Cap::NONE)?;
        for column in 0..n {
            for (r, c) in (0..n * n).map(|i| (i / n, i % n)) {
                let attacked = r == row || c == column || r.abs_diff(row) == c.abs_diff(column);
                if attacked && square(r, c) > square(row, column) {
                    let both = [(square(row, column), true), (square(r, c), true)];
                    let both = kernel.cube(&both, Cap::NONE)?;
                    all = kernel.minus(&all, &both, Cap::NONE)?;
                }
            }
        }
    }
    Ok(all)
}

/// The states that some number of moves leads to, from a ring of places whose first half has the
/// tokens, or comes from, to one whose second half has them; a token moves to the next place if that is free.
fn tokens(kernel: &mut Kernel, places: u32, moves: u32, forward: bool) -> Result<Bdd, Halt> {
    let mut relations = Vec::new();
    for place in 0..places {
        let next = (place + 1) % places;
        let (first, second) = (place.min(next), place.max(next));
        let has_token = |p: u32| p == place;
        let step: Vec<(u32, bool)> = [first, second]
            .into_iter()
            .flat_map(|p| [(2 * p, has_token(p)), (2 * p + 1, !has_token(p))])
            .collect();
        relations.push((kernel.cube(&step, Cap::NONE)?, kernel.pairs(&[first, second])));
    }
    let start: Vec<(u32, bool)> =
        (0..places).map(|p| (2 * p, (p < places / 2) == forward)).collect();
    let mut states = kernel.cube(&start, Cap::NONE)?;
    for _ in 0..moves {
        let mut next = states.clone();
        for (relation, pairs) in &relations {
            let states = if forward {
                kernel.image(&states, relation, pairs, Cap::NONE)?
            } else {
                kernel.preimage(&states, relation, pairs, Cap::NONE)?
            };
            next = kernel.or(&next, &states, Cap::NONE)?;
        }
        states = next;
    }
    Ok(states)
}
