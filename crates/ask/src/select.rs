// SPDX-License-Identifier: Apache-2.0
//! In: names people typed. Out: nodes, kinds, policies and the paths they mean, or suggestions.
//! Not here: what is said about them.

use std::collections::BTreeSet;

use overrule::Identity;
use overrule::engine::{KindId, LadderId, NodeId, PathId, PolicyId};
use overrule::model::{GroupKind, Object, TargetName, nearest};
use overrule::view::{self, Other, Part, Scene};

use crate::filter::Filter;
use crate::{Failure, Known, Shared};

/// A target of the input.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    /// A node of the topology.
    Node(NodeId),
    /// A policy, and the family that resolved it.
    Policy(&'a Part<'a>, PolicyId),
}

/// A policy kind of one family.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind<'a> {
    pub(crate) part: &'a Part<'a>,
    pub(crate) id: KindId,
}

/// A path at which a kind can have an effective policy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) part: &'a Part<'a>,
    pub(crate) kind: KindId,
    pub(crate) path: PathId,
    pub(crate) ladder: LadderId,
}

/// A path that only another profile has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elsewhere<'a> {
    /// The answer shown, which does not have it.
    pub(crate) part: &'a Part<'a>,
    pub(crate) other: &'a Other<'a>,
    pub(crate) kind: KindId,
    pub(crate) path: PathId,
}

/// Finds what a target name means.
pub(crate) fn target<'a>(
    known: &Known<'_>,
    scene: &Scene<'a>,
    shared: &Shared,
    text: &str,
) -> Result<Target<'a>, Failure> {
    let (object, section) = named(known, shared, text)?;
    let of = |part: &'a Part<'a>| Some((part, part.resolution.policy_of(object.id)?));
    if let Some((part, policy)) = scene.parts.iter().find_map(of) {
        return Ok(Target::Policy(part, policy));
    }
    let display = known.analysis.snapshot.display(object.id);
    let node = match &section {
        None => known.analysis.object_node(object.id),
        Some(section) => Some(section_node(known, object, section)?),
    };
    node.map(Target::Node).ok_or_else(|| {
        Failure::NotFound(format!(
            "{display} is nothing that policies act on, and no policy that was resolved"
        ))
    })
}

/// The object a name means, and the section it names.
pub(crate) fn named<'a>(
    known: &Known<'a>,
    shared: &Shared,
    text: &str,
) -> Result<(&'a Object, Option<String>), Failure> {
    match by_identity(known, text)? {
        Some(found) => Ok(found),
        None => {
            let name = parse(shared, text)?;
            Ok((object(known, shared, &name, text)?, name.section))
        }
    }
}

/// The object and section that an identity of a family's own means; none if the text is none.
fn by_identity<'a>(
    known: &Known<'a>,
    text: &str,
) -> Result<Option<(&'a Object, Option<String>)>, Failure> {
    let found = match known.analysis.identify(text) {
        Identity::Other => return Ok(None),
        Identity::Malformed(why) => return Err(Failure::Usage(why)),
        Identity::Unknown => None,
        Identity::Object(id, section) => known.analysis.snapshot.get(id).map(|o| (o, section)),
    };
    let found = found.filter(|(object, _)| known.sees(object));
    match found {
        Some((object, section)) => {
            Ok(Some((object, Some(section).filter(|section| !section.is_empty()))))
        }
        None => {
            let all = known.analysis.identities().filter(|(id, _)| known.sees_id(*id));
            let all: Vec<String> = all.map(|(_, identity)| identity).collect();
            let near = nearest(text, all.iter().map(String::as_str), 3);
            let hint = match near.is_empty() {
                true => "`overrule get -o wide` lists what was read".to_owned(),
                false => did_you_mean(&near),
            };
            Err(Failure::NotFound(format!("`{text}` does not exist; {hint}")))
        }
    }
}

/// Finds what a target name means that must be no policy.
pub(crate) fn node(
    known: &Known<'_>,
    scene: &Scene<'_>,
    shared: &Shared,
    text: &str,
) -> Result<NodeId, Failure> {
    match target(known, scene, shared, text)? {
        Target::Node(node) => Ok(node),
        Target::Policy(part, policy) => {
            // A route is a policy, and other policies act on it.
            let object = part.resolution.policy(policy).map(|p| p.object);
            object.and_then(|o| known.analysis.object_node(o)).ok_or_else(|| {
                Failure::NotFound(format!(
                    "`{text}` is a policy; ask `overrule reach {text}` where it acts"
                ))
            })
        }
    }
}

/// Finds a policy by name.
pub(crate) fn policy<'a>(
    known: &Known<'_>,
    scene: &Scene<'a>,
    shared: &Shared,
    text: &str,
) -> Result<(&'a Part<'a>, PolicyId), Failure> {
    match target(known, scene, shared, text)? {
        Target::Policy(part, policy) => Ok((part, policy)),
        Target::Node(_) => Err(Failure::NotFound(format!(
            "`{text}` is not a policy; `overrule get policies` lists them"
        ))),
    }
}

