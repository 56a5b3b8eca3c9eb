//! The folder of a page classifier: ACHE's `pageclassifier.yml` and the files that it names.

use std::path::Path;
use std::sync::Arc;

use ::config::{Map, Value, ValueKind};
use data_encoding::HEXLOWER;
use regex::Regex;
use seine_policies::relevance::{
    Field, FieldRule, MAX_MODEL_BYTES, Method, Model, Operator, PageClassifier, REMEDY, Rules, compile,
};
use sha2::{Digest, Sha256};

use super::draft::Draft;
use super::error::Origin;
use super::files::read_at_most;
use super::values::{list, number, text};
use super::yaml;

pub(super) const FILE: &str = "pageclassifier.yml";
const MODEL_FILE: &str = "model.json";
/// Maximum size of a file, except models.
const MAX_BYTES: u64 = 1 << 20;
const TYPES: &str = "url_regex, title_regex, body_regex, regex, keep_link_relevance, trained";

/// `target_storage.model`.
pub(super) fn set(draft: &mut Draft, path: Option<&str>) -> Result<(), String> {
    let read = |path: &str| {
        page_classifier(Path::new(path)).map_err(|problem| format!("a page classifier's folder; {problem}"))
    };
    draft.config.classifier = path.map(read).transpose()?.map(Arc::new);
    Ok(())
}

/// Reads a folder with a `pageclassifier.yml`.
///
/// # Errors A message for the user: which file is wrong, why, and what to do.
pub(crate) fn page_classifier(folder: &Path) -> Result<PageClassifier, String> {
    let mut files = Files { folder, digest: Sha256::new() };
    if !folder.join(FILE).exists() {
        let is_ache = ["pageclassifier.model", "pageclassifier.features"].iter().any(|name| folder.join(name).exists());
        let what = if is_ache {
            format!("has a Java-serialised model from before ACHE had {FILE}")
        } else {
            format!("has no {FILE}")
        };
        return Err(format!("{} {what}; {REMEDY}", folder.display()));
    }
    let text = files.text(FILE)?;
    let at = |line: usize, problem: String| format!("{}, line {line}: {problem}", folder.join(FILE).display());
    let origin = |line| Origin::File { path: folder.join(FILE), line };
    let root = yaml::value(&text, &origin);
    let root = root.map_err(|error| at(error.line, format!("not valid YAML: {}", error.problem)))?;
    let method = method(&root, &mut files).map_err(|(line, problem)| at(line, problem))?;
    let digest = HEXLOWER.encode(&files.digest.finalize()[..4]);
    Ok(PageClassifier::new(&format!("{}@{digest}", plain_name(folder)), method))
}

/// A line of `pageclassifier.yml` and its error.
type Wrong = (usize, String);

fn method(root: &Value, files: &mut Files) -> Result<Method, Wrong> {
    let root = Fields::of(root, &["type", "parameters"])?;
    let kind = root.get("type").ok_or_else(|| root.wrong(format!("type is missing: one of {TYPES}")))?;
    let word = text(kind).unwrap_or_default();
    let none = Value::new(kind.origin().map(str::to_owned).as_ref(), Map::<String, Value>::new());
    let given = root.get("parameters").filter(|node| node.kind != ValueKind::Nil);
    let parameters = given.unwrap_or(&none);
    match word {
        "url_regex" => url_regex(parameters, files),
        "title_regex" => {
            let fields = Fields::of(parameters, &["regular_expression"])?;
            let node = fields.get("regular_expression").ok_or_else(|| fields.wrong("regular_expression is missing"))?;
            let pattern = text(node).ok().filter(|pattern| !pattern.is_empty());
            let pattern = pattern.ok_or_else(|| expecting(node, "a regular expression"))?;
            let pattern = compile(pattern, false).map_err(|expected| expecting(node, &expected))?;
            Ok(rules(Field::Title, vec![pattern], Vec::new()))
        }
        "body_regex" => {
            let fields = Fields::of(parameters, &["regular_expressions"])?;
            let patterns = fields.patterns("regular_expressions")?;
            Ok(rules(Field::Content, some(patterns, &fields)?, Vec::new()))
        }
        "regex" => regex(parameters),
        "keep_link_relevance" if given.is_none() => Ok(Method::KeepLink(None)),
        "keep_link_relevance" => Ok(Method::KeepLink(Some(Box::new(trained(parameters, files)?)))),
        "trained" => trained(parameters, files),
        "smile" | "weka" => {
            Err((line(kind), format!("{word} models are Java-serialised, and only ACHE can read them; {REMEDY}")))
        }
        _ => Err((line(kind), format!("unknown type {word:?}; use one of {TYPES}"))),
    }
}

