// SPDX-License-Identifier: Apache-2.0
//! `overrule get`: what is there.

use std::collections::BTreeMap;

use overrule::model::{GroupKind, Object, ObjectId};
use overrule::view;

use crate::filter::Filter;
use crate::select;
use crate::{
    AskError, AskResult, Compare, Exit, Form, Get, Known, Needs, Shared, Sink, form_or_names,
    output, table_styles, text, write_value,
};

pub(crate) fn needs(asked: &Get) -> Needs<'_> {
    Needs { kind: asked.without.as_deref(), compare: Compare::Asked, ..Needs::default() }
}

/// What flags refuse by themselves.
pub(crate) fn validate(_: &Shared, asked: &Get) -> Result<(), AskError> {
    match (&asked.kind, &asked.without) {
        (Some(_), Some(_)) => {
            Err(AskError::Usage("list a kind, or paths without one, not both".to_owned()))
        }
        _ => Ok(()),
    }
}

pub(crate) fn run(
    known: &Known<'_>,
    shared: &Shared,
    asked: &Get,
    sink: &mut dyn Sink,
) -> AskResult {
    let filter = Filter::new(known.analysis, shared)?;
    let keep = |o: &Object| known.sees(o) && filter.object(&known.analysis.snapshot, o);
    let differs = match (&asked.without, asked.kind.as_deref()) {
        (Some(kind), _) => without(shared, known, kind, sink)?,
        (None, None) if known.has_policies() || known.has_unresolved() => {
            policies(shared, known, &keep, sink)?
        }
        (None, Some("policies" | "policy")) => policies(shared, known, &keep, sink)?,
        (None, None | Some("all")) => resources(shared, known, &keep, sink)?,
        (None, Some(target)) if target.contains('/') => {
            let (object, _) = select::named(known, shared, target)?;
            let keep = |o: &Object| o.id == object.id && keep(o);
            of_kinds(shared, known, &[object.kind], &keep, sink)?
        }
        (None, Some(word)) => of_kind(shared, known, word, &keep, sink)?,
    };
    known.mention_findings(sink);
    Ok(Exit::findings(differs))
}

/// Whether profiles that were compared differ.
type Differs = bool;

fn of_kind(
    shared: &Shared,
    known: &Known<'_>,
    word: &str,
    keep: &dyn Fn(&Object) -> bool,
    sink: &mut dyn Sink,
) -> Result<Differs, AskError> {
    let (kind, group) = word.split_once('.').map_or((word, None), |(k, g)| (k, Some(g)));
    let kinds = select::kinds_called(known, kind, group);
    if kinds.is_empty() {
        return Err(select::unknown_kind(known, word));
    }
    let keep = |o: &Object| kinds.contains(&o.kind) && keep(o);
    of_kinds(shared, known, &kinds, &keep, sink)
}

fn of_kinds(
    shared: &Shared,
    known: &Known<'_>,
    kinds: &[GroupKind],
    keep: &dyn Fn(&Object) -> bool,
    sink: &mut dyn Sink,
) -> Result<Differs, AskError> {
    let is_policy = known
        .analysis
        .shown()
        .flat_map(|a| a.resolution.kinds())
        .any(|(_, k)| kinds.iter().any(|c| c.kind == k.kind && c.group == k.group));
    let mut unresolved = known.analysis.unresolved().iter();
    let unresolved =
        unresolved.any(|one| known.analysis.snapshot.get(one.object).is_some_and(keep));
    if is_policy || unresolved {
        policies(shared, known, keep, sink)
    } else {
        resources(shared, known, keep, sink)
    }
}

