//! `seine build-model`: makes a page classifier from examples.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use seine_policies::relevance::{Examples, FEWEST, Feature, Figures, Model, Trained, calibration, view};
use seine_system::folders;

use super::examples::each_example;
use crate::telemetry::progress::{Screen, grouped};

/// Make a page classifier from examples, for seine crawl -m.
///
/// EXAMPLES has two folders: positive with relevant pages, and negative with other pages. They contain HTML files or
/// archives of any format, in any language. MODEL gets pageclassifier.yml and model.json, which people can read. The
/// same examples give the same model.
///
/// The printed figures come from cross-validation: five times, a model made of four fifths is tested on the rest. If
/// each class has at least ten sites, all pages of a site are in the same fifth; with fewer sites, the figures hold for
/// these sites only. A relevance is a probability among pages like the examples. If relevant pages are rarer in the
/// crawl, it is too high. pageclassifier.yml has the relevance from which on a page is relevant. It is chosen for the
/// best F1 among pages like the examples, so it is below 0.5 where relevant pages are hard to tell.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  seine build-model -t examples -o ebola      make a model from examples/positive and examples/negative
  seine test-model -m ebola -t others         test it on other pages
  seine crawl -s seeds.txt -o data -m ebola   deliver each page with its relevance")]
pub(super) struct Args {
    /// Folder with the examples.
    #[arg(short = 't', long = "trainingDataDir", value_name = "EXAMPLES")]
    examples: PathBuf,
    /// Folder for the model; an existing model is replaced.
    #[arg(short, long = "outputDir", value_name = "MODEL")]
    output: PathBuf,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut examples = Examples::default();
    each_example(&args.examples, &mut |_, event, derived, is_relevant| {
        let Some(response) = event.response() else { return Ok(()) };
        let content = derived.text();
        examples.add(&view(event, response, derived, &content), is_relevant);
        Ok(())
    })?;
    let (positive, negative) = examples.count();
    let class = if positive < negative { "positive" } else { "negative" };
    let fewest = positive.min(negative);
    if fewest < FEWEST {
        let folder = args.examples.join(class);
        bail!("{fewest} pages in {} are too few; each class needs {FEWEST}, better some hundreds", folder.display());
    }
    let screen = Screen::new(false);
    let mut done = 0;
    let Trained { model, judged, threshold, is_by_site } = examples.train(&mut || {
        done += 1;
        screen.now_and_then(|| format!("training, {done} of 6 parts done"));
    });
    screen.clear();
    write(&args.output, &model, threshold)?;
    let (positive, negative) = (grouped(positive as u64), grouped(negative as u64));
    let others = if is_by_site { "other sites' pages" } else { "other pages" };
    let heading =
        format!("{positive} relevant pages and {negative} others, each classified by a model made from {others}:\n\n");
    super::print(&format!("{heading}{}", report(&Figures::of(&judged), &calibration(&judged))))?;
    super::print(&format!("\n{}\n{}\n", words(&model), written(&args.output, &model, threshold)))
}

/// Figures and calibration.
pub(super) fn report(figures: &Figures, calibration: &str) -> String {
    format!(
        "{figures}\n{calibration}  The bar is the share of relevant pages. It should end at the mark, the mean relevance.\n"
    )
}

/// The features with the largest weights.
fn words(model: &Model) -> String {
    const SHOWN: usize = 20;
    let row =
        |(good, bad): (&Feature, &Feature)| format!("  {:<38} {:+.3}   {:<38} {:+.3}\n", good.0, good.2, bad.0, bad.2);
    let rows = model.features().iter().zip(model.features().iter().rev()).take(SHOWN.min(model.features().len() / 2));
    format!("  {:<47}{}\n{}", "speaks for", "speaks against", rows.map(row).collect::<String>())
}

fn written(folder: &Path, model: &Model, threshold: f64) -> String {
    let (folder, features) = (folder.display(), grouped(model.features().len() as u64));
    format!(
        "  {folder}: {features} features; relevant from {threshold:.3} on\n  Use it: seine crawl -m {folder} …, or target_storage.model: {folder}"
    )
}

/// Writes the model before the file that names it.
fn write(folder: &Path, model: &Model, threshold: f64) -> anyhow::Result<()> {
    let yml = format!(
        "\
# A page classifier, made by seine build-model. ACHE's other types can stand here, too.
type: trained
parameters:
  model_file: model.json
  # A page is relevant from this relevance on, 0 to 1: more finds less, and less that is wrong. Chosen for the best F1.
  relevance_threshold: {threshold:.3}
"
    );
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (name, text) in [("model.json", model.to_json().as_str()), ("pageclassifier.yml", yml.as_str())] {
        let path = folder.join(name);
        let put = folders::put(&path, text.as_bytes(), folders::EVERYBODYS);
        put.with_context(|| format!("cannot write {}; check free space and permissions", path.display()))?;
    }
    Ok(())
}
