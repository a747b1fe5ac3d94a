// SPDX-License-Identifier: Apache-2.0
//! `overrule explain`: why a target has the policies it has, or what became of a policy.

use std::collections::BTreeMap;

use overrule::engine::{KindId, LadderId, NodeId, PathId};
use overrule::view::tenancy::Reader;
use overrule::view::{self, Scene, ScenePart, v1};

use crate::filter::Filter;
use crate::select::{self, Elsewhere, PolicyContext, Target};
use crate::{
    AskError, AskResult, Compare, Exit, Explain, Form, Known, Needs, Shared, Sink, beside, form,
    reach, text, write_value,
};

/// Different explanations shown before the rest is only counted, without -v.
const SHOWN: usize = 8;

pub(crate) fn needs(asked: &Explain) -> Needs<'_> {
    Needs {
        kind: asked.kind.as_deref(),
        compare: Compare::Always,
        targets: std::iter::once(&asked.target).chain(&asked.to).map(String::as_str).collect(),
    }
}

pub(crate) fn run(
    known: &Known<'_>,
    shared: &Shared,
    asked: &Explain,
    sink: &mut dyn Sink,
) -> AskResult {
    let filter = Filter::new(known.analysis, shared)?;
    let stage = known.analysis.stage();
    let scene = needs(asked).scene(&stage, shared);
    let mut exit = Exit::Fine;
    match select::target(known, &scene, shared, &asked.target)? {
        Target::Policy(part, policy) => {
            if !reach::write(known, shared, &scene, (part, policy), asked.field.as_deref(), sink)? {
                exit = Exit::Findings;
            }
        }
        Target::Node(node) => {
            let kinds = select::kinds(known, &scene, asked.kind.as_deref())?;
            let mut nodes = vec![node];
            if let Some(to) = &asked.to {
                nodes.push(select::node(known, &scene, shared, to)?);
            }
            let ways = beside::ways(known, &nodes);
            let contexts = beside::contexts(known, &scene, &kinds, &ways, &filter);
            let around = Around {
                node,
                routes: beside::service_routes(known, &scene, node),
                unresolved: beside::unresolved(known, &scene, &nodes, &contexts, &filter),
                target: scene
                    .parts
                    .first()
                    .map(|p| p.target_name(&scene, node))
                    .unwrap_or_default(),
            };
            if let Some(reader) = known.reader(&scene) {
                let differs = own(known, shared, asked, &reader, &contexts, around, sink)?;
                known.mention_findings(sink);
                return Ok(Exit::findings(shared.compare && differs));
            }
            let told = told(&scene, contexts);
            let mut differs = write(shared, asked, &scene, &told, around, sink)?;
            let elsewhere = beside::elsewhere(known, &scene, &kinds, &ways, &filter);
            differs |= !elsewhere.is_empty();
            mention_elsewhere(&scene, &elsewhere, sink);
            if told.is_empty() && elsewhere.is_empty() {
                nothing(asked, known, node, sink);
            }
            if shared.compare && differs {
                exit = Exit::Findings;
            }
        }
    }
    known.mention_findings(sink);
    Ok(exit)
}

/// What is said beside explanations.
struct Around {
    /// The node asked about.
    node: NodeId,
    routes: Option<v1::ServiceRoutes>,
    unresolved: Vec<v1::UnresolvedPolicy>,
    /// The target asked about.
    target: String,
}

impl Around {
    /// Before the explanations. Whether something was written.
    fn before(&self, sink: &mut dyn Sink) -> Result<bool, AskError> {
        let Some(routes) = &self.routes else { return Ok(false) };
        let styles = sink.styles();
        sink.result(&text(|s| view::service_routes_text(routes, &styles, s)))?;
        Ok(true)
    }

    /// After them.
    fn after(&self, shared: &Shared, any: bool, sink: &mut dyn Sink) -> Result<(), AskError> {
        if any && !self.unresolved.is_empty() {
            sink.result("\n")?;
        }
        beside::write_unresolved(shared, Form::Table, Some(&self.target), &self.unresolved, sink)
    }

    fn list(self, items: Vec<v1::Explanation>) -> v1::ExplanationList {
        let Self { routes, unresolved, .. } = self;
        v1::ExplanationList { routes, unresolved, ..v1::ExplanationList::new(items) }
    }
}

/// Writes explanations for one who may not read everything. Whether another profile gives another result somewhere.
fn own(
    known: &Known<'_>,
    shared: &Shared,
    asked: &Explain,
    reader: &Reader<'_>,
    contexts: &[PolicyContext<'_>],
    around: Around,
    sink: &mut dyn Sink,
) -> Result<bool, AskError> {
    let (field, node) = (asked.field.as_deref(), around.node);
    let contexts = contexts.iter().map(|c| (c.part, c.kind, c.path));
    let items = reader.explanations(contexts, field);
    let differs =
        items.iter().flat_map(|e| &e.kinds).any(|k| !k.effective.other_profiles.is_empty());
    let none = items.is_empty();
    match form(shared, Form::Table)? {
        Form::Table | Form::Wide => {
            let mut any = around.before(sink)?;
            for explained in &items {
                sink.result(if any { "\n" } else { "" })?;
                any = true;
                let styles = sink.styles();
                sink.result(&text(|s| view::explanation_text(explained, &styles, s)))?;
            }
            around.after(shared, any, sink)?;
        }
        form => write_value(sink, form, &around.list(items))?,
    }
    if none {
        nothing(asked, known, node, sink);
    }
    Ok(differs)
}

/// What is told once: paths that share their ladder, under every profile.
struct Told<'a> {
    part: &'a ScenePart<'a>,
    kind: KindId,
    paths: Vec<PathId>,
}

