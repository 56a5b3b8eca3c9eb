//! `seine test-model`: what a page classifier says about pages, and how accurate it is.

use std::path::PathBuf;
use std::process::ExitCode;

use seine_parse::Derived;
use seine_parse::page::{PageEvent, Relevance};
use seine_policies::relevance::{Figures, Judged, PageClassifier, calibration};

use super::build_model::report;
use super::examples::{PageReader, each_example};
use crate::config::page_classifier;

/// Maximum number of wrongly classified examples to print.
const SHOWN: usize = 20;

/// Show how a page classifier rates pages, and why; or how accurate it is on examples.
#[derive(clap::Args)]
#[command(
    alias = "testTargetClassifier",
    after_help = "\
Examples:
  seine test-model -m ebola -t others        its accuracy on labelled examples
  seine test-model -m ebola page.html        its rating of a page, and why
  seine test-model -m ebola data/files       its rating of every page of an archive"
)]
pub(super) struct Args {
    /// Folder of the page classifier, with pageclassifier.yml.
    #[arg(short, long, value_name = "MODEL")]
    model: PathBuf,
    /// Folder of the examples: positive and negative.
    #[arg(short = 't', long = "trainingDataDir", value_name = "EXAMPLES", required_unless_present = "from_names")]
    examples: Option<PathBuf>,
    /// HTML files, archives, folders, patterns, kafka://HOST:PORT/TOPIC.
    #[arg(value_name = "FROM", conflicts_with = "examples")]
    from_names: Vec<String>,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let classifier = page_classifier(&args.model).map_err(anyhow::Error::msg)?;
    match &args.examples {
        Some(examples) => {
            let mut tried = Tried { classifier, judged: Vec::new(), wrong: Vec::new() };
            each_example(examples, &mut |name, event, derived, is_relevant| {
                tried.take(name, event, derived, is_relevant);
                Ok(())
            })?;
            super::print(&tried.summary())?;
        }
        None => {
            let mut reader = PageReader::new(&args.from_names);
            for name in &args.from_names {
                reader.each(name, &mut |name, event, derived| {
                    super::print(&description(&classifier, name, event, derived)).map(drop)
                })?;
            }
            reader.end();
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn description(classifier: &PageClassifier, name: &str, event: &PageEvent, derived: &Derived) -> String {
    let Some((Relevance { relevance, .. }, reasons)) = classifier.explain(event, derived) else {
        return format!("-         irrelevant  {name}\n    not HTML, or not successful: not rated\n");
    };
    let verdict = classifier.judge(event, derived, 1.0).map_or("", Relevance::name);
    let reasons: String = reasons.iter().map(|reason| format!("    {reason}\n")).collect();
    format!("{relevance:<8.6}  {verdict:<10}  {name}\n{reasons}")
}

struct Tried {
    classifier: PageClassifier,
    judged: Vec<Judged>,
    /// Wrongly classified examples, each with the size of the error.
    wrong: Vec<(f64, String)>,
}

impl Tried {
    fn take(&mut self, name: &str, event: &PageEvent, derived: &Derived, is_relevant: bool) {
        let said = self.classifier.judge(event, derived, 1.0).unwrap_or(Relevance::by_type(false));
        let Relevance { relevance, is_relevant: is_taken } = said;
        self.judged.push(Judged { relevance, is_taken, is_relevant });
        if is_taken != is_relevant {
            let is = if is_relevant { "relevant" } else { "irrelevant" };
            let line = format!("  {relevance:.3} {:<10} and is {is}: {name}\n", said.name());
            self.wrong.push(((relevance - f64::from(u8::from(is_relevant))).abs(), line));
        }
    }

    fn summary(mut self) -> String {
        let (all, relevant) = (self.judged.len(), self.judged.iter().filter(|it| it.is_relevant).count());
        let mut text = format!(
            "{relevant} relevant pages and {} others, classified by {}:\n\n",
            all - relevant,
            self.classifier.name()
        );
        text += &report(&Figures::of(&self.judged), &calibration(&self.judged));
        self.wrong.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        if !self.wrong.is_empty() {
            text += &format!("\n{} classified wrongly, the worst first:\n", self.wrong.len());
        }
        text + &self.wrong.into_iter().take(SHOWN).map(|(_, line)| line).collect::<String>()
    }
}
