//! `apportion-verify`: checks a certificate and says what it proves, or why it proves nothing.

#![forbid(unsafe_code)]

use std::process::{Command, ExitCode};
use std::{env, fs};

const USAGE: &str = "\
Usage: apportion-verify TASK.sas CERTIFICATE
       apportion-verify DOMAIN PROBLEM CERTIFICATE

Checks that a certificate proves the least cost of a plan, or that there is no plan.
For PDDL, the task is what `apportion translate` makes of it, which is then part of what is
trusted; the program is looked for beside this one.

Exit codes: 0 verified, 1 refused, 2 wrong arguments or unreadable files.";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let verified = match &arguments[..] {
        [task, certificate] => read(task).and_then(|task| verify(&task, certificate)),
        [domain, problem, certificate] => {
            translate(domain, problem).and_then(|task| verify(&task, certificate))
        }
        _ => Err(USAGE.into()),
    };
    verified.unwrap_or_else(|message| {
        eprintln!("{message}");
        ExitCode::from(2)
    })
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {path}: {error}"))
}

fn verify(task: &[u8], certificate: &str) -> Result<ExitCode, String> {
    let file = fs::File::open(certificate)
        .map_err(|error| format!("cannot read {certificate}: {error}"))?;
    match verify::verify(&String::from_utf8_lossy(task), file) {
        Ok(verify::Verdict { cost, plan, states, closed, bounds }) => {
            match cost {
                Some(cost) => println!("verified optimal: cost {cost}, {} steps", plan.len()),
                None => println!("verified unsolvable"),
            }
            println!("{states} states, {closed} of them closed, {bounds} bounds");
            Ok(ExitCode::SUCCESS)
        }
        Err(refusal) => {
            println!("refused: {refusal}");
            Ok(ExitCode::from(1))
        }
    }
}

/// The finite-domain task that the planner's own translation makes of PDDL.
fn translate(domain: &str, problem: &str) -> Result<Vec<u8>, String> {
    let beside = env::current_exe().ok().and_then(|path| Some(path.parent()?.join("apportion")));
    let program = beside.filter(|path| path.exists()).unwrap_or("apportion".into());
    let run = Command::new(&program).args(["translate", domain, problem, "-o", "-"]).output();
    let output = run.map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    println!("trusted: the translation of PDDL by {}", program.display());
    Ok(output.stdout)
}
