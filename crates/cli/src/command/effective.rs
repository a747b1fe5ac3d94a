// SPDX-License-Identifier: Apache-2.0
//! `overrule effective`: effective policies, for everything, a target or a request.

use overrule::engine::{KindId, LadderId, PathId};
use overrule::view::{self, EffectiveTable, Part, Scene};

use super::{first_part, form, mention_unreached, text};
use crate::args::{Effective, Form, Shared};
use crate::output::{Failure, Out, Outcome};
use crate::select::{self, Filter, Target};
use crate::world::{self, World};

pub fn run(shared: &Shared, asked: &Effective, out: &mut Out) -> Outcome {
    let mut world = world::load(shared, out, asked.kind.iter().cloned().collect())?;
    let filter = Filter::new(&mut world.analysis, shared)?;
    let kinds = select::kinds(&world.analysis, asked.kind.as_deref())?;
    let mut asked_node = None;
    let chosen: Vec<(KindId, PathId, LadderId)> = match (&asked.request, &asked.target) {
        (Some(request), _) => {
            return super::request::run(shared, asked, request, &kinds, &world, out);
        }
        (None, Some(target)) => {
            let node = match select::target(&world.analysis, shared, target)? {
                Target::Node(node) => node,
                Target::Policy(_) => {
                    return Err(Failure::NotFound(format!(
                        "`{target}` is a policy; ask `overrule reach {target}` where it acts"
                    )));
                }
            };
            asked_node = Some(node);
            select::contexts(&world.analysis, &kinds, Some(node), &filter).collect()
        }
        (None, None) => select::contexts(&world.analysis, &kinds, None, &filter).collect(),
    };
    // A whole fleet is read as a table, one target as what is in force there.
    let default = if asked.target.is_some() { Form::Yaml } else { Form::Table };
    let shown = write(shared, default, &chosen, &world, out)?;
    if shown == 0 {
        if let Some(node) = asked_node {
            mention_unreached(&world, node, out);
        }
        nothing(shared, asked, &world, out);
    }
    world.mention_findings(shared, out);
    Ok(world.exit)
}

/// Writes what is in force on each path that some policy reaches. Returns how many there were.
pub fn write(
    shared: &Shared,
    default: Form,
    chosen: &[(KindId, PathId, LadderId)],
    world: &World,
    out: &mut Out,
) -> Result<usize, Failure> {
    let stage = world.analysis.stage();
    let scene = stage.scene();
    let part = first_part(&scene)?;
    let covered = chosen.iter().filter(|(_, _, ladder)| *ladder != LadderId::EMPTY);
    let count = covered.clone().count();
    match form(shared, default)? {
        Form::Json => json_list(&scene, part, covered, out)?,
        Form::Yaml => {
            for (i, (kind, path, _)) in covered.enumerate() {
                let styles = out.styles;
                let block = text(|s| view::effective_text(&scene, part, *kind, *path, &styles, s));
                out.result(if i == 0 { "" } else { "---\n" })?;
                out.result(&block)?;
            }
        }
        form => {
            let mut table = EffectiveTable::new();
            for (kind, path, _) in covered {
                table.push(&scene, part, *kind, *path);
            }
            let styles = out.styles;
            let width = if form == Form::Wide { None } else { out.width };
            out.result(&text(|s| table.write(width, &styles, s)))?;
        }
    }
    Ok(count)
}

/// One item at a time: a list of a hundred thousand is never held as a whole.
fn json_list<'a>(
    scene: &Scene<'_>,
    part: &Part<'_>,
    chosen: impl Iterator<Item = &'a (KindId, PathId, LadderId)>,
    out: &mut Out,
) -> Result<(), Failure> {
    out.result(
        "{\"apiVersion\": \"overrule/v1\", \"kind\": \"EffectivePolicyList\", \"items\": [",
    )?;
    for (i, (kind, path, _)) in chosen.enumerate() {
        out.result(if i == 0 { "\n" } else { ",\n" })?;
        out.result(&view::json_line(&view::effective(scene, part, *kind, *path)))?;
    }
    out.line("\n]}")
}

fn nothing(shared: &Shared, asked: &Effective, world: &World, out: &mut Out) {
    let namespace = shared.namespace.as_ref().filter(|_| !shared.all_namespaces);
    let place = match (&asked.target, namespace) {
        (Some(target), _) => format!("at {target}"),
        (None, Some(namespace)) => format!("in namespace {namespace}"),
        (None, None) => "anywhere".to_owned(),
    };
    let what = asked.kind.as_deref().unwrap_or("policy");
    let hint = if world.analysis.resolution.policies().next().is_none() {
        "no policies were read"
    } else {
        "`overrule get policies` shows where they landed"
    };
    out.remark(&format!("no {what} is in force {place}; {hint}"));
}
