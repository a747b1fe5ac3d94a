// SPDX-License-Identifier: Apache-2.0
//! `overrule effective`: effective policies, for everything, a target or a request.

use overrule::view::tenancy::Reader;
use overrule::view::{self, EffectiveTable, Scene, v1};

use crate::filter::Filter;
use crate::select::{self, Elsewhere, PolicyContext};
use crate::{
    AskError, AskResult, Compare, Effective, Exit, Form, Known, Needs, Shared, Sink, beside,
    form_or_names, output, request, table_styles, text,
};

pub(crate) fn needs(asked: &Effective) -> Needs<'_> {
    let one = asked.target.is_some() || asked.request.is_some();
    let compare = if one { Compare::Always } else { Compare::Asked };
    let targets = asked.target.iter().chain(&asked.to).map(String::as_str).collect();
    Needs { kind: asked.kind.as_deref(), compare, targets }
}

/// What flags refuse by themselves.
pub(crate) fn validate(_: &Shared, asked: &Effective) -> Result<(), AskError> {
    if asked.request.is_some() && asked.target.is_some() {
        return Err(AskError::Usage("name a target or a request, not both".to_owned()));
    }
    if asked.request.is_none() && !asked.header.is_empty() {
        return Err(AskError::Usage("a header is of a request, and there is none".to_owned()));
    }
    Ok(())
}

pub(crate) fn run(
    known: &Known<'_>,
    shared: &Shared,
    asked: &Effective,
    sink: &mut dyn Sink,
) -> AskResult {
    let one = asked.target.is_some() || asked.request.is_some();
    let filter = Filter::new(known.analysis, shared)?;
    let stage = known.analysis.stage();
    let scene = needs(asked).scene(&stage, shared);
    let kinds = select::kinds(known, &scene, asked.kind.as_deref())?;
    if let Some(request) = &asked.request {
        return request::run(shared, asked, request, &kinds, known, &scene, sink);
    }
    let mut nodes = Vec::new();
    for target in asked.target.iter().chain(&asked.to) {
        nodes.push(select::node(known, &scene, shared, target)?);
    }
    let ways = beside::ways(known, &nodes);
    let contexts = beside::contexts(known, &scene, &kinds, &ways, &filter);
    let target = nodes.first().zip(scene.parts.first()).map(|(n, p)| p.target_name(&scene, *n));
    let chosen = Chosen {
        elsewhere: beside::elsewhere(known, &scene, &kinds, &ways, &filter),
        unresolved: beside::unresolved(known, &scene, &nodes, &contexts, &filter),
        contexts,
        target,
    };
    // A whole fleet is read as a table, one target as what is in force there.
    let default = if one { Form::Yaml } else { Form::Table };
    let shown = write(known, shared, default, &chosen, &scene, sink)?;
    if shown.count == 0 {
        if let Some(node) = nodes.first() {
            known.mention_unreached(*node, sink);
        }
        nothing(shared, asked, known, sink);
    }
    known.mention_findings(sink);
    Ok(shown.exit(shared))
}

/// What is asked about.
#[derive(Debug, Default)]
pub(crate) struct Chosen<'a> {
    pub(crate) contexts: Vec<PolicyContext<'a>>,
    /// Paths that only other profiles have.
    pub(crate) elsewhere: Vec<Elsewhere<'a>>,
    /// Policies that target it and that nobody resolves.
    pub(crate) unresolved: Vec<v1::UnresolvedPolicy>,
    /// The target, if one is asked about.
    pub(crate) target: Option<String>,
}

/// What was written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shown {
    /// How many effective policies.
    pub(crate) count: usize,
    /// Whether another profile gives another result for one of them.
    differs: bool,
}

impl Shown {
    /// Results that differ are a disputed answer, if somebody asked whether they do.
    pub(crate) fn exit(self, shared: &Shared) -> Exit {
        Exit::findings(shared.compare && self.differs)
    }
}

/// Writes what is in force on each path that some policy reaches.
pub(crate) fn write(
    known: &Known<'_>,
    shared: &Shared,
    default: Form,
    chosen: &Chosen<'_>,
    scene: &Scene<'_>,
    sink: &mut dyn Sink,
) -> Result<Shown, AskError> {
    if let Some(reader) = known.reader(scene) {
        return write_own(shared, default, chosen, &reader, sink);
    }
    let covered: Vec<&PolicyContext<'_>> =
        chosen.contexts.iter().filter(|c| c.is_covered(scene)).collect();
    let count = covered.len() + chosen.elsewhere.len();
    let found = covered.iter().map(|c| view::effective(scene, c.part, c.kind, c.path));
    let elsewhere = chosen.elsewhere.iter();
    let policies =
        found.chain(elsewhere.map(|e| view::elsewhere(scene, e.part, e.other, e.kind, e.path)));
    let form = form_or_names(shared, default)?;
    let differs = match form {
        Form::Json => json_list(policies, &chosen.unresolved, sink)?,
        Form::Yaml => documents(policies, sink)?,
        Form::Name => {
            let of = |c: &&PolicyContext<'_>| c.part.path_target(scene, c.path);
            let elsewhere = chosen.elsewhere.iter();
            let elsewhere = elsewhere.map(|e| e.other.part.path_target(scene, e.path));
            output::names(covered.iter().map(of).chain(elsewhere), sink)?;
            false
        }
        form => {
            let mut table = EffectiveTable::new();
            let mut differs = !chosen.elsewhere.is_empty();
            for c in covered {
                differs |= table.push(scene, c.part, c.kind, c.path);
            }
            for e in &chosen.elsewhere {
                table.push_elsewhere(scene, e.part, e.other, e.kind, e.path);
            }
            let styles = table_styles(sink, form);
            sink.result(&text(|s| table.write(&styles, s)))?;
            differs
        }
    };
    write_unresolved(shared, form, count, chosen, sink)?;
    Ok(Shown { count, differs })
}

