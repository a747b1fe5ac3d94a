// SPDX-License-Identifier: Apache-2.0
//! In: manifests and a target. Out: a test of what is in force there now, which passes. Not here: files; whoever asks
//! reads and writes them.

use std::collections::{BTreeMap, BTreeSet};

use overrule::family_kit::AnyFamily;
use overrule::lookup::{Finder, LookupError, Target};
use overrule::{Analysis, Options, SettingValues};
use overrule_engine::{LadderId, NodeId};
use overrule_source::{Input, Position};
use overrule_view::v1::Value;
use serde_json::Value as Json;

use crate::case::{Case, CaseSetting, SpannedWord};
use crate::family::{ActualPolicy, Answer, detect, is_path};
use crate::field::{Field, children, pointer};
use crate::read::read;
use crate::run::run;

/// What a test is written of.
#[derive(Debug, Clone, Default)]
pub struct TestRequest {
    /// The target.
    pub target: String,
    /// The namespace of a target that is written without one.
    pub namespace: Option<String>,
    /// The manifests.
    pub inputs: Vec<Input>,
    /// Names of those that hold descriptors of policy kinds only.
    pub kind_sources: Vec<String>,
    /// What the test names them by.
    pub files: Vec<String>,
    /// The same of descriptors.
    pub kinds: Vec<String>,
    /// The profile of each family.
    pub profiles: BTreeMap<String, String>,
    /// Settings of families' controllers.
    pub settings: SettingValues,
    /// What an absent creation time means, as it is written in tests.
    pub assume_created: Option<String>,
}

/// Why there is no test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InitError {
    /// The target leads nowhere.
    Lookup(LookupError),
    /// Nothing is in force there, or the test would not pass; a sentence.
    Nothing(String),
}

