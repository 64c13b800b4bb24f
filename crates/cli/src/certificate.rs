//! Certificates of results: written after the search, checked by the verifier if asked for.

use std::fs::{self, File};
use std::io::{BufWriter, Seek, Write};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use planner::heuristic::Heuristic;
use planner::search::{CertifyError, Outcome, Search};

use crate::exit::{Exit, Failure};
use crate::input::Input;
use crate::output::{Output, parse_path};
use crate::report::Status;
use crate::watch::{NO_CERTIFICATE, Phase, Run};

/// Whether and how results are proved.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct CertificateArgs {
    /// Write a proof that no plan is cheaper, or that there is none, for `apportion-verify`
    #[arg(long, value_name = "FILE", value_parser = parse_path)]
    certificate: Option<PathBuf>,
    /// Have a proof checked by the verifier before the result is given out
    #[arg(long)]
    certified: bool,
}

impl CertificateArgs {
    /// Whether there is to be a certificate.
    pub(crate) fn is_wanted(&self) -> bool {
        self.certified || self.certificate.is_some()
    }

    /// Removes an old file and makes sure that a new one can be written.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        match &self.certificate {
            Some(path) => Output::File(path.clone()).prepare(),
            None => Ok(()),
        }
    }

    /// Writes the certificate of a search's outcome and, if asked for, has it checked.
    ///
    /// An error with [`Exit::Internal`] means that the result may be wrong.
    pub(crate) fn make<H: Heuristic + ?Sized>(
        &self,
        input: &Input,
        mut search: Search<'_, '_, H>,
        outcome: &Outcome,
        run: &Run,
    ) -> anyhow::Result<()> {
        run.enter(Phase::Certify);
        let mut file = self.open()?;
        let mut out = GzEncoder::new(BufWriter::new(&mut file), Compression::fast());
        let written = search.certify(outcome, &mut out).and_then(|statistics| {
            let flushed = out.finish().and_then(|mut out| out.flush());
            flushed.map(|()| statistics).map_err(CertifyError::Output)
        });
        // Its memory is for the verifier now.
        drop(search);
        let statistics = written.map_err(|error| {
            if let Some(path) = &self.certificate {
                let _ = fs::remove_file(path);
            }
            match error {
                CertifyError::Stopped(stop) => {
                    let sentence = Status::from(stop).sentence();
                    Failure::new(Exit::NotWritten, format!("{sentence} {NO_CERTIFICATE}"))
                }
                CertifyError::Output(error) => {
                    let message = format!("the certificate cannot be written: {error}");
                    Failure::new(Exit::NotWritten, message)
                }
            }
        })?;
        let bytes = file.stream_position()?;
        run.note(|report| {
            report.certificate = self.certificate.as_ref().map(|path| path.display().to_string());
            report.certificate_bytes = Some(bytes);
            report.certificate_states = Some(statistics.states);
            report.certificate_closed = Some(statistics.closed);
            report.certificate_completed = Some(statistics.completed);
            report.certificate_bounds = Some(statistics.bounds);
        });
        if self.certified {
            run.enter(Phase::Verify);
            file.rewind()?;
            check(input, file, outcome, run)?;
        }
        Ok(())
    }

    fn open(&self) -> anyhow::Result<File> {
        let opened = match &self.certificate {
            Some(path) => File::options().read(true).write(true).create_new(true).open(path),
            None => tempfile::tempfile(),
        };
        opened.map_err(|error| {
            Failure::new(Exit::NotWritten, format!("the certificate cannot be written: {error}"))
        })
    }
}

/// Has a certificate checked, and that it proves what the search found.
fn check(input: &Input, file: File, outcome: &Outcome, run: &Run) -> anyhow::Result<()> {
    let expected = match outcome {
        Outcome::Solved(plan) => Some(plan.cost),
        _ => None,
    };
    let refused = match verify::verify(&input.sas_text(), file) {
        Ok(verdict) if verdict.cost == expected => None,
        Ok(verdict) => Some(format!("it proves a cost of {:?}", verdict.cost)),
        Err(refusal) => Some(refusal.to_string()),
    };
    run.note(|report| report.verified = Some(refused.is_none()));
    refused.map_or(Ok(()), |why| {
        let message =
            format!("the certificate is refused, so the result may be wrong (a bug): {why}");
        Err(Failure::new(Exit::Internal, message))
    })
}