/// Policies that nobody resolves, after the answer; JSON has them in its list.
fn write_unresolved(
    shared: &Shared,
    form: Form,
    count: usize,
    chosen: &Chosen<'_>,
    sink: &mut dyn Sink,
) -> Result<(), AskError> {
    if form == Form::Json || chosen.unresolved.is_empty() {
        return Ok(());
    }
    if form != Form::Yaml && count > 0 {
        sink.result("\n")?;
    }
    beside::write_unresolved(shared, form, chosen.target.as_deref(), &chosen.unresolved, sink)
}

/// The same for one who may not read everything: all forms are made of what it may know.
fn write_own(
    shared: &Shared,
    default: Form,
    chosen: &Chosen<'_>,
    reader: &Reader<'_>,
    sink: &mut dyn Sink,
) -> Result<Shown, AskError> {
    let found = reader.effectives(chosen.contexts.iter().map(|c| (c.part, c.kind, c.path)));
    let count = found.len();
    let form = form_or_names(shared, default)?;
    let differs = match form {
        Form::Json => json_list(found.into_iter(), &chosen.unresolved, sink)?,
        Form::Yaml => documents(found.into_iter(), sink)?,
        Form::Name => {
            output::names(found.into_iter().map(|policy| policy.target), sink)?;
            false
        }
        form => {
            let mut table = EffectiveTable::new();
            found.iter().for_each(|policy| table.push_policy(policy));
            let styles = table_styles(sink, form);
            sink.result(&text(|s| table.write(&styles, s)))?;
            found.iter().any(|policy| !policy.other_profiles.is_empty())
        }
    };
    write_unresolved(shared, form, count, chosen, sink)?;
    Ok(Shown { count, differs })
}

/// One document per effective policy. Whether profiles differ somewhere.
fn documents(
    policies: impl Iterator<Item = v1::EffectivePolicy>,
    sink: &mut dyn Sink,
) -> Result<bool, AskError> {
    let mut differs = false;
    for (i, policy) in policies.enumerate() {
        differs |= !policy.other_profiles.is_empty();
        let styles = sink.styles();
        sink.result(if i == 0 { "" } else { "---\n" })?;
        sink.result(&text(|s| view::effective_policy_text(&policy, &styles, s)))?;
    }
    Ok(differs)
}

/// One item at a time: a list of a hundred thousand is never held as a whole. Whether profiles differ somewhere.
fn json_list(
    policies: impl Iterator<Item = v1::EffectivePolicy>,
    unresolved: &[v1::UnresolvedPolicy],
    sink: &mut dyn Sink,
) -> Result<bool, AskError> {
    sink.result(
        "{\"apiVersion\": \"overrule/v1\", \"kind\": \"EffectivePolicyList\", \"items\": [",
    )?;
    let mut differs = false;
    for (i, policy) in policies.enumerate() {
        differs |= !policy.other_profiles.is_empty();
        sink.result(if i == 0 { "\n" } else { ",\n" })?;
        sink.result(&view::json_line(&policy))?;
    }
    sink.result("\n]")?;
    if !unresolved.is_empty() {
        sink.result(&format!(", \"unresolved\": {}", view::json_line(&unresolved)))?;
    }
    sink.line("}")?;
    Ok(differs)
}

fn nothing(shared: &Shared, asked: &Effective, known: &Known<'_>, sink: &mut dyn Sink) {
    let namespace = shared.namespace.as_ref().filter(|_| !shared.all_namespaces);
    let place = match (&asked.target, namespace) {
        (Some(target), _) if asked.to.is_some() => {
            let to = asked.to.as_deref().unwrap_or("");
            format!("on the way from {target} to {to}, or no path leads there")
        }
        (Some(target), _) => format!("at {target}"),
        (None, Some(namespace)) => format!("in namespace {namespace}"),
        (None, None) => "anywhere".to_owned(),
    };
    let what = asked.kind.as_deref().unwrap_or("policy");
    let none = !known.has_policies();
    let hint = match none {
        true => "no policies were read",
        false => "`overrule get policies` shows where they landed",
    };
    sink.remark(&format!("no {what} is in force {place}; {hint}"));
}
