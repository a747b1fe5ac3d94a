// SPDX-License-Identifier: Apache-2.0
//! In: names people typed. Out: nodes, kinds, policies and the paths they mean, or suggestions.
//! Not here: what is said about them.

use std::collections::BTreeSet;

use overrule::Analysis;
use overrule::engine::{KindId, LadderId, NodeId, PathId, PolicyId};
use overrule::model::{Object, Scope, Selector, Snapshot, TargetName, nearest};
use overrule::view::{self, Other, Part, Scene};

use crate::args::Shared;
use crate::output::Failure;

/// A target of the input.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// A node of the topology.
    Node(NodeId),
    /// A policy, and the family that resolved it.
    Policy(&'a Part<'a>, PolicyId),
}

/// A policy kind of one family.
#[derive(Debug, Clone, Copy)]
pub struct Kind<'a> {
    pub part: &'a Part<'a>,
    pub id: KindId,
}

/// A path at which a kind can have an effective policy.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub part: &'a Part<'a>,
    pub kind: KindId,
    pub path: PathId,
    pub ladder: LadderId,
}

/// A path that only another profile has.
#[derive(Debug, Clone, Copy)]
pub struct Elsewhere<'a> {
    /// The answer shown, which does not have it.
    pub part: &'a Part<'a>,
    pub other: &'a Other<'a>,
    pub kind: KindId,
    pub path: PathId,
}

/// Finds what a target name means.
pub fn target<'a>(
    analysis: &Analysis,
    scene: &Scene<'a>,
    shared: &Shared,
    text: &str,
) -> Result<Target<'a>, Failure> {
    let (object, section) = named(analysis, shared, text)?;
    let of = |part: &'a Part<'a>| Some((part, part.resolution.policy_of(object.id)?));
    if let Some((part, policy)) = scene.parts.iter().find_map(of) {
        return Ok(Target::Policy(part, policy));
    }
    let display = analysis.snapshot.display(object.id);
    let node = match &section {
        None => analysis.object_node(object.id),
        Some(section) => Some(section_node(analysis, object, section)?),
    };
    node.map(Target::Node).ok_or_else(|| {
        Failure::NotFound(format!(
            "{display} is nothing that policies act on, and no policy that was resolved"
        ))
    })
}

/// The object a name means, and the section it names.
pub fn named<'a>(
    analysis: &'a Analysis,
    shared: &Shared,
    text: &str,
) -> Result<(&'a Object, Option<String>), Failure> {
    match by_kri(analysis, text)? {
        Some(found) => Ok(found),
        None => {
            let name = parse(shared, text)?;
            Ok((object(analysis, shared, &name, text)?, name.section))
        }
    }
}

