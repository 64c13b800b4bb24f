//! `apportion judge`: how good models are on states that they never saw.

use std::path::PathBuf;
use std::process::ExitCode;

use lcp::model::Model;
use lcp::predict::Softmax;
use serde_json::json;
use train::dataset::tasks::load_samples;
use train::judge::{judge, leave_out_seen};

use crate::run::exit::{Exit, Failure};
use crate::run::output::{Output, keep_apart};

/// Judge models on sampled states that they never saw
///
/// Prints the mean of h / h_OCP over the states. Refuses states that a model was trained on or
/// chosen by.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model files of one domain
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<PathBuf>,
    /// Files of samples with labels
    #[arg(long, required = true, value_name = "SAMPLES", num_args = 1..)]
    states: Vec<PathBuf>,
    /// Leave out states that one of the models was trained on or chosen by, instead of refusing
    #[arg(long)]
    leave_out_seen: bool,
    /// Predict as the paper does: all patterns compete for an operator's cost
    #[arg(long)]
    as_published: bool,
    /// Also report the means after at most N steps of learned ascent from the
    /// prediction and from the saturated partitioning
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    steps: usize,
    /// Write one JSON object per model to FILE, or to standard output with `-`, instead of a table
    #[arg(long, value_name = "FILE")]
    json: Option<Output>,
}

const EXAMPLES: &str = "\
Examples:
  apportion generate blocks --size 11-14 --count 8 --seed 99 -o test/blocks
  apportion sample test/blocks -o test.samples --states both --per-task 20 --seed 99
  apportion judge runs/blocks/model.safetensors --states test.samples
  apportion judge runs/blocks/model.safetensors --states test.samples --steps 10";

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let output = args.json.as_ref().unwrap_or(&Output::Stdout);
    keep_apart(args.models.iter().chain(&args.states), output.file())?;
    output.prepare()?;
    let input = |error| Failure::new(Exit::Input, error);
    let (headers, mut tasks) =
        load_samples(&args.states).map_err(|error| Failure::new(Exit::Input, error))?;
    let models: Result<Vec<Model>, _> = args.models.iter().map(|path| Model::load(path)).collect();
    let models = models.map_err(input)?;
    if args.leave_out_seen {
        models.iter().for_each(|model| leave_out_seen(model, &mut tasks));
    }
    let mut text = String::new();
    if args.json.is_none() {
        let refined = if args.steps > 0 { "  refined  scp refined" } else { "" };
        text +=
            &format!("h / h_OCP     scp  uniform{refined}  within 1 %  states  unseen   model\n");
    }
    for (path, model) in args.models.iter().zip(&models) {
        let softmax = if args.as_published { Softmax::Paper } else { Softmax::Masked };
        let judgement = judge(model, &tasks, softmax, args.steps)
            .map_err(|error| Failure::new(Exit::Input, format!("{}: {error}", path.display())))?;
        if args.json.is_some() {
            let sampling: Vec<_> = headers.iter().map(|header| &header.config).collect();
            let name = path.display().to_string();
            let line = json!({ "model": name, "sampling": sampling, "h_over_h_ocp": judgement });
            text += &format!("{line}\n");
        } else {
            let refined = judgement.refined.as_ref();
            let refined = refined.map_or(String::new(), |means| {
                format!("  {:7.4}  {:11.4}", means.model, means.scp)
            });
            text += &format!(
                "{:9.4} {:7.4}  {:7.4}{refined}  {:10.2}  {:6}  {:7}  {}\n",
                judgement.model,
                judgement.scp,
                judgement.uniform,
                judgement.within_a_percent,
                judgement.states,
                if judgement.proved_unseen { "proved" } else { "unknown" },
                path.display()
            );
        }
    }
    output.write(&text)?;
    Ok(Exit::Success.into())
}