fn rules(field: Field, patterns: Vec<Regex>, denied: Vec<Regex>) -> Method {
    let fields = match patterns.is_empty() {
        true => Vec::new(),
        false => vec![FieldRule { field, operator: Operator::Or, patterns }],
    };
    Method::Rules(Rules { operator: Operator::And, fields, denied })
}

/// As in ACHE, patterns of a file replace those in the list.
fn url_regex(parameters: &Value, files: &mut Files) -> Result<Method, Wrong> {
    let fields = Fields::of(parameters, &["regular_expressions", "whitelist_file", "blacklist_file"])?;
    let mut listed =
        |name| fields.get(name).filter(|node| node.kind != ValueKind::Nil).map(|node| files.patterns(node)).transpose();
    let (allowed, denied) = (listed("whitelist_file")?, listed("blacklist_file")?.unwrap_or_default());
    let allowed = match allowed {
        Some(patterns) => patterns,
        None if denied.is_empty() => some(fields.patterns("regular_expressions")?, &fields)?,
        None => Vec::new(),
    };
    Ok(rules(Field::Url, allowed, denied))
}

fn regex(parameters: &Value) -> Result<Method, Wrong> {
    const FIELDS: [(&str, Field); 4] = [
        ("url", Field::Url),
        ("title", Field::Title),
        ("content", Field::Content),
        ("content_type", Field::ContentType),
    ];
    let given = Fields::of(parameters, &["boolean_operator", "url", "title", "content", "content_type"])?;
    let mut fields = Vec::new();
    for (name, field) in FIELDS {
        let Some(node) = given.get(name) else { continue };
        let of_field = Fields::of(node, &["boolean_operator", "regexes"])?;
        let patterns = of_field.patterns("regexes")?;
        if !patterns.is_empty() {
            fields.push(FieldRule { field, operator: of_field.operator()?, patterns });
        }
    }
    Ok(Method::Rules(Rules { operator: given.operator()?, fields: some(fields, &given)?, denied: Vec::new() }))
}

fn trained(parameters: &Value, files: &mut Files) -> Result<Method, Wrong> {
    let fields = Fields::of(parameters, &["model_file", "relevance_threshold", "features_file", "stopwords_file"])?;
    if let Some(node) = fields.get("features_file").or(fields.get("stopwords_file")) {
        return Err((
            line(node),
            format!("this belongs to a Java-serialised model, which only ACHE can read; {REMEDY}"),
        ));
    }
    let threshold = match fields.get("relevance_threshold").filter(|node| node.kind != ValueKind::Nil) {
        Some(node) => {
            let threshold = number(node).ok().filter(|threshold| (0.0..=1.0).contains(threshold));
            threshold.ok_or_else(|| expecting(node, "relevance_threshold to be a number from 0 to 1"))?
        }
        None => 0.5,
    };
    let named = fields.get("model_file");
    let name = named.map_or(Ok(MODEL_FILE), |node| text(node).map_err(|_| expecting(node, "a file's name")))?;
    let read = files.bytes(name, MAX_MODEL_BYTES);
    let model = read.and_then(|bytes| {
        Model::parse(&bytes).map_err(|error| format!("{}: {error}", files.folder.join(name).display()))
    });
    let model = model.map_err(|problem| (named.map_or(line(parameters), line), problem))?;
    Ok(Method::Trained { model: Box::new(model), threshold })
}

