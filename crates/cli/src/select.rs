// SPDX-License-Identifier: Apache-2.0
//! In: names people typed. Out: nodes, kinds, policies and the paths they mean, or suggestions.
//! Not here: what is said about them.

use overrule::Analysis;
use overrule::engine::{KindId, LadderId, NodeId, PathId, PolicyId};
use overrule::model::{Object, Scope, Selector, TargetName, nearest};

use crate::args::Shared;
use crate::output::Failure;

/// A target of the input.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// A node of the topology.
    Node(NodeId),
    /// A policy.
    Policy(PolicyId),
}

/// Finds what a target name means.
pub fn target(analysis: &Analysis, shared: &Shared, text: &str) -> Result<Target, Failure> {
    let name = parse(shared, text)?;
    let object = object(analysis, shared, &name, text)?;
    if let Some(policy) = analysis.resolution.policy_of(object.id) {
        return Ok(Target::Policy(policy));
    }
    let display = analysis.snapshot.display(object.id);
    let node = match &name.section {
        None => analysis.topology.object_node(object.id),
        Some(section) => Some(section_node(analysis, object, section)?),
    };
    node.map(Target::Node).ok_or_else(|| {
        Failure::NotFound(format!(
            "{display} is no part of the Gateway API topology, and no policy that was resolved"
        ))
    })
}

/// Finds a policy by name.
pub fn policy(analysis: &Analysis, shared: &Shared, text: &str) -> Result<PolicyId, Failure> {
    match target(analysis, shared, text)? {
        Target::Policy(policy) => Ok(policy),
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
    let named = analysis
        .snapshot
        .names()
        .lookup(section)
        .and_then(|s| analysis.topology.section_node(object.id, s));
    let sections: Vec<(&str, NodeId)> = analysis
        .topology
        .sections_of(object.id)
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

/// The policy kinds that a word means; all if there is none.
pub fn kinds(analysis: &Analysis, word: Option<&str>) -> Result<Vec<KindId>, Failure> {
    let all: Vec<(KindId, &str)> =
        analysis.resolution.kinds().map(|(id, k)| (id, analysis.snapshot.text(k.kind))).collect();
    let Some(word) = word else { return Ok(all.into_iter().map(|(id, _)| id).collect()) };
    let (kind, group) = word.split_once('.').map_or((word, None), |(k, g)| (k, Some(g)));
    let called = analysis.snapshot.kinds_called(kind, group);
    let found: Vec<KindId> = analysis
        .resolution
        .kinds()
        .filter(|(_, k)| {
            called.iter().any(|c| c.kind == k.kind && c.group == k.group)
                || analysis.snapshot.text(k.kind).eq_ignore_ascii_case(kind)
        })
        .map(|(id, _)| id)
        .collect();
    if found.is_empty() {
        let names: Vec<&str> = all.iter().map(|(_, name)| *name).collect();
        let near = nearest(kind, names.iter().copied(), 2);
        let hint = match (names.is_empty(), near.is_empty()) {
            (true, _) => "no policies were read".to_owned(),
            (_, false) => did_you_mean(&near),
            _ => format!("policy kinds there are: {}", names.join(", ")),
        };
        return Err(Failure::NotFound(format!("no policy kind `{word}`; {hint}")));
    }
    Ok(found)
}

/// Which objects and paths the shared options leave.
pub struct Filter {
    namespace: Option<overrule::model::Sym>,
    selector: Option<Selector>,
    /// The namespace asked for is in no manifest: nothing is left.
    nothing: bool,
}

impl Filter {
    pub fn new(analysis: &mut Analysis, shared: &Shared) -> Result<Self, Failure> {
        let wanted = shared.namespace.as_ref().filter(|_| !shared.all_namespaces);
        let namespace = wanted.map(|n| analysis.snapshot.names().lookup(n));
        let selector = match &shared.selector {
            None => None,
            Some(text) => {
                let parsed = Selector::parse(text, analysis.snapshot.names_mut());
                Some(parsed.map_err(|e| Failure::Usage(e.to_string()))?)
            }
        };
        Ok(Self {
            namespace: namespace.flatten(),
            selector,
            nothing: matches!(namespace, Some(None)),
        })
    }

    pub fn object(&self, object: &Object) -> bool {
        let here = self
            .namespace
            .is_none_or(|n| object.scope == Scope::Namespace(n) || object.scope == Scope::Mesh(n));
        !self.nothing && here && self.selector.as_ref().is_none_or(|s| s.matches(&object.labels))
    }

    /// A path is of the namespace and labels of the last object on it.
    pub fn path(&self, analysis: &Analysis, path: PathId) -> bool {
        if self.namespace.is_none() && self.selector.is_none() && !self.nothing {
            return true;
        }
        let node =
            analysis.resolution.paths.node(path).and_then(|n| analysis.topology.nodes.get(n));
        let object = node.and_then(|n| n.object).and_then(|o| analysis.snapshot.get(o));
        object.is_some_and(|o| self.object(o))
    }
}

/// Paths of the given kinds that pass through a node (or all), in order: (kind, path, ladder).
pub fn contexts<'a>(
    analysis: &'a Analysis,
    kinds: &'a [KindId],
    through: Option<NodeId>,
    filter: &'a Filter,
) -> impl Iterator<Item = (KindId, PathId, LadderId)> + 'a {
    kinds.iter().flat_map(move |kind| {
        let paths = analysis.resolution.contexts(*kind);
        paths
            .filter(move |(path, _)| {
                through.is_none_or(|node| analysis.resolution.paths.passes(*path, node))
            })
            .filter(move |(path, _)| filter.path(analysis, *path))
            .map(move |(path, ladder)| (*kind, path, ladder))
    })
}
