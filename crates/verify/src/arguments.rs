//! The command line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const USAGE: &str = "\
Usage: apportion-verify [OPTIONS] [--] TASK.sas CERTIFICATE
       apportion-verify [OPTIONS] [--] DOMAIN PROBLEM CERTIFICATE

Checks that a certificate proves the least cost of a plan, a lower bound on it, or that there is no
plan, and prints the plan that was verified.
For PDDL, the task is what a translator makes of it, which is then part of what is trusted: the
program `apportion` beside this one, or the one that is named.

Options:
  --plan FILE             Compare the plan with this file instead of printing it
  --translator PROGRAM    Run `PROGRAM translate -o - … DOMAIN PROBLEM`
  --time-limit SECONDS    Give up after this time [default: 3600]
  --memory-limit MIB      Give up at this much memory [default: 4096]

Exit codes: 0 verified, 1 refused, 2 wrong arguments or unreadable files, 22 out of memory, 23 out
of time.";

/// What is to be checked, and how.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) help: bool,
    pub(crate) input: Input,
    pub(crate) certificate: PathBuf,
    pub(crate) plan: Option<PathBuf>,
    pub(crate) translator: Option<PathBuf>,
    pub(crate) time_limit: Duration,
    /// In bytes.
    pub(crate) memory_limit: u64,
}

#[derive(Debug)]
pub(crate) enum Input {
    Sas(PathBuf),
    Pddl { domain: PathBuf, problem: PathBuf },
}

impl Arguments {
    pub(crate) fn parse(words: impl Iterator<Item = OsString>) -> Result<Arguments, String> {
        let mut arguments = Arguments {
            help: false,
            input: Input::Sas(PathBuf::new()),
            certificate: PathBuf::new(),
            plan: None,
            translator: None,
            time_limit: Duration::from_secs(3600),
            memory_limit: 4096 << 20,
        };
        let (mut words, mut files) = (words, Vec::new());
        while let Some(word) = words.next() {
            if !word.as_bytes().starts_with(b"-") {
                files.push(PathBuf::from(word));
            } else if word == "--" {
                files.extend(words.by_ref().map(PathBuf::from));
            } else if word == "--help" || word == "-h" {
                return Ok(Arguments { help: true, ..arguments });
            } else {
                arguments.set(&word, &mut words)?;
            }
        }
        let mut files = files.into_iter();
        let places = [files.next(), files.next(), files.next(), files.next()];
        (arguments.input, arguments.certificate) = match places {
            [Some(task), Some(certificate), None, None] => (Input::Sas(task), certificate),
            [Some(domain), Some(problem), Some(certificate), None] => {
                (Input::Pddl { domain, problem }, certificate)
            }
            _ => return Err(USAGE.into()),
        };
        Ok(arguments)
    }

    /// Takes an option, whose value is after `=` or the next word.
    fn set(
        &mut self,
        word: &OsStr,
        words: &mut impl Iterator<Item = OsString>,
    ) -> Result<(), String> {
        let (bytes, shown) = (word.as_bytes(), word.display());
        let (name, value) = match bytes.iter().position(|&byte| byte == b'=') {
            Some(end) => (&bytes[..end], Some(OsStr::from_bytes(&bytes[end + 1..]).to_owned())),
            None => (bytes, None),
        };
        let mut value = || {
            let value = value.clone().or_else(|| words.next());
            value.ok_or_else(|| format!("{shown} needs a value\n\n{USAGE}"))
        };
        match name {
            b"--plan" => self.plan = Some(value()?.into()),
            b"--translator" => self.translator = Some(value()?.into()),
            b"--time-limit" => {
                let seconds = value()?.to_str().and_then(|text| text.parse::<f64>().ok());
                let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                self.time_limit = limit.ok_or("--time-limit takes a number of seconds")?;
            }
            b"--memory-limit" => {
                let mib = value()?.to_str().and_then(|text| text.parse::<u64>().ok());
                let limit = mib.and_then(|mib| mib.checked_mul(1 << 20));
                self.memory_limit = limit.ok_or("--memory-limit takes a number of MiB")?;
            }
            _ => return Err(format!("unknown option {shown}\n\n{USAGE}")),
        }
        Ok(())
    }
}
