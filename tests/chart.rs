//! The Helm chart matches the program. Checked without a cluster; if `helm` is in the path, the chart is rendered, too.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use seine::config::{Config, load, read_seeds};
use serde_json::{Value, json};
use yaml_rust2::{Yaml, YamlLoader};

fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config/helm/seine")
}

fn read(path: &str) -> String {
    fs::read_to_string(chart().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn yaml(path: &str) -> Yaml {
    YamlLoader::load_from_str(&read(path)).unwrap().remove(0)
}

fn schema() -> Value {
    serde_json::from_str(&read("values.schema.json")).unwrap()
}

fn text(value: &Yaml) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value:?}")).to_owned()
}

/// The default values, laid out as in the ConfigMap: JSON is YAML.
fn default_configuration(variables: &[(String, String)]) -> Config {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seine.yml");
    fs::write(&path, as_json(&yaml("values.yaml")["config"]).to_string()).unwrap();
    let loaded = load(Some(&path), variables).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(loaded.warnings, []);
    loaded.config
}

fn as_json(value: &Yaml) -> Value {
    match value {
        Yaml::Hash(map) => map.iter().map(|(key, value)| (text(key), as_json(value))).collect(),
        Yaml::Array(items) => items.iter().map(as_json).collect(),
        Yaml::Integer(number) => json!(number),
        Yaml::Boolean(is) => json!(is),
        other => json!(text(other)),
    }
}

#[test]
fn it_is_of_this_version() {
    let about = yaml("Chart.yaml");
    assert_eq!(text(&about["appVersion"]), env!("CARGO_PKG_VERSION"));
    assert_eq!(text(&about["name"]), "seine");
}

#[test]
fn its_configuration_and_seeds_are_taken() {
    let seeds: Vec<String> = yaml("values.yaml")["seeds"].as_vec().unwrap().iter().map(text).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), seeds.join("\n")).unwrap();
    assert_eq!(read_seeds(file.path()).unwrap(), seeds);
    // The log must fit on the volume, with space left.
    let config = default_configuration(&[]);
    let size = text(&yaml("values.yaml")["persistence"]["size"]);
    let gib: u64 = size.strip_suffix("Gi").unwrap().parse().unwrap();
    assert!(config.log.max_bytes * 4 < gib << 30, "{} of {size}", config.log.max_bytes);
}

