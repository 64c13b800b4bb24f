//! A fuzzer: random ADL tasks whose tokens are swapped, copied, dropped and damaged go through
//! parser, translator, `.sas` files, search and both plan checkers.
//!
//! Nothing may panic, overflow the stack or hang; where blind search finds a plan, so must h^max and
//! LM-cut,
//! of the same cost.
//! The slow lane (`scripts/slow`) runs it 100,000 times; `FUZZ_RUNS` and `FUZZ_FIRST` choose others.

use std::time::{Duration, Instant};

use planner::heuristic::{Blind, HMax, Heuristic, LmCut};
use planner::pddl::{Source, parse_domain, parse_problem};
use planner::plan::validate;
use planner::search::{Config, Limits, Outcome, astar};
use planner::task::{Cost, Task};
use planner::testing::{TestRng, random_adl, rng};
use planner::translate::{Interrupt, TranslateOptions, sas, translate};
use rand::RngExt;

/// Words that make trouble.
const WORDS: [&str; 24] = [
    "(",
    ")",
    "and",
    "or",
    "not",
    "imply",
    "forall",
    "exists",
    "when",
    "=",
    "object",
    "-",
    "either",
    "?x",
    "o0",
    "increase",
    "total-cost",
    "99999999999",
    "-1",
    "1.5",
    ":init",
    ":goal",
    "d0",
    "p",
];

/// A run may take this long.
const PATIENCE: Duration = Duration::from_secs(20);

fn tokens(text: &str) -> Vec<String> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    spaced.split_whitespace().map(str::to_string).collect()
}

/// The sort of words that are seldom worth changing: nothing but an error follows.
const KEYWORDS: usize = 6;

/// What sort of word a token is; words of one sort can often replace each other.
fn sort(token: &str) -> usize {
    match token {
        "and" | "or" => 0,
        "forall" | "exists" => 1,
        _ if token.starts_with('o') && token.len() == 2 && token != "or" => 2,
        "object" | "a" | "b" => 3,
        _ if token.starts_with('?') => 4,
        "p" | "q" | "r" | "s" | "d0" | "d1" => 5,
        _ => KEYWORDS,
    }
}

/// A few random changes; most leave the parentheses alone, and many the sorts of words.
fn mutated(text: &str, rng: &mut TestRng) -> Vec<u8> {
    let mut tokens = tokens(text);
    let is_word = |token: &String| token != "(" && token != ")";
    for _ in 0..[1, 1, 1, 1, 1, 3][rng.random_range(0..6)] {
        let words: Vec<usize> = (0..tokens.len()).filter(|&i| is_word(&tokens[i])).collect();
        // Half of the changes are to words that have no arguments or scope to fit.
        let limit = [KEYWORDS + 1, KEYWORDS, 3, 3][rng.random_range(0..4)];
        let names: Vec<usize> =
            words.iter().copied().filter(|&i| sort(&tokens[i]) < limit).collect();
        let choice = if names.is_empty() { &words } else { &names };
        let a = choice[rng.random_range(0..choice.len())];
        let similar = words.iter().copied().filter(|&i| sort(&tokens[i]) == sort(&tokens[a]));
        let others: Vec<usize> =
            if rng.random_bool(0.9) { similar.collect() } else { words.clone() };
        let b = others[rng.random_range(0..others.len())];
        match rng.random_range(0..20) {
            0..=10 => tokens[a] = tokens[b].clone(),
            11..=14 => tokens.swap(a, b),
            15..=17 => {
                // A whole expression takes the place of another.
                let end = |start: usize| {
                    let mut depth = 0;
                    (start..tokens.len()).find(|&i| {
                        depth += i32::from(tokens[i] == "(") - i32::from(tokens[i] == ")");
                        depth == 0
                    })
                };
                let opens: Vec<usize> = (0..tokens.len()).filter(|&i| tokens[i] == "(").collect();
                let a = opens[rng.random_range(0..opens.len())];
                let b = opens[rng.random_range(0..opens.len())];
                if let (Some(a_end), Some(b_end)) = (end(a), end(b)) {
                    let copy = tokens[b..=b_end].to_vec();
                    tokens.splice(a..=a_end, copy);
                }
            }
            18 => tokens[a] = WORDS[rng.random_range(0..WORDS.len())].to_string(),
            _ => {
                let i = rng.random_range(0..tokens.len());
                tokens.remove(i);
            }
        }
    }
    let mut bytes = tokens.join(" ").into_bytes();
    if rng.random_bool(0.03) {
        let i = rng.random_range(0..bytes.len());
        bytes[i] = rng.random();
    }
    bytes
}