fn parse(shared: &Shared, text: &str) -> Result<TargetName, Failure> {
    let mut name: TargetName = text
        .parse()
        .map_err(|e: overrule::model::TargetNameError| Failure::Usage(e.to_string()))?;
    if name.namespace.is_none() && !shared.all_namespaces {
        name.namespace.clone_from(&shared.namespace);
    }
    Ok(name)
}

fn object<'a>(
    known: &Known<'a>,
    shared: &Shared,
    name: &TargetName,
    text: &str,
) -> Result<&'a Object, Failure> {
    let snapshot = &known.analysis.snapshot;
    let mut found = snapshot.resolve(name);
    if found.is_empty() && name.namespace == shared.namespace {
        // -n does not apply to cluster-scoped kinds.
        found = snapshot.resolve(&TargetName { namespace: None, ..name.clone() });
    }
    found.retain(|o| known.sees(o));
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(not_found(known, name, text)),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|o| format!("{}.{}/{}", name.kind, snapshot.text(o.kind.group), tail(name)))
                .collect();
            Err(Failure::Usage(format!(
                "`{text}` is ambiguous; write one of: {}",
                names.join(", ")
            )))
        }
    }
}

fn tail(name: &TargetName) -> String {
    match &name.namespace {
        Some(namespace) => format!("{namespace}/{}", name.name),
        None => name.name.clone(),
    }
}

fn not_found(known: &Known<'_>, name: &TargetName, text: &str) -> Failure {
    let snapshot = &known.analysis.snapshot;
    let kinds = kinds_called(known, &name.kind, name.group.as_deref());
    if kinds.is_empty() {
        return unknown_kind(known, &name.kind);
    }
    let of_kind = snapshot.objects().filter(|o| kinds.contains(&o.kind) && known.sees(o));
    let candidates: Vec<String> = of_kind.map(|o| snapshot.display(o.id).to_string()).collect();
    // Only the name is compared: kind and namespace are alike in all of them and would make strangers look near.
    let last = |c: &str| c.rsplit('/').next().map(str::to_owned).unwrap_or_default();
    let names: Vec<String> = candidates.iter().map(|c| last(c)).collect();
    let nearest_names = nearest(&name.name, names.iter().map(String::as_str), 3);
    let near: Vec<&str> = candidates
        .iter()
        .map(String::as_str)
        .filter(|c| nearest_names.contains(&&*last(c)))
        .take(3)
        .collect();
    let hint = match near.as_slice() {
        [] if candidates.len() <= 8 => format!("there are: {}", candidates.join(", ")),
        [] => format!("`overrule get {}` lists the {} there are", name.kind, candidates.len()),
        near => did_you_mean(near),
    };
    Failure::NotFound(format!("`{text}` does not exist; {hint}"))
}

/// The kinds a word means of which something may be read.
pub(crate) fn kinds_called(known: &Known<'_>, word: &str, group: Option<&str>) -> Vec<GroupKind> {
    let snapshot = &known.analysis.snapshot;
    let mut found = snapshot.kinds_called(word, group);
    if known.restricted() {
        let seen = |kind: GroupKind| {
            let mut of_kind = snapshot.kinds().filter(|(k, _)| *k == kind);
            of_kind.any(|(_, objects)| objects.iter().any(|o| known.sees(o)))
        };
        found.retain(|kind| seen(*kind));
    }
    found
}

/// Nothing of a kind was read; the nearest kinds, or all there are.
pub(crate) fn unknown_kind(known: &Known<'_>, word: &str) -> Failure {
    let snapshot = &known.analysis.snapshot;
    let all = snapshot.kinds().filter(|(_, objects)| objects.iter().any(|o| known.sees(o)));
    let all: Vec<String> = all.map(|(k, _)| snapshot.text(k.kind).to_lowercase()).collect();
    let near = nearest(word, all.iter().map(String::as_str), 3);
    let hint = if near.is_empty() {
        format!("kinds there are: {}", all.join(", "))
    } else {
        did_you_mean(&near)
    };
    Failure::NotFound(format!("nothing of kind `{word}` was read; {hint}"))
}

fn did_you_mean(near: &[&str]) -> String {
    format!(
        "did you mean {}?",
        near.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(" or ")
    )
}

/// A section by name, `rule-N`, or zero-based index.
fn section_node(known: &Known<'_>, object: &Object, section: &str) -> Result<NodeId, Failure> {
    let named = known
        .analysis
        .snapshot
        .names()
        .lookup(section)
        .and_then(|s| known.analysis.section_node(object.id, s));
    let sections: Vec<(&str, NodeId)> = known
        .analysis
        .sections_of(object.id)
        .into_iter()
        .map(|(name, node)| (known.analysis.snapshot.text(name), node))
        .collect();
    let indexed =
        || section.parse::<usize>().ok().and_then(|i| sections.get(i)).map(|(_, node)| *node);
    named.or_else(indexed).ok_or_else(|| {
        let names: Vec<&str> = sections.iter().map(|(name, _)| *name).collect();
        let display = known.analysis.snapshot.display(object.id);
        let near = nearest(section, names.iter().copied(), 2);
        let hint = match (names.is_empty(), near.is_empty()) {
            (true, _) => "it has none".to_owned(),
            (_, false) => did_you_mean(&near),
            _ => format!("it has: {}", names.join(", ")),
        };
        Failure::NotFound(format!("{display} has no section `{section}`; {hint}"))
    })
}

