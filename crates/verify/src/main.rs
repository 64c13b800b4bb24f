//! `apportion-verify`: checks a certificate and says what it proves, or why it proves nothing.

#![forbid(unsafe_code)]

mod arguments;
mod limits;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use arguments::{Arguments, Input};
use verify::Verdict;

const REFUSED: u8 = 1;
const CANNOT: u8 = 2;

fn main() -> ExitCode {
    let checked = Arguments::parse(env::args_os().skip(1)).and_then(|arguments| {
        if arguments.help {
            println!("{}", arguments::USAGE);
            return Ok(ExitCode::SUCCESS);
        }
        limits::hold(arguments.time_limit, arguments.memory_limit)?;
        check(&arguments)
    });
    checked.unwrap_or_else(|message| {
        eprintln!("{}", visible(&message));
        ExitCode::from(CANNOT)
    })
}

fn check(arguments: &Arguments) -> Result<ExitCode, String> {
    let task = match &arguments.input {
        Input::Sas(task) => read(task)?,
        Input::Pddl { domain, problem } => translate(arguments, domain, problem)?,
    };
    let plan = arguments.plan.as_deref().map(read).transpose()?;
    let path = &arguments.certificate;
    let file =
        fs::File::open(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let verdict = verify::verify(&String::from_utf8_lossy(&task), file);
    let refusal = match &verdict {
        Err(refusal) => Some(refusal.to_string()),
        Ok(verdict) => plan
            .as_deref()
            .and_then(|plan| compare(verdict, &String::from_utf8_lossy(plan)).err())
            .map(|what| format!("plan file: {what}")),
    };
    if let Some(refusal) = refusal {
        println!("refused: {}", visible(&refusal));
        return Ok(ExitCode::from(REFUSED));
    }
    let Verdict { bound, cost, steps, states, closed, bounds, .. } =
        verdict.expect("it is not refused");
    match (bound, cost) {
        (None, _) => println!("verified unsolvable"),
        (Some(bound), None) => println!("verified bound: no plan costs less than {bound}"),
        (Some(bound), Some(cost)) if bound == cost => {
            println!("verified optimal: cost {cost}, {} steps", steps.len());
        }
        (Some(bound), Some(cost)) => println!(
            "verified bound: no plan costs less than {bound}; this one costs {cost}, {} steps",
            steps.len()
        ),
    }
    println!("{states} states, {closed} of them closed, {bounds} bounds");
    match plan {
        Some(_) => println!("the plan file holds the plan that was verified"),
        None => steps.iter().for_each(|step| println!("({})", visible(step))),
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// That a plan file has the steps that were verified: a name in brackets per line, and comments
/// after semicolons.
fn compare(verdict: &Verdict, plan: &str) -> Result<(), String> {
    if verdict.cost.is_none() {
        return Err("the certificate holds no plan".into());
    }
    let mut verified = verdict.steps.iter();
    for (index, line) in plan.lines().enumerate() {
        let line = line.split(';').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let name = line.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(line);
        let name = name.split_whitespace().collect::<Vec<&str>>().join(" ");
        match verified.next() {
            Some(step) if *step == name => {}
            Some(step) => {
                return Err(format!("line {} is ({name}), verified was ({step})", index + 1));
            }
            None => {
                return Err(format!("line {} is after the end of what was verified", index + 1));
            }
        }
    }
    match verified.next() {
        Some(step) => Err(format!("({step}) is missing at the end")),
        None => Ok(()),
    }
}

/// The finite-domain task that a translator makes of PDDL: one that the user names, or the
/// planner's program beside this one, never one that is found somewhere else.
fn translate(arguments: &Arguments, domain: &Path, problem: &Path) -> Result<Vec<u8>, String> {
    let program = match &arguments.translator {
        // Which file that is, and no search for it.
        Some(program) => fs::canonicalize(program)
            .map_err(|error| format!("cannot run {}: {error}", program.display()))?,
        None => beside()?,
    };
    let cannot = |error| format!("cannot run {}: {error}", program.display());
    let limit = format!("{}s", arguments.time_limit.as_secs_f64());
    let run = Command::new(&program)
        .args(["translate", "-o", "-", "--time-limit", &limit, "--"])
        .args([domain, problem])
        .output()
        .map_err(cannot)?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned());
    }
    let version = Command::new(&program).arg("--version").output().map_err(cannot)?;
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    println!("trusted: {} ({})", visible(&program.to_string_lossy()), visible(&version));
    Ok(run.stdout)
}

fn beside() -> Result<PathBuf, String> {
    let folder = env::current_exe().and_then(fs::canonicalize).ok();
    let program = folder.and_then(|path| Some(path.parent()?.join("apportion")));
    program.filter(|path| path.is_file()).ok_or_else(|| {
        "there is no `apportion` beside this program to translate PDDL: \
         name one with --translator, or translate the task and verify TASK.sas"
            .into()
    })
}

/// The text without characters that steer a terminal or turn the direction of writing.
fn visible(text: &str) -> String {
    let steers = |c: char| {
        let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}');
        (c.is_control() && c != '\n') || turns || matches!(c, '\u{2066}'..='\u{2069}')
    };
    let show = |c: char| if steers(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(show).collect()
}