fn some<T>(given: Vec<T>, fields: &Fields) -> Result<Vec<T>, Wrong> {
    if given.is_empty() { Err(fields.wrong("there is no regular expression")) } else { Ok(given) }
}

fn line(value: &Value) -> usize {
    Origin::of(value).line()
}

fn expecting(node: &Value, expected: &str) -> Wrong {
    (line(node), format!("expected {expected}"))
}

/// A mapping without unknown names.
struct Fields<'n> {
    line: usize,
    entries: &'n Map<String, Value>,
}

impl<'n> Fields<'n> {
    fn of(node: &'n Value, known: &[&str]) -> Result<Fields<'n>, Wrong> {
        let expected = || format!("a mapping of {}", known.join(", "));
        let ValueKind::Table(entries) = &node.kind else { return Err(expecting(node, &expected())) };
        match entries.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, value)) => Err((line(value), format!("{name:?} is unknown; expected {}", expected()))),
            None => Ok(Fields { line: line(node), entries }),
        }
    }

    fn get(&self, name: &str) -> Option<&'n Value> {
        self.entries.get(name)
    }

    fn wrong(&self, problem: impl Into<String>) -> Wrong {
        (self.line, problem.into())
    }

    fn patterns(&self, name: &str) -> Result<Vec<Regex>, Wrong> {
        let Some(node) = self.get(name).filter(|node| node.kind != ValueKind::Nil) else { return Ok(Vec::new()) };
        let patterns = match &node.kind {
            ValueKind::Array(_) => list(node).map_err(|expected| expecting(node, &expected))?,
            // A pattern may contain commas, so the text is not split.
            _ => vec![text(node).map_err(|expected| expecting(node, &expected))?.to_owned()],
        };
        let compiled = patterns.iter().map(|pattern| compile(pattern, true));
        compiled.collect::<Result<_, _>>().map_err(|expected| expecting(node, &expected))
    }

    fn operator(&self) -> Result<Operator, Wrong> {
        let Some(node) = self.get("boolean_operator") else { return Ok(Operator::And) };
        match text(node).unwrap_or_default().to_ascii_uppercase().as_str() {
            "AND" => Ok(Operator::And),
            "OR" => Ok(Operator::Or),
            _ => Err(expecting(node, "AND or OR")),
        }
    }
}

/// The files of the folder. Their content determines the name of the classifier.
struct Files<'f> {
    folder: &'f Path,
    digest: Sha256,
}

impl Files<'_> {
    fn bytes(&mut self, name: &str, most: u64) -> Result<Vec<u8>, String> {
        let path = self.folder.join(name);
        let shown = path.display();
        let bytes = read_at_most(&path, most)
            .map_err(|error| format!("cannot read {shown}: {error}; check its name and permissions"))?
            .ok_or_else(|| format!("{shown} is larger than {} MiB; it is probably another kind of file", most >> 20))?;
        self.digest.update((bytes.len() as u64).to_le_bytes());
        self.digest.update(&bytes);
        Ok(bytes)
    }

    fn text(&mut self, name: &str) -> Result<String, String> {
        let bytes = self.bytes(name, MAX_BYTES)?;
        String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8 text", self.folder.join(name).display()))
    }

    /// Reads a file that a node names, one pattern per line.
    fn patterns(&mut self, node: &Value) -> Result<Vec<Regex>, Wrong> {
        let name = text(node).map_err(|_| expecting(node, "a file's name"))?;
        let text = self.text(name).map_err(|problem| (line(node), problem))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let patterns = lines.map(|line| compile(line, true)).collect::<Result<Vec<_>, _>>();
        let patterns = patterns.map_err(|expected| (line(node), format!("{name}: expected {expected}")))?;
        match patterns.is_empty() {
            true => Err((line(node), format!("{name} has no regular expression"))),
            false => Ok(patterns),
        }
    }
}

/// The name of the folder, reduced to characters allowed in headers and messages.
fn plain_name(folder: &Path) -> String {
    const LONGEST: usize = 64;
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    match name.is_empty() {
        true => "model".to_owned(),
        false => name.chars().take(LONGEST).map(plain).collect(),
    }
}
