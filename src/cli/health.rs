//! `seine health`: asks a running service whether it is ready, for health checks of containers.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;

use crate::config::Config;

/// Ask a running service whether it is ready. Exit status: 0 if ready; 1 if not, with the reasons.
#[derive(clap::Args)]
pub(super) struct Args {
    /// URL to ask.
    #[arg(long, default_value_t = ready())]
    url: String,
}

/// The URL of a service with the default configuration.
fn ready() -> String {
    let listen = Config::default().http.listen.expect("defaults.yml has a server");
    format!("http://{listen}/readyz")
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answer = runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
        let response = client.get(&args.url).send().await?;
        Ok::<_, reqwest::Error>((response.status(), response.text().await?))
    });
    let (status, text) = answer.with_context(|| format!("no service answers at {}", args.url))?;
    super::print(&text)?;
    Ok(if status.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