/// The words a kind may be asked for by although nothing of it was read: as written and in the singular, without group.
pub(crate) fn kind_words(word: &str) -> Vec<String> {
    let kind = word.split('.').next().unwrap_or(word).to_lowercase();
    let mut words = vec![kind.clone()];
    words.extend(kind.strip_suffix("ies").map(|stem| format!("{stem}y")));
    words.extend(kind.strip_suffix('s').map(str::to_owned));
    words
}

/// The policy kinds that a word means; all if there is none.
pub(crate) fn kinds<'a>(
    known: &Known<'_>,
    scene: &Scene<'a>,
    word: Option<&str>,
) -> Result<Vec<Kind<'a>>, Failure> {
    let snapshot = &known.analysis.snapshot;
    let of = |part: &'a Part<'a>| {
        part.resolution.kinds().map(move |(id, result)| (Kind { part, id }, result))
    };
    let all = scene.parts.iter().flat_map(of).filter(|(kind, _)| known.shows_kind(scene, kind));
    let Some(word) = word else { return Ok(all.map(|(kind, _)| kind).collect()) };
    let group = word.split_once('.').map(|(_, group)| group);
    let called = kinds_called(known, word.split('.').next().unwrap_or(word), group);
    let words = kind_words(word);
    let means = |kind: &overrule::engine::KindResult| {
        let (name, of) = (snapshot.text(kind.kind), snapshot.text(kind.group));
        called.iter().any(|c| c.kind == kind.kind && c.group == kind.group)
            || (words.iter().any(|w| w.eq_ignore_ascii_case(name)) && group.is_none_or(|g| g == of))
    };
    let found: Vec<Kind<'a>> =
        all.filter(|(_, result)| means(result)).map(|(kind, _)| kind).collect();
    if found.is_empty() {
        return Err(no_policy_kind(known, scene, word));
    }
    Ok(found)
}

/// Offers the kinds that were read, those that are described, and those that families know.
fn no_policy_kind(known: &Known<'_>, scene: &Scene<'_>, word: &str) -> Failure {
    let of = |part| move |(id, result)| (Kind { part, id }, result);
    let resolved = scene.parts.iter().flat_map(|part| part.resolution.kinds().map(of(part)));
    let resolved = resolved.filter(|(kind, _)| known.shows_kind(scene, kind));
    let resolved = resolved.map(|(_, k)| known.analysis.snapshot.text(k.kind));
    // Whoever may not read everything may not read every descriptor either.
    let described = known.analysis.kinds().iter().filter(|_| !known.restricted());
    let described = described.map(|d| &*d.kind);
    let known = overrule::families().iter().flat_map(|f| f.kinds());
    let names: BTreeSet<&str> = resolved.chain(described).chain(known).collect();
    let names: Vec<&str> = names.into_iter().filter(|n| !n.is_empty()).collect();
    let kind = word.split('.').next().unwrap_or(word);
    let near = nearest(kind, names.iter().copied(), 2);
    let hint = match near.is_empty() {
        false => did_you_mean(&near),
        true => format!("policy kinds there are: {}", names.join(", ")),
    };
    Failure::NotFound(format!("no policy kind `{word}`; {hint}"))
}

/// Paths of the given kinds that pass through all of these nodes, in order.
pub(crate) fn contexts<'a>(
    known: &'a Known<'a>,
    scene: &'a Scene<'a>,
    kinds: &'a [Kind<'a>],
    through: &'a [NodeId],
    filter: &'a Filter,
) -> impl Iterator<Item = Context<'a>> + 'a {
    kinds.iter().flat_map(move |Kind { part, id }| {
        let paths = part.resolution.contexts(*id);
        paths
            .filter(move |(path, _)| {
                filter.through(scene, part, *path, through, &|o| known.sees(o))
            })
            .map(move |(path, ladder)| Context { part, kind: *id, path, ladder })
    })
}

/// Paths of the given kinds that only other profiles have, as far as the scene compares with some.
pub(crate) fn elsewhere<'a>(
    known: &Known<'_>,
    scene: &'a Scene<'a>,
    kinds: &[Kind<'a>],
    through: &[NodeId],
    filter: &Filter,
) -> Vec<Elsewhere<'a>> {
    let mut found = Vec::new();
    for part in scene.parts {
        for (other, kind, path, _) in view::only_elsewhere(scene, part) {
            let asked = kinds
                .iter()
                .any(|k| std::ptr::eq(k.part, part) && other.kind_like(part, k.id) == Some(kind));
            let sees = &|o: &Object| known.sees(o);
            if asked && filter.through(scene, &other.part, path, through, sees) {
                found.push(Elsewhere { part, other, kind, path });
            }
        }
    }
    found
}
