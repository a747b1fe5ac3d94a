// SPDX-License-Identifier: Apache-2.0
//! In: entries of policies. Out: steps with their ranks, and the conf of each. Not here: which ladder they stand on.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use overrule_engine::{PolicyId, Rank, RankKeys, ResolutionBuilder, Step, StepId, Traced};
use overrule_source::{Documents, NodeRef};

use crate::conf::{Position, conf_of};
use crate::kri::Kri;
use crate::order::{KINDS, kind_rank};
use crate::policy::{Entry, Policy};
use crate::profile::Profile;
use crate::topology::{DATAPLANE, MESH};

/// Keys of a rank under the founding documents, most important first.
pub static DESIGN_KEYS: RankKeys = &[
    "kind of target",
    "name before labels",
    "section of target",
    "origin",
    "tags",
    "namespace",
    "kind of entry",
    "section of entry",
    "display name",
    "identity",
    "place of entry",
];

/// The same under the release.
pub static RELEASE_KEYS: RankKeys = &[
    "kind of target",
    "name before labels",
    "section of target",
    "origin",
    "tags",
    "role",
    "kind of entry",
    "section of entry",
    "display name",
    "identity",
    "place of entry",
];

/// The place of the key from which on only the identity of two policies decides.
pub(super) const IDENTITY: usize = 9;

/// What a value of a key stands for, in words; none if the value says nothing to people.
pub fn key_value(key: &str, value: i64) -> Option<&'static str> {
    let pick = |words: &[&'static str]| words.get(usize::try_from(value).ok()?).copied();
    match key {
        "kind of target" | "kind of entry" => pick(&KINDS),
        "name before labels" => pick(&["labels or nothing", "a name"]),
        "section of target" | "section of entry" => pick(&["no section", "a section"]),
        "origin" => pick(&["an unknown value", "global", "no origin", "zone"]),
        "role" => pick(&["an unknown role", "system", "producer", "consumer", "workload-owner"]),
        "namespace" => pick(&["the system namespace or none", "a namespace of its own"]),
        _ => None,
    }
}

/// Places of names, and of identities, in their order.
#[derive(Debug, Default)]
pub(super) struct Names {
    names: HashMap<String, i64>,
    identities: HashMap<Kri, i64>,
}

impl Names {
    pub(super) fn new<'p>(policies: impl Iterator<Item = &'p Policy> + Clone) -> Self {
        let mut names: Vec<String> =
            policies.clone().map(|p| p.meta.display_name().to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        let mut identities: Vec<Kri> = policies.map(|p| p.meta.kri()).collect();
        identities.sort_unstable();
        identities.dedup();
        Self {
            names: names.into_iter().zip(0..).collect(),
            identities: identities.into_iter().zip(0..).collect(),
        }
    }

    fn of(&self, policy: &Policy) -> (i64, i64) {
        let name = self.names.get(policy.meta.display_name()).copied().unwrap_or(0);
        let identity = self.identities.get(&policy.meta.kri()).copied().unwrap_or(0);
        (name, identity)
    }
}

/// Makes steps.
pub(super) struct Steps<'a> {
    pub(super) documents: &'a Documents,
    pub(super) profile: &'a Profile,
    pub(super) names: Names,
    /// The level of a mesh.
    pub(super) top: u8,
    /// Confs by step.
    pub(super) confs: Vec<Traced>,
    /// Places of policies, by step.
    pub(super) places: Vec<u32>,
    /// Steps by the name of their kind.
    pub(super) by_kind: BTreeMap<&'static str, Vec<StepId>>,
    /// Steps by policy, position and entry.
    known: HashMap<(PolicyId, u8, u32), StepId>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(
        documents: &'a Documents,
        profile: &'a Profile,
        names: Names,
        top: u8,
    ) -> Self {
        Self {
            documents,
            profile,
            names,
            top,
            confs: Vec::new(),
            places: Vec::new(),
            by_kind: BTreeMap::new(),
            known: HashMap::new(),
        }
    }

    /// The step of an entry, or of the one conf of a policy.
    pub(super) fn step(
        &mut self,
        builder: &mut ResolutionBuilder,
        (id, policy): (PolicyId, &Policy),
        entry: Option<&Entry>,
        position: Position,
    ) -> StepId {
        let index = entry.map_or(0, |e| e.index);
        let key = (id, position as u8, index);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let below = if policy.target.kind == "Mesh" { MESH } else { DATAPLANE };
        let step = Step {
            policy: id,
            entry: entry.map(|e| e.index),
            block: block(position),
            level: self.top.saturating_add(below),
            value: self.value(policy, entry, position),
            mode: 0,
            extra: 0,
        };
        let step = builder.step(step, self.rank(policy, entry, position));
        if step.0 as usize == self.confs.len() {
            let node = entry.map_or_else(|| spec(self.documents, policy.root), |e| e.node);
            let conf = conf_of(self.documents, &policy.meta.kind, step, node, position);
            self.confs.push(conf);
            self.places.push(policy.place);
            self.by_kind.entry(policy.kind.name).or_default().push(step);
        }
        self.known.insert(key, step);
        step
    }

    /// The node whose content is contributed.
    fn value(&self, policy: &Policy, entry: Option<&Entry>, position: Position) -> NodeRef {
        let Some(entry) = entry else { return policy.single.unwrap_or(policy.root) };
        let view = self.documents.view(entry.node);
        let inner = match (policy.meta.kind.as_str(), position) {
            ("MeshHTTPRoute", Position::To) => None,
            ("MeshTCPRoute", Position::To) => view.get("rules").and_then(|r| r.items().next()),
            _ => view.get("default"),
        };
        inner.map_or(entry.node, |v| NodeRef { doc: entry.node.doc, node: v.id() })
    }

    fn rank(&self, policy: &Policy, entry: Option<&Entry>, position: Position) -> Rank {
        let target = &policy.target;
        let dataplane = target.kind == "Dataplane";
        let named = dataplane && !(target.name().is_empty() && target.namespace().is_empty());
        let section = dataplane && !target.section_name().is_empty();
        // Only whole policies are told apart by the tags of a gateway.
        let whole = matches!(position, Position::From | Position::Single);
        let tags = match whole && target.kind == "MeshGateway" {
            true => target.tags.as_ref().map_or(0, |t| t.len()),
            false => 0,
        };
        let placed = match self.profile {
            Profile::Release => policy.meta.role() as i64,
            Profile::Design { system } => {
                let own = policy.meta.namespace();
                i64::from(!own.is_empty() && own != &**system)
            }
        };
        let to = entry.filter(|_| position == Position::To).map(|e| &e.target);
        let to_section =
            to.is_some_and(|t| t.kind == "MeshService" && !t.section_name().is_empty());
        let (name, identity) = self.names.of(policy);
        Rank::new([
            i64::from(kind_rank(&target.kind)),
            i64::from(named),
            i64::from(section),
            policy.meta.origin() as i64,
            i64::try_from(tags).unwrap_or(i64::MAX),
            placed,
            to.map_or(0, |t| i64::from(kind_rank(&t.kind))),
            i64::from(to_section),
            -name,
            -identity,
            entry.map_or(0, |e| i64::from(e.index)),
        ])
    }
}

/// The word for the list an entry stands in.
fn block(position: Position) -> &'static str {
    match position {
        Position::To => "to",
        Position::From => "from",
        Position::Rules => "rules",
        Position::Single => "default",
    }
}

fn spec(documents: &Documents, root: NodeRef) -> NodeRef {
    let spec = documents.view(root).get("spec");
    spec.map_or(root, |v| NodeRef { doc: root.doc, node: v.id() })
}
