// SPDX-License-Identifier: Apache-2.0
//! In: answers, and policies whose confs changed. Out: the new answers, at the cost of the
//! ladders that have these policies, and the findings about them. Not here: how ladders are folded again (the engine).
//!
//! It serves policies whose references, matches and labels are what they were, and whose entries are the same nodes of
//! their documents: then what was read of meshes stays as it is. For anything else everything is resolved.

use std::collections::BTreeMap;
use std::sync::Arc;

use overrule_engine::{
    Attachment, NewSteps, PerStep, PolicyId, Rejection, Resolution, Step, StepId, Traced,
};
use overrule_family::{AnyExtra, Before, ContentChange, Refolded, Replaced, Updated};
use overrule_model::{ObjectId, Snapshot};
use overrule_source::{Diagnostic, Documents, Label, NodeRef, Span, View};

use super::land::target_span;
use crate::conf::{ConfAlgebra, EntryPosition, StepConfs, conf_of};
use crate::family::{Meshes, Proxies};
use crate::findings;
use crate::kinds;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::resources::{self, MeshResources};
use crate::topology::match_text;

/// A policy that says something else now.
struct Changed<'a> {
    object: ObjectId,
    mesh: &'a MeshResources,
    policy: &'a Policy,
}

/// The new answers; none if more than confs changed.
pub(crate) fn update(change: ContentChange<'_>) -> Option<Updated<()>> {
    let ContentChange { documents, snapshot, before, ground, objects, answers, findings, .. } =
        change;
    let meshes: &Meshes = ground.typed()?;
    let mut changed = Vec::with_capacity(objects.len());
    for object in objects {
        let (mesh, policy) = meshes.policy(*object)?;
        let [was, is] = [(before.0, before.1), (documents, &*snapshot)]
            .map(|(documents, snapshot)| read(meshes, documents, snapshot, *object));
        if was? != is? {
            return None;
        }
        changed.push(Changed { object: *object, mesh, policy });
    }
    let mut told = relocated(findings, before.0, documents, &changed)?;
    let (mut refolded, mut extras) = (Vec::new(), Vec::new());
    for answer in answers {
        let extra: &Proxies = answer.extra.typed()?;
        let profile = Profile::from_name(answer.profile, &meshes.resources.settings);
        refolded.push(refold(meshes, documents, &changed, answer.resolution, extra)?);
        let permissions = changed.iter().filter(|c| *c.policy.kind == kinds::TRAFFIC_PERMISSION);
        if answer.shown {
            for one in permissions.clone().filter(|c| c.mesh.takes_part(&profile, c.policy)) {
                let selected = selected(one, meshes, answer);
                let world = (documents, &*snapshot, &meshes.resources, &profile);
                told.extend(findings::of_permission(world, one.mesh, one.policy, selected));
            }
        }
        // What was compiled of permissions is compiled again where somebody asks.
        let again = || Arc::new(extra.without_gates()) as Arc<dyn AnyExtra>;
        extras.push(permissions.clone().next().map(|_| again()));
    }
    let (policies, read, replaced) = ((), Vec::new(), Replaced::default());
    Some(Updated { policies, read, answers: refolded, extras, findings: told, replaced })
}

/// What must stay: the policy, and the words of what is matched. None if it cannot stay, or has flaws.
fn read(
    meshes: &Meshes,
    documents: &Documents,
    snapshot: &Snapshot,
    object: ObjectId,
) -> Option<(Policy, Vec<String>)> {
    let policy =
        resources::read_policy(documents, snapshot.get(object)?, &meshes.resources.settings)?;
    // Others have entries about routes, and these are nodes of the topology.
    if *policy.kind == kinds::HTTP_ROUTE {
        return None;
    }
    let list = |node: NodeRef, key: &str| {
        documents.view(node).get(key).into_iter().flat_map(View::items).collect::<Vec<_>>()
    };
    let hostnames = policy.to.iter().flat_map(|entry| list(entry.node, "hostnames"));
    let hostnames = hostnames.map(|name| name.scalar_text().unwrap_or("").to_owned());
    let matches = policy.rules.iter().flat_map(|entry| list(entry.node, "matches"));
    let words = hostnames.chain(matches.map(match_text)).collect();
    Some((policy, words))
}