/// All variables that the pod gets, and all secrets that can be set.
#[test]
fn its_variables_are_keys_of_the_program() {
    let pod = read("templates/statefulset.yaml");
    let named = Regex::new(r"name: (SEINE__[A-Z_]+)\n\s+value: (\S+)").unwrap();
    let mut variables: Vec<(String, String)> = named
        .captures_iter(&pod)
        .map(|found| (found[1].to_owned(), found[2].trim_matches('"').replace("{{", "8080")))
        .collect();
    assert_eq!(variables.len(), 3, "{variables:?}");
    let secret = tempfile::NamedTempFile::new().unwrap();
    fs::write(secret.path(), "0123456789abcdef0123\n").unwrap();
    let schema = schema();
    let keys = schema["properties"]["secrets"]["properties"]["keys"]["propertyNames"]["enum"].as_array().unwrap();
    for key in keys.iter().map(|key| key.as_str().unwrap()) {
        // As templates/_helpers.tpl makes it.
        let variable = format!("SEINE__{}_FILE", key.to_uppercase().replace('.', "__"));
        variables.push((variable, secret.path().display().to_string()));
    }
    // A password needs a user, and a server has only one kind of login.
    variables.retain(|(name, _)| !name.contains("API_KEY"));
    variables.push(("SEINE__TARGET_STORAGE__DATA_FORMAT__ELASTICSEARCH__REST__USERNAME".into(), "seine".into()));
    let config = default_configuration(&variables);
    assert!(config.http.operate_token.is_some() && config.http.read_token.is_some());
    assert!(!config.http.listen.unwrap().ip().is_loopback(), "nobody could ask it");
    assert!(read("templates/_helpers.tpl").contains(r#"SEINE__{{ . | upper | replace "." "__" }}"#));
}

#[test]
fn its_probes_ask_for_what_is_there_and_its_command_is_taken() {
    let pod = read("templates/statefulset.yaml");
    let routes = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api/routes.rs")).unwrap();
    let asked: BTreeSet<String> = Regex::new(r"path: (/[a-z]+z), port: http")
        .unwrap()
        .captures_iter(&pod)
        .map(|found| found[1].to_owned())
        .collect();
    assert_eq!(asked.iter().collect::<Vec<_>>(), ["/healthz", "/readyz"]);
    for path in asked.iter().map(String::as_str).chain(["/metrics"]) {
        assert!(routes.contains(&format!(".route(\"{path}\"")), "{path}");
    }
    assert!(read("templates/podmonitor.yaml").contains("path: /metrics"));
    let args = Regex::new(r"args: \[(.*)\]").unwrap().captures(&pod).unwrap()[1].to_owned();
    let help = Command::new(env!("CARGO_BIN_EXE_seine")).args(args.split(", ")).arg("--help").output().unwrap();
    assert!(help.status.success(), "{}", String::from_utf8_lossy(&help.stderr));
    // Seine itself needs up to 15 seconds, and a disk may be slow; the same as in the systemd unit.
    assert!(yaml("values.yaml")["terminationGracePeriodSeconds"].as_i64().unwrap() >= 60);
}

#[test]
fn it_is_hardened() {
    let pod = read("templates/statefulset.yaml");
    let dockerfile = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Dockerfile")).unwrap();
    let user = Regex::new(r"USER (\d+):\d+").unwrap().captures(&dockerfile).unwrap()[1].to_owned();
    for line in [
        "runAsNonRoot: true",
        &format!("runAsUser: {user}"),
        &format!("fsGroup: {user}"),
        "allowPrivilegeEscalation: false",
        "readOnlyRootFilesystem: true",
        "drop: [ALL]",
        "type: RuntimeDefault",
        "automountServiceAccountToken: false",
    ] {
        assert!(pod.contains(line), "no {line}");
    }
}

/// Every value is in the schema, which allows no others.
#[test]
fn its_values_are_those_of_its_schema() {
    let schema = schema();
    let known: BTreeSet<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let values = as_json(&yaml("values.yaml"));
    for name in values.as_object().unwrap().keys() {
        assert!(known.contains(name.as_str()), "{name}");
        let inner = &schema["properties"][name]["properties"];
        for below in values[name].as_object().into_iter().flatten().map(|(below, _)| below) {
            assert!(inner.is_null() || !inner[below].is_null(), "{name}.{below}");
        }
    }
    assert_eq!(schema["additionalProperties"], false);
    // Every value used by templates exists.
    let asked = Regex::new(r"\.Values\.([a-zA-Z]+)").unwrap();
    for template in fs::read_dir(chart().join("templates")).unwrap() {
        let template = fs::read_to_string(template.unwrap().path()).unwrap();
        for found in asked.captures_iter(&template) {
            assert!(!values[&found[1]].is_null(), "{}", &found[1]);
        }
    }
}

#[test]
fn helm_renders_it() {
    let render = |more: &[&str]| {
        let chart = chart();
        let chart = chart.to_str().unwrap();
        let command = [&["template", "news", chart, "--kube-version", "1.31.0"], more].concat();
        Command::new("helm").args(command).output()
    };
    let Ok(output) = render(&["--set", "podMonitor.enabled=true"]) else {
        println!("SKIPPED: there is no helm");
        return;
    };
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let kinds: BTreeSet<String> =
        YamlLoader::load_from_str(&said).unwrap().iter().map(|object| text(&object["kind"])).collect();
    let expected = ["ConfigMap", "PodDisruptionBudget", "PodMonitor", "Service", "StatefulSet"];
    assert_eq!(kinds.iter().collect::<Vec<_>>(), expected);
    for wrong in ["seeds={}", "service.port=80", "nonsense=1", "secrets.keys.http\\.api\\.read_token=x"] {
        assert!(!render(&["--set", wrong]).unwrap().status.success(), "{wrong}");
    }
}
