//! What the engine for plans finds alone (`scripts/lama.py`).
//!
//! Usage: plans SECONDS TASK.sas | plans SECONDS DOMAIN PROBLEM
//!
//! Prints a line for each better plan: the processor time of the process so far, and the plan's cost.
//! Ends after so many seconds of processor time, translation and h² included.

use planner::engine::{Bounds, Engine, Progress};
use planner::pddl::{Source, parse_domain, parse_problem};
use planner::plans::{Config, Plans};
use planner::reduce::{ReduceConfig, reduce};
use planner::search::Limits;
use planner::task::Task;
use planner::translate::{TranslateOptions, sas, translate};
use planner::work::{Budget, SECOND};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (seconds, files) = args.split_first().expect("SECONDS and a task");
    let seconds: f64 = seconds.parse().expect("a number of seconds");
    let task = read(files);
    let reduction = reduce(&task, &ReduceConfig::default(), &mut Budget::new(SECOND));
    let mut engine = Plans::new(reduction.task(), Config::default(), Limits::default());
    let mut bounds = Bounds::new();
    eprintln!("{:.2} s before the search", processor_seconds());
    while processor_seconds() < seconds {
        let before = bounds.upper();
        let progress = engine.advance(&mut bounds, &mut Budget::new(SECOND / 200));
        if let Some(plan) = bounds.plan().filter(|plan| before.is_none_or(|cost| plan.cost < cost))
        {
            println!("{:.3} {}", processor_seconds(), plan.cost);
        }
        if progress != Progress::Going {
            eprintln!("{progress:?}");
            break;
        }
    }
}

/// Processor time of this process, which has one thread.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    let nanoseconds = text.split_whitespace().next().expect("a number");
    nanoseconds.parse::<f64>().expect("a number") / 1e9
}

/// The task of the files named.
fn read(files: &[String]) -> Task {
    let text = |path: &String| {
        std::fs::read(path).unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
    };
    match files {
        [sas_file] => {
            let text = String::from_utf8(text(sas_file)).expect("UTF-8");
            sas::read(&text).unwrap_or_else(|error| panic!("{sas_file}: {error}"))
        }
        [domain_file, problem_file] => {
            let (domain, problem) = (text(domain_file), text(problem_file));
            let domain = parse_domain(Source::new(domain_file, &domain))
                .unwrap_or_else(|error| panic!("{error}"));
            let problem = parse_problem(Source::new(problem_file, &problem), &domain)
                .unwrap_or_else(|error| panic!("{error}"));
            translate(&domain, &problem, &TranslateOptions::default())
                .unwrap_or_else(|error| panic!("{error}"))
        }
        _ => panic!("a .sas file, or a domain and a problem"),
    }
}