impl std::fmt::Display for InitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lookup(error) => error.fmt(f),
            Self::Nothing(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for InitError {}

/// The text of a test: a document for each family with policies at the target.
pub fn init(request: &TestRequest) -> Result<String, InitError> {
    let options = Options {
        profiles: request.profiles.clone(),
        settings: request.settings.clone(),
        kind_sources: request.kind_sources.clone(),
        focus: vec![request.target.clone()],
        ..Options::default()
    };
    let analysis = Analysis::new(request.inputs.clone(), &options);
    let mut documents = Vec::new();
    for family in overrule::families().iter().copied() {
        let answer = analysis.shown().find(|a| a.family.name() == family.name());
        let Some(resolution) = answer.map(|a| &a.resolution) else { continue };
        let node = node(&analysis, request)?;
        let mut paths = resolution.paths.through(&[node]).into_iter();
        let is_reached = |path| {
            let ladders = resolution.kinds().map(|(kind, _)| resolution.ladder(kind, path));
            ladders.into_iter().any(|l| l != LadderId::EMPTY && l != LadderId::NONE)
        };
        if paths.any(is_reached) {
            documents.extend(document(request, family)?);
        }
    }
    let text = documents.join("---\n");
    if text.is_empty() {
        return Err(InitError::Nothing(format!("no policy is in force at {}", request.target)));
    }
    holds(request, &text)?;
    Ok(text)
}

fn node(analysis: &Analysis, request: &TestRequest) -> Result<NodeId, InitError> {
    let finder = Finder { namespace: request.namespace.as_deref(), ..Finder::new(analysis) };
    let stage = analysis.stage();
    match finder.target(&stage.scene(), &request.target).map_err(InitError::Lookup)? {
        Target::Node(node) => Ok(node),
        Target::Policy(..) => {
            finder.node(&stage.scene(), &request.target).map_err(InitError::Lookup)
        }
    }
}

/// A test, as far as it is known before it is written.
fn case(request: &TestRequest, family: &'static dyn AnyFamily) -> Case {
    let at = Position { file: String::new(), line: 1, column: 1 };
    let setting = |(key, value): (&str, &Json)| CaseSetting {
        key: key.to_owned(),
        value: value.clone(),
        at: at.clone(),
    };
    let mut settings: Vec<CaseSetting> = request.settings.of(family.name()).map(setting).collect();
    let assumed = request.assume_created.as_ref();
    settings.extend(assumed.map(|text| setting(("assumeCreated", &Json::from(text.as_str())))));
    let chosen = family.chosen(&request.profiles);
    let is_default = family.profiles().first() == Some(&chosen);
    let profile = (!is_default).then(|| SpannedWord { text: chosen.to_owned(), at: at.clone() });
    Case {
        name: String::new(),
        source: String::new(),
        basis: String::new(),
        notes: String::new(),
        family: family.name().to_owned(),
        profiles: profile.into_iter().collect(),
        settings,
        inputs: request.inputs.clone(),
        kind_sources: request.kind_sources.clone(),
        partial: true,
        complete_for: Vec::new(),
        unasserted: Vec::new(),
        expect: None,
        none: Vec::new(),
        absent: Vec::new(),
        status: Vec::new(),
        affected: None,
        conflicted: None,
        invalid: None,
        diagnostics: None,
        can: Vec::new(),
        at,
    }
}

/// The document of one family; none if a test has no words for what is in force.
fn document(
    request: &TestRequest,
    family: &'static dyn AnyFamily,
) -> Result<Option<String>, InitError> {
    let case = case(request, family);
    let answer = Answer::new(&case, family, family.chosen(&request.profiles));
    let node = node(answer.analysis(), request)?;
    let through: BTreeSet<usize> = answer.targets_through(node).into_iter().collect();
    let reached = answer.targets().iter().enumerate();
    let reached = reached.filter(|(i, target)| target.reached && through.contains(i));
    let entries: Vec<Value> = reached.map(|(i, _)| entry(&answer, i)).collect();
    if entries.is_empty() {
        return Ok(None);
    }
    let texts = |list: &[String]| Value::List(list.iter().map(|t| text(t)).collect());
    let mut members = vec![
        ("name", text(&slug(&request.target))),
        ("notes", text("What is in force now, as `overrule test --init` found it.")),
        ("files", texts(&request.files)),
    ];
    if !request.kinds.is_empty() {
        members.push(("kinds", texts(&request.kinds)));
    }
    if detect(&request.inputs, &case.profiles) != Ok(family.name()) {
        members.push(("family", text(family.name())));
    }
    if !case.profiles.is_empty() {
        let names: Vec<String> = case.profiles.iter().map(|p| p.text.clone()).collect();
        members.push(("profiles", texts(&names)));
    }
    if !case.settings.is_empty() {
        let settings = case.settings.iter().map(|s| (s.key.clone(), ordered(&s.value)));
        members.push(("settings", Value::Map(settings.collect())));
    }
    members.push(("expect", Value::List(entries)));
    members.push(("partial", Value::Bool(true)));
    Ok(Some(overrule_view::yaml(&map(members))))
}

/// What is in force at a target, as `expect` has it.
fn entry(answer: &Answer, index: usize) -> Value {
    let effective = answer.effective(index);
    let Some(target) = answer.targets().get(index) else { return Value::Null };
    let same_kind = answer.targets().iter().filter(|t| t.kind == target.kind);
    let kind = match same_kind.into_iter().all(|t| t.group == target.group) {
        true => target.kind.clone(),
        false => format!("{}.{}", target.kind, target.group),
    };
    let nothing = Json::Object(serde_json::Map::new());
    let spec = effective.spec.as_ref().filter(|spec| !spec.is_null()).unwrap_or(&nothing);
    let mut members = vec![
        ("path", Value::List(steps(answer, index).iter().map(|step| text(step)).collect())),
        ("kind", text(&kind)),
        ("spec", ordered(spec)),
    ];
    let sources = sources(&effective, spec);
    if !sources.is_empty() {
        members.push(("sources", Value::Map(sources)));
    }
    if effective.error {
        members.push(("error", Value::Bool(true)));
    }
    map(members)
}

/// The names of a path; with kinds, if it cannot be told from others by names alone.
fn steps(answer: &Answer, index: usize) -> Vec<String> {
    let Some(target) = answer.targets().get(index) else { return Vec::new() };
    let nodes = answer.paths().get(target.path).map_or(&[][..], Vec::as_slice);
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let alike =
        answer.targets().iter().filter(|t| t.kind == target.kind && t.group == target.group);
    let alike = alike.filter(|t| answer.paths().get(t.path).is_some_and(|n| is_path(n, &names)));
    match alike.count() {
        0 | 1 => names,
        _ => nodes.iter().map(|node| format!("{} {}", node.kind, node.name)).collect(),
    }
}

/// The largest parts that come from the same policies, each with these.
fn sources(effective: &ActualPolicy, spec: &Json) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let mut open: Vec<(Vec<String>, &Json)> = children(&[], spec);
    open.reverse();
    while let Some((segments, value)) = open.pop() {
        let touches = |at: &[String]| at.starts_with(&segments) || segments.starts_with(at);
        let origins = effective.sources.iter().filter(|(at, _)| touches(at));
        let sets: BTreeSet<BTreeSet<&str>> =
            origins.map(|(_, all)| all.iter().map(String::as_str).collect()).collect();
        let below = children(&segments, value);
        if sets.len() > 1 && !below.is_empty() {
            open.extend(below.into_iter().rev());
            continue;
        }
        let all: BTreeSet<&str> = sets.into_iter().flatten().collect();
        let names: Vec<Value> = all.into_iter().map(text).collect();
        let names = match names.as_slice() {
            [] => continue,
            [one] => one.clone(),
            _ => Value::List(names),
        };
        found.push((field(&segments, spec), names));
    }
    found
}