fn policies(
    shared: &Shared,
    known: &Known<'_>,
    keep: &dyn Fn(&Object) -> bool,
    sink: &mut dyn Sink,
) -> Result<Differs, AskError> {
    let stage = known.analysis.stage();
    let scene = needs(&Get::default()).scene(&stage, shared);
    let mut list = view::v1::PolicyList::new(Vec::new());
    for part in scene.parts {
        if let Some(reader) = known.reader(&scene) {
            list.items.extend(reader.policies(part, keep).items);
            continue;
        }
        let mut items = view::policies(&scene, part, keep).items;
        let all = known.analysis.policy_conditions(part.family);
        let kept = part
            .resolution
            .declared()
            .zip(all)
            .filter(|((_, p), _)| known.analysis.snapshot.get(p.object).is_some_and(keep));
        for (item, (_, conditions)) in items.iter_mut().zip(kept) {
            item.conditions.extend(conditions.into_iter().map(|c| view::v1::Condition {
                r#type: c.kind.to_owned(),
                status: if c.status { "True" } else { "False" }.to_owned(),
                reason: c.reason.to_owned(),
                message: Some(c.message),
                parent_ref: None,
                section: None,
                ancestor: c.ancestor.map(|a| a.target_name(|node| part.target_name(&scene, node))),
            }));
        }
        list.items.extend(items);
    }
    let deleted = |o: &Object| known.analysis.policy_family(o.kind).filter(|_| keep(o));
    list.items.extend(view::deleted_policies(&scene, &deleted));
    list.unresolved = view::unresolved(&scene, keep, None);
    let differs = list.items.iter().any(|p| !p.other_profiles.is_empty());
    if list.items.is_empty() && list.unresolved.is_empty() {
        sink.remark("no policy fits");
    }
    match form_or_names(shared, Form::Table)? {
        Form::Name => output::names(list.items.into_iter().map(|policy| policy.target), sink)?,
        form @ (Form::Table | Form::Wide) => {
            let (styles, now) = (table_styles(sink, form), sink.now());
            sink.result(&text(|s| {
                view::policies_table(&list, form == Form::Wide, now, &styles, s)
            }))?;
        }
        form => write_value(sink, form, &list)?,
    }
    Ok(differs)
}

fn resources(
    shared: &Shared,
    known: &Known<'_>,
    keep: &dyn Fn(&Object) -> bool,
    sink: &mut dyn Sink,
) -> Result<Differs, AskError> {
    let stage = known.analysis.stage();
    let mut list = view::resources(&stage.scene(), keep);
    if list.items.is_empty() {
        sink.remark("no resource fits");
    }
    // What a controller says about an object depends on others, and names them.
    if !known.restricted() {
        add_conditions(known, keep, &mut list);
    }
    match form_or_names(shared, Form::Table)? {
        Form::Name => output::names(list.items.into_iter().map(|item| item.target), sink)?,
        form @ (Form::Table | Form::Wide) => {
            let styles = table_styles(sink, form);
            sink.result(&text(|s| view::resources_table(&list, form == Form::Wide, &styles, s)))?;
        }
        form => write_value(sink, form, &list)?,
    }
    Ok(false)
}

/// Routes get the conditions a controller would write: view knows no Gateway API, so they are added here.
fn add_conditions(
    known: &Known<'_>,
    keep: &dyn Fn(&Object) -> bool,
    list: &mut view::v1::ResourceList,
) {
    let analysis = known.analysis;
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
    add_affected(known, keep, list);
}

/// Gateways and routes get the conditions that name the policies in reach, as the operator writes them.
fn add_affected(
    known: &Known<'_>,
    keep: &dyn Fn(&Object) -> bool,
    list: &mut view::v1::ResourceList,
) {
    let analysis = known.analysis;
    let mut by_object: BTreeMap<ObjectId, Vec<view::v1::Condition>> = BTreeMap::new();
    for condition in analysis.affected() {
        let node = condition.node;
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

fn without(
    shared: &Shared,
    known: &Known<'_>,
    kind: &str,
    sink: &mut dyn Sink,
) -> Result<Differs, AskError> {
    let stage = known.analysis.stage();
    let scene = stage.scene();
    // An unknown kind has been refused by now, so anything but one is several.
    let [only] = select::kinds(known, &scene, Some(kind))?[..] else {
        return Err(AskError::Usage(format!(
            "several groups have a kind `{kind}`; write {kind}.GROUP"
        )));
    };
    let list = match known.reader(&scene) {
        None => view::without(&scene, only.part, only.id),
        Some(reader) => reader.without(only.part, only.id),
    };
    match form_or_names(shared, Form::Table)? {
        Form::Name => output::names(list.items.into_iter().map(|item| item.target), sink)?,
        form @ (Form::Table | Form::Wide) => {
            let styles = table_styles(sink, form);
            sink.result(&text(|s| view::without_table(&list, &styles, s)))?;
        }
        form => write_value(sink, form, &list)?,
    }
    Ok(false)
}