/// Part, kind, ladder, and the ladders of other profiles.
type Alike = (usize, KindId, LadderId, Vec<Option<LadderId>>);

fn told<'a>(scene: &Scene<'a>, contexts: Vec<PolicyContext<'a>>) -> Vec<Told<'a>> {
    let mut groups: BTreeMap<Alike, Told<'a>> = BTreeMap::new();
    for c in contexts.into_iter().filter(|c| c.is_covered(scene)) {
        let PolicyContext { part, kind, path, ladder } = c;
        let position = scene.parts.iter().position(|p| std::ptr::eq(p, part)).unwrap_or(0);
        let others = scene.others_of(part).map(|o| o.like(part, kind, path).map(|l| l.2));
        let group = groups.entry((position, kind, ladder, others.collect()));
        group.or_insert_with(|| Told { part, kind, paths: Vec::new() }).paths.push(path);
    }
    let mut told: Vec<_> = groups.into_iter().collect();
    told.sort_by_key(|((part, kind, ..), told)| (*part, *kind, told.paths.first().copied()));
    told.into_iter().map(|(_, told)| told).collect()
}

/// Writes the explanations. Whether another profile gives another result somewhere.
fn write(
    shared: &Shared,
    asked: &Explain,
    scene: &Scene<'_>,
    told: &[Told<'_>],
    around: Around,
    sink: &mut dyn Sink,
) -> Result<bool, AskError> {
    let field = asked.field.as_deref();
    let mut differs = false;
    let mut explain = |told: &Told<'_>, path| {
        let explained = view::explain(scene, told.part, path, Some(told.kind), field);
        differs |= explained.kinds.iter().any(|k| !k.effective.other_profiles.is_empty());
        explained
    };
    match form(shared, Form::Table)? {
        Form::Table | Form::Wide => {
            let told = with_field(scene, told, field);
            let limit = if shared.verbose { usize::MAX } else { SHOWN };
            let mut any = around.before(sink)?;
            for (i, one) in told.iter().enumerate() {
                let Some(first) = one.paths.first() else { continue };
                let explained = explain(one, *first);
                if i >= limit {
                    continue;
                }
                sink.result(if any { "\n" } else { "" })?;
                any = true;
                let styles = sink.styles();
                sink.result(&text(|s| view::explanation_text(&explained, &styles, s)))?;
                let others: Vec<String> =
                    one.paths.iter().skip(1).map(|p| one.part.path_name(scene, *p)).collect();
                if !others.is_empty() {
                    sink.result(&same_on(&others, shared.verbose))?;
                }
            }
            around.after(shared, any, sink)?;
            if told.len() > limit {
                sink.remark(&format!(
                    "note: {} more that differ; name a section, a kind with --kind, or use -v",
                    told.len() - limit
                ));
            }
        }
        form => {
            let mut items = Vec::new();
            for one in told {
                items.extend(one.paths.iter().map(|path| explain(one, *path)));
            }
            write_value(sink, form, &around.list(items))?;
        }
    }
    Ok(differs)
}

/// Those that have the field asked about; all if none has it, so that near names can be told.
fn with_field<'t, 'a>(
    scene: &Scene<'_>,
    told: &'t [Told<'a>],
    field: Option<&str>,
) -> Vec<&'t Told<'a>> {
    let has = |told: &&Told<'_>| {
        let path = told.paths.first();
        let explained = path.map(|p| view::explain(scene, told.part, *p, Some(told.kind), field));
        let fields = explained.iter().flat_map(|e| &e.kinds).filter_map(|k| k.field.as_ref());
        fields.into_iter().any(|f| f.value.is_some() || !f.candidates.is_empty())
    };
    let found: Vec<&Told<'a>> =
        told.iter().filter(|_| field.is_some()).filter(|t| has(t)).collect();
    if found.is_empty() { told.iter().collect() } else { found }
}

/// Paths to explain that this profile does not have.
fn mention_elsewhere(scene: &Scene<'_>, elsewhere: &[Elsewhere<'_>], sink: &mut dyn Sink) {
    for e in elsewhere.iter().take(SHOWN) {
        let there = &e.other.part;
        let kind = there.resolution.kind(e.kind).map_or("", |k| scene.snapshot.text(k.kind));
        let path = there.path_name(scene, e.path);
        let text = format!(
            "note: {}/{} has no such path, but {}/{} has a {kind} at {path}; --profile {}={} explains it",
            e.part.family, e.part.profile, there.family, there.profile, there.family, there.profile
        );
        sink.remark(&view::escape::terminal(&text));
    }
    if elsewhere.len() > SHOWN {
        sink.remark(&format!("note: and {} more such paths", elsewhere.len() - SHOWN));
    }
}

fn nothing(asked: &Explain, known: &Known<'_>, node: NodeId, sink: &mut dyn Sink) {
    known.mention_unreached(node, sink);
    let what = asked.kind.as_deref().unwrap_or("policy");
    sink.remark(&format!(
        "no {what} reaches {}; `overrule graph {}` shows where policies are attached",
        asked.target, asked.target
    ));
}

fn same_on(others: &[String], verbose: bool) -> String {
    let limit = if verbose { usize::MAX } else { 3 };
    let mut lines = format!(
        "\nThe same on {} more path{}\n",
        others.len(),
        if others.len() == 1 { "" } else { "s" }
    );
    for other in others.iter().take(limit) {
        lines.push_str(&format!("  {}\n", view::escape::terminal(other)));
    }
    if others.len() > limit {
        lines.push_str(&format!("  and {} more (-v lists them)\n", others.len() - limit));
    }
    lines
}
