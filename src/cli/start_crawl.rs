//! `seine startCrawl`: accepts the options of ACHE's command of the same name.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use super::crawl::{self, MODEL};
use super::destination::{INDEX, TYPE, given};
use crate::config::{self, Destination, Origin, StartedWith, Warning};
use crate::crawl::Crawl;
use crate::telemetry::progress::Screen;

/// Crawl with ACHE's command line: -c CONFIG -s SEEDS -o DIR [-m MODEL] [-e INDEX] [-t TYPE] [-cid ID].
#[derive(clap::Args)]
#[command(after_help = super::exit::HELP)]
pub(super) struct Args {
    /// Configuration file, or a folder with ache.yml or seine.yml.
    #[arg(short, long, value_name = "FILE|DIR")]
    config: PathBuf,
    /// File with URLs to start from, one per line. -: standard input.
    #[arg(short, long, value_name = "FILE")]
    seeds: PathBuf,
    /// Output folder. The data folder is a subfolder named after the crawler id.
    #[arg(short, long = "outputDir", value_name = "DIR")]
    output: PathBuf,
    /// Folder of a page classifier.
    #[arg(short, long = "modelDir", value_name = "DIR")]
    model: Option<String>,
    /// Elasticsearch index.
    #[arg(short, long = "elasticIndex", value_name = "INDEX")]
    elastic_index: Option<String>,
    /// Elasticsearch type.
    #[arg(short = 't', long = "elasticType", value_name = "TYPE")]
    elastic_type: Option<String>,
    /// Crawler id (-cid).
    #[arg(long = "crawlerId", value_name = "ID")]
    crawler_id: Option<String>,
    /// Fetch up to this many of the URLs of each host that look endless (deferred). Default: 512.
    #[arg(long, value_name = "N", value_parser = crawl::of_key(crawl::DEFERRED))]
    deferred: Option<String>,
    /// Also fetch from loopback and private addresses.
    #[arg(long)]
    allow_private: bool,
}

/// Replaces ACHE's `-cid`, which clap cannot parse.
pub(super) fn with_long_names(arguments: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    arguments.map(|argument| if argument == "-cid" { OsString::from("--crawlerId") } else { argument })
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut options = given(&[
        (INDEX, &args.elastic_index),
        (TYPE, &args.elastic_type),
        (MODEL, &args.model),
        ("crawler_id", &args.crawler_id),
        (crawl::DEFERRED, &args.deferred),
    ]);
    if args.allow_private {
        options.push(("crawler_manager.downloader.allow_private_addresses".to_owned(), "true".to_owned()));
    }
    let environment = config::environment();
    let mut loaded = config::load_with(Some(&args.config), &environment, &options)?;
    let started_with = StartedWith::new(Some(&args.config), &environment, &options);
    let has_elastic = loaded.config.sinks.iter().any(|sink| matches!(sink.destination, Destination::Elasticsearch(_)));
    if args.elastic_index.is_some() && !has_elastic {
        let text = "no effect: ELASTICSEARCH is not in target_storage.data_formats";
        loaded.warnings.push(Warning { at: Origin::CommandLine, key: "-e", text: text.into() });
    }
    let seeds = crawl::read_seeds(&[], Some(&args.seeds))?;
    let folder = args.output.join(&loaded.config.crawler_id);
    let (patience, screen) = (Some(crawl::patience()), Screen::new(false));
    crawl::start(Crawl { loaded, started_with, folder, seeds, patience, screen })
}
