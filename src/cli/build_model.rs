//! `seine build-model`: a page classifier made of examples.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};

use super::examples::each_example;
use crate::folders;
use crate::relevance::{Examples, FEWEST, Feature, Figures, Model, Trained, calibration, view};
use crate::telemetry::progress::{Screen, grouped};

/// Make a page classifier of examples, for seine crawl -m.
///
/// EXAMPLES has two folders, positive and negative: pages that are relevant, and pages that are not, as files of HTML or archives of
/// any format, in any language. MODEL gets pageclassifier.yml and model.json, which people can read. The same examples make the same model.
///
/// What is printed is measured on pages that the model was not made of, five times on a fifth of them, nor of others of their sites, where
/// each class is of ten sites or more: else the figures hold for these sites alone. A relevance is a probability
/// among pages like the examples: where relevant ones are rarer, it is too high.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  seine build-model -t examples -o ebola      learn; examples/positive and examples/negative have pages
  seine test-model -m ebola -t others         try it on pages that it has not seen
  seine crawl -s seeds.txt -o data -m ebola   every page says how relevant it is")]
pub struct Args {
    /// The folder of the examples.
    #[arg(short = 't', long = "trainingDataDir", value_name = "EXAMPLES")]
    examples: PathBuf,
    /// The model's folder; a model that is there already is replaced.
    #[arg(short, long = "outputDir", value_name = "MODEL")]
    output: PathBuf,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
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
        bail!(
            "{fewest} pages in {} are too few; {FEWEST} of each class are needed, and some hundreds are good",
            folder.display()
        );
    }
    let screen = Screen::new(false);
    let mut done = 0;
    let Trained { model, judged, is_by_site } = examples.train(&mut || {
        done += 1;
        screen.now_and_then(|| format!("learning, {done} of 6 parts done"));
    });
    screen.clear();
    write(&args.output, &model)?;
    let (positive, negative) = (grouped(positive as u64), grouped(negative as u64));
    let others = if is_by_site { "other sites' pages" } else { "other pages" };
    let heading = format!(
        "{positive} relevant pages and {negative} others, each judged by a model that was made of {others}:\n\n"
    );
    super::print(&format!("{heading}{}", report(&Figures::of(&judged), &calibration(&judged))))?;
    super::print(&format!("\n{}\n{}\n", words(&model), written(&args.output, &model)))
}

/// Figures and calibration.
pub(super) fn report(figures: &Figures, calibration: &str) -> String {
    format!(
        "{figures}\n{calibration}  The bar is the part that is relevant; it should end at the mark, the mean relevance.\n"
    )
}

/// What speaks most for and against.
fn words(model: &Model) -> String {
    const SHOWN: usize = 20;
    let row =
        |(good, bad): (&Feature, &Feature)| format!("  {:<38} {:+.3}   {:<38} {:+.3}\n", good.0, good.2, bad.0, bad.2);
    let rows = model.features().iter().zip(model.features().iter().rev()).take(SHOWN.min(model.features().len() / 2));
    format!("  {:<47}{}\n{}", "speaks for", "speaks against", rows.map(row).collect::<String>())
}

fn written(folder: &Path, model: &Model) -> String {
    let (folder, features) = (folder.display(), grouped(model.features().len() as u64));
    format!("  {folder}: {features} features\n  Use it: seine crawl -m {folder} …, or target_storage.model: {folder}")
}

/// The model first: what names it comes when it is whole.
fn write(folder: &Path, model: &Model) -> anyhow::Result<()> {
    const YML: &str = "\
# A page classifier, made by seine build-model. ACHE's other types can stand here, too.
type: trained
parameters:
  model_file: model.json
  # A page is relevant from this relevance on, 0 to 1: more finds less, and less that is wrong.
  relevance_threshold: 0.5
";
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (name, text) in [("model.json", model.to_json().as_str()), ("pageclassifier.yml", YML)] {
        let path = folder.join(name);
        let put = folders::put(&path, text.as_bytes(), folders::EVERYBODYS);
        put.with_context(|| format!("cannot write {}; is there room, and may it be written?", path.display()))?;
    }
    Ok(())
}