/// What a search finds, if it ends soon.
fn cost(task: &Task, heuristic: &mut dyn Heuristic, check: impl Fn(&str)) -> Option<Option<Cost>> {
    let limits = Limits {
        deadline: Some(Instant::now() + Duration::from_secs(2)),
        memory_bytes: Some(64 << 20),
        ..Limits::default()
    };
    match astar(task, heuristic, Config { limits, ..Config::default() }).outcome {
        Outcome::Solved(plan) => {
            assert_eq!(plan.check(task), Ok(()));
            check(&plan.to_text(task));
            Some(Some(plan.cost))
        }
        Outcome::Unsolvable => Some(None),
        Outcome::Bounded(_) | Outcome::Stopped(_) => None,
    }
}

/// Feeds one input to everything; says whether it got past the parser and whether it was searched.
fn run(domain: &[u8], problem: &[u8]) -> (bool, bool) {
    let Ok(domain) = parse_domain(Source::new("domain", domain)) else { return (false, false) };
    let Ok(problem) = parse_problem(Source::new("problem", problem), &domain) else {
        return (false, false);
    };
    let started = Instant::now();
    let options = TranslateOptions {
        interrupt: &|| (started.elapsed() > PATIENCE / 4).then_some(Interrupt::OutOfTime),
        ..TranslateOptions::default()
    };
    let Ok(task) = translate(&domain, &problem, &options) else { return (true, false) };
    let text = sas::write(&task);
    let read = sas::read(&text).expect("what is written can be read");
    assert_eq!(sas::write(&read), text);
    let check = |plan: &str| {
        validate(&domain, &problem, plan).unwrap_or_else(|error| panic!("{error}\n{plan}"));
    };
    let blind = cost(&task, &mut Blind::new(&task), check);
    let hmax = cost(&task, &mut HMax::new(&task), check);
    let lmcut = cost(&task, &mut LmCut::new(&task), check);
    let from_sas = cost(&read, &mut Blind::new(&read), |_| {});
    for other in [hmax, lmcut, from_sas] {
        assert!(other.is_none() || blind.is_none() || other == blind, "{blind:?}, {other:?}");
    }
    (true, true)
}

fn fuzz(seeds: std::ops::Range<u64>) {
    let (mut parsed, mut searched, total) = (0, 0, seeds.end - seeds.start);
    for seed in seeds {
        let mut rng = rng(seed);
        let (domain, problem) = random_adl(seed / 8);
        let (domain, problem) = match rng.random_range(0..6) {
            0..=1 => (domain.into_bytes(), mutated(&problem, &mut rng)),
            2..=4 => (mutated(&domain, &mut rng), problem.into_bytes()),
            _ => (mutated(&domain, &mut rng), mutated(&problem, &mut rng)),
        };
        let started = Instant::now();
        let outcome = std::panic::catch_unwind(|| run(&domain, &problem)).unwrap_or_else(|_| {
            let text = [&domain[..], &problem[..]].map(|t| String::from_utf8_lossy(t).into_owned());
            panic!("seed {seed}\n{}\n{}", text[0], text[1])
        });
        assert!(started.elapsed() < PATIENCE, "seed {seed} takes {:?}", started.elapsed());
        parsed += u64::from(outcome.0);
        searched += u64::from(outcome.1);
    }
    println!("{total} runs, {parsed} past the parser, {searched} searched");
    assert!(3 * parsed >= total, "{parsed} of {total} get past the parser");
}

#[test]
fn damaged_tasks_do_no_harm() {
    fuzz(0..1000);
}

#[test]
#[ignore = "the slow lane"]
fn many_damaged_tasks_do_no_harm() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let first = number("FUZZ_FIRST", 1000);
    fuzz(first..first + number("FUZZ_RUNS", 100_000));
}
