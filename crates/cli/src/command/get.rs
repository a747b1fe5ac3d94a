// SPDX-License-Identifier: Apache-2.0
//! `overrule get`: what is there.

use std::collections::BTreeMap;

use overrule::model::{Object, ObjectId};
use overrule::view;

use super::{form, text, write_value};
use crate::args::{Form, Get, Shared};
use crate::output::{Exit, Failure, Out, Outcome};
use crate::select::{self, Filter};
use crate::world::{self, Compare, Needs, World};

pub fn run(shared: &Shared, asked: &Get, out: &mut Out) -> Outcome {
    let needs =
        Needs { kind: asked.without.as_deref(), compare: Compare::Asked, ..Needs::default() };
    let mut world = world::load(shared, out, &needs)?;
    let filter = Filter::new(&mut world.analysis, shared)?;
    let differs = match (&asked.without, asked.kind.as_deref()) {
        (Some(kind), _) => without(shared, &world, kind, out)?,
        (None, None)
            if world.analysis.shown().any(|a| a.resolution.declared().next().is_some()) =>
        {
            policies(shared, &world, &|o| filter.object(&world.analysis.snapshot, o), out)?
        }
        (None, Some("policies" | "policy")) => {
            policies(shared, &world, &|o| filter.object(&world.analysis.snapshot, o), out)?
        }
        (None, None | Some("all")) => {
            resources(shared, &world, &|o| filter.object(&world.analysis.snapshot, o), out)?
        }
        (None, Some(word)) => of_kind(shared, &world, word, &filter, out)?,
    };
    world.mention_findings(shared, out);
    Ok(if differs { world.exit.worst(Exit::Findings) } else { world.exit })
}

/// Whether profiles that were compared differ.
type Differs = bool;

fn of_kind(
    shared: &Shared,
    world: &World,
    word: &str,
    filter: &Filter,
    out: &mut Out,
) -> Result<Differs, Failure> {
    let snapshot = &world.analysis.snapshot;
    let (kind, group) = word.split_once('.').map_or((word, None), |(k, g)| (k, Some(g)));
    let kinds = snapshot.kinds_called(kind, group);
    if kinds.is_empty() {
        return Err(select::unknown_kind(&world.analysis, word));
    }
    let keep = |o: &Object| kinds.contains(&o.kind) && filter.object(&world.analysis.snapshot, o);
    let is_policy = world
        .analysis
        .shown()
        .flat_map(|a| a.resolution.kinds())
        .any(|(_, k)| kinds.iter().any(|c| c.kind == k.kind && c.group == k.group));
    if is_policy {
        policies(shared, world, &keep, out)
    } else {
        resources(shared, world, &keep, out)
    }
}

fn policies(
    shared: &Shared,
    world: &World,
    keep: &dyn Fn(&Object) -> bool,
    out: &mut Out,
) -> Result<Differs, Failure> {
    let stage = world.analysis.stage();
    let scene = stage.scene();
    let mut list = view::v1::PolicyList::new(Vec::new());
    for part in scene.parts {
        let mut items = view::policies(&scene, part, keep).items;
        let all = world.analysis.policy_conditions(part.family);
        let kept = part
            .resolution
            .declared()
            .zip(all)
            .filter(|((_, p), _)| world.analysis.snapshot.get(p.object).is_some_and(keep));
        for (item, (_, conditions)) in items.iter_mut().zip(kept) {
            item.conditions.extend(conditions.into_iter().map(|c| view::v1::Condition {
                r#type: c.kind.to_owned(),
                status: if c.status { "True" } else { "False" }.to_owned(),
                reason: c.reason.to_owned(),
                message: Some(c.message),
                parent_ref: None,
                section: None,
                ancestor: c.ancestor.map(|node| part.target_name(&scene, node)),
            }));
        }
        list.items.extend(items);
    }
    let differs = list.items.iter().any(|p| !p.other_profiles.is_empty());
    if list.items.is_empty() {
        out.remark("no policy fits");
    }
    match form(shared, Form::Table)? {
        form @ (Form::Table | Form::Wide) => {
            let styles = out.styles;
            out.result(&text(|s| {
                view::policies_table(&list, form == Form::Wide, now(), &styles, s)
            }))?;
        }
        form => write_value(out, form, &list)?,
    }
    Ok(differs)
}

