// SPDX-License-Identifier: Apache-2.0
//! `overrule get`: what is there.

use overrule::model::Object;
use overrule::view;

use super::{first_part, form, text, write_value};
use crate::args::{Form, Get, Shared};
use crate::output::{Failure, Out, Outcome};
use crate::select::{self, Filter};
use crate::world::{self, World};

pub fn run(shared: &Shared, asked: &Get, out: &mut Out) -> Outcome {
    let mut world = world::load(shared, out, asked.without.iter().cloned().collect())?;
    let filter = Filter::new(&mut world.analysis, shared)?;
    match (&asked.without, asked.kind.as_deref()) {
        (Some(kind), _) => without(shared, &world, kind, out)?,
        (None, None) => {
            if world.analysis.resolution.policies().next().is_some() {
                policies(shared, &world, &|o| filter.object(o), out)?;
            } else {
                resources(shared, &world, &|o| filter.object(o), out)?;
            }
        }
        (None, Some("policies" | "policy")) => {
            policies(shared, &world, &|o| filter.object(o), out)?
        }
        (None, Some("all")) => resources(shared, &world, &|o| filter.object(o), out)?,
        (None, Some(word)) => of_kind(shared, &world, word, &filter, out)?,
    }
    world.mention_findings(shared, out);
    Ok(world.exit)
}

fn of_kind(
    shared: &Shared,
    world: &World,
    word: &str,
    filter: &Filter,
    out: &mut Out,
) -> Result<(), Failure> {
    let snapshot = &world.analysis.snapshot;
    let (kind, group) = word.split_once('.').map_or((word, None), |(k, g)| (k, Some(g)));
    let kinds = snapshot.kinds_called(kind, group);
    if kinds.is_empty() {
        return Err(select::unknown_kind(&world.analysis, word));
    }
    let keep = |o: &Object| kinds.contains(&o.kind) && filter.object(o);
    let is_policy = world
        .analysis
        .resolution
        .kinds()
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
) -> Result<(), Failure> {
    let stage = world.analysis.stage();
    let scene = stage.scene();
    let list = view::policies(&scene, first_part(&scene)?, keep);
    if list.items.is_empty() {
        out.remark("no policy fits");
    }
    match form(shared, Form::Table)? {
        form @ (Form::Table | Form::Wide) => {
            let styles = out.styles;
            out.result(&text(|s| {
                view::policies_table(&list, form == Form::Wide, now(), &styles, s)
            }))
        }
        form => write_value(out, form, &list),
    }
}

fn resources(
    shared: &Shared,
    world: &World,
    keep: &dyn Fn(&Object) -> bool,
    out: &mut Out,
) -> Result<(), Failure> {
    let stage = world.analysis.stage();
    let mut list = view::resources(&stage.scene(), keep);
    if list.items.is_empty() {
        out.remark("no resource fits");
    }
    add_conditions(world, keep, &mut list);
    match form(shared, Form::Table)? {
        form @ (Form::Table | Form::Wide) => {
            let styles = out.styles;
            out.result(&text(|s| view::resources_table(&list, form == Form::Wide, &styles, s)))
        }
        form => write_value(out, form, &list),
    }
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
                parent_ref: condition.parent,
            });
        }
    }
}

fn without(shared: &Shared, world: &World, kind: &str, out: &mut Out) -> Result<(), Failure> {
    let stage = world.analysis.stage();
    let scene = stage.scene();
    let part = first_part(&scene)?;
    // An unknown kind has been refused by now, so anything but one is several.
    let [only] = select::kinds(&world.analysis, Some(kind))?[..] else {
        return Err(Failure::Usage(format!(
            "several groups have a kind `{kind}`; write {kind}.GROUP"
        )));
    };
    let list = view::without(&scene, part, only);
    match form(shared, Form::Table)? {
        Form::Table | Form::Wide => {
            let styles = out.styles;
            out.result(&text(|s| view::without_table(&list, &styles, s)))
        }
        form => write_value(out, form, &list),
    }
}

/// Seconds since 1970, for ages.
fn now() -> Option<i64> {
    #[expect(clippy::disallowed_methods, reason = "ages are counted from now; the core never asks")]
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(now.as_secs()).ok()
}
