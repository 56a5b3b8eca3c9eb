//! Prints the configuration: `check-config`.

use super::Loaded;
use super::error::Origin;

/// The configuration in force as YAML: each value with its source. Secrets are masked.
pub fn render(loaded: &Loaded) -> String {
    let mut out: String = loaded.files.iter().map(|file| format!("# read {}\n", file.display())).collect();
    out.extend(loaded.warnings.iter().map(|warning| format!("# warning: {warning}\n")));
    let entries: Vec<String> = loaded.effective.iter().map(|entry| format!("{}: {}", entry.key, entry.value)).collect();
    let width = entries.iter().map(|entry| entry.chars().count()).filter(|width| *width < 90).max().unwrap_or(0);
    let lines = entries.iter().zip(&loaded.effective);
    out.extend(lines.map(|(entry, effective)| format!("{entry:width$}  # {}\n", short(&effective.origin))));
    out
}

fn short(origin: &Origin) -> String {
    match origin {
        Origin::File { path, line } => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            format!("{name}:{line}")
        }
        other => other.to_string(),
    }
}