/// Folds what has these policies again.
fn refold(
    meshes: &Meshes,
    documents: &Documents,
    changed: &[Changed<'_>],
    before: &Resolution,
    extra: &Proxies,
) -> Option<Refolded> {
    let (mut steps, mut attachments, mut rejections) = (Vec::new(), Vec::new(), Vec::new());
    for one in changed {
        let id = before.policy_of(one.object)?;
        for step in before.steps_of(id) {
            steps.push((*step, *before.ladders.get_step(*step)?));
        }
        let at = target_span(documents, one.policy);
        attachments.extend(attachments_of(before, id, at));
        rejections.extend(rejections_of(before, id, at));
    }
    let new = NewSteps::on(before, steps, attachments, rejections);
    let confs = PerStep::of(before, &new, |id, step| {
        let (_, policy) = meshes.policy(before.policy(step.policy)?.object)?;
        conf(documents, policy, id, step)
    });
    // Plans know the lists that are appended because they are called so, of all confs there are.
    let known = new.steps.iter().all(|(id, step)| {
        let kind = before.policy(step.policy).and_then(|p| meshes.policy(p.object));
        let plan = kind.and_then(|(_, policy)| super::plans::plan_of(&extra.plans, policy.kind));
        let conf = confs.get(*id);
        plan.zip(conf).is_some_and(|(plan, conf)| plan.knows(documents, conf))
    });
    if !known {
        return None;
    }
    let confs = StepConfs::Some(&confs);
    let algebra = ConfAlgebra { documents, plans: &extra.plans, confs, hostnames: &[] };
    let (mut now, ladders) = before.refolded(&new, documents, &algebra)?;
    now.compact();
    Some((now, ladders))
}

/// What a step contributes.
fn conf(documents: &Documents, policy: &Policy, id: StepId, step: &Step) -> Option<Traced> {
    let (position, list) = match step.block {
        "to" => (EntryPosition::To, &policy.to),
        "from" => (EntryPosition::From, &policy.from),
        "rules" => (EntryPosition::Rules, &policy.rules),
        _ => {
            let node = policy.whole.node;
            return Some(conf_of(documents, policy.kind, id, node, EntryPosition::Single));
        }
    };
    let entry = list.get(step.entry? as usize)?;
    Some(conf_of(documents, policy.kind, id, entry.node, position))
}

fn attachments_of(
    before: &Resolution,
    id: PolicyId,
    at: Span,
) -> impl Iterator<Item = (usize, Attachment)> {
    let start = before.attachments.partition_point(|a| a.policy < id);
    let theirs = (start..).zip(before.attachments_of(id));
    let moved = theirs.filter(move |(_, attachment)| attachment.at != at);
    moved.map(move |(place, attachment)| (place, Attachment { at, ..*attachment }))
}

fn rejections_of(
    before: &Resolution,
    id: PolicyId,
    at: Span,
) -> impl Iterator<Item = (usize, Rejection)> {
    let start = before.rejections.partition_point(|r| r.policy < id);
    let theirs = (start..).zip(before.rejections_of(id));
    theirs.map(move |(place, rejection)| (place, Rejection { at, ..*rejection }))
}

/// The proxies that a policy is attached to, by place; none if it is attached to their mesh.
fn selected(one: &Changed<'_>, meshes: &Meshes, answer: &Before<'_>) -> Option<Vec<u32>> {
    let id = answer.resolution.policy_of(one.object)?;
    if one.policy.target.kind == kinds::MESH {
        return None;
    }
    let attachments = answer.resolution.attachments_of(id);
    attachments.map(|attachment| meshes.dataplane(attachment.node)).collect()
}

/// Findings that point into the documents of these policies, where they point today. What they say does not depend on
/// confs, but for those about permissions, which are left out. None if one does not stand where it stood.
fn relocated(
    findings: &[Arc<Diagnostic>],
    before: &Documents,
    documents: &Documents,
    changed: &[Changed<'_>],
) -> Option<Vec<Diagnostic>> {
    let about_permissions =
        |d: &Diagnostic| findings::ABOUT_PERMISSIONS.iter().any(|code| code.id == d.code.id);
    let ours = |d: &Diagnostic| crate::codes::ALL.iter().any(|code| code.id == d.code.id);
    if findings.iter().any(|d| !ours(d)) {
        return None;
    }
    let kept: Vec<&Diagnostic> =
        findings.iter().map(|d| &**d).filter(|d| !about_permissions(d)).collect();
    let documents_of = |one: &Changed<'_>| {
        let root = |documents: &Documents| documents.root(one.policy.root.doc).span();
        (root(before), one.policy.root.doc)
    };
    let changed: Vec<_> = changed.iter().map(documents_of).collect();
    let labels = kept.iter().flat_map(|d| d.primary.iter().chain(&d.related));
    let spans = labels.map(|label| label.span);
    let is_in = |span: &Span, whole: &Span| span.source == whole.source;
    let spans = spans.filter(|span| changed.iter().any(|(whole, _)| is_in(span, whole)));
    let mut moved: BTreeMap<Span, Option<Span>> = spans.map(|span| (span, None)).collect();
    if !moved.is_empty() {
        for (_, doc) in &changed {
            follow(before.root(*doc), documents.root(*doc), &mut moved);
        }
    }
    let moved: BTreeMap<Span, Span> =
        moved.into_iter().map(|(was, is)| Some((was, is?))).collect::<Option<_>>()?;
    let there = |label: &Label| {
        let span = moved.get(&label.span).copied().unwrap_or(label.span);
        Label { span, ..label.clone() }
    };
    let told = kept.into_iter().map(|d| Diagnostic {
        primary: d.primary.as_ref().map(there),
        related: d.related.iter().map(there).collect(),
        ..d.clone()
    });
    Some(told.collect())
}

/// Finds where nodes with these spans are in another document that says nearly the same.
fn follow(was: View<'_>, is: View<'_>, moved: &mut BTreeMap<Span, Option<Span>>) {
    if let Some(to) = moved.get_mut(&was.span()) {
        to.get_or_insert(is.span());
    }
    for (key, value) in was.entries() {
        let Some((other_key, other)) = is.get_entry(key.key_text()) else { continue };
        if let Some(to) = moved.get_mut(&key.span()) {
            to.get_or_insert(other_key.span());
        }
        follow(value, other, moved);
    }
    for (was, is) in was.items().zip(is.items()) {
        follow(was, is, moved);
    }
}