/// The object and section that a KRI means; none if the text is no KRI.
fn by_kri<'a>(
    analysis: &'a Analysis,
    text: &str,
) -> Result<Option<(&'a Object, Option<String>)>, Failure> {
    if !text.starts_with("kri_") {
        return Ok(None);
    }
    if let Err(why) = overrule::kuma::kri::Kri::parse(text) {
        return Err(Failure::Usage(why.to_string()));
    }
    let found = analysis.by_kri(text);
    let found = found.and_then(|(id, section)| Some((analysis.snapshot.get(id)?, section)));
    match found {
        Some((object, section)) => {
            Ok(Some((object, Some(section).filter(|section| !section.is_empty()))))
        }
        None => {
            let all: Vec<String> =
                analysis.kuma.metas.values().map(|meta| meta.kri().to_string()).collect();
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
pub fn node(
    analysis: &Analysis,
    scene: &Scene<'_>,
    shared: &Shared,
    text: &str,
) -> Result<NodeId, Failure> {
    match target(analysis, scene, shared, text)? {
        Target::Node(node) => Ok(node),
        Target::Policy(part, policy) => {
            // A route is a policy, and other policies act on it.
            let object = part.resolution.policy(policy).map(|p| p.object);
            object.and_then(|o| analysis.object_node(o)).ok_or_else(|| {
                Failure::NotFound(format!(
                    "`{text}` is a policy; ask `overrule reach {text}` where it acts"
                ))
            })
        }
    }
}

/// Finds a policy by name.
pub fn policy<'a>(
    analysis: &Analysis,
    scene: &Scene<'a>,
    shared: &Shared,
    text: &str,
) -> Result<(&'a Part<'a>, PolicyId), Failure> {
    match target(analysis, scene, shared, text)? {
        Target::Policy(part, policy) => Ok((part, policy)),
        Target::Node(_) => Err(Failure::NotFound(format!(
            "`{text}` is no policy; `overrule get policies` lists them"
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
    analysis: &'a Analysis,
    shared: &Shared,
    name: &TargetName,
    text: &str,
) -> Result<&'a Object, Failure> {
    let snapshot = &analysis.snapshot;
    let mut found = snapshot.resolve(name);
    if found.is_empty() && name.namespace == shared.namespace {
        // -n does not apply to cluster-scoped kinds.
        found = snapshot.resolve(&TargetName { namespace: None, ..name.clone() });
    }
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(not_found(analysis, name, text)),
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

fn not_found(analysis: &Analysis, name: &TargetName, text: &str) -> Failure {
    let snapshot = &analysis.snapshot;
    let kinds = snapshot.kinds_called(&name.kind, name.group.as_deref());
    if kinds.is_empty() {
        return unknown_kind(analysis, &name.kind);
    }
    let of_kind = snapshot.objects().filter(|o| kinds.contains(&o.kind));
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

/// Nothing of a kind was read; the nearest kinds, or all there are.
pub fn unknown_kind(analysis: &Analysis, word: &str) -> Failure {
    let snapshot = &analysis.snapshot;
    let all: Vec<String> =
        snapshot.kinds().map(|(k, _)| snapshot.text(k.kind).to_lowercase()).collect();
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
fn section_node(analysis: &Analysis, object: &Object, section: &str) -> Result<NodeId, Failure> {
    let named =
        analysis.snapshot.names().lookup(section).and_then(|s| analysis.section_node(object.id, s));
    let sections: Vec<(&str, NodeId)> = analysis
        .sections_of(object.id)
        .into_iter()
        .map(|(name, node)| (analysis.snapshot.text(name), node))
        .collect();
    let indexed =
        || section.parse::<usize>().ok().and_then(|i| sections.get(i)).map(|(_, node)| *node);
    named.or_else(indexed).ok_or_else(|| {
        let known: Vec<&str> = sections.iter().map(|(name, _)| *name).collect();
        let display = analysis.snapshot.display(object.id);
        let near = nearest(section, known.iter().copied(), 2);
        let hint = match (known.is_empty(), near.is_empty()) {
            (true, _) => "it has none".to_owned(),
            (_, false) => did_you_mean(&near),
            _ => format!("it has: {}", known.join(", ")),
        };
        Failure::NotFound(format!("{display} has no section `{section}`; {hint}"))
    })
}

/// The words a kind may be asked for by although nothing of it was read: as written and in the singular, without group.
pub fn kind_words(word: &str) -> Vec<String> {
    let kind = word.split('.').next().unwrap_or(word).to_lowercase();
    let mut words = vec![kind.clone()];
    words.extend(kind.strip_suffix("ies").map(|stem| format!("{stem}y")));
    words.extend(kind.strip_suffix('s').map(str::to_owned));
    words
}

/// The policy kinds that a word means; all if there is none.
pub fn kinds<'a>(
    analysis: &Analysis,
    scene: &Scene<'a>,
    word: Option<&str>,
) -> Result<Vec<Kind<'a>>, Failure> {
    let snapshot = &analysis.snapshot;
    let of = |part: &'a Part<'a>| {
        part.resolution.kinds().map(move |(id, result)| (Kind { part, id }, result))
    };
    let all = scene.parts.iter().flat_map(of);
    let Some(word) = word else { return Ok(all.map(|(kind, _)| kind).collect()) };
    let group = word.split_once('.').map(|(_, group)| group);
    let called = snapshot.kinds_called(word.split('.').next().unwrap_or(word), group);
    let words = kind_words(word);
    let means = |kind: &overrule::engine::KindResult| {
        let (name, of) = (snapshot.text(kind.kind), snapshot.text(kind.group));
        called.iter().any(|c| c.kind == kind.kind && c.group == kind.group)
            || (words.iter().any(|w| w.eq_ignore_ascii_case(name)) && group.is_none_or(|g| g == of))
    };
    let found: Vec<Kind<'a>> =
        all.filter(|(_, result)| means(result)).map(|(kind, _)| kind).collect();
    if found.is_empty() {
        return Err(no_policy_kind(analysis, scene, word));
    }
    Ok(found)
}

/// Offers the kinds that were read, those that are described, and those that families know.
fn no_policy_kind(analysis: &Analysis, scene: &Scene<'_>, word: &str) -> Failure {
    let resolved = scene.parts.iter().flat_map(|part| part.resolution.kinds());
    let resolved = resolved.map(|(_, k)| analysis.snapshot.text(k.kind));
    let described = analysis.kinds.iter().map(|d| &*d.kind);
    let known = overrule::families().iter().flat_map(|f| (f.kinds)());
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

/// Which objects and paths the shared options leave.
pub struct Filter {
    namespace: Option<(String, overrule::model::Sym)>,
    selector: Option<Selector>,
    /// The namespace asked for is in no manifest: nothing is left.
    nothing: bool,
}

impl Filter {
    pub fn new(analysis: &mut Analysis, shared: &Shared) -> Result<Self, Failure> {
        let wanted = shared.namespace.as_ref().filter(|_| !shared.all_namespaces);
        let namespace = wanted.map(|n| Some((n.clone(), analysis.snapshot.names().lookup(n)?)));
        let selector = match &shared.selector {
            None => None,
            Some(text) => {
                let parsed = Selector::parse(text, analysis.snapshot.names_mut());
                Some(parsed.map_err(|e| Failure::Usage(e.to_string()))?)
            }
        };
        let nothing = matches!(namespace, Some(None));
        Ok(Self { namespace: namespace.flatten(), selector, nothing })
    }

    pub fn object(&self, snapshot: &Snapshot, object: &Object) -> bool {
        let here = self.namespace.as_ref().is_none_or(|(text, n)| match object.scope {
            Scope::Namespace(namespace) => namespace == *n,
            // Objects of a mesh have their namespace, if any, at the end of their name.
            Scope::Mesh(mesh) => {
                let name = snapshot.text(object.name);
                mesh == *n || name.strip_suffix(&**text).is_some_and(|stem| stem.ends_with('.'))
            }
            Scope::Cluster => false,
        });
        !self.nothing && here && self.selector.as_ref().is_none_or(|s| s.matches(&object.labels))
    }

    /// A path is of the namespace and labels of the last object on it.
    pub fn path(&self, scene: &Scene<'_>, part: &Part<'_>, path: PathId) -> bool {
        if self.namespace.is_none() && self.selector.is_none() && !self.nothing {
            return true;
        }
        // In a mesh a path is of its proxy as much as of where it leads.
        let nodes = match part.family {
            "kuma" => part.resolution.paths.nodes(path),
            _ => part.resolution.paths.node(path).into_iter().collect(),
        };
        let objects = nodes.into_iter().filter_map(|n| part.topology.get(n)?.object);
        let mut objects = objects.filter_map(|o| scene.snapshot.get(o));
        objects.any(|o| self.object(scene.snapshot, o))
    }

    /// Whether a path is kept and passes through all of these nodes.
    fn through(&self, scene: &Scene<'_>, part: &Part<'_>, path: PathId, nodes: &[NodeId]) -> bool {
        nodes.iter().all(|node| part.resolution.paths.passes(path, *node))
            && self.path(scene, part, path)
    }
}

/// Paths of the given kinds that pass through all of these nodes, in order.
pub fn contexts<'a>(
    scene: &'a Scene<'a>,
    kinds: &'a [Kind<'a>],
    through: &'a [NodeId],
    filter: &'a Filter,
) -> impl Iterator<Item = Context<'a>> + 'a {
    kinds.iter().flat_map(move |Kind { part, id }| {
        let paths = part.resolution.contexts(*id);
        paths
            .filter(move |(path, _)| filter.through(scene, part, *path, through))
            .map(move |(path, ladder)| Context { part, kind: *id, path, ladder })
    })
}

/// Paths of the given kinds that only other profiles have, as far as the scene compares with some.
pub fn elsewhere<'a>(
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
            if asked && filter.through(scene, &other.part, path, through) {
                found.push(Elsewhere { part, other, kind, path });
            }
        }
    }
    found
}
