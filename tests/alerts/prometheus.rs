//! A real Prometheus, and requests to it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tempfile::TempDir;

use crate::project_file;
use crate::support::program::{DEADLINE, eventually, free_port};

const SCRIPT: &str = "scripts/services/prometheus";

/// The folder of `prometheus` and `promtool`.
pub fn programs() -> PathBuf {
    let output = Command::new(project_file(SCRIPT)).arg("install").output().expect("the script runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a path").trim().into()
}

/// Stops when dropped.
pub struct Prometheus {
    _folder: TempDir,
    /// Stops the server when its standard input closes.
    keeper: Child,
    url: String,
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
}

impl Prometheus {
    pub fn start(configuration: &str, targets: &str, alerts: &str) -> Prometheus {
        programs();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("prometheus.yml"), configuration).unwrap();
        std::fs::write(folder.path().join("targets.yml"), targets).unwrap();
        std::fs::write(folder.path().join("alerts.yml"), alerts).unwrap();
        let port = free_port();
        let mut command = Command::new(project_file(SCRIPT));
        command.arg("start").arg(folder.path()).arg(port.to_string()).stdin(Stdio::piped());
        let started = Prometheus {
            _folder: folder,
            keeper: command.spawn().expect("the script runs"),
            url: format!("http://127.0.0.1:{port}"),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
        };
        eventually("Prometheus is ready", || started.get("/-/ready").is_some_and(|(status, _)| status == 200));
        started
    }

    /// The values of an instant query. An invalid query fails the test.
    #[track_caller]
    pub fn query(&self, promql: &str) -> Vec<f64> {
        let path = format!("/api/v1/query?query={}", utf8_percent_encode(promql, NON_ALPHANUMERIC));
        let (status, answer) = self.get(&path).expect("Prometheus answers");
        assert_eq!(status, 200, "{promql}: {answer}");
        let result = answer["data"]["result"].as_array().unwrap_or_else(|| panic!("{promql}: {answer}"));
        let value = |it: &Value| it["value"][1].as_str().expect("a number as text").parse().expect("a number");
        result.iter().map(value).collect()
    }

    /// Name and state of each pending or firing alert, with the label of its subject.
    pub fn alerts(&self) -> Vec<Alert> {
        let (_, answer) = self.get("/api/v1/alerts").expect("Prometheus answers");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let alert = |it: &Value| Alert {
            name: text(&it["labels"]["alertname"]),
            sink: text(&it["labels"]["sink"]),
            is_firing: it["state"] == "firing",
            annotations: it["annotations"].clone(),
        };
        answer["data"]["alerts"].as_array().expect("alerts").iter().map(alert).collect()
    }

    /// Status and JSON, null if it is not JSON; none if nobody answers.
    fn get(&self, path: &str) -> Option<(u16, Value)> {
        self.runtime.block_on(async {
            let response = self.client.get(format!("{}{path}", self.url)).timeout(DEADLINE).send().await.ok()?;
            let status = response.status().as_u16();
            Some((status, serde_json::from_slice(&response.bytes().await.ok()?).unwrap_or_default()))
        })
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

#[derive(Debug, Clone)]
pub struct Alert {
    pub name: String,
    /// Empty if the alert does not concern a sink.
    pub sink: String,
    pub is_firing: bool,
    pub annotations: Value,
}
