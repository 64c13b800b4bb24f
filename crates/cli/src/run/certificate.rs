//! Certificates of results: written after the search, checked by the verifier if asked for.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use planner::certificate::veripb;
use planner::reduce::Reduction;
use planner::search::CertifyError;
use planner::strategy::Solution;
use planner::task::{Cost, Task};

use crate::run::exit::{Exit, Failure};
use crate::run::output::{Output, Unfinished, parse_path};
use crate::run::report::Status;
use crate::run::watch::{NO_CERTIFICATE, Phase, Run};
use crate::setup::input::Input;

/// Whether and how results are proved.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct CertificateArgs {
    /// Write a proof that no plan is cheaper, or that there is none, for `apportion-verify`
    #[arg(long, value_name = "FILE", value_parser = parse_path)]
    certificate: Option<PathBuf>,
    /// The format of the proof
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Apportion)]
    certificate_format: Format,
    /// Check a proof of the result with the verifier before the result is reported
    #[arg(long)]
    certified: bool,
}

/// What a proof is written as.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// A file for `apportion-verify`
    Apportion,
    /// A pseudo-Boolean formula, FILE.opb, and its refutation for VeriPB 3, FILE.pbp; for small tasks
    /// without axioms and conditional effects, and projections
    Veripb,
}

impl CertificateArgs {
    /// Whether it is to be a pseudo-Boolean proof.
    pub(crate) fn is_pseudo_boolean(&self) -> bool {
        self.certificate_format == Format::Veripb
    }

    /// Refuses tasks that the format is not for.
    pub(crate) fn check(&self, task: &Task) -> anyhow::Result<()> {
        let supported = if self.is_pseudo_boolean() { veripb::is_supported(task) } else { Ok(()) };
        supported.map_err(|error| Failure::new(Exit::Unsupported, error.to_string()))
    }

    /// The files that are to be written.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let with = |path: &Path, extension: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(extension);
            PathBuf::from(name)
        };
        match &self.certificate {
            None => Vec::new(),
            Some(path) if self.is_pseudo_boolean() => vec![with(path, ".opb"), with(path, ".pbp")],
            Some(path) => vec![path.clone()],
        }
    }

    /// Whether there is to be a certificate.
    pub(crate) fn is_wanted(&self) -> bool {
        self.certified || self.certificate.is_some()
    }

    /// Makes sure that files can be written, and read again.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        self.files().into_iter().try_for_each(|path| {
            if std::fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
                let message = format!("cannot write {}: it is not a regular file", path.display());
                return Err(Failure::new(Exit::CommandLine, message));
            }
            Output::File(path).prepare()
        })
    }

    /// Writes the certificate of a search's outcome and, if asked for, has it checked.
    ///
    /// An error with [`Exit::Internal`] means that the result may be wrong.
    pub(crate) fn make(
        &self,
        input: &Input,
        reduction: &Reduction<'_>,
        mut solution: Solution<'_>,
        run: &'static Run,
    ) -> anyhow::Result<()> {
        run.enter(Phase::Certify);
        let mut new = self.create()?;
        let mut out = GzEncoder::new(BufWriter::new(new.file()), Compression::fast());
        let limits = run.limits();
        let written = solution.certify(limits, reduction, &mut out).and_then(|statistics| {
            let flushed = out.finish().and_then(|mut out| out.flush());
            flushed.map(|()| statistics).map_err(CertifyError::Output)
        });
        let bounds = &solution.bounds;
        let bound = (!bounds.are_unsolvable()).then(|| bounds.lower());
        let cost = bounds.upper();
        // A bound above the plan's cost says no more than that it is optimal.
        let expected = (cost.map_or(bound, |cost| bound.map(|bound| bound.min(cost))), cost);
        // Its memory is for the verifier now.
        drop(solution);
        let statistics = written.map_err(|error| match error {
            CertifyError::Stopped(stop) => {
                let sentence = Status::from(stop).sentence();
                Failure::new(Exit::NotWritten, format!("{sentence} {NO_CERTIFICATE}"))
            }
            CertifyError::Output(error) => not_written(&error),
        })?;
        let bytes = match self.is_pseudo_boolean() {
            true => self.export(&input.task, new.file())?,
            false => new.file().stream_position().map_err(|error| not_written(&error))?,
        };
        let mut file = new.complete().map_err(|error| not_written(&error))?;
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
            file.rewind().map_err(|error| not_written(&error))?;
            check(input, file, expected, run)?;
        }
        Ok(())
    }

    fn create(&self) -> anyhow::Result<New> {
        let created = match &self.certificate {
            Some(path) if !self.is_pseudo_boolean() => Unfinished::create(path).map(New::Named),
            _ => tempfile::tempfile().map(New::Unnamed),
        };
        created.map_err(|error| not_written(&error))
    }

    /// Writes a certificate as a formula and its refutation; how many bytes these have.
    fn export(&self, task: &Task, certificate: &mut File) -> anyhow::Result<u64> {
        let [formula, proof] = &self.files()[..] else { unreachable!("there are two files") };
        let export = |certificate: &mut File| -> Result<u64, veripb::ExportError> {
            let mut bytes = Vec::new();
            certificate.rewind()?;
            GzDecoder::new(certificate).read_to_end(&mut bytes)?;
            let new = [Unfinished::create(formula)?, Unfinished::create(proof)?];
            let [mut formula, mut proof] = [&new[0].file, &new[1].file].map(BufWriter::new);
            veripb::export(task, &bytes, &mut formula, &mut proof)?;
            formula.flush()?;
            proof.flush()?;
            drop((formula, proof));
            let mut written = 0;
            for new in new {
                written += new.complete()?.metadata()?.len();
            }
            Ok(written)
        };
        export(certificate).map_err(|error| not_written(&error))
    }
}

/// The file of a certificate that is being written.
enum New {
    Named(Unfinished),
    /// For the verifier only.
    Unnamed(File),
}

impl New {
    fn file(&mut self) -> &mut File {
        match self {
            New::Named(new) => &mut new.file,
            New::Unnamed(file) => file,
        }
    }

    /// It is complete.
    fn complete(self) -> io::Result<File> {
        match self {
            New::Named(new) => new.complete(),
            New::Unnamed(file) => Ok(file),
        }
    }
}

/// That the certificate could not be written.
fn not_written(error: &dyn std::fmt::Display) -> anyhow::Error {
    Failure::new(Exit::NotWritten, format!("the certificate cannot be written: {error}"))
}

/// Has a certificate checked, and that it proves what the search found: a bound, and a plan's cost.
fn check(
    input: &Input,
    file: File,
    expected: (Option<Cost>, Option<Cost>),
    run: &Run,
) -> anyhow::Result<()> {
    let refused = match verify::verify(&input.sas_text(), file) {
        Ok(verdict) if (verdict.bound, verdict.cost) == expected => None,
        Ok(verdict) => Some(format!(
            "it proves a bound of {:?} and a cost of {:?}",
            verdict.bound, verdict.cost
        )),
        Err(refusal) => Some(refusal.to_string()),
    };
    run.note(|report| report.verified = Some(refused.is_none()));
    refused.map_or(Ok(()), |why| {
        let message =
            format!("the certificate is refused, so the result may be wrong (a bug): {why}");
        Err(Failure::new(Exit::Internal, message))
    })
}
