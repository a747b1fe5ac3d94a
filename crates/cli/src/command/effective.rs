// SPDX-License-Identifier: Apache-2.0
//! `overrule effective`: effective policies, for everything, a target or a request.

use overrule::engine::LadderId;
use overrule::view::{self, EffectiveTable, Scene, v1};

use super::{form, mention_unreached, text};
use crate::args::{Effective, Form, Shared};
use crate::output::{Exit, Failure, Out, Outcome};
use crate::select::{self, Context, Elsewhere, Filter};
use crate::world::{self, Compare, Needs, World};

pub fn run(shared: &Shared, asked: &Effective, out: &mut Out) -> Outcome {
    let one = asked.target.is_some() || asked.request.is_some();
    let compare = if one { Compare::Always } else { Compare::Asked };
    let targets = asked.target.iter().chain(&asked.to).map(String::as_str).collect();
    let needs = Needs { kind: asked.kind.as_deref(), compare, targets };
    let mut world = world::load(shared, out, &needs)?;
    let filter = Filter::new(&mut world.analysis, shared)?;
    let stage = world.analysis.stage();
    let scene = stage.scene();
    let kinds = select::kinds(&world.analysis, &scene, asked.kind.as_deref())?;
    if let Some(request) = &asked.request {
        return super::request::run(shared, asked, request, &kinds, &world, &scene, out);
    }
    let mut nodes = Vec::new();
    for target in asked.target.iter().chain(&asked.to) {
        nodes.push(select::node(&world.analysis, &scene, shared, target)?);
    }
    let chosen = Chosen {
        contexts: select::contexts(&scene, &kinds, &nodes, &filter).collect(),
        elsewhere: select::elsewhere(&scene, &kinds, &nodes, &filter),
    };
    // A whole fleet is read as a table, one target as what is in force there.
    let default = if one { Form::Yaml } else { Form::Table };
    let shown = write(shared, default, &chosen, &scene, out)?;
    if shown.count == 0 {
        if let Some(node) = nodes.first() {
            mention_unreached(&world, *node, out);
        }
        nothing(shared, asked, &world, out);
    }
    world.mention_findings(shared, out);
    Ok(shown.exit(shared, &world))
}

/// What is asked about.
#[derive(Debug, Default)]
pub struct Chosen<'a> {
    pub contexts: Vec<Context<'a>>,
    /// Paths that only other profiles have.
    pub elsewhere: Vec<Elsewhere<'a>>,
}

/// What was written.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown {
    /// How many effective policies.
    pub count: usize,
    /// Whether another profile gives another result for one of them.
    differs: bool,
}

impl Shown {
    /// Results that differ are a disputed answer, if somebody asked whether they do.
    pub fn exit(self, shared: &Shared, world: &World) -> Exit {
        match shared.compare && self.differs {
            true => world.exit.worst(Exit::Findings),
            false => world.exit,
        }
    }
}

/// Writes what is in force on each path that some policy reaches.
pub fn write(
    shared: &Shared,
    default: Form,
    chosen: &Chosen<'_>,
    scene: &Scene<'_>,
    out: &mut Out,
) -> Result<Shown, Failure> {
    let covered: Vec<&Context<'_>> =
        chosen.contexts.iter().filter(|c| is_covered(scene, c)).collect();
    let count = covered.len() + chosen.elsewhere.len();
    let found = covered.iter().map(|c| view::effective(scene, c.part, c.kind, c.path));
    let elsewhere = chosen.elsewhere.iter();
    let policies =
        found.chain(elsewhere.map(|e| view::elsewhere(scene, e.part, e.other, e.kind, e.path)));
    let differs = match form(shared, default)? {
        Form::Json => json_list(policies, out)?,
        Form::Yaml => {
            let mut differs = false;
            for (i, policy) in policies.enumerate() {
                differs |= !policy.other_profiles.is_empty();
                let styles = out.styles;
                out.result(if i == 0 { "" } else { "---\n" })?;
                out.result(&text(|s| view::effective_policy_text(&policy, &styles, s)))?;
            }
            differs
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
            let styles = out.styles;
            let width = if form == Form::Wide { None } else { out.width };
            out.result(&text(|s| table.write(width, &styles, s)))?;
            differs
        }
    };
    Ok(Shown { count, differs })
}

/// Whether a policy reaches a path, under this profile or another that is compared with.
pub fn is_covered(scene: &Scene<'_>, c: &Context<'_>) -> bool {
    let there = |o: &view::Other<'_>| {
        o.like(c.part, c.kind, c.path).is_some_and(|(_, _, ladder)| ladder != LadderId::EMPTY)
    };
    c.ladder != LadderId::EMPTY || scene.others_of(c.part).any(there)
}

/// One item at a time: a list of a hundred thousand is never held as a whole. Whether profiles differ somewhere.
fn json_list(
    policies: impl Iterator<Item = v1::EffectivePolicy>,
    out: &mut Out,
) -> Result<bool, Failure> {
    out.result(
        "{\"apiVersion\": \"overrule/v1\", \"kind\": \"EffectivePolicyList\", \"items\": [",
    )?;
    let mut differs = false;
    for (i, policy) in policies.enumerate() {
        differs |= !policy.other_profiles.is_empty();
        out.result(if i == 0 { "\n" } else { ",\n" })?;
        out.result(&view::json_line(&policy))?;
    }
    out.line("\n]}")?;
    Ok(differs)
}

fn nothing(shared: &Shared, asked: &Effective, world: &World, out: &mut Out) {
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
    let none = world.analysis.shown().all(|a| a.resolution.declared().next().is_none());
    let hint = match none {
        true => "no policies were read",
        false => "`overrule get policies` shows where they landed",
    };
    out.remark(&format!("no {what} is in force {place}; {hint}"));
}
