//! Domain and problem, a form feed between them: the parser, and the translation for a moment.

#![no_main]

use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use planner::pddl::{Source, parse_domain, parse_problem};
use planner::translate::{Interrupt, TranslateOptions, sas, translate};

const PATIENCE: Duration = Duration::from_millis(50);

fuzz_target!(|data: &[u8]| {
    let mut files = data.splitn(2, |&byte| byte == b'\x0c');
    let (domain, problem) = (files.next().unwrap_or_default(), files.next().unwrap_or_default());
    let Ok(domain) = parse_domain(Source::new("domain".to_string(), domain)) else { return };
    let source = Source::new("problem".to_string(), problem);
    let Ok(problem) = parse_problem(source, &domain) else { return };
    let started = Instant::now();
    let interrupt = || (started.elapsed() > PATIENCE).then_some(Interrupt::OutOfTime);
    let options = TranslateOptions { interrupt: &interrupt, ..TranslateOptions::default() };
    let Ok(task) = translate(&domain, &problem, &options) else { return };
    // What is written can be read, by both readers.
    let text = sas::write(&task);
    let again = sas::read(&text).expect("what is written can be read");
    assert_eq!(sas::write(&again), text);
    let refusal = verify::verify(&text, &[][..]).expect_err("there is no certificate");
    assert_ne!(refusal.place, "task", "{}", refusal.reason);
});