fn resources(
    shared: &Shared,
    world: &World,
    keep: &dyn Fn(&Object) -> bool,
    out: &mut Out,
) -> Result<Differs, Failure> {
    let stage = world.analysis.stage();
    let mut list = view::resources(&stage.scene(), keep);
    if list.items.is_empty() {
        out.remark("no resource fits");
    }
    add_conditions(world, keep, &mut list);
    match form(shared, Form::Table)? {
        form @ (Form::Table | Form::Wide) => {
            let styles = out.styles;
            out.result(&text(|s| view::resources_table(&list, form == Form::Wide, &styles, s)))?;
        }
        form => write_value(out, form, &list)?,
    }
    Ok(false)
}

/// Routes get the conditions a controller would write: view knows no Gateway API, so they are added here.
fn add_conditions(
    world: &World,
    keep: &dyn Fn(&Object) -> bool,
    list: &mut view::v1::ResourceList,
) {
    let analysis = &world.analysis;
    let kept = analysis.snapshot.objects().filter(|o| keep(o));
    for (object, item) in kept.zip(&mut list.items) {
        let node = analysis.topology.object_node(object.id);
        let Some(route) = node.and_then(|n| analysis.topology.route_of(n)) else { continue };
        for condition in analysis.topology.conditions(route) {
            item.conditions.push(view::v1::Condition {
                r#type: format!("{:?}", condition.kind),
                status: format!("{:?}", condition.status),
                reason: condition.reason.to_owned(),
                message: None,
                parent_ref: Some(condition.parent),
                section: None,
                ancestor: None,
            });
        }
    }
    add_affected(world, keep, list);
}

/// Gateways and routes get the conditions that name the policies in reach, as the operator writes them.
fn add_affected(world: &World, keep: &dyn Fn(&Object) -> bool, list: &mut view::v1::ResourceList) {
    let analysis = &world.analysis;
    let mut by_object: BTreeMap<ObjectId, Vec<view::v1::Condition>> = BTreeMap::new();
    for (node, condition) in analysis.affected() {
        let Some(node) = analysis.topology.nodes.get(node) else { continue };
        let section = analysis.snapshot.text(node.section);
        let condition = view::v1::Condition {
            r#type: condition.condition_type,
            status: "True".to_owned(),
            reason: "Accepted".to_owned(),
            message: Some(condition.message),
            parent_ref: None,
            section: (!section.is_empty()).then(|| section.to_owned()),
            ancestor: None,
        };
        if let Some(object) = node.object {
            by_object.entry(object).or_default().push(condition);
        }
    }
    let kept = analysis.snapshot.objects().filter(|o| keep(o));
    for (object, item) in kept.zip(&mut list.items) {
        item.conditions.extend(by_object.remove(&object.id).into_iter().flatten());
    }
}

fn without(shared: &Shared, world: &World, kind: &str, out: &mut Out) -> Result<Differs, Failure> {
    let stage = world.analysis.stage();
    let scene = stage.scene();
    // An unknown kind has been refused by now, so anything but one is several.
    let [only] = select::kinds(&world.analysis, &scene, Some(kind))?[..] else {
        return Err(Failure::Usage(format!(
            "several groups have a kind `{kind}`; write {kind}.GROUP"
        )));
    };
    let list = view::without(&scene, only.part, only.id);
    match form(shared, Form::Table)? {
        Form::Table | Form::Wide => {
            let styles = out.styles;
            out.result(&text(|s| view::without_table(&list, &styles, s)))?;
        }
        form => write_value(out, form, &list)?,
    }
    Ok(false)
}

/// Seconds since 1970, for ages.
fn now() -> Option<i64> {
    #[expect(clippy::disallowed_methods, reason = "ages are counted from now; the core never asks")]
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(now.as_secs()).ok()
}