/// A field as people write it, or as a pointer where its names have characters of their own.
fn field(segments: &[String], spec: &Json) -> String {
    let at = Position { file: String::new(), line: 1, column: 1 };
    let dotted = Field { text: segments.join("."), at };
    let plain = segments.iter().flat_map(|s| s.chars()).all(|c| c.is_alphanumeric() || c == '-');
    match plain && dotted.find(spec).is_some_and(|(found, _)| found == segments) {
        true => dotted.text,
        false => pointer(segments),
    }
}

/// A test that is written must pass.
fn holds(request: &TestRequest, text: &str) -> Result<(), InitError> {
    let input = Input::new("the new test", text);
    let documents = overrule_source::read(vec![input], &crate::read::options()).documents;
    let mut open = |path: &str| {
        let is_kind = |input: &&Input| request.kind_sources.iter().any(|s| **s == *input.name);
        let of_kinds = request.kinds.first().is_some_and(|first| first == path);
        let of_files = request.files.first().is_some_and(|first| first == path);
        let wanted = |input: &&Input| if is_kind(input) { of_kinds } else { of_files };
        Ok(request.inputs.iter().filter(wanted).cloned().collect())
    };
    for doc in documents.ids() {
        let failed = match read(&documents, doc, &mut open) {
            Ok(case) => run(&case, None).iter().find_map(|r| r.mismatches().first().cloned()),
            Err(found) => {
                let why = found.first().map_or_else(String::new, |d| d.message.to_string());
                return Err(InitError::Nothing(format!("no test can be written: {why}")));
            }
        };
        if let Some(mismatch) = failed {
            let (path, why) = (&mismatch.path, &mismatch.message);
            return Err(InitError::Nothing(format!("no test can be written of {path}: {why}")));
        }
    }
    Ok(())
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn map(members: Vec<(&str, Value)>) -> Value {
    Value::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn ordered(value: &Json) -> Value {
    serde_json::from_value(value.clone()).unwrap_or(Value::Null)
}

/// A name out of a target: `httproute-shop-cart`.
fn slug(target: &str) -> String {
    let name: String = target.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    name.trim_matches('-').to_owned()
}
